"""What adapters to other packages share. They go row by row: each is predicted before it is learned."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.kernels.door import Rows
from massart.learners.reference.baselines.base import checked_label, checked_row, checked_rows

ROUNDS, MISTAKES, COUNTS_SIZE = range(3)


class Peer(ABC):
    """An online learner that is somebody else's object, with our protocol around it."""

    _counts: NDArray[np.int64]
    _shape: tuple[int]

    def __init__(self, n_features: int) -> None:
        if n_features < 1:
            raise InvalidParameterError(f"n_features={n_features}: give the number of columns, 1 or more")
        self._shape = (n_features,)
        self._counts = np.zeros(COUNTS_SIZE, np.int64)

    @abstractmethod
    def _learn_row(self, x: NDArray[np.float64], y: float) -> float:
        """Score a checked row, then learn it; return the score."""

    @abstractmethod
    def _score_row(self, x: NDArray[np.float64]) -> float:
        """Score a checked row; nothing changes."""

    @property
    @abstractmethod
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear predictor, as the package has it now."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that learning on needs."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are: its future is the same."""

    def _learn_counted(self, x: NDArray[np.float64], y: float) -> float:
        score = self._learn_row(x, y)
        self._counts[ROUNDS] += 1
        self._counts[MISTAKES] += (score >= 0.0) != (y > 0.0)
        return score

    def _checked(self, x: Any) -> NDArray[np.float64]:
        row = checked_row(x, self._shape)
        Rows.of(row[None, :]).check()
        return row

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row with its label -1 or +1; return the score that was its prediction."""
        return self._learn_counted(self._checked(x), checked_label(y))

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict, then learn, each row in turn; return the scores that were predictions."""
        rows, labels = checked_rows(X, y, self._shape[0])
        return np.array([self._learn_counted(x, label) for x, label in zip(rows, labels.tolist(), strict=True)])

    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing is learned."""
        return self._score_row(self._checked(x))

    def predict(self, x: NDArray[Any]) -> int:
        """-1 or +1 for one row; nothing is learned."""
        return 1 if self.score(x) >= 0.0 else -1

    @property
    def direction(self) -> NDArray[np.float64]:
        """(d,) the weights: what an adversary looks at."""
        return self.weights

    @property
    def rounds(self) -> int:
        """Rows learned."""
        return int(self._counts[ROUNDS])

    @property
    def mistakes(self) -> int:
        """Rows that were predicted wrongly before they were learned."""
        return int(self._counts[MISTAKES])

    def copy(self) -> Self:
        """An independent learner in the same state."""
        return self.from_arrays({name: array.copy() for name, array in self.arrays().items()})
