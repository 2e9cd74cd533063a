"""Numbers as people write them: what looks like one is read as one, and a column of them is warned of."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from massart.data import read
from massart.data.formats.table_columns import has_comma, number_style
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.parsing.csv import plain_number

POINT, COMMA = np.uint8(ord(".")), np.uint8(ord(","))
SCRATCH = np.empty(1000, np.uint8)
WRITTEN = {
    "$50.00": 50.0,
    "-$1,234.5": -1234.5,
    "$-3": -3.0,
    "12 %": 12.0,
    "12%": 12.0,
    "€ 7": 7.0,
    "7 €": 7.0,
    "₹1,000": 1000.0,
    "1'234'567.25": 1234567.25,
    "1\u202f234": 1234.0,
    "1\u00a0234.5": 1234.5,
    "+.5": 0.5,
    "5.": 5.0,
    "2.5e3": 2500.0,
}
WITH_COMMA = {"2,5": 2.5, "1.234,5 €": 1234.5, "-0,25 %": -0.25, "1.234": 1234.0, "7": 7.0}
NO_NUMBERS = (
    "",
    "$",
    "n/k",
    "12:30",
    "1,2,3",
    "1,23.4",
    "12,34,567",
    "1 23",
    "--5",
    "5 % %",
    "1e",
    "1_000",
    "'5",
)


def as_number(text, decimal):
    raw = np.frombuffer(text.encode() + b"\n", np.uint8).copy()
    size = int(plain_number(raw, np.uint64(0), np.uint64(raw.size - 1), decimal, SCRATCH))
    return float(SCRATCH[:size].tobytes()) if size else None


@pytest.mark.parametrize(("text", "value"), WRITTEN.items())
def test_numbers_with_a_point(text, value):
    assert as_number(text, POINT) == value
    assert number_style(text) in ("plain", "point")


@pytest.mark.parametrize(("text", "value"), WITH_COMMA.items())
def test_numbers_with_a_comma(text, value):
    assert as_number(text, COMMA) == value
    assert has_comma(text)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_no_numbers(text):
    assert as_number(text, POINT) is as_number(text, COMMA) is number_style(text) is None


@settings(max_examples=2000, deadline=None)
@given(
    st.text("0123456789.,'’$€% -+eE\u00a0\u202f", max_size=12)
    | st.from_regex(r"[$€]?[0-9]{1,3}([,.' ][0-9]{3}){0,2}[.,]?[0-9]{0,2} ?[%€]?", fullmatch=True)
)
def test_the_kernel_and_the_pattern_know_the_same_numbers(text):
    assert (as_number(text, POINT) is not None) == (number_style(text) in ("plain", "point"))
    assert (as_number(text, COMMA) is not None) == has_comma(text)


def rows_of(path, **how):
    reader = read(path, **how)
    return reader, np.vstack([chunk.X.toarray() for chunk in reader])


def test_columns_asked_for_are_read_as_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('y,price,share\n0,"$1,234.50",12 %\n1,$7,NA\n')
    reader, rows = rows_of(path, numbers=("price", "share"))
    assert rows.tolist() == [[1234.5, 12.0], [7.0, 0.0]]
    assert (reader.schema.numbers, reader.column_warnings()) == (("price", "share"), [])
    path.write_text('y,price,share\n0,"$1,234.50",12 %\n1,"2,5",3\n')
    with pytest.raises(InvalidDataError, match=r"column price: expected a number, found '2,5'; .* `decimal=','`"):
        rows_of(path, numbers=("price", "share"))
    with pytest.raises(InvalidDataError, match="has no column 'prize'"):
        read(path, numbers=("prize",))
    with pytest.raises(InvalidParameterError, match="both `numbers` and `categorical`"):
        read(path, numbers=("price",), categorical=("price",))


@pytest.mark.parametrize("header", ["price;size;y\n", ""])
def test_a_decimal_comma(header, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(header + "0,83;1.768,2;0\n2,5;7;1\n")
    reader, rows = rows_of(path, decimal=",", label="-1")
    assert rows.tolist() == [[0.83, 1768.2], [2.5, 7.0]]
    assert reader.schema.separator == ";"
    _, same = rows_of(path, decimal=",", label="-1", numbers=("1",))
    assert (same == rows).all()
    # Without a word about it the file is cut at its semicolons all the same, and the doubt is told with its remedy.
    first, second = read(path, label="-1").column_warnings()
    assert "2 of the first 2 values look like numbers, as '0,83' does" in first
    assert f"`numbers=[{('price' if header else '1')!r}]` and `decimal=','`" in first
    assert "'1.768,2'" in second


def test_number_and_decimal_are_for_csv(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n-1 1:2\n")
    for how in ({"numbers": ("price",)}, {"decimal": ","}):
        with pytest.raises(
            InvalidParameterError, match=r"`numbers` and `decimal` say how CSV writes numbers, but .* svmlight"
        ):
            read(path, **how)
    with pytest.raises(InvalidParameterError, match="decimal=';'"):
        read(path, decimal=";")


def test_one_bad_cell_in_a_column_of_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,age,town\n" + "".join(f"{i % 2},{'n/k' if i == 70 else 20 + i},t{i}\n" for i in range(100)))
    (words,) = read(path).column_warnings()
    assert words == (
        f"{path}, column 'age': 99 of the first 100 values look like numbers, but as 'n/k' does not, the column is "
        "read as text, each value a feature of its own; pass `numbers=['age']` to read numbers and leave out other "
        "rows, or `categorical=['age']` if they are names"
    )
    assert read(path, categorical=("age",)).column_warnings() == []
    assert read(path, categorical=("2",)).column_warnings() == []


def test_names_are_not_doubted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,when,code,ip\n" + "".join(f"{i % 2},12:{i},a{i},10.0.0.{i}\n" for i in range(50)))
    assert read(path).column_warnings() == []


@pytest.mark.parametrize(("name", "remedy"), [("a.jsonl", "write JSON numbers"), ("a.parquet", "cast the column")])
def test_other_formats_say_what_to_do(name, remedy, tmp_path):
    path = tmp_path / name
    prices, codes = [f"${i}.50" for i in range(20)], [f"{i:05d}" for i in range(20)]
    if name.endswith("jsonl"):
        rows = zip(prices, codes, strict=True)
        path.write_text("".join(json.dumps({"y": i % 2, "price": p, "zip": z}) + "\n" for i, (p, z) in enumerate(rows)))
    else:
        pq.write_table(pa.table({"y": [i % 2 for i in range(20)], "price": prices, "zip": codes}), path)
    (words,) = read(path).column_warnings()  # texts of digits alone may well be meant
    assert "column 'price': 20 of the first 20 values look like numbers, as '$0.50' does" in words
    assert remedy in words
    assert read(path, categorical=("price",)).column_warnings() == []
