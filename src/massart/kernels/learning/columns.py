"""Numbers for the columns that rows have: a pool with millions of columns keeps weights of those that occurred.

A column gets a slot, a row of the pool's table of weights, when it occurs for the first time. Slots are given in the
order of first occurrence, so that frequent columns lie close together. Entries stay in the order of their row, and a
sum over a row does not depend on the numbers of its columns (kernels/learning/simd.py): what is learned with slots is
the same, bit for bit, as with columns.

    slot_of    uint32 (columns,), 0 for a column without a slot, else its slot + 1
    given      int64 (1,), how many slots there are; a table gets so many rows before a kernel works with the slots

Nothing here is checked: indices come from checked rows (kernels/door.py), and slots are in range by construction.
"""

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import Csr, Indices, Integers, Values, njit

__all__ = ["number_columns", "number_rows"]

Slots = NDArray[np.uint32]


@njit(cache=True, nogil=True)
def number_columns(indices: Indices, slot_of: Slots, given: Integers, slots: Slots) -> None:
    """slots[p] is the slot of the column indices[p]; a column without one gets the next."""
    # Not a function for one column: Numba counts references to arrays at each call, which takes ten times as long.
    for p in range(indices.size):
        column = np.uint64(indices[p])
        slot = slot_of[column]
        if slot == 0:
            given[0] += 1
            slot = np.uint32(given[0])
            slot_of[column] = slot
        slots[p] = slot - np.uint32(1)


@njit(cache=True, nogil=True)
def number_rows(
    rows: Csr, order: NDArray[np.uint64], slot_of: Slots, given: Integers, data: Values, slots: Slots, starts: Slots
) -> None:
    """Copy the rows of an order, one after the other, with slots: row order[n] is data[starts[n] : starts[n + 1]].

    A row may come more than once. `data` and `slots` have room for the entries of all of them, and `starts` for one
    more than there are rows.
    """
    all_data, indices, indptr = rows
    at = np.uint64(0)
    starts[0] = 0
    for n in range(order.size):
        for p in range(np.uint64(indptr[order[n]]), np.uint64(indptr[order[n] + np.uint64(1)])):
            column = np.uint64(indices[p])
            slot = slot_of[column]
            if slot == 0:
                given[0] += 1
                slot = np.uint32(given[0])
                slot_of[column] = slot
            data[at], slots[at] = all_data[p], slot - np.uint32(1)
            at += np.uint64(1)
        starts[n + 1] = np.uint32(at)
