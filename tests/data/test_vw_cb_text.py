"""VW's contextual bandit text: its grammar, and what is refused where VW would guess."""

from collections import Counter

import pytest

import massart
from massart.data.decisions.vw import read_text
from massart.data.hashing import name_hash
from massart.errors import InvalidDataError


def column(namespace, name, value=None):
    """VW's hash of a feature, as in training files; a text after the colon is hashed on top of the name."""
    seed = name_hash(name, name_hash(namespace) if namespace else 0)
    return (seed if value is None else name_hash(value, seed)) % 2**18


def read(text, skipped=None):
    counted = Counter() if skipped is None else skipped
    return list(read_text(enumerate(text.split("\n"), 1), "log.vw", counted))


def test_two_events_of_the_documentation():
    text = """shared |User age:0.3 plan=pro
|Item id=a price:1.0
0:-1:0.25 |Item id=b price:2.0
|Item id=c price:0.5

shared |User age:0.9 plan=free
|Item id=a
|Item id=b

"""
    skipped = Counter()
    [decision] = read(text, skipped)
    assert (decision.arms, decision.arm, decision.reward, decision.probability) == (3, 1, 1.0, 0.25)
    assert skipped == {"decisions without a label": 1}
    dense = decision.contexts.toarray()
    assert dense[:, column("User", "age")].tolist() == [0.3, 0.3, 0.3]
    assert dense[:, column("User", "plan=pro")].tolist() == [1.0, 1.0, 1.0]
    assert dense[:, column("Item", "price")].tolist() == [1.0, 2.0, 0.5]
    assert dense[:, column("Item", "id=b")].tolist() == [0.0, 1.0, 0.0]
    assert decision.contexts.nnz == 3 * 4


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("|a:2 x:3 y", {("a", "x"): 6.0, ("a", "y"): 2.0}),
        ("| x:3 y", {("", "x"): 3.0, ("", "y"): 1.0}),
        ("|f color:red", {("f", "color", "red"): 1.0}),
        ("|f x x:2", {("f", "x"): 3.0}),
        ("|foo x |far x:2", {("foo", "x"): 1.0, ("far", "x"): 2.0}),
        ("|f\tx:1\ty:2", {("f", "x"): 1.0, ("f", "y"): 2.0}),
        ("|f", {}),
    ],
)
def test_features(features, expected):
    [decision] = read(f"0:1:0.5 {features}")
    assert decision.reward == -1.0
    row = decision.contexts.toarray()[0]
    assert {key: row[column(*key)] for key in expected} == expected
    assert (row != 0).sum() == len(expected)


@pytest.mark.parametrize(
    ("head", "tag"),
    [
        ("0:1:0.5 ", None),
        ("0:1:0.5 'id7 ", "id7"),
        ("0:1:0.5 id7", "id7"),
        ("note\t0:1:0.5 'a", "a"),
        ("7:1e0:.5 ", None),
    ],
)
def test_labels_and_tags(head, tag):
    [decision] = read(f"|f a\n{head}|f b")
    assert (decision.arm, decision.reward, decision.probability, decision.event_id) == (1, -1.0, 0.5, tag)


def test_a_label_without_probability_is_handed_on_as_missing():
    [decision] = read("0:1 |f a")
    assert decision.probability != decision.probability


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0:1:0.5 f a", "line 1, line: there is no |"),
        ("|f a\n0:1:0.5|f b", "line 2, label: '0:1:0.5' touches"),
        ("0:1:0.5 |f a\n1:1:0.5 |f b", "line 2, label: a second arm"),
        ("0:one:0.5 |f a", "line 1, cost: 'one'"),
        ("0:nan:0.5 |f a", "line 1, cost: 'nan'"),
        ("0:1:p |f a", "line 1, probability: 'p'"),
        ("0:1:0.5:3 |f a", "line 1, label: '0:1:0.5:3'"),
        ("5 |f a", "line 1, label: '5'"),
        ("0:1:0.5 1:1:0.5 |f a", "line 1, label: "),
        ("0:1:0.5 |f a:nan", "line 1, column 14: 'nan' is not finite"),
        ("|f a\n0:1:0.5 |f b c:", "line 2, column 16: expected a number or text after ':'"),
        ("0:1:0.5 |f:x a", "line 1, column 12: expected a number, the namespace's scale"),
        ("|f a\nshared |f b", "line 2, shared: it is not the first"),
        ("shared |f b\n\n|f a", "line 1, shared: no arm follows"),
        ("ccb shared |f b", "line 1, label: ccb decisions"),
    ],
)
def test_flawed_lines_are_refused(text, words):
    with pytest.raises(InvalidDataError) as refusal:
        read(text)
    assert str(refusal.value).startswith(f"log.vw, {words}")


def test_columns_are_those_of_training_files(tmp_path):
    """What is learned from a file of rows and what is evaluated on a log speak of the same columns."""
    features = "|user age:0.5 town:Rome 7:2 |item:2 a b:-3 :4"
    (tmp_path / "rows.vw").write_text(f"1 {features}\n")
    (chunk,) = massart.data.read(tmp_path / "rows.vw")
    [decision] = read(f"0:1:0.5 {features}")
    assert (decision.contexts - chunk.X).nnz == 0
    assert decision.contexts.nnz == 6
