"""Least squares of rewards on contexts, round by round, with the round's mean context as a second set of regressors.

Columns that are not 0 in one row belong to one group, and so every row belongs to one. A group has a regression of its
own. With xbar the mean of the rows of the round in the group, the row of arm i is

    u_i = [xbar, 1, x_i - xbar]        predicted reward w.u_i, its uncertainty sqrt(u_i' P u_i)

so that the effect within a round is estimated apart from that between rounds. Where arms have blocks of columns of their
own, a context crossed with the arm, each is the only one in its group, x_i - xbar is 0, and what is left is one
regression per arm on the context; where all rows share their columns, there is one group. Columns of xbar are
standardised, those of x_i - xbar divided by their standard deviation within rounds, as far as seen; both are clipped.

A group of at most FULL columns has a full covariance P. In a larger one P is diagonal, nothing is centred, and the
time is linear in the entries that are not 0. P begins at 1 / (BETWEEN m) for xbar, 1 / (WITHIN m) for x_i - xbar, m
columns in the group (the entries of a row, if P is diagonal), and 1 / 2 for the constant. A lesson is, with the old P,

    w += P u (y - w.u) / (1 + u' P u)        P -= P u u' P / (1 + u' P u)

    columns   float64 (d, len(Column))       groups    float64 (groups, len(Group)), from row 1 on; [0, 0] is the first row not used
    members   int64, the columns of groups with a full covariance, in the order of their places
    pool      float64, for each of these groups w (n,) and P (n, n), n = `side`: no x - xbar if no round had two of its rows
"""

from enum import IntEnum
from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Floats, Integers, njit
from massart.kernels.learning.ranking import _place
from massart.kernels.learning.simd import LANES, add_products, load, no_sums, spread, store, total

FULL = 128  # columns of a group with a full covariance
MOST_POOL = 1 << 22  # numbers in the pool; groups that do not fit have a diagonal covariance
BETWEEN, WITHIN, OPTIMISM, CLIP = 0.2, 0.5, 0.3, 6.0
CONSTANT = 0.5  # variance of the constant at first
NOISE, FAR = 1e-12, 10.0
NOTHING, DIRTY = 0, 1  # what `join` found
_STEP = np.uint64(LANES)


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


@njit(cache=True, error_model="numpy", inline="always")
def root(groups: Floats, g: int) -> int:
    """The group that g is part of now."""
    while np.int64(groups[g, Group.PARENT]) != g:
        g = np.int64(groups[g, Group.PARENT])
    return g


@njit(cache=True, error_model="numpy")
def homes(rows: Csr, k: int, columns: Floats, groups: Floats, home: Integers) -> None:
    """The group of each arm: that of the first of its columns that has been learned; 0 if there is none."""
    data, indices, _ = rows
    for i in range(k):
        start, stop, shift = _place(rows, i)
        home[i] = 0
        for p in range(start, stop):
            if data[p] != 0.0:
                g = np.int64(columns[indices[p - shift], Column.GROUP])
                if g > 0:
                    home[i] = root(groups, g)
                    break


@njit(cache=True, error_model="numpy")
def join(rows: Csr, k: int, columns: Floats, groups: Floats, used: int) -> Any:
    """Put the columns of each row into one group. `groups` has room for k more than the `used` ones.

    Returns how many are used, and whether groups with a full covariance are to be laid out anew.
    """
    data, indices, _ = rows
    dirty = NOTHING
    home = np.empty(k, np.int64)
    for i in range(k):
        start, stop, shift = _place(rows, i)
        g, entries, unseen = 0, 0, 0
        for p in range(start, stop):
            if data[p] != 0.0:
                entries += 1
                other = np.int64(columns[indices[p - shift], Column.GROUP])
                if other == 0:
                    unseen += 1
                    continue
                other = root(groups, other)
                columns[indices[p - shift], Column.GROUP] = other  # a shorter way next time
                if g == 0:
                    g = other
                elif other != g:
                    first, second = min(g, other), max(g, other)
                    groups[second, Group.PARENT] = first
                    groups[first, Group.SIZE] += groups[second, Group.SIZE]
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
    rows_of = np.zeros(used, np.int64)
    for i in range(k):
        if home[i] > 0:
            g = root(groups, home[i])
            rows_of[g] += 1
            if rows_of[g] == 2 and groups[g, Group.PAIRED] == 0.0:
                groups[g, Group.PAIRED] = 1.0
                dirty = DIRTY if groups[g, Group.DIAGONAL] == 0.0 else dirty
    return used, dirty


@njit(cache=True, error_model="numpy")
def scale(rows: Csr, columns: Floats, scaled: Floats) -> None:
    """The rows in units of their columns' standard deviations, within rounds if known, clipped; 0 where not known."""
    data, indices, indptr = rows
    if indptr.size == 0:
        d = indices.size
        inverse = np.empty(d)
        for j in range(d):
            inverse[j] = _inverse(columns, j)
        for start in range(0, data.size, d):
            own, row = data[start : start + d], scaled[start : start + d]
            for j in range(d):
                row[j] = _clipped(own[j] * inverse[j])
    else:
        for p in range(data.size):
            scaled[p] = _clipped(data[p] * _inverse(columns, indices[p]))


@njit(cache=True, error_model="numpy", inline="always")
def _inverse(columns: Floats, j: int) -> float:
    """One over the unit of a column for the fast experts; 0 if there is none yet."""
    count, pairs = columns[j, Column.COUNT], columns[j, Column.PAIRS]
    if count == 0.0:
        return 0.0
    square = columns[j, Column.SPREAD] / pairs if pairs > 0.0 else columns[j, Column.SQUARES] / count
    unit = max(sqrt(square), 1e-9 * abs(columns[j, Column.MEAN]))
    return 1.0 / unit if unit > 1e-100 else 0.0


@njit(cache=True, error_model="numpy", inline="always")
def _clipped(x: float) -> float:
    return min(CLIP, max(-CLIP, x))


@njit(cache=True, error_model="numpy", inline="always")
def _bounded(predicted: float) -> float:
    """A prediction as far out as steps may be made from, so that weights stay finite."""
    return min(FAR, max(-FAR, predicted))


@njit(cache=True, error_model="numpy", inline="always")
def _unit(squares: float, count: float) -> float:
    """One over the root of a mean square; 0 if that is 0."""
    return 1.0 / sqrt(squares / count) if squares > 1e-200 and count > 0.0 else 0.0


@njit(cache=True, error_model="numpy", inline="always")
def _over(x: float, squares: float, count: float) -> float:
    """x in units of the root of a mean square, clipped; 0 if that is 0."""
    return _clipped(x * _unit(squares, count))


@njit(cache=True, error_model="numpy")
def _gather(rows: Csr, i: int, columns: Floats, g: int, groups: Floats, own: Integers, x: Floats) -> None:
    """x_i by place, (m,); `own` are the members of its group g, entries of other groups are left out."""
    data, indices, indptr = rows
    if indptr.size == 0:
        row = data[i * indices.size : (i + 1) * indices.size]
        for place in range(x.size):
            x[place] = row[own[place]]
        return
    x[:] = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        home = np.int64(columns[j, Column.GROUP])
        if home > 0 and root(groups, home) == g:
            x[np.int64(columns[j, Column.PLACE])] = data[p]


def lead(m: int) -> int:
    """Entries of u for xbar and the constant, of m columns: filled up with zeros, so that vectors have no rest.

    >>> lead(7), lead(8)
    (8, 16)
    """
    return (m + LANES) // LANES * LANES


def side(m: int, paired: bool) -> int:
    """Entries of u, with those for x - xbar if two rows of the group were in one round.

    >>> side(8, paired=False), side(8, paired=True)
    (16, 24)
    """
    return lead(m) + ((m + LANES - 1) // LANES * LANES if paired else 0)


_lead = njit(cache=True, error_model="numpy")(lead)


@njit(cache=True, error_model="numpy", forceinline=True)
def _times(P: Floats, n: np.uint64, begin: np.uint64, size: np.uint64, u: Floats, first: np.uint64, out: Floats) -> None:
    """out[first:n] = sum_j P[begin + j, first:n] u[j] over j < size; P has rows of n, all numbers are multiples of 8."""
    for i in range(first, n, _STEP):
        sums, place = no_sums(), begin * n + i
        for j in range(size):
            sums = add_products(sums, spread(u[j]), load(P, place))
            place += n
        store(out, i, sums)


@njit(cache=True, error_model="numpy", forceinline=True)
def _dot(a: Floats, first: np.uint64, b: Floats) -> float:
    """a[first:].b, for as many numbers as b has, a multiple of 8."""
    sums = no_sums()
    for i in range(np.uint64(0), np.uint64(b.size), _STEP):
        sums = add_products(sums, load(a, first + i), load(b, i))
    return total(sums)


@njit(cache=True, error_model="numpy")
def _lists(home: Integers, count: int) -> Any:
    """The arms of each group: the first one, and for each arm the next; -1 where there is none."""
    first, after = np.full(count, -1), np.empty(home.size, np.int64)
    for i in range(home.size - 1, -1, -1):
        after[i] = first[home[i]]
        first[home[i]] = i
    return first, after


@njit(cache=True, error_model="numpy", inline="always")
def _listed(i: int, after: Integers, arms: Integers) -> int:
    """Arm i and those after it in its group; how many they are."""
    count = 0
    while i >= 0:
        arms[count] = i
        count += 1
        i = after[i]
    return count


@njit(cache=True, error_model="numpy")
def predict(
    rows: Csr, k: int, columns: Floats, groups: Floats, members: Integers, pool: Floats, home: Integers, level: float,
    means: Floats, widths: Floats, scratch: Floats,
) -> None:  # fmt: skip
    """Predicted rewards (k,) and their uncertainties (k,); an arm of no group has the reward `level`, and none."""
    first, after = _lists(home, groups.shape[0])
    own = np.empty(k, np.int64)
    for i in range(k):
        g = home[i]
        if g == 0:
            means[i], widths[i] = level, 0.0
            continue
        if first[g] != i:
            continue
        count = _listed(i, after, own)
        if groups[g, Group.DIAGONAL] != 0.0:
            _predict_diagonal(rows, own[:count], columns, groups, g, means, widths, scratch)
        else:
            _predict_full(rows, own[:count], columns, groups, members, pool, g, means, widths)


@njit(cache=True, error_model="numpy")
def _predict_full(
    rows: Csr, arms: Integers, columns: Floats, groups: Floats, members: Integers, pool: Floats, g: int,
    means: Floats, widths: Floats,
) -> None:  # fmt: skip
    m, start = np.int64(groups[g, Group.LAID]), np.int64(groups[g, Group.START])
    first = np.int64(groups[g, Group.FIRST])
    own = members[first : first + m]
    n, ahead = np.int64(groups[g, Group.SIDE]), _lead(m)
    paired = n > ahead and arms.size > 1
    w, P = pool[start : start + n], pool[start + n : start + n + n * n]
    mean, c, out, units = np.zeros(m), np.zeros(ahead), np.empty(n), np.empty(m)
    X = np.zeros((arms.size, (m + LANES - 1) // LANES * LANES))
    for i in range(arms.size):
        x = X[i, :m]
        _gather(rows, arms[i], columns, g, groups, own, x)
        for place in range(m):
            mean[place] += x[place]
    for place in range(m):
        j = own[place]
        mean[place] /= arms.size
        c[place] = _over(mean[place] - columns[j, Column.MEAN], columns[j, Column.SQUARES], columns[j, Column.COUNT])
        units[place] = _unit(columns[j, Column.SPREAD], columns[j, Column.PAIRS])
    c[m] = 1.0
    many, zero, behind = np.uint64(n), np.uint64(0), np.uint64(ahead)
    _times(P, many, zero, behind, c, zero, out)
    base, square = _dot(w, zero, c), _dot(out, zero, c)
    if not paired:
        for i in range(arms.size):
            means[arms[i]], widths[arms[i]] = base, sqrt(max(0.0, square))
        return
    own_part = np.empty(n)
    for i in range(arms.size):
        arm, z = arms[i], X[i]
        for place in range(m):
            z[place] = _clipped((z[place] - mean[place]) * units[place])
        _times(P, many, behind, many - behind, z, behind, own_part)
        means[arm] = base + _dot(w, behind, z)
        wide = square + 2.0 * _dot(out, behind, z) + _dot(own_part, behind, z)
        widths[arm] = sqrt(max(0.0, wide))


@njit(cache=True, error_model="numpy")
def _predict_diagonal(
    rows: Csr, arms: Integers, columns: Floats, groups: Floats, g: int, means: Floats, widths: Floats, scratch: Floats
) -> None:
    """`scratch` (d,) is left zero; it holds xbar meanwhile."""
    data, indices, _ = rows
    for i in range(arms.size):
        start, stop, shift = _place(rows, arms[i])
        for p in range(start, stop):
            scratch[indices[p - shift]] += data[p] / arms.size
    base, square, opposite, together = groups[g, Group.WEIGHT], groups[g, Group.VARIANCE], 0.0, 0.0
    for i in range(arms.size):  # each column once: what was counted is set to 0 and put back below
        start, stop, shift = _place(rows, arms[i])
        arm, own, wide = arms[i], 0.0, 0.0
        for p in range(start, stop):
            j = indices[p - shift]
            if columns[j, Column.GROUP] != 0.0 and data[p] != 0.0:
                squares, count = columns[j, Column.SQUARES], columns[j, Column.COUNT]
                x, mean = _over(data[p], squares, count), _over(scratch[j], squares, count)
                own += columns[j, Column.OWN] * x
                wide += columns[j, Column.OWN_VARIANCE] * ((x - mean) * (x - mean) - mean * mean)
        means[arm], widths[arm] = own, wide
    for i in range(arms.size):
        start, stop, shift = _place(rows, arms[i])
        for p in range(start, stop):
            j = indices[p - shift]
            if scratch[j] != 0.0:
                if columns[j, Column.GROUP] != 0.0:
                    mean = _over(scratch[j], columns[j, Column.SQUARES], columns[j, Column.COUNT])
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
def _note_full(
    rows: Csr, arms: Integers, arm: int, columns: Floats, groups: Floats, members: Integers, g: int, mean: Floats,
    z: Floats,
) -> None:  # fmt: skip
    """Count the rows of a group in what is known of its columns; `mean` becomes xbar, `z` the row of `arm` less xbar."""
    m, first = np.int64(groups[g, Group.LAID]), np.int64(groups[g, Group.FIRST])
    own = members[first : first + m]
    X, spread = np.empty((arms.size, m)), np.zeros(m)
    for place in range(m):
        mean[place] = 0.0
    for i in range(arms.size):
        x = X[i]
        _gather(rows, arms[i], columns, g, groups, own, x)
        for place in range(m):
            mean[place] += x[place]
    for place in range(m):
        mean[place] /= arms.size
    for i in range(arms.size):
        x = X[i]
        for place in range(m):
            x[place] -= mean[place]
            spread[place] += x[place] * x[place]
        if arms[i] == arm:
            for place in range(m):
                z[place] = x[place]
    for place in range(m):
        j = own[place]
        columns[j, Column.COUNT] += 1.0
        away = mean[place] - columns[j, Column.MEAN]
        columns[j, Column.MEAN] += away / columns[j, Column.COUNT]
        columns[j, Column.SQUARES] += away * (mean[place] - columns[j, Column.MEAN])
        if arms.size > 1:
            columns[j, Column.PAIRS] += 1.0
            columns[j, Column.SPREAD] += spread[place] / (arms.size - 1.0)


@njit(cache=True, error_model="numpy")
def learn(
    rows: Csr, k: int, arm: int, y: float, columns: Floats, groups: Floats, members: Integers, pool: Floats,
    home: Integers, scratch: Floats,
) -> None:  # fmt: skip
    """One lesson: arm `arm` had the reward y. What is known of the columns is brought up to date first."""
    first, after = _lists(home, groups.shape[0])
    own = np.empty(k, np.int64)
    mean, z = np.empty(FULL), np.empty(FULL)
    for i in range(k):
        g = home[i]
        if g == 0 or first[g] != i:
            continue
        count = _listed(i, after, own)
        diagonal = groups[g, Group.DIAGONAL] != 0.0
        if diagonal:
            _note_diagonal(rows, own[:count], columns)
        else:
            _note_full(rows, own[:count], arm, columns, groups, members, g, mean, z)
        if g == home[arm]:
            if diagonal:
                _learn_diagonal(rows, own[:count], arm, y, columns, groups, g, scratch)
            else:
                _learn_full(y, count, columns, groups, members, pool, g, mean, z)


@njit(cache=True, error_model="numpy")
def _learn_full(
    y: float, count: int, columns: Floats, groups: Floats, members: Integers, pool: Floats, g: int, mean: Floats,
    within: Floats,
) -> None:  # fmt: skip
    m, start = np.int64(groups[g, Group.LAID]), np.int64(groups[g, Group.START])
    own = members[np.int64(groups[g, Group.FIRST]) :]
    n, ahead = np.int64(groups[g, Group.SIDE]), _lead(m)
    w, P = pool[start : start + n], pool[start + n : start + n + n * n]
    used = n if n > ahead and count > 1 else ahead  # u is 0 beyond it
    u, v = np.zeros(n), np.empty(n)
    if used > ahead:
        for place in range(m):
            j = own[place]
            u[ahead + place] = _over(within[place], columns[j, Column.SPREAD], columns[j, Column.PAIRS])
    for place in range(m):
        j = own[place]
        u[place] = _over(mean[place] - columns[j, Column.MEAN], columns[j, Column.SQUARES], columns[j, Column.COUNT])
    u[m] = 1.0
    many, zero = np.uint64(n), np.uint64(0)
    _times(P, many, zero, np.uint64(used), u, zero, v)
    square = max(0.0, _dot(u, zero, v))
    size, error = 1.0 + square, (y - _bounded(_dot(u, zero, w))) / (1.0 + square)
    for i in range(n):
        if v[i] * v[i] > (P[i * n + i] + NOISE) * (square + NOISE) * (1.0 + 1e-6):
            return  # no covariance has this: rounding, or somebody else's numbers, and steps from it might grow
    for i in range(n):
        w[i] += error * v[i]
    scale = 1.0 / sqrt(size)
    for i in range(n):
        v[i] *= scale
    row = zero
    for i in range(many):
        if v[i] != 0.0:
            factor = spread(-v[i])
            for j in range(zero, many, _STEP):
                store(P, row + j, add_products(load(P, row + j), factor, load(v, j)))
        row += many


@njit(cache=True, error_model="numpy")
def _note_diagonal(rows: Csr, arms: Integers, columns: Floats) -> None:
    data, indices, _ = rows
    for i in range(arms.size):
        start, stop, shift = _place(rows, arms[i])
        for p in range(start, stop):
            if data[p] != 0.0:
                j = indices[p - shift]
                columns[j, Column.COUNT] += 1.0
                columns[j, Column.SQUARES] += data[p] * data[p]


@njit(cache=True, error_model="numpy")
def _learn_diagonal(
    rows: Csr, arms: Integers, arm: int, y: float, columns: Floats, groups: Floats, g: int, scratch: Floats
) -> None:
    """`scratch` (d,) is left zero; meanwhile it holds one more than the place of a column in the lists of this round."""
    data, indices, _ = rows
    total = 0
    for i in range(arms.size):
        start, stop, _ = _place(rows, arms[i])
        total += np.int64(stop - start)
    used, mean, own, seen = np.empty(total, np.int64), np.zeros(total), np.zeros(total), 0
    for i in range(arms.size):
        start, stop, shift = _place(rows, arms[i])
        for p in range(start, stop):
            if data[p] != 0.0:
                j = np.int64(indices[p - shift])
                if scratch[j] == 0.0:
                    used[seen] = j
                    seen += 1
                    scratch[j] = seen
                place = np.int64(scratch[j]) - 1
                mean[place] += data[p] / arms.size
                if arms[i] == arm:
                    own[place] = data[p]
    variance = groups[g, Group.VARIANCE]
    size, predicted = 1.0 + variance, groups[g, Group.WEIGHT]
    for place in range(seen):
        j = used[place]
        scratch[j] = 0.0
        squares, count = columns[j, Column.SQUARES], columns[j, Column.COUNT]
        x = _over(own[place], squares, count)
        mean[place] = _over(mean[place], squares, count)
        own[place] = x - mean[place] if arms.size > 1 else 0.0
        size += columns[j, Column.VARIANCE] * mean[place] * mean[place]
        size += columns[j, Column.OWN_VARIANCE] * own[place] * own[place]
        predicted += columns[j, Column.WEIGHT] * mean[place] + columns[j, Column.OWN] * own[place]
    error = (y - _bounded(predicted)) / size
    for place in range(seen):
        j = used[place]
        pu, pz = columns[j, Column.VARIANCE] * mean[place], columns[j, Column.OWN_VARIANCE] * own[place]
        columns[j, Column.WEIGHT] += error * pu
        columns[j, Column.OWN] += error * pz
        columns[j, Column.VARIANCE] = max(0.0, columns[j, Column.VARIANCE] - pu * pu / size)
        columns[j, Column.OWN_VARIANCE] = max(0.0, columns[j, Column.OWN_VARIANCE] - pz * pz / size)
    groups[g, Group.WEIGHT] += error * variance
    groups[g, Group.VARIANCE] = max(0.0, variance - variance * variance / size)
