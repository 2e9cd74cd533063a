"""The pool's experts for few features: AROW with the full matrix, and logistic descent on centred features.

    full       F, d + 2 rows of d + 1 numbers: the matrix, and the mean last. The variance of a feature is 1 / x_j^2 at
               first sight, as in pool.py; later rows change it as in AROW (Crammer, Kulesza, Dredze 2009).
    centred    C, CENTRED_SIZE rows of d + 1 numbers: mean and c * (x - mean)^2 summed of each feature, then the weights
               of three experts, the last for the constant.

F and C are flat here. A row x, and z, which the functions leave to each other, have LANES numbers more than d + 1, so
that vectors may be loaded and stored whole.
"""

from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, njit
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.mixture import LEAST
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    larger,
    load,
    load_first,
    no_sums,
    roots,
    spread,
    store,
    total,
    where_larger,
    where_zero,
)

FEW: Final = 64  # features up to which there are full, centred and forgetting experts
CENTRED: Final = 3
FORGETTING: Final = 3
MEAN, DEVIATION, CENTRED_SIZE = 0, 1, 2 + CENTRED
_FULL_RIDGE: Final = 3.0
_CENTRED_PACES: Final = (3.0, 1.0, 0.3)
_FORGETTING_PACES: Final = (0.3, 0.1)  # those of the fastest centred expert after 100 and after 900 rounds
_LARGEST_SHARE: Final = 10.0
_CONSTANT2: Final = 9.0  # the square of the constant coordinate of the third expert that forgets
# What keeps finite rows from making a state that is not finite. Ordinary streams never come to any of these.
LARGEST_VARIANCE: Final = 1e100  # a feature smaller than 1e-50 counts as that
LARGEST_HINGE: Final = 1e30
LARGEST_SCORE: Final = 1e150
_LARGEST_DEVIATION: Final = 1e300
_LARGEST_CENTRED: Final = 1e100
_ZERO, _ONE, _TWO, _LANES = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(LANES)


@njit(cache=True, error_model="numpy", forceinline=True)
def spread_out(
    values: Floats, at: np.uint64, columns: Indices, first: np.uint64, count: np.uint64, whole: bool, bias: float,
    d: np.uint64, x: Floats,
) -> None:  # fmt: skip
    """The row with its zeros and its constant in x; columns that came after x was made are left out."""
    if whole:
        for j in range(_ZERO, d, _LANES):
            store(x, j, load_first(values, at + j, min(_LANES, d - j)))
    else:
        x[:] = 0.0
        for p in range(count):
            if columns[first + p] < d:
                x[columns[first + p]] = values[at + p]
    x[d] = bias


@njit(cache=True, error_model="numpy")
def padded(d: int) -> int:
    """The length of a row of weights of the experts that forget: whole vectors."""
    return (d + LANES) // LANES * LANES


@njit(cache=True, error_model="numpy", forceinline=True)
def few_scores(x: Floats, d: np.uint64, F: Floats, C: Floats, D: Floats, weight: float, z: Floats) -> Any:
    """Scores of the full matrix's mean, of the three centred experts and of those that forget, if there are any.

    The features of all but the first are left in z, with zeros behind them.
    """
    size, length = d + _ONE, np.uint64(padded(d))
    full, fast, middle, slow = no_sums(), no_sums(), no_sums(), no_sums()
    quick, even, hinge = no_sums(), no_sums(), no_sums()
    forgets = D.size > 0
    share, highest, lowest = spread(1.0 / max(weight, LEAST)), spread(_LARGEST_CENTRED), spread(-_LARGEST_CENTRED)
    at = np.uint64(CENTRED_SIZE - CENTRED) * size
    for j in range(_ZERO, d, _LANES):
        n, a = min(_LANES, d - j), load(x, j)
        away = load_first(x, j, n) - load_first(C, np.uint64(MEAN) * size + j, n)
        deviation = roots(load_first(C, np.uint64(DEVIATION) * size + j, n) * share)
        centred = where_zero(deviation, no_sums(), away / deviation)
        centred = larger(lowest, where_larger(centred, highest, highest, centred))
        store(z, j, centred)
        full = add_products(full, a, load_first(F, size * size + j, n))
        fast = add_products(fast, centred, load_first(C, at + j, n))
        middle = add_products(middle, centred, load_first(C, at + size + j, n))
        slow = add_products(slow, centred, load_first(C, at + _TWO * size + j, n))
        if forgets:
            quick = add_products(quick, centred, load(D, j))
            even = add_products(even, centred, load(D, length + j))
            hinge = add_products(hinge, centred, load(D, _TWO * length + j))
    z[d] = 1.0 if x[d] != 0.0 else 0.0  # in units of its own size, as the features
    # Should the matrix lose its precision, the others must still count.
    score = total(full) + x[d] * F[size * size + d]
    late = 0.0, 0.0, 0.0
    if forgets:
        late = (
            total(quick) + z[d] * D[d],
            total(even) + z[d] * D[length + d],
            max(-LARGEST_SCORE, min(LARGEST_SCORE, total(hinge) + z[d] * D[_TWO * length + d])),
        )
    return (
        max(-LARGEST_SCORE, min(LARGEST_SCORE, score)),
        total(fast) + z[d] * C[at + d],
        total(middle) + z[d] * C[at + size + d],
        total(slow) + z[d] * C[at + _TWO * size + d],
        late,
    )


@njit(cache=True, error_model="numpy", forceinline=True)
def forgetting_steps(
    d: np.uint64, y: float, share: float, square: float, scores: Floats, place: np.uint64, z: Floats, D: Floats
) -> None:
    """Steps that do not fall: two of logistic descent, and one that is passive-aggressive.

    `share` is the weight of the row in units of the mean so far, `square` is |z|^2.
    """
    share = min(share, _LARGEST_SHARE)
    size = np.uint64(padded(d))
    longest = sqrt(d + 1.0) / max(d + 1.0, square) * share * y
    b0 = _FORGETTING_PACES[0] * longest / (1.0 + exp(min(700.0, y * scores[place])))
    b1 = _FORGETTING_PACES[1] * longest / (1.0 + exp(min(700.0, y * scores[place + _ONE])))
    more = (_CONSTANT2 - 1.0) * z[d]
    b2 = (
        y
        * min(LARGEST_HINGE, max(0.0, 1.0 - y * scores[place + _TWO]))
        * share
        / ((square + more * z[d]) * share + 1.0)
    )
    fast, slow, last = spread(b0), spread(b1), spread(b2)
    for j in range(_ZERO, size, _LANES):
        a = load(z, j)
        store(D, j, add_products(load(D, j), fast, a))
        store(D, size + j, add_products(load(D, size + j), slow, a))
        store(D, _TWO * size + j, add_products(load(D, _TWO * size + j), last, a))
    D[_TWO * size + d] += b2 * more


@njit(cache=True, error_model="numpy", forceinline=True)
def _add_times(
    target: Floats, place: np.uint64, factor: float, source: Floats, start: np.uint64, count: np.uint64
) -> None:
    """For j in range(count): target[place + j] += factor * source[start + j]."""
    factors, rest = spread(factor), count % _LANES
    for j in range(_ZERO, count - rest, _LANES):
        store(target, place + j, add_products(load(target, place + j), factors, load(source, start + j)))
    for j in range(count - rest, count):
        target[place + j] += factor * source[start + j]


@njit(cache=True, error_model="numpy", forceinline=True)
def centred_steps(
    x: Floats, d: np.uint64, y: float, c: float, weight: float, scores: Floats, place: np.uint64, z: Floats, C: Floats
) -> float:
    """Logistic descent in the centred features, then their means and deviations; return |z|^2."""
    size, squares = d + _ONE, no_sums()
    for j in range(_ZERO, d, _LANES):
        a = load_first(z, j, min(_LANES, d - j))
        squares = add_products(squares, a, a)
    # Steps fall with the root of the rows that count; an outlier moves a score no further than any other row.
    square = total(squares) + z[d] * z[d]
    step = sqrt(d + 1.0) / max(d + 1.0, square) / sqrt(weight / c)
    for k in range(CENTRED):
        slope = _CENTRED_PACES[k] * step * y / (1.0 + exp(min(700.0, y * scores[place + _ONE + np.uint64(k)])))
        _add_times(C, np.uint64(CENTRED_SIZE - CENTRED + k) * size, slope, z, _ZERO, size)
    # Without a constant coordinate there is no place for the means: features are only scaled.
    share = c / weight if x[d] != 0.0 else 0.0
    rest, weights, shares = d % _LANES, spread(c), spread(share)
    for j in range(_ZERO, d - rest, _LANES):  # as below
        a, mean = load(x, j), load(C, j)
        apart = a - mean
        moved = add_products(mean, apart, shares)
        summed = load(C, size + j) + weights * apart * (a - moved)
        store(C, j, moved)
        highest = spread(_LARGEST_DEVIATION)
        store(C, size + j, larger(no_sums(), where_larger(summed, highest, highest, summed)))
    for j in range(d - rest, d):
        away = x[j] - C[j]
        C[j] += away * share
        C[size + j] = max(0.0, min(_LARGEST_DEVIATION, C[size + j] + c * away * (x[j] - C[j])))  # below 0 by rounding
    return float(square)


@njit(cache=True, error_model="numpy", forceinline=True)
def full_step(x: Floats, d: np.uint64, y: float, c: float, score: float, z: Floats, F: Floats) -> None:
    """AROW with z = F x."""
    size, lost = d + _ONE, False
    z[:] = 0.0
    for j in range(size):
        if x[j] != 0.0:
            if F[j * size + j] == 0.0:
                F[j * size + j] = 1.0 / max(x[j] * x[j], 1.0 / LARGEST_VARIANCE)
            _add_times(z, _ZERO, x[j], F, j * size, size)
    reach = 0.0
    for j in range(size):
        reach += x[j] * z[j]
    damped = 1.0 / (max(0.0, reach) + _FULL_RIDGE / c)
    for j in range(size):
        if not damped * z[j] * z[j] <= F[j * size + j]:  # no variance can fall below 0: the matrix is lost to rounding
            lost = True
    if lost:
        F[: size * size] = 0.0
        return
    _add_times(F, size * size, y * min(LARGEST_HINGE, 1.0 - y * score) * damped, z, _ZERO, size)
    for j in range(size):
        _add_times(F, j * size, -damped * z[j], z, _ZERO, size)
