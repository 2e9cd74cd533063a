"""Labelled files as one matrix: any number of classes, the order of the file, every format, and what is refused."""

import gzip

import numpy as np
import pytest

from massart.data.labelled import MOST_CLASSES, read_labelled
from massart.errors import InvalidDataError


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "c"],
        ["a", "b", "c", "d"],
        ["3", "1", "2", "10", "-1"],
        ["no", "yes"],
        ["0", "1"],
        ["1", "x", "0", "y", "z"],
        ["1.0", "2", "0.5"],
    ],
)
def test_rows_come_in_the_order_of_the_file_with_their_own_labels(written, labels):
    random = np.random.default_rng(0)
    which = random.integers(len(labels), size=200)
    rows = random.standard_normal((200, 3)).round(3)
    lines = [",".join([*map(str, row), labels[one]]) for row, one in zip(rows.tolist(), which, strict=True)]
    X, y = read_labelled(written("a.csv.gz", "p,q,r,kind\n" + "\n".join(lines) + "\n"), label="kind")
    assert np.array_equal(X, rows)
    numeric = all(label.lstrip("-").replace(".", "").isdigit() for label in labels)
    assert y.dtype.kind == ("f" if numeric else "U")
    assert (
        [float(one) for one in y] == [float(labels[k]) for k in which]
        if numeric
        else y.tolist() == [labels[k] for k in which]
    )


def test_texts_become_columns_and_columns_of_zeros_are_left_out(written):
    X, y = read_labelled(written("a.csv", "town,empty,n,class\nRome,0,1,a\nOslo,0,2,b\nRome,0,3,c\n"))
    assert X.shape == (3, 3)
    assert sorted(map(sorted, X.tolist())) == [[0, 1, 1], [0, 1, 2], [0, 1, 3]]
    assert y.tolist() == ["a", "b", "c"]


def test_svmlight_vw_and_several_files(written, tmp_path):
    X, y = read_labelled(written("a.svm", "3 1:1\n1 2:1\n2 1:2 3:1\n"))
    assert (X.tolist(), y.tolist()) == ([[1, 0, 0], [0, 1, 0], [2, 0, 1]], [3, 1, 2])
    _, y = read_labelled(written("a.vw", "1 | a b\n2 | a\n3 | c\n"))
    assert y.tolist() == [1, 2, 3]
    folder = tmp_path / "many"
    folder.mkdir()
    for name, label in (("1.csv", "u"), ("2.csv", "v"), ("3.csv", "w")):
        (folder / name).write_text(f"n,class\n1,{label}\n2,x\n")
    X, y = read_labelled(folder)
    assert (X[:, 0].tolist(), y.tolist()) == ([1, 2] * 3, ["u", "x", "v", "x", "w", "x"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n,class\n1,a\nx,b\n" + "2,a\n" * 3, None),  # a column of text: a category
        ("n,class\n1,a\n1,2,b\n", "line 3: 3 fields where 2 columns are expected"),
        ("n,class\n1,a\n2,\n", "the label is missing|expected a label"),
        ("n,class\n" + "".join(f"1,c{k}\n" for k in range(MOST_CLASSES + 1)), "more than 100 labels"),
        ("n,class\n" + "".join(f"w{k},a\n" for k in range(1001)), "1,001 columns in 1,001 rows"),
        (f"n,class\n1,{'l' * 200}\n2,a\n", "too long to be told apart"),
    ],
)
def test_refusals(written, text, words):
    path = written("a.csv", text)
    if words is None:
        assert read_labelled(path).X.shape == (5, 3)
        return
    with pytest.raises(InvalidDataError, match=words):
        read_labelled(path)
