"""Features of several namespaces multiplied, row by row, into a buffer of fixed size: they are never all written out.

The column of a product is Vowpal Wabbit's: h <- (h * FNV) ^ column for one factor after the other. A namespace
that occurs twice in a crossing gives each combination of its features once.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import njit
from massart.kernels.parsing.merge_duplicates import TABLE, merge_row
from massart.kernels.parsing.row_errors import LARGEST

_FNV: Final = np.uint32(16777619)
ANY: Final = np.uint8(58)  # ":" stands for every namespace
_ONE = np.uint64(1)


@njit(cache=True, inline="always")
def _wanted(space: Any, letter: Any) -> bool:
    return letter in (ANY, space)


@njit(cache=True)
def _pairs(row: Any, letters: Any, mask: Any, out: Any, n: Any) -> Any:
    """Products of two or three features; the new n, or one more than the buffer's size if that is too small."""
    data, indices, spaces, start, stop = row
    values, columns = out
    room, three = np.uint64(values.size), letters[2] > np.uint8(0)
    for i in range(start, stop):
        if not _wanted(spaces[i], letters[0]):
            continue
        half = np.uint32(np.uint32(indices[i]) * _FNV)
        for j in range(i if letters[1] == letters[0] else start, stop):
            if not _wanted(spaces[j], letters[1]):
                continue
            h, product = half ^ np.uint32(indices[j]), data[i] * data[j]
            if not three:
                if n >= room:
                    return room + _ONE
                values[n], columns[n] = product, h & mask
                n += _ONE
                continue
            again = j if letters[2] == letters[1] else (i if letters[2] == letters[0] else start)
            for k in range(again, stop):
                if _wanted(spaces[k], letters[2]):
                    if n >= room:
                        return room + _ONE
                    values[n], columns[n] = product * data[k], np.uint32(np.uint32(h * _FNV) ^ indices[k]) & mask
                    n += _ONE
    return n


@njit(cache=True, nogil=True)
def cross_rows(rows: Any, spaces: Any, first: int, plan: Any, mask: Any, out: Any) -> Any:
    """Cross rows from `first` on until the buffer is full or a value too large; (rows crossed, whether too large).

    `rows` is CSR, `plan` (crossings, 3) are the namespaces' letters, 0 if there are but two. `out` is (data, indices,
    indptr): each row's own features come first, then its products.
    """
    data, indices, indptr = rows
    values, columns, starts = out
    cells, table = np.zeros(TABLE, np.uint64), np.empty(TABLE, np.uint32)
    no_spaces = np.empty(0, np.uint8)
    room = np.uint64(values.size)
    starts[0] = np.uint32(0)
    n, done = np.uint64(0), 0
    for i in range(first, indptr.size - 1):
        if done + 1 >= starts.size:
            break
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        begin = n
        if n + (stop - start) > room:
            break
        for p in range(start, stop):
            values[n], columns[n] = data[p], indices[p]
            n += _ONE
        row = data, indices, spaces, start, stop
        for c in range(plan.shape[0]):
            n = _pairs(row, plan[c], mask, (values, columns), n)
            if n > room:
                break
        if n > room:
            n = begin
            break
        for p in range(begin, n):
            if not abs(values[p]) <= LARGEST:
                return done, True
        n = merge_row(values, columns, no_spaces, begin, n, cells, table, done + 1)
        done += 1
        starts[done] = np.uint32(n)
    return done, False
