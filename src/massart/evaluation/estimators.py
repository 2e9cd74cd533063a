"""Five estimates of what a policy earns per decision.

w_i = pi(a_i|x_i) / p_i importance weight, r_i reward, q a model of the reward, q_i = q(x_i, a_i),
v_i = sum_a pi(a|x_i) q(x_i, a), averages over the n decisions of the log:

    ips         mean of w r                          unbiased if p > 0 wherever pi > 0
    snips       sum of w r / sum of w                biased by O(1/n), within the range of the rewards
    dm          mean of v                            as good as the model
    dr          mean of v + w (r - q)                unbiased as ips, better the better the model
    switch-dr   mean of v + 1[w <= t] w (r - q)      uses the model where weights exceed t

(Horvitz and Thompson 1952; Swaminathan and Joachims 2015; Dudik, Langford and Li 2011; Wang, Agarwal and Dudik 2017,
switch-dr in the form of Su et al. 2020 that Open Bandit Pipeline computes as well.)
All are ratios of two sums over decisions, which is what their standard errors and bootstraps are built on.

Where a decision fills one position of a list, pi and p are the probabilities of the arm at that position, and the same
formulas are the estimator of the position-based model, in which the reward of a position depends on the arm there and
not on the others (Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen 2018). The decisions of one list depend on
each other: `Estimate.grouped` adds them up, so that standard errors and bootstraps are those of independent lists.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = [
    "Estimate",
    "difference",
    "direct_method",
    "doubly_robust",
    "ips",
    "snips",
    "switch_doubly_robust",
]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """value = sum of numerators / sum of denominators, one of each per decision.

    >>> estimate = Estimate("ips", np.array([2.0, 0.0]), np.ones(2))
    >>> estimate.value, estimate.standard_error
    (1.0, 1.0)
    """

    estimator: str
    numerators: FloatArray
    denominators: FloatArray

    @property
    def value(self) -> float:
        """The estimated reward per decision."""
        return float(self.numerators.sum() / self.denominators.sum())

    @property
    def standard_error(self) -> float:
        """sqrt(n/(n-1) sum (numerator - value denominator)^2) / sum of denominators; NaN for one decision.

        For a mean that is the textbook's s / sqrt(n), for snips the delta method.
        """
        count = self.numerators.size
        if count < 2:
            return math.nan
        residuals = self.numerators - self.value * self.denominators
        return math.sqrt(count / (count - 1) * float(np.square(residuals).sum())) / abs(float(self.denominators.sum()))

    def grouped(self, groups: npt.NDArray[np.int64] | None) -> "Estimate":
        """The same value, with one numerator and denominator per group; `groups` (n,) count from 0.

        >>> estimate = Estimate("ips", np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4))
        >>> estimate.grouped(np.array([0, 0, 1, 1])).standard_error > estimate.standard_error
        True
        """
        if groups is None:
            return self
        above, below = (
            np.bincount(groups, weights=part).astype(np.float64) for part in (self.numerators, self.denominators)
        )
        return Estimate(self.estimator, above, below)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """The first value minus the second, both from the same decisions: a mean of one term per decision.

    The term of a decision is the difference of the values plus that of its two influences, where the influence on a
    ratio is n (numerator - value denominator) / sum of denominators. So chance that both have in common cancels.

    >>> one, other = (Estimate("ips", np.array(terms), np.ones(2)) for terms in ([1.0, 0.0], [0.9, 0.1]))
    >>> difference(one, one).standard_error, round(difference(one, other).standard_error, 3)
    (0.0, 0.1)
    """
    terms = np.full(first.numerators.size, first.value - second.value)
    for sign, estimate in ((1.0, first), (-1.0, second)):
        residuals = estimate.numerators - estimate.value * estimate.denominators
        terms += sign * residuals * (residuals.size / float(estimate.denominators.sum()))
    return Estimate(first.estimator, terms, np.ones(terms.size))


def ips(rewards: FloatArray, weights: FloatArray, row_weights: FloatArray | None = None) -> Estimate:
    """Inverse propensity score: the mean of w r.

    >>> ips(np.array([1.0, 0.0, 1.0]), np.array([2.0, 1.0, 1.0])).value
    1.0
    """
    share = _shares(row_weights, rewards)
    return Estimate("ips", share * weights * rewards, share)


def snips(rewards: FloatArray, weights: FloatArray, row_weights: FloatArray | None = None) -> Estimate:
    """Self-normalised ips: sum of w r / sum of w.

    >>> snips(np.array([1.0, 0.0, 1.0]), np.array([2.0, 1.0, 1.0])).value
    0.75
    """
    share = _shares(row_weights, rewards)
    if not weights.any():
        raise InvalidDataError(
            "snips: the policy gives probability 0 to every arm that was taken; log more exploration"
        )
    return Estimate("snips", share * weights * rewards, share * weights)


def direct_method(policy_rewards: FloatArray, row_weights: FloatArray | None = None) -> Estimate:
    """Direct method: the mean of v, what a reward model expects of the policy.

    >>> direct_method(np.array([0.5, 1.0])).value
    0.75
    """
    share = _shares(row_weights, policy_rewards)
    return Estimate("dm", share * policy_rewards, share)


def doubly_robust(
    rewards: FloatArray,
    weights: FloatArray,
    taken_rewards: FloatArray,
    policy_rewards: FloatArray,
    row_weights: FloatArray | None = None,
) -> Estimate:
    """Doubly robust: the mean of v + w (r - q), q = `taken_rewards` and v = `policy_rewards` from a reward model.

    >>> doubly_robust(np.array([1.0, 0.0]), np.array([2.0, 0.5]), np.array([0.5, 0.5]), np.array([0.5, 0.5])).value
    0.875
    """
    share = _shares(row_weights, rewards)
    return Estimate("dr", share * (policy_rewards + weights * (rewards - taken_rewards)), share)


def switch_doubly_robust(
    rewards: FloatArray,
    weights: FloatArray,
    taken_rewards: FloatArray,
    policy_rewards: FloatArray,
    row_weights: FloatArray | None = None,
    *,
    threshold: float = 10.0,
) -> Estimate:
    """Doubly robust where w <= threshold, the direct method elsewhere.

    >>> rewards, q, v = np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.array([0.5, 0.5])
    >>> switch_doubly_robust(rewards, np.array([2.0, 0.5]), q, v, threshold=1.0).value
    0.375
    """
    if not threshold >= 0.0:
        raise InvalidParameterError(f"threshold must be at least 0, not {threshold}")
    kept = np.where(weights <= threshold, weights, 0.0)
    whole = doubly_robust(rewards, kept, taken_rewards, policy_rewards, row_weights)
    return Estimate("switch-dr", whole.numerators, whole.denominators)


def _shares(row_weights: FloatArray | None, like: FloatArray) -> FloatArray:
    return np.ones(like.size) if row_weights is None else row_weights
