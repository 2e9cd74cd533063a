"""The default bandit: a regression, fast and slow monotone experts, mixed by Prod with a default (docs/theory.md, 9.2).

    a0     the arm that regression.py would play: the largest predicted reward + OPTIMISM * its uncertainty
    qhat   its predicted rewards, clipped; rewards are in units of their range here, from 0 to 1
    B      four experts of ranking.py on scaled rows, taught (r - mean qhat) / max(p, CLIPPED): fast, nothing is proved
    U      the same four on the rows as they are, taught (r - b) / p: slow, with Theorem 11
    p      (1 - s2) ((1 - s1) 1{a0} + s1 pB) + s2 pU, of which how[FLOOR] is then spread evenly

A share s = sigma + phi (1 - sigma) has a floor phi, and sigma = `portion` of D and V, the sum of

    delta1 = (pB - 1{a0}).est      delta2 = (pU - (1 - s1) 1{a0} - s1 pB).est      est = qhat + 1{A} (r - qhat) / p

and of their squares. What is needed to certify it is in `mix` (Theorem 19): a column for B and one for U. `behind`,
one number per expert of U, is how far the estimated lift of U is behind that of the expert.

The block of a choice is that of ranking_rounds.py for U, with p as played, another one for B, with pB, and

    a0, sigma1, phi1, sigma2, phi2, qhat (k,), pU (k,)
"""

from enum import IntEnum
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Flags, Floats, Integers, njit
from massart.kernels.learning import column_groups, four_experts, ranking, regression
from massart.kernels.learning.elementary import cbrt, coin, draw, exp, log
from massart.kernels.learning.ranking import Expert, Setting, Total
from massart.kernels.learning.ranking_rounds import ARM, BASE, HEAD, block_size, compiled_parts, complete, whole_numbers

# (T, S, t) of ranking.py; and (columns, groups, members, pool) of regression.py.
Experts = tuple[Floats, Floats, Floats]
Regression = tuple[Floats, Floats, Integers, Floats]

PRIORS = (0.1, 0.05)  # pi of B and of U, and the factors of their floors
CLIPPED, WEIGHED = 0.3, 0.05
CLOSED = 0.1  # floors are so much lower once what was earned is surely above what U could promise
LEAST_FLOOR = 1e-3  # of U's exploration
REST = 5  # numbers in front of qhat


class Mixed(IntEnum):
    """Rows of `mix`."""

    LEAD = 0  # D
    SQUARES = 1  # V
    LOWERED = 2  # sum of F_n(eta_{n+1}) - F_n(eta_n), at most (eta_n - eta_{n+1}) V_n each
    TAIL = 3  # sum of sigma eta delta^2 where eta delta < -1/2
    LATE = 4  # sum of (sigma' - sigma) delta, sigma' the share when the reward came
    FLOORS = 5  # sum of phi (1 - sigma)
    EARNED = 6  # B's column: sum of lifts by importance weights of at most 1 / WEIGHED, biased but not wild,
    EARNED2 = 7  # and of their squares


@lru_cache(maxsize=64)
def blend_size(arms: int, experts: int) -> int:
    """The numbers in a block.

    >>> blend_size(arms=2, experts=4)
    79
    """
    return 2 * block_size(arms, experts) + REST + 2 * arms


@njit(cache=True, error_model="numpy", inline="always")
def rate(pi: float, squares: float) -> float:
    """Eta of V."""
    return sqrt(log(1.0 / pi) / (1.0 + squares))


@njit(cache=True, error_model="numpy")
def portion(pi: float, lead: float, squares: float) -> float:
    """Sigma of D and V."""
    eta = rate(pi, squares)
    return 1.0 / (1.0 + exp(log((1.0 - pi) / pi) - eta * (lead - eta * squares)))


@njit(cache=True, error_model="numpy")
def potential(pi: float, eta: float, lead: float, squares: float) -> float:
    """F(eta) = ln(1 - pi + pi exp(eta D - eta^2 V)) / eta."""
    x = eta * (lead - eta * squares)
    if x > 0.0:
        return (x + log(pi + (1.0 - pi) * exp(-x))) / eta
    return log(1.0 - pi + pi * exp(x)) / eta


@njit(cache=True, error_model="numpy")
def note(mix: Floats, c: int, pi: float, delta: float, sigma: float, phi: float) -> None:
    """Count a round whose share was sigma when it was played."""
    lead, squares = mix[Mixed.LEAD, c], mix[Mixed.SQUARES, c]
    eta, now = rate(pi, squares), portion(pi, lead, squares)
    mix[Mixed.LATE, c] += (now - sigma) * delta
    if eta * delta < -0.5:
        mix[Mixed.TAIL, c] += now * eta * delta * delta
    mix[Mixed.LEAD, c] += delta
    mix[Mixed.SQUARES, c] += delta * delta
    lead, squares = mix[Mixed.LEAD, c], mix[Mixed.SQUARES, c]
    mix[Mixed.LOWERED, c] += potential(pi, rate(pi, squares), lead, squares) - potential(pi, eta, lead, squares)
    mix[Mixed.FLOORS, c] += phi * (1.0 - sigma)


@njit(cache=True, error_model="numpy")
def _floor(how: Floats, S: Floats, t: Floats, mix: Floats) -> float:
    """The factor of both floors, before the priors."""
    width = how[Setting.HIGHEST] - how[Setting.LOWEST]
    most = 0.0
    for e in range(S.shape[1]):
        most = max(most, S[Expert.DELTA, e] / width * S[Expert.KEPT, e])
    square = mix[Mixed.EARNED2, 0]
    sure = mix[Mixed.EARNED, 0] - sqrt((1.0 + square) * (log(1.0 + square) + 6.0))
    return (CLOSED if sure > most else 1.0) / cbrt(t[Total.ROUNDS] + 1.0)


@njit(cache=True, error_model="numpy")
def _plan(rows: Csr, local: Csr, allowed: Flags, how: Floats, experts: Experts, block: Floats, scratch: Floats) -> int:
    """What one set of experts would do, into its block; returns -1, or the arm whose context is not finite."""
    T, S, t = experts
    k, count = allowed.size, S.shape[1]
    shares, arms, rates, p, free, m, z2 = compiled_parts(block, k, count)
    scores, squares, own = np.empty((k, count)), np.empty(k), np.empty(count, np.int64)
    memo = (own, rates, m, z2, p)
    if count == 4:
        bad = four_experts.look(rows, k, T, S, ranking.MOST_SQUARE, scores, squares)
    else:
        bad = ranking.look(rows, k, T, S, ranking.MOST_SQUARE, scores, squares)
    if bad >= 0:
        return int(bad)
    ranking.share(S, t, shares)
    if count == 4:
        four_experts.plan(local, allowed, how, S, t, shares, scores, squares, scratch, memo)
    else:
        ranking.plan(local, allowed, how, S, t, shares, scores, squares, scratch, memo)
    for e in range(count):
        arms[e] = own[e]
    for i in range(k):
        free[i] = 1.0 if allowed[i] else 0.0
    return -1


@njit(cache=True, error_model="numpy")
def decide(
    rows: Csr, allowed: Flags, seed: np.uint64, how: Floats, slow: Experts, fast: Experts, mix: Floats,
    model: Regression, places: Any, block: Floats,
) -> int:  # fmt: skip
    """One choice: the arm, or -1 - i if the context of arm i is not finite or too long. `block` is filled.

    `places` (d,) may hold anything.
    """
    k = allowed.size
    _, S, t = slow
    columns, groups, members, pool = model
    size = HEAD + 3 * S.shape[1] + 2 * k + 2 * k * S.shape[1]
    own, trial, rest = block[:size], block[size : 2 * size], block[2 * size :]
    trial[:HEAD] = 0.0
    floor = how[Setting.FLOOR]
    setting = np.empty(how.size)
    for i in range(how.size):
        setting[i] = how[i]
    setting[Setting.FLOOR] = max(LEAST_FLOOR, floor)
    local, used = column_groups.number(rows, places)
    scratch, scaled = np.zeros(used.size), np.empty(rows[0].size)
    bad = _plan(rows, local, allowed, setting, slow, own, scratch)
    if bad >= 0:
        return -1 - bad
    home, means, widths = np.empty(k, np.int64), np.empty(k), np.empty(k)
    column_groups.homes(rows, k, columns, groups, home)
    inverse, known = column_groups.look_up(columns, used, column_groups.any_diagonal(groups, home))
    column_groups.scale(local, inverse, scaled)
    _plan((scaled, rows[1], rows[2]), (scaled, local[1], local[2]), allowed, setting, fast, trial, scratch)
    width = how[Setting.HIGHEST] - how[Setting.LOWEST]
    level = (t[Total.BASELINE] - how[Setting.LOWEST]) / width
    regression.predict(rows, local, known, k, columns, groups, members, pool, home, level, means, widths)
    a, free = -1, 0
    for i in range(k):
        widths[i] = means[i] + regression.OPTIMISM * widths[i]
        if allowed[i]:
            free += 1
            a = i if a < 0 or widths[i] > widths[a] else a
    p, pb = own[size - 2 * k - 2 * k * S.shape[1] :], trial[size - 2 * k - 2 * k * S.shape[1] :]
    shrink = _floor(how, S, t, mix)
    s1 = portion(PRIORS[0], mix[Mixed.LEAD, 0], mix[Mixed.SQUARES, 0])
    s2 = portion(PRIORS[1], mix[Mixed.LEAD, 1], mix[Mixed.SQUARES, 1])
    rest[0], rest[1], rest[2], rest[3], rest[4] = a, s1, PRIORS[0] * shrink, s2, PRIORS[1] * shrink
    s1, s2 = s1 + rest[2] * (1.0 - s1), s2 + rest[4] * (1.0 - s2)
    for i in range(k):
        rest[REST + i] = min(1.0, max(0.0, means[i]))
        rest[REST + k + i] = p[i]
        if allowed[i]:
            mixed = (1.0 - s2) * ((1.0 - s1) * (1.0 if i == a else 0.0) + s1 * pb[i]) + s2 * p[i]
            p[i] = (1.0 - floor) * mixed + floor / free
    arm = draw(p[:k], coin(seed, t[Total.CHOICES]))
    t[Total.CHOICES] += 1.0
    complete(own, arm, t[Total.BASELINE], whole_numbers(compiled_parts(own, k, S.shape[1])[1]), allowed)
    return arm


@njit(cache=True, error_model="numpy")
def absorb(
    rows: Csr, reward: float, k: int, how: Floats, slow: Experts, fast: Experts, mix: Floats, behind: Floats,
    model: Regression, places: Any, block: Floats,
) -> None:  # fmt: skip
    """One reward of the choice that filled the block; all columns have been joined and laid out."""
    _, S, t = slow
    columns, groups, members, pool = model
    experts = S.shape[1]
    size = HEAD + 3 * experts + 2 * k + 2 * k * experts
    own, rest = block[:size], block[2 * size :]
    shares, arms, rates, p, free, m, z2 = compiled_parts(own, k, experts)
    pb = compiled_parts(block[size : 2 * size], k, experts)[3]
    arm, baseline, allowed = np.int64(block[ARM]), block[BASE], free > 0.0
    low, width = how[Setting.LOWEST], how[Setting.HIGHEST] - how[Setting.LOWEST]
    y, q = (reward - low) / width, rest[REST:]
    above = (y - q[arm]) / p[arm]
    count, mean, lead, other = 0, 0.0, 0.0, 0.0
    for i in range(k):
        if allowed[i]:
            count += 1
            mean += q[i]
            est = q[i] + above if i == arm else q[i]
            lead += pb[i] * est
            other += q[k + i] * est
    mean /= count
    a = np.int64(rest[0])
    first = q[a] + above if a == arm else q[a]
    s1 = rest[1] + rest[2] * (1.0 - rest[1])
    note(mix, 0, PRIORS[0], lead - first, rest[1], rest[2])
    note(mix, 1, PRIORS[1], other - ((1.0 - s1) * first + s1 * lead), rest[3], rest[4])
    ranking.note_seen(t, width * (y - mean - above / count))
    lift = y - mean - above * min(1.0, p[arm] / WEIGHED) / count
    mix[Mixed.EARNED, 0] += lift
    mix[Mixed.EARNED2, 0] += lift * lift
    estimates, greedy = np.empty(k), whole_numbers(arms)
    estimated = (reward - baseline) / p[arm]
    ranking.credit(arm, estimated, estimated / count, greedy, shares, S, t, estimates)
    together = 0.0
    for e in range(experts):
        together += shares[e] * (1.0 - rates[e]) * (estimates[greedy[e]] - estimated / count)
    for e in range(experts):
        behind[e] += (1.0 - rates[e]) * (estimates[greedy[e]] - estimated / count) - together
    reach = max(how[Setting.HIGHEST] - baseline, baseline - low)
    local, used = column_groups.number(rows, places)
    _teach(rows, local, used, allowed, estimates, (greedy, rates, m, z2, p), reach, slow)
    ranking.remember(reward, t)
    mean = low + width * mean
    _teach_fast(rows, local, used, arm, reward, mean, count, allowed, p, how, fast, columns, block[size:])
    home = np.empty(k, np.int64)
    column_groups.homes(rows, k, columns, groups, home)
    regression.learn(rows, local, used, k, arm, y, columns, groups, members, pool, home)


@njit(cache=True, error_model="numpy")
def _teach(
    rows: Csr, local: Csr, used: Any, allowed: Flags, estimates: Floats, memo: ranking.Memo, reach: float,
    experts: Experts,
) -> None:  # fmt: skip
    """A step of one set of experts."""
    T, S, _ = experts
    if S.shape[1] == 4:
        four_experts.teach(local, used, allowed, estimates, memo, reach, T, S)
    else:
        ranking.teach(rows, allowed, estimates, memo, reach, 0.0, T, S, np.zeros(T.shape))


@njit(cache=True, error_model="numpy")
def _teach_fast(
    rows: Csr, local: Csr, used: Any, arm: int, reward: float, baseline: float, count: int, allowed: Flags, p: Floats,
    how: Floats, fast: Experts, columns: Floats, block: Floats,
) -> None:  # fmt: skip
    """The experts B learn with importance weights that are at most 1 / CLIPPED."""
    _, S, t = fast
    shares, arms, rates, _, _, m, z2 = compiled_parts(block, p.size, S.shape[1])
    chances, estimates, greedy = np.maximum(p, CLIPPED), np.empty(p.size), whole_numbers(arms)
    estimated = (reward - baseline) / chances[arm]
    ranking.credit(arm, estimated, estimated / count, greedy, shares, S, t, estimates)
    scaled = np.empty(rows[0].size)
    column_groups.scale(local, column_groups.look_up(columns, used, False)[0], scaled)
    reach = max(how[Setting.HIGHEST] - baseline, baseline - how[Setting.LOWEST])
    memo = (greedy, rates, m, z2, chances)
    own, scaled_local = (scaled, rows[1], rows[2]), (scaled, local[1], local[2])
    _teach(own, scaled_local, used, allowed, estimates, memo, reach, fast)
    ranking.remember(reward, t)


@njit(cache=True, error_model="numpy")
def learn(
    rows: Csr, reward: float, k: int, how: Floats, slow: Experts, fast: Experts, mix: Floats, behind: Floats,
    model: Regression, places: Any, block: Floats,
) -> bool:  # fmt: skip
    """`absorb`, after columns have been joined; False if there is no room for that or they must be laid out first."""
    columns, groups, _, _ = model
    used = np.int64(groups[0, 0])
    if used + k > groups.shape[0]:
        return False
    used, dirty = column_groups.join(rows, k, columns, groups, used)
    groups[0, 0] = used
    if dirty != column_groups.NOTHING:
        return False
    absorb(rows, reward, k, how, slow, fast, mix, behind, model, places, block)
    return True


@njit(cache=True, error_model="numpy")
def play(
    contexts: Floats, rewards: Floats, first: int, seed: np.uint64, how: Floats, slow: Experts, fast: Experts,
    mix: Floats, behind: Floats, model: Regression, places: Any, block: Floats, arms: Integers, chances: Floats,
) -> Any:  # fmt: skip
    """Choose and learn rounds of a simulation from number `first` on, until groups must be laid out anew.

    Returns the number of the round whose choice is in the block and still to be learned; all of them, if none is. As
    one round at a time.
    """
    n, k, d = contexts.shape
    every = np.arange(d).astype(np.uint64)
    allowed = np.ones(k, np.bool_)
    start = HEAD + 3 * slow[1].shape[1]
    for r in range(first, n):
        rows = (contexts[r].reshape(-1), every, every[:0])
        arm = decide(rows, allowed, seed, how, slow, fast, mix, model, places, block)
        arms[r], chances[r] = arm, block[start + max(0, arm)]
        if not learn(rows, rewards[r, arm], k, how, slow, fast, mix, behind, model, places, block):
            return r
    return n
