"""CSV text to CSR rows, by a plan that says what each column is; `csv_fields` has the grammar.

A record with an error gives no row. What is wrong with the record comes before what is wrong in a field: a quote that
is not closed, then a NUL byte, then the number of fields, then the first field with an error.
"""

from typing import Any

import numpy as np

from massart.kernels.compiling import Bytes, njit
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.csv_fields import (
    DOUBLED,
    LONGEST_QUOTED,
    NEWLINE,
    ONE,
    OPEN,
    PLAIN,
    RETURN,
    field_at,
    has_byte,
    is_missing,
    newline_from,
    skip_blank_line,
    unescape,
)
from massart.kernels.parsing.hashing import name_hash, vw_hash
from massart.kernels.parsing.merge_duplicates import merge_row, merge_tables
from massart.kernels.parsing.numbers import NOT_FINITE, OK, parse_number, scan_number
from massart.kernels.parsing.svmlight import label_sign

# What a column is; the last two are numbers as people write them, with a decimal point or a decimal comma.
LEFT_OUT, LABEL, WEIGHT, NUMBER, CATEGORY, WITH_POINT, WITH_COMMA = range(7)
_NO_MARK, _BLANK, _CURRENCY, _GROUP, _PERCENT = range(5)
_LONGEST_WRITTEN = np.uint64(400)  # bytes
_ZERO, _PLUS, _MINUS, _COMMA, _POINT = (np.uint8(ord(c)) for c in "0+-,.")


@njit(cache=True)
def _is_same(text: Bytes, begin: np.uint64, end: np.uint64, word: Any) -> bool:
    if end - begin != np.uint64(word.size):
        return False
    different = np.uint8(0)
    for i in range(np.uint64(word.size)):
        different |= text[begin + i] ^ word[i]
    return different == 0


@njit(cache=True, inline="always")
def _is_importance(value: float) -> bool:
    return value == 0.0 or 1e-50 <= value <= 1e50


@njit(cache=True)
def _label(text: Bytes, begin: np.uint64, end: np.uint64, labels: Any, names: Any) -> Any:
    """(-1, +1 or 0, error code or 0) of a label; where there are names, they are compared as text.

    If the first of `labels` is infinite, there are more than two classes, and every text is a label: +1.
    """
    sign, wrong = np.int8(0), codes.CLASS
    negative, positive = names
    if labels[0] == np.inf:
        if is_missing(text, begin, end):
            wrong = codes.LABEL
        else:
            sign = np.int8(1)
    elif positive.size > 0 or negative.size > 0:
        if _is_same(text, begin, end, positive):
            sign = np.int8(1)
        elif _is_same(text, begin, end, negative):
            sign = np.int8(-1)
        elif is_missing(text, begin, end):
            wrong = codes.LABEL
    else:
        value, status = parse_number(text, np.int64(begin), np.int64(end))
        if status == OK:
            sign = label_sign(value, labels)
        else:
            wrong = codes.NOT_FINITE if status == NOT_FINITE and not is_missing(text, begin, end) else codes.LABEL
    return sign, 0 if sign != 0 else wrong


@njit(cache=True)
def _number(text: Bytes, begin: np.uint64, end: np.uint64) -> Any:
    """(value, error code or 0) of a field in a column of numbers; 0 if it is missing."""
    value, status = parse_number(text, np.int64(begin), np.int64(end))
    if status == OK or is_missing(text, begin, end):
        return value, codes.TOO_LARGE if abs(value) > codes.LARGEST else 0
    return 0.0, codes.NOT_FINITE if status == NOT_FINITE else codes.NUMBER


@njit(cache=True)
def _mark(text: Bytes, p: Any, end: np.uint64) -> Any:
    """(what, bytes) of a sign at p that numbers are written with: a blank, a currency, an apostrophe, a percent."""
    first = text[p]
    if first == np.uint8(32) or first == np.uint8(9):
        return _BLANK, ONE
    if first == np.uint8(36):  # the dollar
        return _CURRENCY, ONE
    if first == np.uint8(39):
        return _GROUP, ONE
    if first == np.uint8(37):
        return _PERCENT, ONE
    two, three = np.uint64(2), np.uint64(3)
    if first == np.uint8(0xC2) and p + two <= end:
        if text[p + ONE] == np.uint8(0xA0):  # a blank that does not break
            return _BLANK, two
        if np.uint8(0xA2) <= text[p + ONE] <= np.uint8(0xA5):  # cent, pound, currency, yen
            return _CURRENCY, two
    if first == np.uint8(0xE2) and p + three <= end:
        second, third = text[p + ONE], text[p + two]
        if second == np.uint8(0x80) and third == np.uint8(0xAF):  # a narrow blank
            return _BLANK, three
        if second == np.uint8(0x80) and third == np.uint8(0x99):  # a typographic apostrophe
            return _GROUP, three
        if (second == np.uint8(0x82) and third >= np.uint8(0xA0)) or (
            second == np.uint8(0x83) and third <= np.uint8(0x8F)
        ):  # the block of currency signs
            return _CURRENCY, three
    return _NO_MARK, np.uint64(0)


@njit(cache=True)
def _digits_from(text: Bytes, p: Any, end: np.uint64) -> Any:
    """How many digits stand from p on."""
    q = p
    while q < end and text[q] - _ZERO < np.uint8(10):
        q += ONE
    return q - p


@njit(cache=True)
def _copy(text: Bytes, p: Any, count: Any, out: Any, n: Any) -> Any:
    """Where the next byte goes once `count` bytes from p on are in `out` from n on."""
    for k in range(count):
        out[n + k] = text[p + k]
    return n + count


@njit(cache=True)
def _prefix(text: Bytes, begin: np.uint64, end: np.uint64, decimal: np.uint8, out: Any) -> Any:
    """(where the digits may begin, bytes of `out`, whether it is valid): at most one sign and one currency."""
    p, n, currencies = begin, np.uint64(0), 0
    while p < end and text[p] - _ZERO >= np.uint8(10) and text[p] != decimal:
        mark, size = _mark(text, p, end)
        if text[p] == _PLUS or text[p] == _MINUS:
            size = ONE
            n = _copy(text, p, ONE, out, n)
        elif mark == _CURRENCY:
            currencies += 1
        elif mark != _BLANK:
            return p, n, False
        p += size
    return p, n, n <= ONE and currencies <= 1


@njit(cache=True)
def _groups(text: Bytes, p: Any, end: np.uint64, decimal: np.uint8, out: Any, n: Any) -> Any:
    """(where the whole number ends, bytes of `out`) of a number that begins at p, with marks between its groups."""
    count, three = _digits_from(text, p, end), np.uint64(3)
    n = _copy(text, p, count, out, n)
    p += count
    first, width = p, np.uint64(0)  # of the mark after the first group
    while p < end and np.uint64(0) < count <= three:
        mark, size = _mark(text, p, end)
        if mark not in (_BLANK, _GROUP) and (text[p] not in (_COMMA, _POINT) or text[p] == decimal):
            break
        size = max(size, ONE)
        width = size if width == 0 else width
        same = size == width and _digits_from(text, p + size, end) == three
        for k in range(size):
            same = same and text[p + k] == text[first + k]
        if not same:
            break
        n = _copy(text, p + size, three, out, n)
        p += size + three
    return p, n


@njit(cache=True)
def _suffix(text: Bytes, p: Any, end: np.uint64) -> bool:
    """Whether nothing follows a number but blanks, one currency, and a percent sign at the very end."""
    currencies = 0
    while p < end:
        mark, size = _mark(text, p, end)
        currencies += mark == _CURRENCY
        if mark in (_NO_MARK, _GROUP) or currencies > 1 or (mark == _PERCENT and p + size < end):
            return False
        p += size
    return True


@njit(cache=True)
def plain_number(text: Bytes, begin: np.uint64, end: np.uint64, decimal: np.uint8, out: Any) -> Any:
    """Bytes of `out` that are the number at text[begin:end] without its currency, groups and percent; 0 if it is none.

    Groups have three digits each and one and the same mark between them: an apostrophe, a blank, or the comma or point
    that is not the decimal sign. `massart.data.formats.table_columns.number_style` knows the same numbers.
    """
    nothing = np.uint64(0)
    if end - begin > _LONGEST_WRITTEN:
        return nothing
    p, n, good = _prefix(text, begin, end, decimal, out)
    if not good:
        return nothing
    before = n
    p, n = _groups(text, p, end, decimal, out, n)
    digits = n - before
    if p < end and text[p] == decimal:
        out[n] = _POINT
        count = _digits_from(text, p + ONE, end)
        n = _copy(text, p + ONE, count, out, n + ONE)
        p, digits = p + ONE + count, digits + count
    if digits == 0:
        return nothing
    if p + ONE < end and (text[p] == np.uint8(101) or text[p] == np.uint8(69)):
        size = ONE + (ONE if text[p + ONE] == _PLUS or text[p + ONE] == _MINUS else nothing)
        count = _digits_from(text, p + size, end)
        if count > 0:
            n = _copy(text, p, size + count, out, n)
            p += size + count
    return n if _suffix(text, p, end) else nothing


@njit(cache=True)
def _written(text: Bytes, begin: np.uint64, end: np.uint64, decimal: np.uint8, out: Any) -> Any:
    """(value, error code or 0) of a field in a column of numbers as people write them."""
    if is_missing(text, begin, end):
        return 0.0, 0
    size = plain_number(text, begin, end, decimal, out)
    if size > 0:
        return _number(out, np.uint64(0), size)
    status = parse_number(text, np.int64(begin), np.int64(end))[1]
    return 0.0, codes.NOT_FINITE if status == NOT_FINITE else codes.NUMBER


@njit(cache=True, inline="always")
def _put(entries: Any, n: Any, value: float, column: Any, slot: Any) -> Any:
    data, indices, spaces = entries
    data[n], indices[n] = value, column
    if spaces.size > 0:
        spaces[n] = slot
    return n + ONE


@njit(cache=True, error_model="numpy", _nrt=False)
def _numbers(
    text: Bytes, begin: np.uint64, separator: np.uint8, columns: Any, labels: Any, entries: Any, n: Any
) -> Any:
    """(whether it is one, where it ends, n, -1 or +1 or 0, importance, label's begin and end) of a record of numbers.

    Fields may be empty. All other records take `_any_record`.
    """
    kinds, targets, slots = columns
    size, width, field = np.uint64(text.size), np.uint64(kinds.size), np.uint64(0)
    sign, weight, good = np.int8(0), 1.0, True
    p, after, label, label_end = begin, begin, begin, begin
    while True:
        value, after = scan_number(text, p, size)
        empty = after == p
        if text[after] == RETURN and text[after + ONE] == NEWLINE:
            after += ONE
        if text[after] != separator and text[after] != NEWLINE:
            while text[after] != separator and text[after] != NEWLINE:
                after += ONE
            value, status = parse_number(text, np.int64(p), np.int64(after))
            good, empty = status == OK and abs(value) <= codes.LARGEST, False
        kind = kinds[field]
        if kind == NUMBER:
            if value != 0.0:
                n = _put(entries, n, value, targets[field], slots[field])
        elif kind == LABEL:
            sign = label_sign(value, labels)
            good = good and sign != 0 and not empty
            label, label_end = p, after
        else:
            weight = value
            good = good and _is_importance(weight) and not empty
        field += ONE
        if text[after] == NEWLINE or field == width or not good:
            break
        p = after + ONE
    return good and field == width and text[after] == NEWLINE, after, n, sign, weight, label, label_end


@njit(cache=True, error_model="numpy", _nrt=False)
def _any_record(
    text: Bytes, p: Any, separator: np.uint8, columns: Any, how: Any, scratch: Any, entries: Any, n: Any
) -> Any:
    """(where it ends, n, -1 or +1 or 0, importance, label's begin and end, newlines inside it, error) of a record.

    The record begins at p. The error is (code or 0, field, begin, end).
    """
    kinds, targets, slots = columns
    mask, labels, names, labelled = how
    size, width, field = np.uint64(text.size), np.uint64(kinds.size), np.uint64(0)
    sign, weight, lines = np.int8(0), 1.0, 0
    code, at, a, b = 0, field, p, p
    after, label, label_end = p, p, p
    while True:
        kind = kinds[field] if field < width else np.uint8(LEFT_OUT)
        value, wrong, after = 0.0, 0, p
        if kind == NUMBER:
            value, after = scan_number(text, p, size)
        if kind != NUMBER or (text[after] != separator and text[after] != NEWLINE):
            begin, end, after, shape = field_at(text, p, size, separator)
            if shape >= OPEN:
                code, at, a, b = codes.QUOTE, field, after, newline_from(text, after)
                after = b
                break
            if shape != PLAIN:
                for i in range(begin, end):
                    lines += text[i] == NEWLINE
            if kind == NUMBER:
                value, wrong = _number(text, begin, end)
            elif kind in (WITH_POINT, WITH_COMMA):
                value, wrong = _written(text, begin, end, _COMMA if kind == WITH_COMMA else _POINT, scratch)
            elif kind == WEIGHT:
                weight, status = parse_number(text, np.int64(begin), np.int64(end))
                wrong = 0 if status == OK and _is_importance(weight) else codes.WEIGHT
            elif kind == CATEGORY and not is_missing(text, begin, end):
                if shape == DOUBLED:
                    column = vw_hash(scratch, np.uint64(0), unescape(text, begin, end, scratch), targets[field])
                else:
                    column = name_hash(text, begin, end, targets[field])
                n = _put(entries, n, 1.0, column & mask, slots[field])
            elif kind == LABEL:
                if shape == DOUBLED:
                    sign, wrong = _label(scratch, np.uint64(0), unescape(text, begin, end, scratch), labels, names)
                else:
                    sign, wrong = _label(text, begin, end, labels, names)
                wrong, label, label_end = wrong if labelled else 0, begin, end
            if wrong != 0 and code == 0:
                code, at, a, b = wrong, field, begin, end
        if value != 0.0:
            n = _put(entries, n, value, targets[field], slots[field])
        field += ONE
        if text[after] == NEWLINE:
            break
        p = after + ONE
    if field != width and code != codes.QUOTE:
        code, a = codes.FIELDS, field
    return after, n, sign, weight, label, label_end, lines, (code, at, a, b)


@njit(cache=True, nogil=True, error_model="numpy")
def parse_csv(text: Bytes, separator: np.uint8, columns: Any, how: Any, out: Any) -> Any:
    """(rows, entries, errors) of whole lines of text; a field that is still open at its end counts as not closed.

    `columns` is (kinds, targets, slots), an element per field: a number's column or the hash of a category's name, and
    its namespace. `how` is (mask, labels, names, labelled): of hashed columns, 0 where they are counted; two numbers
    that mean -1 and one that means +1; two texts in their stead, or empty ones. `out` is (y, places, weight, lines,
    indptr, data, indices, spaces, errors), with room for a row and an error per line and for the entries of all rows;
    `places`, which gets the begin and the end of a row's label, `weight` and `spaces` may be empty. An error is (line,
    code, field, begin, end), with the place of what was found, or, for FIELDS, how many there are in place of `begin`.
    """
    mask, labels, names, _ = how
    y, places, weights, lines, indptr, data, indices, spaces, errors = out
    entries = (data, indices, spaces)
    tables = merge_tables()
    scratch = np.empty(LONGEST_QUOTED, np.uint8)
    nul, plain = has_byte(text, np.uint8(0)), names[0].size == 0 and names[1].size == 0 and labels[0] != np.inf
    for kind in columns[0]:
        plain = plain and kind in (LABEL, WEIGHT, NUMBER)
    rows, n, wrong, line = np.uint64(0), np.uint64(0), 0, 0
    indptr[0] = np.uint32(0)
    p = np.uint64(0)
    while p < np.uint64(text.size):
        line += 1
        begin, first, inside, found = p, n, 0, (0, p, p, p)
        p = skip_blank_line(text, p, separator)
        if p != begin:
            continue
        good = False
        if plain:
            good, p, n, sign, weight, label, label_end = _numbers(
                text, begin, separator, columns, labels, entries, first
            )
        if not good:
            p, n, sign, weight, label, label_end, inside, found = _any_record(
                text, begin, separator, columns, how, scratch, entries, first
            )
        p += ONE
        code, at_line = found[0], line
        line += inside
        if code == codes.QUOTE:
            at_line = line
        elif nul and has_byte(text[begin:p], np.uint8(0)):
            code = codes.NUL
        if code != 0:
            errors[wrong, 0], errors[wrong, 1], errors[wrong, 2] = at_line, code, found[1]
            errors[wrong, 3], errors[wrong, 4] = found[2], found[3]
            wrong, n = wrong + 1, first
            continue
        if mask > np.uint32(0):
            n = merge_row(data, indices, spaces, first, n, tables, rows + ONE)
        y[rows], lines[rows] = sign, at_line
        if places.size > 0:
            places[rows, 0], places[rows, 1] = label, label_end
        if weights.size > 0:
            weights[rows] = weight
        rows += ONE
        indptr[rows] = np.uint32(n)
    return np.int64(rows), np.int64(n), wrong
