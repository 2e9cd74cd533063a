"""The default ranker: monotone experts with a guarantee and the members of within_queries.py, mixed by mixture.py.

    expert e      first those of ranking.py, taught by the rewards of all arms (Theorem 9(b)); then the members
    a_e           its first choice: the largest score, the first of equals
    loss of e     (largest reward of the query - reward of a_e) / width of the range, in [0, 1]
    vote          sum_e share_e score_e / size_e, size_e the root of the mean variance of its scores within a query
    answer        the first choice of the vote, unless draws of one expert have lost less: Prod with a default

Theorem 20 of docs/theory.md is about exactly this. All losses are those of weights that have not seen the query.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Csr, Flags, Floats, njit
from massart.kernels.learning import mixture, ranking, within_queries
from massart.kernels.learning.mixture import Member
from massart.kernels.learning.ranking import Expert, Setting, Total

EXPERTS: Final = 4  # of ranking.py
FEWEST: Final = EXPERTS + within_queries.DIAGONAL  # with many columns
MOST: Final = EXPERTS + within_queries.MEMBERS  # with few; columns of M


@njit(cache=True, error_model="numpy", inline="always")
def _members(A: Floats) -> int:
    return within_queries.MEMBERS if A.size > 0 else within_queries.DIAGONAL


@njit(cache=True, error_model="numpy")
def _first(scores: Floats) -> int:
    """The largest, the first of equals."""
    a = 0
    for i in range(1, scores.size):
        if scores[i] > scores[a]:
            a = i
    return a


@njit(cache=True, error_model="numpy")
def look_at_query(
    rows: Csr, k: int, T: Floats, S: Floats, C: Floats, A: Floats, scores: Floats, squares: Floats, own: Floats
) -> int:
    """Scores of the monotone experts (k, EXPERTS) and of the members, `own` (k, MEMBERS); squared norms of contexts.

    Returns -1, or the first arm that is not finite or too long.
    """
    bad = ranking.look(rows, k, T, S, ranking.MOST_SQUARE, scores, squares)
    if bad < 0:
        own[:] = 0.0
        within_queries.score_members(rows, k, C, _members(A), own)
    return bad


@njit(cache=True, error_model="numpy")
def vote(M: Floats, scores: Floats, own: Floats, votes: Floats) -> None:
    """The scores (k,) of the vote, up to a factor."""
    for i in range(votes.size):
        votes[i] = 0.0
        for e in range(EXPERTS):
            votes[i] += M[Member.VOICE, e] * scores[i, e]
        for e in range(own.shape[1]):
            votes[i] += M[Member.VOICE, EXPERTS + e] * own[i, e]


@njit(cache=True, error_model="numpy")
def answer_query(
    seed: np.uint64, M: Floats, mixed: Floats, A: Floats, scores: Floats, own: Floats, votes: Floats
) -> int:
    """The arm that is the answer: the vote's first choice, or that of an expert by the coin of this round."""
    if mixed[mixture.Total.ROUNDS] > 0.0:
        e = mixture.followed(M, mixed, EXPERTS + _members(A), seed)
        if e >= 0:
            return _first(scores[:, e].copy() if e < EXPERTS else own[:, e - EXPERTS].copy())
    return _first(votes)


@njit(cache=True, error_model="numpy")
def _power(scores: Floats, e: int) -> float:
    """The variance of an expert's scores within the query."""
    k, mean, square = scores.shape[0], 0.0, 0.0
    for i in range(k):
        mean += scores[i, e] / k
    for i in range(k):
        square += (scores[i, e] - mean) ** 2 / k
    return square


@njit(cache=True, error_model="numpy")
def _judge(
    rewards: Floats, width: float, arm: int, M: Floats, mixed: Floats, experts: int, scores: Floats, own: Floats,
    votes: Floats,
) -> None:  # fmt: skip
    """The mixture learns the rewards."""
    losses, powers, best = np.empty(experts), np.empty(experts), rewards.max()
    for e in range(experts):
        table, place = (scores, e) if e < EXPERTS else (own, e - EXPERTS)
        a = _first(table[:, place].copy())
        losses[e] = (best - rewards[a]) / width
        powers[e] = _power(table, place)
    given, voted = (best - rewards[arm]) / width, (best - rewards[_first(votes)]) / width
    mixture.judge_losses(M, mixed, losses, powers, experts, given, voted)


@njit(cache=True, error_model="numpy")
def learn_query(
    rows: Csr, allowed: Flags, rewards: Floats, seed: np.uint64, how: Floats, state: Any, scratch: Floats,
    board: Floats,
) -> int:  # fmt: skip
    """Answer a query, then learn the rewards (k,) of all its arms; `state` is (T, S, t, M, mixed, C, A).

    Returns -1, or the first arm that is not finite or too long: then nothing has changed. `scratch` (d,) and `board`
    (d, EXPERTS) are left zero.
    """
    T, S, t, M, mixed, C, A = state
    k, width, experts = rewards.size, how[Setting.HIGHEST] - how[Setting.LOWEST], EXPERTS + _members(A)
    scores, own = np.empty((k, EXPERTS)), np.empty((k, within_queries.MEMBERS))
    squares, votes = np.empty(k), np.empty(k)
    bad = look_at_query(rows, k, T, S, C, A, scores, squares, own)
    if bad >= 0:
        return bad
    if mixed[mixture.Total.ROUNDS] == 0.0:
        mixture.begin(M, mixed, experts)
    vote(M, scores, own, votes)
    arm = answer_query(seed, M, mixed, A, scores, own, votes)
    _judge(rewards, width, arm, M, mixed, experts, scores, own, votes)

    shares = np.full(EXPERTS, 1.0 / EXPERTS)
    memo = (np.empty(EXPERTS, np.int64), np.empty(EXPERTS), np.empty((k, EXPERTS)), np.empty((k, EXPERTS)), np.empty(k))
    ranking.plan(rows, allowed, how, S, t, shares, scores, squares, scratch, memo)
    memo[1][:] = 0.0  # nothing is explored: everything is seen
    ranking.teach(rows, allowed, rewards, memo, width, t[Total.LONGEST], T, S, board)
    mean, units = 0.0, np.empty(k)
    for i in range(k):
        mean += rewards[i] / k
        units[i] = (rewards[i] - how[Setting.LOWEST]) / width
    for e in range(EXPERTS):
        S[Expert.LIFT, e] += rewards[memo[0][e]] - mean
    t[Total.ROUNDS] += 1.0
    t[Total.REWARD] += rewards[arm]
    t[Total.SEEN] += rewards[arm] - mean
    within_queries.learn_members(rows, units, C, A, scratch)
    return -1
