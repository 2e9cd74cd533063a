"""What a pool's experts know of each feature, and the loops over the features of a row.

A row of W holds the weights of all columns for a feature, so one visit to a feature serves them all: four diagonal
columns, then eight plain ones (pool.py says what they are), which lie in three vectors of four. V has the variance of
each feature, of the diagonal columns. The last row of both belongs to the constant coordinate.

A row of the data is `count` entries: of `values` from place `at` on, of `columns` from `first` on. If it
is whole, its columns are 0, 1, 2 and so on.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, njit
from massart.kernels.learning.few_features import LARGEST_VARIANCE
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    gather,
    gather_first,
    has_marks,
    has_zeros,
    larger,
    load,
    load_first,
    load_four,
    mark_zeros,
    no_four,
    no_sums,
    prefetch,
    prefetch_to_read,
    spread,
    spread_four,
    store,
    store_four,
    total,
    where_zero,
)

__all__ = ["COLUMNS", "DIAGONAL", "PLAIN", "RIDGE", "add", "add_and_dot", "add_constant", "dot", "measure",
           "prefetch_weights", "shrink"]  # fmt: skip

DIAGONAL: Final = 4
PLAIN: Final = 8  # at most: the others are padding, so that the loops over columns have a length known beforehand
COLUMNS: Final = DIAGONAL + PLAIN
RIDGE: Final = 100.0  # r of the diagonal columns

_ZERO, _ONE, _TWO, _LANES = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(LANES)
_AHEAD = np.uint64(512)  # entries after which memory is read: the processor does not see far enough on its own
_C, _D, _2D = np.uint64(COLUMNS), np.uint64(4), np.uint64(8)  # columns are taken in three fours


@njit(cache=True, error_model="numpy", forceinline=True)
def _ratios(a: Any, known: Any) -> Any:
    """V_j x_j; a feature that comes for the first time has the variance 1 / x_j^2."""
    ratio = known * a
    if has_zeros(known):
        ratio = where_zero(known, a / larger(a * a, spread(1.0 / LARGEST_VARIANCE)), ratio)
    return ratio


@njit(cache=True, error_model="numpy", forceinline=True)
def measure(
    values: Floats, at: np.uint64, columns: Indices, first: np.uint64, count: np.uint64, whole: bool, V: Floats,
    q: Floats,
) -> Any:  # fmt: skip
    """(|x|^2, x.q, whether there are zeros) without the constant, with q_j = V_j x_j left in q."""
    squares, sums, marks, rest = no_sums(), no_sums(), no_sums(), count % _LANES
    for p in range(_ZERO, count - rest, _LANES):
        prefetch_to_read(values, at + p + _AHEAD)
        if not whole:
            prefetch_to_read(columns, first + p + _AHEAD)
        a = load(values, at + p)
        ratio = _ratios(a, load(V, p) if whole else gather(V, columns, first + p))
        store(q, p, ratio)
        squares, sums = add_products(squares, a, a), add_products(sums, a, ratio)
        marks = mark_zeros(marks, a, _LANES)
    done = count - rest
    a = load_first(values, at + done, rest)
    ratio = _ratios(a, gather_first(V, columns, first + done, rest))
    store(q, done, ratio)
    squares, sums = add_products(squares, a, a), add_products(sums, a, ratio)
    return total(squares), total(sums), has_marks(mark_zeros(marks, a, rest))


@njit(cache=True, error_model="numpy", forceinline=True)
def dot(
    values: Floats,
    at: np.uint64,
    columns: Indices,
    first: np.uint64,
    count: np.uint64,
    bias: float,
    W: Floats,
    dots: Floats,
) -> None:
    """x.W for all columns; entries with an even and with an odd number are added up apart."""
    even0, even1, even2 = no_four(), no_four(), no_four()
    odd0, odd1, odd2 = no_four(), no_four(), no_four()
    for p in range(_ZERO, count & ~_ONE, _TWO):
        a, place = spread_four(values[at + p]), np.uint64(columns[first + p]) * _C
        even0 = add_products(even0, a, load_four(W, place))
        even1 = add_products(even1, a, load_four(W, place + _D))
        even2 = add_products(even2, a, load_four(W, place + _2D))
        a, place = spread_four(values[at + p + _ONE]), np.uint64(columns[first + p + _ONE]) * _C
        odd0 = add_products(odd0, a, load_four(W, place))
        odd1 = add_products(odd1, a, load_four(W, place + _D))
        odd2 = add_products(odd2, a, load_four(W, place + _2D))
    last, is_odd = np.uint64(W.shape[0] - 1), count & _ONE == _ONE
    # If there is no last entry with an even number, 0 times the constant's weights.
    place = (np.uint64(columns[first + count - _ONE]) if is_odd else last) * _C
    a = spread_four(values[at + count - _ONE] if is_odd else 0.0)
    even0 = add_products(even0, a, load_four(W, place))
    even1 = add_products(even1, a, load_four(W, place + _D))
    even2 = add_products(even2, a, load_four(W, place + _2D))
    a, place = spread_four(bias), last * _C
    store_four(dots, _ZERO, add_products(even0 + odd0, a, load_four(W, place)))
    store_four(dots, _D, add_products(even1 + odd1, a, load_four(W, place + _D)))
    store_four(dots, _2D, add_products(even2 + odd2, a, load_four(W, place + _2D)))


@njit(cache=True, error_model="numpy", forceinline=True)
def add(
    values: Floats, at: np.uint64, columns: Indices, first: np.uint64, count: np.uint64, q: Floats, b: Floats, W: Floats
) -> None:
    """W[j] += q_j b in the diagonal columns, x_j b in the plain ones."""
    b0, b1, b2 = load_four(b, _ZERO), load_four(b, _D), load_four(b, _2D)
    for p in range(count):
        place, ratio, a = np.uint64(columns[first + p]) * _C, spread_four(q[p]), spread_four(values[at + p])
        store_four(W, place, add_products(load_four(W, place), ratio, b0))
        store_four(W, place + _D, add_products(load_four(W, place + _D), a, b1))
        store_four(W, place + _2D, add_products(load_four(W, place + _2D), a, b2))


@njit(cache=True, error_model="numpy", forceinline=True)
def add_constant(q: float, bias: float, b: Floats, b_constant: Floats, W: Floats) -> None:
    """The same for the constant coordinate, which some of the plain columns do not have."""
    place, ratio, a = np.uint64(W.shape[0] - 1) * _C, spread_four(q), spread_four(bias)
    store_four(W, place, add_products(load_four(W, place), ratio, load_four(b, _ZERO)))
    store_four(W, place + _D, add_products(load_four(W, place + _D), a, load_four(b_constant, _D)))
    store_four(W, place + _2D, add_products(load_four(W, place + _2D), a, load_four(b_constant, _2D)))


@njit(cache=True, error_model="numpy", forceinline=True)
def add_and_dot(
    values: Floats, at: np.uint64, following: np.uint64, count: np.uint64, q: Floats, b: Floats, bias: float,
    W: Floats, dots: Floats,
) -> None:  # fmt: skip
    """`add` for a whole row, and `dot` for the whole row that follows in the same pass: the same sums, half the loads.

    The constant must have been added before.
    """
    b0, b1, b2 = load_four(b, _ZERO), load_four(b, _D), load_four(b, _2D)
    even0, even1, even2 = no_four(), no_four(), no_four()
    odd0, odd1, odd2 = no_four(), no_four(), no_four()
    for p in range(_ZERO, count & ~_ONE, _TWO):
        place, ratio, a, after = p * _C, spread_four(q[p]), spread_four(values[at + p]), values[following + p]
        w0 = add_products(load_four(W, place), ratio, b0)
        w1 = add_products(load_four(W, place + _D), a, b1)
        w2 = add_products(load_four(W, place + _2D), a, b2)
        store_four(W, place, w0)
        store_four(W, place + _D, w1)
        store_four(W, place + _2D, w2)
        a = spread_four(after)
        even0, even1, even2 = add_products(even0, a, w0), add_products(even1, a, w1), add_products(even2, a, w2)
        odd = p + _ONE
        place, ratio, a, after = odd * _C, spread_four(q[odd]), spread_four(values[at + odd]), values[following + odd]
        w0 = add_products(load_four(W, place), ratio, b0)
        w1 = add_products(load_four(W, place + _D), a, b1)
        w2 = add_products(load_four(W, place + _2D), a, b2)
        store_four(W, place, w0)
        store_four(W, place + _D, w1)
        store_four(W, place + _2D, w2)
        a = spread_four(after)
        odd0, odd1, odd2 = add_products(odd0, a, w0), add_products(odd1, a, w1), add_products(odd2, a, w2)
    constant, a = np.uint64(W.shape[0] - 1) * _C, no_four()
    place = constant
    if count & _ONE == _ONE:
        end = count - _ONE
        place, ratio, a = end * _C, spread_four(q[end]), spread_four(values[at + end])
        store_four(W, place, add_products(load_four(W, place), ratio, b0))
        store_four(W, place + _D, add_products(load_four(W, place + _D), a, b1))
        store_four(W, place + _2D, add_products(load_four(W, place + _2D), a, b2))
        a = spread_four(values[following + end])
    even0 = add_products(even0, a, load_four(W, place))
    even1 = add_products(even1, a, load_four(W, place + _D))
    even2 = add_products(even2, a, load_four(W, place + _2D))
    a = spread_four(bias)
    store_four(dots, _ZERO, add_products(even0 + odd0, a, load_four(W, constant)))
    store_four(dots, _D, add_products(even1 + odd1, a, load_four(W, constant + _D)))
    store_four(dots, _2D, add_products(even2 + odd2, a, load_four(W, constant + _2D)))


@njit(cache=True, error_model="numpy", forceinline=True)
def prefetch_weights(columns: Indices, start: np.uint64, stop: np.uint64, W: Floats) -> None:
    """Have the weights of a row brought near before they are needed."""
    for p in range(start, stop):
        place = np.uint64(columns[p]) * _C
        prefetch(W, place)
        prefetch(W, place + _C - _ONE)


@njit(cache=True, error_model="numpy", forceinline=True)
def shrink(
    values: Floats, at: np.uint64, columns: Indices, first: np.uint64, count: np.uint64, q: Floats, c: float, V: Floats
) -> None:
    """V_j <- V_j / (1 + c x_j^2 V_j / r) from q_j = V_j x_j, which knows features that come for the first time.

    It overwrites q.
    """
    rate, rest = spread(c / RIDGE), count % _LANES
    for p in range(_ZERO, count - rest, _LANES):
        a, ratio = load(values, at + p), load(q, p)
        store(q, p, ratio / (a + rate * a * a * ratio))
    a, ratio = load_first(values, at + count - rest, rest), load(q, count - rest)
    store(q, count - rest, ratio / (a + rate * a * a * ratio))  # q has LANES places more than a row
    for p in range(count):
        V[columns[first + p]] = q[p]
