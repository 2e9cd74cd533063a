"""Four experts as one vector do what ranking.py does for any number of them, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart.kernels.learning import column_groups, four_experts, ranking
from massart.kernels.learning.ranking import Expert, Setting, Total
from massart.kernels.ranking_door import check_arms

WIDTH = 40
HOW = np.zeros(len(Setting))
HOW[[Setting.HIGHEST, Setting.RELATIVE, Setting.FLOOR]] = 1.0, 1.0, 1e-3


def contexts(rng, kind):
    """Rows with zeros, some of them equal."""
    k = int(rng.integers(1, 12))
    X = np.round(rng.normal(size=(k, WIDTH)), 1) * (rng.random((k, WIDTH)) < 0.3)
    X[rng.integers(k)] = X[rng.integers(k)]
    allowed = rng.random(k) < 0.7
    allowed[rng.integers(k)] = True
    return check_arms(X if kind == "dense" else sp.csr_matrix(X), allowed)


def state(rng):
    """Weights, experts and totals as they are after some rounds."""
    S = rng.random((len(Expert), 4)) + 0.1
    S[Expert.DELTA], S[Expert.GAMMA] = (0.02, 0.02, 0.1, 0.1), (0.1, 0.02, 0.1, 0.02)
    S[Expert.CAP, rng.integers(4)] = 0.0
    t = rng.random(len(Total))
    t[Total.ROUNDS] = rng.integers(100)
    return rng.normal(size=(WIDTH, 4)) * (rng.random((WIDTH, 4)) < 0.8), S, t


def memo_for(k):
    return np.empty(4, np.int64), np.empty(4), np.empty((k, 4)), np.empty((k, 4)), np.empty(k)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_four_experts_look_plan_and_learn_as_any_number_does(kind):
    rng = np.random.default_rng(3)
    for number in range(200):
        arms, (T, S, t) = contexts(rng, kind), state(rng)
        rows, k = arms.rows, arms.count
        places = rng.integers(0, 2**32, WIDTH, dtype=np.uint32)  # whatever is in it
        local, used = column_groups.number(rows, places)
        assert kind == "dense" or sorted(set(rows[1].tolist())) == sorted(used.tolist())
        assert np.array_equal(used[local[1]], rows[1])
        shares, estimates = rng.dirichlet(np.ones(4)), np.zeros(k)
        scores, squares, memo = np.empty((2, k, 4)), np.empty((2, k)), (memo_for(k), memo_for(k))
        totals, weights, experts = (t, t.copy()), (T, T.copy()), (S, S.copy())
        assert ranking.look(rows, k, T, S, 1e100, scores[0], squares[0]) == -1
        assert four_experts.look(rows, k, T, S, 1e100, scores[1], squares[1]) == -1
        ranking.plan(rows, arms.allowed, HOW, S, totals[0], shares, scores[0], squares[0], np.zeros(WIDTH), memo[0])
        four_experts.plan(
            local, arms.allowed, HOW, S, totals[1], shares, scores[1], squares[1], np.zeros(used.size), memo[1]
        )
        estimates[np.flatnonzero(arms.allowed)[0]] = rng.normal()
        board = np.zeros((WIDTH, 4))
        ranking.teach(rows, arms.allowed, estimates, memo[0], 0.7, 0.0, weights[0], experts[0], board)
        four_experts.teach(local, used, arms.allowed, estimates, memo[1], 0.7, weights[1], experts[1])
        for one, other in (scores, squares, *zip(*memo, strict=True), totals, weights, experts):
            np.testing.assert_array_equal(one, other, err_msg=f"round {number}")


def test_a_context_that_is_not_finite_is_found():
    arms = check_arms(np.array([[1.0, 2.0], [np.nan, 0.0]]))
    scores, squares = np.empty((2, 4)), np.empty(2)
    S = np.ones((len(Expert), 4))
    assert four_experts.look(arms.rows, 2, np.zeros((2, 4)), S, 1e100, scores, squares) == 1
