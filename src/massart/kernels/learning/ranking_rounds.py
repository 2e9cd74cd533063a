"""A choice in one call and a reward in one call; what travels between them is one block of numbers.

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

from massart.kernels.compiling import njit
from massart.kernels.learning import paper_ranking as paper
from massart.kernels.learning import ranking
from massart.kernels.learning.mixture import coin

ARM, GREEDY, BASE, HEAD = range(4)
CHOICES, BASELINE, LOWEST, HIGHEST = ranking.CHOICES, ranking.BASELINE, ranking.LOWEST, ranking.HIGHEST

_look, _share, _limit = ranking.look, ranking.share, ranking.square_limit
_plan, _estimate, _teach, _remember, _draw = (
    ranking.plan, ranking.estimate, ranking.teach, ranking.remember, ranking.draw)  # fmt: skip
_paper_plan, _paper_estimate, _paper_teach, _paper_remember, _flip = (
    paper.plan, paper.estimate, paper.teach, paper.remember, paper.flip)  # fmt: skip


def block_size(arms: int, experts: int) -> int:
    """The numbers in a block.

    >>> block_size(arms=2, experts=1)
    14
    """
    return HEAD + 3 * experts + 2 * arms + 2 * arms * experts


@njit(cache=True, error_model="numpy")
def parts(block: Any, k: int, experts: int) -> Any:
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


@njit(cache=True, error_model="numpy")
def _note(block: Any, arm: int, baseline: float, own: Any, allowed: Any) -> None:
    """Complete a block: what the plan has not filled in."""
    k, experts = allowed.size, own.size
    _, arms, _, p, free, _, _ = parts(block, k, experts)
    greedy = 0
    for e in range(experts):
        arms[e] = own[e]
    for i in range(k):
        free[i] = 1.0 if allowed[i] else 0.0
        greedy = i if p[i] > p[greedy] else greedy
    block[ARM], block[GREEDY], block[BASE] = arm, greedy, baseline


@njit(cache=True, error_model="numpy")
def _whole(floats: Any) -> Any:
    """Arms as numbers to index with."""
    numbers = np.empty(floats.size, np.int64)
    for e in range(floats.size):
        numbers[e] = np.int64(floats[e])
    return numbers


@njit(cache=True, error_model="numpy")
def decide(rows: Any, allowed: Any, seed: Any, how: Any, T: Any, S: Any, t: Any, block: Any) -> int:
    """One choice: the arm, or -1 - i if the context of arm i is not finite or too long. `block` is filled."""
    k, experts = allowed.size, S.shape[1]
    shares, _, rates, p, _, m, z2 = parts(block, k, experts)
    scores, squares, own = np.empty((k, experts)), np.empty(k), np.empty(experts, np.int64)
    bad = _look(rows, k, T, S, _limit(how), scores, squares)
    if bad >= 0:
        return -1 - bad
    _share(S, t, shares)
    _plan(rows, allowed, how, S, t, shares, scores, squares, np.zeros(T.shape[0]), (own, rates, m, z2, p))
    arm = _draw(p, coin(seed, t[CHOICES]))
    t[CHOICES] += 1.0
    _note(block, arm, t[BASELINE], own, allowed)
    return arm


@njit(cache=True, error_model="numpy")
def absorb(rows: Any, reward: float, k: int, how: Any, T: Any, S: Any, t: Any, block: Any) -> None:
    """One reward of the choice that filled the block."""
    shares, arms, rates, p, free, m, z2 = parts(block, k, S.shape[1])
    own, allowed, estimates, baseline = _whole(arms), free > 0.0, np.empty(k), block[BASE]
    _estimate(np.int64(block[ARM]), reward, baseline, p, allowed, own, shares, S, t, estimates)
    width = max(how[HIGHEST] - baseline, baseline - how[LOWEST])
    _teach(rows, allowed, estimates, (own, rates, m, z2, p), width, False, T, S, np.zeros(T.shape))
    _remember(reward, t)


@njit(cache=True, error_model="numpy")
def paper_decide(rows: Any, allowed: Any, seed: Any, how: Any, T: Any, S: Any, t: Any, block: Any) -> int:
    """`decide` of Algorithm 3."""
    k, experts = allowed.size, S.shape[1]
    shares, _, rates, p, _, m, z2 = parts(block, k, experts)
    scores, squares, own = np.empty((k, experts)), np.empty(k), np.empty(experts, np.int64)
    bad = _look(rows, k, T, S, _limit(how), scores, squares)
    if bad >= 0:
        return -1 - bad
    shares[0] = 1.0
    memo = (own, rates, m, z2, p)
    _paper_plan(rows, allowed, how, S, t, shares, scores, squares, np.zeros(T.shape[0]), memo)
    arm = _flip(allowed, memo, coin(seed, t[CHOICES]))
    t[CHOICES] += 1.0
    _note(block, arm, t[BASELINE], own, allowed)
    return arm


@njit(cache=True, error_model="numpy")
def paper_absorb(rows: Any, reward: float, k: int, how: Any, T: Any, S: Any, t: Any, block: Any) -> None:
    """`absorb` of Algorithm 3."""
    shares, arms, rates, p, free, m, z2 = parts(block, k, S.shape[1])
    own, allowed, estimates = _whole(arms), free > 0.0, np.empty(k)
    _paper_estimate(np.int64(block[ARM]), reward, block[BASE], p, allowed, own, shares, S, t, estimates)
    _paper_teach(rows, allowed, estimates, (own, rates, m, z2, p), 0.0, False, T, S, np.zeros(T.shape))
    _paper_remember(reward, t)
