"""Cressie-Read and Clopper-Pearson: the optimisation they solve, and how often they contain the truth."""

import math

import numpy as np
import pytest
import simulated
from scipy import optimize, stats

from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import clopper_pearson_interval, cressie_read_interval

LOGS = 400
# A coverage of .95 seen in LOGS logs has standard error sqrt(.95 .05 / 400) = .0109; four of them are .0436.
SLACK = 4 * math.sqrt(0.95 * 0.05 / LOGS)
ASYMPTOTIC = 0.01  # what the normal limit may lack at n = 400 with weights up to 16


def least_mean(y, w, t):
    """The programme of the docstring, by a solver that knows nothing of the closed form.

    The part of q outside of the span of 1, y and w changes no sum and adds to the divergence: three variables do.
    """
    n = y.size
    basis = np.linalg.qr(np.column_stack([np.ones(n), y, w]))[0] * math.sqrt(n)

    def sums(x, values):
        return (basis @ x) @ values / n  # of q = basis x / n

    def divergence(x):
        return np.square(basis @ x - 1).sum() / n

    limits = [
        {"type": "eq", "fun": lambda x: sums(x, np.ones(n)) - 1},
        {"type": "ineq", "fun": lambda x: 1 - sums(x, w)},
    ]
    start = basis.T @ np.ones(n) / n
    nearest = optimize.minimize(divergence, start, constraints=limits, method="SLSQP", options={"ftol": 1e-11})
    most = nearest.fun + t * t / n
    ball = {"type": "ineq", "fun": lambda x: 100 * (most - divergence(x))}
    found = optimize.minimize(
        lambda x: sums(x, y), nearest.x, constraints=[*limits, ball], method="SLSQP", options={"ftol": 1e-11}
    )
    assert all(abs(limits[0]["fun"](found.x)) < 1e-7 < 1e-6 + one["fun"](found.x) for one in [limits[1], ball])
    return found.fun


@pytest.mark.parametrize("seed", range(6))
def test_cressie_read_solves_its_programme(seed):
    """Both branches and both signs of the mean weight's error occur among the seeds; the end is clipped to [0, 1]."""
    random = np.random.default_rng(seed)
    rewards, weights = random.random(30), random.gamma(1.0, 1.0, 30) * (0.8 if seed % 2 else 1.2)
    found = cressie_read_interval(rewards, weights)
    t = stats.t.ppf(0.975, 29)
    for value, y in ((found.low, weights * rewards), (1 - found.high, weights * (1 - rewards))):
        assert np.cov(y, weights)[0, 1] > 0
        assert value == pytest.approx(np.clip(least_mean(y, weights, t), 0, 1), abs=1e-5)


def test_cressie_read_without_weights_is_students_interval():
    rewards = np.random.default_rng(0).random(50)
    found = cressie_read_interval(rewards, np.ones(50))
    reach = stats.t.ppf(0.975, 49) * rewards.std() / math.sqrt(50)
    assert found.low == pytest.approx(rewards.mean() - reach)
    assert found.high == pytest.approx(rewards.mean() + reach)


def test_cressie_read_covers_as_often_as_it_says_and_is_narrower_than_the_normal_one():
    hits, width, normal = 0, 0.0, 0.0
    for seed in range(LOGS):
        weights, rewards = simulated.weights_and_rewards(400, seed)
        found = cressie_read_interval(rewards, weights)
        hits += found.low <= simulated.TRUTH <= found.high
        width += found.high - found.low
        normal += 2 * 1.96 * (weights * rewards).std(ddof=1) / 20
    assert hits / LOGS >= 0.95 - SLACK - ASYMPTOTIC
    assert width < normal  # it knows that weights have mean 1


def test_cressie_read_holds_where_an_arm_was_never_logged():
    """pi plays with probability .5 an arm that was never logged and earns 1: the value is .5 + .5 * .3."""
    hits = 0
    for seed in range(LOGS):
        random = np.random.default_rng(seed)
        weights = np.where(random.random(300) < 0.25, 2.0, 0.0)  # mean .5
        rewards = (random.random(300) < 0.3).astype(float)
        found = cressie_read_interval(rewards, weights)
        hits += found.low <= 0.65 <= found.high
    assert hits / LOGS >= 0.95 - SLACK


def test_cressie_read_covers_where_rewards_fall_with_weights():
    """cov(w r, w) < 0: the plain end is used, and still covers."""
    hits, plain = 0, 0
    for seed in range(LOGS):
        random = np.random.default_rng(seed)
        large = random.random(400) < 0.1
        weights = np.where(large, 5.5, 0.5)
        rewards = (random.random(400) < np.where(large, 0.0, 0.9)).astype(float)
        found = cressie_read_interval(rewards, weights)
        plain += np.cov(weights * rewards, weights)[0, 1] < 0
        hits += found.low <= 0.5 * 0.9 * 0.9 <= found.high
    assert plain == LOGS
    y = weights * rewards
    assert found.low == pytest.approx(y.mean() - stats.t.ppf(0.975, 399) * y.std() / 20)
    assert hits / LOGS >= 0.95 - SLACK - ASYMPTOTIC


@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5, 0.93])
@pytest.mark.parametrize("count", [5, 40, 300])
def test_clopper_pearson_covers_every_coin_exactly(mean, count):
    """All outcomes of n coins, each with its probability; and each interval is SciPy's."""
    covered = 0.0
    for heads in range(count + 1):
        coins = np.repeat([1.0, 0.0], [heads, count - heads])
        found = clopper_pearson_interval(coins, np.ones(count), confidence=0.9)
        covered += stats.binom.pmf(heads, count, mean) * (found.low <= mean <= found.high)
        exact = stats.binomtest(heads, count).proportion_ci(0.9, method="exact")
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert covered >= 0.9


def test_clopper_pearson_of_a_policy_that_always_agrees_or_never():
    """A fixed arm of four that were drawn with 1/4 each: weights 0 or 4, so terms are 0 or 4 and the end is exact."""
    hits = 0
    for seed in range(LOGS):
        random = np.random.default_rng(seed)
        weights = np.where(random.random(100) < 0.25, 4.0, 0.0)
        rewards = (random.random(100) < 0.2).astype(float)
        found = clopper_pearson_interval(rewards, weights)
        hits += found.low <= 0.2 <= found.high
    assert hits / LOGS >= 0.95 - SLACK
    matches = int((weights * rewards).sum() / 4)
    assert found.low == pytest.approx(4 * stats.beta.ppf(0.025, matches, 100 - matches + 1))


def test_clopper_pearson_covers_for_any_weights():
    hits = 0
    for seed in range(LOGS):
        weights, rewards = simulated.weights_and_rewards(400, seed)
        found = clopper_pearson_interval(rewards, weights)
        hits += found.low <= simulated.TRUTH <= found.high
        assert 0.0 <= found.low <= found.high <= 1.0
    assert hits / LOGS >= 0.95 - SLACK


@pytest.mark.parametrize("chances", [(0.98, 0.01, 0.01), (0.5, 0.4, 0.1), (0.05, 0.05, 0.9)])
@pytest.mark.parametrize("middle", [0.1, 0.5, 0.9])
def test_clopper_pearson_covers_terms_of_three_values_exactly(chances, middle):
    """All outcomes of 25 terms 0, `middle` or 1, each with its probability."""
    covered, mean = 0.0, chances[1] * middle + chances[2]
    for some in range(26):
        for ones in range(26 - some):
            counts = (25 - some - ones, some, ones)
            found = clopper_pearson_interval(
                np.repeat([0.0, middle, 1.0], counts), np.ones(25), confidence=0.9, max_weight=1.0
            )
            covered += stats.multinomial.pmf(counts, 25, chances) * (found.low <= mean <= found.high)
    assert covered >= 0.9


def test_the_level_is_divided_by_e_where_terms_are_not_all_or_nothing():
    rewards = np.tile([1.0, 0.0, 0.5], 20)
    found = clopper_pearson_interval(rewards, np.ones(60), max_weight=1.0)
    assert found.low == pytest.approx(stats.beta.ppf(0.025 / math.e, 30, 31))


def test_ranges_and_bounds_are_checked():
    for interval in (cressie_read_interval, clopper_pearson_interval):
        scaled = interval(np.array([2.0, 4.0, 4.0, 2.0]), np.ones(4), (2.0, 4.0))
        plain = interval(np.array([0.0, 1.0, 1.0, 0.0]), np.ones(4))
        assert (scaled.low, scaled.high) == pytest.approx((2 + 2 * plain.low, 2 + 2 * plain.high))
        with pytest.raises(InvalidDataError, match="outside the range"):
            interval(np.array([0.0, 2.0]), np.ones(2))
        with pytest.raises(InvalidParameterError, match="confidence"):
            interval(np.ones(2), np.ones(2), confidence=95)
    with pytest.raises(InvalidParameterError, match="max_weight"):
        clopper_pearson_interval(np.ones(2), np.ones(2), max_weight=0.0)
