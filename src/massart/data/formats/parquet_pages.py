"""What the pages of a Parquet file say of their size, looked at before PyArrow unpacks them.

A page of a few bytes may become two gigabytes, by compression or by repetition, and a list in it may have as many
elements. Page headers are structs of Thrift's compact protocol (`parquet.thrift`). A ValueError, or
TooLarge, says what is wrong.
"""

import base64
import binascii
import os
from collections.abc import Iterator
from typing import IO, Any, Final, NamedTuple

from massart.data.formats.arrow_messages import check_schema
from massart.data.row_errors import TooLarge, most_unpacked

__all__ = ["Group", "check_footer", "check_group", "groups_of", "leaves"]

_KEY: Final = b"ARROW:schema"
_LOOKS: Final = (1 << 7, 1 << 14, 1 << 24)  # bytes in which a page header ends
_VALUE: Final = 16  # bytes of memory for an element of a list, with its levels
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # kinds of pages
_MOST_FIXED: Final = 1 << 12  # bytes of a value of fixed length, which may be repeated without taking any room
_DEEPEST: Final = 12  # structs and lists inside one another


class _Page(NamedTuple):
    kind: int
    size: int  # in memory
    stored: int
    values: int
    header: int  # bytes


class _Chunk(NamedTuple):
    """A column of a row group, where it lies in the file."""

    begin: int
    stored: int


class Group(NamedTuple):
    """A row group."""

    rows: int
    chunks: list[_Chunk]


def check_footer(file: IO[bytes], size: int) -> bytes:
    """The footer; a schema of Arrow in it that is larger than its description is refused."""
    file.seek(max(0, size - 8))
    end = file.read(8)
    if len(end) < 8 or end[4:] != b"PAR1":
        raise ValueError("it does not end with PAR1")
    length = int.from_bytes(end[:4], "little")
    if not 0 < length <= size - 12:
        raise ValueError(f"its footer of {length:,} bytes does not fit")
    file.seek(size - 8 - length)
    footer = file.read(length)
    place = footer.find(_KEY)
    while place >= 0:
        place += len(_KEY)
        if footer[place : place + 1] != b"\x18":
            raise ValueError("a schema of Arrow that is not written as a text")
        count, begin = _varint(footer, place + 1)
        try:
            message = base64.b64decode(footer[begin : begin + count])
        except binascii.Error:
            raise ValueError("a schema of Arrow that is not base64") from None
        start = 8 if message[:4] == b"\xff\xff\xff\xff" else 4
        check_schema(message[start:])
        place = footer.find(_KEY, begin)
    return footer


def groups_of(footer: bytes) -> list[Group]:
    """The row groups of a file. PyArrow's own description of a column may end the process where it is damaged."""
    try:
        fields, _ = _struct(footer, 0, 0)
    except IndexError:
        raise ValueError("a footer that is cut off") from None
    return [Group(_whole(group, 3), [_chunk(one) for one in _list(group, 1)]) for group in _list(fields, 4)]


def _chunk(given: Any) -> _Chunk:
    about = given.get(3) if isinstance(given, dict) else None
    if not isinstance(about, dict):
        raise ValueError("a column without a description")  # noqa: TRY004 - of the file
    begin, dictionary = _whole(about, 9), _whole(about, 11)
    return _Chunk(dictionary if 0 < dictionary < begin else begin, _whole(about, 7))


def _whole(fields: Any, field: int) -> int:
    value = fields.get(field, 0) if isinstance(fields, dict) else None
    if type(value) is not int:
        raise ValueError("a footer with something else where a number should be")
    return value


def _list(fields: Any, field: int) -> list[Any]:
    value = fields.get(field, []) if isinstance(fields, dict) else None
    if not isinstance(value, list):
        raise ValueError("a footer with something else where a list should be")  # noqa: TRY004 - of the file
    return value


def leaves(of: Any, names: list[str]) -> list[tuple[int, bool]]:
    """The number of each physical column under these names, and whether it is a list."""
    wanted = set(names)
    found = []
    for number in range(len(of)):
        column = of.column(number)
        path = column.path
        if path in wanted or any(path[:i] in wanted for i, letter in enumerate(path) if letter == "."):
            if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > _MOST_FIXED:
                raise ValueError(f"column {path} holds {column.length:,} bytes in every row: write binary instead")
            found.append((number, column.max_repetition_level > 0))
    return found


def check_group(file: IO[bytes], size: int, group: Group, columns: list[tuple[int, bool]]) -> None:
    """Refuse a row group whose pages, one of each column at a time and lists whole, take too much memory."""
    limit, total = most_unpacked(size), 0
    for number, is_list in columns:
        if number >= len(group.chunks):
            raise ValueError("a row group with fewer columns than the schema")
        begin, stored = group.chunks[number]
        if not (begin >= 4 and 0 <= stored <= size - begin):
            raise ValueError("a column that lies outside of the file")
        largest = values = dictionary = 0
        for page in _pages(file, begin, begin + stored, group.rows, exact=not is_list):
            if page.kind == _DICTIONARY:
                dictionary = page.size
                continue
            largest, values = max(largest, page.size), values + page.values
        total += largest + dictionary + (_VALUE * values if is_list else 0)
        if total > limit:
            raise TooLarge(
                f"its pages unpack to more than {limit:,} bytes in memory: write smaller row groups or pages"
            )


def _pages(file: IO[bytes], place: int, end: int, rows: int, *, exact: bool) -> Iterator[_Page]:
    seen = 0
    while place < end and (seen < rows or not exact):
        page = _header(file, place, end)
        if page.kind in (_DATA, _DATA_V2):
            seen += page.values
        yield page
        place += page.header + page.stored
    if seen < rows:
        raise ValueError(f"a column of {rows:,} rows has pages for {seen:,}")


def _header(file: IO[bytes], place: int, end: int) -> _Page:
    for look in _LOOKS:
        data = os.pread(file.fileno(), min(look, end - place), place)
        try:
            fields, header = _struct(data, 0, 0)
        except IndexError:
            continue
        kind, size, stored = (fields.get(number, 0) for number in (1, 2, 3))
        inner = fields.get({_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}.get(kind, 0), {})
        values = inner.get(1, 0) if isinstance(inner, dict) else 0
        if not all(type(one) is int and 0 <= one < 1 << 31 for one in (kind, size, stored, values)):
            raise ValueError("a page of negative size")
        if kind == _DICTIONARY and values > 8 * size:
            raise ValueError(f"a dictionary of {values:,} values in {size:,} bytes")
        return _Page(kind, size, stored, values, header)
    raise ValueError("a page header without end")


def _struct(data: bytes, place: int, depth: int) -> tuple[Any, int]:
    """The numbers, structs and lists in a struct, by field, and where it ends; IndexError if the data ends before."""
    fields: dict[int, Any] = {}
    field = 0
    while True:
        kind = data[place]
        place += 1
        if kind == 0:
            return fields, place
        if kind >> 4:
            field += kind >> 4
        else:
            number, place = _varint(data, place)
            field = number >> 1 ^ -(number & 1)
        if field in fields:
            raise ValueError("a field that stands there twice")
        if 4 <= kind & 15 <= 6 and (byte := data[place]) < 128:  # a small number, as most are
            fields[field] = byte >> 1 ^ -(byte & 1)
            place += 1
            continue
        fields[field], place = _value(data, place, kind & 15, depth)


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true and false have no bytes of their own
        return kind == 1, place
    if kind in (3, 7):  # a byte, and a number with a point, which none here is
        size = 1 if kind == 3 else 8
        if place + size > len(data):
            raise IndexError
        return None, place + size
    if kind in (4, 5, 6):
        number, place = _varint(data, place)
        return number >> 1 ^ -(number & 1), place
    if kind == 8:
        length, place = _varint(data, place)
        if place + length > len(data):
            raise IndexError
        return None, place + length
    if kind in (9, 10, 12):
        if depth > _DEEPEST:
            raise ValueError("a description that is nested too deeply")
        return (_struct if kind == 12 else _elements)(data, place, depth + 1)
    raise ValueError("a description of a kind that is not known")


def _elements(data: bytes, place: int, depth: int) -> tuple[Any, int]:
    """A list; only structs in it are kept."""
    count, kind = data[place] >> 4, data[place] & 15
    place += 1
    if count == 15:
        count, place = _varint(data, place)
    if place + count > len(data):
        raise IndexError
    kept = []
    for _ in range(count):
        if kind in (1, 2):  # in a list, true and false are bytes
            place += 1
            continue
        value, place = _value(data, place, kind, depth)
        if kind == 12:
            kept.append(value)
    return kept, place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
