"""dsjson: the record of the documentation, its rules for features, and what is refused."""

import json
from collections import Counter

import pytest

import massart
from massart.data.decisions.checker import LogChecker
from massart.data.decisions.dsjson import read_dsjson
from massart.data.hashing import name_hash
from massart.errors import InvalidDataError

LINE = {
    "_label_cost": -1.0,
    "_label_probability": 0.25,
    "_label_Action": 2,
    "_labelIndex": 1,
    "o": [{"v": 1.0, "EventId": "e-1", "ActionTaken": False}],
    "Timestamp": "2026-01-02T03:04:05.000000Z",
    "Version": "1",
    "EventId": "e-1",
    "a": [2, 1, 3],
    "c": {
        "FromUrl": [{"plan": "pro", "age": 0.3}],
        "_multi": [
            {"_tag": "a", "i": {"constant": 1, "id": "a"}, "j": [{"price": 1.0}]},
            {"_tag": "b", "i": {"constant": 1, "id": "b"}, "j": [{"price": 2.0}]},
            {"_tag": "c", "i": {"constant": 1, "id": "c"}, "j": [{"price": 0.5}]},
        ],
    },
    "p": [0.25, 0.5, 0.25],
    "VWState": {"m": "N/A"},
    "_original_label_cost": -1.0,
}


def column(space, name, value=None):
    """The column of a field, as in JSON lines of rows."""
    seed = name_hash(name, name_hash(space) if space else 0)
    return (seed if value is None else name_hash(value, seed)) % 2**18


def read(*lines, skipped=None):
    counted = Counter() if skipped is None else skipped
    return list(read_dsjson(enumerate(map(json.dumps, lines), 1), "log.dsjson", counted))


def test_the_line_of_the_documentation():
    [decision] = read(LINE)
    assert (decision.arm, decision.arms, decision.reward, decision.probability) == (1, 3, 1.0, 0.25)
    assert decision.probabilities.tolist() == [0.5, 0.25, 0.25]
    assert (decision.event_id, decision.time, decision.weight) == ("e-1", "2026-01-02T03:04:05.000000Z", 1.0)
    dense = decision.contexts.toarray()
    assert dense[:, column("FromUrl", "age")].tolist() == [0.3, 0.3, 0.3]
    assert dense[:, column("FromUrl", "plan", "pro")].tolist() == [1.0, 1.0, 1.0]
    assert dense[:, column("j", "price")].tolist() == [1.0, 2.0, 0.5]
    assert dense[:, column("i", "id", "b")].tolist() == [0.0, 1.0, 0.0]
    assert decision.contexts.nnz == 3 * 5


def test_features():
    arm = {"n": 2, "yes": True, "no": False, "none": None, "_tag": "x", "_text": "to be to", "v": [1, 0, 3], "s": "a b"}
    [decision] = read(LINE | {"a": [1], "p": [0.25], "_labelIndex": 0, "_label_Action": 1, "c": {"_multi": [arm]}})
    row = decision.contexts.toarray()[0]
    expected = {
        ("", "n"): 2,
        ("", "yes"): 1,
        ("", "to"): 2,
        ("", "be"): 1,
        ("v", "[0]"): 1,
        ("v", "[2]"): 3,
        ("", "s", "a b"): 1,
    }
    assert {key: row[column(*key)] for key in expected} == expected
    assert (row != 0).sum() == len(expected)


def test_what_is_no_decision_is_counted_and_left_out():
    skipped = Counter()
    kept = read({"RewardValue": 1.0, "EventId": "e"}, LINE | {"_skipLearn": True}, LINE, skipped=skipped)
    assert len(kept) == 1
    assert skipped == {"rewards without a decision": 1, "decisions that were never activated": 1}


def test_events_dropped_at_random_weigh_on_those_that_are_left():
    [decision] = read(LINE | {"pdrop": 0.75})
    assert decision.weight == 4.0


def test_a_line_without_all_probabilities_or_without_any():
    [decision] = read({key: value for key, value in LINE.items() if key != "p"})
    assert decision.probabilities is None
    [decision] = read({key: value for key, value in LINE.items() if key != "_label_probability"})
    assert decision.probability != decision.probability  # missing, for the log's checker to refuse


def nested(depth):
    return {"a": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"_labelIndex": None}, "_labelIndex"),
        ({"_labelIndex": 0.5}, "_labelIndex"),
        ({"_label_Action": 1}, "_label_Action"),
        ({"_label_cost": None}, "_label_cost"),
        ({"_label_cost": "x"}, "_label_cost"),
        ({"a": [1, 2, 3]}, "a"),
        ({"a": [2, 1]}, "a"),
        ({"a": [2, 2, 3]}, "a"),
        ({"a": "213"}, "a"),
        ({"p": [0.25, 0.75]}, "p"),
        ({"p": ["x", 0.5, 0.25]}, "p"),
        ({"pdrop": 1.0}, "pdrop"),
        ({"c": {}}, "c._multi"),
        ({"c": {"_multi": [1, 2, 3]}}, "c._multi[0]"),
        ({"c": {"_multi": [{"t": {"u": 1e999}}, {}, {}]}}, "c._multi[0].t.u"),
        ({"c": {"_multi": [{"t": 1e200}, {}, {}]}}, "c._multi[0].t"),
        ({"c": {"_multi": [{"t": 1e40}, {}, {}]}}, "contexts"),
        ({"c": {"u": nested(200), "_multi": [{}, {}, {}]}}, "c"),
        ({"c": {"_multi": [{}], "_slots": [{}]}}, "_slots"),
        ({"_outcomes": []}, "_outcomes"),
    ],
)
def test_malformed_lines_are_refused(change, field):
    checker = LogChecker("log.dsjson")
    with pytest.raises(InvalidDataError) as refusal:
        list(map(checker.is_valid, read(LINE, LINE | change)))
    assert str(refusal.value).startswith(f"log.dsjson, line 2, {field}: ")


def test_columns_are_those_of_training_files(tmp_path):
    arm = {"n": 2, "yes": True, "tags": ["a", "b"], "user": {"home": {"town": "Rome"}, "v": [1, 0, [3]]}}
    (tmp_path / "rows.jsonl").write_text(json.dumps({"y": 1, **arm}) + "\n")
    (chunk,) = massart.data.read(tmp_path / "rows.jsonl", label="y")
    [decision] = read(LINE | {"a": [1], "p": [0.25], "_labelIndex": 0, "_label_Action": 1, "c": {"_multi": [arm]}})
    assert (decision.contexts - chunk.X).nnz == 0
    assert decision.contexts.nnz == 7
