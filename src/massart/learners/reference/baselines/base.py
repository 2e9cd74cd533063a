"""What baselines and peers share: checked rows and labels, counts, and the exact save and restore of their arrays."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isnan
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.door import Rows, regular
from massart.kernels.learning import baselines as kernel

__all__ = [
    "Baseline",
    "Kernels",
    "RowLearner",
    "check_width",
    "checked_label",
    "checked_row",
    "checked_rows",
    "in_range",
    "new_state",
]

Kernels = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]  # learn, learn_many, score

_FLOAT64 = np.dtype(np.float64)
_DENSE = (8,)  # the strides of a contiguous float64 row: quicker to compare than flags


def checked_rows(X: Any, y: Any, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Dense float64 rows and labels as kernels take them; anything else raises an error before a row is learned.

    >>> checked_rows([[1.0, 2.0]], [1], width=2)[1].tolist()
    [1.0]
    """
    X = regular(np.asarray(X, dtype=np.float64))
    if X.ndim != 2 or X.shape[1] != width:
        raise InvalidDataError(f"X has shape {X.shape}, but this learner takes dense rows of {width} features")
    labels = np.asarray(y, dtype=np.float64)
    if labels.shape != (X.shape[0],) or not np.all(np.abs(labels) == 1.0):
        raise InvalidDataError(f"y must hold {X.shape[0]} labels, each -1 or +1")
    checked = Rows.of(X).check().dense
    assert checked is not None  # noqa: S101 - dense rows stay dense
    return checked, labels


def checked_row(x: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """One dense float64 row of this shape."""
    row = regular(np.asarray(x, dtype=np.float64))
    if row.shape != shape:
        raise InvalidDataError(f"The row has shape {row.shape}, but this learner takes {shape[0]} features")
    return row


def checked_label(y: float) -> float:
    """-1.0 or +1.0."""
    if y == 1 or y == -1:  # noqa: PLR1714 - twice as fast as membership, and every round passes here
        return float(y)
    raise InvalidDataError(f"The label is {y!r}: this learner takes -1 and +1")


def in_range(name: str, value: float, low: float, high: float, *, closed: bool = False) -> float:
    """`value` if low < value < high (low <= value when `closed`), else an error that says so.

    >>> in_range("step", -1.0, 0.0, float("inf"))
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: step=-1.0: it must lie in (0.0, inf)
    """
    if (low <= value if closed else low < value) and value < high:
        return float(value)
    raise InvalidParameterError(f"{name}={value!r}: it must lie in {'[' if closed else '('}{low}, {high})")


def check_width(n_features: int) -> None:
    """Raise an error for less than one column."""
    if n_features < 1:
        raise InvalidParameterError(f"n_features={n_features}: give the number of columns, 1 or more")


class RowLearner(ABC):
    """What follows from score, weights, arrays and counts, in a compiled baseline and in a peer."""

    @abstractmethod
    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing changes."""

    @property
    @abstractmethod
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear predictor."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are: its future is the same."""

    @abstractmethod
    def _counted(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly before."""

    def predict(self, x: NDArray[Any]) -> int:
        """-1 or +1 for one row; nothing changes."""
        return 1 if self.score(x) >= 0.0 else -1

    @property
    def direction(self) -> NDArray[np.float64]:
        """(d,) the weights up to a positive factor: what an adversary looks at."""
        return self.weights

    @property
    def rounds(self) -> int:
        """Rows learned."""
        return int(self._counted()[0])

    @property
    def mistakes(self) -> int:
        """Rows that were predicted wrongly before they were learned."""
        return int(self._counted()[1])

    def copy(self) -> Self:
        """An independent learner in the same state."""
        return self.from_arrays({name: array.copy() for name, array in self.arrays().items()})


class Baseline(RowLearner):
    """An online learner whose state is a few arrays and whose rounds are three kernels of `kernels.baselines`.

    A subclass names its kernels and builds its arrays; the kernels take them in the order of `_names`.
    """

    _kernels: ClassVar[Kernels]
    _names: ClassVar[tuple[str, ...]]

    def _start(self, n_features: int, *memory: NDArray[Any]) -> None:
        check_width(n_features)
        self._set(n_features, memory)

    def _set(self, n_features: int, memory: tuple[NDArray[Any], ...]) -> None:
        self._memory = memory
        self._shape = (n_features,)
        self._learn, self._learn_many, self._score = self._kernels

    def __getstate__(self) -> dict[str, Any]:
        """Its arrays, without the kernels: where the copy goes, they may have been compiled in another way."""
        return self.arrays()

    def __setstate__(self, arrays: dict[str, NDArray[Any]]) -> None:
        vars(self).update(vars(self.from_arrays(arrays)))

    @property
    def _state(self) -> NDArray[np.float64]:
        return self._memory[0]

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row with its label -1 or +1; return the score that was its prediction."""
        if type(x) is not np.ndarray or x.dtype is not _FLOAT64 or x.shape != self._shape or x.strides != _DENSE:
            x = checked_row(x, self._shape)
        score: float = self._learn(x, checked_label(y), *self._memory)
        if isnan(score):
            Rows.of(x[None, :]).check()  # says what is wrong with the row
        return score

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict, then learn, each row in turn; return the scores that were predictions."""
        rows, labels = checked_rows(X, y, self._shape[0])
        scores = np.empty(labels.size)
        self._learn_many(rows, labels, scores, *self._memory)
        return scores

    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing is learned."""
        x = checked_row(x, self._shape)
        score: float = self._score(x, *self._memory)
        if isnan(score):
            Rows.of(x[None, :]).check()
        return score

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear predictor."""
        return self._memory[1]

    def _counted(self) -> tuple[float, float]:
        return self._state[kernel.State.ROUNDS], self._state[kernel.State.MISTAKES]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""
        return dict(zip(self._names, self._memory, strict=True))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        learner = cls.__new__(cls)
        memory = tuple(arrays[name] for name in cls._names)
        learner._set(memory[1].shape[-1], memory)
        return learner


def new_state(kind: float = 0.0, parameter: float = 0.0) -> NDArray[np.float64]:
    """The state of a learner that has seen nothing."""
    state = np.zeros(len(kernel.State))
    state[kernel.State.KIND] = kind
    state[kernel.State.PARAMETER] = parameter
    state[kernel.State.SCALE] = 1.0
    return state
