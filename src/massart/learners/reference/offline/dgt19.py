"""A decision list of halfspaces, each trusted where its score is large."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


class DGT19(BatchHalfspace):
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
    iterations: int

    def __init__(
        self, noise_rate: float, excess: float = 0.05, *, iterations: int = 300, random_state: Any = None
    ) -> None:
        self.noise_rate = noise_rate
        self.excess = excess
        self.iterations = iterations
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_noise(self.excess)
        check_iterations(self.iterations)

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
        leak = self.noise_rate + self.excess
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

        A group of less than a share `excess` of the rows is too small to be believed.
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
