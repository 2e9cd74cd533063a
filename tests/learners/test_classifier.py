"""MassartClassifier in scikit-learn's contract: what a user of any other linear classifier may take for granted."""

import json
import os
import pickle
import re
import sys

import numpy as np
import pandas as pd
import processes
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

from massart import MassartClassifier
from massart.errors import InvalidParameterError

KNOWN = {"noise_rate": 0.2, "margin": 0.05}
CHECKED = {
    "default": {},
    "majority": {"voting": "majority"},
    "forgetting": {"horizon": 100},
    "noise rate only": {"noise_rate": 0.2},
    "margin only": {"margin": 0.05},
    "known": KNOWN,
    "known horizon": {**KNOWN, "horizon": 300},
    # Algorithm 1 is slow: at a margin of 0.05 it is not done after the few hundred rows of these checks.
    "paper": {"noise_rate": 0.1, "margin": 0.1, "update": "paper"},
    "adagrad": {**KNOWN, "optimizer": "adagrad-norm"},
    "no intercept": {**KNOWN, "fit_intercept": False},
    "constant": {"intercept_scaling": 20.0},
    "constant, known": {**KNOWN, "intercept_scaling": 0.3},
    "balanced": {"class_weight": "balanced"},
    "balanced, known": {**KNOWN, "class_weight": "balanced"},
    "missing is zero": {"missing": "zero", "hash_bits": 20},
    "products": {"products": True},
    "missing is zero, known": {**KNOWN, "missing": "zero"},
}
# SCIPY_ARRAY_API must be set before scipy is imported, or scikit-learn skips a check: hence a process of its own.
_CHECKS = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from massart import MassartClassifier
results = {}
for name, parameters in json.loads(sys.argv[1]).items():
    records = check_estimator(MassartClassifier(**parameters), on_skip=None, on_fail=None)
    results[name] = [(r["check_name"], r["status"], repr(r["exception"])) for r in records]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def checks():
    done = processes.run(
        [sys.executable, "-c", _CHECKS, json.dumps(CHECKED)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CHECKED)
def test_check_estimator_passes_without_exemption_or_skip(checks, name):
    """Only that class weights can make nearly all answers the same, which no plane through the origin can."""
    impossible = ["check_class_weight_classifiers"] if CHECKED[name].get("fit_intercept") is False else []
    assert [record[0] for record in checks[name] if record[1] != "passed"] == impossible, checks[name]
    assert len(checks[name]) > 50


def stream(n=2000, d=8, noise=0.1, seed=0, margin=0.0):
    """Rows on the sphere at least `margin` from the plane x_0 = 0; labels lie with probability `noise` on one side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X[:, 0]) >= margin][:n]
    truth = X[:, 0] > 0
    return X, (truth ^ (rng.random(n) < noise * (X[:, 1] > 0))).astype(int)


@pytest.mark.parametrize("parameters", [{}, KNOWN, {**KNOWN, "horizon": 500, "update": "paper"}])
def test_clone_and_set_params_keep_every_parameter(parameters):
    clf = MassartClassifier(**parameters, fit_intercept=False, passes=2, random_state=3)
    assert clone(clf).get_params() == clf.get_params()
    assert clf.set_params(margin=0.5).margin == 0.5
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(eta=0.1)


def test_the_checks_of_class_weights_run(checks):
    for name in CHECKED:
        assert "check_class_weight_classifiers" in {record[0] for record in checks[name]}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_pickled_classifier_goes_on_bit_for_bit(name, sparse):
    X, y = stream()
    X = sp.csr_matrix(X) if sparse else X
    clf = MassartClassifier(**CHECKED[name], random_state=1).partial_fit(X[:900], y[:900], classes=[0, 1])
    other = pickle.loads(pickle.dumps(clf))  # noqa: S301
    for each in (clf, other):
        each.partial_fit(X[900:], y[900:])
    assert pickle.dumps(other._learner.arrays()) == pickle.dumps(clf._learner.arrays())
    assert other.mistakes_ == clf.mistakes_
    assert other.certificate() == clf.certificate()


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"update": "paper"}, "update='paper' is for a learner that knows noise_rate and margin: give both"),
        ({"update": "paper", "margin": 0.1}, "update='paper' is for a learner that knows"),
        ({"optimizer": "ftrl", "noise_rate": 0.1}, "optimizer='ftrl' is for a learner that knows"),
        ({"optimizer": "fixed", "horizon": 100}, "optimizer='fixed' is for a learner that knows"),
        ({"voting": "weighted"}, "voting='weighted': choose one of 'sample', 'majority'"),
        ({"voting": None, **KNOWN}, "voting=None: choose one of"),
        ({"missing": "mean"}, "missing='mean': choose one of 'error', 'zero'"),
        ({"missing": None}, "missing=None: choose one of 'error', 'zero'"),
        ({"hash_bits": 0}, "hash_bits=0: give a whole number from 1 to 30"),
        ({"hash_bits": 18.5}, "hash_bits=18.5: give a whole number from 1 to 30"),
        ({"class_weight": "fair"}, "class_weight='fair': give a dict from labels to weights, 'balanced' or None"),
        ({"horizon": 0.5}, "horizon=0.5: give the number of rounds"),
        ({"horizon": float("inf")}, "horizon=inf: give the number of rounds"),
        ({"horizon": "long"}, "horizon='long': give a number or None"),
        ({"intercept_scaling": 0}, "intercept_scaling=0: give the value of the constant coordinate, a number between"),
        ({"intercept_scaling": -1.0, **KNOWN}, "intercept_scaling=-1.0: give the value of the constant coordinate"),
        ({"intercept_scaling": float("nan")}, "intercept_scaling=nan: give the value"),
        ({"intercept_scaling": None}, "intercept_scaling=None: give a number"),
        ({"class_weight": {0: 0.0}}, "class_weight={0: 0.0}: weights must lie between 1e-10 and 1e+10"),
        ({"class_weight": {0: 1e11}}, "weights must lie between 1e-10 and 1e+10"),
        ({"class_weight": {0: float("nan")}}, "weights must lie between"),
        ({"class_weight": {0: "heavy"}}, "give a dict from labels to weights, 'balanced' or None"),
        (
            {"class_weight": {"a": 2.0}},
            "give a dict from labels to weights, 'balanced' or None (the classes are [0, 1])",
        ),
        ({"class_weight": {0.5: 2.0}}, "(the classes are [0, 1])"),
        ({"class_weight": 2.0}, "class_weight=2.0: give a dict from labels to weights, 'balanced' or None"),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_sentence(parameters, refused):
    X, y = stream(20)
    clf = MassartClassifier(**parameters)
    with pytest.raises(InvalidParameterError, match=re.escape(refused)):
        clf.fit(X, y)
    with pytest.raises(InvalidParameterError, match=re.escape(refused)):
        clf.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(clf, "classes_")


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "a longer yes"], dtype=object),
    "booleans": np.array([False, True]),
    "negative integers": np.array([-7, -3]),
    "signs": np.array([-1, 1]),
    "floats": np.array([0.0, 1.0]),
    "unsigned bytes": np.array([3, 250], dtype=np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
def test_any_two_labels(kind):
    X, y = stream(800)
    labels = np.sort(LABELS[kind])
    plain = MassartClassifier(random_state=0).fit(X, y)
    named = MassartClassifier(random_state=0).fit(X, labels[y])
    assert np.array_equal(named.classes_, labels)
    assert named.classes_.dtype == labels.dtype
    assert named.predict(X).dtype == labels.dtype
    assert np.array_equal(named.coef_, plain.coef_)
    assert np.array_equal(named.predict(X), labels[plain.predict(X)])
    online = MassartClassifier(random_state=0).partial_fit(X, labels[y], classes=labels[::-1])
    assert np.array_equal(online.classes_, labels)
    assert online.score(X, labels[y]) > 0.85


def test_pandas_columns_and_labels():
    X, y = stream(500, d=3)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    clf = MassartClassifier(**KNOWN, random_state=0).fit(frame, pd.Series(np.where(y, "ill", "well"), dtype="category"))
    assert clf.feature_names_in_.tolist() == ["age", "height", "weight"]
    assert np.array_equal(clf.coef_, MassartClassifier(**KNOWN, random_state=0).fit(X, 1 - y).coef_)
    assert set(clf.predict(frame)) == {"ill", "well"}
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["height", "age", "weight"]])
    with pytest.raises(ValueError, match="feature names should match"):
        clf.partial_fit(frame.rename(columns={"age": "years"}), np.where(y, "ill", "well"))


@pytest.mark.parametrize(("load", "at_least"), [(load_iris, 0.9), (load_digits, 0.9)])
@pytest.mark.parametrize("sparse", [False, True])
def test_many_classes_natively(load, at_least, sparse):
    """Learned together. On rows it has not seen, a linear model reaches 0.95 on both data sets; slack 0.05."""
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X = sp.csr_matrix(X) if sparse else X
    test = np.random.default_rng(0).random(y.size) < 0.3
    clf = MassartClassifier(random_state=0).fit(X[~test], y[~test])
    classes = np.unique(y).size
    assert not hasattr(clf, "coef_")
    assert not hasattr(clf, "intercept_")
    assert clf.decision_function(X).shape == clf.predict_proba(X).shape == (y.size, classes)
    assert clf.score(X[test], y[test]) >= at_least


@pytest.mark.parametrize(
    ("classes", "parameters"), [(2, {}), (2, KNOWN), (2, {"fit_intercept": False}), (3, KNOWN), (3, {"horizon": 50})]
)
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_coef_and_intercept_are_what_predicts(classes, parameters, how):
    X, y = stream(500)
    y = y + (X[:, 1] > 0.3) * (classes == 3)
    X = X + 0.5  # so that an intercept is needed
    clf = MassartClassifier(**parameters, random_state=0)
    clf = clf.fit(X, y) if how == "fit" else clf.partial_fit(X, y, classes=range(classes))
    scores = X @ clf.coef_.T + clf.intercept_
    for form in (X, sp.csr_matrix(X), np.asfortranarray(X)):
        np.testing.assert_allclose(clf.decision_function(form), np.squeeze(scores), rtol=1e-12, atol=1e-14)
    best = (scores[:, 0] >= 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert np.array_equal(clf.predict(X), clf.classes_[best])
    assert np.all(clf.intercept_ == 0.0) == (parameters == {"fit_intercept": False})


@pytest.mark.parametrize("parameters", [KNOWN, {**KNOWN, "update": "paper"}])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_length_of_a_row_does_not_matter(parameters, sparse):
    """One halfspace learns rows at length 1. By a power of two scaling is exact, so nothing changes at all."""
    X, y = stream(1500)
    exact = X * 2.0 ** np.random.default_rng(1).integers(-400, 400, size=(1500, 1))
    other = X * np.random.default_rng(1).uniform(1e-3, 1e3, size=(1500, 1))
    fits = [
        MassartClassifier(**parameters, fit_intercept=False, random_state=0).partial_fit(
            sp.csr_matrix(rows) if sparse else rows, y, classes=[0, 1]
        )
        for rows in (X, exact, other)
    ]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_allclose(fits[0].coef_, fits[2].coef_, rtol=1e-6, atol=1e-9)
    assert np.array_equal(fits[0].predict(X), fits[1].predict(exact))
    assert np.array_equal(fits[0].predict(X), fits[2].predict(other))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        KNOWN,
        {**KNOWN, "update": "paper"},
        {**KNOWN, "optimizer": "adagrad-norm"},
        {**KNOWN, "horizon": 300},
        {"voting": "majority"},
        {"voting": "majority", "margin": 0.05, "fit_intercept": False},
    ],
)
def test_mistakes_are_those_of_predict_just_before_learning(classes, sparse, options):
    """Without coins `predict` is what `partial_fit` answers."""
    X, y = stream(300, seed=5)
    y = y + (X[:, 1] > 0.3) * (classes == 3)
    X = sp.csr_matrix(X) if sparse else X
    clf = MassartClassifier(**options, random_state=0)
    clf.partial_fit(X[:1], y[:1], classes=range(classes))
    mistakes = clf.mistakes_
    for i in range(1, 300):
        mistakes += int(clf.predict(X[i : i + 1])[0] != y[i])
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
        assert (clf.rounds_, clf.mistakes_) == (i + 1, mistakes)
    assert 0 < mistakes < 200


def test_the_first_prediction_is_the_second_of_two_classes():
    """w = 0 predicts sign(0) = +1, in `mistakes_` as in `predict`."""
    for label, mistakes in ((0, 1), (1, 0)):
        clf = MassartClassifier(**KNOWN, fit_intercept=False).partial_fit([[1.0, 2.0]], [label], classes=[0, 1])
        assert clf.mistakes_ == mistakes
        assert clf.predict([[0.0, 0.0]]).tolist() == [1]
        assert clf.partial_fit([[0.0, 0.0]], [1]).mistakes_ == mistakes


def test_one_class_at_first_is_fine_online():
    X, y = stream(600)
    clf = MassartClassifier(random_state=0)
    clf.partial_fit(X[y == 1][:50], y[y == 1][:50], classes=[0, 1])
    assert set(clf.predict(X)) <= {0, 1}
    assert clf.partial_fit(X, y).score(X, y) > 0.85


def test_before_learning_there_is_nothing_to_ask():
    clf = MassartClassifier()
    for ask in (clf.predict, clf.decision_function):
        with pytest.raises(NotFittedError):
            ask(np.eye(2))
    with pytest.raises(NotFittedError):
        clf.certificate()
    for name in ("coef_", "intercept_", "rounds_", "mistakes_", "classes_", "noise_rate_", "expert_weights_"):
        assert not hasattr(clf, name)


def test_certificate_fields():
    X, y = stream(1000)
    for parameters in ({}, KNOWN, {**KNOWN, "update": "paper"}):
        clf = MassartClassifier(**parameters, random_state=0).partial_fit(X, y, classes=[0, 1])
        sure, surer = clf.certificate(0.9), clf.certificate(0.999)
        assert (sure.rounds, sure.mistakes) == (clf.rounds_, clf.mistakes_)
        if parameters:  # a pool names its expert afterwards, so it bounds no expectation
            assert sure.mistake_bound == pytest.approx(sure.noise_rate * sure.rounds + sure.regret_bound)
        else:
            assert sure.mistake_bound == sure.confident_mistake_bound
        assert sure.evidence == surer.evidence >= 0
        assert sure.constant_mistakes == min(np.count_nonzero(y == 0), np.count_nonzero(y == 1))
        assert (sure.applies, sure.holds) == (True, True)
        assert sure.verdict in ("within the bound", "says nothing yet")
        assert 0 < sure.mistake_bound <= sure.confident_mistake_bound < surer.confident_mistake_bound
        assert (sure.confidence, surer.confidence) == (0.9, 0.999)
        assert type(sure.holds) is bool
        assert f"{clf.mistakes_:,}" in str(sure)
        with pytest.raises(AttributeError):
            sure.holds = False
        for wrong in (0.0, 1.0, -1, 2, float("nan")):
            with pytest.raises(InvalidParameterError, match="confidence"):
                clf.certificate(wrong)


def test_certificate_of_several_classes_adds_up_too():
    X, y = load_iris(return_X_y=True)
    certificate = MassartClassifier(**KNOWN, random_state=0).fit(X, y).certificate()
    assert certificate.holds
    # one halfspace per class, each with its own noise and regret
    expected = 3 * certificate.noise_rate * certificate.rounds + certificate.regret_bound
    assert certificate.mistake_bound == pytest.approx(min(expected, y.size))
    assert certificate.constant_mistakes == 100


@pytest.mark.parametrize("parameters", [{}, {"noise_rate": 0.2, "margin": 0.1}])
@pytest.mark.parametrize("seed", range(3))
def test_an_honest_certificate_holds(parameters, seed):
    """At confidence 0.99 an honest stream is refused with probability at most 0.01; the three seeds are fixed."""
    X, y = stream(4000, noise=0.2, seed=seed, margin=0.1)
    clf = MassartClassifier(**parameters, fit_intercept=False, random_state=seed)
    assert clf.partial_fit(X, y, classes=[0, 1]).certificate().holds


def test_a_noise_rate_far_too_small_is_found_out():
    rng = np.random.default_rng(0)
    X, y = stream(20_000, noise=0.0, margin=0.3)
    y = np.where(rng.random(20_000) < 0.4, 1 - y, y)
    honest, boast = (
        MassartClassifier(rate, 0.3, fit_intercept=False).partial_fit(X, y, classes=[0, 1]) for rate in (0.4, 0.01)
    )
    assert honest.certificate().holds
    assert not boast.certificate().holds
    assert "contradicts the declaration" in str(boast.certificate())
    assert "the noise rate is higher or the margin smaller" in str(boast.certificate())


def test_a_margin_far_too_large_is_found_out():
    """Unit vector e_t at round t, always labelled -1: w = 0 there, so every round is a mistake, without any noise.

    The plane -(1, ..., 1) / sqrt(T) separates these rows with margin 1 / sqrt(T), so 1 / sqrt(T) is honest and must
    allow T mistakes, while a margin of 0.9 promises O(sqrt(T)).
    """
    T = 2500
    X, y = sp.eye_array(T, format="csr"), np.zeros(T)
    honest, boast = (
        MassartClassifier(0.0, margin, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
        for margin in (T**-0.5, 0.9)
    )
    assert honest.mistakes_ == boast.mistakes_ == T
    assert honest.certificate().holds
    assert not boast.certificate().holds


CLASS_WEIGHTED = [
    {},
    {"voting": "majority"},
    {"horizon": 40},
    KNOWN,
    {**KNOWN, "update": "paper"},
    {**KNOWN, "optimizer": "adagrad-norm"},
    {**KNOWN, "horizon": 400},
]


@pytest.mark.parametrize("parameters", CLASS_WEIGHTED)
@pytest.mark.parametrize("sparse", [False, True])
def test_class_weights_are_weights_of_rows_by_label(parameters, sparse):
    """What is learned is that of sample weights, but for the noise rate: so compare where rates are the same."""
    X, y = stream(400, seed=3)
    X = sp.csr_matrix(X) if sparse else X
    both = MassartClassifier(**parameters, random_state=0, class_weight={0: 3.0, 1: 3.0})
    rows = MassartClassifier(**parameters, random_state=0)
    both.partial_fit(X, y, classes=[0, 1])
    rows.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(400, 3.0))
    assert np.array_equal(both.coef_, rows.coef_)
    assert both.certificate().asdict() == pytest.approx(rows.certificate().asdict())
    unequal = MassartClassifier(**parameters, random_state=0, class_weight={1: 5.0}).partial_fit(X, y, classes=[0, 1])
    assert unequal._learner.class_weight == (1.0, 5.0), "who is not named weighs 1"
    assert unequal.predict(X).mean() > rows.predict(X).mean(), "the heavier class is answered more often"
    assert unequal.certificate().rounds == np.where(y == 1, 5.0, 1.0).sum()
    assert unequal.rounds_ == 400


def test_class_weights_of_three_weigh_each_class_against_the_rest():
    X, y = stream(600, seed=3)
    y = y + (X[:, 1] > 0.3)
    clf = MassartClassifier(**KNOWN, class_weight={0: 2.0, 2: 0.5}).partial_fit(X, y, classes=[0, 1, 2])
    assert [member.class_weight for member in clf._learner.members] == [(1.0, 2.0), (1.0, 1.0), (1.0, 0.5)]
    assert clf.certificate().rounds == 600, "answers of several classes are counted unweighted"


@pytest.mark.parametrize("parameters", [{}, {"noise_rate": 0.05, "margin": 0.05}])
@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_takes_its_weights_from_the_labels_and_certifies_nothing(parameters, classes):
    X, y = stream(600, seed=3)
    y = np.where(X[:, 2] > 0.3, y, 0) + (classes == 3) * (X[:, 1] > 0.5)
    weights = dict(enumerate(compute_class_weight("balanced", classes=np.arange(classes), y=y)))
    balanced = MassartClassifier(**parameters, random_state=0, class_weight="balanced").fit(X, y)
    told = MassartClassifier(**parameters, random_state=0, class_weight=weights).fit(X, y)
    assert np.array_equal(balanced.decision_function(X), told.decision_function(X))
    assert not balanced.certificate().applies
    assert balanced.certificate().holds
    assert balanced.noise_rate_ == 0.0
    assert told.certificate().applies or parameters, "weights of 20 to 1 are too much for a declared rate of 0.05"
    plain = MassartClassifier(**parameters, random_state=0).fit(X, y)
    recall = [np.mean([np.mean(clf.predict(X[y == k]) == k) for k in range(classes)]) for clf in (plain, balanced)]
    assert recall[1] >= recall[0] - 0.02


@pytest.mark.parametrize("parameters", [{}, KNOWN, {**KNOWN, "update": "paper"}, {"noise_rate": 0.2}])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, {0: 50.0}, "balanced"])
def test_fit_is_never_worse_on_its_rows_than_the_best_constant(parameters, classes, class_weight):
    """Labels that nothing explains, some of them rare; mistakes weigh what their label does."""
    rng = np.random.default_rng(6)
    X, y = 30.0 * rng.normal(size=(120, 3)), rng.choice(classes, p=[0.1, 0.9, 0.0][:classes], size=120)
    y[:5] = classes - 1
    y[5:10] = 0
    clf = MassartClassifier(**parameters, class_weight=class_weight, random_state=0).fit(X, y)
    present = clf.classes_
    cost = dict(zip(present, compute_class_weight(class_weight, classes=present, y=y), strict=True))
    weights = np.array([cost[label] for label in y])
    wrong = weights[clf.predict(X) != y].sum()
    assert wrong <= min(weights[y != label].sum() for label in present) * (1 + 1e-12)


def test_balanced_counts_rows_of_positive_weight_only():
    X, y = stream(300, seed=3)
    weight = np.where((y == 1) & (np.arange(300) % 2 == 0), 0.0, 1.0)
    kept = weight > 0
    one = MassartClassifier(**KNOWN, random_state=0, class_weight="balanced").fit(X, y, sample_weight=weight)
    other = MassartClassifier(**KNOWN, random_state=0, class_weight="balanced").fit(X[kept], y[kept])
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("parameters", CLASS_WEIGHTED)
@pytest.mark.parametrize("classes", [2, 3])
def test_learn_predict_returns_the_answers_that_are_counted(parameters, classes):
    """In pieces, with words for labels; it learns what partial_fit learns."""
    X, y = stream(400, seed=5)
    words = np.array(["no", "yes", "perhaps"][:classes])
    y = words[y + (classes == 3) * (X[:, 1] > 0.3)]
    clf = MassartClassifier(**parameters, random_state=0)
    answers = [clf.learn_predict(X[at], y[at], classes=words) for at in np.split(np.arange(400), [1, 7, 300])]
    answers = np.concatenate(answers)
    assert answers.dtype.kind == "U"
    assert clf.mistakes_ == np.count_nonzero(answers != y) > 0
    other = MassartClassifier(**parameters, random_state=0).partial_fit(X, y, classes=words)
    assert np.array_equal(clf.decision_function(X), other.decision_function(X))
    assert np.array_equal(clf.predict_proba(X), other.predict_proba(X))
    assert clf.certificate() == other.certificate()


@pytest.mark.parametrize("parameters", CLASS_WEIGHTED)
@pytest.mark.parametrize("classes", [2, 3])
def test_learn_predict_with_weights_that_may_be_zero(parameters, classes):
    """Rows of weight 0 are not learned: they get the answer of `predict` after the others."""
    X, y = stream(400, seed=5)
    y = y + (classes == 3) * (X[:, 1] > 0.3)
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], size=400)
    kept = weight > 0
    clf = MassartClassifier(**parameters, random_state=0)
    answers = clf.learn_predict(X, y, classes=range(classes), sample_weight=weight)
    assert answers.shape == (400,)
    assert clf.rounds_ == np.count_nonzero(kept)
    assert clf.mistakes_ == np.count_nonzero(answers[kept] != y[kept])
    assert clf.certificate().mistakes == pytest.approx(weight[answers != y].sum() - weight[~kept].sum())
    assert np.array_equal(answers[~kept], clf.predict(X[~kept]))
    before = clf.decision_function(X)
    assert np.array_equal(clf.learn_predict(X, y, sample_weight=np.zeros(400)), clf.predict(X))
    assert np.array_equal(clf.decision_function(X), before)


def test_learn_predict_answers_as_predict_does_without_coins():
    X, y = stream(200, seed=5)
    clf = MassartClassifier(**KNOWN).partial_fit(X[:1], y[:1], classes=[0, 1])
    for i in range(1, 200):
        expected = clf.predict(X[i : i + 1])
        assert clf.learn_predict(X[i : i + 1], y[i : i + 1]) == expected


@pytest.mark.parametrize(
    ("classes", "parameters"),
    [
        (2, {"voting": "majority"}),
        (2, {}),
        *((classes, own) for classes in (2, 3) for own in (KNOWN, {**KNOWN, "update": "paper"}, {"horizon": 50})),
    ],
)
@pytest.mark.parametrize("scaling", [0.02, 1.0, 40.0])
def test_coef_and_intercept_apply_to_raw_rows_whatever_the_constant_is(parameters, classes, scaling):
    X, y = stream(400, seed=5)
    X = 20.0 * X + 3.0
    y = y + (classes == 3) * (X[:, 1] > 6.0)
    clf = MassartClassifier(**parameters, intercept_scaling=scaling, random_state=0)
    clf.partial_fit(X, y, classes=range(classes))
    members = [clf._learner] if classes == 2 else clf._learner.members
    by_hand = np.array([[member.score(x) for member in members] for x in X])
    scores = X @ clf.coef_.T + clf.intercept_
    if "noise_rate" in parameters:  # one halfspace scores rows scaled to norm 1
        by_hand = by_hand * np.sqrt((X * X).sum(axis=1) + scaling**2)[:, None]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-9, atol=1e-9 * np.abs(scores).max())
    if classes == 2:
        assert np.array_equal(clf.predict(X), (scores[:, 0] >= 0).astype(int))
        assert [member.predict(x) for member in members for x in X] == (2 * clf.predict(X) - 1).tolist()
    else:
        assert np.array_equal(clf.predict(X), scores.argmax(axis=1))
    assert (clf.intercept_ != 0).all()


@pytest.mark.parametrize("parameters", [KNOWN, {**KNOWN, "update": "paper"}])
def test_a_constant_of_another_size_is_rows_of_another_size(parameters):
    """(x, b) scaled to norm 1 is (x / b, 1) scaled to norm 1; with b a power of two, to the last bit."""
    X, y = stream(400, seed=5)
    plain = MassartClassifier(**parameters).partial_fit(X, y, classes=[0, 1])
    scaled = MassartClassifier(**parameters, intercept_scaling=2.0**20).partial_fit(X * 2.0**20, y, classes=[0, 1])
    assert np.array_equal(plain.coef_, scaled.coef_)
    assert np.array_equal(plain.intercept_ * 2.0**20, scaled.intercept_)
    assert plain.certificate() == scaled.certificate()


def test_a_long_constant_finds_an_offset_that_a_short_one_does_not():
    """Rows 100 long, the boundary at x_0 = 50: with a constant of 1 there is hardly a margin (Theorem 15)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X *= 100.0 / np.linalg.norm(X, axis=1, keepdims=True)
    y = (X[:, 0] > 50.0).astype(int)
    mistakes = [
        MassartClassifier(0.01, 0.05, intercept_scaling=scaling).partial_fit(X, y, classes=[0, 1]).mistakes_
        for scaling in (1.0, 100.0)
    ]
    assert mistakes[1] < mistakes[0] / 2
