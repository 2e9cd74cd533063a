"""Intervals around an estimate, and what each of them needs to be true.

normal      n large; the estimate's own variance only, not the bias of a reward model
bootstrap   as normal, without its symmetry
bernstein   independent decisions and rewards in a known range: holds for every n
sequence    the same, and for all n at once (`massart.evaluation.sequences`)
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation.estimators import Estimate

__all__ = [
    "Interval",
    "bootstrap_intervals",
    "check_confidence",
    "empirical_bernstein_interval",
    "normal_interval",
    "scaled_rewards",
]

_PILOT = 10  # one decision in ten, the first ones, finds the bound on the weights


class Interval(NamedTuple):
    """Where the value lies, with probability `confidence`."""

    kind: str
    low: float
    high: float
    confidence: float


def check_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise InvalidParameterError(f"confidence must lie strictly between 0 and 1, not {confidence}; .95 is usual")
    return float(confidence)


def normal_interval(estimate: Estimate, confidence: float = 0.95) -> Interval:
    """The value plus and minus z standard errors, z the (1 + confidence)/2 quantile of the normal distribution.

    >>> interval = normal_interval(Estimate("ips", np.array([2.0, 0.0]), np.ones(2)))
    >>> round(interval.low, 2), round(interval.high, 2)
    (-0.96, 2.96)
    """
    reach = NormalDist().inv_cdf(0.5 + 0.5 * check_confidence(confidence)) * estimate.standard_error
    return Interval("normal", estimate.value - reach, estimate.value + reach, confidence)


def bootstrap_intervals(
    estimates: Sequence[Estimate], confidence: float = 0.95, *, resamples: int = 1000, seed: int = 0
) -> list[Interval]:
    """Percentile intervals (Efron 1979): decisions are drawn anew with replacement, the same ones for each estimate.

    Reward models are not fitted again.  A resample without any weight (snips) counts for no interval.

    >>> flips = np.tile([1.0, 0.0], 50)
    >>> [interval] = bootstrap_intervals([Estimate("ips", flips, np.ones(100))])
    >>> 0.38 < interval.low < 0.42 and 0.58 < interval.high < 0.62
    True
    """
    check_confidence(confidence)
    if resamples < 2:
        raise InvalidParameterError(f"resamples must be at least 2, not {resamples}")
    random, count = np.random.default_rng(seed), estimates[0].numerators.size
    values = np.full((resamples, len(estimates)), np.nan)
    for resample in range(resamples):
        times = np.bincount(random.integers(count, size=count), minlength=count).astype(np.float64)
        for place, estimate in enumerate(estimates):
            # Products, then NumPy's pairwise sum, and not `@`: the order of additions in a BLAS product depends on
            # the processor and on the number of columns, so on which other estimates are asked for.
            below = float((times * estimate.denominators).sum())
            if below > 0.0:
                values[resample, place] = float((times * estimate.numerators).sum()) / below
    tail = 0.5 - 0.5 * confidence
    intervals = []
    for column in values.T:
        drawn = column[~np.isnan(column)]
        if not drawn.size:
            raise InvalidDataError("bootstrap: no resample has any weight; draw more resamples")
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
        intervals.append(Interval("bootstrap", float(low), float(high), confidence))
    return intervals


def empirical_bernstein_interval(
    rewards: FloatArray,
    weights: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    *,
    max_weight: float | None = None,
) -> Interval:
    """Maurer and Pontil (2009), Theorem 4, once for each end.

    For X_1..X_n in [0, b], independent and alike, s^2 their sample variance, with probability at least 1 - delta

        E X >= mean - sqrt(2 s^2 ln(2/delta) / n) - 7 b ln(2/delta) / (3 (n - 1)).

    With rewards scaled to [0, 1] the low end takes X = min(w, b) r: clipping only lowers E[w r] <= value.  The high
    end is 1 minus the low end for X = min(w, b) (1 - r), since E[w (1 - r)] <= 1 - value.  delta = (1 - confidence)/2
    each.  So the interval holds for every b fixed beforehand, even where p = 0 < pi.  `max_weight` is b; without it
    the first tenth of the decisions gives b, the largest weight among them, and the others give the interval.

    >>> rewards = np.tile([1.0, 0.0], 500)
    >>> interval = empirical_bernstein_interval(rewards, np.ones(1000), max_weight=1.0)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.443, 0.557)
    """
    delta = 0.5 - 0.5 * check_confidence(confidence)
    low, high = reward_range
    scaled = scaled_rewards(rewards, reward_range)
    cap = max_weight
    if cap is None:
        pilot = -(-rewards.size // _PILOT)
        cap = float(weights[:pilot].max(initial=0.0))
        scaled, weights = scaled[pilot:], weights[pilot:]
    elif not 0.0 < cap < math.inf:
        raise InvalidParameterError(f"max_weight must be a finite number above 0, not {max_weight}")
    clipped = np.minimum(weights, cap)
    bottom = _bernstein_low(clipped * scaled, cap, delta)
    top = 1.0 - _bernstein_low(clipped * (1.0 - scaled), cap, delta)
    return Interval("bernstein", low + (high - low) * bottom, low + (high - low) * top, confidence)


def scaled_rewards(rewards: FloatArray, reward_range: tuple[float, float]) -> FloatArray:
    """Rewards moved to [0, 1]; refuses a range that is none, and rewards outside it."""
    low, high = reward_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameterError(f"reward_range must be two finite numbers, the smaller first, not {reward_range}")
    outside = (rewards < low) | (rewards > high)
    if outside.any():
        raise InvalidDataError(
            f"{int(outside.sum())} of {rewards.size} rewards lie outside the range {low:g} to {high:g} "
            f"(the first is {rewards[outside][0]:g}): give the range rewards can really have"
        )
    return (rewards - low) / (high - low)


def _bernstein_low(values: FloatArray, bound: float, delta: float) -> float:
    count = values.size
    if count < 2:
        return 0.0
    log = math.log(2.0 / delta)
    reach = math.sqrt(2.0 * float(values.var(ddof=1)) * log / count) + 7.0 * bound * log / (3.0 * (count - 1))
    return max(0.0, float(values.mean()) - reach)
