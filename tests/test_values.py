"""Records and values: fields by position or name, defaults of their own, equal copies, and no other changes."""

import copy
import inspect
import pickle

import pytest

from massart.values import Record, Value


class Point(Value):
    x: float
    y: float = 0.0
    marks: dict[str, int] = {}

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("x is below 0")


class Place(Point):
    name: str = ""


class Count(Record):
    rows: int = 0
    errors: list[str] = []


def test_fields_and_defaults():
    assert Place(1.0, 2.0, name="a").asdict() == {"x": 1.0, "y": 2.0, "marks": {}, "name": "a"}
    assert str(inspect.signature(Place)) == "(x, y=0.0, marks={}, name='')"
    for wrong in [Point, lambda: Point(1.0, z=2.0), lambda: Point(1.0, x=1.0), lambda: Point(1, 2, {}, 4)]:
        with pytest.raises(TypeError, match="Point takes x, y, marks"):
            wrong()
    with pytest.raises(ValueError, match="below 0"):
        Point(1.0).replace(x=-1.0)


def test_each_has_its_own_defaults():
    first, second = Count(), Count()
    first.errors.append("a")
    first.rows += 1
    assert (second.errors, second.rows, Count().errors) == ([], 0, [])
    assert first != second
    with pytest.raises(TypeError):
        hash(first)


def test_values_do_not_change():
    point = Point(1.0)
    for change in [lambda: setattr(point, "x", 2.0), lambda: delattr(point, "x"), lambda: setattr(point, "new", 1)]:
        with pytest.raises(AttributeError, match="does not change"):
            change()
    assert point == Point(1.0)
    assert point != Place(1.0)


def pickled(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickled])
def test_copies_are_equal(way):
    for value in (Place(1.0, name="b"), Count(3, ["e"])):
        assert way(value) == value
        assert type(way(value)) is type(value)
