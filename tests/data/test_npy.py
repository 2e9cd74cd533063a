"""NumPy files: rows of numbers, records, labels apart; read in blocks, never mapped."""

import gzip
import os
import pickle
import threading

import numpy as np
import pytest
from numpy.lib.recfunctions import repack_fields
from table_files import hashed, mixed_rows, mixed_table, read_all, rows_of, write_table

from massart.data.chunk import Position
from massart.data.formats import npy as npy_format
from massart.data.formats.arrow import ArrowFormat
from massart.data.formats.npy import NpyFormat
from massart.data.io.sources import Source
from massart.data.schema import Schema
from massart.errors import InvalidDataError


def settle(source, schema, **options):
    return NpyFormat(**options).complete(source, schema)


def chunks(source, schema, start, **options):
    return NpyFormat(**options).chunks(source, schema, start)


RANDOM = np.random.default_rng(0)


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(npy_format, "rows_of_a_chunk", lambda width: 5)


def save(path, array):
    np.save(path.with_name(path.name.removesuffix(".gz")), array)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    return Source(path)


def labelled_rows(count=23, width=11, dtype=np.float64):
    X = RANDOM.normal(size=(count, width)).astype(dtype)
    X[:, 0] = RANDOM.integers(0, 2, count)
    return X


@pytest.mark.parametrize("name", ["a.npy", "a.npy.gz"])
@pytest.mark.parametrize("dtype", ["f8", ">f8", "f4", ">f4", "f2", "i8", "i1", "u2", "?"])
def test_every_type(tmp_path, few_rows, name, dtype):
    X = labelled_rows().astype(dtype)
    source = save(tmp_path / name, X)
    schema = settle(source, Schema())
    assert (schema.label, schema.features, schema.bits) == ("1", 10, None)
    assert schema.columns == tuple(map(str, range(1, 11)))
    for workers in (0, 3):
        found = list(chunks(source, schema, Position(), workers=workers))
        assert [len(chunk) for chunk in found] == [5, 5, 5, 5, 3]
        rows = np.concatenate([chunk.rows for chunk in found])
        assert rows.dtype == (np.float32 if dtype[-2:] == "f4" else np.float64)
        np.testing.assert_array_equal(rows, X[:, 1:])
        np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in found]), 2 * X[:, 0].astype(int) - 1)
    assert source.fraction() == 1.0


def test_which_column_is_what(tmp_path):
    X = np.array([[5, 0, 2.5, 7, 1], [6, 1, 0.0, 8, 0]])
    source = save(tmp_path / "a.npy", X)
    for asked, features, y in (
        (Schema(label="2"), [[5, 2.5, 7, 1], [6, 0, 8, 0]], [-1, 1]),
        (Schema(label="-1"), [[5, 0, 2.5, 7], [6, 1, 0, 8]], [1, -1]),
        (Schema(label="2", ignore=("1", "-2")), [[2.5, 1], [0, 0]], [-1, 1]),
    ):
        schema = settle(source, asked)
        (chunk,) = chunks(source, schema, Position())
        assert (chunk.rows.tolist(), chunk.y.tolist()) == (features, y)
        assert settle(source, schema) == schema
    schema = settle(source, Schema(label="2", weight="3"))
    (chunk,) = chunks(source, schema, Position())
    assert (chunk.rows.tolist(), chunk.weight.tolist()) == ([[5, 7, 1], [6, 8, 0]], [2.5, 0])
    with pytest.raises(InvalidDataError, match=r"no column '6' \(the label\)"):
        settle(source, Schema(label="6"))


def test_hashed_columns_agree_with_svmlight(tmp_path):
    source = save(tmp_path / "a.npy", np.array([[0, 1.5, 0, 3], [1, np.nan, 2, 0]]))
    schema = settle(source, Schema(bits=10))
    assert read_all(NpyFormat, source, schema)[0] == [{1: 1.5, 3: 3.0}, {2: 2.0}]
    schema = settle(source, Schema(bits=10, categorical=("2", "4")))  # columns of the file
    rows, *_ = read_all(NpyFormat, source, schema)
    assert rows == [hashed({"1": "1.5", "3": "3"}, 10), hashed({"2": 2.0, "3": "0"}, 10)]
    unlabelled = save(tmp_path / "b.npy", np.array([[1.5, 0, 3], [np.nan, 2, 0]]))
    assert read_all(NpyFormat, unlabelled, schema, labelled=False)[0] == rows


def test_prediction_takes_files_with_and_without_a_label(tmp_path):
    learned = labelled_rows(width=4)
    learned[:, 1] = np.arange(len(learned)) % 2
    schema = settle(save(tmp_path / "a.npy", learned), Schema(label="2"))
    X = RANDOM.normal(size=(6, 4))
    X[:, 1:3] = [[0, 1], [1, 1], [1, 1], [0, 1], [9, 1], [-1, 1]]
    for array, y in ((X, [-1, 1, 1, -1, 0, -1]), (np.delete(X, 1, axis=1), [0] * 6)):
        source = save(tmp_path / "b.npy", array)
        assert settle(source, schema, labelled=False) == schema
        (chunk,) = chunks(source, schema, Position(), labelled=False)
        np.testing.assert_array_equal(chunk.rows, np.delete(X, 1, axis=1))
        assert chunk.y.tolist() == y
    with pytest.raises(InvalidDataError, match="has 3 columns, but 3 features were learned from files of 4"):
        settle(source, schema)
    with pytest.raises(InvalidDataError, match="has 5 columns, but 3 features"):
        settle(save(tmp_path / "b.npy", np.zeros((2, 5))), schema, labelled=False)


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (np.array([0, 1, 1, 0, 1, 0]), [-1, 1, 1, -1, 1, -1]),
        (np.array([[0], [1], [1], [0], [1], [0]], order="F"), [-1, 1, 1, -1, 1, -1]),
        (np.array([True, False] * 3), [1, -1] * 3),
        (np.array(["yes", "no"] * 3), [1, -1] * 3),
        (np.array([b"b", b"a"] * 3), [1, -1] * 3),
    ],
)
def test_labels_can_be_in_another_file(tmp_path, monkeypatch, few_rows, labels, wanted):
    X = RANDOM.normal(size=(6, 3))
    source = save(tmp_path / "a.npy", X)
    save(tmp_path / "labels.npy", labels)
    for asked in ("labels.npy", str(tmp_path / "labels.npy")):
        schema = settle(source, Schema(label=asked))
        assert (schema.label, schema.features) == (asked, 3)
        found = list(chunks(source, schema, Position()))
        assert [one for chunk in found for one in chunk.y.tolist()] == wanted
        np.testing.assert_array_equal(np.concatenate([chunk.rows for chunk in found]), X)
        (rest,) = chunks(source, schema, found[0].end)
        assert rest.y.tolist() == wanted[5:]
        (whole, _) = chunks(source, schema, Position(), labelled=False)
        assert whole.y.tolist() == [0] * 5  # they belong to what was learned
    if labels.dtype == bool:
        named = settle(source, Schema(label=asked, labels=("true", "false")))
        assert [one for chunk in chunks(source, named, Position()) for one in chunk.y.tolist()] == [-1, 1] * 3
    with pytest.raises(InvalidDataError, match="labels of one file"):
        chunks(source, schema, Position(1))
    save(tmp_path / "labels.npy", labels[:-1])
    with pytest.raises(InvalidDataError, match=r"labels\.npy is an array .* one label for each of 6 rows"):
        settle(source, schema)


def records(count=20, text=True):
    kinds = [("age", "f8"), ("new", "?"), ("town", "U4"), ("v", "f4", (3,)), ("label", "S3")]
    array = np.zeros(count, [kind for kind in kinds if text or kind[0] != "town"])
    array["age"], array["new"] = RANDOM.normal(size=count), RANDOM.integers(0, 2, count)
    array["v"], array["label"] = RANDOM.normal(size=(count, 3)), RANDOM.choice(["no", "yes"], count)
    array["age"][3] = np.nan
    if text:
        array["town"] = RANDOM.choice(["Rome", "Łódź", ""], count)
    return array


def test_records(tmp_path, few_rows):
    array = records()
    source = save(tmp_path / "a.npy", array)
    schema = settle(source, Schema())
    assert (schema.label, schema.labels, schema.categorical) == ("label", ("no", "yes"), ("town",))
    rows, y, *_ = read_all(NpyFormat, source, schema)
    assert y == [1 if one == b"yes" else -1 for one in array["label"].tolist()]
    names = array.dtype.names[:-1]
    for mine, given in zip(rows, array, strict=True):
        wanted = {name: given[name].tolist() for name in names}
        assert list(mine.items()) == list(hashed(wanted).items())
    array = records(text=False)
    source = save(tmp_path / "b.npy", array)
    schema = settle(source, Schema(ignore=("new",)))
    assert (schema.columns, schema.features) == (("age", "v[0]", "v[1]", "v[2]"), 4)
    found = np.concatenate([chunk.rows for chunk in chunks(source, schema, Position())])
    np.testing.assert_array_equal(found, np.nan_to_num(np.column_stack([array["age"], array["v"]])))
    # By name, wherever they stand.
    other = save(tmp_path / "c.npy", repack_fields(array[["v", "new", "age"]]))
    np.testing.assert_array_equal(
        np.concatenate([chunk.rows for chunk in chunks(other, schema, Position(), labelled=False)]), found
    )
    with pytest.raises(InvalidDataError, match="has no column 'age'"):
        settle(save(tmp_path / "c.npy", repack_fields(array[["v"]])), schema, labelled=False)


def test_names_of_fields_beyond_ascii(tmp_path):
    array = np.array([(0, 1.5), (1, 2.5)], [("y", "i4"), ("łokieć", "f8")])
    with pytest.warns(UserWarning, match="format 3.0"):
        source = save(tmp_path / "a.npy", array)
    assert settle(source, Schema()).columns == ("łokieć",)


def test_the_same_rows_as_in_parquet(tmp_path):
    rows = mixed_rows(50, missing=0)
    array = np.array(
        [(row["y"], row["age"], row["town"], row["count"], row["new"], row["v"]) for row in rows],
        [("y", "i1"), ("age", "f8"), ("town", "U9"), ("count", "i8"), ("new", "?"), ("v", "f8", (3,))],
    )
    mine, theirs = save(tmp_path / "a.npy", array), write_table(mixed_table(rows), tmp_path / "a.parquet")
    schema = settle(mine, Schema())
    assert schema == ArrowFormat().complete(theirs, Schema())
    for one, other in zip(
        read_all(NpyFormat, mine, schema)[:4], read_all(ArrowFormat, theirs, schema)[:4], strict=True
    ):
        assert one == other
    assert [list(row) for row in read_all(NpyFormat, mine, schema)[0]] == [
        list(row) for row in read_all(ArrowFormat, theirs, schema)[0]
    ]


def test_flaws_leave_a_row_out_and_name_its_column(tmp_path, few_rows):
    X = np.ones((9, 4))
    X[2, 3], X[4, 2], X[6, 0], X[7, 0], X[8, 1] = np.inf, -1e101, 7, np.nan, np.nan
    X[1, 0] = 0  # so that 7 is a third label
    source = save(tmp_path / "a.npy", X)
    rows, _, _, lines, errors, _ = read_all(NpyFormat, source, settle(source, Schema()))
    assert lines == [1, 2, 4, 6, 9]
    assert len(rows[-1]) == 2
    assert [(error.line, error.column) for error in errors] == [(3, "4"), (5, "3"), (7, "1"), (8, "1")]
    assert [error.message.split(";")[0] for error in errors[:2]] == [
        "'inf' is not finite",
        "'-1e+101' is above 1e+100 in size",
    ]
    assert errors[3].message == "the label is missing"


@pytest.mark.parametrize("name", ["a.npy", "a.npy.gz"])
def test_reading_continues_from_the_end_of_any_chunk(tmp_path, few_rows, name):
    X = labelled_rows(33)
    X[13, 0] = 4
    source = save(tmp_path / name, X)
    schema = settle(source, Schema())
    whole = read_all(NpyFormat, source, schema, Position(2))
    for end in whole[-1]:
        assert (end.source, end.offset) == (2, end.line)
        rest = read_all(NpyFormat, source, schema, end)
        for mine, other in zip(rest[:4], whole[:4], strict=True):
            assert mine == other[len(other) - len(mine) :]
        assert rest[3] == [line for line in whole[3] if line > end.line]
        assert rest[4] == [error for error in whole[4] if error.line > end.line]
    with pytest.raises(InvalidDataError, match="has 33 rows, but reading was to continue at row 35"):
        read_all(NpyFormat, source, schema, Position(0, 34, 34))


def test_a_file_that_is_cut_while_it_is_read_is_an_error_and_no_more(tmp_path):
    source = save(tmp_path / "a.npy", labelled_rows(200_000, 9))
    found = chunks(source, settle(source, Schema()), Position(), workers=0)
    assert len(next(found)) > 0
    os.truncate(source.path, 3_000_000)
    with pytest.raises(InvalidDataError, match=r"a\.npy (became shorter|ends after row)"):
        rows_of(found)


def test_a_file_that_is_shorter_than_it_says_gives_its_rows_first(tmp_path, few_rows):
    source = save(tmp_path / "a.npy", labelled_rows(20))
    os.truncate(source.path, source.size - 7)
    found = chunks(source, settle(source, Schema()), Position())
    lines = [line for _ in range(4) for line in next(found).lines.tolist()]
    assert lines == list(range(1, 20))
    with pytest.raises(InvalidDataError, match="ends after row 19 of the 20"):
        next(found)


def test_other_arrays_and_files(tmp_path):
    for array, words in (
        (np.arange(5), r"shape \(5,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((2, 2), complex), "array of complex128"),
        (np.array([["a", "b"]]), "array of <U1"),
        (np.zeros((3, 1)), "no column is left"),
        (np.zeros((3, 0)), "rows have 0 bytes each"),
        (np.zeros(2, [("y", "i4"), ("t", "M8[s]")]), "'t' holds datetime64.*`ignore=.'t'.`"),
        (np.zeros(2, [("y", "i4"), ("m", "f8", (2, 2))]), "'m' holds .*`ignore=.'m'.`"),
    ):
        with pytest.raises(InvalidDataError, match=words):
            settle(save(tmp_path / "a.npy", array), Schema())
    np.save(tmp_path / "a.npy", np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(InvalidDataError, match="Python objects"):
        settle(Source(tmp_path / "a.npy"), Schema())
    whole = save(tmp_path / "a.npy", np.eye(3)).path.read_bytes()
    for content in (
        b"",
        b"abc",
        pickle.dumps([1]),
        whole[:40],
        whole[:9],
        whole.replace(b"3, 3", b"3,-3"),
        b"\x93NUMPY\x09\x00",
    ):
        (tmp_path / "a.npy").write_bytes(content)
        with pytest.raises(InvalidDataError, match=r"a\.npy: not a \.npy file, or damaged"):
            settle(Source(tmp_path / "a.npy"), Schema())


def test_no_rows_are_no_error(tmp_path):
    source = save(tmp_path / "a.npy", np.zeros((0, 3)))
    assert list(chunks(source, settle(source, Schema()), Position())) == []


def test_fortran_order_and_pipes_are_refused_with_a_remedy(tmp_path):
    X = labelled_rows(50)
    with pytest.raises(InvalidDataError, match=r"Fortran order\): save it with numpy.ascontiguousarray"):
        settle(save(tmp_path / "f.npy", np.asfortranarray(X)), Schema())
    content = save(tmp_path / "a.npy", X).path.read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    source = Source(tmp_path / "pipe")
    assert source.head(6) == b"\x93NUMPY"
    with pytest.raises(InvalidDataError, match=r"is a pipe, and \.npy files are not read from pipes: name a file"):
        settle(source, Schema())
    with source.open() as file:
        assert file.read() == content
    writer.join()
