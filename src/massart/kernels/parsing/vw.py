"""Vowpal Wabbit's text to CSR rows: `label importance 'tag |namespace:scale name:value ...`, one row per line.

As in svmlight.py, a plain line is read from the places of its blanks, colons and bars, any other byte by
byte; the text ends with a newline, which every loop stops at: nothing outside it is read, whatever the bytes are. A
line with an error gives no row; its place and what is wrong with it go to `errors`. docs/files.md has the grammar.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, Floats, Indices, njit
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.hashing import name_hash, vw_hash
from massart.kernels.parsing.merge_duplicates import merge_row, merge_tables
from massart.kernels.parsing.numbers import NOT_FINITE, OK, field_number, label_number, parse_number
from massart.kernels.parsing.svmlight import MARKS, find_nul, label_sign, next_line
from massart.kernels.parsing.swar import find_marks

_ONE = np.uint64(1)
_NEWLINE, _RETURN, _SPACE, _TAB, _BAR, _COLON, _QUOTE = (np.uint8(ord(c)) for c in "\n\r \t|:'")
_END, _BLANK, _NEXT, _MARK, _MAYBE = 1, 2, 4, 8, 16
_CLASS: Final = np.zeros(256, np.uint8)  # what a byte means in a name
_CLASS[10] = _END
_CLASS[[9, 32]] = _BLANK
_CLASS[ord("|")] = _NEXT
_CLASS[ord(":")] = _MARK
_CLASS[13] = _MAYBE  # the end, if a newline follows
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-50, 1e50


@njit(cache=True, inline="always")
def _run(text: Bytes, p: np.uint64, stops: int) -> Any:
    """The first place from p on whose byte is one of `stops`, or the line's end."""
    while True:
        kind = _CLASS[text[p]]
        if kind != 0 and (kind & np.uint8(stops | _END) != 0 or (kind == _MAYBE and text[p + _ONE] == _NEWLINE)):
            return p
        p += _ONE


@njit(cache=True, inline="always")
def _blanks_end(text: Bytes, p: np.uint64) -> Any:
    """The first place from p on that is no blank."""
    while text[p] == _SPACE or text[p] == _TAB:
        p += _ONE
    return p


@njit(cache=True)
def _head(text: Bytes, begin: np.uint64, bar: np.uint64, labels: Floats, labelled: bool) -> Any:
    """(error code or 0, its place, sign, weight, tag's start, tag's end) of what stands before the first bar."""
    start = begin
    for q in range(begin, bar):
        if text[q] == _TAB:
            start = np.uint64(q) + _ONE
            break
    starts, stops, count, last = np.zeros(4, np.uint64), np.zeros(4, np.uint64), 0, bar
    last_stop, p = bar, start
    while p < bar:
        while p < bar and text[p] == _SPACE:
            p += _ONE
        if p == bar:
            break
        last = p
        while p < bar and text[p] != _SPACE:
            p += _ONE
        last_stop = p
        if count < 4:
            starts[count], stops[count] = last, p
        count += 1
    tag, tag_stop = bar, bar
    if count > 0 and (last_stop == bar or text[last] == _QUOTE):
        tag, tag_stop = last + (_ONE if text[last] == _QUOTE else np.uint64(0)), last_stop
        count -= 1
    if count > 3:
        return codes.HEAD, starts[3], np.int8(0), 1.0, tag, tag_stop
    sign, weight = np.int8(0), 1.0
    for k in range(count):
        value, status = parse_number(text, np.int64(starts[k]), np.int64(stops[k]))
        if k == 0:
            if status != OK:
                code = codes.NOT_FINITE if status == NOT_FINITE else codes.LABEL
                return code, starts[0], sign, weight, tag, tag_stop
            sign = label_sign(value, labels)
            if sign == 0 and labelled:
                return codes.CLASS, starts[0], sign, weight, tag, tag_stop
        elif k == 1:
            weight = value
            if status != OK or not (weight == 0.0 or _LEAST_WEIGHT <= weight <= _MOST_WEIGHT):
                return codes.WEIGHT, starts[1], sign, 1.0, tag, tag_stop
        elif status != OK:
            return codes.HEAD, starts[2], sign, weight, tag, tag_stop
    return 0, begin, sign, weight, tag, tag_stop


@njit(cache=True)
def _first_number(text: Bytes, begin: np.uint64) -> float:
    """The number with which the head of a line begins, after text before a tab; NaN if it does not."""
    p = begin
    while text[p] != _TAB and text[p] != _BAR and text[p] != _NEWLINE:
        p += _ONE
    p = _blanks_end(text, p + _ONE if text[p] == _TAB else begin)
    value, status = parse_number(text, np.int64(p), np.int64(_run(text, p, _BLANK | _NEXT)))
    return value if status == OK else np.nan


@njit(cache=True)
def _any_feature(text: Bytes, start: np.uint64, stop: np.uint64, seed: Any, scale: float, anonymous: Any) -> Any:
    """(error code, its place, value, hash, end, new count of nameless ones) of a feature whose name is start..stop."""
    at, value = start, scale
    h = vw_hash(text, start, stop, seed) if stop > start else seed
    if text[stop] == _COLON:
        at, nameless = stop + _ONE, stop == start
        stop = _run(text, at, _BLANK | _NEXT)
        value, status = parse_number(text, np.int64(at), np.int64(stop))
        if stop == at or status == NOT_FINITE:
            return codes.NO_VALUE if stop == at else codes.NOT_FINITE, at, value, h, stop, anonymous
        value *= scale
        if status != OK:  # text: the scale is not for it, as in Vowpal Wabbit
            value, h = 1.0, vw_hash(text, at, stop, h)
        elif nameless:
            h = np.uint32(seed + anonymous)
            anonymous += np.uint32(1)
    return 0 if abs(value) <= codes.LARGEST else codes.TOO_LARGE, at, value, h, stop, anonymous


@njit(cache=True)
def _any_line(
    text: Bytes, begin: np.uint64, how: Any, n: np.uint64, data: Floats, indices: Indices, spaces: Bytes
) -> Any:
    """(error code, its place, whether there is a row, head, new n) of the line at `begin`, whatever it looks like.

    The head is (sign, weight, tag's start, tag's end).
    """
    mask, labels, labelled = how
    head = np.int8(0), 1.0, begin, begin
    p = _blanks_end(text, begin)
    if _run(text, p, 0) == p:
        return 0, p, False, head, n
    nul = find_nul(text, begin)
    if text[nul] == np.uint8(0):
        return codes.NUL, nul, False, head, n
    p = _run(text, begin, _NEXT)
    if text[p] != _BAR:
        return codes.NO_BAR, begin, False, head, n
    code, at, sign, weight, tag, tag_stop = _head(text, begin, p, labels, labelled)
    head = sign, weight, tag, tag_stop
    if code != 0:
        return code, at, False, head, n
    while text[p] == _BAR:
        # A namespace: its name seeds the hashes of its features.
        p += _ONE
        start, seed, slot, scale, anonymous = p, np.uint32(0), _SPACE, 1.0, np.uint32(0)
        p = _run(text, p, _BLANK | _MARK | _NEXT)
        if p > start:
            seed, slot = vw_hash(text, start, p, np.uint32(0)), text[start]
        if text[p] == _COLON:
            at = p + _ONE
            p = _run(text, at, _BLANK | _NEXT)
            scale, status = parse_number(text, np.int64(at), np.int64(p))
            if status != OK:
                return codes.SCALE, at, False, head, n
        while True:
            start = _blanks_end(text, p)
            p = _run(text, start, _BLANK | _MARK | _NEXT)
            if p == start and text[p] != _COLON:
                break
            code, at, value, h, p, anonymous = _any_feature(text, start, p, seed, scale, anonymous)
            if code != 0:
                return code, at, False, head, n
            if value != 0.0:
                data[n], indices[n] = value, np.uint32(h) & mask
                if spaces.size > 0:
                    spaces[n] = slot
                n += _ONE
    return 0, p, True, head, n


@njit(cache=True, error_model="numpy", _nrt=False)
def _plain_line(
    text: Bytes, begin: np.uint64, marked: Any, how: Any, n: np.uint64, data: Floats, indices: Indices, spaces: Bytes
) -> Any:
    """(label's sign, end, new n, marks used) of a plain line at `begin`; sign 0 if it is not plain.

    Label, space, bar; namespaces without a scale; names alone or with a short number. `marked` is (places, next,
    how many): where the blanks, colons and bars are.
    """
    places, k, marks = marked
    mask, labels, _ = how
    size = np.uint64(text.size)
    value, ends = label_number(text, begin, size)
    sign = label_sign(value, labels)
    if ends == begin or sign == 0 or k + np.uint64(2) >= marks or ends != np.uint64(places[k]) or text[ends] != _SPACE:
        return np.int8(0), begin, n, k
    at = np.uint64(places[k + _ONE])
    k += np.uint64(2)
    if at != ends + _ONE or text[at] != _BAR:
        return np.int8(0), begin, n, k
    while text[at] == _BAR and k < marks:
        start, at = at + _ONE, np.uint64(places[k])
        k += _ONE
        seed, slot = np.uint32(0), _SPACE
        if at > start:
            seed, slot = name_hash(text, start, at, seed), text[start]
        while text[at] == _SPACE and k + _ONE < marks:
            start, at = at + _ONE, np.uint64(places[k])
            k += _ONE
            if at == start:
                continue
            h = name_hash(text, start, at, seed)
            value = 1.0
            if text[at] == _COLON:
                start, at = at + _ONE, np.uint64(places[k])
                k += _ONE
                value, valid = field_number(text, start, at, size)
                if not valid:
                    return np.int8(0), begin, n, k
            data[n], indices[n] = value, h & mask
            if spaces.size > 0:
                spaces[n] = slot
            n += np.uint64(value != 0.0)
    return sign if text[at] == _NEWLINE else np.int8(0), at, n, k


@njit(cache=True, nogil=True, error_model="numpy")
def parse_vw(text: Bytes, how: Any, out: Any) -> Any:
    """(rows, entries, lines, errors) of whole lines of text.

    `how` is (mask, labels, labelled): columns are hash & mask. `out` is (y, values, weight, lines, indptr, data,
    indices, spaces, tags, errors), with room for every line, for an entry per blank and one more, and for 3 numbers per
    error: line, column, code. `spaces` may be empty, and `tags`, which gets the start and the end of a row's tag, and
    `values`, which gets its label, NaN if it has none.
    """
    y, values, weights, lines, indptr, data, indices, spaces, tags, errors = out
    tables = merge_tables()
    places = np.empty(MARKS, np.uint32)
    rows, n, line, wrong = np.uint64(0), np.uint64(0), 0, 0
    indptr[0] = np.uint32(0)
    size = np.uint64(text.size)
    marks, k = np.uint64(0), np.uint64(0)
    begin = np.uint64(0)
    while begin < size:
        line += 1
        if k + np.uint64(MARKS // 32) > marks:
            marks, k = find_marks(text, begin, places), np.uint64(0)
        code, row, weight, tag, tag_stop = 0, True, 1.0, begin, begin
        marked = places, k, marks
        sign, p, end, used = _plain_line(text, begin, marked, how, n, data, indices, spaces)
        plain = sign != 0
        if not plain:
            code, p, row, head, end = _any_line(text, begin, how, n, data, indices, spaces)
            sign, weight, tag, tag_stop = head
        if code != 0:
            errors[wrong, 0], errors[wrong, 1], errors[wrong, 2] = line, np.int64(p - begin) + 1, code
            wrong += 1
        elif row:
            n = merge_row(data, indices, spaces, n, end, tables, rows + _ONE) if end > n + _ONE else end
            y[rows], weights[rows], lines[rows] = sign, weight, line
            if values.size > 0:
                values[rows] = _first_number(text, begin) if sign != 0 else np.nan
            if tags.size > 0:
                tags[rows, 0], tags[rows, 1] = tag, tag_stop
            rows += _ONE
            indptr[rows] = np.uint32(n)
        begin, k = next_line(text, p, places, used if plain else k, marks)
    return np.int64(rows), np.int64(n), line, wrong
