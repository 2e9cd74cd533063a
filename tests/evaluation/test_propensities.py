"""Propensities that were not logged: estimated where there was chance, marked, refused where there was none."""

import json
from dataclasses import replace

import numpy as np
import pytest
import simulated
from scipy import sparse

from massart.data import Decision, DecisionBatch, write_decisions
from massart.errors import InvalidDataError
from massart.evaluation import estimated_propensities, evaluate
from massart.evaluation.reward_model import folds_of


def without(log):
    return replace(log, propensities=np.full(len(log), np.nan), logged=np.full(log.logged.size, np.nan))


def kinds(count, seed):
    """A log whose features say which of the four kinds a customer is, so that the model is right."""
    log = simulated.batch(count, seed)
    which, _, _ = simulated.draw(count, seed)
    features = np.zeros((count, 3, 12))
    for arm in range(3):
        features[np.arange(count), arm, 3 * which + arm] = 1.0
    return replace(log, contexts=features.reshape(-1, 12)), which


def test_they_are_those_that_were_played_if_the_features_tell():
    """20,000 decisions, 5,000 of each kind, 4,000 in the folds: an arm's share has an error of at most .5 / sqrt(4000).

    Four of these are .032; the penalty moves a share by less than .001.
    """
    log, which = kinds(20_000, 0)
    found = estimated_propensities(log.contexts, log.starts, log.taken)
    assert np.abs(found - simulated.LOGGING[which, log.arms]).max() < 0.033
    thin = estimated_propensities(sparse.csr_array(log.contexts), log.starts, log.taken)
    np.testing.assert_allclose(thin, found, atol=1e-6)


def test_without_features_they_are_the_shares_of_the_arms():
    random = np.random.default_rng(0)
    arms = random.choice(3, p=[0.6, 0.3, 0.1], size=3000)
    found = estimated_propensities(np.zeros((9000, 0)), np.arange(3001) * 3, np.arange(3000) * 3 + arms)
    shares = np.bincount(arms) / 3000
    assert np.abs(found - shares[arms]).max() < 0.02  # of the other four folds, and with a penalty


def test_a_decision_does_not_see_its_own_propensity():
    """Another arm there changes the propensities of the other folds, and none of the others in its own."""
    arms = np.random.default_rng(0).integers(3, size=100)
    other = arms.copy()
    other[17] = (arms[17] + 1) % 3
    one, two = (
        estimated_propensities(np.zeros((300, 0)), np.arange(101) * 3, np.arange(100) * 3 + given)
        for given in (arms, other)
    )
    fold = folds_of(100, 5, 0)
    rest = np.arange(100) != 17
    same = one == two
    assert same[rest & (fold == fold[17])].all()
    assert same[fold != fold[17]].mean() < 0.5  # an arm whose count is as before may keep its share


def test_estimates_are_near_the_truth_and_marked():
    log, _ = kinds(4000, 1)
    found = evaluate(without(log), "target")
    assert found.propensities == "estimated"
    assert found.as_dict()["propensities"] == "estimated"
    assert "ESTIMATED" in found.warnings[0]
    for estimator in ("snips", "dr"):
        assert abs(found[estimator].value - simulated.TRUTH) < 5 * found[estimator].standard_error
    assert {one.kind for line in found.lines for one in line.intervals} == {"normal", "bootstrap"}
    assert any("not known for estimated propensities" in note for note in found.notes)
    assert evaluate(log, "target").propensities == "logged"


def test_the_logged_policy_needs_none():
    log, _ = kinds(500, 2)
    assert evaluate(without(log), "logged")["ips"].value == pytest.approx(log.rewards.mean())


def test_a_log_in_which_only_some_are_missing_is_refused():
    log, _ = kinds(50, 3)
    some = log.propensities.copy()
    some[:3] = np.nan
    with pytest.raises(
        InvalidDataError, match=r"3 of 50 decisions have an impossible propensity: line 1 \(probability"
    ):
        evaluate(replace(log, propensities=some, logged=np.full(150, np.nan)), "target")


def test_a_log_where_the_same_context_always_gets_the_same_arm_says_nothing(tmp_path):
    log, which = kinds(300, 4)
    fixed = np.array([2, 0, 1, 2])[which]
    with pytest.raises(InvalidDataError, match=r"in 296 decisions whose contexts came before .* nothing can be said"):
        evaluate(replace(without(log), arms=fixed), "target")
    rows = [{"arms": 2, "arm": 1, "reward": row % 2} for row in range(50)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InvalidDataError, match="nothing can be said"):
        evaluate(tmp_path / "log.jsonl", "first")


def test_a_log_whose_arms_follow_from_features_that_never_repeat_says_nothing():
    random = np.random.default_rng(5)
    contexts = random.normal(size=(2000, 3, 4))
    best = contexts @ np.array([1.0, -2.0, 0.5, 0.0])
    greedy = best.argmax(axis=1)
    rows = [Decision(x, int(a), np.nan, 1.0) for x, a in zip(contexts, greedy, strict=True)]
    with pytest.raises(InvalidDataError, match=r"follows from the features in \d+\.\d% of the decisions"):
        evaluate(DecisionBatch.of(rows), "uniform")
    explored = np.where(random.random(2000) < 0.2, random.integers(3, size=2000), greedy)
    rows = [Decision(x, int(a), np.nan, float(i % 2)) for i, (x, a) in enumerate(zip(contexts, explored, strict=True))]
    assert evaluate(DecisionBatch.of(rows), "uniform").propensities == "estimated"


def test_a_file_without_propensities_is_read(tmp_path):
    log, _ = kinds(200, 6)
    rows = [{"contexts": one.contexts.tolist(), "arm": one.arm, "reward": one.reward} for one in log]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = evaluate(tmp_path / "log.jsonl", "uniform")
    assert found.propensities == "estimated"
    assert found["dr"].value == pytest.approx(evaluate(without(log), "uniform")["dr"].value)
    write_decisions([Decision(np.eye(2), 0, 0.5, 1.0)], tmp_path / "one.jsonl")
    lines = (tmp_path / "log.jsonl").read_text()
    (tmp_path / "log.jsonl").write_text(lines + (tmp_path / "one.jsonl").read_text())
    with pytest.raises(InvalidDataError, match="use one shape"):
        evaluate(tmp_path / "log.jsonl", "uniform")
