"""A second vote of a pool, in which experts weigh by their recent mistakes, and when it is the pool's vote.

    weights    exponential in the mistakes of an expert. After 64 rounds what came before counts 15/16: about the last
               thousand rounds count. The rate is that for the best expert's recent mistakes, sqrt(2 ln N / variance).
               So the weights follow a change that AdaHedge's shares (mixture.py), which are of all rounds, do not.
    experts    those of the pool, and with few features those that forget (few_features.py), which have no share.
    choice     the vote by all mistakes is taken unless the one by recent mistakes has recently made fewer, by more than
               chance has it: the lead must exceed 1.5 times the root of the rounds in which the two differed, plus 1.

As for any vote, no bound is proved: mixture.py's Prod takes draws instead where these do better. Sums over experts are
taken by lanes, as in mixture.py: R has a multiple of LANES columns. The mistakes of experts that forget are summed
where `judge` sums those of the others, in columns of M that have no share.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.elementary import exp, log
from massart.kernels.learning.mixture import LEAST, Member, Total
from massart.kernels.learning.simd import LANES, add_products, load, no_sums, total


class Recent(IntEnum):
    """Rows of `R`, float64 with one column per expert, those that forget last."""

    VOICE = 0  # its weight in the vote by recent mistakes, in units of the size of its scores
    LOSS = 1  # recent mistakes, weighted, when weights were set
    THEN = 2  # all its mistakes, weighted, when weights were set
    SUM = 3  # of those that forget: all mistakes, weighted
    POWER = 4  # of those that forget: the mean square of their scores


class Lead(IntEnum):
    """Places in `u`, float64: the two votes."""

    FOLLOWED = 0  # 1 if the pool's vote is that by recent mistakes
    AHEAD = 1  # recently, mistakes of the vote by all mistakes less those of the vote by recent ones
    SPLIT = 2  # the sum of the squares of these differences
    WEIGHT = 3  # recent rounds, weighted, when weights were set
    WEIGHT_THEN = 4  # all rounds, weighted, when weights were set
    TOTAL = 5  # sum of the weights of the experts


_EVERY: Final = 64  # rounds after which weights are set again
_KEEP: Final = 0.9375
_DOUBT: Final = 1.5  # standard deviations of the lead, if the two were equally good
_ZERO, _LANES = np.uint64(0), np.uint64(LANES)


@njit(cache=True, error_model="numpy", inline="always")
def votes_of(M: Floats, R: Floats, scores: Floats) -> Any:
    """The scores of the votes by all mistakes, times TOTAL of mixture.py, and by recent ones, times TOTAL."""
    sums, others, lanes = no_sums(), no_sums(), np.uint64(M.shape[1])
    for e in range(_ZERO, lanes, _LANES):
        own = load(scores, e)
        sums = add_products(sums, load(M, np.uint64(Member.VOICE) * lanes + e), own)
        others = add_products(others, load(R, np.uint64(Recent.VOICE) * lanes + e), own)
    return total(sums), total(others)


@njit(cache=True, error_model="numpy")
def compare(t: Floats, u: Floats) -> None:
    """Which of the two votes is the pool's."""
    is_ahead = u[Lead.AHEAD] > _DOUBT * sqrt(u[Lead.SPLIT]) + t[Total.HEAVIEST]
    u[Lead.FOLLOWED] = 1.0 if is_ahead else 0.0


@njit(cache=True, error_model="numpy")
def _set_voices(M: Floats, R: Floats, t: Floats, u: Floats, experts: int, forgetting: int) -> None:
    """Weights of the experts of the pool, and of those that forget behind them."""
    best, unknown = np.inf, 0.0
    for e in range(experts + forgetting):
        R[Recent.LOSS, e] = _KEEP * R[Recent.LOSS, e] + (M[Member.LOSS, e] - R[Recent.THEN, e])
        R[Recent.THEN, e] = M[Member.LOSS, e]
        best = min(best, R[Recent.LOSS, e])
        unknown = max(unknown, M[Member.POWER, e] if e < experts else R[Recent.POWER, e])
    u[Lead.WEIGHT] = _KEEP * u[Lead.WEIGHT] + (t[Total.WEIGHT] - u[Lead.WEIGHT_THEN])
    u[Lead.WEIGHT_THEN] = t[Total.WEIGHT]
    u[Lead.AHEAD] *= _KEEP
    u[Lead.SPLIT] *= _KEEP
    heavy = t[Total.HEAVIEST]
    variance = heavy * (heavy + max(0.0, best * (1.0 - best / max(u[Lead.WEIGHT], LEAST))))
    rate = sqrt(2.0 * log(np.float64(experts + forgetting)) / max(variance, LEAST))
    weights = 0.0
    for e in range(experts + forgetting):
        behind = (R[Recent.LOSS, e] - best) * rate
        own = exp(-behind) if behind < 50.0 else 0.0
        weights += own
        # An expert all of whose scores were 0 so far counts as if they were as large as anybody's.
        power = M[Member.POWER, e] if e < experts else R[Recent.POWER, e]
        square = power if power > 0.0 else unknown
        R[Recent.VOICE, e] = own / sqrt(max(square, LEAST) if square > 0.0 else 1.0)
    u[Lead.TOTAL] = weights


@njit(cache=True, error_model="numpy", inline="always")
def judge_recent(
    M: Floats, R: Floats, t: Floats, u: Floats, scores: Floats, experts: int, forgetting: int, votes: Any,
    positive: bool, c: float,
) -> None:  # fmt: skip
    """Learn the label of a round that `judge` has counted; `votes` are those by all mistakes, by recent ones."""
    if (votes[0] >= 0.0) != (votes[1] >= 0.0):
        u[Lead.AHEAD] += c if (votes[1] >= 0.0) == positive else -c
        u[Lead.SPLIT] += c * c
        compare(t, u)
    rounds = np.int64(t[Total.ROUNDS])
    if forgetting > 0 and (rounds & 7 == 0 or rounds < 64):
        for e in range(experts, experts + forgetting):
            square = min(scores[e] * scores[e], 1e300)
            R[Recent.POWER, e] += (square - R[Recent.POWER, e]) * (c / t[Total.HEARD])
    if rounds & (_EVERY - 1) == 1:
        _set_voices(M, R, t, u, experts, forgetting)
        compare(t, u)
