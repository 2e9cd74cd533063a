"""Intervals cover at their stated level: exactly where outcomes can be counted, by simulation elsewhere."""

import math

import numpy as np
import pytest
import simulated
from scipy import stats

from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import (
    Estimate,
    bootstrap_intervals,
    empirical_bernstein_interval,
    evaluate,
    ips,
    normal_interval,
)

LOGS = 300
# A coverage of .95 seen in LOGS logs has standard error sqrt(.95 .05 / 300) = .0126; four of them are .0503.
SLACK = 4 * math.sqrt(0.95 * 0.05 / LOGS)
ASYMPTOTIC = 0.01  # what the normal limit may lack at n = 400 with weights up to 16


@pytest.fixture(scope="module")
def evaluations():
    """300 logs of 400 decisions each, evaluated in every way but the slow ones."""
    return [
        evaluate(
            simulated.batch(400, seed),
            "target",
            intervals=["normal", "bootstrap", "bernstein", "sequence"],
            resamples=200,
            seed=seed,
        )
        for seed in range(LOGS)
    ]


def coverage(evaluations, estimator, kind):
    hits = [
        interval.low <= simulated.TRUTH <= interval.high
        for found in evaluations
        for interval in found[estimator].intervals
        if interval.kind == kind
    ]
    assert len(hits) == LOGS or kind == "sequence"  # an empty one is left out of the table: it covers nothing
    return sum(hits) / LOGS


@pytest.mark.parametrize("kind", ["normal", "bootstrap"])
@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_large_sample_intervals_cover_as_often_as_they_say(evaluations, estimator, kind):
    seen = coverage(evaluations, estimator, kind)
    print(f"{estimator} {kind}: {seen:.3f}")
    assert 0.95 - SLACK - ASYMPTOTIC <= seen <= 0.95 + SLACK + ASYMPTOTIC


@pytest.mark.parametrize("kind", ["bernstein", "sequence"])
def test_intervals_that_promise_for_every_n_cover_at_least_as_often(evaluations, kind):
    seen = coverage(evaluations, "ips", kind)
    print(f"ips {kind}: {seen:.3f}")
    assert seen >= 0.95 - SLACK


@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_unbiased_estimators_are(evaluations, estimator):
    """The mean over the logs lies within z = 4 of its own standard errors from the truth."""
    values = np.array([found[estimator].value for found in evaluations])
    assert abs(values.mean() - simulated.TRUTH) <= 4 * values.std(ddof=1) / math.sqrt(LOGS)


def test_the_direct_method_is_not_and_its_intervals_do_not_know(evaluations):
    """The control: with a wrong model the direct method is off by far more than chance, and a note says so."""
    values = np.array([found["dm"].value for found in evaluations])
    assert abs(values.mean() - simulated.TRUTH) > 10 * values.std(ddof=1) / math.sqrt(LOGS)
    assert coverage(evaluations, "dm", "normal") < 0.9
    assert any("bias of the reward model" in note for note in evaluations[0].notes)


def test_standard_errors_are_the_spread_over_logs(evaluations):
    # The spread over 300 logs is known up to a factor 1 +- 4 / sqrt(600) = 1 +- .163; a quarter is allowed.
    for estimator in ("ips", "snips", "dr", "switch-dr"):
        spread = np.std([found[estimator].value for found in evaluations], ddof=1)
        stated = np.mean([found[estimator].standard_error for found in evaluations])
        assert 0.75 <= stated / spread <= 1.25


@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5, 0.93])
@pytest.mark.parametrize("count", [5, 40, 300])
def test_bernstein_covers_every_coin_exactly(mean, count):
    """All outcomes of n coins, each with its probability: the chance to miss is at most 1 - confidence."""
    covered = 0.0
    for heads in range(count + 1):
        coins = np.repeat([1.0, 0.0], [heads, count - heads])
        interval = empirical_bernstein_interval(coins, np.ones(count), confidence=0.9, max_weight=1.0)
        covered += stats.binom.pmf(heads, count, mean) * (interval.low <= mean <= interval.high)
    assert covered >= 0.9


def test_bernstein_is_the_formula_of_maurer_and_pontil():
    random = np.random.default_rng(0)
    rewards, weights = random.uniform(2, 4, 400), random.uniform(0, 3, 400)
    scaled = (rewards - 2) / 2
    lows = []
    for terms in (np.minimum(weights, 2.5) * scaled, np.minimum(weights, 2.5) * (1 - scaled)):
        unit = terms / 2.5  # Theorem 4 is for [0, 1], delta = .025 at each end
        reach = math.sqrt(2 * unit.var(ddof=1) * math.log(2 / 0.025) / 400) + 7 * math.log(2 / 0.025) / (3 * 399)
        lows.append(2.5 * (unit.mean() - reach))
    interval = empirical_bernstein_interval(rewards, weights, (2.0, 4.0), max_weight=2.5)
    assert interval.low == pytest.approx(2 + 2 * lows[0])
    assert interval.high == pytest.approx(2 + 2 * (1 - lows[1]))


def test_the_first_tenth_finds_the_bound_on_the_weights_and_is_not_used_again():
    weights, rewards = simulated.weights_and_rewards(1000, 0)
    found = empirical_bernstein_interval(rewards, weights)
    known = empirical_bernstein_interval(rewards[100:], weights[100:], max_weight=weights[:100].max())
    assert found == known
    other = rewards.copy()
    other[:100] = 1 - other[:100]
    assert empirical_bernstein_interval(other, weights) == found


def test_bernstein_holds_where_an_arm_was_never_logged():
    """pi plays an arm with p = 0 that earns 1: ips misses it, the interval still reaches up to it."""
    rewards, weights = np.zeros(5000), np.full(5000, 0.5)  # half of pi's probability is never seen
    interval = empirical_bernstein_interval(rewards, weights, max_weight=0.5)
    assert interval.low == 0.0
    assert interval.high >= 0.5


def test_the_normal_interval_is_symmetric_and_wider_for_more_confidence():
    estimate = ips(np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4))
    narrow, wide = normal_interval(estimate, 0.5), normal_interval(estimate, 0.99)
    assert narrow.low + narrow.high == pytest.approx(2 * estimate.value)
    assert wide.low < narrow.low < narrow.high < wide.high
    z = (wide.high - estimate.value) / estimate.standard_error
    assert z == pytest.approx(2.5758293)


def test_the_bootstrap_repeats_with_its_seed_only():
    estimate = Estimate("ips", np.random.default_rng(0).random(100), np.ones(100))
    assert bootstrap_intervals([estimate], seed=3) == bootstrap_intervals([estimate, estimate], seed=3)[1:]
    assert bootstrap_intervals([estimate], seed=3) != bootstrap_intervals([estimate], seed=4)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan, 95])
def test_a_confidence_that_cannot_be_is_refused(confidence):
    estimate = Estimate("ips", np.ones(3), np.ones(3))
    with pytest.raises(InvalidParameterError, match="confidence"):
        normal_interval(estimate, confidence)
    with pytest.raises(InvalidParameterError, match="confidence"):
        bootstrap_intervals([estimate], confidence)
    with pytest.raises(InvalidParameterError, match="confidence"):
        empirical_bernstein_interval(np.ones(3), np.ones(3), confidence=confidence)


def test_rewards_outside_the_range_are_refused():
    with pytest.raises(InvalidDataError, match=r"1 of 3 rewards lie outside the range 0 to 1 \(the first is 2\)"):
        empirical_bernstein_interval(np.array([0.0, 2.0, 1.0]), np.ones(3))
    with pytest.raises(InvalidParameterError, match="reward_range"):
        empirical_bernstein_interval(np.ones(3), np.ones(3), (1.0, 0.0))
    with pytest.raises(InvalidParameterError, match="max_weight"):
        empirical_bernstein_interval(np.ones(3), np.ones(3), max_weight=0.0)
