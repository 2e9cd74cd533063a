"""What ranking.py does, to the bit, for four experts at once: they are one vector, and sums keep their order.

Rows come in two forms: `rows` with the columns of the weights, and `local` with those of the round alone, numbered by
column_groups.py; `used` has the column of each number. Dense rows are both.
"""

from math import sqrt

import numpy as np

from massart.kernels.compiling import Csr, Flags, Floats, Integers, njit
from massart.kernels.learning import ranking
from massart.kernels.learning.column_groups import AHEAD
from massart.kernels.learning.ranking import Expert, Memo, Setting, Total
from massart.kernels.learning.simd import (
    add_products,
    any_larger,
    four_of,
    larger,
    load_four,
    no_four,
    prefetch,
    prefetch_to_read,
    roots,
    spread_four,
    store_four,
    where_larger,
    where_zero,
)

_FOUR = np.uint64(4)


@njit(cache=True, error_model="numpy")
def look(rows: Csr, k: int, T: Floats, S: Floats, limit: float, scores: Floats, squares: Floats) -> int:
    """`ranking.look`."""
    data, indices, indptr = rows
    sparse, last = indptr.size > 0, np.uint64(max(1, indices.size) - 1)
    scale = load_four(S, np.uint64(Expert.SCALE) * _FOUR)
    for i in range(k):
        start, stop, shift = ranking.span(rows, i)
        sums, square = no_four(), 0.0
        for p in range(start, stop):
            if sparse:
                prefetch_to_read(T, np.uint64(indices[min(p + AHEAD, last)]) * _FOUR)
            a = data[p]
            if a != 0.0:
                square += a * a
                sums = add_products(sums, spread_four(a), load_four(T, np.uint64(indices[p - shift]) * _FOUR))
        if not square <= limit:
            return i
        squares[i] = square
        store_four(scores, np.uint64(i) * _FOUR, sums * scale)
    return -1


@njit(cache=True, error_model="numpy")
def plan(
    local: Csr, allowed: Flags, how: Floats, S: Floats, t: Floats, shares: Floats, scores: Floats, squares: Floats,
    scratch: Floats, memo: Memo,
) -> None:  # fmt: skip
    """`ranking.plan`."""
    arms, rates, m, z2, p = memo
    k = allowed.size
    free = ranking.count_allowed(allowed)
    t[Total.LONGEST] = max(t[Total.LONGEST], sqrt(squares.max()))
    unit = t[Total.LONGEST] if how[Setting.RELATIVE] != 0.0 else 1.0
    numbers = np.empty(12)
    _greedy(allowed, scores, numbers, arms)
    for e in range(4):
        known = -1
        for other in range(e):
            if arms[other] == arms[e]:
                known = other
        if known >= 0:
            for j in range(k):
                z2[j, e] = z2[j, known]
        else:
            ranking.distances(local, k, arms[e], squares, scratch, z2[:, e])
    gamma = larger(load_four(S, np.uint64(Expert.GAMMA) * _FOUR) * spread_four(unit), spread_four(1e-150))
    own = four_of(float(arms[0]), float(arms[1]), float(arms[2]), float(arms[3]))
    best = four_of(scores[arms[0], 0], scores[arms[1], 1], scores[arms[2], 2], scores[arms[3], 3])
    totals, most = no_four(), no_four()
    for j in range(k):
        place = np.uint64(j) * _FOUR
        margins = larger(best - load_four(scores, place), no_four()) + gamma
        store_four(m, place, margins)
        if allowed[j]:
            apart = where_zero(own - spread_four(float(j)), no_four(), load_four(z2, place))
            totals = totals + apart / (margins * margins)
            most = larger(most, apart)
    sums, widest, gammas = numbers[:4], numbers[4:8], numbers[8:]
    store_four(numbers, np.uint64(0), totals)
    store_four(numbers, _FOUR, most)
    store_four(numbers, _FOUR + _FOUR, gamma)
    elsewhere = 0.0  # the probability of an arm that no expert plays
    for e in range(4):
        rates[e] = ranking.exploration(how, S, t, free, gammas[e], sums[e], widest[e] > 0.0, e)
        elsewhere += shares[e] * (rates[e] / free)
    for i in range(k):
        p[i] = elsewhere if allowed[i] else 0.0
    for e in range(4):
        chance = 0.0
        for n in range(4):
            chance += shares[n] * ((1.0 - rates[n]) * (1.0 if arms[n] == arms[e] else 0.0) + rates[n] / free)
        p[arms[e]] = chance


@njit(cache=True, error_model="numpy")
def _greedy(allowed: Flags, scores: Floats, numbers: Floats, arms: Integers) -> None:
    """Each expert's own greedy arm, the first of equals, by way of `numbers` (4,)."""
    first = 0
    while not allowed[first]:
        first += 1
    best, found = load_four(scores, np.uint64(first) * _FOUR), spread_four(float(first))
    for i in range(first + 1, allowed.size):
        if allowed[i]:
            own = load_four(scores, np.uint64(i) * _FOUR)
            found = where_larger(own, best, spread_four(float(i)), found)
            best = larger(own, best)
    store_four(numbers, np.uint64(0), found)
    for e in range(4):
        arms[e] = np.int64(numbers[e])


@njit(cache=True, error_model="numpy")
def _weigh(
    allowed: Flags, free: int, estimates: Floats, memo: Memo, width: float, S: Floats, coefficients: Floats,
    numbers: Floats,
) -> None:  # fmt: skip
    """The coefficients of contexts in g, and what certificates need of the round; `numbers` (8,) is written to."""
    arms, rates, m, z2, p = memo
    zero, one, tiny = no_four(), spread_four(1.0), spread_four(1e-300)
    keep = (one - load_four(rates, np.uint64(0))) / spread_four(float(free))
    own = four_of(float(arms[0]), float(arms[1]), float(arms[2]), float(arms[3]))
    chances = larger(four_of(p[arms[0]], p[arms[1]], p[arms[2]], p[arms[3]]), tiny)
    gains = four_of(estimates[arms[0]], estimates[arms[1]], estimates[arms[2]], estimates[arms[3]])
    floors = four_of(m[arms[0], 0], m[arms[1], 1], m[arms[2], 2], m[arms[3], 3])
    delta = load_four(S, np.uint64(Expert.DELTA) * _FOUR)
    sure, most, pairs, along, toward = zero, zero, zero, zero, zero
    for j in range(p.size):
        place = np.uint64(j) * _FOUR
        if not allowed[j]:
            store_four(coefficients, place, zero)
            continue
        apart = where_zero(own - spread_four(float(j)), zero, load_four(z2, place))
        if not any_larger(apart, zero):
            store_four(coefficients, place, zero)
            continue
        margins = load_four(m, place)
        inverse = one / margins
        reach = roots(apart) * inverse
        sure = sure + reach
        most = larger(most, reach * spread_four(1.0 / max(p[j], 1e-300)))
        pairs = pairs + where_larger(apart, zero, one, zero)
        c = where_larger(apart, zero, keep * (delta - (gains - spread_four(estimates[j]))) * inverse, zero)
        along = add_products(along, c, margins - floors)
        toward = toward + c
        store_four(coefficients, place, zero - c)
    caps = keep * (delta * sure + spread_four(width) * larger(sure * (one / chances), most))
    store_four(S, np.uint64(Expert.KEPT) * _FOUR, load_four(S, np.uint64(Expert.KEPT) * _FOUR)
               + (one - load_four(rates, np.uint64(0))) * pairs / spread_four(float(free)))  # fmt: skip
    store_four(S, np.uint64(Expert.DRIFT) * _FOUR, load_four(S, np.uint64(Expert.DRIFT) * _FOUR) + along)
    store_four(numbers, np.uint64(0), toward)
    store_four(numbers, _FOUR, caps)
    for e in range(4):
        coefficients[arms[e], e] = numbers[e]
        if S[Expert.CAP, e] == 0.0:
            S[Expert.FIRST, e] = numbers[4 + e]
        S[Expert.CAP, e] = max(S[Expert.CAP, e], numbers[4 + e])


@njit(cache=True, error_model="numpy")
def teach(
    local: Csr, used: Integers, allowed: Flags, estimates: Floats, memo: Memo, width: float, T: Floats, S: Floats
) -> None:
    """`ranking.teach` from the reward of one arm."""
    data, places, _ = local
    k = allowed.size
    coefficients, board, numbers = np.empty((k, 4)), np.zeros((used.size, 4)), np.empty(8)
    _weigh(allowed, ranking.count_allowed(allowed), estimates, memo, width, S, coefficients, numbers)
    for i in range(k):
        start, stop, shift = ranking.span(local, i)
        c = load_four(coefficients, np.uint64(i) * _FOUR)
        for q in range(start, stop):
            place = np.uint64(places[q - shift]) * _FOUR
            store_four(board, place, add_products(load_four(board, place), c, spread_four(data[q])))
    inner, square, last = no_four(), no_four(), np.uint64(max(1, used.size) - 1)
    for n in range(used.size):
        prefetch(T, np.uint64(used[min(np.uint64(n) + AHEAD, last)]) * _FOUR)
        g, place = load_four(board, np.uint64(n) * _FOUR), np.uint64(used[n]) * _FOUR
        weights = load_four(T, place)
        inner, square = add_products(inner, weights, g), add_products(square, g, g)
        store_four(T, place, weights - g)
    store_four(numbers, np.uint64(0), inner)
    store_four(numbers, _FOUR, square)
    for e in range(4):
        ranking.rescale(S, numbers[e], numbers[4 + e], e)
