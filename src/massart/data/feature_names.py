"""Which features of some data are hashed to given columns: their names are read again, in plain Python.

This is slow, and for people who want to see names.
"""

import contextlib
import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from massart.data.formats import detect_format
from massart.data.formats.labels import as_bytes, as_text, is_number
from massart.data.hashing import name_hash
from massart.data.io.blocks import blocks
from massart.data.io.sources import Source, find_sources
from massart.data.schema import Schema
from massart.errors import InvalidDataError

__all__ = ["MOST_ROWS", "column_names", "find_names", "named_rows"]

MOST_ROWS: Final = 200_000  # that are looked at
_MOST_NAMES: Final = 5  # of one column
_FNV: Final = np.uint32(16777619)  # as in kernels/parsing/hashing.py
_KEPT: Final = 1 << 18  # hashes that are remembered
_LONG: Final = 64  # bytes of a name whose hash is not
_ROWS: Final = 64  # of which Python objects are made at once
_ELEMENT: Final = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)
_BLANKS: Final = re.compile(rb"[ \t]+")


class _Named(NamedTuple):
    """A feature of a row."""

    space: int  # first byte of its namespace
    name: str
    hash: int


def find_names(paths: Sequence[str], schema: Schema, wanted: Collection[int]) -> dict[int, list[str]]:
    r"""The names of features, and of their products, that the data has in the wanted columns.

    At most 200,000 rows are looked at, and none once every column has a name.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from massart.data.hashing import name_hash
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.vw").write_text("1 |user town:Rome 7:2\n")
    ...     column = name_hash("Rome", name_hash("town", name_hash("user"))) % 2**18
    ...     find_names([f"{folder}/a.vw"], Schema("vw", bits=18), [column]) == {column: ["user^town=Rome"]}
    True
    """
    mask = (1 << (schema.bits or 0)) - 1
    found: dict[int, list[str]] = {}
    left = set(wanted)
    looking = np.array(sorted(wanted), np.uint32)
    rows = (row for source in find_sources(list(paths)) for row in named_rows(source, schema))
    for row in islice(rows, MOST_ROWS):
        for column, name in _hits(row, schema.crossings, looking, mask):
            names = found.setdefault(column, [])
            if name not in names and len(names) < _MOST_NAMES:
                names.append(name)
            left.discard(column)
        if not left:
            break
    return found


def column_names(schema: Schema, wanted: Collection[int]) -> dict[int, list[str]]:
    """The names of columns of numbers, which the schema of a table has.

    >>> from massart.data.hashing import name_hash
    >>> schema = Schema("csv", bits=18, columns=("age", "town"), categorical=("town",))
    >>> column_names(schema, [name_hash("age") % 2**18, 5]) == {name_hash("age") % 2**18: ["age"]}
    True
    """
    mask, found = (1 << (schema.bits or 0)) - 1, dict[int, list[str]]()
    for name in schema.columns or ():
        for own in _of_column(name) if name not in schema.categorical else ():
            if own.hash & mask in wanted:
                found.setdefault(own.hash & mask, []).append(name)
    return found


def _hits(row: list[_Named], crossings: Sequence[str], wanted: Any, mask: int) -> Iterator[tuple[int, str]]:
    columns = np.array([feature.hash & mask for feature in row], np.uint32)
    for place in np.flatnonzero(np.isin(columns, wanted)).tolist():
        yield int(columns[place]), row[place].name
    spaces = np.array([feature.space for feature in row], np.uint8)
    for letters in crossings:
        places = [np.flatnonzero((spaces == ord(one)) | (one == ":")) for one in letters]
        for column, factors in _products(columns, places, letters, wanted, np.uint32(mask)):
            yield column, "*".join(row[place].name for place in factors)


def _products(
    columns: Any, places: list[Any], letters: str, wanted: Any, mask: np.uint32
) -> Iterator[tuple[int, list[int]]]:
    """Columns and places of products, one factor from each list of places; of a namespace twice, each pair once."""
    *before, second, last = places
    for first in before[0].tolist() if before else [-1]:
        halves = columns[second] if first < 0 else (columns[first : first + 1] * _FNV) ^ columns[second]
        hashes = ((halves * _FNV)[:, None] ^ columns[last][None, :]) & mask
        for i, j in np.argwhere(np.isin(hashes, wanted)).tolist():
            factors = [*([] if first < 0 else [first]), int(second[i]), int(last[j])]
            named = sorted(range(len(letters)), key=lambda k: (letters[k], k))
            if all(factors[a] <= factors[b] for a, b in pairwise(named) if letters[a] == letters[b]):
                yield int(hashes[i, j]), factors


def named_rows(source: Source, schema: Schema) -> Iterator[list[_Named]]:
    """The features of each row; of a table, all of its columns, whether their values are 0 or not."""
    kind = detect_format(source)
    own = schema if kind == schema.format else schema.replace(format=kind, header=None, separator=None)
    readers: dict[str, Callable[[Source, Schema], Iterator[list[_Named]]]] = {
        "svmlight": _svmlight,
        "vw": _vw,
        "csv": _csv,
        "jsonl": _jsonl,
        "parquet": _arrow,
        "arrow": _arrow,
    }
    if kind not in readers:
        raise InvalidDataError(f"{source.name}: the columns of .npy files have no names to look for")
    return readers[kind](source, own)


def _of_column(name: str) -> list[_Named]:
    """A column of numbers; "v[0]" may be an element of a vector called "v", which is hashed in that namespace."""
    text = name.encode(errors="surrogatepass")
    found = [_Named(text[0], name, name_hash(text))]
    if element := _ELEMENT.fullmatch(name):
        found.append(_Named(text[0], name, name_hash(f"[{element[2]}]", name_hash(element[1]))))
    return found


class _Hashes:
    """Remembered, since the same names come again and again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | bytes, int], int] = {}

    def __call__(self, name: str | bytes, seed: int = 0) -> int:
        found = self._known.get((name, seed))
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            text = name.encode(errors="surrogatepass") if isinstance(name, str) else name
            found = name_hash(text, seed) if text else seed
            if len(text) <= _LONG:
                self._known[name, seed] = found
        return found


def _lines(source: Source) -> Iterator[bytes]:
    """The lines, without those that are too long."""
    for block in blocks(source):
        yield from block.text.tobytes().removesuffix(b"\n").split(b"\n")


def _records(found: Iterator[list[str]]) -> Iterator[list[str]]:
    """The records of CSV up to one that Python cannot read."""
    with contextlib.suppress(csv.Error):
        yield from found


def _svmlight(source: Source, schema: Schema) -> Iterator[list[_Named]]:
    for line in _lines(source):
        fields = [field.partition(b":")[0] for field in line.partition(b"#")[0].split() if b":" in field]
        numbers = [int(index) for index in fields if index.isdigit() and len(index) < 20]
        yield [_Named(32, f"index {index}", index) for index in numbers]


def _vw(source: Source, schema: Schema) -> Iterator[list[_Named]]:
    hashed = _Hashes()
    for line in _lines(source):
        row: list[_Named] = []
        for part in line.rstrip(b"\r\n").split(b"|")[1:]:
            space, *tokens = _BLANKS.split(part)
            name = space.partition(b":")[0]
            seed, prefix = hashed(name), f"{name.decode(errors='replace')}^" if name else ""
            anonymous = 0
            for token in filter(None, tokens):
                feature, colon, value = token.partition(b":")
                text = value.decode(errors="replace")
                shown, own = prefix + feature.decode(errors="replace"), hashed(feature, seed)
                if not feature and is_number(text):
                    shown, own = f"{prefix}[{anonymous}]", seed + anonymous
                    anonymous += 1
                elif colon and not is_number(text):
                    shown, own = f"{shown}={text}", hashed(value, own)
                row.append(_Named((name or b" ")[0], shown, own))
        yield row


def _csv(source: Source, schema: Schema) -> Iterator[list[_Named]]:
    from massart.data.formats.csv_columns import look  # noqa: PLC0415  compiled code

    head = look(source, schema.separator)
    if head is None:
        return
    wanted = schema.columns or ()
    header = head.has_header(wanted) if schema.header is None else schema.header
    lines = (line.decode(errors="replace") + "\n" for line in _lines(source))
    records = _records(csv.reader(lines, delimiter=head.separator))
    if header:
        names = [name.strip() for name in next(records, [])]
        places = [names.index(name) if name in names else -1 for name in wanted]
    else:
        others = {schema.label, schema.weight, *schema.ignore}
        places = [place for place in range(head.width) if str(place + 1) not in others]
    columns = [(name, place) for name, place in zip(wanted, places, strict=False) if place >= 0]
    cells = _Cells(schema)
    for record in records:
        yield cells.row([(name, record[place].strip()) for name, place in columns if place < len(record)])


def _arrow(source: Source, schema: Schema) -> Iterator[list[_Named]]:
    from massart.data.formats.arrow_files import arrow_schema, batches, rows_of  # noqa: PLC0415  PyArrow

    names = [name for name in arrow_schema(source).names if name in (schema.columns or ())]
    cells = _Cells(schema)
    for first, batch in batches(source, names, 0, 1 << 12):
        for begin in range(0, batch.num_rows, _ROWS):
            for record in rows_of(source, batch.slice(begin, _ROWS), first + begin):
                yield cells.row(list(record.items()))


class _Cells:
    """Cells of a table as features."""

    def __init__(self, schema: Schema) -> None:
        self._hashed = _Hashes()
        self._categories = frozenset(schema.categorical)
        self._numbers = {name: _of_column(name) for name in schema.columns or () if name not in self._categories}

    def row(self, cells: list[tuple[str, Any]]) -> list[_Named]:
        found: list[_Named] = []
        for name, value in cells:
            if name in self._numbers:
                found += self._numbers[name]
            elif value is not None and value != "":
                own = self._hashed(as_bytes(value), self._hashed(name))
                found.append(_Named(name.encode(errors="surrogatepass")[0], f"{name}={as_text(value)}", own))
        return found


def _jsonl(source: Source, schema: Schema) -> Iterator[list[_Named]]:
    from massart.data.formats.jsonl import parse_line  # noqa: PLC0415  not needed for text

    fields = _Fields(schema)
    other = {schema.label, schema.weight}
    for line in _lines(source):
        try:
            pairs = parse_line(line)
            found = [one for name, value in pairs if name not in other for one in fields.named(name, value, "")]
        except Exception:  # noqa: S112  a line that cannot be read has no names
            continue
        yield found


class _Fields:
    """Fields of an object as features: see hashing.py."""

    def __init__(self, schema: Schema) -> None:
        self._hashed = _Hashes()
        self._ignored, self._categories = frozenset(schema.ignore), frozenset(schema.categorical)

    def named(self, name: str, value: Any, path: str) -> Iterator[_Named]:
        whole = f"{path}.{name}" if path else name
        if whole in self._ignored:
            return
        if isinstance(value, tuple):
            for inner, inner_value in value:
                yield from self.named(inner, inner_value, whole)
        elif isinstance(value, list):
            yield from self._array(name, whole, value, path)
        else:
            yield from self._one(name, value, path, is_name=whole in self._categories)

    def _array(self, name: str, whole: str, values: list[Any], path: str) -> Iterator[_Named]:
        is_name = whole in self._categories
        for i, value in enumerate(values):
            if isinstance(value, tuple):
                for inner, inner_value in value:
                    yield from self.named(inner, inner_value, whole)
            elif isinstance(value, list):
                yield from self._array(f"[{i}]", f"{whole}[{i}]", value, whole)
            elif isinstance(value, str) or is_name:
                yield from self._one(name, value, path, is_name=is_name)
            else:
                yield from self._one(f"[{i}]", value, whole, is_name=False)

    def _one(self, name: str, value: Any, path: str, *, is_name: bool) -> Iterator[_Named]:
        space = path.encode(errors="surrogatepass")[0] if path else ord(" ")
        shown, own = f"{path}^{name}" if path else name, self._hashed(name, self._hashed(path))
        if isinstance(value, str) or (is_name and value is not None):
            yield _Named(space, f"{shown}={as_text(value)}", self._hashed(as_bytes(value), own))
        elif value is not None and value is not False:
            yield _Named(space, shown, own)
