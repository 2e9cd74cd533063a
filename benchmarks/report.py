"""What is known about the machine, the tables people read, and the file programs read."""

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from measuring import Finding, Section
from rich import box
from rich.console import Console
from rich.table import Table

Tick = Callable[[str], None]  # told the name of each contender that has had its turn
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
    """Size of each cache of the first core, where Linux tells."""
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
