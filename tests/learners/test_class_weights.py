"""Weights by label in a stream: "balanced" is n / (k n_c) of the rows before, whatever the batches are."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_class_weight

from massart import MassartClassifier, load, save
from massart.errors import ModelFileError
from massart.learners.class_weights import balanced_weights, class_weights
from massart.models.opening import model_of
from massart.models.saving import model_parts

KNOWN = {"noise_rate": 0.2, "margin": 0.05}
CASES = [{}, {"voting": "majority"}, {"horizon": 50}, KNOWN, {**KNOWN, "update": "paper"}]


def stream(n=500, classes=2, seed=0):
    """Rows near one of several directions, the first class rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, p=[0.1, 0.9] if classes == 2 else [0.1, 0.3, 0.6], size=n)
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[y], y


def answers(clf, X):
    """The weights, or probabilities where classes were learned together."""
    return clf.coef_ if hasattr(clf, "coef_") else clf.predict_proba(X)


def by_hand(y, classes, sample_weight=None):
    """The definition, one row after the other: as if each class had been seen once before."""
    counts, weights = dict.fromkeys(range(classes), 1.0), []
    for i, label in enumerate(y):
        if sample_weight is not None and sample_weight[i] == 0:
            weights.append(0.0)
            continue
        weights.append(sum(counts.values()) / (classes * counts[label]))
        counts[label] += 1.0 if sample_weight is None else sample_weight[i]
    return np.array(weights) * (1.0 if sample_weight is None else sample_weight)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_those_of_scikit_learn_for_the_rows_before(classes):
    _, y = stream(classes=classes)
    weights, seen = balanced_weights(y, np.zeros(classes + 1), np.ones(500))
    assert np.array_equal(weights, by_hand(y, classes))
    assert seen.tolist() == [*np.bincount(y, minlength=classes), 500]
    seen = np.append(np.arange(classes), y[:-1])
    expected = compute_class_weight("balanced", classes=np.arange(classes), y=seen)[y[-1]]
    assert weights[-1] == pytest.approx(expected, rel=1e-15)
    assert weights[0] == 1.0


@pytest.mark.parametrize("parameters", CASES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_balanced_in_a_stream_is_those_weights_of_rows(parameters, classes, sparse):
    """Bit for bit what the same numbers as `sample_weight` give, in batches of any size; nothing is certified."""
    X, y = stream(classes=classes)
    X = sp.csr_matrix(X) if sparse else X
    balanced = MassartClassifier(**parameters, class_weight="balanced", random_state=0)
    for at in np.split(np.arange(500), [1, 2, 77, 300]):
        balanced.partial_fit(X[at], y[at], classes=range(classes))
        assert not balanced.certificate().applies, "after the first row, which weighs 1, as well"
    rows = MassartClassifier(**parameters, random_state=0)
    rows.partial_fit(X, y, classes=range(classes), sample_weight=by_hand(y, classes))
    assert np.array_equal(answers(balanced, X), answers(rows, X))
    assert balanced.mistakes_ == rows.mistakes_
    assert balanced.rounds_ == 500
    assert balanced.certificate().holds
    assert balanced.noise_rate_ == 0.0


@pytest.mark.parametrize("classes", [2, 3])
def test_sample_weights_multiply_and_count(classes):
    """Weights are multiples of 1/2, so that sums are exact in any order."""
    X, y = stream(classes=classes)
    given = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=500)
    balanced = MassartClassifier(class_weight="balanced", random_state=0)
    for at in np.split(np.arange(500), [100, 101]):
        balanced.partial_fit(X[at], y[at], classes=range(classes), sample_weight=given[at])
    rows = MassartClassifier(random_state=0)
    rows.partial_fit(X, y, classes=range(classes), sample_weight=by_hand(y, classes, given))
    assert np.array_equal(answers(balanced, X), answers(rows, X))
    assert balanced.rounds_ == np.count_nonzero(given)


@pytest.mark.parametrize("parameters", CASES)
@pytest.mark.parametrize("classes", [2, 3])
def test_saved_and_pickled_in_the_middle(tmp_path, parameters, classes):
    X, y = stream(classes=classes)
    clf = MassartClassifier(**parameters, class_weight="balanced", random_state=0)
    clf.partial_fit(X[:200], y[:200], classes=range(classes))
    save(clf, tmp_path / "m.massart")
    twins = [load(tmp_path / "m.massart"), pickle.loads(pickle.dumps(clf))]  # noqa: S301
    clf.partial_fit(X[200:], y[200:])
    for twin in twins:
        twin.partial_fit(X[200:], y[200:])
        assert np.array_equal(answers(twin, X), answers(clf, X))
        assert twin.certificate() == clf.certificate()


@pytest.mark.parametrize(
    "sums", [[-1.0, 2.0, 1.0], [1.0, 2.0], [1.0, 2.0, 4.0], [1.0, 2.0, np.nan], [1, 2, 3], [1e300, 1e300, 2e300]]
)
def test_sums_that_cannot_be_are_refused(sums):
    X, y = stream()
    clf = MassartClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    kind, meta, arrays = model_parts(clf)
    assert model_of("m.massart", kind, meta, arrays).mistakes_ == clf.mistakes_
    with pytest.raises(ModelFileError, match="labels_seen"):
        model_of("m.massart", kind, meta, arrays | {"labels_seen": np.array(sums)})


@pytest.mark.parametrize("parameters", [{}, KNOWN])
@pytest.mark.parametrize("classes", [2, 3])
def test_after_fit_its_weights_stay(parameters, classes):
    """What `fit` computed from all its labels is the learner's own: `partial_fit` goes on with it."""
    X, y = stream(classes=classes)
    weights = dict(enumerate(compute_class_weight("balanced", classes=np.arange(classes), y=y)))
    told = MassartClassifier(**parameters, class_weight=weights, random_state=0).fit(X, y)
    balanced = MassartClassifier(**parameters, class_weight="balanced", random_state=0).fit(X, y)
    for clf in (told, balanced):
        clf.partial_fit(X[::-1], y[::-1])
    assert np.array_equal(answers(balanced, X), answers(told, X))
    assert not balanced.certificate().applies


def test_balanced_weights_of_fit_count_sample_weights_in_any_order():
    X, y = stream(classes=3)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=500)
    told = weight.sum() / (3 * np.bincount(y, weight))
    for order in (np.arange(500), np.random.default_rng(2).permutation(500)):
        found = class_weights("balanced", np.arange(3), y[order], weight[order])
        np.testing.assert_allclose(found, told, rtol=1e-14)
        assert np.array_equal(found, class_weights("balanced", np.arange(3), y, weight))
    whole = np.repeat(np.arange(500), np.arange(500) % 3)
    repeated = MassartClassifier(**KNOWN, class_weight="balanced", random_state=0).fit(X[whole], y[whole])
    weighted = MassartClassifier(**KNOWN, class_weight="balanced", random_state=0)
    assert np.array_equal(weighted.fit(X, y, sample_weight=np.arange(500) % 3).coef_, repeated.coef_)


def test_a_learner_keeps_the_weights_that_it_began_with():
    X, y = stream()
    began = MassartClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    changed = MassartClassifier(random_state=0).partial_fit(X, y, classes=[0, 1]).set_params(class_weight="balanced")
    assert np.array_equal(changed.partial_fit(X, y).coef_, began.partial_fit(X, y).coef_)


def test_balanced_accuracy_of_a_stream_with_a_rare_class():
    """Two normal densities of means -1 and +1 and variance 1; of 20 rows one is of the second.

    Fewest mistakes has the threshold ln(19) / 2 = 1.47, where recalls are .993 and .319, and their mean is .656; with
    equal weights it is 0, and both recalls are .841. The learners stay on their side of the middle, 0.75.
    """
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.05
    X = (rng.normal(size=20_000) + np.where(y, 1.0, -1.0))[:, None]
    train, test = slice(0, 10_000), slice(10_000, None)
    accuracy = {}
    for class_weight in (None, "balanced"):
        clf = MassartClassifier(class_weight=class_weight, random_state=0)
        clf.partial_fit(X[train], y[train], classes=[False, True])
        accuracy[class_weight] = balanced_accuracy_score(y[test], clf.predict(X[test]))
    assert accuracy[None] < 0.75 < accuracy["balanced"], accuracy
