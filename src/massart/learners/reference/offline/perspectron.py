"""The reweighted perceptron on shuffled rows, judged on held-out ones."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from massart import theory
from massart.errors import InvalidParameterError
from massart.kernels.learning.baselines import reweighted_steps
from massart.learners.reference.offline.base import BatchHalfspace, Sample, Vector, check_iterations, split

_CANDIDATES = 100


class Perspectron(BatchHalfspace):
    """Chandrasekaran, Kontonis, Stavropoulos and Tian (2024): a halfspace from about 1 / (margin excess)^2 rows.

        w <- w - step 1/2 ((1 - 2 noise_rate) sign(w.x) - y) x / (|w.x| + margin),  back to the unit ball

    over rows in random order; of 100 iterates spread over the run, the one with the fewest errors on held-out rows
    is returned. The update is written from the idea (a perceptron whose steps are divided by the margin), not
    copied from the authors' text; the step is the one that Theorem 1 of docs/theory.md proposes for as many rounds.

    Parameters
    ----------
    noise_rate : upper bound on the probability that a label lies, in [0, 1/2).
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

    coef_: Vector

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
        check_iterations(self.iterations)

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

    def decision_function(self, X: ArrayLike) -> Vector:
        """(n,) w.x."""
        return np.asarray(self._rows(X) @ self.coef_[0])
