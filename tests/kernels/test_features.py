"""Dicts to sparse rows: what is written in C does what is written in Python."""

import numpy as np
import pytest

from massart.kernels.parsing import features as module
from massart.kernels.parsing.features import NO_ROOM, UNUSUAL, feature_reader, feature_reader_in_python

COLUMNS = {"b": 1, "a": 0, 7: 2, "d": 3}


def read(reader, features, *, columns=COLUMNS, room=8, at=2, longest=1e300, is_known=False):
    values, numbers = np.zeros(room), np.zeros(room, np.uint32)
    end = reader(columns, values, numbers, longest)(features, at, is_known)
    return end, values[at : max(at, end)].tolist(), numbers[at : max(at, end)].tolist()


CASES = [
    ({}, {}),
    ({"b": 1.5, "a": 2, 7: True, "d": 0.0}, {}),
    ({"d": 1.5, 7: -2, "a": 3.0, "b": 4.0}, {}),
    ({"d": 1.0, "a": 2.0}, {}),
    ({"d": np.float64(1.0)}, {}),
    ({"d": np.float32(1.0)}, {}),
    ({"d": "text"}, {}),
    ({"d": None}, {}),
    ({"d": 10**400}, {}),
    ({"d": float("nan")}, {}),
    ({"d": float("inf")}, {}),
    ({"d": 1e200}, {}),
    ({"d": 3.0, "a": 4.0}, {"longest": 24.0}),
    ({"d": 3.0, "a": 4.0}, {"longest": 25.0}),
    ({"new": 1.0}, {}),
    ({"new": 1.0, "a": 2.0}, {"is_known": True}),
    ({"new": 1.0}, {"is_known": True}),
    ({"new": "text"}, {"is_known": True}),
    ({"new": 10**400}, {"is_known": True}),
    ({"a": 1.0, "b": 2.0}, {"room": 3}),
    ([("a", 1.0)], {}),
]


@pytest.mark.parametrize(("features", "options"), CASES)
def test_c_does_what_python_does(features, options):
    assert read(feature_reader, features, **options) == read(feature_reader_in_python, features, **options)


def test_what_is_found():
    assert read(feature_reader, {"d": 1.5, "b": -2}) == (4, [-2.0, 1.5], [1, 3])
    assert read(feature_reader, {"b": 1.5, "a": 2, 7: 0.0, "d": True}) == (5, [2.0, 1.5, 1.0], [0, 1, 3])
    assert read(feature_reader, {"a": float("nan")})[0] == UNUSUAL
    assert read(feature_reader, {"a": 1.0, "b": 1.0}, room=3)[0] == NO_ROOM


def test_as_many_names_as_columns_of_which_one_is_not_known():
    """As many, so all columns seem to be there; the result is that of the others, or left to Python."""
    features = {"b": 1.0, "a": 2.0, 7: 3.0, "new": 4.0}
    assert read(feature_reader_in_python, features, is_known=True) == (5, [2.0, 1.0, 3.0], [0, 1, 2])
    assert read(feature_reader, features, is_known=True)[0] in (5, UNUSUAL)


def test_random_dicts():
    rng = np.random.default_rng(0)
    names = [f"name {n}" for n in range(40)]
    columns = {name: int(place) for name, place in zip(names, rng.permutation(40), strict=True)}
    for _ in range(500):
        own = rng.permutation(40)[: rng.integers(0, 41)]
        features = {names[n]: float(rng.integers(-2, 3)) for n in own}
        both = [
            read(reader, features, columns=columns, room=64) for reader in (feature_reader, feature_reader_in_python)
        ]
        assert both[0] == both[1]
        assert both[0][0] >= 0


@pytest.mark.parametrize("make", [feature_reader, feature_reader_in_python])
def test_names_that_join_have_columns_at_once(make):
    columns, values, numbers = {"b": 0}, np.zeros(8), np.zeros(8, np.uint32)
    reader = make(columns, values, numbers, 1e300)
    assert reader({"b": 1.0, "a": 2.0}, 0, False) == UNUSUAL
    assert reader({"b": 1.0, "a": 2.0}, 0, True) == 1
    columns |= {"c": 2, "a": 1}
    for features in ({"b": 3.0, "c": 4.0, "a": 5.0}, {"a": 5.0, "b": 3.0, "c": 4.0}):
        assert reader(features, 1, False) == 4
        assert (values[1:4].tolist(), numbers[1:4].tolist()) == ([3.0, 5.0, 4.0], [0, 1, 2])
    assert reader({"a": 1.0}, 9, False) == NO_ROOM


@pytest.mark.wheel
def test_what_a_reader_in_c_refuses():
    values, numbers = np.zeros(8), np.zeros(8, np.uint32)
    for arguments in (
        ([], values, numbers, 1.0),
        ({}, numbers, values, 1.0),
        ({}, values, numbers),
        ({}, values, numbers, ""),
    ):
        with pytest.raises((SystemError, TypeError)):
            feature_reader(*arguments)
    for arguments in (({},), ({}, "place", False), ({}, 0, False, 1)):
        with pytest.raises((SystemError, TypeError)):
            feature_reader({"a": 0}, values, numbers, 1.0)(*arguments)
    with pytest.raises(SystemError, match="each once"):
        feature_reader({"a": 7}, values, numbers, 1.0)({}, 0, False)


@pytest.mark.wheel
def test_it_is_the_one_in_c():
    assert module.feature_reader is not feature_reader_in_python
