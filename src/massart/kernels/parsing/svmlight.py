"""svmlight text to CSR rows: `label index:value index:value ... # comment`, one row per line.

A plain line, with one space between fields and short numbers, is read from the places of its blanks and colons;
any other is read byte by byte. The text ends with a newline, which every loop stops at: nothing outside it is read,
whatever the bytes are. A line with an error gives no row; its place and what is wrong with it go to `errors`.
docs/files.md has the grammar.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, Floats, Indices, njit
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.merge_duplicates import merge_row, merge_tables
from massart.kernels.parsing.numbers import NOT_FINITE, OK, field_number, label_number, parse_number
from massart.kernels.parsing.swar import digits_of, find_marks, load_word

MARKS: Final = 8192  # places of blanks and colons that are looked for at a time
_ONE = np.uint64(1)
_NEWLINE, _RETURN, _SPACE, _HASH, _COLON = (np.uint8(ord(c)) for c in "\n\r #:")
_PLUS, _MINUS, _ZERO = np.uint8(43), np.uint8(45), np.uint8(48)
_QUERY = tuple(b"qid:")
_END, _BLANK = 1, 2
_CLASS: Final = np.zeros(256, np.uint8)  # what a byte means outside of numbers
_CLASS[[10, 35]] = _END  # the end of what is read of a line: a newline or a comment
_CLASS[[9, 32]] = _BLANK


@njit(cache=True, inline="always")
def label_sign(value: float, labels: Floats) -> Any:
    """-1, +1, or 0 for a label that is neither; `labels` are two that mean -1 and one that means +1.

    If that one is NaN, there are more than two classes, and every number is a label: +1.
    """
    if value == labels[2] or labels[2] != labels[2]:
        return np.int8(1)
    return np.int8(-1) if value in (labels[0], labels[1]) else np.int8(0)


@njit(cache=True)
def find_nul(text: Bytes, start: np.uint64) -> Any:
    """Where in the line from `start` on a NUL byte stands, or the line's end."""
    p = start
    while text[p] != _NEWLINE and text[p] != np.uint8(0):
        p += _ONE
    return p


@njit(cache=True, inline="always")
def next_line(text: Bytes, p: np.uint64, places: Indices, k: np.uint64, marks: np.uint64) -> Any:
    """(where the line after p's begins, the first mark from k on that is not before it)."""
    while text[p] != _NEWLINE:
        p += _ONE
    begin = p + _ONE
    while k < marks and np.uint64(places[k]) < begin:
        k += _ONE
    return begin, k


@njit(cache=True, inline="always")
def _token_end(text: Bytes, p: np.uint64) -> Any:
    """Where the field at p ends; a carriage return just before the newline is no part of it."""
    while _CLASS[text[p]] == 0 and not (text[p] == _RETURN and text[p + _ONE] == _NEWLINE):
        p += _ONE
    return p


@njit(cache=True)
def _number(text: Bytes, start: np.uint64, stop: np.uint64, wrong: int) -> Any:
    """(value, error code or 0) of a field."""
    value, status = parse_number(text, np.int64(start), np.int64(stop))
    if status != OK:
        return 0.0, codes.NOT_FINITE if status == NOT_FINITE else wrong
    return value, 0


@njit(cache=True)
def _index(text: Bytes, start: np.uint64, stop: np.uint64, limit: np.uint64) -> Any:
    """(index, where its colon stands, error code or 0) of the field start..stop."""
    p = start
    if text[p] == _PLUS or text[p] == _MINUS:
        p += _ONE
    first, index = p, np.uint64(0)
    while p < stop and text[p] - _ZERO < np.uint8(10):
        index = min(index * np.uint64(10) + np.uint64(text[p] - _ZERO), limit + _ONE)
        p += _ONE
    if p in (first, stop) or text[p] != _COLON:
        return index, p, codes.INDEX
    if text[start] == _MINUS:
        return index, p, codes.INDEX_NEGATIVE
    if index > limit:
        return index, p, codes.INDEX_LARGE
    return index, p, codes.INDEX_ZERO if index == np.uint64(0) else 0


@njit(cache=True)
def _first_number(text: Bytes, begin: np.uint64) -> float:
    """The number with which a line begins; NaN if it does not."""
    p = begin
    while _CLASS[text[p]] == _BLANK:
        p += _ONE
    value, status = parse_number(text, np.int64(p), np.int64(_token_end(text, p)))
    return value if status == OK else np.nan


@njit(cache=True)
def _is_query(text: Bytes, start: np.uint64, stop: np.uint64) -> bool:
    """Whether the field begins with "qid:"."""
    same = bool(stop - start >= np.uint64(4))
    for k in range(4):
        same = same and bool(text[start + np.uint64(k)] == _QUERY[k])
    return same


@njit(cache=True)
def _any_line(text: Bytes, begin: np.uint64, how: Any, n: np.uint64, data: Floats, indices: Indices) -> Any:
    """(error code, its place, sign, new n, whether there is a row) of the line at `begin`, whatever it looks like."""
    mask, limit, labels, labelled = how
    p, sign = begin, np.int8(0)
    while _CLASS[text[p]] == _BLANK:
        p += _ONE
    if _CLASS[text[p]] == _END or (text[p] == _RETURN and text[p + _ONE] == _NEWLINE):
        return 0, p, sign, n, False
    nul = find_nul(text, begin)
    if text[nul] == np.uint8(0):
        return codes.NUL, nul, sign, n, False
    stop = _token_end(text, p)
    value, code = _number(text, p, stop, codes.LABEL)
    if code == codes.LABEL and not labelled:
        colon = p
        while colon < stop and text[colon] != _COLON:
            colon += _ONE
        if colon < stop:  # a line without a label begins with a feature
            code, stop = 0, p
    elif code == 0:
        sign = label_sign(value, labels)
        if sign == 0 and labelled:
            code = codes.CLASS
    if code != 0:
        return code, p, sign, n, False
    p = stop
    while True:
        while _CLASS[text[p]] == _BLANK:
            p += _ONE
        stop = _token_end(text, p)
        if stop == p:
            return 0, p, sign, n, True
        if not _is_query(text, p, stop):
            index, colon, code = _index(text, p, stop, limit)
            if code != 0:
                return code, p, sign, n, False
            p = colon + _ONE
            value, code = _number(text, p, stop, codes.VALUE)
            if code == 0 and abs(value) > codes.LARGEST:
                code = codes.TOO_LARGE
            if code != 0:
                return code, p, sign, n, False
            if value != 0.0:
                data[n] = value
                indices[n] = np.uint32(index & mask if mask > np.uint64(0) else index - _ONE)
                n += _ONE
        p = stop


@njit(cache=True, error_model="numpy", _nrt=False)
def _plain_line(
    text: Bytes, begin: np.uint64, marked: Any, how: Any, n: np.uint64, data: Floats, indices: Indices
) -> Any:
    """(label's sign, end, new n, marks used, whether columns ascend) of a plain line at `begin`; sign 0 if it is not.

    Label, then (index ":" value) with one space before each. `marked` is (places, next, how many): where the blanks
    and colons are.
    """
    places, k, marks = marked
    mask, limit, labels, _ = how
    size = np.uint64(text.size)
    subtract = np.uint64(mask == np.uint64(0))
    keep = mask if mask > np.uint64(0) else ~np.uint64(0)
    value, ends = label_number(text, begin, size)
    sign, ascending, before = label_sign(value, labels), True, np.int64(-1)
    if ends == begin or sign == 0 or k >= marks or ends != np.uint64(places[k]):
        return np.int8(0), begin, n, k, ascending
    at = np.uint64(places[k])
    k += _ONE
    while text[at] == _SPACE and k + _ONE < marks:
        p, colon, at = at + _ONE, np.uint64(places[k]), np.uint64(places[k + _ONE])
        if colon == p and text[p] == _NEWLINE:  # a space at the end of the line
            return sign, p, n, k + _ONE, ascending
        if p + np.uint64(8) > size:
            return np.int8(0), begin, n, k, ascending
        digits, index = digits_of(load_word(text, p))
        value, valid = field_number(text, colon + _ONE, at, size)
        if not valid or p + digits != colon or digits == 0 or text[colon] != _COLON or index - _ONE >= limit:
            return np.int8(0), begin, n, k, ascending
        k += np.uint64(2)
        column = np.int64((index - subtract) & keep)
        ascending = ascending and bool(column > before)
        before = column
        data[n], indices[n] = value, np.uint32(column)
        n += np.uint64(value != 0.0)
    return sign if text[at] == _NEWLINE else np.int8(0), at, n, k, ascending


@njit(cache=True, nogil=True, error_model="numpy")
def parse_svmlight(text: Bytes, how: Any, out: Any) -> Any:
    """(rows, entries, lines, errors) of whole lines of text.

    `how` is (mask, limit, labels, labelled): hashed columns are index & mask, counted ones, if the mask is 0, are
    index - 1; the limit is the largest index. `out` is (y, values, lines, indptr, data, indices, errors), with
    room for every line, for an entry per blank and one more, and for 3 numbers per error: line, column, code. `values`
    may be empty; else it gets the label of every row, NaN if it has none.
    """
    y, values, lines, indptr, data, indices, errors = out
    tables = merge_tables()
    no_spaces, places = np.empty(0, np.uint8), np.empty(MARKS, np.uint32)
    rows, n, line, wrong = np.uint64(0), np.uint64(0), 0, 0
    indptr[0] = np.uint32(0)
    size = np.uint64(text.size)
    marks, k = np.uint64(0), np.uint64(0)
    begin = np.uint64(0)
    while begin < size:
        line += 1
        if k + np.uint64(MARKS // 32) > marks:
            marks, k = find_marks(text, begin, places), np.uint64(0)
        code, row = 0, True
        sign, p, end, used, ascending = _plain_line(text, begin, (places, k, marks), how, n, data, indices)
        plain = sign != 0
        if not plain:
            code, p, sign, end, row = _any_line(text, begin, how, n, data, indices)
        if code != 0:
            errors[wrong, 0], errors[wrong, 1], errors[wrong, 2] = line, np.int64(p - begin) + 1, code
            wrong += 1
        elif row:
            sorted_row = plain and ascending
            n = end if sorted_row else merge_row(data, indices, no_spaces, n, end, tables, rows + _ONE)
            y[rows], lines[rows] = sign, line
            if values.size > 0:
                values[rows] = _first_number(text, begin)
            rows += _ONE
            indptr[rows] = np.uint32(n)
        begin, k = next_line(text, p, places, used if plain else k, marks)
    return np.int64(rows), np.int64(n), line, wrong
