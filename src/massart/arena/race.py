"""The only loop over rounds: learners meet a world, and what happens is written down at log-spaced rounds."""

import math
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from massart.arena.entries import Entry, LabelEntry, RewardEntry, enter
from massart.arena.lanes import LabelLane, Lane, RewardLane, chunk_size
from massart.arena.rows import LabelRow, RewardRow, RewardStanding, Standing
from massart.errors import InvalidParameterError
from massart.worlds import RewardWorld, World, make

__all__ = ["Kind", "Progress", "RaceInterrupted", "RaceResult", "kind_of", "race", "run"]

_MOST = 10**18  # of anything that is counted
_SECONDS = 0.1  # between two calls of `progress`, at least


@dataclass(frozen=True)
class Kind:
    """What races in one kind of world are made of."""

    entry: type[Entry]
    lane: type[Lane]
    row: type[LabelRow] | type[RewardRow]


LABELS = Kind(LabelEntry, LabelLane, LabelRow)
REWARDS = Kind(RewardEntry, RewardLane, RewardRow)


def kind_of(world: Any) -> Kind:
    """The kind of a world: with labels, or with arms and rewards."""
    if isinstance(world, World):
        return LABELS
    if isinstance(world, RewardWorld):
        return REWARDS
    raise InvalidParameterError(f"world must be a world or the name of one, got {world!r}")


class Progress(NamedTuple):
    """How far a race or a sweep is: rounds times learners done and in total, and which learners are running."""

    done: int
    total: int
    world: str
    seed: int
    standings: Sequence[Standing] | Sequence[RewardStanding]


@dataclass(frozen=True, eq=False, repr=False)
class RaceResult(Sequence[Any]):
    """The rows of a race, in the order of the learners and then of the rounds, and the learners as they ended.

    A row can be read by attribute or by key; `dict(row)` has these keys. In every row: world, learner, seed, rounds,
    margin, dimension and error. The last row of a learner that raised has its error and the rounds that it certainly
    finished.

    In a world with labels: mistakes (against the label shown), clean_mistakes (against the true one), noise_rate,
    angle (degrees between the weights and the target), bound (of theory on the expected mistakes), certified (the
    mistake bound of the learner's own certificate) and holds (its verdict).

    In a world with rewards, per round until then: reward (as drawn), lift (the expected reward of the arm played less
    the mean over all arms of the round), best_lift (of the best arm of each round), share (lift / best_lift) and chance
    (the standard deviation of the lift of random arms); guaranteed_lift (of the world, in the limit), favourite (the
    probability of the most probable arm, averaged over the last rounds), arms and gap.
    """

    rows: list[Any]
    learners: dict[str, Any]

    @property
    def final(self) -> dict[str, Any]:
        """The last row of each learner."""
        return {row.learner: row for row in self.rows}

    def __repr__(self) -> str:
        return f"<RaceResult: {len(self.rows)} rows of {', '.join(self.final)}>"

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


class RaceInterrupted(KeyboardInterrupt):
    """Ctrl-C during a race; `result` holds the rows written until then."""

    def __init__(self, result: RaceResult) -> None:
        super().__init__("the race was interrupted")
        self.result = result


def race(
    learners: Any,
    world: World | RewardWorld | str,
    rounds: int,
    *,
    seed: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> RaceResult:
    """Race learners in a world with labels, or policies in a world with rewards, round by round.

    On an oblivious world all of them are given the same stream. On an adaptive one each plays its own game, with
    the same random numbers. A learner that raises is out, and marked in its last row; the others go on.

    Parameters
    ----------
    learners : str, learner, or several of them
        Names of `massart.arena.registry`, learners, scikit-learn classifiers with `partial_fit`, policies in a world
        with rewards, or a mapping from names to any of these. They are copied, not changed.
    world : World, RewardWorld or str
        A world or the name of one.
    rounds : int
        How long the race is.
    seed : int
        Of the learners made by name, and of the world if it is made by name.
    progress : callable, optional
        Called with a `Progress`, at most ten times a second and at the end.

    Examples
    --------
    >>> from massart import Halfspace, worlds
    >>> world = worlds.make("sacrificed-minority", seed=1)
    >>> learner = Halfspace(20, world.noise_rate, world.margin, fit_intercept=False)
    >>> result = race({"ours": learner}, world, rounds=10_000)
    >>> last = result.final["ours"]
    >>> last.rounds, last.mistakes < 0.2 * 10_000 < last.bound, last["holds"]
    (10000, True, True)
    >>> result = race(["monotone", "linucb"], "simpson", rounds=5000)
    >>> {name: row.lift > 0 for name, row in result.final.items()}
    {'monotone': True, 'linucb': False}
    """
    rounds = whole_number("rounds", rounds, least=1)
    seed = whole_number("seed", seed, least=0)
    world_seed, learner_seed = seeds_of(seed)
    made: Any = make(world, seed=world_seed) if isinstance(world, str) else world
    return run(enter(learners, kind_of(made).entry), made, rounds, seed, learner_seed, progress)


def seeds_of(seed: int) -> tuple[np.random.SeedSequence, int]:
    """The seed of the world and that of its learners, independent of each other."""
    for_world, for_learners = np.random.SeedSequence(seed).spawn(2)
    return for_world, int(for_learners.generate_state(1)[0])


def run(
    entries: Sequence[Entry],
    world: World | RewardWorld,
    rounds: int,
    seed: int,
    learner_seed: int,
    progress: Callable[[Progress], object] | None,
) -> RaceResult:
    """The race itself, after its arguments have been checked."""
    lanes = [kind_of(world).lane(entry, world, rounds, seed) for entry in entries]
    for lane in lanes:
        lane.attempt(lane.start, learner_seed)
    report = _reporter(lanes, progress)
    try:
        if world.adaptive:
            for lane in lanes:
                lane.attempt(lane.begin_game)
                while lane.running:
                    lane.attempt(lane.play_on)
                    report()
        else:
            _walk(lanes, world.chunks(rounds, chunk_size(entries)), report)
        report(True)
    except KeyboardInterrupt:
        raise RaceInterrupted(_result(lanes)) from None
    return _result(lanes)


def _result(lanes: Sequence[Lane]) -> RaceResult:
    learners = {lane.entry.name: lane.learner for lane in lanes if lane.learner is not None}
    return RaceResult([row for lane in lanes for row in lane.rows], learners)


def _walk(lanes: Sequence[Lane], chunks: Iterator[Any], report: Callable[[], None]) -> None:
    """Draw each chunk once and give it to all."""
    for chunk in chunks:
        for lane in lanes:
            lane.attempt(lane.walk, chunk)
            report()
        if not any(lane.running for lane in lanes):
            return


def _reporter(lanes: Sequence[Lane], progress: Callable[[Progress], object] | None) -> Callable[..., None]:
    """A function that calls `progress`, unless it has done so just before."""
    last = -math.inf

    def report(at_the_end: bool = False) -> None:
        nonlocal last
        if progress is None:
            return
        now = time.monotonic()
        if at_the_end or now - last >= _SECONDS:
            last = now
            first = lanes[0]
            done = sum(lane.rounds if lane.error is None else lane.horizon for lane in lanes)
            standings = [lane.standing() for lane in lanes]
            progress(Progress(done, len(lanes) * first.horizon, first.world.name, first.seed, standings))

    return report


def whole_number(name: str, value: Any, least: int) -> int:
    """The value as an int, if it is a whole number and large enough."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InvalidParameterError(f"{name} must be a whole number, at least {least}, got {value!r}")
    if number > _MOST:
        raise InvalidParameterError(f"{name} must be at most {_MOST:g}")
    return number
