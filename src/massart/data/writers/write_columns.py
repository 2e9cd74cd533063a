"""What the columns and labels of written rows are called, and rows in the two shapes that formats ask for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.data.formats.table_labels import is_number
from massart.data.schema import Schema
from massart.errors import InvalidParameterError

__all__ = ["LABEL", "TABLES", "WEIGHT", "Heading", "dense_blocks", "number_texts", "sparse"]

LABEL, WEIGHT = "label", "weight"  # what the columns of labels and importances are called
TABLES: Final = ("csv", "parquet", "arrow", "npy")  # formats in which every row has a cell in every column
_MOST_COLUMNS: Final = 4096  # of a table
_CELLS: Final = 1 << 19  # of dense rows that are made at once
_NOT_IN_VW: Final = re.compile(r"[\s:|\x00-\x1f]")


@dataclass(frozen=True)
class Heading:
    """How columns, labels and importances are written.

    Columns that were counted go by their names, or their numbers from 1. Of columns that were hashed the names are
    gone: column c is written as the number c, and column 0 as 2**bits, which hashing to as many columns gives back.
    """

    format: str
    labels: tuple[str, str]
    numeric: bool  # whether both labels are numbers
    names: tuple[str, ...] | None
    bits: int | None
    width: int | None
    weighted: bool

    @classmethod
    def of(cls, schema: Schema, to: str, *, weighted: bool) -> "Heading":
        """What rows that were read so are called in another format.

        >>> Heading.of(Schema("csv", features=2, columns=("age", "old town")), "vw", weighted=False).names
        ('age', 'old_town')
        """
        labels = schema.labels or ("-1", "1")
        numeric = all(map(is_number, labels))
        if not numeric and to in ("svmlight", "vw", "npy"):
            labels, numeric = ("-1", "1"), True
        names = None if schema.bits is not None else schema.columns
        width = schema.width
        if names is not None:
            width = len(names)
            if names == tuple(map(str, range(1, width + 1))):
                names = None
        if to in TABLES:
            _check_width(width, to, hashed=schema.bits is not None)
        if names is not None and to != "svmlight":
            names = _checked(names, to, weighted=weighted)
        return cls(to, labels, numeric, names, schema.bits, width, weighted)

    @property
    def label_numbers(self) -> tuple[float, float]:
        """The two labels as numbers."""
        return float(self.labels[0]), float(self.labels[1])

    def numbers(self, columns: NDArray[np.uint32]) -> NDArray[np.int64]:
        """What stands for columns of a chunk where they have no names."""
        if self.bits is None:
            return columns.astype(np.int64) + 1
        return np.where(columns == 0, 1 << self.bits, columns.astype(np.int64))

    def feature_names(self) -> tuple[str, ...]:
        """One for each column of a table."""
        return self.names or tuple(map(str, range(1, (self.width or 0) + 1)))


def number_texts(values: NDArray[Any]) -> list[str]:
    """Numbers as the shortest texts from which the same float64 is read, bit for bit.

    >>> number_texts(np.array([1.0, 0.1, -2.5e-7, 1e16]))
    ['1', '0.1', '-2.5e-07', '1e+16']
    """
    return [text.removesuffix(".0") for text in map(repr, values.astype(np.float64).ravel().tolist())]


def sparse(chunk: Chunk) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]]:
    """(values, columns, starts) of the entries that are not 0."""
    if chunk.is_sparse:
        data, indices, indptr = chunk.rows
        return data, indices, indptr.astype(np.int64)
    rows, columns = np.nonzero(chunk.rows)
    starts = np.searchsorted(rows, np.arange(len(chunk) + 1))
    return chunk.rows[rows, columns].astype(np.float64), columns.astype(np.uint32), starts


def dense_blocks(chunk: Chunk, heading: Heading) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Some rows of the chunk after the other, with a cell for every column, in the order of `feature_names`."""
    width = heading.width or 0
    if chunk.width > width:
        raise InvalidParameterError(
            f"{chunk.source}: rows have {chunk.width:,} columns, more than the {width:,} announced: give features"
        )
    step = max(1, _CELLS // max(1, width))
    for first in range(0, len(chunk), step):
        part = slice(first, min(len(chunk), first + step))
        if chunk.is_sparse:
            data, indices, indptr = chunk.rows
            begin, end = int(indptr[part.start]), int(indptr[part.stop])
            rows = np.repeat(np.arange(part.stop - first), np.diff(indptr[part.start : part.stop + 1]))
            cells = np.zeros((part.stop - first, width))
            cells[rows, indices[begin:end]] = data[begin:end]
        else:
            cells = np.zeros((part.stop - first, width))
            cells[:, : chunk.rows.shape[1]] = chunk.rows[part]
        if heading.bits is not None:
            cells = np.roll(cells, -1, axis=1)  # column 0 goes by the largest number
        yield part, cells


def _check_width(width: int | None, to: str, *, hashed: bool) -> None:
    if width is None:
        raise InvalidParameterError(f"{to} has a cell for every column, so their number must be known: give features")
    if width > _MOST_COLUMNS:
        less = " (or hash to fewer, -b 12 or less)" if hashed else ""
        raise InvalidParameterError(
            f"{to} would have {width:,} columns, nearly all of them 0: write svmlight instead{less}"
        )


def _checked(names: Sequence[str], to: str, *, weighted: bool) -> tuple[str, ...]:
    """The names as a format can hold them, if all of them stay different."""
    written = tuple(_NOT_IN_VW.sub("_", name) for name in names) if to == "vw" else tuple(names)
    if len(set(written)) < len(written):
        first = next(name for name in written if written.count(name) > 1)
        which = " and ".join(repr(name) for name, own in zip(names, written, strict=True) if own == first)
        raise InvalidParameterError(f"columns {which} would both be called {first!r} in {to}: rename one")
    for taken, what in ((LABEL, "the label"), (WEIGHT, "the importance")):
        if to in ("csv", "jsonl", "parquet", "arrow") and taken in written and (taken == LABEL or weighted):
            raise InvalidParameterError(
                f"a feature is called {taken!r}, as {what} will be: rename it, or leave it out with --ignore {taken}"
            )
    return written
