"""One entry per column: entries of a row that share a column are added up where the first of them stands.

A table in the processor's cache finds them. A cell holds (mark, column), 32 bits each, and cells of an earlier mark
count as empty: the table is never cleared.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, Floats, Indices, njit

TABLE: Final = 4096  # cells; rows of more than half as many entries get a table of their own
_GOLDEN: Final = 2654435769


@njit(cache=True, nogil=True)
def merge_row(
    data: Floats, indices: Indices, spaces: Bytes, begin: np.uint64, end: np.uint64, cells: Any, places: Any, mark: Any
) -> Any:
    """Merge the entries begin..end of a row in place; return the new end.

    `cells` (uint64, zeros at first) and `places` (uint32) have TABLE elements; `mark` is above 0 and new for every
    row. `spaces` is empty or parallel to `indices`. Sums of 0 are dropped.
    """
    begin, end = np.uint64(begin), np.uint64(end)
    if (end - begin) * np.uint64(2) > np.uint64(TABLE):
        size = np.uint64(TABLE)
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
