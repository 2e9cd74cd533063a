"""Algorithms 2 and 3 of the paper as printed: the loss of pairs with its shift, and one fake reward vector per coin.

Errata are those of docs/paper-to-code.md, each resolved where it is met:

    17, 24   rho = gamma / 2, Lambda = (sqrt(T) M / (k Delta))^(1/3) / gamma, q = min(1, M / (gamma Lambda Delta)), of
             the proofs; sign(0) = +1. The best arm a has w.(x_a - x_j) >= 0, so every sign is +1
    18, 19   steps 2 / (G sqrt(T)) in the unit ball, G corrected to max((k-1) (Delta + (k-1) M) (2+rho) / (2 rho),
             2 (k-1)^2 M Lambda) / q, which holds where ||w|| = 1; nearer to 0 gradients are longer, and are taken as
             they are. Hence w = e_1 at first, as printed, and not 0 as in erratum 8

What the paper does not have: rewards begin at how[LOWEST], arms may be forbidden (k counts the others), q is never
below how[FLOOR], and k may change: a round's loss is multiplied by 2 (1 - q) / k, G likewise, so that regret is counted
in lift. As long as k stays, this changes no step. Arms with equal contexts are no pair, for Claim 3.5 is false for
them. If a reward comes late, its shift goes along the w of that moment; all else is as it was at the choice. No bound
is known for that, so late rewards are counted, in DRIFT. Layouts are those of ranking.py, one expert; its memo
is read as

    arms    alpha                                   m[j]    |v.z_j|, or 1 / Lambda if v = 0;   m[alpha]   1 / step
    rates   q                                       z2[j]   factor of the loss, 0 on TAILS;    z2[alpha]  ||v||
                                                    m[j]    NO_PAIR if x_j equals x_alpha

Only differences of rewards matter: r~ less M - r(beta) is k (r - M / k) at beta and 0 elsewhere, so the baseline of a
round is M / k above the lowest reward. Exploring rounds cost O(d): the shift moves every coordinate.

>>> from massart import theory
>>> X, v, r = np.array([[0.6, 0.0], [0.0, 0.8]]), np.array([1.0, 0.0]), np.array([0.9, 0.4])
>>> shift = theory.paper_shift(margin=0.2)  # z = (0.6, -0.8) + 0.1 (1, 0), |v.z| = 0.7
>>> round(loss(v, X, v, r, 0, 0.3, shift, 5.0), 12), gradient(v, X, v, r, 0, 0.3, shift, 5.0).round(4).tolist()
(-0.1, [-0.1, 0.1143])
"""

from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Flags, Floats, Integers, njit
from massart.kernels.learning.elementary import cbrt
from massart.kernels.learning.ranking import Expert, Memo, Setting, Total, count_allowed, note_seen

# CAP: the largest 1 / step, and SQUARES: the sum of step * |gradient|^2; regret is at most 2 CAP + SQUARES / 2.
# DRIFT: how many choices were made while another one waited for its reward. FIRST, VARIANCE, REACH: 0.
LEAST_KEPT = 1e-9  # of a round that explores always: nothing is guaranteed, but it is learned from
NO_PAIR = 1e300
LEAST_NORM2 = 1e-60  # shorter weights are 0: |v.z| of the next round stays away from 0


@njit(cache=True, error_model="numpy")
def _sign(u: float) -> float:
    return 1.0 if u >= 0.0 else -1.0  # erratum 17


@njit(cache=True, error_model="numpy")
def loss(w: Floats, X: Floats, v: Floats, r: Floats, a: int, delta: float, rho: float, zero_weight: float) -> float:
    """Algorithm 2: G(w; X, v, r, a)."""
    size, total = sqrt(np.sum(v * v)), 0.0
    for j in range(X.shape[0]):
        if j != a:
            x, y = X[a] - X[j], r[a] - r[j]
            if size == 0.0:
                total -= zero_weight * np.sum(w * x) * y
            else:
                z = x + rho * _sign(np.sum(x * v)) * v / size
                u = np.sum(w * z)
                total += 0.5 * (delta * abs(u) - y * u) / abs(np.sum(v * z))
    return total


@njit(cache=True, error_model="numpy")
def gradient(w: Floats, X: Floats, v: Floats, r: Floats, a: int, delta: float, rho: float, zero_weight: float) -> Any:
    """Appendix A.1: the gradient of `loss` in w, (d,)."""
    size, g = sqrt(np.sum(v * v)), np.zeros(w.size)
    for j in range(X.shape[0]):
        if j != a:
            x, y = X[a] - X[j], r[a] - r[j]
            if size == 0.0:
                g -= zero_weight * y * x
            else:
                z = x + rho * _sign(np.sum(x * v)) * v / size
                g += 0.5 * (delta * _sign(np.sum(w * z)) - y) / abs(np.sum(v * z)) * z
    return g


@njit(cache=True, error_model="numpy")
def _equal(rows: Csr, a: int, j: int, scratch: Floats) -> bool:
    """Whether arms a and j have the same context, entry by entry; `scratch` is left zero."""
    data, indices, indptr = rows
    same, d = True, indices.size
    if indptr.size == 0:
        for e in range(d):
            same &= data[a * d + e] == data[j * d + e]
        return same
    for e in range(np.uint64(indptr[a]), np.uint64(indptr[a + 1])):
        scratch[indices[e]] = data[e]
    for e in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
        same &= scratch[indices[e]] == data[e]
        scratch[indices[e]] = 0.0
    for e in range(np.uint64(indptr[a]), np.uint64(indptr[a + 1])):
        same &= scratch[indices[e]] == 0.0
        scratch[indices[e]] = 0.0
    return same


@njit(cache=True, error_model="numpy")
def plan(
    rows: Csr, allowed: Flags, how: Floats, S: Floats, t: Floats, scores: Floats, squares: Floats, scratch: Floats,
    memo: Memo,
) -> None:  # fmt: skip
    """Lines 2(b) and 2(c) of Algorithm 3: alpha, q and the probabilities p; the coin is not flipped yet."""
    arms, rates, m, z2, p = memo
    k, a, free = scores.shape[0], -1, 0
    for i in range(k):
        p[i], m[i, 0], z2[i, 0] = 0.0, 1.0, 0.0
        if allowed[i]:
            free += 1
            if a < 0 or scores[i, 0] > scores[a, 0]:
                a = i
    t[Total.LONGEST] = max(t[Total.LONGEST], sqrt(squares.max()))
    delta, gamma, M, T = (
        S[Expert.DELTA, 0],
        S[Expert.GAMMA, 0],
        how[Setting.HIGHEST] - how[Setting.LOWEST],
        how[Setting.HORIZON],
    )
    t[Total.BASELINE] = how[Setting.LOWEST] + M / free
    rho, others, size = gamma / 2.0, free - 1.0, sqrt(S[Expert.NORM2, 0])
    arms[0], rates[0], z2[a, 0] = a, 0.0, size
    if free < 2:
        p[a] = 1.0
        return
    zero_weight = cbrt(sqrt(T) * M / (free * delta)) / gamma
    q = max(how[Setting.FLOOR], min(1.0, M / (gamma * zero_weight * delta)))
    part = 2.0 / free * max(1.0 - q, LEAST_KEPT)
    reach = max(others * (delta + others * M) * (2.0 + rho) / (2.0 * rho), 2.0 * others * others * M * zero_weight) / q
    rates[0] = q
    for j in range(k):
        if j == a:
            m[j, 0] = part * reach * sqrt(T) / 2.0
        elif allowed[j]:
            m[j, 0] = scores[a, 0] - scores[j, 0] + rho * size if size > 0.0 else 1.0 / zero_weight
            z2[j, 0] = part / q
            if size > 0.0 and _equal(rows, a, j, scratch):
                m[j, 0], z2[j, 0] = NO_PAIR, 0.0
        if allowed[j]:
            sure = 1.0 / free if size == 0.0 else 1.0 if j == a else 0.0
            p[j] = (1.0 - q) * sure + q / free


@njit(cache=True, error_model="numpy", inline="always")
def _nth(allowed: Flags, n: int) -> int:
    """The n-th allowed arm, counted from 0; the last one if there are fewer."""
    last = -1
    for i in range(allowed.size):
        if allowed[i]:
            last = i
            if n == 0:
                break
            n -= 1
    return last


@njit(cache=True, error_model="numpy")
def flip(allowed: Flags, memo: Memo, toss: float) -> int:
    """Lines 2(b), 2(d), 2(e)i and 2(f)i: coin, beta, and a random alpha if w = 0, all from one uniform number.

    Returns the arm that is played, and notes in `memo` what the loss of the round is multiplied with.
    """
    arms, rates, m, z2, _ = memo
    a, q, free = arms[0], rates[0], count_allowed(allowed)
    heads = toss < q
    place = toss / q * free if heads else (toss - q) / (1.0 - q) * free  # uniform in [0, k)
    beta = _nth(allowed, int(place))
    if z2[a, 0] == 0.0 and free > 1:
        alpha = _nth(allowed, int((place - int(place)) * free)) if heads else beta
        m[a, 0], m[alpha, 0] = m[alpha, 0], m[a, 0]
        z2[a, 0], z2[alpha, 0] = z2[alpha, 0], z2[a, 0]
        arms[0] = a = alpha
    if heads:
        return beta
    for j in range(allowed.size):
        if j != a:
            z2[j, 0] = 0.0
    return a


@njit(cache=True, error_model="numpy")
def estimate(
    arm: int, reward: float, baseline: float, p: Floats, allowed: Flags, arms: Integers, S: Floats, t: Floats,
    estimates: Floats,
) -> None:  # fmt: skip
    """Line 2(e)ii: the fake rewards, all of them less M - r(beta); and what the reward says about lifts."""
    estimates[:] = 0.0
    above, free = reward - baseline, count_allowed(allowed)
    random = above / p[arm] / free  # what a random arm is estimated to earn above the baseline
    lift = (above / p[arm] if arms[0] == arm else 0.0) - random
    note_seen(t, above - random)
    S[Expert.LIFT, 0] += lift
    S[Expert.LIFT2, 0] += lift * lift
    estimates[arm] = free * above


@njit(cache=True, error_model="numpy")
def teach(rows: Csr, allowed: Flags, estimates: Floats, memo: Memo, T: Floats, S: Floats, scratch: Floats) -> None:
    """Lines 2(e)iii and 2(g): a step of gradient descent on G / q, from the fake rewards; none on TAILS."""
    data, indices, indptr = rows
    arms, rates, m, z2, _ = memo
    a, delta, rho = arms[0], S[Expert.DELTA, 0], S[Expert.GAMMA, 0] / 2.0
    k, free, pairs, factor, along = m.shape[0], 0, 0, 0.0, 0.0
    for i in range(k):
        free += 1 if allowed[i] else 0
        pairs += 1 if allowed[i] and i != a and m[i, 0] < NO_PAIR else 0
        factor += z2[i, 0] if i != a else 0.0
    zero = z2[a, 0] == 0.0
    if not zero:
        S[Expert.KEPT, 0] += (1.0 - rates[0]) * pairs / free  # a round at w = 0 guarantees nothing
    if factor == 0.0:
        return
    S[Expert.CAP, 0] = max(S[Expert.CAP, 0], m[a, 0])
    step = 1.0 / S[Expert.CAP, 0]
    coefficients = np.zeros(k)
    for j in range(k):
        if allowed[j] and j != a:
            y = estimates[a] - estimates[j]
            c = z2[j, 0] / m[j, 0] * (-y if zero else 0.5 * (delta - y))
            along += 0.0 if zero else c * rho
            coefficients[a] += c
            coefficients[j] = -c
    for i in range(k):
        start = np.uint64(indptr[i]) if indptr.size else np.uint64(i) * np.uint64(indices.size)
        stop = np.uint64(indptr[i + 1]) if indptr.size else start + np.uint64(indices.size)
        shift = np.uint64(0) if indptr.size else start
        for e in range(start, stop):
            scratch[indices[e - shift], 0] += coefficients[i] * data[e]
    size, square, norm2 = sqrt(S[Expert.NORM2, 0]), 0.0, 0.0
    along = along / size if size > 0.0 else 0.0
    for j in range(T.shape[0]):
        g = scratch[j, 0] + along * T[j, 0]
        square += g * g
        T[j, 0] -= step * g
        norm2 += T[j, 0] * T[j, 0]
        scratch[j, 0] = 0.0
    if norm2 > 1.0:
        for j in range(T.shape[0]):
            T[j, 0] /= sqrt(norm2)
    elif norm2 < LEAST_NORM2:
        norm2 = 0.0
        for j in range(T.shape[0]):
            T[j, 0] = 0.0
    S[Expert.SQUARES, 0] += step * square
    S[Expert.NORM2, 0] = min(1.0, norm2)


@njit(cache=True, error_model="numpy")
def remember(reward: float, t: Floats) -> None:
    """Count a reward."""
    t[Total.ROUNDS] += 1.0
    t[Total.REWARD] += reward
