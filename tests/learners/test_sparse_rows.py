"""Arrays most of whose rows are zero: read as the whole array is."""

import numpy as np
import pytest

from massart.learners.sparse_rows import SparseRows, grown, has_weight


def test_sparse_rows_are_read_as_arrays_are():
    rng = np.random.default_rng(0)
    array = np.zeros((50, 3))
    array[rng.choice(50, 12, replace=False)] = rng.normal(size=(12, 3))
    rows = SparseRows.of(array)
    assert (rows.shape, rows.size, rows.nbytes, len(rows), rows.numbers.size) == ((50, 3), 150, 1200, 50, 12)
    for pick in (slice(None), slice(10, 30), slice(20, -1), slice(40, 90), np.array([49, 0, 7, 7])):
        assert np.array_equal(rows[pick], array[pick])
    assert np.array_equal(np.asarray(rows.copy()), array)
    assert np.array_equal(np.asarray(rows, np.float32), array.astype(np.float32))
    assert np.array_equal(has_weight(rows, 10), array[10:].any(axis=1))
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(rows, copy=False)


def test_minus_zero_is_stored():
    assert SparseRows.of(np.array([0.0, -0.0, 1.0])).numbers.tolist() == [1, 2]


@pytest.mark.parametrize("numbers", [[3, 1], [1, 1], [1, 5]])
def test_numbers_that_are_not_those_of_rows_are_refused(numbers):
    with pytest.raises(ValueError, match="not those of an array of 5 rows"):
        SparseRows(np.array(numbers), np.ones(2), 5)


@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_a_table_that_grows_keeps_its_rows_and_the_last_is_the_last(shape):
    table = np.random.default_rng(0).normal(size=shape)
    assert grown(table, 5) is table
    larger = grown(table, 9)
    assert np.array_equal(larger[:4], table[:4])
    assert np.array_equal(larger[-1], table[-1])
    assert not larger[4:-1].any()
