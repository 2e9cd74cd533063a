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

1. w_1 = 0 instead of e_1: it halves the distance to w*; sign(0) = +1 is fixed (erratum 5).
2. The domain is the unit ball, which the box leaves open (erratum 4).
3. Without a horizon, round t uses the slack, floor and step of horizon t (the analysis is per round).
4. A row may carry an importance weight c: its gradient is multiplied by c.

State is plain arrays, so that it can be cached, copied, saved and compared bit for bit. The flags below let the
compiler reorder sums, but keep NaN and infinity what they are: the checks for them would otherwise vanish.
"""

from math import sqrt
from typing import Any, Final

import numpy as np
from numba import njit

# rule: float64 (RULE_SIZE,), what the learner was told
KIND, ETA, GAMMA, PACE, UNIT, BIAS, RULE_SIZE = range(7)
# s: float64 (STATE_SIZE,), what one halfspace remembers besides v
(
    SCALE,  # w = SCALE * v
    NORM2,  # |v|^2 for ftrl and fixed (v = theta), |w|^2 for the projected updates
    SQUARES,  # S, the sum of squared gradient norms
    CAP,  # G, the largest gradient norm that a row so far could have had
    STEPPED,  # sum of step * |g|^2, for the regret of the paper's decreasing steps
    STEP,  # the paper's last step
    SLACK,  # sum of c * eps / 2
    FLOOR,  # the paper's last tau, its smallest
    ROUNDS,  # rows learned
    MISTAKES,  # rows predicted wrongly before they were learned
    WEIGHT,  # sum of c
    WEIGHT2,  # sum of c^2
    HEAVIEST,  # largest c
    LONGEST,  # largest length of a row as learned: 1 when rows are scaled
    WRONG,  # sum of c over mistakes
    SCALED,  # sum of c * SCALE: the running average of w is (SCALED * v - z) / WEIGHT
    STATE_SIZE,
) = range(17)
FTRL, FIXED, ADAGRAD, PAPER = 0.0, 1.0, 2.0, 3.0

_SMALLEST_SCALE: Final = 1e-280
_FAST: Final = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, fastmath=_FAST, inline="always")
def _step(s: Any, rule: Any, dot: float, square: float, y: float, c: float) -> float:
    """Learn one row from `dot` = v.x and `square` = |x|^2; return the coefficient b of v <- v + b x."""
    kind, eta, gamma = rule[KIND], rule[ETA], rule[GAMMA]
    unit = 1.0 / sqrt(square) if rule[UNIT] != 0.0 and square > 0.0 else 1.0
    length = sqrt(square) * unit
    sign = 1.0 if dot >= 0.0 else -1.0

    s[ROUNDS] += 1.0
    s[WEIGHT] += c
    s[WEIGHT2] += c * c
    s[HEAVIEST] = max(s[HEAVIEST], c)
    s[LONGEST] = max(s[LONGEST], length)
    if sign != y:
        s[MISTAKES] += 1.0
        s[WRONG] += c

    # The cap covers this row before its label is looked at: the weight and the length are known by then.
    if kind != PAPER and c * length * (1.0 - eta) > s[CAP] * gamma:
        s[CAP] = c * length * (1.0 - eta) / gamma
        if kind == FTRL:
            s[SCALE] = 1.0 / max(sqrt(2.0 * (s[CAP] * s[CAP] + s[SQUARES])), sqrt(s[NORM2]))
    s[SCALED] += c * s[SCALE]

    u = s[SCALE] * abs(dot) * unit
    delta = 1.0 - 2.0 * eta
    m = u + gamma
    if kind == PAPER:
        horizon = rule[PACE] if rule[PACE] > 0.0 else s[ROUNDS]
        eps = min(0.5 * delta, (gamma * sqrt(horizon)) ** -0.5)  # theory.paper_slack, erratum 10
        tau = 0.25 * eps * gamma  # Algorithm 1, line 1
        s[CAP] = max(s[CAP], c * length * 0.5 * (1.0 + delta - eps) / tau)
        s[STEP] = 2.0 / (s[CAP] * sqrt(horizon))  # Fact 2.4, diameter 2
        s[FLOOR] = tau
        s[SLACK] += 0.5 * c * eps
        delta -= eps
        m = max(u, tau)

    k = 0.5 * c * (delta * sign - y) / m  # g = k x, x scaled
    square_of_g = k * k * length * length
    s[SQUARES] += square_of_g

    if kind == FTRL or kind == FIXED:
        b = -k * unit
        s[NORM2] = max(0.0, s[NORM2] + b * (2.0 * dot + b * square))
        if kind == FTRL:
            s[SCALE] = 1.0 / max(sqrt(2.0 * (s[CAP] * s[CAP] + s[SQUARES])), sqrt(s[NORM2]))
        return b

    step = s[STEP]
    if kind == ADAGRAD:
        step = sqrt(2.0 / s[SQUARES]) if s[SQUARES] > 0.0 else 0.0  # 0/0 on correct first rounds at eta = 0
    s[STEPPED] += step * square_of_g
    b = -step * k * unit / s[SCALE]
    norm2 = max(0.0, s[NORM2] + step * k * (step * k * length * length - 2.0 * s[SCALE] * dot * unit))
    if norm2 > 1.0:
        s[SCALE] /= sqrt(norm2)
        norm2 = 1.0
    s[NORM2] = norm2
    return b


@njit(cache=True)
def _refold(v: Any, s: Any) -> None:
    """Multiply the scale into v before it underflows: once in tens of thousands of projections."""
    for j in range(v.size):
        v[j] *= s[SCALE]
    s[SCALED] /= s[SCALE]
    s[SCALE] = 1.0


@njit(cache=True, fastmath=_FAST, inline="always")
def _read(x: Any, v: Any, bias: float) -> Any:
    """v.x and |x|^2 of a dense row, the constant coordinate included."""
    d = np.uint64(x.size)
    dot = v[d] * bias
    square = bias * bias
    for j in range(d):
        dot += x[j] * v[j]
        square += np.float64(x[j]) * x[j]
    return dot, square


@njit(cache=True, fastmath=_FAST, inline="always")
def _add(b: float, x: Any, bias: float, v: Any) -> None:
    """v <- v + b x."""
    d = np.uint64(x.size)
    for j in range(d):
        v[j] += b * x[j]
    v[d] += b * bias


@njit(cache=True, fastmath=_FAST, inline="always")
def _score(dot: float, square: float, rule: Any, s: Any) -> float:
    """w.x with x scaled."""
    return s[SCALE] * dot / (sqrt(square) if rule[UNIT] != 0.0 and square > 0.0 else 1.0)


@njit(cache=True, fastmath=_FAST)
def learn_dense(X: Any, y: Any, weight: Any, order: Any, rule: Any, v: Any, z: Any, s: Any, scores: Any) -> None:
    """Predict, then learn, rows X[order[0]], X[order[1]], ...

    `scores[t]` becomes w.x (x scaled) as it was before row order[t] was learned. `z` is empty, or of v's length
    and then keeps the running average. The last entry of v belongs to the constant coordinate.
    """
    bias = rule[BIAS]
    for t in range(order.size):
        i = order[t]
        x = X[i]
        dot, square = _read(x, v, bias)
        scores[t] = _score(dot, square, rule, s)
        b = _step(s, rule, dot, square, y[i], weight[i])
        _add(b, x, bias, v)
        if z.size > 0:
            _add(b * s[SCALED], x, bias, z)
        if s[SCALE] < _SMALLEST_SCALE:
            _refold(v, s)


@njit(cache=True, fastmath=_FAST)
def learn_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    y: Any,
    weight: Any,
    order: Any,
    rule: Any,
    v: Any,
    z: Any,
    s: Any,
    scores: Any,
) -> None:
    """`learn_dense` for CSR rows without repeated indices; `indices` and `indptr` unsigned."""
    last = np.uint64(v.size - 1)
    bias = rule[BIAS]
    for t in range(order.size):
        i = order[t]
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
        dot = v[last] * bias
        square = bias * bias
        for p in range(start, stop):
            dot += data[p] * v[indices[p]]
            square += np.float64(data[p]) * data[p]
        scores[t] = _score(dot, square, rule, s)
        b = _step(s, rule, dot, square, y[i], weight[i])
        for p in range(start, stop):
            v[indices[p]] += b * data[p]
        v[last] += b * bias
        if z.size > 0:
            b *= s[SCALED]
            for p in range(start, stop):
                z[indices[p]] += b * data[p]
            z[last] += b * bias
        if s[SCALE] < _SMALLEST_SCALE:
            _refold(v, s)


@njit(cache=True, fastmath=_FAST)
def score_row(x: Any, rule: Any, v: Any, s: Any) -> float:
    """w.x with x scaled; NaN when x is not finite (its squared norm tells)."""
    dot, square = _read(x, v, rule[BIAS])
    return _score(dot, square, rule, s) if square < np.inf else np.nan


@njit(cache=True, fastmath=_FAST)
def learn_row(x: Any, y: float, c: float, rule: Any, v: Any, s: Any) -> float:
    """Learn one dense row and return its score from before; NaN, and nothing learned, when x is not finite."""
    bias = rule[BIAS]
    dot, square = _read(x, v, bias)
    if not square < np.inf:
        return np.nan
    score = _score(dot, square, rule, s)
    _add(_step(s, rule, dot, square, y, c), x, bias, v)
    if s[SCALE] < _SMALLEST_SCALE:
        _refold(v, s)
    return score


# Many halfspaces side by side. Column c = (class k, expert e) of V (d + 1, K * E) is one halfspace with its own row
# of S and of rules; a feature's weights for all columns lie together, so one pass over the row serves them all.
# Experts of a class are mixed by AdaHedge (de Rooij, van Erven, Gruenwald, Koolen 2014): weights exp(-L ln E / gap)
# with L the experts' losses so far; its price is at most 2 * gap, without a learning rate or a horizon.
# totals: float64 (TOTALS_SIZE,), the predictions of the whole
TOTAL_ROUNDS, TOTAL_MISTAKES, TOTAL_WEIGHT, TOTAL_WEIGHT2, TOTAL_HEAVIEST, TOTAL_WRONG, TOTALS_SIZE = range(7)


@njit(cache=True, inline="always")
def _coin(seed: Any, number: float) -> float:
    """The `number`-th uniform draw in [0, 1) of stream `seed`: SplitMix64 (Steele, Lea, Flood 2014), no state."""
    h = seed + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((h ^ (h >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def _mixture(losses: Any, gap: float, p: Any) -> None:
    """AdaHedge's weights p over the experts of one class."""
    best = losses.min()
    total = 0.0
    for e in range(losses.size):
        if gap > 0.0:
            p[e] = np.exp((best - losses[e]) * np.log(losses.size) / gap)
        else:
            p[e] = 1.0 if losses[e] == best else 0.0
        total += p[e]
    for e in range(losses.size):
        p[e] /= total


@njit(cache=True)
def _play(
    dots: Any,
    square: float,
    label: int,
    c: float,
    seed: Any,
    rules: Any,
    S: Any,
    losses: Any,
    gaps: Any,
    totals: Any,
    b: Any,
) -> int:
    """One round of all columns from their v.x: return the class predicted, fill b with the coefficients of x."""
    classes, experts = losses.shape
    p = np.empty(experts)
    answer, highest = 0, -np.inf
    for k in range(classes):
        _mixture(losses[k], gaps[k], p)
        # An expert drawn with probability p predicts for the class, by a coin the label cannot know.
        coin = _coin(seed, totals[TOTAL_ROUNDS] * classes + k)
        e = 0
        while e < experts - 1 and coin >= p[e]:
            coin -= p[e]
            e += 1
        column = k * experts + e
        score = S[column, SCALE] * dots[column]
        if classes == 1:
            answer = 1 if score >= 0.0 else 0
        elif score > highest:
            answer, highest = k, score

        y = 1.0 if (label == 1 if classes == 1 else label == k) else -1.0
        old, right, wrong = losses[k].min(), 0.0, 0.0
        for e in range(experts):
            column = k * experts + e
            if (dots[column] >= 0.0) == (y > 0.0):
                right += p[e]
            else:
                wrong += p[e]
                losses[k, e] += c
            b[column] = _step(S[column], rules[column], dots[column], square, y, c)
        if gaps[k] > 0.0:
            rate = np.log(experts) / gaps[k]
            mixed = -np.log(right + wrong * np.exp(-rate * c)) / rate
        else:
            mixed = losses[k].min() - old
        gaps[k] += max(0.0, wrong * c - mixed)

    totals[TOTAL_ROUNDS] += 1.0
    totals[TOTAL_WEIGHT] += c
    totals[TOTAL_WEIGHT2] += c * c
    totals[TOTAL_HEAVIEST] = max(totals[TOTAL_HEAVIEST], c)
    if answer != label:
        totals[TOTAL_MISTAKES] += 1.0
        totals[TOTAL_WRONG] += c
    return answer


@njit(cache=True)
def _refold_columns(V: Any, S: Any) -> None:
    """`_refold` for the columns that need it."""
    for column in range(V.shape[1]):
        if S[column, SCALE] < _SMALLEST_SCALE:
            _refold(V[:, column], S[column])


@njit(cache=True, fastmath=_FAST)
def learn_dense_columns(
    X: Any,
    labels: Any,
    weight: Any,
    order: Any,
    seed: Any,
    rules: Any,
    V: Any,
    Z: Any,
    S: Any,
    losses: Any,
    gaps: Any,
    totals: Any,
    answers: Any,
) -> None:
    """Predict, then learn, dense rows with all columns; `answers[t]` is the class predicted for row order[t]."""
    d, columns, bias = X.shape[1], V.shape[1], rules[0, BIAS]
    dots, b = np.empty(columns), np.empty(columns)
    for t in range(order.size):
        i = order[t]
        square = bias * bias
        for c in range(columns):
            dots[c] = bias * V[d, c]
        for j in range(d):
            square += np.float64(X[i, j]) * X[i, j]
            for c in range(columns):
                dots[c] += X[i, j] * V[j, c]
        answers[t] = _play(dots, square, labels[i], weight[i], seed, rules, S, losses, gaps, totals, b)
        for j in range(d):
            for c in range(columns):
                V[j, c] += b[c] * X[i, j]
        for c in range(columns):
            V[d, c] += b[c] * bias
        if Z.size > 0:
            for c in range(columns):
                b[c] *= S[c, SCALED]
                Z[d, c] += b[c] * bias
            for j in range(d):
                for c in range(columns):
                    Z[j, c] += b[c] * X[i, j]
        _refold_columns(V, S)


@njit(cache=True, fastmath=_FAST)
def learn_csr_columns(
    data: Any,
    indices: Any,
    indptr: Any,
    labels: Any,
    weight: Any,
    order: Any,
    seed: Any,
    rules: Any,
    V: Any,
    Z: Any,
    S: Any,
    losses: Any,
    gaps: Any,
    totals: Any,
    answers: Any,
) -> None:
    """`learn_dense_columns` for CSR rows without repeated indices; `indices` and `indptr` unsigned."""
    d, columns, bias = V.shape[0] - 1, V.shape[1], rules[0, BIAS]
    dots, b = np.empty(columns), np.empty(columns)
    for t in range(order.size):
        i = order[t]
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
        square = bias * bias
        for c in range(columns):
            dots[c] = bias * V[d, c]
        for q in range(start, stop):
            square += np.float64(data[q]) * data[q]
            for c in range(columns):
                dots[c] += data[q] * V[indices[q], c]
        answers[t] = _play(dots, square, labels[i], weight[i], seed, rules, S, losses, gaps, totals, b)
        for q in range(start, stop):
            for c in range(columns):
                V[indices[q], c] += b[c] * data[q]
        for c in range(columns):
            V[d, c] += b[c] * bias
        if Z.size > 0:
            for c in range(columns):
                b[c] *= S[c, SCALED]
                Z[d, c] += b[c] * bias
            for q in range(start, stop):
                for c in range(columns):
                    Z[indices[q], c] += b[c] * data[q]
        _refold_columns(V, S)
