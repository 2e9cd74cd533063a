"""One round among k arms: scores, exploration, and the pairwise inverse-margin step from one reward or from all.

Symbols (docs/theory.md, section 9) and where they live:

    x_i       context of arm i       rows of the round: CSR, or dense with one list of indices for all
    w         weights                w = S[SCALE] * T, one column of T per expert
    a         greedy arm             the expert's own: argmax w.x_i, the first of equals
    z_j       x_a - x_j              m_j = w.z_j + gamma
    q         probability of a round to explore: Theorem 11 of docs/theory.md, at least how[FLOOR]
    p_i       probability that arm i is played: sum over experts of share * ((1 - q) 1{i = a} + q / k)

One reward r of the arm A that was played stands for all of them: r_i' = b + 1{A = i} (r - b) / p_i, with a baseline b
known before the round; y_j' = r_a' - r_j' is unbiased. The step is FTRL, as in kernels/learning/halfspace.py, on

    g = (1 - q) / k * sum_j (Delta - y_j') z_j / m_j

which is the gradient of Theorem 11 times 2 / k: so its regret is counted in lift, also when k changes from round to
round. All that it needs of the round in which the arm was chosen is a, m, q, p and b: it may come later. What coming
later costs is DRIFT of Theorem 17; gamma of that round is m_a, so w.z_j of that round is m_j - m_a.

Arms with equal contexts, entry by entry, have z_j = 0 and are no pair. Only they have z2 = 0: a difference whose square
is lost in rounding has z2 = LEAST_Z2. If no two arms differ, nothing can be learned, and the arm is drawn uniformly.
"""

from enum import IntEnum
from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Flags, Floats, Integers, njit
from massart.kernels.learning.elementary import cbrt, exp, log

# Each expert's own greedy arm (experts,), rates of exploration (experts,), m (k, experts), z2 (k, experts), p (k,).
Memo = tuple[Integers, Floats, Floats, Floats, Floats]

# The ranges of all of these are in kernels/ranking_door.py, which nothing passes that leaves them.


class Setting(IntEnum):
    """Places in `how`, float64: the parameters of a policy."""

    FLOOR = 0
    LOWEST = 1
    HIGHEST = 2
    HORIZON = 3
    RELATIVE = 4
    PAPER = 5


class Expert(IntEnum):
    """Rows of `S`, float64 with one column per expert."""

    DELTA = 0  # its gap
    GAMMA = 1  # the margin; in units of the longest context if how[Setting.RELATIVE]
    CAP = 2  # the largest gradient norm that a round so far could have had
    SQUARES = 3  # the sum of squared gradient norms
    NORM2 = 4  # |T|^2
    SCALE = 5  # w = SCALE * T
    KEPT = 6  # sum of (1 - q) #{j: z_j is not 0} / k: times Delta, the lift guaranteed before regret
    LIFT = 7  # sum of the estimated lifts of its greedy arms
    LIFT2 = 8  # sum of their squares
    DRIFT = 9  # sum of <g, w - w'>, w the weights of the choice and w' those when its reward came
    FIRST = 10  # the first CAP that was not 0
    VARIANCE = 11  # Theorem 17(c), one expert only: the sum of the bounds v on the variance of a round
    REACH = 12  # and the largest of the bounds c on how far a round may lie above its mean


class Total(IntEnum):
    """Places in `t`, float64: what all experts share."""

    CHOICES = 0  # rounds in which an arm was chosen: the number of the next coin
    ROUNDS = 1  # rounds learned
    REWARD = 2  # sum of rewards
    BASELINE = 3  # their mean, the middle of the range counted once
    LONGEST = 4  # the largest norm of a context
    SPREAD = 5  # sum of the variances of the experts' estimated rewards under their shares
    SEEN = 6  # sum of the estimated lifts of the arms played
    SEEN2 = 7  # sum of their squares
    LARGEST = 8  # the largest of them in size


MOST_EXPLORATION = 0.5
# The largest |x|^2: of any context, and of one where a margin is known, which allows for rounding of 1.
MOST_SQUARE, UNIT_SQUARE = 1e100, (1.0 + 1e-9) ** 2
LEAST_Z2 = 1e-300
# A round in which two arms differ explores with this probability at least, so that estimated rewards stay finite.
LEAST_RATE = 1e-12
LEAST_SPREAD = 1e-200  # below it, the experts' estimates are equal up to rounding


@njit(cache=True, error_model="numpy", inline="always")
def span(rows: Csr, i: int) -> Any:
    """(start, stop, shift) of arm i: entries start..stop of data have the columns indices[p - shift]."""
    _, indices, indptr = rows
    if indptr.size == 0:
        start = np.uint64(i) * np.uint64(indices.size)
        return start, start + np.uint64(indices.size), start
    return np.uint64(indptr[i]), np.uint64(indptr[i + 1]), np.uint64(0)


@njit(cache=True, error_model="numpy")
def look(rows: Csr, k: int, T: Floats, S: Floats, limit: float, scores: Floats, squares: Floats) -> int:
    """The scores (k, experts) of all arms and their squared norms.

    Returns -1, or the first arm that is not finite or whose squared norm is above `limit`.
    """
    data, indices, _ = rows
    experts = T.shape[1]
    for i in range(k):
        start, stop, shift = span(rows, i)
        squares[i] = 0.0
        for e in range(experts):
            scores[i, e] = 0.0
        for p in range(start, stop):
            a, j = data[p], indices[p - shift]
            squares[i] += a * a
            for e in range(experts):
                scores[i, e] += a * T[j, e]
        if not squares[i] <= limit:
            return i
        for e in range(experts):
            scores[i, e] *= S[Expert.SCALE, e]
    return -1


@njit(cache=True, error_model="numpy", inline="always")
def square_limit(how: Floats) -> float:
    """The largest |x|^2 of a context: a margin that is known is meant for norms of at most 1."""
    return MOST_SQUARE if how[Setting.RELATIVE] != 0.0 else UNIT_SQUARE


@njit(cache=True, error_model="numpy")
def distances(rows: Csr, k: int, a: int, squares: Floats, scratch: Floats, z2: Floats) -> None:
    """|x_a - x_j|^2 for all j, 0 only if x_j equals x_a; sparse by a copy of x_a in `scratch`, which is left zero."""
    data, indices, indptr = rows
    if indptr.size == 0:
        _dense_distances(data, indices.size, k, a, z2)
        return
    first, last, _ = span(rows, a)
    entries = 0
    for p in range(first, last):
        scratch[indices[p]] = data[p]
        entries += 1 if data[p] != 0.0 else 0
    for j in range(k):
        start, stop, _ = span(rows, j)
        total, shared, covered, differ = 0.0, 0.0, 0, False
        for p in range(start, stop):
            x = scratch[indices[p]]
            z = data[p] - x
            total += z * z
            shared += x * x
            covered += 1 if x != 0.0 else 0
            differ |= z != 0.0
        if covered < entries:  # x_a has entries where x_j has none
            total += max(0.0, squares[a] - shared)
            differ = True
        z2[j] = max(total, LEAST_Z2) if differ else 0.0
    for p in range(first, last):
        scratch[indices[p]] = 0.0


@njit(cache=True, error_model="numpy")
def _dense_distances(data: Floats, d: int, k: int, a: int, z2: Floats) -> None:
    own, last = data[a * d : a * d + d], k - 1
    for first in range(0, k, 4):  # four sums at once: in one, each addition waits for that before
        b, c, e = min(first + 1, last), min(first + 2, last), min(first + 3, last)
        sums = 0.0, 0.0, 0.0, 0.0
        for p in range(d):
            x = own[p]
            z = data[first * d + p] - x, data[b * d + p] - x, data[c * d + p] - x, data[e * d + p] - x
            sums = sums[0] + z[0] * z[0], sums[1] + z[1] * z[1], sums[2] + z[2] * z[2], sums[3] + z[3] * z[3]
        z2[first], z2[b], z2[c], z2[e] = sums
    for j in range(k):
        if z2[j] < LEAST_Z2 and j != a:
            for p in range(d):
                z2[j] = LEAST_Z2 if data[j * d + p] != own[p] else z2[j]


@njit(cache=True, error_model="numpy", inline="always")
def count_allowed(allowed: Flags) -> int:
    """How many arms may be played."""
    count = 0
    for i in range(allowed.size):
        count += 1 if allowed[i] else 0
    return count


@njit(cache=True, error_model="numpy", inline="always")
def note_seen(t: Floats, seen: float) -> None:
    """The estimated lift of the arm that was played."""
    t[Total.SEEN] += seen
    t[Total.SEEN2] += seen * seen
    t[Total.LARGEST] = max(t[Total.LARGEST], abs(seen))


@njit(cache=True, error_model="numpy")
def share(S: Floats, t: Floats, shares: Floats) -> None:
    """Exponential weights on estimated lifts, at the rate sqrt(ln N / their variance so far)."""
    experts, best, total = S.shape[1], S[Expert.LIFT].max(), 0.0
    rate = sqrt(log(float(experts)) / t[Total.SPREAD]) if t[Total.SPREAD] > LEAST_SPREAD else 0.0
    for e in range(experts):
        shares[e] = exp(rate * (S[Expert.LIFT, e] - best))
        total += shares[e]
    for e in range(experts):
        shares[e] /= total


@njit(cache=True, error_model="numpy")
def exploration(how: Floats, S: Floats, t: Floats, free: int, gamma: float, total: float, apart: bool, e: int) -> float:
    """The probability with which expert e explores; `total` is the sum of z2 / m^2, `apart` if a z2 is not 0."""
    if free < 2:
        return 0.0
    if not apart:
        return 1.0  # all contexts are equal: a random arm
    # Theorem 10's rate for so many rounds, theory.exploration_rate; Theorem 11 lowers it where little can be
    # learned: |z| <= 2 * longest.
    rounds = how[Setting.HORIZON] if how[Setting.HORIZON] > 0.0 else t[Total.ROUNDS] + 1.0
    unit = t[Total.LONGEST] if how[Setting.RELATIVE] != 0.0 else 1.0
    width = how[Setting.HIGHEST] - how[Setting.LOWEST]
    reach = sqrt(2.0 * free / (free - 1.0)) * width / (2.0 * gamma / unit * S[Expert.DELTA, e] * sqrt(rounds))
    root = cbrt(reach)
    most = min(MOST_EXPLORATION, root * root)
    rate = most * gamma / max(unit, 1e-150) * sqrt(total / (4.0 * (free - 1.0)))
    return float(min(1.0, max(how[Setting.FLOOR], rate, LEAST_RATE)))


@njit(cache=True, error_model="numpy")
def plan(
    rows: Csr, allowed: Flags, how: Floats, S: Floats, t: Floats, shares: Floats, scores: Floats, squares: Floats,
    scratch: Floats, memo: Memo,
) -> None:  # fmt: skip
    """What each expert would do: its greedy arm, rate of exploration and pair margins; and the probabilities p.

    `memo` is (arms (experts,), rates (experts,), m (k, experts), z2 (k, experts), p (k,)), all filled here. Arms that
    are not allowed are never played, and nothing is learned about them.
    """
    arms, rates, m, z2, p = memo
    k, experts = scores.shape
    p[:] = 0.0
    free = count_allowed(allowed)
    t[Total.LONGEST] = max(t[Total.LONGEST], sqrt(squares.max()))
    unit = t[Total.LONGEST] if how[Setting.RELATIVE] != 0.0 else 1.0
    for e in range(experts):
        a = -1
        for i in range(k):
            if allowed[i] and (a < 0 or scores[i, e] > scores[a, e]):
                a = i
        arms[e] = a
        known = -1
        for other in range(e):
            if arms[other] == a:
                known = other
        if known >= 0:
            for j in range(k):
                z2[j, e] = z2[j, known]
        else:
            distances(rows, k, a, squares, scratch, z2[:, e])
        gamma, total, apart = max(S[Expert.GAMMA, e] * unit, 1e-150), 0.0, False
        for j in range(k):
            m[j, e] = max(0.0, scores[a, e] - scores[j, e]) + gamma
            if allowed[j] and j != a:
                total += z2[j, e] / (m[j, e] * m[j, e])
                apart |= z2[j, e] > 0.0
        rates[e] = exploration(how, S, t, free, gamma, total, apart, e)
        for i in range(k):
            if allowed[i]:
                p[i] += shares[e] * ((1.0 - rates[e]) * (1.0 if i == a else 0.0) + rates[e] / free)


@njit(cache=True, error_model="numpy")
def estimate(
    arm: int, reward: float, baseline: float, p: Floats, allowed: Flags, arms: Integers, shares: Floats, S: Floats,
    t: Floats, estimates: Floats,
) -> None:  # fmt: skip
    """Estimated rewards of all arms above the baseline, from one; and what they say about lifts."""
    above = reward - baseline
    random = above / p[arm] / count_allowed(allowed)  # what a random arm is estimated to earn above the baseline
    note_seen(t, above - random)
    credit(arm, above / p[arm], random, arms, shares, S, t, estimates)


@njit(cache=True, error_model="numpy")
def credit(
    arm: int, estimated: float, random: float, arms: Integers, shares: Floats, S: Floats, t: Floats, estimates: Floats
) -> None:
    """The estimated rewards of all arms above the baseline, 0 but for one, and what they say about the experts."""
    estimates[:] = 0.0
    estimates[arm] = estimated
    mean, square = 0.0, 0.0
    for e in range(arms.size):
        lift = estimates[arms[e]] - random
        S[Expert.LIFT, e] += lift
        S[Expert.LIFT2, e] += lift * lift
        mean += shares[e] * lift
        square += shares[e] * lift * lift
    t[Total.SPREAD] += max(0.0, square - mean * mean)


@njit(cache=True, error_model="numpy")
def _weigh(
    allowed: Flags, free: int, estimates: Floats, memo: Memo, width: float, longest: float, S: Floats,
    coefficients: Floats, e: int,
) -> None:  # fmt: skip
    """Expert e's coefficients of the contexts in g, and what its certificate needs of the round: Theorem 17."""
    arms, rates, m, z2, p = memo
    a, keep = arms[e], (1.0 - rates[e]) / free
    sure, most, pairs, along = 0.0, 0.0, 0, 0.0
    bound, variance, height, mean = 0.0, 0.0, 0.0, 0.0  # of zeta, and those of Theorem 17(c)
    coefficients[a, e] = 0.0
    for j in range(p.size):
        if j != a:
            coefficients[j, e] = 0.0
            if allowed[j]:
                zeta, chance = 0.0, 1.0 / max(p[j], 1e-300)
                if z2[j, e] > 0.0:
                    pairs += 1
                    inverse = 1.0 / m[j, e]
                    reach = sqrt(z2[j, e]) * inverse
                    sure += reach
                    most = max(most, reach * chance)
                    c = keep * (S[Expert.DELTA, e] - (estimates[a] - estimates[j])) * inverse
                    along += c * (m[j, e] - m[a, e])
                    coefficients[a, e] += c
                    coefficients[j, e] = -c
                    zeta = 1.0 - m[a, e] * inverse + reach
                if S.shape[1] == 1:
                    bound += zeta
                    part = abs(1.0 / free - p[j]) + keep * zeta
                    height, mean = max(height, part * chance), mean + part
                    variance += part * part * chance
    chance = 1.0 / max(p[a], 1e-300)
    cap = keep * (S[Expert.DELTA, e] * sure + width * max(sure * chance, most))
    if longest > 0.0:
        cap = keep * 2.0 * longest * (free - 1) * (S[Expert.DELTA, e] + width) / m[a, e]
    elif S.shape[1] == 1:
        part = abs(1.0 / free - p[a]) + keep * bound
        S[Expert.VARIANCE, e] += width * width * (variance + part * part * chance)
        S[Expert.REACH, e] = max(S[Expert.REACH, e], width * (max(height, part * chance) + mean + part))
    if S[Expert.CAP, e] == 0.0:
        S[Expert.FIRST, e] = cap
    S[Expert.CAP, e] = max(S[Expert.CAP, e], cap)
    S[Expert.KEPT, e] += (1.0 - rates[e]) * pairs / free
    S[Expert.DRIFT, e] += along  # <g, w> of the choice; that of now is taken off below


@njit(cache=True, error_model="numpy", inline="always")
def rescale(S: Floats, inner: float, square: float, e: int) -> None:
    """What a step g means for the scale of expert e: `inner` is T.g, `square` g.g."""
    S[Expert.DRIFT, e] -= S[Expert.SCALE, e] * inner
    S[Expert.CAP, e] = max(S[Expert.CAP, e], sqrt(square))  # above it by rounding only
    S[Expert.SQUARES, e] += square
    S[Expert.NORM2, e] = max(0.0, S[Expert.NORM2, e] - 2.0 * inner + square)
    S[Expert.SCALE, e] = 1.0 / sqrt(
        max(2.0 * (S[Expert.CAP, e] * S[Expert.CAP, e] + S[Expert.SQUARES, e]), S[Expert.NORM2, e], 1e-300)
    )


@njit(cache=True, error_model="numpy")
def teach(
    rows: Csr, allowed: Flags, estimates: Floats, memo: Memo, width: float, longest: float, T: Floats, S: Floats,
    scratch: Floats,
) -> None:  # fmt: skip
    """One FTRL step of every expert from estimated rewards r_i' less the baseline, (k,).

    `width` is the largest |r - b| that could have been seen, so that the caps cover the round before its reward. If
    all rewards were seen, `longest` is the norm that no context exceeds, `width` that of the range, and the cap that of
    theory.full_information_gradient_cap; otherwise `longest` is 0. w of the choice was made with the caps before it:
    Theorem 17(a). `scratch` is (d, experts) and left zero.
    """
    data, indices, _ = rows
    k, experts = memo[2].shape
    coefficients = np.empty((k, experts))
    free = count_allowed(allowed)
    for e in range(experts):
        _weigh(allowed, free, estimates, memo, width, longest, S, coefficients, e)
    for i in range(k):
        start, stop, shift = span(rows, i)
        for q in range(start, stop):
            j, x = indices[q - shift], data[q]
            for e in range(experts):
                scratch[j, e] += coefficients[i, e] * x
    for e in range(experts):
        inner, square = 0.0, 0.0
        for i in range(k):
            start, stop, shift = span(rows, i)
            for q in range(start, stop):
                j = indices[q - shift]
                g = scratch[j, e]
                if g != 0.0:
                    inner += T[j, e] * g
                    square += g * g
                    T[j, e] -= g
                    scratch[j, e] = 0.0
        rescale(S, inner, square, e)


@njit(cache=True, error_model="numpy")
def remember(reward: float, t: Floats) -> None:
    """Count a reward; the baseline is the mean of those before."""
    t[Total.ROUNDS] += 1.0
    t[Total.REWARD] += reward
    t[Total.BASELINE] += (reward - t[Total.BASELINE]) / (t[Total.ROUNDS] + 1.0)
