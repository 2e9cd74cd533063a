"""What the batch learners share: checked data, two classes as -1 and +1, a hold-out, and the leaky-ReLU loss."""

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.door import Rows, check_weights

Vector = NDArray[np.float64]


class Sample(NamedTuple):
    """Rows with labels -1 or +1 and weights above 0."""

    X: NDArray[np.float64]  # (n, d)
    y: Vector  # (n,)
    weight: Vector  # (n,)

    def pick(self, which: NDArray[Any]) -> "Sample":
        """Some of the rows, by mask or index."""
        return Sample(self.X[which], self.y[which], self.weight[which])

    def error(self, w: Vector) -> float:
        """The weighted share of rows that sign(w.x) gets wrong."""
        return float(np.average((self.X @ w >= 0.0) != (self.y > 0.0), weights=self.weight))


class BatchHalfspace(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A homogeneous batch learner for two classes; a subclass says how to fit and how to score rows."""

    classes_: NDArray[Any]
    n_features_in_: int
    noise_rate: float
    random_state: Any

    @abstractmethod
    def _fit(self, sample: Sample, rng: np.random.RandomState) -> None:
        """Learn from checked rows."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters out of range."""

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> Vector:
        """(n,) scores: `classes_[1]` is predicted where they are not negative."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch; rows are taken as they are, without intercept."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite=False)
        Rows.of(X).check()
        weight = check_weights(sample_weight, len(y))
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise InvalidDataError(
                f"{type(self).__name__} learns two classes, but the rows of positive weight have "
                f"{self.classes_.size}: give rows of exactly two"
            )
        signs = np.where(labels == 1, 1.0, -1.0)
        self._fit(Sample(X, signs, weight), check_random_state(self.random_state))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row."""
        positive = self.decision_function(X) >= 0.0
        return np.asarray(self.classes_[positive.astype(int)])

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _check_noise(self, excess: float) -> None:
        if not (self.noise_rate >= 0.0 and excess > 0.0 and self.noise_rate + excess < 0.5):
            raise InvalidParameterError(
                f"noise_rate={self.noise_rate!r} and excess={excess!r}: noise_rate must be 0 or more, excess above 0, "
                "and their sum below 1/2"
            )


def check_iterations(iterations: int | None) -> None:
    """Refuse less than one."""
    if iterations is not None and iterations < 1:
        raise InvalidParameterError(f"iterations={iterations!r}: make at least 1")


def split(sample: Sample, share: float, rng: np.random.RandomState) -> tuple[Sample, Sample]:
    """Two disjoint random parts, the second with about `share` of the rows and at least one.

    >>> sample = Sample(np.eye(4), np.ones(4), np.ones(4))
    >>> [len(part.y) for part in split(sample, 0.5, np.random.RandomState(0))]
    [2, 2]
    """
    order = rng.permutation(len(sample.y))
    cut = len(order) - max(1, round(share * len(order)))
    return sample.pick(order[:cut] if cut > 0 else order), sample.pick(order[cut:])


def leaky_relu(score: Vector, y: Vector, leak: float) -> Vector:
    """LeakyReLU(-y score) = 1/2 ((1 - 2 leak) |score| - y score): 1 - leak times |score| if wrong, -leak if right.

    >>> leaky_relu(np.array([2.0, 2.0]), np.array([1.0, -1.0]), leak=0.1).round(9).tolist()
    [-0.2, 1.8]
    """
    return np.asarray(0.5 * ((1.0 - 2.0 * leak) * np.abs(score) - y * score))


def leaky_relu_slope(score: Vector, y: Vector, leak: float) -> Vector:
    """The derivative of `leaky_relu` by the score, with sign(0) = +1."""
    return np.asarray(0.5 * ((1.0 - 2.0 * leak) * np.where(score >= 0.0, 1.0, -1.0) - y))


class BallDescent:
    """Projected descent in the unit ball with steps sqrt(2 / sum of squared gradient norms), for any scale of rows."""

    def __init__(self, start: Vector) -> None:
        norm = float(np.linalg.norm(start))
        self.w = start / norm if norm > 0.0 else start
        self._squares = 0.0

    def step(self, gradient: Vector) -> None:
        """Move against the gradient."""
        self._squares += float(gradient @ gradient)
        if self._squares > 0.0:
            self.w = self.w - np.sqrt(2.0 / self._squares) * gradient
        self.w = self.w / max(1.0, float(np.linalg.norm(self.w)))
