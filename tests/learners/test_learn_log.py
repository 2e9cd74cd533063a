"""Learning from rounds that another policy played: unbiased where the log is right, in every format, and counted."""

import json

import numpy as np
import pytest
from bandit_cases import KINDS
from scipy import sparse

from massart import MonotoneBandit, load, save
from massart.data import Decision, DecisionLog, LogColumns, write_decisions
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.learners.from_logs import LEAST_PROBABILITY

D, ARMS = 4, 3


def rounds(count, seed=0, skew=(0.6, 0.3, 0.1)):
    """Decisions of a policy that prefers arm 0; the reward is 1 with probability 1/2 + the first feature."""
    rng, found = np.random.default_rng(seed), []
    for line in range(1, count + 1):
        X = rng.uniform(-0.4, 0.4, size=(ARMS, D))
        arm = int(rng.choice(ARMS, p=skew))
        reward = float(rng.random() < 0.5 + X[arm, 0])
        found.append(Decision(X, arm, skew[arm], reward, np.array(skew), event_id=f"e{line}", line=line))
    return found


def value(bandit, count=500, seed=99):
    """What a bandit would earn: a random arm .5, the best of three .7 (0.4 * (1 - 2 / (ARMS + 1)) above)."""
    return np.mean([bandit.probabilities(one.contexts) @ (0.5 + one.contexts[:, 0]) for one in rounds(count, seed)])


def test_it_learns_what_pays_from_another_policys_rounds():
    """Lift above random of .2 at best; without importance weighting, or with the wrong arm, it would be near 0."""
    bandit = MonotoneBandit(random_state=0)
    learned = bandit.learn_log(rounds(4000))
    assert (learned.rounds, learned.bad, learned.clipped) == (4000, 0, 0)
    assert bandit.rounds == 4000
    assert value(bandit) > 0.6


def test_the_estimate_is_unbiased():
    """The first step is linear in r / p: averaged over the logged arm it is the same whatever the probabilities were.

    sum over arms of p_arm times the step that arm, reward 1 and p_arm give, for two logging policies; the step is
    proportional to sum of g, before the scale by its own length: compare T / SCALE-free weights of one expert.
    """
    X = np.random.default_rng(0).normal(size=(ARMS, D)) / 4
    steps = []
    for skew in ((0.6, 0.3, 0.1), (0.2, 0.2, 0.6)):
        total = np.zeros(D)
        for arm, p in enumerate(skew):
            bandit = MonotoneBandit(gap=0.1, margin=0.2, random_state=0)
            bandit.learn_logged(X, arm, p, 1.0, probabilities=skew)
            total += p * bandit._state.weights[:, 0]
        steps.append(total)
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-12)


def test_its_own_rounds_as_a_log_teach_what_learning_them_taught():
    """Choice and reward at once, all probabilities logged: the log of a bandit is learned to the same weights.

    What differs is nothing but the round's plan, which is made anew from the same state: equal to the bit.
    """
    for kind in KINDS.keys() - {"paper"}:
        options = KINDS[kind] | {"exploration": 0.3}  # so that no probability is clipped
        own, rng = MonotoneBandit(random_state=0, **options), np.random.default_rng(1)
        other = MonotoneBandit(random_state=5, **options)
        for _ in range(60):
            X = rng.normal(size=(ARMS, D)) / 8
            choice, reward = own.choose(X), float(rng.random() < 0.5)
            own.learn(choice, reward)
            assert choice.probabilities.min() > LEAST_PROBABILITY
            other.learn_logged(X, choice.arm, choice.probability, reward, probabilities=choice.probabilities)
        np.testing.assert_array_equal(own.weights, other.weights)


def test_small_probabilities_are_clipped_and_counted(tmp_path):
    bandit = MonotoneBandit(random_state=0)
    rare = [Decision(np.eye(2), 0, 1e-6, 1.0), Decision(np.eye(2), 1, 0.5, 1.0, weight=1000.0)]
    learned = bandit.learn_log([*rare, Decision(np.eye(2), 0, 0.25, 0.5)])
    assert (learned.rounds, learned.clipped) == (3, 2)
    assert "2 probabilities below 0.01 counted as that" in str(learned)
    other = MonotoneBandit(random_state=0)
    for arm, p, reward in ((0, 0.01, 1.0), (1, 0.01, 1.0), (0, 0.25, 0.5)):
        other.learn_logged(np.eye(2), arm, p, reward)
    np.testing.assert_array_equal(bandit.weights, other.weights)
    save(bandit, tmp_path / "m")
    assert load(tmp_path / "m").arrays()["logged"].tolist() == [3, 2]


def test_nothing_is_guaranteed_then():
    bandit = MonotoneBandit(gap=0.2, margin=0.1, random_state=0)
    for one in rounds(50):
        bandit.learn_logged(one.contexts, one.arm, one.probability, one.reward)
    found = bandit.certificate()
    assert found.guaranteed_lift is None
    assert found.sentence == "guarantees nothing yet: 50 of the 50 rounds learned were played by another policy"
    with pytest.raises(InvalidDataError, match="Algorithm 3"):
        MonotoneBandit(**KINDS["paper"]).learn_logged(np.eye(2) / 2, 0, 0.5, 1.0)


def test_choices_that_wait_are_learned_after_a_log():
    bandit = MonotoneBandit(random_state=0)
    waiting = bandit.choose(np.eye(ARMS, D))
    bandit.learn_log(rounds(20))
    bandit.learn(waiting, 1.0)
    assert (bandit.rounds, bandit.pending) == (21, 0)
    assert MonotoneBandit.from_arrays(bandit.arrays()).rounds == 21


@pytest.mark.parametrize("log_format", ["jsonl", "csv", "parquet", "jsonl.gz"])
def test_all_formats_of_rows_teach_the_same(tmp_path, log_format):
    direct, given = MonotoneBandit(random_state=0), rounds(200)
    direct.learn_log(given)
    write_decisions(given, tmp_path / f"log.{log_format}")
    for log in (tmp_path / f"log.{log_format}", DecisionLog(tmp_path / f"log.{log_format}")):
        bandit = MonotoneBandit(random_state=0)
        bandit.learn_log(log)
        np.testing.assert_array_equal(bandit.weights, direct.weights)


TOWNS = ("Rome", "Oslo", "Lima")


def towns(count, seed=0):
    """(town, action from 1, probability, reward): the action of the town pays .9, others .1; random actions."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        town, action = int(rng.integers(3)), int(rng.integers(3))
        yield TOWNS[town], action + 1, 1 / 3, float(rng.random() < (0.9 if town == action else 0.1))


def adf(rows):
    for town, action, p, reward in rows:
        lines = [f"|i id={number}" for number in (1, 2, 3)]
        lines[action - 1] = f"0:{-reward}:{p} {lines[action - 1]}"
        yield "\n".join([f"shared |u town={town}", *lines, "", ""])


def cb(rows):
    for town, action, p, reward in rows:
        yield f"{action}:{-reward}:{p} |u town={town}\n"


def dsjson(rows):
    for town, action, p, reward in rows:
        multi = [{"i": {"id": str(number)}} for number in (1, 2, 3)]
        order = [action, *(other for other in (1, 2, 3) if other != action)]
        yield json.dumps({"_label_cost": -reward, "_label_probability": p, "_labelIndex": action - 1, "a": order,
                          "p": [1 / 3] * 3, "c": {"u": {"town": town}, "_multi": multi}}) + "\n"  # fmt: skip


def named(rows):
    for town, action, p, reward in rows:
        yield json.dumps({"ids": ["1", "2", "3"], "context": {"town": town}, "arm": action - 1, "probability": p,
                          "reward": reward}) + "\n"  # fmt: skip


def table(rows):
    yield "offer,bought,p,town\n"
    for town, action, p, reward in rows:
        yield f"{action},{reward},{p},{town}\n"


LOGS = {"log.vw": adf, "cb.vw": cb, "log.dsjson": dsjson, "log.jsonl": named, "log.csv": table}


@pytest.mark.parametrize("name", LOGS)
def test_a_shared_context_is_crossed_in_every_format(tmp_path, name):
    """3,000 random rounds: the log says .367 for any policy that ignores the town, .9 for the best one."""
    (tmp_path / name).write_text("".join(LOGS[name](towns(3000))))
    columns = LogColumns("offer", "bought", probability="p", context=["town"]) if name == "log.csv" else None
    bandit = MonotoneBandit(random_state=0)
    learned = bandit.learn_log(str(tmp_path / name), columns=columns)
    assert (learned.rounds, learned.bad) == (3000, 0)
    assert bandit.has_names
    log = DecisionLog(tmp_path / name, crossed=True, columns=columns)
    hits = np.mean([bandit.probabilities(one.contexts)[one.arm] * 3 * one.reward for one in log.decisions()])
    assert hits > 0.6  # by inverse propensities; its standard error is below .03
    if name in ("cb.vw", "log.jsonl", "log.csv"):  # ids
        names = [1, 2, 3] if name == "cb.vw" else ["1", "2", "3"]
        assert bandit.probabilities(names, {"u": {"town": "Oslo"}} if name == "cb.vw" else {"town": "Oslo"}).size == 3
    if name in ("log.jsonl", "log.csv"):
        assert bandit.probabilities(["1", "2", "3"], {"town": "Oslo"}).argmax() == 1
        assert "arm=2 * town=Oslo" in {one.name for one in bandit.explain(
            bandit.choose(["2"], {"town": "Oslo"})).contributions}  # fmt: skip


def test_lines_of_cb_text(tmp_path):
    lines = ["2:-1:0.5 'e1 |u a:1", "1:0:0.5 | a b", "| b", "", "x:1:.5 | a", "9:1:.5 | a", "1:1:.5 2:1:.5 | a"]
    text = "\n".join([*lines, "3:1 | a", "1:1:0.25 | a", "2:1:0.25 | a", "2:1:0.25 | a", ""])
    (tmp_path / "cb.txt").write_text(text)
    log = DecisionLog(tmp_path / "cb.txt", max_bad_lines=10, actions=3)
    assert log.format == "vw-cb"
    found = list(log.decisions())
    assert [(one.arm, one.arms, one.reward, one.line) for one in found[:3]] == [
        *((1, 3, 1, 1), (0, 3, 0, 2), (0, 3, -1, 9)),
    ]
    assert found[0].event_id == "e1"
    assert log.skipped == {"decisions without a label": 1}
    assert [message.partition(" line ")[2][0] for message in log.bad.messages] == ["5", "6", "7", "8"]
    (tmp_path / "cb.txt").write_text("2:-1:0.5 | a\n7:0:0.5 | a\n")
    assert next(DecisionLog(tmp_path / "cb.txt").decisions()).arms == 7


def test_bad_lines_are_reported_with_their_place_and_counted(tmp_path):
    path = tmp_path / "log.jsonl"
    write_decisions(rounds(20), path)
    lines = path.read_text().splitlines()
    lines[3] = '{"arm": 0}'
    lines[5] = lines[5].replace('"reward": 0.0', '"reward": 7').replace('"reward": 1.0', '"reward": 7')
    path.write_text("\n".join(lines) + "\n")
    learned = MonotoneBandit().learn_log(path)
    assert (learned.rounds, learned.bad) == (18, 2)
    assert "log.jsonl, line 4" in learned.messages[0]
    assert "log.jsonl, line 6: reward=7 is outside reward_range" in learned.messages[1]
    with pytest.raises(InvalidDataError, match=r"more than 1 line.* line 4"):
        MonotoneBandit().learn_log(path, max_bad_lines=1)


def test_what_cannot_be_learned_is_refused():
    bandit = MonotoneBandit(random_state=0)
    for given in ({"arm": 2}, {"arm": -1}, {"probability": 0.0}, {"probability": float("nan")}, {"probability": "p"},
                  {"reward": 2.0}, {"probabilities": [0.5]}, {"probabilities": [0.5, -0.5]}, {"arms": np.empty((0, 2))},
                  {"arms": [[np.nan, 1.0], [0.0, 1.0]]}):  # fmt: skip
        call = {"arms": np.eye(2), "arm": 0, "probability": 0.5, "reward": 1.0} | given
        with pytest.raises(InvalidDataError):
            bandit.learn_logged(**call)
    assert bandit.rounds == 0
    with pytest.raises(InvalidDataError, match="nothing could be learned"):
        bandit.learn_log([Decision(np.zeros((2, 0)), 0, 0.5, 1.0)])
    with pytest.raises(InvalidParameterError, match="how files are read"):
        bandit.learn_log([], log_format="vw")
    arrays = MonotoneBandit().arrays()
    for forged in (np.array([3, 1]), np.array([-1, 0]), np.zeros(3, np.int64), np.zeros(2)):
        with pytest.raises(ModelFileError, match="logged"):
            MonotoneBandit.from_arrays(arrays | {"logged": forged})


def test_arms_that_could_not_be_played_teach_nothing():
    """A logged probability of 0: the other arms are learned as if it were not there."""
    X = np.random.default_rng(0).normal(size=(3, D)) / 8
    with_it, without = (MonotoneBandit(gap=0.1, margin=0.2, random_state=0) for _ in range(2))
    for arm, reward in ((0, 1.0), (1, 0.0), (0, 0.0)):
        with_it.learn_logged(X, arm, 0.5, reward, probabilities=[0.5, 0.5, 0.0])
        without.learn_logged(sparse.csr_matrix(X[:2]), arm, 0.5, reward, probabilities=[0.5, 0.5])
    np.testing.assert_allclose(with_it.weights, without.weights, atol=1e-12)
