"""Folded arrays: of an array most of whose rows are zero, the others and their numbers are stored.

The weights of four million hashed features, of which a stream has shown a thousand, are 400 MB of memory that was
never touched, and a file of 100 kB. A row is zero if all its bytes are: -0.0 is not. Unfolded, the zeros are again
memory that is not touched.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.models.arrays import BLOCK, bytes_of, new_array

__all__ = ["MOST_FOLDED", "Folding", "unfold"]

_LEAST = 4096  # rows, below which nothing is gained
_ROWS = 1 << 16  # looked at at a time
# Bytes of all folded arrays of a file, together. A file of a few bytes from a stranger must not claim all memory.
MOST_FOLDED = 1 << 33


class Folding:
    """Which rows of an array are not zero: one bit for each."""

    def __init__(self, array: NDArray[Any], marks: list[NDArray[np.uint8]], count: int) -> None:
        self.array = array
        self.count = count  # of rows that are not zero
        self._marks = marks  # packed bits, for each stretch of rows

    @classmethod
    def of(cls, array: NDArray[Any]) -> "Folding | None":
        """None if the array is small, or at least half of its rows are not zero.

        >>> sparse = np.zeros((10_000, 3))
        >>> sparse[[5, 900]] = 1.0
        >>> Folding.of(sparse).count, Folding.of(sparse + 1.0)
        (2, None)
        """
        if array.ndim == 0 or len(array) < _LEAST or array.size == 0:
            return None
        marks, count = [], 0
        for rows in _stretches(array):
            mark = _not_zero(array[rows])
            count += int(np.count_nonzero(mark))
            if 2 * count >= len(array):
                return None
            marks.append(np.packbits(mark))
        return cls(array, marks, count)

    def _kept(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        for rows, mark in zip(_stretches(self.array), self._marks, strict=True):
            yield rows, np.flatnonzero(np.unpackbits(mark, count=rows.stop - rows.start))

    def row_blocks(self, numbers: "np.dtype[Any]") -> Iterator[memoryview]:
        """The bytes of the rows' numbers."""
        for rows, kept in self._kept():
            yield bytes_of((rows.start + kept).astype(numbers)).data

    def value_blocks(self) -> Iterator[memoryview]:
        """The bytes of the rows."""
        for rows, kept in self._kept():
            yield bytes_of(np.ascontiguousarray(self.array[rows][kept])).data


def _stretches(array: NDArray[Any]) -> Iterator[slice]:
    step = max(1, min(_ROWS, 8 * BLOCK // array[:1].nbytes))
    for start in range(0, len(array), step):
        yield slice(start, min(start + step, len(array)))


def _not_zero(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """For each row, whether any of its bytes is not zero."""
    table = bytes_of(np.ascontiguousarray(rows)).reshape(len(rows), -1)
    wide = table.view(np.uint64) if table.shape[1] % 8 == 0 else table
    return np.asarray((wide[:, 0] if wide.shape[1] == 1 else np.bitwise_or.reduce(wide, axis=1)) != 0)


def unfold(
    rows: NDArray[Any], dtype: "np.dtype[Any]", shape: tuple[int, ...], read: Callable[[NDArray[np.uint8]], None]
) -> NDArray[Any]:
    """The whole array, given the numbers of its rows; `read` fills bytes with those of the values that come next.

    >>> unfold(np.array([1, 3]), np.dtype(np.uint8), (5,), lambda block: block.fill(7)).tolist()
    [0, 7, 0, 7, 0]
    """
    if rows.size and not (rows[-1] < shape[0] and np.all(rows[:-1] < rows[1:])):
        raise ValueError(f"the numbers of its rows are not those of an array of shape {shape}, in order")
    whole = new_array(dtype, shape, zeros=True)
    for part in _stretches(whole) if rows.size else ():
        first, last = np.searchsorted(rows, np.array([part.start, part.stop], rows.dtype))
        block = new_array(dtype, (int(last - first), *shape[1:]))
        read(bytes_of(block))
        whole[rows[first:last]] = block
    return whole
