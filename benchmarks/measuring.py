"""Contenders take turns on the same machine; what is kept of their times is ratios, with their spread.

Everybody is compared by the clock on the wall, on a machine that does nothing else, with BLAS and OpenMP told to use
one thread. Processor time is written down beside it and judged nowhere: the idle threads of a BLAS spin while they
wait for work, and count as work. Threads may be set free as well, where that is how people run a program.

A machine slows down and speeds up by itself. So contenders are interleaved, round after round, each round starts with
another of them, and a ratio is formed within a round before the median is taken.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

TRIES = 3
ONE_THREAD, FREE_THREADS = "1", "free"
THREAD_COUNTS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
MOST_LOAD = 0.5  # processes that want a processor, on average over a minute, on a machine that is quiet
_PATIENCE = 180.0  # seconds: what ran just before is forgotten after two minutes


class Elapsed(NamedTuple):
    """Seconds by both clocks."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Contender:
    """One thing to time: `run()` does it once and returns the seconds it took for `rows` rows."""

    name: str
    measures: str
    rows: int
    run: Callable[[], Elapsed]
    threads: int = 1


@dataclass
class Times:
    """Seconds per row of one contender, round by round."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Wanted:
    """The interval in which the project wants to see a number.

    >>> Wanted(at_least=1.8).accepts(2.0), str(Wanted(at_least=1.8)), str(Wanted(0.95, 1.05))
    (True, '>= 1.8', '0.95..1.05')
    """

    at_least: float = float("-inf")
    at_most: float = float("inf")

    def accepts(self, value: float) -> bool:
        """Whether the number is in the interval."""
        return self.at_least <= value <= self.at_most

    def __str__(self) -> str:
        if self.at_most == float("inf"):
            return f">= {self.at_least:g}"
        if self.at_least == float("-inf"):
            return f"<= {self.at_most:g}"
        return f"{self.at_least:g}..{self.at_most:g}"


@dataclass(frozen=True)
class Finding:
    """One line of a report: a number per round, and what was wanted of their median."""

    name: str
    measures: str
    samples: list[float]
    wanted: Wanted | None = None

    @property
    def median(self) -> float:
        """The number that is quoted and judged."""
        return median(self.samples)

    def verdict(self, judged: bool) -> str:
        """PASS or miss; a dash when sizes are too small to judge, nothing where nothing was wanted."""
        if self.wanted is None:
            return ""
        if not judged:
            return "-"
        return "PASS" if self.wanted.accepts(self.median) else "miss"

    def as_json(self, judged: bool) -> dict[str, Any]:
        """Everything, every sample included."""
        return {
            "name": self.name,
            "measures": self.measures,
            "median": self.median,
            "min": min(self.samples),
            "max": max(self.samples),
            "samples": self.samples,
            "wanted": None if self.wanted is None else str(self.wanted),
            "verdict": self.verdict(judged),
        }


@dataclass
class Section:
    """One workload: what it is, the seconds per row of every contender in every round, and the findings."""

    title: str
    about: str
    number: str  # what the numbers of the findings are, as the head of their column
    contenders: Sequence[Contender]
    seconds: dict[str, Times]
    findings: list[Finding]
    absent: dict[str, str] = field(default_factory=dict)  # name of a contender: why it is not there
    digits: int = 2

    def as_json(self, judged: bool) -> dict[str, Any]:
        """Everything, every sample included."""
        return {
            "title": self.title,
            "about": self.about,
            "number": self.number,
            "contenders": [
                {
                    "name": c.name,
                    "measures": c.measures,
                    "rows": c.rows,
                    "threads": c.threads,
                    "wall_seconds_per_row": self.seconds[c.name].wall,
                    "processor_seconds_per_row": self.seconds[c.name].processor,
                }
                for c in self.contenders
            ],
            "findings": [finding.as_json(judged) for finding in self.findings],
            "absent": self.absent,
        }


def stopwatch(work: Callable[[], Any]) -> Elapsed:
    """Seconds that `work` takes at the best of a few tries, with the garbage collector out of the way.

    Interruptions only ever add time, so the shortest time, by each clock, is the least disturbed.
    """
    gc.collect()
    gc.disable()
    try:
        tries = [_once(work) for _ in range(TRIES)]
    finally:
        gc.enable()
    return Elapsed(min(t.wall for t in tries), min(t.processor for t in tries))


def _once(work: Callable[[], Any]) -> Elapsed:
    processor, wall = time.process_time(), time.perf_counter()
    work()
    return Elapsed(time.perf_counter() - wall, time.process_time() - processor)


def interleave(contenders: Sequence[Contender], repeats: int, tick: Callable[[str], None]) -> dict[str, Times]:
    """Seconds per row of every contender in every round, after one round that is thrown away.

    The round thrown away compiles what is to be compiled, and touches memory for the first time.
    """
    seconds = {contender.name: Times() for contender in contenders}
    for turn in range(repeats + 1):
        first = turn % len(contenders)
        for contender in (*contenders[first:], *contenders[:first]):
            elapsed = contender.run()
            if turn > 0:
                seconds[contender.name].wall.append(elapsed.wall / contender.rows)
                seconds[contender.name].processor.append(elapsed.processor / contender.rows)
            tick(contender.name)
    return seconds


def quotients(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """The first over the second, round by round.

    >>> quotients([4.0, 9.0], [2.0, 3.0])
    [2.0, 3.0]
    """
    return [a / b for a, b in zip(above, below, strict=True)]


def set_threads(threads: str) -> None:
    """Let BLAS and OpenMP of this process, and of all that it starts, use one thread, or as many as they like.

    They read the environment when they are loaded, so the program is started again if that was another.
    """
    wanted = dict.fromkeys(THREAD_COUNTS, "1") if threads == ONE_THREAD else {}
    if {name: os.environ[name] for name in THREAD_COUNTS if name in os.environ} == wanted:
        return
    for name in THREAD_COUNTS:
        os.environ.pop(name, None)
    os.environ.update(wanted)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def load() -> float:
    """Processes that wanted a processor, on average over the last minute; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def wait_for_quiet(patience: float = _PATIENCE) -> float:
    """The load of the machine, as soon as it is low, or after so many seconds."""
    end = time.monotonic() + patience
    while load() > MOST_LOAD and time.monotonic() < end:
        time.sleep(1.0)
    return load()
