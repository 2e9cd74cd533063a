"""Which labels a file has is found in its first rows, in every format."""

import json
import sys

import numpy as np
import processes
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from massart.data import read
from massart.data.io.sources import Source
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidDataError

FORMATS = ("svmlight", "vw", "csv", "jsonl", "parquet", "arrow", "npy")
SUFFIX = {"svmlight": "svm"}


def write(folder, form, labels):
    """Rows of these labels and one feature."""
    path = folder / f"rows.{SUFFIX.get(form, form)}"
    if form in ("svmlight", "vw"):
        between = " " if form == "svmlight" else " | "
        path.write_text("".join(f"{label}{between}1:{i + 1}\n" for i, label in enumerate(labels)))
    elif form == "csv":
        path.write_text("y,a\n" + "".join(f"{label},{i + 1}\n" for i, label in enumerate(labels)))
    elif form == "jsonl":
        path.write_text("".join(json.dumps({"y": label, "a": i + 1}) + "\n" for i, label in enumerate(labels)))
    elif form == "npy":
        np.save(path, np.array([[label, i + 1] for i, label in enumerate(labels)], float))
    else:
        table = pa.table({"y": labels, "a": np.arange(1.0, len(labels) + 1)})
        pq.write_table(table, path) if form == "parquet" else pyarrow.feather.write_feather(table, path)
    return path


def signs(reader):
    return np.concatenate([chunk.y for chunk in reader]).tolist()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("labels", "found", "expected"),
    [
        ([1, 2, 2, 1], ("1", "2"), [-1, 1, 1, -1]),
        ([2, 1], ("1", "2"), [1, -1]),
        ([4, 2, 4], ("2", "4"), [1, -1, 1]),
        ([0, 1, 1], None, [-1, 1, 1]),
        ([1, -1], None, [1, -1]),
        ([1, -1, 0], None, [1, -1, -1]),
        ([-1, 0], None, [-1, -1]),
    ],
)
def test_two_numbers(form, labels, found, expected, tmp_path):
    reader = read(write(tmp_path, form, labels))
    assert reader.schema.labels == found
    assert signs(reader) == expected


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow"])
def test_two_words(form, tmp_path):
    reader = read(write(tmp_path, form, ["spam", "ham", "spam"]))
    assert (reader.schema.labels, signs(reader)) == (("ham", "spam"), [1, -1, 1])


@pytest.mark.parametrize("form", FORMATS)
def test_more_than_two_are_classes(form, tmp_path):
    labels = [*range(1, 11), 3, 12]
    reader = read(write(tmp_path, form, labels))
    assert reader.schema.labels == tuple(map(str, (*range(1, 11), 12)))
    assert reader.schema.new_labels
    assert signs(reader) == labels


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow"])
def test_words_are_classes(form, tmp_path):
    labels = ["spam", "ham", 'so "called"' if form == "jsonl" else "eggs", "ham"]
    reader = read(write(tmp_path, form, labels))
    assert (reader.schema.labels, signs(reader)) == (tuple(sorted(set(labels))), labels)


@pytest.mark.parametrize("form", FORMATS)
def test_rows_without_a_label_have_none(form, tmp_path):
    path = write(tmp_path, form, [1, 2, 3] * 4)
    reader = Reader([Source(path)], read(path).schema, labelled=False)
    (chunk,) = reader
    assert chunk.labels.tolist() == [1, 2, 3] * 4
    if form in ("svmlight", "vw"):
        path.write_text(path.read_text() + ("1:2\n" if form == "svmlight" else "| a\n'tag | a\n"))
        (chunk,) = Reader([Source(path)], reader.schema, labelled=False)
        assert np.isnan(chunk.labels[12:]).all()
        assert chunk.y[12:].tolist() == [0] * (chunk.y.size - 12)
        assert chunk.y.size > 12


def test_quoted_labels_of_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'y,a\r\n"so ""called""",1\r\n"a, b",2\r\nc,3\r\n')
    assert signs(read(path)) == ['so "called"', "a, b", "c"]
    path.write_bytes(b"a,y\r\n1,5\r\n2,6\r\n3,7\r\n")  # the label is the last field of a line
    assert signs(read(path)) == [5, 6, 7]


def test_few_others_beside_two_are_errors(tmp_path):
    path = write(tmp_path, "csv", ["yes", "no"] * 50 + ["yess"])
    with pytest.raises(
        InvalidDataError, match=r"have 3 different labels, some of them rare \('no', 'yes', 'yess'\).*`labels="
    ):
        read(path)
    for others, expected in ((4, None), (5, ("0", "1", "2"))):
        path = write(tmp_path, "csv", [0, 1] * 20 + [2] * others)
        assert read(path, strict=False).schema.labels == expected
    assert read(write(tmp_path, "csv", [-1, 1] * 20 + [2] * 40), strict=False).schema.labels is None


def test_measurements_are_no_classes(tmp_path):
    path = write(tmp_path, "csv", [i / 8 for i in range(40)])
    with pytest.raises(InvalidDataError, match="40 different labels, which look like measurements"):
        read(path)


@pytest.mark.parametrize("form", FORMATS)
def test_two_of_many_may_be_asked_for(form, tmp_path):
    path = write(tmp_path, form, list(range(1, 11)))
    reader = read(path, labels=("3", "7"), strict=False)
    (chunk,) = reader
    assert chunk.y.tolist() == [-1, 1]
    assert sorted(error.label for error in chunk.errors) == ["1", "10", "2", "4", "5", "6", "8", "9"]


@pytest.mark.parametrize("form", FORMATS)
def test_one_that_is_neither_among_the_usual_ones_is_left_out(form, tmp_path):
    reader = read(write(tmp_path, form, [1, -1, 3, 1]), strict=False)
    (chunk,) = reader
    assert (reader.schema.labels, chunk.y.tolist(), [error.label for error in chunk.errors]) == (
        None,
        [1, -1, 1],
        ["3"],
    )


@pytest.mark.parametrize("form", FORMATS)
def test_a_reading_that_is_settled_stays_so(form, tmp_path):
    path = write(tmp_path, form, [1, 2, 1])
    reader = Reader([Source(path)], Schema(), find_labels=False)
    assert reader.schema.labels is None
    (chunk,) = reader
    assert (chunk.y.tolist(), [error.label for error in chunk.errors]) == ([1, 1], ["2"])


def test_what_is_no_label_is_not_counted_as_one(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n3:1 4:1\nspam 1:1\n-1 1:2\n")
    (chunk,) = read(path, strict=False)
    assert [error.label for error in chunk.errors] == [None, "spam"]
    path = tmp_path / "a.csv"
    path.write_text("y,a\n1,1\nNA,2\n,3\nspam,4\n0,5\n")
    (chunk,) = read(path, strict=False, labels=("0", "1"))
    assert [error.label for error in chunk.errors] == [None, None, "spam"]


def test_labels_of_vw_text(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("2 1.5 'tag |f a\n1 2|f a\n 1 |f b\nwhat\t2 |f a\n|f 1 3\n3|f a\n'7 |f a\n")
    reader = read(path)  # 3 and 7 are tags
    assert (reader.schema.labels, signs(reader)) == (("1", "2"), [1, -1, -1, 1, 0, 0, 0])


def test_the_second_label_may_come_late(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n" * 20_000 + "2 1:1\n" * 20_000)  # more than the 64 kB that are looked at first
    assert read(path).schema.labels == ("1", "2")


def test_a_pipe_is_understood_like_the_file(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n" * 20_000 + "2 1:1\n" * 20_000)
    code = (
        "from massart.data import read\n"
        "reader = read('-', format='svmlight', features=1)\n"
        "print(reader.schema.labels, sum(int(chunk.y.sum()) for chunk in reader))"
    )
    with path.open("rb") as file:
        said = processes.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True)
    assert said.stdout == "('1', '2') 0\n", said.stderr
