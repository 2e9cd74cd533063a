"""Several policies on one log: paired differences, the difference from what was logged, the recommended row, slates."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import simulated

from massart.data import Decision, DecisionBatch
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import Estimate, EvaluationOptions, compare, difference, evaluate, snips

LOGS = 300
SLACK = 4 * math.sqrt(0.95 * 0.05 / LOGS)  # four standard errors of a coverage of .95
ROUNDS = 800  # with 100 effective decisions or more, so that differences have normal intervals
ASYMPTOTIC = 0.01  # what the normal limit may lack at n = 800 with weights up to 16
UNIFORM_TRUTH = float(simulated.MEANS.mean())
CHEAP = EvaluationOptions(estimators=["ips", "snips"], intervals=["normal"])


@pytest.fixture(scope="module")
def comparisons():
    options = EvaluationOptions(estimators=["ips", "snips", "dr"], intervals=["normal", "bootstrap"], resamples=200)
    return [compare(simulated.batch(ROUNDS, seed), ["target", "uniform"], options) for seed in range(LOGS)]


@pytest.mark.parametrize("kind", ["normal", "bootstrap"])
@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_paired_intervals_cover_the_difference_as_often_as_they_say(comparisons, estimator, kind):
    truth = simulated.TRUTH - UNIFORM_TRUTH
    pairs = [found.difference("target", "uniform", estimator) for found in comparisons]
    ends = [interval for pair in pairs for interval in pair.intervals if interval.kind == kind]
    seen = sum(one.low <= truth <= one.high for one in ends) / LOGS
    assert len(ends) == LOGS
    assert abs(seen - 0.95) <= SLACK + ASYMPTOTIC


@pytest.mark.parametrize("kind", ["normal", "bootstrap"])
@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_differences_from_the_log_cover_as_often_as_they_say(comparisons, estimator, kind):
    truth = simulated.TRUTH - simulated.LOGGED_TRUTH
    lines = [found["target"][estimator].difference for found in comparisons]
    ends = [interval for line in lines for interval in line.intervals if interval.kind == kind]
    seen = sum(one.low <= truth <= one.high for one in ends) / LOGS
    assert abs(seen - 0.95) <= SLACK + ASYMPTOTIC


def test_the_difference_is_that_of_the_values_and_has_the_error_of_its_terms(comparisons):
    found = comparisons[0]
    for estimator in ("ips", "snips", "dr"):
        pair = found.difference("target", "uniform", estimator)
        assert pair.value == found["target"][estimator].value - found["uniform"][estimator].value
    weights, rewards = simulated.weights_and_rewards(ROUNDS, 0)
    log = simulated.batch(ROUNDS, 0)
    terms = (weights - (1 / 3) / log.propensities) * rewards
    ips = found.difference("target", "uniform", "ips")
    assert ips.standard_error == pytest.approx(terms.std(ddof=1) / math.sqrt(ROUNDS))
    against = found["target"]["ips"].difference
    assert against.standard_error == pytest.approx(((weights - 1) * rewards).std(ddof=1) / math.sqrt(ROUNDS))
    assert against.value == pytest.approx((weights * rewards).mean() - rewards.mean())


def test_the_error_of_a_difference_of_ratios_is_their_spread_over_logs(comparisons):
    # The spread over 300 logs is known up to a factor 1 +- 4 / sqrt(600) = 1 +- .163; a quarter is allowed.
    for estimator in ("ips", "snips", "dr"):
        pairs = [found.difference("target", "uniform", estimator) for found in comparisons]
        spread = np.std([pair.value for pair in pairs], ddof=1)
        assert 0.75 <= np.mean([pair.standard_error for pair in pairs]) / spread <= 1.25


def test_a_policy_does_not_differ_from_itself():
    found = compare(simulated.batch(400, 0), {"one": "uniform", "two": "uniform"}, CHEAP)
    for pair in found.differences:
        assert (pair.value, pair.standard_error) == (0.0, 0.0)
        assert [(one.low, one.high) for one in pair.intervals] == [(0.0, 0.0)]


def test_pairing_is_narrower_than_two_intervals_for_policies_that_agree():
    log = simulated.batch(2000, 1)
    nearly = replace(log, target=0.9 * log.logged + 0.1 / 3)
    found = compare(nearly, ["target", "logged"], CHEAP)
    pair = found.difference("target", "logged", "snips")
    apart = math.hypot(found["target"]["snips"].standard_error, found["logged"]["snips"].standard_error)
    assert pair.standard_error < 0.3 * apart


def test_one_policy_alone_and_among_others_is_the_same():
    log = simulated.batch(150, 2)
    among = compare(log, ["first", "target", "uniform"])
    assert among["target"].as_dict() == evaluate(log, "target").as_dict()
    assert json.loads(json.dumps(among.as_dict(), allow_nan=False))["differences"][0]["policy"] == "first"
    with pytest.raises(KeyError):
        among["best"]
    with pytest.raises(KeyError):
        among.difference("target", "first", "ips")


def test_the_logged_policy_differs_by_every_estimator():
    """What it earned is the mean of the log: that needs no reward model and no probabilities of other arms."""
    log = simulated.batch(300, 3)
    bare = replace(log, logged=np.full(900, np.nan))
    for order in (["target", "logged"], ["logged", "target"]):
        found = compare(bare, order)
        pair = found.difference(*order, "dr")
        sign = 1 if order[0] == "target" else -1
        assert pair.value == pytest.approx(sign * found["target"]["dr"].difference.value)
        assert pair.standard_error == pytest.approx(found["target"]["dr"].difference.standard_error)


def test_policies_of_one_class_get_numbers():
    class Policy:
        def probabilities(self, contexts):
            return np.full(contexts.shape[0], 1 / contexts.shape[0])

    found = compare(simulated.batch(50, 0), [Policy(), Policy()], CHEAP)
    assert [one.policy for one in found.evaluations] == ["Policy", "Policy 2"]
    with pytest.raises(InvalidParameterError, match="no policy"):
        compare(simulated.batch(50, 0), [], CHEAP)


def test_the_recommended_row():
    many, few = simulated.batch(2000, 0), simulated.batch(60, 0)
    assert evaluate(many, "target").recommended == ("dr", "normal")
    assert evaluate(many, "target", estimators=["ips", "snips"]).recommended == ("snips", "cressie-read")
    assert evaluate(few, "target").recommended == ("ips", "clopper-pearson")
    assert evaluate(few, "target", intervals=["normal"]).recommended == ("dr", "normal")
    rows = [Decision(np.eye(2), 1, 0.5, float(i % 2)) for i in range(50)]
    assert evaluate(DecisionBatch.of(rows), "first").recommended is None


def test_a_log_that_never_explored_says_so():
    rows = [Decision(np.eye(2), i % 2, 1.0, float(i % 3 == 0)) for i in range(50)]
    assert any("nothing can be said" in words for words in evaluate(DecisionBatch.of(rows), "uniform").warnings)
    assert not any("nothing can be said" in words for words in evaluate(DecisionBatch.of(rows), "logged").warnings)


# Lists of three positions, filled without repetition; what a position earns depends on the customer's mood, which all
# positions of a list share, on the arm there, and on the position.

ARMS, PLACES = 5, 3
ATTRACTION = np.array([0.1, 0.2, 0.3, 0.4, 0.6])
EXAMINED = np.array([1.0, 0.6, 0.3])
GREEDY = np.array([[0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]])  # by position
SLATE_TRUTH = float((GREEDY @ ATTRACTION * EXAMINED).sum())


def lists(count, seed, *, named=True):
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        order = random.permutation(ARMS)[:PLACES]
        mood = random.choice([0.4, 1.6])  # of mean 1
        for place in range(PLACES):
            arm = int(order[place])
            reward = float(random.random() < mood * ATTRACTION[arm] * EXAMINED[place])
            rows.append(
                Decision(
                    np.zeros((ARMS, 0)),
                    arm,
                    1 / ARMS,
                    reward,
                    target=GREEDY[place],
                    position=place + 1,
                    slate=f"list {number}" if named else None,
                )
            )
    return DecisionBatch.of(rows)


def test_intervals_of_lists_cover_as_often_as_they_say():
    """Rewards of a list depend on each other, through the mood and through the arms that it leaves out."""
    hits = single = 0
    options = EvaluationOptions(estimators=["ips"], intervals=["normal"])
    for seed in range(LOGS):
        found = compare(lists(200, seed), ["target"], options).evaluations[0]
        (interval,) = found["iips"].intervals
        hits += interval.low <= SLATE_TRUTH <= interval.high
        (interval,) = found["ips"].intervals
        single += interval.low <= SLATE_TRUTH / PLACES <= interval.high
    assert abs(hits / LOGS - 0.95) <= SLACK + 0.02  # the skew of rare terms at 200 lists
    assert abs(single / LOGS - 0.95) <= SLACK + 0.02


def test_the_estimator_of_lists_is_the_sum_over_positions():
    log = lists(100, 0)
    found = evaluate(log, "target", estimators=["ips", "snips"], intervals=["normal"])
    weights = np.array([row.target[row.arm] * ARMS for row in log])
    terms = weights * log.rewards
    by_list = terms.reshape(100, PLACES).sum(axis=1)
    assert found.slates == 100
    assert found["iips"].value == pytest.approx(by_list.mean())
    assert found["iips"].standard_error == pytest.approx(by_list.std(ddof=1) / 10)
    assert found["ips"].value == pytest.approx(terms.mean())
    assert found["ips"].standard_error == pytest.approx(by_list.std(ddof=1) / 30)
    assert found["iips"].difference.value == pytest.approx(by_list.mean() - log.rewards.sum() / 100)
    for line, place in zip(found.positions, range(PLACES), strict=True):
        here = slice(place, None, PLACES)
        assert (line.position, line.decisions) == (place + 1, 100)
        assert line.ips == pytest.approx(terms[here].mean())
        assert line.snips == pytest.approx(terms[here].sum() / weights[here].sum())
        assert line.logged == pytest.approx(log.rewards[here].mean())
    assert any("not known for lists" in note for note in evaluate(log, "target").notes)


def test_a_log_with_positions_and_no_lists_says_what_it_takes_for_granted():
    found = evaluate(lists(100, 0, named=False), "target", estimators=["ips"])
    assert found.slates is None
    assert len(found.positions) == PLACES
    assert any("taken as independent" in note for note in found.notes)
    rows = list(lists(3, 0))
    with pytest.raises(InvalidDataError, match="1 of 9 decisions have no slate, but others have"):
        evaluate(DecisionBatch.of([*rows[:-1], replace(rows[-1], slate=None)]), "target", estimators=["ips"])


def test_grouped_estimates_of_copies_have_the_error_of_one():
    """Each decision five times, in one group: the error of a ratio is that of the single ones."""
    random = np.random.default_rng(0)
    rewards, weights = random.random(60), random.random(60)
    one = snips(rewards, weights)
    five = snips(np.repeat(rewards, 5), np.repeat(weights, 5)).grouped(np.repeat(np.arange(60), 5))
    assert five.value == pytest.approx(one.value)
    assert five.standard_error == pytest.approx(one.standard_error)
    other = Estimate("snips", np.ones(60), np.ones(60))
    assert difference(one, other).value == pytest.approx(one.value - 1.0)
    assert difference(one, other).standard_error == pytest.approx(one.standard_error)
