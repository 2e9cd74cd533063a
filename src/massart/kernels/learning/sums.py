"""The product of a row with weights, and the row's square: sums by lanes, as kernels/learning/simd.py defines them.

A row without zeros is read eight entries at a time. If a zero turns up, the entries that are not 0 are copied to
neighbouring places and read again: a row has one sum, in whatever form it comes. What calls these functions must look
at `has_zeros` itself: a call within them would cost every row a few atomic operations, for Numba's reference counts.
"""

from typing import Any

import numpy as np

from massart.kernels.compiling import Floats, Indices, Values, njit
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    gather,
    gather_first,
    has_marks,
    load,
    load_first,
    load_near,
    mark_zeros,
    no_sums,
    prefetch_to_read,
    spread,
    store,
    total,
)

__all__ = ["add_dense", "read_csr", "read_csr_with_zeros", "read_dense", "read_dense_with_zeros"]

_STEP = np.uint64(LANES)
_AHEAD = np.uint64(512)  # entries after which memory is read: the processor does not see far enough on its own
_ZERO = np.uint64(0)


@njit(cache=True, error_model="numpy", forceinline=True)
def read_dense(data: Values, start: np.uint64, stop: np.uint64, v: Floats) -> Any:
    """v.x, |x|^2 and whether there are zeros in a dense row: if so, the sums are not in the right lanes."""
    d = stop - start
    rest = d % _STEP
    dots, squares, marks = no_sums(), no_sums(), no_sums()
    for j in range(_ZERO, d - rest, _STEP):
        a = load(data, start + j)
        dots = add_products(dots, a, load(v, j))
        squares = add_products(squares, a, a)
        marks = mark_zeros(marks, a, _STEP)
    a = load_first(data, stop - rest, rest)
    dots = add_products(dots, a, load_near(v, d - rest))
    squares = add_products(squares, a, a)
    marks = mark_zeros(marks, a, rest)
    return total(dots), total(squares), has_marks(marks)


@njit(cache=True, error_model="numpy", forceinline=True)
def read_csr(data: Values, indices: Indices, start: np.uint64, stop: np.uint64, v: Floats) -> Any:
    """The same for the entries of a CSR row."""
    rest = (stop - start) % _STEP
    dots, squares, marks = no_sums(), no_sums(), no_sums()
    for p in range(start, stop - rest, _STEP):
        prefetch_to_read(data, p + _AHEAD)
        prefetch_to_read(indices, p + _AHEAD)
        a = load(data, p)
        dots = add_products(dots, a, gather(v, indices, p))
        squares = add_products(squares, a, a)
        marks = mark_zeros(marks, a, _STEP)
    a = load_first(data, stop - rest, rest)
    dots = add_products(dots, a, gather_first(v, indices, stop - rest, rest))
    squares = add_products(squares, a, a)
    marks = mark_zeros(marks, a, rest)
    return total(dots), total(squares), has_marks(marks)


@njit(cache=True, error_model="numpy")
def read_dense_with_zeros(
    data: Values, start: np.uint64, stop: np.uint64, v: Floats, values: Floats, places: Indices
) -> Any:
    """v.x and |x|^2 of a dense row; its entries that are not 0 are copied to the last two arrays."""
    count = _ZERO
    for j in range(stop - start):
        a = np.float64(data[start + j])
        values[count], places[count] = a, j
        count += np.uint64(a != 0.0)
    dot, square, _ = read_csr(values, places, _ZERO, count, v)
    return dot, square


@njit(cache=True, error_model="numpy")
def read_csr_with_zeros(data: Values, indices: Indices, start: np.uint64, stop: np.uint64, v: Floats) -> Any:
    """v.x and |x|^2 of a CSR row in which zeros are stored; entries in columns that v does not have count as zeros."""
    values, columns = np.empty(stop - start), np.empty(stop - start, np.uint64)
    count = _ZERO
    for p in range(start, stop):
        a, column = np.float64(data[p]), np.uint64(indices[p])
        values[count], columns[count] = a, column
        count += np.uint64((a != 0.0) & (column < np.uint64(v.size - 1)))
    dot, square, _ = read_csr(values, columns, _ZERO, count, v)
    return dot, square


@njit(cache=True, error_model="numpy", forceinline=True)
def add_dense(b: float, data: Values, start: np.uint64, d: np.uint64, v: Floats) -> None:
    """Add b x to v, x being d entries of the data: stored as `read_dense` loads them, or else it has to wait."""
    factor, rest = spread(b), d % _STEP
    for j in range(_ZERO, d - rest, _STEP):
        store(v, j, add_products(load(v, j), factor, load(data, start + j)))
    for j in range(d - rest, d):
        v[j] += b * data[start + j]
