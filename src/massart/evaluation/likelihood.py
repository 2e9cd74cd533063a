"""Two intervals for the value of a policy from likelihoods: Cressie-Read (for large n) and Clopper-Pearson (exact).

**Cressie-Read.** Rewards are scaled to [0, 1]. Put probability q_i on decision i; the distance of q from the log is the
Cressie-Read divergence of power -2 (the Euclidean likelihood), D(q) = sum of (n q_i - 1)^2. Whatever the log, the
weights of the truth have mean at most 1 (less where the policy plays arms that were never logged), and E[w r] is at
most the value. So the low end is

    low = min {sum q_i w_i r_i : sum q_i = 1, sum q_i w_i <= 1, D(q) <= D_0 + t^2},

D_0 the least D under sum q_i w_i <= 1, and t the (1 + confidence)/2 quantile of Student's
distribution with n - 1 degrees of freedom. With z = (y, w), y = w r, and S the covariance of z in the log, the means
m = (m_y, m_w) that can be reached with D(q) <= c are those with n (m - mean z)' S^-1 (m - mean z) <= c. So the minimum
has a closed form: on the ellipse alone,

    m_y = mean y - sqrt(c S_yy / n)    if there m_w = mean w - S_yw sqrt(c / (n S_yy)) <= 1,

and else where the ellipse meets m_w = 1,

    m_y = mean y + (S_yw / S_ww) (1 - mean w) - sqrt((c/n - (1 - mean w)^2 / S_ww) (S_yy - S_yw^2 / S_ww)).

*Its error.* Let the errors of the means be normal, as they are for large n, in coordinates in which S is the identity.
G_y and G_w are then standard normal with correlation rho = S_yw / sqrt(S_yy S_ww), and G_y > 0 is a mean of y above its
truth. The truth is below `low` iff the squared distance of G from {y <= 0, w <= 0} exceeds that from {w <= 0} by more
than t^2. Let rho >= 0. If G_w <= 0 the excess is (G_y)_+^2, and G_w <= 0, G_y > t has probability at most
P(G_y > t) / 2, as the two are not negatively correlated. If G_w > 0 the excess is at most H_+^2, H the part of G_y that
is independent of G_w, scaled to variance 1, so the probability is at most P(H > t) / 2. Together that is at most
P(G_y > t), the error that was asked for. For rho < 0 this fails, and `low` is mean y - t sqrt(S_yy / n), whose error is
P(G_y > t).  QED

The high end is 1 minus the low end for y = w (1 - r). (Cressie and Read 1984; Owen 2001, section 3.15; Karampatziakis,
Langford and Mineiro 2020, whose interval differs in the terms of order 1/n.)

**Clopper-Pearson.** If each X_i = w_i r_i / b is 0 or 1, their sum s is binomial, and the end of Clopper and Pearson
(1934) is exact: the p at which s or more successes of n have probability delta. If X_i may be anything in [0, 1], then
P(sum >= s) <= e P(Binomial >= floor(s)) (Bentkus 2004, On Hoeffding's inequalities, Annals of Probability 32), so the
same end with floor(s) and delta / e holds. Clipping at b only lowers E X, and E[w r] is at most the value: both hold
for every b that is not chosen by looking at the same decisions.
"""

import math

import numpy as np
from scipy.special import betaincinv, stdtrit

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidParameterError
from massart.evaluation.intervals import Interval, pilot_size, scaled_rewards
from massart.theory import check_confidence

__all__ = ["binomial_low", "clopper_pearson_interval", "cressie_read_interval"]


def cressie_read_interval(
    rewards: FloatArray,
    weights: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Interval:
    """The interval of the module's first part, for n large.

    >>> rewards, weights = np.tile([1.0, 0.0, 1.0, 0.0], 250), np.tile([2.0, 2.0, 0.0, 0.0], 250)
    >>> interval = cressie_read_interval(rewards, weights)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.446, 0.554)
    """
    check_confidence(confidence)
    low, high = reward_range
    scaled = scaled_rewards(rewards, reward_range)
    count = rewards.size
    if count < 2:
        return Interval("cressie-read", low, high, confidence)
    t = float(stdtrit(count - 1, 0.5 + 0.5 * confidence))
    bottom = _least(weights * scaled, weights, t)
    top = 1.0 - _least(weights * (1.0 - scaled), weights, t)
    return Interval("cressie-read", low + (high - low) * bottom, low + (high - low) * top, confidence)


def _least(y: FloatArray, w: FloatArray, t: float) -> float:
    """The least mean of y that the likelihood allows, in [0, 1]."""
    count = y.size
    mean_y, mean_w = float(y.mean()), float(w.mean())
    off_y, off_w = y - mean_y, w - mean_w
    yy, ww, yw = (float((a * b).mean()) for a, b in ((off_y, off_y), (off_w, off_w), (off_y, off_w)))
    if yy <= 0.0:
        return _within(mean_y)
    if yw <= 0.0 or ww <= 0.0:
        return _within(mean_y - t * math.sqrt(yy / count))
    reach = t * t / count + max(0.0, mean_w - 1.0) ** 2 / ww  # c / n
    if mean_w - yw * math.sqrt(reach / yy) <= 1.0:
        return _within(mean_y - math.sqrt(reach * yy))
    rest, spread = reach - (1.0 - mean_w) ** 2 / ww, yy - yw / ww * yw
    return _within(mean_y + yw / ww * (1.0 - mean_w) - math.sqrt(max(0.0, rest) * max(0.0, spread)))


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def clopper_pearson_interval(
    rewards: FloatArray,
    weights: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    *,
    max_weight: float | None = None,
) -> Interval:
    """The interval of the module's second part: for every n, decisions independent, rewards in a known range.

    If each weight is 0 or one and the same number b, and each reward one of the two ends of its range, these are taken
    to be all that can occur, and the interval is the exact one. Else `max_weight` is b; without it the first tenth of
    the decisions gives b, the largest weight among them, and the others give the interval.

    >>> interval = clopper_pearson_interval(np.repeat([1.0, 0.0], [8, 2]), np.ones(10))
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.4439, 0.9748)
    """
    delta = 0.5 - 0.5 * check_confidence(confidence)
    low, high = reward_range
    scaled = scaled_rewards(rewards, reward_range)
    if max_weight is not None and not 0.0 < max_weight < math.inf:
        raise InvalidParameterError(f"max_weight must be a finite number above 0, not {max_weight}")
    cap = float(weights.max(initial=0.0)) if max_weight is None else max_weight
    binary = bool(((scaled == 0.0) | (scaled == 1.0)).all() and ((weights == 0.0) | (weights == cap)).all())
    if not binary:
        delta /= math.e
        if max_weight is None:
            pilot = pilot_size(rewards.size)
            cap = float(weights[:pilot].max(initial=0.0))
            scaled, weights = scaled[pilot:], weights[pilot:]
    if not cap > 0.0:
        return Interval("clopper-pearson", low, high, confidence)
    shares = np.minimum(weights / cap, 1.0)
    bottom = cap * binomial_low(shares * scaled, delta)
    top = 1.0 - cap * binomial_low(shares * (1.0 - scaled), delta)
    bottom, top = min(1.0, bottom), max(0.0, top)
    return Interval("clopper-pearson", low + (high - low) * bottom, low + (high - low) * top, confidence)


def binomial_low(values: FloatArray, delta: float) -> float:
    """A low end of the mean of values that are 0 or 1; of others in [0, 1] with delta / e instead of delta."""
    successes = math.floor(float(values.sum()) + 1e-9)  # of sums that are whole but for rounding
    if successes < 1:
        return 0.0
    return float(betaincinv(successes, values.size - successes + 1, delta))
