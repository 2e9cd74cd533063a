"""From the score of a halfspace to the probability of the label as it comes, learned along the way.

A score s counts as u = s / (the mean size of scores so far, in which a size counts as at most four times that mean).
Several calibrations are learned side by side, and Bayes' rule weighs them by the probabilities that they gave to the
labels (as in class_mixture.py, shares included):

    p = e + (1 - 2 e) / (1 + exp(-a v - b)), with v = u or the logarithm of its size, and some noise rates e: a logistic
    probability of a label that is flipped with probability e. (a, b) take Newton's steps with Fisher's information. a
    stays above 0: a higher score is a higher probability.

Scores of several classes, one each, become a softmax of `heat` times them, in the same units; the heat takes AdaGrad's
steps on the log loss.

Each row is predicted before it is learned. Of the first 1,500 rows all are looked at, later every eighth, and from
6,000 on every sixteenth, so that calibration takes little time.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Integers, Labels, njit
from massart.kernels.learning.elementary import exp, log
from massart.kernels.learning.simd import (
    four_of,
    larger,
    load_four,
    no_four,
    spread_four,
    store_four,
    total,
    where_larger,
)
from massart.kernels.learning.softmax import exp_four

__all__ = [
    "ARE_COMPRESSED",
    "EXPERTS",
    "FLATTEST",
    "NOISE_RATES",
    "Calibration",
    "Heat",
    "Logistic",
    "calibrate",
    "heat_up",
    "learn_calibration",
    "learn_heat",
]

NOISE_RATES: Final = (0.0, 0.0, 0.1, 0.25)
ARE_COMPRESSED: Final = (True, False, True, False)  # whether v is the logarithm
EXPERTS: Final = len(NOISE_RATES)  # four, a vector
FLATTEST: Final = 1e-3  # a


class Calibration(IntEnum):
    """Places in `head`, float64."""

    ROUNDS = 0  # rows that came
    LEARNED = 1  # rows that were looked at
    WEIGHT = 2  # the sum of their weights
    SIZE = 3  # the weighted mean size of their scores
    HEAVIEST = 4


class Logistic(IntEnum):
    """Rows of `logistic`, float64 with a column for each calibration."""

    A = 0
    B = 1
    P_AA = 2  # the inverse of the information
    P_AB = 3
    P_BB = 4


class Heat(IntEnum):
    """Places in `heat`, float64."""

    HEAT = 0
    SQUARES = 1  # the sum of squared derivatives by its logarithm
    WEIGHT = 2  # the sum of the rows' weights
    SIZE = 3  # the weighted mean of the largest sizes of their scores
    HEAVIEST = 4


_HEAT_PACE: Final = 0.5
_LONGEST_STEP: Final = 0.5
_MOST_HEAT: Final = 1e6
_FORGET: Final = 1.003  # about 300 rows that were looked at count: the pool's score changes as it learns
_FADE: Final = 0.002  # of the mean size, for the same reason
_LEAST_KNOWN: Final = 4.0  # no variance grows beyond what it was at first
_FREE, _LATE = 1500, 6000
_SOMETIMES, _RARELY = 8, 16
_FURTHEST: Final = 20.0
_LEAST: Final = 1e-12
_BELOW_HALF: Final = 0.5 - 2.0**-40
_LEAST_INFORMATION: Final = 1e-4
_LARGEST: Final = 1e150
_OUTLIER: Final = 4.0
_STEEPEST: Final = 1e6
_ZERO = np.uint64(0)


@njit(cache=True, error_model="numpy", forceinline=True)
def _compressed(u: float) -> float:
    """A score far from 0 counts as its logarithm."""
    return log(1.0 + 4.0 * u) if u >= 0.0 else -log(1.0 - 4.0 * u)


@njit(cache=True, error_model="numpy", forceinline=True)
def _arguments(u: float) -> Any:
    """V of each calibration."""
    small = _compressed(u)
    return four_of(small, u, small, u)


@njit(cache=True, error_model="numpy", forceinline=True)
def _rates() -> Any:
    return four_of(NOISE_RATES[0], NOISE_RATES[1], NOISE_RATES[2], NOISE_RATES[3])


@njit(cache=True, error_model="numpy", forceinline=True)
def _row(place: int) -> np.uint64:
    return np.uint64(place * EXPERTS)


@njit(cache=True, error_model="numpy", forceinline=True)
def _clean(v: Any, logistic: Floats) -> Any:
    """1 / (1 + exp(-a v - b))."""
    zero, one = no_four(), spread_four(1.0)
    m = load_four(logistic, _row(Logistic.A)) * v + load_four(logistic, _row(Logistic.B))
    part = exp_four(where_larger(zero, m, m, zero - m))
    return where_larger(zero, m, part, one) / (one + part)


@njit(cache=True, error_model="numpy", forceinline=True)
def _in_units(score: float, head: Floats) -> float:
    size = head[Calibration.SIZE]
    return min(_FURTHEST, max(-_FURTHEST, score / size)) if size > 0.0 else 0.0


@njit(cache=True, error_model="numpy", forceinline=True)
def _newton(v: Any, y: float, r: float, logistic: Floats, clean: Any, p: Any, left: Any) -> None:
    """A step of the calibrations, which gave probability p to +1."""
    zero, one, weight = no_four(), spread_four(1.0), spread_four(r)
    slope = left * clean * (one - clean)
    ratio = slope / larger(p * (one - p), spread_four(_LEAST))
    g = weight * ratio * ((one if y > 0.0 else zero) - p)
    h = weight * larger(spread_four(_LEAST_INFORMATION), slope * ratio)
    a, b = load_four(logistic, _row(Logistic.A)), load_four(logistic, _row(Logistic.B))
    aa, bb = load_four(logistic, _row(Logistic.P_AA)), load_four(logistic, _row(Logistic.P_BB))
    ab = load_four(logistic, _row(Logistic.P_AB))
    forgotten = where_larger(spread_four(_LEAST_KNOWN), larger(aa, bb), spread_four(_FORGET), one)
    aa, ab, bb = aa * forgotten, ab * forgotten, bb * forgotten
    qa, qb = aa * v + ab, ab * v + bb
    damped = one / (one + h * larger(zero, qa * v + qb))
    a, b, h, steepest = a + damped * qa * g, b + damped * qb * g, h * damped, spread_four(_STEEPEST)
    a = larger(where_larger(a, steepest, steepest, a), spread_four(FLATTEST))
    b = larger(where_larger(b, steepest, steepest, b), zero - steepest)
    store_four(logistic, _row(Logistic.A), a)
    store_four(logistic, _row(Logistic.B), b)
    store_four(logistic, _row(Logistic.P_AA), larger(zero, aa - h * qa * qa))
    store_four(logistic, _row(Logistic.P_AB), ab - h * qa * qb)
    store_four(logistic, _row(Logistic.P_BB), larger(zero, bb - h * qb * qb))


@njit(cache=True, error_model="numpy", forceinline=True)
def _learn_one(
    u: float, y: float, r: float, learned: float, logistic: Floats, trust: Floats, likelihoods: Floats
) -> None:
    """Bayes' rule for the calibrations, and a step of each."""
    one, low, v = spread_four(1.0), _rates(), _arguments(u)
    left, clean = one - low - low, _clean(v, logistic)
    p = low + left * clean
    own = larger(p if y > 0.0 else one - p, spread_four(_LEAST))
    if r != 1.0:
        store_four(likelihoods, _ZERO, own)
        for n in range(EXPERTS):
            likelihoods[n] = exp(r * log(likelihoods[n]))
        own = load_four(likelihoods, _ZERO)
    own, share = load_four(trust, _ZERO) * own, 1.0 / (learned + 1.0)
    store_four(trust, _ZERO, own * spread_four((1.0 - share) / total(own)) + spread_four(share / EXPERTS))
    _newton(v, y, r, logistic, clean, p, left)


@njit(cache=True, error_model="numpy", nogil=True)
def learn_calibration(scores: Floats, labels: Labels, weight: Floats, every: int, state: Any) -> None:
    """Learn scores with their labels, -1 or +1, in turn; `state` is (head, logistic, trust).

    These are one of `every` rows that came. Only some of them are looked at, see above.
    """
    head, logistic, trust = state
    likelihoods = np.zeros(EXPERTS)
    for n in range(scores.size):
        before = np.int64(head[Calibration.ROUNDS])
        head[Calibration.ROUNDS] += np.float64(every)
        step = 1 if before < _FREE else _SOMETIMES if before < _LATE else _RARELY
        if (before + every) // step == before // step:
            continue
        y, c = np.float64(labels[n]), weight[n] if weight.size > 0 else 1.0
        c = min(c, 1e100)
        head[Calibration.HEAVIEST] = max(head[Calibration.HEAVIEST], c)
        head[Calibration.LEARNED] += 1.0
        head[Calibration.WEIGHT] += c
        score = min(_LARGEST, max(-_LARGEST, scores[n]))
        size = abs(score) if head[Calibration.SIZE] == 0.0 else min(abs(score), _OUTLIER * head[Calibration.SIZE])
        r = c / head[Calibration.HEAVIEST]
        head[Calibration.SIZE] += (size - head[Calibration.SIZE]) * max(c / head[Calibration.WEIGHT], _FADE * r)
        _learn_one(_in_units(score, head), y, r, head[Calibration.LEARNED], logistic, trust, likelihoods)


@njit(cache=True, error_model="numpy", nogil=True)
def calibrate(scores: Floats, state: Any, probabilities: Floats) -> None:
    """The probability of +1 for each score; nothing changes."""
    head, logistic, trust = state
    for n in range(scores.size):
        low, v = _rates(), _arguments(_in_units(min(_LARGEST, max(-_LARGEST, scores[n])), head))
        own = low + (spread_four(1.0) - low - low) * _clean(v, logistic)
        p = total(load_four(trust, _ZERO) * own)
        # The more probable label is the one of the score.
        probabilities[n] = min(1.0, max(1.0 - _BELOW_HALF, p)) if scores[n] >= 0.0 else min(_BELOW_HALF, p)


@njit(cache=True, error_model="numpy")
def _size(scores: Floats, n: int) -> float:
    size = 0.0
    for c in range(scores.shape[1]):
        size = max(size, min(_LARGEST, abs(scores[n, c])))
    return size


@njit(cache=True, error_model="numpy")
def _heat_row(scores: Floats, n: int, heat: Floats, p: Floats) -> None:
    """p[0]: the softmax of a row of scores, p[1] what it is of."""
    factor, highest = heat[Heat.HEAT] / heat[Heat.SIZE] if heat[Heat.SIZE] > 0.0 else 0.0, 0.0
    for c in range(scores.shape[1]):
        score = min(_LARGEST, max(-_LARGEST, scores[n, c]))
        p[0, c] = p[1, c] = min(_LARGEST, max(-_LARGEST, factor * score))
        highest = p[0, c] if c == 0 else max(highest, p[0, c])
    total = 0.0
    for c in range(scores.shape[1]):
        p[0, c] = exp(p[0, c] - highest)
        total += p[0, c]
    for c in range(scores.shape[1]):
        p[0, c] /= total


@njit(cache=True, error_model="numpy", nogil=True)
def learn_heat(scores: Floats, labels: Integers, weight: Floats, heat: Floats) -> None:
    """Learn rows of scores, one per class, with the numbers of their classes, in turn."""
    p = np.zeros((2, scores.shape[1]))
    for n in range(scores.shape[0]):
        c, size = min(1e100, weight[n]) if weight.size > 0 else 1.0, _size(scores, n)
        heat[Heat.WEIGHT] += c
        heat[Heat.HEAVIEST] = max(heat[Heat.HEAVIEST], c)
        size = size if heat[Heat.SIZE] == 0.0 else min(size, _OUTLIER * heat[Heat.SIZE])
        heat[Heat.SIZE] += (size - heat[Heat.SIZE]) * (c / heat[Heat.WEIGHT])
        _heat_row(scores, n, heat, p)
        slope, r = 0.0, c / heat[Heat.HEAVIEST]
        for k in range(scores.shape[1]):
            slope += r * ((1.0 if k == labels[n] else 0.0) - p[0, k]) * min(_MOST_HEAT, max(-_MOST_HEAT, p[1, k]))
        heat[Heat.SQUARES] += slope * slope
        if heat[Heat.SQUARES] > 0.0:
            step = _HEAT_PACE * slope / sqrt(heat[Heat.SQUARES])
            step = exp(min(_LONGEST_STEP, max(-_LONGEST_STEP, step)))
            heat[Heat.HEAT] = min(_MOST_HEAT, max(1.0 / _MOST_HEAT, heat[Heat.HEAT] * step))


@njit(cache=True, error_model="numpy", nogil=True)
def heat_up(scores: Floats, heat: Floats, probabilities: Floats) -> None:
    """The probabilities of the classes for rows of their scores; nothing changes."""
    p = np.zeros((2, scores.shape[1]))
    for n in range(scores.shape[0]):
        _heat_row(scores, n, heat, p)
        for c in range(scores.shape[1]):
            probabilities[n, c] = p[0, c]
