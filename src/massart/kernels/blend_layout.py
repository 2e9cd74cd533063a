"""Groups of columns: where their regressions lie in memory (kernels/learning/column_groups.py has the names).

`lay_out` moves what was learned when groups have grown, have become one, or are too large for a full covariance. A
regression is only rewritten, not changed, but for two things: the variances of a group that grows become smaller with
the number of its columns, as its prior's do, and of groups that become one only the first keeps its constant.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning.column_groups import ALIKE, BETWEEN, CONSTANT, FULL, LEVELS, SHARES, WITHIN, Column, Group
from massart.kernels.learning.regression import MOST_POOL, PACES, lead, side

__all__ = ["lay_out", "resolve"]


def resolve(groups: NDArray[np.float64]) -> NDArray[np.int64]:
    """The group that each one is part of now; groups join the one with the smaller number."""
    found = np.zeros(int(groups[0, 0]), np.int64)
    for g in range(1, found.size):
        parent = int(groups[g, Group.PARENT])
        found[g] = g if parent == g else found[parent]
    return found


def lay_out(columns: Any, groups: Any, members: Any, pool: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """New members and pool; `columns` and `groups` are changed in place."""
    found = resolve(groups)
    home = found[columns[:, Column.GROUP].astype(np.int64)]
    order = np.argsort(home, kind="stable")
    ends = np.searchsorted(home[order], np.arange(found.size + 1))
    pieces: dict[int, list[int]] = {}
    for g in range(1, found.size):
        if groups[g, Group.SIDE]:
            pieces.setdefault(int(found[g]), []).append(g)
    old = {g: _taken(groups[g], members, pool) for own in pieces.values() for g in own}
    groups[1 : found.size, [Group.LAID, Group.SIDE, Group.START, Group.FIRST]] = 0.0
    lists, parts, start, first = [], [], 0, 0
    for g in range(1, found.size):
        if found[g] != g:
            continue
        own = order[ends[g] : ends[g + 1]]
        m = own.size
        groups[g, Group.SIZE] = m
        n, ahead = side(m, bool(groups[g, Group.PAIRED])), lead(m)
        if groups[g, Group.DIAGONAL] or m > FULL or start + (len(PACES) + n) * n > MOST_POOL:
            groups[g, Group.DIAGONAL] = 1.0
            for piece in pieces.get(g, ()):
                _become_diagonal(columns, groups[g], old[piece], groups[0])
            continue
        w, P = np.zeros((len(PACES), n)), np.zeros((n, n))
        variances = np.zeros(n)
        variances[:m], variances[m], variances[ahead : ahead + m] = 1.0 / (BETWEEN * m), CONSTANT, 1.0 / (WITHIN * m)
        np.fill_diagonal(P, variances)
        if n > ahead:  # effects within rounds and between them are expected to be alike
            twin, alike = np.arange(m), ALIKE * np.sqrt(variances[0] * variances[ahead])
            P[twin, ahead + twin] = P[ahead + twin, twin] = alike
        for number, piece in enumerate(pieces.get(g, ())):
            _move(old[piece], own, w, P, number == 0)
        columns[own, Column.PLACE] = np.arange(m)
        groups[g, [Group.LAID, Group.SIDE, Group.START, Group.FIRST]] = m, n, start, first
        lists.append(own)
        parts += [w.ravel(), P.ravel()]
        start, first = start + (len(PACES) + n) * n, first + m
    none: list[Any] = [np.empty(0)]
    return np.concatenate([np.empty(0, np.int64), *lists]), np.concatenate(none + parts)


def _taken(group: Any, members: Any, pool: Any) -> tuple[Any, Any, Any]:
    """Members, the w_s and P of a group, without the zeros that fill them up."""
    m, n, start, first = (int(group[name]) for name in (Group.LAID, Group.SIDE, Group.START, Group.FIRST))
    kept = np.concatenate([np.arange(m + 1), np.arange(lead(m), lead(m) + m) if n > lead(m) else np.empty(0, np.int64)])
    both = pool[start : start + (len(PACES) + n) * n].reshape(len(PACES) + n, n)
    w, P = both[: len(PACES)], both[len(PACES) :]
    return members[first : first + m], w[:, kept], P[np.ix_(kept, kept)]


def _move(old: tuple[Any, Any, Any], own: Any, w: Any, P: Any, constant: bool) -> None:
    """A regression into its place in a larger one; its constant, too, if that has none yet."""
    listed, weights, covariance = old
    before, m, entries = listed.size, own.size, weights.shape[1]
    places = np.searchsorted(own, listed)
    to = np.concatenate([places, [m], places + lead(m)])[:entries]
    shrink = np.full(entries, np.sqrt(before / m))
    shrink[before] = 1.0
    kept = np.ones(entries, bool)
    kept[before] = constant
    if entries == before + 1 and P.shape[0] > lead(m):  # what was learned says nothing of the other part
        P[places, lead(m) + places] = P[lead(m) + places, places] = 0.0
    to = to[kept]
    w[:, to] = weights[:, kept]
    P[np.ix_(to, to)] = (covariance * shrink[:, None] * shrink[None, :])[np.ix_(kept, kept)]


def _become_diagonal(columns: Any, group: Any, old: tuple[Any, Any, Any], head: Any) -> None:
    """What a full covariance says of single columns; from here on entries are not centred, and there is one pace."""
    listed, each, P = old
    shares, levels = head[SHARES : SHARES + len(PACES)], head[LEVELS : LEVELS + len(PACES)]
    w = (each * shares[:, None]).sum(axis=0)
    m, variances = listed.size, np.diagonal(P)
    count = np.maximum(columns[listed, Column.COUNT], 1.0)
    deviation = np.sqrt(columns[listed, Column.SQUARES] / count)
    mean = columns[listed, Column.MEAN]
    size = np.sqrt(deviation**2 + mean**2)
    ratio = np.divide(size, deviation, out=np.zeros(m), where=deviation > 1e-9 * size)
    ratio = np.minimum(ratio, 1e3)
    columns[listed, Column.WEIGHT] = w[:m] * ratio
    columns[listed, Column.VARIANCE] = np.maximum(variances[:m], 0.0)
    if w.size > m + 1:
        columns[listed, Column.OWN] = w[m + 1 :]
        columns[listed, Column.OWN_VARIANCE] = np.maximum(variances[m + 1 :], 0.0)
    columns[listed, Column.SQUARES] += count * mean**2
    columns[listed, Column.MEAN] = 0.0
    group[Group.WEIGHT], group[Group.VARIANCE] = w[m] + (levels * shares).sum(), max(0.0, variances[m])
