"""Parquet and Arrow files: columns of numbers become dense rows; where there is text, all are hashed to CSR rows.

A null and a NaN both mean that the feature is absent, which counts as 0; so does an empty text, as in CSV.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position
from massart.data.formats import Format
from massart.data.formats.arrow_files import Batch, arrow_schema, batches, error_messages, pyarrow
from massart.data.formats.labels import NEGATIVE, as_bytes, with_labels
from massart.data.formats.table_chunks import Matrix, Table, converted, frozen, rows_of_a_chunk
from massart.data.formats.table_columns import Column, Feature, Kind, choose, column_warning, completed
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.row_errors import TooLarge
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing.tables import hash_texts, put_block

__all__ = ["ArrowFormat", "Converter", "distinct", "name_hashes"]

_HEAD: Final = 1 << 16  # rows in which both labels should be
_LOOKED_AT: Final = 1000  # rows whose text may look like numbers
_REMEDY: Final = "cast the column to numbers before, or pass `categorical=[{name}]` if they are names"
_MOST_HEAD: Final = 1 << 22  # rows that are looked at when they are not, as in a file that is sorted
_TEXT: Final = 1 << 26  # bytes of text that are written out at once

Numbers = Callable[[Any], NDArray[Any]]


class ArrowFormat(Format):
    """Parquet and Arrow, both the file format (Feather) and the stream format."""

    def complete(self, source: Source, schema: Schema) -> Schema:
        """The schema with the names of all columns, and the two labels if they are text.

        >>> import tempfile, pyarrow, pyarrow.parquet
        >>> table = pyarrow.table({"y": [0, 1], "age": [30, None], "town": ["Rome", "Oslo"]})
        >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        ...     pyarrow.parquet.write_table(table, file.name)
        ...     schema = ArrowFormat().complete(Source(file.name), Schema(format="parquet"))
        ...     (chunk,) = ArrowFormat().chunks(Source(file.name), schema, Position())
        >>> schema.columns, schema.categorical, chunk.rows[0].tolist(), chunk.y.tolist()
        (('age', 'town'), ('town',), [30.0, 1.0, 1.0], [-1, 1])
        """
        columns = _columns(source, arrow_schema(source))
        layout = choose(columns, schema, source.name, labelled=self.labelled)
        if schema.columns is None or schema.width is None:
            schema = completed(columns, layout, schema)
        if layout.label is not None and self.labelled and schema.labels is None and not columns[layout.label].is_flag:
            label = columns[layout.label]
            found = _labels_in_head(source, label.name, words=label.kind == "category")
            return with_labels(schema, found, source.name)
        return schema

    def chunks(self, source: Source, schema: Schema, start: Position) -> Iterator[Chunk]:
        """The rows of a file from a row on, 2 to 4 MB at a time."""
        convert = Converter(source, arrow_schema(source), schema, start.source, labelled=self.labelled)
        rows = rows_of_a_chunk(convert.table.layout.width)
        found = batches(source, convert.names, start.offset, rows, lanes=self.workers)
        return in_order(convert, found, self.workers)

    def column_warnings(self, source: Source, schema: Schema, asked: Sequence[str]) -> list[str]:
        """Messages about columns of text, other than those asked for, whose values look like numbers."""
        texts = {entry.name for entry in arrow_schema(source) if _is_text(entry.type)}
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
                with error_messages(source, 0):
                    places, values = distinct(column)
                own = [value for value in (values[place] for place in places.tolist() if place >= 0) if value]
                found.append(column_warning(source.name, name, own, (0, 0), _REMEDY))
        except InvalidDataError:  # damage is reported where it is reached
            return []
        return [message for message in found if message is not None]


class Converter:
    """Record batches of one file, which has the Arrow schema `of`, to chunks."""

    def __init__(self, source: Source, of: Any, schema: Schema, number: int, *, labelled: bool) -> None:
        columns = _columns(source, of)
        layout = choose(columns, schema, source.name, labelled=labelled)
        self.table = Table(columns, layout, schema, source.name, labelled=labelled)
        self._columns, self._source, self._file = columns, number, source
        used = [layout.label, layout.weight, *(feature.column for feature in layout.features), *layout.groups]
        self.names = [columns[one].name for one in dict.fromkeys(used) if one is not None]
        types = {entry.name: entry.type for entry in of}
        whole = [types[columns[feature.column].name] for feature in layout.features]
        narrow = schema.bits is None and all(map(_is_float32, whole))
        self._dtype = np.dtype(np.float32 if narrow else np.float64)
        self._numbers = [
            _numbers_of(kind, self._dtype) if feature.kind == "number" else None
            for feature, kind in zip(layout.features, whole, strict=True)
        ]
        # A flag as a label is read like text: it may be called true and false.
        self._plain = {
            one: _numbers_of(types[columns[one].name], np.dtype(np.float64))
            for one in (layout.label, layout.weight)
            if one is not None and columns[one].kind == "number" and (one != layout.label or not columns[one].is_flag)
        }

    def __call__(self, batch: Batch) -> Chunk:
        """The rows of a batch."""
        with error_messages(self._file, batch.first):
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
                hashes, present = name_hashes(arrays[name], self.table.hashes[feature.first])
                matrix.varying[feature.first] = hashes
                matrix.put(feature.first, [frozen(present.astype(self._dtype))])
            else:
                _put_vectors(arrays[name], feature, matrix, name)
        matrix.put(layout.width - len(waiting), waiting)
        y, label = self._labels(arrays)
        weight = None
        if layout.weight is not None:
            weight = self._plain[layout.weight](arrays[self._columns[layout.weight].name])
        groups = [_texts(arrays[self._columns[number].name]) for number in layout.groups]
        return self.table.chunk(matrix, y, label, weight, self._source, groups)

    def _labels(self, arrays: dict[str, Any]) -> tuple[NDArray[np.int8] | None, Callable[[int], Any]]:
        """What the labels mean, and what they are."""
        number = self.table.layout.label
        if number is None:
            return None, lambda row: None
        array = arrays[self._columns[number].name]
        if number in self._plain:
            numbers = self._plain[number](array)
            return self.table.labels.of_numbers(numbers), lambda row: float(numbers[row])
        places, values = distinct(array)
        values.append(None)
        return self.table.labels.of_values(values)[places], lambda row: values[places[row]]


def _texts(array: Any) -> list[Any]:
    """What each row has, None for null."""
    places, values = distinct(array)
    values.append(None)  # at -1
    return [values[place] for place in places.tolist()]


def _columns(source: Source, of: Any) -> list[Column]:
    """The columns of a file and what can be made of them; the size of a list is that of the first one."""
    found: list[Column] = []
    times = Counter(of.names)
    for entry in of:
        kind: Kind = _kind_of(entry.type)
        size = 1
        if kind == "vector" and times[entry.name] == 1:  # several columns of one name are refused later on
            fixed = pyarrow("types").is_fixed_size_list(entry.type)
            size = entry.type.list_size if fixed else _first_length(source, entry.name)
        found.append(Column(entry.name, kind, size, str(entry.type), pyarrow("types").is_boolean(entry.type)))
    return found


def _first_length(source: Source, name: str) -> int:
    """The size of the first list in a column; 0 if the first rows have none."""
    for batch in batches(source, [name], 0, 1024, looking=True):
        with error_messages(source, batch.first):
            lengths = batch.columns.column(0).drop_null().value_lengths().to_numpy(zero_copy_only=False)
        if lengths.size:
            return int(lengths[0])
        if batch.first >= _HEAD:
            break
    return 0


def _labels_in_head(source: Source, name: str, *, words: bool) -> list[Any]:
    """The labels in the first rows; as many rows more as it takes to find a second one, within reason."""
    found: list[Any] = []
    try:
        for batch in batches(source, [name], 0, _HEAD, looking=True):
            with error_messages(source, batch.first):
                places, values = distinct(batch.columns.column(0))
            found += [values[place] for place in places.tolist() if place >= 0]
            if len(set(found)) > 1 or NEGATIVE.intersection(found) or batch.first >= _MOST_HEAD:
                break
    except InvalidDataError:
        if words and not source.is_pipe:  # what is seen of a pipe may end anywhere
            raise
    return found


def _kind_of(of: Any) -> Kind:
    """What can be made of a type."""
    types = pyarrow("types")
    if types.is_dictionary(of):
        return "category" if _kind_of(of.value_type) in ("number", "category") else "other"
    if types.is_integer(of) or types.is_floating(of) or types.is_boolean(of) or types.is_null(of):
        return "number"
    if types.is_decimal(of):
        return "number"
    if _is_text(of) or types.is_date(of):
        return "category"
    if types.is_fixed_size_list(of) or types.is_list(of) or types.is_large_list(of):
        return "vector" if _kind_of(of.value_type) == "number" and not types.is_null(of.value_type) else "other"
    return "other"


def _is_float32(of: Any) -> bool:
    """Whether the numbers of a type, or those of its lists, are float32."""
    return bool((of.value_type if _kind_of(of) == "vector" else of) == pyarrow().float32())


def _numbers_of(of: Any, dtype: np.dtype[Any]) -> Numbers:
    """A function from arrays of this type to numbers, with NaN for null; the type is looked at once, not per array."""
    types = pyarrow("types")
    if types.is_null(of):
        return lambda array: np.full(len(array), np.nan, dtype)
    first = "int8" if types.is_boolean(of) else "float64" if types.is_decimal(of) else None

    def numbers(array: Any) -> NDArray[Any]:
        if first is not None:
            array = array.cast(first)
        return converted(array.to_numpy(zero_copy_only=False), dtype)

    return numbers


def name_hashes(array: Any, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The hashes of names, and which of them are there: null, NaN and empty text are not.

    >>> import pyarrow as pa
    >>> hashes, present = name_hashes(pa.array(["7", None, "x", ""]), 5)
    >>> int(hashes[0]), present.tolist()
    (12, [True, False, True, False])
    """
    if _is_text(array.type):
        return _text_hashes(array, seed)
    places, values = _encoded(array)
    if not _is_text(values.type):
        names = [None if v is None or v != v else as_bytes(v) for v in values.to_pylist()]  # noqa: PLR0124 - NaN
        values = pyarrow().array(names, pyarrow().large_binary())
    hashes, present = _text_hashes(values, seed)
    return np.append(hashes, np.uint32(0))[places], np.append(present, False)[places]


def distinct(array: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Which value each row has, -1 for null, and the values.

    >>> import pyarrow as pa
    >>> distinct(pa.array(["a", None, "b", "a"]))
    (array([ 0, -1,  1,  0]), ['a', 'b'])
    """
    places, values = _encoded(array)
    if not _is_text(values.type):
        return places, values.to_pylist()
    texts = values.cast(pyarrow().large_binary()).to_pylist()  # Parquet does not guarantee that text is UTF-8
    return places, [None if text is None else text.decode(errors="replace") for text in texts]


def _put_vectors(array: Any, feature: Feature, matrix: Matrix, name: str) -> None:
    """Fill columns with lists of `feature.size` numbers; null is a row of absent ones, another size is a row error."""
    dtype, size = matrix.values.dtype, feature.size
    lengths = array.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    right = lengths == size
    for row in np.flatnonzero(~right & (lengths >= 0)).tolist():
        matrix.errors.setdefault(row, (name, f"expected {size:,} numbers, found {lengths[row]:,}"))
    if not right.all():
        array = array.filter(pyarrow().array(right))
    given = _numbers_of(array.type.value_type, dtype)(array.flatten()).reshape(-1, size)
    block = given
    if len(given) < right.size:
        block = np.zeros((right.size, size), dtype)
        block[right] = given
    matrix.large += put_block(matrix.values, feature.first, frozen(block), np.arange(size, dtype=np.uint64))


def _is_text(of: Any) -> bool:
    """Whether it is a type of text or bytes."""
    types = pyarrow("types")
    text = types.is_string(of) or types.is_large_string(of) or types.is_binary(of) or types.is_large_binary(of)
    return bool(text or types.is_fixed_size_binary(of) or types.is_string_view(of) or types.is_binary_view(of))


def _encoded(array: Any) -> tuple[NDArray[np.int64], Any]:
    types = pyarrow("types")
    if _is_view(array.type):
        if len(array) and int(_ends(array)[-1]) > _TEXT:
            raise TooLarge("labels that are very long; write -1 and 1")
        array = array.cast(pyarrow().large_binary())
    if not types.is_dictionary(array.type):
        array = array.dictionary_encode()
    places, values = array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False), array.dictionary
    if len(values) > len(array):  # a slice of a few rows does not look through a large dictionary
        used, places = np.unique(places, return_inverse=True)
        absent = int(used.size > 0 and used[0] < 0)
        places, values = places - absent, values.take(pyarrow().array(used[absent:]))
    if values.null_count:
        missing = np.append(values.is_null().to_numpy(zero_copy_only=False), True)
        places = np.where(missing[places], -1, places)
    return places, values


def _is_view(of: Any) -> bool:
    types = pyarrow("types")
    return bool(types.is_string_view(of) or types.is_binary_view(of))


def _ends(array: Any) -> NDArray[np.int64]:
    """How many bytes an array of views has up to each row, were they written one after the other."""
    views = np.frombuffer(array.buffers()[1], np.int32, 4 * len(array), 16 * array.offset)
    return np.cumsum(views[::4], dtype=np.int64)


def _text_hashes(array: Any, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    if _is_view(array.type) and len(array) > 1 and int((ends := _ends(array))[-1]) > _TEXT:
        # Rows may share their bytes, which are written out a part at a time.
        cuts = [0, *(np.flatnonzero(np.diff(ends // _TEXT)) + 1).tolist(), len(array)]
        parts = [_text_hashes(array.slice(a, b - a), seed) for a, b in itertools.pairwise(cuts)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    array = array.cast(pyarrow().large_binary())
    hashes = np.empty(len(array), np.uint32)
    _, where, what = array.buffers()
    offsets = np.frombuffer(where, np.int64, len(array) + 1, 8 * array.offset) if len(array) else np.zeros(1, np.int64)
    text = np.frombuffer(what, np.uint8) if what is not None and what.size else np.zeros(0, np.uint8)
    hash_texts(frozen(text), frozen(offsets), np.uint32(seed), hashes)
    present = np.diff(offsets) > 0
    if array.null_count:
        present &= array.is_valid().to_numpy(zero_copy_only=False)
    return hashes, present
