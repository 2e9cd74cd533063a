"""CSR rows with columns in any order, or several entries for one column, as rows with increasing columns.

Entries of one column are added up in the order in which they stand, in the type of the values. Rows whose columns do
not decrease are only merged; others are sorted by the digits of their columns, the lowest first (radix sort), which
takes time linear in their entries whatever they are.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import Csr, Indices, Values, njit

__all__ = ["put_in_order"]

_DIGIT: Final = np.uint64(8)  # bits of a column that are sorted by in one pass
_KINDS: Final = 256
_SHORT: Final = 16  # entries up to which a row is sorted by insertion
_ONE = np.uint64(1)


@njit(cache=True, error_model="numpy")
def _sort(columns: NDArray[np.uint64], values: Values, size: int, bits: np.uint64, counts: NDArray[np.int64]) -> Any:
    """Sort the first entries of row 0 by column, those of one column as they stood; return the row they are in."""
    if size <= _SHORT:
        for p in range(1, size):
            column, value, q = columns[0, p], values[0, p], p
            while q > 0 and columns[0, q - 1] > column:
                columns[0, q], values[0, q] = columns[0, q - 1], values[0, q - 1]
                q -= 1
            columns[0, q], values[0, q] = column, value
        return 0
    side, shift = 0, np.uint64(0)
    while shift < bits:
        counts[:] = 0
        for p in range(size):
            counts[(columns[side, p] >> shift) & np.uint64(_KINDS - 1)] += 1
        place = 0
        for kind in range(_KINDS):
            counts[kind], place = place, place + counts[kind]
        for p in range(size):
            kind = (columns[side, p] >> shift) & np.uint64(_KINDS - 1)
            q = counts[kind]
            counts[kind] += 1
            columns[1 - side, q], values[1 - side, q] = columns[side, p], values[side, p]
        side, shift = 1 - side, shift + _DIGIT
    return side


@njit(cache=True, error_model="numpy", nogil=True)
def put_in_order(
    rows: Csr, order: NDArray[np.uint64], first: int, width: int, data: Values, indices: Indices, indptr: Indices
) -> None:
    """Write rows to the last three arrays, in CSR form with increasing columns: `order[first]` and those after it.

    Without an order, rows `first` and those after it. There are indptr.size - 1 of them; `data` and `indices` have room
    for all of their entries. `width` is the number of columns.
    """
    all_data, all_indices, all_indptr = rows
    bits, longest = np.uint64(0), np.uint64(0)
    while np.uint64(width) > _ONE << bits:
        bits += _ONE
    for n in range(indptr.size - 1):
        i = order[first + n] if order.size > 0 else np.uint64(first + n)
        longest = max(longest, np.uint64(all_indptr[i + _ONE]) - np.uint64(all_indptr[i]))
    columns, values, counts = (
        np.empty((2, longest), np.uint64),
        np.empty((2, longest), data.dtype),
        np.empty(_KINDS, np.int64),
    )
    at = 0
    indptr[0] = 0
    for n in range(indptr.size - 1):
        i = order[first + n] if order.size > 0 else np.uint64(first + n)
        start, stop = np.uint64(all_indptr[i]), np.uint64(all_indptr[i + _ONE])
        size = np.int64(stop - start)
        falls = np.uint8(0)
        for p in range(size):
            columns[0, p], values[0, p] = all_indices[start + np.uint64(p)], all_data[start + np.uint64(p)]
        for p in range(1, size):
            falls |= np.uint8(columns[0, p] < columns[0, p - 1])
        side = _sort(columns, values, size, bits, counts) if falls else 0
        for p in range(size):
            if p > 0 and columns[side, p] == columns[side, p - 1]:
                data[at - 1] += values[side, p]
            else:
                data[at], indices[at] = values[side, p], columns[side, p]
                at += 1
        indptr[n + 1] = at
