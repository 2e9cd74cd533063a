"""Offers: what is written in C does what is written in Python, and hashes what the definition of the features says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from massart.data.hashing import FeatureError, FeatureHasher
from massart.data.offers import _pairs, offer_of_record
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing.offers import (
    UNUSUAL,
    hashed_rows,
    hashed_rows_in_python,
    placed_rows,
    placed_rows_in_python,
)
from massart.kernels.parsing.row_errors import LARGEST

NAMES = st.sampled_from(["a", "b", "7", "07", "", "é", "名", "\ud800", "x" * 70]) | st.text(max_size=4)
NUMBERS = (
    st.floats()
    | st.integers()
    | st.sampled_from(
        [
            0,
            -0.0,
            1e50,
            -1e50,
            1.1e50,
            5e-324,
            2**53 + 1,
            2**63 - 1,
            2**63,
            -(2**63),
            10**50,
            10**400,
            LARGEST,
            -2.0 * LARGEST,
        ]
    )
)
PLAIN = NUMBERS | st.booleans() | st.none() | NAMES
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=8)


def bits(row):
    return None if row is None else [(column, float(value).hex()) for column, value in row.items()]


@settings(max_examples=400, deadline=None)
@given(st.lists(OBJECTS, max_size=4), st.sampled_from([2, 24]))
def test_every_path_gives_the_bits_of_the_definition(objects, width):
    """With 2 bits of hash nearly all features share columns. A new hasher knows no name: it is the definition."""
    warm = FeatureHasher(Schema("jsonl", bits=width))
    wanted = []
    for one in objects:
        try:
            wanted.append(bits(FeatureHasher(Schema("jsonl", bits=width)).row(_pairs(one, "", 0), frozenset()).values))
            warm.row(_pairs(one, "", 0), frozenset())
        except FeatureError:
            wanted.append(None)
    known = warm._columns, warm._texts, LARGEST
    found = [bits(row) for row in hashed_rows(objects, *known)]
    assert found == [bits(row) for row in hashed_rows_in_python(objects, *known)]
    for own, row in zip(wanted, found, strict=True):
        assert row is None or row == own


def test_usual_objects_are_not_left_to_python():
    hasher = FeatureHasher(Schema("jsonl", bits=24))
    one = {"price": 2.5, "new": True, "old": False, "none": None, "town": "Rome", "empty": "", "count": 3, "zero": 0.0}
    wanted = hasher.row(tuple(one.items()), frozenset()).values
    (row,) = hasher.rows([one])
    assert bits(row) == bits(wanted)
    assert list(row.values()) == [2.5, 1.0, 1.0, 3.0]


@pytest.mark.parametrize("make", [hashed_rows, hashed_rows_in_python])
def test_what_is_unusual(make):
    class Name(str):
        __slots__ = ()

    unusual = [{"new": 1.0}, {"a": 1e51}, {"a": float("nan")}, {"a": 2**63}, {"a": [1.0]}, {"a": {}}, {Name("a"): 1.0},
               {7: 1.0}, {"a": 1.0, "b": 2.0}, {"t": "new"}, {"a": np.float64(1.0)}, [1.0], None, "a"]  # fmt: skip
    assert make(unusual, {"a": 5, "b": 5}, {("t", "x"): 6}, 1e50) == [None] * len(unusual)
    assert make([{"a": 1, "t": "x"}], {"a": 5}, {("t", "x"): 6}, 1e50) == [{5: 1.0, 6: 1.0}]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 12), st.floats(), max_size=6), max_size=4), st.randoms())
def test_rows_are_placed_alike(rows, rng):
    keys = list(range(11))
    rng.shuffle(keys)
    columns = {key: place for place, key in enumerate(keys[: rng.randint(0, 11)])}
    size = max(0, sum(map(len, rows)) + rng.choice([-1, 0, 0, 0, 2]))
    found = []
    for place in (placed_rows, placed_rows_in_python):
        arrays = np.empty(size), np.empty(size, np.int64), np.empty(len(rows) + 1, np.int64)
        end = place(tuple(rows), columns, *arrays)
        found.append((end, *(one[: max(end, 0)].tobytes() for one in arrays[:2]), end >= 0 and arrays[2].tolist()))
    assert found[0] == found[1]


def test_rows_that_are_sorted_or_new_are_left_to_python():
    def place(rows, columns, room=4):
        arrays = np.empty(room), np.empty(room, np.int64), np.empty(len(rows) + 1, np.int64)
        return placed_rows(rows, columns, *arrays), arrays[1].tolist()

    assert place(({70: 1.0, 80: 2.0}, {}, {70: 3.0, 80: 1.0}), {70: 0, 80: 1}) == (4, [0, 1, 0, 1])
    assert place(({80: 2.0, 70: 1.0},), {70: 0, 80: 1})[0] == UNUSUAL
    assert place(({70: 2.0, 80: 1.0},), {70: 0, 80: 0})[0] == UNUSUAL
    assert place(({70: 1.0},), {})[0] == UNUSUAL
    assert place(({70: 1.0, 80: 1.0},), {70: 0, 80: 1}, room=1)[0] == UNUSUAL


def test_arrays_of_other_types_are_refused():
    if placed_rows is not placed_rows_in_python:
        with pytest.raises(SystemError, match="float64"):
            placed_rows(({},), {}, np.empty(1, np.float32), np.empty(1, np.int64), np.empty(2, np.int64))


def test_an_offer_owns_its_features():
    features = {"price": 2.5, "town": "Rome"}
    for _ in range(2):  # the second time all names are known
        offer = offer_of_record({"ids": ["a"], "features": [features]})
        before, wanted = offer.record(), bits(offer.rows[0])
        features["price"] = 9.0
        assert offer.record() == before
        assert bits(offer.rows[0]) == wanted
        features["price"] = 2.5


def test_errors_name_the_arm():
    good = {"price": 2.5}
    offer_of_record({"features": [good]})
    with pytest.raises(InvalidDataError, match=r"arms\[1\].*price"):
        offer_of_record({"features": [good, {"price": 2.0 * LARGEST}]})
