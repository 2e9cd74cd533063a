"""Several classes that were learned together, and rankers, as ONNX graphs: they decide like the originals."""

import json

import numpy as np
import onnxruntime
import pytest
from scipy.sparse import csr_matrix

from massart import MassartClassifier, MonotoneRanker, load, save
from massart.errors import InvalidParameterError
from massart.models.export import export_model

ROWS = 10_000


def stream(width, classes, rows=1200, sparse=False):
    rng = np.random.default_rng(width + classes)
    X = rng.normal(size=(rows + ROWS, width)) * rng.uniform(0.1, 30.0, width)
    if sparse:
        X *= rng.random(X.shape) < 0.1
    y = np.argmax(X @ rng.normal(size=(width, classes)) + rng.normal(size=(len(X), classes)), axis=1)
    return X[:rows], y[:rows], X[rows:]


def exported(model, folder):
    save(model, folder / "m.massart")
    assert export_model(folder / "m.massart", folder / "m.onnx") > 0
    return onnxruntime.InferenceSession(folder / "m.onnx")


# Sums of some hundred terms come in another order, and an exponential function is to 1e-12 of its value.
CLOSE = 1e-9


@pytest.mark.parametrize(
    ("width", "classes", "sparse", "options"),
    [
        (9, 10, False, {}),  # products of columns, first and second order
        (30, 10, False, {}),  # products, first order
        (100, 10, False, {}),  # centred columns alone
        (100, 10, True, {}),  # columns as they are
        (8, 2, False, {}),
        (8, 3, False, {"fit_intercept": False, "normalize": False}),
        (8, 3, False, {"class_weight": {0: 3.0, 1: 1.0, 2: 0.5}, "intercept_scaling": 2.0}),
    ],
)
def test_onnx_decides_like_the_original(tmp_path, width, classes, sparse, options):
    X, y, new = stream(width, classes, sparse=sparse)
    clf = MassartClassifier(random_state=0, **options)
    clf.partial_fit(csr_matrix(X) if sparse else X, y)
    label, probability = exported(clf, tmp_path).run(["label", "probability"], {"X": new})
    own = clf.predict_proba(new)
    np.testing.assert_allclose(probability, own, atol=CLOSE)
    two = np.sort(own, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 2 * CLOSE
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(label[clear], clf.predict(new)[clear])


def test_two_classes_that_were_known_decide_alike_but_for_the_rounding_of_float32(tmp_path):
    X, y, new = stream(8, 2)
    clf = MassartClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    label, _ = exported(clf, tmp_path).run(["label", "score"], {"X": new.astype(np.float32)})
    # A number and a weight are rounded by 2^-24 each, and nine products are added, each sum rounded again.
    sizes = np.abs(new) @ np.abs(clf.coef_[0]) + np.abs(clf.intercept_[0])
    clear = np.abs(clf.decision_function(new)) > 11 * 2.0**-24 * sizes
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(label[clear], clf.predict(new)[clear])


def test_what_fit_found_is_what_is_exported(tmp_path):
    X, y, new = stream(9, 10, rows=600)
    clf = MassartClassifier(random_state=0).fit(X, np.array(list("abcdefghij"))[y])
    label, probability = exported(clf, tmp_path).run(["label", "probability"], {"X": new})
    np.testing.assert_allclose(probability, clf.predict_proba(new), atol=CLOSE)
    assert np.mean(label == clf.predict(new)) > 0.9999
    np.testing.assert_array_equal(load(tmp_path / "m.massart").predict(new), clf.predict(new))


def test_classes_that_have_not_come(tmp_path):
    X, y, new = stream(5, 3, rows=100)
    clf = MassartClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2, 3, 4])
    _, probability = exported(clf, tmp_path).run(["label", "probability"], {"X": new})
    np.testing.assert_allclose(probability, clf.predict_proba(new), atol=CLOSE)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=CLOSE)


def test_rankers(tmp_path):
    rng = np.random.default_rng(0)
    ranker = MonotoneRanker(random_state=0)
    for _ in range(100):
        arms = rng.uniform(-1, 1, size=(5, 6))
        ranker.learn(arms, (arms[:, 2] > np.median(arms[:, 2])).astype(float))
    new = rng.normal(size=(ROWS, 6))
    (score,) = exported(ranker, tmp_path).run(["score"], {"X": new})
    np.testing.assert_allclose(score, new @ ranker.weights, rtol=1e-12, atol=1e-12 * np.abs(score).max())
    assert export_model(tmp_path / "m.massart", tmp_path / "m.json") == np.count_nonzero(ranker.weights)
    written = json.loads((tmp_path / "m.json").read_text())
    assert (written["kind"], written["rounds"]) == ("ranker", 100)
    assert [written["weights"][str(j)] for j in range(6)] == ranker.weights.tolist()
    export_model(tmp_path / "m.massart", tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as parts:
        np.testing.assert_array_equal(parts["coef_"], ranker.weights[None, :])


def test_rankers_that_know_nothing(tmp_path):
    save(MonotoneRanker(), tmp_path / "m.massart")
    with pytest.raises(InvalidParameterError, match="a ranker that has learned nothing yet"):
        export_model(tmp_path / "m.massart", tmp_path / "m.onnx")
