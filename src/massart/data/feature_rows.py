"""The names of the features of every row, as plain Python reads them; slow, for people who want to see names."""

import contextlib
import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from massart.data.formats.detect import detect_format
from massart.data.formats.table_labels import as_bytes, as_text, is_number
from massart.data.io.blocks import blocks
from massart.data.io.sources import Source
from massart.data.names import name_hash
from massart.data.schema import Schema
from massart.errors import InvalidDataError

__all__ = ["Named", "named_rows", "of_column"]

_KEPT: Final = 1 << 18  # hashes that are remembered
_LONG: Final = 64  # bytes of a name whose hash is not
_ROWS: Final = 64  # of which Python objects are made at once
_ELEMENT: Final = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)
_BLANKS: Final = re.compile(rb"[ \t]+")


class Named(NamedTuple):
    """A feature of a row."""

    space: int  # first byte of its namespace
    name: str
    hash: int


def named_rows(source: Source, schema: Schema) -> Iterator[list[Named]]:
    """The features of each row; of a table, all of its columns, whether their values are 0 or not."""
    kind = detect_format(source)
    own = schema if kind == schema.format else replace(schema, format=kind, header=None, separator=None)
    readers: dict[str, Callable[[Source, Schema], Iterator[list[Named]]]] = {
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


def of_column(name: str) -> list[Named]:
    """A column of numbers; "v[0]" may be an element of a vector called "v", which is hashed in that namespace."""
    text = name.encode(errors="surrogatepass")
    found = [Named(text[0], name, name_hash(text))]
    if element := _ELEMENT.fullmatch(name):
        found.append(Named(text[0], name, name_hash(f"[{element[2]}]", name_hash(element[1]))))
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


def _svmlight(source: Source, schema: Schema) -> Iterator[list[Named]]:
    for line in _lines(source):
        fields = [field.partition(b":")[0] for field in line.partition(b"#")[0].split() if b":" in field]
        numbers = [int(index) for index in fields if index.isdigit() and len(index) < 20]
        yield [Named(32, f"index {index}", index) for index in numbers]


def _vw(source: Source, schema: Schema) -> Iterator[list[Named]]:
    hashed = _Hashes()
    for line in _lines(source):
        row: list[Named] = []
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
                row.append(Named((name or b" ")[0], shown, own))
        yield row


def _csv(source: Source, schema: Schema) -> Iterator[list[Named]]:
    from massart.data.formats.csv_head import look  # noqa: PLC0415  compiled code

    head = look(source, schema.separator)
    if head is None:
        return
    wanted = schema.columns or ()
    header = head.has_header(wanted) if schema.header is None else schema.header
    lines = (line.decode(errors="replace") + "\n" for line in _lines(source))
    records = _records(csv.reader(lines, delimiter=head.separator))
    if header:
        names = next(records, [])
        places = [names.index(name) if name in names else -1 for name in wanted]
    else:
        others = {schema.label, schema.weight, *schema.ignore}
        places = [place for place in range(head.width) if str(place + 1) not in others]
    columns = [(name, place) for name, place in zip(wanted, places, strict=False) if place >= 0]
    cells = _Cells(schema)
    for record in records:
        yield cells.row([(name, record[place].strip()) for name, place in columns if place < len(record)])


def _arrow(source: Source, schema: Schema) -> Iterator[list[Named]]:
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
        self._numbers = {name: of_column(name) for name in schema.columns or () if name not in self._categories}

    def row(self, cells: list[tuple[str, Any]]) -> list[Named]:
        found: list[Named] = []
        for name, value in cells:
            if name in self._numbers:
                found += self._numbers[name]
            elif value is not None and value != "":
                own = self._hashed(as_bytes(value), self._hashed(name))
                found.append(Named(name.encode(errors="surrogatepass")[0], f"{name}={as_text(value)}", own))
        return found


def _jsonl(source: Source, schema: Schema) -> Iterator[list[Named]]:
    from massart.data.formats.jsonl_format import parse_line  # noqa: PLC0415  who reads text does without

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
    """Fields of an object as features: see jsonl_features.py."""

    def __init__(self, schema: Schema) -> None:
        self._hashed = _Hashes()
        self._ignored, self._categories = frozenset(schema.ignore), frozenset(schema.categorical)

    def named(self, name: str, value: Any, path: str) -> Iterator[Named]:
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

    def _array(self, name: str, whole: str, values: list[Any], path: str) -> Iterator[Named]:
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

    def _one(self, name: str, value: Any, path: str, *, is_name: bool) -> Iterator[Named]:
        space = path.encode(errors="surrogatepass")[0] if path else ord(" ")
        shown, own = f"{path}^{name}" if path else name, self._hashed(name, self._hashed(path))
        if isinstance(value, str) or (is_name and value is not None):
            yield Named(space, f"{shown}={as_text(value)}", self._hashed(as_bytes(value), own))
        elif value is not None and value is not False:
            yield Named(space, shown, own)
