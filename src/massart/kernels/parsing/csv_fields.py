"""Where the fields and records of CSV text are (RFC 4180): one separator byte, fields in double quotes if they like.

Inside quotes a doubled quote is one, and separators and newlines are text. A quote counts only where a field begins;
blanks around a field do not. The text ends with a newline, which every loop stops at, except those inside quotes, which
know where to stop. A quote that is not closed within LONGEST_QUOTED bytes, or is closed and followed by text, costs
its line: reading goes on after the first newline behind it. That is decided by the bytes from the record's beginning on
and nothing else, so that it does not matter where a file is cut into texts.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, njit
from massart.kernels.parsing.numbers import NOT_A_NUMBER, parse_number

PLAIN, QUOTED, DOUBLED, OPEN, BROKEN = range(5)  # fields; with doubled quotes; not closed so far; not closed
MISSING, A_NUMBER, WORDS = range(3)  # what is in a field
LONGEST_QUOTED: Final = 1 << 20  # bytes

ONE: Final = np.uint64(1)
NEWLINE, RETURN, SPACE, TAB, QUOTE = (np.uint8(ord(c)) for c in '\n\r \t"')
_NOTHING: Final = np.array(  # what stands for a missing value, and the empty field, as little-endian numbers
    [int.from_bytes(w, "little") for w in (b"", b"?", b"-", b"NA", b"N/A", b"nan", b"NaN", b"null", b"NULL", b"None")],
    np.uint32,
)


@njit(cache=True, inline="always")
def is_blank(byte: np.uint8, separator: np.uint8) -> bool:
    """Whether it is a space, or a tab that separates nothing."""
    return byte == SPACE or (byte == TAB and separator != TAB)


@njit(cache=True, inline="always")
def newline_from(text: Bytes, p: Any) -> Any:
    """Where the first newline from p on is."""
    while text[p] != NEWLINE:
        p += ONE
    return p


@njit(cache=True, inline="always")
def is_missing(text: Bytes, begin: np.uint64, end: np.uint64) -> bool:
    """Whether text[begin:end] says that there is no value. NUL bytes count as nothing: their rows are left out."""
    if end - begin > np.uint64(4):
        return False
    word, p = np.uint32(0), end
    while p > begin:
        p -= ONE
        word = np.uint32(word << np.uint32(8)) | np.uint32(text[p])
    missing = np.uint8(0)
    for i in range(_NOTHING.size):
        missing |= np.uint8(word == _NOTHING[i])
    return missing != 0


@njit(cache=True)
def _quoted_field(text: Bytes, opening: Any, stop: np.uint64, separator: np.uint8) -> Any:
    """`field_at` for the field whose quote is at `opening`; no byte from `stop` on is looked at."""
    begin = opening + ONE
    limit = min(stop, begin + np.uint64(LONGEST_QUOTED))
    p, shape = begin, QUOTED
    while p < limit:
        if text[p] != QUOTE:
            p += ONE
            continue
        if p + ONE < limit and text[p + ONE] == QUOTE:
            p, shape = p + np.uint64(2), DOUBLED
            continue
        end = p
        p += ONE
        while p < limit and is_blank(text[p], separator):
            p += ONE
        if p + ONE < limit and text[p] == RETURN and text[p + ONE] == NEWLINE:
            p += ONE
        if p < limit and (text[p] == separator or text[p] == NEWLINE):
            return begin, end, p, shape
        if p + ONE < limit or (p < limit and text[p] != RETURN):
            return opening, opening, opening, BROKEN
        break
    return opening, opening, opening, OPEN if limit == stop else BROKEN


@njit(cache=True)
def field_at(text: Bytes, p: Any, stop: np.uint64, separator: np.uint8) -> Any:
    """(begin, end, after, shape) of the field at p: what is in it, and the separator or newline behind it.

    No quote is looked for from `stop` on. Where the quote is not closed, the first three are the quote's place.
    """
    while is_blank(text[p], separator):
        p += ONE
    if text[p] == QUOTE:
        return _quoted_field(text, p, stop, separator)
    begin = p
    while text[p] != separator and text[p] != NEWLINE:
        p += ONE
    after = p
    if text[p] == NEWLINE and p > begin and text[p - ONE] == RETURN:
        p -= ONE
    while p > begin and is_blank(text[p - ONE], separator):
        p -= ONE
    return begin, p, after, PLAIN


@njit(cache=True, inline="always")
def skip_blank_line(text: Bytes, p: Any, separator: np.uint8) -> Any:
    """Where the line after this one begins if this one is blank, otherwise p."""
    q = p
    while is_blank(text[q], separator):
        q += ONE
    if text[q] == RETURN and text[q + ONE] == NEWLINE:
        q += ONE
    return q + ONE if text[q] == NEWLINE else p


@njit(cache=True)
def unescape(text: Bytes, begin: np.uint64, end: np.uint64, scratch: Any) -> Any:
    """Write text[begin:end] with one quote for two to `scratch`, where there is room for LONGEST_QUOTED; its size."""
    size, p = np.uint64(0), begin
    while p < end:
        scratch[size] = text[p]
        size += ONE
        p += np.uint64(2) if text[p] == QUOTE else ONE
    return size


@njit(cache=True, nogil=True)
def has_byte(text: Bytes, byte: np.uint8) -> bool:
    """Whether the byte is anywhere in the text.

    >>> has_byte(np.frombuffer(b"a,b", np.uint8), np.uint8(44))
    True
    """
    found = np.uint8(0)
    for p in range(np.uint64(text.size)):
        found |= np.uint8(text[p] == byte)
    return found != 0


@njit(cache=True, nogil=True)
def cut_records(text: Bytes, separator: np.uint8, longest: int) -> Any:
    r"""(end, next): the whole records of a text of whole lines end at `end`, and reading goes on at `next`.

    Between the two is a record longer than `longest`, to be left out. If there is none and the text goes on, a field
    is still open at its end.

    >>> text = np.frombuffer(b'1,"a"\n2,"b\n', np.uint8)
    >>> [int(place) for place in cut_records(text, np.uint8(44), 1000)]
    [6, 6]
    """
    size, most = np.uint64(text.size), np.uint64(longest)
    begin = np.uint64(0)
    while begin < size:
        stop = min(size, begin + most)
        p, after = begin, begin
        while True:
            _, _, after, shape = field_at(text, p, stop, separator)
            if shape == OPEN and stop < begin + most:
                return begin, begin
            if shape == BROKEN:
                after = newline_from(text, after)
            if shape == OPEN or after >= stop:
                return begin, newline_from(text, stop - ONE) + ONE
            if text[after] == NEWLINE:
                break
            p = after + ONE
        begin = after + ONE
    return size, size


@njit(cache=True, nogil=True)
def find_fields(text: Bytes, separator: np.uint8, fields: Any, records: Any) -> int:
    """How many records there are in a text of whole lines, apart from broken ones and blank lines; and where.

    `fields` is (begins, ends, kinds), with room for a field per byte: what is in a field, and whether its quotes are
    doubled (+ 4). `records` is (firsts, stops), with room for one per line and one more: the fields before the record,
    and where it ends.
    """
    begins, ends, kinds = fields
    firsts, stops = records
    size, p = np.uint64(text.size), np.uint64(0)
    count, n = 0, 0
    firsts[0] = 0
    while p < size:
        q = skip_blank_line(text, p, separator)
        if q != p:
            p = q
            continue
        while True:
            begin, end, after, shape = field_at(text, p, size, separator)
            if shape >= OPEN:
                n, p = firsts[count], newline_from(text, after) + ONE
                break
            kind = WORDS
            if is_missing(text, begin, end):
                kind = MISSING
            elif parse_number(text, np.int64(begin), np.int64(end))[1] != NOT_A_NUMBER:
                kind = A_NUMBER
            begins[n], ends[n], kinds[n] = begin, end, kind + (4 if shape == DOUBLED else 0)
            n, p = n + 1, after + ONE
            if text[after] == NEWLINE:
                stops[count] = p
                count += 1
                firsts[count] = n
                break
    return count
