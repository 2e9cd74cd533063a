"""How long massart keeps a new process waiting: import, help, first fit with its kernels on disk.

    python benchmarks/startup.py --json results/startup.json

Every number is a difference between two processes of the same round, in seconds by the clock, alone on the machine,
with one thread for BLAS and OpenMP. Processor time is shown beside it.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from measuring import Contender, Elapsed, Finding, Section, Wanted, interleave
from report import begin, console, options_of, print_section, progress, write_json

HEAVY = ("numba", "sklearn")  # what neither import nor help may load
LIGHT = ("import", "help")
_ROWS = "import numpy as np; X = np.random.default_rng(0).normal(size=(200, 10)); y = np.sign(X[:, 0]); "
_CLASSIFIER = _ROWS + "from massart import MassartClassifier; "
SCRIPTS = {
    "nothing": "pass",
    "import": "import massart",
    "classifier": "from massart import MassartClassifier",
    "libraries": "import numba, sklearn.linear_model",
    "partial_fit": _CLASSIFIER + "MassartClassifier(noise_rate=0.1, margin=0.05).partial_fit(X, y, classes=[-1, 1])",
    "fit": _CLASSIFIER + "MassartClassifier().fit(X, y)",
}
# (command, what it is compared with, what is measured, wanted)
COMPARED = (
    ("import", "nothing", "import massart; above python -c pass", Wanted(at_most=0.1)),
    ("classifier", "nothing", "from massart import MassartClassifier; above python -c pass", None),
    ("help", "nothing", "massart --help; above python -c pass", Wanted(at_most=0.4)),
    ("libraries", "nothing", "import numba and sklearn.linear_model", None),
    ("partial_fit", "libraries", "first partial_fit, parameters given; above libraries", Wanted(at_most=0.7)),
    ("fit", "libraries", "first fit, no parameters (experts); above libraries", Wanted(at_most=0.7)),
)


def commands() -> dict[str, list[str]]:
    """What is started, by name; help by the module if it can be run, else by the script that was installed."""
    found = {name: ["-c", script] for name, script in SCRIPTS.items()}
    runnable = importlib.util.find_spec("massart.__main__") is not None
    found["help"] = (
        ["-m", "massart", "--help"] if runnable else [str(Path(sys.executable).parent / "massart"), "--help"]
    )
    return found


def start(arguments: Sequence[str], folder: str) -> str:
    """Run the interpreter to its end, where no file can be imported by mistake; return what it wrote to stderr.

    All processes share one place for bytecode, whatever this one was told: else an unlucky environment makes every
    process compile its sources anew, and that would be what is measured.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = folder
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=environment).stderr


def timed(arguments: Sequence[str], folder: str) -> Elapsed:
    """Seconds from the start of a process to its end, and seconds that it kept a processor busy."""
    before, wall = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    start(arguments, folder)
    elapsed, after = time.perf_counter() - wall, getrusage(RUSAGE_CHILDREN)
    return Elapsed(elapsed, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def heavy_imports(arguments: Sequence[str], folder: str) -> list[str]:
    """Which heavy packages a command imports, by the interpreter's own account."""
    account = start(["-X", "importtime", *arguments], folder)
    imported = {line.rsplit("|", 1)[1].strip() for line in account.splitlines() if line.startswith("import time:")}
    return [package for package in HEAVY if package in imported]


def why_absent(arguments: Sequence[str], folder: str) -> str | None:
    """Why a command cannot be timed, or None; on the way, kernels are compiled and left on disk."""
    try:
        start(arguments, folder)
    except subprocess.CalledProcessError as error:
        return (error.stderr.strip().splitlines() or ["it fails without a message"])[-1]
    return None


def measure(repeats: int, tick: Callable[[str], None]) -> Section:
    """All commands in turn, their differences, and what the light ones import."""
    with tempfile.TemporaryDirectory() as folder:
        every = commands()
        reasons = {name: why_absent(arguments, folder) for name, arguments in every.items()}
        present = {name: arguments for name, arguments in every.items() if reasons[name] is None}
        contenders = [
            Contender(name, " ".join(arguments), 1, lambda arguments=arguments: timed(arguments, folder))
            for name, arguments in present.items()
        ]
        heavy = {name: heavy_imports(present[name], folder) for name in LIGHT if name in present}
        seconds = interleave(contenders, repeats, tick)
    findings = []
    for name, other, measures, wanted in COMPARED:
        if name in present and other in present:
            mine, theirs = seconds[name], seconds[other]
            for clock, a, b, judge in (
                (measures, mine.wall, theirs.wall, wanted),
                ("  the same in processor time", mine.processor, theirs.processor, None),
            ):
                findings.append(Finding(name, clock, [x - y for x, y in zip(a, b, strict=True)], judge))
    findings += [
        Finding(
            name, f"heavy packages imported: {', '.join(loaded) or 'none'}", [float(len(loaded))], Wanted(at_most=0.0)
        )
        for name, loaded in heavy.items()
    ]
    absent = {name: reason for name, reason in reasons.items() if reason is not None}
    about = "Seconds that a new process needs more than another; kernels are on disk from an earlier process."
    return Section("Start-up", about, "seconds", contenders, seconds, findings, absent, digits=3)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options, repeats = options_of(parser, arguments, rounds=11, quick_rounds=1)
    out = console()
    known = begin(out, options.threads, repeats, quick=options.quick)
    facts = {"benchmark": "startup", "quick": options.quick, "repeats": repeats, "machine": known}
    judged = known["alone"] and not options.quick
    with progress("startup") as tick:
        section = measure(repeats, tick)
    print_section(out, section, judged=judged)
    if options.json is not None:
        write_json(options.json, facts, [section], judged=judged)


if __name__ == "__main__":
    main()
