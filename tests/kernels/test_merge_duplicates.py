"""Entries of a row that share a column are added up where the first stands, whatever the rows before it were."""

import numpy as np
import pytest

from massart.kernels.compiling import njit
from massart.kernels.parsing.merge_duplicates import merge_row, merge_tables

NO_SPACES = np.empty(0, np.uint8)


@njit()
def tables():
    """`merge_tables`, which is only for other kernels."""
    return merge_tables()


def merged(columns, values):
    """The sums by column, without those of 0 where something was added."""
    sums = {}
    for column, value in zip(columns, values, strict=True):
        sums[column] = sums.get(column, 0.0) + value
    return {column: value for column, value in sums.items() if value != 0.0 or len(sums) == len(columns)}


@pytest.mark.parametrize("spread", [7, 300, 2**14, 2**20])
@pytest.mark.parametrize("spaced", [False, True])
def test_rows_one_after_another_with_the_same_tables(spread, spaced):
    """1,000 rows: the marks of a byte come round several times, and some of them are left out, as parsers do."""
    rng, own = np.random.default_rng(spread), tables()
    for mark in range(1, 1_000):
        if rng.random() < 0.2:
            continue
        size = int(rng.integers(0, 40)) if rng.random() < 0.99 else int(rng.integers(200, 6_000))
        indices = rng.integers(0, spread, size).astype(np.uint32)
        data = rng.choice([-1.0, 1.0, 0.5], size)
        spaces = (indices % 5).astype(np.uint8) if spaced else NO_SPACES
        expected = merged(indices.tolist(), data.tolist())
        end = int(merge_row(data, indices, spaces, np.uint64(0), np.uint64(size), own, mark))
        assert list(zip(indices[:end].tolist(), data[:end].tolist(), strict=True)) == list(expected.items())
        if spaced:
            assert (spaces[:end] == indices[:end] % 5).all()


def test_columns_that_share_a_cell_stay_apart():
    """Cells are found by the last 14 bits."""
    indices, data = np.array([5, 5 + 2**14, 5 + 2**15], np.uint32), np.array([1.0, 2.0, 4.0])
    assert merge_row(data, indices, NO_SPACES, np.uint64(0), np.uint64(3), tables(), 1) == 3
    assert indices.tolist() == [5, 5 + 2**14, 5 + 2**15]
    assert data.tolist() == [1.0, 2.0, 4.0]
