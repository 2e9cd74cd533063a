"""How an array lies in a model file: described in the header, its bytes in NumPy's own format.

A piece is one member of the file. An array is one piece, NAME.npy; or two if it is folded, NAME.rows.npy and
NAME.values.npy. Nothing here copies an array: bytes pass in blocks.

Of an array most of whose rows are zero, only the other rows and their numbers are stored: it is folded. The weights of
four million hashed features, of which a stream has shown a thousand, would be 400 MB, and are a file of 100 kB. A row
is zero if all its bytes are: -0.0 is not. Unfolded, the zeros are memory that is not touched. A pool that keeps only
columns that occurred gives `SparseRows`; the file is the same as that of the whole array.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.learners.sparse_rows import SparseRows
from massart.models.container import ALIGNMENT
from massart.values import Value

__all__ = [
    "BLOCK",
    "MOST_FOLDED",
    "Described",
    "Folding",
    "Piece",
    "byte_blocks",
    "bytes_of",
    "is_plain",
    "new_array",
    "unfold",
]

BLOCK = 1 << 20  # bytes that are read, written or hashed at a time
_KINDS = "biufcSUmM"  # booleans, numbers, text and dates
_LEAST = 4096  # rows, below which nothing is gained
_ROWS = 1 << 16  # looked at at a time
_NARROW = 16  # numbers in a row
# Bytes of all folded arrays of a file, together. A forged file of a few bytes must not claim all memory.
MOST_FOLDED = 1 << 33


def is_plain(dtype: "np.dtype[Any]") -> bool:
    """Whether a model file holds such things: numbers, text and dates, never objects."""
    return dtype.kind in _KINDS and dtype.itemsize > 0


class Piece(NamedTuple):
    """An array as it is stored."""

    name: str  # of the member
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]

    @property
    def prefix(self) -> bytes:
        """What comes before the numbers: the header of NumPy's format, version 1.0.

        >>> Piece("w.npy", np.dtype(np.float64), (3,)).prefix[10:].split(b"  ")[0]
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
        """
        words = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': {self.shape!r}, }}".encode()
        words += b" " * (-(10 + len(words) + 1) % ALIGNMENT) + b"\n"
        return b"\x93NUMPY\1\0" + len(words).to_bytes(2, "little") + words

    @property
    def nbytes(self) -> int:
        """Of the numbers alone; Python's whole numbers do not overflow, whatever a forged shape says."""
        return prod(self.shape) * self.dtype.itemsize


class Described(Value):
    """What the header says about an array."""

    name: str
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    folded: int | None = None  # rows that are stored, if not all of them are
    sha256: str = ""  # of the bytes of all pieces

    @property
    def pieces(self) -> list[Piece]:
        """The members that hold it."""
        if self.folded is None:
            return [Piece(f"{self.name}.npy", self.dtype, self.shape)]
        numbers = np.dtype("<u4" if self.shape[0] < 1 << 32 else "<u8")
        return [
            Piece(f"{self.name}.rows.npy", numbers, (self.folded,)),
            Piece(f"{self.name}.values.npy", self.dtype, (self.folded, *self.shape[1:])),
        ]

    @property
    def nbytes(self) -> int:
        """Of the whole array."""
        return Piece(self.name, self.dtype, self.shape).nbytes

    def as_dict(self) -> dict[str, Any]:
        """For the header; `from_dict` gives it back."""
        own = {"dtype": self.dtype.str, "shape": list(self.shape), "sha256": self.sha256}
        return own if self.folded is None else own | {"folded": self.folded}

    @classmethod
    def from_dict(cls, name: str, facts: Any) -> "Described":
        """From the header of a file, which may say anything; a ValueError says what cannot be."""
        facts = facts if isinstance(facts, dict) else {}
        words, shape, folded, sha256 = (facts.get(key) for key in ("dtype", "shape", "folded", "sha256"))
        try:
            dtype = np.dtype(words if isinstance(words, str) else "")
        except (TypeError, ValueError, SyntaxError):
            raise ValueError(f"array {name!r} has the unknown type {words!r}") from None
        whole = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        if dtype.str != words or not is_plain(dtype) or not whole:
            raise ValueError(f"array {name!r} has type {words!r} and shape {shape!r}, which no array has")
        if not isinstance(sha256, str):
            raise ValueError(f"array {name!r} has no checksum")  # noqa: TRY004  one kind of error for all of them
        if folded is not None and not (type(folded) is int and shape and all(shape[1:]) and 0 <= folded <= shape[0]):
            raise ValueError(f"array {name!r} of shape {shape!r} has {folded!r} rows that are stored")
        return cls(name, dtype, tuple(shape), folded, sha256)


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a C-ordered array, where they lie."""
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


def byte_blocks(array: NDArray[Any] | SparseRows) -> Iterator[memoryview]:
    """The bytes of any array in C order, block by block; only blocks are copied, and those only if they must be.

    >>> [block.nbytes for block in byte_blocks(np.zeros((3, 100_000)))]
    [1048576, 1048576, 302848]
    """
    if isinstance(array, SparseRows):
        for start in range(0, len(array), _ROWS):
            yield from byte_blocks(array[start : start + _ROWS])
    elif array.flags.c_contiguous:
        whole = bytes_of(array).data
        for start in range(0, whole.nbytes, BLOCK):
            yield whole[start : start + BLOCK]
    elif array[:1].nbytes > BLOCK:
        for part in array:
            yield from byte_blocks(part)
    else:
        rows = max(1, BLOCK // array[:1].nbytes)
        for start in range(0, len(array), rows):
            yield bytes_of(np.ascontiguousarray(array[start : start + rows])).data


def new_array(dtype: "np.dtype[Any]", shape: tuple[int, ...], *, zeros: bool = False) -> NDArray[Any]:
    """An array that begins with a cache line, as a pool's weights like it; zeros cost nothing until touched."""
    size = Piece("", dtype, shape).nbytes
    if size == 0:
        return np.zeros(shape, dtype)
    space = (np.zeros if zeros else np.empty)(size + ALIGNMENT, np.uint8)
    first = -space.ctypes.data % ALIGNMENT
    return space[first : first + size].view(dtype).reshape(shape)


class Folding:
    """Which rows of an array are not zero: one bit for each."""

    def __init__(self, array: NDArray[Any] | SparseRows, marks: list[NDArray[np.uint8]], count: int) -> None:
        self.array = array
        self.count = count  # of rows that are not zero
        self._marks = marks  # packed bits, for each stretch of rows, or of rows that sparse ones store

    @classmethod
    def of(cls, array: NDArray[Any] | SparseRows) -> "Folding | None":
        """None if the array is small, or at least half of its rows are not zero.

        >>> sparse = np.zeros((10_000, 3))
        >>> sparse[[5, 900]] = 1.0
        >>> Folding.of(sparse).count, Folding.of(sparse + 1.0)
        (2, None)
        """
        if array.ndim == 0 or len(array) < _LEAST or array.size == 0:
            return None
        marks, count = [], 0
        for part in _stretches(array):
            mark = _not_zero(_stored(array, part))
            count += int(np.count_nonzero(mark))
            if 2 * count >= len(array):
                return None
            marks.append(np.packbits(mark))
        return cls(array, marks, count)

    def _kept(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        for part, mark in zip(_stretches(self.array), self._marks, strict=True):
            yield part, np.flatnonzero(np.unpackbits(mark, count=part.stop - part.start))

    def row_blocks(self, numbers: "np.dtype[Any]") -> Iterator[memoryview]:
        """The bytes of the rows' numbers."""
        for part, kept in self._kept():
            found = self.array.numbers[part][kept] if isinstance(self.array, SparseRows) else part.start + kept
            yield bytes_of(found.astype(numbers)).data

    def value_blocks(self) -> Iterator[memoryview]:
        """The bytes of the rows."""
        for part, kept in self._kept():
            yield bytes_of(np.ascontiguousarray(_stored(self.array, part)[kept])).data


def _stored(array: NDArray[Any] | SparseRows, part: slice) -> NDArray[Any]:
    """Rows of an array, or of those that sparse ones store."""
    return array.stored(part) if isinstance(array, SparseRows) else array[part]


def _stretches(array: NDArray[Any] | SparseRows) -> Iterator[slice]:
    """Rows of an array, or of those that sparse ones store, some at a time."""
    count = array.numbers.size if isinstance(array, SparseRows) else len(array)
    step = max(1, min(_ROWS, 8 * BLOCK // max(1, array.nbytes // len(array)))) if count else 1
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _not_zero(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """For each row, whether any of its bytes is not zero."""
    table = bytes_of(np.ascontiguousarray(rows)).reshape(len(rows), -1)
    wide = table.view(np.uint64) if table.shape[1] % 8 == 0 else table
    if wide.shape[1] > _NARROW:
        return np.asarray(np.bitwise_or.reduce(wide, axis=1) != 0)
    found = wide[:, 0].copy()
    for column in range(1, wide.shape[1]):  # many short rows: quicker column by column
        found |= wide[:, column]
    return np.asarray(found != 0)


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
