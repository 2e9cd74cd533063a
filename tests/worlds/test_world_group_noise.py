"""Noise on everybody outside a group (Chen, Koehler, Moitra and Yau 2020), on data that ships with scikit-learn.

The rows are breast-cancer's, the group the small tumours (mean area in the lowest third), almost all of them benign.
Everybody else's labels are flipped with probability 0.4, the group's are true: what does a learner make of the group's
few malignant cases, whose labels never lie?
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from massart import MassartClassifier, worlds

SEEDS = 10


@pytest.fixture(scope="module")
def data():
    bunch = load_breast_cancer()
    area = bunch.data[:, list(bunch.feature_names).index("mean area")]
    return StandardScaler().fit_transform(bunch.data), bunch.target == 1, area <= np.quantile(area, 1 / 3)


def test_only_labels_outside_the_group_lie(data):
    X, y, group = data
    world = worlds.from_data(X, y, noise="outside-group", noise_rate=0.4, group=group, seed=0)
    rows = world.take(len(y))
    names = [world.regions[number].name for number in rows.region]
    flipped, inside = rows.y != rows.clean, np.array([name == "group" for name in names])
    assert inside.sum() == group.sum()
    assert not flipped[inside].any()
    outside = (~inside).sum()
    # binomial with rate 0.4, five standard errors
    assert abs(flipped[~inside].mean() - 0.4) <= 5 * np.sqrt(0.4 * 0.6 / outside)


def test_accuracy_overall_and_on_the_group(data):
    X, y, group = data
    scale = np.linalg.norm(X, axis=1).max()  # the world divides by it
    found = {"logistic": [], "ours": []}
    for seed in range(SEEDS):
        world = worlds.from_data(X, y, noise="outside-group", noise_rate=0.4, group=group, seed=seed)
        rows = world.take(len(y))
        learners = {"logistic": LogisticRegression(), "ours": MassartClassifier(0.4, 0.02, random_state=seed)}
        for name, learner in learners.items():
            right = (learner.fit(rows.X * scale, rows.y).predict(X) > 0) == y
            found[name].append((right.mean(), right[group].mean()))
    better = np.array(found["ours"]) - np.array(found["logistic"])  # the same noise for both, so pairs are compared
    error = better.std(axis=0, ddof=1) / np.sqrt(SEEDS)
    assert better[:, 0].mean() > 3 * error[0], "better on everybody, by three standard errors"
    assert better[:, 1].mean() > -3 * error[1], "and not worse on the group"
    assert np.mean(found["ours"], axis=0).min() > 0.9
