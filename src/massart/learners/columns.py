"""Weights of the columns that occurred: what a pool of millions of hashed columns keeps instead of all of them.

Of 2^22 columns a stream may show a hundred thousand. A pool has a dozen weights for each, 400 MB for all columns, and
rows touch them in places far apart. A `ColumnMap` gives each column that occurs a row of a small table instead; the
numbers that are learned are the same, bit for bit (see kernels/learning/columns.py). `ColumnSums` are a second table
with the same rows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError
from massart.kernels.learning.columns import number_columns, number_rows
from massart.learners.sparse_rows import SparseRows, aligned, grown

__all__ = ["MANY_COLUMNS", "ColumnMap", "ColumnSums", "are_many"]

# Above so many columns a pool keeps only those that occurred; with fewer, the map takes more time than it saves.
MANY_COLUMNS = 1 << 18
_ENTRIES = 1 << 18  # of rows that are numbered at a time, so that a copy of their columns is never large
_LEAST_ROOM = 1 << 12  # slots
_MOST_SLOTS = (1 << 32) - 1
_BLOCK = 1 << 16  # columns that are looked at together
_NO_ORDER = np.empty(0, np.uint64)


def are_many(n_columns: int) -> bool:
    """Whether a pool of so many columns keeps only those that occurred."""
    return n_columns > MANY_COLUMNS


class ColumnMap:
    """Which row of a pool's table each column has, its slot; columns that did not occur have none.

    A column keeps its slot. Whoever asks for slots makes room for them: the map only counts.

    >>> columns = ColumnMap(100)
    >>> columns.slots(np.array([30, 7, 30, 38], np.uint32)).tolist(), columns.room
    ([0, 1, 0, 2], 3)
    """

    def __init__(self, n_columns: int) -> None:
        self._slot_of = np.zeros(n_columns, np.uint32)  # slot + 1; 0: none. Memory that is not touched until then.
        self._given = np.zeros(1, np.int64)  # how many slots there are
        self._space = np.empty(0, np.uint32)  # for the slots of a block of rows; fresh memory costs more than numbering

    @property
    def n_columns(self) -> int:
        """All columns, with a slot or without."""
        return int(self._slot_of.size)

    @property
    def room(self) -> int:
        """The rows that a table must have at least."""
        return int(self._given[0])

    def room_after(self, room: int, needed: int) -> int:
        """How many rows a table of `room` should have so that at least `needed` fit: doubled, up to all columns."""
        if needed <= room:
            return room
        if needed > _MOST_SLOTS:
            raise MemoryError(f"{needed:,} columns with weights do not fit into one pool")
        return max(needed, min(max(2 * room, _LEAST_ROOM), self.n_columns))

    def slots(self, columns: NDArray[Any]) -> NDArray[np.uint32]:
        """The slots of columns, which must be in range, good until the next call; those without one get one."""
        given = columns.view()
        given.flags.writeable = False  # as kernels are compiled for
        if self._space.size < columns.size:
            self._space = np.empty(columns.size, np.uint32)
        found = self._space[: columns.size]
        number_columns(given, self._slot_of, self._given, found)
        return found

    def known(self, columns: NDArray[Any]) -> NDArray[np.uint32]:
        """The slots of columns, which must be in range, plus 1; 0 for those that have none, and get none.

        >>> columns = ColumnMap(100)
        >>> columns.slots(np.array([30, 7], np.uint32)).tolist(), columns.known(np.array([7, 8])).tolist()
        ([0, 1], [2, 0])
        """
        return np.asarray(self._slot_of[columns])

    def parts(self, rows: Any, batch: Any) -> Iterator[tuple[Any, Any, slice]]:
        """CSR rows and their batch, as `Rows.parts` gives them, with slots for columns, block by block.

        Yields (rows, batch, place in the whole).
        """
        data, indices, indptr = rows
        count, order, y, weight = batch
        ordered = order.size > 0
        ends = indptr  # where the entries of the rows to be learned begin and end
        if ordered:  # and, of an order, if they were copied one after the other
            lengths = indptr[order + np.uint64(1)] - indptr[order]
            ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        start = 0
        while start < count:
            limit = ends.dtype.type(min(int(ends[start]) + _ENTRIES, int(ends[count])))
            stop = min(max(int(np.searchsorted(ends, limit, side="right")) - 1, start + 1), count)
            place = slice(start, stop)
            first, last = int(ends[start]), int(ends[stop])
            if ordered:
                starts = np.empty(stop - start + 1, np.uint32)
                entries = np.empty(last - first, data.dtype), np.empty(last - first, np.uint32), starts
                number_rows(rows, order[place], self._slot_of, self._given, *entries)
            else:
                starts = (indptr[start : stop + 1] - indptr[start]).astype(np.uint32)
                entries = data[first:last], self.slots(indices[first:last]), starts
            for array in entries:
                array.flags.writeable = False
            pick: Any = order[place] if ordered else place
            yield entries, (stop - start, _NO_ORDER, y[pick], weight[pick] if weight.size else weight), place
            start = stop

    def rows_of(self, table: NDArray[np.float64], seen: tuple[NDArray[Any], NDArray[Any]]) -> SparseRows:
        """A table as the array of all columns and the constant, which has the last row of both; `seen` by `seen`."""
        return SparseRows(seen[0], table, self.n_columns + 1, seen[1], self)

    def seen(self, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(columns, slots) of the columns that have one, ascending, and of the constant in a table of so many rows.

        Slots beyond the table, for which there was no memory when they were given, are left out.
        """
        # In blocks, without a mask of all columns; and NumPy finds what is true faster than what is not 0.
        starts = range(0, self.n_columns, _BLOCK)
        found = [start + np.flatnonzero(self._slot_of[start : start + _BLOCK] != 0) for start in starts]
        columns = np.concatenate([*found, np.empty(0, np.int64)])
        slots = self._slot_of[columns].astype(np.int64) - 1
        if slots.size and slots.max() >= rows - 1:
            columns, slots = columns[slots < rows - 1], slots[slots < rows - 1]
        return np.append(columns, self.n_columns), np.append(slots, rows - 1)

    def resize(self, n_columns: int) -> None:
        """Have so many columns; those at the end come without slots, or lose theirs."""
        if n_columns == self.n_columns:
            return
        slot_of = np.zeros(n_columns, np.uint32)
        common = min(n_columns, self.n_columns)
        slot_of[:common] = self._slot_of[:common]
        self._slot_of = slot_of

    def agrees(self, other: "ColumnMap") -> bool:
        """Whether both give all columns the same slots."""
        return self is other or np.array_equal(self._slot_of, other._slot_of)

    def copy(self) -> "ColumnMap":
        """An independent map with the same slots."""
        twin = ColumnMap(0)
        twin._slot_of, twin._given = self._slot_of.copy(), self._given.copy()
        return twin

    @classmethod
    def of(cls, *arrays: SparseRows) -> tuple["ColumnMap", list[NDArray[np.float64]]]:
        """A map for the rows that any of some arrays of one length stores, and these arrays as tables.

        The last row of an array is the constant's, and has the last row of its table.

        >>> weights = SparseRows(np.array([1, 3]), np.array([5.0, 6.0]), 4)
        >>> columns, tables = ColumnMap.of(weights)
        >>> columns.n_columns, np.flatnonzero(tables[0]).tolist(), tables[0].size
        (3, [0, 3], 4)
        """
        columns = cls(len(arrays[0]) - 1)
        for array in arrays:
            columns.slots(array.numbers[: np.searchsorted(array.numbers, columns.n_columns)].astype(np.uint64))
        rows = columns.room_after(0, columns.room) + 1
        return columns, [columns._table_of(array, rows) for array in arrays]

    def _table_of(self, array: SparseRows, rows: int) -> NDArray[np.float64]:
        table = aligned(rows, array.shape[1]) if array.ndim == 2 else np.zeros(rows)
        for numbers, values in array.blocks():
            known = int(np.searchsorted(numbers, self.n_columns))
            table[self._slot_of[numbers[:known]].astype(np.int64) - 1] = values[:known]
            if known < numbers.size:
                table[-1] = values[known]
        return table


class ColumnSums:
    """Sums for each column that occurred, as `Pool.new_average` makes them with many columns: a table like the pool's.

    It is read as an array of all columns is: arrays of row numbers, `np.asarray`.
    """

    def __init__(self, known: ColumnMap, width: int) -> None:
        self._map: ColumnMap | None = known
        self._table = aligned(1, width)

    @property
    def size(self) -> int:
        """Never 0: there is something to add to."""
        return self._table.size

    def table(self, known: ColumnMap | None, rows: int) -> NDArray[np.float64]:
        """The sums as a table of a pool with this map and so many rows; None: of a pool without one."""
        if known is None:
            if self._map is not None:
                self._table, self._map = np.asarray(self), None
        elif self._map is None or not self._map.agrees(known):
            raise InvalidDataError(
                "average must be one that this pool made by new_average, or one that it is a copy of"
            )
        else:
            self._table, self._map = grown(self._table, rows), known
        return self._table

    def _rows(self) -> Any:
        return self._table if self._map is None else self._map.rows_of(self._table, self._map.seen(len(self._table)))

    def __getitem__(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self._rows()[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._rows(), dtype=dtype, copy=copy)
