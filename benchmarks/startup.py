"""How long massart keeps a new process waiting: import, help, a small training, the first use of a learner; its size.

    python benchmarks/startup.py --json results/startup.json
    python benchmarks/startup.py --python /path/to/venv/bin/python      # of a wheel, say

Everything of massart runs by `--python`; Vowpal Wabbit by the interpreter of this program. Seconds by the clock, alone
on the machine, with one thread for BLAS and OpenMP; processor time is shown beside it where processes are compared.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from file_rows import MEGABYTE, counted_blocks
from measuring import Contender, Elapsed, Finding, Section, Times, Wanted, interleave, quotients
from report import Tick, begin, console, options_of, print_section, progress, write_json

HEAVY = ("numba", "sklearn")  # what neither import nor help may load
LIGHT = ("import", "help")
TRAIN, POOL, VW = "train", "train, default pool", "Vowpal Wabbit"
SMALL = 1  # megabytes
_ROWS = "import numpy as np; X = np.random.default_rng(0).normal(size=(200, 10)); y = np.sign(X[:, 0]); "
_KNOWN = _ROWS + "from massart import MassartClassifier; model = MassartClassifier(noise_rate=0.1, margin=0.05); "
_DEFAULT = _ROWS + "from massart import MassartClassifier; model = MassartClassifier(); "
_BANDIT = "import numpy as np; from massart import MonotoneBandit; "
_BANDIT += "arms = np.eye(5); policy = MonotoneBandit(random_state=0); "
_TIMED = "import time; began = time.perf_counter(); {call}; print(time.perf_counter() - began)"
PROCESSES = {
    "nothing": ["-c", "pass"],
    "import": ["-c", "import massart"],
    "classifier": ["-c", "from massart import MassartClassifier"],
    "help": ["-m", "massart", "--help"],
    "race": ["-m", "massart", "race", "kink", "--rounds", "1", "--seeds", "1", "--learner", "massart", "--json"],
}
# (process, what is measured, wanted of its seconds above those of `python -c pass`)
ABOVE_NOTHING = (
    ("import", "import massart; above python -c pass", Wanted(at_most=0.1)),
    ("classifier", "from massart import MassartClassifier; above python -c pass", None),
    ("help", "massart --help; above python -c pass", Wanted(at_most=0.4)),
    ("race", "massart race, one world, one round; above python -c pass", Wanted(at_most=0.5)),
)
# (name, what is loaded beforehand, the call that is timed, what is measured): a compilation would be seen here
CALLS = (
    ("partial_fit", _KNOWN, "model.partial_fit(X, y, classes=[-1, 1])", "first partial_fit, parameters given"),
    ("partial_fit, pool", _DEFAULT, "model.partial_fit(X, y, classes=[-1, 1])", "first partial_fit, no parameters"),
    ("fit", _DEFAULT, "model.fit(X, y)", "first fit, no parameters"),
    ("choose", _BANDIT, "policy.learn(policy.choose(arms), 1.0)", "first choose and learn of a bandit"),
)
# Of massart and of all that it needs without extras; what pip did not install as files, as an editable source, counts.
_SIZE = """
import importlib.metadata as metadata, pathlib, re
import massart
seen, left, total = set(), ["massart"], 0
files = set(pathlib.Path(massart.__file__).parent.rglob("*"))
while left:
    name = left.pop()
    if name in seen:
        continue
    seen.add(name)
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        continue
    files |= {pathlib.Path(found.locate_file(file)).resolve() for file in found.files or ()}
    for line in found.requires or ():
        if "extra ==" not in line and "platform_system" not in line:
            left.append(re.match(r"[A-Za-z0-9._-]+", line)[0].lower().replace("_", "-"))
print(sum(file.stat().st_size for file in files if file.is_file()))
"""


class Processes:
    """Starts interpreters in a folder where no file can be imported by mistake, and waits for their end.

    All share one place for bytecode, whatever this process was told: else an unlucky environment makes every process
    compile its sources anew, and that would be what is measured.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self.python = python
        self.folder = folder
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")

    def run(self, arguments: Sequence[str], python: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run to its end; what it wrote."""
        command = [python or self.python, *arguments]
        options = {"cwd": self.folder, "env": self._environment, "capture_output": True, "text": True}
        return subprocess.run(command, check=True, **options)

    def timed(self, arguments: Sequence[str], python: str | None = None) -> Elapsed:
        """Seconds from the start of a process to its end, and seconds that it kept a processor busy."""
        before, wall = getrusage(RUSAGE_CHILDREN), time.perf_counter()
        self.run(arguments, python)
        elapsed, after = time.perf_counter() - wall, getrusage(RUSAGE_CHILDREN)
        return Elapsed(elapsed, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    def heavy_imports(self, arguments: Sequence[str]) -> list[str]:
        """Which heavy packages a command imports, by the interpreter's own account."""
        account = self.run(["-X", "importtime", *arguments]).stderr
        imported = {line.rsplit("|", 1)[1].strip() for line in account.splitlines() if line.startswith("import time:")}
        return [package for package in HEAVY if package in imported]

    def why_absent(self, arguments: Sequence[str], python: str | None = None) -> str | None:
        """Why a command cannot be timed, or None."""
        try:
            self.run(arguments, python)
        except subprocess.CalledProcessError as error:
            return (error.stderr.strip().splitlines() or ["it fails without a message"])[-1]
        return None


def differences(processes: Processes, repeats: int, tick: Tick) -> Section:
    """What import, help and a race of one round take above an interpreter that does nothing."""
    reasons = {name: processes.why_absent(arguments) for name, arguments in PROCESSES.items()}
    present = {name: arguments for name, arguments in PROCESSES.items() if reasons[name] is None}
    contenders = [
        Contender(name, " ".join(arguments), 1, lambda arguments=arguments: processes.timed(arguments))
        for name, arguments in present.items()
    ]
    seconds = interleave(contenders, repeats, tick)
    findings = []
    for name, measures, wanted in ABOVE_NOTHING:
        if name in present:
            mine, theirs = seconds[name], seconds["nothing"]
            for clock, a, b, judge in (
                (measures, mine.wall, theirs.wall, wanted),
                ("  the same in processor time", mine.processor, theirs.processor, None),
            ):
                findings.append(Finding(name, clock, [x - y for x, y in zip(a, b, strict=True)], judge))
    for name in LIGHT:
        if name in present:
            loaded = processes.heavy_imports(present[name])
            words = f"heavy packages imported: {', '.join(loaded) or 'none'}"
            findings.append(Finding(name, words, [float(len(loaded))], Wanted(at_most=0.0)))
    absent = {name: reason for name, reason in reasons.items() if reason is not None}
    about = "Seconds that a new process needs more than one that does nothing."
    return Section("Start of a process", about, "seconds", contenders, seconds, findings, absent, digits=3)


def first_calls(processes: Processes, repeats: int, tick: Tick) -> Section:
    """What the first call of a process takes, when everything is imported."""
    scripts = {name: ["-c", before + _TIMED.format(call=call)] for name, before, call, _ in CALLS}
    absent = {name: why for name, script in scripts.items() if (why := processes.why_absent(script)) is not None}

    def called(script: list[str]) -> Callable[[], Elapsed]:
        return lambda: Elapsed(float(processes.run(script).stdout), 0.0)

    present = [(name, call, measures) for name, _, call, measures in CALLS if name not in absent]
    contenders = [Contender(name, call, 1, called(scripts[name])) for name, call, _ in present]
    seconds = interleave(contenders, repeats, tick)
    wanted = Wanted(at_most=0.5)
    findings = [Finding(name, measures, seconds[name].wall, wanted) for name, _, measures in present]
    about = (
        "Seconds of the first call of a new process, after the imports. Another process has used the kernels before, "
        "so that they are on disk even where they are not compiled beforehand."
    )
    return Section("First call", about, "seconds", contenders, seconds, findings, absent, digits=3)


def small_training(processes: Processes, repeats: int, tick: Tick) -> Section:
    """A training on a small file, from the start of its process to its end, beside Vowpal Wabbit's."""
    mine, theirs = counted_blocks(SMALL)
    rows = mine.rows_in(SMALL)
    mine.write(processes.folder / "rows.svm", rows)
    theirs.write(processes.folder / "rows.vw", rows)
    train = ["-m", "massart", "train", "rows.svm", "-f", "model.massart", "--quiet"]
    told = ["--noise-rate", "0.1", "--margin", "0.05"]
    vowpal = ["-m", "vowpalwabbit", "-d", "rows.vw", "-f", "vw.model", "--quiet"]
    vowpal += ["--binary", "--loss_function", "logistic"]
    every = {TRAIN: ([*train, *told], None), POOL: (train, None), VW: (vowpal, sys.executable)}
    absent = {name: why for name, one in every.items() if (why := processes.why_absent(*one)) is not None}
    contenders = [
        Contender(name, " ".join(one[0]), 1, lambda one=one: processes.timed(*one), threads=2)
        for name, one in every.items()
        if name not in absent
    ]
    seconds = interleave(contenders, repeats, tick)
    findings = [
        Finding(name, f"seconds, {clock}", times, None)
        for name, one in seconds.items()
        for clock, times in (("by the clock", one.wall), ("of processor time", one.processor))
    ]
    if VW in seconds:
        findings += _ratios(seconds)
    about = f"{rows:,} rows, {SMALL} MB of svmlight, and the same rows as Vowpal Wabbit's text; whole processes."
    return Section("A small training", about, "seconds or times", contenders, seconds, findings, absent, digits=3)


def _ratios(seconds: dict[str, Times]) -> list[Finding]:
    wanted = {TRAIN: Wanted(at_most=2.0), POOL: Wanted(at_most=2.0)}
    return [
        Finding(name, f"in times of python -m vowpalwabbit, {clock}", quotients(mine, theirs), judge)
        for name in (TRAIN, POOL)
        if name in seconds
        for clock, mine, theirs, judge in (
            ("by the clock", seconds[name].wall, seconds[VW].wall, wanted[name]),
            ("of processor time", seconds[name].processor, seconds[VW].processor, None),
        )
    ]


def installed_size(processes: Processes) -> Section:
    """Megabytes of all files of massart and of the packages that it needs."""
    size = float(processes.run(["-c", _SIZE]).stdout) / MEGABYTE
    finding = Finding("size", "massart and all that it needs, without extras", [size], Wanted(at_most=350.0))
    return Section("Installed size", "Files as pip installed them.", "MB", [], {}, [finding], digits=0)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="the interpreter that has massart")
    options, repeats = options_of(parser, arguments, rounds=11, quick_rounds=1)
    out = console()
    known = begin(out, options.threads, repeats, quick=options.quick)
    facts = {"benchmark": "startup", "quick": options.quick, "repeats": repeats, "machine": known}
    judged = known["alone"] and not options.quick
    sections = []
    with tempfile.TemporaryDirectory() as folder:
        processes = Processes(str(Path(options.python).absolute()), Path(folder))
        for measure in (small_training, differences, first_calls):
            with progress("startup") as tick:
                sections.append(measure(processes, repeats, tick))
            print_section(out, sections[-1], judged=judged)
        sections.append(installed_size(processes))
        print_section(out, sections[-1], judged=judged)
    if options.json is not None:
        write_json(options.json, facts | {"python": options.python}, sections, judged=judged)


if __name__ == "__main__":
    main()
