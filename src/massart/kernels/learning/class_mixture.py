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
"""

from math import sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, njit
from massart.kernels.learning.elementary import coin, exp, log
from massart.kernels.learning.mixture import SAMPLE, Member, Total

__all__ = ["BLENDS", "CALIBRATIONS", "NOISE_RATES", "POWERS", "choose", "highest_of", "learn_mixture", "mix"]

BLENDS: Final = 2
POWERS: Final = (0.5, 1.0, 1.5, 2.0, 3.0)
NOISE_RATES: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45)
CALIBRATIONS: Final = BLENDS * len(POWERS) * len(NOISE_RATES)
_LEAST: Final = 1e-100  # a probability below that counts as that


@njit(cache=True, error_model="numpy", _nrt=False)
def highest_of(P: Floats, e: int, k: int) -> int:
    """The first class of those with the highest number in row e; -1 without classes."""
    best = -1
    for c in range(k):
        if best < 0 or P[e, c] > P[e, best]:
            best = c
    return best


@njit(cache=True, error_model="numpy", _nrt=False)
def _blend(P: Floats, weights: Floats, row: int, experts: int, k: int, B: Floats, b: int) -> None:
    """Row b of B: the probabilities in P, weighed by a row of weights."""
    total = 0.0
    for e in range(experts):
        total += weights[row, e]
    for c in range(k):
        B[b, c] = 0.0
    for e in range(experts):
        share = weights[row, e] / total if total > 0.0 else 1.0 / experts
        if share > 0.0:
            for c in range(k):
                B[b, c] += share * P[e, c]


@njit(cache=True, error_model="numpy", _nrt=False)
def _powers(B: Floats, b: int, k: int, R: Floats) -> None:
    """Rows of R, one for each power: a blend to that power, its sum 1."""
    first, highest, n = b * len(POWERS), 0.0, len(POWERS)
    for c in range(k):
        highest = max(highest, B[b, c])
    inverse = 1.0 / highest
    for c in range(k):
        p = max(_LEAST, B[b, c] * inverse)
        root = sqrt(p)
        R[first, c] = root
        R[first + 1, c] = p
        R[first + 2, c] = p * root
        R[first + 3, c] = p * p
        R[first + 4, c] = p * p * p
    for s in range(first, first + n):
        total = 0.0
        for c in range(k):
            total += R[s, c]
        inverse = 1.0 / total
        for c in range(k):
            R[s, c] *= inverse


@njit(cache=True, error_model="numpy", _nrt=False)
def mix(
    P: Floats, M: Floats, mixed: Floats, trust: Floats, experts: int, k: int, R: Floats, B: Floats, p: Floats
) -> None:
    """p[0] becomes the probabilities of the k classes; rows of R those of the blends to each power, and B the blends.

    `mixed` are Bayes' weights of the learners, `trust` those of the calibrations.
    """
    n, rates = len(POWERS), len(NOISE_RATES)
    _blend(P, mixed, 0, experts, k, B, 0)
    _blend(P, M, Member.SHARE, experts, k, B, 1)
    for c in range(k):
        p[0, c] = 0.0
    even = 0.0
    for b in range(BLENDS):
        _powers(B, b, k, R)
        for s in range(b * n, b * n + n):
            whole = 0.0
            for e in range(rates):
                whole += trust[0, s * rates + e] * (1.0 - NOISE_RATES[e])
                even += trust[0, s * rates + e] * NOISE_RATES[e]
            for c in range(k):
                p[0, c] += whole * R[s, c]
    for c in range(k):
        p[0, c] += even / k


@njit(cache=True, error_model="numpy", _nrt=False)
def choose(P: Floats, M: Floats, t: Floats, p: Floats, k: int, experts: int, voting: float, seed: np.uint64) -> Any:
    """(the answer, the most probable class); row e of P has what expert e answers with."""
    vote = highest_of(p, 0, k)
    toss = coin(seed, t[Total.ROUNDS])
    if voting != SAMPLE or toss >= t[Total.CHANCE]:
        return vote, vote
    left, e = toss / t[Total.CHANCE] * t[Total.TOTAL], 0
    while e < experts - 1 and left >= M[Member.SHARE, e]:
        left -= M[Member.SHARE, e]
        e += 1
    return highest_of(P, e, k), vote


@njit(cache=True, error_model="numpy", _nrt=False)
def _bayes(weights: Floats, count: int, rounds: float) -> None:
    """Weights that have been multiplied by probabilities: their sum is 1 again, and a part of it is shared."""
    total = 0.0
    for e in range(count):
        total += weights[0, e]
    share = 1.0 / (rounds + 1.0)
    kept, given = (1.0 - share) / total, share / count
    for e in range(count):
        weights[0, e] = kept * weights[0, e] + given


@njit(cache=True, error_model="numpy", _nrt=False)
def _power(p: float, r: float) -> float:
    p = max(_LEAST, p)
    return p if r == 1.0 else exp(r * log(p))


@njit(cache=True, error_model="numpy", _nrt=False)
def learn_mixture(
    P: Floats, mixed: Floats, trust: Floats, experts: int, k: int, label: int, r: float, rounds: float, R: Floats
) -> None:
    """Bayes' rule for learners and calibrations, after so many rounds, this one included."""
    for e in range(experts):
        mixed[0, e] *= _power(P[e, label], r)
    _bayes(mixed, experts, rounds)
    rates = len(NOISE_RATES)
    for s in range(BLENDS * len(POWERS)):
        for e in range(rates):
            trust[0, s * rates + e] *= _power((1.0 - NOISE_RATES[e]) * R[s, label] + NOISE_RATES[e] / k, r)
    _bayes(trust, CALIBRATIONS, rounds)
