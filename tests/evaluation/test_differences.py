"""Differences from logs that hardly explore: intervals that hold for every n, and none of those for large n."""

import math

import numpy as np
import pytest

from massart.data import Decision, DecisionBatch
from massart.evaluation import EvaluationOptions, compare, evaluate
from massart.evaluation.differences import EXACT, difference_from_log, difference_interval

LOGS, ROUNDS = 400, 800
MEANS = np.array([0.8, 0.3, 0.2, 0.1])  # of four arms; the log takes the first one nearly always
UNIFORM = float(MEANS.mean())
# If each interval covers with probability .95, fewer than 380 - 4 sqrt(400 .05 .95) of 400 do with probability 1.4e-4.
LEAST = LOGS * 0.95 - 4 * math.sqrt(LOGS * 0.05 * 0.95)


def hardly_exploring(seed, *, learns):
    """(rewards, propensities, arms, mean expected reward given the past): one arm in 667 is not the favourite.

    The favourite is the first arm; of a policy that learns it is the second one in the first half of the rounds.
    """
    random = np.random.default_rng([seed, learns])
    favourite = np.zeros(ROUNDS, dtype=int)
    if learns:
        favourite[: ROUNDS // 2] = 1
    chances = np.full((ROUNDS, 4), 0.0005)
    chances[np.arange(ROUNDS), favourite] = 1 - 0.0015
    arms = (random.random(ROUNDS)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    rewards = (random.random(ROUNDS) < MEANS[arms]).astype(float)
    return rewards, chances[np.arange(ROUNDS), arms], arms, float((chances @ MEANS).mean())


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("kind", EXACT)
def test_differences_from_the_log_cover_the_truth_with_hardly_any_exploration(kind, learns):
    covered = normal = 0
    for seed in range(LOGS):
        rewards, chance, _, logged = hardly_exploring(seed, learns=learns)
        weights = 0.25 / chance
        one = difference_from_log(kind, rewards, weights)
        truth = UNIFORM - logged
        covered += one.low <= truth <= one.high
        terms = (weights - 1.0) * rewards
        normal += abs(terms.mean() - truth) <= 1.96 * terms.std(ddof=1) / math.sqrt(ROUNDS)
    assert covered >= LEAST
    assert normal < LEAST  # what this is for: the normal interval does not cover


@pytest.mark.parametrize("kind", EXACT)
def test_paired_differences_cover_the_truth_with_hardly_any_exploration(kind):
    covered = 0
    truth = UNIFORM - MEANS[1]
    for seed in range(LOGS):
        rewards, chance, arms, _ = hardly_exploring(seed, learns=True)
        one = difference_interval(kind, rewards, 0.25 / chance, (arms == 1) / chance)
        covered += one.low <= truth <= one.high
    assert covered >= LEAST


@pytest.mark.parametrize("kind", EXACT)
def test_paired_differences_cover_and_say_something_where_there_is_exploration(kind):
    """Four arms at random: of 4,000 decisions the intervals leave out 0, and cover as often as they say."""
    covered = decided = 0
    logs = 100
    for seed in range(logs):
        random = np.random.default_rng(seed)
        arms = random.integers(4, size=4000)
        rewards = (random.random(4000) < MEANS[arms]).astype(float)
        one = difference_interval(kind, rewards, 4.0 * (arms == 0), 4.0 * (arms == 3), max_weight=4.0)
        covered += one.low <= MEANS[0] - MEANS[3] <= one.high
        decided += one.low > 0.0
    assert covered >= 95 - 4 * math.sqrt(100 * 0.05 * 0.95)  # less with probability 4.6e-4, if each covers with .95
    assert decided == logs


def test_ends_turn_with_the_policies_and_scale_with_the_rewards():
    rewards, chance, arms, _ = hardly_exploring(0, learns=True)
    weights, others = 0.25 / chance, (arms == 1) / chance
    for kind in EXACT:
        one = difference_interval(kind, rewards, weights, others)
        turned = difference_interval(kind, rewards, others, weights)
        assert (turned.low, turned.high) == pytest.approx((-one.high, -one.low))
        wide = difference_interval(kind, 10 * rewards - 5, weights, others, (-5.0, 5.0))
        assert (wide.low, wide.high) == pytest.approx((10 * one.low, 10 * one.high))
        log = difference_from_log(kind, rewards, weights)
        moved = difference_from_log(kind, 10 * rewards - 5, weights, (-5.0, 5.0))
        assert (moved.low, moved.high) == pytest.approx((10 * log.low, 10 * log.high))


def batch(seed, *, rounds=ROUNDS):
    rewards, chance, arms, _ = hardly_exploring(seed, learns=False)
    rows = zip(arms.tolist(), chance.tolist(), rewards.tolist(), strict=True)
    return DecisionBatch.of([Decision(np.eye(4), *row) for row in list(rows)[:rounds]])


def test_no_normal_interval_of_a_difference_where_weights_are_few():
    log = next(batch(seed) for seed in range(100) if 1 < evaluate_size(batch(seed)) < 100)
    found = compare(log, ["uniform", "first", "logged"], EvaluationOptions(resamples=50))
    uniform = found["uniform"]
    assert uniform.recommended == ("ips", "clopper-pearson")
    assert [one.kind for one in uniform["ips"].difference.intervals] == list(EXACT)
    assert uniform["dr"].difference.intervals == ()
    assert any(note.startswith("differences: ") for note in uniform.notes)
    assert "normal" in [one.kind for one in found["first"]["ips"].difference.intervals]  # its weights are even
    for pair in found.differences:
        kinds = [one.kind for one in pair.intervals]
        assert ("normal" in kinds) == ("uniform" not in (pair.policy, pair.other))
    against = found.difference("uniform", "logged", "ips").intervals[0]
    assert against == uniform["ips"].difference.intervals[0]


def evaluate_size(log):
    return evaluate(log, "uniform", estimators=["ips"], intervals=["normal"]).effective_sample_size


def test_equal_weights_that_miss_the_arms_that_matter_are_few_too():
    """No other arm was taken at all: 150 decisions of equal weight, whose mean is a quarter instead of 1."""
    log = next(one for one in (batch(seed, rounds=150) for seed in range(100)) if set(one.arms.tolist()) == {0})
    found = evaluate(log, "uniform", resamples=50)
    assert found.effective_sample_size == pytest.approx(150)
    assert found.recommended == ("ips", "clopper-pearson")
    ends = found["ips"].difference.intervals[0]
    assert ends.kind == "clopper-pearson"
    assert ends.low <= UNIFORM - MEANS[0] <= ends.high
    assert "mean weight" in " ".join(found.warnings)


def test_an_interval_that_would_need_the_range_is_left_out():
    log = batch(3)
    rows = [Decision(one.contexts, one.arm, one.probability, 2.0 * one.reward) for one in log]
    found = evaluate(DecisionBatch.of(rows), "uniform", resamples=50)
    assert found["ips"].difference.intervals == ()
    given = evaluate(DecisionBatch.of(rows), "uniform", resamples=50, reward_range=(0.0, 2.0))
    assert [one.kind for one in given["ips"].difference.intervals] == list(EXACT)
