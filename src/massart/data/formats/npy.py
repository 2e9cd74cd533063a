"""NumPy arrays in .npy files: rows of numbers, or records with named fields, some rows at a time.

NaN means that the feature is absent, which counts as 0; so does an empty text in a record. Files are read, not
mapped: a map of a file that another process cuts short would end this one.
"""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position
from massart.data.formats import Format
from massart.data.formats.labels import NEGATIVE, as_bytes, with_labels
from massart.data.formats.table_chunks import Matrix, Table, converted, rows_of_a_chunk
from massart.data.formats.table_columns import Column, Feature, Kind, Layout, check_columns, choose, completed
from massart.data.hashing import name_hash
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing.row_errors import LONGEST_LINE
from massart.kernels.parsing.tables import put_block

__all__ = ["NpyFormat"]

_HEAD: Final = 1 << 17  # bytes within which the header of a file must end
_SAID: Final = 200  # characters of NumPy's message
_LAST_CHARACTER: Final = 0x10FFFF  # of Unicode
_HEAD_CHUNKS: Final = 16  # that are searched for a second label, or
_MOST_HEAD: Final = 1 << 22  # rows, where labels are text
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys("fiub", "number"),
    **dict.fromkeys("SU", "category"),
}


class _Header(NamedTuple):
    """What a .npy file says of itself."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    begin: int  # bytes before the data


class _Rows(NamedTuple):
    """Some rows of a file: (n, k), or (n,) where rows are records or numbers."""

    first: int  # rows of the file before these
    values: NDArray[Any]


class NpyFormat(Format):
    """Regular .npy files whose rows lie one after the other."""

    def complete(self, source: Source, schema: Schema) -> Schema:
        """The schema with the names of all columns, and the two labels if they are text.

        Columns without names are asked for by number. The label is the first, unless `schema.label` says which it is,
        counted from 1 or -1 for the last, or names another .npy file with one label for each row.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        ...     np.save(file.name, np.array([[0, 1.5, 2.0], [1, np.nan, 4.0]]))
        ...     schema = NpyFormat().complete(Source(file.name), Schema(format="npy"))
        ...     (chunk,) = NpyFormat().chunks(Source(file.name), schema, Position())
        >>> schema.label, schema.columns, chunk.rows.tolist(), chunk.y.tolist()
        ('1', ('1', '2'), [[1.5, 2.0], [0.0, 4.0]], [-1, 1])
        """
        of, apart = _header(source), self.label_file(source, schema)
        columns = _columns_of(of, source.name)
        layout = _layout_of(columns, of, schema, source.name, labelled=self.labelled, apart=apart is not None)
        if schema.columns is None or schema.width is None:
            schema = _with_columns(columns, layout, of, schema, apart=apart is not None)
        if not self.labelled:
            return schema
        # Labels of another number of rows are refused even where their names are known.
        own = _labels_header(apart, of.shape[0]) if apart is not None else None
        if schema.labels is not None:
            return schema
        if apart is not None and own is not None:
            return with_labels(schema, _labels_in_head(apart, own, None), apart.name)
        if layout.label is not None:
            place = columns[layout.label].name if of.dtype.names is not None else layout.label
            return with_labels(schema, _labels_in_head(source, of, place), source.name)
        return schema

    def chunks(self, source: Source, schema: Schema, start: Position) -> Iterator[Chunk]:
        """The rows of a file from a row on, 2 to 4 MB at a time."""
        of, apart = _header(source), self.label_file(source, schema)
        convert = _Converter(source, of, schema, start.source, labelled=self.labelled, apart=apart is not None)
        size = int(np.prod(of.shape[1:], dtype=object)) * of.dtype.itemsize
        rows = rows_of_a_chunk(max(convert.table.layout.width, size // 8))
        found: Iterator[Any] = zip(_rows_from(source, of, start.offset, rows), repeat(None))
        if apart is not None and self.labelled:
            if start.source > 0:
                raise InvalidDataError(
                    f"{apart.name} has the labels of one file: give one, or put the labels into each"
                )
            theirs = _rows_from(apart, _labels_header(apart, of.shape[0]), start.offset, rows)
            found = zip(_rows_from(source, of, start.offset, rows), theirs, strict=True)
        return in_order(convert, found, self.workers)

    def label_file(self, source: Source, schema: Schema) -> Source | None:
        """The file with the labels; if it is not at its path, the one of this name beside the source."""
        if schema.label is None or not schema.label.lower().endswith((".npy", ".npy.gz", ".npy.zst", ".npy.bz2")):
            return None
        path = Path(schema.label)
        if source.path is not None and not path.exists() and (source.path.parent / path).exists():
            path = source.path.parent / path
        return Source(path)


class _Converter:
    """Rows of one file, with their labels if those are in another, to chunks."""

    def __init__(
        self, source: Source, of: _Header, schema: Schema, number: int, *, labelled: bool, apart: bool
    ) -> None:
        columns = _columns_of(of, source.name)
        layout = _layout_of(columns, of, schema, source.name, labelled=labelled, apart=apart)
        self._named = of.dtype.names is not None
        names = None if self._named else [columns[feature.column].name for feature in layout.features]
        self.table = Table(columns, layout, schema, source.name, labelled=labelled, names=names)
        self._columns, self._source = columns, number
        narrow = schema.bits is None and _is_float32(of, layout)
        self._dtype = np.dtype(np.float32 if narrow else np.float64)
        self._chosen = np.array([feature.column for feature in layout.features], np.uint64)
        # Rows of numbers are copied at once; all else column by column.
        self._at_once = not (self._named or any(f.kind != "number" for f in layout.features))

    def __call__(self, part: tuple[_Rows, _Rows | None]) -> Chunk:
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
        y, label = _meaning(None if given is None else _valid_text(given, self.table.where, first), self.table)
        weight = None if layout.weight is None else converted(self._column(rows, layout.weight), np.float64)
        groups = [_valid_text(self._column(rows, one), self.table.where, first).tolist() for one in layout.groups]
        return self.table.chunk(matrix, y, label, weight, self._source, groups)

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
                texts = _valid_text(values, self.table.where, matrix.first)
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


def _header(source: Source) -> _Header:
    """Shape and type of an array."""
    if source.is_pipe:
        raise InvalidDataError(f"{source.name} is a pipe, and .npy files are not read from pipes: name a file")
    file = io.BytesIO(source.head(_HEAD))
    try:
        with warnings.catch_warnings(action="ignore"):
            shape, by_columns, dtype = _parsed(file)
    except Exception as error:  # NumPy reads it as a Python literal: there is no list of what it may raise
        said = str(error).splitlines()[0].rstrip(".")[:_SAID] if str(error) else "its header cannot be read"
        raise InvalidDataError(f"{source.name}: not a .npy file, or damaged ({said}); save it again") from None
    if dtype.hasobject:
        raise InvalidDataError(f"{source.name} holds Python objects, which could run code: save numbers instead")
    if any(side < 0 for side in shape):
        raise InvalidDataError(f"{source.name}: not a .npy file, or damaged (its shape is {shape}); save it again")
    size = dtype.itemsize * math.prod(shape[1:])
    if shape and shape[0] and not 0 < size <= LONGEST_LINE:
        raise InvalidDataError(
            f"{source.name}: its rows have {size:,} bytes each, of shape {shape[1:]}; save rows of 1 byte to "
            f"{LONGEST_LINE >> 20} MiB"
        )
    if by_columns and sum(side > 1 for side in shape) > 1:
        raise InvalidDataError(
            f"{source.name} is stored column by column (Fortran order): save it with numpy.ascontiguousarray"
        )
    return _Header(shape, dtype, file.tell())


def _parsed(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    # Version 3 is version 2 with UTF-8 in the names of fields, which are put right below.
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = read(file)
    if version == (3, 0) and dtype.names is not None:
        dtype.names = tuple(name.encode("latin1").decode() for name in dtype.names)
    for name in dtype.names or ():
        name.encode()  # refuses half of a surrogate pair
    return tuple(int(side) for side in shape), bool(by_columns), dtype


def _rows_from(source: Source, of: _Header, start: int, rows: int) -> Iterator[_Rows]:
    """Rows from `start` on, at most `rows` at a time."""
    count, shape = of.shape[0], of.shape[1:]
    if start > count:
        raise InvalidDataError(
            f"{source.name} has {count:,} rows, but reading was to continue at row {start + 1:,}: "
            "is it still the same file?"
        )
    size = of.dtype.itemsize * math.prod(shape)
    with source.stream(of.begin + start * size) as stream:
        for first in range(start, count, rows):
            wanted = min(rows, count - first)
            buffer = np.empty(wanted * size, np.uint8)
            view, filled = memoryview(buffer.data), 0
            while filled < len(view) and (got := stream.readinto(view[filled:])):
                filled += got
            whole = filled // size if size else wanted
            if whole:
                yield _Rows(first, buffer[: whole * size].view(of.dtype).reshape(whole, *shape))
            if whole < wanted:
                raise InvalidDataError(
                    f"{source.name} ends after row {first + whole:,} of the {count:,} in its header; copy it again"
                )


def _valid_text(values: NDArray[Any], source: str, first: int) -> NDArray[Any]:
    """The values themselves, unless they are text with characters that do not exist, which NumPy does not look for."""
    if values.dtype.kind == "U" and values.dtype.itemsize and values.size:
        codes = np.ascontiguousarray(values).view(f"{values.dtype.byteorder.replace('|', '=')}u4")
        wrong = np.flatnonzero(codes.reshape(len(values), -1).max(axis=1) > _LAST_CHARACTER)
        if wrong.size:
            raise InvalidDataError(
                f"{source}, row {first + int(wrong[0]) + 1:,}: a text with characters that do not exist; save it again"
            )
    return values


def _columns_of(of: _Header, where: str) -> list[Column]:
    """The columns of an array; where they have no names, they are called by their number from 1."""
    if of.dtype.names is not None and len(of.shape) == 1:
        return [_field(name, of.dtype[name]) for name in of.dtype.names]
    kind = _KINDS.get(of.dtype.kind, "other")
    if len(of.shape) != 2 or kind != "number":
        raise InvalidDataError(
            f"{where} is an array of {of.dtype} of shape {of.shape}: save real numbers of shape (rows, columns), "
            "or records of shape (rows,)"
        )
    check_columns(of.shape[1], where)
    return [Column(str(number + 1), kind, 1, str(of.dtype)) for number in range(of.shape[1])]


def _layout_of(
    columns: Sequence[Column], of: _Header, schema: Schema, where: str, *, labelled: bool, apart: bool
) -> Layout:
    """What each column is for; `apart`: the labels are not in this file.

    Columns without names keep their places: a file may have all those that were learned from, or, to be predicted,
    only the features.
    """
    if apart:
        schema = schema.replace(label=None)
    if of.dtype.names is None and schema.columns is not None:
        return _by_place(columns, schema, schema.columns, where, labelled=labelled and not apart)
    if of.dtype.names is None and schema.label is None and not apart:
        schema = schema.replace(label="1")
    layout = choose(columns, schema, where, labelled=labelled and not apart)
    return layout.replace(label=None) if apart else layout


def _by_place(
    columns: Sequence[Column], schema: Schema, learned: tuple[str, ...], where: str, *, labelled: bool
) -> Layout:
    count = len(learned)
    label, weight = (int(one) - 1 if one and one.isdigit() else None for one in (schema.label, schema.weight))
    special = {label, weight, *(int(one) - 1 for one in schema.ignore if one.isdigit())} - {None}
    places = [number for number in range(count + len(special)) if number not in special]  # of the features, then
    own = learned == tuple(str(j + 1) for j in range(count))
    names = [str(number + 1) for number in places] if own else learned
    groups = [_group_place(one, count + len(special), where) for one in schema.groups]
    if len(columns) == count and not labelled:
        left_out = [str(place + 1) for place in groups if place not in places]
        if left_out:
            raise InvalidDataError(f"{where} has no column {left_out[0]} of groups: give files with all columns")
        groups = [places.index(place) for place in groups]
        places, label, weight = list(range(count)), None, None
    elif len(columns) != count + len(special):
        raise InvalidDataError(
            f"{where} has {len(columns):,} columns, but {count:,} features were learned from files of "
            f"{count + len(special):,} columns"
        )
    if label is None and labelled:
        raise InvalidDataError(f"{where}: which column is the label? Give its number from 1 with `label`")
    features = [
        Feature(number, "category" if name in schema.categorical else "number", j)
        for j, (number, name) in enumerate(zip(places, names, strict=True))
    ]
    return Layout(label, weight, tuple(features), tuple(groups))


def _group_place(number: str, count: int, where: str) -> int:
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= count):
        raise InvalidDataError(f"{where} has {count:,} columns without names, and {number!r} is none of them")
    return int(number) - 1


def _with_columns(columns: Sequence[Column], layout: Layout, of: _Header, schema: Schema, *, apart: bool) -> Schema:
    """The completed schema; features without names are counted from 1, as in svmlight, whatever their columns."""
    complete = completed(columns, layout, schema)
    if of.dtype.names is None:
        complete = complete.replace(columns=tuple(str(j + 1) for j in range(layout.width)))
    return complete.replace(label=schema.label) if apart else complete


def _is_float32(of: _Header, layout: Layout) -> bool:
    """Whether all features are float32."""
    names = of.dtype.names
    types = [of.dtype if names is None else of.dtype[names[feature.column]].base for feature in layout.features]
    return all(one.kind == "f" and one.itemsize == 4 for one in types)


def _field(name: str, of: np.dtype[Any]) -> Column:
    kind: Kind = _KINDS.get(of.base.kind, "other")
    if len(of.shape) == 1 and of.shape[0] > 0:
        return Column(name, "vector" if kind == "number" else "other", of.shape[0], str(of))
    return Column(name, "other" if of.shape else kind, 1, str(of))


def _labels_header(source: Source, count: int) -> _Header:
    of = _header(source)
    if of.dtype.kind not in "fiubSU" or of.shape not in ((count,), (count, 1)):
        raise InvalidDataError(
            f"{source.name} is an array of {of.dtype} of shape {of.shape}: it must hold one label for each of "
            f"{count:,} rows"
        )
    return of


def _labels_in_head(source: Source, of: _Header, place: str | int | None) -> list[Any]:
    """The labels in the first rows; as many rows more as it takes to find a second one, within reason."""
    found: list[Any] = []
    step = rows_of_a_chunk(int(np.prod(of.shape[1:], dtype=object)) * of.dtype.itemsize // 8)
    words = (of.dtype[place] if isinstance(place, str) else of.dtype).kind in "SU"
    most = _MOST_HEAD if words else _HEAD_CHUNKS * step
    try:
        for first, rows in _rows_from(source, of, 0, step):
            column = rows[:, place] if isinstance(place, int) else rows if place is None else rows[place]
            found += _valid_text(column, source.name, first).reshape(-1).tolist()
            if len(set(found)) > 1 or NEGATIVE.intersection(found) or first + step >= most:
                break
    except InvalidDataError:  # what comes before the damage is handed out first
        if words:
            raise
    return found
