"""The regression of regression.py where a group has many columns: a diagonal covariance, in time linear in the entries.

Nothing is centred. Columns are in units of the root mean square of their entries that are not 0.
"""

from math import sqrt

import numpy as np

from massart.kernels.compiling import Csr, Floats, Integers, njit
from massart.kernels.learning.column_groups import Column, Group, bounded, over
from massart.kernels.learning.ranking import span


@njit(cache=True, error_model="numpy")
def predict_diagonal(
    rows: Csr, arms: Integers, columns: Floats, groups: Floats, g: int, means: Floats, widths: Floats, scratch: Floats
) -> None:
    """`scratch` (d,) is left zero; it holds xbar meanwhile."""
    data, indices, _ = rows
    for i in range(arms.size):
        start, stop, shift = span(rows, arms[i])
        for p in range(start, stop):
            scratch[indices[p - shift]] += data[p] / arms.size
    base, square, opposite, together = groups[g, Group.WEIGHT], groups[g, Group.VARIANCE], 0.0, 0.0
    for i in range(arms.size):  # each column once: what was counted is set to 0 and put back below
        start, stop, shift = span(rows, arms[i])
        arm, own, wide = arms[i], 0.0, 0.0
        for p in range(start, stop):
            j = indices[p - shift]
            if columns[j, Column.GROUP] != 0.0 and data[p] != 0.0:
                squares, count = columns[j, Column.SQUARES], columns[j, Column.COUNT]
                x, mean = over(data[p], squares, count), over(scratch[j], squares, count)
                own += columns[j, Column.OWN] * x
                wide += columns[j, Column.OWN_VARIANCE] * ((x - mean) * (x - mean) - mean * mean)
        means[arm], widths[arm] = own, wide
    for i in range(arms.size):
        start, stop, shift = span(rows, arms[i])
        for p in range(start, stop):
            j = indices[p - shift]
            if scratch[j] != 0.0:
                if columns[j, Column.GROUP] != 0.0:
                    mean = over(scratch[j], columns[j, Column.SQUARES], columns[j, Column.COUNT])
                    base += columns[j, Column.WEIGHT] * mean
                    square += columns[j, Column.VARIANCE] * mean * mean
                    opposite += columns[j, Column.OWN] * mean
                    together += columns[j, Column.OWN_VARIANCE] * mean * mean
                scratch[j] = 0.0
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
    rows: Csr, arms: Integers, arm: int, y: float, columns: Floats, groups: Floats, g: int, scratch: Floats
) -> None:
    """One lesson; `scratch` (d,) is left zero, and meanwhile holds places of columns in lists of this round, plus 1."""
    data, indices, _ = rows
    entries = 0
    for i in range(arms.size):
        start, stop, _ = span(rows, arms[i])
        entries += int(stop - start)
    used, mean, own, seen = np.empty(entries, np.int64), np.zeros(entries), np.zeros(entries), 0
    for i in range(arms.size):
        start, stop, shift = span(rows, arms[i])
        for p in range(start, stop):
            if data[p] != 0.0:
                j = indices[p - shift]
                if scratch[j] == 0.0:
                    used[seen] = j
                    seen += 1
                    scratch[j] = seen
                at = np.int64(scratch[j]) - 1
                mean[at] += data[p] / arms.size
                if arms[i] == arm:
                    own[at] = data[p]
    variance = groups[g, Group.VARIANCE]
    size, predicted = 1.0 + variance, groups[g, Group.WEIGHT]
    for place in range(seen):
        j = used[place]
        scratch[j] = 0.0
        squares, count = columns[j, Column.SQUARES], columns[j, Column.COUNT]
        x = over(own[place], squares, count)
        mean[place] = over(mean[place], squares, count)
        own[place] = x - mean[place] if arms.size > 1 else 0.0
        size += columns[j, Column.VARIANCE] * mean[place] * mean[place]
        size += columns[j, Column.OWN_VARIANCE] * own[place] * own[place]
        predicted += columns[j, Column.WEIGHT] * mean[place] + columns[j, Column.OWN] * own[place]
    error = (y - bounded(predicted)) / size
    for place in range(seen):
        j = used[place]
        pu, pz = columns[j, Column.VARIANCE] * mean[place], columns[j, Column.OWN_VARIANCE] * own[place]
        columns[j, Column.WEIGHT] += error * pu
        columns[j, Column.OWN] += error * pz
        columns[j, Column.VARIANCE] = max(0.0, columns[j, Column.VARIANCE] - pu * pu / size)
        columns[j, Column.OWN_VARIANCE] = max(0.0, columns[j, Column.OWN_VARIANCE] - pz * pz / size)
    groups[g, Group.WEIGHT] += error * variance
    groups[g, Group.VARIANCE] = max(0.0, variance - variance * variance / size)
