"""Batch learners of the literature on Massart noise, in scikit-learn's `fit` and `predict`: for comparison.

They minimise over all rows at once, where the learners of this package see each row once.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from massart import theory
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.door import Rows, check_weights
from massart.kernels.learning.baselines import reweighted_steps

__all__ = ["DGT19", "FilterTron", "Perspectron"]

Vector = NDArray[np.float64]

_CANDIDATES = 100  # iterates of Perspectron that are compared on held-out rows


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
        """Raise an error for parameters out of range."""

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


class _Single(BatchHalfspace):
    """A learner whose predictor is one halfspace."""

    coef_: Vector

    def decision_function(self, X: ArrayLike) -> Vector:
        """(n,) w.x."""
        return np.asarray(self._rows(X) @ self.coef_[0])


class _WithExcess(BatchHalfspace):
    """A learner that aims at an error of noise_rate + excess; `leak` is that sum."""

    iterations: int

    def __init__(
        self, noise_rate: float, excess: float = 0.05, *, iterations: int = 300, random_state: Any = None
    ) -> None:
        self.noise_rate = noise_rate
        self.excess = excess
        self.iterations = iterations
        self.random_state = random_state

    @property
    def _leak(self) -> float:
        return self.noise_rate + self.excess

    def _check_parameters(self) -> None:
        if not (self.noise_rate >= 0.0 and self.excess > 0.0 and self.noise_rate + self.excess < 0.5):
            raise InvalidParameterError(
                f"noise_rate={self.noise_rate!r} and excess={self.excess!r}: noise_rate must be 0 or more, excess "
                "above 0, and their sum below 1/2"
            )
        _check_iterations(self.iterations)


class DGT19(_WithExcess):
    """Diakonikolas, Gouleakis and Tzamos (2019): the first efficient learner with error noise_rate + excess.

    Until few rows are left: minimise the leaky-ReLU loss with leak noise_rate + excess over the unit ball;
    keep the largest group of rows {|w.x| >= threshold} on which sign(w.x) errs at most noise_rate + excess; put
    (w, threshold) on the list and go on with the other rows. A row is answered by the first rule that reaches its
    threshold, so the predictor is a list and not a halfspace.

    Departures: stages share one sample instead of drawing fresh ones; instead, a random half of the rows finds w and
    the other half the threshold. A row that no rule reaches is answered by the last one.

    Parameters
    ----------
    noise_rate, excess : the error aimed at is their sum, below 1/2.
    iterations : descent steps per rule.
    random_state : seed of the halves.

    Attributes
    ----------
    rules_ : (rules, d) the weights; thresholds_ : (rules,).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> float(DGT19(noise_rate=0.1, random_state=0).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0)) > 0.9
    True
    """

    rules_: NDArray[np.float64]
    thresholds_: Vector

    def _fit(self, sample: Sample, rng: np.random.RandomState) -> None:
        finding, judging = split(sample, 0.5, rng)
        enough = self.excess * judging.weight.sum()
        rules, thresholds = [], []
        while True:
            w = self._minimise(finding)
            threshold = self._threshold(judging, w)
            rules.append(w)
            thresholds.append(threshold)
            finding = finding.pick(np.abs(finding.X @ w) < threshold)
            judging = judging.pick(np.abs(judging.X @ w) < threshold)
            if finding.y.size == 0 or judging.weight.sum() < max(enough, np.finfo(float).tiny):
                break
        self.rules_, self.thresholds_ = np.array(rules), np.array(thresholds)

    def _minimise(self, sample: Sample) -> Vector:
        """The best of the iterates of a projected descent on the mean leaky-ReLU loss."""
        X, y, weight = sample
        leak = self._leak
        share = weight / weight.sum()
        descent = BallDescent((share * y) @ X)
        best, lowest = descent.w, np.inf
        for _ in range(self.iterations):
            score = X @ descent.w
            loss = float(share @ leaky_relu(score, y, leak))
            if loss < lowest:
                best, lowest = descent.w, loss
            descent.step((share * leaky_relu_slope(score, y, leak)) @ X)
        return best

    def _threshold(self, sample: Sample, w: Vector) -> float:
        """The smallest |w.x| above which the error is low enough; 0 (all rows) when there is none.

        A group of less than a share `excess` of the rows is too small for a reliable estimate.
        """
        score = sample.X @ w
        order = np.argsort(-np.abs(score), kind="stable")
        size = np.abs(score)[order]
        wrong = ((score >= 0.0) != (sample.y > 0.0))[order]
        mass = np.cumsum(sample.weight[order])
        error = np.cumsum(sample.weight[order] * wrong) / mass
        last_of_its_size = np.append(size[1:] < size[:-1], True)
        good = last_of_its_size & (error <= self.noise_rate + self.excess) & (mass >= self.excess * mass[-1])
        return float(size[np.flatnonzero(good)[-1]]) if good.any() else 0.0

    def decision_function(self, X: ArrayLike) -> Vector:
        """(n,) the score of the rule that answers."""
        scores = self._rows(X) @ self.rules_.T
        reached = np.abs(scores) >= self.thresholds_
        reached[:, -1] = True
        return np.asarray(scores[np.arange(len(scores)), reached.argmax(axis=1)])


class FilterTron(_WithExcess, _Single):
    """Chen, Koehler, Moitra and Yau (2020): a halfspace, no list, with error noise_rate + excess.

    Each step looks at all slabs {|w.x| <= r} that hold at least a share `excess` of the rows, takes the one with the
    largest mean leaky-ReLU loss (leak noise_rate + excess), and descends on that slab alone. A halfspace with low
    loss on every slab has low error. Returned are the weights with the fewest errors on held-out rows.

    Departures: all rows are used at every step instead of fresh ones, and steps are scaled by past gradients.

    Parameters
    ----------
    noise_rate, excess : the error aimed at is their sum, below 1/2.
    iterations : descent steps.
    random_state : seed of the hold-out, a fifth of the rows.

    Attributes
    ----------
    coef_ : (1, d) the weights.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> float(FilterTron(noise_rate=0.1, random_state=0).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0)) > 0.9
    True
    """

    def __init__(
        self, noise_rate: float, excess: float = 0.05, *, iterations: int = 500, random_state: Any = None
    ) -> None:
        super().__init__(noise_rate, excess, iterations=iterations, random_state=random_state)

    def _fit(self, sample: Sample, rng: np.random.RandomState) -> None:
        learning, held_out = split(sample, 0.2, rng)
        X, y, weight = learning
        leak = self._leak
        descent = BallDescent((weight * y) @ X)
        best, lowest = descent.w, np.inf
        for _ in range(self.iterations):
            error = held_out.error(descent.w)
            if error < lowest:
                best, lowest = descent.w, error
            score = X @ descent.w
            slab = self._worst_slab(score, leaky_relu(score, y, leak), weight)
            share = weight[slab] / weight[slab].sum()
            descent.step((share * leaky_relu_slope(score[slab], y[slab], leak)) @ X[slab])
        self.coef_ = best[None, :]

    def _worst_slab(self, score: Vector, loss: Vector, weight: Vector) -> Any:
        """The rows of the slab with the largest mean loss."""
        order = np.argsort(np.abs(score), kind="stable")
        mass = np.cumsum(weight[order])
        mean = np.cumsum(weight[order] * loss[order]) / mass
        mean[mass < self.excess * mass[-1]] = -np.inf
        return order[: int(mean.argmax()) + 1]


class Perspectron(_Single):
    """Chandrasekaran, Kontonis, Stavropoulos and Tian (2024): a halfspace from about 1 / (margin excess)^2 rows.

        w <- w - step 1/2 ((1 - 2 noise_rate) sign(w.x) - y) x / (|w.x| + margin),  back to the unit ball

    over rows in random order; of 100 iterates spread over the run, the one with the fewest errors on held-out rows
    is returned. The update is written from the idea (a perceptron whose steps are divided by the margin), not
    copied from the authors' text; the step is the one that Theorem 1 of docs/theory.md proposes for as many rounds.

    Parameters
    ----------
    noise_rate : upper bound on the probability that a label is wrong, in [0, 1/2).
    margin : lower bound on |w*.x| for the best unit vector w*, in (0, 1].
    iterations : rows to learn from, again from the first when all were used; None: each row once.
    random_state : seed of the order and of the hold-out, a fifth of the rows.

    Attributes
    ----------
    coef_ : (1, d) the weights.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> learner = Perspectron(noise_rate=0.1, margin=0.1, random_state=0).fit(X, X[:, 0] > 0)
    >>> float(learner.score(X, X[:, 0] > 0)) > 0.9
    True
    """

    def __init__(
        self, noise_rate: float, margin: float, *, iterations: int | None = None, random_state: Any = None
    ) -> None:
        self.noise_rate = noise_rate
        self.margin = margin
        self.iterations = iterations
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not (0.0 <= self.noise_rate < 0.5 and 0.0 < self.margin <= 1.0):
            raise InvalidParameterError(
                f"noise_rate={self.noise_rate!r} and margin={self.margin!r}: they must lie in [0, 1/2) and in (0, 1]"
            )
        _check_iterations(self.iterations)

    def _fit(self, sample: Sample, rng: np.random.RandomState) -> None:
        learning, held_out = split(sample, 0.2, rng)  # both parts come in random order
        weight = learning.weight / learning.weight.mean()
        rounds = self.iterations if self.iterations is not None else len(learning.y)
        step = theory.fixed_step(self.noise_rate, self.margin, rounds)
        rule = np.array([self.noise_rate, self.margin, step])
        w = np.zeros(learning.X.shape[1])
        best, lowest = w.copy(), np.inf
        bounds = np.unique(np.linspace(0, rounds, _CANDIDATES + 1).astype(np.int64))
        for start, stop in pairwise(bounds):
            order = np.arange(start, stop) % len(learning.y)
            reweighted_steps(learning.X, learning.y, weight, order, rule, w)
            error = held_out.error(w)
            if error < lowest:
                best, lowest = w.copy(), error
        self.coef_ = best[None, :]


def _check_iterations(iterations: int | None) -> None:
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
