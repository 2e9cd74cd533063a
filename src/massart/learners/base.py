"""What the online learners share: one protocol, the calls around `learn_rows`, and adding or dropping columns."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError, shown
from massart.kernels.door import NO_WEIGHT, Rows, check_labels, one_label, one_row
from massart.learners.locking import Guarded
from massart.learners.sparse_rows import has_weight
from massart.options import whole_number

__all__ = [
    "NO_SCORES",
    "BinaryLearner",
    "Learner",
    "OnlineLearner",
    "Stateful",
    "check_columns",
    "check_narrower",
    "check_wider",
    "narrowed",
    "seed_of",
    "widened",
]

_MOST_COLUMNS = 1 << 40  # more than any memory holds


class Stateful(Protocol):
    """What learners of labels and policies of rewards have in common: weights, and a state that can be saved."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear score of a row or of an arm: what an adversary looks at."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state."""

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner or policy whose `arrays()` these are: its future is the same, bit for bit."""

    def copy(self) -> Self:
        """An independent one in the same state."""


@runtime_checkable
class OnlineLearner(Stateful, Protocol):
    """Predict a row, then learn it; labels are -1 and +1, a score >= 0 means +1.

    Rows may come one by one or many at a time, with the same result bit for bit.
    """

    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing changes."""

    def predict(self, x: NDArray[Any]) -> int:
        """-1 or +1 for one row; nothing changes."""

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row; return the score it had before."""

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Learn each row in turn; return the scores they had just before."""

    @property
    def direction(self) -> NDArray[np.float64]:
        """(d,) the weights up to a positive factor, without a copy where possible: what an adversary looks at."""


NO_SCORES = np.empty(0)


class Learner(Guarded, ABC):
    """A learner of this package, of two classes or more."""

    @abstractmethod
    def _counts(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly just before."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""

    @property
    def rounds(self) -> int:
        """Rows learned."""
        return int(self._counts()[0])

    @property
    def mistakes(self) -> int:
        """Rows that were predicted wrongly just before they were learned."""
        return int(self._counts()[1])

    def held(self) -> AbstractContextManager[Any]:
        """A context in which only the caller changes this learner, whatever other threads do."""
        lock: AbstractContextManager[Any] = self._lock
        return lock


class BinaryLearner(Learner):
    """A learner of two classes, whose labels are -1 and +1; a score >= 0 means +1."""

    _no_average: ClassVar[NDArray[np.float64]]  # the empty array of which a kernel accumulates nothing
    _scaled: bool  # whether rows are scaled to norm 1
    _class_weight: tuple[float, float]

    @property
    def class_weight(self) -> tuple[float, float]:
        """The weights of the labels -1 and +1."""
        return self._class_weight

    def learn_rows(
        self,
        rows: Rows,
        y: NDArray[np.int8],
        weight: NDArray[np.float64] = NO_WEIGHT,
        order: NDArray[np.uint64] | None = None,
        average: NDArray[np.float64] = NO_SCORES,
        scores: NDArray[np.float64] = NO_SCORES,
    ) -> None:
        """Predict, then learn, rows in the given order; all or, if one of them is invalid, none.

        `average`, made by `new_average`, accumulates what `summed` needs; `scores` receives those of the predictions.
        """
        with self._lock:
            self._learn(rows, y, weight, order, average if average.size else self._no_average, scores)

    @abstractmethod
    def _learn(self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any) -> None:
        """`learn_rows`, while the lock is held."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The columns of a row."""

    @property
    @abstractmethod
    def weights(self) -> NDArray[np.float64]:
        """The weights that predict now, without the constant coordinate."""

    @property
    def direction(self) -> NDArray[np.float64]:
        """The weights up to a positive factor: what an adversary looks at."""
        return self.weights

    @abstractmethod
    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing changes."""

    def predict(self, x: NDArray[Any]) -> int:
        """-1 or +1 for one row, the sign of `score`; nothing changes."""
        return 1 if self.score(x) >= 0.0 else -1

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict, then learn, each row with its label -1 or +1; return the scores of the predictions."""
        rows = self._rows(X)
        scores = np.empty(rows.count)
        self.learn_rows(rows, check_labels(y, rows.count), scores=scores)
        return scores

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row with its label -1 or +1; return the score of the prediction."""
        score = np.empty(1)
        self.learn_rows(one_row(x, self.n_features, scaled=self._scaled), one_label(y), scores=score)
        return float(score[0])

    def _rows(self, X: Any) -> Rows:
        return X if isinstance(X, Rows) else Rows.of(X, scaled=self._scaled)

    def copy(self) -> Self:
        """An independent learner in the same state."""
        with self.held():
            return self.from_arrays({name: array.copy() for name, array in self.arrays().items()})


def seed_of(random_state: Any) -> np.uint64:
    """The seed of a learner's own coins: from a whole number, or a new one for None."""
    if random_state is not None and not (isinstance(random_state, Integral) and int(random_state) >= 0):
        raise InvalidParameterError(f"random_state={shown(random_state)}: give a whole number, 0 or more, or None")
    seed = None if random_state is None else int(random_state)
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def check_columns(n_features: Any) -> int:
    """The number of columns of a learner."""
    return whole_number("n_features", n_features, 0, _MOST_COLUMNS, "give the number of columns, 0 or more")


def check_wider(n_features: int, width: int) -> None:
    """Refuse to widen to fewer columns than there are."""
    check_columns(n_features)
    if n_features < width:
        raise InvalidParameterError(
            f"n_features={n_features}: the learner has {width} columns already; give at least as many"
        )


def widened(array: NDArray[Any], wide: NDArray[Any]) -> NDArray[Any]:
    """`wide`, which is all zeros, with the entries of `array`: columns keep their place, the constant the last.

    >>> widened(np.array([1.0, 2.0, 9.0]), np.zeros(6)).tolist()
    [1.0, 2.0, 0.0, 0.0, 0.0, 9.0]
    """
    wide[: len(array) - 1] = array[:-1]
    wide[-1] = array[-1]
    return wide


def check_narrower(n_features: int, *arrays: Any) -> None:
    """Refuse to drop columns with an entry other than 0 in one of the arrays (the constant's entry is the last).

    An array is a NumPy array or `SparseRows`.

    >>> check_narrower(1, np.array([1.0, 2.0, 9.0]))
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: n_features=1: column 1 (counted from 0) has been learned ...
    """
    check_columns(n_features)
    if not 0 <= n_features < len(arrays[0]):
        raise InvalidParameterError(
            f"n_features={n_features}: the learner has {len(arrays[0]) - 1} columns; give at most as many, 0 or more"
        )
    for array in arrays:
        learned = np.flatnonzero(has_weight(array, n_features)[:-1])
        if learned.size:
            first = n_features + int(learned[0])
            raise InvalidParameterError(
                f"n_features={n_features}: column {first} (counted from 0) has been learned and cannot be dropped; "
                "give a larger number"
            )


def narrowed(array: NDArray[Any], n_features: int) -> NDArray[Any]:
    """The first columns and the constant, in the same memory.

    >>> narrowed(np.array([1.0, 2.0, 0.0, 0.0, 9.0]), 2).tolist()
    [1.0, 2.0, 9.0]
    """
    array[n_features] = array[-1]
    return array[: n_features + 1]
