"""What is known about the machine, the tables people read, and the file programs read."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from measuring import FREE_THREADS, MOST_LOAD, ONE_THREAD, Finding, Section, set_threads, wait_for_quiet
from rich import box
from rich.console import Console
from rich.table import Table

Tick = Callable[[str], None]  # takes the name of each contender that has had its turn
_PACKAGES = ("massart", "numpy", "scipy", "scikit-learn", "numba", "river", "vowpalwabbit")
_PLAIN_WIDTH = 100  # columns when the output is not a terminal
_COLOURS = {"PASS": "green", "miss": "red"}


def machine() -> dict[str, Any]:
    """Processor, cores, caches, load, and versions of everything that was timed."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _caches() -> dict[str, str]:
    """Size of each cache of the first core, where Linux reports it."""
    found = {}
    for cache in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((cache / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def add_threads(parser: argparse.ArgumentParser) -> None:
    """The option that says how many threads BLAS and OpenMP may use; `begin` does what it says."""
    parser.add_argument(
        "--threads",
        choices=(ONE_THREAD, FREE_THREADS),
        default=ONE_THREAD,
        help="threads of BLAS and OpenMP, for everybody (default: 1)",
    )


def options_of(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, rounds: int, quick_rounds: int = 1
) -> tuple[argparse.Namespace, int]:
    """The options that all benchmarks of speed share, and the number of rounds."""
    default = f"rounds (default: {rounds}, with --quick {quick_rounds})"
    parser.add_argument("--quick", action="store_true", help="small and few: shows that it runs, nothing is judged")
    parser.add_argument("--repeats", type=int, default=None, help=default)
    parser.add_argument("--json", type=Path, default=None, metavar="PATH", help="write every sample to this file")
    add_threads(parser)
    options = parser.parse_args(arguments)
    repeats = options.repeats if options.repeats is not None else (quick_rounds if options.quick else rounds)
    if repeats < 1:
        parser.error(f"--repeats {repeats}: give 1 or more")
    return options, repeats


def begin(out: Console, threads: str, rounds: int, *, quick: bool) -> dict[str, Any]:
    """Set the threads, wait until the machine is quiet, and say how things are measured; what is known of the machine.

    `alone` is False on a machine that does not become quiet: what is measured there is not to be judged or quoted.
    """
    set_threads(threads)
    if not quick and sys.stderr.isatty():
        print(f"waiting for a load of at most {MOST_LOAD:g}", file=sys.stderr)
    load = wait_for_quiet(0.0 if quick else 180.0)
    known = {**machine(), "threads": threads, "alone": load <= MOST_LOAD}
    allowed = "1 thread" if threads == ONE_THREAD else "as many threads as they like"
    out.print(
        f"{known['cpu']}, {known['cores']} cores; median of {rounds} rounds, by the clock; BLAS and OpenMP: {allowed}",
        highlight=False,
    )
    if not known["alone"]:
        out.print(
            f"[bold red]THE MACHINE IS BUSY[/] (load {load:.2f}, quiet is {MOST_LOAD:g}): nothing is judged, and "
            "no number below should be quoted. End what else runs here and start again.",
            highlight=False,
        )
    return known


def console() -> Console:
    """Where tables go: the terminal as wide as it is, a file 100 columns wide."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=_PLAIN_WIDTH)


@contextmanager
def progress(section: str) -> Iterator[Tick]:
    """Say on a terminal who is at work; say nothing into a file."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    with Console(stderr=True).status(f"{section}: getting ready") as status:
        yield lambda name: status.update(f"{section}: {name} done")


def print_section(out: Console, section: Section, judged: bool) -> None:
    """One table: median over the rounds, smallest and largest round, what was wanted."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("compared", no_wrap=True)
    table.add_column("what is measured", ratio=1)
    table.add_column(section.number, justify="right", no_wrap=True)
    table.add_column("min .. max", justify="right", no_wrap=True)
    table.add_column("wanted", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for finding in section.findings:
        table.add_row(*_cells(finding, section.digits, judged))
    for name, reason in section.absent.items():
        table.add_row(name, reason, "absent", "", "", "")
    out.print(f"[bold]{section.title}[/]")
    out.print(section.about, highlight=False)
    out.print(table)


def _cells(finding: Finding, digits: int, judged: bool) -> tuple[str, ...]:
    verdict = finding.verdict(judged)
    colour = _COLOURS.get(verdict)
    return (
        finding.name,
        finding.measures,
        f"{finding.median:.{digits}f}",
        f"{min(finding.samples):.{digits}f} .. {max(finding.samples):.{digits}f}",
        "" if finding.wanted is None else str(finding.wanted),
        f"[{colour}]{verdict}[/]" if colour else verdict,
    )


def write_json(path: Path, facts: dict[str, Any], sections: Sequence[Section], judged: bool) -> None:
    """Everything: facts, every sample of every contender, every finding."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {**facts, "sections": [section.as_json(judged) for section in sections]}
    path.write_text(json.dumps(content, indent=1) + "\n")
