"""CSV files: what is found out by a look at them, their rows and their errors; complete readings and other files."""

import pytest
from csv_cases import file_maker, hashed, rows_of

from massart.data.chunk import Position
from massart.data.formats.csv import CsvFormat
from massart.data.hashing import name_hash
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError


def settle(source, schema, **options):
    return CsvFormat(**options).complete(source, schema)


def chunks(source, schema, start, **options):
    return CsvFormat(**options).chunks(source, schema, start)


CSV = Schema(format="csv")


@pytest.fixture
def source(tmp_path):
    return file_maker(tmp_path)


# What is found out by a look.


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_separators_are_found_and_quotes_respected(source, separator):
    text = "y,a,b\n1,2,'3,1;2|7\t8'\n0,5,'6;;|,\t,,'\n".replace(",", "\0").replace("'", '"').replace("\0", separator)
    found = settle(source(text), CSV)
    assert (found.separator, found.header, found.columns) == (separator, True, ("a", "b"))


def test_a_separator_that_is_given_is_kept(source):
    given = source("y;a,b\n1;2,3\n")
    assert settle(given, Schema(format="csv", separator=";")).columns == ("a,b",)
    with pytest.raises(InvalidParameterError, match="choose comma, tab, semicolon"):
        settle(given, Schema(format="csv", separator="x"))


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("1,2\n0,3\n", False),
        ("y,a\n0,3\n", True),
        ("y,1\n0,3\n", False),
        ("label,town\nyes,Ulm\nno,Bonn\n", True),
        ("yes,Ulm\nno,Ulm\nyes,Bonn\n", False),
        ("n,y,y\ny,y,n\nn,n,n\n", False),  # y is a value here
        ("\n\ny,a\n0,3\n", True),
        ("y,,\n0,3,4\n", True),
        ('"y","a"\n"0","3"\n', True),
    ],
)
def test_whether_there_is_a_line_of_names(source, text, header):
    assert settle(source(text), CSV).header is header


def test_asking_for_a_name_makes_a_header(source):
    text = "colour,size,44\nred,big,1\nblue,big,0\nred,size,1\n"
    assert not settle(source(text), CSV, labelled=False).header
    assert settle(source(text), Schema(format="csv", label="3", ignore=("size",))).header
    assert settle(source(text), Schema(format="csv", label="-1", categorical=("colour",))).header
    assert settle(source(text), Schema(format="csv", label="44", header=True)).header


def test_names_of_columns(source):
    found = settle(source('y,"a ""b""",,d\n1,2,3,4\n'), CSV)
    assert found.columns == ('a "b"', "3", "d")
    with pytest.raises(InvalidDataError, match="called 'a'"):
        settle(source("y,a,a\n1,2,3\n"), CSV)
    with pytest.raises(InvalidDataError, match="names 2 columns, but most lines have 3 fields"):
        settle(source("y,a\n1,2,3\n0,2,1\n"), CSV)


@pytest.mark.parametrize(
    ("text", "asked", "label"),
    [
        ("a,Y,b\n1,0,1\n", None, "Y"),
        ("class,target,Label\n1,0,1\n", None, "Label"),
        ("a,b,c\n1,0,1\n", "b", "b"),
        ("a,b,c\n1,0,1\n", "1", "a"),
        ("a,b,c\n1,0,1\n", "-1", "c"),
        ("1,0,1\n", None, "1"),
        ("1,0,1\n", "2", "2"),
        ("1,0,1\n", "-1", "3"),
    ],
)
def test_the_label_column(source, text, asked, label):
    assert settle(source(text), Schema(format="csv", label=asked)).label == label


def test_a_label_column_that_is_not_there(source):
    given = source("age,size,town\n1,2,3\n")
    with pytest.raises(InvalidDataError, match=r"'age', 'size', 'town'.*`label="):
        settle(given, CSV)
    with pytest.raises(InvalidDataError, match=r"no column 'twon' .*did you mean 'town'"):
        settle(given, Schema(format="csv", label="twon"))
    with pytest.raises(InvalidDataError, match="no column '4'"):
        settle(given, Schema(format="csv", label="4"))
    with pytest.raises(InvalidDataError, match="no column 'nmae'"):
        settle(given, Schema(format="csv", label="age", ignore=("nmae",)))


def test_kinds_of_columns(source):
    text = "y,number,gaps,text,digits\n1,1.5,NA,7,8\n0,-2e3,4,seven,9\n"
    found = settle(source(text), CSV)
    assert (found.categorical, found.bits, found.features) == (("text",), 18, None)
    found = settle(source(text), Schema(format="csv", ignore=("text",)))
    assert (found.categorical, found.bits, found.features, found.columns) == ((), None, 3, ("number", "gaps", "digits"))
    found = settle(source(text), Schema(format="csv", ignore=("text",), categorical=("digits",), bits=20))
    assert (found.categorical, found.bits) == (("digits",), 20)
    found = settle(source(text), Schema(format="csv", ignore=("4",), crossings=("nd",)))
    assert (found.categorical, found.bits) == ((), 18)
    with pytest.raises(InvalidDataError, match="no column is left"):
        settle(source("y\n1\n0\n"), CSV)
    with pytest.raises(InvalidDataError, match="4 columns of features, more than `features=3`"):
        settle(source("y,a,b,c,d\n1,2,3,4,5\n"), Schema(format="csv", features=3))
    assert settle(source("y,a,b,c,d\n1,2,3,x,5\n"), Schema(format="csv", features=3)).bits == 18


def test_text_labels(source):
    assert settle(source("a,y\n1,spam\n2,ham\n3,NA\n"), CSV).labels == ("ham", "spam")
    assert settle(source("a,y\n1,+\n2,-\n3,?\n"), CSV).labels == ("+", "-")
    assert settle(source("a,y\n1,0\n2,1\n3,-\n"), CSV).labels is None
    assert settle(source("a,y\n1,spam\n2,ham\n3,eggs\n"), CSV).labels == ("eggs", "ham", "spam")
    assert settle(source("a,y\n1,spam\n2,ham\n3,eggs\n"), CSV, labelled=False).labels is None
    with pytest.raises(InvalidDataError, match="labels that are not UTF-8"):
        settle(source("a,y\n1,für\n2,wider\n".encode("latin-1")), CSV)


def test_files_that_are_no_csv(source):
    for text, words in [
        (b"", "is empty"),
        (b"\n \r\n", "is empty"),
        ("y,a\n1,2\n".encode("utf-16"), "UTF-8"),
        ("y,a\n1,2\n".encode("utf-16-le"), "UTF-8"),
        (b"y,a\r1,2\r", "carriage return"),
        (b'"', "quote"),
    ]:
        with pytest.raises(InvalidDataError, match=words):
            settle(source(text), CSV)


def test_wide_files_are_looked_at_long_enough(source):
    names = ",".join(["y", *(f"column{i:07}" for i in range(100_000))])
    numbers = ",".join(["1"] * 100_001)
    given = source(f"{names}\n{numbers}\n")
    found = settle(given, CSV)
    assert found.features == 100_000
    (row,), errors = rows_of(given, found)
    assert len(row[3]) == 100_000
    assert errors == []


# Rows.


def test_numbers_are_counted(source):
    text = b"\xef\xbb\xbfa,y,b\r\n 1.5 ,1,0\r\n\r\n,-1,\t2e1\r\nNA,0,-\n7,1.0,-0"
    rows, errors = rows_of(source(text))
    assert rows == [(2, 1, 1.0, {0: 1.5}), (4, -1, 1.0, {1: 20.0}), (5, -1, 1.0, {}), (6, 1, 1.0, {0: 7.0})]
    assert errors == []


def test_features_without_names_are_numbered_as_in_svmlight(source):
    text = "5,1,6\n7,0,8\n"
    rows, _ = rows_of(source(text), label="2")
    assert [row[3] for row in rows] == [{0: 5.0, 1: 6.0}, {0: 7.0, 1: 8.0}]
    rows, _ = rows_of(source(text), label="2", bits=18)
    assert [row[3] for row in rows] == [{1: 5.0, 2: 6.0}, {1: 7.0, 2: 8.0}]


def test_categories_are_hashed(source):
    text = 'y,age,town\n1,31,Ulm\n0,,"Bad ""Aibling"",\nS\xfcd"\n1,54,89073\n0,2,NA\n1,3,""\n'
    rows, errors = rows_of(source(text), bits=20)
    age = hashed("age", bits=20)
    assert errors == []
    assert [row[0] for row in rows] == [2, 3, 5, 6, 7]
    assert [row[3] for row in rows] == [
        {age: 31.0, hashed("town", "Ulm", 20): 1.0},
        {hashed("town", 'Bad "Aibling",\nS\xfcd', 20): 1.0},
        {age: 54.0, (name_hash("town") + 89073) % 2**20: 1.0},
        {age: 2.0},
        {age: 3.0},
    ]


def test_columns_that_collide_are_added_up(source):
    text = "y," + ",".join(f"c{i}" for i in range(9)) + "\n1," + ",".join("123456789") + "\n"
    ((_, _, _, row),), _ = rows_of(source(text), bits=1)
    expected = [0.0, 0.0]
    for i in range(9):
        expected[hashed(f"c{i}", bits=1)] += i + 1
    assert row == {column: value for column, value in enumerate(expected) if value}


def test_weights(source):
    rows, errors = rows_of(source("y,w,a\n1,2.5,3\n0,0,4\n1,-1,5\n1,1e60,6\n1,,7\n"), weight="w")
    assert rows == [(2, 1, 2.5, {0: 3.0}), (3, -1, 0.0, {0: 4.0})]
    assert [(line, column) for line, column, _ in errors] == [(4, "w"), (5, "w"), (6, "w")]


def test_weights_that_are_all_one_are_none(source):
    given = source("y,w,a\n1,1,3\n0,1.0,4\n")
    (chunk,) = chunks(given, settle(given, Schema(format="csv", weight="w")), Position(), workers=0)
    assert chunk.weight.size == 0


def test_labels(source):
    given = "a,y\n1,yes\n2,no\n3,maybe\n4,NA\n5,\n6, yes \n"
    rows, errors = rows_of(source(given), labels=("no", "yes"))
    assert [(line, y) for line, y, _, _ in rows] == [(2, 1), (3, -1), (7, 1)]
    assert [(line, column) for line, column, _ in errors] == [(4, "y"), (5, "y"), (6, "y")]
    assert "'maybe' is not one of two: it may be 'no' or 'yes'" in errors[0][2]
    rows, errors = rows_of(source(given), labels=("no", "yes"), labelled=False)
    assert [y for _, y, _, _ in rows] == [1, -1, 0, 0, 0, 1]
    assert errors == []
    rows, _ = rows_of(source("a,y\n1,2\n2,1\n3,2.0\n4,0\n"), labels=("1", "2"))
    assert [(line, y) for line, y, _, _ in rows] == [(2, 1), (3, -1), (4, 1)]


def test_crossings_get_the_first_byte_of_the_name(source):
    given = source("y,age,city\n1,2,Ulm\n0,,Bonn\n")
    schema = settle(given, Schema(format="csv", crossings=("ac",)))
    (chunk,) = chunks(given, schema, Position(), workers=0)
    assert chunk.spaces.tobytes() == b"acc"
    assert chunk.crossings == ("ac",)


def test_flaws_say_where_and_what(source):
    text = (
        "a,b,y\n1,2,1\n1,two words and many more of them,1\n1,2\n1,2,3,4\n1,inf,0\n1e101,2,0\n1,2,7\n1,2,x\n"
        '1,"2"3,1\n1,2,"1\n1,\0,1\n1,2,0\n'
    )
    given = source(text)
    rows, errors = rows_of(
        given, Schema(format="csv", header=True, separator=",", label="y", columns=("a", "b"), features=2)
    )
    assert [row[0] for row in rows] == [2, 13]
    assert [error[:2] for error in errors] == [
        (3, "b"), (4, 0), (5, 0), (6, "b"), (7, "a"), (8, "y"), (9, "y"), (10, "b"), (11, "y"), (12, 0),
    ]  # fmt: skip
    expected = [
        "expected a number, found 'two words and many more ...'; for a column of names pass `categorical=['b']`",
        "2 fields where 3 columns are expected",
        "4 fields where 3 columns are expected",
        "'inf' is not finite",
        "'1e101' is above 1e+100",
        "label '7' is not one of two",
        "expected a label, found 'x'",
        "a quote that is not closed",
        "a quote that is not closed",
        "NUL",
    ]
    for (_, _, words), part in zip(errors, expected, strict=True):
        assert part in words


# Prediction: a complete reading and other files.


def test_columns_are_found_by_name_in_other_files(source):
    schema = settle(source("a,y,town,w\n1,1,Ulm,2\n2,0,Bonn,1\n"), Schema(format="csv", weight="w"))
    other = source("id,town,a\n7,Ulm,5\n8,Bonn,6\n")
    assert settle(other, schema, labelled=False) == schema
    rows, _ = rows_of(other, schema, labelled=False)
    assert rows == [
        (2, 0, 1.0, {hashed("town", "Ulm"): 1.0, hashed("a"): 5.0}),
        (3, 0, 1.0, {hashed("town", "Bonn"): 1.0, hashed("a"): 6.0}),
    ]
    with pytest.raises(InvalidDataError, match="no column 'a'"):
        settle(source("id,town\n7,Ulm\n"), schema, labelled=False)
    with pytest.raises(InvalidDataError, match="no column 'y'"):
        settle(other, schema)
    with pytest.raises(InvalidDataError, match="several columns are called 'a'"):
        settle(source("a,town,a\n7,Ulm,8\n"), schema, labelled=False)
    assert settle(source("a,town,b,b\n7,Ulm,8,9\n"), schema, labelled=False) == schema
    counted = settle(source("a,y,b\n1,1,2\n"), CSV)
    rows, _ = rows_of(source("b,y,a\n3,1,4\n"), counted)
    assert rows == [(2, 1, 1.0, {1: 3.0, 0: 4.0})]


def test_files_without_names_may_lack_the_label(source):
    schema = settle(source("1,9,5,2,6\n0,9,7,3,8\n"), Schema(format="csv", ignore=("2",), weight="4"))
    assert (schema.columns, schema.label, schema.weight, schema.ignore) == (("1", "2"), "1", "4", ("2",))
    for text, weight, y in [("1,9,5,2,6\n", 2.0, 1), ("9,5,2,6\n", 2.0, 0), ("5,6\n", 1.0, 0)]:
        assert settle(source(text), schema, labelled=False) == schema
        assert rows_of(source(text), schema, labelled=False)[0] == [(1, y, weight, {0: 5.0, 1: 6.0})]
    assert rows_of(source("1,2\n1,2\n1,9,5,2,6\n"), schema)[0] == [(3, 1, 2.0, {0: 5.0, 1: 6.0})]
    with pytest.raises(InvalidDataError, match="has 4 columns where 5 are expected"):
        settle(source("9,5,2,6\n"), schema)


def test_an_empty_file_among_others_has_no_rows(source):
    schema = settle(source("a,y\n1,1\n"), CSV)
    assert rows_of(source(""), schema) == ([], [])
    assert rows_of(source("a,y\n"), schema) == ([], [])
