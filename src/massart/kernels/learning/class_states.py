"""What several classes have one by one: states of their halfspaces, frequencies, and heats of scores, four at a time.

Rows of `classes` have a place for each class, in fours; so do rows of T, the probabilities of experts. Classes from k
on have not come yet. The halfspace of a class is that of kernels/learning/halfspace.py. Nothing is checked here.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.simd import (
    four_of,
    larger,
    load_four,
    no_four,
    roots,
    spread_four,
    store_four,
    total,
    where_larger,
    where_negative,
    where_zero,
)
from massart.kernels.learning.softmax import soften_row

__all__ = ["FIRST_HEATS", "HALFSPACES", "LEAST_WEIGHT", "MEANS", "Class", "Heat", "Setting", "count_label",
           "frequencies", "halfspace_steps", "heat_step", "heated", "to_lanes", "weigh_by"]  # fmt: skip


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


HALFSPACES, MEANS = 0, 1  # whose heat
FIRST_HEATS: Final = (4.0, 1.0)
LEAST_WEIGHT: Final = 1e-200
_HEAT_PACE: Final = 0.5
_LONGEST_STEP: Final = 0.5
_MOST_HEAT: Final = 1e6
_FADE: Final = 15.0 / 16.0
_HALF: Final = 0.5  # of a row: what each class counts beforehand
_LEAST_SQUARES: Final = 1e-300  # of places for classes that have not come
_ZERO, _ONE, _FOUR = np.uint64(0), np.uint64(1), np.uint64(4)


@njit(cache=True, error_model="numpy", forceinline=True)
def _at(classes: Floats, row: int, n: np.uint64) -> np.uint64:
    return np.uint64(row) * np.uint64(classes.shape[1]) + n


@njit(cache=True, error_model="numpy", forceinline=True)
def _numbers(n: np.uint64) -> Any:
    """n, n + 1, n + 2, n + 3."""
    first = np.float64(n)
    return four_of(first, first + 1.0, first + 2.0, first + 3.0)


@njit(cache=True, error_model="numpy", forceinline=True)
def halfspace_steps(
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
def count_label(classes: Floats, k: np.uint64, label: int, c: float) -> None:
    """Frequencies after a label of weight c."""
    for n in range(_ZERO, k, _FOUR):
        place = _at(classes, Class.RECENT, n)
        store_four(classes, place, load_four(classes, place) * spread_four(_FADE))
    classes[Class.SUM, label] += c
    classes[Class.RECENT, label] += 1.0


@njit(cache=True, error_model="numpy", forceinline=True)
def heat_step(heat: Floats, which: int, P: Floats, e: int, k: int, label: int, r: float, scores: Floats) -> None:
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
def frequencies(classes: Floats, k: np.uint64, heaviest: float, T: Floats, i: np.uint64) -> None:
    """Rows i and i + 1 of T: frequencies of all labels and of recent ones."""
    places, zero = np.uint64(T.shape[1]), no_four()
    half, few = spread_four(_HALF * max(heaviest, LEAST_WEIGHT)), spread_four(_HALF / np.float64(k))
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
def heated(heat: Floats, which: int, scores: Floats, T: Floats, i: np.uint64, k: np.uint64) -> None:
    """Row i of T, scores, becomes probabilities of scores times heat, which are left in `scores`."""
    factor = heat[which, Heat.HEAT]
    for c in range(_ZERO, k):
        scores[which, c] = min(_MOST_HEAT, max(-_MOST_HEAT, factor * T[i, c]))
        T[i, c] = scores[which, c]
    soften_row(T, i, k)


@njit(cache=True, error_model="numpy", forceinline=True)
def weigh_by(T: Floats, i: np.uint64, frequencies: np.uint64, k: np.uint64) -> None:
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
def to_lanes(T: Floats, k: int, P: Floats, first: np.uint64) -> None:
    """Rows of T to lanes of P, from `first` on."""
    lanes = np.uint64(P.shape[1])
    for c in range(k):
        place = np.uint64(c) * lanes + first
        store_four(P, place, four_of(T[0, c], T[1, c], T[2, c], T[3, c]))
        if T.shape[0] > 4:
            store_four(P, place + _FOUR, four_of(T[4, c], T[5, c], T[6, c], T[7, c]))
