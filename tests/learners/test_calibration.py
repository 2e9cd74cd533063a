"""Probabilities of two classes from scores: they are learned along the way, and keep the order of the scores."""

import numpy as np
import pytest

import massart
from massart import MassartClassifier
from massart.errors import InvalidDataError, ModelFileError
from massart.learners.calibration import ClassCalibration, ScoreCalibration

RNG = np.random.default_rng(0)
KNOWN = {"noise_rate": 0.2, "margin": 0.05}


def flipped(n=20_000, low=0.1, high=0.3):
    """Scores, the probabilities of +1 that belong to them, and labels: logistic, then flipped."""
    scores = 3.0 * RNG.normal(size=n)
    p = low + (1.0 - low - high) / (1.0 + np.exp(-2.0 * scores))
    return scores, p, np.where(RNG.random(n) < p, 1, -1).astype(np.int8)


def test_probabilities_of_labels_that_are_flipped_are_found():
    """3 standard errors of a mean over the 500 rows that count are 0.06."""
    scores, p, y = flipped()
    calibration = ScoreCalibration()
    calibration.learn(scores, y)
    found = calibration.probabilities(scores)[:, 1]
    assert np.abs(found - p).mean() < 0.06


def test_a_higher_score_is_a_higher_probability_and_its_sign_is_more_probable():
    scores, _, y = flipped(500, 0.3, 0.0)
    calibration = ScoreCalibration()
    calibration.learn(scores, y)
    grid = np.linspace(-5.0, 5.0, 1001)
    p = calibration.probabilities(grid)
    assert (np.diff(p[:, 1]) >= 0.0).all()
    assert np.array_equal(p.argmax(axis=1), (grid >= 0.0).astype(int))


def test_one_by_one_is_the_same_as_at_once_and_arrays_go_on():
    scores, _, y = flipped(1500)
    once, single = ScoreCalibration(), ScoreCalibration()
    once.learn(scores, y)
    for i in range(1500):
        single.learn(scores[i : i + 1], y[i : i + 1])
        if i == 700:
            single = ScoreCalibration.from_arrays({name: a.copy() for name, a in single.arrays().items()})
    for name, array in once.arrays().items():
        assert np.array_equal(array, single.arrays()[name]), name


@pytest.mark.parametrize("size", [1e-300, 1e150, 1e308])
def test_scores_of_any_size_keep_the_state_finite(size):
    scores, _, y = flipped(300)
    weight = np.where(np.arange(300) % 2, 1e40, 1e-40)
    calibration = ScoreCalibration()
    calibration.learn(np.clip(scores, -1.0, 1.0) * size, y, weight)
    assert all(np.isfinite(array).all() for array in calibration.arrays().values())
    assert np.isfinite(calibration.probabilities(np.array([0.0, size, -size]))).all()


def test_the_factor_of_several_classes_is_found():
    """Labels are drawn from a softmax of three times the scores; the log loss is that of the truth within 0.02."""
    scores = RNG.normal(size=(5000, 4))
    p = np.exp(3.0 * scores)
    p /= p.sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < RNG.random((5000, 1))).sum(axis=1)
    calibration = ClassCalibration()
    calibration.learn(scores, labels)
    q = calibration.probabilities(scores)
    rows = np.arange(5000)
    assert -np.log(q[rows, labels]).mean() < -np.log(p[rows, labels]).mean() + 0.02
    again = ClassCalibration.from_arrays(calibration.arrays())
    assert np.array_equal(again.probabilities(scores), q)
    with pytest.raises(ModelFileError):
        ClassCalibration.from_arrays({"heat": np.full(5, np.nan)})


@pytest.mark.parametrize("parameters", [{}, KNOWN, {"horizon": 100}])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_calibrated_by_its_own_answers(parameters, classes, tmp_path):
    """Learning is not changed; the log loss is below that of the frequencies; files keep the probabilities."""
    X = RNG.normal(size=(1500, 5))
    y = (X[:, 0] > 0).astype(int) + (classes == 3) * (X[:, 1] > 0.5)
    y = np.where(RNG.random(1500) < 0.1, RNG.integers(0, classes, 1500), y)
    clf = MassartClassifier(**parameters, random_state=0).partial_fit(X, y, classes=range(classes))
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    shares = np.bincount(y) / y.size
    assert -np.log(p[np.arange(1500), y]).mean() < -np.log(shares[y]).mean()
    assert np.mean(clf.classes_[p.argmax(axis=1)] == clf.predict(X)) > 0.999
    massart.save(clf, tmp_path / "m")
    assert np.array_equal(massart.load(tmp_path / "m").predict_proba(X), p)


def test_a_model_without_calibration_says_so():
    clf = MassartClassifier(**KNOWN).partial_fit([[1.0], [-1.0]], [0, 1], classes=[0, 1])
    clf._calibration = None
    with pytest.raises(InvalidDataError, match="has learned no probabilities"):
        clf.predict_proba([[1.0]])


def test_rows_are_looked_at_less_often_later():
    """All of the first 1,500, every eighth up to 6,000, every sixteenth after; rows that were thinned out count."""
    scores, labels = np.linspace(-1.0, 1.0, 16_000), np.where(np.arange(16_000) % 3 == 0, 1, -1).astype(np.int8)
    whole, parts = ScoreCalibration(), ScoreCalibration()
    whole.learn(scores, labels)
    for start in range(0, 16_000, 7):
        parts.learn(scores[start : start + 7], labels[start : start + 7])
    for name, array in whole.arrays().items():
        assert np.array_equal(array, parts.arrays()[name])
    rounds, learned = whole.arrays()["head"][:2]
    assert rounds == 16_000
    assert learned == 1500 + (6000 // 8 - 1500 // 8) + (16_000 - 6000) // 16
    whole.learn(scores[:10], labels[:10], every=16)
    assert whole.arrays()["head"][:2].tolist() == [16_160.0, learned + 10]
