"""The CSV kernels against Python's csv module, and against a slow reader made of regular expressions."""

import csv
import io
import os
import sys

import numpy as np
import processes
import pytest
from csv_reference import HOWS, KINDS, NOTHING, ODD_FIELDS, array, assert_same, check_fuzz, compiled, fuzz, records
from hypothesis import given, settings
from hypothesis import strategies as st

from massart.data.hashing import name_hash
from massart.kernels.parsing import row_errors as flaw
from massart.kernels.parsing.csv import CATEGORY, LABEL, NUMBER, parse_csv
from massart.kernels.parsing.csv_fields import LONGEST_QUOTED, MISSING, WORDS, cut_records, find_fields


def fields_of(text, separator=b","):
    """The records as `find_fields` has them, and what it says is in their fields."""
    fields = np.empty(len(text), np.uint32), np.empty(len(text), np.uint32), np.empty(len(text), np.uint8)
    firsts, stops = np.empty((2, text.count(b"\n") + 1), np.int64)
    count = find_fields(array(text), np.uint8(ord(separator)), fields, (firsts, stops))
    begins, ends, kinds = (part[: firsts[count]].tolist() for part in fields)
    cells = [
        text[a:b].replace(b'""', b'"') if k & 4 else text[a:b] for a, b, k in zip(begins, ends, kinds, strict=True)
    ]
    return [cells[firsts[r] : firsts[r + 1]] for r in range(count)], [kind & 3 for kind in kinds]


CELL = st.text(st.sampled_from('ab1.",;\n\t |é\r'), max_size=6).map(str.strip)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from([",", "\t", ";", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_is_read_as_it_was(table, separator, quoting, end):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=end).writerows(table)
    text = file.getvalue().encode()
    expected = [[cell.encode() for cell in row] for row in table]
    assert fields_of(text, separator.encode())[0] == expected
    assert [fields for _, fields, _ in records(text, separator.encode())] == expected


@settings(max_examples=1000, deadline=None)
@given(st.text(st.sampled_from('a1,"\n'), max_size=30))
def test_what_the_csv_module_reads_is_read_alike(text):
    text += "\n"
    try:
        expected = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        assert any(fields is None for _, fields, _ in records(text.encode()))
        return
    expected = [[cell.encode() for cell in row] for row in expected]
    assert fields_of(text.encode())[0] == expected
    assert [fields for _, fields, _ in records(text.encode())] == expected


def test_what_is_in_a_field():
    cells = [*sorted(NOTHING), b"1", b"1e400", b"inf", b"-NAN", b"x", b"n/a", b"nul", b"-1-", b"none", b"Nones"]
    _, kinds = fields_of(b",".join(cells) + b"\n")
    assert kinds == [MISSING] * len(NOTHING) + [1] * 4 + [WORDS] * 6


@pytest.mark.parametrize("how", HOWS)
def test_odd_fields_one_at_a_time(how):
    kinds, separator = how.get("kinds", KINDS), how.get("separator", b",")
    for place in range(len(kinds)):
        for field in ODD_FIELDS:
            for end in (b"\n", b"\r\n"):
                fields = [b"1"] * len(kinds)
                fields[place] = field
                rows = separator.join(fields) + end
                assert_same(rows + separator.join([b"1"] * len(kinds)) + end, **how)


@pytest.mark.parametrize("seed", range(4))
def test_fuzz(seed):
    check_fuzz(seed, 5_000)


def test_nothing_outside_the_text_is_touched(tmp_path):
    code = "from csv_reference import check_fuzz; check_fuzz(99, 2_000)"
    environment = {**os.environ, "MASSART_JIT": "1", "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = processes.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_text_in_the_middle_of_an_array():
    """Bytes before and behind the text would complete numbers, names and quotes if they were looked at."""
    for i, text in enumerate(fuzz(7, 500)):
        around = array(b'9"9' + text + b'"9,9\n' * 20)
        for _ in range(2):
            inside = around[3 : 3 + len(text)]
            how = HOWS[i % len(HOWS)]
            separator = np.uint8(ord(how.get("separator", b",")))
            ends = cut_records(inside, separator, 1000)
            assert ends == cut_records(array(text), separator, 1000)


def quoted_record(size):
    """A record whose quoted field, with what is up to its end, has that many bytes after the opening quote."""
    return b'1,"' + b"x" * (size - 2) + b'"\n'


@pytest.mark.parametrize("size", [LONGEST_QUOTED - 1, LONGEST_QUOTED, LONGEST_QUOTED + 1])
def test_a_quoted_field_has_an_end(size):
    text = b"1,a\n" + quoted_record(size) + b"0,b\n"
    assert_same(text, kinds=(LABEL, CATEGORY), bits=18)
    rows, flaws = compiled(text, kinds=(LABEL, CATEGORY), bits=18)
    assert len(rows) == 3 - (size > LONGEST_QUOTED)
    assert flaws == ([(2, flaw.QUOTE, None)] if size > LONGEST_QUOTED else [])


def test_a_quote_that_is_never_closed_costs_a_line():
    text = b'1,a\n0,"b\n1,c\n0,d\n'
    rows, flaws = compiled(text, kinds=(LABEL, CATEGORY), bits=18)
    assert [row[0] for row in rows] == [1, 3, 4]
    assert flaws == [(2, flaw.QUOTE, None)]
    # A record may begin before the line of its quote.
    rows, flaws = compiled(b'1,"a\nb","c\n0,d,e\n', kinds=(LABEL, CATEGORY, CATEGORY), bits=18)
    assert [row[0] for row in rows] == [3]
    assert flaws == [(2, flaw.QUOTE, None)]


def test_records_that_are_too_long_are_cut_out():
    long = b'1,"a\nb","c\nd","e\nf"\n'
    text = b"0,x\n" + long + b"1,y\n"
    for longest in range(6, 40):
        end, after = (int(place) for place in cut_records(array(text), np.uint8(44), longest))
        if longest >= len(long):
            assert end == after == len(text)
        else:
            assert end == 4
            assert after == text.index(b"\n", 4 + longest - 1) + 1


def test_spaces_go_with_their_entries():
    kinds, targets = np.array([NUMBER, CATEGORY, NUMBER], np.uint8), np.array([5, 9, 5], np.uint32)
    out = np.empty(2, np.int8), np.empty((0, 2), np.int64), np.empty(0), np.empty(2, np.int64), np.empty(3, np.uint32)
    out += np.empty(8), np.empty(8, np.uint32), np.empty(8, np.uint8), np.empty((2, 5), np.int64)
    names = (array(b""), array(b""))
    how = np.uint32(2**18 - 1), (-1.0, 0.0, 1.0), names, True
    parse_csv(array(b"1,x,2\n0,y,3\n"), np.uint8(44), (kinds, targets, array(b"abc")), how, out)
    assert out[4].tolist() == [0, 2, 4]
    assert out[5][:4].tolist() == [3.0, 1.0, 1.0, 3.0]
    assert out[6][:4].tolist() == [5, name_hash("x", 9) % 2**18, name_hash("y", 9) % 2**18, 5]
    assert out[7][:4].tobytes() == b"abbc"
