"""A first look at a CSV file: its separator, its fields, and whether its first line names the columns."""

from collections.abc import Iterable
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from massart.data.formats.table_columns import LABELS, check_columns, has_comma
from massart.data.io.sources import Source
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.parsing.csv_fields import A_NUMBER, WORDS, cut_records, find_fields

__all__ = ["SEPARATORS", "Head", "look"]

SEPARATORS: Final = (",", "\t", ";", "|")
_SEMICOLON: Final = 2
_SIZE: Final = 1 << 20  # bytes that are looked at
_MOST: Final = 1 << 24  # where lines are long
_LINES: Final = 16  # enough of them
_SNIFFED: Final = 1 << 17  # bytes that tell the separator
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Head:
    """The first records of a file, cut into fields; records that cannot be read and blank lines are left out."""

    def __init__(self, text: bytes, separator: str, offset: int = 0) -> None:
        self.separator = separator
        self._offset = offset
        self._text = np.array(np.frombuffer(text, np.uint8))
        lines = text.count(b"\n")
        self._begins, self._ends = np.empty(len(text), np.uint32), np.empty(len(text), np.uint32)
        self._kinds = np.empty(len(text), np.uint8)
        firsts, stops = np.empty(lines + 1, np.int64), np.empty(lines + 1, np.int64)
        fields = self._begins, self._ends, self._kinds
        count = find_fields(self._text, np.uint8(ord(separator)), fields, (firsts, stops))
        self._firsts: NDArray[np.int64] = firsts[: count + 1]
        self._stops: NDArray[np.int64] = stops[:count]

    def __len__(self) -> int:
        return int(self._stops.size)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """The number of fields of each record."""
        return np.diff(self._firsts)

    @cached_property
    def width(self) -> int:
        """The number of fields that most records have, the first of them aside, if there are others."""
        counts = np.bincount(self.widths[1:] if len(self) > 1 else self.widths, minlength=int(self.widths[0]) + 1)
        return int(self.widths[0] if counts[self.widths[0]] == counts.max() else counts.argmax())

    def first(self) -> list[str]:
        """The fields of the first record."""
        return [self._cell(field).decode("utf-8", "replace") for field in range(int(self.widths[0]))]

    def first_end(self) -> tuple[int, int]:
        """(offset, lines) of the file up to the end of the first record."""
        stop = int(self._stops[0])
        return self._offset + stop, int(np.count_nonzero(self._text[:stop] == 10))

    def kinds(self, *, header: bool) -> NDArray[np.uint8]:
        """What is in the records of the usual width: (records, columns)."""
        fields = self._fields(header=header)[:, None] + np.arange(self.width)
        kinds: NDArray[np.uint8] = self._kinds[fields] & np.uint8(3)
        return kinds

    def cells(self, column: int, *, header: bool, records: NDArray[np.int64] | None = None) -> list[bytes]:
        """The text in a column, in the records of the usual width, or in some of these."""
        fields = self._fields(header=header) + column
        return [self._cell(field) for field in (fields if records is None else fields[records]).tolist()]

    def _fields(self, *, header: bool) -> NDArray[np.int64]:
        """The first fields of the records of the usual width."""
        good = self.widths == self.width
        good[0] = good[0] and not header
        fields: NDArray[np.int64] = self._firsts[:-1][good]
        return fields

    def _cell(self, field: int) -> bytes:
        text = self._text[self._begins[field] : self._ends[field]].tobytes()
        return text.replace(b'""', b'"') if self._kinds[field] & 4 else text

    def has_header(self, asked: Iterable[str]) -> bool:
        r"""Whether the first record names the columns: it has one of the names asked for, or no number, unlike others.

        >>> Head(b"a,b\n1,x\n", ",").has_header([]), Head(b"a,b\nc,b\n", ",").has_header([])
        (True, False)
        """
        first = self.first()
        if not {name for name in asked if not name.removeprefix("-").isdecimal()}.isdisjoint(first):
            return True
        if (self._kinds[: len(first)] & np.uint8(3) == A_NUMBER).any():
            return False
        below = self.kinds(header=True)
        if len(self) == 1 or ((below == A_NUMBER).any(axis=0) & (below <= A_NUMBER).all(axis=0)).any():
            return True
        # Text everywhere: what stands again below it is a value, not a name.
        again = [name.encode() in set(self.cells(i, header=True)) for i, name in enumerate(first[: self.width])]
        told = [
            name.lower() in LABELS and len(name) > 1 and not found for name, found in zip(first, again, strict=False)
        ]
        return any(told) or (len(first) == self.width and not any(again))


def look(source: Source, separator: str | None, decimal: str | None = None) -> Head | None:
    """The head of a file, None if there is nothing in it; the separator is found if it is not given."""
    if separator is not None and separator not in SEPARATORS:
        raise InvalidParameterError(f"separator={separator!r}: choose comma, tab, semicolon or |")
    size = _SIZE
    raw = source.head(size)
    while len(raw) == size < _MOST and raw.count(b"\n") < _LINES:
        size *= 4
        raw = source.head(size)
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in raw[:4]:
        raise InvalidDataError(f"{source.name} is not UTF-8 text: is it UTF-16? save it as UTF-8")
    if b"\n" not in raw and raw.count(b"\r") > 1:
        raise InvalidDataError(f"{source.name} has lines that end with a carriage return alone: write newlines")
    offset = len(_BYTE_ORDER_MARK) if raw.startswith(_BYTE_ORDER_MARK) else 0
    text = raw[offset:]
    if not text.strip():
        return None
    if len(raw) == size:
        text = text[: text.rfind(b"\n") + 1] or text
    if not text.endswith(b"\n"):
        text += b"\n"
    found = separator or _sniff(text, decimal)
    if len(raw) == size:
        # The rest of a record whose quoted field goes on would look like others.
        end, _ = cut_records(np.array(np.frombuffer(text, np.uint8)), np.uint8(ord(found)), len(text) + 1)
        text = text[: int(end)] or text
    head = Head(text, found, offset)
    if not len(head):
        raise InvalidDataError(f"{source.name} has no line that can be read as CSV: is a quote never closed?")
    check_columns(int(head.widths.max()), source.name)
    return head


def _sniff(text: bytes, decimal: str | None) -> str:
    """The separator that gives the most fields to the most records; a decimal comma separates nothing."""
    part = text[: text.find(b"\n", _SNIFFED) + 1] or text
    scores = []
    for separator in SEPARATORS:
        head = Head(part, separator)
        usual = head.width if len(head) else 1
        scores.append((usual - 1) * float(np.mean(head.widths == usual)) ** 2 if usual > 1 else 0.0)
    if decimal == "," or (scores[_SEMICOLON] and _has_commas(Head(part, ";"))):
        scores[0] = 0.0
    return SEPARATORS[int(np.argmax(scores))]


def _has_commas(head: Head) -> bool:
    """Whether commas in fields between semicolons are decimal commas."""
    kinds = head.kinds(header=len(head) > 1)
    first = [
        cell.decode("utf-8", "replace")
        for column in range(head.width)
        for cell in head.cells(column, header=len(head) > 1, records=np.flatnonzero(kinds[:, column] == WORDS)[:_LINES])
    ]
    commas = [cell for cell in first if "," in cell]
    return bool(commas) and all(map(has_comma, commas))
