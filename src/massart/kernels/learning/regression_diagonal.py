"""The regression of regression.py where a group has many columns: a diagonal covariance, in time linear in the entries.

Nothing is centred. Columns are in units of the root mean square of their entries that are not 0.

Rows are local ones, whose columns column_groups.py has numbered; `used` has the column of each number. `known` has a
row for each, by `column_groups.look_up`; of a column that has not been learned the first is 0, so it has no effect:

    one over its unit, WEIGHT, VARIANCE, OWN, OWN_VARIANCE
"""

from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Floats, Integers, njit
from massart.kernels.learning.column_groups import AHEAD, Column, Group, bounded, clipped, prefetch_column, unit
from massart.kernels.learning.ranking import span


@njit(cache=True, error_model="numpy")
def predict_diagonal(
    local: Csr, arms: Integers, known: Floats, groups: Floats, g: int, means: Floats, widths: Floats, xbar: Floats
) -> None:
    """`xbar` (columns of the round,) is left zero."""
    data, places, _ = local
    for i in range(arms.size):
        start, stop, shift = span(local, arms[i])
        for p in range(start, stop):
            xbar[places[p - shift]] += data[p] / arms.size
    base, square, opposite, together = groups[g, Group.WEIGHT], groups[g, Group.VARIANCE], 0.0, 0.0
    for i in range(arms.size):
        start, stop, shift = span(local, arms[i])
        arm, own, wide = arms[i], 0.0, 0.0
        for p in range(start, stop):
            n = places[p - shift]
            if data[p] != 0.0:
                x, mean = clipped(data[p] * known[n, 0]), clipped(xbar[n] * known[n, 0])
                own += known[n, 3] * x
                wide += known[n, 4] * ((x - mean) * (x - mean) - mean * mean)
        means[arm], widths[arm] = own, wide
    for i in range(arms.size):  # each column once
        start, stop, shift = span(local, arms[i])
        for p in range(start, stop):
            n = places[p - shift]
            if xbar[n] != 0.0:
                mean = clipped(xbar[n] * known[n, 0])
                base += known[n, 1] * mean
                square += known[n, 2] * mean * mean
                opposite += known[n, 3] * mean
                together += known[n, 4] * mean * mean
                xbar[n] = 0.0
    for i in range(arms.size):
        arm = arms[i]
        if arms.size > 1:
            means[arm] += base - opposite
            widths[arm] = sqrt(max(0.0, widths[arm] + square + together))
        else:
            means[arm], widths[arm] = base, sqrt(square)


@njit(cache=True, error_model="numpy")
def note_diagonal(rows: Csr, arms: Integers, columns: Floats) -> None:
    """Count the entries of rows in what is known of their columns."""
    data, indices, _ = rows
    for i in range(arms.size):
        start, stop, shift = span(rows, arms[i])
        for p in range(start, stop):
            if data[p] != 0.0:
                j = indices[p - shift]
                columns[j, Column.COUNT] += 1.0
                columns[j, Column.SQUARES] += data[p] * data[p]


@njit(cache=True, error_model="numpy")
def learn_diagonal(
    local: Csr, used: Any, arms: Integers, arm: int, y: float, columns: Floats, groups: Floats, g: int
) -> None:
    """Count the entries of rows as `note_diagonal` does, and learn the reward y of one of them."""
    data, places, _ = local
    own_number = np.zeros(used.size, np.int64)  # in the lists of this group, plus 1
    known = np.empty((used.size, 6))  # COUNT, SQUARES, WEIGHT, VARIANCE, OWN, OWN_VARIANCE
    listed, mean, own, seen = np.empty(used.size, np.int64), np.zeros(used.size), np.zeros(used.size), 0
    for i in range(arms.size):
        start, stop, shift = span(local, arms[i])
        for p in range(start, stop):
            if data[p] != 0.0:
                n = places[p - shift]
                if own_number[n] == 0:
                    prefetch_column(columns, used, n + AHEAD)
                    j = np.int64(used[n])
                    listed[seen] = j
                    known[seen, 0], known[seen, 1] = columns[j, Column.COUNT], columns[j, Column.SQUARES]
                    known[seen, 2], known[seen, 3] = columns[j, Column.WEIGHT], columns[j, Column.VARIANCE]
                    known[seen, 4], known[seen, 5] = columns[j, Column.OWN], columns[j, Column.OWN_VARIANCE]
                    seen += 1
                    own_number[n] = seen
                at = own_number[n] - 1
                known[at, 0] += 1.0
                known[at, 1] += data[p] * data[p]
                mean[at] += data[p] / arms.size
                if arms[i] == arm:
                    own[at] = data[p]
    variance = groups[g, Group.VARIANCE]
    size, predicted = 1.0 + variance, groups[g, Group.WEIGHT]
    for at in range(seen):
        inverse = unit(known[at, 1], known[at, 0])
        mean[at] = clipped(mean[at] * inverse)
        own[at] = clipped(own[at] * inverse) - mean[at] if arms.size > 1 else 0.0
        size += known[at, 3] * mean[at] * mean[at]
        size += known[at, 5] * own[at] * own[at]
        predicted += known[at, 2] * mean[at] + known[at, 4] * own[at]
    error = (y - bounded(predicted)) / size
    for at in range(seen):
        j = listed[at]
        pu, pz = known[at, 3] * mean[at], known[at, 5] * own[at]
        columns[j, Column.COUNT], columns[j, Column.SQUARES] = known[at, 0], known[at, 1]
        columns[j, Column.WEIGHT] = known[at, 2] + error * pu
        columns[j, Column.OWN] = known[at, 4] + error * pz
        columns[j, Column.VARIANCE] = max(0.0, known[at, 3] - pu * pu / size)
        columns[j, Column.OWN_VARIANCE] = max(0.0, known[at, 5] - pz * pz / size)
    groups[g, Group.WEIGHT] += error * variance
    groups[g, Group.VARIANCE] = max(0.0, variance - variance * variance / size)
