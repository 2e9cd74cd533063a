"""In the hands of scikit-learn's other estimators: what they make of the classifier is what one makes by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator
from sklearn.metrics import balanced_accuracy_score, brier_score_loss
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

from massart import MassartClassifier
from massart.kernels.door import Rows
from massart.learners.fit import canonical_order

KNOWN = {"noise_rate": 0.2, "margin": 0.05}


def halfspace(n=600, d=5, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] > 0) ^ (rng.random(n) < noise * (X[:, 1] > 0))


def rare(n=20_000, seed=0):
    """Two normal densities of means -1 and +1 and variance 1; of 20 rows one is of the second."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.05
    return (rng.normal(size=n) + np.where(y, 1.0, -1.0))[:, None], y


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_cross_validation_is_fits_and_scores_of_its_folds():
    X, y = halfspace()
    folds = StratifiedKFold(3)
    clf = MassartClassifier(random_state=0)
    by_hand = [clone(clf).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds.split(X, y)]
    assert cross_val_score(clf, X, y, cv=folds).tolist() == by_hand
    predicted = cross_val_predict(clf, X, y, cv=folds, method="decision_function")
    for a, b in folds.split(X, y):
        assert np.array_equal(predicted[b], clone(clf).fit(X[a], y[a]).decision_function(X[b]))


def test_a_grid_search_finds_what_a_loop_finds():
    X, y = halfspace()
    folds = StratifiedKFold(3)
    pipe = Pipeline([("scale", StandardScaler()), ("clf", MassartClassifier(random_state=0))])
    grid = {"clf__margin": [0.02, 0.2], "clf__noise_rate": [0.05, 0.4]}
    search = GridSearchCV(pipe, grid, cv=folds).fit(X, y)
    by_hand = {
        (margin, rate): cross_val_score(
            clone(pipe).set_params(clf__margin=margin, clf__noise_rate=rate), X, y, cv=folds
        )
        for margin in grid["clf__margin"]
        for rate in grid["clf__noise_rate"]
    }
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        assert score == by_hand[parameters["clf__margin"], parameters["clf__noise_rate"]].mean()
    assert search.best_score_ == max(scores.mean() for scores in by_hand.values())
    best = clone(pipe).set_params(**search.best_params_).fit(X, y)
    assert np.array_equal(search.best_estimator_[-1].coef_, best[-1].coef_)


@pytest.mark.usefixtures("routing")
def test_sample_weights_are_routed_where_they_are_asked_for():
    X, y = halfspace()
    weight = np.random.default_rng(1).choice([0.0, 1.0, 3.0], size=600)
    clf = MassartClassifier(**KNOWN, random_state=0).set_fit_request(sample_weight=True)
    told = clf.set_score_request(sample_weight=True)
    pipe = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)), ("clf", told)])
    scaled = StandardScaler().fit_transform(X)
    by_hand = clone(clf).fit(scaled, y, sample_weight=weight)
    assert np.array_equal(clone(pipe).fit(X, y, sample_weight=weight)[-1].coef_, by_hand.coef_)
    assert not np.array_equal(by_hand.coef_, clone(clf).fit(scaled, y).coef_)
    folds = StratifiedKFold(3)
    scores = cross_validate(told, X, y, cv=folds, params={"sample_weight": weight})["test_score"]
    expected = [
        clone(clf).fit(X[a], y[a], sample_weight=weight[a]).score(X[b], y[b], sample_weight=weight[b])
        for a, b in folds.split(X, y)
    ]
    assert scores.tolist() == expected
    search = GridSearchCV(told, {"margin": [0.02, 0.2]}, cv=folds).fit(X, y, sample_weight=weight)
    best = clone(clf).set_params(**search.best_params_).fit(X, y, sample_weight=weight)
    assert np.array_equal(search.best_estimator_.coef_, best.coef_)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        GridSearchCV(MassartClassifier(), {"margin": [0.1]}).fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
def test_sample_weights_are_routed_to_partial_fit():
    X, y = halfspace()
    weight = np.random.default_rng(1).choice([1.0, 3.0], size=600)
    clf = MassartClassifier(**KNOWN, random_state=0).set_partial_fit_request(sample_weight=True, classes=False)
    requests = clf.get_metadata_routing().partial_fit.requests
    assert requests == {"sample_weight": True, "classes": False, "groups": None}
    many = OneVsRestClassifier(MassartClassifier(**KNOWN, random_state=0).set_partial_fit_request(sample_weight=True))
    many.partial_fit(X, y.astype(int), classes=[0, 1], sample_weight=weight)
    by_hand = MassartClassifier(**KNOWN, random_state=0).partial_fit(X, y, classes=[False, True], sample_weight=weight)
    assert np.array_equal(many.estimators_[0].coef_, by_hand.coef_)


def test_calibrated_probabilities_follow_the_scores_and_the_labels():
    """One label in ten lies. Held out: probabilities rise with the score, and their mean is that of the labels.

    The difference of the means has a standard error of at most 1 / (2 sqrt(n)) in the rows that calibrate, and in the
    rows that are held out, 2000 each: 4 of both together are 0.063. A constant has a Brier score of 1 / 4.
    """
    X, y = halfspace(6000, noise=0.1)
    clf = MassartClassifier(random_state=0).fit(X[:2000], y[:2000])
    calibrated = CalibratedClassifierCV(FrozenEstimator(clf), method="sigmoid").fit(X[2000:4000], y[2000:4000])
    probability = calibrated.predict_proba(X[4000:])[:, 1]
    assert (np.diff(probability[np.argsort(clf.decision_function(X[4000:]))]) >= 0).all()
    assert abs(probability.mean() - y[4000:].mean()) < 4 * np.sqrt(2) / (2 * np.sqrt(2000))
    assert brier_score_loss(y[4000:], probability) < 0.25 / 2
    whole = CalibratedClassifierCV(MassartClassifier(random_state=0), cv=3).fit(X[:3000], y[:3000])
    members = [member.estimator for member in whole.calibrated_classifiers_]
    assert [np.array_equal(m.coef_, clone(m).fit(X[a], y[a]).coef_) for m, (a, _) in zip(
        members, StratifiedKFold(3).split(X[:3000], y[:3000]), strict=True
    )] == [True] * 3  # fmt: skip


def test_a_fixed_threshold_is_one_on_the_scores():
    X, y = halfspace()
    scores = MassartClassifier(random_state=0).fit(X, y).decision_function(X)
    for threshold in (-0.5 * scores.std(), 0.5 * scores.std()):
        fixed = FixedThresholdClassifier(
            MassartClassifier(random_state=0), threshold=threshold, response_method="decision_function"
        )
        assert np.array_equal(fixed.fit(X, y).predict(X), scores >= threshold)


def test_a_tuned_threshold_finds_a_rare_class():
    """Fewest mistakes has the threshold ln(19) / 2 = 1.47 of x: recalls are .993 and .319, their mean is .656.

    At 0 both are .841. On 10,000 rows held out, plain and tuned stay on their side of the middle, 0.75. Scores of
    different fits have no common scale, so the threshold is tuned on rows that the model has not seen, for that model.
    """
    X, y = rare()
    train, test = slice(0, 10_000), slice(10_000, None)
    plain = MassartClassifier(random_state=0)
    tuned = TunedThresholdClassifierCV(
        plain, scoring="balanced_accuracy", response_method="decision_function", cv=0.8, refit=False, random_state=0
    )
    accuracy = [
        balanced_accuracy_score(y[test], model.fit(X[train], y[train]).predict(X[test])) for model in (plain, tuned)
    ]
    assert accuracy[0] < 0.75 < accuracy[1], accuracy
    assert tuned.best_threshold_ < 0.0
    assert np.array_equal(tuned.predict(X[test]), tuned.estimator_.decision_function(X[test]) >= tuned.best_threshold_)


def test_one_vs_rest_fits_each_class_against_the_others():
    X, _ = halfspace()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    many = OneVsRestClassifier(MassartClassifier(random_state=0)).fit(X, y)
    for k, member in enumerate(many.estimators_):
        assert np.array_equal(member.coef_, MassartClassifier(random_state=0).fit(X, (y == k).astype(int)).coef_)
    scores = np.stack([member.decision_function(X) for member in many.estimators_], axis=1)
    assert np.array_equal(many.predict(X), scores.argmax(axis=1))


def test_a_vote_is_that_of_its_members():
    X, y = halfspace()
    members = [(f"seed {seed}", MassartClassifier(random_state=seed, passes=1)) for seed in range(3)]
    vote = VotingClassifier(members).fit(X, y)
    answers = np.sum([clone(member).fit(X, y).predict(X) for _, member in members], axis=0)
    assert np.array_equal(vote.predict(X), answers >= 2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_between_the_steps_of_a_pipeline_change_names_alone(library):
    X, y = halfspace()
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]({f"c{j}": X[:, j] for j in range(5)})
    framed = make_pipeline(MaxAbsScaler(), MassartClassifier(random_state=0)).set_output(transform=library)
    plain = make_pipeline(MaxAbsScaler(), MassartClassifier(random_state=0)).fit(X, y)
    framed.fit(frame, y)
    assert framed[-1].feature_names_in_.tolist() == [f"c{j}" for j in range(5)]
    assert np.array_equal(framed[-1].coef_, plain[-1].coef_)
    # A frame has its columns one after the other in memory, and sums are then added up in another order.
    np.testing.assert_allclose(framed.decision_function(frame), plain.decision_function(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("parameters", [{}, KNOWN, {"horizon": 100}])
def test_partial_fit_after_fit_goes_on_from_its_first_pass(parameters):
    """As if `fit` had been a `partial_fit` of its rows in their order; passes after the first are forgotten."""
    X, y = halfspace()
    order, _ = canonical_order(Rows.of(X[:400]), y[:400].astype(np.int64), np.ones(400), 7)
    online = MassartClassifier(**parameters, random_state=7)
    online.partial_fit(X[order], y[order], classes=[False, True]).partial_fit(X[400:], y[400:])
    for passes in (1, 5):
        clf = MassartClassifier(**parameters, random_state=7, passes=passes).fit(X[:400], y[:400])
        assert (clf.rounds_, clf.n_iter_) == (400, passes)
        clf.partial_fit(X[400:], y[400:])
        assert np.array_equal(clf.coef_, online.coef_)
        assert (clf.rounds_, clf.mistakes_, clf.n_iter_) == (600, online.mistakes_, 1)


def test_an_indicator_beside_the_zero_of_a_missing_value():
    """y says whether x > 5; x is near 5, or missing where y is true: in a third of 3000 rows.

    With 0 alone a missing value looks like a small x. The best threshold then has all missing ones right, and those x
    above 5 wrong that are there, a sixth of the rows; 0.9 is 10 standard errors above. An indicator has a weight of its
    own, and no row need be wrong.
    """
    rng = np.random.default_rng(0)
    x = 5.0 + rng.normal(size=3000)
    y = x > 5.0
    x[y & (rng.random(3000) < 2 / 3)] = np.nan
    X = x[:, None]
    indicated = make_pipeline(
        make_union(FunctionTransformer(np.nan_to_num), MissingIndicator(features="all")),
        MassartClassifier(random_state=0),
    )
    alone = MassartClassifier(missing="zero", random_state=0).fit(X, y)
    indicated.fit(X, y)
    holes = np.isnan(x)
    assert indicated.predict(X[holes]).all()
    assert indicated.score(X, y) > 0.95
    assert alone.score(X, y) < 0.9
