"""Parquet and Arrow files: columns of numbers become dense rows; where there is text, all are hashed to CSR rows.

A null and a NaN both mean that the feature is absent, which counts as 0; so does an empty text, as in CSV.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position
from massart.data.formats import arrow_columns
from massart.data.formats.arrow_files import Batch, arrow_schema, batches, in_words, pyarrow
from massart.data.formats.table_chunks import Matrix, Table, frozen, rows_of_a_chunk
from massart.data.formats.table_columns import Column, Kind, choose, doubt, settled
from massart.data.formats.table_labels import NEGATIVE, with_labels
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.schema import Schema
from massart.errors import InvalidDataError

__all__ = ["chunks", "doubts", "settle"]

_HEAD: Final = 1 << 16  # rows in which both labels should be
_LOOKED_AT: Final = 1000  # rows whose text may look like numbers
_REMEDY: Final = "cast the column to numbers before, or pass `--categorical {name}` if they are names"
_MOST_HEAD: Final = 1 << 22  # rows that are looked at when they are not, as in a file that is sorted


def settle(source: Source, schema: Schema, *, labelled: bool = True) -> Schema:
    """The reading with the names of all columns, and the two labels if they are text.

    >>> import tempfile, pyarrow, pyarrow.parquet
    >>> table = pyarrow.table({"y": [0, 1], "age": [30, None], "town": ["Rome", "Oslo"]})
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pyarrow.parquet.write_table(table, file.name)
    ...     schema = settle(Source(file.name), Schema(format="parquet"))
    ...     (chunk,) = chunks(Source(file.name), schema, Position())
    >>> schema.columns, schema.categorical, chunk.rows[0].tolist(), chunk.y.tolist()
    (('age', 'town'), ('town',), [30.0, 1.0, 1.0], [-1, 1])
    """
    columns = _columns(source, arrow_schema(source))
    layout = choose(columns, schema, source.name, labelled=labelled)
    if schema.columns is None or schema.width is None:
        schema = settled(columns, layout, schema)
    if layout.label is not None and labelled and schema.labels is None and not columns[layout.label].is_flag:
        label = columns[layout.label]
        found = _labels_in_head(source, label.name, words=label.kind == "category")
        return with_labels(schema, found, source.name)
    return schema


def doubts(source: Source, schema: Schema, asked: Sequence[str]) -> list[str]:
    """What is to be said of columns of text, but those asked for, whose values look like numbers."""
    texts = {entry.name for entry in arrow_schema(source) if arrow_columns.is_text(entry.type)}
    names = [name for name in schema.categorical if name in texts and name not in asked]
    if not names:
        return []
    found = []
    try:
        batch = next(batches(source, names, 0, _LOOKED_AT, looking=True), None)
        if batch is None:
            return []
        for name in names:
            column = batch.columns.column(batch.columns.schema.names.index(name))
            with in_words(source, 0):
                places, values = arrow_columns.distinct(column)
            own = [value for value in (values[place] for place in places.tolist() if place >= 0) if value]
            found.append(doubt(source.name, name, own, (0, 0), _REMEDY))
    except InvalidDataError:  # damage is reported where it is reached
        return []
    return [words for words in found if words is not None]


def chunks(
    source: Source,
    schema: Schema,
    start: Position,
    *,
    workers: int = 2,
    tags: bool = False,
    labelled: bool = True,
) -> Iterator[Chunk]:
    """The rows of a file from a row on, 2 to 4 MB at a time, with `workers` threads decoding ahead."""
    columns = _columns(source, arrow_schema(source))
    convert = _Converter(source, columns, schema, start.source, labelled=labelled)
    rows = rows_of_a_chunk(convert.table.layout.width)
    return in_order(convert, batches(source, convert.names, start.offset, rows, lanes=workers), workers)


class _Converter:
    """Record batches of one file to chunks."""

    def __init__(self, source: Source, columns: list[Column], schema: Schema, number: int, *, labelled: bool) -> None:
        layout = choose(columns, schema, source.name, labelled=labelled)
        self.table = Table(columns, layout, schema, source.name, labelled=labelled)
        self._columns, self._source, self._file = columns, number, source
        used = [layout.label, layout.weight, *(feature.column for feature in layout.features)]
        self.names = [columns[one].name for one in dict.fromkeys(used) if one is not None]
        types = {entry.name: entry.type for entry in arrow_schema(source)}
        whole = [types[columns[feature.column].name] for feature in layout.features]
        narrow = schema.bits is None and all(map(arrow_columns.is_float32, whole))
        self._dtype = np.dtype(np.float32 if narrow else np.float64)
        self._numbers = [
            arrow_columns.numbers_of(kind, self._dtype) if feature.kind == "number" else None
            for feature, kind in zip(layout.features, whole, strict=True)
        ]
        # A flag as a label is read like text: it may be called true and false.
        self._plain = {
            one: arrow_columns.numbers_of(types[columns[one].name], np.dtype(np.float64))
            for one in (layout.label, layout.weight)
            if one is not None and columns[one].kind == "number" and (one != layout.label or not columns[one].is_flag)
        }

    def __call__(self, batch: Batch) -> Chunk:
        with in_words(self._file, batch.first):
            return self._chunk(batch)

    def _chunk(self, batch: Batch) -> Chunk:
        layout = self.table.layout
        arrays = dict(zip(batch.columns.schema.names, batch.columns.columns, strict=True))
        matrix = Matrix(np.empty((batch.columns.num_rows, layout.width), self._dtype), batch.first)
        waiting: list[NDArray[Any]] = []  # neighbouring columns of numbers: together they are written faster
        for feature, numbers in zip(layout.features, self._numbers, strict=True):
            name = self._columns[feature.column].name
            if numbers is not None:
                waiting.append(numbers(arrays[name]))
                continue
            matrix.put(feature.first - len(waiting), waiting)
            waiting = []
            if feature.kind == "category":
                hashes, present = arrow_columns.name_hashes(arrays[name], self.table.hashes[feature.first])
                matrix.varying[feature.first] = hashes
                matrix.put(feature.first, [frozen(present.astype(self._dtype))])
            else:
                arrow_columns.put_vectors(arrays[name], feature, matrix, name)
        matrix.put(layout.width - len(waiting), waiting)
        y, label = self._labels(arrays)
        weight = None
        if layout.weight is not None:
            weight = self._plain[layout.weight](arrays[self._columns[layout.weight].name])
        return self.table.chunk(matrix, y, label, weight, self._source)

    def _labels(self, arrays: dict[str, Any]) -> tuple[NDArray[np.int8] | None, Callable[[int], Any]]:
        """What the labels mean, and what they are."""
        number = self.table.layout.label
        if number is None:
            return None, lambda row: None
        array = arrays[self._columns[number].name]
        if number in self._plain:
            numbers = self._plain[number](array)
            return self.table.labels.of_numbers(numbers), lambda row: float(numbers[row])
        places, values = arrow_columns.distinct(array)
        values.append(None)
        return self.table.labels.of_values(values)[places], lambda row: values[places[row]]


def _columns(source: Source, of: Any) -> list[Column]:
    """The columns of a file and what can be made of them; the size of a list is that of the first one."""
    found: list[Column] = []
    times = Counter(of.names)
    for entry in of:
        kind: Kind = arrow_columns.kind_of(entry.type)
        size = 1
        if kind == "vector" and times[entry.name] == 1:  # several columns of one name are refused later on
            fixed = pyarrow("types").is_fixed_size_list(entry.type)
            size = entry.type.list_size if fixed else _first_length(source, entry.name)
        found.append(Column(entry.name, kind, size, str(entry.type), pyarrow("types").is_boolean(entry.type)))
    return found


def _first_length(source: Source, name: str) -> int:
    """The size of the first list in a column; 0 if the first rows have none."""
    for batch in batches(source, [name], 0, 1024, looking=True):
        with in_words(source, batch.first):
            lengths = batch.columns.column(0).drop_null().value_lengths().to_numpy(zero_copy_only=False)
        if lengths.size:
            return int(lengths[0])
        if batch.first >= _HEAD:
            break
    return 0


def _labels_in_head(source: Source, name: str, *, words: bool) -> set[Any]:
    """The labels in the first rows; as many rows more as it takes to find a second one, within reason."""
    found: set[Any] = set()
    try:
        for batch in batches(source, [name], 0, _HEAD, looking=True):
            with in_words(source, batch.first):
                places, values = arrow_columns.distinct(batch.columns.column(0))
            found.update(values[place] for place in np.unique(places).tolist() if place >= 0)
            if len(found) > 1 or found & NEGATIVE or batch.first >= _MOST_HEAD:
                break
    except InvalidDataError:
        if words and not source.is_pipe:  # what is seen of a pipe may end anywhere
            raise
    return found
