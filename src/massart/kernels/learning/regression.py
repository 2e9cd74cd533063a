"""Least squares of rewards on contexts, round by round, with the round's mean context as a second set of regressors.

Every group of column_groups.py has a regression of its own. With xbar the mean of the rows of the round in the group,
the row of arm i is

    u_i = [xbar, 1, x_i - xbar]        predicted reward b + w.u_i, its uncertainty sqrt(g u_i' P u_i)

so that the effect within a round is estimated apart from that between rounds. Where the arm is the only one in its
group, x_i - xbar is 0: a context crossed with the arm gets one regression per arm. Columns of xbar are standardised,
those of x_i - xbar divided by their standard deviation within rounds, as far as seen; both are clipped.

A group of at most FULL columns has a full covariance P; in a larger one it is diagonal (regression_diagonal.py). P
begins at 1 / (BETWEEN m) for xbar, 1 / (WITHIN m) for x_i - xbar, m columns in the group (the entries of a row, if P is
diagonal), and CONSTANT; both effects of a column have the correlation ALIKE, unless P is diagonal. A lesson is, with
the old P, the error e = y - b_s - w_s.u and the rate h = max(MOVING, 1 / (lessons + 2)), of all groups,

    w_s += g_s P u e / (1 + g_s u' P u + h)        b_s += h e / (1 + u' P u + h)        P -= P u u' P / (1 + u' P u)

for four vectors w_s at paces g_s on one P. With g = 1 and no b this is least squares. As P falls like 1 / lessons, a
pace of g follows about the last 1/g of the lessons, for rewards that change with time; g_s = PACES[s], less in the
first lessons of a group, where it is at least 1 and at most lessons / (m + 1). The level b_s is common to all arms: a
constant that wanders, as a Kalman filter follows it, so that what all arms gain or lose with time is not put down to
the arm that was played. b, w and g are the means of b_s, w_s and g_s by their shares

    c_s = (1 - a) c_s exp(-2 e^2) / sum + a START[s]        a = 1 / (lessons + 2), of all groups

that is, by how well each predicted: Gaussian likelihoods with the variance 1/4, the largest of a reward from 0 to 1.
Where P is diagonal there is one pace, and no level.

    members   int64, the columns of groups with a full covariance, in the order of their places
    pool      float64, for each of these groups w_s (4, n) and P (n, n), n = `side`
"""

from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Floats, Integers, njit
from massart.kernels.learning.column_groups import (
    FULL,
    LEVELS,
    SHARES,
    Column,
    Group,
    bounded,
    clipped,
    listed,
    lists,
    over,
    root,
    unit,
)
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.regression_diagonal import learn_diagonal, note_diagonal, predict_diagonal
from massart.kernels.learning.simd import LANES, add_products, load, no_sums, spread, store, total

MOST_POOL = 1 << 22  # numbers in the pool; groups that do not fit have a diagonal covariance
OPTIMISM, NOISE = 0.3, 1e-12
PACES = (1.0, 4.0, 16.0, 64.0)
START = (10 / 13, 1 / 13, 1 / 13, 1 / 13)
LIKELIHOOD = 2.0
MOVING = 0.01  # least rate of the levels
_STEP, _WIDE = np.uint64(LANES), np.uint64(4 * LANES)


@njit(cache=True, error_model="numpy")
def _gather(rows: Csr, i: int, columns: Floats, g: int, groups: Floats, own: Integers, x: Floats) -> None:
    """x_i by place, (m,); `own` are the members of its group g, entries of other groups are left out."""
    data, indices, indptr = rows
    if indptr.size == 0:
        row = data[i * indices.size : (i + 1) * indices.size]
        for place in range(x.size):
            x[place] = row[np.uint64(own[place])]
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
def _times(
    P: Floats, n: np.uint64, begin: np.uint64, size: np.uint64, u: Floats, first: np.uint64, out: Floats
) -> None:
    """out[first:n] = sum_j P[begin + j, first:n] u[j] over j < size; P has rows of n, and all are multiples of 8."""
    i = first
    while i < n and n - first >= _WIDE:  # four sums at once: in one, additions wait for each other
        i = min(i, n - _WIDE)
        a, b, c, d, place = no_sums(), no_sums(), no_sums(), no_sums(), begin * n + i
        for j in range(size):
            x = spread(u[j])
            a = add_products(a, x, load(P, place))
            b = add_products(b, x, load(P, place + _STEP))
            c = add_products(c, x, load(P, place + _STEP + _STEP))
            d = add_products(d, x, load(P, place + _STEP + _STEP + _STEP))
            place += n
        store(out, i, a)
        store(out, i + _STEP, b)
        store(out, i + _STEP + _STEP, c)
        store(out, i + _STEP + _STEP + _STEP, d)
        i += _WIDE
    for rest in range(i, n, _STEP):
        sums, place = no_sums(), begin * n + rest
        for j in range(size):
            sums = add_products(sums, spread(u[j]), load(P, place))
            place += n
        store(out, rest, sums)


@njit(cache=True, error_model="numpy", forceinline=True)
def _forms(P: Floats, n: np.uint64, begin: np.uint64, Z: Floats, first: int, out: Floats) -> None:
    """out[:4] = z' P z for four rows z of Z from `first` on, the last one again if there are fewer.

    P has rows of n; what is used of it, from row and column `begin` on, is symmetric, so that half of it will do.
    """
    size, last = np.uint64(Z.shape[1]), Z.shape[0] - 1
    i, j = np.uint64(first), np.uint64(min(first + 1, last))
    k, m = np.uint64(min(first + 2, last)), np.uint64(min(first + 3, last))
    a, b, c, d = no_sums(), no_sums(), no_sums(), no_sums()
    for block in range(np.uint64(0), size, _STEP):
        e, f, g, h, place = no_sums(), no_sums(), no_sums(), no_sums(), begin * n + begin + block
        for row in range(block):  # each of these entries counts twice
            p = load(P, place + row * n)
            e, f = add_products(e, spread(Z[i, row]), p), add_products(f, spread(Z[j, row]), p)
            g, h = add_products(g, spread(Z[k, row]), p), add_products(h, spread(Z[m, row]), p)
        e, f, g, h = e + e, f + f, g + g, h + h
        for row in range(block, block + _STEP):
            p = load(P, place + row * n)
            e, f = add_products(e, spread(Z[i, row]), p), add_products(f, spread(Z[j, row]), p)
            g, h = add_products(g, spread(Z[k, row]), p), add_products(h, spread(Z[m, row]), p)
        a = add_products(a, e, load(Z, i * size + block))
        b = add_products(b, f, load(Z, j * size + block))
        c = add_products(c, g, load(Z, k * size + block))
        d = add_products(d, h, load(Z, m * size + block))
    out[0], out[1], out[2], out[3] = total(a), total(b), total(c), total(d)


@njit(cache=True, error_model="numpy", forceinline=True)
def _dot(a: Floats, first: np.uint64, b: Floats) -> float:
    """a[first:].b, for as many numbers as b has, a multiple of 8."""
    sums = no_sums()
    for i in range(np.uint64(0), np.uint64(b.size), _STEP):
        sums = add_products(sums, load(a, first + i), load(b, i))
    return total(sums)


@njit(cache=True, error_model="numpy", inline="always")
def _pace(s: int, lessons: float, m: int) -> float:
    """g_s in a group of m columns."""
    return max(1.0, min(PACES[s], lessons / (m + 1.0)))


@njit(cache=True, error_model="numpy")
def _mean_pace(groups: Floats, g: int, m: int) -> float:
    total = 0.0
    for s in range(len(PACES)):
        total += groups[0, SHARES + s] * _pace(s, groups[g, Group.LESSONS], m)
    return total


@njit(cache=True, error_model="numpy")
def _judge(groups: Floats, losses: Floats) -> None:
    """New shares after one lesson with these squared errors."""
    least, total = losses.min(), 0.0
    for s in range(losses.size):
        groups[0, SHARES + s] *= exp(-LIKELIHOOD * (losses[s] - least))
        total += groups[0, SHARES + s]
    back = 1.0 / (groups[0, Group.LESSONS] + 2.0)
    for s in range(losses.size):
        groups[0, SHARES + s] = (1.0 - back) * groups[0, SHARES + s] / total + back * START[s]
    groups[0, Group.LESSONS] += 1.0


@njit(cache=True, error_model="numpy")
def predict(
    rows: Csr, local: Csr, known: Floats, k: int, columns: Floats, groups: Floats, members: Integers, pool: Floats,
    home: Integers, level: float, means: Floats, widths: Floats,
) -> None:  # fmt: skip
    """Predicted rewards (k,) and their uncertainties (k,); an arm of no group has the reward `level`, and none."""
    first, after = lists(home, groups.shape[0])
    own, xbar = np.empty(k, np.int64), np.zeros(known.shape[0])
    for i in range(k):
        g = home[i]
        if g == 0:
            means[i], widths[i] = level, 0.0
            continue
        if first[g] != i:
            continue
        count = listed(i, after, own)
        if groups[g, Group.DIAGONAL] != 0.0:
            predict_diagonal(local, own[:count], known, groups, g, means, widths, xbar)
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
    w, P, level = np.zeros(n), pool[start + len(PACES) * n : start + (len(PACES) + n) * n], 0.0
    for s in range(len(PACES)):
        share, ws = groups[0, SHARES + s], pool[start + s * n : start + (s + 1) * n]
        level += share * groups[0, LEVELS + s]
        for i in range(n):
            w[i] += share * ws[i]
    pace = _mean_pace(groups, g, m)
    mean, c, out, units = np.zeros(m), np.zeros(ahead), np.empty(n), np.empty(m)
    X = np.zeros((arms.size, (m + LANES - 1) // LANES * LANES))
    for i in range(arms.size):
        x = X[i, :m]
        _gather(rows, arms[i], columns, g, groups, own, x)
        for place in range(m):
            mean[place] += x[place]
    for place in range(m):
        j = np.uint64(own[place])
        mean[place] /= arms.size
        c[place] = over(mean[place] - columns[j, Column.MEAN], columns[j, Column.SQUARES], columns[j, Column.COUNT])
        units[place] = unit(columns[j, Column.SPREAD], columns[j, Column.PAIRS])
    c[m] = 1.0
    many, zero, behind = np.uint64(n), np.uint64(0), np.uint64(ahead)
    _times(P, many, zero, behind, c, zero, out)
    base, square = level + _dot(w, zero, c), _dot(out, zero, c)
    if not paired:
        for i in range(arms.size):
            means[arms[i]], widths[arms[i]] = base, sqrt(max(0.0, pace * square))
        return
    for i in range(arms.size):
        z = X[i]
        for place in range(m):
            z[place] = clipped((z[place] - mean[place]) * units[place])
    forms = np.empty(4)
    for i in range(arms.size):
        if i % 4 == 0:
            _forms(P, many, behind, X, i, forms)
        arm, z = arms[i], X[i]
        means[arm] = base + _dot(w, behind, z)
        widths[arm] = sqrt(max(0.0, pace * (square + 2.0 * _dot(out, behind, z) + forms[i % 4])))


@njit(cache=True, error_model="numpy")
def _note_full(
    rows: Csr, arms: Integers, arm: int, columns: Floats, groups: Floats, members: Integers, g: int, mean: Floats,
    z: Floats,
) -> None:  # fmt: skip
    """Count the rows of a group in what is known of its columns; `mean` becomes xbar, `z` x of `arm` less xbar."""
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
        j = np.uint64(own[place])
        columns[j, Column.COUNT] += 1.0
        away = mean[place] - columns[j, Column.MEAN]
        columns[j, Column.MEAN] += away / columns[j, Column.COUNT]
        columns[j, Column.SQUARES] += away * (mean[place] - columns[j, Column.MEAN])
        if arms.size > 1:
            columns[j, Column.PAIRS] += 1.0
            columns[j, Column.SPREAD] += spread[place] / (arms.size - 1.0)


@njit(cache=True, error_model="numpy")
def learn(
    rows: Csr, local: Csr, used: Any, k: int, arm: int, y: float, columns: Floats, groups: Floats, members: Integers,
    pool: Floats, home: Integers,
) -> None:  # fmt: skip
    """One lesson: arm `arm` had the reward y. What is known of the columns is brought up to date first."""
    first, after = lists(home, groups.shape[0])
    own = np.empty(k, np.int64)
    mean, z = np.empty(FULL), np.empty(FULL)
    for i in range(k):
        g = home[i]
        if g == 0 or first[g] != i:
            continue
        count = listed(i, after, own)
        if groups[g, Group.DIAGONAL] != 0.0:
            if g == home[arm]:
                learn_diagonal(local, used, own[:count], arm, y, columns, groups, g)
            else:
                note_diagonal(rows, own[:count], columns)
        else:
            _note_full(rows, own[:count], arm, columns, groups, members, g, mean, z)
            if g == home[arm]:
                _learn_full(y, count, columns, groups, members, pool, g, mean, z)


@njit(cache=True, error_model="numpy")
def _learn_full(
    y: float, count: int, columns: Floats, groups: Floats, members: Integers, pool: Floats, g: int, mean: Floats,
    within: Floats,
) -> None:  # fmt: skip
    m, start = np.int64(groups[g, Group.LAID]), np.int64(groups[g, Group.START])
    own = members[np.int64(groups[g, Group.FIRST]) :]
    n, ahead = np.int64(groups[g, Group.SIDE]), _lead(m)
    P = pool[start + len(PACES) * n : start + (len(PACES) + n) * n]
    used = n if n > ahead and count > 1 else ahead  # u is 0 beyond it
    u, v = np.zeros(n), np.empty(n)
    if used > ahead:
        for place in range(m):
            j = own[place]
            u[ahead + place] = over(within[place], columns[j, Column.SPREAD], columns[j, Column.PAIRS])
    for place in range(m):
        j = own[place]
        u[place] = over(mean[place] - columns[j, Column.MEAN], columns[j, Column.SQUARES], columns[j, Column.COUNT])
    u[m] = 1.0
    many, zero = np.uint64(n), np.uint64(0)
    _times(P, many, zero, np.uint64(used), u, zero, v)
    square = max(0.0, _dot(u, zero, v))
    for i in range(n):
        if v[i] * v[i] > (P[i * n + i] + NOISE) * (square + NOISE) * (1.0 + 1e-6):
            return  # no covariance has this: rounding, or somebody else's numbers, and steps from it might grow
    losses, moving = np.empty(len(PACES)), max(MOVING, 1.0 / (groups[0, Group.LESSONS] + 2.0))
    for s in range(len(PACES)):
        w, pace = pool[start + s * n : start + (s + 1) * n], _pace(s, groups[g, Group.LESSONS], m)
        error = y - bounded(groups[0, LEVELS + s] + _dot(u, zero, w))
        losses[s] = error * error
        step = pace * error / (1.0 + pace * square + moving)
        groups[0, LEVELS + s] += moving * error / (1.0 + square + moving)
        for i in range(n):
            w[i] += step * v[i]
    groups[g, Group.LESSONS] += 1.0
    _judge(groups, losses)
    scale = 1.0 / sqrt(1.0 + square)
    for i in range(n):
        v[i] *= scale
    row = zero
    for i in range(many):
        if v[i] != 0.0:
            factor = spread(-v[i])
            for j in range(zero, many, _STEP):
                store(P, row + j, add_products(load(P, row + j), factor, load(v, j)))
        row += many
