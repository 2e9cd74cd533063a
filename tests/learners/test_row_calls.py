"""One row at a time by prepared calls: the same bits as rows together."""

import numpy as np
import pytest

from massart.kernels.door import Rows
from massart.learners.calibration import ScoreCalibration
from massart.learners.class_pool import ClassPool
from massart.learners.pool import Pool
from massart.learners.row_calls import ClassPoolRow, PoolRow

ROWS = 300


def sparse(width, seed=0, classes=2):
    """Values, columns and ends of rows without zeros, and labels: later classes come first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, width)) * (rng.random((ROWS, width)) < 0.8)
    y = np.argmax(X @ rng.normal(size=(width, classes)), axis=1)
    y[:classes] = np.arange(classes)[::-1]
    places = [np.flatnonzero(x) for x in X]
    ends = np.cumsum([0, *map(len, places)])
    return X[X != 0.0], np.concatenate(places).astype(np.uint32), ends, y


def part(values, columns, ends, first, last):
    taken = slice(ends[first], ends[last])
    return values[taken], columns[taken], (ends[first : last + 1] - ends[first]).astype(np.uint32)


def same(one, other):
    """Whether two learners have the same state, to the last bit."""
    first, second = one.arrays(), other.arrays()
    return first.keys() == second.keys() and all(
        np.asarray(first[name]).tobytes() == np.asarray(second[name]).tobytes() for name in first
    )


@pytest.mark.parametrize("width", [3, 30, 80])
@pytest.mark.parametrize("voting", ["sample", "majority"])
def test_a_pool_learns_the_same_row_by_row(width, voting):
    values, columns, ends, y = sparse(width)
    signs = (2 * y - 1).astype(np.int8)
    single, together = (Pool(width, voting=voting, seed=3) for _ in range(2))
    curve, curves = ScoreCalibration(), ScoreCalibration()
    row, scores = PoolRow(single, curve, values, columns), np.empty(ROWS)
    for n in range(ROWS):
        row.learn(int(ends[n]), int(ends[n + 1]), int(y[n]))
    together.learn_rows(Rows.read(part(values, columns, ends, 0, ROWS), width), signs, scores=scores)
    curves.learn(scores, signs)
    assert same(single, together)
    assert same(curve, curves)
    rows = Rows.read(part(values, columns, ends, 0, 50), width)
    found = [row.score(int(ends[n]), int(ends[n + 1])) for n in range(50)]
    np.testing.assert_allclose(found, rows.score(together.leaders()[0]), rtol=1e-9, atol=1e-12)
    expected = curves.probabilities(np.array(found))
    assert [row.probabilities(int(ends[n]), int(ends[n + 1])) for n in range(50)] == expected.tolist()
    assert [row.answer(int(ends[n]), int(ends[n + 1])) for n in range(50)] == expected.argmax(axis=1).tolist()
    assert same(single, together)  # to predict changes nothing


@pytest.mark.parametrize("width", [3, 15, 40, 100])
@pytest.mark.parametrize("classes", [2, 5])
def test_a_pool_of_classes_learns_the_same_row_by_row(width, classes):
    values, columns, ends, y = sparse(width, classes=classes)
    single, together = (ClassPool(width, np.ones(classes)) for _ in range(2))
    first = Rows.read(part(values, columns, ends, 0, classes), width)
    assert not ClassPoolRow.is_ready(single)
    for one in (single, together):
        one.learn_rows(first, y[:classes])
    assert ClassPoolRow.is_ready(single)
    row = ClassPoolRow(single, values, columns)
    for n in range(classes, ROWS):
        row.learn(int(ends[n]), int(ends[n + 1]), int(y[n]))
    together.learn_rows(Rows.read(part(values, columns, ends, classes, ROWS), width), y[classes:])
    assert same(single, together)
    expected = together.probabilities(Rows.read(part(values, columns, ends, 0, 50), width))
    assert [row.probabilities(int(ends[n]), int(ends[n + 1])) for n in range(50)] == expected.tolist()
    assert [row.answer(int(ends[n]), int(ends[n + 1])) for n in range(50)] == expected.argmax(axis=1).tolist()
    assert same(single, together)
