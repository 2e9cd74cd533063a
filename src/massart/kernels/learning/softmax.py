"""Softmax learners of several classes: first order with steps per column, and second order with one matrix for all.

A learner has a weight w_jc for each feature j and class c; class c has probability p_c ~ exp(sum_j z_j w_jc). With the
gradient g_c = [c is the label] - p_c, |g|^2 its squared norm, and r the weight of the row:

    first order    w_jc += pace r z_j g_c / sqrt(G_j),  G_j = sum of r^2 z_j^2 |g|^2: AdaGrad (Duchi, Hazan, Singer
                   2011) with one sum for all classes of a feature
    on raw columns the same, divided by the root mean square of the values that the column had: the answers do not
                   depend on the scale of a column (as in Ross, Mineiro, Langford 2013)
    second order   w_jc += (P z)_j g_c / (1 + h z.P z),  P <- P - h P z z.P / (1 + h z.P z),  h = r max_c p_c (1 - p_c):
                   a Newton step with one matrix for all classes, P = ridge at first

Weights of a feature lie one after the other, a class each: sums over features run class by class in the order of the
features, so the number of places kept for further classes has no part in them. Nothing is checked here.
"""

from math import factorial, sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, njit

__all__ = ["add_steps", "first_order_step", "gradient", "raw_scores", "raw_steps", "scores_of", "second_order_step",
           "soften", "standardise"]  # fmt: skip

LARGEST_SCORE: Final = 1e150  # what keeps finite rows from making a state that is not finite
_LARGEST_SUM: Final = 1e300
_LEAST_SQUARE: Final = 1e-100  # a value smaller than 1e-50 counts as that
_LEAST_CURVATURE: Final = 0.01  # of the second order: what is predicted surely still counts for something
_FURTHEST: Final = 10.0  # deviations from its mean that a value counts as, at most
SUM, COUNT, RAW_SUMS = 0, 1, 2  # columns of `sums`: squares of values, how many there were; then one G per learner


# exp by a polynomial alone, which the compiler takes for several classes at a time; kernels/learning/elementary.py has
# a more precise one for single numbers. Coefficients are 1 / n!, from 13 down to 2.
_COEFFICIENTS: Final = tuple(1.0 / factorial(n) for n in range(13, 1, -1))
_ROUNDING: Final = 1.5 * 2.0**52  # plus this number, a number is rounded, and its lowest bits are those of an integer
_PER_LN2: Final = float.fromhex("0x1.71547652b82fep0")
_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_LOWEST: Final = -700.0


@njit(cache=True, error_model="numpy", _nrt=False)
def exp_row(x: Floats, e: int, count: int, highest: float) -> None:
    """exp(x - highest) for the first numbers x of row e, at most `highest`; below exp(-700) that. To 1e-15 of it."""
    for c in range(count):
        a = max(_LOWEST, x[e, c] - highest)
        shifted = a * _PER_LN2 + _ROUNDING
        n = shifted - _ROUNDING
        r = (a - n * _LN2_HIGH) - n * _LN2_LOW
        y = _COEFFICIENTS[0]
        y = y * r + _COEFFICIENTS[1]
        y = y * r + _COEFFICIENTS[2]
        y = y * r + _COEFFICIENTS[3]
        y = y * r + _COEFFICIENTS[4]
        y = y * r + _COEFFICIENTS[5]
        y = y * r + _COEFFICIENTS[6]
        y = y * r + _COEFFICIENTS[7]
        y = y * r + _COEFFICIENTS[8]
        y = y * r + _COEFFICIENTS[9]
        y = y * r + _COEFFICIENTS[10]
        y = y * r + _COEFFICIENTS[11]
        y = (y * r + 1.0) * r + 1.0
        power = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
        x[e, c] = y * np.int64(power).view(np.float64)


@njit(cache=True, error_model="numpy", _nrt=False)
def soften(P: Floats, e: int, k: int) -> None:
    """The first k scores in row e of P become probabilities."""
    highest = -LARGEST_SCORE
    for c in range(k):
        P[e, c] = min(LARGEST_SCORE, max(-LARGEST_SCORE, P[e, c]))
        highest = max(highest, P[e, c])
    exp_row(P, e, k, highest)
    total = 0.0
    for c in range(k):
        total += P[e, c]
    inverse = 1.0 / total
    for c in range(k):
        P[e, c] *= inverse


@njit(cache=True, error_model="numpy", _nrt=False)
def gradient(P: Floats, e: int, k: int, label: int, g: Floats) -> Any:
    """G of row e, its squared norm, and the largest p (1 - p)."""
    square, curvature = 0.0, 0.0
    for c in range(k):
        g[c] = (1.0 if c == label else 0.0) - P[e, c]
        square += g[c] * g[c]
        curvature = max(curvature, P[e, c] * (1.0 - P[e, c]))
    return square, curvature


@njit(cache=True, error_model="numpy", _nrt=False)
def scores_of(z: Floats, features: int, weights: Floats, m: int, k: int, P: Floats, e: int) -> None:
    """Row e of P: the scores of learner m, whose weights are weights[m]."""
    for c in range(k):
        P[e, c] = 0.0
    for j in range(features):
        v = z[j]
        if v != 0.0:
            for c in range(k):
                P[e, c] += v * weights[m, j, c]


@njit(cache=True, error_model="numpy", _nrt=False)
def first_order_step(
    z: Floats, features: int, pace: float, r: float, square: float, g: Floats, k: int, weights: Floats, sums: Floats,
    m: int,
) -> None:  # fmt: skip
    """AdaGrad for learner m; sums[m] are its G."""
    for j in range(features):
        v = r * z[j]
        if v != 0.0:
            sums[m, j] += v * v * square
            if sums[m, j] > 0.0:
                step = pace * v / sqrt(sums[m, j])
                for c in range(k):
                    weights[m, j, c] += step * g[c]


@njit(cache=True, error_model="numpy", _nrt=False)
def second_order_step(
    z: Floats, features: int, ridge: float, r: float, curvature: float, is_kept: bool, g: Floats, k: int,
    weights: Floats, matrices: Floats, m: int, u: Floats,
) -> None:  # fmt: skip
    """Newton's step for learner m; matrices[m] is its P, which changes unless it is kept."""
    for j in range(features):
        u[j] = 0.0
    for i in range(features):
        v = z[i]
        if v != 0.0:
            if matrices[m, i, i] == 0.0:
                matrices[m, i, i] = ridge
            for j in range(features):
                u[j] += v * matrices[m, i, j]
    reach = 0.0
    for j in range(features):
        reach += z[j] * u[j]
    h = r * max(_LEAST_CURVATURE, curvature)
    damped = 1.0 / (1.0 + h * max(0.0, reach))
    for j in range(features):
        step = r * damped * u[j]
        if step != 0.0:
            for c in range(k):
                weights[m, j, c] += step * g[c]
    if is_kept:
        return
    for j in range(features):
        if not h * damped * u[j] * u[j] <= matrices[m, j, j]:  # no variance can fall below 0: it is lost to rounding
            for i in range(features):
                for b in range(features):
                    matrices[m, i, b] = 0.0
            return
    for i in range(features):
        factor = h * damped * u[i]
        if factor != 0.0:
            for j in range(features):
                matrices[m, i, j] -= factor * u[j]


@njit(cache=True, error_model="numpy", _nrt=False)
def standardise(x: Floats, d: int, constant: float, weight: float, spreads: Floats, products: bool, z: Floats) -> None:
    """Z = (constant, columns less their mean in units of their deviation, products of these by pairs).

    `spreads` has the mean and the sum of weighted squared differences of each column; `weight` is the sum of weights.
    The square of a column counts less its mean, 1.
    """
    z[0] = constant
    for j in range(d):
        deviation = sqrt(spreads[1, j] / weight) if weight > 0.0 else 0.0
        away = (x[j] - spreads[0, j]) / deviation if deviation > 0.0 else 0.0
        z[1 + j] = min(_FURTHEST, max(-_FURTHEST, away))
    if products:
        at = 1 + d
        for i in range(1, 1 + d):
            for j in range(i, 1 + d):
                z[at] = z[i] * z[j] - (1.0 if i == j else 0.0)
                at += 1


@njit(cache=True, error_model="numpy", _nrt=False)
def raw_scores(
    values: Floats, at: int, columns: Indices, place: int, size: int, constants: tuple[float, float], weights: Floats,
    k: int, P: Floats, e: int,
) -> None:  # fmt: skip
    """Scores of the learners on columns as they are, whose weights lie in one row for each column, into rows of P.

    The last of them, a halfspace per class, goes to row e; `constants` are the values of the constant coordinate for
    the others and for it.
    """
    room = P.shape[1]
    learners = weights.shape[1] // room
    for m in range(learners):
        row = m if m < learners - 1 else e
        for c in range(k):
            P[row, c] = 0.0
    for p in range(size):
        j, v = columns[place + p], values[at + p]
        for m in range(learners):
            row, first = m if m < learners - 1 else e, m * room
            for c in range(k):
                P[row, c] += v * weights[j, first + c]
    last = weights.shape[0] - 1
    for m in range(learners):
        row, first = m if m < learners - 1 else e, m * room
        v = constants[0] if m < learners - 1 else constants[1]
        for c in range(k):
            P[row, c] += v * weights[last, first + c]


@njit(cache=True, error_model="numpy", _nrt=False)
def _raw_step(
    v: float, j: Any, paces: Any, r: float, squares: Floats, G: Floats, k: int, weights: Floats, sums: Floats,
    factors: Floats,
) -> None:  # fmt: skip
    room, count = G.shape[1], len(paces)
    sums[j, SUM] = min(_LARGEST_SUM, sums[j, SUM] + v * v)
    sums[j, COUNT] += 1.0
    size = max(_LEAST_SQUARE, sums[j, SUM] / sums[j, COUNT])
    for m in range(count):
        total = min(_LARGEST_SUM, sums[j, RAW_SUMS + m] + r * v * (r * v) * squares[m])
        sums[j, RAW_SUMS + m] = total
        factors[m] = paces[m] * r * v / (sqrt(size) * sqrt(max(_LEAST_SQUARE, total)))
    for m in range(count):
        step, first = factors[m], m * room
        for c in range(k):
            weights[j, first + c] += step * G[m, c]


@njit(cache=True, error_model="numpy", _nrt=False)
def raw_steps(
    values: Floats, at: int, columns: Indices, place: int, size: int, constant: float, paces: Any, r: float,
    squares: Floats, G: Floats, k: int, weights: Floats, sums: Floats, factors: Floats,
) -> None:  # fmt: skip
    """AdaGrad on columns as they are, for one learner per pace; G and `squares` are their gradients.

    `factors` is to work in.
    """
    for p in range(size):
        _raw_step(values[at + p], columns[place + p], paces, r, squares, G, k, weights, sums, factors)
    if constant != 0.0:
        _raw_step(constant, np.uint32(weights.shape[0] - 1), paces, r, squares, G, k, weights, sums, factors)


@njit(cache=True, error_model="numpy", _nrt=False)
def add_steps(
    values: Floats, at: int, columns: Indices, place: int, size: int, constant: float, steps: Floats, k: int,
    first: int, weights: Floats,
) -> None:  # fmt: skip
    """weights[j, first + c] += x_j steps[c], for the constant coordinate, too."""
    for p in range(size):
        j, v = columns[place + p], values[at + p]
        for c in range(k):
            weights[j, first + c] += v * steps[c]
    last = weights.shape[0] - 1
    for c in range(k):
        weights[last, first + c] += constant * steps[c]
