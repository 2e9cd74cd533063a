"""Several classes: softmax learners, one halfspace per class, and frequencies, side by side.

Classes are numbered as they first come, and one that has not come yet has no part in anything: a class that is known
beforehand and one that joins later are learned alike. class_mixture.py mixes the experts, in their order:

    raw        softmax on columns as they are, at four paces: cost linear in the non-zeros. For sparse rows.
    centred    in place of these, if columns are few or rows dense: softmax on columns less their mean, in units of
               their deviation, at three paces.
    newton     with few columns, besides: second order on centred columns, with two ridges;
    crossed    softmax on centred columns and their products by pairs, at two paces;
    surfaces   with very few columns, besides: second order on the same.
    frequent   the classes' frequencies, and recent those among recent labels; neither looks at the row.
    halfspaces one halfspace per class against the rest, FTRL on inverse-margin gradients, the highest score answers:
               Lemma 0 holds for each of them. Their probabilities are a softmax of heat times their scores; the heat
               takes AdaGrad's steps on the log loss.

softmax.py has the steps of the first five; that of the halfspaces is the one of kernels/learning/halfspace.py.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, Integers, njit
from massart.kernels.learning.class_mixture import BLENDS, POWERS, choose, highest_of, learn_mixture, mix
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.mixture import Total, judge, weigh
from massart.kernels.learning.simd import LANES
from massart.kernels.learning.softmax import (
    add_steps,
    first_order_step,
    gradient,
    raw_scores,
    raw_steps,
    scores_of,
    second_order_step,
    soften,
    standardise,
)

__all__ = ["CENTRED", "CENTRED_PACES", "CROSSED_PACES", "DENSE", "FEW", "NEWTON_RIDGES", "RAW", "RAW_PACES", "SIMPLE",
           "SURFACE_RIDGES", "UNDECIDED", "VERY_FEW", "Class", "Heat", "Setting", "learn_classes",
           "mix_classes"]  # fmt: skip

FEW: Final = 64  # columns up to which there are newton and crossed experts
VERY_FEW: Final = 20  # and surfaces
DENSE: Final = 4096  # columns up to which dense rows are centred
SIMPLE: Final = 2  # experts that do not look at the row
RAW_PACES: Final = (0.03, 0.1, 0.3, 1.0)
CENTRED_PACES: Final = (0.1, 0.3, 1.0)
NEWTON_RIDGES: Final = (1.0, 0.1)
CROSSED_PACES: Final = (0.03, 0.1)
SURFACE_RIDGES: Final = (0.1,)
UNDECIDED, RAW, CENTRED = 0.0, 1.0, 2.0  # kinds: the first row decides, if columns are neither few nor many


class Setting(IntEnum):
    """Places in `how`, float64: the parameters, and the kind."""

    UNIT = 0  # whether halfspaces scale rows to norm 1
    BIAS = 1  # the value of their constant coordinate, 0 without an intercept
    VOTING = 2
    GAMMA = 3  # the margin of the halfspaces
    KIND = 4
    SEEN = 5  # how many classes have come


class Heat(IntEnum):
    """Places in `heat`, float64."""

    HEAT = 0
    SQUARES = 1  # the sum of squared derivatives by its logarithm


class Class(IntEnum):
    """Rows of `classes`, float64 with one column per class: what is known of it, and its halfspace's state."""

    WEIGHT = 0  # the weight of its rows
    SUM = 1  # of the weights of its rows, so far
    RECENT = 2  # the same, an earlier row counting 15/16 of the next
    SCALE = 3  # this and the following are as in State of kernels/learning/halfspace.py
    NORM2 = 4
    SQUARES = 5
    CAP = 6
    ROUNDS = 7
    TOTAL = 8  # sum of c
    POSITIVES = 9
    WRONG = 10
    LINEAR = 11
    SPREAD = 12
    INVERSE = 13
    FIRST = 14
    HEAVIEST = 15
    ETA = 16  # the noise rate of the halfspace
    NUMBER = 17  # its number among all classes that are known; not used here


FIRST_HEAT: Final = 4.0
_HEAT_PACE: Final = 0.5
_LONGEST_STEP: Final = 0.5
_MOST_HEAT: Final = 1e6
_FADE: Final = 15.0 / 16.0
_HALF: Final = 0.5  # of a row: what each class counts beforehand
_FREE: Final = 2000.0  # rounds in which the matrix of the surfaces is updated; later, every eighth time, for eight
_EVERY: Final = 8
_SURE: Final = 0.995  # a probability from which on the second order learns nothing from a row
_LARGEST_ROW: Final = 1e78  # as in pool.py
_LARGEST_SPREAD: Final = 1e300


@njit(cache=True, error_model="numpy", _nrt=False)
def _halfspace_steps(
    classes: Floats, how: Floats, dots: Floats, k: int, label: int, square: float, c: float, steps: Floats
) -> None:
    """The steps of the halfspaces of k classes, and their states: FTRL on inverse-margin gradients.

    `dots` are theta.x; `square` is the row's squared norm, with the constant.
    """
    gamma, is_unit = how[Setting.GAMMA], how[Setting.UNIT] != 0.0
    unit = 1.0 / sqrt(square) if is_unit and square > 0.0 else 1.0
    length = (1.0 if square > 0.0 else 0.0) if is_unit else sqrt(square)
    for n in range(k):  # without a branch: the compiler takes several classes at a time
        eta, factor = classes[Class.ETA, n], classes[Class.WEIGHT, n]
        y = 1.0 if n == label else -1.0
        own, heavy = c * factor if n == label else c, c * max(1.0, factor)
        classes[Class.FIRST, n] = heavy if classes[Class.ROUNDS, n] == 0.0 else classes[Class.FIRST, n]
        classes[Class.HEAVIEST, n] = max(classes[Class.HEAVIEST, n], heavy)
        cap, squares, norm2 = classes[Class.CAP, n], classes[Class.SQUARES, n], classes[Class.NORM2, n]
        cap = max(cap, heavy * length * (1.0 - eta) / gamma)
        scale = 1.0 / sqrt(max(2.0 * (cap * cap + squares), norm2))
        dot = dots[n]
        sign = 1.0 if dot >= 0.0 else -1.0
        score = scale * dot * unit
        inverse = 1.0 / (score * sign + gamma)
        slope = 0.5 * own * ((1.0 - 2.0 * eta) * sign - y) * inverse
        step = -slope * unit
        steps[n] = step
        squares += slope * slope * length * length
        norm2 = max(0.0, norm2 + step * (2.0 * dot + step * square))
        a = heavy * (gamma + length) * inverse
        classes[Class.CAP, n], classes[Class.SQUARES, n], classes[Class.NORM2, n] = cap, squares, norm2
        classes[Class.SCALE, n] = 1.0 / sqrt(max(2.0 * (cap * cap + squares), norm2))
        classes[Class.LINEAR, n] += slope * score
        classes[Class.SPREAD, n] += eta * (1.0 - eta) * a * a
        classes[Class.INVERSE, n] += own * gamma * inverse
        classes[Class.ROUNDS, n] += 1.0
        classes[Class.TOTAL, n] += own
        classes[Class.POSITIVES, n] += own if n == label else 0.0
        classes[Class.WRONG, n] += own if sign != y else 0.0


@njit(cache=True, error_model="numpy", _nrt=False)
def _count(classes: Floats, k: int, label: int, c: float) -> None:
    for n in range(k):
        classes[Class.RECENT, n] *= _FADE
    classes[Class.SUM, label] += c
    classes[Class.RECENT, label] += 1.0


@njit(cache=True, error_model="numpy", _nrt=False)
def _heat_step(heat: Floats, P: Floats, e: int, k: int, label: int, r: float, scores: Floats) -> None:
    """The heat after a label; `scores` are the halfspaces', times heat."""
    slope = 0.0
    for c in range(k):
        slope += r * ((1.0 if c == label else 0.0) - P[e, c]) * scores[c]
    heat[Heat.SQUARES] += slope * slope
    if heat[Heat.SQUARES] > 0.0:
        step = _HEAT_PACE * slope / sqrt(heat[Heat.SQUARES])
        step = exp(min(_LONGEST_STEP, max(-_LONGEST_STEP, step)))
        heat[Heat.HEAT] = min(_MOST_HEAT, max(1.0 / _MOST_HEAT, heat[Heat.HEAT] * step))


@njit(cache=True, error_model="numpy", _nrt=False)
def _frequencies(classes: Floats, k: int, heaviest: float, P: Floats, e: int) -> None:
    """Rows e and e + 1 of P: frequencies of all labels and of recent ones."""
    half, total, recently = _HALF * max(heaviest, 1e-200), 0.0, 0.0
    for c in range(k):
        total += classes[Class.SUM, c] + half
        recently += classes[Class.RECENT, c] + _HALF / k
    for c in range(k):
        P[e, c] = (classes[Class.SUM, c] + half) / total
        P[e + 1, c] = (classes[Class.RECENT, c] + _HALF / k) / recently


@njit(cache=True, error_model="numpy", _nrt=False)
def _centred_scores(z: Floats, tables: Any, k: int, P: Floats) -> int:
    """Rows of P for the experts on centred columns and their products; how many there are."""
    centred, newton, crossed, surfaces = tables[0], tables[2], tables[4], tables[6]
    e = 0
    for weights in (centred, newton, crossed, surfaces):
        for m in range(weights.shape[0]):
            scores_of(z, weights.shape[1], weights, m, k, P, e)
            soften(P, e, k)
            e += 1
    return e


@njit(cache=True, error_model="numpy", _nrt=False)
def _centred_steps(
    z: Floats, tables: Any, k: int, label: int, r: float, rounds: float, P: Floats, g: Floats, u: Floats
) -> None:
    centred, centred_sums, newton, matrices, crossed, crossed_sums, surfaces, large = tables
    e = 0
    for m in range(centred.shape[0]):
        square, _ = gradient(P, e, k, label, g)
        first_order_step(z, centred.shape[1], CENTRED_PACES[m], r, square, g, k, centred, centred_sums, m)
        e += 1
    for m in range(newton.shape[0]):
        _, curvature = gradient(P, e, k, label, g)
        if P[e, label] < _SURE:
            ridge = NEWTON_RIDGES[m]
            second_order_step(z, newton.shape[1], ridge, r, curvature, False, g, k, newton, matrices, m, u)
        e += 1
    for m in range(crossed.shape[0]):
        square, _ = gradient(P, e, k, label, g)
        first_order_step(z, crossed.shape[1], CROSSED_PACES[m], r, square, g, k, crossed, crossed_sums, m)
        e += 1
    for m in range(surfaces.shape[0]):
        _, curvature = gradient(P, e, k, label, g)
        if P[e, label] < _SURE:
            is_late = rounds > _FREE
            is_kept = is_late and np.int64(rounds) % _EVERY != 0
            times = _EVERY if is_late else 1
            second_order_step(
                z, surfaces.shape[1], SURFACE_RIDGES[0], r, times * curvature, is_kept, g, k, surfaces, large, m, u
            )
        e += 1


@njit(cache=True, error_model="numpy", _nrt=False)
def _spread(x: Floats, d: int, share: float, c: float, is_centred: bool, spreads: Floats) -> None:
    """Means and sums of squared differences; without a constant coordinate means stay 0."""
    for j in range(d):
        away = x[j] - spreads[0, j]
        if is_centred:
            spreads[0, j] += away * share
        more = c * away * (x[j] - spreads[0, j])
        spreads[1, j] = max(0.0, min(_LARGEST_SPREAD, spreads[1, j] + more))


@njit(cache=True, error_model="numpy", _nrt=False)
def _predict(
    values: Floats, at: int, columns: Indices, place: int, size: int, k: int, how: Floats, state: Any, P: Floats,
    square: float, dots: Floats, scores: Floats, x: Floats, z: Floats,
) -> int:  # fmt: skip
    """Rows of P: the probabilities of the experts; how many there are before the frequencies.

    `dots` are the halfspaces' theta.x, with the constant, `scores` their scores times heat; `square` is |x|^2 with it.
    """
    weights, spreads, tables, classes, heat, t = state
    bias = how[Setting.BIAS]
    constant = 1.0 if bias != 0.0 else 0.0
    if spreads.size == 0:
        learners = weights.shape[1] // P.shape[1] - 1
        halfspaces = learners + SIMPLE
        raw_scores(values, at, columns, place, size, (constant, bias), weights, k, P, halfspaces)
        for m in range(learners):
            soften(P, m, k)
    else:
        d = spreads.shape[1]
        x[:] = 0.0
        for p in range(size):
            x[columns[place + p]] = values[at + p]
        crossed = tables[4]
        standardise(x, d, constant, t[Total.WEIGHT], spreads, crossed.size > 0, z)
        learners = _centred_scores(z, tables, k, P)
        raw_scores(values, at, columns, place, size, (constant, bias), weights, k, P, learners + SIMPLE)
    _frequencies(classes, k, t[Total.HEAVIEST], P, learners)
    unit = 1.0 / sqrt(square) if how[Setting.UNIT] != 0.0 and square > 0.0 else 1.0
    for c in range(k):
        dots[c] = P[learners + SIMPLE, c]
        scores[c] = min(_MOST_HEAT, max(-_MOST_HEAT, heat[Heat.HEAT] * unit * classes[Class.SCALE, c] * dots[c]))
        P[learners + SIMPLE, c] = scores[c]
    soften(P, learners + SIMPLE, k)
    return learners


@njit(cache=True, error_model="numpy", _nrt=False)
def _entries(columns: Indices, starts: Indices, n: int) -> Any:
    """Where the values of a row begin, where its columns do, and how many it has; dense rows share one list."""
    if starts.size == 0:
        return n * columns.size, 0, columns.size
    return np.int64(starts[n]), np.int64(starts[n]), np.int64(starts[n + 1]) - np.int64(starts[n])


@njit(cache=True, error_model="numpy", _nrt=False)
def _square(values: Floats, at: int, size: int, bias: float) -> float:
    """The squared norm of a row with its constant."""
    square = bias * bias
    for p in range(size):
        square += values[at + p] * values[at + p]
    return square


@njit(cache=True, error_model="numpy")
def _scratch(room: int, experts: int, columns: int, features: int) -> Any:
    """Arrays to work in: P, R, B, p, dots, scores, x, z."""
    return (
        np.zeros((experts, room)),
        np.zeros((BLENDS * len(POWERS), room)),
        np.zeros((BLENDS, room)),
        np.zeros((1, room)),
        np.zeros(room),
        np.zeros(room),
        np.zeros(columns),
        np.zeros(features),
    )


@njit(cache=True, error_model="numpy", _nrt=False)
def _learn(
    rows: Any, count: int, labels: Integers, weight: Floats, seen: int, seed: np.uint64, how: Floats, state: Any,
    members: Floats, experts: int, scratch: Any, more: Any, answers: Integers,
) -> int:  # fmt: skip
    """`learn_classes`, with arrays to work in: what allocates nothing need not count references."""
    values, columns, starts = rows
    weights, sums, spreads, tables, classes, mixed, trust, heat, t = state
    P, R, B, p, dots, scores, x, z = scratch
    g, u, steps, G, squares, factors, right = more
    part = weights, spreads, tables, classes, heat, t
    bias, room, k = how[Setting.BIAS], classes.shape[1], seen
    constant = 1.0 if bias != 0.0 else 0.0
    heaviest = 1.0
    for m in range(k):
        heaviest = max(heaviest, classes[Class.WEIGHT, m])
    for n in range(count):
        at, place, size = _entries(columns, starts, n)
        label, c = labels[n], weight[n] if weight.size > 0 else 1.0
        square = _square(values, at, size, bias)
        length = (1.0 if square > 0.0 else 0.0) if how[Setting.UNIT] != 0.0 else sqrt(square)
        if c * heaviest * (1.0 + length) > _LARGEST_ROW:  # it counts for less, and nothing is proved
            c *= _LARGEST_ROW / (c * heaviest * (1.0 + length))
            t[Total.UNPROVED] = 1.0
        learners = _predict(values, at, columns, place, size, k, how, part, P, square, dots, scores, x, z)
        weigh(t, c * heaviest)  # the label is not known yet
        t[Total.LONGEST2] = max(t[Total.LONGEST2], length * length)
        answer, vote = -1, -1
        if k > 0:
            mix(P, members, mixed, trust, experts, k, R, B, p)
            answer, vote = choose(P, members, t, p, k, experts, how[Setting.VOTING], seed)
        answers[n] = answer

        own = c * classes[Class.WEIGHT, label]
        for e in range(experts):
            right[e] = 1.0 if highest_of(P, e, k) == label else -1.0
        if label == k:
            heaviest = max(heaviest, classes[Class.WEIGHT, label])
            weigh(t, c * heaviest)
        given, voted = 1.0 if answer == label else -1.0, 1.0 if vote == label else -1.0
        judge(members, t, right, experts, given, voted, 1.0, own, how[Setting.VOTING])
        r = own / t[Total.HEAVIEST]
        if label < k:
            learn_mixture(P, mixed, trust, experts, k, label, r, t[Total.ROUNDS], R)
        before = k
        if label == k:  # nobody could have expected it; from now on it is one of the classes
            k += 1
            steps[label] = 0.0  # its halfspace begins with the next row, which is not chosen by its label
            _predict(values, at, columns, place, size, k, how, part, P, square, dots, scores, x, z)
        _heat_step(heat, P, experts - 1, k, label, r, scores)
        _halfspace_steps(classes, how, dots, before, label, square, c, steps)
        if spreads.size == 0:
            for m in range(learners):
                squares[m], _ = gradient(P, m, k, label, g)
                for a in range(k):
                    G[m, a] = g[a]
            raw_steps(values, at, columns, place, size, constant, RAW_PACES, r, squares, G, k, weights, sums, factors)
        else:
            _centred_steps(z, tables, k, label, r, t[Total.ROUNDS], P, g, u)
            _spread(x, x.size, own / t[Total.WEIGHT], own, bias != 0.0, spreads)
        add_steps(values, at, columns, place, size, bias, steps, k, weights.shape[1] - room, weights)
        _count(classes, k, label, own)
    return k


@njit(cache=True, error_model="numpy")
def _copy(source: Floats, target: Floats, columns: int) -> None:
    """The first columns of a table to another one: a slice would be copied on the way."""
    for row in range(source.shape[0]):
        for column in range(columns):
            target[row, column] = source[row, column]


@njit(cache=True, error_model="numpy", nogil=True)
def learn_classes(
    rows: Any, count: int, labels: Integers, weight: Floats, seen: int, seed: np.uint64, how: Floats, state: Any,
    answers: Integers,
) -> int:  # fmt: skip
    """Answer, then learn, `count` rows; return how many classes have come so far, `seen` of them before.

    `rows` is (values, columns, starts) of a block (row_blocks.py), without zeros; dense rows have no `starts`. A label
    is the number of its class by first occurrence. An answer is such a number, too, -1 before any class has come.
    `state` is (weights, sums, spreads, eight tables, classes, M, mixed, trust, heat, t) of learners/class_pool.py.
    """
    weights, sums, spreads = state[0], state[1], state[2]
    tables = state[3], state[4], state[5], state[6], state[7], state[8], state[9], state[10]
    classes, M, mixed, trust, heat, t = state[11], state[12], state[13], state[14], state[15], state[16]
    experts, room = M.shape[1], classes.shape[1]
    features = max(tables[0].shape[1], tables[4].shape[1], 1)
    scratch = _scratch(room, experts, spreads.shape[1], features)
    # Sums over experts are taken by lanes; what is behind the last expert has no share.
    members = np.zeros((M.shape[0], (experts + LANES - 1) // LANES * LANES))
    _copy(M, members, experts)
    more = (
        np.zeros(room),
        np.zeros(features),
        np.zeros(room),
        np.zeros((experts, room)),
        np.zeros(experts),
        np.zeros(len(RAW_PACES)),
        np.ones(members.shape[1]),
    )
    own = weights, sums, spreads, tables, classes, mixed.reshape(1, -1), trust.reshape(1, -1), heat, t
    k = _learn(rows, count, labels, weight, seen, seed, how, own, members, experts, scratch, more, answers)
    _copy(members, M, experts)
    return k


@njit(cache=True, error_model="numpy", nogil=True)
def mix_classes(rows: Any, count: int, seen: int, how: Floats, state: Any, probabilities: Floats) -> None:
    """The probabilities of the classes that have come, for the rows of a block; nothing changes."""
    values, columns, starts = rows
    weights, spreads = state[0], state[2]
    tables = state[3], state[4], state[5], state[6], state[7], state[8], state[9], state[10]
    classes, M, mixed, trust, heat, t = state[11], state[12], state[13], state[14], state[15], state[16]
    part = weights, spreads, tables, classes, heat, t
    features = max(tables[0].shape[1], tables[4].shape[1], 1)
    P, R, B, p, dots, scores, x, z = _scratch(classes.shape[1], M.shape[1], spreads.shape[1], features)
    for n in range(count):
        at, place, size = _entries(columns, starts, n)
        square = _square(values, at, size, how[Setting.BIAS])
        _predict(values, at, columns, place, size, seen, how, part, P, square, dots, scores, x, z)
        mix(P, M, mixed.reshape(1, -1), trust.reshape(1, -1), M.shape[1], seen, R, B, p)
        for c in range(seen):
            probabilities[n, c] = p[0, c]
