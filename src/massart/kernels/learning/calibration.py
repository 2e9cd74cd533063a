"""From the score of a halfspace to the probability of the label as it comes, learned along the way.

A score s counts as u = s / (the mean size of scores so far, in which a size counts as at most four times that mean).
Several calibrations are learned side by side, and Bayes' rule weighs them by the probabilities that they gave to the
labels (as in class_mixture.py, shares included):

    p = e + (1 - e - f) / (1 + exp(-a v - b)) for each pair of noise rates e, f of a grid, with v = u or the logarithm
    of its size: a logistic probability of a label that is flipped from -1 with probability e, from +1 with f. (a, b)
    take Newton's steps with Fisher's information. a stays above 0: a higher score is a higher probability.

Scores of several classes, one each, become a softmax of `heat` times them, in the same units; the heat takes AdaGrad's
steps on the log loss.

Each row is predicted before it is learned. After the first rows only every 32nd is looked at, so that calibration
takes little time.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Integers, Labels, njit
from massart.kernels.learning.elementary import exp, log

__all__ = [
    "EXPERTS",
    "FLATTEST",
    "NOISE_RATES",
    "PAIRS",
    "Calibration",
    "Heat",
    "Logistic",
    "calibrate",
    "heat_up",
    "learn_calibration",
    "learn_heat",
]

NOISE_RATES: Final = (0.0, 0.08, 0.25)
PAIRS: Final = len(NOISE_RATES) ** 2
EXPERTS: Final = 2 * PAIRS
FLATTEST: Final = 1e-3  # a


class Calibration(IntEnum):
    """Places in `head`, float64."""

    ROUNDS = 0  # rows that came
    LEARNED = 1  # rows that were looked at
    WEIGHT = 2  # the sum of their weights
    SIZE = 3  # the weighted mean size of their scores
    HEAVIEST = 4


class Logistic(IntEnum):
    """Rows of `logistic`, float64 with a column for each calibration: all pairs with u, then all with its logarithm."""

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
_FORGET: Final = 1.002  # about 500 rows that were looked at count: the pool's score changes as it learns
_LEAST_KNOWN: Final = 4.0  # no variance grows beyond what it was at first
_FREE: Final = 500.0
_EVERY: Final = 32
_FURTHEST: Final = 20.0
_LEAST: Final = 1e-12
_BELOW_HALF: Final = 0.5 - 2.0**-40
_LEAST_INFORMATION: Final = 1e-4
_LARGEST: Final = 1e150
_OUTLIER: Final = 4.0
_STEEPEST: Final = 1e6


@njit(cache=True, error_model="numpy")
def _compressed(u: float) -> float:
    """A score far from 0 counts as its logarithm."""
    return log(1.0 + 4.0 * u) if u >= 0.0 else -log(1.0 - 4.0 * u)


@njit(cache=True, error_model="numpy")
def _expect(u: float, logistic: Floats, p: Floats) -> None:
    """p: the probability of +1 that each calibration gives."""
    small = _compressed(u)
    for e in range(EXPERTS):
        v = u if e < PAIRS else small
        m = min(700.0, max(-700.0, logistic[Logistic.A, e] * v + logistic[Logistic.B, e]))
        low, high = NOISE_RATES[e % PAIRS // len(NOISE_RATES)], NOISE_RATES[e % len(NOISE_RATES)]
        p[e] = low + (1.0 - low - high) / (1.0 + exp(-m))


@njit(cache=True, error_model="numpy")
def _in_units(score: float, head: Floats) -> float:
    size = head[Calibration.SIZE]
    return min(_FURTHEST, max(-_FURTHEST, score / size)) if size > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def _newton(u: float, y: float, r: float, logistic: Floats, e: int, p: float) -> None:
    low, high = NOISE_RATES[e % PAIRS // len(NOISE_RATES)], NOISE_RATES[e % len(NOISE_RATES)]
    clean = min(1.0, max(0.0, (p - low) / (1.0 - low - high)))
    slope = (1.0 - low - high) * clean * (1.0 - clean)
    spread = max(_LEAST, p * (1.0 - p))
    g = r * slope * (1.0 - p if y > 0.0 else -p) / spread
    h = r * max(_LEAST_INFORMATION, slope * slope / spread)
    if max(logistic[Logistic.P_AA, e], logistic[Logistic.P_BB, e]) < _LEAST_KNOWN:
        for place in (Logistic.P_AA, Logistic.P_AB, Logistic.P_BB):
            logistic[place, e] *= _FORGET
    qa = logistic[Logistic.P_AA, e] * u + logistic[Logistic.P_AB, e]
    qb = logistic[Logistic.P_AB, e] * u + logistic[Logistic.P_BB, e]
    damped = 1.0 / (1.0 + h * max(0.0, qa * u + qb))
    logistic[Logistic.A, e] = min(_STEEPEST, max(FLATTEST, logistic[Logistic.A, e] + damped * qa * g))
    logistic[Logistic.B, e] = min(_STEEPEST, max(-_STEEPEST, logistic[Logistic.B, e] + damped * qb * g))
    logistic[Logistic.P_AA, e] = max(0.0, logistic[Logistic.P_AA, e] - h * damped * qa * qa)
    logistic[Logistic.P_AB, e] -= h * damped * qa * qb
    logistic[Logistic.P_BB, e] = max(0.0, logistic[Logistic.P_BB, e] - h * damped * qb * qb)


@njit(cache=True, error_model="numpy", nogil=True)
def learn_calibration(scores: Floats, labels: Labels, weight: Floats, state: Any) -> None:
    """Learn scores with their labels, -1 or +1, in turn; `state` is (head, logistic, trust)."""
    head, logistic, trust = state
    p = np.zeros(EXPERTS)
    for n in range(scores.size):
        head[Calibration.ROUNDS] += 1.0
        if head[Calibration.ROUNDS] > _FREE and np.int64(head[Calibration.ROUNDS]) % _EVERY != 0:
            continue
        y, c = np.float64(labels[n]), weight[n] if weight.size > 0 else 1.0
        c = min(c, 1e100)
        head[Calibration.HEAVIEST] = max(head[Calibration.HEAVIEST], c)
        head[Calibration.LEARNED] += 1.0
        head[Calibration.WEIGHT] += c
        score = min(_LARGEST, max(-_LARGEST, scores[n]))
        size = abs(score) if head[Calibration.SIZE] == 0.0 else min(abs(score), _OUTLIER * head[Calibration.SIZE])
        head[Calibration.SIZE] += (size - head[Calibration.SIZE]) * (c / head[Calibration.WEIGHT])
        r, u = c / head[Calibration.HEAVIEST], _in_units(score, head)
        _expect(u, logistic, p)
        total = 0.0
        for e in range(EXPERTS):
            own = max(_LEAST, p[e] if y > 0.0 else 1.0 - p[e])
            trust[e] *= own if r == 1.0 else exp(r * log(own))
            total += trust[e]
        share = 1.0 / (head[Calibration.LEARNED] + 1.0)
        for e in range(EXPERTS):
            trust[e] = (1.0 - share) * trust[e] / total + share / EXPERTS
        small = _compressed(u)
        for e in range(EXPERTS):
            _newton(u if e < PAIRS else small, y, r, logistic, e, p[e])


@njit(cache=True, error_model="numpy", nogil=True)
def calibrate(scores: Floats, state: Any, probabilities: Floats) -> None:
    """The probability of +1 for each score; nothing changes."""
    head, logistic, trust = state
    p = np.zeros(EXPERTS)
    for n in range(scores.size):
        _expect(_in_units(min(_LARGEST, max(-_LARGEST, scores[n])), head), logistic, p)
        total = 0.0
        for e in range(EXPERTS):
            total += trust[e] * p[e]
        # The more probable label is the one of the score.
        probabilities[n] = min(1.0, max(1.0 - _BELOW_HALF, total)) if scores[n] >= 0.0 else min(_BELOW_HALF, total)


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
