"""Softmax learners of several classes of second order, with one matrix for all classes: features as in softmax.py.

    w_jc += (P z)_j g_c / (1 + h z.P z),  P <- P - h P z z.P / (1 + h z.P z),  h = r max_c p_c (1 - p_c)

That is a Newton step with P = ridge at first. The classes of a feature lie one after the other, in fours. Sums over
features run in a fixed order. Nothing is checked here.
"""

from typing import Final

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    load,
    load_first,
    load_four,
    no_four,
    no_sums,
    spread,
    spread_four,
    store,
    store_four,
    total,
)

__all__ = ["row_scores", "second_order_step"]

_LEAST_CURVATURE: Final = 0.01  # what is predicted surely still counts for something
_ZERO, _ONE, _TWO, _THREE, _FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_LANES = np.uint64(LANES)


@njit(cache=True, error_model="numpy", _nrt=False)
def row_scores(z: Floats, W: Floats, m: int, k: np.uint64, T: Floats, i: np.uint64) -> None:
    """Row i of T: the scores of the m-th learner, whose weights are W[m], (features, classes)."""
    features, places = np.uint64(W.shape[1]), np.uint64(W.shape[2])
    start, rest = np.uint64(m) * features * places, features % _FOUR
    for c in range(_ZERO, k, _FOUR):
        first, second, third, fourth, at = no_four(), no_four(), no_four(), no_four(), start + c
        for j in range(_ZERO, features - rest, _FOUR):
            first = add_products(first, spread_four(z[j]), load_four(W, at))
            second = add_products(second, spread_four(z[j + _ONE]), load_four(W, at + places))
            third = add_products(third, spread_four(z[j + _TWO]), load_four(W, at + _TWO * places))
            fourth = add_products(fourth, spread_four(z[j + _THREE]), load_four(W, at + _THREE * places))
            at += _FOUR * places
        for j in range(features - rest, features):
            first = add_products(first, spread_four(z[j]), load_four(W, at))
            at += places
        store_four(T, i * np.uint64(T.shape[1]) + c, (first + third) + (second + fourth))


@njit(cache=True, error_model="numpy", forceinline=True)
def _times(matrices: Floats, start: np.uint64, features: np.uint64, z: Floats, u: Floats) -> None:
    """U = P z for the symmetric matrix that begins at a place; u has LANES places more than there are features."""
    rest = features % _LANES
    for j in range(_ZERO, features, _LANES):
        store(u, j, no_sums())
    for i in range(_ZERO, features):
        row, first, v = start + i * features, i // _LANES * _LANES, spread(z[i])
        n = min(_LANES, features - first)
        sums = load_first(matrices, row + first, n) * load_first(z, first, n)
        for j in range(first + _LANES, features - rest, _LANES):
            own = load(matrices, row + j)
            sums = add_products(sums, own, load(z, j))
            store(u, j, add_products(load(u, j), v, own))
        if rest > _ZERO and first < features - rest:
            last = features - rest
            own = load_first(matrices, row + last, rest)
            sums = add_products(sums, own, load_first(z, last, rest))
            store(u, last, add_products(load(u, last), v, own))
        u[i] += total(sums)


@njit(cache=True, error_model="numpy", _nrt=False)
def second_order_step(
    z: Floats, ridge: float, r: float, curvature: float, is_kept: bool, g: Floats, k: np.uint64, weights: Floats,
    matrices: Floats, m: int, u: Floats,
) -> None:  # fmt: skip
    """Newton's step for learner m; matrices[m] is its P, which changes unless it is kept. g is 0 from k on.

    P is symmetric. Of each row it has what is not left of its eight, the eight columns that hold the diagonal.
    """
    features, places = np.uint64(weights.shape[1]), np.uint64(weights.shape[2])
    start, rest = np.uint64(m) * features * features, features % _LANES
    for i in range(features):
        if z[i] != 0.0 and matrices[m, i, i] == 0.0:
            matrices[m, i, i] = ridge
    _times(matrices, start, features, z, u)
    reach = 0.0
    for j in range(features):
        reach += z[j] * u[j]
    h = r * max(_LEAST_CURVATURE, curvature)
    damped = 1.0 / (1.0 + h * max(0.0, reach))
    at = np.uint64(m) * features * places
    for j in range(features):
        step = spread_four(r * damped * u[j])
        for c in range(_ZERO, k, _FOUR):
            store_four(weights, at + c, add_products(load_four(weights, at + c), step, load_four(g, c)))
        at += places
    if is_kept:
        return
    for j in range(features):
        if not h * damped * u[j] * u[j] <= matrices[m, j, j]:  # no variance can fall below 0: it is lost to rounding
            for i in range(features):
                for b in range(features):
                    matrices[m, i, b] = 0.0
            return
    for i in range(_ZERO, features):
        row, first, factor = start + i * features, i // _LANES * _LANES, -h * damped * u[i]
        for j in range(first, features - rest, _LANES):
            store(matrices, row + j, add_products(load(matrices, row + j), spread(factor), load(u, j)))
        for j in range(features - rest, features):
            matrices[m, i, j] += factor * u[j]
