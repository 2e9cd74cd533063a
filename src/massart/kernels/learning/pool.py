"""Many learners of one halfspace, the experts, side by side in one pass; mixture.py makes one of their answers.

A row of W holds what all columns know about a feature, so one visit to a feature serves them all. The experts are:

    diagonal   w <- w + b q,  q_j = V_j x_j. The variance V_j is 1 / x_j^2 at first sight and shrinks to
               V_j / (1 + c x_j^2 V_j / r) when the first of them has a margin below 1: second order, diagonal, the same
               for features of any scale. Two descend the squared hinge loss, as AROW does (Crammer, Kulesza, Dredze
               2009), the second at a quarter of the pace; two the logistic loss. Conventional, for benign noise.
    plain      FTRL on inverse-margin gradients, one per (noise rate, margin), with the constant coordinate or without:
               Lemma 0 holds for them, so they are the ones with a mistake bound. The step is that of
               kernels/learning/halfspace.py.
    recent     the mean label of the last rounds, without a look at the row: for streams that come sorted or in bursts.
    full       with few features: AROW with the full matrix, for features that are correlated,
    centred    and logistic descent on features less their mean, in units of their deviation, at three paces.

No `fastmath`: a dense row, its CSR form and the row alone give the same bits (see kernels/learning/halfspace.py).
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Batch, Csr, Floats, Indices, Values, njit
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.few_features import (
    CENTRED,
    CENTRED_SIZE,
    DEVIATION,
    FEW,
    LARGEST_HINGE,
    LARGEST_SCORE,
    LARGEST_VARIANCE,
    MEAN,
    centred_steps,
    few_scores,
    full_step,
    spread_out,
)
from massart.kernels.learning.halfspace import LONGEST_SQUARE
from massart.kernels.learning.mixture import Total, answer, judge, weigh
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    any_larger,
    gather,
    gather_first,
    has_marks,
    has_zeros,
    larger,
    load,
    load_first,
    load_four,
    mark_zeros,
    no_four,
    no_sums,
    prefetch,
    roots,
    spread,
    spread_four,
    store,
    store_four,
    total,
    where_negative,
    where_zero,
)

__all__ = ["CENTRED", "CENTRED_SIZE", "COLUMNS", "DEVIATION", "DIAGONAL", "FEW", "LARGEST_VARIANCE", "MEAN", "PLAIN",
           "RECENT", "Column", "Setting", "learn_pool"]  # fmt: skip

DIAGONAL: Final = 4
PLAIN: Final = 8  # at most: the others are padding, so that the loops over columns have a length known beforehand
COLUMNS: Final = DIAGONAL + PLAIN
RECENT: Final = 1


class Setting(IntEnum):
    """Places in `how`, float64: the parameters of a pool."""

    UNIT = 0  # whether plain columns scale rows to norm 1
    BIAS = 1  # the value of the constant coordinate, 0 without an intercept
    VOTING = 2
    NEGATIVE = 3  # the weight of rows labelled -1
    POSITIVE = 4  # and of those labelled +1


class Column(IntEnum):
    """Rows of `S`, float64 (rows, COLUMNS): what a plain column remembers besides theta, its weights up to SCALE."""

    ETA = 0  # its noise rate
    GAMMA = 1  # its margin
    CAP = 2  # the largest gradient norm that a row so far could have had
    SQUARES = 3  # the sum of squared gradient norms
    NORM2 = 4  # |theta|^2
    SCALE = 5  # w = SCALE * theta; 1 for the diagonal columns
    SCALED = 6  # sum of c * SCALE: the running average of w is (SCALED * W - Z) / WEIGHT
    CONSTANT = 7  # 1 if it has the constant coordinate, else 0
    LINEAR = 8  # sum of <g, w>; this and the next two feed the certificate, as in kernels/learning/halfspace.py
    SPREAD = 9  # sum of a^2, a = c (gamma + |x|) / m
    INVERSE = 10  # sum of c / m


_RIDGE: Final = 100.0  # r of the diagonal columns
_PACES: Final = (1.0, 0.25, 16.0, 4.0)
_LATELY: Final = 1 / 16
_FREE: Final = 2000.0  # so often the full matrix is updated whenever it should be; later, every 16th time
_EVERY: Final = 16
# What keeps finite rows from making a state that is not finite. Ordinary streams never come to any of these.
_LARGEST_ROW: Final = 1e78  # weight times length: the sum of 2^53 squared gradients at a margin of 1e-50 is finite
_ZERO, _ONE, _TWO, _LANES = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(LANES)
_C, _D, _2D = np.uint64(COLUMNS), np.uint64(4), np.uint64(8)  # columns are taken in three fours


@njit(cache=True, error_model="numpy", inline="always")
def _unit(square: float, how: Floats) -> float:
    """The factor that scales a row to norm 1; 1 for an all-zero row and for rows taken as they are."""
    return 1.0 / sqrt(square) if how[Setting.UNIT] != 0.0 and square > 0.0 else 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _length(square: float, how: Floats) -> float:
    """The length of a row so scaled."""
    return (1.0 if square > 0.0 else 0.0) if how[Setting.UNIT] != 0.0 else sqrt(square)


@njit(cache=True, error_model="numpy", forceinline=True)
def _take(data: Values, start: np.uint64, count: np.uint64, values: Floats) -> Any:
    """Copy the values of a row; return |x|^2 and whether there are zeros: if so, it is not |x|^2 yet."""
    squares, marks, rest = no_sums(), no_sums(), count % _LANES
    for p in range(_ZERO, count - rest, _LANES):
        a = load(data, start + p)
        store(values, p, a)
        squares = add_products(squares, a, a)
        marks = mark_zeros(marks, a, _LANES)
    a = load_first(data, start + count - rest, rest)
    store(values, count - rest, a)
    squares = add_products(squares, a, a)
    return total(squares), has_marks(mark_zeros(marks, a, rest))


@njit(cache=True, error_model="numpy")
def _pack(values: Floats, columns: Indices, count: np.uint64) -> Any:
    """Move the entries that are not 0 together; return how many there are, and |x|^2."""
    kept = _ZERO
    for p in range(count):
        a, column = values[p], columns[p]
        values[kept], columns[kept] = a, column
        kept += np.uint64(a != 0.0)
    square, _ = _take(values, _ZERO, kept, values)
    return kept, square


@njit(cache=True, error_model="numpy", forceinline=True)
def _ratios(a: Any, known: Any) -> Any:
    """V_j x_j; a feature that comes for the first time has the variance 1 / x_j^2."""
    ratio = known * a
    if has_zeros(known):
        ratio = where_zero(known, a / larger(a * a, spread(1.0 / LARGEST_VARIANCE)), ratio)
    return ratio


@njit(cache=True, error_model="numpy", forceinline=True)
def _measure(values: Floats, columns: Indices, are_all: bool, count: np.uint64, V: Floats, q: Floats) -> float:
    """x.q without the constant, with q_j = V_j x_j left in q."""
    sums, rest = no_sums(), count % _LANES
    for p in range(_ZERO, count - rest, _LANES):
        a = load(values, p)
        ratio = _ratios(a, load(V, p) if are_all else gather(V, columns, p))
        store(q, p, ratio)
        sums = add_products(sums, a, ratio)
    a = load_first(values, count - rest, rest)
    ratio = _ratios(a, gather_first(V, columns, count - rest, rest))
    store(q, count - rest, ratio)
    return total(add_products(sums, a, ratio))


@njit(cache=True, error_model="numpy", forceinline=True)
def _dot(values: Floats, columns: Indices, count: np.uint64, bias: float, W: Floats, dots: Floats) -> None:
    """x.W for all columns; entries with an even and with an odd number are added up apart."""
    even0, even1, even2 = no_four(), no_four(), no_four()
    odd0, odd1, odd2 = no_four(), no_four(), no_four()
    for p in range(_ZERO, count & ~_ONE, _TWO):
        a, place = spread_four(values[p]), columns[p] * _C
        even0 = add_products(even0, a, load_four(W, place))
        even1 = add_products(even1, a, load_four(W, place + _D))
        even2 = add_products(even2, a, load_four(W, place + _2D))
        a, place = spread_four(values[p + _ONE]), columns[p + _ONE] * _C
        odd0 = add_products(odd0, a, load_four(W, place))
        odd1 = add_products(odd1, a, load_four(W, place + _D))
        odd2 = add_products(odd2, a, load_four(W, place + _2D))
    last, is_odd = np.uint64(W.shape[0] - 1), count & _ONE == _ONE
    # If there is no last entry with an even number, 0 times the constant's weights.
    place = (columns[count - _ONE] if is_odd else last) * _C
    a = spread_four(values[count - _ONE] if is_odd else 0.0)
    even0 = add_products(even0, a, load_four(W, place))
    even1 = add_products(even1, a, load_four(W, place + _D))
    even2 = add_products(even2, a, load_four(W, place + _2D))
    a, place = spread_four(bias), last * _C
    store_four(dots, _ZERO, add_products(even0 + odd0, a, load_four(W, place)))
    store_four(dots, _D, add_products(even1 + odd1, a, load_four(W, place + _D)))
    store_four(dots, _2D, add_products(even2 + odd2, a, load_four(W, place + _2D)))


@njit(cache=True, error_model="numpy", forceinline=True)
def _add(values: Floats, columns: Indices, count: np.uint64, q: Floats, b: Floats, W: Floats) -> None:
    """W[j] += q_j b in the diagonal columns, x_j b in the plain ones."""
    b0, b1, b2 = load_four(b, _ZERO), load_four(b, _D), load_four(b, _2D)
    for p in range(count):
        place, ratio, a = columns[p] * _C, spread_four(q[p]), spread_four(values[p])
        store_four(W, place, add_products(load_four(W, place), ratio, b0))
        store_four(W, place + _D, add_products(load_four(W, place + _D), a, b1))
        store_four(W, place + _2D, add_products(load_four(W, place + _2D), a, b2))


@njit(cache=True, error_model="numpy", forceinline=True)
def _add_constant(q: float, bias: float, b: Floats, b_constant: Floats, W: Floats) -> None:
    """The same for the constant coordinate, which some of the plain columns do not have."""
    place, ratio, a = np.uint64(W.shape[0] - 1) * _C, spread_four(q), spread_four(bias)
    store_four(W, place, add_products(load_four(W, place), ratio, load_four(b, _ZERO)))
    store_four(W, place + _D, add_products(load_four(W, place + _D), a, load_four(b_constant, _D)))
    store_four(W, place + _2D, add_products(load_four(W, place + _2D), a, load_four(b_constant, _2D)))


@njit(cache=True, error_model="numpy", forceinline=True)
def _prefetch(indices: Indices, start: np.uint64, stop: np.uint64, W: Floats) -> None:
    """Have the weights of a row brought near before they are needed."""
    for p in range(start, stop):
        place = np.uint64(indices[p]) * _C
        prefetch(W, place)
        prefetch(W, place + _C - _ONE)


@njit(cache=True, error_model="numpy", forceinline=True)
def _row(row: int, first: np.uint64) -> Any:
    """The place of a column in a row of S."""
    return np.uint64(row) * _C + first


@njit(cache=True, error_model="numpy")
def _raise_caps(S: Floats, lengths: tuple[float, float], heavy: float, plain: int) -> None:
    for k in range(DIAGONAL, DIAGONAL + plain):
        longest = heavy * (lengths[1] if S[Column.CONSTANT, k] != 0.0 else lengths[0])
        if longest * (1.0 - S[Column.ETA, k]) > S[Column.CAP, k] * S[Column.GAMMA, k]:
            S[Column.CAP, k] = longest * (1.0 - S[Column.ETA, k]) / S[Column.GAMMA, k]
            S[Column.SCALE, k] = 1.0 / sqrt(
                max(2.0 * (S[Column.CAP, k] * S[Column.CAP, k] + S[Column.SQUARES, k]), S[Column.NORM2, k])
            )


@njit(cache=True, error_model="numpy", forceinline=True)
def _scale(S: Floats, dots: Floats, lengths: tuple[float, float], heavy: float, plain: int, scores: Floats) -> None:
    """The scores of all columns; the caps cover the row before its label is looked at."""
    longest = spread_four(heavy * max(lengths[0], lengths[1]))
    for c in (_D, _2D):
        reach = longest * (spread_four(1.0) - load_four(S, _row(Column.ETA, c)))
        if any_larger(reach, load_four(S, _row(Column.CAP, c)) * load_four(S, _row(Column.GAMMA, c))):
            _raise_caps(S, lengths, heavy, plain)
    for k in range(DIAGONAL):
        scores[k] = max(-LARGEST_SCORE, min(LARGEST_SCORE, S[Column.SCALE, k] * dots[k]))
    for k in range(DIAGONAL, DIAGONAL + plain):
        scores[k] = S[Column.SCALE, k] * dots[k]


@njit(cache=True, error_model="numpy", forceinline=True)
def _plain_steps(
    S: Floats, dots: Floats, squares: tuple[float, float], units: tuple[float, float], lengths: tuple[float, float],
    y: float, c: float, heavy: float, b: Floats, b_constant: Floats, first: np.uint64,
) -> None:  # fmt: skip
    """The b of four plain columns: FTRL on inverse-margin gradients, as `_step` of halfspace.py.

    Squared norms, factors that scale the row, and lengths so scaled are pairs: without the constant, with it.
    """
    zero, one, two = spread_four(0.0), spread_four(1.0), spread_four(2.0)
    constant, gamma = load_four(S, _row(Column.CONSTANT, first)), load_four(S, _row(Column.GAMMA, first))
    unit = where_zero(constant, spread_four(units[0]), spread_four(units[1]))
    length = where_zero(constant, spread_four(lengths[0]), spread_four(lengths[1]))
    square = where_zero(constant, spread_four(squares[0]), spread_four(squares[1]))
    dot = load_four(dots, first)
    sign = where_negative(dot, zero - one, one)
    score = load_four(S, _row(Column.SCALE, first)) * dot * unit
    inverse = one / (score * sign + gamma)  # |w.x| + gamma: the sign is that of the score
    delta = one - two * load_four(S, _row(Column.ETA, first))
    slope = spread_four(0.5 * c) * (delta * sign - spread_four(y)) * inverse
    step = zero - slope * unit
    store_four(b, first, step)
    store_four(b_constant, first, step * constant)

    _increase(S, _row(Column.LINEAR, first), slope * score)
    summed = _increase(S, _row(Column.SQUARES, first), slope * slope * length * length)
    norm2 = larger(load_four(S, _row(Column.NORM2, first)) + step * (two * dot + step * square), zero)
    store_four(S, _row(Column.NORM2, first), norm2)
    cap = load_four(S, _row(Column.CAP, first))
    store_four(S, _row(Column.SCALE, first), one / roots(larger(two * (cap * cap + summed), norm2)))
    a = spread_four(heavy) * (gamma + length) * inverse
    _increase(S, _row(Column.SPREAD, first), a * a)
    _increase(S, _row(Column.INVERSE, first), spread_four(c) * inverse)


@njit(cache=True, error_model="numpy", forceinline=True)
def _increase(S: Floats, place: np.uint64, more: Any) -> Any:
    """Add to four neighbouring numbers of S; return the sums."""
    found = load_four(S, place) + more
    store_four(S, place, found)
    return found


@njit(cache=True, error_model="numpy", forceinline=True)
def _diagonal_steps(scores: Floats, reach: float, y: float, c: float, b: Floats) -> None:
    """The b of the diagonal columns."""
    damped = 1.0 / (reach + _RIDGE / c)
    for k in range(2):
        b[k] = _PACES[k] * damped * y * min(LARGEST_HINGE, max(0.0, 1.0 - y * scores[k]))
    for k in range(2, 4):
        b[k] = _PACES[k] * damped * y / (1.0 + exp(min(700.0, y * scores[k])))


@njit(cache=True, error_model="numpy", forceinline=True)
def _shrink(values: Floats, columns: Indices, count: np.uint64, q: Floats, c: float, V: Floats) -> None:
    """V_j <- V_j / (1 + c x_j^2 V_j / r) from q_j = V_j x_j, which knows features that come for the first time.

    It overwrites q.
    """
    rate = spread(c / _RIDGE)
    for p in range(_ZERO, count, _LANES):  # q may lose what lies behind the row
        a, ratio = load(values, p), load(q, p)
        store(q, p, ratio / (a + rate * a * a * ratio))
    for p in range(count):
        V[columns[p]] = q[p]


@njit(cache=True, error_model="numpy", _nrt=False)
def _learn(
    rows: Csr, batch: Batch, seed: np.uint64, how: Floats, state: tuple[Floats, ...], Z: Floats, answers: Floats,
    scratch: Any,
) -> int:  # fmt: skip
    """`learn_pool`, with arrays to work in: what allocates nothing need not count references."""
    data, indices, indptr = rows
    count, order, labels, weight = batch
    W, V, F, C, S, M, t = state
    values, columns, q, x, z, dots, b, b_constant, scores = scratch
    few, bias, dense, last = F.size > 0, how[Setting.BIAS], indptr.size == 0, np.uint64(V.size - 1)
    d = np.uint64(x.size - LANES - 1)  # columns there were at first, with few features
    plain = M.shape[1] - DIAGONAL - RECENT - (1 + CENTRED if few else 0)
    recent = DIAGONAL + plain
    are_all = False  # whether `columns` are all of them, in order
    for n in range(count):
        i = order[n] if order.size > 0 else np.uint64(n)
        start, size = i * np.uint64(indices.size), np.uint64(indices.size)
        if not dense:
            start = np.uint64(indptr[i])
            size = np.uint64(indptr[i + _ONE]) - start
        if not (dense and are_all):
            shift = _ZERO if dense else start
            for p in range(size):
                columns[p] = indices[shift + p]
            are_all = dense
        bare, zeros = _take(data, start, size, values)
        if zeros:
            size, bare = _pack(values, columns, size)
            are_all = False
        squares = bare, bare + bias * bias
        if not (squares[1] < np.inf if how[Setting.UNIT] != 0.0 else squares[1] <= LONGEST_SQUARE):
            return n
        if not dense and n + 1 < count:
            following = order[n + 1] if order.size > 0 else np.uint64(n + 1)
            _prefetch(indices, np.uint64(indptr[following]), np.uint64(indptr[following + _ONE]), W)
        reach = _measure(values, columns, are_all, size, V, q)
        q_constant = bias * V[last] if V[last] > 0.0 or bias == 0.0 else 1.0 / bias
        reach += bias * q_constant
        y, c = np.float64(labels[i]), weight[i] if weight.size > 0 else 1.0
        heavy = c * max(how[Setting.NEGATIVE], how[Setting.POSITIVE])  # the label is not known yet
        units = _unit(squares[0], how), _unit(squares[1], how)
        lengths = _length(squares[0], how), _length(squares[1], how)
        if heavy * (1.0 + lengths[1]) > _LARGEST_ROW:  # it counts for less, and nothing is proved
            c *= _LARGEST_ROW / (heavy * (1.0 + lengths[1]))
            heavy, t[Total.UNPROVED] = c * max(how[Setting.NEGATIVE], how[Setting.POSITIVE]), 1.0

        _dot(values, columns, size, bias, W, dots)
        _scale(S, dots, lengths, heavy, plain, scores)
        scores[recent] = t[Total.TREND] if bias != 0.0 else 0.0
        if few:
            spread_out(values, columns, size, bias, d, x)
            few_scores(x, d, F, C, t[Total.WEIGHT], z, scores, recent + RECENT)
        weigh(t, heavy)
        t[Total.LONGEST2] = max(t[Total.LONGEST2], lengths[1] * lengths[1])
        answers[n], vote = answer(M, t, scores, how[Setting.VOTING], seed)

        c *= how[Setting.POSITIVE] if y > 0.0 else how[Setting.NEGATIVE]
        for k in range(DIAGONAL + plain):
            S[Column.SCALED, k] += c * S[Column.SCALE, k]
        judge(M, t, scores, answers[n], vote, y, c, how[Setting.VOTING])
        _diagonal_steps(scores, reach, y, c, b)
        _plain_steps(S, dots, squares, units, lengths, y, c, heavy, b, b_constant, _D)
        _plain_steps(S, dots, squares, units, lengths, y, c, heavy, b, b_constant, _2D)
        _add(values, columns, size, q, b, W)
        _add_constant(q_constant, bias, b, b_constant, W)
        if Z.size > 0:
            for k in range(COLUMNS):
                b[k] *= S[Column.SCALED, k]
                b_constant[k] *= S[Column.SCALED, k]
            _add(values, columns, size, q, b, Z)
            _add_constant(q_constant, bias, b, b_constant, Z)
        # One visit in four, for four: variances change slowly, and divisions are what a visit costs.
        if y * scores[0] < 1.0 and np.int64(t[Total.ROUNDS]) & 3 == 1:
            _shrink(values, columns, size, q, 4.0 * c, V)
            V[last] = q_constant / (bias + 4.0 * c / _RIDGE * bias * bias * q_constant) if bias != 0.0 else 0.0
        t[Total.TREND] += _LATELY * (y - t[Total.TREND])
        if few:
            centred_steps(x, d, y, c, t[Total.WEIGHT], scores, recent + RECENT, z, C)
            if y * scores[recent + RECENT] < 1.0:
                t[Total.TIGHT] += 1.0
                if t[Total.TIGHT] <= _FREE or np.int64(t[Total.TIGHT]) % _EVERY == 0:
                    full_step(x, d, y, c, scores[recent + RECENT], z, F)
    return -1


@njit(cache=True, error_model="numpy", nogil=True)
def learn_pool(
    rows: Csr, batch: Batch, seed: np.uint64, how: Floats, state: tuple[Floats, ...], Z: Floats, answers: Floats
) -> int:
    """Answer, then learn, the rows of a batch; return -1, or the place of the first row that is not valid.

    `rows` is (data, unsigned indices, unsigned indptr). Dense rows are CSR rows that share one list of indices:
    their indptr is empty. `batch` is (count, order, y, weight) as in `learn_dense` of kernels/learning/halfspace.py.
    `answers[n]` is the score of the answer of round n. `state` is (W, V, F, C, S, M, t); F, (d + 2, d + 1) with the
    mean last, and C, for the d columns there were at first, are empty with many features. Z is empty, or of W's shape
    and then keeps the running averages.
    """
    W, V, F, C, S, M, t = state
    entries, few = V.size + LANES, F.shape[1] + LANES
    scratch = (
        np.empty(entries),
        np.empty(entries, np.uint64),
        np.empty(entries),
        np.empty(few),
        np.empty(few),
        np.empty(COLUMNS),
        np.empty(COLUMNS),
        np.empty(COLUMNS),
        np.empty(M.shape[1]),
    )
    flat = W, V, F.reshape(-1), C.reshape(-1), S, M, t
    return _learn(rows, batch, seed, how, flat, Z, answers, scratch)
