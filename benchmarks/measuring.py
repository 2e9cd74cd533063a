"""Contenders take turns on the same machine; what is kept of their times is ratios, with their spread.

A machine that others use too slows down and speeds up within seconds. So contenders are interleaved, round after
round, each round starts with another of them, and a ratio is formed within a round before the median is taken.
Two clocks run: processor time, which stands still while somebody else is served, is what is compared; a contender
that works in several threads is compared by the clock on the wall.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

TRIES = 3


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
