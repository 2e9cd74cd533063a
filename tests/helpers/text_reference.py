"""svmlight and VW text read slowly and clearly: what the parsing kernels must give for any bytes, bit for bit."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from massart.kernels.parsing.row_errors import (
    CLASS,
    HEAD,
    INDEX,
    INDEX_LARGE,
    INDEX_NEGATIVE,
    INDEX_ZERO,
    LABEL,
    LARGEST,
    NO_BAR,
    NO_VALUE,
    NOT_FINITE,
    NUL,
    SCALE,
    TOO_LARGE,
    VALUE,
    WEIGHT,
)

OK, NOT_A_NUMBER, INFINITE = range(3)  # what `number` says of a text
WORD = 0xFFFFFFFF  # hashes are taken modulo 2**32
COUNTED = 1 << 25  # columns there may be when they are counted
CLASSES = ((-1.0, 0.0), (1.0,))  # labels that mean -1, and +1

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_INDEX = re.compile(rb"([+-]?)([0-9]+)")


class Row(NamedTuple):
    line: int  # from 1
    y: int  # -1, +1, or 0: no label
    weight: float
    entries: dict[int, float]  # value of each column, in the order of their first appearance
    spaces: tuple[int, ...] = ()  # VW: first byte of the namespace of each entry
    tag: bytes = b""


class LineError(Exception):
    """The first error of a line: the byte where it stands (from 0) and its code."""

    def __init__(self, place: int, code: int) -> None:
        self.place, self.code = place, code


def number(text: bytes) -> tuple[float, int]:
    """The value of a number, with OK; or 0 and why there is none."""
    if _NOT_FINITE.fullmatch(text):
        return 0.0, INFINITE
    if not _NUMBER.fullmatch(text):
        return 0.0, NOT_A_NUMBER
    value = float(text)
    return (value, OK) if abs(value) != float("inf") else (0.0, INFINITE)


def _finite(text: bytes, place: int, code: int) -> float:
    value, status = number(text)
    if status == INFINITE:
        raise LineError(place, NOT_FINITE)
    if status == NOT_A_NUMBER:
        raise LineError(place, code)
    return value


def _class(text: bytes, place: int, classes: tuple, labelled: bool) -> int:
    value = _finite(text, place, LABEL)
    if value in classes[0]:
        return -1
    if value in classes[1]:
        return 1
    if labelled:
        raise LineError(place, CLASS)
    return 0


def murmur3(text: bytes, seed: int) -> int:
    """MurmurHash3_x86_32."""

    def mixed(word: int) -> int:
        word = word * 0xCC9E2D51 & WORD
        return ((word << 15 | word >> 17) & WORD) * 0x1B873593 & WORD

    state, whole = seed & WORD, len(text) - len(text) % 4
    for i in range(0, whole, 4):
        state ^= mixed(int.from_bytes(text[i : i + 4], "little"))
        state = ((state << 13 | state >> 19) & WORD) * 5 + 0xE6546B64 & WORD
    state ^= mixed(int.from_bytes(text[whole:], "little"))  # nothing left: mixed(0) = 0
    state ^= len(text)
    state = (state ^ state >> 16) * 0x85EBCA6B & WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & WORD
    return state ^ state >> 16


def vw_hash(text: bytes, seed: int) -> int:
    """A name's hash in VW: a name of digits is an offset."""
    if not re.fullmatch(rb"[0-9]+", text):
        return murmur3(text, seed)
    offset = 0
    for digit in text:
        offset = (offset * 10 + digit - ord("0")) & WORD
    return (offset + seed) & WORD


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, without their ends, each with its number."""
    pieces = text.split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    for i, piece in enumerate(pieces):
        line = piece.removesuffix(b"\r")
        if line.strip(b" \t"):
            yield i + 1, line


def _tokens(text: bytes, start: int, blanks: bytes) -> list[tuple[int, bytes]]:
    """What stands between blanks, each with its place, where the text begins at `start`."""
    return [(start + found.start(), found.group()) for found in re.finditer(rb"[^" + blanks + rb"]+", text)]


class _Entries:
    """The entries of a row: values of a column are added up, zeros are left out."""

    def __init__(self) -> None:
        self.values: dict[int, float] = {}
        self.slots: dict[int, int] = {}

    def add(self, column: int, value: float, slot: int = 0) -> None:
        if value != 0:
            self.values[column] = self.values[column] + value if column in self.values else value
            self.slots.setdefault(column, slot)

    def kept(self) -> dict[int, float]:
        return {column: value for column, value in self.values.items() if value != 0}


def _svmlight_column(field: bytes, place: int, bits: int | None, features: int | None) -> int:
    name, colon, _ = field.partition(b":")
    found = _INDEX.fullmatch(name)
    if not colon or not found:
        raise LineError(place, INDEX)
    if found[1] == b"-":
        raise LineError(place, INDEX_NEGATIVE)
    digits = found[2].lstrip(b"0")
    if not digits:
        raise LineError(place, INDEX_ZERO)
    limit = WORD if bits is not None else COUNTED if features is None else features
    if len(digits) > 10 or int(digits) > limit:
        raise LineError(place, INDEX_LARGE)
    return int(digits) - 1 if bits is None else int(digits) & ((1 << bits) - 1)


def read_svmlight(
    text: bytes,
    *,
    bits: int | None = None,
    features: int | None = None,
    classes: tuple = CLASSES,
    labelled: bool = True,
) -> tuple[list[Row], list[tuple[int, int, int]]]:
    """The rows of whole lines, and the errors: line, column, code."""
    rows, errors = [], []
    for i, line in _lines(text):
        if line.lstrip(b" \t").startswith(b"#"):
            continue
        try:
            if b"\0" in line:
                raise LineError(line.index(b"\0"), NUL)
            fields, y, entries = _tokens(line.partition(b"#")[0], 0, b" \t"), 0, _Entries()
            if labelled or b":" not in fields[0][1]:
                place, label = fields.pop(0)
                y = _class(label, place, classes, labelled)
            for place, field in fields:
                if field.startswith(b"qid:"):
                    continue
                column = _svmlight_column(field, place, bits, features)
                name, _, written = field.partition(b":")
                place_of_value = place + len(name) + 1
                value = _finite(written, place_of_value, VALUE)
                if abs(value) > LARGEST:
                    raise LineError(place_of_value, TOO_LARGE)
                entries.add(column, value)
            rows.append(Row(i, y, 1.0, entries.kept()))
        except LineError as error:
            errors.append((i, error.place + 1, error.code))
    return rows, errors


def _vw_head(head: bytes, start: int, classes: tuple, labelled: bool) -> tuple[int, float, bytes]:
    """Label, importance and tag; the head begins at `start`, after what a TAB ends."""
    tokens, tag = _tokens(head, start, b" "), b""
    if tokens and (not head.endswith(b" ") or tokens[-1][1].startswith(b"'")):
        tag = tokens.pop()[1].removeprefix(b"'")
    if len(tokens) > 3:
        raise LineError(tokens[3][0], HEAD)
    y, weight = 0, 1.0
    if tokens:
        y = _class(tokens[0][1], tokens[0][0], classes, labelled)
    if len(tokens) > 1:
        weight, status = number(tokens[1][1])
        if status != OK or not (weight == 0 or 1e-50 <= weight <= 1e50):
            raise LineError(tokens[1][0], WEIGHT)
    if len(tokens) > 2 and number(tokens[2][1])[1] != OK:
        raise LineError(tokens[2][0], HEAD)
    return y, weight, tag


def _vw_namespace(space: bytes, start: int, mask: int, entries: _Entries) -> None:
    """Add the features of what stands between two bars; it begins at `start`."""
    opening = re.match(rb"[^ \t]*", space).group()
    name, colon, written = opening.partition(b":")
    seed, slot, scale, anonymous = vw_hash(name, 0) if name else 0, ord(name[:1] or b" "), 1.0, 0
    if colon:
        scale, status = number(written)
        if status != OK:
            raise LineError(start + len(name) + 1, SCALE)
    for place, feature in _tokens(space[len(opening) :], start + len(opening), b" \t"):
        name, colon, written = feature.partition(b":")
        place_of_value = place + len(name) + 1 if colon else place
        value, status = number(written) if colon else (1.0, OK)
        if colon and not written:
            raise LineError(place_of_value, NO_VALUE)
        if status == INFINITE:
            raise LineError(place_of_value, NOT_FINITE)
        hashed = vw_hash(name, seed) if name else seed
        if status == NOT_A_NUMBER:
            hashed, value = vw_hash(written, hashed), 1.0
        else:
            value *= scale
            if not name:
                hashed, anonymous = (seed + anonymous) & WORD, anonymous + 1
        if abs(value) > LARGEST:
            raise LineError(place_of_value, TOO_LARGE)
        entries.add(hashed & mask, value, slot)


def read_vw(
    text: bytes, *, bits: int = 18, classes: tuple = CLASSES, labelled: bool = True
) -> tuple[list[Row], list[tuple[int, int, int]]]:
    """The rows of whole lines, and the errors: line, column, code."""
    rows, errors = [], []
    for i, line in _lines(text):
        try:
            if b"\0" in line:
                raise LineError(line.index(b"\0"), NUL)
            head, bar, body = line.partition(b"|")
            if not bar:
                raise LineError(0, NO_BAR)
            start = head.index(b"\t") + 1 if b"\t" in head else 0
            y, weight, tag = _vw_head(head[start:], start, classes, labelled)
            entries, place = _Entries(), len(head) + 1
            for space in body.split(b"|"):
                _vw_namespace(space, place, (1 << bits) - 1, entries)
                place += len(space) + 1
            kept = entries.kept()
            rows.append(Row(i, y, weight, kept, tuple(entries.slots[column] for column in kept), tag))
        except LineError as error:
            errors.append((i, error.place + 1, error.code))
    return rows, errors
