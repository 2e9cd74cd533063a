"""Which two labels a file has is found in its first rows, in every format."""

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
def test_more_than_two_are_refused_with_the_labels_and_the_option(form, tmp_path):
    path = write(tmp_path, form, list(range(1, 11)))
    words = r"the labels must be two, but its first rows have 10 \('1', '2', '3', .*'10'\): .* `labels=\('NEGATIVE', "
    with pytest.raises(InvalidDataError, match=words):
        read(path)
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
