"""Rows of a table as a chunk: those with errors left out and listed, columns hashed where that is asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position, RowError
from massart.data.formats.labels import UNKNOWN, Labels, as_bytes, as_text
from massart.data.formats.table_columns import Column, Layout, column_hashes
from massart.data.row_errors import sentence
from massart.data.schema import Schema
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.tables import put_column, put_eight_columns, to_csr
from massart.values import Record

__all__ = ["Matrix", "Table", "converted", "frozen", "group_table", "is_importance", "rows_of_a_chunk"]

_BYTES: Final = 1 << 22  # of a dense chunk, and
_MOST_BYTES: Final = 1 << 26  # of one whose rows are long
_NO_WEIGHT: Final = np.empty(0)
_NO_LABELS: Final = np.empty(0)
_LONG: Final = 256  # characters of a label of which no more is shown
_SMALLEST, _LARGEST = 1e-50, 1e50  # an importance other than 0


def rows_of_a_chunk(width: int, most: int = 1 << 16) -> int:
    """How many rows are 2 to 4 MB; a power of 2, at least 64 unless that is more than 64 MB.

    >>> rows_of_a_chunk(1), rows_of_a_chunk(20), rows_of_a_chunk(100_000), rows_of_a_chunk(1_000_000)
    (65536, 16384, 64, 8)
    """
    size = 8 * max(1, width)
    rows = min(most, max(1, min(64, _MOST_BYTES // size), _BYTES // size))
    return 1 << (rows.bit_length() - 1)


def is_importance(weight: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of the weights a row may have: 0, or neither tiny nor huge.

    >>> is_importance(np.array([0.0, 2.5, -1.0, 1e60, np.nan])).tolist()
    [True, True, False, False, False]
    """
    return np.asarray(weight == 0.0) | ((weight >= _SMALLEST) & (weight <= _LARGEST))


def group_table(columns: Sequence[Sequence[Any]], count: int) -> NDArray[Any]:
    """(count, columns) of what columns hold, as a chunk has it.

    >>> group_table([["a", None], [1, 2]], 2).tolist()
    [['a', 1], [None, 2]]
    """
    table = np.empty((count, len(columns)), object)
    for place, column in enumerate(columns):
        table[:, place] = column
    return table


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for it alone, whether the memory is NumPy's or another's."""
    if not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view


def converted(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Contiguous numbers of a type, read-only; those it does not have become NaN or infinite, and errors later on."""
    if values.dtype == dtype:
        return frozen(np.ascontiguousarray(values))
    with np.errstate(invalid="ignore", over="ignore"):  # a signalling NaN is but a NaN
        return frozen(np.ascontiguousarray(values, dtype))


class Matrix(Record):
    """What is known of some rows while their columns are read one after the other."""

    values: NDArray[Any]  # (n, width): 0 where there is nothing, 1 where there is a category
    first: int  # rows of the file before these
    varying: dict[int, NDArray[np.uint32]] = {}  # hashes of the categories in a column
    errors: dict[int, tuple[str, str]] = {}  # row -> column, message: the first of each
    large: int = 0  # values that may not be as large as they are

    def put(self, first: int, columns: Sequence[NDArray[Any]]) -> None:
        """Fill neighbouring columns."""
        done = len(columns) // 8 * 8
        for j in range(0, done, 8):
            self.large += put_eight_columns(self.values, first + j, tuple(columns[j : j + 8]))
        for j in range(done, len(columns)):
            self.large += put_column(self.values, first + j, columns[j])


class Table:
    """How rows of one file become chunks."""

    def __init__(
        self,
        columns: Sequence[Column],
        layout: Layout,
        schema: Schema,
        where: str,
        *,
        labelled: bool,
        names: Sequence[str] | None = None,
    ) -> None:
        """`names` of the columns of the matrix, for messages; by default those of the schema."""
        self.layout, self.where, self.labelled = layout, where, labelled
        self._names = names or schema.columns or ()
        self.labels = Labels(schema.labels)
        self._label = "" if layout.label is None else columns[layout.label].name
        self._weight = "" if layout.weight is None else columns[layout.weight].name
        self._schema = schema
        self.hashes, spaces = column_hashes(columns, layout, schema) if schema.bits is not None else ([], b"")
        self._spaces = np.frombuffer(spaces if schema.crossings else b"", np.uint8)
        mask = (1 << (schema.bits or 0)) - 1
        self._mask = np.uint32(mask)
        self._fixed = np.array([number & mask for number in self.hashes], np.uint32)
        categories = any(feature.kind == "category" for feature in layout.features)
        self._merging = categories or np.unique(self._fixed).size < self._fixed.size

    def chunk(
        self,
        matrix: Matrix,
        y: NDArray[np.int8] | None,
        label: Callable[[int], Any],
        weight: NDArray[np.float64] | None,
        source: int,
        groups: Sequence[Sequence[Any]] = (),
    ) -> Chunk:
        """The chunk of a filled matrix; y may be UNKNOWN, `label` gives the label of a row as the file has it.

        `groups` holds the columns of groups.
        """
        names = _NO_LABELS
        if self.labels.are_many:
            labelled = np.flatnonzero(y == 1).tolist() if y is not None else []
            every = dict.fromkeys(range(matrix.values.shape[0])) | {row: label(row) for row in labelled}
            names = self.labels.names(list(every.values()))
        count = matrix.values.shape[0]
        y = np.zeros(count, np.int8) if y is None else y
        errors = self._errors(matrix, y, label, weight)
        lines = np.arange(matrix.first + 1, matrix.first + count + 1, dtype=np.int64)
        values, varying, named_groups = matrix.values, matrix.varying, group_table(groups, count)
        unknown = set(np.flatnonzero(y == UNKNOWN).tolist()) if self.labelled and errors else set()
        if not self.labelled:
            y = np.where(y == UNKNOWN, 0, y).astype(np.int8)
        if errors:
            keep = np.ones(count, np.bool_)
            keep[list(errors)] = False
            values, y, lines, named_groups = values[keep], y[keep], lines[keep], named_groups[keep]
            names = names[keep] if names.size else names
            weight = None if weight is None else weight[keep]
            varying = {j: numbers[keep] for j, numbers in varying.items()}
        if weight is None or bool((weight == 1.0).all()):
            weight = _NO_WEIGHT
        end = Position(source, matrix.first + count, matrix.first + count)
        named = tuple(
            RowError(
                self.where,
                matrix.first + row + 1,
                *errors[row],
                as_text(label(row))[:_LONG] if row in unknown else None,
            )
            for row in sorted(errors)
        )
        rows, spaces = values, self._spaces[:0]
        if self._schema.bits is not None:
            rows, spaces = self._csr(values, varying)
        width = self._schema.width or values.shape[1]
        crossings = self._schema.crossings
        return Chunk(
            rows,
            width,
            y,
            weight,
            end,
            lines,
            named,
            spaces,
            crossings,
            source=self.where,
            groups=named_groups,
            labels=names,
        )

    def _csr(self, values: NDArray[Any], varying: Mapping[int, NDArray[np.uint32]]) -> Any:
        count, width = values.shape
        which = np.full(width, -1, np.int64)
        which[list(varying)] = np.arange(len(varying))
        moving = np.empty((len(varying), count), np.uint32)
        for number, hashes in enumerate(varying.values()):
            np.bitwise_and(hashes, self._mask, out=moving[number])
        data, indices = np.empty(values.size), np.empty(values.size, np.uint32)
        indptr = np.empty(count + 1, np.uint32)
        spaces = np.empty(values.size if self._spaces.size else 0, np.uint8)
        out = data, indices, indptr, spaces
        used = to_csr(values, self._fixed, which, moving, self._merging, self._spaces, out)
        return (data[:used], indices[:used], indptr), spaces[:used]

    def _errors(
        self,
        matrix: Matrix,
        y: NDArray[np.int8],
        label: Callable[[int], Any],
        weight: NDArray[np.float64] | None,
    ) -> dict[int, tuple[str, str]]:
        """The first error of each row that has one: of its label, its weight, its features in order."""
        errors: dict[int, tuple[str, str]] = {}
        if self.labelled:
            for row in np.flatnonzero((y == UNKNOWN) | (y == 0)).tolist():
                errors[row] = (self._label, self.labels.message(label(row)))
        if weight is not None:
            for row in np.flatnonzero(~is_importance(weight)).tolist():
                errors.setdefault(row, (self._weight, self._sentence(codes.WEIGHT, weight[row])))
        for row, found in matrix.errors.items():
            errors.setdefault(row, found)
        if matrix.large:
            large = ~(np.abs(converted(matrix.values, np.float64)) <= codes.LARGEST)
            for row in np.flatnonzero(large.any(axis=1)).tolist():
                j = int(np.argmax(large[row]))
                value = matrix.values[row, j]
                code = codes.TOO_LARGE if np.isfinite(value) else codes.NOT_FINITE
                errors.setdefault(row, (self._names[j], self._sentence(code, value)))
        return errors

    def _sentence(self, code: int, value: Any) -> str:
        return sentence(code, b"" if value != value else as_bytes(value), self._schema)  # noqa: PLR0124
