"""A single halfspace, corrected where it is worst."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from massart.learners.reference.offline.base import (
    BallDescent,
    BatchHalfspace,
    Sample,
    Vector,
    check_iterations,
    leaky_relu,
    leaky_relu_slope,
    split,
)


class FilterTron(BatchHalfspace):
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

    coef_: Vector
    iterations: int

    def __init__(
        self, noise_rate: float, excess: float = 0.05, *, iterations: int = 500, random_state: Any = None
    ) -> None:
        self.noise_rate = noise_rate
        self.excess = excess
        self.iterations = iterations
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_noise(self.excess)
        check_iterations(self.iterations)

    def _fit(self, sample: Sample, rng: np.random.RandomState) -> None:
        learning, held_out = split(sample, 0.2, rng)
        X, y, weight = learning
        leak = self.noise_rate + self.excess
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

    def decision_function(self, X: ArrayLike) -> Vector:
        """(n,) w.x."""
        return np.asarray(self._rows(X) @ self.coef_[0])
