"""What the reports of both kinds of world share: standings, curves, numbers in words, and what each kind must say.

`LabelReport` (labels.py) and `RewardReport` (rewards.py) are the two kinds; tables, pages and figures ask them for
everything that differs.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from massart import worlds
from massart.arena.registry import Registry
from massart.errors import InvalidParameterError, counted
from massart.worlds.data_sets import describe_data_set

__all__ = ["Curve", "Race", "Reference", "ReportKind", "Standing", "WorldResult"]

_UNFINISHED = ("stopped early", "failed")


@dataclass(frozen=True)
class Curve:
    """What a chart shows at each checkpoint: mean, minimum and maximum over seeds."""

    rounds: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one learner stands in one world at the end; means over the seeds that got there."""

    learner: str
    title: str
    ours: bool
    seeds: int
    rounds: int
    error: str | None
    curve: Curve
    verdict: StrEnum
    minimum: float  # over seeds, of what the learner is compared by
    maximum: float

    @property
    def finished(self) -> bool:
        """Whether it got to the end; if not, its numbers are those of the round it got to."""
        return self.verdict not in _UNFINISHED


S = TypeVar("S", bound=Standing)


@dataclass(frozen=True, kw_only=True)
class WorldResult(Generic[S]):
    """One world: what it is, and the standings, best first."""

    name: str
    sentence: str
    adaptive: bool | None
    margin: float | None
    dimension: int
    rounds: int
    seeds: int
    standings: list[S]

    def of(self, learner: str) -> S | None:
        """The standing of a learner, None if it did not race here."""
        return next((standing for standing in self.standings if standing.learner == learner), None)

    def back_to_front(self) -> list[S]:
        """The order to draw curves in: what is drawn last lies on top, ours above the others, the best uppermost."""
        worst_first = reversed(self.standings)
        return sorted(worst_first, key=lambda standing: standing.ours)


W = TypeVar("W", bound=WorldResult[Any])


@dataclass(frozen=True)
class Race(Generic[W]):
    """All worlds of a race, and its learners, best first; learners that failed or stopped somewhere come last."""

    kind: "ReportKind[Any, W]"
    worlds: list[W]
    learners: list[str]
    sentences: dict[str, str]

    def standings_of(self, learner: str) -> list[tuple[W, Any]]:
        """The worlds a learner raced in, with how it stands there."""
        pairs = ((world, world.of(learner)) for world in self.worlds)
        return [(world, standing) for world, standing in pairs if standing is not None]

    def title(self, learner: str) -> str:
        """What a learner is called."""
        return self.kind.registry.title(learner)

    def is_ours(self, learner: str) -> bool:
        """Whether a learner is one of massart's."""
        return self.kind.registry.is_ours(learner)

    def shown_first(self, most: int | None = None) -> list[str]:
        """At most `most` learners for a chart: ours, up to half of the places, then the best of the others."""
        most = self.kind.most_shown if most is None else most
        if len(self.learners) <= most:
            return list(self.learners)
        ours = [name for name in self.learners if self.is_ours(name)]
        others = [name for name in self.learners if not self.is_ours(name)]
        places = max(most // 2, most - len(others))
        chosen = {*ours[:places], *others[: most - min(places, len(ours))]}
        return [name for name in self.learners if name in chosen]


@dataclass(frozen=True)
class Reference:
    """A line of a table of standings that is no learner: the bound, the guarantee, the best arm."""

    name: str
    cells: Sequence[str]


class ReportKind(ABC, Generic[S, W]):
    """What the report of one kind of world says."""

    registry: ClassVar[Registry]
    world_keys: ClassVar[tuple[str, ...]]  # of a row: what tells worlds apart
    options: ClassVar[tuple[str, ...]] = ()  # of the command, before the worlds
    most_shown: ClassVar[int]  # curves of a chart when it opens
    shown_part: ClassVar[int]  # a chart begins at round T / shown_part
    question: ClassVar[str]  # the page's heading
    axis: ClassVar[str]  # what the charts show
    against: ClassVar[str]  # the same in a tooltip
    digits: ClassVar[int]  # of the numbers in a chart
    reference: ClassVar[str]  # the name of the dashed curve
    familiar: ClassVar[tuple[str, ...]]  # the learners whose colours are the same in every race
    columns: ClassVar[tuple[str, ...]]  # of the standings, after the learner and the verdict
    verdict_head: ClassVar[str]
    tally_head: ClassVar[str]
    tally_caption: ClassVar[str]
    overview_text: ClassVar[str]
    overview_caption: ClassVar[str]
    order_words: ClassVar[str]
    reading: ClassVar[tuple[tuple[str, str], ...]]

    @abstractmethod
    def facts_of(self, key: tuple[Any, ...]) -> str:
        """The parameters of a world, to tell it from another of the same name."""

    @abstractmethod
    def value(self, row: Any) -> float:
        """What the charts show."""

    @abstractmethod
    def world(self, common: dict[str, Any], rows: Sequence[Any], learners: Mapping[str, Any]) -> W:
        """The result of a world, standings sorted; `common` are the fields of every WorldResult but standings."""

    @abstractmethod
    def place(self, standings: Sequence[S]) -> Any:
        """The key by which learners are sorted, best first."""

    @abstractmethod
    def headline(self, race: Race[W]) -> str:
        """The race in a sentence or two."""

    @abstractmethod
    def world_facts(self, world: W) -> list[str]:
        """What the world declares."""

    def verdict_words(self, standing: S) -> str:
        """The verdict, with the round for those that did not get to the end."""
        return str(standing.verdict) if standing.finished else f"{standing.verdict} at round {count(standing.rounds)}"

    @abstractmethod
    def css(self, standing: S) -> str:
        """The class of the verdict's tag."""

    @abstractmethod
    def marked(self, standing: S | None) -> str:
        """The number of the overview with its mark; a dash for a learner that did not race here."""

    @abstractmethod
    def overview_references(self, race: Race[W]) -> dict[str, list[str]]:
        """The lines of the overview that are no learners."""

    def overview_words(self, race: Race[W]) -> tuple[str, str]:
        """The text above the overview, and its caption."""
        del race
        return self.overview_text, self.overview_caption

    @abstractmethod
    def lines(self, world: W) -> list[S | Reference]:
        """The lines of a world's table."""

    @abstractmethod
    def cells(self, standing: S) -> Sequence[str]:
        """The cells of a standing, one for each of `columns`."""

    @abstractmethod
    def tally(self, race: Race[W], learner: str) -> str:
        """In how many worlds a learner did what `tally_head` says."""

    @abstractmethod
    def value_words(self, value: float) -> str:
        """What the charts show, in words."""

    @abstractmethod
    def reference_curve(self, world: W) -> Curve | None:
        """The dashed curve of a chart."""

    @abstractmethod
    def ceiling(self, world: W, shown: Sequence[str]) -> float | None:
        """Where the first view of a chart ends, None if it shows everything."""

    @abstractmethod
    def panel_title(self, world: W) -> str:
        """The title of a figure's panel."""

    def first_round(self, world: W) -> int:
        """Where a chart begins: before, averages are mostly chance."""
        return max(1, world.rounds // self.shown_part)

    def summarise(self, rows: Iterable[Any]) -> Race[W]:
        """Turn typed rows into standings."""
        by_world: dict[tuple[Any, ...], dict[str, dict[int, list[Any]]]] = {}
        for row in rows:
            runs = by_world.setdefault(tuple(row[key] for key in self.world_keys), {}).setdefault(row.learner, {})
            runs.setdefault(row.seed, []).append(row)
        times = Counter(name for name, *_ in by_world)
        results = [self._world(key, learners, times[key[0]] > 1) for key, learners in by_world.items()]
        names = dict.fromkeys(standing.learner for world in results for standing in world.standings)
        race = Race(self, results, list(names), {name: self._sentence(name) for name in names})
        race.learners.sort(key=lambda name: self.place([standing for _, standing in race.standings_of(name)]))
        return race

    def _sentence(self, learner: str) -> str:
        own = f"A {self.registry.noun} of your own."
        return self.registry.describe(learner) if self.registry.is_known(learner) else own

    def _world(self, key: tuple[Any, ...], learners: Mapping[str, Any], shared: bool) -> W:
        rows = [row for runs in learners.values() for run in runs.values() for row in run]
        sentence, adaptive = describe_world(key[0])
        common = {
            "name": f"{key[0]}, {self.facts_of(key)}" if shared else str(key[0]),
            "sentence": sentence,
            "adaptive": adaptive,
            "margin": rows[0].margin,
            "dimension": rows[0].dimension,
            "rounds": max(row.rounds for row in rows),
            "seeds": len({seed for runs in learners.values() for seed in runs}),
        }
        return self.world(common, rows, learners)

    def common(self, learner: str, runs: Mapping[int, list[Any]]) -> tuple[dict[str, Any], list[Any]]:
        """The fields of every Standing but the verdict and the range, and the last rows of the seeds that got there."""
        lasts = [max(run, key=lambda row: row.rounds) for run in runs.values()]
        reached = max(row.rounds for row in lasts)
        there = [row for row in lasts if row.rounds == reached]
        fields = {
            "learner": learner,
            "title": self.registry.title(learner),
            "ours": self.registry.is_ours(learner),
            "seeds": len(there),
            "rounds": reached,
            "error": next((row.error for run in runs.values() for row in run if row.error), None),
            "curve": self._curve(runs),
        }
        return fields, there

    def _curve(self, runs: Mapping[int, list[Any]]) -> Curve:
        at: dict[int, list[float]] = {}
        for run in runs.values():
            for row in run:
                at.setdefault(row.rounds, []).append(self.value(row))
        rounds = sorted(at.keys() - {0})  # a learner that could not even begin has a row at 0
        return Curve(rounds, [mean(at[t]) for t in rounds], [min(at[t]) for t in rounds], [max(at[t]) for t in rounds])

    def size_words(self, race: Race[W]) -> str:
        """How large the race was."""
        size = f"{counted(len(race.worlds), 'world')}, {counted(len(race.learners), self.registry.noun)}"
        seeds, rounds = (span(getattr(world, key) for world in race.worlds) for key in ("seeds", "rounds"))
        return f"{size}, {seeds} seed{'' if seeds == '1' else 's'} each, {rounds} rounds"

    def failures(self, world: W) -> list[str]:
        """A sentence for each learner that raised."""
        return [
            f"{s.title} failed at round {count(s.rounds)} of {world.name}: {s.error}"
            for s in world.standings
            if s.error
        ]

    def fewer_seeds(self, world: W) -> list[str]:
        """A sentence for the learners that ran with fewer seeds than the rest."""
        by_count: dict[int, list[str]] = {}
        for standing in world.standings:
            if standing.rounds and standing.seeds < world.seeds:
                by_count.setdefault(standing.seeds, []).append(standing.title)
        return [
            f"{', '.join(sorted(names))}: {counted(seeds, 'seed')} only." for seeds, names in sorted(by_count.items())
        ]

    def notes(self, race: Race[W]) -> list[str]:
        """The sentences below a table."""
        every = (words for world in race.worlds for words in (*self.failures(world), *self.fewer_seeds(world)))
        return list(dict.fromkeys(every))


def describe_world(name: str) -> tuple[str, bool | None]:
    """What a world does and why learners fail there, and whether it is adaptive.

    >>> sentence, adaptive = describe_world("worst-point")
    >>> sentence[:36], adaptive
    ('Shows the row the learner scores wor', True)
    >>> describe_world("my-own-data")
    ('A world of your own.', None)
    >>> describe_world("digits:clean")[0][:20], describe_world("digits:clean")[1]
    ('Rows of a data file:', False)
    """
    of_data = describe_data_set(name)
    if of_data is not None:
        return of_data, False
    try:
        world: Any = worlds.make(name)
    except InvalidParameterError:
        return "A world of your own.", None
    return world.description, world.adaptive


def adaptive_words(adaptive: bool | None) -> list[str]:
    """Whether a world is adaptive, if that is known."""
    return {True: ["adaptive: it sees the weights"], False: ["oblivious: fixed in advance"], None: []}[adaptive]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def count(value: float) -> str:
    """A number of rounds or mistakes.

    >>> count(20_000), count(1234.5)
    ('20,000', '1,234')
    """
    return f"{value:,.0f}"


def signed(value: float) -> str:
    """An excess, with its sign.

    >>> signed(1234.5), signed(-3.2), signed(0.0)
    ('+1,234', '−3', '0')
    """
    text = f"{value:+,.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def rate(value: float) -> str:
    """Mistakes or reward per round.

    >>> rate(0.1234), rate(1.0)
    ('.123', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def all_worlds(many: int) -> str:
    """All of so many worlds.

    >>> all_worlds(2), all_worlds(3)
    ('both worlds', 'all 3 worlds')
    """
    return "both worlds" if many == 2 else f"all {many} worlds"


def span(values: Iterable[int]) -> str:
    """One number, or from the smallest to the largest.

    >>> span([5, 5]), span([200, 1000])
    ('5', '200 to 1,000')
    """
    every = sorted(set(values))
    return count(every[0]) if len(every) == 1 else f"{count(every[0])} to {count(every[-1])}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, at most four.

    >>> listed(["a", "b", "c"]), listed(list("abcdef"))
    ('a, b and c', 'a, b, c and 3 more')
    """
    shown = list(names[:4])
    if len(names) > 4:
        shown = [*names[:3], f"{len(names) - 3} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
