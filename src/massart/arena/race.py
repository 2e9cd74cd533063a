"""The only loop over rounds: learners meet a world, and what happens is written down at log-spaced rounds."""

import math
import operator
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from massart.arena.checkpoints import Row, angle_between, checkpoints, promise
from massart.arena.wrappers import Contestant, Entry, enter
from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.base import Chunk, Stream, World
from massart.worlds.registry import make
from massart.worlds.rewards.base import RewardWorld

__all__ = ["Progress", "RaceInterrupted", "RaceResult", "Standing", "race"]

_MOST = 10**18  # of what is counted: nobody waits longer
_CHUNK = 4096  # rounds between two looks at the clock; learners give the same whatever it is
_SLOW_CHUNK = 256  # the same when a learner takes a fraction of a millisecond per round
_SECONDS = 0.1  # between two calls of `progress`, at least


class Standing(NamedTuple):
    """A learner on its way."""

    learner: str
    rounds: int
    mistakes: int
    bound: float | None  # what is promised of the mistakes after these rounds
    error: str | None


class Progress(NamedTuple):
    """How far a race or a sweep is: rounds times learners done and in all, and who is running just now."""

    done: int
    total: int
    world: str
    seed: int
    standings: list[Standing]


@dataclass(frozen=True, eq=False, repr=False)
class RaceResult(Sequence[Row]):
    """The rows of a race, in the order of the learners and then of the rounds, and the learners as they ended.

    Each row is a dict: world, learner, seed, rounds, mistakes (against the label told), clean_mistakes (against the
    true one), noise_rate, margin, dimension, angle (degrees between the weights and the target), bound (what theory
    promises of the expected mistakes), certified (the mistake bound of the learner's own certificate), holds (its
    verdict), error. The last row of a learner that raised has its error and the rounds that it surely finished.
    """

    rows: list[Row]
    learners: dict[str, Contestant]

    @property
    def final(self) -> dict[str, Row]:
        """The last row of each learner."""
        return {row["learner"]: row for row in self.rows}

    def __repr__(self) -> str:
        return f"<RaceResult: {len(self.rows)} rows of {', '.join(self.final)}>"

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)


class RaceInterrupted(KeyboardInterrupt):
    """Ctrl-C during a race; `result` holds what was written down until then."""

    def __init__(self, result: RaceResult) -> None:
        super().__init__("the race was interrupted")
        self.result = result


def race(
    learners: Any,
    world: World | str,
    rounds: int,
    *,
    seed: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> RaceResult:
    """Let learners predict, and then learn, the same world round by round.

    On an oblivious world all of them are given the same stream. On an adaptive one each plays its own game, with
    the same random numbers. A learner that raises is out, and marked in its last row; the others go on.

    Parameters
    ----------
    learners : str, learner, or several of them
        Names of `massart.learners.contestants`, learners of `massart.learners.base`, scikit-learn classifiers with
        `partial_fit`, or a mapping from names to any of these. They are copied, not changed.
    world : World or str
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
    >>> last["rounds"], last["mistakes"] < 0.2 * 10_000 < last["bound"], last["holds"]
    (10000, True, True)
    """
    entries = enter(learners)
    rounds = whole_number("rounds", rounds, least=1)
    seed = whole_number("seed", seed, least=0)
    world_seed, learner_seed = seeds_of(seed)
    made: Any = make(world, seed=world_seed) if isinstance(world, str) else world
    return run(entries, label_world(made), rounds, seed, learner_seed, progress)


def label_world(world: Any) -> World:
    """The world itself, if it has labels.

    >>> label_world(make("simpson"))
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: the world 'simpson' has arms and rewards, not labels: ...
    """
    if isinstance(world, World):
        return world
    if isinstance(world, RewardWorld):
        raise InvalidParameterError(
            f"the world {world.name!r} has arms and rewards, not labels: race policies in it with "
            f"`massart race --bandit {world.name}` or massart.arena.bandits.race"
        )
    raise InvalidParameterError(f"world must be a world or the name of one, got {world!r}")


def seeds_of(seed: int) -> tuple[np.random.SeedSequence, int]:
    """The seed of the world and that of its learners, independent of each other."""
    for_world, for_learners = np.random.SeedSequence(seed).spawn(2)
    return for_world, int(for_learners.generate_state(1)[0])


def run(
    entries: Sequence[Entry],
    world: World,
    rounds: int,
    seed: int,
    learner_seed: int,
    progress: Callable[[Progress], object] | None,
) -> RaceResult:
    """The race itself, after its arguments have been checked."""
    lanes = [Lane(entry, world, rounds, seed) for entry in entries]
    for lane in lanes:
        lane.attempt(lane.start, learner_seed)
    look = _watch(lanes, progress)
    try:
        if world.adaptive:
            for lane in lanes:
                lane.attempt(lane.begin_game)
                while lane.running:
                    lane.attempt(lane.play_on)
                    look()
        else:
            _walk(lanes, world, rounds, look)
        look(True)
    except KeyboardInterrupt:
        raise RaceInterrupted(_result(lanes)) from None
    return _result(lanes)


def _result(lanes: Sequence["Lane"]) -> RaceResult:
    learners = {lane.entry.name: lane.learner for lane in lanes if hasattr(lane, "learner")}
    return RaceResult([row for lane in lanes for row in lane.rows], learners)


def _walk(lanes: Sequence["Lane"], world: World, rounds: int, look: Callable[[], None]) -> None:
    """Draw each chunk once and give it to all."""
    size = _CHUNK if all(lane.entry.fast for lane in lanes) else _SLOW_CHUNK
    for chunk in world.chunks(rounds, size):
        for lane in lanes:
            lane.attempt(lane.walk, chunk)
            look()
        if not any(lane.running for lane in lanes):
            return


def _watch(lanes: Sequence["Lane"], progress: Callable[[Progress], object] | None) -> Callable[..., None]:
    """A function that tells `progress` how far it is, if it has not done so just before."""
    last = -math.inf

    def look(at_the_end: bool = False) -> None:
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

    return look


class Lane:
    """One learner in one race: its counts, its rows, its error."""

    learner: Contestant  # there once `start` has made it
    error: str | None = None
    rounds = mistakes = clean_mistakes = 0

    def __init__(self, entry: Entry, world: World, rounds: int, seed: int) -> None:
        self.entry = entry
        self.world = world
        self.horizon = rounds
        self.seed = seed
        self.rows: list[Row] = []
        self._marks = checkpoints(rounds)
        self._promise = promise(entry.contestant, world, rounds)

    @property
    def running(self) -> bool:
        """Whether rounds are left to play."""
        return self.error is None and self.rounds < self.horizon

    def attempt(self, action: Callable[..., None], *arguments: Any) -> None:
        """Do it unless the learner is out; if it raises, it is out."""
        if self.error is not None:
            return
        try:
            action(*arguments)
        except Exception as error:  # whatever somebody's learner raises, the others go on
            self.error = f"{type(error).__name__}: {error}"
            if self.rows and self.rows[-1]["rounds"] == self.rounds:
                self.rows[-1]["error"] = self.error
            else:
                self.rows.append(self._row(None, None, None))

    def start(self, seed: int) -> None:
        """Make the learner."""
        self.learner = self.entry.learner(self.world, self.horizon, seed)

    def _next_mark(self) -> int:
        return self._marks[bisect_left(self._marks, self.rounds + 1)]

    def walk(self, chunk: Chunk) -> None:
        """Learn a chunk, stopping at the checkpoints inside of it."""
        learner = self.learner
        begin, size = 0, len(chunk.y)
        while begin < size:
            mark = self._next_mark()
            end = min(size, begin + mark - self.rounds)
            y = chunk.y[begin:end]
            scores = np.asarray(learner.learn_many(chunk.X[begin:end], y))
            if scores.shape != y.shape:
                raise InvalidDataError(f"learn_many gave scores of shape {scores.shape} for {len(y)} rows")
            if np.isnan(scores).any():
                raise InvalidDataError("a score is not a number: the learner has diverged")
            said = scores >= 0.0
            self.mistakes += int(np.count_nonzero(said != (y > 0)))
            self.clean_mistakes += int(np.count_nonzero(said != (chunk.clean[begin:end] > 0)))
            self.rounds += end - begin
            if self.rounds == mark:
                self._record()
            begin = end

    def begin_game(self) -> None:
        """Start a game of its own against an adaptive world."""
        self._game = self.world.play(self.horizon)

    def play_on(self) -> None:
        """Play until the next checkpoint, or until it is time to look at the clock."""
        mark = self._next_mark()
        self._duel(self._game, min(_CHUNK if self.entry.fast else _SLOW_CHUNK, mark - self.rounds))
        if self.rounds == mark:
            self._record()

    def _duel(self, game: Stream, count: int) -> None:
        """Play `count` rounds; everything in it is a local variable, for this is where the time goes."""
        learner = self.learner
        choose, learn = game.next, learner.learn
        done = wrong = untrue = 0
        try:
            for done in range(count):  # noqa: B007 - the rounds finished, should one raise
                x, y, clean, _ = choose(learner.direction)
                said = 1 if learn(x, y) >= 0.0 else -1
                if said != y:
                    wrong += 1
                if said != clean:
                    untrue += 1
            done = count
        finally:
            self.rounds += done
            self.mistakes += wrong
            self.clean_mistakes += untrue

    def standing(self) -> Standing:
        """Where it is now."""
        return Standing(self.entry.name, self.rounds, self.mistakes, self._bound(), self.error)

    def _bound(self) -> float | None:
        return None if self._promise is None or self.rounds == 0 else float(self._promise(self.rounds))

    def _record(self) -> None:
        learner = self.learner
        angle = angle_between(learner.weights, self.world.target_at(self.rounds - 1))
        certify = getattr(learner, "certificate", None)
        certificate = None if certify is None else certify()
        if certificate is None:
            self.rows.append(self._row(angle, None, None))
        else:
            certified = float(certificate.mistake_bound)
            self.rows.append(self._row(angle, certified if math.isfinite(certified) else None, bool(certificate.holds)))

    def _row(self, angle: float | None, certified: float | None, holds: bool | None) -> Row:
        return {
            "world": self.world.name,
            "learner": self.entry.name,
            "seed": self.seed,
            "rounds": self.rounds,
            "mistakes": self.mistakes,
            "clean_mistakes": self.clean_mistakes,
            "noise_rate": self.world.noise_rate,
            "margin": self.world.margin,
            "dimension": self.world.dimension,
            "angle": angle,
            "bound": self._bound(),
            "certified": certified,
            "holds": holds,
            "error": self.error,
        }


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
