"""Linear scores learned from the rewards of all arms of a round, a query, by differences within it: four members.

    least squares     of r_i - rbar on z_i = x_i - xbar, the means being those of the query
    logistic          the sum of (r_i - r_j) ln(1 + exp(-w.(x_i - x_j))) over pairs with r_i > r_j, over the documents

each with a diagonal matrix, and with the full one up to FULL columns. So what a query has in common, its level and its
difficulty, teaches nothing. With V_j the sum of z_ij^2 so far, v_j the mean variance of the column within a query and
D_j = V_j + RIDGE v_j, a member of the diagonal kind goes along p = g / (kappa D), g the negative gradient of its loss
on the query, as far as that loss plus a^2 p' kappa D p / 2 is smallest, by its second derivative at w:

    w += a p,   a = g.p / (second derivative of the loss along p + g.p)

a is at most 1, so no pace is chosen. Least squares has kappa = 1, logistic, whose second derivative is smaller, 1/16.
With the full matrix A, of all z z', D is A + RIDGE diag(v), and least squares is its exact solution. Columns may be of
any size: multiply one by 2^n, and all scores stay the same, bit for bit.

At most SHIFTS pairs per document are looked at, documents i and i + s for equally spaced s: all pairs of up to 65. The
time of a query is linear in its entries and documents, and with the full matrix in documents * columns^2 + columns^3.

    C    (d, len(Column))    what is known of a column, and the members' weights of it
    A    (d + 1, d)          the lower triangle of the sum of z z', and in the last row that of z (r - rbar); or empty
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Csr, Floats, Integers, njit
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.ranking import span


class Column(IntEnum):
    """Columns of `C`, float64 with one row per column of the contexts."""

    COUNT = 0  # queries within which the column varied
    SPREAD = 1  # the sum of its variances within them
    SQUARES = 2  # V
    LEAST_SQUARES = 3  # the weights, diagonal,
    LOGISTIC = 4
    FULL_LEAST_SQUARES = 5  # and with the full matrix
    FULL_LOGISTIC = 6


DIAGONAL: Final = 2  # members that every ranker has
MEMBERS: Final = 4  # and with at most FULL columns
FULL: Final = 256
SHIFTS: Final = 32
RIDGE: Final = 5.0
KAPPA: Final = 1.0 / 16.0
# What keeps finite contexts from making a state that is not finite. Ordinary queries never come to any of these.
LEAST: Final = 1e-200  # of a sum of squares that counts
MOST: Final = 1e6  # of a weight times sqrt(v)
_LEAST_PIVOT: Final = 1e-12
_ROUNDING: Final = 1e-20  # a column whose squared deviation from its mean is that part of it did not vary


@njit(cache=True, error_model="numpy")
def score_members(rows: Csr, k: int, C: Floats, members: int, scores: Floats) -> None:
    """(k, >= members) scores w.x; columns beyond the members are left alone."""
    data, indices, _ = rows
    for i in range(k):
        start, stop, shift = span(rows, i)
        for e in range(members):
            scores[i, e] = 0.0
        for p in range(start, stop):
            a, j = data[p], indices[p - shift]
            for e in range(members):
                scores[i, e] += a * C[j, Column.LEAST_SQUARES + e]


@njit(cache=True, error_model="numpy")
def list_pairs(rewards: Floats, better: Integers, worse: Integers) -> int:
    """The pairs of unequal reward that are looked at; returns how many these are."""
    k = rewards.size
    shifts, count = min(k // 2, SHIFTS), 0
    for s in range(shifts):
        shift = 1 + s * (k // 2) // shifts
        for i in range(k if 2 * shift < k else k // 2):  # half of a circle would meet every pair twice
            j = (i + shift) % k
            if rewards[i] != rewards[j]:
                better[count], worse[count] = (i, j) if rewards[i] > rewards[j] else (j, i)
                count += 1
    return count


@njit(cache=True, error_model="numpy")
def _centre(scores: Floats) -> None:
    mean = 0.0
    for i in range(scores.size):
        mean += scores[i]
    mean /= scores.size
    for i in range(scores.size):
        scores[i] -= mean


@njit(cache=True, error_model="numpy")
def _descend(
    logistic: bool, scores: Floats, rewards: Floats, better: Integers, worse: Integers, factor: float, pull: Floats,
    curved: Floats,
) -> None:  # fmt: skip
    """What each document pulls with, so that g = sum_i pull_i z_i; and second derivatives of pairs, for logistic."""
    if not logistic:
        for i in range(scores.size):
            pull[i] = rewards[i] - scores[i]
        return
    pull[:] = 0.0
    for n in range(better.size):
        i, j = better[n], worse[n]
        wrong = 1.0 / (1.0 + exp(scores[i] - scores[j]))
        weight = factor * (rewards[i] - rewards[j]) * wrong
        pull[i] += weight
        pull[j] -= weight
        curved[n] = weight * (1.0 - wrong)


@njit(cache=True, error_model="numpy")
def _step_length(
    logistic: bool, along: Floats, better: Integers, worse: Integers, curved: Floats, descent: float
) -> float:
    """How far to go: `along` are the scores of p, `descent` is g.p."""
    bend = 0.0
    if logistic:
        for n in range(better.size):
            apart = along[better[n]] - along[worse[n]]
            bend += curved[n] * apart * apart
    else:
        for i in range(along.size):
            bend += along[i] * along[i]
    return descent / (bend + descent) if descent > LEAST else 0.0


@njit(cache=True, error_model="numpy")
def _note(rows: Csr, k: int, C: Floats, scratch: Floats, used: Integers, mean: Floats) -> int:
    """Count a query in what is known of its columns, and bring weights into their range.

    `used[:n]` become the columns with an entry, `mean[:n]` theirs in the query; n is returned. `scratch` (d,) then
    holds places in these lists, plus 1: the caller sets them back to 0.
    """
    data, indices, _ = rows
    seen = 0
    for i in range(k):
        start, stop, shift = span(rows, i)
        for p in range(start, stop):
            if data[p] != 0.0:
                j = indices[p - shift]
                if scratch[j] == 0.0:
                    used[seen], mean[seen] = j, 0.0
                    seen += 1
                    scratch[j] = seen
                mean[np.int64(scratch[j]) - 1] += data[p] / k
    squares, entries = np.zeros(seen), np.zeros(seen)
    for i in range(k):
        start, stop, shift = span(rows, i)
        for p in range(start, stop):
            if data[p] != 0.0:
                at = np.int64(scratch[indices[p - shift]]) - 1
                z = data[p] - mean[at]
                squares[at] += z * z
                entries[at] += 1.0
    for place in range(seen):
        column = C[used[place]]
        square = squares[place] + (k - entries[place]) * mean[place] * mean[place]
        if square > max(LEAST, _ROUNDING * k * mean[place] * mean[place]):
            column[Column.COUNT] += 1.0
            column[Column.SPREAD] += square / (k - 1.0)
            column[Column.SQUARES] += square
        _bound(column)
    return seen


@njit(cache=True, error_model="numpy")
def _bound(column: Floats) -> None:
    """Bring the weights of a column into their range; what is no number becomes 0."""
    most = MOST / sqrt(max(_variance(column), LEAST))
    for e in range(MEMBERS):
        w = column[Column.LEAST_SQUARES + e]
        if not -most <= w <= most:
            column[Column.LEAST_SQUARES + e] = most if w > most else -most if w < -most else 0.0


@njit(cache=True, error_model="numpy", inline="always")
def _variance(column: Floats) -> float:
    return column[Column.SPREAD] / max(column[Column.COUNT], 1.0)


@njit(cache=True, error_model="numpy")
def _diagonal_steps(
    rows: Csr, rewards: Floats, better: Integers, worse: Integers, factor: float, C: Floats, scratch: Floats,
    used: Integers, mean: Floats,
) -> None:  # fmt: skip
    """One step of both members with a diagonal matrix; `used`, `mean` and `scratch` are those of `_note`."""
    data, indices, _ = rows
    k, seen = rewards.size, used.size
    pull, curved, along = np.empty(k), np.empty(better.size), np.empty(k)
    g, inverse = np.empty(seen), np.zeros(seen)
    for at in range(seen):
        size = C[used[at], Column.SQUARES] + RIDGE * _variance(C[used[at]])
        inverse[at] = 1.0 / size if size > LEAST else 0.0
    for e in range(DIAGONAL):
        logistic, weight = e == 1, Column.LEAST_SQUARES + e
        for i in range(k):
            start, stop, shift = span(rows, i)
            along[i] = 0.0
            for p in range(start, stop):
                j = indices[p - shift]
                along[i] += data[p] * C[j, weight]
        _centre(along)
        _descend(logistic, along, rewards, better, worse, factor, pull, curved)
        total = 0.0
        for i in range(k):
            total += pull[i]
        for at in range(seen):  # pulls add up to 0, but for rounding, which a large mean would multiply
            g[at] = -total * mean[at]
        for i in range(k):
            start, stop, shift = span(rows, i)
            for p in range(start, stop):
                if data[p] != 0.0:
                    g[np.int64(scratch[indices[p - shift]]) - 1] += pull[i] * data[p]
        descent, slow = 0.0, 1.0 / KAPPA if logistic else 1.0
        for at in range(seen):
            step = g[at] * inverse[at] * slow
            descent += g[at] * step
            g[at] = step
        for i in range(k):
            start, stop, shift = span(rows, i)
            along[i] = 0.0
            for p in range(start, stop):
                if data[p] != 0.0:
                    along[i] += data[p] * g[np.int64(scratch[indices[p - shift]]) - 1]
        _centre(along)
        length = _step_length(logistic, along, better, worse, curved, descent)
        for at in range(seen):
            C[used[at], weight] += length * g[at]


@njit(cache=True, error_model="numpy")
def _factor(A: Floats, C: Floats, units: Floats, L: Floats) -> None:
    """The Cholesky factor L of A + RIDGE diag(v), both sides in `units`, which bring its diagonal to 1."""
    d = units.size
    for a in range(d):
        size = A[a, a] + RIDGE * _variance(C[a])
        units[a] = 1.0 / sqrt(size) if size > LEAST else 0.0
        for b in range(a):
            L[a, b] = A[a, b] * units[a] * units[b]
        L[a, a] = 1.0
    column = np.empty(d)
    for b in range(d):
        pivot = sqrt(max(L[b, b], _LEAST_PIVOT))
        L[b, b] = pivot
        for a in range(b + 1, d):
            L[a, b] /= pivot
            column[a] = L[a, b]
        for a in range(b + 1, d):
            factor = column[a]
            if factor != 0.0:
                for c in range(b + 1, a + 1):
                    L[a, c] -= factor * column[c]


@njit(cache=True, error_model="numpy")
def _solve(L: Floats, units: Floats, given: Floats, out: Floats) -> None:
    """Set `out` to (A + RIDGE diag(v))^-1 given."""
    d = units.size
    for a in range(d):
        left = given[a] * units[a]
        for b in range(a):
            left -= L[a, b] * out[b]
        out[a] = left / L[a, a]
    for a in range(d - 1, -1, -1):
        out[a] /= L[a, a]
        for b in range(a):
            out[b] -= L[a, b] * out[a]
    for a in range(d):
        out[a] *= units[a]


@njit(cache=True, error_model="numpy")
def _full_steps(
    rows: Csr, rewards: Floats, better: Integers, worse: Integers, factor: float, C: Floats, A: Floats,
    used: Integers, mean: Floats,
) -> None:  # fmt: skip
    """Least squares of all queries so far, and one step of logistic with the same matrix."""
    data, indices, _ = rows
    k, d = rewards.size, A.shape[1]
    Z = np.zeros((k, d))
    for i in range(k):
        for at in range(used.size):
            Z[i, used[at]] = -mean[at]
        start, stop, shift = span(rows, i)
        for p in range(start, stop):
            Z[i, indices[p - shift]] += data[p]
        for a in range(d):
            z = Z[i, a]
            if z != 0.0:
                A[d, a] += rewards[i] * z
                for b in range(a + 1):
                    A[a, b] += z * Z[i, b]
    units, L, step = np.empty(d), np.empty((d, d)), np.empty(d)
    _factor(A, C, units, L)
    _solve(L, units, A[d], step)
    for a in range(d):
        C[a, Column.FULL_LEAST_SQUARES] = step[a]
    pull, curved, along, g = np.empty(k), np.empty(better.size), np.empty(k), np.zeros(d)
    for i in range(k):
        along[i] = 0.0
        for a in range(d):
            along[i] += Z[i, a] * C[a, Column.FULL_LOGISTIC]
    _descend(True, along, rewards, better, worse, factor, pull, curved)
    for i in range(k):
        for a in range(d):
            g[a] += pull[i] * Z[i, a]
    _solve(L, units, g, step)
    descent = 0.0
    for a in range(d):
        step[a] /= KAPPA
        descent += g[a] * step[a]
    for i in range(k):
        along[i] = 0.0
        for a in range(d):
            along[i] += Z[i, a] * step[a]
    length = _step_length(True, along, better, worse, curved, descent)
    for a in range(d):
        C[a, Column.FULL_LOGISTIC] += length * step[a]


@njit(cache=True, error_model="numpy")
def learn_members(rows: Csr, rewards: Floats, C: Floats, A: Floats, scratch: Floats) -> None:
    """All members learn a query from its rewards, (k,) in units of their range; `scratch` (d,) is left zero.

    A query whose rewards are all equal teaches nothing.
    """
    k = rewards.size
    most = k * min(k // 2, SHIFTS)
    better, worse = np.empty(most, np.int64), np.empty(most, np.int64)
    count = list_pairs(rewards, better, worse)
    if count == 0:
        return
    better, worse = better[:count], worse[:count]
    looked = most if k % 2 == 1 or k // 2 > SHIFTS else most - k // 2
    factor = 0.5 * (k - 1.0) / looked  # as if all pairs had been looked at, over k
    centred = rewards.copy()
    _centre(centred)
    entries: Any = rows[0].size
    used, mean = np.empty(min(entries, scratch.size), np.int64), np.empty(min(entries, scratch.size))
    seen = _note(rows, k, C, scratch, used, mean)
    used, mean = used[:seen], mean[:seen]
    _diagonal_steps(rows, centred, better, worse, factor, C, scratch, used, mean)
    for at in range(seen):
        scratch[used[at]] = 0.0
        _bound(C[used[at]])
    if A.size > 0:
        _full_steps(rows, centred, better, worse, factor, C, A, used, mean)
        for j in range(C.shape[0]):
            _bound(C[j])
