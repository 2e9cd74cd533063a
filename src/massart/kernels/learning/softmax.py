"""Softmax learners of several classes: first order, with steps per column.

A learner has a weight w_jc for each feature j and class c; class c has probability p_c ~ exp(sum_j z_j w_jc). With the
gradient g_c = [c is the label] - p_c, |g|^2 its squared norm, and r the weight of the row:

    first order    w_jc += pace r z_j g_c / sqrt(G_j),  G_j = sum of r^2 z_j^2 |g|^2: AdaGrad (Duchi, Hazan, Singer
                   2011) with one sum for all classes of a feature
    on raw columns the same, divided by the root mean square of the values that the column had: the answers do not
                   depend on the scale of a column (as in Ross, Mineiro, Langford 2013)
    second order   softmax_newton.py

Learners of first order come in fours, one for each of four paces, and are a vector: the row of a feature holds four
numbers for each class. Sums over features run class by class in a fixed order, and so do those over classes, so the
number of places kept for further classes has no part in them. Nothing is checked here.
"""

from math import factorial
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, intrinsic, ir, njit
from massart.kernels.learning.simd import (
    add_products,
    larger,
    load_four,
    no_four,
    prefetch,
    roots,
    spread_four,
    store_four,
    total,
    where_larger,
)

__all__ = ["MEAN_SQUARE", "RAW_SUMS", "add_steps", "class_dots", "exp_four", "four_scores", "four_steps",
           "mean_scores", "prefetch_row", "product_rows", "raw_steps", "soften_four", "soften_row",
           "spread_columns", "standardise"]  # fmt: skip

LARGEST_SCORE: Final = 1e150  # what keeps finite rows from making a state that is not finite
_LARGEST_SUM: Final = 1e300
_LEAST_SQUARE: Final = 1e-100  # a value smaller than 1e-50 counts as that
_LARGEST_SPREAD: Final = 1e300
_FURTHEST: Final = 10.0  # deviations from its mean that a value counts as, at most
# What a row of weights on raw columns begins with: one G per pace, the sum of squares of values, their number.
MEAN_SQUARE, RAW_SUMS = 4, 8
_ZERO, _ONE, _TWO, _THREE, _FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_LINE, _MOST_LINES = np.uint64(8), np.uint64(12)  # numbers in a cache line; lines of a feature that are prefetched

# exp by a polynomial alone, for a vector; kernels/learning/elementary.py has a more precise one for single numbers.
_C: Final = tuple(1.0 / factorial(n) for n in range(11))
_ROUNDING: Final = 1.5 * 2.0**52  # plus this number, a number is rounded, and its lowest bits are those of an integer
_PER_LN2: Final = float.fromhex("0x1.71547652b82fep0")
_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_LOWEST: Final = -700.0


@intrinsic
def _powers_of_two(_: Any, a: Any) -> Any:
    """2^n for numbers n + 1.5 * 2^52, n whole and from -1022 to 1023: their lowest bits are those of n."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        whole = ir.VectorType(ir.IntType(64), values[0].type.count)
        shifts, offsets = (ir.Constant(whole, [n] * whole.count) for n in (52, 1023))
        bits = builder.shl(builder.add(builder.bitcast(values[0], whole), offsets), shifts)
        return builder.bitcast(bits, values[0].type)

    return a(a), generate


@njit(cache=True, error_model="numpy", forceinline=True)
def exp_four(a: Any) -> Any:
    """e^a for four numbers that are at most 0, to 1e-12 of it; below exp(-700) that."""
    a = larger(a, spread_four(_LOWEST))
    shifted = a * spread_four(_PER_LN2) + spread_four(_ROUNDING)
    n = shifted - spread_four(_ROUNDING)
    r = (a - n * spread_four(_LN2_HIGH)) - n * spread_four(_LN2_LOW)
    # By pairs: what a sum waits for is short.
    square = r * r
    fourth = square * square
    first = (spread_four(1.0) + r) + (spread_four(_C[2]) + spread_four(_C[3]) * r) * square
    second = (spread_four(_C[4]) + spread_four(_C[5]) * r) + (spread_four(_C[6]) + spread_four(_C[7]) * r) * square
    third = (spread_four(_C[8]) + spread_four(_C[9]) * r) + spread_four(_C[10]) * square
    y = first + (second + third * fourth) * fourth
    return y * _powers_of_two(shifted)


@njit(cache=True, error_model="numpy", forceinline=True)
def _bounded(a: Any) -> Any:
    most, least = spread_four(LARGEST_SCORE), spread_four(-LARGEST_SCORE)
    return larger(where_larger(a, most, most, a), least)


@njit(cache=True, error_model="numpy", forceinline=True)
def soften_four(P: Floats, lane: np.uint64, k: np.uint64) -> None:
    """The scores of four learners, four lanes of the first k rows of P, become probabilities."""
    lanes, highest, sums = np.uint64(P.shape[1]), spread_four(-LARGEST_SCORE), no_four()
    for c in range(_ZERO, k):
        a = _bounded(load_four(P, c * lanes + lane))
        store_four(P, c * lanes + lane, a)
        highest = larger(a, highest)
    for c in range(_ZERO, k):
        a = exp_four(load_four(P, c * lanes + lane) - highest)
        store_four(P, c * lanes + lane, a)
        sums = sums + a
    inverse = spread_four(1.0) / sums
    for c in range(_ZERO, k):
        store_four(P, c * lanes + lane, load_four(P, c * lanes + lane) * inverse)


@njit(cache=True, error_model="numpy", forceinline=True)
def soften_row(T: Floats, i: np.uint64, k: np.uint64) -> None:
    """The first k scores in row i of T become probabilities; what is behind them, in its last four, about 0."""
    first = i * np.uint64(T.shape[1])
    highest, sums = -LARGEST_SCORE, no_four()
    for c in range(_ZERO, k):
        T[i, c] = min(LARGEST_SCORE, max(-LARGEST_SCORE, T[i, c]))
        highest = max(highest, T[i, c])
    for c in range(k, (k + _THREE) // _FOUR * _FOUR):
        T[i, c] = -2.0 * LARGEST_SCORE  # so little that sums with it are what they are without, to the bit
    for c in range(_ZERO, k, _FOUR):
        a = exp_four(load_four(T, first + c) - spread_four(highest))
        store_four(T, first + c, a)
        sums = sums + a
    inverse = spread_four(1.0 / total(sums))
    for c in range(_ZERO, k, _FOUR):
        store_four(T, first + c, load_four(T, first + c) * inverse)


@njit(cache=True, error_model="numpy", forceinline=True)
def four_scores(
    values: Floats, at: np.uint64, columns: Indices, place: np.uint64, size: np.uint64, constant: float, W: Floats,
    offset: np.uint64, k: np.uint64, P: Floats, lane: np.uint64,
) -> None:  # fmt: skip
    """The scores of four learners into four lanes of P; their weights begin at `offset` in the rows of W.

    The last row of W is that of the constant.
    """
    width, lanes, c = np.uint64(W.shape[1]), np.uint64(P.shape[1]), _ZERO
    last, own = np.uint64(W.shape[0] - 1) * width, spread_four(constant)
    while c < k:  # up to four classes at a time: sums do not wait for each other
        first, second, third, fourth, w = no_four(), no_four(), no_four(), no_four(), offset + _FOUR * c
        if c + _THREE < k:
            for p in range(_ZERO, size):
                j, v = np.uint64(columns[place + p]) * width + w, spread_four(values[at + p])
                first = add_products(first, v, load_four(W, j))
                second = add_products(second, v, load_four(W, j + _FOUR))
                third = add_products(third, v, load_four(W, j + _FOUR * _TWO))
                fourth = add_products(fourth, v, load_four(W, j + _FOUR * _THREE))
            fourth = add_products(fourth, own, load_four(W, last + w + _FOUR * _THREE))
            store_four(P, (c + _THREE) * lanes + lane, fourth)
        elif c + _TWO < k:
            for p in range(_ZERO, size):
                j, v = np.uint64(columns[place + p]) * width + w, spread_four(values[at + p])
                first = add_products(first, v, load_four(W, j))
                second = add_products(second, v, load_four(W, j + _FOUR))
                third = add_products(third, v, load_four(W, j + _FOUR * _TWO))
        elif c + _ONE < k:
            for p in range(_ZERO, size):
                j, v = np.uint64(columns[place + p]) * width + w, spread_four(values[at + p])
                first = add_products(first, v, load_four(W, j))
                second = add_products(second, v, load_four(W, j + _FOUR))
        else:
            for p in range(_ZERO, size):
                j, v = np.uint64(columns[place + p]) * width + w, spread_four(values[at + p])
                first = add_products(first, v, load_four(W, j))
        store_four(P, c * lanes + lane, add_products(first, own, load_four(W, last + w)))
        if c + _ONE < k:
            second = add_products(second, own, load_four(W, last + w + _FOUR))
            store_four(P, (c + _ONE) * lanes + lane, second)
        if c + _TWO < k:
            third = add_products(third, own, load_four(W, last + w + _FOUR * _TWO))
            store_four(P, (c + _TWO) * lanes + lane, third)
        c += _FOUR


@njit(cache=True, error_model="numpy", forceinline=True)
def class_dots(
    values: Floats, at: np.uint64, columns: Indices, place: np.uint64, size: np.uint64, constant: float, W: Floats,
    first: np.uint64, k: np.uint64, dots: Floats,
) -> None:  # fmt: skip
    """dots[c]: the sum of x_j W[j, first + c], with the constant, whose row is the last."""
    width = np.uint64(W.shape[1])
    last = np.uint64(W.shape[0] - 1) * width + first
    for c in range(_ZERO, k, _FOUR):
        sums = no_four()
        for p in range(_ZERO, size):
            j = np.uint64(columns[place + p]) * width + first + c
            sums = add_products(sums, spread_four(values[at + p]), load_four(W, j))
        store_four(dots, c, add_products(sums, spread_four(constant), load_four(W, last + c)))


@njit(cache=True, error_model="numpy", forceinline=True)
def _add_four(W: Floats, w: np.uint64, step: Any, G: Floats, lane: np.uint64, k: np.uint64) -> None:
    lanes = np.uint64(G.shape[1])
    for c in range(_ZERO, k):
        at = w + _FOUR * c
        store_four(W, at, add_products(load_four(W, at), step, load_four(G, c * lanes + lane)))


@njit(cache=True, error_model="numpy", forceinline=True)
def four_steps(
    z: Floats, paces: Any, r: float, squares: Floats, G: Floats, lane: np.uint64, k: np.uint64, W: Floats, sums: Floats
) -> None:
    """AdaGrad for four learners on all features, whose gradients and their squares are in lanes of G and `squares`."""
    square, most, least = load_four(squares, lane), spread_four(_LARGEST_SUM), spread_four(_LEAST_SQUARE)
    for j in range(_ZERO, np.uint64(W.shape[0])):
        v = spread_four(r * z[j])
        known = add_products(load_four(sums, _FOUR * j), v, v * square)
        known = where_larger(known, most, most, known)
        store_four(sums, _FOUR * j, known)
        _add_four(W, j * np.uint64(W.shape[1]), paces * v / roots(larger(known, least)), G, lane, k)


@njit(cache=True, error_model="numpy", forceinline=True)
def _raw_step(
    v: float, x: float, j: np.uint64, paces: Any, r: float, square: Any, G: Floats, k: np.uint64, steps: Floats,
    halfspaces: np.uint64, W: Floats,
) -> None:  # fmt: skip
    row, most = j * np.uint64(W.shape[1]), spread_four(_LARGEST_SUM)
    own = spread_four(r * v)
    known = add_products(load_four(W, row), own, own * square)
    known = where_larger(known, most, most, known)
    store_four(W, row, known)
    values = min(_LARGEST_SUM, W[j, MEAN_SQUARE] + v * v)
    count = W[j, MEAN_SQUARE + 1] + 1.0
    W[j, MEAN_SQUARE], W[j, MEAN_SQUARE + 1] = values, count
    both = spread_four(max(_LEAST_SQUARE * count, values)) * larger(known, spread_four(_LEAST_SQUARE))
    _add_four(W, row + np.uint64(RAW_SUMS), paces * own * roots(spread_four(count) / both), G, _ZERO, k)
    for c in range(row + halfspaces, row + halfspaces + k, _FOUR):
        step = load_four(steps, c - row - halfspaces)
        store_four(W, c, add_products(load_four(W, c), spread_four(x), step))


@njit(cache=True, error_model="numpy", forceinline=True)
def raw_steps(
    values: Floats, at: np.uint64, columns: Indices, place: np.uint64, size: np.uint64, constant: float, bias: float,
    paces: Any, r: float, squares: Floats, G: Floats, k: np.uint64, steps: Floats, halfspaces: np.uint64, W: Floats,
) -> None:  # fmt: skip
    """AdaGrad for the four learners on columns as they are, and steps x_j steps[c] of halfspaces, from a place on.

    `constant` and `bias` are the values of the constant coordinate for the two; steps are 0 from k on.
    """
    square = load_four(squares, _ZERO)
    for p in range(_ZERO, size):
        v, j = values[at + p], np.uint64(columns[place + p])
        _raw_step(v, v, j, paces, r, square, G, k, steps, halfspaces, W)
    if constant != 0.0:
        j = np.uint64(W.shape[0] - 1)
        _raw_step(constant, bias, j, paces, r, square, G, k, steps, halfspaces, W)


@njit(cache=True, error_model="numpy", forceinline=True)
def add_steps(
    values: Floats, at: np.uint64, columns: Indices, place: np.uint64, size: np.uint64, constant: float, steps: Floats,
    k: np.uint64, W: Floats,
) -> None:  # fmt: skip
    """W[j, c] += x_j steps[c], for the constant coordinate, too; steps are 0 from k on."""
    width = np.uint64(W.shape[1])
    for p in range(_ZERO, size):
        j, v = np.uint64(columns[place + p]) * width, spread_four(values[at + p])
        for c in range(_ZERO, k, _FOUR):
            store_four(W, j + c, add_products(load_four(W, j + c), v, load_four(steps, c)))
    j, v = np.uint64(W.shape[0] - 1) * width, spread_four(constant)
    for c in range(_ZERO, k, _FOUR):
        store_four(W, j + c, add_products(load_four(W, j + c), v, load_four(steps, c)))


@njit(cache=True, error_model="numpy", forceinline=True)
def prefetch_row(columns: Indices, start: np.uint64, stop: np.uint64, W: Floats) -> None:
    """Have the weights of a row brought near before they are needed."""
    width = np.uint64(W.shape[1])
    near = min(width, _LINE * _MOST_LINES)
    for p in range(start, stop):
        j = np.uint64(columns[p]) * width
        for w in range(_ZERO, near, _LINE):
            prefetch(W, j + w)
        if width % _LINE != _ZERO:
            prefetch(W, j + near - _ONE)


@njit(cache=True, error_model="numpy", _nrt=False)
def standardise(
    x: Floats, d: int, constant: float, weight: float, spreads: Floats, products: bool, z: Floats, units: Floats
) -> None:
    """Z = (constant, columns less their mean in units of their deviation, products of these by pairs).

    `spreads` has the mean and the sum of weighted squared differences of each column; `weight` is the sum of weights.
    The square of a column counts less its mean, 1. `units` get 1 / deviation of each column, 0 without one.
    """
    z[0] = constant
    share = 1.0 / weight if weight > 0.0 else 0.0
    for j in range(d):
        deviation = np.sqrt(spreads[1, j] * share)
        units[j] = 1.0 / deviation if deviation > 0.0 else 0.0
        z[1 + j] = min(_FURTHEST, max(-_FURTHEST, (x[j] - spreads[0, j]) * units[j]))
    if products:
        at = 1 + d
        for i in range(1, 1 + d):
            for j in range(i, 1 + d):
                z[at] = z[i] * z[j]
                at += 1
            z[at - (1 + d - i)] -= 1.0


@njit(cache=True, error_model="numpy", _nrt=False)
def spread_columns(x: Floats, d: int, share: float, c: float, is_centred: bool, spreads: Floats) -> None:
    """Means and sums of squared differences; without a constant coordinate means stay 0."""
    for j in range(d):
        away = x[j] - spreads[0, j]
        if is_centred:
            spreads[0, j] += away * share
        more = c * away * (x[j] - spreads[0, j])
        spreads[1, j] = max(0.0, min(_LARGEST_SPREAD, spreads[1, j] + more))


@njit(cache=True, error_model="numpy", nogil=True)
def product_rows(
    X: Floats, weight: Floats, bias: float, learning: bool, spreads: Floats, seen: Floats, out: Floats
) -> None:
    """Rows of `out`: standardised columns, then their products by pairs, as `standardise` makes them.

    Each row is standardised with the means and deviations of the rows before it, which are in `spreads`, and the sum of
    their weights in `seen`; with `learning` it counts for the rows after it.
    """
    d = X.shape[1]
    z, units = np.zeros(1 + out.shape[1]), np.zeros(d)
    for n in range(X.shape[0]):
        standardise(X[n], d, 1.0, seen[0], spreads, True, z, units)
        for j in range(out.shape[1]):
            out[n, j] = z[1 + j]
        if learning:
            c = weight[n] if weight.size > 0 else 1.0
            seen[0] += c
            spread_columns(X[n], d, c / seen[0], c, bias != 0.0, spreads)


@njit(cache=True, error_model="numpy", _nrt=False)
def mean_scores(
    z: Floats, units: Floats, spreads: Floats, means: Floats, counts: Floats, prior: float, k: np.uint64, T: Floats,
    i: np.uint64,
) -> None:  # fmt: skip
    """Row i of T: m_c.z - |m_c|^2 / 2, with m_c the mean of the standardised rows of class c.

    `means` are sums of rows by class, in which each class has the weight in the first row of `counts`; rows of weight
    `prior` at 0 come on top.
    """
    places, half = np.uint64(means.shape[1]), spread_four(0.5)
    for n in range(_ZERO, k, _FOUR):
        count, sums = load_four(counts, n), no_four()
        share = spread_four(1.0) / (count + spread_four(prior))
        for j in range(means.shape[0]):
            own = load_four(means, np.uint64(j) * places + n) * spread_four(units[j])
            own = (own - count * spread_four(spreads[0, j] * units[j])) * share
            sums = add_products(sums, own, spread_four(z[1 + j]) - half * own)
        store_four(T, i * np.uint64(T.shape[1]) + n, sums)
