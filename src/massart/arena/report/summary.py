"""What the rows of a race say: per world the standings, the curves over time, and who stayed below the bound.

All learners of a world are held to one line, the reference bound of Theorem 1(a) of docs/theory.md,

    noise_rate T + f / margin^2,

which a learner that is told noise rate, margin and horizon is certain to keep on average. It bounds an expectation,
so it is the mean over seeds that is compared with it. Learners of ours have a bound of their own besides.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from massart import theory
from massart.arena.report.names import is_ours, say_learner, say_world
from massart.arena.report.rows import Row
from massart.errors import InvalidDataError

__all__ = ["Curve", "Race", "Standing", "Verdict", "WorldResult", "summarise"]


_WORLD = ("world", "noise_rate", "margin", "dimension")  # what tells worlds apart


class Verdict(StrEnum):
    """What became of the bound."""

    KEPT = "kept"
    BROKE = "broke"
    EMPTY = "says nothing yet"  # the bound is at least half the rounds, which a coin gets wrong
    NONE = "no bound"  # the world has no margin
    STOPPED = "stopped early"
    FAILED = "failed"


@dataclass(frozen=True)
class Curve:
    """Mistakes - noise_rate * T at each checkpoint: mean, least and most over seeds, and the mean mistakes."""

    rounds: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]
    mistakes: list[float]


@dataclass(frozen=True)
class Standing:
    """How one learner stands in one world at the end; means over the seeds that got there."""

    learner: str
    ours: bool
    seeds: int
    rounds: int
    mistakes: float
    fewest: int
    most: int
    clean_mistakes: float
    angle: float | None
    excess: float
    verdict: Verdict
    seeds_above: int  # runs above the reference bound
    own_bound: float | None  # the learner's own, None if it has none
    own_bound_kept: bool | None  # None if it says nothing yet
    contradicted: bool  # whether the certificate of any seed says that the declaration is not true
    error: str | None
    curve: Curve

    @property
    def rate(self) -> float:
        """Mistakes per round."""
        return self.mistakes / max(1, self.rounds)

    @property
    def finished(self) -> bool:
        """Whether it got to the end; if not, its numbers are those of the round it got to."""
        return self.verdict not in (Verdict.FAILED, Verdict.STOPPED)


@dataclass(frozen=True)
class WorldResult:
    """One world: what it is, the reference bound, and the standings, fewest mistakes first."""

    name: str
    sentence: str
    adaptive: bool | None
    noise_rate: float
    margin: float | None
    dimension: int
    rounds: int
    seeds: int
    bound: float | None
    bound_curve: Curve | None
    standings: list[Standing]

    def of(self, learner: str) -> Standing | None:
        """The standing of a learner, None if it did not race here."""
        return next((standing for standing in self.standings if standing.learner == learner), None)

    def back_to_front(self) -> list[Standing]:
        """The order to draw curves in: what is drawn last lies on top, ours above the others, the best uppermost."""
        return sorted(self.standings, key=lambda standing: (standing.ours, -standing.rate))


@dataclass(frozen=True)
class Race:
    """All worlds of a race, and its learners, best first: by the mean of mistakes per round over worlds.

    Learners that failed or stopped somewhere come last.
    """

    worlds: list[WorldResult]
    learners: list[str]
    sentences: dict[str, str]

    def standings_of(self, learner: str) -> list[tuple[WorldResult, Standing]]:
        """The worlds a learner raced in, with how it stands there."""
        pairs = ((world, world.of(learner)) for world in self.worlds)
        return [(world, standing) for world, standing in pairs if standing is not None]

    def shown_first(self, most: int = 8) -> list[str]:
        """At most `most` learners for a chart: ours, up to half of the places, then the best of the others."""
        if len(self.learners) <= most:
            return list(self.learners)
        ours = [name for name in self.learners if is_ours(name)]
        others = [name for name in self.learners if not is_ours(name)]
        places = max(most // 2, most - len(others))
        chosen = {*ours[:places], *others[: most - min(places, len(ours))]}
        return [name for name in self.learners if name in chosen]


def summarise(rows: Iterable[Row]) -> Race:
    """Turn the rows of a race into standings.

    >>> row = {"world": "kink", "learner": "massart", "seed": 0, "rounds": 10_000, "mistakes": 900,
    ...        "clean_mistakes": 20, "noise_rate": 0.1, "margin": 0.05, "dimension": 20, "angle": 3.0,
    ...        "bound": 2230.0, "certified": None, "holds": True, "error": None}
    >>> race = summarise([row, row | {"learner": "perceptron", "mistakes": 3000, "bound": 1513.0}])
    >>> [(s.learner, s.rate, str(s.verdict)) for s in race.worlds[0].standings]
    [('massart', 0.09, 'kept'), ('perceptron', 0.3, 'broke')]
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
    race = Race(results, list(names), {name: say_learner(name) for name in names})
    race.learners.sort(key=lambda name: _place([standing for _, standing in race.standings_of(name)]))
    return race


def _title(key: tuple[Any, ...], shared: bool) -> str:
    """The name of a world, with its parameters when the race has another of the same name."""
    name, noise_rate, margin, dimension = key
    return f"{name}, noise rate {noise_rate:g}, margin {margin}, {dimension} features" if shared else str(name)


def _place(standings: Sequence[Standing]) -> tuple[bool, float]:
    return not all(s.finished for s in standings), _mean([s.rate for s in standings])


def _world(title: str, learners: dict[str, dict[int, list[Row]]]) -> WorldResult:
    every = [row for runs in learners.values() for run in runs.values() for row in run]
    first, rounds = every[0], max(row["rounds"] for row in every)
    noise_rate, margin = first["noise_rate"], first["margin"]
    bound = bound_curve = None
    if margin is not None and any(row["bound"] is not None for row in every):
        checkpoints = sorted({row["rounds"] for row in every} - {0})
        bounds = [theory.fixed_mistake_bound(noise_rate, margin, t) for t in checkpoints]
        excess = [b - noise_rate * t for b, t in zip(bounds, checkpoints, strict=True)]
        bound, bound_curve = bounds[-1], Curve(checkpoints, excess, excess, excess, bounds)
    standings = [_standing(learner, runs, rounds, bound) for learner, runs in learners.items()]
    standings.sort(key=lambda s: (not s.finished, s.rate, s.learner))
    sentence, adaptive = say_world(first["world"])
    return WorldResult(
        name=title,
        sentence=sentence,
        adaptive=adaptive,
        noise_rate=noise_rate,
        margin=margin,
        dimension=first["dimension"],
        rounds=rounds,
        seeds=len({seed for runs in learners.values() for seed in runs}),
        bound=bound,
        bound_curve=bound_curve,
        standings=standings,
    )


def _standing(learner: str, runs: dict[int, list[Row]], rounds: int, bound: float | None) -> Standing:
    lasts = [max(run, key=lambda row: row["rounds"]) for run in runs.values()]
    error = next((row["error"] for run in runs.values() for row in run if row["error"]), None)
    reached = max(row["rounds"] for row in lasts)
    there = [row for row in lasts if row["rounds"] == reached]
    mistakes = _mean([row["mistakes"] for row in there])
    angles = [row["angle"] for row in there if row["angle"] is not None]
    ours, own = is_ours(learner), there[0]["bound"]
    # Rows of a learner without a theorem carry the reference bound.
    reference = None if own is None else theory.fixed_mistake_bound(there[0]["noise_rate"], there[0]["margin"], reached)
    own_bound = own if ours or own != reference else None
    return Standing(
        learner=learner,
        ours=ours,
        seeds=len(there),
        rounds=reached,
        mistakes=mistakes,
        fewest=min(row["mistakes"] for row in there),
        most=max(row["mistakes"] for row in there),
        clean_mistakes=_mean([row["clean_mistakes"] for row in there]),
        angle=_mean(angles) if angles else None,
        excess=mistakes - there[0]["noise_rate"] * reached,
        verdict=_verdict(error, reached < rounds, mistakes, rounds, bound),
        seeds_above=0 if bound is None else sum(row["mistakes"] > bound for row in there),
        own_bound=own_bound,
        own_bound_kept=None if own_bound is None or own_bound >= reached / 2 else mistakes <= own_bound,
        contradicted=ours and any(row["holds"] is not None and not row["holds"] for row in there),
        error=error,
        curve=_curve(runs),
    )


def _verdict(error: str | None, short: bool, mistakes: float, rounds: int, bound: float | None) -> Verdict:
    if error is not None:
        return Verdict.FAILED
    if short:
        return Verdict.STOPPED
    if bound is None:
        return Verdict.NONE
    if bound >= rounds / 2:
        return Verdict.EMPTY
    return Verdict.KEPT if mistakes <= bound else Verdict.BROKE


def _curve(runs: dict[int, list[Row]]) -> Curve:
    at: dict[int, list[Row]] = {}
    for run in runs.values():
        for row in run:
            at.setdefault(row["rounds"], []).append(row)
    curve = Curve([], [], [], [], [])
    for t in sorted(at.keys() - {0}):  # a learner that could not even begin has a row at 0
        counts, clean = [row["mistakes"] for row in at[t]], at[t][0]["noise_rate"] * t
        curve.rounds.append(t)
        curve.mistakes.append(_mean(counts))
        curve.mean.append(_mean(counts) - clean)
        curve.low.append(min(counts) - clean)
        curve.high.append(max(counts) - clean)
    return curve


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
