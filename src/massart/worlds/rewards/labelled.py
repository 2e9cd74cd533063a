"""Labelled data sets as bandits: classes as arms, or rows as arms."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.data import one_label_per_row, scaled_rows, standard_columns
from massart.worlds.ranges import whole_number
from massart.worlds.rewards.base import Contexts, ObliviousRewardWorld, RewardChunk
from massart.worlds.rewards.monotone import coin_rewards, shuffled_ranks
from massart.worlds.rewards.replay import ReplayWorld
from massart.worlds.stream import Block, Indices, Matrix, Seed, Vector

__all__ = ["CONVERSIONS", "ItemWorld", "SupervisedWorld", "from_items", "from_supervised"]

CONVERSIONS = ("clean", "noisy", "drifting-level", "level-by-context")
_FLIPPED, _LEVELS, _BONUS = 0.3, 0.6, 0.4
_PERIOD = 2000  # rounds
_WINDOW, _GAP, _FALL = 0.4, 0.2, 1.2


def from_supervised(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    conversion: str = "clean",
    standardise: bool = False,
    shuffle: bool = True,
    seed: Seed = 0,
) -> "SupervisedWorld":
    """Make a bandit of a labelled data set: the arms are the classes, and the best one is the row's own.

    The context of an arm is the row, placed in the block of the arm's class: of k classes and d columns, class c has
    the coordinates c d to (c+1) d and zeros elsewhere. A linear policy on these contexts is a linear classifier
    with one weight vector per class. With u(x) in [0, 1] the rank of the row among all in a random direction, and
    right = 1 for the row's class and 0 for the others, the expected reward of an arm is, by `conversion`,

        clean               right, and so is the reward
        noisy               right with probability 1 - .3 u(x), else 1 - right
        drifting-level      .4 right + l(t), where l rises from 0 to .6 in a thousand rounds and falls again in the next
        level-by-context    .4 right + .6 u(x)

    and the reward is 0 or 1. Rows are divided by the largest norm; with `standardise` columns have mean 0 and standard
    deviation 1 before, and a column of ones comes last. The monotone model is not satisfied: k-1 arms share an
    expected reward. `best_reward` and `mean_reward` of the drifting level are those of whole periods.

    >>> rows = np.array([[3.0, 4.0], [0.0, -5.0], [5.0, 0.0]])
    >>> world = from_supervised(rows, ["up", "down", "right"], shuffle=False)
    >>> world.arms, world.dimension, world.classes, world.best_reward, round(world.mean_reward, 4)
    (3, 6, ['down', 'right', 'up'], 1.0, 0.3333)
    >>> chunk = world.take(1)
    >>> chunk.contexts[0, chunk.rewards[0].argmax()].round(3).tolist()     # the first row, in the block of "up"
    [0.0, 0.0, 0.0, 0.0, 0.6, 0.8]
    >>> world = from_supervised(rows, ["up", "down", "right"], conversion="noisy", standardise=True)
    >>> world.dimension, world.best_reward
    (9, 0.85)
    """
    return SupervisedWorld(X, y, conversion, standardise, shuffle, seed)


def from_items(
    X: npt.ArrayLike, y: npt.ArrayLike, *, arms: int = 5, simpson: bool = False, seed: Seed = 0
) -> "ItemWorld":
    """Make a bandit whose arms are rows of a labelled data set, drawn anew each round; better classes earn more.

    A row of class number c of C, from 0 and in their order, has the value v = c / (C - 1). Arms are drawn from all rows
    and have the expected reward .1 + .8 v. With `simpson`, rows stand in the order of a score, the sum of their columns
    weighted by each column's covariance with v; the arms of a round are drawn from a window of two fifths of the rows,
    whose middle is at the share m of all, and have the expected reward

        .5 + .2 (v - .5) - 1.2 (m - .5):

    within a round rows of higher value earn more, across rounds those of higher scores earn less. Rewards are 0 or 1.
    Columns are standardised (those that never change are 0), then rows divided by the largest norm. The monotone model
    is not satisfied: rows of one class share an expected reward.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((500, 3))
    >>> world = from_items(rows, rows[:, 0] > 0, simpson=True)
    >>> world.arms, world.dimension, world.satisfies_model
    (5, 3, False)
    >>> chunk = world.take(2000)
    >>> scores, means = chunk.contexts[:, :, 0], chunk.means
    >>> over_all = np.corrcoef(scores.ravel(), means.ravel())[0, 1]
    >>> within = [each - each.mean(axis=1, keepdims=True) for each in (scores, means)]
    >>> round(over_all, 1), round(np.corrcoef(within[0].ravel(), within[1].ravel())[0, 1], 1)
    (np.float64(-0.6), np.float64(0.5))
    """
    return ItemWorld(X, y, arms, simpson, seed)


class SupervisedWorld(ReplayWorld):
    """A data set whose classes are arms; made by `from_supervised`."""

    name: ClassVar[str] = "supervised"
    description: ClassVar[str] = "A labelled data set: an arm for each class, the most reward for the right one."

    def __init__(
        self, X: npt.ArrayLike, y: npt.ArrayLike, conversion: str, standardise: bool, shuffle: bool, seed: Seed
    ) -> None:
        if conversion not in CONVERSIONS:
            raise InvalidParameterError(f"conversion must be one of {', '.join(CONVERSIONS)}, got {conversion!r}")
        rows = scaled_rows(X)
        self._table: Matrix = scaled_rows(standard_columns(rows, ones=True)) if standardise else rows
        super().__init__(len(rows), shuffle, seed)
        self.classes, self._class = _numbered(y, self.size)
        self.conversion = conversion
        self.arms = len(self.classes)
        self.dimension = self.arms * self._table.shape[1]
        self._rank = np.zeros(self.size)
        if conversion in ("noisy", "level-by-context"):
            # Two numbers as the key: never the generator of a block, which has one.
            direction = self._generator(0, 2).standard_normal(self._table.shape[1])
            along = (self._table * direction).sum(axis=1)
            self._rank[np.argsort(along, kind="stable")] = np.linspace(0.0, 1.0, self.size)
        right = np.zeros((2, self.arms))
        right[:, 0] = 1.0
        ends = self._expected(right, np.array([0.0, 1.0]), np.array([0, _PERIOD // 2]))
        # Linear in the rank, and in the round on both halves of a period: the mean of the ends is that of all.
        self.best_reward, self.mean_reward = float(ends[:, 0].mean()), float(ends.mean())

    def _expected(self, right: Matrix, rank: Vector, t: npt.NDArray[Any]) -> Matrix:
        """Give the expected rewards of the arms, of which one is right, by the row's rank and the round."""
        if self.conversion == "clean":
            return right
        if self.conversion == "noisy":
            rate = _FLIPPED * rank[:, None]
            return right * (1.0 - rate) + (1.0 - right) * rate
        if self.conversion == "drifting-level":
            level = _LEVELS * (1.0 - np.abs(t % _PERIOD - 0.5 * _PERIOD) / (0.5 * _PERIOD))
        else:
            level = _LEVELS * rank
        return np.asarray(_BONUS * right + level[:, None])

    def _contexts(self, chosen: Indices, order: Indices) -> Contexts:
        count, columns = len(chosen), self._table.shape[1]
        contexts = np.zeros((count, self.arms, self.arms, columns))
        rounds, arms = np.arange(count)[:, None], np.arange(self.arms)
        contexts[rounds, arms, order] = self._table[chosen][:, None, :]
        return contexts.reshape(count, self.arms, self.dimension)

    def _means(self, chosen: Indices, order: Indices) -> Matrix:
        right: Matrix = np.equal(order, self._class[chosen][:, None]).astype(np.float64)
        return right

    def _draw(self, block: Block) -> RewardChunk:
        chosen = self._passes.chosen(block)
        order = shuffled_ranks(block.rng, block.size, self.arms)
        means = self._expected(self._means(chosen, order), self._rank[chosen], block.indices)
        rewards = means.copy() if self.conversion == "clean" else coin_rewards(block.rng, means)
        return RewardChunk(self._contexts(chosen, order), means, rewards)

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "conversion": self.conversion}


class ItemWorld(ObliviousRewardWorld):
    """A data set whose rows are arms; made by `from_items`."""

    name: ClassVar[str] = "items"
    description: ClassVar[str] = "Rows of a labelled data set as arms: the better the class, the higher the reward."
    satisfies_model: ClassVar[bool] = False
    gap = None
    margin = None
    target = None

    def __init__(self, X: npt.ArrayLike, y: npt.ArrayLike, arms: int, simpson: bool, seed: Seed) -> None:
        super().__init__(seed)
        self.arms = whole_number(self.name, "arms", arms, least=2)
        self.simpson = bool(simpson)
        rows = standard_columns(scaled_rows(X), ones=False)
        self.size, self.dimension = rows.shape
        classes, number = _numbered(y, self.size)
        value: Vector = number / (len(classes) - 1.0)
        order = np.arange(self.size)
        if simpson:
            weights = (rows * (value - value.mean())[:, None]).sum(axis=0)
            order = np.argsort((rows * weights).sum(axis=1), kind="stable")
        self._table, self._value = scaled_rows(rows)[order], value[order]
        self._window = max(1, round(_WINDOW * self.size)) if simpson else self.size
        self.best_reward, self.mean_reward = self._declare(number[order], len(classes))

    def _middle(self, start: Indices) -> Vector:
        return np.asarray((start + 0.5 * self._window) / self.size)

    def _expected(self, value: Matrix, middle: Matrix) -> Matrix:
        if not self.simpson:
            return 0.1 + 0.8 * value
        return 0.5 + _GAP * (value - 0.5) - _FALL * (middle - 0.5)

    def _declare(self, number: npt.NDArray[np.intp], classes: int) -> tuple[float, float]:
        """Give the expected rewards of the best and of a random arm: of each window, over the classes in it."""
        counts = np.zeros((self.size + 1, classes))
        np.cumsum(number[:, None] == np.arange(classes), axis=0, out=counts[1:])
        inside = counts[self._window :] - counts[: len(counts) - self._window]
        share = inside / self._window
        upto = np.cumsum(inside, axis=1) / self._window
        all_upto = np.ones_like(upto)
        for _ in range(self.arms):
            all_upto *= upto
        is_best = np.diff(all_upto, axis=1, prepend=0.0)  # the best of the arms is of this class
        values = np.arange(classes) / (classes - 1.0)
        middle = self._middle(np.arange(len(inside)))[:, None]
        means = self._expected(values[None, :], middle)
        return float((is_best * means).sum(axis=1).mean()), float((share * means).sum(axis=1).mean())

    def _draw(self, block: Block) -> RewardChunk:
        start = block.rng.integers(self.size - self._window + 1, size=(block.size, 1))
        chosen = start + block.rng.integers(self._window, size=(block.size, self.arms))
        means = np.clip(self._expected(self._value[chosen], self._middle(start)), 0.0, 1.0)
        return RewardChunk(self._table[chosen], means, coin_rewards(block.rng, means))

    def _parameters(self) -> dict[str, Any]:
        return {"rows": self.size, "arms": self.arms, "dimension": self.dimension, "simpson": self.simpson,
                "seed": self.seed}  # fmt: skip


def _numbered(y: npt.ArrayLike, size: int) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Give the classes in their order, and the number of each row's."""
    labels = one_label_per_row(y, size)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidDataError("y holds NaN or infinity: fill or drop those rows before")
    classes, number = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InvalidDataError(f"y must hold at least two classes, got only {classes.tolist()}")
    return classes.tolist(), number
