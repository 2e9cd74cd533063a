"""From a log to a table: policies, what is refused, what is warned of, what is left out and said."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import simulated
from scipy import sparse

from massart.data import Decision, DecisionBatch
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import ESTIMATORS, evaluate, weigh

CHEAP = {"intervals": ["normal"], "estimators": ["ips", "snips"]}


class Greedy:
    """A policy as a learner may offer it."""

    def probabilities(self, contexts):
        return np.eye(contexts.shape[0])[0]


def test_every_way_to_name_a_policy_gives_the_same_weights():
    log = simulated.batch(300, 0)
    by_name = weigh(log, "first")
    np.testing.assert_array_equal(weigh(log, Greedy()).weights, by_name.weights)
    np.testing.assert_array_equal(weigh(log, Greedy().probabilities).weights, by_name.weights)
    column = replace(log, target=np.tile([1.0, 0.0, 0.0], 300))
    np.testing.assert_array_equal(weigh(column, "target").weights, by_name.weights)
    assert weigh(log, Greedy()).policy == "Greedy"


def test_a_policy_sees_the_contexts_of_one_decision_sparse_if_the_log_is():
    log = simulated.batch(20, 0)
    seen = []

    def look(contexts):
        seen.append(contexts.toarray())
        return np.full(contexts.shape[0], 1 / contexts.shape[0])

    found = weigh(replace(log, contexts=sparse.csr_array(log.contexts)), look)
    np.testing.assert_array_equal(np.vstack(seen), log.contexts)
    np.testing.assert_array_equal(found.weights, weigh(log, "uniform").weights)


def test_the_logged_policy_is_its_own_mean():
    log = simulated.batch(500, 1)
    found = evaluate(log, "logged")
    assert found["ips"].value == found["snips"].value == pytest.approx(log.rewards.mean())
    assert found.effective_sample_size == 500
    assert found.mean_weight == 1.0
    assert abs(found["dr"].value - simulated.LOGGED_TRUTH) < 4 * found["dr"].standard_error


def test_sparse_and_dense_contexts_give_the_same():
    log = simulated.batch(200, 2)
    dense = evaluate(log, "target")
    thin = evaluate(replace(log, contexts=sparse.csr_array(log.contexts)), "target")
    for estimator in ESTIMATORS:
        assert thin[estimator].value == pytest.approx(dense[estimator].value, abs=1e-9)


def test_batches_of_any_size_give_the_same():
    log = simulated.batch(200, 3)
    rows = list(log)
    parts = [DecisionBatch.of(rows[first : first + 7]) for first in range(0, 200, 7)]
    assert evaluate(parts, "target").as_dict() == evaluate(log, "target").as_dict()


def test_the_same_seed_gives_the_same_and_another_does_not():
    log = simulated.batch(100, 4)
    assert evaluate(log, "target", seed=1).as_dict() == evaluate(log, "target", seed=1).as_dict()
    assert evaluate(log, "target", seed=1)["dr"].value != evaluate(log, "target", seed=2)["dr"].value


def test_the_name_of_the_estimator_stands_at_every_number():
    plain = json.loads(json.dumps(evaluate(simulated.batch(100, 5)).as_dict(), allow_nan=False))
    assert [line["estimator"] for line in plain["lines"]] == list(ESTIMATORS)
    kinds = {line["estimator"]: [interval["kind"] for interval in line["intervals"]] for line in plain["lines"]}
    assert kinds["ips"] == ["normal", "bootstrap", "clopper-pearson", "bernstein", "sequence"]
    assert kinds["snips"] == ["normal", "bootstrap", "cressie-read"]
    assert all(kinds[name] == ["normal", "bootstrap"] for name in ESTIMATORS[2:])


def test_it_warns_where_the_answer_means_little():
    few = evaluate(simulated.batch(60, 6), "target", **CHEAP)
    assert few.effective_sample_size < 100
    assert any("effective sample" in words for words in few.warnings)
    log = simulated.batch(2000, 6)
    assert not evaluate(log, "target", **CHEAP).warnings
    one = log.propensities.copy()
    one[0] = 1e-4
    heavy = evaluate(replace(log, propensities=one, logged=np.full(6000, np.nan)), "uniform", **CHEAP)
    assert heavy.largest_share > 0.1
    assert any(words.startswith("one decision, in line 1, carries") for words in heavy.warnings)


def test_it_warns_of_propensities_that_were_not_played():
    log = simulated.batch(2000, 7)
    wrong = replace(log, propensities=np.full(2000, 1 / 3), logged=np.full(6000, 1 / 3))
    assert any("mean weight" in words for words in evaluate(wrong, "target", **CHEAP).warnings)


@pytest.mark.parametrize("propensity", [0.0, -0.1, 1.1, math.nan, math.inf])
def test_impossible_propensities_are_refused_with_their_rows(propensity):
    log = simulated.batch(50, 8)
    spoilt = log.propensities.copy()
    spoilt[[3, 4, 10, 11, 12, 40, 41]] = propensity
    with pytest.raises(InvalidDataError, match=r"7 of 50 decisions.*line 4 .*line 5 .*line 11 .*, and 2 more"):
        evaluate(replace(log, propensities=spoilt))


def test_probabilities_of_all_arms_that_do_not_fit_are_refused():
    log = simulated.batch(10, 9)
    with pytest.raises(InvalidDataError, match=r"10 of 10 decisions.*sum to 0\.9"):
        evaluate(replace(log, logged=0.9 * log.logged))
    swapped = log.logged.reshape(-1, 3)[:, [1, 2, 0]].ravel()
    with pytest.raises(InvalidDataError, match="among all arms"):
        evaluate(replace(log, logged=swapped))


@pytest.mark.parametrize("answer", [[0.5, 0.5, 0.5], [1.5, -0.5, 0.0], [math.nan, 0.5, 0.5]])
def test_a_policy_that_gives_no_probabilities_is_refused(answer):
    words = "invalid probabilities for 10 of the 10 decisions from line 1 on: line 1 "
    with pytest.raises(InvalidDataError, match=words):
        evaluate(simulated.batch(10, 0), lambda contexts: np.array(answer))


def test_a_policy_that_answers_for_other_arms_is_refused():
    with pytest.raises(InvalidDataError, match=r"shape \(2,\) for the 3 arms of line 1"):
        evaluate(simulated.batch(10, 0), lambda contexts: np.array([0.5, 0.5]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"policy": "best"}, "policy 'best'"),
        ({"policy": 3}, "neither a function"),
        ({"estimators": ["ipz"]}, "estimator 'ipz'"),
        ({"estimators": []}, "no estimator is named"),
        ({"intervals": ["wide"]}, "interval 'wide'"),
        ({"confidence": 95}, "confidence"),
        ({"reward_range": (1.0, 1.0)}, "reward_range"),
        ({"folds": 1}, "folds"),
        ({"resamples": 1}, "resamples"),
        ({"switch_threshold": -1.0}, "threshold"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments, words):
    with pytest.raises(InvalidParameterError, match=words):
        evaluate(simulated.batch(10, 0), **arguments)


def test_a_reward_range_that_is_broken_is_refused_and_one_that_is_missing_is_said():
    log = simulated.batch(100, 0)
    wide = replace(log, rewards=5 * log.rewards)
    with pytest.raises(InvalidDataError, match="outside the range 0 to 1"):
        evaluate(wide, reward_range=(0.0, 1.0), estimators=["snips"])
    found = evaluate(wide)
    assert [interval.kind for interval in found["ips"].intervals] == ["normal", "bootstrap"]
    assert any("rewards reach from 0 to 5" in note for note in found.notes)
    told = evaluate(wide, reward_range=(0.0, 5.0))["ips"].intervals
    unit = evaluate(log)["ips"].intervals
    for mine, other in zip(told, unit, strict=True):
        assert (mine.low, mine.high) == pytest.approx((5 * other.low, 5 * other.high))


def test_what_cannot_be_had_is_left_out_and_said():
    bare = [Decision(np.zeros((2, 0)), i % 2, 0.5, 1.0) for i in range(10)]
    found = evaluate(DecisionBatch.of(bare))
    assert [line.estimator for line in found.lines] == ["ips", "snips"]
    assert any("no features" in note for note in found.notes)
    found = evaluate(replace(simulated.batch(10, 0), logged=np.full(30, np.nan)), "logged")
    assert [line.estimator for line in found.lines] == ["ips", "snips"]
    assert any("probabilities of all arms" in note for note in found.notes)
    never = [Decision(np.eye(2), 1, 0.5, 1.0) for _ in range(10)]
    found = evaluate(DecisionBatch.of(never), "first", estimators=["ips", "snips"])
    assert [line.estimator for line in found.lines] == ["ips"]
    assert found.effective_sample_size == 0.0
    single = evaluate(DecisionBatch.of(never[:1]))
    assert single["ips"].standard_error is None
    assert not single["ips"].intervals
    several = [Decision(np.eye(2), i % 2, 0.5, 1.0, weight=2.0) for i in range(10)]
    assert any("stand for several" in note for note in evaluate(DecisionBatch.of(several)).notes)


def test_an_empty_sequence_says_that_the_log_drifts():
    rewards = np.repeat([0.0, 1.0], 2000)
    log = DecisionBatch.of([Decision(np.zeros((2, 0)), i % 2, 0.5, reward) for i, reward in enumerate(rewards)])
    found = evaluate(log, "uniform", estimators=["ips"], intervals=["sequence"])
    assert not found["ips"].intervals
    assert any("drifts" in note for note in found.notes)
