"""Data frames to hashed rows: every library gives the same ones, and they are those of a CSV file of the frame."""

import datetime
import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from massart.data import read
from massart.data.frames import as_frame, frame_rows, frame_schema
from massart.data.hashing import name_hash
from massart.errors import InvalidDataError

BITS = 18
COLUMNS = {
    "age": [31, 54, 0, 18],
    "town": ["Rome", "Oslo", None, 'a "b", c'],
    "paid": [0.1, -1e-300, 2.5, 1e99],
    "code": ["7", "007", "x7", "é"],
}
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def rows_of(frame, *, fill=False, bits=BITS):
    frame = as_frame(frame)
    return frame_rows(frame, frame_schema(frame, bits), fill=fill)


def parts_of(rows):
    return [part.tolist() for part in rows.parts]


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_library_gives_the_columns_that_vw_would(library):
    rows = rows_of(LIBRARIES[library](COLUMNS))
    mask = 2**BITS - 1
    expected = [
        {name_hash("age"): 31.0, name_hash("Rome", name_hash("town")): 1.0, name_hash("paid"): 0.1},
        {name_hash("age"): 54.0, name_hash("Oslo", name_hash("town")): 1.0, name_hash("paid"): -1e-300},
        {name_hash("paid"): 2.5},
        {name_hash("age"): 18.0, name_hash('a "b", c', name_hash("town")): 1.0, name_hash("paid"): 1e99},
    ]
    values, columns, starts = rows.parts
    for i, row in enumerate(expected):
        row[name_hash(COLUMNS["code"][i], name_hash("code"))] = 1.0
        own = slice(starts[i], starts[i + 1])
        found = dict(zip(columns[own].tolist(), values[own].tolist(), strict=True))
        assert found == {column & mask: value for column, value in row.items()}
    assert rows.shape == rows.matrix.shape == (4, 2**BITS)


@pytest.mark.parametrize("bits", [2, 18, 22])
def test_rows_are_those_of_a_csv_file_of_the_frame(tmp_path, bits):
    """In the same order, too; with 2 bits columns share a place, and are added up."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=200),
            "town": rng.choice(["Rome", "Oslo", "é", 'q"q', "", "a,b"], 200),
            "whole": rng.integers(-2, 3, 200),
            "2": rng.choice([0.0, 0.5], 200),
            "letter": pd.Categorical(rng.choice(list("abc"), 200)),
        }
    )
    frame.assign(y=rng.integers(0, 2, 200)).to_csv(tmp_path / "a.csv", index=False)
    chunks = list(read(tmp_path / "a.csv", label="y", bits=bits))
    assert len(chunks) == 1
    assert parts_of(rows_of(frame, bits=bits)) == [part.tolist() for part in chunks[0].rows]
    assert (rows_of(frame, bits=bits).matrix != chunks[0].X).nnz == 0


def test_the_matrix_leaves_the_rows_alone():
    rows = rows_of(pd.DataFrame(COLUMNS))
    before, first = parts_of(rows), rows.matrix.toarray()
    assert parts_of(rows) == before
    assert np.array_equal(rows.matrix.toarray(), first)


MISSING_TEXT = {
    "None": pd.Series(["a", None]),
    "NaN": pd.Series(["a", np.nan], dtype=object),
    "NA": pd.Series(["a", pd.NA], dtype=object),
    "NaT": pd.Series(["a", pd.NaT], dtype=object),
    "empty": pd.Series(["a", ""]),
    "category": pd.Series(["a", None], dtype="category"),
    "polars": pl.Series(["a", None]),
    "polars category": pl.Series(["a", None], dtype=pl.Categorical),
    "polars enum": pl.Series(["a", None], dtype=pl.Enum(["a", "b"])),
}


@pytest.mark.parametrize("kind", MISSING_TEXT)
def test_a_missing_text_is_nothing(kind):
    values = MISSING_TEXT[kind]
    frame = (pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame)({"t": values})
    column = name_hash("a", name_hash("t")) & (2**BITS - 1)
    assert parts_of(rows_of(frame)) == [[1.0], [column], [0, 1, 1]]


NAMES = {
    "whole numbers": (pd.Series([3, 5], dtype="category"), [b"3", b"5"]),
    "floats": (pd.Series([3.0, 0.25], dtype="category"), [b"3", b"0.25"]),
    "booleans": (pd.Series([True, False], dtype="category"), [b"true", b"false"]),
    "dates": (pl.Series([datetime.date(2024, 5, 1), datetime.date(2024, 12, 31)]), [b"2024-05-01", b"2024-12-31"]),
    "objects": (pd.Series(["x", 3], dtype=object), [b"x", b"3"]),
    "one and true": (pd.Series([True, 1, "x"], dtype=object), [b"true", b"1", b"x"]),
    "bytes": (pd.Series([b"\xff", b"x"], dtype=object), [b"\xff", b"x"]),
}


@pytest.mark.parametrize("kind", NAMES)
def test_categories_of_any_kind_have_the_names_that_a_file_would_have(kind):
    values, names = NAMES[kind]
    frame = (pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame)({"c": values})
    expected = [name_hash(name, name_hash("c")) & (2**BITS - 1) for name in names]
    assert rows_of(frame).parts[1].tolist() == expected


NUMBERS = {
    "nullable": pd.array([1, None, 3], dtype="Int64"),
    "nullable floats": pd.array([1.0, None, 3.0], dtype="Float64"),
    "floats": [1.0, np.nan, 3.0],
    "objects": pd.Series([1, None, 3.0], dtype=object),
    "decimals": pd.Series([decimal.Decimal(1), None, decimal.Decimal(3)], dtype=object),
    "polars": pl.Series([1, None, 3]),
    "polars decimals": pl.Series([decimal.Decimal(1), None, decimal.Decimal(3)]),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_missing_number_is_refused_or_absent(kind):
    values = NUMBERS[kind]
    frame = (pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame)({"n": values, "t": ["a", "b", "c"]})
    with pytest.raises(InvalidDataError, match=re.escape("NaN at row 1 (counted from 0), column 'n': drop the row")):
        rows_of(frame)
    rows = rows_of(frame, fill=True)
    assert rows.parts[0].tolist() == [1.0, 1.0, 1.0, 3.0, 1.0]
    assert rows.parts[2].tolist() == [0, 2, 3, 5]


def test_frames_of_numbers_are_not_hashed():
    numbers = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.Series([1, 2.5], dtype=object)})
    assert frame_schema(as_frame(numbers), BITS) is None
    assert frame_schema(as_frame(pl.DataFrame({"a": [1.5], "b": [True]})), BITS) is None


def test_booleans_are_numbers_as_in_parquet():
    rows = rows_of(pd.DataFrame({"old": [True, False], "t": ["a", "a"]}))
    assert rows.parts[0].tolist() == [1.0, 1.0, 1.0]
    assert rows.parts[1][0] == name_hash("old") & (2**BITS - 1)


def test_columns_may_come_in_any_order():
    frame = pd.DataFrame(COLUMNS)
    schema = frame_schema(as_frame(frame), BITS)
    turned = frame_rows(as_frame(frame[["code", "paid", "age", "town"]]), schema, fill=False)
    assert parts_of(turned) == parts_of(rows_of(frame))


REFUSED = {
    "one lacking": (pd.DataFrame(COLUMNS).drop(columns="age"), "X lacks the column 'age': give a frame with"),
    "one more": (pd.DataFrame(COLUMNS).assign(z=1), "X has, beyond those that were learned, the column 'z': give"),
    "text for numbers": (pd.DataFrame(COLUMNS | {"age": ["old"] * 4}), "column 'age' of X holds String, but numbers"),
    "infinity": (pd.DataFrame(COLUMNS | {"paid": [0, 1, np.inf, 0]}), "infinity at row 2 (counted from 0), column"),
    "too large": (
        pd.DataFrame(COLUMNS | {"paid": [0, 1e101, 1, 0]}),
        "1e+101 at row 1 (counted from 0), column 'paid'",
    ),
    "times": (
        pd.DataFrame(COLUMNS | {"age": pd.Timestamp("2024-01-01")}),
        "column 'age' of X holds Datetime",
    ),
    "lists": (pd.DataFrame(COLUMNS | {"town": [[1], [2], [3], [4]]}), "column 'town' of X holds list, of which no"),
    "no rows": (pd.DataFrame(COLUMNS)[:0], "X is a data frame with 0 sample(s): give at least one row"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_frames_are_refused_with_a_sentence(kind):
    frame, words = REFUSED[kind]
    schema = frame_schema(as_frame(pd.DataFrame(COLUMNS)), BITS)
    with pytest.raises(InvalidDataError, match=re.escape(words)):
        frame_rows(as_frame(frame), schema, fill=False)


def test_what_no_features_can_be_made_of_is_refused_at_first_sight():
    for values in ([pd.Timestamp("2024-01-01")], [pd.Timedelta(1)]):
        with pytest.raises(InvalidDataError, match="of which no features can be made: leave it out"):
            frame_schema(as_frame(pd.DataFrame({"when": values, "t": ["a"]})), BITS)
    with pytest.raises(InvalidDataError, match="X is a lazy frame"):
        as_frame(pl.LazyFrame({"t": ["a"]}))
    with pytest.raises(InvalidDataError, match="several columns of X are called '1'"):
        frame_schema(as_frame(pd.DataFrame({1: ["a"], "1": ["b"]})), BITS)
