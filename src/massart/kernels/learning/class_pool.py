"""Several classes: softmax learners, one halfspace per class, and frequencies, side by side.

Classes are numbered as they first come, and one that has not come yet has no part in anything: a class that is known
beforehand and one that joins later are learned alike. class_mixture.py mixes the experts, in their order:

    raw        softmax on columns as they are, at four paces: cost linear in the non-zeros. For sparse rows.
    centred    in place of these, if columns are few or rows dense: softmax on columns less their mean, in units of
               their deviation, at four paces.
    crossed    with few columns, besides: softmax on centred columns and their products by pairs, at four paces;
    newton     second order on centred columns, with two ridges;
    surfaces   with very few columns, besides: second order on the products, too;
    means      with centred columns: the class whose mean is nearest, columns as if they were independent. It knows
               little, but soon, so it is what noisy labels leave of a short stream (Ng, Jordan 2001).
    frequent   the classes' frequencies, and recent those among recent labels; neither looks at the row.
    halfspaces one halfspace per class against the rest, FTRL on inverse-margin gradients, the highest score answers:
               Lemma 0 holds for each of them.

The probabilities of `means` and of `halfspaces` are a softmax of heat times their scores; that of `means` is weighed by
the frequencies. The heats take AdaGrad's steps on the log loss.

softmax.py has the steps of the first five; that of the halfspaces is the one of kernels/learning/halfspace.py.

P, the probabilities, has a row for each class and a lane for each expert. Those of `raw`, `centred` and `crossed` come
first, in fours. The probabilities of the others are first made in rows of T, a place for each class.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, Integers, njit
from massart.kernels.learning.class_mixture import CALIBRATIONS, choose, judge_answers, learn_mixture, mix
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.mixture import Total, judge, weigh
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    four_of,
    larger,
    load,
    load_first,
    load_four,
    no_four,
    no_sums,
    roots,
    spread_four,
    store_four,
    total,
    where_larger,
    where_negative,
    where_zero,
)
from massart.kernels.learning.softmax import (
    RAW_SUMS,
    add_steps,
    class_dots,
    four_scores,
    four_steps,
    mean_scores,
    prefetch_row,
    raw_steps,
    row_scores,
    second_order_step,
    soften_four,
    soften_row,
    standardise,
)

__all__ = ["CENTRED", "CENTRED_PACES", "CROSSED_PACES", "DENSE", "FEW", "NEWTON_RIDGES", "PACES", "RAW", "RAW_PACES",
           "SIMPLE", "SURFACE_RIDGES", "UNDECIDED", "VERY_FEW", "Class", "Heat", "Setting", "learn_classes",
           "mix_classes"]  # fmt: skip

FEW: Final = 64  # columns up to which there are newton and crossed experts
VERY_FEW: Final = 20  # and surfaces
DENSE: Final = 4096  # columns up to which dense rows are centred
SIMPLE: Final = 2  # experts that do not look at the row
PACES: Final = 4
RAW_PACES: Final = (0.03, 0.1, 0.3, 1.0)
CENTRED_PACES: Final = (0.03, 0.1, 0.3, 1.0)
CROSSED_PACES: Final = (0.01, 0.03, 0.1, 0.3)
NEWTON_RIDGES: Final = (1.0, 0.1)
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
    """Places in a row of `heat`, float64; the first row is that of the halfspaces, the second that of the means."""

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


FIRST_HEATS: Final = (4.0, 1.0)
_HEAT_PACE: Final = 0.5
_LONGEST_STEP: Final = 0.5
_MOST_HEAT: Final = 1e6
_FADE: Final = 15.0 / 16.0
_LEAST_WEIGHT: Final = 1e-200
_MEAN_PRIOR: Final = 2.0  # rows that each class has at the mean of all
_HALFSPACES, _MEANS = 0, 1  # whose heat
_HALF: Final = 0.5  # of a row: what each class counts beforehand
_FREE: Final = 2000.0  # rounds in which the matrix of the surfaces is updated; later, every eighth time, for eight
_EVERY: Final = 8
_SURE: Final = 0.995  # a probability from which on the second order learns nothing from a row
_LARGEST_ROW: Final = 1e78  # as in pool.py
_LARGEST_SPREAD: Final = 1e300
_LEAST_SQUARES: Final = 1e-300  # of places for classes that have not come


_ZERO, _ONE, _TWO, _FOUR, _LANES = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(LANES)


@njit(cache=True, error_model="numpy", forceinline=True)
def _at(classes: Floats, row: int, n: np.uint64) -> np.uint64:
    return np.uint64(row) * np.uint64(classes.shape[1]) + n


@njit(cache=True, error_model="numpy", forceinline=True)
def _numbers(n: np.uint64) -> Any:
    """n, n + 1, n + 2, n + 3."""
    first = np.float64(n)
    return four_of(first, first + 1.0, first + 2.0, first + 3.0)


@njit(cache=True, error_model="numpy", forceinline=True)
def _halfspace_steps(
    classes: Floats, how: Floats, dots: Floats, k: np.uint64, label: int, square: float, c: float, steps: Floats
) -> None:
    """The steps of the halfspaces of k classes, and their states: FTRL on inverse-margin gradients, four at a time.

    `dots` are theta.x; `square` is the row's squared norm, with the constant. Classes from k on count as rows of weight
    0, and their recent labels fade as all others.
    """
    is_unit, one, two = how[Setting.UNIT] != 0.0, spread_four(1.0), spread_four(2.0)
    unit = spread_four(1.0 / sqrt(square) if is_unit and square > 0.0 else 1.0)
    length = spread_four((1.0 if square > 0.0 else 0.0) if is_unit else sqrt(square))
    gamma, squared, weight, zero = spread_four(how[Setting.GAMMA]), spread_four(square), spread_four(c), no_four()
    for n in range(_ZERO, k, _FOUR):
        numbers = _numbers(n)
        here = where_larger(spread_four(np.float64(k)), numbers, one, zero)
        away = numbers - spread_four(np.float64(label))
        eta, factor = load_four(classes, _at(classes, Class.ETA, n)), load_four(classes, _at(classes, Class.WEIGHT, n))
        y = where_zero(away, one, zero - one)
        own, heavy = here * where_zero(away, weight * factor, weight), here * weight * larger(factor, one)
        rounds, first = _at(classes, Class.ROUNDS, n), _at(classes, Class.FIRST, n)
        store_four(classes, first, where_zero(load_four(classes, rounds), heavy, load_four(classes, first)))
        store_four(classes, rounds, load_four(classes, rounds) + here)
        place = _at(classes, Class.HEAVIEST, n)
        store_four(classes, place, larger(load_four(classes, place), heavy))
        cap = larger(load_four(classes, _at(classes, Class.CAP, n)), heavy * length * (one - eta) / gamma)
        squares = load_four(classes, _at(classes, Class.SQUARES, n))
        norm2 = load_four(classes, _at(classes, Class.NORM2, n))
        least = spread_four(_LEAST_SQUARES)
        scale = one / roots(larger(larger(two * (cap * cap + squares), norm2), least))
        dot = load_four(dots, n)
        sign = where_negative(dot, zero - one, one)
        score = scale * dot * unit
        inverse = one / (score * sign + gamma)
        slope = spread_four(0.5) * own * ((one - two * eta) * sign - y) * inverse
        step = zero - slope * unit
        store_four(steps, n, step)
        squares = squares + slope * slope * length * length
        norm2 = larger(zero, norm2 + step * (two * dot + step * squared))
        a = heavy * (gamma + length) * inverse
        store_four(classes, _at(classes, Class.CAP, n), cap)
        store_four(classes, _at(classes, Class.SQUARES, n), squares)
        store_four(classes, _at(classes, Class.NORM2, n), norm2)
        scale = one / roots(larger(larger(two * (cap * cap + squares), norm2), least))
        store_four(classes, _at(classes, Class.SCALE, n), scale)
        _add(classes, Class.LINEAR, n, slope * score)
        _add(classes, Class.SPREAD, n, eta * (one - eta) * a * a)
        _add(classes, Class.INVERSE, n, own * gamma * inverse)
        _add(classes, Class.TOTAL, n, own)
        _add(classes, Class.POSITIVES, n, where_zero(away, own, zero))
        _add(classes, Class.WRONG, n, where_zero(sign - y, zero, own))


@njit(cache=True, error_model="numpy", forceinline=True)
def _add(classes: Floats, row: int, n: np.uint64, more: Any) -> None:
    store_four(classes, _at(classes, row, n), load_four(classes, _at(classes, row, n)) + more)


@njit(cache=True, error_model="numpy", forceinline=True)
def _count(classes: Floats, k: np.uint64, label: int, c: float) -> None:
    for n in range(_ZERO, k, _FOUR):
        place = _at(classes, Class.RECENT, n)
        store_four(classes, place, load_four(classes, place) * spread_four(_FADE))
    classes[Class.SUM, label] += c
    classes[Class.RECENT, label] += 1.0


@njit(cache=True, error_model="numpy", forceinline=True)
def _heat_step(heat: Floats, which: int, P: Floats, e: int, k: int, label: int, r: float, scores: Floats) -> None:
    """One of the heats after a label; its row of `scores` has what was heated."""
    expected = 0.0
    for c in range(k):
        expected += P[c, e] * scores[which, c]
    slope = r * (scores[which, label] - expected)
    heat[which, Heat.SQUARES] += slope * slope
    if heat[which, Heat.SQUARES] > 0.0:
        step = _HEAT_PACE * slope / sqrt(heat[which, Heat.SQUARES])
        step = exp(min(_LONGEST_STEP, max(-_LONGEST_STEP, step)))
        heat[which, Heat.HEAT] = min(_MOST_HEAT, max(1.0 / _MOST_HEAT, heat[which, Heat.HEAT] * step))


@njit(cache=True, error_model="numpy", forceinline=True)
def _frequencies(classes: Floats, k: np.uint64, heaviest: float, T: Floats, i: np.uint64) -> None:
    """Rows i and i + 1 of T: frequencies of all labels and of recent ones."""
    places, zero = np.uint64(T.shape[1]), no_four()
    half, few = spread_four(_HALF * max(heaviest, _LEAST_WEIGHT)), spread_four(_HALF / np.float64(k))
    every, recent = zero, zero
    for n in range(_ZERO, k, _FOUR):
        numbers, many = _numbers(n), spread_four(np.float64(k))
        own = where_larger(many, numbers, load_four(classes, _at(classes, Class.SUM, n)) + half, zero)
        late = where_larger(many, numbers, load_four(classes, _at(classes, Class.RECENT, n)) + few, zero)
        store_four(T, i * places + n, own)
        store_four(T, (i + _ONE) * places + n, late)
        every, recent = every + own, recent + late
    own, late = spread_four(1.0 / total(every)), spread_four(1.0 / total(recent))
    for n in range(_ZERO, k, _FOUR):
        store_four(T, i * places + n, load_four(T, i * places + n) * own)
        store_four(T, (i + _ONE) * places + n, load_four(T, (i + _ONE) * places + n) * late)


@njit(cache=True, error_model="numpy", forceinline=True)
def _heated(heat: Floats, which: int, scores: Floats, T: Floats, i: np.uint64, k: np.uint64) -> None:
    """Row i of T, scores, becomes probabilities of scores times heat, which are left in `scores`."""
    factor = heat[which, Heat.HEAT]
    for c in range(_ZERO, k):
        scores[which, c] = min(_MOST_HEAT, max(-_MOST_HEAT, factor * T[i, c]))
        T[i, c] = scores[which, c]
    soften_row(T, i, k)


@njit(cache=True, error_model="numpy", forceinline=True)
def _weigh_by(T: Floats, i: np.uint64, frequencies: np.uint64, k: np.uint64) -> None:
    """Row i of T, times another row, with the sum 1 again."""
    places, sums = np.uint64(T.shape[1]), no_four()
    for n in range(_ZERO, k, _FOUR):
        own = load_four(T, i * places + n) * load_four(T, frequencies * places + n)
        store_four(T, i * places + n, own)
        sums = sums + own
    inverse = spread_four(1.0 / total(sums))
    for n in range(_ZERO, k, _FOUR):
        store_four(T, i * places + n, load_four(T, i * places + n) * inverse)


@njit(cache=True, error_model="numpy", forceinline=True)
def _to_lanes(T: Floats, k: int, P: Floats, first: np.uint64) -> None:
    """Rows of T to lanes of P, from `first` on."""
    lanes = np.uint64(P.shape[1])
    for c in range(k):
        place = np.uint64(c) * lanes + first
        store_four(P, place, four_of(T[0, c], T[1, c], T[2, c], T[3, c]))
        if T.shape[0] > PACES:
            store_four(P, place + _FOUR, four_of(T[4, c], T[5, c], T[6, c], T[7, c]))


@njit(cache=True, error_model="numpy", forceinline=True)
def _gradients(P: Floats, k: np.uint64, label: np.uint64, G: Floats, squares: Floats, curvatures: Floats) -> None:
    """G of each expert, its squared norm, and the largest p (1 - p)."""
    lanes, one, zero = np.uint64(P.shape[1]), spread_four(1.0), no_four()
    for e in range(_ZERO, lanes, _FOUR):
        square, curvature = zero, zero
        for c in range(_ZERO, k):
            p = load_four(P, c * lanes + e)
            g = (one if c == label else zero) - p
            store_four(G, c * lanes + e, g)
            square = add_products(square, g, g)
            curvature = larger(curvature, p * (one - p))
        store_four(squares, e, square)
        store_four(curvatures, e, curvature)


@njit(cache=True, error_model="numpy", forceinline=True)
def _one_gradient(G: Floats, e: int, k: int, g: Floats) -> None:
    for c in range(k):
        g[c] = G[c, e]


@njit(cache=True, error_model="numpy", forceinline=True)
def _second_order_steps(
    z: Floats, tables: Any, k: int, label: int, r: float, rounds: float, P: Floats, G: Floats, first: int,
    curvatures: Floats, g: Floats, u: Floats,
) -> None:  # fmt: skip
    _, _, newton, matrices, _, _, surfaces, large, _ = tables
    e = first
    for m in range(newton.shape[0]):
        if P[label, e] < _SURE:
            _one_gradient(G, e, k, g)
            ridge = NEWTON_RIDGES[m]
            second_order_step(z, ridge, r, curvatures[e], False, g, np.uint64(k), newton, matrices, m, u)
        e += 1
    for m in range(surfaces.shape[0]):
        if P[label, e] < _SURE:
            _one_gradient(G, e, k, g)
            is_late = rounds > _FREE
            is_kept = is_late and np.int64(rounds) % _EVERY != 0
            curvature = curvatures[e] * (_EVERY if is_late else 1)
            ridge = SURFACE_RIDGES[m]
            second_order_step(z, ridge, r, curvature, is_kept, g, np.uint64(k), surfaces, large, m, u)
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
    values: Floats, at: np.uint64, columns: Indices, place: np.uint64, size: np.uint64, classes_seen: int, how: Floats,
    state: Any, square: float, P: Floats, T: Floats, dots: Floats, scores: Floats, x: Floats, z: Floats,
    units: Floats, every: Indices,
) -> None:  # fmt: skip
    """Rows of P: the probabilities of the experts.

    `dots` are the halfspaces' theta.x, with the constant, `scores` their scores times heat; `square` is |x|^2 with it.
    """
    weights, spreads, tables, classes, heat, t = state
    k, bias, lane, i = np.uint64(classes_seen), how[Setting.BIAS], _FOUR, _ZERO
    constant = 1.0 if bias != 0.0 else 0.0
    halfspaces = np.uint64(weights.shape[1] - classes.shape[1])
    if spreads.size == 0:
        four_scores(values, at, columns, place, size, constant, weights, np.uint64(RAW_SUMS), k, P, _ZERO)
    else:
        centred, _, newton, _, crossed, _, surfaces, _, means = tables
        x[:] = 0.0
        for p in range(size):
            x[columns[place + p]] = values[at + p]
        standardise(x, spreads.shape[1], constant, t[Total.WEIGHT], spreads, crossed.size > 0, z, units)
        four_scores(z, _ZERO, every, _ZERO, np.uint64(centred.shape[0]), 0.0, centred, _ZERO, k, P, _ZERO)
        if crossed.size > 0:
            four_scores(z, _ZERO, every, _ZERO, np.uint64(crossed.shape[0]), 0.0, crossed, _ZERO, k, P, _FOUR)
            lane = _LANES
        for own in (newton, surfaces):
            for m in range(own.shape[0]):
                row_scores(z, own, m, k, T, i)
                soften_row(T, i, k)
                i += _ONE
        prior = _MEAN_PRIOR * max(t[Total.HEAVIEST], _LEAST_WEIGHT)
        mean_scores(z, units, spreads, means, classes[Class.SUM], prior, k, T, i)
        _heated(heat, _MEANS, scores, T, i, k)
        i += _ONE
    for e in range(_ZERO, lane, _FOUR):
        soften_four(P, e, k)
    _frequencies(classes, k, t[Total.HEAVIEST], T, i)
    if spreads.size > 0:
        _weigh_by(T, i - _ONE, i, k)
    class_dots(values, at, columns, place, size, bias, weights, halfspaces, k, dots)
    unit = 1.0 / sqrt(square) if how[Setting.UNIT] != 0.0 and square > 0.0 else 1.0
    for c in range(_ZERO, k):
        T[i + _TWO, c] = unit * classes[Class.SCALE, c] * dots[c]
    _heated(heat, _HALFSPACES, scores, T, i + _TWO, k)
    _to_lanes(T, classes_seen, P, lane)


@njit(cache=True, error_model="numpy", forceinline=True)
def _entries(columns: Indices, starts: Indices, n: int) -> Any:
    """Where the values of a row begin, where its columns do, and how many it has; dense rows share one list."""
    if starts.size == 0:
        return np.uint64(n) * np.uint64(columns.size), _ZERO, np.uint64(columns.size)
    return np.uint64(starts[n]), np.uint64(starts[n]), np.uint64(starts[n + 1]) - np.uint64(starts[n])


@njit(cache=True, error_model="numpy", forceinline=True)
def _square(values: Floats, at: np.uint64, size: np.uint64, bias: float) -> float:
    """The squared norm of a row with its constant."""
    sums, rest = no_sums(), size % _LANES
    for p in range(at, at + size - rest, _LANES):
        a = load(values, p)
        sums = add_products(sums, a, a)
    a = load_first(values, at + size - rest, rest)
    return bias * bias + total(add_products(sums, a, a))


@njit(cache=True, error_model="numpy")
def _scratch(places: int, experts: int, columns: int, features: int) -> Any:
    """Arrays to work in: P, T, R, B, scales, p, answers, dots, scores, x, z, units, every."""
    lanes = LANES if experts <= LANES else 2 * LANES
    return (
        np.zeros((places, lanes)),
        np.zeros((lanes // 2, places)),
        np.zeros((places, LANES)),
        np.zeros((2, places)),
        np.zeros(LANES),
        np.zeros(places),
        np.zeros(lanes),
        np.zeros(places),
        np.zeros((2, places)),
        np.zeros(columns),
        np.zeros(features + LANES),
        np.zeros(columns),
        np.arange(features).astype(np.uint32),
    )


@njit(cache=True, error_model="numpy", _nrt=False)
def _learn(
    rows: Any, count: int, labels: Integers, weight: Floats, seen: int, seed: np.uint64, how: Floats, state: Any,
    members: Floats, mixed: Floats, experts: int, scratch: Any, more: Any, given_out: Integers,
) -> int:  # fmt: skip
    """`learn_classes`, with arrays to work in: what allocates nothing need not count references."""
    values, columns, starts = rows
    weights, spreads, tables, classes, trust, heat, t = state
    P, T, R, B, scales, p, answers, dots, scores, x, z, units, every = scratch
    G, g, u, steps, squares, curvatures, right, evens, likelihoods = more
    part = weights, spreads, tables, classes, heat, t
    bias, k = how[Setting.BIAS], seen
    constant, heaviest = 1.0 if bias != 0.0 else 0.0, 1.0
    halfspaces = np.uint64(weights.shape[1] - classes.shape[1])
    for m in range(k):
        heaviest = max(heaviest, classes[Class.WEIGHT, m])
    for n in range(count):
        at, place, size = _entries(columns, starts, n)
        label, c = labels[n], weight[n] if weight.size > 0 else 1.0
        if starts.size > 0 and n + 1 < count and spreads.size == 0:
            prefetch_row(columns, np.uint64(starts[n + 1]), np.uint64(starts[n + 2]), weights)
        square = _square(values, at, size, bias)
        length = (1.0 if square > 0.0 else 0.0) if how[Setting.UNIT] != 0.0 else sqrt(square)
        if c * heaviest * (1.0 + length) > _LARGEST_ROW:  # it counts for less, and nothing is proved
            c *= _LARGEST_ROW / (c * heaviest * (1.0 + length))
            t[Total.UNPROVED] = 1.0
        _predict(values, at, columns, place, size, k, how, part, square, P, T, dots, scores, x, z, units, every)
        weigh(t, c * heaviest)  # the label is not known yet
        t[Total.LONGEST2] = max(t[Total.LONGEST2], length * length)
        answer, vote = -1, -1
        if k > 0:
            mix(P, members, mixed, trust, np.uint64(k), R, B, scales, p, answers)
            answer, vote = choose(members, t, p, k, experts, how[Setting.VOTING], seed, answers)
        given_out[n] = answer

        own = c * classes[Class.WEIGHT, label]
        judge_answers(answers, label if k > 0 else -1, right)
        if label == k:
            heaviest = max(heaviest, classes[Class.WEIGHT, label])
            weigh(t, c * heaviest)
        given, voted = 1.0 if answer == label else -1.0, 1.0 if vote == label else -1.0
        judge(members, t, right, experts, given, voted, 1.0, own, how[Setting.VOTING])
        r = own / t[Total.HEAVIEST]
        if label < k:
            learn_mixture(
                P, mixed, trust, evens, np.uint64(k), np.uint64(label), r, t[Total.ROUNDS], R, scales, likelihoods
            )
        _halfspace_steps(classes, how, dots, np.uint64(k), label, square, c, steps)
        if label == k:  # nobody could have expected it; from now on it is one of the classes
            k += 1
            steps[label] = 0.0  # its halfspace begins with the next row, which is not chosen by its label
            _predict(values, at, columns, place, size, k, how, part, square, P, T, dots, scores, x, z, units, every)
        many = np.uint64(k)
        _heat_step(heat, _HALFSPACES, P, experts - 1, k, label, r, scores)
        _gradients(P, many, np.uint64(label), G, squares, curvatures)
        if spreads.size == 0:
            paces = four_of(RAW_PACES[0], RAW_PACES[1], RAW_PACES[2], RAW_PACES[3])
            raw_steps(values, at, columns, place, size, constant, bias, paces, r, squares, G, many, steps, halfspaces,
                      weights)  # fmt: skip
        else:
            centred, centred_sums, _, _, crossed, crossed_sums, _, _, means = tables
            paces = four_of(CENTRED_PACES[0], CENTRED_PACES[1], CENTRED_PACES[2], CENTRED_PACES[3])
            four_steps(z, paces, r, squares, G, _ZERO, many, centred, centred_sums)
            if crossed.size > 0:
                paces = four_of(CROSSED_PACES[0], CROSSED_PACES[1], CROSSED_PACES[2], CROSSED_PACES[3])
                four_steps(z, paces, r, squares, G, _FOUR, many, crossed, crossed_sums)
                _second_order_steps(z, tables, k, label, r, t[Total.ROUNDS], P, G, LANES, curvatures, g, u)
            _heat_step(heat, _MEANS, P, experts - 1 - SIMPLE - 1, k, label, r, scores)
            for j in range(x.size):
                means[j, label] += own * x[j]
            _spread(x, x.size, own / t[Total.WEIGHT], own, bias != 0.0, spreads)
            add_steps(values, at, columns, place, size, bias, steps, many, weights)
        _count(classes, many, label, own)
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
    `state` is (weights, spreads, nine tables, classes, M, mixed, trust, heat, t) of learners/class_pool.py.
    """
    weights, spreads = state[0], state[1]
    tables = state[2], state[3], state[4], state[5], state[6], state[7], state[8], state[9], state[10]
    classes, M, mixed, trust, heat, t = state[11], state[12], state[13], state[14], state[15], state[16]
    experts, places = M.shape[1], classes.shape[1]
    features = max(tables[0].shape[0], tables[4].shape[0], 1)
    scratch = _scratch(places, experts, spreads.shape[1], features)
    lanes = scratch[0].shape[1]
    # Sums over experts are taken by lanes; what is behind the last expert has no share.
    members, own, even = np.zeros((M.shape[0], lanes)), np.zeros(lanes), np.zeros(lanes)
    _copy(M, members, experts)
    for e in range(experts):
        own[e], even[e] = mixed[e], 1.0 / experts
    more = (
        np.zeros((places, lanes)),
        np.zeros(places),
        np.zeros(features + LANES),
        np.zeros(places),
        np.zeros(lanes),
        np.zeros(lanes),
        np.ones(lanes),
        (even, np.full(CALIBRATIONS, 1.0 / CALIBRATIONS)),
        (np.zeros(lanes), np.zeros(CALIBRATIONS)),
    )
    part = weights, spreads, tables, classes, trust, heat, t
    k = _learn(rows, count, labels, weight, seen, seed, how, part, members, own, experts, scratch, more, answers)
    _copy(members, M, experts)
    for e in range(experts):
        mixed[e] = own[e]
    return k


@njit(cache=True, error_model="numpy", nogil=True)
def mix_classes(rows: Any, count: int, seen: int, how: Floats, state: Any, probabilities: Floats) -> None:
    """The probabilities of the classes that have come, for the rows of a block; nothing changes."""
    values, columns, starts = rows
    weights, spreads = state[0], state[1]
    tables = state[2], state[3], state[4], state[5], state[6], state[7], state[8], state[9], state[10]
    classes, M, mixed, trust, heat, t = state[11], state[12], state[13], state[14], state[15], state[16]
    part = weights, spreads, tables, classes, heat, t
    experts, features = M.shape[1], max(tables[0].shape[0], tables[4].shape[0], 1)
    P, T, R, B, scales, p, answers, dots, scores, x, z, units, every = _scratch(
        classes.shape[1], experts, spreads.shape[1], features
    )
    members, own = np.zeros((M.shape[0], P.shape[1])), np.zeros(P.shape[1])
    _copy(M, members, experts)
    for e in range(experts):
        own[e] = mixed[e]
    for n in range(count):
        at, place, size = _entries(columns, starts, n)
        square = _square(values, at, size, how[Setting.BIAS])
        _predict(values, at, columns, place, size, seen, how, part, square, P, T, dots, scores, x, z, units, every)
        mix(P, members, own, trust, np.uint64(seen), R, B, scales, p, answers)
        for c in range(seen):
            probabilities[n, c] = p[c]
