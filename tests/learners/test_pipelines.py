"""At work in scikit-learn's pipelines: kernel features, hashed rows, text, scalers, searches."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from massart import MassartClassifier

Z = 4.0
KNOWN = {"noise_rate": 0.2, "margin": 0.05}
SHAPES = {
    "circles": lambda n, seed: make_circles(n, noise=0.05, factor=0.5, random_state=seed),
    "moons": lambda n, seed: make_moons(n, noise=0.1, random_state=seed),
}
KERNELS = {
    "nystroem": lambda: Nystroem(gamma=2.0, n_components=60, random_state=0),
    "random features": lambda: RBFSampler(gamma=2.0, n_components=100, random_state=0),
}


def halfspace(n, d=8, seed=0):
    """Rows on the sphere; labels lie with probability 0.1 on one side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, ((X[:, 0] > 0) ^ (rng.random(n) < 0.1 * (X[:, 1] > 0))).astype(int)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_features_bend_the_halfspace(kernel, shape):
    """Against the truth, from labels of which one in five lies: better than without, by Z standard errors.

    Of n rows held out that only one of the two gets wrong, the standard error of the difference is sqrt(n).
    """
    X, truth = SHAPES[shape](3000, 0)
    y = truth ^ (np.random.default_rng(0).random(3000) < 0.2)
    straight = MassartClassifier(random_state=0).fit(X[:2000], y[:2000])
    bent = make_pipeline(KERNELS[kernel](), clone(straight)).fit(X[:2000], y[:2000])
    wrong = [model.predict(X[2000:]) != truth[2000:] for model in (straight, bent)]
    split = np.count_nonzero(wrong[0] != wrong[1])
    assert wrong[0].sum() - wrong[1].sum() > Z * np.sqrt(split)
    assert wrong[1].mean() < 0.02


def test_kernel_features_of_a_stream():
    """Online: a fixed map, then partial_fit in batches; the target is a circle, labels lie at a rate of 0.2.

    The progressive error is 0.2 at best; 0.05 more is for learning, and a straight line has 0.3 or more.
    """
    X, truth = make_circles(6000, noise=0.05, factor=0.5, random_state=1)
    y = truth ^ (np.random.default_rng(1).random(6000) < 0.2)
    features = RBFSampler(gamma=2.0, n_components=100, random_state=0).fit(X[:1])
    bent, straight = MassartClassifier(random_state=0), MassartClassifier(random_state=0)
    for at in np.split(np.arange(6000), 12):
        bent.partial_fit(features.transform(X[at]), y[at], classes=[0, 1])
        straight.partial_fit(X[at], y[at], classes=[0, 1])
    assert bent.mistakes_ / 6000 < 0.25
    assert straight.mistakes_ / 6000 > 0.3


def test_hashed_dictionaries_in_a_stream():
    """Rows of words with hashed signs, one of two words telling the label, which lies with probability 0.1."""
    rng = np.random.default_rng(0)
    truth = rng.random(4000) < 0.5
    y = truth ^ (rng.random(4000) < 0.1)
    rows = [
        {**{f"word {w}": 1 for w in rng.integers(300, size=6)}, "good" if t else "bad": 1.5, "length": 40.0}
        for t in truth
    ]
    hasher = FeatureHasher(n_features=2**12)
    clf = MassartClassifier(random_state=0)
    for start in range(0, 4000, 500):
        batch = hasher.transform(rows[start : start + 500])
        assert batch.min() < 0
        clf.partial_fit(batch, y[start : start + 500], classes=[False, True])
    # noise, Z standard errors of it, and 100 rounds to learn
    assert clf.mistakes_ <= 0.1 * 4000 + Z * np.sqrt(4000 * 0.09) + 100
    assert clf.score(hasher.transform(rows), truth) > 0.98


def test_hashed_text():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(60)])
    texts = [" ".join(rng.choice(words, 8)) + (" good" if i % 2 else " bad") for i in range(400)]
    labels = np.where(np.arange(400) % 2, "up", "down")
    model = make_pipeline(HashingVectorizer(n_features=2**12), MassartClassifier(random_state=0))
    assert model.fit(texts[:300], labels[:300]).score(texts[300:], labels[300:]) > 0.9


def test_a_scaler_does_no_harm():
    """With columns a thousandfold apart, predictions with and without a scaler agree on 95% of 600 rows."""
    X, y = halfspace(600)
    X = X * np.logspace(-3, 3, 8) + np.arange(8)
    scaled = make_pipeline(StandardScaler(), MassartClassifier(random_state=0)).fit(X, y)
    plain = MassartClassifier(random_state=0).fit(X, y)
    assert np.mean(scaled.predict(X) == plain.predict(X)) > 0.95
    assert min(scaled.score(X, y), plain.score(X, y)) > 0.9


def test_grid_search_and_cross_validation():
    X, y = halfspace(600)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MassartClassifier(random_state=0)),
        {
            "massartclassifier__voting": ["sample", "majority"],
            "massartclassifier__noise_rate": [0.1, None],
            "massartclassifier__margin": [0.05, None],
        },
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert search.cv_results_["mean_test_score"].min() > 0.85
    best = search.best_estimator_[-1]
    assert best.voting == search.best_params_["massartclassifier__voting"]
    assert cross_val_score(MassartClassifier(**KNOWN, random_state=0), sp.csr_matrix(X), y, cv=3).min() > 0.8
    assert cross_val_score(MassartClassifier(horizon=100, random_state=0), X, y, cv=3, scoring="roc_auc").min() > 0.9


def test_columns_of_another_name_are_refused():
    """A scaler that gives data frames hands its names on: they are kept, and others are refused."""
    X, y = halfspace(300, d=3)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), MassartClassifier(random_state=0))
    model.fit(frame, y)
    assert model[-1].feature_names_in_.tolist() == ["age", "height", "weight"]
    with pytest.raises(ValueError, match="feature names should match"):
        model[-1].predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["height", "age", "weight"]])
    assert not hasattr(MassartClassifier(), "set_output"), "a classifier gives labels, not columns"
