"""Intervals around an estimate, and what each of them needs to be true.

normal      n large; the estimate's own variance only, not the bias of a reward model
bootstrap   as normal, without its symmetry
bernstein   independent decisions and rewards in a known range: holds for every n
sequence    the same, and for all n at once, so one may look and stop at any time

(cressie-read and clopper-pearson: see `massart.evaluation.likelihood`.)

The sequence rests on the following.

**Claim.** Let Y_1, Y_2, ... >= 0 have E[Y_i | Y_1..Y_(i-1)] <= mu, let 0 < c < 1, and let L be J positive numbers
("stakes").  For m > 0 and lambda in L let

    K_n(m, lambda) = product over i <= n of (1 + min(lambda, c/m) (Y_i - m)).

Then with probability at least 1 - alpha, for all n at once,

    mu >= sup {m : K_s(m, lambda) >= J/alpha for some s <= n and some lambda in L}.

*Proof.* Each factor is at least 1 - c > 0, and at m = mu has conditional mean at most 1.  So K_n(mu, lambda) is a
non-negative supermartingale that begins at 1, and by Ville's inequality reaches J/alpha with probability at most
alpha/J; one of the J stakes does with probability at most alpha.  Each factor falls in m: where lambda <= c/m it is
1 + lambda (Y_i - m), elsewhere 1 - c + c Y_i/m, and both agree where they meet.  So if K_s(m, lambda) >= J/alpha for
some m > mu, then K_s(mu, lambda) >= J/alpha too, which we have just excluded.  QED

This is betting against the mean m (Waudby-Smith and Ramdas 2023, section 4) with variables bounded from one side only
(Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2022); stakes on a geometric grid are the stitching of Howard,
Ramdas, McAuliffe and Sekhon (2021).  With rewards scaled to [0, 1], Y = w r gives the low end: E[w r] <= value;
Y = w (1 - r) gives 1 minus the high end: E[w (1 - r)] <= 1 - value.  No bound on the weights is needed, the logging
policy may learn while it logs, and arms it never plays only widen the interval.  What is needed: the value of the
policy given the past stays the same over the log (no drift), and logged propensities are true.

At n decisions the best stake is near sqrt(2 ln(J/alpha) / (n var Y)); then the interval is
sqrt(2 ln(J/alpha)) / z times as wide as the normal one, 1.9 times at a confidence of .95.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation.estimators import Estimate
from massart.theory import check_confidence

__all__ = [
    "STAKES",
    "Interval",
    "bernstein_low",
    "bootstrap_intervals",
    "confidence_sequence",
    "empirical_bernstein_interval",
    "low_end",
    "normal_interval",
    "percentile_interval",
    "pilot_size",
    "resampled",
    "scaled_rewards",
]

STAKES = tuple(2.0**power for power in range(4, -17, -1))  # from a handful of decisions to billions
_CAP = 0.5  # c above
_HALVINGS = 20  # a bound stops short of the sup by at most a millionth: on the safe side
_PILOT = 10  # one decision in ten, the first ones, finds the bound on the weights


class Interval(NamedTuple):
    """Where the value lies, with probability `confidence`."""

    kind: str
    low: float
    high: float
    confidence: float


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
    values = resampled(estimates, resamples, seed)
    return [percentile_interval(column, confidence) for column in values.T]


def resampled(estimates: Sequence[Estimate], resamples: int, seed: int) -> FloatArray:
    """The estimates (m,) on each of the resamples, NaN where there is no weight: (resamples, m)."""
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
    return values


def percentile_interval(values: FloatArray, confidence: float) -> Interval:
    """Between the two percentiles of resampled values (n,)."""
    tail = 0.5 - 0.5 * confidence
    drawn = values[~np.isnan(values)]
    if not drawn.size:
        raise InvalidDataError("bootstrap: no resample has any weight; draw more resamples")
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Interval("bootstrap", float(low), float(high), confidence)


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
        pilot = pilot_size(rewards.size)
        cap = float(weights[:pilot].max(initial=0.0))
        scaled, weights = scaled[pilot:], weights[pilot:]
    elif not 0.0 < cap < math.inf:
        raise InvalidParameterError(f"max_weight must be a finite number above 0, not {max_weight}")
    clipped = np.minimum(weights, cap)
    bottom = bernstein_low(clipped * scaled, cap, delta)
    top = 1.0 - bernstein_low(clipped * (1.0 - scaled), cap, delta)
    return Interval("bernstein", low + (high - low) * bottom, low + (high - low) * top, confidence)


def pilot_size(count: int) -> int:
    """How many decisions, the first ones, find the bound on the weights."""
    return -(-count // _PILOT)


def scaled_rewards(rewards: FloatArray, reward_range: tuple[float, float]) -> FloatArray:
    """Rewards moved to [0, 1]; raises an error for an empty range and for rewards outside of it."""
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


def bernstein_low(values: FloatArray, bound: float, delta: float) -> float:
    """A low end of the mean of values in [0, bound], which fails with probability at most delta."""
    count = values.size
    if count < 2:
        return 0.0
    log = math.log(2.0 / delta)
    reach = math.sqrt(2.0 * float(values.var(ddof=1)) * log / count) + 7.0 * bound * log / (3.0 * (count - 1))
    return max(0.0, float(values.mean()) - reach)


def low_end(values: FloatArray, error: float, times: Sequence[int] | None = None) -> FloatArray:
    """The claim's bound at each of the rising `times` (by default at the end), for a mean of at most 1.

    >>> flips = np.tile([1.0, 0.0], 500)
    >>> low_end(flips, 0.05, [10, 100, 1000]).round(3).tolist()
    [0.094, 0.33, 0.445]
    """
    threshold = math.log(len(STAKES) / error)

    def reached(mean: float, stake: float, time: int) -> bool:
        gains = np.log1p(min(stake, _CAP / mean) * (values[:time] - mean))
        return bool(np.cumsum(gains).max(initial=0.0) >= threshold)

    bounds, bound = [], 0.0
    for time in [values.size] if times is None else times:
        for stake in STAKES:
            # A stake is worth a search only if it reaches beyond what the others have.
            low, high = bound, 1.0
            if low >= high or not reached(low + (high - low) * 0.5**_HALVINGS, stake, time):
                continue
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if reached(middle, stake, time) else (low, middle)
            bound = low
        bounds.append(bound)
    return np.array(bounds)


def confidence_sequence(
    rewards: FloatArray,
    weights: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    *,
    times: Sequence[int] | None = None,
) -> list[Interval]:
    """One interval after each of the `times` decisions (by default after all), each within the ones before.

    An interval whose low end is above its high end says, as surely as `confidence`, that the log is not what it is
    taken for: the value drifts, or propensities are wrong.

    >>> rewards = np.tile([1.0, 0.0], 500)
    >>> [(round(i.low, 2), round(i.high, 2)) for i in confidence_sequence(rewards, np.ones(1000), times=[10, 1000])]
    [(0.08, 0.93), (0.44, 0.56)]
    """
    error = 0.5 - 0.5 * check_confidence(confidence)
    low, high = reward_range
    scaled = scaled_rewards(rewards, reward_range)
    when = [rewards.size] if times is None else list(times)
    if sorted(when) != when or (when and not 1 <= when[0] <= when[-1] <= rewards.size):
        raise InvalidParameterError(f"times must rise from 1 to the {rewards.size} decisions of the log, not {when}")
    bottoms = low_end(weights * scaled, error, when)
    tops = 1.0 - low_end(weights * (1.0 - scaled), error, when)
    width = high - low
    return [
        Interval("sequence", low + width * float(bottom), low + width * float(top), confidence)
        for bottom, top in zip(bottoms, tops, strict=True)
    ]
