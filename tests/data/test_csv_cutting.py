"""CSV files in blocks: where they are cut does not matter, and reading goes on from any position."""

import csv
import gzip
import io

import numpy as np
import pytest
from csv_cases import file_maker, hashed, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from massart.data.chunk import Position
from massart.data.formats import csv as csv_format
from massart.data.formats.csv import CsvFormat
from massart.data.io.sources import Source
from massart.data.schema import Schema


def settle(source, schema, **options):
    return CsvFormat(**options).complete(source, schema)


def chunks(source, schema, start, **options):
    return CsvFormat(**options).chunks(source, schema, start)


whole_records = csv_format._whole_records


@pytest.fixture
def source(tmp_path):
    return file_maker(tmp_path)


def table(rows, seed=0):
    """A file with a bit of everything: quoted newlines, categories, gaps, errors."""
    rng = np.random.default_rng(seed)
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["y", "a", "text", "b"])
    for i in range(rows):
        text = rng.choice(["red", "light, blue", "two\nlines", 'say "hi"\n\n,', "NA", ""])
        writer.writerow([rng.integers(0, 2), f"{rng.normal():.4f}" if i % 7 else "oops" * (i % 3), text, i])
        if i % 41 == 40:
            file.write('1,2,"open\n')
    return file.getvalue()


def numbers_first(text):
    """A reading for which "oops" is a error."""
    schema = settle(text, Schema(format="csv", bits=18))
    return Schema(**{**schema.as_dict(), "categorical": ("text",)})


def test_workers_do_not_matter(source, monkeypatch):
    monkeypatch.setattr(csv_format, "_whole_records", small_blocks(500))
    given = source(table(2_000))
    schema = numbers_first(given)
    one, four = (rows_of(given, schema, workers=workers) for workers in (1, 4))
    assert one == four == rows_of(given, schema, workers=0)
    assert len(one[0]) > 1_500
    assert len(one[1]) > 100


def small_blocks(size, longest=1 << 24):
    def cut(given, start, separator):
        return whole_records(given, start, separator, size=size, longest=longest)

    return cut


@pytest.mark.parametrize("size", [4, 30, 100, 1_000])
def test_from_every_position_the_rest_is_the_same(source, monkeypatch, size):
    given = source(table(150)[:-1])
    schema = numbers_first(given)
    whole = rows_of(given, schema)
    assert whole[0][-1][0] == table(150).count("\n")
    monkeypatch.setattr(csv_format, "_whole_records", small_blocks(size))
    assert rows_of(given, schema) == whole
    ends = [chunk.end for chunk in chunks(given, schema, Position(3), workers=0)]
    assert all(end.source == 3 for end in ends)
    assert ends[-1][:3] == (3, len(table(150)) - 1, table(150).count("\n"))
    assert len(ends) > 100 or size > 30
    for end in ends:
        rows, errors = rows_of(given, schema, end)
        assert rows == [row for row in whole[0] if row[0] > end.line]
        assert errors == [error for error in whole[1] if error[0] > end.line]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(['"', '""', ",", "\n", "a", "1,b\n", '0,"x\ny"\n', '1,"', "b" * 30, "\r\n", " "]), max_size=40
    ),
    st.integers(4, 60),
    st.integers(8, 200),
)
def test_where_a_file_is_cut_does_not_matter(tmp_path_factory, parts, size, longest):
    path = tmp_path_factory.mktemp("cut") / "a.csv"
    path.write_text("1,a\n0,b\n" + "".join(parts), newline="")
    given = Source(path)
    schema = Schema(format="csv", header=False, separator=",", label="1", columns=("1",), categorical=("1",), bits=18)

    plan = csv_format.plan_for(csv_format.look(given, ","), schema, "a.csv", labelled=True)

    def parsed(start, size):
        rows, errors, ends = [], [], []
        for block in whole_records(given, start, ",", size=size, longest=longest):
            chunk = csv_format._chunk("a.csv", block, plan, schema, labelled=True)
            rows += zip(chunk.lines.tolist(), chunk.y.tolist(), np.diff(chunk.rows[2]).tolist(), strict=True)
            errors += [(error.line, error.message) for error in chunk.errors]
            ends.append((chunk.end, len(rows), len(errors)))
        return rows, errors, ends

    rows, errors, ends = parsed(Position(), 1 << 20)
    small = parsed(Position(), size)
    assert small[:2] == (rows, errors)
    for end, before, told in small[2] + ends:
        assert parsed(end, size)[:2] == (rows[before:], errors[told:])


@pytest.mark.parametrize("size", [4, 20, 1_000])
def test_lines_and_records_that_are_too_long(source, monkeypatch, size):
    monkeypatch.setattr(csv_format, "_whole_records", small_blocks(size, longest=20))
    schema = Schema(format="csv", header=False, separator=",", label="1", columns=("1",), categorical=("1",), bits=18)

    def lines(*text):
        rows, errors = rows_of(source("\n".join(text) + "\n"), schema)
        return [row[0] for row in rows], [(line, words.split(":")[0]) for line, _, words in errors]

    line, record = "the line is longer than 20 bytes", "the record is longer than 20 bytes"
    quote, fields = "a quote that is not closed, or is followed by text after it was closed", "1 fields where"
    # As many bytes as there may be, and one more; a quote beside them changes nothing.
    assert lines('1,"a"', "0," + "b" * 18, "1," + "c" * 19, "0,d") == ([1, 2, 4], [(3, line)])
    assert lines('1,"a"', f'0,"{"b" * 16}"', f'1,"{"c" * 17}"', "0,d") == ([1, 2, 4], [(3, line)])
    # A field does not go on behind a line that is gone.
    rows, errors = lines("1,a", '0,"x', "b" * 30, 'y"', "1,c")
    assert rows == [1, 5]
    assert errors == [(2, quote), (3, line), (4, f"{fields} 2 columns are expected")]
    # Flaws are told once, although the text behind them is cut.
    assert lines("b" * 30, '1,"a"', '0,"x', 'y"', "1,c") == ([2, 3, 5], [(1, line)])
    # A record of short lines is left out up to the line in which it is too long.
    assert lines("1,a", '0,"x', "x" * 9, "x" * 9, "1,b", '0,c"', "1,d") == ([1, 5, 6, 7], [(2, record)])


def test_quotes_that_are_never_closed_do_not_swallow_the_file(source):
    lines = [f"{i % 2},{i}.5,x{i % 9}" for i in range(200_000)]
    lines[5] = '1,7,"open'
    lines[100_000] = '1,"7,y'
    lines[199_999] = '1,7,"y'
    given = source("y,a,text\n" + "\n".join(lines) + "\n")
    rows, errors = rows_of(given, workers=2)
    assert len(rows) == 199_997
    assert [error[:2] for error in errors] == [(7, "text"), (100_002, "a"), (200_001, "text")]


def test_compressed_files(tmp_path, source):
    text = table(300).encode()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    plain, packed = source(text), Source(tmp_path / "a.csv.gz")
    assert rows_of(packed, workers=2) == rows_of(plain)


def test_rows_are_what_the_csv_module_reads(source):
    text = table(500)
    given = source(text)
    rows, errors = rows_of(given, numbers_first(given))
    read = [row for row in csv.reader(io.StringIO(text.replace('1,2,"open\n', ""), newline="")) if row][1:]
    expected = []
    for y, a, words, b in read:
        if a.startswith("oops"):
            continue
        entries = {} if a == "" or float(a) == 0 else {hashed("a"): float(a)}
        if words not in ("NA", ""):
            entries[hashed("text", words)] = 1.0
        if int(b):
            entries[hashed("b")] = float(b)
        expected.append((1 if y == "1" else -1, entries))
    assert [(y, entries) for _, y, _, entries in rows] == expected
    assert len(errors) == text.count("open\n") + sum(a.startswith("oops") for _, a, _, _ in read)
