"""A labelled data set as a bandit: an arm per class, and a reward for the right one."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidDataError
from massart.worlds.base import Matrix, Seed
from massart.worlds.data import _rows
from massart.worlds.rewards.base import Contexts
from massart.worlds.rewards.replay import Indices, ReplayWorld

__all__ = ["SupervisedWorld", "from_supervised"]


def from_supervised(X: npt.ArrayLike, y: npt.ArrayLike, *, shuffle: bool = True, seed: Seed = 0) -> "SupervisedWorld":
    """Make a bandit of a labelled data set: the arms are the classes, the reward is 1 for the row's own, else 0.

    The context of an arm is the row, placed in the block of the arm's class: of k classes and d columns, class c has
    the coordinates c d to (c+1) d and zeros elsewhere. A linear policy on these contexts is a linear
    classifier with one weight vector per class. Rows are divided by the largest norm; append a column of ones
    if classes differ in frequency. The monotone model is not satisfied: k-1 arms share the reward 0.

    >>> rows = np.array([[3.0, 4.0], [0.0, -5.0], [5.0, 0.0]])
    >>> world = from_supervised(rows, ["up", "down", "right"], shuffle=False)
    >>> world.arms, world.dimension, world.classes, world.best_reward, round(world.mean_reward, 4)
    (3, 6, ['down', 'right', 'up'], 1.0, 0.3333)
    >>> chunk = world.take(1)
    >>> chunk.contexts[0, chunk.rewards[0].argmax()].round(3).tolist()     # the first row, in the block of "up"
    [0.0, 0.0, 0.0, 0.0, 0.6, 0.8]
    """
    return SupervisedWorld(X, y, shuffle, seed)


class SupervisedWorld(ReplayWorld):
    """A data set whose classes are arms; made by `from_supervised`."""

    name: ClassVar[str] = "supervised"
    description: ClassVar[str] = "A labelled data set: an arm for each class, a reward for choosing the right one."

    def __init__(self, X: npt.ArrayLike, y: npt.ArrayLike, shuffle: bool, seed: Seed) -> None:
        self._table: Matrix = _rows(X)
        super().__init__(len(self._table), shuffle, seed)
        labels = np.asarray(y)
        if labels.shape != (self.size,):
            raise InvalidDataError(f"y must have one label per row, shape ({self.size},), got {labels.shape}")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise InvalidDataError("y holds NaN or infinity: fill or drop those rows before")
        classes, self._class = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise InvalidDataError(f"y must hold at least two classes, got only {classes.tolist()}")
        self.classes: list[Any] = classes.tolist()
        self.arms = len(classes)
        self.dimension = self.arms * self._table.shape[1]
        self.best_reward, self.mean_reward = 1.0, 1.0 / self.arms

    def _contexts(self, chosen: Indices, order: Indices) -> Contexts:
        count, columns = len(chosen), self._table.shape[1]
        contexts = np.zeros((count, self.arms, self.arms, columns))
        rounds, arms = np.arange(count)[:, None], np.arange(self.arms)
        contexts[rounds, arms, order] = self._table[chosen][:, None, :]
        return contexts.reshape(count, self.arms, self.dimension)

    def _means(self, chosen: Indices, order: Indices) -> Matrix:
        right: Matrix = np.equal(order, self._class[chosen][:, None]).astype(np.float64)
        return right
