"""ips and snips are the formulas of Open Bandit Pipeline, on a log in the format of the Open Bandit Dataset.

The reference is written out here from its definition (Saito, Aihara, Matsutani and Narita 2021, section 4; in version
0.5.7 `obp.ope.InverseProbabilityWeighting` and `SelfNormalizedInverseProbabilityWeighting`): with the evaluation
policy's `action_dist[i, a, l]`, the probability that it takes arm a at position l in round i,

    iw[i] = action_dist[i, action[i], position[i]] / pscore[i]
    IPW   = mean of reward * iw
    SNIPW = mean of reward * iw / mean(iw)
"""

import numpy as np
import pytest

from massart.data import DecisionLog
from massart.evaluation import evaluate

ROUNDS, ARMS, PLACES = 500, 6, 3


def ipw(reward, action, position, pscore, action_dist):
    iw = action_dist[np.arange(action.shape[0]), action, position] / pscore
    return (reward * iw).mean()


def snipw(reward, action, position, pscore, action_dist):
    iw = action_dist[np.arange(action.shape[0]), action, position] / pscore
    return (reward * iw / iw.mean()).mean()


@pytest.fixture
def log(tmp_path):
    """Rounds as arrays, and the same rounds as a file with the dataset's columns."""
    random = np.random.default_rng(0)
    user = random.integers(4, size=ROUNDS)
    position = random.integers(PLACES, size=ROUNDS)
    logging = random.dirichlet(np.ones(ARMS), size=(4, PLACES))
    action = np.array([random.choice(ARMS, p=logging[u, p]) for u, p in zip(user, position, strict=True)])
    pscore = logging[user, position, action]
    reward = (random.random(ROUNDS) < 0.1 + 0.1 * action).astype(float)
    affinities = [f"user-item_affinity_{arm}" for arm in range(ARMS)]
    head = ["", "timestamp", "item_id", "position", "click", "propensity_score", "user_feature_0", *affinities]
    lines = [",".join(head)]
    for i in range(ROUNDS):
        own = random.poisson(0.5, ARMS)
        cells = [
            i,
            f"2019-11-24 00:00:{i % 60:02}+00:00",
            action[i],
            position[i] + 1,
            int(reward[i]),
            repr(float(pscore[i])),
        ]
        lines.append(",".join(map(str, [*cells, f"u{user[i]}", *own])))
    path = tmp_path / "all.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, {"reward": reward, "action": action, "position": position, "pscore": pscore}


def first_arm(contexts):
    return np.eye(contexts.shape[0])[0]


@pytest.mark.parametrize(
    ("policy", "action_dist"),
    [
        ("uniform", np.full((ROUNDS, ARMS, PLACES), 1 / ARMS)),
        (first_arm, np.tile(np.eye(ARMS)[0][None, :, None], (ROUNDS, 1, PLACES))),
        (
            lambda contexts: np.arange(1, ARMS + 1) / 21,
            np.tile((np.arange(1, ARMS + 1) / 21)[None, :, None], (ROUNDS, 1, PLACES)),
        ),
    ],
    ids=["uniform", "first", "rising"],
)
def test_ips_and_snips_are_those_of_open_bandit_pipeline(log, policy, action_dist):
    path, rounds = log
    found = evaluate(path, policy, estimators=["ips", "snips"], intervals=["normal"])
    assert found.decisions == ROUNDS
    assert found["ips"].value == pytest.approx(ipw(**rounds, action_dist=action_dist), rel=1e-12)
    assert found["snips"].value == pytest.approx(snipw(**rounds, action_dist=action_dist), rel=1e-12)
    for line in found.positions:
        here = {name: values[rounds["position"] == line.position - 1] for name, values in rounds.items()}
        dist = action_dist[rounds["position"] == line.position - 1]
        assert line.ips == pytest.approx(ipw(**here, action_dist=dist), rel=1e-12)
        assert line.snips == pytest.approx(snipw(**here, action_dist=dist), rel=1e-12)


def test_it_is_read_with_features_for_a_model(log):
    path, rounds = log
    found = evaluate(path, "uniform")
    assert found.recommended == ("dr", "normal")
    assert DecisionLog(path).read().arms.tolist() == rounds["action"].tolist()
