"""One entry per column: entries of a row that share a column are added up where the first of them stands.

Most rows have no such entries, and a table of one byte per cell, which holds no columns, shows that: if no two entries
of a row meet in a cell, there is nothing to add up. Else a table of columns finds them. One of its cells holds (mark,
column), 32 bits each, and cells of an earlier mark count as empty: that table is never cleared.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, Floats, Indices, njit

_TABLE: Final = 4096  # cells; rows of more than half as many entries get a table of their own
_SEEN: Final = 1 << 14  # bytes
_FEW: Final = 256  # entries of a row that may all be in different cells of these
_GOLDEN: Final = 2654435769


@njit(cache=True, inline="always")
def merge_tables() -> Any:
    """What `merge_row` works with."""
    return np.zeros(_SEEN, np.uint8), np.zeros(_TABLE, np.uint64), np.empty(_TABLE, np.uint32)


@njit(cache=True, nogil=True)
def merge_row(
    data: Floats, indices: Indices, spaces: Bytes, begin: np.uint64, end: np.uint64, tables: Any, mark: Any
) -> Any:
    """Merge the entries begin..end of a row in place; return the new end.

    `tables` come from `merge_tables`; `mark` is above 0 and new for every row. `spaces` is empty or parallel to
    `indices`. Sums of 0 are dropped.
    """
    seen, cells, places = tables
    begin, end = np.uint64(begin), np.uint64(end)
    if end - begin <= np.uint64(_FEW) and not _may_repeat(indices, begin, end, seen, np.uint64(mark)):
        return end
    return _merge(data, indices, spaces, begin, end, cells, places, mark)


@njit(cache=True, _nrt=False)
def _may_repeat(indices: Indices, begin: np.uint64, end: np.uint64, seen: Bytes, mark: np.uint64) -> bool:
    """Whether two of the entries share a cell: those of one column do.

    A cell holds the mark's last byte, but never 0. Where an earlier row has left the same byte, the answer may be
    True for nothing; the cells are cleared when a new count begins.
    """
    own = np.uint8(mark % np.uint64(255)) + np.uint8(1)
    if own == np.uint8(1):
        for cell in range(seen.size):
            seen[cell] = np.uint8(0)
    found = False
    for p in range(begin, end):
        h = np.uint64(indices[p]) & np.uint64(_SEEN - 1)
        found |= seen[h] == own
        seen[h] = own
    return found


@njit(cache=True, _nrt=True)
def _merge(
    data: Floats, indices: Indices, spaces: Bytes, begin: np.uint64, end: np.uint64, cells: Any, places: Any, mark: Any
) -> Any:
    if (end - begin) * np.uint64(2) > np.uint64(_TABLE):
        size = np.uint64(_TABLE)
        while size < (end - begin) * np.uint64(2):
            size *= np.uint64(2)
        cells, places = np.zeros(size, np.uint64), np.empty(size, np.uint32)
    last = np.uint64(cells.size - 1)
    high = np.uint64(mark) << np.uint64(32)
    n, merged = begin, False
    for p in range(begin, end):
        key = high | np.uint64(indices[p])
        h = ((np.uint64(indices[p]) * np.uint64(_GOLDEN)) >> np.uint64(16)) & last
        while cells[h] >= high and cells[h] != key:
            h = (h + np.uint64(1)) & last
        if cells[h] == key:
            data[places[h]] += data[p]
            merged = True
        else:
            cells[h] = key
            places[h] = np.uint32(n)
            if n != p:
                data[n], indices[n] = data[p], indices[p]
                if spaces.size > 0:
                    spaces[n] = spaces[p]
            n += np.uint64(1)
    if not merged:
        return n
    kept = begin
    for p in range(begin, n):
        if data[p] != 0.0:
            data[kept], indices[kept] = data[p], indices[p]
            if spaces.size > 0:
                spaces[kept] = spaces[p]
            kept += np.uint64(1)
    return kept
