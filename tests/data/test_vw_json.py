"""Objects as Vowpal Wabbit writes them, and logs of decisions that are no rows with labels."""

import json

import pytest

from massart.data import read
from massart.errors import InvalidDataError


def chunk_of(path, rows, **options):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (chunk,) = read(path, bits=18, **options)
    return chunk


def test_the_label_of_vowpal_wabbit_and_its_other_fields(tmp_path):
    rows = [
        {"_label": 1, "_tag": "first", "user": {"age": 3.0}, "_text": "good offer"},
        {"_label": {"Label": -1, "Weight": 2.5}, "user": {"age": 4.0}, "_anything": [1, 2]},
    ]
    chunk = chunk_of(tmp_path / "a.json", rows)
    plain = [{"y": 1, "user": {"age": 3.0}, "good": 1.0, "offer": 1.0}, {"y": -1, "user": {"age": 4.0}}]
    expected = chunk_of(tmp_path / "b.json", plain)
    assert (chunk.X != expected.X).nnz == 0
    assert chunk.y.tolist() == [1, -1]
    assert chunk.weight.tolist() == [1.0, 2.5]


def test_classes_of_vowpal_wabbits_json(tmp_path):
    chunk = chunk_of(tmp_path / "a.json", [{"_label": k % 3 + 1, "a": 1} for k in range(9)])
    assert chunk.y.tolist() == [1.0, 2.0, 3.0] * 3


def test_a_weight_that_is_none_is_an_error(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"_label": {"Label": 1, "Weight": -2}, "a": 1}\n{"_label": 0, "a": 1}\n')
    with pytest.raises(InvalidDataError, match="line 1, column _weight: expected an importance"):
        list(read(path))


@pytest.mark.parametrize(
    "text",
    [
        "shared |user a\n|item b\n0:-1:0.5 |item c\n\n",
        "2:-1:0.25 | a b\n1:0:.5 | a\n",
        '{"_label_cost":-1.0,"_labelIndex":1,"c":{"_multi":[{"a":1},{"b":1}]}}\n',
    ],
)
@pytest.mark.parametrize("name", ["log.vw", "log.json", "log"])
def test_a_log_of_decisions_is_named_as_one(text, name, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidDataError, match=r"log of decisions.*`massart bandit`.*`massart evaluate`"):
        read(path)
