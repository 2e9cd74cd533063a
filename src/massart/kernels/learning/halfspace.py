"""Algorithm 1 and its sharper form: one round in O(non-zeros of the row), over dense rows, CSR rows or one row.

Symbols (the paper's, on the left) and where they live:

    w^(t)     weights            w = s[SCALE] * v; only v is touched by a row, so a round never costs O(d)
    x^(t)     row                scaled to norm 1 when rule[UNIT] is set: sign(w.x) stays what it was
    eta       noise rate         rule[ETA]            Delta = 1 - 2 eta
    gamma     margin             rule[GAMMA]
    eps, tau  slack and floor    update "paper" only
    G, S      largest gradient norm, sum of squared gradient norms: s[CAP], s[SQUARES]

One round, every update alike (`_step`):

    s   = sign(w.x), with sign(0) = +1 in the prediction and in the gradient
    m   = |w.x| + gamma                            "inverse-margin" (Lemma 0 of docs/theory.md)
          max(|w.x|, tau)                          "paper" (Algorithm 1, line 3d)
    g   = 1/2 (Delta s - y) x / m                  Delta becomes 1 - 2 eta - eps for "paper"
    w  <- one step of an optimiser of linear losses on <g, .>:
          ftrl          w = theta / max(sqrt(2 (G^2 + S)), |theta|),  theta = -sum g
          fixed         w = w - lambda g
          adagrad-norm  w = w - sqrt(2 / S) g, back to the unit ball
          paper         w = w - 2 / (G sqrt(T)) g, back to the unit ball

Where this differs from the paper's box, and why (numbers as in docs/paper-to-code.md):

1. w_1 = 0 instead of e_1: it halves the distance to w*; sign(0) = +1 is fixed (erratum 8).
2. The domain is the unit ball, which the box leaves open (erratum 11).
3. Without a horizon, round t uses the slack, floor and step of horizon t (the analysis is per round).
4. A row may carry an importance weight c: its gradient is multiplied by c. Weights of the two labels, if there are any
   (rule[NEGATIVE], rule[POSITIVE]), multiply it; eta is then that of Theorem 13.
5. LINEAR, SPREAD, INVERSE and FIRST feed the certificate (Theorems 12 and 16). No step reads them.

State is plain arrays, to be cached, copied, saved and compared bit for bit; places have names, of which the compiler
makes constants. (A NumPy record as an argument would make a call for one row six times as long.) No `fastmath` flag
lets the compiler add up in another order than that of kernels/learning/sums.py: a dense row, its CSR form, the row
alone and the row with more columns of zeros give the same bits. They have to, for w.x = 0 is a cliff: one rounding that
differs decides a prediction later.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Batch, Csr, Floats, Values, njit
from massart.kernels.learning.sums import add_dense, read_csr, read_csr_with_zeros, read_dense, read_dense_with_zeros


class Rule(IntEnum):
    """Places in `rule`, float64: the parameters of a learner, which no kernel changes."""

    KIND = 0
    ETA = 1
    GAMMA = 2
    PACE = 3
    UNIT = 4
    BIAS = 5  # the value of the constant coordinate, 0 without an intercept
    NEGATIVE = 6  # the weight of rows labelled -1
    POSITIVE = 7  # and of those labelled +1


class State(IntEnum):
    """Places in `s`, float64: what one halfspace remembers besides v."""

    SCALE = 0  # w = SCALE * v
    NORM2 = 1  # |v|^2 for ftrl and fixed (v = theta), |w|^2 for the projected updates
    SQUARES = 2  # S, the sum of squared gradient norms
    CAP = 3  # G, the largest gradient norm that a row so far could have had
    STEPPED = 4  # sum of step * |g|^2, for the regret of the paper's decreasing steps
    STEP = 5  # the paper's last step
    SLACK = 6  # sum of c * eps / 2
    FLOOR = 7  # the paper's last tau, its smallest
    ROUNDS = 8  # rows learned
    MISTAKES = 9  # rows predicted wrongly before they were learned
    WEIGHT = 10  # sum of c
    WEIGHT2 = 11  # sum of c^2
    HEAVIEST = 12  # largest c
    LONGEST2 = 13  # largest squared length of a row as learned: 1 when rows are scaled
    WRONG = 14  # sum of c over mistakes
    SCALED = 15  # sum of c * SCALE: the running average of w is (SCALED * v - z) / WEIGHT
    LINEAR = 16  # sum of <g, w>
    SPREAD = 17  # sum of eta (1 - eta) a^2, a = c (gamma + |x|) / m the most that chance can add in a round
    INVERSE = 18  # sum of c * gamma / m
    FIRST = 19  # c of the first row
    POSITIVES = 20  # sum of c over rows labelled +1
    UNPROVED = 21  # 1 if what the theorem assumes is known not to hold


# One more entry of s, which is in no file: not 0 while a batch is being learned, so that a single row has to wait.
TAKEN: Final = len(State)
FTRL, FIXED, ADAGRAD, PAPER = 0.0, 1.0, 2.0, 3.0

LONGEST_SQUARE: Final = 2.0001e100  # of rows that are not scaled, and their constant: more than the door lets pass

# Projections make SCALE smaller and smaller: once below this number, it hands the number to v as a factor. As a power
# of two it rounds nothing, and it is large enough for v.x to be finite whatever the length of x.
_SMALLEST_SCALE: Final = 2.0**-200
_SMALLEST_SUMMED: Final = 2.0**-20  # the same where a running average is kept: SCALED * v - z loses so many bits
# Gradients are cut here. Only weights, lengths and margins near the ends of their ranges, all at once, come to it:
# nothing is proved then. The sum of 2^53 squares of them is finite.
_LARGEST_GRADIENT: Final = 1e130
_LARGEST_SQUARE: Final = 1e260
_LARGEST_CHANCE: Final = 1e140
_SMALLEST_SQUARES: Final = 1e-290  # 2 / S must be finite


@njit(cache=True, error_model="numpy", inline="always")
def _unit(square: float, rule: Floats) -> float:
    """The factor that scales a row to norm 1; 1 for an all-zero row and for rows taken as they are."""
    return 1.0 / sqrt(square) if rule[Rule.UNIT] != 0.0 and square > 0.0 else 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _is_valid(square: float, rule: Floats) -> bool:
    """Whether a row is finite and, if it is taken as it is, at most 1e50 long, as its constant is."""
    return square < np.inf if rule[Rule.UNIT] != 0.0 else square <= LONGEST_SQUARE


@njit(cache=True, error_model="numpy", inline="always")
def _count(s: Floats, sign: float, y: float, c: float, heavy: float, length2: float) -> None:
    """One more row, of weight c and at most `heavy` whatever its label."""
    if s[State.ROUNDS] == 0.0:
        s[State.FIRST] = heavy
    s[State.ROUNDS] += 1.0
    s[State.WEIGHT] += c
    s[State.WEIGHT2] += c * c
    s[State.HEAVIEST] = max(s[State.HEAVIEST], heavy)
    s[State.POSITIVES] += c if y > 0.0 else 0.0
    s[State.LONGEST2] = max(s[State.LONGEST2], length2)
    if sign != y:
        s[State.MISTAKES] += 1.0
        s[State.WRONG] += c


@njit(cache=True, error_model="numpy", inline="always")
def _pace(s: Floats, rule: Floats, longest: float, delta: float) -> float:
    """The paper's slack for this round; its floor, cap and step are left in s. `longest` is weight times length."""
    horizon = rule[Rule.PACE] if rule[Rule.PACE] > 0.0 else s[State.ROUNDS]
    eps = min(0.5 * delta, 1.0 / sqrt(rule[Rule.GAMMA] * sqrt(horizon)))  # theory.paper_slack, erratum 16
    s[State.FLOOR] = 0.25 * eps * rule[Rule.GAMMA]  # Algorithm 1, line 1
    s[State.CAP] = min(_LARGEST_GRADIENT, max(s[State.CAP], longest * 0.5 * (1.0 + delta - eps) / s[State.FLOOR]))
    s[State.STEP] = 2.0 / (s[State.CAP] * sqrt(horizon))  # Fact 2.4, diameter 2
    return eps


@njit(cache=True, error_model="numpy", inline="always")
def _step(s: Floats, rule: Floats, dot: float, square: float, unit: float, y: float, c: float) -> float:
    """Learn one row x, scaled by `unit`, from dot = v.x and square = |x|^2; return b for v <- v + b x."""
    kind, eta, gamma = rule[Rule.KIND], rule[Rule.ETA], rule[Rule.GAMMA]
    length2 = square * unit * unit
    heavy = c * max(
        rule[Rule.NEGATIVE], rule[Rule.POSITIVE]
    )  # the largest weight that the row can have: its label is not known
    c *= rule[Rule.POSITIVE] if y > 0.0 else rule[Rule.NEGATIVE]
    reach = heavy * (1.0 - eta)  # reach * length / gamma: the largest gradient norm this row can have
    sign = 1.0 if dot >= 0.0 else -1.0

    _count(s, sign, y, c, heavy, length2)

    # The cap covers this row before its label is looked at: the weight and the length are known by then.
    if kind != PAPER and reach * reach * length2 > (s[State.CAP] * gamma) ** 2:
        s[State.CAP] = reach * sqrt(length2) / gamma
        if s[State.CAP] > _LARGEST_GRADIENT:
            s[State.CAP], s[State.UNPROVED] = _LARGEST_GRADIENT, 1.0
        if kind == FTRL:
            s[State.SCALE] = 1.0 / sqrt(max(2.0 * (s[State.CAP] * s[State.CAP] + s[State.SQUARES]), s[State.NORM2]))
    s[State.SCALED] += c * s[State.SCALE]

    u = s[State.SCALE] * abs(dot) * unit
    delta = 1.0 - 2.0 * eta
    rate, floor, m = eta, gamma, u + gamma
    if kind == PAPER:
        eps = _pace(s, rule, heavy * sqrt(length2), delta)
        s[State.SLACK] += 0.5 * c * eps
        delta -= eps
        rate, floor, m = eta + 0.5 * eps, s[State.FLOOR], max(u, s[State.FLOOR])

    k = 0.5 * c * (delta * sign - y) / m  # g = k x, x scaled
    square_of_g = k * k * length2
    if not square_of_g <= _LARGEST_SQUARE:  # not a number either, where k^2 overflows and the row is 0
        k = (_LARGEST_GRADIENT if k > 0.0 else -_LARGEST_GRADIENT) / max(1.0, sqrt(length2))
        square_of_g, s[State.UNPROVED] = k * k * length2, 1.0
    s[State.SQUARES] += square_of_g

    a = heavy * (floor + (1.0 if rule[Rule.UNIT] != 0.0 else sqrt(length2))) / m
    if a > _LARGEST_CHANCE:
        a, s[State.UNPROVED] = _LARGEST_CHANCE, 1.0
    s[State.LINEAR] += k * sign * u
    s[State.SPREAD] += rate * (1.0 - rate) * a * a
    s[State.INVERSE] += c * floor / m

    norm2, scale = s[State.NORM2], s[State.SCALE]
    if kind in (FTRL, FIXED):
        b = -k * unit
        norm2 = max(0.0, norm2 + b * (2.0 * dot + b * square))
        if kind == FTRL:
            scale = 1.0 / sqrt(max(2.0 * (s[State.CAP] * s[State.CAP] + s[State.SQUARES]), norm2))
    else:
        step = s[State.STEP]
        if kind == ADAGRAD:
            # 0/0 on correct first rounds at eta = 0
            step = sqrt(2.0 / s[State.SQUARES]) if s[State.SQUARES] > _SMALLEST_SQUARES else 0.0
        s[State.STEPPED] += step * square_of_g
        b = -step * k * unit / scale
        norm2 = max(0.0, norm2 + step * k * (step * k * length2 - 2.0 * scale * dot * unit))
        if norm2 > 1.0:
            scale /= sqrt(norm2)
            norm2 = 1.0
    s[State.NORM2], s[State.SCALE] = norm2, scale
    return b


@njit(cache=True, error_model="numpy", inline="always")
def _round(s: Floats, rule: Floats, dot: float, square: float, y: float, c: float) -> Any:
    """(w.x with x scaled, as it was before; b for v <- v + b x) of one round."""
    unit = _unit(square, rule)
    score = s[State.SCALE] * dot * unit
    return score, _step(s, rule, dot, square, unit, y, c)


@njit(cache=True, error_model="numpy")
def _refold(v: Floats, z: Floats, s: Floats, factor: float) -> None:
    """Keep the scale of a projected update from underflow: once in thousands of projections.

    The sum of c * w so far, SCALED * v - z, moves into z: SCALED would have to grow without end.
    """
    for j in range(z.size):
        z[j] -= s[State.SCALED] * v[j]
    for j in range(v.size):
        v[j] *= factor
    s[State.SCALED] = 0.0
    s[State.SCALE] /= factor


@njit(cache=True, error_model="numpy", nogil=True)
def learn_dense(X: Values, batch: Batch, rule: Floats, v: Floats, z: Floats, s: Floats, scores: Floats) -> int:
    """Predict, then learn, the rows of a batch; return -1, or the place of the first row that is not valid.

    `batch` is (count, order, y, weight): round t is row order[t], or row t if `order` is empty, with label y and
    weight 1 if `weight` is empty. `scores[t]`, unless `scores` is empty, becomes w.x (x scaled) as it was before round
    t. `z` is empty, or of v's length and then keeps the running average. The last entry of v belongs to the constant.
    Rounds before a row that is not valid have been learned: who calls has a copy to go back to.
    """
    count, order, y, weight = batch
    last, bias = np.uint64(v.size - 1), rule[Rule.BIAS]
    flat, values, places = X.reshape(-1), np.empty(last), np.empty(last, np.uint64)
    smallest = _SMALLEST_SUMMED if z.size > 0 else _SMALLEST_SCALE
    for t in range(count):
        i = order[t] if order.size > 0 else np.uint64(t)
        start = i * last
        dot, square, has_zeros = read_dense(flat, start, start + last, v)
        if has_zeros:
            dot, square = read_dense_with_zeros(flat, start, start + last, v, values, places)
        dot, square = dot + v[last] * bias, square + bias * bias
        if not _is_valid(square, rule):
            return t
        score, b = _round(s, rule, dot, square, np.float64(y[i]), weight[i] if weight.size > 0 else 1.0)
        if scores.size > 0:
            scores[t] = score
        add_dense(b, flat, start, last, v)
        v[last] += b * bias
        if z.size > 0:
            b *= s[State.SCALED]
            add_dense(b, flat, start, last, z)
            z[last] += b * bias
        if s[State.SCALE] < smallest and rule[Rule.KIND] >= ADAGRAD:
            _refold(v, z, s, smallest)
    return -1


@njit(cache=True, error_model="numpy", nogil=True)
def learn_csr(rows: Csr, batch: Batch, rule: Floats, v: Floats, z: Floats, s: Floats, scores: Floats) -> int:
    """`learn_dense` for CSR rows (data, indices, indptr), both unsigned, indices in any order without repeats."""
    data, indices, indptr = rows
    count, order, y, weight = batch
    last, bias = np.uint64(v.size - 1), rule[Rule.BIAS]
    smallest = _SMALLEST_SUMMED if z.size > 0 else _SMALLEST_SCALE
    for t in range(count):
        i = order[t] if order.size > 0 else np.uint64(t)
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
        dot, square, has_zeros = read_csr(data, indices, start, stop, v)
        if has_zeros:
            dot, square = read_csr_with_zeros(data, indices, start, stop, v)
        dot, square = dot + v[last] * bias, square + bias * bias
        if not _is_valid(square, rule):
            return t
        score, b = _round(s, rule, dot, square, np.float64(y[i]), weight[i] if weight.size > 0 else 1.0)
        if scores.size > 0:
            scores[t] = score
        for q in range(start, stop):
            v[indices[q]] += b * data[q]
        v[last] += b * bias
        if z.size > 0:
            b *= s[State.SCALED]
            for q in range(start, stop):
                z[indices[q]] += b * data[q]
            z[last] += b * bias
        if s[State.SCALE] < smallest and rule[Rule.KIND] >= ADAGRAD:
            _refold(v, z, s, smallest)
    return -1


@njit(cache=True, error_model="numpy")
def _read_row(x: Values, v: Floats, bias: float) -> Any:
    """v.x and |x|^2 of one row, with the constant coordinate."""
    d = np.uint64(x.size)
    dot, square, has_zeros = read_dense(x, np.uint64(0), d, v)
    if has_zeros:
        dot, square = read_dense_with_zeros(x, np.uint64(0), d, v, np.empty(d), np.empty(d, np.uint64))
    return dot + v[d] * bias, square + bias * bias


@njit(cache=True, error_model="numpy")
def score_row(x: Values, rule: Floats, v: Floats, s: Floats) -> float:
    """w.x with x scaled; NaN when x is not finite, or too long to be learned as it is; infinity when s is taken."""
    if s[TAKEN] != 0.0:
        return np.inf
    dot, square = _read_row(x, v, rule[Rule.BIAS])
    return s[State.SCALE] * dot * _unit(square, rule) if _is_valid(square, rule) else np.nan


@njit(cache=True, error_model="numpy")
def learn_row(x: Values, y: float, c: float, rule: Floats, v: Floats, s: Floats) -> float:
    """Learn one dense row and return its score from before; NaN, and nothing learned, when x is not valid.

    Infinity, and nothing learned, when s is taken.
    """
    if s[TAKEN] != 0.0:
        return np.inf
    bias = rule[Rule.BIAS]
    dot, square = _read_row(x, v, bias)
    if not _is_valid(square, rule):
        return np.nan
    score, b = _round(s, rule, dot, square, y, c)
    add_dense(b, x, np.uint64(0), np.uint64(x.size), v)
    v[x.size] += b * bias
    if s[State.SCALE] < _SMALLEST_SCALE and rule[Rule.KIND] >= ADAGRAD:
        _refold(v, v[:0], s, _SMALLEST_SCALE)
    return score
