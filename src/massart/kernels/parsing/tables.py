"""Columns of a table to rows: transposed a cache line at a time, checked on the way, hashed to CSR where asked.

Symbols: n rows, k columns of the matrix, m columns whose number changes from row to row.
Missing values come as NaN and leave as 0. The kernels that fill a matrix return how many of their values are above
`row_errors.LARGEST` in size; who calls them looks for the places, as there are none in a valid file.
"""

from typing import Any

import numpy as np

from massart.kernels.compiling import Bytes, njit
from massart.kernels.parsing.hashing import vw_hash
from massart.kernels.parsing.merge_duplicates import merge_row, merge_tables
from massart.kernels.parsing.row_errors import LARGEST

__all__ = ["hash_texts", "put_block", "put_column", "put_eight_columns", "to_csr"]


@njit(cache=True, nogil=True)
def put_column(out: Any, column: Any, values: Any) -> int:
    """Fill one column of out (n, k) with values (n,)."""
    large, j = 0, np.uint64(column)
    for i in range(np.uint64(values.size)):
        x = values[i]
        if not abs(x) <= LARGEST:
            if not np.isnan(x):
                large += 1
            else:
                x = values.dtype.type(0.0)
        out[i, j] = x
    return large


@njit(cache=True, nogil=True)
def put_eight_columns(out: Any, first: Any, columns: Any) -> int:
    """Fill eight columns of out (n, k): a cache line of float64 is written once, not eight times."""
    a, b, c, d, e, f, g, h = columns
    large, j = 0, np.uint64(first)
    for i in range(np.uint64(a.size)):
        line = out[i, j : j + np.uint64(8)]
        for p, value in enumerate((a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i])):
            x = value
            if not abs(x) <= LARGEST:
                if not np.isnan(x):
                    large += 1
                else:
                    x = a.dtype.type(0.0)
            line[p] = x
    return large


@njit(cache=True, nogil=True)
def put_block(out: Any, first: Any, block: Any, chosen: Any) -> int:
    """Fill the columns of out (n, k) from `first` on with the `chosen` ones of block (n, ...)."""
    large, j = 0, np.uint64(first)
    for i in range(np.uint64(block.shape[0])):
        for p in range(np.uint64(chosen.size)):
            x = block[i, chosen[p]]
            if not abs(x) <= LARGEST:
                if not np.isnan(x):
                    large += 1
                else:
                    x = block.dtype.type(0.0)
            out[i, j + p] = x
    return large


@njit(cache=True, nogil=True)
def hash_texts(text: Bytes, offsets: Any, seed: Any, out: Any) -> None:
    """The hash of every text[offsets[i]:offsets[i + 1]] to out (n,); of an empty one it is the seed."""
    for i in range(np.uint64(out.size)):
        out[i] = vw_hash(text, np.uint64(offsets[i]), np.uint64(offsets[i + np.uint64(1)]), seed)


@njit(cache=True, nogil=True)
def to_csr(values: Any, fixed: Any, which: Any, varying: Any, merging: bool, spaces: Any, out: Any) -> int:
    """The entries of values (n, k) other than 0 as CSR; return how many there are.

    Column j of the matrix is column fixed[j], or varying[which[j], i] in row i where which[j] >= 0.
    `merging` adds up entries of a row that share a column. spaces (k,) or empty: a byte for each entry of a column.
    out: data and indices with room for n k entries, indptr (n + 1,), and spaces with room or empty.
    """
    data, indices, indptr, own = out
    tables = merge_tables()
    end = np.uint64(0)
    indptr[0] = np.uint32(0)
    for i in range(np.uint64(values.shape[0])):
        begin = end
        for j in range(np.uint64(values.shape[1])):
            x = values[i, j]
            if x != 0.0:
                data[end] = x
                indices[end] = fixed[j] if which[j] < 0 else varying[np.uint64(which[j]), i]
                if spaces.size > 0:
                    own[end] = spaces[j]
                end += np.uint64(1)
        if merging:
            end = merge_row(data, indices, own, begin, end, tables, i + np.uint64(1))
        indptr[i + np.uint64(1)] = np.uint32(end)
    return int(end)
