"""The learners that the race compares with: predict a dense row, then learn it, one row or many.

Every learner predicts sign(score) with sign(0) = +1. Four shapes of memory, one loop each:

    linear      w = s[SCALE] v                 perceptron, passive-aggressive, logistic, hinge, leaky-ReLU, coin betting
    paired      w and a second vector          averaged perceptron, per-coordinate logistic
    matrix      w and a covariance P (d, d)    AROW, online ridge
    net         mistakes of N fixed directions exponential weights

What differs between learners of one shape is a number of the row, computed from w.x, |x|^2 and y by an inlined
function: the step `b` in w <- w + b x (linear), b P x (matrix). Formulas and sources are in docs/baselines.md.

Parameters and counts lie in one array s: a call from Python pays for each array that it passes. Sums run in the order
of the columns without `fastmath`, so that a row alone and a row of a batch give the same bits. A row that is not finite
is scored NaN, and nothing is learned from it.
"""

from enum import IntEnum
from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.elementary import exp


class State(IntEnum):
    """Places in `s`, float64: the parameters of a learner and what it counts."""

    KIND = 0  # which learner of its shape
    PARAMETER = 1  # its one parameter
    ROUNDS = 2  # rows learned
    MISTAKES = 3  # rows predicted wrongly before they were learned
    SCALE = 4  # w = SCALE * v
    NORM2 = 5  # |w|^2, leaky-ReLU only
    TOTAL = 6  # the sum of squared gradient norms; the gambler's wealth; the fewest mistakes of a direction


# linear
PERCEPTRON, PASSIVE_AGGRESSIVE, LOGISTIC, HINGE, LEAKY_RELU, COIN_BETTING = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0
# paired
AVERAGED_PERCEPTRON, ADAPTIVE_LOGISTIC = 0.0, 1.0
# matrix
AROW, RIDGE = 0.0, 1.0

_SMALLEST_SCALE = 1e-140


@njit(cache=True, error_model="numpy", inline="always")
def _read(x: Floats, v: Floats) -> Any:
    """v.x and |x|^2; the two halves add up side by side, which lets the processor overlap them."""
    d, half = np.uint64(x.size), np.uint64(x.size // 2)
    dot, square, dot2, square2 = 0.0, 0.0, 0.0, 0.0
    for j in range(half):
        a, a2 = x[j], x[half + j]
        dot += a * v[j]
        square += a * a
        dot2 += a2 * v[half + j]
        square2 += a2 * a2
    if half + half < d:
        a2 = x[d - np.uint64(1)]
        dot2 += a2 * v[d - np.uint64(1)]
        square2 += a2 * a2
    return dot + dot2, square + square2


@njit(cache=True, error_model="numpy", inline="always")
def _count(s: Floats, score: float, y: float) -> None:
    s[State.ROUNDS] += 1.0
    if (score >= 0.0) != (y > 0.0):
        s[State.MISTAKES] += 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _lie(score: float, y: float) -> float:
    """The probability 1 / (1 + exp(y w.x)) that the logistic model gives to the label being wrong."""
    return 1.0 / (1.0 + exp(min(y * score, 700.0)))


@njit(cache=True, error_model="numpy", inline="always")
def _linear_step(s: Floats, score: float, square: float, y: float) -> float:
    """Learn one row of a linear learner: return b for v <- v + b x, and set the scale."""
    kind, parameter = s[State.KIND], s[State.PARAMETER]
    if kind == PERCEPTRON:
        return y if (score >= 0.0) != (y > 0.0) else 0.0
    if kind == PASSIVE_AGGRESSIVE:
        hinge = 1.0 - y * score
        return y * min(parameter, hinge / square) if hinge > 0.0 and square > 0.0 else 0.0
    if kind == LOGISTIC:
        return parameter / sqrt(s[State.ROUNDS]) * y * _lie(score, y)
    if kind == HINGE:
        return parameter / sqrt(s[State.ROUNDS]) * y if y * score < 1.0 else 0.0

    # Leaky-ReLU gradients: (1 - noise) on a mistake, -noise otherwise, times -y x
    k = 0.5 * ((1.0 - 2.0 * parameter) * (1.0 if score >= 0.0 else -1.0) - y)
    if kind == LEAKY_RELU:
        s[State.TOTAL] += k * k * square
        step = sqrt(2.0 / s[State.TOTAL]) * k if s[State.TOTAL] > 0.0 else 0.0
        b = -step / s[State.SCALE]
        s[State.NORM2] = max(0.0, s[State.NORM2] + step * (step * square - 2.0 * score))
        if s[State.NORM2] > 1.0:
            s[State.SCALE] /= sqrt(s[State.NORM2])
            s[State.NORM2] = 1.0
        return b
    # Coin betting: the gradient is divided by |w.x| + 1 and by the longest it can be, so that it is a coin in [-1, 1]
    # (a longer one could bankrupt the gambler); the bet w is the fraction v / t of the wealth.
    k /= (1.0 - parameter) * (abs(score) + 1.0) * max(1.0, sqrt(square))
    s[State.TOTAL] -= k * score
    s[State.SCALE] = s[State.TOTAL] / (s[State.ROUNDS] + 1.0)
    return -k


@njit(cache=True, error_model="numpy")
def _refold(v: Floats, s: Floats) -> None:
    """Multiply the scale into v before it underflows."""
    for j in range(v.size):
        v[j] *= s[State.SCALE]
    s[State.SCALE] = 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _linear_row(x: Floats, y: float, s: Floats, v: Floats) -> float:
    dot, square = _read(x, v)
    if not square < np.inf:
        return np.nan
    score = s[State.SCALE] * dot
    _count(s, score, y)
    b = _linear_step(s, score, square, y)
    if b != 0.0:
        for j in range(v.size):
            v[j] += b * x[j]
    if s[State.SCALE] < _SMALLEST_SCALE and s[State.KIND] == LEAKY_RELU:
        _refold(v, s)
    return score


@njit(cache=True, error_model="numpy")
def linear_learn(x: Floats, y: float, s: Floats, v: Floats) -> float:
    """Learn one row; return the score it had before."""
    return _linear_row(x, y, s, v)


@njit(cache=True, error_model="numpy")
def linear_learn_many(X: Floats, y: Any, scores: Floats, s: Floats, v: Floats) -> None:
    """Learn the rows in turn; `scores[t]` becomes the score of row t before it was learned."""
    for t in range(scores.size):
        scores[t] = _linear_row(X[t], y[t], s, v)


@njit(cache=True, error_model="numpy")
def linear_score(x: Floats, s: Floats, v: Floats) -> float:
    """The score of one row; nothing changes."""
    dot, square = _read(x, v)
    return s[State.SCALE] * dot if square < np.inf else np.nan


@njit(cache=True, error_model="numpy", inline="always")
def _paired_read(x: Floats, s: Floats, w: Floats, z: Floats) -> Any:
    """The score, w.x and |x|^2. The average of w_1, ..., w_t is w - z / t, z the sum of r times the step of round r."""
    dot, square = _read(x, w)
    if s[State.KIND] == AVERAGED_PERCEPTRON:
        late, _ = _read(x, z)
        return dot - late / (s[State.ROUNDS] + 1.0), dot, square
    return dot, dot, square


@njit(cache=True, error_model="numpy", inline="always")
def _paired_row(x: Floats, y: float, s: Floats, w: Floats, z: Floats) -> float:
    score, dot, square = _paired_read(x, s, w, z)
    if not square < np.inf:
        return np.nan
    _count(s, score, y)
    if s[State.KIND] == AVERAGED_PERCEPTRON:
        # The perceptron inside learns from its own mistakes, not from those of the average.
        if (dot >= 0.0) != (y > 0.0):
            late = s[State.ROUNDS] * y
            for j in range(w.size):
                w[j] += y * x[j]
                z[j] += late * x[j]
        return score
    k = y * _lie(score, y)
    for j in range(w.size):
        g = k * x[j]
        z[j] += g * g
        if z[j] > 0.0:
            w[j] += s[State.PARAMETER] * g / sqrt(z[j])
    return score


@njit(cache=True, error_model="numpy")
def paired_learn(x: Floats, y: float, s: Floats, w: Floats, z: Floats) -> float:
    """`linear_learn` with a second vector."""
    return _paired_row(x, y, s, w, z)


@njit(cache=True, error_model="numpy")
def paired_learn_many(X: Floats, y: Any, scores: Floats, s: Floats, w: Floats, z: Floats) -> None:
    """`linear_learn_many` with a second vector."""
    for t in range(scores.size):
        scores[t] = _paired_row(X[t], y[t], s, w, z)


@njit(cache=True, error_model="numpy")
def paired_score(x: Floats, s: Floats, w: Floats, z: Floats) -> float:
    """`linear_score` with a second vector."""
    score, _, square = _paired_read(x, s, w, z)
    return score if square < np.inf else np.nan


@njit(cache=True, error_model="numpy", inline="always")
def _matrix_row(x: Floats, y: float, s: Floats, w: Floats, P: Floats, px: Floats) -> float:
    score, square = _read(x, w)
    if not square < np.inf:
        return np.nan
    _count(s, score, y)
    if s[State.KIND] == AROW and y * score >= 1.0:
        return score
    d = w.size
    px[:] = 0.0
    for i in range(d):  # P is symmetric: by rows, so that the inner loop has no sum to wait for
        a = x[i]
        row = P[i]
        for j in range(d):
            px[j] += a * row[j]
    spread, _ = _read(x, px)
    beta = 1.0 / (s[State.PARAMETER] + spread)
    b = (y - score) * beta  # for AROW y (1 - y score) beta, which is the same number
    for i in range(d):
        w[i] += b * px[i]
        a = beta * px[i]
        row = P[i]
        for j in range(d):
            row[j] -= a * px[j]
    return score


@njit(cache=True, error_model="numpy")
def matrix_learn(x: Floats, y: float, s: Floats, w: Floats, P: Floats) -> float:
    """`linear_learn` in O(d^2): w and the covariance P follow the row."""
    return _matrix_row(x, y, s, w, P, np.empty(w.size))


@njit(cache=True, error_model="numpy")
def matrix_learn_many(X: Floats, y: Any, scores: Floats, s: Floats, w: Floats, P: Floats) -> None:
    """`linear_learn_many` in O(d^2) per row."""
    px = np.empty(w.size)
    for t in range(scores.size):
        scores[t] = _matrix_row(X[t], y[t], s, w, P, px)


@njit(cache=True, error_model="numpy")
def matrix_score(x: Floats, s: Floats, w: Floats, P: Floats) -> float:
    """The score of one row; nothing changes."""
    score, square = _read(x, w)
    return score if square < np.inf else np.nan


@njit(cache=True, error_model="numpy", inline="always")
def _vote(x: Floats, s: Floats, directions: Floats, counts: Floats, trust: Floats, sides: Floats) -> float:
    """The vote in [-1, 1] of all directions; `sides` becomes their own answers. s[State.TOTAL] is the least count."""
    vote, total, last = 0.0, 0.0, trust.size - 1
    fewest = np.int64(s[State.TOTAL])
    for i in range(counts.size):
        dot = 0.0
        for j in range(x.size):
            dot += directions[i, j] * x[j]
        if not abs(dot) < np.inf:
            return np.nan
        side = np.int8(1) if dot >= 0.0 else np.int8(-1)
        sides[i] = side
        weight = trust[min(counts[i] - fewest, last)]
        vote += weight * side
        total += weight
    return vote / total


@njit(cache=True, error_model="numpy", inline="always")
def _net_row(x: Floats, y: float, s: Floats, directions: Floats, counts: Floats, trust: Floats, sides: Floats) -> float:
    score = _vote(x, s, directions, counts, trust, sides)
    if not abs(score) < np.inf:
        return np.nan
    _count(s, score, y)
    fewest = np.int64(2**62)
    for i in range(counts.size):
        if sides[i] != y:
            counts[i] += 1
        fewest = min(fewest, counts[i])
    s[State.TOTAL] = np.float64(fewest)
    return score


@njit(cache=True, error_model="numpy")
def net_learn(x: Floats, y: float, s: Floats, directions: Floats, counts: Floats, trust: Floats) -> float:
    """`linear_learn` in O(N d): trust[k] is the weight of a direction with k mistakes more than the best."""
    return _net_row(x, y, s, directions, counts, trust, np.empty(counts.size, np.int8))


@njit(cache=True, error_model="numpy")
def net_learn_many(
    X: Floats, y: Any, scores: Floats, s: Floats, directions: Floats, counts: Floats, trust: Floats
) -> None:
    """`linear_learn_many` in O(N d) per row."""
    sides = np.empty(counts.size, np.int8)
    for t in range(scores.size):
        scores[t] = _net_row(X[t], y[t], s, directions, counts, trust, sides)


@njit(cache=True, error_model="numpy")
def net_score(x: Floats, s: Floats, directions: Floats, counts: Floats, trust: Floats) -> float:
    """The vote on one row; nothing changes."""
    return _vote(x, s, directions, counts, trust, np.empty(counts.size, np.int8))


@njit(cache=True, error_model="numpy")
def reweighted_steps(X: Floats, y: Any, weight: Floats, order: Any, rule: Floats, w: Floats) -> None:
    """Projected descent on the reweighted leaky-ReLU gradients of rows X[order]; rule = (noise, margin, step)."""
    noise, margin, step = rule
    for i in order:
        x = X[i]
        score, _ = _read(x, w)
        k = 0.5 * ((1.0 - 2.0 * noise) * (1.0 if score >= 0.0 else -1.0) - y[i]) / (abs(score) + margin)
        b = -step * weight[i] * k
        norm2 = 0.0
        for j in range(w.size):
            w[j] += b * x[j]
            norm2 += w[j] * w[j]
        if norm2 > 1.0:
            w /= sqrt(norm2)
