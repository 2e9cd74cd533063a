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

softmax.py has the steps of the first five; that of the halfspaces is in class_states.py.

P, the probabilities, has a row for each class and a lane for each expert. Those of `raw`, `centred` and `crossed` come
first, in fours. The probabilities of the others are first made in rows of T, a place for each class.
"""

from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, Indices, Integers, njit
from massart.kernels.learning.class_mixture import CALIBRATIONS, choose, judge_answers, learn_mixture, mix
from massart.kernels.learning.class_states import (
    FIRST_HEATS,
    HALFSPACES,
    LEAST_WEIGHT,
    MEANS,
    Class,
    Heat,
    Setting,
    count_label,
    frequencies,
    halfspace_steps,
    heat_step,
    heated,
    to_lanes,
    weigh_by,
)
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
    spread_four,
    store_four,
    total,
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
    soften_four,
    soften_row,
    spread_columns,
    standardise,
)
from massart.kernels.learning.softmax_newton import row_scores, second_order_step

__all__ = ["CENTRED", "CENTRED_PACES", "CROSSED_PACES", "DENSE", "FEW", "FIRST_HEATS", "NEWTON_RIDGES", "PACES", "RAW",
           "RAW_PACES", "SIMPLE", "SURFACE_RIDGES", "UNDECIDED", "VERY_FEW", "Class", "Heat", "Setting",
           "learn_classes", "mix_classes"]  # fmt: skip

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


_MEAN_PRIOR: Final = 2.0  # rows that each class has at the mean of all
_FREE: Final = 2000.0  # rounds in which the matrix of the surfaces is updated; later, every eighth time, for eight
_EVERY: Final = 8
_SURE: Final = 0.995  # a probability from which on the second order learns nothing from a row
_LARGEST_ROW: Final = 1e78  # as in pool.py
_ZERO, _ONE, _TWO, _FOUR, _LANES = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(LANES)


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
        prior = _MEAN_PRIOR * max(t[Total.HEAVIEST], LEAST_WEIGHT)
        mean_scores(z, units, spreads, means, classes[Class.SUM], prior, k, T, i)
        heated(heat, MEANS, scores, T, i, k)
        i += _ONE
    for e in range(_ZERO, lane, _FOUR):
        soften_four(P, e, k)
    frequencies(classes, k, t[Total.HEAVIEST], T, i)
    if spreads.size > 0:
        weigh_by(T, i - _ONE, i, k)
    class_dots(values, at, columns, place, size, bias, weights, halfspaces, k, dots)
    unit = 1.0 / sqrt(square) if how[Setting.UNIT] != 0.0 and square > 0.0 else 1.0
    for c in range(_ZERO, k):
        T[i + _TWO, c] = unit * classes[Class.SCALE, c] * dots[c]
    heated(heat, HALFSPACES, scores, T, i + _TWO, k)
    to_lanes(T, classes_seen, P, lane)


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
        halfspace_steps(classes, how, dots, np.uint64(k), label, square, c, steps)
        if label == k:  # nobody could have expected it; from now on it is one of the classes
            k += 1
            steps[label] = 0.0  # its halfspace begins with the next row, which is not chosen by its label
            _predict(values, at, columns, place, size, k, how, part, square, P, T, dots, scores, x, z, units, every)
        many = np.uint64(k)
        heat_step(heat, HALFSPACES, P, experts - 1, k, label, r, scores)
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
            heat_step(heat, MEANS, P, experts - 1 - SIMPLE - 1, k, label, r, scores)
            for j in range(x.size):
                means[j, label] += own * x[j]
            spread_columns(x, x.size, own / t[Total.WEIGHT], own, bias != 0.0, spreads)
            add_steps(values, at, columns, place, size, bias, steps, many, weights)
        count_label(classes, many, label, own)
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
