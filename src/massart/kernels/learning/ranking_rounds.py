"""Whole rounds: a choice, the reward of a choice, a simulation of both; for both updates.

What travels from a choice to its reward is one block of numbers:

    block   float64 (HEAD + 3 experts + 2 k + 2 k experts,), what choosing wrote and learning reads, in this order:

    ARM       the arm that was played                           p         (k,) their probabilities
    GREEDY    the most probable arm, the first of equals        allowed   (k,) 1 for arms that could be played, or 0
    BASE      the baseline b of the round                       m         (k, experts)
    shares    (experts,)                                        z2        (k, experts)
    arms      (experts,) each expert's own greedy arm
    rates     (experts,)

Symbols are those of ranking.py and paper_ranking.py. What may be in a block and in the other arrays is
checked in kernels/ranking_door.py and kernels/ranking_state.py; nothing here asks again.
"""

from typing import Any

import numpy as np

from massart.kernels.compiling import Csr, Flags, Floats, Integers, njit
from massart.kernels.learning import paper_ranking as paper
from massart.kernels.learning import ranking
from massart.kernels.learning.elementary import coin, draw
from massart.kernels.learning.ranking import Memo, Setting, Total

ARM, GREEDY, BASE, HEAD = range(4)


def block_size(arms: int, experts: int) -> int:
    """The numbers in a block.

    >>> block_size(arms=2, experts=1)
    14
    """
    return HEAD + 3 * experts + 2 * arms + 2 * arms * experts


def parts(block: Floats, k: int, experts: int) -> Any:
    """(shares, arms, rates, p, allowed, m, z2) of a block, where they lie."""
    a = HEAD + 3 * experts
    b = a + 2 * k
    c = b + k * experts
    return (
        block[HEAD : HEAD + experts],
        block[HEAD + experts : HEAD + 2 * experts],
        block[HEAD + 2 * experts : a],
        block[a : a + k],
        block[a + k : b],
        block[b:c].reshape(k, experts),
        block[c : c + k * experts].reshape(k, experts),
    )


compiled_parts = njit(cache=True, error_model="numpy")(parts)  # for kernels: Python takes a block apart itself


@njit(cache=True, error_model="numpy")
def complete(block: Floats, arm: int, baseline: float, own: Integers, allowed: Flags) -> None:
    """Complete a block: what the plan has not filled in."""
    k, experts = allowed.size, own.size
    _, arms, _, p, free, _, _ = compiled_parts(block, k, experts)
    greedy = 0
    for e in range(experts):
        arms[e] = own[e]
    for i in range(k):
        free[i] = 1.0 if allowed[i] else 0.0
        greedy = i if p[i] > p[greedy] else greedy
    block[ARM], block[GREEDY], block[BASE] = arm, greedy, baseline


@njit(cache=True, error_model="numpy")
def whole_numbers(floats: Floats) -> Any:
    """Arms as numbers to index with."""
    numbers = np.empty(floats.size, np.int64)
    for e in range(floats.size):
        numbers[e] = np.int64(floats[e])
    return numbers


@njit(cache=True, error_model="numpy", inline="always")
def _choose(
    rows: Csr, allowed: Flags, seed: np.uint64, how: Floats, S: Floats, t: Floats, scores: Floats, squares: Floats,
    shares: Floats, scratch: Floats, memo: Memo,
) -> int:  # fmt: skip
    """Choose one of the arms that were looked at; `shares` and `memo` are filled."""
    toss = coin(seed, t[Total.CHOICES])
    t[Total.CHOICES] += 1.0
    if how[Setting.PAPER] != 0.0:
        shares[0] = 1.0
        paper.plan(rows, allowed, how, S, t, scores, squares, scratch, memo)
        return paper.flip(allowed, memo, toss)
    ranking.share(S, t, shares)
    ranking.plan(rows, allowed, how, S, t, shares, scores, squares, scratch, memo)
    return draw(memo[4], toss)


@njit(cache=True, error_model="numpy", inline="always")
def _learn(
    rows: Csr, allowed: Flags, arm: int, reward: float, baseline: float, how: Floats, T: Floats, S: Floats, t: Floats,
    shares: Floats, memo: Memo, estimates: Floats, board: Floats,
) -> None:  # fmt: skip
    """Learn the reward of the arm that was played."""
    if how[Setting.PAPER] != 0.0:
        paper.estimate(arm, reward, baseline, memo[4], allowed, memo[0], S, t, estimates)
        paper.teach(rows, allowed, estimates, memo, T, S, board)
        paper.remember(reward, t)
    else:
        ranking.estimate(arm, reward, baseline, memo[4], allowed, memo[0], shares, S, t, estimates)
        width = max(how[Setting.HIGHEST] - baseline, baseline - how[Setting.LOWEST])
        ranking.teach(rows, allowed, estimates, memo, width, 0.0, T, S, board)
        ranking.remember(reward, t)


@njit(cache=True, error_model="numpy")
def decide(
    rows: Csr, allowed: Flags, seed: np.uint64, how: Floats, T: Floats, S: Floats, t: Floats, block: Floats
) -> int:
    """One choice: the arm, or -1 - i if the context of arm i is not finite or too long. `block` is filled."""
    k, experts = allowed.size, S.shape[1]
    shares, _, rates, p, _, m, z2 = compiled_parts(block, k, experts)
    scores, squares, own = np.empty((k, experts)), np.empty(k), np.empty(experts, np.int64)
    bad = ranking.look(rows, k, T, S, ranking.square_limit(how), scores, squares)
    if bad >= 0:
        return -1 - bad
    memo = own, rates, m, z2, p
    arm = _choose(rows, allowed, seed, how, S, t, scores, squares, shares, np.zeros(T.shape[0]), memo)
    complete(block, arm, t[Total.BASELINE], own, allowed)
    return arm


@njit(cache=True, error_model="numpy")
def absorb(rows: Csr, reward: float, k: int, how: Floats, T: Floats, S: Floats, t: Floats, block: Floats) -> None:
    """One reward of the choice that filled the block."""
    shares, arms, rates, p, free, m, z2 = compiled_parts(block, k, S.shape[1])
    memo = whole_numbers(arms), rates, m, z2, p
    arm, baseline, allowed = np.int64(block[ARM]), block[BASE], free > 0.0
    _learn(rows, allowed, arm, reward, baseline, how, T, S, t, shares, memo, np.empty(k), np.zeros(T.shape))


@njit(cache=True, error_model="numpy")
def play(
    contexts: Floats, rewards: Floats, seed: np.uint64, how: Floats, T: Floats, S: Floats, t: Floats, arms: Integers,
    chances: Floats,
) -> int:  # fmt: skip
    """Choose and learn n rounds of a simulation, contexts (n, k, d) and the rewards (n, k) of all arms.

    `arms[n]` becomes the arm played, `chances[n]` its probability. The same numbers as one round at a time. Returns -1,
    or the round in which a context is not finite; the caller checks the norms that a known margin allows.
    """
    n, k, d = contexts.shape
    experts = S.shape[1]
    every = np.arange(d).astype(np.uint64)
    allowed = np.ones(k, np.bool_)
    scores, squares, estimates, shares = np.empty((k, experts)), np.empty(k), np.empty(k), np.empty(experts)
    scratch, board = np.zeros(d), np.zeros((d, experts))
    memo = (np.empty(experts, np.int64), np.empty(experts), np.empty((k, experts)), np.empty((k, experts)), np.empty(k))
    for r in range(n):
        rows = (contexts[r].reshape(-1), every, every[:0])
        if ranking.look(rows, k, T, S, ranking.MOST_SQUARE, scores, squares) >= 0:
            return r
        arm = _choose(rows, allowed, seed, how, S, t, scores, squares, shares, scratch, memo)
        _learn(rows, allowed, arm, rewards[r, arm], t[Total.BASELINE], how, T, S, t, shares, memo, estimates, board)
        arms[r], chances[r] = arm, memo[4][arm]
    return -1
