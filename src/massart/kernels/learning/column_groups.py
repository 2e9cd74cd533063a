"""Groups of columns that occur together, and the units of columns: for the regression of regression.py.

Columns that are not 0 in one row belong to one group, and so every row belongs to one. Where arms have blocks of
columns of their own, a context crossed with the arm, each block is a group; where all rows share columns, there is one.

    columns   float64 (d, len(Column))
    groups    float64 (groups, len(Group)), from row 1 on; [0, 0] is the number of the first row that is not in use,
              [0, SHARES:SHARES + 4] are the shares of the paces of regression.py, [0, LEVELS:LEVELS + 4] their levels,
              [0, Group.LESSONS] all its lessons
"""

from enum import IntEnum
from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Floats, Integers, njit
from massart.kernels.learning.ranking import span
from massart.kernels.learning.simd import prefetch

FULL = 128  # columns of a group with a full covariance
BETWEEN, WITHIN, CLIP = 0.2, 0.5, 6.0
CONSTANT = 0.5  # variance of the constant at first
ALIKE = 0.5  # correlation, at first, of what a column does between rounds and within them
FAR = 10.0
NOTHING, DIRTY = 0, 1  # what `join` found
AHEAD = np.uint64(16)  # entries: what they need of a large array is brought near meanwhile
SHARES, LEVELS = 1, 5


class Column(IntEnum):
    """Of `columns`."""

    GROUP = 0  # its group when it was first seen, or 0; the group of that is found by Group.PARENT
    PLACE = 1  # in a group with a full covariance
    COUNT = 2  # rounds in which its group (diagonal: the column itself) occurred
    MEAN = 3  # of xbar
    SQUARES = 4  # sum of squared deviations of xbar; diagonal: of squared entries
    PAIRS = 5  # rounds in which two rows were in its group
    SPREAD = 6  # sum of the variances within these
    WEIGHT = 7  # diagonal: of xbar,
    VARIANCE = 8
    OWN = 9  # and of x - xbar
    OWN_VARIANCE = 10


class Group(IntEnum):
    """Of `groups`."""

    PARENT = 0  # itself, or the group that it has become part of
    SIZE = 1  # columns
    DIAGONAL = 2  # 1 if its covariance is
    PAIRED = 3  # 1 if a round had two of its rows
    START = 4  # of w in the pool
    FIRST = 5  # of its members
    WEIGHT = 6  # diagonal: of the constant
    VARIANCE = 7
    LAID = 8  # columns that it has in the pool,
    SIDE = 9  # and n there
    LESSONS = 10  # learned with a full covariance


@njit(cache=True, error_model="numpy", inline="always")
def root(groups: Floats, g: Any) -> Any:
    """The group that g is part of now."""
    parent = np.int64(groups[g, Group.PARENT])
    while parent != g:
        g, parent = parent, np.int64(groups[parent, Group.PARENT])
    return g


@njit(cache=True, error_model="numpy")
def homes(rows: Csr, k: int, columns: Floats, groups: Floats, home: Integers) -> None:
    """The group of each arm: that of the first of its columns that has been learned; 0 if there is none."""
    data, indices, _ = rows
    for i in range(k):
        start, stop, shift = span(rows, i)
        home[i] = 0
        for p in range(start, stop):
            if data[p] != 0.0:
                g = np.int64(columns[indices[p - shift], Column.GROUP])
                if g > 0:
                    home[i] = root(groups, g)
                    break


@njit(cache=True, error_model="numpy")
def _is_joined(columns: Floats, groups: Floats) -> bool:
    """Whether all columns are in one group, two rows of which were in one round: then there is nothing to join."""
    g = np.int64(columns[0, Column.GROUP])
    if g == 0 or groups[g, Group.PARENT] != g or groups[g, Group.PAIRED] == 0.0:
        return False
    found = True
    for j in range(columns.shape[0]):
        found &= columns[j, Column.GROUP] == g
    return found


@njit(cache=True, error_model="numpy")
def join(rows: Csr, k: int, columns: Floats, groups: Floats, used: int) -> Any:
    """Put the columns of each row into one group. `groups` has room for k more than the `used` ones.

    Returns how many are used, and whether groups with a full covariance are to be laid out anew.
    """
    data, indices, indptr = rows
    dirty, sparse, merged = NOTHING, indptr.size > 0, False
    if not sparse and _is_joined(columns, groups):
        return used, dirty
    home = np.empty(k, np.int64)
    for i in range(k):
        start, stop, shift = span(rows, i)
        g, entries, unseen = 0, 0, 0
        for p in range(start, stop):
            if sparse:
                prefetch_column(columns, indices, p + AHEAD)
            if data[p] != 0.0:
                entries += 1
                other = np.int64(columns[indices[p - shift], Column.GROUP])
                if other == 0:
                    unseen += 1
                    continue
                if other == g:
                    continue
                other = root(groups, other)
                columns[indices[p - shift], Column.GROUP] = other  # a shorter way next time
                if g == 0:
                    g = other
                elif other != g:
                    first, second, merged = min(g, other), max(g, other), True
                    groups[second, Group.PARENT] = first
                    groups[first, Group.SIZE] += groups[second, Group.SIZE]
                    groups[first, Group.LESSONS] += groups[second, Group.LESSONS]
                    groups[first, Group.PAIRED] = max(groups[first, Group.PAIRED], groups[second, Group.PAIRED])
                    if groups[first, Group.DIAGONAL] == 0.0 or groups[second, Group.DIAGONAL] == 0.0:
                        dirty = DIRTY
                    groups[first, Group.DIAGONAL] = max(groups[first, Group.DIAGONAL], groups[second, Group.DIAGONAL])
                    g = first
        if unseen > 0:
            if g == 0:
                g = used
                used += 1
                groups[g, :] = 0.0
                groups[g, Group.PARENT] = g
                groups[g, Group.VARIANCE] = CONSTANT
                groups[g, Group.DIAGONAL] = 1.0 if entries > FULL else 0.0
            if groups[g, Group.DIAGONAL] == 0.0:
                dirty = DIRTY
            groups[g, Group.SIZE] += unseen
            for p in range(start, stop):
                j = indices[p - shift]
                if data[p] != 0.0 and columns[j, Column.GROUP] == 0.0:
                    columns[j, Column.GROUP] = g
                    columns[j, Column.VARIANCE] = 1.0 / (BETWEEN * entries)
                    columns[j, Column.OWN_VARIANCE] = 1.0 / (WITHIN * entries)
        home[i] = g
    if merged:  # so that doing it again changes nothing
        for i in range(k):
            start, stop, shift = span(rows, i)
            for p in range(start, stop):
                if data[p] != 0.0:
                    j = indices[p - shift]
                    columns[j, Column.GROUP] = root(groups, np.int64(columns[j, Column.GROUP]))
    rows_of = np.zeros(used, np.int64)
    for i in range(k):
        if home[i] > 0:
            g = root(groups, home[i])
            rows_of[g] += 1
            if rows_of[g] == 2 and groups[g, Group.PAIRED] == 0.0:
                groups[g, Group.PAIRED] = 1.0
                dirty = DIRTY if groups[g, Group.DIAGONAL] == 0.0 else dirty
    return used, dirty


@njit(cache=True, error_model="numpy", inline="always")
def clipped(x: float) -> float:
    """Between -CLIP and CLIP."""
    return min(CLIP, max(-CLIP, x))


@njit(cache=True, error_model="numpy", inline="always")
def bounded(predicted: float) -> float:
    """A prediction as far out as steps may be made from, so that weights stay finite."""
    return min(FAR, max(-FAR, predicted))


@njit(cache=True, error_model="numpy", inline="always")
def unit(squares: float, count: float) -> float:
    """One over the root of a mean square; 0 if that is 0."""
    return 1.0 / sqrt(squares / count) if squares > 1e-200 and count > 0.0 else 0.0


@njit(cache=True, error_model="numpy", inline="always")
def over(x: float, squares: float, count: float) -> float:
    """X in units of the root of a mean square, clipped; 0 if that is 0."""
    return clipped(x * unit(squares, count))


@njit(cache=True, error_model="numpy", inline="always")
def _inverse(columns: Floats, j: int) -> float:
    """One over the unit of a column for the fast experts; 0 if there is none yet."""
    count, pairs = columns[j, Column.COUNT], columns[j, Column.PAIRS]
    if count == 0.0:
        return 0.0
    square = columns[j, Column.SPREAD] / pairs if pairs > 0.0 else columns[j, Column.SQUARES] / count
    size = max(sqrt(square), 1e-9 * abs(columns[j, Column.MEAN]))
    return 1.0 / size if size > 1e-100 else 0.0


@njit(cache=True, error_model="numpy")
def number(rows: Csr, places: Any) -> Any:
    """The rows with the columns of the round numbered as they occur, and the column of each number.

    So what is looked up for the columns of a round is in a small table. `places` (d,) may hold anything. Dense rows are
    as they are: all columns occur.
    """
    data, indices, indptr = rows
    if indptr.size == 0:
        return rows, indices
    last = np.uint64(max(1, indices.size) - 1)
    own, used, count = np.empty(indices.size, np.uint64), np.empty(indices.size, np.uint64), np.uint64(0)
    for p in range(np.uint64(indices.size)):
        prefetch(places, np.uint64(indices[min(p + AHEAD, last)]))
        j = indices[p]
        place = np.uint64(places[j])
        if not (place < count) & (used[min(place, last)] == j):
            place = count
            places[j] = place
            used[place] = j
            count += np.uint64(1)
        own[p] = place
    return (data, own, indptr), used[:count]


@njit(cache=True, error_model="numpy", inline="always")
def prefetch_column(columns: Floats, used: Any, n: Any) -> None:
    """Have what is known of the column used[n] brought near; of the last one, if there are not so many."""
    place = np.uint64(used[min(np.uint64(n), np.uint64(used.size - 1))]) * np.uint64(columns.shape[1])
    prefetch(columns, place)
    prefetch(columns, place + np.uint64(Column.OWN_VARIANCE))


@njit(cache=True, error_model="numpy")
def look_up(columns: Floats, used: Any, diagonal: bool) -> Any:
    """One over the units of the columns of a round for the fast experts, (n,); and what `predict_diagonal` needs."""
    inverse, known = np.empty(used.size), np.empty((used.size if diagonal else 0, 5))
    for n in range(used.size):
        prefetch_column(columns, used, np.uint64(n) + AHEAD)
        j = np.uint64(used[n])
        inverse[n] = _inverse(columns, j)
        if diagonal:
            known[n, 0] = unit(columns[j, Column.SQUARES], columns[j, Column.COUNT])
            known[n, 1], known[n, 2] = columns[j, Column.WEIGHT], columns[j, Column.VARIANCE]
            known[n, 3], known[n, 4] = columns[j, Column.OWN], columns[j, Column.OWN_VARIANCE]
    return inverse, known


@njit(cache=True, error_model="numpy")
def scale(local: Csr, inverse: Floats, scaled: Floats) -> None:
    """The rows in units of their columns' standard deviations, within rounds if known, clipped; 0 where not known."""
    data, places, indptr = local
    if indptr.size == 0:
        d = inverse.size
        for start in range(0, data.size, d):
            own, row = data[start : start + d], scaled[start : start + d]
            for n in range(d):
                row[n] = clipped(own[n] * inverse[n])
    else:
        for p in range(data.size):
            scaled[p] = clipped(data[p] * inverse[places[p]])


@njit(cache=True, error_model="numpy")
def any_diagonal(groups: Floats, home: Integers) -> bool:
    """Whether one of these groups has a diagonal covariance; 0 is none."""
    found = False
    for i in range(home.size):
        found |= home[i] > 0 and groups[home[i], Group.DIAGONAL] != 0.0
    return found


@njit(cache=True, error_model="numpy")
def lists(home: Integers, count: int) -> Any:
    """The arms of each group: the first one, and for each arm the next; -1 where there is none."""
    first, after = np.full(count, -1), np.empty(home.size, np.int64)
    for i in range(home.size - 1, -1, -1):
        after[i] = first[home[i]]
        first[home[i]] = i
    return first, after


@njit(cache=True, error_model="numpy", inline="always")
def listed(i: int, after: Integers, arms: Integers) -> int:
    """Arm i and those after it in its group; how many they are."""
    count = 0
    while i >= 0:
        arms[count] = i
        count += 1
        i = after[i]
    return count
