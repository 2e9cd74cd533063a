"""A learner whose columns and classes come one by one.

Up to 20 columns, whose products by pairs cost little, and several classes are learned by a `ClassPool`; two classes
with more columns by a `Pool`, which is faster; with noise rate and margin known, two classes by a `Halfspace`. Columns
that join a `Pool`, a `Halfspace` or a `ClassPool` on sparse rows join it without a loss. Where another learner is
needed, for more columns or for a third class, it takes the place of the first and learns the last rows again.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.kernels.door import NO_WEIGHT, Rows
from massart.kernels.learning import class_pool, pool
from massart.learners.calibration import ScoreCalibration
from massart.learners.certificate import Certificate
from massart.learners.class_pool import ClassPool
from massart.learners.halfspace import Halfspace
from massart.learners.multiclass import make_learner
from massart.learners.pool import Pool
from massart.learners.row_calls import ClassPoolRow, PoolRow
from massart.options import LearnerOptions
from massart.river.feature_rows import FeatureRows, Part

__all__ = ["GrowingLearner"]

_WAITING = 256  # rows that wait to be learned, at most


class GrowingLearner:
    """Learns from `FeatureRows`, of which up to 256 wait until somebody asks, or the learner has to change."""

    def __init__(self, options: LearnerOptions) -> None:
        self.rows = FeatureRows()
        self._options = options
        self._learner: Halfspace | Pool | ClassPool | None = None
        self._calibration = ScoreCalibration()
        self._classes = 0
        self._leaders: NDArray[np.float64] | None = None  # of now, where they are needed to predict
        self._next: PoolRow | ClassPoolRow | None = None  # for the next row, while nothing but rows comes

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_next": None}

    def add(self, features: Any, label: int) -> bool:
        """Learn one row of weight 1, if its names and its class are known; if not, nothing happens."""
        rows = self.rows
        ends = rows.ends
        if label >= self._classes:
            return False
        end = rows.read(features, ends[-1], False)
        if end < 0:
            return False
        ends.append(end)
        rows.labels.append(label)
        if len(ends) > rows.done + _WAITING:
            self.catch_up()
        return True

    def learn(self, features: Any, label: int, weight: float) -> None:
        """Learn one row; the number of a class is at most one higher than those before."""
        rows = self.rows
        if label >= self._classes:
            self._join(features, label)
        if not rows.add(features, label, weight):
            names = rows.names_of(features)
            if names:
                self.catch_up()
                self._next = None  # it has room for the columns so far
                rows.learn_names(names)
                self._make_room()
            rows.add_read(features, label, weight)
        if rows.waiting >= _WAITING:
            self.catch_up()

    def _join(self, features: Any, label: int) -> None:
        """A class that is new; a row that cannot be read leaves everything as it was."""
        self.rows.names_of(features)
        self.catch_up()
        self._next = None  # it knows the classes so far
        before, self._classes = self._classes, label + 1
        if isinstance(self._learner, ClassPool):
            self._learner.join(np.arange(before), np.ones(self._classes))
        elif self._learner is not None and self._classes > 2:
            self._begin_anew(self._new(len(self.rows.columns)))

    def _new(self, width: int) -> Halfspace | Pool | ClassPool:
        """The learner of so many columns; of several classes and no column, it is for sparse rows, and can grow."""
        if self._classes < 3 and (width > class_pool.VERY_FEW or self._options.is_known):
            made = make_learner(width, self._options)
            assert isinstance(made, Halfspace | Pool)  # noqa: S101 - there is no horizon
            return made
        return ClassPool.with_options(width, np.ones(max(1, self._classes)), self._options)

    def _begin_anew(self, learner: Halfspace | Pool | ClassPool) -> None:
        """Have another learner, which learns the rows that are kept."""
        learner.mark_unproved()
        self._learner, self._calibration, self.rows.done = learner, ScoreCalibration(), 0
        self._make_room()
        self.catch_up()

    def _make_room(self) -> None:
        """As many columns as there are names, before a row with new ones is learned."""
        names, own = len(self.rows.columns), self._learner
        if own is None or names <= own.n_features:
            return
        if isinstance(own, Pool):
            if names <= pool.FEW and own.is_of_few:
                own.widen_few(names)
            else:
                own.widen(max(names, 2 * own.n_features))
        elif isinstance(own, Halfspace) or own.is_raw:
            own.widen(max(names, 2 * own.n_features))
        elif self._classes < 3 and names > class_pool.VERY_FEW:
            self._begin_anew(self._new(names))
        elif names <= class_pool.FEW:
            most = class_pool.VERY_FEW if names <= class_pool.VERY_FEW else class_pool.FEW
            self._begin_anew(self._new(min(most, max(names, 2 * own.n_features))))
        else:
            self._begin_anew(self._new(0))

    def catch_up(self) -> None:
        """Learn the rows that wait."""
        rows = self.rows
        waiting = len(rows.labels) - rows.done
        if waiting == 0:
            return
        row = self._next if waiting == 1 and len(rows.weights) < len(rows.labels) else None
        if row is not None and row.values is rows.values and len(rows.columns) <= row.width:
            row.learn(rows.ends[-2], rows.ends[-1], rows.labels[-1])
            rows.done += 1
            if rows.are_many:
                self._forget()
            return
        if self._learner is None:
            self._learner = self._new(len(rows.columns))
        part, labels, weight = rows.part(rows.done)
        own, weights = self._learner, NO_WEIGHT if weight is None else weight
        if isinstance(own, ClassPool):
            own.learn_rows(Rows.read(part, own.n_features), labels, weights)
        else:
            scores, y = np.empty(labels.size), (2 * labels - 1).astype(np.int8)
            if isinstance(own, Pool) and own.is_plain:
                own.learn_packed(part, y, weights, scores)
            else:
                own.learn_rows(Rows.read(part, own.n_features), y, weights, scores=scores)
            self._calibration.learn(scores, y, weights)
        self._leaders = None
        rows.done = len(rows.labels)
        self._forget()

    def _forget(self) -> None:
        """All rows have been learned: forget those that need not be kept."""
        self.rows.forget(keep=not (isinstance(self._learner, ClassPool) and self._learner.is_raw))

    def _next_row(self) -> PoolRow | ClassPoolRow | None:
        """The learner's calls for one row; None where it takes no row by itself."""
        own, rows, row = self._learner, self.rows, self._next
        if row is not None and row.values is rows.values and len(rows.columns) <= row.width:
            return row
        self._next = None
        if isinstance(own, Pool | ClassPool) and len(rows.columns) <= own.n_features:
            if isinstance(own, ClassPool):
                self._next = ClassPoolRow(own, rows.values, rows.numbers) if ClassPoolRow.is_ready(own) else None
            elif own.is_plain:
                self._next = PoolRow(own, self._calibration, rows.values, rows.numbers)
        return self._next

    def probabilities(self, features: Any) -> list[float]:
        """Of all classes, for one row."""
        rows = self.rows
        if len(rows.labels) != rows.done:
            self.catch_up()
        row = self._next
        if row is not None and row.values is rows.values and len(rows.columns) <= row.width and self._classes > 1:
            start = rows.ends[-1]
            end = rows.read(features, start, True)
            if end >= 0:
                return row.probabilities(start, end)
        return self._probabilities(features)

    def _probabilities(self, features: Any) -> list[float]:
        """`probabilities` for a row of any form, by whatever learner there is."""
        (start, end), own = self.rows.row(features), self._learner
        if own is None or self._classes < 2:
            return [1.0] * self._classes
        row = self._next_row()
        if row is not None:
            return row.probabilities(start, end)
        part = self.rows.row_at(start, end)
        if isinstance(own, ClassPool):
            found = own.probabilities(Rows.read(part, own.n_features))
        else:
            found = self._calibration.probabilities(np.array([self._score(own, part)]))
        return [float(p) for p in found[0]]

    def answer(self, features: Any) -> int:
        """The number of the class that is most probable, -1 if there is none."""
        rows = self.rows
        if len(rows.labels) != rows.done:
            self.catch_up()
        row = self._next
        if row is not None and row.values is rows.values and len(rows.columns) <= row.width and self._classes > 1:
            start = rows.ends[-1]
            end = rows.read(features, start, True)
            if end >= 0:
                return row.answer(start, end)
        return self._answer(features)

    def _answer(self, features: Any) -> int:
        """`answer` for a row of any form, by whatever learner there is."""
        own = self._learner
        if own is None or self._classes < 2:
            return self._classes - 1
        start, end = self.rows.row(features)
        row = self._next_row()
        if row is not None:
            return row.answer(start, end)
        part = self.rows.row_at(start, end)
        if isinstance(own, ClassPool):
            return int(own.probabilities(Rows.read(part, own.n_features))[0].argmax())
        return int(self._score(own, part) >= 0.0)

    def _score(self, own: Halfspace | Pool, part: Part) -> float:
        """The score of a row where there are no calls for it."""
        if self._leaders is None:
            self._leaders = own.leaders()[0]
        score = float(Rows.read(part, own.n_features).score(self._leaders)[0])
        if isinstance(own, Halfspace):  # its scores are those of rows scaled to norm 1
            square = float(np.square(part[0]).sum()) + self._options.constant**2
            score = score / sqrt(square) if square > 0.0 else score
        return score

    def weights(self) -> dict[Any, float]:
        """The weight of each feature in the score of two classes; empty if there is no such score."""
        self.catch_up()
        if not isinstance(self._learner, Halfspace | Pool):
            return {}
        found = self._learner.leaders()[0].tolist()
        return {name: found[column] for name, column in self.rows.columns.items()}

    def certificate(self, confidence: float) -> Certificate | None:
        """That of the learner of now; None before the first row."""
        self.catch_up()
        return None if self._learner is None else self._learner.certificate(confidence)
