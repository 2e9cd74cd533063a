"""Experts' answers made one: AdaHedge's shares, the vote, the draw, and the council that chooses between those two.

    AdaHedge   expert e gets the share p_e ~ exp(-rate loss_e), rate = ln E / gap (de Rooij, van Erven, Gruenwald,
               Koolen 2014). A draw is the answer of an expert taken with probability p_e; the vote is the sign of
               sum_e p_e score_e / size_e, where size_e is the root mean square of its scores: one halfspace again.
    council    the vote answers, unless draws have done better: Prod with the vote as its default (Sani, Neu, Lazaric
               2014), with a rate that falls as the two come to differ. It loses a logarithm to the vote.

Both change their rates only when what they depend on has grown by a sixteenth. Theorem 7 of docs/theory.md is about
exactly this. The functions are compiled into the kernels that call them, kernels/learning/pool.py above all.
"""

from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import njit
from massart.kernels.learning.elementary import exp, log

MAJORITY, SAMPLE = 0.0, 1.0
# M: float64 (MEMBER_SIZE, experts), what the mixture remembers of an expert
(
    LOSS,  # mistakes, weighted
    SHARE,  # exp(-RATE * LOSS), up to a factor
    VOICE,  # the same in units of the size of its scores
    POWER,  # the mean square of its scores
    MEMBER_SIZE,
) = range(5)
# t: float64 (TOTAL_SIZE,)
(
    ROUNDS,  # rows learned
    MISTAKES,  # rows answered wrongly before they were learned
    WEIGHT,  # sum of c
    WEIGHT2,  # sum of c^2
    HEAVIEST,  # largest c
    LONGEST2,  # largest squared length of a row as the plain columns learn it
    WRONG,  # sum of c over mistakes
    EXPECTED,  # sum of c * the probability of a mistake, before the coin
    DRAWN,  # the same if every answer were a draw
    VOTED,  # the same if every answer were the vote
    GAP,  # AdaHedge's cumulative mixability gap when its rate was set
    RATE,  # its learning rate, ln(experts) / GAP
    KEEP,  # exp(-RATE)
    TOTAL,  # sum of shares
    TOTAL_THEN,  # the same when the rate was set
    DRAWN_THEN,  # DRAWN when the rate was set
    BEST_THEN,  # the fewest mistakes of an expert when the rate was set
    DOUBT,  # by how much the gap may have grown since
    NEXT,  # rounds after which voices are set again
    HEARD,  # sum of c over the rounds in which the scores' size was measured
    SPLIT,  # sum of (loss of the vote - loss of a draw)^2, in squares of the heaviest row so far
    PRIOR,  # what a draw weighs at first; in units of the heaviest row, Prod's rate
    FAVOUR,  # by how much draws weigh more now
    CHANCE,  # probability that the next answer is a draw
    TREND,  # the mean label of late
    TIGHT,  # rows on which the full matrix had a margin below 1
    COINS,  # sum of c^2 q (1 - q), q the probability of a mistake before the coin
    FIRST,  # c of the first row
    POSITIVES,  # sum of c over rows labelled +1
    UNPROVED,  # 1 if what the theorem assumes is known not to hold, 2 if the file of the model is too old to tell
    TOTAL_SIZE,
) = range(31)


LEAST: Final = 1e-200  # squares below that count as that


@njit(cache=True, error_model="numpy", inline="always")
def coin(seed: Any, number: float) -> float:
    """The `number`-th uniform draw in [0, 1) of stream `seed`: SplitMix64 (Steele, Lea, Flood 2014), no state."""
    h = seed + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((h ^ (h >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, error_model="numpy")
def gap_of(M: Any, t: Any) -> float:
    """AdaHedge's cumulative mixability gap: what draws lost less what the mixture's exponential weights lost."""
    if t[GAP] == 0.0:
        return 0.0
    mixed = -log(t[TOTAL] / t[TOTAL_THEN]) / t[RATE]
    if t[TOTAL] < 1e-100:  # shares have vanished, one heavy row is enough: begin with the losses
        best, total = M[LOSS].min(), 0.0
        for e in range(M.shape[1]):
            total += exp((best - M[LOSS, e]) * t[RATE])
        mixed = best - t[BEST_THEN] - log(total / t[TOTAL_THEN]) / t[RATE]
    return max(t[GAP], t[GAP] + t[DRAWN] - t[DRAWN_THEN] - mixed)


@njit(cache=True, error_model="numpy")
def share(M: Any, t: Any, gap: float) -> None:
    """AdaHedge's rate for a gap, and the shares; and voices, shares in units of the scores' size."""
    # While the gap is 0, the rate is infinite: the leaders share all. So do they if the rate would overflow.
    gap = gap if gap > LEAST else 0.0
    t[RATE] = log(np.float64(M.shape[1])) / gap if gap > 0.0 else 0.0
    t[KEEP] = exp(-t[RATE]) if gap > 0.0 else 0.0
    best, unknown = M[LOSS].min(), M[POWER].max()
    for e in range(M.shape[1]):
        lead = M[LOSS, e] - best
        M[SHARE, e] = 1.0 if lead == 0.0 else exp(-lead * t[RATE]) if gap > 0.0 else 0.0
        # An expert all of whose scores were 0 so far counts as if they were as large as anybody's.
        square = M[POWER, e] if M[POWER, e] > 0.0 else unknown
        M[VOICE, e] = M[SHARE, e] / sqrt(max(square, LEAST) if square > 0.0 else 1.0)
    t[TOTAL] = M[SHARE].sum()
    t[BEST_THEN], t[TOTAL_THEN], t[DRAWN_THEN] = best, t[TOTAL], t[DRAWN]
    t[GAP], t[DOUBT], t[NEXT] = gap, 0.0, 1.0625 * t[ROUNDS]


@njit(cache=True, error_model="numpy")
def _convene(t: Any, heaviest: float) -> None:
    """Prod's rate for what vote and draws have differed by, and the draws' weight, carried over from the old rate."""
    lead = log(t[FAVOUR]) / t[PRIOR] * t[HEAVIEST]
    t[SPLIT] *= (t[HEAVIEST] / heaviest) ** 2
    t[HEAVIEST], t[PRIOR] = heaviest, min(t[PRIOR], 0.5 / sqrt(1.0 + t[SPLIT]))
    t[FAVOUR] = exp(max(-600.0, min(600.0, t[PRIOR] * lead / heaviest)))
    t[CHANCE] = t[PRIOR] * t[FAVOUR] / (t[PRIOR] * t[FAVOUR] + 1.0 - t[PRIOR])


@njit(cache=True, error_model="numpy")
def weigh(t: Any, heavy: float) -> None:
    """A row comes whose weight is at most `heavy`, whatever its label."""
    if t[ROUNDS] == 0.0:
        t[FIRST] = heavy
    if heavy > t[HEAVIEST]:
        _convene(t, heavy)


@njit(cache=True, error_model="numpy", inline="always")
def count_answer(t: Any, given: float, y: float, c: float) -> None:
    """One more round, of weight c."""
    t[ROUNDS] += 1.0
    t[WEIGHT] += c
    t[WEIGHT2] += c * c
    t[POSITIVES] += c if y > 0.0 else 0.0
    if (given >= 0.0) != (y > 0.0):
        t[MISTAKES] += 1.0
        t[WRONG] += c


@njit(cache=True, error_model="numpy", inline="always")
def _expect(t: Any, chance: float, wrong: float, missed: float, c: float) -> None:
    """What the answer was expected to lose before the coin, and the coin's variance."""
    expected = chance * wrong + (1.0 - chance) * missed
    t[EXPECTED] += c * expected
    t[COINS] += c * c * expected * (1.0 - expected)


@njit(cache=True, error_model="numpy", inline="always")
def compare(t: Any, missed: float, wrong: float, c: float) -> None:
    """Tell the council what its default lost and what the other was expected to lose."""
    split = c * (missed - wrong) / t[HEAVIEST]
    if split != 0.0:
        t[FAVOUR] *= 1.0 + t[PRIOR] * split
        t[SPLIT] += split * split
        if 4.0 * t[PRIOR] * t[PRIOR] * (1.0 + t[SPLIT]) > 1.0625 or not 1e-280 < t[FAVOUR] < 1e280:
            _convene(t, t[HEAVIEST])
        t[CHANCE] = t[PRIOR] * t[FAVOUR] / (t[PRIOR] * t[FAVOUR] + 1.0 - t[PRIOR])


@njit(cache=True, error_model="numpy", inline="always")
def answer(M: Any, t: Any, scores: Any, voting: float, seed: Any) -> Any:
    """The score of the answer, in units of its size, and that of the vote."""
    vote = 0.0
    for e in range(scores.size):
        vote += M[VOICE, e] * scores[e]
    toss = coin(seed, t[ROUNDS])
    if voting == MAJORITY or toss >= t[CHANCE]:
        return vote / t[TOTAL], vote
    left, e = toss / t[CHANCE] * t[TOTAL], 0
    while e < scores.size - 1 and left >= M[SHARE, e]:
        left -= M[SHARE, e]
        e += 1
    return scores[e] / sqrt(max(M[POWER, e], LEAST) if M[POWER, e] > 0.0 else 1.0), vote


@njit(cache=True, error_model="numpy", inline="always")
def judge(M: Any, t: Any, scores: Any, given: float, vote: float, y: float, c: float, voting: float) -> None:
    """Tell the mixture and the council the label."""
    positive = y > 0.0
    finite = t[GAP] > 0.0
    keep = 0.0 if not finite else t[KEEP] if c == 1.0 else exp(-t[RATE] * c)
    before = 0.0 if finite else M[LOSS].min()
    wrong, left = 0.0, 0.0
    for e in range(scores.size):
        miss = 1.0 if (scores[e] >= 0.0) != positive else 0.0
        M[LOSS, e] += c * miss
        wrong += miss * M[SHARE, e]
        kept = keep if miss > 0.0 else 1.0
        M[SHARE, e] *= kept
        M[VOICE, e] *= kept
        left += M[SHARE, e]
    wrong /= t[TOTAL]
    t[TOTAL] = left
    count_answer(t, given, y, c)
    missed = 1.0 if (vote >= 0.0) != positive else 0.0
    chance = t[CHANCE] if voting == SAMPLE else 0.0
    t[DRAWN] += c * wrong
    t[VOTED] += c * missed
    _expect(t, chance, wrong, missed, c)

    compare(t, missed, wrong, c)
    if t[ROUNDS] % 8.0 == 0.0 or t[ROUNDS] < 64.0:
        t[HEARD] += c
        for e in range(scores.size):
            M[POWER, e] += (min(scores[e] * scores[e], 1e300) - M[POWER, e]) * (c / t[HEARD])
    # AdaHedge changes its rate every round; every sixteenth of the gap is as good, and costs few logarithms.
    if not finite:
        share(M, t, max(0.0, wrong * c - (M[LOSS].min() - before)))
        return
    t[DOUBT] += min(wrong * c, 0.125 * t[RATE] * c * c)  # the gap grew by no more (Hoeffding)
    if 16.0 * t[DOUBT] > t[GAP] or t[ROUNDS] > t[NEXT] or left < 1e-100:
        gap = gap_of(M, t)
        t[DOUBT] = gap - t[GAP]
        if 16.0 * t[DOUBT] > t[GAP] or t[ROUNDS] > t[NEXT] or left < 1e-100:
            share(M, t, gap)


@njit(cache=True, error_model="numpy")
def convene_pair(steady: Any, recent: Any, batch: Any, classes: Any, seed: Any, t: Any, answers: Any) -> None:
    """A council of two learners from the scores of their answers: `steady` is the default.

    `classes` holds the weights of the labels -1 and +1.
    """
    count, order, labels, weight = batch
    for n in range(count):
        i = order[n] if order.size > 0 else np.uint64(n)
        y, c = np.float64(labels[i]), weight[i] if weight.size > 0 else 1.0
        weigh(t, c * max(classes[0], classes[1]))
        c *= classes[1] if y > 0.0 else classes[0]
        answers[n] = recent[n] if coin(seed, t[ROUNDS]) < t[CHANCE] else steady[n]
        missed = 1.0 if (steady[n] >= 0.0) != (y > 0.0) else 0.0
        wrong = 1.0 if (recent[n] >= 0.0) != (y > 0.0) else 0.0
        count_answer(t, answers[n], y, c)
        t[DRAWN] += c * wrong
        t[VOTED] += c * missed
        _expect(t, t[CHANCE], wrong, missed, c)
        compare(t, missed, wrong, c)
