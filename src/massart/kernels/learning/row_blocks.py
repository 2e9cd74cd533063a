"""Rows of any form as blocks of CSR rows: float64 values, none of them 0, and 32-bit columns.

The kernel of a pool takes rows of float64 with 32-bit columns where they lie, up to a row that has a 0. All others are
copied here, block by block: so that kernel, a long one, is compiled once, not for each type of values and of indices.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import Csr, Floats, Indices, Values, njit
from massart.kernels.learning.simd import LANES, has_marks, load, load_first, mark_zeros, no_sums, store

__all__ = ["Block", "read_rows"]

Block = tuple[Floats, NDArray[np.uint32], NDArray[np.uint32]]  # values, columns, where rows begin and end
_ZERO, _ONE, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)


@njit(cache=True, error_model="numpy", forceinline=True)
def _copy(data: Values, start: np.uint64, count: np.uint64, values: Floats, at: np.uint64) -> bool:
    """Copy the values of a row; return whether there are zeros. It may overwrite LANES values behind the row."""
    marks, rest = no_sums(), count % _LANES
    for p in range(_ZERO, count - rest, _LANES):
        a = load(data, start + p)
        store(values, at + p, a)
        marks = mark_zeros(marks, a, _LANES)
    a = load_first(data, start + count - rest, rest)
    store(values, at + count - rest, a)
    return has_marks(mark_zeros(marks, a, rest))


@njit(cache=True, error_model="numpy", _nrt=False)
def _read_whole(data: Values, width: np.uint64, count: int, order: Indices, first: int, block: Block) -> int:
    """Copy dense rows, up to the first that has a 0; return how many there are."""
    values, _, starts = block
    most = min(count - first, starts.size - 1)
    for n in range(most):
        i = order[first + n] if order.size > 0 else np.uint64(first + n)
        at = np.uint64(n) * width
        if at + width + _LANES > np.uint64(values.size) or _copy(data, i * width, width, values, at):
            return n
    return most


@njit(cache=True, error_model="numpy", _nrt=False)
def _read_packed(rows: Csr, count: int, order: Indices, first: int, block: Block) -> int:
    """Copy rows without their zeros; return how many there are."""
    data, indices, indptr = rows
    values, columns, starts = block
    most, at = min(count - first, starts.size - 1), _ZERO
    starts[0] = 0
    for n in range(most):
        i = order[first + n] if order.size > 0 else np.uint64(first + n)
        start, size, shift = i * np.uint64(indices.size), np.uint64(indices.size), _ZERO
        if indptr.size > 0:
            start = np.uint64(indptr[i])
            size, shift = np.uint64(indptr[i + _ONE]) - start, start
        if at + size + _LANES > np.uint64(values.size):
            return n
        for p in range(size):
            columns[at + p] = indices[shift + p]
        kept = at + size
        if _copy(data, start, size, values, at):
            kept = at
            for p in range(at, at + size):
                a, column = values[p], columns[p]
                values[kept], columns[kept] = a, column
                kept += np.uint64(a != 0.0)
        at = kept
        starts[n + 1] = at
    return most


@njit(cache=True, error_model="numpy", nogil=True)
def read_rows(rows: Csr, count: int, order: NDArray[np.uint64], first: int, block: Block) -> Any:
    """Fill a block with the rows of a batch from round `first` on; (how many there are, whether they are whole).

    Rows are whole if they are dense and have no 0: they all have every column, and only their values are written.
    `rows` is (data, unsigned indices, unsigned indptr); dense rows share one list of indices, and their indptr is
    empty. Of `count` rounds, round n is row order[n], or row n if `order` is empty. There are no rows if the block has
    not as many places as the first has entries, and LANES more.
    """
    data, indices, indptr = rows
    if indptr.size == 0:
        taken = _read_whole(data, np.uint64(indices.size), count, order, first, block)
        if taken > 0:
            return taken, True
    return _read_packed(rows, count, order, first, block), False
