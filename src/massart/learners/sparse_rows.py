"""Arrays most of whose rows are zero, as the other rows and their numbers; and tables that grow.

A pool of millions of columns has weights for those that occurred (learners/columns.py). `SparseRows` are these weights
as what they stand for, an array of all columns: what goes to a model file, or comes from one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SparseRows", "aligned", "grown", "has_weight"]

_BLOCK = 1 << 16  # rows of an array that are looked at together


def aligned(rows: int, columns: int) -> NDArray[np.float64]:
    """Zeros that begin with a cache line: a vector of four columns then never lies on two."""
    space = np.zeros(rows * columns + 8)
    first = -space.ctypes.data % 64 // 8
    return space[first : first + rows * columns].reshape(rows, columns)


def grown(table: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """A table with so many rows, the last of them the last; the others keep their place."""
    if rows <= len(table):
        return table
    larger = aligned(rows, table.shape[1]) if table.ndim == 2 else np.zeros(rows)
    larger[: len(table) - 1], larger[-1] = table[:-1], table[-1]
    return larger


class SparseRows:
    """An array of float64 most of whose rows are zero: the other rows and their numbers.

    Rows that are stored may be zero, too. It is read as an array is: slices, arrays of row numbers, `np.asarray`.

    Parameters
    ----------
    numbers : (stored,) the numbers of the rows that are stored, ascending.
    values : (stored, ...) these rows; or an array of more rows, of which `places` are the ones meant.
    length : the number of rows of the whole array.
    places : (stored,) where in `values` the rows are; None: one after the other.
    origin : the map that `places` come from, if they do.

    >>> rows = SparseRows(np.array([1, 3]), np.array([5.0, 6.0]), 5)
    >>> rows.shape, np.asarray(rows).tolist(), rows[2:4].tolist(), rows[np.array([3, 0])].tolist()
    ((5,), [0.0, 5.0, 0.0, 6.0, 0.0], [0.0, 6.0], [6.0, 0.0])
    """

    def __init__(
        self,
        numbers: NDArray[Any],
        values: NDArray[np.float64],
        length: int,
        places: NDArray[Any] | None = None,
        origin: Any = None,
    ) -> None:
        if numbers.size and not (numbers[-1] < length and np.all(numbers[:-1] < numbers[1:])):
            raise ValueError(f"the numbers of its rows are not those of an array of {length} rows, in order")
        self.numbers, self.values, self.places, self.origin = numbers, values, places, origin
        self.shape: tuple[int, ...] = (length, *values.shape[1:])
        self.dtype = values.dtype
        self.ndim = values.ndim
        self.size = int(np.prod(self.shape, dtype=object))
        self.nbytes = self.size * self.dtype.itemsize

    @classmethod
    def of(cls, array: NDArray[np.float64]) -> "SparseRows":
        """An array of which only rows with a byte other than 0 count as stored; nothing is copied."""
        numbers = [
            start + np.flatnonzero(array[start : start + _BLOCK].view(np.uint64).reshape(-1, array[0].size).any(axis=1))
            for start in range(0, len(array), _BLOCK)
        ]
        found = np.concatenate(numbers)
        return cls(found, array, len(array), found)

    def __len__(self) -> int:
        return self.shape[0]

    def stored(self, part: slice = slice(None)) -> NDArray[np.float64]:
        """The rows that are stored, or a part of them; a copy unless they lie one after the other."""
        return self.values[part] if self.places is None else self.values[self.places[part]]

    def blocks(self, first: int = 0) -> Iterator[tuple[NDArray[Any], NDArray[np.float64]]]:
        """(numbers, values) of the rows that are stored, from a row on, some at a time."""
        for start in range(int(np.searchsorted(self.numbers, first)), self.numbers.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            yield self.numbers[part], self.stored(part)

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        """The rows of a slice, or those of an array of row numbers."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            found = np.zeros((max(0, stop - start), *self.shape[1:]), self.dtype)
            first, last = np.searchsorted(self.numbers, [start, stop])
            found[self.numbers[first:last].astype(np.int64) - start] = self.stored(slice(first, last))
            return found
        rows = np.asarray(rows)
        found = np.zeros((rows.size, *self.shape[1:]), self.dtype)
        at = np.searchsorted(self.numbers, rows)
        there = at < self.numbers.size
        there[there] = self.numbers[at[there]] == rows[there]
        at = at[there]
        found[there] = self.values[at if self.places is None else self.places[at]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The whole array; zeros are memory that is not touched."""
        if copy is False:
            raise ValueError("the whole array does not exist yet: it cannot be had without a copy")
        fits = self.ndim == 2 and self.dtype == np.float64
        whole: NDArray[Any] = aligned(*self.shape) if fits else np.zeros(self.shape, self.dtype)
        for numbers, values in self.blocks():
            whole[numbers] = values
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def copy(self) -> "SparseRows":
        """An independent one, of the same rows."""
        return SparseRows(self.numbers.copy(), self.stored().copy(), len(self))


def has_weight(array: Any, first: int = 0) -> NDArray[np.bool_]:
    """Which rows of an array, whole or sparse, from the first on, have a number other than 0; in blocks.

    >>> has_weight(SparseRows(np.array([1, 3]), np.array([[5.0, 0.0], [0.0, 0.0]]), 4)).tolist()
    [False, True, False, False]
    """
    found = np.zeros(len(array) - first, dtype=bool)
    if isinstance(array, SparseRows):
        for numbers, values in array.blocks(first):
            found[numbers.astype(np.int64) - first] = (values != 0.0).reshape(len(values), -1).any(axis=1)
        return found
    for start in range(0, found.size, _BLOCK):
        block = array[first + start : first + start + _BLOCK]
        found[start : start + _BLOCK] = (block != 0.0).reshape(len(block), -1).any(axis=1)
    return found
