"""Other packages: what they learn here is what they learn by themselves."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from massart.arena.registry import LEARNERS
from massart.errors import InvalidParameterError
from massart.learners.reference import baselines

D = 5
INSTALLED = [name for name in LEARNERS.names() if LEARNERS.is_peer(name)]
OTHERS = [name for name in INSTALLED if not name.startswith("sklearn")]


def stream(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    y[rng.random(rows) < 0.1] *= -1
    y[0] = -1.0  # a row of score 0 and label +1 is a mistake for scikit-learn's perceptron and none for ours
    return X, y


@pytest.mark.parametrize(
    ("name", "ours"),
    [("sklearn-perceptron", baselines.Perceptron), ("sklearn-pa", baselines.PassiveAggressive)],
)
def test_scikit_learn_agrees_with_our_own_version_of_the_same_rule(name, ours):
    X, y = stream()
    np.testing.assert_allclose(LEARNERS.make(name, dimension=D).learn_many(X, y), ours(D).learn_many(X, y), atol=1e-10)


@pytest.mark.parametrize("average", [False, True])
def test_one_row_at_a_time_is_what_partial_fit_on_a_batch_does(average):
    """Without shuffling, a batch and its rows in turn leave scikit-learn with the same weights."""
    X, y = stream()
    batch = SGDClassifier(loss="log_loss", fit_intercept=False, shuffle=False, average=average)
    batch.partial_fit(X, y, classes=[-1.0, 1.0])
    peer = LEARNERS.make("sklearn-log-averaged" if average else "sklearn-log", dimension=D)
    peer.learn_many(X, y)
    np.testing.assert_allclose(peer.weights, batch.coef_[0], rtol=1e-9)


def test_scikit_learn_keeps_its_configuration():
    from sklearn import get_config

    before = get_config()
    X, y = stream(5)
    learner = LEARNERS.make("sklearn-hinge", dimension=D)
    learner.learn_many(X, y)
    learner.learn(X[0], 1)
    assert get_config() == before


def river_log(X, y):
    w, scores = np.zeros(D), []
    for x, label in zip(X, y, strict=True):
        scores.append(w @ x)
        w = w + 0.01 * label * x / (1 + np.exp(label * scores[-1]))
    return scores


@pytest.mark.parametrize("name", [name for name in OTHERS if name == "river-log"])
def test_river_takes_plain_logistic_steps_of_one_hundredth(name):
    X, y = stream()
    np.testing.assert_allclose(LEARNERS.make(name, dimension=D).learn_many(X, y), river_log(X, y), atol=1e-10)


@pytest.mark.parametrize("name", [name for name in OTHERS if name == "vw"])
def test_vw_predicts_with_the_weights_that_are_read_back(name):
    """Single precision: scores of size 1 agree to about 1e-6. Predictions must be those from before the update."""
    X, y = stream()
    learner = LEARNERS.make(name, dimension=D)
    for x, label in zip(X, y, strict=True):
        weights = learner.weights
        assert learner.learn(x, label) == pytest.approx(weights @ x, abs=1e-5)
    assert np.abs(learner.weights).max() > 0.1


@pytest.mark.parametrize("name", [name for name in OTHERS if name == "vw"])
def test_vw_is_close_to_the_compiled_learner_that_imitates_it(name):
    """Not equal: VW also normalises features and makes its steps invariant to importance; its mistakes are similar."""
    X, y = stream(2000)
    learner, imitation = LEARNERS.make(name, dimension=D), baselines.AdaptiveLogistic(D)
    learner.learn_many(X, y)
    imitation.learn_many(X, y)
    assert abs(learner.mistakes - imitation.mistakes) < 0.02 * 2000


@pytest.mark.parametrize("name", INSTALLED)
def test_peers_need_at_least_one_feature(name):
    with pytest.raises(InvalidParameterError, match="n_features=0"):
        LEARNERS.make(name, dimension=0)
