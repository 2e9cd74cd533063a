"""One row at a time: calls of kernels that are prepared once, for what learns and predicts row by row.

Rows lie in a pair of arrays, values and columns, from one place to another; they are as `Pool.learn_packed` takes them.
What is learned is what `learn_rows` learns, bit for bit. The calls use the
arrays of a learner as they lie in memory: when it grows, or takes up a class, they are to be made anew. They check no
index: whoever calls them has read the row, and compares `width` with the columns that it may have.
"""

from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import prepare
from massart.kernels.door import NO_WEIGHT, read_only
from massart.kernels.learning import calibration as calibration_kernel
from massart.kernels.learning import class_pool, pool
from massart.kernels.learning.class_pool import Class
from massart.learners.calibration import ScoreCalibration
from massart.learners.class_pool import ClassPool
from massart.learners.pool import Pool

__all__ = ["ClassPoolRow", "PoolRow"]

_NO_ORDER = np.empty(0, np.uint64)


class PoolRow:
    """The next row of a pool that `is_plain`, and of the calibration of its scores; classes are 0 and 1.

    >>> values, columns = np.array([9.0, 1.0, 2.0]), np.array([9, 0, 1], np.uint32)
    >>> learner, calibration = Pool(2), ScoreCalibration()
    >>> row = PoolRow(learner, calibration, values, columns)
    >>> row.learn(1, 3, 1)
    >>> learner.rounds, row.answer(1, 3), [round(p, 2) for p in row.probabilities(1, 3)][1] > 0.5
    (1, 1, True)
    """

    def __init__(
        self, learner: Pool, calibration: ScoreCalibration, values: NDArray[np.float64], columns: NDArray[np.uint32]
    ) -> None:
        self._ends, self.values, self.width = np.zeros(2, np.uint32), values, learner.n_features
        self._label, self._score, self._found = np.ones(1, np.int8), np.zeros(1), np.zeros(1)
        rows = read_only(values), read_only(columns), read_only(self._ends)
        how, state, curves = learner._how, learner._state(), calibration._state()
        batch = 1, _NO_ORDER, self._label, NO_WEIGHT
        self._predict = prepare(pool.score_pool, rows, how, state, self._score)
        self._learn = prepare(
            pool.learn_pool, rows, False, batch, 0, 1, learner._seed[0], how, state, learner._no_average, self._score
        )
        self._calibrate = prepare(calibration_kernel.calibrate, self._score, curves, self._found)
        self._learn_calibration = prepare(
            calibration_kernel.learn_calibration, self._score, self._label, NO_WEIGHT, 1, curves
        )

    def learn(self, start: int, end: int, label: int) -> None:
        """Learn a row of weight 1."""
        self._ends[0], self._ends[1], self._label[0] = start, end, 2 * label - 1
        self._learn()
        self._learn_calibration()

    def score(self, start: int, end: int) -> float:
        """The score of the vote: that of `Pool.score`, up to rounding."""
        self._ends[0], self._ends[1] = start, end
        self._predict()
        found: float = self._score.item()
        return found

    def answer(self, start: int, end: int) -> int:
        """The more probable class."""
        self._ends[0], self._ends[1] = start, end
        self._predict()
        return 1 if self._score.item() >= 0.0 else 0

    def probabilities(self, start: int, end: int) -> list[float]:
        """Of both classes."""
        self._ends[0], self._ends[1] = start, end
        self._predict()
        self._calibrate()
        found: float = self._found.item()
        return [1.0 - found, found]


class ClassPoolRow:
    """The next row of a pool of several classes, `is_ready` for it: all of them have come, and columns are plain.

    >>> values, columns = np.array([9.0, 1.0, 2.0]), np.array([9, 0, 1], np.uint32)
    >>> learner = ClassPool(2, [1.0, 1.0])
    >>> ClassPoolRow.is_ready(learner)
    False
    >>> from massart.kernels.door import Rows
    >>> _ = learner.learn_rows(Rows.of(np.array([[1.0, 2.0], [-1.0, 1.0]])), np.array([0, 1]))
    >>> row = ClassPoolRow(learner, values, columns)
    >>> row.learn(1, 3, 0)
    >>> learner.rounds, row.answer(1, 3), len(row.probabilities(1, 3))
    (3, 0, 2)
    """

    def __init__(self, learner: ClassPool, values: NDArray[np.float64], columns: NDArray[np.uint32]) -> None:
        self._ends, seen = np.zeros(2, np.uint32), learner.seen
        self._label, self._answer, found = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, seen))
        self.values, self.width, self._found = values, learner.n_features, found[0]
        known = learner._arrays["classes"][Class.NUMBER, :seen].astype(np.int64)
        self._places: list[int] = np.argsort(known).tolist()  # of classes, by first occurrence
        # Classes in the order of their numbers; without it they are so.
        self._ordered = None if self._places == list(range(seen)) else itemgetter(*self._places)
        rows = read_only(values), read_only(columns), read_only(self._ends)
        how, state = learner._arrays["how"], learner._state()
        self._predict = prepare(class_pool.mix_classes, rows, 1, seen, how, state, found)
        self._learn = prepare(
            class_pool.learn_classes, rows, 1, self._label, NO_WEIGHT, seen, learner._seed[0], how, state, self._answer
        )

    @staticmethod
    def is_ready(learner: ClassPool) -> bool:
        """Whether rows can be taken by themselves."""
        return learner._map is None and learner.seen == learner.n_classes

    def learn(self, start: int, end: int, label: int) -> None:
        """Learn a row of weight 1."""
        self._ends[0], self._ends[1], self._label[0] = start, end, self._places[label]
        self._learn()

    def answer(self, start: int, end: int) -> int:
        """The most probable class."""
        self._ends[0], self._ends[1] = start, end
        self._predict()
        found = self._found.tolist() if self._ordered is None else self._ordered(self._found.tolist())
        return int(found.index(max(found)))

    def probabilities(self, start: int, end: int) -> list[float]:
        """Of all classes."""
        self._ends[0], self._ends[1] = start, end
        self._predict()
        found: list[float] = self._found.tolist()
        return found if self._ordered is None else list(self._ordered(found))
