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
    forgetting two more of these with steps that do not fall, and one that is passive-aggressive: for targets that move.
               They take part in the vote by recent mistakes alone (recent_vote.py).

No `fastmath`: a dense row, its CSR form and the row alone give the same bits (see kernels/learning/halfspace.py).
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Batch, Csr, Floats, njit
from massart.kernels.learning.expert_steps import Column, diagonal_steps, plain_steps, scale, sum_scales
from massart.kernels.learning.expert_weights import (
    COLUMNS,
    DIAGONAL,
    PLAIN,
    RIDGE,
    add,
    add_and_dot,
    add_constant,
    dot,
    measure,
    prefetch_weights,
    shrink,
)
from massart.kernels.learning.few_features import (
    CENTRED,
    CENTRED_SIZE,
    DEVIATION,
    FEW,
    FORGETTING,
    LARGEST_VARIANCE,
    MEAN,
    centred_steps,
    few_scores,
    forgetting_steps,
    full_step,
    padded,
    spread_out,
)
from massart.kernels.learning.halfspace import LONGEST_SQUARE
from massart.kernels.learning.mixture import Member, Total, answer_with, judge, weigh
from massart.kernels.learning.recent_vote import Lead, Recent, judge_recent, votes_of
from massart.kernels.learning.simd import LANES, four_of, store_four

__all__ = ["CENTRED", "CENTRED_SIZE", "COLUMNS", "DEVIATION", "DIAGONAL", "FEW", "FORGETTING", "LARGEST_VARIANCE",
           "MEAN", "PLAIN", "RECENT", "Column", "Setting", "learn_pool", "padded", "score_pool"]  # fmt: skip

RECENT: Final = 1


class Setting(IntEnum):
    """Places in `how`, float64: the parameters of a pool."""

    UNIT = 0  # whether plain columns scale rows to norm 1
    BIAS = 1  # the value of the constant coordinate, 0 without an intercept
    VOTING = 2
    NEGATIVE = 3  # the weight of rows labelled -1
    POSITIVE = 4  # and of those labelled +1


_USUAL_EXPERTS, _MOST_EXPERTS = 2 * LANES, 3 * LANES  # without those for few features, and with them
_RECENT_SIZE: Final = len(Recent)
_LATELY: Final = 1 / 16
_FREE: Final = 2000.0  # so often the full matrix is updated whenever it should be; later, every 16th time
_EVERY: Final = 16
# What keeps finite rows from making a state that is not finite. Ordinary streams never come to any of these.
_LARGEST_ROW: Final = 1e78  # weight times length: the sum of 2^53 squared gradients at a margin of 1e-50 is finite
_ZERO, _ONE, _D, _2D = np.uint64(0), np.uint64(1), np.uint64(4), np.uint64(8)


@njit(cache=True, error_model="numpy", inline="always")
def _unit(square: float, how: Floats) -> float:
    """The factor that scales a row to norm 1; 1 for an all-zero row and for rows taken as they are."""
    return 1.0 / sqrt(square) if how[Setting.UNIT] != 0.0 and square > 0.0 else 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _length(square: float, how: Floats) -> float:
    """The length of a row so scaled."""
    return (1.0 if square > 0.0 else 0.0) if how[Setting.UNIT] != 0.0 else sqrt(square)


@njit(cache=True, error_model="numpy", _nrt=False)
def _learn(
    rows: Csr, are_copies: bool, batch: Batch, first: int, rounds: int, seed: np.uint64, how: Floats,
    state: tuple[Floats, ...], Z: Floats, answers: Floats, scratch: Any,
) -> int:  # fmt: skip
    """`learn_pool`, with arrays to work in: what allocates nothing need not count references."""
    values, columns, indptr = rows
    _, order, labels, weight = batch
    W, V, F, C, S, M, t, D, _, u = state
    q, x, z, dots, b, b_constant, scores, members, recents = scratch
    few, bias, last = F.size > 0, how[Setting.BIAS], np.uint64(V.size - 1)
    d = np.uint64(x.size - LANES - 1)  # columns there were at first, with few features
    experts = M.shape[1]
    plain = experts - DIAGONAL - RECENT - (1 + CENTRED if few else 0)
    recent = np.uint64(DIAGONAL + plain)
    forgetting, is_recent = FORGETTING if D.size > 0 else 0, u.size > 0
    whole = indptr.size == 0
    at, size, place, is_dotted = _ZERO, np.uint64(columns.size), _ZERO, False
    for n in range(rounds):
        i = order[first + n] if order.size > 0 else np.uint64(first + n)
        row, following = i, i + _ONE
        if are_copies:
            row, following = np.uint64(n), np.uint64(n + 1)
        elif order.size > 0 and n + 1 < rounds:
            following = order[first + n + 1]
        if whole:
            at = row * size
        else:
            at = place = np.uint64(indptr[row])  # of its values, of its columns
            size = np.uint64(indptr[row + _ONE]) - at
        bare, reach, has_zeros = measure(values, at, columns, place, size, whole, V, q)
        squares = bare, bare + bias * bias
        is_valid = squares[1] < np.inf if how[Setting.UNIT] != 0.0 else squares[1] <= LONGEST_SQUARE
        if has_zeros or not is_valid:
            return n
        if not whole and n + 1 < rounds:
            prefetch_weights(columns, np.uint64(indptr[following]), np.uint64(indptr[following + _ONE]), W)
        q_constant = bias * V[last] if V[last] > 0.0 or bias == 0.0 else 1.0 / bias
        reach += bias * q_constant
        y, c = np.float64(labels[i]), weight[i] if weight.size > 0 else 1.0
        heavy = c * max(how[Setting.NEGATIVE], how[Setting.POSITIVE])  # the label is not known yet
        units = _unit(squares[0], how), _unit(squares[1], how)
        lengths = _length(squares[0], how), _length(squares[1], how)
        if heavy * (1.0 + lengths[1]) > _LARGEST_ROW:  # it counts for less, and nothing is proved
            c *= _LARGEST_ROW / (heavy * (1.0 + lengths[1]))
            heavy, t[Total.UNPROVED] = c * max(how[Setting.NEGATIVE], how[Setting.POSITIVE]), 1.0

        if not is_dotted:
            dot(values, at, columns, place, size, bias, W, dots)
        scale(S, dots, lengths, heavy, plain, scores)
        trend = t[Total.TREND] if bias != 0.0 else 0.0
        if few:
            spread_out(values, at, columns, place, size, whole, bias, d, x)
            full, fast, middle, slow, late = few_scores(x, d, F, C, D, t[Total.WEIGHT], z)
            store_four(scores, recent, four_of(trend, full, fast, middle))
            store_four(scores, recent + _D, four_of(slow, late[0], late[1], late[2]))
        else:
            store_four(scores, recent, four_of(trend, 0.0, 0.0, 0.0))
        weigh(t, heavy)
        t[Total.LONGEST2] = max(t[Total.LONGEST2], lengths[1] * lengths[1])
        steady, lately = votes_of(members, recents, scores)
        vote, unit = steady, t[Total.TOTAL]
        if is_recent and u[Lead.FOLLOWED] != 0.0:
            vote, unit = lately, u[Lead.TOTAL]
        answers[n] = answer_with(members, t, scores, experts, how[Setting.VOTING], seed, vote, unit)

        c *= how[Setting.POSITIVE] if y > 0.0 else how[Setting.NEGATIVE]
        sum_scales(S, c)
        diagonal_steps(scores, reach, y, c, b)
        plain_steps(S, dots, squares, units, lengths, y, c, heavy, b, b_constant, _D)
        plain_steps(S, dots, squares, units, lengths, y, c, heavy, b, b_constant, _2D)
        judge(members, t, scores, experts, answers[n], vote, y, c, how[Setting.VOTING])
        if is_recent:
            judge_recent(members, recents, t, u, scores, experts, forgetting, (steady, lately), y > 0.0, c)
        add_constant(q_constant, bias, b, b_constant, W)
        is_dotted = whole and n + 1 < rounds
        if is_dotted:
            add_and_dot(values, at, following * size, size, q, b, bias, W, dots)
        else:
            add(values, at, columns, place, size, q, b, W)
        if Z.size > 0:
            for k in range(COLUMNS):
                b[k] *= S[Column.SCALED, k]
                b_constant[k] *= S[Column.SCALED, k]
            add(values, at, columns, place, size, q, b, Z)
            add_constant(q_constant, bias, b, b_constant, Z)
        # One visit in four, for four: variances change slowly, and divisions are what a visit costs.
        if y * scores[0] < 1.0 and np.int64(t[Total.ROUNDS]) & 3 == 1:
            shrink(values, at, columns, place, size, q, 4.0 * c, V)
            V[last] = q_constant / (bias + 4.0 * c / RIDGE * bias * bias * q_constant) if bias != 0.0 else 0.0
        t[Total.TREND] += _LATELY * (y - t[Total.TREND])
        if few:
            square = centred_steps(x, d, y, c, t[Total.WEIGHT], scores, recent + _ONE, z, C)
            if forgetting > 0:
                share = c * t[Total.ROUNDS] / t[Total.WEIGHT]
                forgetting_steps(d, y, share, square, scores, np.uint64(experts), z, D)
            if y * scores[recent + _ONE] < 1.0:
                t[Total.TIGHT] += 1.0
                if t[Total.TIGHT] <= _FREE or np.int64(t[Total.TIGHT]) % _EVERY == 0:
                    full_step(x, d, y, c, scores[recent + _ONE], z, F)
    return rounds


@njit(cache=True, error_model="numpy")
def _copy(source: Floats, target: Floats, columns: int) -> None:
    """The first columns of a table to another one; a slice would bring code for the message that shapes differ."""
    for row in range(source.shape[0]):
        for column in range(columns):
            target[row, column] = source[row, column]


@njit(cache=True, error_model="numpy", nogil=True)
def learn_pool(
    rows: Csr, are_copies: bool, batch: Batch, first: int, rounds: int, seed: np.uint64, how: Floats,
    state: tuple[Floats, ...], Z: Floats, answers: Floats,
) -> int:  # fmt: skip
    """Answer, then learn, so many rounds of a batch from `first` on, up to a row with a 0 or one that is not valid.

    Returns how many have been learned. `rows` is (float64 data, 32-bit indices, 32-bit indptr). Dense rows are CSR rows
    that share one list of indices, 0, 1, 2 and so on: their indptr is empty. They are those of the batch, or copies of
    just these rounds. `batch` is (count, order, y, weight) as in `learn_dense` of kernels/learning/halfspace.py.
    `answers[n]` is the score of the answer of the n-th round. `state` is (W, V, F, C, S, M, t, D, R, u); F,
    (d + 2, d + 1) with the mean last, C and D, for the d columns there were at first, are empty with many features; D,
    R and u also in a pool whose vote does not follow recent mistakes. Z is empty, or of W's shape and then keeps the
    running averages. No row has more entries than V.
    """
    W, V, F, C, S, M, t, D, R, u = state
    few = F.shape[1] + LANES
    # Sums over experts are taken by lanes; what is behind the last expert has no share.
    lanes = _MOST_EXPERTS if F.size > 0 else _USUAL_EXPERTS
    members, recents = np.zeros((M.shape[0], lanes)), np.zeros((_RECENT_SIZE, lanes))
    _copy(M, members, M.shape[1])
    _copy(R, recents, R.shape[1])
    for e in range(M.shape[1], R.shape[1]):
        members[Member.LOSS, e] = R[Recent.SUM, e]
    scratch = (
        np.empty(V.size + LANES),
        np.empty(few),
        np.zeros(few),
        np.empty(COLUMNS),
        np.empty(COLUMNS),
        np.empty(COLUMNS),
        np.zeros(_MOST_EXPERTS),
        members,
        recents,
    )
    flat = W, V, F.reshape(-1), C.reshape(-1), S, M, t, D.reshape(-1), R, u
    learned = _learn(rows, are_copies, batch, first, rounds, seed, how, flat, Z, answers, scratch)
    for e in range(M.shape[1], R.shape[1]):
        recents[Recent.SUM, e] = members[Member.LOSS, e]
    _copy(members, M, M.shape[1])
    _copy(recents, R, R.shape[1])
    return learned


@njit(cache=True, error_model="numpy", nogil=True)
def score_pool(rows: Csr, how: Floats, state: tuple[Floats, ...], scores: Floats) -> None:
    """scores[n]: what the vote gives to row n; nothing changes. Rows are (data, indices, indptr), without zeros.

    `state` is that of `learn_pool`. The vote is the halfspace that `Pool.leaders` adds up, which takes longer.
    """
    values, columns, indptr = rows
    W, _, F, C, S, M, t, D, R, u = state
    few, bias, dots = F.size > 0, how[Setting.BIAS], np.empty(COLUMNS)
    x, z = np.empty(F.shape[1] + LANES), np.zeros(F.shape[1] + LANES)
    flat = F.reshape(-1), C.reshape(-1), D.reshape(-1)
    plain = M.shape[1] - DIAGONAL - RECENT - (1 + CENTRED if few else 0)
    is_recent = u.size > 0 and u[Lead.FOLLOWED] != 0.0
    unit = u[Lead.TOTAL] if is_recent else t[Total.TOTAL]
    late = DIAGONAL + plain
    trend = t[Total.TREND] if bias != 0.0 else 0.0
    for n in range(indptr.size - 1):
        at = np.uint64(indptr[n])
        size = np.uint64(indptr[n + 1]) - at
        dot(values, at, columns, at, size, bias, W, dots)
        vote = 0.0
        for e in range(late):
            voice = R[Recent.VOICE, e] if is_recent else M[Member.VOICE, e]
            vote += voice * S[Column.SCALE, e] * dots[e]
        vote += (R[Recent.VOICE, late] if is_recent else M[Member.VOICE, late]) * trend
        if few:
            spread_out(values, at, columns, at, size, False, bias, np.uint64(F.shape[1] - 1), x)
            full, fast, middle, slow, last = few_scores(
                x, np.uint64(F.shape[1] - 1), flat[0], flat[1], flat[2], t[Total.WEIGHT], z
            )
            first = late + RECENT
            if is_recent:
                vote += R[Recent.VOICE, first] * full + R[Recent.VOICE, first + 1] * fast
                vote += R[Recent.VOICE, first + 2] * middle + R[Recent.VOICE, first + 3] * slow
                if D.size > 0:
                    vote += R[Recent.VOICE, first + 4] * last[0] + R[Recent.VOICE, first + 5] * last[1]
                    vote += R[Recent.VOICE, first + 6] * last[2]
            else:
                vote += M[Member.VOICE, first] * full + M[Member.VOICE, first + 1] * fast
                vote += M[Member.VOICE, first + 2] * middle + M[Member.VOICE, first + 3] * slow
        scores[n] = vote / unit
