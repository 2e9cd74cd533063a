"""One learner in one race: it learns round by round, is counted, and its rows are written at log-spaced rounds.

`Lane` is the loop; `LabelLane` and `RewardLane` know how a round of their kind of world is learned and counted.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.arena.entries import Entry
from massart.arena.rows import LabelRow, RewardRow, RewardStanding, Standing
from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds import RewardChunk, World

__all__ = ["LabelLane", "Lane", "RewardLane", "angle_between", "checkpoints", "chunk_size", "mistake_bound"]

Bound = Callable[[int], float]

CHUNK = 4096  # rounds between two calls of `progress`; learners give the same whatever it is
SLOW_CHUNK = 256  # the same when a learner takes a fraction of a millisecond per round
_PER_DECADE = 20
_AVERAGED = 16  # rounds before a checkpoint whose probabilities are averaged


def checkpoints(rounds: int) -> list[int]:
    """The rounds after which a race of `rounds` rounds writes a row.

    1, 2, 5, 10, 20, 50, ... and, above 100, also the nearest whole numbers to 10^(k/20); always the last
    round. But for its last round, the checkpoints of a shorter race are among those of a longer one.

    >>> checkpoints(130)
    [1, 2, 5, 10, 20, 50, 100, 112, 126, 130]
    """
    decades = range(len(str(rounds)))
    plain = (digit * 10**decade for decade in decades for digit in (1, 2, 5))
    fine = (round(10 ** (k / _PER_DECADE)) for k in range(2 * _PER_DECADE, _PER_DECADE * len(str(rounds))))
    return sorted({t for t in (*plain, *fine) if t <= rounds} | {rounds})


def chunk_size(entries: Sequence[Entry]) -> int:
    """Rounds that are drawn at once for these learners."""
    return CHUNK if all(entry.fast for entry in entries) else SLOW_CHUNK


class Lane(ABC):
    """One learner in one race: its counts, its rows, its error."""

    learner: Any = None  # made by `start`
    error: str | None = None
    rounds = 0

    def __init__(self, entry: Entry, world: Any, rounds: int, seed: int) -> None:
        self.entry = entry
        self.world = world
        self.horizon = rounds
        self.seed = seed
        self.rows: list[Any] = []
        self._marks = checkpoints(rounds)
        self._game: Any = None

    @property
    def running(self) -> bool:
        """Whether rounds are left to play."""
        return self.error is None and self.rounds < self.horizon

    def attempt(self, action: Callable[..., None], *arguments: Any) -> None:
        """Do it unless the learner has failed; an exception is its failure."""
        if self.error is not None:
            return
        try:
            action(*arguments)
        except Exception as error:  # whatever a learner raises, the others go on
            self.error = f"{type(error).__name__}: {error}"
            if self.rows and self.rows[-1].rounds == self.rounds:
                self.rows[-1] = replace(self.rows[-1], error=self.error)
            else:
                self.rows.append(self._row(None))

    def start(self, seed: int) -> None:
        """Make the learner."""
        self.learner = self.entry.learner(self.world, self.horizon, seed)

    def walk(self, chunk: Any) -> None:
        """Learn a chunk, in parts that end at checkpoints."""
        begin, size = 0, len(chunk[0])
        while begin < size:
            mark = self._next_mark()
            end = min(size, begin + mark - self.rounds)
            part = chunk._make(column[begin:end] for column in chunk)
            self._learn(part)
            if self.rounds == mark:
                self.rows.append(self._row(part))
            begin = end

    def begin_game(self) -> None:
        """Start a game of its own against an adaptive world."""
        self._game = self.world.play(self.horizon)

    def play_on(self) -> None:
        """Play until the next checkpoint, or until it is time to report progress."""
        mark = self._next_mark()
        part = self._duel(mark - self.rounds)
        if self.rounds == mark:
            self.rows.append(self._row(part))

    def _next_mark(self) -> int:
        return self._marks[bisect_left(self._marks, self.rounds + 1)]

    @abstractmethod
    def _learn(self, part: Any) -> None:
        """Learn consecutive rounds and count them."""

    @abstractmethod
    def _duel(self, most: int) -> Any:
        """Play at most so many rounds of the game; return what `_row` needs of them."""

    @abstractmethod
    def _row(self, part: Any | None) -> Any:
        """The row of now; `part` are the rounds before it, None if the learner failed."""

    @abstractmethod
    def standing(self) -> Any:
        """The counts of now."""


class LabelLane(Lane):
    """A learner in a world with labels."""

    world: World
    mistakes = clean_mistakes = 0

    def __init__(self, entry: Entry, world: World, rounds: int, seed: int) -> None:
        super().__init__(entry, world, rounds, seed)
        self._bound_after = mistake_bound(entry.registered, world, rounds)

    def _learn(self, part: Any) -> None:
        y = part.y
        scores = np.asarray(self.learner.learn_many(part.X, y))
        if scores.shape != y.shape:
            raise InvalidDataError(f"learn_many gave scores of shape {scores.shape} for {len(y)} rows")
        if np.isnan(scores).any():
            raise InvalidDataError("a score is not a number: the learner has diverged")
        predicted = scores >= 0.0
        self.mistakes += int(np.count_nonzero(predicted != (y > 0)))
        self.clean_mistakes += int(np.count_nonzero(predicted != (part.clean > 0)))
        self.rounds += len(y)

    def _duel(self, most: int) -> Any:
        """Everything in it is a local variable, for this is where the time goes."""
        learner, count = self.learner, min(chunk_size([self.entry]), most)
        choose, learn = self._game.next, learner.learn
        done = wrong = untrue = 0
        try:
            for done in range(count):  # noqa: B007 - the rounds finished, should one raise
                x, y, clean, _ = choose(learner.direction)
                predicted = 1 if learn(x, y) >= 0.0 else -1
                if predicted != y:
                    wrong += 1
                if predicted != clean:
                    untrue += 1
            done = count
        finally:
            self.rounds += done
            self.mistakes += wrong
            self.clean_mistakes += untrue
        return ()

    def standing(self) -> Standing:
        """The counts of now."""
        return Standing(self.entry.name, self.rounds, self.mistakes, self._bound(), self.error)

    def _bound(self) -> float | None:
        return None if self._bound_after is None or self.rounds == 0 else float(self._bound_after(self.rounds))

    def _row(self, part: Any | None) -> LabelRow:
        angle = certified = holds = None
        if part is not None:
            angle = angle_between(self.learner.weights, self.world.target_at(self.rounds - 1))
            certify = getattr(self.learner, "certificate", None)
            certificate = None if certify is None else certify()
            if certificate is not None:
                bound, holds = float(certificate.mistake_bound), bool(certificate.holds)
                certified = bound if math.isfinite(bound) else None
        return LabelRow(
            world=self.world.name,
            learner=self.entry.name,
            seed=self.seed,
            rounds=self.rounds,
            mistakes=self.mistakes,
            clean_mistakes=self.clean_mistakes,
            noise_rate=self.world.noise_rate,
            margin=self.world.margin,
            dimension=self.world.dimension,
            angle=angle,
            bound=self._bound(),
            certified=certified,
            holds=holds,
            error=self.error,
        )


class RewardLane(Lane):
    """A policy in a world with rewards."""

    reward = lift = best = variance = 0.0  # sums over the rounds played

    def _learn(self, part: Any) -> None:
        arms = np.asarray(self.learner.play(part.contexts, part.rewards).arms)
        rounds, count = part.means.shape
        if arms.shape != (rounds,) or not ((arms >= 0) & (arms < count)).all():
            raise InvalidDataError(f"play gave arms of shape {arms.shape}, or arms that do not exist: one per round")
        self._count(part, arms)

    def _count(self, part: RewardChunk, arms: NDArray[Any]) -> None:
        played = np.arange(len(arms)), arms
        level = part.means.mean(axis=1)
        self.reward += float(part.rewards[played].sum())
        self.lift += float((part.means[played] - level).sum())
        self.best += float((part.means.max(axis=1) - level).sum())
        self.variance += float(part.means.var(axis=1).sum())
        self.rounds += len(arms)

    def _duel(self, most: int) -> Any:
        policy = self.learner
        shown, arms = [], []
        part = None
        try:
            for _ in range(min(SLOW_CHUNK, most)):
                weights = policy.weights
                # A policy that has not seen a context yet may not know how many weights it will have.
                one = self._game.next(weights if weights.size else np.zeros(self.world.dimension))
                choice = policy.choose(one.contexts)
                policy.learn(choice, float(one.rewards[choice.arm]))
                shown.append(one)
                arms.append(choice.arm)
        finally:
            if shown:
                part = RewardChunk._make(np.array(column) for column in zip(*shown, strict=True))
                self._count(part, np.array(arms))
        return part

    def standing(self) -> RewardStanding:
        """The sums of now, per round."""
        lift = self.lift / max(1, self.rounds)
        return RewardStanding(self.entry.name, self.rounds, lift, self.world.guaranteed_lift, self.error)

    def _row(self, part: Any | None) -> RewardRow:
        rounds, world, favourite = max(1, self.rounds), self.world, None
        if part is not None:
            last = part.contexts[-_AVERAGED:]
            favourite = float(np.mean([np.max(self.learner.probabilities(one)) for one in last]))
        return RewardRow(
            world=world.name,
            learner=self.entry.name,
            seed=self.seed,
            rounds=self.rounds,
            reward=self.reward / rounds,
            lift=self.lift / rounds,
            guaranteed_lift=world.guaranteed_lift,
            best_lift=self.best / rounds,
            share=self.lift / self.best if self.best > 0.0 else None,
            chance=math.sqrt(self.variance) / rounds,
            favourite=favourite,
            arms=world.arms,
            gap=world.gap,
            margin=world.margin,
            dimension=world.dimension,
            error=self.error,
        )


def angle_between(weights: NDArray[np.float64], target: NDArray[np.float64]) -> float | None:
    """Degrees between two vectors, None when one of them is 0 or not finite.

    2 atan2(|u - v|, |u + v|) of the unit vectors u and v, which is exact to rounding at every angle; the arc cosine
    of u.v loses half of the digits near 0 and 180.

    >>> angle_between(np.array([2.0, 0.0]), np.array([0.0, 0.5]))
    90.0
    """
    longest = float(np.abs(weights).max(initial=0.0)), float(np.abs(target).max(initial=0.0))
    if not all(0.0 < length < math.inf for length in longest):
        return None
    u, v = weights / longest[0], target / longest[1]  # so that no square underflows
    u, v = u / _length(u), v / _length(v)
    return math.degrees(2.0 * math.atan2(_length(u - v), _length(u + v)))


def _length(vector: NDArray[np.float64]) -> float:
    """Without BLAS, whose order of additions depends on the processor and on the number of its threads."""
    return math.sqrt(float(np.square(vector).sum()))


def mistake_bound(learner: str | None, world: World, rounds: int) -> Bound | None:
    """The bound of theory on the expected mistakes after t rounds: t -> bound.

    A learner of massart has the bound of its own theorem. All others get the smallest of these bounds, that of
    Theorem 1(a) of docs/theory.md with the step tuned for t. None where no theorem applies: no margin, or a
    target that turns.

    >>> from massart import worlds
    >>> bound = mistake_bound("perceptron", worlds.make("masked-margin", noise_rate=0.1, margin=0.05), 10_000)
    >>> round(bound(10_000) - 1000)
    781
    """
    noise_rate, margin = world.noise_rate, world.margin
    if margin is None or not np.array_equal(world.target_at(0), world.target_at(rounds - 1)):
        return None
    if learner == "massart-unknown":
        return _pool_bound(noise_rate, margin)
    own: dict[str | None, Bound] = {
        "massart": lambda t: theory.ftrl_mistake_bound(noise_rate, margin, t),
        "massart-adagrad": lambda t: theory.adagrad_mistake_bound(noise_rate, margin, t),
        "massart-fixed": lambda t: theory.fixed_mistake_bound(noise_rate, margin, t, horizon=rounds),
        "paper": _paper_bound(noise_rate, margin, rounds),
    }
    reference: Bound = lambda t: theory.fixed_mistake_bound(noise_rate, margin, t)  # noqa: E731
    return own.get(learner, reference)


def _paper_bound(noise_rate: float, margin: float, horizon: int) -> Bound:
    """Theorem 8(a) of docs/theory.md at a round before the horizon: the slack and the step stay those of the horizon.

    (noise_rate + slack / 2) t + 1 / (2 step) + step G^2 t / 2, which at t = horizon is `theory.paper_mistake_bound`.
    """
    slack = theory.paper_slack(noise_rate, margin, horizon)
    cap = theory.paper_gradient_cap(noise_rate, slack, theory.paper_floor(slack, margin))
    step = theory.paper_step(cap, horizon)
    return lambda t: (noise_rate + 0.5 * slack) * t + theory.fixed_regret(step, cap * cap * t)


def _pool_bound(noise_rate: float, margin: float) -> Bound | None:
    from massart.learners.pool import MARGINS, MOST_EXPERTS, NOISE_RATES  # noqa: PLC0415 - numba, when a race begins

    grid = [(rate, gamma) for rate in NOISE_RATES for gamma in MARGINS]
    try:
        theory.pool_mistake_bound(noise_rate, margin, 1, grid, MOST_EXPERTS)
    except InvalidParameterError:
        return None  # the world is noisier, or its margin smaller, than any expert of the pool assumes
    return lambda t: theory.pool_mistake_bound(noise_rate, margin, t, grid, MOST_EXPERTS)
