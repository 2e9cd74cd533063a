"""One answer, and probabilities, out of those of several learners of k classes.

    blends         two blends of the learners' probabilities. In the first a learner weighs what Bayes' rule says: its
                   weight is multiplied by the probability it gave to the label, and 1 / (t + 1) of all weight is then
                   shared equally, so that one that becomes good later is followed. In the second a learner has its
                   share of AdaHedge (mixture.py), by its mistakes.
    calibrations   of a blend p: (1 - e) p^s / |p^s|_1 + e / k, for powers s and noise rates e of a grid. That is the
                   probability of a label which a coin replaces, with probability e, by any of the classes. It leaves
                   the order of the classes as it is.
    probabilities  of the label as it comes: the calibrations of both blends, weighed by Bayes' rule as above.
    answer         Prod with a default (mixture.py): the most probable class, unless draws of a learner by AdaHedge's
                   shares have done better.

Theorem 22 of docs/theory.md is about the probabilities, Theorem 7 about the answers. A row of weight c counts in Bayes'
rule as c over the heaviest row so far.

P has a row for each class and a lane for each learner, in a multiple of LANES; what is behind the last learner has no
weight. R has a row for each class and a lane for each power of each blend. Sums over lanes are those of `total`.
"""

from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.elementary import coin, exp, log
from massart.kernels.learning.mixture import SAMPLE, Member, Total
from massart.kernels.learning.simd import (
    LANES,
    add_products,
    four_of,
    larger,
    load,
    load_four,
    no_four,
    no_sums,
    spread,
    spread_four,
    store,
    store_four,
    total,
    where_larger,
    where_zero,
)

__all__ = ["BLENDS", "CALIBRATIONS", "NOISE_RATES", "POWERS", "choose", "judge_answers", "learn_mixture", "mix"]

BLENDS: Final = 2
POWERS: Final = (0.5, 1.0, 1.5, 2.5)
NOISE_RATES: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45)
CALIBRATIONS: Final = BLENDS * len(POWERS) * len(NOISE_RATES)  # one after the other those of each noise rate
_LEAST: Final = 1e-100  # a probability below that counts as that
_ZERO, _ONE, _FOUR, _LANES = np.uint64(0), np.uint64(1), np.uint64(4), np.uint64(LANES)


@njit(cache=True, error_model="numpy", forceinline=True)
def _blend(P: Floats, M: Floats, mixed: Floats, k: np.uint64, B: Floats, answers: Floats) -> Any:
    """Rows of B: the two blends, and what is highest in each; `answers` get the first most probable class of each."""
    lanes, share, sums = np.uint64(P.shape[1]), np.uint64(Member.SHARE) * np.uint64(M.shape[1]), no_sums()
    for e in range(_ZERO, lanes, _LANES):
        sums = sums + load(M, share + e)
    for e in range(_ZERO, lanes, _FOUR):  # P was stored in fours: as eights they could not be loaded for some time
        best, found = load_four(P, e), no_four()
        for c in range(_ONE, k):
            own = load_four(P, c * lanes + e)
            found = where_larger(own, best, spread_four(np.float64(c)), found)
            best = larger(own, best)
        store_four(answers, e, found)
    whole = total(sums)
    inverse = 1.0 / whole if whole > 0.0 else 0.0
    first, second = _LEAST, _LEAST
    for c in range(_ZERO, k):
        bayes, hedge = no_four(), no_four()
        for e in range(_ZERO, lanes, _FOUR):
            own = load_four(P, c * lanes + e)
            bayes = add_products(bayes, own, load_four(mixed, e))
            hedge = add_products(hedge, own, load_four(M, share + e))
        B[0, c], B[1, c] = total(bayes), total(hedge) * inverse
        first, second = max(first, B[0, c]), max(second, B[1, c])
    return first, second


@njit(cache=True, error_model="numpy", forceinline=True)
def _powers(p: float) -> Any:
    root = sqrt(p)
    return four_of(root, p, p * root, p * p * root)


@njit(cache=True, error_model="numpy", _nrt=False)
def mix(
    P: Floats, M: Floats, mixed: Floats, trust: Floats, k: np.uint64, R: Floats, B: Floats, scales: Floats, p: Floats,
    answers: Floats,
) -> None:  # fmt: skip
    """P becomes the probabilities of the k classes, R times `scales` those of the blends to each power.

    `mixed` are Bayes' weights of the learners, `trust` those of the calibrations; `answers` get the answer of each
    learner. B is to work in.
    """
    highest = _blend(P, M, mixed, k, B, answers)
    inverses = 1.0 / highest[0], 1.0 / highest[1]
    bayes, hedge = no_four(), no_four()
    for c in range(_ZERO, k):
        own, other = _powers(max(_LEAST, B[0, c] * inverses[0])), _powers(max(_LEAST, B[1, c] * inverses[1]))
        store_four(R, _LANES * c, own)
        store_four(R, _LANES * c + _FOUR, other)
        bayes, hedge = bayes + own, hedge + other
    bayes, hedge = spread_four(1.0) / bayes, spread_four(1.0) / hedge
    store_four(scales, _ZERO, bayes)
    store_four(scales, _FOUR, hedge)
    first, second, rest = no_four(), no_four(), no_four()
    for e in range(len(NOISE_RATES)):
        place = np.uint64(e) * _LANES
        own, other = load_four(trust, place), load_four(trust, place + _FOUR)
        first = add_products(first, own, spread_four(1.0 - NOISE_RATES[e]))
        second = add_products(second, other, spread_four(1.0 - NOISE_RATES[e]))
        rest = add_products(rest, own + other, spread_four(NOISE_RATES[e]))
    bayes, hedge, even = first * bayes, second * hedge, total(rest) / np.float64(k)
    for c in range(_ZERO, k):
        own = bayes * load_four(R, _LANES * c)
        p[c] = total(add_products(own, hedge, load_four(R, _LANES * c + _FOUR))) + even


@njit(cache=True, error_model="numpy", forceinline=True)
def choose(
    M: Floats, t: Floats, p: Floats, k: np.uint64, experts: int, voting: float, seed: np.uint64, answers: Floats
) -> Any:
    """(the answer, the most probable class); `answers` are those of the experts."""
    vote = 0
    for c in range(1, k):
        if p[c] > p[vote]:
            vote = c
    toss = coin(seed, t[Total.ROUNDS])
    if voting != SAMPLE or toss >= t[Total.CHANCE]:
        return vote, vote
    left, e = toss / t[Total.CHANCE] * t[Total.TOTAL], 0
    while e < experts - 1 and left >= M[Member.SHARE, e]:
        left -= M[Member.SHARE, e]
        e += 1
    return np.int64(answers[e]), vote


@njit(cache=True, error_model="numpy", forceinline=True)
def judge_answers(answers: Floats, label: int, right: Floats) -> None:
    """`right` becomes 1 for each answer that is the label, -1 for the others."""
    for e in range(_ZERO, np.uint64(answers.size), _FOUR):
        away = load_four(answers, e) - spread_four(np.float64(label))
        store_four(right, e, where_zero(away, spread_four(1.0), spread_four(-1.0)))


@njit(cache=True, error_model="numpy", forceinline=True)
def _bayes(weights: Floats, likelihoods: Floats, even: Floats, r: float, rounds: float) -> None:
    """Weights are multiplied by likelihoods to the power r, their sum is 1 again, and a part is shared as `even`."""
    if r != 1.0:
        for e in range(weights.size):
            likelihoods[e] = exp(r * log(max(_LEAST, likelihoods[e])))
    sums = no_sums()
    for e in range(_ZERO, np.uint64(weights.size), _LANES):
        own = load(weights, e) * larger(load(likelihoods, e), spread(_LEAST))
        store(weights, e, own)
        sums = sums + own
    share = 1.0 / (rounds + 1.0)
    kept, given = spread((1.0 - share) / total(sums)), spread(share)
    for e in range(_ZERO, np.uint64(weights.size), _LANES):
        store(weights, e, add_products(load(weights, e) * kept, given, load(even, e)))


@njit(cache=True, error_model="numpy", _nrt=False)
def learn_mixture(
    P: Floats, mixed: Floats, trust: Floats, evens: tuple[Floats, Floats], k: np.uint64, label: np.uint64, r: float,
    rounds: float, R: Floats, scales: Floats, likelihoods: tuple[Floats, Floats],
) -> None:  # fmt: skip
    """Bayes' rule for learners and calibrations, after so many rounds, this one included.

    `evens` are equal weights for both, `likelihoods` to work in.
    """
    lanes = np.uint64(P.shape[1])
    for e in range(_ZERO, lanes, _LANES):
        store(likelihoods[0], e, load(P, label * lanes + e))
    _bayes(mixed, likelihoods[0], evens[0], r, rounds)
    own = load(R, label * _LANES) * load(scales, _ZERO)
    for e in range(len(NOISE_RATES)):
        place, kept, even = np.uint64(e) * _LANES, spread(1.0 - NOISE_RATES[e]), spread(NOISE_RATES[e] / np.float64(k))
        store(likelihoods[1], place, add_products(even, own, kept))
    _bayes(trust, likelihoods[1], evens[1], r, rounds)
