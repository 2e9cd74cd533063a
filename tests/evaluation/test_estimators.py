"""The estimators against numbers worked out by hand and against formulas published elsewhere."""

import math

import numpy as np
import pytest

from massart.data import Decision, DecisionBatch
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import (
    cross_fitted_rewards,
    direct_method,
    doubly_robust,
    evaluate,
    ips,
    snips,
    switch_doubly_robust,
    weigh,
)

# Three decisions, written out: weights 0.5/0.25 = 2, 0.5/0.5 = 1, 0.5/0.8 = 0.625.
BY_HAND = DecisionBatch.of(
    [
        Decision(np.eye(2), 0, 0.25, 1.0),
        Decision(np.eye(2), 1, 0.5, 0.0),
        Decision(np.eye(2), 1, 0.8, 1.0),
    ]
)


def test_ips_and_snips_by_hand():
    seen = weigh(BY_HAND, "uniform")
    np.testing.assert_allclose(seen.weights, [2.0, 1.0, 0.625])
    assert ips(seen.rewards, seen.weights).value == pytest.approx(2.625 / 3)
    assert snips(seen.rewards, seen.weights).value == pytest.approx(2.625 / 3.625)
    assert seen.effective_sample_size == pytest.approx(3.625**2 / (4 + 1 + 0.625**2))
    assert seen.largest_share == pytest.approx(2 / 3.625)


def test_the_first_arm_and_the_logged_policy_by_hand():
    assert ips(*_parts("first")).value == pytest.approx(1 / 0.25 / 3)  # only the first decision took arm 0
    assert ips(*_parts("logged")).value == pytest.approx(2 / 3)
    assert snips(*_parts("logged")).value == pytest.approx(2 / 3)


def _parts(policy):
    seen = weigh(BY_HAND, policy)
    return seen.rewards, seen.weights


def test_standard_errors_are_the_textbooks():
    random = np.random.default_rng(1)
    rewards, weights = random.random(50), random.exponential(size=50)
    terms = rewards * weights
    assert ips(rewards, weights).standard_error == pytest.approx(terms.std(ddof=1) / math.sqrt(50))
    # snips by the delta method (Owen, Monte Carlo theory, methods and examples, equation 9.8), up to n/(n-1)
    value = snips(rewards, weights).value
    delta = math.sqrt(weights**2 @ (rewards - value) ** 2) / weights.sum()
    assert snips(rewards, weights).standard_error == pytest.approx(delta * math.sqrt(50 / 49))


def test_against_the_formulas_of_open_bandit_pipeline():
    """obp.ope.estimators, version 0.5.7, on arrays (n, k): iw = pi(a_i) / pscore, q the estimated rewards."""
    random = np.random.default_rng(2)
    n, k, row = 40, 3, np.arange(40)
    q, pi = random.random((n, k)), random.dirichlet(np.ones(k), size=n)
    pscore, action, reward = random.uniform(0.1, 1, n), random.integers(k, size=n), random.random(n)
    iw = pi[row, action] / pscore
    base = (q * pi).sum(axis=1)  # np.average(q_hat, weights=pi, axis=1), whose weights sum to 1
    taken = q[row, action]
    expected = {
        "ips": (reward * iw).mean(),  # InverseProbabilityWeighting
        "snips": (reward * iw / iw.mean()).mean(),  # SelfNormalizedInverseProbabilityWeighting
        "dm": base.mean(),  # DirectMethod
        "dr": (iw * (reward - taken) + base).mean(),  # DoublyRobust
        "switch-dr": ((iw <= 1.5) * iw * (reward - taken) + base).mean(),  # SwitchDoublyRobust, lambda_ = 1.5
    }
    found = [
        ips(reward, iw),
        snips(reward, iw),
        direct_method(base),
        doubly_robust(reward, iw, taken, base),
        switch_doubly_robust(reward, iw, taken, base, threshold=1.5),
    ]
    assert {estimate.estimator: pytest.approx(estimate.value) for estimate in found} == expected
    assert (iw > 1.5).any()
    assert (iw <= 1.5).any()


def test_switch_dr_lies_between_dm_and_dr():
    random = np.random.default_rng(3)
    parts = [random.random(30) for _ in range(4)]
    assert switch_doubly_robust(*parts, threshold=math.inf).value == doubly_robust(*parts).value
    assert switch_doubly_robust(*parts, threshold=0.0).value == direct_method(parts[3]).value
    with pytest.raises(InvalidParameterError, match="threshold"):
        switch_doubly_robust(*parts, threshold=math.nan)


def test_a_decision_that_stands_for_several_counts_as_many():
    random = np.random.default_rng(4)
    rewards, weights, times = random.random(20), random.random(20), random.integers(1, 4, 20)
    for estimator in (ips, snips):
        once = estimator(rewards, weights, times.astype(float)).value
        assert once == pytest.approx(estimator(np.repeat(rewards, times), np.repeat(weights, times)).value)


def test_snips_needs_some_weight():
    with pytest.raises(InvalidDataError, match="probability 0 to every arm"):
        snips(np.ones(3), np.zeros(3))


def test_dm_and_dr_with_arms_of_changing_number_are_the_formulas_over_single_decisions():
    random = np.random.default_rng(5)
    decisions = []
    for _ in range(60):
        k = int(random.integers(2, 5))
        p = random.dirichlet(np.ones(k))
        arm = int(random.choice(k, p=p))
        decisions.append(Decision(random.normal(size=(k, 2)), arm, p[arm], random.random(), probabilities=p))
    batch = DecisionBatch.of(decisions)
    q = cross_fitted_rewards(batch.contexts, batch.starts, batch.taken, batch.rewards, folds=3, seed=7)
    base = direct = 0.0
    for row, decision in enumerate(decisions):
        mine = q[batch.starts[row] : batch.starts[row + 1]]
        direct += mine.mean() / 60
        weight = 1 / decision.arms / decision.probability
        base += (mine.mean() + weight * (decision.reward - mine[decision.arm])) / 60
    found = evaluate(batch, "uniform", estimators=["dm", "dr"], intervals=["normal"], folds=3, seed=7)
    assert found["dm"].value == pytest.approx(direct)
    assert found["dr"].value == pytest.approx(base)
