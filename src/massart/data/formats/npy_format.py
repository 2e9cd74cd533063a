"""NumPy arrays in .npy files: rows of numbers, or records with named fields.

NaN means that the feature is absent, which counts as 0; so does an empty text in a record.
"""

from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position
from massart.data.formats.npy_columns import columns_of, is_float32, layout_of, with_columns
from massart.data.formats.npy_files import Header, Rows, header, rows_from, valid_text
from massart.data.formats.table_chunks import Matrix, Table, converted, rows_of_a_chunk
from massart.data.formats.table_labels import NEGATIVE, as_bytes, with_labels
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.names import name_hash
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing.tables import put_block

__all__ = ["chunks", "label_file", "settle"]

_HEAD_CHUNKS: Final = 16  # that are looked at for a second label, or
_MOST_HEAD: Final = 1 << 22  # rows, where labels are text


def settle(source: Source, schema: Schema, *, labelled: bool = True) -> Schema:
    """The reading with the names of all columns, and the two labels if they are text.

    Columns without names are asked for by number. The label is the first, unless `reading.label` says which it is,
    counted from 1 or -1 for the last, or names another .npy file with one label for each row.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file.name, np.array([[0, 1.5, 2.0], [1, np.nan, 4.0]]))
    ...     schema = settle(Source(file.name), Schema(format="npy"))
    ...     (chunk,) = chunks(Source(file.name), schema, Position())
    >>> schema.label, schema.columns, chunk.rows.tolist(), chunk.y.tolist()
    ('1', ('1', '2'), [[1.5, 2.0], [0.0, 4.0]], [-1, 1])
    """
    of, apart = header(source), label_file(source, schema)
    columns = columns_of(of, source.name)
    layout = layout_of(columns, of, schema, source.name, labelled=labelled, apart=apart is not None)
    if schema.columns is None or schema.width is None:
        schema = with_columns(columns, layout, of, schema, apart=apart is not None)
    if not labelled:
        return schema
    own = _labels_header(apart, of.shape[0]) if apart is not None else None  # refuses labels of another number of rows
    if schema.labels is not None:
        return schema
    if apart is not None and own is not None:
        return with_labels(schema, _labels_in_head(apart, own, None), apart.name)
    if layout.label is not None:
        place = columns[layout.label].name if of.dtype.names is not None else layout.label
        return with_labels(schema, _labels_in_head(source, of, place), source.name)
    return schema


def chunks(
    source: Source,
    schema: Schema,
    start: Position,
    *,
    workers: int = 2,
    tags: bool = False,
    labelled: bool = True,
) -> Iterator[Chunk]:
    """The rows of a file from a row on, 2 to 4 MB at a time, with `workers` threads converting ahead."""
    of, apart = header(source), label_file(source, schema)
    convert = _Converter(source, of, schema, start.source, labelled=labelled, apart=apart is not None)
    size = int(np.prod(of.shape[1:], dtype=object)) * of.dtype.itemsize
    rows = rows_of_a_chunk(max(convert.table.layout.width, size // 8))
    found: Iterator[Any] = zip(rows_from(source, of, start.offset, rows), repeat(None))
    if apart is not None and labelled:
        if start.source > 0:
            raise InvalidDataError(f"{apart.name} has the labels of one file: give one, or put the labels into each")
        theirs = rows_from(apart, _labels_header(apart, of.shape[0]), start.offset, rows)
        found = zip(rows_from(source, of, start.offset, rows), theirs, strict=True)
    return in_order(convert, found, workers)


class _Converter:
    """Rows of one file, with their labels if those are in another, to chunks."""

    def __init__(self, source: Source, of: Header, schema: Schema, number: int, *, labelled: bool, apart: bool) -> None:
        columns = columns_of(of, source.name)
        layout = layout_of(columns, of, schema, source.name, labelled=labelled, apart=apart)
        self._named = of.dtype.names is not None
        names = None if self._named else [columns[feature.column].name for feature in layout.features]
        self.table = Table(columns, layout, schema, source.name, labelled=labelled, names=names)
        self._columns, self._source = columns, number
        narrow = schema.bits is None and is_float32(of, layout)
        self._dtype = np.dtype(np.float32 if narrow else np.float64)
        self._chosen = np.array([feature.column for feature in layout.features], np.uint64)
        # Rows of numbers in the order of rows are copied at once; all else column by column.
        self._at_once = not (self._named or of.by_columns or any(f.kind != "number" for f in layout.features))

    def __call__(self, part: tuple[Rows, Rows | None]) -> Chunk:
        (first, rows), labels = part
        layout = self.table.layout
        matrix = Matrix(np.empty((len(rows), layout.width), self._dtype), first)
        if self._at_once:
            block = converted(rows, self._dtype)
            matrix.large += put_block(matrix.values, 0, block, self._chosen)
        else:
            self._put_columns(rows, matrix)
        given = None
        if labels is not None:
            given = labels.values.reshape(-1)
        elif layout.label is not None:
            given = self._column(rows, layout.label)
        y, label = _meaning(None if given is None else valid_text(given, self.table.where, first), self.table)
        weight = None if layout.weight is None else converted(self._column(rows, layout.weight), np.float64)
        return self.table.chunk(matrix, y, label, weight, self._source)

    def _column(self, rows: NDArray[Any], number: int) -> NDArray[Any]:
        return rows[self._columns[number].name] if self._named else rows[:, number]

    def _put_columns(self, rows: NDArray[Any], matrix: Matrix) -> None:
        waiting: list[NDArray[Any]] = []  # neighbouring columns of numbers: together they are written faster
        for feature in self.table.layout.features:
            values = self._column(rows, feature.column)
            if feature.kind == "number":
                waiting.append(converted(values, self._dtype))
                continue
            matrix.put(feature.first - len(waiting), waiting)
            waiting = []
            if feature.kind == "category":
                texts = valid_text(values, self.table.where, matrix.first)
                hashes, present = _name_hashes(texts, self.table.hashes[feature.first])
                matrix.varying[feature.first] = hashes
                matrix.put(feature.first, [converted(present, self._dtype)])
            else:
                block = converted(values, self._dtype)
                matrix.large += put_block(matrix.values, feature.first, block, np.arange(feature.size, dtype=np.uint64))
        matrix.put(self.table.layout.width - len(waiting), waiting)


def _meaning(given: NDArray[Any] | None, table: Table) -> tuple[NDArray[np.int8] | None, Callable[[int], Any]]:
    if given is None:
        return None, lambda row: None
    if given.dtype.kind not in "SUb":
        return table.labels.of_numbers(converted(given, np.float64)), lambda row: given[row].item()
    values, places = np.unique(given, return_inverse=True)
    return table.labels.of_values(values.tolist())[places], lambda row: given[row].item()


def _name_hashes(values: NDArray[Any], seed: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The hashes of names, and which of them are there: NaN and empty text are not."""
    different, places = np.unique(values, return_inverse=True)
    names = [b"" if value != value else as_bytes(value) for value in different.tolist()]  # noqa: PLR0124 - NaN
    hashes = np.array([name_hash(name, seed) for name in names], np.uint32)
    return hashes[places], np.array([bool(name) for name in names])[places]


def label_file(source: Source, schema: Schema) -> Source | None:
    """The file with the labels, beside the source if it is not where it is said to be."""
    if schema.label is None or not schema.label.lower().endswith((".npy", ".npy.gz", ".npy.zst", ".npy.bz2")):
        return None
    path = Path(schema.label)
    if source.path is not None and not path.exists() and (source.path.parent / path).exists():
        path = source.path.parent / path
    return Source(path)


def _labels_header(source: Source, count: int) -> Header:
    of = header(source)
    sound = of.dtype.kind in "fiubSU" and of.shape in ((count,), (count, 1))
    if not sound:
        raise InvalidDataError(
            f"{source.name} is an array of {of.dtype} of shape {of.shape}: it must hold one label for each of "
            f"{count:,} rows"
        )
    return of._replace(by_columns=False)


def _labels_in_head(source: Source, of: Header, place: str | int | None) -> set[Any]:
    """The labels in the first rows; as many rows more as it takes to find a second one, within reason."""
    found: set[Any] = set()
    step = rows_of_a_chunk(int(np.prod(of.shape[1:], dtype=object)) * of.dtype.itemsize // 8)
    words = (of.dtype[place] if isinstance(place, str) else of.dtype).kind in "SU"
    most = _MOST_HEAD if words else _HEAD_CHUNKS * step
    try:
        for first, rows in rows_from(source, of, 0, step, looking=True):
            column = rows[:, place] if isinstance(place, int) else rows if place is None else rows[place]
            found.update(np.unique(valid_text(column, source.name, first)).tolist())
            if len(found) > 1 or found & NEGATIVE or first + step >= most:
                break
    except InvalidDataError:  # what comes before the damage is handed out first
        if words:
            raise
    return found
