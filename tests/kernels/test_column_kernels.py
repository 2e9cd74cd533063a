"""Slots for columns: one after the other, in the order of first occurrence."""

import numpy as np
import pytest

from massart.kernels.learning.columns import number_columns, number_rows


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_a_column_gets_the_next_slot_and_keeps_it(kind):
    rng = np.random.default_rng(0)
    slot_of, given, known = np.zeros(5000, np.uint32), np.zeros(1, np.int64), {}
    for _ in range(3):  # later calls go on with what earlier ones gave
        indices, slots = rng.integers(0, 5000, 700).astype(kind), np.empty(700, np.uint32)
        number_columns(indices, slot_of, given, slots)
        assert slots.tolist() == [known.setdefault(column, len(known)) for column in indices.tolist()]
    assert given.tolist() == [len(known)]
    assert {int(j): int(slot_of[j]) - 1 for j in np.flatnonzero(slot_of)} == known


def test_rows_of_an_order_are_copied_one_after_the_other():
    data = np.arange(6.0)
    indices, indptr = np.array([5, 9, 1, 7, 8, 2], np.uint32), np.array([0, 2, 2, 5, 6], np.uint32)
    order = np.array([3, 0, 1, 3], np.uint64)
    slot_of, given = np.zeros(10, np.uint32), np.zeros(1, np.int64)
    slot_of[9], given[0] = 1, 1
    found = np.empty(4), np.empty(4, np.uint32), np.empty(5, np.uint32)
    number_rows((data, indices, indptr), order, slot_of, given, *found)
    assert [array.tolist() for array in found] == [[5.0, 0.0, 1.0, 5.0], [1, 2, 0, 1], [0, 1, 3, 3, 4]]
    assert (given[0], slot_of.tolist()) == (3, [0, 0, 2, 0, 0, 3, 0, 0, 0, 1])
