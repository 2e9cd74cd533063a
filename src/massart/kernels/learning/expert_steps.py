"""The scores and steps of a pool's experts that have weights for each feature; pool.py says which they are.

Columns are taken in vectors of four: the diagonal ones, then twice four plain ones.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.elementary import exp
from massart.kernels.learning.expert_weights import COLUMNS, DIAGONAL, RIDGE
from massart.kernels.learning.few_features import LARGEST_HINGE, LARGEST_SCORE
from massart.kernels.learning.simd import (
    any_larger,
    four_of,
    larger,
    load_four,
    roots,
    spread_four,
    store_four,
    where_larger,
    where_negative,
    where_zero,
)

__all__ = ["Column", "diagonal_steps", "plain_steps", "scale", "sum_scales"]


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


_PACES: Final = (1.0, 0.25, 16.0, 4.0)
_ZERO, _C, _D, _2D = np.uint64(0), np.uint64(COLUMNS), np.uint64(4), np.uint64(8)


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
def scale(S: Floats, dots: Floats, lengths: tuple[float, float], heavy: float, plain: int, scores: Floats) -> None:
    """The scores of all columns; the caps cover the row before its label is looked at."""
    longest = spread_four(heavy * max(lengths[0], lengths[1]))
    for c in (_D, _2D):
        reach = longest * (spread_four(1.0) - load_four(S, _row(Column.ETA, c)))
        if any_larger(reach, load_four(S, _row(Column.CAP, c)) * load_four(S, _row(Column.GAMMA, c))):
            _raise_caps(S, lengths, heavy, plain)
    highest, lowest = spread_four(LARGEST_SCORE), spread_four(-LARGEST_SCORE)
    score = load_four(S, _row(Column.SCALE, _ZERO)) * load_four(dots, _ZERO)
    store_four(scores, _ZERO, larger(lowest, where_larger(score, highest, highest, score)))
    for c in (_D, _2D):
        store_four(scores, c, load_four(S, _row(Column.SCALE, c)) * load_four(dots, c))


@njit(cache=True, error_model="numpy", forceinline=True)
def sum_scales(S: Floats, c: float) -> None:
    """SCALED += c * SCALE, for the running averages."""
    for first in (_ZERO, _D, _2D):
        _increase(S, _row(Column.SCALED, first), spread_four(c) * load_four(S, _row(Column.SCALE, first)))


@njit(cache=True, error_model="numpy", forceinline=True)
def plain_steps(
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
def diagonal_steps(scores: Floats, reach: float, y: float, c: float, b: Floats) -> None:
    """The b of the diagonal columns."""
    pace = y / (reach + RIDGE / c)
    b0 = _PACES[0] * pace * min(LARGEST_HINGE, max(0.0, 1.0 - y * scores[0]))
    b1 = _PACES[1] * pace * min(LARGEST_HINGE, max(0.0, 1.0 - y * scores[1]))
    b2 = _PACES[2] * pace / (1.0 + exp(min(700.0, y * scores[2])))
    b3 = _PACES[3] * pace / (1.0 + exp(min(700.0, y * scores[3])))
    store_four(b, _ZERO, four_of(b0, b1, b2, b3))
