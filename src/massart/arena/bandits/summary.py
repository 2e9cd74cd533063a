"""What the rows of a bandit race say: per world the standings, the curves over time, and who earned less than chance.

A random arm has lift 0 on average, and over the rounds of a run a standard deviation that the row calls `chance`. A
policy is below random if the mean of its lift over n seeds is less than -3 chance / sqrt(n), which happens to a random
arm about once in 700 races, and above if it is more than that; in between it is like random.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from massart.arena.bandits.contestants import describe, is_ours
from massart.arena.report.names import say_world
from massart.arena.report.rows import Row
from massart.errors import InvalidDataError

__all__ = ["Curve", "Race", "Standing", "Verdict", "WorldResult", "summarise"]

_WORLD = ("world", "arms", "gap", "margin", "dimension")  # what tells worlds apart
_DEVIATIONS = 3.0


class Verdict(StrEnum):
    """How a policy compares with a random arm and with the guarantee."""

    REACHED = "the guarantee or more"
    ABOVE = "above random"
    RANDOM = "like random"
    BELOW = "below random"
    STOPPED = "stopped early"
    FAILED = "failed"


@dataclass(frozen=True)
class Curve:
    """Lift per round until each checkpoint: mean, least and most over seeds."""

    rounds: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class Standing:
    """How one policy stands in one world at the end; per round, means over the seeds that got there."""

    learner: str
    ours: bool
    seeds: int
    rounds: int
    reward: float
    lift: float
    least: float
    most: float
    share: float | None
    favourite: float | None
    verdict: Verdict
    error: str | None
    curve: Curve

    @property
    def finished(self) -> bool:
        """Whether it got to the end; if not, its numbers are those of the round it got to."""
        return self.verdict not in (Verdict.FAILED, Verdict.STOPPED)


@dataclass(frozen=True)
class WorldResult:
    """One world: what it is, what is guaranteed and possible, and the standings, highest lift first."""

    name: str
    sentence: str
    adaptive: bool | None
    arms: int
    gap: float | None
    margin: float | None
    dimension: int
    rounds: int
    seeds: int
    guarantee: float | None
    best: float | None  # None where each policy has a game of its own
    standings: list[Standing]

    def of(self, learner: str) -> Standing | None:
        """The standing of a policy, None if it did not race here."""
        return next((standing for standing in self.standings if standing.learner == learner), None)

    def back_to_front(self) -> list[Standing]:
        """The order to draw curves in: what is drawn last lies on top, ours above the others, the best uppermost."""
        return sorted(self.standings, key=lambda standing: (standing.ours, standing.lift))


@dataclass(frozen=True)
class Race:
    """All worlds of a race, and its policies, best first: by the mean over worlds of the share of the best lift."""

    worlds: list[WorldResult]
    learners: list[str]
    sentences: dict[str, str]

    def standings_of(self, learner: str) -> list[tuple[WorldResult, Standing]]:
        """The worlds a policy raced in, with how it stands there."""
        pairs = ((world, world.of(learner)) for world in self.worlds)
        return [(world, standing) for world, standing in pairs if standing is not None]


def summarise(rows: Iterable[Row]) -> Race:
    """Turn the rows of a bandit race into standings.

    >>> row = {"world": "simpson", "learner": "monotone", "seed": 0, "rounds": 10_000, "reward": 0.55, "lift": 0.05,
    ...        "guaranteed_lift": 0.04, "best_lift": 0.1, "share": 0.5, "chance": 0.001, "favourite": 0.9, "arms": 5,
    ...        "gap": 0.05, "margin": 0.1, "dimension": 10, "error": None}
    >>> race = summarise([row, row | {"learner": "linucb", "lift": -0.09, "share": -0.9}])
    >>> [(standing.learner, str(standing.verdict)) for standing in race.worlds[0].standings]
    [('monotone', 'the guarantee or more'), ('linucb', 'below random')]
    """
    by_world: dict[tuple[Any, ...], dict[str, dict[int, list[Row]]]] = {}
    for row in rows:
        runs = by_world.setdefault(tuple(row[key] for key in _WORLD), {}).setdefault(row["learner"], {})
        runs.setdefault(row["seed"], []).append(row)
    if not by_world:
        raise InvalidDataError("there are no rows to report: let the race finish at least one run")
    times = Counter(name for name, *_ in by_world)
    results = [_world(_title(key, times[key[0]] > 1), learners) for key, learners in by_world.items()]
    names = dict.fromkeys(standing.learner for world in results for standing in world.standings)
    race = Race(results, list(names), {name: describe(name) for name in names})
    race.learners.sort(key=lambda name: _place([standing for _, standing in race.standings_of(name)]))
    return race


def _title(key: tuple[Any, ...], shared: bool) -> str:
    """The name of a world, with its parameters when the race has another of the same name."""
    name, arms, gap, margin, dimension = key
    return f"{name}, {arms} arms, gap {gap}, margin {margin}, {dimension} features" if shared else str(name)


def _place(standings: Sequence[Standing]) -> tuple[bool, float]:
    return not all(s.finished for s in standings), -_mean([s.share or 0.0 for s in standings])


def _world(title: str, learners: dict[str, dict[int, list[Row]]]) -> WorldResult:
    every = [row for runs in learners.values() for run in runs.values() for row in run]
    first, rounds = every[0], max(row["rounds"] for row in every)
    standings = [_standing(learner, runs, rounds) for learner, runs in learners.items()]
    standings.sort(key=lambda s: (not s.finished, -s.lift, s.learner))
    sentence, adaptive = say_world(first["world"])
    return WorldResult(
        name=title,
        sentence=sentence,
        adaptive=adaptive,
        arms=first["arms"],
        gap=first["gap"],
        margin=first["margin"],
        dimension=first["dimension"],
        rounds=rounds,
        seeds=len({seed for runs in learners.values() for seed in runs}),
        guarantee=first["guaranteed_lift"],
        best=None if adaptive else _mean([row["best_lift"] for row in every if row["rounds"] == rounds]),
        standings=standings,
    )


def _standing(learner: str, runs: dict[int, list[Row]], rounds: int) -> Standing:
    lasts = [max(run, key=lambda row: row["rounds"]) for run in runs.values()]
    error = next((row["error"] for run in runs.values() for row in run if row["error"]), None)
    reached = max(row["rounds"] for row in lasts)
    there = [row for row in lasts if row["rounds"] == reached]
    lift = _mean([row["lift"] for row in there])
    doubt = _DEVIATIONS * math.sqrt(sum(row["chance"] ** 2 for row in there)) / len(there)
    return Standing(
        learner=learner,
        ours=is_ours(learner),
        seeds=len(there),
        rounds=reached,
        reward=_mean([row["reward"] for row in there]),
        lift=lift,
        least=min(row["lift"] for row in there),
        most=max(row["lift"] for row in there),
        share=_mean_of_known([row["share"] for row in there]),
        favourite=_mean_of_known([row["favourite"] for row in there]),
        verdict=_verdict(error, reached < rounds, lift, doubt, there[0]["guaranteed_lift"]),
        error=error,
        curve=_curve(runs),
    )


def _verdict(error: str | None, short: bool, lift: float, doubt: float, guarantee: float | None) -> Verdict:
    if error is not None:
        return Verdict.FAILED
    if short:
        return Verdict.STOPPED
    if abs(lift) <= doubt:
        return Verdict.RANDOM
    if guarantee is not None and lift >= guarantee:
        return Verdict.REACHED
    return Verdict.ABOVE if lift > 0.0 else Verdict.BELOW


def _curve(runs: dict[int, list[Row]]) -> Curve:
    at: dict[int, list[float]] = {}
    for run in runs.values():
        for row in run:
            at.setdefault(row["rounds"], []).append(row["lift"])
    curve = Curve([], [], [], [])
    for t in sorted(at.keys() - {0}):  # a policy that could not even begin has a row at 0
        curve.rounds.append(t)
        curve.mean.append(_mean(at[t]))
        curve.low.append(min(at[t]))
        curve.high.append(max(at[t]))
    return curve


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None
