"""One answer out of the experts': AdaHedge's shares, the vote, the draw, and Prod, which chooses between those two.

    AdaHedge   expert e gets the share p_e ~ exp(-rate loss_e), rate = ln E / gap (de Rooij, van Erven, Gruenwald,
               Koolen 2014). A draw is the answer of an expert taken with probability p_e; the vote is the sign of
               sum_e p_e score_e / size_e, where size_e is the root mean square of its scores: one halfspace again.
    Prod       the vote answers, unless draws have done better: Prod with the vote as its default (Sani, Neu, Lazaric
               2014), with a rate that falls as the two come to differ. It loses a logarithm to the vote.

Both change their rates only when what they depend on has grown by a sixteenth. Theorem 7 of docs/theory.md is about
exactly this. The functions are compiled into the kernels that call them, kernels/learning/pool.py above all.

Sums over experts are taken by lanes (kernels/learning/simd.py). So `answer` and `judge` take M and scores with a
multiple of LANES columns, of which `experts` are in use; what is behind them has neither share nor voice.
"""

from enum import IntEnum
from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Batch, Floats, njit
from massart.kernels.learning.elementary import coin, exp, log
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    load,
    no_sums,
    spread,
    store,
    total,
    where_negative,
)

MAJORITY, SAMPLE = 0.0, 1.0


class Member(IntEnum):
    """Rows of `M`, float64 with one column per expert: what the mixture remembers of it."""

    LOSS = 0  # mistakes, weighted
    SHARE = 1  # exp(-RATE * LOSS), up to a factor
    VOICE = 2  # the same in units of the size of its scores
    POWER = 3  # the mean square of its scores


class Total(IntEnum):
    """Places in `t`, float64: what the mixture remembers of all rows."""

    ROUNDS = 0  # rows learned
    MISTAKES = 1  # rows answered wrongly before they were learned
    WEIGHT = 2  # sum of c
    WEIGHT2 = 3  # sum of c^2
    HEAVIEST = 4  # largest c
    LONGEST2 = 5  # largest squared length of a row as the plain columns learn it
    WRONG = 6  # sum of c over mistakes
    EXPECTED = 7  # sum of c * the probability of a mistake, before the coin
    DRAWN = 8  # the same if every answer were a draw
    VOTED = 9  # the same if every answer were the vote
    GAP = 10  # AdaHedge's cumulative mixability gap when its rate was set
    RATE = 11  # its learning rate, ln(experts) / GAP
    KEEP = 12  # exp(-RATE)
    TOTAL = 13  # sum of shares
    TOTAL_THEN = 14  # the same when the rate was set
    DRAWN_THEN = 15  # DRAWN when the rate was set
    BEST_THEN = 16  # the fewest mistakes of an expert when the rate was set
    DOUBT = 17  # by how much the gap may have grown since
    NEXT = 18  # rounds after which voices are set again
    HEARD = 19  # sum of c over the rounds in which the scores' size was measured
    SPLIT = 20  # sum of (loss of the vote - loss of a draw)^2, in squares of the heaviest row so far
    PRIOR = 21  # what a draw weighs at first; in units of the heaviest row, Prod's rate
    FAVOUR = 22  # by how much draws weigh more now
    CHANCE = 23  # probability that the next answer is a draw
    TREND = 24  # the mean of recent labels
    TIGHT = 25  # rows on which the full matrix had a margin below 1
    COINS = 26  # sum of c^2 q (1 - q), q the probability of a mistake before the coin
    FIRST = 27  # c of the first row
    POSITIVES = 28  # sum of c over rows labelled +1
    UNPROVED = 29  # 1 if what the theorem assumes is known not to hold


LEAST: Final = 1e-200  # squares below that count as that
_ZERO, _LANES = np.uint64(0), np.uint64(LANES)


@njit(cache=True, error_model="numpy")
def _fewest_losses(M: Floats, experts: int) -> float:
    best = M[Member.LOSS, 0]
    for e in range(1, experts):
        best = min(best, M[Member.LOSS, e])
    return best


@njit(cache=True, error_model="numpy")
def gap_of(M: Floats, t: Floats, experts: int) -> float:
    """AdaHedge's cumulative mixability gap: what draws lost less what the mixture's exponential weights lost."""
    if t[Total.GAP] == 0.0:
        return 0.0
    mixed = -log(t[Total.TOTAL] / t[Total.TOTAL_THEN]) / t[Total.RATE]
    if t[Total.TOTAL] < 1e-100:  # shares have vanished, one heavy row is enough: begin with the losses
        best, total = _fewest_losses(M, experts), 0.0
        for e in range(experts):
            total += exp((best - M[Member.LOSS, e]) * t[Total.RATE])
        mixed = best - t[Total.BEST_THEN] - log(total / t[Total.TOTAL_THEN]) / t[Total.RATE]
    return max(t[Total.GAP], t[Total.GAP] + t[Total.DRAWN] - t[Total.DRAWN_THEN] - mixed)


@njit(cache=True, error_model="numpy")
def share(M: Floats, t: Floats, experts: int, gap: float) -> None:
    """AdaHedge's rate for a gap, and the shares; and voices, shares in units of the scores' size."""
    # While the gap is 0, the rate is infinite: the leaders share all. So do they if the rate would overflow.
    gap = gap if gap > LEAST else 0.0
    t[Total.RATE] = log(np.float64(experts)) / gap if gap > 0.0 else 0.0
    t[Total.KEEP] = exp(-t[Total.RATE]) if gap > 0.0 else 0.0
    best, unknown, total = _fewest_losses(M, experts), 0.0, 0.0
    for e in range(experts):
        unknown = max(unknown, M[Member.POWER, e])
    for e in range(experts):
        lead = M[Member.LOSS, e] - best
        M[Member.SHARE, e] = 1.0 if lead == 0.0 else exp(-lead * t[Total.RATE]) if gap > 0.0 else 0.0
        # An expert all of whose scores were 0 so far counts as if they were as large as anybody's.
        square = M[Member.POWER, e] if M[Member.POWER, e] > 0.0 else unknown
        M[Member.VOICE, e] = M[Member.SHARE, e] / sqrt(max(square, LEAST) if square > 0.0 else 1.0)
        total += M[Member.SHARE, e]
    t[Total.TOTAL] = total
    t[Total.BEST_THEN], t[Total.TOTAL_THEN], t[Total.DRAWN_THEN] = best, total, t[Total.DRAWN]
    t[Total.GAP], t[Total.DOUBT], t[Total.NEXT] = gap, 0.0, 1.0625 * t[Total.ROUNDS]


@njit(cache=True, error_model="numpy")
def _set_prod_rate(t: Floats, heaviest: float) -> None:
    """Prod's rate for what vote and draws have differed by, and the draws' weight, carried over from the old rate."""
    lead = log(t[Total.FAVOUR]) / t[Total.PRIOR] * t[Total.HEAVIEST]
    t[Total.SPLIT] *= (t[Total.HEAVIEST] / heaviest) ** 2
    t[Total.HEAVIEST], t[Total.PRIOR] = heaviest, min(t[Total.PRIOR], 0.5 / sqrt(1.0 + t[Total.SPLIT]))
    t[Total.FAVOUR] = exp(max(-600.0, min(600.0, t[Total.PRIOR] * lead / heaviest)))
    t[Total.CHANCE] = t[Total.PRIOR] * t[Total.FAVOUR] / (t[Total.PRIOR] * t[Total.FAVOUR] + 1.0 - t[Total.PRIOR])


@njit(cache=True, error_model="numpy")
def weigh(t: Floats, heavy: float) -> None:
    """A row comes whose weight is at most `heavy`, whatever its label."""
    if t[Total.ROUNDS] == 0.0:
        t[Total.FIRST] = heavy
    if heavy > t[Total.HEAVIEST]:
        _set_prod_rate(t, heavy)


@njit(cache=True, error_model="numpy", inline="always")
def count_answer(t: Floats, given: float, y: float, c: float) -> None:
    """One more round, of weight c."""
    t[Total.ROUNDS] += 1.0
    t[Total.WEIGHT] += c
    t[Total.WEIGHT2] += c * c
    t[Total.POSITIVES] += c if y > 0.0 else 0.0
    if (given >= 0.0) != (y > 0.0):
        t[Total.MISTAKES] += 1.0
        t[Total.WRONG] += c


@njit(cache=True, error_model="numpy", inline="always")
def _expect(t: Floats, chance: float, wrong: float, missed: float, c: float) -> None:
    """What the answer was expected to lose before the coin, and the coin's variance."""
    expected = chance * wrong + (1.0 - chance) * missed
    t[Total.EXPECTED] += c * expected
    t[Total.COINS] += c * c * expected * (1.0 - expected)


@njit(cache=True, error_model="numpy", inline="always")
def compare(t: Floats, missed: float, wrong: float, c: float) -> None:
    """Prod: what the default lost, and what the other was expected to lose."""
    split = c * (missed - wrong) / t[Total.HEAVIEST]
    if split != 0.0:
        t[Total.FAVOUR] *= 1.0 + t[Total.PRIOR] * split
        t[Total.SPLIT] += split * split
        if (
            4.0 * t[Total.PRIOR] * t[Total.PRIOR] * (1.0 + t[Total.SPLIT]) > 1.0625
            or not 1e-280 < t[Total.FAVOUR] < 1e280
        ):
            _set_prod_rate(t, t[Total.HEAVIEST])
        t[Total.CHANCE] = t[Total.PRIOR] * t[Total.FAVOUR] / (t[Total.PRIOR] * t[Total.FAVOUR] + 1.0 - t[Total.PRIOR])


@njit(cache=True, error_model="numpy", inline="always")
def _drawn(M: Floats, t: Floats, experts: int, toss: float) -> int:
    """The expert whom a draw follows, by a toss below CHANCE."""
    left, e = toss / t[Total.CHANCE] * t[Total.TOTAL], 0
    while e < experts - 1 and left >= M[Member.SHARE, e]:
        left -= M[Member.SHARE, e]
        e += 1
    return e


@njit(cache=True, error_model="numpy")
def followed(M: Floats, t: Floats, experts: int, seed: np.uint64) -> int:
    """The expert whose answer is given in this round, or -1 if it is the vote."""
    toss = coin(seed, t[Total.ROUNDS])
    return -1 if toss >= t[Total.CHANCE] else _drawn(M, t, experts, toss)


@njit(cache=True, error_model="numpy", inline="always")
def vote_of(M: Floats, scores: Floats) -> float:
    """The score of the vote, times TOTAL."""
    sums, lanes = no_sums(), np.uint64(M.shape[1])
    for e in range(_ZERO, lanes, _LANES):
        sums = add_products(sums, load(M, np.uint64(Member.VOICE) * lanes + e), load(scores, e))
    return float(total(sums))


@njit(cache=True, error_model="numpy", inline="always")
def answer_with(
    M: Floats, t: Floats, scores: Floats, experts: int, voting: float, seed: np.uint64, vote: float, unit: float
) -> Any:
    """The score of the answer, in units of its size; `vote` / `unit` is that of the vote."""
    toss = coin(seed, t[Total.ROUNDS])
    if voting == MAJORITY or toss >= t[Total.CHANCE]:
        return vote / unit
    e = _drawn(M, t, experts, toss)
    return scores[e] / sqrt(max(M[Member.POWER, e], LEAST) if M[Member.POWER, e] > 0.0 else 1.0)


@njit(cache=True, error_model="numpy", inline="always")
def answer(M: Floats, t: Floats, scores: Floats, experts: int, voting: float, seed: np.uint64) -> Any:
    """The score of the answer, in units of its size, and that of the vote."""
    vote = vote_of(M, scores)
    return answer_with(M, t, scores, experts, voting, seed, vote, t[Total.TOTAL]), vote


@njit(cache=True, error_model="numpy", forceinline=True)
def _judge_experts(M: Floats, scores: Floats, positive: bool, c: float, keep: float) -> Any:
    """Losses, shares and voices after a label; the shares of those who were wrong, and the shares that are left."""
    # Of experts whose scores are negative, and of the others: losses, and what they keep of their shares.
    miss, other_miss = spread(1.0 if positive else 0.0), spread(0.0 if positive else 1.0)
    kept, other_kept = spread(keep if positive else 1.0), spread(1.0 if positive else keep)
    lanes, wrong, left = np.uint64(M.shape[1]), no_sums(), no_sums()
    for e in range(_ZERO, lanes, _LANES):
        loss, share, voice = (
            np.uint64(Member.LOSS) * lanes + e,
            np.uint64(Member.SHARE) * lanes + e,
            np.uint64(Member.VOICE) * lanes + e,
        )
        score, shares = load(scores, e), load(M, share)
        missed, factor = where_negative(score, miss, other_miss), where_negative(score, kept, other_kept)
        store(M, loss, add_products(load(M, loss), spread(c), missed))
        wrong = add_products(wrong, missed, shares)
        shares = shares * factor
        left = left + shares
        store(M, share, shares)
        store(M, voice, load(M, voice) * factor)
    return total(wrong), total(left)


@njit(cache=True, error_model="numpy", inline="always")
def judge(
    M: Floats, t: Floats, scores: Floats, experts: int, given: float, vote: float, y: float, c: float, voting: float
) -> None:
    """The mixture and Prod learn the label."""
    positive = y > 0.0
    finite = t[Total.GAP] > 0.0
    keep = 0.0 if not finite else t[Total.KEEP] if c == 1.0 else exp(-t[Total.RATE] * c)
    before = 0.0 if finite else _fewest_losses(M, experts)
    wrong, left = _judge_experts(M, scores, positive, c, keep)
    wrong /= t[Total.TOTAL]
    t[Total.TOTAL] = left
    count_answer(t, given, y, c)
    missed = 1.0 if (vote >= 0.0) != positive else 0.0
    chance = t[Total.CHANCE] if voting == SAMPLE else 0.0
    t[Total.DRAWN] += c * wrong
    t[Total.VOTED] += c * missed
    _expect(t, chance, wrong, missed, c)

    compare(t, missed, wrong, c)
    if np.int64(t[Total.ROUNDS]) & 7 == 0 or t[Total.ROUNDS] < 64.0:
        t[Total.HEARD] += c
        for e in range(experts):
            M[Member.POWER, e] += (min(scores[e] * scores[e], 1e300) - M[Member.POWER, e]) * (c / t[Total.HEARD])
    _set_rate(M, t, experts, wrong, left, before, finite, c)


@njit(cache=True, error_model="numpy", inline="always")
def _set_rate(
    M: Floats, t: Floats, experts: int, wrong: float, left: float, before: float, finite: bool, c: float
) -> None:
    """AdaHedge changes its rate every round; every sixteenth of the gap is as good, and costs few logarithms."""
    if not finite:
        share(M, t, experts, max(0.0, wrong * c - (_fewest_losses(M, experts) - before)))
        return
    t[Total.DOUBT] += min(wrong * c, 0.125 * t[Total.RATE] * c * c)  # the gap grew by no more (Hoeffding)
    if 16.0 * t[Total.DOUBT] > t[Total.GAP] or t[Total.ROUNDS] > t[Total.NEXT] or left < 1e-100:
        gap = gap_of(M, t, experts)
        t[Total.DOUBT] = gap - t[Total.GAP]
        if 16.0 * t[Total.DOUBT] > t[Total.GAP] or t[Total.ROUNDS] > t[Total.NEXT] or left < 1e-100:
            share(M, t, experts, gap)


@njit(cache=True, error_model="numpy")
def begin(M: Floats, t: Floats, experts: int) -> None:
    """The first round comes, with a weight of 1 as all others: equal shares."""
    for e in range(experts):
        M[Member.SHARE, e] = M[Member.VOICE, e] = 1.0
    t[Total.TOTAL] = t[Total.TOTAL_THEN] = experts
    t[Total.PRIOR] = t[Total.CHANCE] = 0.5
    t[Total.FAVOUR] = 1.0
    weigh(t, 1.0)


@njit(cache=True, error_model="numpy")
def judge_losses(
    M: Floats, t: Floats, losses: Floats, powers: Floats, experts: int, given: float, voted: float
) -> None:
    """`judge` with losses in [0, 1] for mistakes: of the experts, of the answer that was given, and of the vote.

    `powers` are the mean squares of the experts' scores in this round.
    """
    finite = t[Total.GAP] > 0.0
    before = 0.0 if finite else _fewest_losses(M, experts)
    wrong, left = 0.0, 0.0
    for e in range(experts):
        keep = exp(-t[Total.RATE] * losses[e]) if finite else 1.0 if losses[e] == 0.0 else 0.0
        wrong += losses[e] * M[Member.SHARE, e]
        M[Member.LOSS, e] += losses[e]
        M[Member.SHARE, e] *= keep
        M[Member.VOICE, e] *= keep
        left += M[Member.SHARE, e]
    wrong /= t[Total.TOTAL]
    t[Total.TOTAL] = left
    t[Total.ROUNDS] += 1.0
    t[Total.WEIGHT] += 1.0
    t[Total.WEIGHT2] += 1.0
    t[Total.WRONG] += given
    t[Total.DRAWN] += wrong
    t[Total.VOTED] += voted
    expected = t[Total.CHANCE] * wrong + (1.0 - t[Total.CHANCE]) * voted
    t[Total.EXPECTED] += expected
    compare(t, voted, wrong, 1.0)
    t[Total.HEARD] += 1.0
    for e in range(experts):
        M[Member.POWER, e] += (min(powers[e], 1e300) - M[Member.POWER, e]) / t[Total.HEARD]
    _set_rate(M, t, experts, wrong, left, before, finite, 1.0)


@njit(cache=True, error_model="numpy")
def mix_pair(
    steady: Floats, recent: Floats, batch: Batch, classes: Floats, seed: np.uint64, t: Floats, answers: Floats
) -> None:
    """Prod with a default over two learners, from the scores of their answers: `steady` is the default.

    `classes` holds the weights of the labels -1 and +1.
    """
    count, order, labels, weight = batch
    for n in range(count):
        i = order[n] if order.size > 0 else np.uint64(n)
        y, c = np.float64(labels[i]), weight[i] if weight.size > 0 else 1.0
        weigh(t, c * max(classes[0], classes[1]))
        c *= classes[1] if y > 0.0 else classes[0]
        answers[n] = recent[n] if coin(seed, t[Total.ROUNDS]) < t[Total.CHANCE] else steady[n]
        missed = 1.0 if (steady[n] >= 0.0) != (y > 0.0) else 0.0
        wrong = 1.0 if (recent[n] >= 0.0) != (y > 0.0) else 0.0
        count_answer(t, answers[n], y, c)
        t[Total.DRAWN] += c * wrong
        t[Total.VOTED] += c * missed
        _expect(t, t[Total.CHANCE], wrong, missed, c)
        compare(t, missed, wrong, c)


@njit(cache=True, error_model="numpy")
def mix_two(
    first: Floats, second: Floats, batch: Batch, classes: Floats, voting: float, seed: np.uint64, M: Floats, t: Floats,
    answers: Floats,
) -> None:  # fmt: skip
    """The mixture of experts with two learners as its experts, from the scores of their answers.

    `M` has a column for each of the two, `classes` holds the weights of the labels -1 and +1.
    """
    count, order, labels, weight = batch
    members, scores = np.zeros((M.shape[0], LANES)), np.zeros(LANES)
    for row in range(M.shape[0]):
        members[row, 0], members[row, 1] = M[row, 0], M[row, 1]
    for n in range(count):
        i = order[n] if order.size > 0 else np.uint64(n)
        y, c = np.float64(labels[i]), weight[i] if weight.size > 0 else 1.0
        weigh(t, c * max(classes[0], classes[1]))  # the label is not known yet
        scores[0], scores[1] = first[n], second[n]
        answers[n], vote = answer(members, t, scores, 2, voting, seed)
        judge(members, t, scores, 2, answers[n], vote, y, c * (classes[1] if y > 0.0 else classes[0]), voting)
    for row in range(M.shape[0]):
        M[row, 0], M[row, 1] = members[row, 0], members[row, 1]
