"""The confidence sequence: its martingale exactly, its promise under optional stopping, and what it is worth."""

import math
from itertools import product

import numpy as np
import pytest
import simulated

from massart.errors import InvalidParameterError
from massart.evaluation import confidence_sequence, ips, normal_interval
from massart.evaluation.intervals import STAKES, low_end


def capital(values, stake, mean):
    """K_n(mean, stake) of the claim for n = 1, 2, ..., c = 1/2."""
    return np.cumprod(1.0 + min(stake, 0.5 / mean) * (values - mean))


def greatest_capital(values, mean):
    return max(capital(values, stake, mean).max() for stake in STAKES)


def outcomes(rounds):
    """All sequences of values 0, 1, 4 with probabilities .5, .4, .1 (mean .8) and how likely each is."""
    for picks in product(((0.0, 0.5), (1.0, 0.4), (4.0, 0.1)), repeat=rounds):
        yield np.array([value for value, _ in picks]), math.prod(share for _, share in picks)


@pytest.mark.parametrize("stake", [16.0, 0.5, 0.01])
def test_the_capital_is_a_martingale_exactly(stake):
    """Over all 3^7 outcomes of seven rounds the expected capital is 1 after every round, and it is never negative."""
    expected = np.zeros(7)
    for values, share in outcomes(7):
        path = capital(values, stake, 0.8)
        assert path.min() > 0.0
        expected += share * path
    np.testing.assert_allclose(expected, 1.0, atol=1e-12)


@pytest.mark.parametrize("stake", [0.25, 0.5, 1.0])
def test_the_chance_that_a_stake_ever_wins_against_the_truth_is_what_ville_says(stake):
    """Over all outcomes of seven rounds, stopping at the best of them: P(capital reaches 3) <= 1/3."""
    won = sum(share for values, share in outcomes(7) if capital(values, stake, 0.8).max() >= 3.0)
    assert 0.01 < won <= 1 / 3


def test_low_ends_are_where_the_greatest_capital_so_far_meets_the_threshold():
    weights, rewards = simulated.weights_and_rewards(200, 0)
    values, times = weights * rewards, [5, 20, 50, 200]
    bounds = low_end(values, 0.05, times)
    assert bounds[0] == 0.0 < bounds[1] < bounds[-1]
    for time, bound in zip(times, bounds, strict=True):
        if bound > 0.0:
            assert greatest_capital(values[:time], bound) >= len(STAKES) / 0.05
        assert greatest_capital(values[:time], bound + 1e-5) < len(STAKES) / 0.05


def test_later_intervals_lie_within_earlier_ones_and_the_last_is_the_default():
    weights, rewards = simulated.weights_and_rewards(500, 1)
    path = confidence_sequence(rewards, weights, times=[1, 10, 50, 499, 500])
    lows, highs = [interval.low for interval in path], [interval.high for interval in path]
    assert lows == sorted(lows)
    assert highs == sorted(highs, reverse=True)
    [last] = confidence_sequence(rewards, weights)
    assert (last.low, last.high) == pytest.approx((path[-1].low, path[-1].high), abs=1e-5)
    early = confidence_sequence(rewards[:50], weights[:50])[0]
    assert (early.low, early.high) == pytest.approx((path[2].low, path[2].high), abs=1e-5)  # no look ahead


def test_it_covers_at_every_time_at_once_where_the_normal_interval_does_not():
    """200 logs of 1,500 decisions, an adversary who stops as soon as the interval misses the truth.

    A coverage of .9 has standard error sqrt(.9 .1 / 200) = .0212 over 200 logs; four of them are .085.
    """
    kept = fooled = 0
    times = range(30, 1500, 30)
    for seed in range(200):
        weights, rewards = simulated.weights_and_rewards(1500, 1000 + seed)
        [last] = confidence_sequence(rewards, weights, confidence=0.9)  # the intersection over all times
        kept += last.low <= simulated.TRUTH <= last.high
        looks = [normal_interval(ips(rewards[:time], weights[:time]), 0.9) for time in times]
        fooled += any(not look.low <= simulated.TRUTH <= look.high for look in looks)
    print(f"sequence {kept / 200:.3f}, normal at all of {len(times)} times {1 - fooled / 200:.3f}")
    assert kept / 200 >= 0.9 - 4 * math.sqrt(0.9 * 0.1 / 200)
    assert 1 - fooled / 200 < 0.9 - 4 * math.sqrt(0.9 * 0.1 / 200)


def test_it_narrows():
    """At most 2.2 times as wide as the normal interval, which may be looked at once only.

    sqrt(2 ln(21 / .025)) / 1.96 = 1.87 to leading order; the stake is right up to a factor sqrt(2), which costs
    at most (sqrt(2) + 1/sqrt(2)) / 2 = 1.06: 1.99, and 2.2 leaves a tenth to lower orders.
    """
    weights, rewards = simulated.weights_and_rewards(20_000, 5)
    [last] = confidence_sequence(rewards, weights)
    once = normal_interval(ips(rewards, weights))
    assert last.high - last.low <= 2.2 * (once.high - once.low)


def test_it_holds_where_the_logging_policy_learns_meanwhile():
    """Propensities that depend on the past, as a bandit's do: 200 logs, coverage .9 as above."""
    kept = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        coins, arms, wins = random.random((400, 2)), np.zeros(400, dtype=int), np.zeros((2, 2))
        weights, rewards = np.zeros(400), np.zeros(400)
        for t in range(400):
            better = int(wins[1, 0] * (wins[0, 1] + 1) > wins[0, 0] * (wins[1, 1] + 1))
            arms[t] = better if coins[t, 0] < 0.9 else 1 - better
            rewards[t] = coins[t, 1] < (0.6, 0.4)[arms[t]]
            wins[arms[t]] += rewards[t], 1
            weights[t] = (arms[t] == 1) / (0.9 if arms[t] == better else 0.1)  # the policy "always arm 1", worth .4
        [last] = confidence_sequence(rewards, weights, confidence=0.9)
        kept += last.low <= 0.4 <= last.high
    print(f"adaptive log: {kept / 200:.3f}")
    assert kept / 200 >= 0.9 - 4 * math.sqrt(0.9 * 0.1 / 200)


def test_each_end_gets_half_of_the_error():
    weights, rewards = simulated.weights_and_rewards(300, 3)
    [found] = confidence_sequence(rewards, weights, confidence=0.9)
    assert found.low == pytest.approx(low_end(weights * rewards, 0.05)[0])
    assert found.high == pytest.approx(1.0 - low_end(weights * (1 - rewards), 0.05)[0])
    assert 0.0 < found.low < found.high < 1.0


def test_a_reward_range_moves_the_interval_along():
    weights, rewards = simulated.weights_and_rewards(300, 2)
    [unit] = confidence_sequence(rewards, weights)
    [moved] = confidence_sequence(4 * rewards - 1, weights, (-1.0, 3.0))
    assert (moved.low, moved.high) == pytest.approx((4 * unit.low - 1, 4 * unit.high - 1))


@pytest.mark.parametrize("times", [[0], [5, 3], [4]])
def test_times_that_cannot_be_are_refused(times):
    with pytest.raises(InvalidParameterError, match="times"):
        confidence_sequence(np.ones(3), np.ones(3), times=times)
