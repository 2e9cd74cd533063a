"""A slow reader of CSV made of regular expressions, and texts to compare the kernels with it."""

import math
import random
import re

import numpy as np

from massart.data.hashing import name_hash
from massart.kernels.parsing import row_errors as flaw
from massart.kernels.parsing.csv import CATEGORY, LABEL, LEFT_OUT, NUMBER, WEIGHT, parse_csv
from massart.kernels.parsing.csv_fields import LONGEST_QUOTED, cut_records

NOTHING = {b"", b"NA", b"N/A", b"nan", b"NaN", b"null", b"NULL", b"None", b"?", b"-"}
FINITE = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
KINDS = (LABEL, NUMBER, CATEGORY, WEIGHT, LEFT_OUT, NUMBER, CATEGORY)


def array(text):
    return np.array(np.frombuffer(text, np.uint8))


# The reference.


def records(text, separator=b","):
    """(line, fields, text) of every record; None for the fields, and the quote's line, if a quote is not closed."""
    blank, end = (rb"[ ]*" if separator == b"\t" else rb"[ \t]*"), rb"(?:\r(?=\n))?(?=%b|\n)" % re.escape(separator)
    opening = re.compile(blank + rb'"')
    quoted = re.compile(blank + rb'"((?:[^"]|"")*+)"' + blank + end)
    plain = re.compile(blank + rb"([^%b\n]*?)" % re.escape(separator) + blank + end)
    blank_line = re.compile(blank + rb"\r?\n")
    p = 0
    while p < len(text):
        if found := blank_line.match(text, p):
            p = found.end()
            continue
        begin, fields = p, []
        while True:
            quote = opening.match(text, p)
            found = (quoted if quote else plain).match(text, p)
            if quote and (not found or found.end() >= quote.end() + LONGEST_QUOTED):
                p = text.index(b"\n", quote.end()) + 1
                yield text.count(b"\n", 0, p), None, text[begin:p]
                break
            fields.append(found[1].replace(b'""', b'"') if quote else found[1])
            p = found.end() + 1
            if text[found.end() : p] == b"\n":
                yield text.count(b"\n", 0, begin) + 1, fields, text[begin:p]
                break


def number(field, wrong):
    """(value, flaw or 0); None for a missing value."""
    if field in NOTHING:
        return None, 0
    if FINITE.fullmatch(field):
        value = float(field)
        return (value, 0) if math.isfinite(value) else (None, flaw.NOT_FINITE)
    return None, flaw.NOT_FINITE if NOT_FINITE.fullmatch(field) else wrong


def label(field, labels):
    if labels is not None and not all(FINITE.fullmatch(one) for one in labels):
        if field in labels:
            return 1 if field == labels[1] else -1, 0
        return 0, flaw.LABEL if field in NOTHING else flaw.CLASS
    value, wrong = number(field, flaw.LABEL)
    if value is None:
        return 0, wrong or flaw.LABEL
    negative, positive = ((0.0, -1.0), 1.0) if labels is None else ((float(labels[0]),), float(labels[1]))
    sign = 1 if value == positive else -1 if value in negative else 0
    return sign, 0 if sign else flaw.CLASS


def importance(field):
    value, wrong = number(field, flaw.WEIGHT)
    good = not wrong and value is not None and (value == 0 or 1e-50 <= value <= 1e50)
    return value, 0 if good else flaw.WEIGHT


def read(text, kinds=KINDS, *, separator=b",", bits=None, labels=None, labelled=True):
    """Rows (line, y, weight, {column: value}) and flaws (line, code, field)."""
    rows, flaws = [], []
    for line, fields, span in records(text, separator):
        if fields is None:
            flaws.append((line, flaw.QUOTE, None))
            continue
        if b"\0" in span:
            flaws.append((line, flaw.NUL, None))
            continue
        if len(fields) != len(kinds):
            flaws.append((line, flaw.FIELDS, len(fields)))
            continue
        y, weight, row, wrongs = 0, 1.0, {}, []
        for i, (field, kind) in enumerate(zip(fields, kinds, strict=True)):
            value, wrong, column = None, 0, i
            if kind == LABEL:
                y, wrong = label(field, labels)
                wrong = wrong if labelled else 0
            elif kind == WEIGHT:
                weight, wrong = importance(field)
            elif kind == NUMBER:
                value, wrong = number(field, flaw.NUMBER)
                if value is not None and abs(value) > 1e100:
                    wrong = flaw.TOO_LARGE
                column = i if bits is None else name_hash(f"c{i}") & (2**bits - 1)
            elif kind == CATEGORY and field not in NOTHING:
                value, column = 1.0, name_hash(field, name_hash(f"c{i}")) & (2**bits - 1)
            if wrong:
                wrongs.append((line, wrong, i))
            elif value:
                row[column] = row.get(column, 0.0) + value
        if wrongs:
            flaws.append(wrongs[0])
        else:
            rows.append((line, y, weight, {column: value for column, value in row.items() if value}))
    return rows, flaws


def compiled(text, kinds=KINDS, *, separator=b",", bits=None, labels=None, labelled=True):
    """What the kernel makes of it, in the same shape."""
    kinds = np.array(kinds, np.uint8)
    targets = np.arange(kinds.size, dtype=np.uint32)
    if bits is not None:
        for i, kind in enumerate(kinds):
            targets[i] = name_hash(f"c{i}") & (0xFFFFFFFF if kind == CATEGORY else 2**bits - 1)
    slots = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz"[: kinds.size], np.uint8).copy()
    lines, room = text.count(b"\n"), len(text) // 2
    ints, floats = (lambda n, kind: np.full(n, 77, kind)), (lambda n: np.full(n, np.nan))
    spaces = ints(room, np.uint8)
    places = ints((lines, 2), np.int64)
    out = ints(lines, np.int8), places, floats(lines), ints(lines, np.int64), ints(lines + 1, np.uint32)
    out += floats(room), ints(room, np.uint32), spaces, ints((lines, 5), np.int64)
    numbers, names = (-1.0, 0.0, 1.0), (array(b""), array(b""))
    if labels is not None and all(FINITE.fullmatch(one) for one in labels):
        numbers = float(labels[0]), float(labels[0]), float(labels[1])
    elif labels is not None:
        names = array(labels[0]), array(labels[1])
    mask = np.uint32(0 if bits is None else 2**bits - 1)
    how = mask, numbers, names, labelled
    rows, entries, flawed = parse_csv(array(text), np.uint8(ord(separator)), (kinds, targets, slots), how, out)
    y, _, weight, line, indptr, data, indices, _, flaws = out
    assert indptr[rows] == entries
    found = []
    for r in range(rows):
        part = slice(indptr[r], indptr[r + 1])
        row = dict(zip(indices[part].tolist(), data[part].tolist(), strict=True))
        assert len(row) == indptr[r + 1] - indptr[r], "columns must be distinct"
        found.append((int(line[r]), int(y[r]), float(weight[r]), row))
    whole = (flaw.QUOTE, flaw.NUL)
    wrong = [
        (at, code, None if code in whole else begin if code == flaw.FIELDS else field)
        for at, code, field, begin, _ in flaws[:flawed].tolist()
    ]
    return found, wrong


def assert_same(text, **how):
    expected, found = read(text, **how), compiled(text, **how)
    assert found == expected, (text, how)
    # Equality takes -0.0 for 0.0 and ignores the order of columns.
    assert [list(row[3].items()) for row in found[0]] == [list(row[3].items()) for row in expected[0]], (text, how)


# Inputs.

ODD_FIELDS = (
    *sorted(NOTHING), b"0", b"1", b"-1", b"+1", b"1.0", b"0.5", b"-2.25", b"1e3", b".5", b"5.", b"1e-3", b"1e400",
    b"1e99", b"-1e101", b"12345678901234567890.5", b"0.1234567890123456789", b"inf", b"-Infinity", b"NAN", b"red",
    b"a b", b" 7 ", b"\t8", b"7\r", b"\r", b'"quoted"', b'"1.5"', b'" 2"', b'"a,b"', b'"a\nb"', b'"say ""hi"""', b'""',
    b'"NA"', b'a"b', b'5" pipe', b'"x"y', b'"x" ', b' "x"', b'"', b'"open', b"\xc3\xa9", b"\xff", b"yes", b"no",
    b"0x10", b"1_000", b"\0", b"3.14159265", b"-0.0", b"1e-320",
)  # fmt: skip


def made(rng, separator):
    """A text of some lines, most of them with the right number of odd fields."""
    lines = []
    for _ in range(rng.randint(1, 5)):
        count = len(KINDS) if rng.random() < 0.9 else rng.randint(0, len(KINDS) + 2)
        common = (b"1", b"0", b"0.25", b"red", b"17")
        fields = [rng.choice(ODD_FIELDS if rng.random() < 0.2 else common) for _ in range(count)]
        lines.append(separator.join(fields) + rng.choice((b"\n", b"\n", b"\r\n")))
    return b"".join(lines)


def mutated(rng, text):
    text = bytearray(text)
    for _ in range(rng.randint(0, 3)):
        p = rng.randrange(len(text) + 1)
        match rng.randrange(4):
            case 0:
                text[p : p + 1] = bytes([rng.randrange(256)])
            case 1:
                text[p:p] = rng.choice((b'"', b'""', b",", b"\n", b"\r", b" ", b"\t", b"-", b"e", b"\0"))
            case 2:
                del text[p : p + rng.randint(1, 4)]
            case 3:
                text[p:p] = text[: rng.randrange(len(text) + 1)]
    return bytes(text)


def fuzz(seed, count):
    """Random bytes, bytes that mean something, and tables with a few changes; all end with a newline."""
    rng = random.Random(seed)  # noqa: S311
    alphabet = b'"",,\n\n\r \t;|10.-e?NAax\0'
    for i in range(count):
        match i % 4:
            case 0:
                text = rng.randbytes(rng.randrange(80))
            case 1:
                text = bytes(rng.choices(alphabet, k=rng.randrange(60)))
            case _:
                text = mutated(rng, made(rng, rng.choice((b",", b",", b"\t", b";"))))
        yield text + b"\n"


HOWS = (
    {"bits": 18},
    {"bits": 2, "labels": (b"no", b"yes")},
    {"bits": 18, "separator": b"\t", "labelled": False},
    {"bits": 5, "separator": b";", "labels": (b"17", b"0.25")},
    {"kinds": (LABEL, NUMBER, NUMBER, WEIGHT, NUMBER, NUMBER, NUMBER)},
    {"kinds": (NUMBER,)},
)


def check_fuzz(seed, count):
    for i, text in enumerate(fuzz(seed, count)):
        assert_same(text, **HOWS[i % len(HOWS)])
        check_cut(text)


def check_cut(text):
    """What is before the cut is read as if nothing came behind it, and what is behind it is an open quote."""
    end, after = (int(place) for place in cut_records(array(text), np.uint8(44), len(text) + 1))
    assert end == after
    before = list(records(text[:end]))
    assert list(records(text))[: len(before)] == before
    assert list(records(text + b'"\n'))[: len(before)] == before
    if end < len(text):
        assert next(records(text[end:]))[1] is None
        assert next(records(text[end:] + b'"\n'))[1] is not None
