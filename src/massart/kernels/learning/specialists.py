"""One answer out of those of several learners, each of which is asked in the rounds of its own group only.

    specialist   a learner and a group: awake in the rounds of the group. There are the learner of everybody, always
                 awake; and for each group its own learner, and the learner of everybody in the rounds of the group.
    weights      omega[i, j] of specialist i at the rate lambda_j = 2^-(j + 1). The weights of all add up to 1, of which
                 the first half is that of everybody; they still do after every round.
    answer       that of an awake specialist, drawn with probability ~ sum_j lambda_j omega[i, j].
    update       omega[i, j] *= 1 + lambda_j c (h - l_i), where h is the probability of a mistake before the draw, l_i
                 whether the specialist erred and c the weight of the row, at most 1.

Theorem 21 of docs/theory.md is about exactly this. The idea of specialists is that of Freund, Schapire, Singer and
Warmuth (1997); many rates at once are from Koolen and van Erven (2015).
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import Batch, Floats, njit
from massart.kernels.learning.elementary import coin
from massart.kernels.learning.mixture import MAJORITY, SAMPLE

Numbers = NDArray[np.uint32]
RATES: Final = 32  # enough for 2^60 rounds
LEAST: Final = 1e-300  # of a weight: one that has come to nothing may grow again


class Count(IntEnum):
    """Columns of `counts`, float64 with one row for everybody, the first, and one per group."""

    ROUNDS = 0  # rows learned
    MISTAKES = 1  # rows answered wrongly before they were learned
    WRONG = 2  # sum of c over mistakes
    EXPECTED = 3  # sum of c * the probability of a mistake, before the draw
    COINS = 4  # sum of c^2 h (1 - h), h that probability
    COMMON = 5  # sum of c over the rows that the learner of everybody answered wrongly


@njit(cache=True, error_model="numpy")
def _share(omega: Floats, i: int) -> float:
    """How likely a specialist is to be drawn, up to a factor."""
    rate, share = 0.5, 0.0
    for j in range(RATES):
        share += rate * omega[i, j]
        rate *= 0.5
    return share


@njit(cache=True, error_model="numpy")
def _judge(omega: Floats, i: int, gain: float) -> None:
    """A specialist learns by how much it did better than the draw."""
    rate = 0.5
    for j in range(RATES):
        omega[i, j] = max(omega[i, j] * (1.0 + rate * gain), LEAST)
        rate *= 0.5


@njit(cache=True, error_model="numpy")
def _count(counts: Floats, row: int, wrong: bool, missed: bool, h: float, c: float) -> None:
    counts[row, Count.ROUNDS] += 1.0
    counts[row, Count.MISTAKES] += 1.0 if wrong else 0.0
    counts[row, Count.WRONG] += c if wrong else 0.0
    counts[row, Count.EXPECTED] += c * h
    counts[row, Count.COINS] += c * c * h * (1.0 - h)
    counts[row, Count.COMMON] += c if missed else 0.0


@njit(cache=True, error_model="numpy")
def shares_of(omega: Floats, out: Floats) -> None:
    """The share of every specialist, up to a factor."""
    for i in range(omega.shape[0]):
        out[i] = _share(omega, i)


@njit(cache=True, error_model="numpy")
def mix_specialists(
    common: Floats,
    own: Floats,
    members: tuple[Numbers, Numbers],
    batch: Batch,
    classes: Floats,
    how: tuple[float, np.uint64],
    omega: Floats,
    counts: Floats,
    answers: Floats,
) -> None:
    """Answers from the scores of those of everybody's learner and of the learners of the groups.

    `members` are (starts, groups): round n is in groups[starts[n]:starts[n + 1]], and `own` holds what the learners of
    these groups said. `classes` holds the weights of the labels -1 and +1, `how` the voting and a seed. With MAJORITY
    nothing is drawn: the learner with the largest share answers.
    """
    count, order, labels, weight = batch
    starts, groups = members
    voting, seed = how
    unit = max(classes[0], classes[1])
    for n in range(count):
        row = order[n]
        positive, c = labels[row] > 0, weight[row] if weight.size > 0 else 1.0
        c *= classes[1] if positive else classes[0]
        first, last = np.int64(starts[n]), np.int64(starts[n + 1])
        missed = (common[n] >= 0.0) != positive
        alike = _share(omega, 0)  # of all specialists that say what the learner of everybody says
        others = 0.0
        for m in range(first, last):
            i = 1 + 2 * np.int64(groups[m])
            alike += _share(omega, i + 1)
            others += _share(omega, i)
        total = alike + others
        left, largest = coin(seed, counts[0, Count.ROUNDS]) * total - alike, alike
        answer, wrong_share = common[n], alike if missed else 0.0
        for m in range(first, last):
            share = _share(omega, 1 + 2 * np.int64(groups[m]))
            if (own[m] >= 0.0) != positive:
                wrong_share += share
            if share > largest if voting == MAJORITY else left >= 0.0:
                answer = own[m]
            left, largest = left - share, max(largest, share)
        h = min(1.0, wrong_share / total)
        answers[n] = answer
        wrong = (answer >= 0.0) != positive
        expected = h if voting == SAMPLE else 1.0 if wrong else 0.0
        everybody = (c / unit) * (h - (1.0 if missed else 0.0))
        _judge(omega, 0, everybody)
        _count(counts, 0, wrong, missed, expected, c)
        for m in range(first, last):
            g = np.int64(groups[m])
            error = 1.0 if (own[m] >= 0.0) != positive else 0.0
            _judge(omega, 1 + 2 * g, (c / unit) * (h - error))
            _judge(omega, 2 + 2 * g, everybody)
            _count(counts, 1 + g, wrong, missed, expected, c)
