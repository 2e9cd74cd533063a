"""Rounds that were recorded somewhere, gone through again and again: logs of decisions."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidDataError, InvalidParameterError
from massart.theory import check_positive
from massart.worlds.rewards.base import Contexts, ObliviousRewardWorld, RewardChunk
from massart.worlds.rewards.monotone import shuffled_ranks
from massart.worlds.stream import Block, Indices, Matrix, Passes, Seed, Vector

__all__ = ["LoggedWorld", "ReplayWorld", "from_log"]


def from_log(
    contexts: npt.ArrayLike,
    rewards: npt.ArrayLike,
    arms: npt.ArrayLike | None = None,
    probabilities: npt.ArrayLike | None = None,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    ridge: float = 1.0,
    shuffle: bool = True,
    seed: Seed = 0,
) -> "LoggedWorld":
    """Make a world of logged rounds, with contexts of shape (n, k, d).

    If `rewards` has shape (n, k) the log holds the reward of every arm, and rounds are shown as they were. If it has
    shape (n,), `arms` are the arms that were chosen and `probabilities` those they were chosen with: the rewards that
    were not observed are imputed. A ridge regression with intercept of reward on context, weighted by 1 / probability,
    cut off at the ends of `reward_range`, gives the expected reward of every arm, and rewards are drawn at the two
    ends of the range with that expectation. Such a world shares the contexts of the log, and is otherwise a model:
    to judge a policy by what really happened, use off-policy evaluation. Contexts are divided by the largest norm.

    >>> rng = np.random.default_rng(0)
    >>> contexts = rng.uniform(-1.0, 1.0, (500, 3, 2))
    >>> chosen = rng.integers(3, size=500)
    >>> happened = rng.random(500) < 0.5 + 0.4 * contexts[np.arange(500), chosen, 0]
    >>> world = from_log(contexts, happened, chosen, np.full(500, 1 / 3))
    >>> world.arms, world.dimension, world.satisfies_model, world.best_reward > world.mean_reward + 0.15
    (3, 2, False, True)
    """
    return LoggedWorld(contexts, rewards, arms, probabilities, reward_range, ridge, shuffle, seed)


class ReplayWorld(ObliviousRewardWorld):
    """A finite set of rounds, each shown once per pass; nothing is known of their rewards.

    Rounds beyond the last start over, in a new order if `shuffle`. The arms of a round are always shuffled.
    """

    satisfies_model: ClassVar[bool] = False
    gap = None
    margin = None
    target = None

    def __init__(self, size: int, shuffle: bool, seed: Seed) -> None:
        super().__init__(seed)
        self.size = size
        self.shuffle = shuffle
        self._passes = Passes(size, shuffle, self)

    @abstractmethod
    def _contexts(self, chosen: Indices, order: Indices) -> Contexts:
        """Give the contexts of the recorded rounds `chosen` (n,), arms in the order `order` (n, arms)."""

    @abstractmethod
    def _means(self, chosen: Indices, order: Indices) -> Matrix:
        """Give the expected rewards of the same arms."""

    def _rewards(self, rng: np.random.Generator, means: Matrix) -> Matrix:
        """Draw the rewards: they are their means unless a world says otherwise."""
        del rng
        return means.copy()

    def _draw(self, block: Block) -> RewardChunk:
        chosen = self._passes.chosen(block)
        order = shuffled_ranks(block.rng, block.size, self.arms)
        means = self._means(chosen, order)
        return RewardChunk(self._contexts(chosen, order), means, self._rewards(block.rng, means))

    def _parameters(self) -> dict[str, Any]:
        return {"rows": self.size, "arms": self.arms, "dimension": self.dimension, "seed": self.seed}


class LoggedWorld(ReplayWorld):
    """The rounds of a log; made by `from_log`. `imputed` says whether its rewards come from a regression."""

    name: ClassVar[str] = "log"
    description: ClassVar[str] = "The rounds of a log, with the rewards recorded for all arms or filled in by a model."

    def __init__(
        self,
        contexts: npt.ArrayLike,
        rewards: npt.ArrayLike,
        arms: npt.ArrayLike | None,
        probabilities: npt.ArrayLike | None,
        reward_range: tuple[float, float],
        ridge: float,
        shuffle: bool,
        seed: Seed,
    ) -> None:
        table = _numbers("contexts", contexts)
        if table.ndim != 3 or 0 in table.shape or table.shape[1] < 2:
            raise InvalidDataError(f"contexts must have shape (rounds, at least 2 arms, features), got {table.shape}")
        super().__init__(len(table), shuffle, seed)
        _, self.arms, self.dimension = table.shape
        self.reward_range = _range(reward_range)
        largest = float(np.sqrt(np.einsum("nkd,nkd->nk", table, table)).max())
        if largest == 0.0:
            raise InvalidDataError("every context is zero: there is nothing to learn from")
        self._table: Contexts = table / largest
        given = _numbers("rewards", rewards)
        low, high = self.reward_range
        outside = np.flatnonzero((given < low) | (given > high))
        if outside.size:
            raise InvalidDataError(
                f"rewards must lie in reward_range = ({low:g}, {high:g}); {outside.size} do not, "
                f"the first is {given.ravel()[outside[0]]:g}: pass another reward_range"
            )
        self.imputed = given.ndim == 1
        if self.imputed:
            which = self._chosen(arms, len(given))
            weights = 1.0 / _propensities(probabilities, len(given))
            self._expected: Matrix = np.clip(_regression(self._table, which, given, weights, ridge), low, high)
        elif given.shape != table.shape[:2]:
            raise InvalidDataError(f"rewards must have shape {table.shape[:2]} or ({self.size},), got {given.shape}")
        elif arms is not None or probabilities is not None:
            raise InvalidDataError("rewards of all arms are given: leave arms and probabilities out")
        else:
            self._expected = given
        self.best_reward = float(self._expected.max(axis=1).mean())
        self.mean_reward = float(self._expected.mean())

    def _chosen(self, arms: npt.ArrayLike | None, size: int) -> Indices:
        if size != self.size:
            raise InvalidDataError(f"rewards must have one entry per round, {self.size} in all, got {size}")
        if arms is None:
            raise InvalidDataError("rewards of single arms need arms: which arm of each round the reward is of")
        which = np.asarray(arms)
        if which.shape != (size,) or which.dtype.kind not in "iu" or which.min() < 0 or which.max() >= self.arms:
            raise InvalidDataError(f"arms must hold {size} whole numbers from 0 to {self.arms - 1}")
        return which

    def _contexts(self, chosen: Indices, order: Indices) -> Contexts:
        return self._table[chosen[:, None], order]

    def _means(self, chosen: Indices, order: Indices) -> Matrix:
        return self._expected[chosen[:, None], order]

    def _rewards(self, rng: np.random.Generator, means: Matrix) -> Matrix:
        if not self.imputed:
            return means.copy()
        low, high = self.reward_range
        return np.where(rng.random(means.shape) * (high - low) < means - low, high, low)


def _numbers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidDataError(f"{name} must hold numbers only, in an array without gaps") from None
    if not np.isfinite(array).all():
        raise InvalidDataError(f"{name} hold NaN or infinity: fill or drop those rounds before")
    return array


def _range(reward_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in reward_range)
    except (TypeError, ValueError):
        low = high = 0.0
    if not (low < high and np.isfinite(high - low)):
        raise InvalidParameterError(f"reward_range must be two numbers, the lower first, got {reward_range!r}")
    return low, high


def _propensities(probabilities: npt.ArrayLike | None, size: int) -> Vector:
    if probabilities is None:
        return np.ones(size)
    chances = _numbers("probabilities", probabilities)
    if chances.shape != (size,):
        raise InvalidDataError(f"probabilities must have shape ({size},), got {chances.shape}")
    bad = np.flatnonzero((chances <= 0.0) | (chances > 1.0))
    if bad.size:
        raise InvalidDataError(
            f"probabilities must lie in (0, 1]; {bad.size} do not, the first in round {bad[0]}: {chances[bad[0]]:g}"
        )
    return chances


def _regression(table: Contexts, arms: Indices, rewards: Vector, weights: Vector, ridge: float) -> Matrix:
    """Predict the reward of every arm by weighted ridge regression; the intercept is not penalised."""
    check_positive("ridge", ridge)
    seen = table[np.arange(len(arms)), arms]
    share = weights / weights.sum()
    centre, level = share @ seen, float(share @ rewards)
    moved = (seen - centre) * weights[:, None]
    gram = moved.T @ (seen - centre) + ridge * np.eye(table.shape[2])
    slope = np.linalg.solve(gram, moved.T @ (rewards - level))
    predicted: Matrix = level + (table - centre) @ slope
    return predicted
