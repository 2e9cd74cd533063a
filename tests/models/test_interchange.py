"""Classifiers through joblib and skops: they predict and go on learning as the original, bit for bit."""

import joblib
import numpy as np
import pytest
import skops.io

from massart import MassartClassifier

KINDS = {
    "pool": ({}, 2, "partial_fit"),
    "pool, fit": ({}, 2, "fit"),
    "halfspace": ({"noise_rate": 0.1, "margin": 0.05}, 2, "partial_fit"),
    "classes": ({}, 3, "partial_fit"),
    "one against the rest": ({"noise_rate": 0.1, "margin": 0.05}, 3, "partial_fit"),
    "drifting": ({"horizon": 100}, 2, "partial_fit"),
}
# What docs/interchange.md tells users to trust.
TRUSTED = {
    "massart.learners.calibration.ClassCalibration",
    "massart.learners.calibration.ScoreCalibration",
    "massart.learners.class_pool.ClassPool",
    "massart.learners.classifier.MassartClassifier",
    "massart.learners.drift.Drifting",
    "massart.learners.groups.Grouped",
    "massart.learners.halfspace.Halfspace",
    "massart.learners.multiclass.OneVsRest",
    "massart.learners.pool.Pool",
}


def through_joblib(clf, folder):
    joblib.dump(clf, folder / "clf.joblib")
    return joblib.load(folder / "clf.joblib")


def through_skops(clf, folder):
    skops.io.dump(clf, folder / "clf.skops")
    assert set(skops.io.get_untrusted_types(file=folder / "clf.skops")) <= TRUSTED
    return skops.io.load(folder / "clf.skops", trusted=sorted(TRUSTED))


@pytest.mark.parametrize("way", [through_joblib, through_skops])
@pytest.mark.parametrize("kind", KINDS)
def test_round_trips(tmp_path, kind, way):
    options, classes, method = KINDS[kind]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.argmax(X[:, :classes], axis=1)
    clf = MassartClassifier(random_state=0, **options)
    clf = clf.fit(X, y) if method == "fit" else clf.partial_fit(X, y, classes=np.arange(classes))
    other = way(clf, tmp_path)
    np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
    more = rng.normal(size=(50, 5))
    for one in (clf, other):
        one.partial_fit(more, np.argmax(more[:, :classes], axis=1))
    np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
