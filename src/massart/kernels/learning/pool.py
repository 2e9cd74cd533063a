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

from massart.kernels.compiling import Batch, Csr, Floats, njit
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.halfspace import LONGEST_SQUARE
from massart.kernels.learning.mixture import LEAST, Total, answer, judge, weigh
from massart.kernels.learning.simd import add_lanes, dot_lanes

DIAGONAL: Final = 4
PLAIN: Final = 8  # at most: the others are padding, so that the loops over columns have a length known beforehand
COLUMNS: Final = DIAGONAL + PLAIN
CENTRED: Final = 3
RECENT: Final = 1
FEW: Final = 64  # features up to which there are full and centred experts


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


# C: float64 (CENTRED_SIZE, d + 1), the centred experts: their weights, the last for the constant, come after these
MEAN, DEVIATION, CENTRED_SIZE = 0, 1, 2 + CENTRED  # the mean and c * (x - mean)^2 summed, of each feature
_RIDGE: Final = 100.0  # r of the diagonal columns
_PACES: Final = (1.0, 0.25, 16.0, 4.0)
_LATELY: Final = 1 / 16
_FULL_RIDGE: Final = 3.0
_FREE: Final = 2000.0  # so often the full matrix is updated whenever it should be; later, every 16th time
_EVERY: Final = 16.0
_CENTRED_PACES: Final = (3.0, 1.0, 0.3)
# What keeps finite rows from making a state that is not finite. Ordinary streams never come to any of these.
LARGEST_VARIANCE: Final = 1e100  # a feature smaller than 1e-50 counts as that
_LARGEST_HINGE: Final = 1e30
_LARGEST_SCORE: Final = 1e150
_LARGEST_DEVIATION: Final = 1e300
_LARGEST_CENTRED: Final = 1e100
_LARGEST_ROW: Final = 1e78  # weight times length: the sum of 2^53 squared gradients at a margin of 1e-50 is finite
_ZERO, _ONE, _FOUR = np.uint64(0), np.uint64(1), np.uint64(4)
_D, _C = np.uint64(DIAGONAL), np.uint64(COLUMNS)


@njit(cache=True, error_model="numpy", inline="always")
def _unit(square: float, how: Floats) -> float:
    """The factor that scales a row to norm 1; 1 for an all-zero row and for rows taken as they are."""
    return 1.0 / sqrt(square) if how[Setting.UNIT] != 0.0 and square > 0.0 else 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _length(square: float, how: Floats) -> float:
    """The length of a row so scaled."""
    return (1.0 if square > 0.0 else 0.0) if how[Setting.UNIT] != 0.0 else sqrt(square)


@njit(cache=True, error_model="numpy", inline="always")
def _measure(row: Any, bias: float, V: Floats, q: Floats) -> Any:
    """|x|^2 without the constant and x.q, with q_j = V_j x_j left in q; no state changes, the row may be refused."""
    data, indices, start, stop, shift = row
    d = np.uint64(V.size - 1)
    q[d] = bias * V[d] if V[d] > 0.0 or bias == 0.0 else 1.0 / bias
    square, reach = 0.0, bias * q[d]
    for p in range(start, stop):
        a, known = np.float64(data[p]), V[indices[p - shift]]
        ratio = known * a
        if known == 0.0 and a != 0.0:
            ratio = a / max(a * a, 1.0 / LARGEST_VARIANCE)
        q[p - start] = ratio
        square += a * a
        reach += a * ratio
    return square, reach


@njit(cache=True, error_model="numpy", inline="always")
def _dot(row: Any, bias: float, W: Floats, dots: Floats) -> None:
    """x.W for all columns: feature by feature, in turn, so that a zero and its absence are the same."""
    data, indices, start, stop, shift = row
    last = np.uint64(W.shape[0] - 1) * _C
    for c in range(_ZERO, _C, _FOUR):
        dots[c], dots[c + _ONE], dots[c + np.uint64(2)], dots[c + np.uint64(3)] = 0.0, 0.0, 0.0, 0.0
        add_lanes(dots, c, W, last + c, bias)
    p = start
    while p + np.uint64(3) < stop:
        i, j = p - shift, p + np.uint64(2)
        factors = np.float64(data[p]), np.float64(data[p + _ONE]), np.float64(data[j]), np.float64(data[j + _ONE])
        places = (
            np.uint64(indices[i]) * _C,
            np.uint64(indices[i + _ONE]) * _C,
            np.uint64(indices[i + np.uint64(2)]) * _C,
            np.uint64(indices[i + np.uint64(3)]) * _C,
        )
        for c in range(_ZERO, _C, _FOUR):
            dot_lanes(dots, c, W, places, factors)
        p += _FOUR
    while p < stop:
        a, place = np.float64(data[p]), np.uint64(indices[p - shift]) * _C
        for c in range(_ZERO, _C, _FOUR):
            add_lanes(dots, c, W, place + c, a)
        p += _ONE


@njit(cache=True, error_model="numpy", inline="always")
def _add(row: Any, bias: float, q: Floats, b: Floats, b_constant: Floats, W: Floats) -> None:
    """W[j] += q_j b in the diagonal columns, x_j b in the plain ones; b_constant for the constant's entry in these."""
    data, indices, start, stop, shift = row
    last = W.shape[0] - 1
    place = np.uint64(last) * _C
    add_lanes(W, place, b, _ZERO, q[last])
    for c in range(_D, _C, _FOUR):
        add_lanes(W, place + c, b_constant, c, bias)
    for p in range(start, stop):
        a, place = np.float64(data[p]), np.uint64(indices[p - shift]) * _C
        add_lanes(W, place, b, _ZERO, q[p - start])
        for c in range(_D, _C, _FOUR):
            add_lanes(W, place + c, b, c, a)


@njit(cache=True, error_model="numpy", inline="always")
def _scale(S: Floats, dots: Floats, lengths: tuple[float, float], heavy: float, plain: int, scores: Floats) -> None:
    """The scores of all columns; the caps cover the row before its label is looked at."""
    for k in range(DIAGONAL, DIAGONAL + plain):
        longest = heavy * (lengths[1] if S[Column.CONSTANT, k] != 0.0 else lengths[0])
        if longest * (1.0 - S[Column.ETA, k]) > S[Column.CAP, k] * S[Column.GAMMA, k]:
            S[Column.CAP, k] = longest * (1.0 - S[Column.ETA, k]) / S[Column.GAMMA, k]
            S[Column.SCALE, k] = 1.0 / sqrt(
                max(2.0 * (S[Column.CAP, k] * S[Column.CAP, k] + S[Column.SQUARES, k]), S[Column.NORM2, k])
            )
    for k in range(DIAGONAL):
        scores[k] = max(-_LARGEST_SCORE, min(_LARGEST_SCORE, S[Column.SCALE, k] * dots[k]))
    for k in range(DIAGONAL, DIAGONAL + plain):
        scores[k] = S[Column.SCALE, k] * dots[k]


@njit(cache=True, error_model="numpy", inline="always")
def _steps(
    S: Floats, dots: Floats, scores: Floats, squares: tuple[float, float], units: tuple[float, float],
    lengths: tuple[float, float], reach: float, y: float, c: float, heavy: float, b: Floats, b_constant: Floats,
    per_column: tuple[Floats, ...],
) -> None:  # fmt: skip
    """The b of all columns: FTRL on inverse-margin gradients for the plain ones, as `_step` of halfspace.py.

    Squared norms, factors that scale the row, and lengths so scaled are pairs: without the constant, with it.
    """
    unit, length, square, inverse, slope = per_column
    damped = 1.0 / (reach + _RIDGE / c)
    for k in range(2):
        b[k] = _PACES[k] * damped * y * min(_LARGEST_HINGE, max(0.0, 1.0 - y * scores[k]))
    # Loops of few arrays, so that the compiler takes four columns at a time.
    for k in range(DIAGONAL, COLUMNS):
        with_constant = S[Column.CONSTANT, k] != 0.0
        unit[k] = units[1] if with_constant else units[0]
        length[k] = lengths[1] if with_constant else lengths[0]
        square[k] = squares[1] if with_constant else squares[0]
    for k in range(DIAGONAL, COLUMNS):
        score = S[Column.SCALE, k] * dots[k] * unit[k]
        sign = 1.0 if dots[k] >= 0.0 else -1.0
        inverse[k] = 1.0 / (abs(score) + S[Column.GAMMA, k])
        slope[k] = 0.5 * c * ((1.0 - 2.0 * S[Column.ETA, k]) * sign - y) * inverse[k]
        S[Column.LINEAR, k] += slope[k] * score
        b[k] = -slope[k] * unit[k]
    for k in range(DIAGONAL, COLUMNS):
        S[Column.SQUARES, k] += slope[k] * slope[k] * length[k] * length[k]
        S[Column.NORM2, k] = max(0.0, S[Column.NORM2, k] + b[k] * (2.0 * dots[k] + b[k] * square[k]))
        S[Column.SCALE, k] = 1.0 / sqrt(
            max(2.0 * (S[Column.CAP, k] * S[Column.CAP, k] + S[Column.SQUARES, k]), S[Column.NORM2, k])
        )
    for k in range(DIAGONAL, COLUMNS):
        a = heavy * (S[Column.GAMMA, k] + length[k]) * inverse[k]
        S[Column.SPREAD, k] += a * a
        S[Column.INVERSE, k] += c * inverse[k]
        b_constant[k] = b[k] * S[Column.CONSTANT, k]
    # Last and without a loop: compiled into the loops above, or in one of its own, `exp` would slow them down.
    b[2] = _PACES[2] * damped * y / (1.0 + exp(min(700.0, y * scores[2])))
    b[3] = _PACES[3] * damped * y / (1.0 + exp(min(700.0, y * scores[3])))


@njit(cache=True, error_model="numpy", inline="always")
def _shrink(row: Any, bias: float, q: Floats, c: float, V: Floats) -> None:
    """V_j <- V_j / (1 + c x_j^2 V_j / r) from q_j = V_j x_j, which knows features that come for the first time."""
    data, indices, start, stop, shift = row
    d, rate = V.size - 1, c / _RIDGE
    V[d] = q[d] / (bias + rate * bias * bias * q[d]) if bias != 0.0 else 0.0
    for p in range(start, stop):
        a, ratio = np.float64(data[p]), q[p - start]
        if a != 0.0:
            V[indices[p - shift]] = ratio / (a + rate * a * a * ratio)


@njit(cache=True, error_model="numpy")
def _spread_out(row: Any, bias: float, x: Floats) -> None:
    """The row with its zeros and its constant in x; columns that came after x was made are left out."""
    data, indices, start, stop, shift = row
    last = np.uint64(x.size - 1)
    x[:] = 0.0
    x[last] = bias
    for p in range(start, stop):
        j = np.uint64(indices[p - shift])
        if j < last:
            x[j] = data[p]


@njit(cache=True, error_model="numpy")
def _few_scores(x: Floats, F: Floats, C: Floats, weight: float, z: Floats, scores: Floats) -> None:
    """Scores of the full matrix's mean, its last row, and of the centred experts, whose features are left in z."""
    d = x.size - 1
    for j in range(d):
        deviation = sqrt(C[DEVIATION, j] / max(weight, LEAST))
        centred = (x[j] - C[MEAN, j]) / (deviation if deviation > LEAST else np.inf)
        z[j] = max(-_LARGEST_CENTRED, min(_LARGEST_CENTRED, centred))
    z[d] = 1.0 if x[d] != 0.0 else 0.0  # in units of its own size, as the features
    full, fast, middle, slow = 0.0, 0.0, 0.0, 0.0
    for j in range(d + 1):
        full += x[j] * F[d + 1, j]
        fast += z[j] * C[CENTRED_SIZE - 3, j]
        middle += z[j] * C[CENTRED_SIZE - 2, j]
        slow += z[j] * C[CENTRED_SIZE - 1, j]
    # Should the matrix lose its precision, the others must still count.
    scores[0] = max(-_LARGEST_SCORE, min(_LARGEST_SCORE, full))
    scores[1], scores[2], scores[3] = fast, middle, slow


@njit(cache=True, error_model="numpy")
def _few_steps(x: Floats, y: float, c: float, t: Floats, scores: Floats, z: Floats, F: Floats, C: Floats) -> None:
    """Logistic descent in the centred features, then their means and deviations; AROW with z = F x."""
    d = x.size - 1
    length = 0.0
    for j in range(d + 1):
        length += z[j] * z[j]
    # Steps fall with the root of the rows that count; an outlier moves a score no further than any other row.
    step = sqrt(d + 1.0) / max(d + 1.0, length) / sqrt(t[Total.WEIGHT] / c)
    for k in range(CENTRED):
        slope = _CENTRED_PACES[k] * step * y / (1.0 + exp(min(700.0, y * scores[1 + k])))
        for j in range(d + 1):
            C[CENTRED_SIZE - CENTRED + k, j] += slope * z[j]
    # Without a constant coordinate there is no place for the means: features are only scaled.
    share = c / t[Total.WEIGHT] if x[d] != 0.0 else 0.0
    for j in range(d):
        away = x[j] - C[MEAN, j]
        C[MEAN, j] += away * share
        deviation = C[DEVIATION, j] + c * away * (x[j] - C[MEAN, j])
        C[DEVIATION, j] = max(0.0, min(_LARGEST_DEVIATION, deviation))  # below 0 by rounding

    if y * scores[0] >= 1.0:
        return
    t[Total.TIGHT] += 1.0
    if t[Total.TIGHT] > _FREE and t[Total.TIGHT] % _EVERY != 0.0:
        return
    z[:] = 0.0
    for j in range(d + 1):
        if x[j] != 0.0:
            if F[j, j] == 0.0:
                F[j, j] = 1.0 / max(x[j] * x[j], 1.0 / LARGEST_VARIANCE)
            for i in range(d + 1):
                z[i] += x[j] * F[j, i]
    reach = 0.0
    for j in range(d + 1):
        reach += x[j] * z[j]
    damped = 1.0 / (max(0.0, reach) + _FULL_RIDGE / c)
    for i in range(d + 1):
        if not damped * z[i] * z[i] <= F[i, i]:  # no variance can fall below 0: the matrix is lost to rounding
            F[: d + 1] = 0.0
            return
    gain = y * min(_LARGEST_HINGE, 1.0 - y * scores[0]) * damped
    for i in range(d + 1):
        F[d + 1, i] += gain * z[i]
        shrink = damped * z[i]
        for j in range(d + 1):
            F[i, j] -= shrink * z[j]


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
    data, indices, indptr = rows
    count, order, labels, weight = batch
    W, V, F, C, S, M, t = state
    few, bias = F.size > 0, how[Setting.BIAS]
    plain = M.shape[1] - DIAGONAL - RECENT - (1 + CENTRED if few else 0)
    recent = DIAGONAL + plain
    q, x, z = np.empty(V.size), np.empty(F.shape[1]), np.empty(F.shape[1])
    dots, b, b_constant, scores = np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS), np.empty(M.shape[1])
    per_column = np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS)
    for n in range(count):
        i = order[n] if order.size > 0 else np.uint64(n)
        if indptr.size == 0:
            start = i * np.uint64(indices.size)
            stop, shift = start + np.uint64(indices.size), start
        else:
            start, stop, shift = np.uint64(indptr[i]), np.uint64(indptr[i + _ONE]), _ZERO
        row = data, indices, start, stop, shift
        bare, reach = _measure(row, bias, V, q)
        squares = bare, bare + bias * bias
        if not (squares[1] < np.inf if how[Setting.UNIT] != 0.0 else squares[1] <= LONGEST_SQUARE):
            return n
        y, c = np.float64(labels[i]), weight[i] if weight.size > 0 else 1.0
        heavy = c * max(how[Setting.NEGATIVE], how[Setting.POSITIVE])  # the label is not known yet
        units = _unit(squares[0], how), _unit(squares[1], how)
        lengths = _length(squares[0], how), _length(squares[1], how)
        if heavy * (1.0 + lengths[1]) > _LARGEST_ROW:  # it counts for less, and nothing is proved
            c *= _LARGEST_ROW / (heavy * (1.0 + lengths[1]))
            heavy, t[Total.UNPROVED] = c * max(how[Setting.NEGATIVE], how[Setting.POSITIVE]), 1.0

        _dot(row, bias, W, dots)
        _scale(S, dots, lengths, heavy, plain, scores)
        scores[recent] = t[Total.TREND] if bias != 0.0 else 0.0
        if few:
            _spread_out(row, bias, x)
            _few_scores(x, F, C, t[Total.WEIGHT], z, scores[recent + RECENT :])
        weigh(t, heavy)
        t[Total.LONGEST2] = max(t[Total.LONGEST2], lengths[1] * lengths[1])
        answers[n], vote = answer(M, t, scores, how[Setting.VOTING], seed)

        c *= how[Setting.POSITIVE] if y > 0.0 else how[Setting.NEGATIVE]
        for k in range(DIAGONAL + plain):
            S[Column.SCALED, k] += c * S[Column.SCALE, k]
        judge(M, t, scores, answers[n], vote, y, c, how[Setting.VOTING])
        _steps(S, dots, scores, squares, units, lengths, reach, y, c, heavy, b, b_constant, per_column)
        _add(row, bias, q, b, b_constant, W)
        if Z.size > 0:
            _add(row, bias, q, b * S[Column.SCALED], b_constant * S[Column.SCALED], Z)
        # One visit in four, for four: variances change slowly, and divisions are what a visit costs.
        if y * scores[0] < 1.0 and t[Total.ROUNDS] % 4.0 == 1.0:
            _shrink(row, bias, q, 4.0 * c, V)
        t[Total.TREND] += _LATELY * (y - t[Total.TREND])
        if few:
            _few_steps(x, y, c, t, scores[recent + RECENT :], z, F, C)
    return -1
