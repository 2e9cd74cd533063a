"""`groups` of MassartClassifier: scikit-learn's routing, what is counted and certified per group, files, refusals."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from massart import MassartClassifier, load, save
from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.groups import Grouped


def turned(count=3000, seed=0):
    """Rows of two groups, of which "b" is labelled the other way round."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4))
    groups = np.where(rng.random(count) < 0.4, "b", "a")
    return X, np.where((X[:, 0] > 0) ^ (groups == "b"), "yes", "no"), groups


def test_each_group_is_learned_counted_and_predicted():
    X, y, groups = turned()
    clf = MassartClassifier(random_state=0)
    predicted = clf.learn_predict(X, y, classes=["no", "yes"], groups=groups)
    assert clf.rounds_ == 3000
    assert clf.mistakes_ == np.count_nonzero(predicted != y)
    for name in "ab":
        inside = groups == name
        assert clf.group_rounds_[name] == np.count_nonzero(inside)
        assert clf.group_mistakes_[name] == np.count_nonzero((predicted != y) & inside)
        assert clf.certificate(group=name).mistakes == clf.group_mistakes_[name]
        assert clf.certificate(group=name).rounds == clf.group_rounds_[name]
    assert clf.score(X, y, groups=groups) > 0.95
    assert clf.score(X, y) < 0.8
    assert (clf.decision_function(X, groups) >= 0).tolist() == (clf.predict(X, groups) == "yes").tolist()
    np.testing.assert_array_equal(clf.predict(X, np.full(3000, "never met")), clf.predict(X))
    assert "group a" in clf.summary()
    assert "group b" in clf._repr_mimebundle_()["text/html"]


def test_groups_may_come_later_and_calls_without_them_are_everybodys():
    X, y, groups = turned()
    clf = MassartClassifier(random_state=0).partial_fit(X[:500], y[:500], classes=["no", "yes"])
    assert clf.group_rounds_ == clf.group_mistakes_ == {}
    clf.partial_fit(X[500:2000], y[500:2000], groups=groups[500:2000])
    clf.partial_fit(X[2000:], y[2000:])
    assert clf.rounds_ == 3000
    assert sum(clf.group_rounds_.values()) == 1500
    clf.partial_fit(X[:10], y[:10], groups=["c"] * 10)
    assert list(clf.group_rounds_)[-1] == "c"


def test_rows_of_weight_zero_found_no_group():
    X, y, groups = turned(20)
    groups[3], weight = "zero", np.ones(20)
    weight[3] = 0.0
    clf = MassartClassifier()
    assert clf.learn_predict(X, y, ["no", "yes"], weight, groups).shape == (20,)
    assert "zero" not in clf.group_rounds_


def test_fit_makes_one_pass_in_an_order_of_its_own():
    X, y, groups = turned()
    clf = MassartClassifier(random_state=0).fit(X, y, groups=groups)
    assert clf.n_iter_ == 1
    assert clf.rounds_ == 3000
    assert clf.certificate().applies
    assert clf.score(X, y, groups=groups) > 0.95
    twice = clone(clf).fit(X, y, sample_weight=np.full(3000, 2.0), groups=groups)
    assert twice.rounds_ == 6000
    assert not twice.certificate(group="a").applies


def test_known_noise_and_margin_make_pools_of_one_bounded_expert():
    X, y, groups = turned()
    clf = MassartClassifier(0.1, 0.05, random_state=0).partial_fit(X, y, ["no", "yes"], groups=groups)
    assert {clf.certificate(group=name).noise_rate for name in "ab"} == {0.1}
    assert sum("bounded" in name for name in clf.expert_weights_) == 1
    weighted = MassartClassifier(noise_rate=0.1, class_weight={"no": 1, "yes": 3}, random_state=0)
    weighted.partial_fit(X, y, ["no", "yes"], groups=groups)
    assert weighted.certificate(group="a").weighted


@pytest.mark.parametrize("kind", ["array", "table"])
def test_routing(kind):
    pd = pytest.importorskip("pandas")
    X, y, groups = turned(600)
    given = groups if kind == "array" else pd.DataFrame({"town": groups})
    with config_context(enable_metadata_routing=True):
        clf = MassartClassifier(random_state=0).set_fit_request(groups=True).set_score_request(groups=True)
        clf.set_predict_request(groups=True).set_partial_fit_request(groups=True, classes=True)
        own = cross_validate(clf, X, y, cv=3, params={"groups": given})["test_score"]
        assert own.mean() > 0.85
        folded = cross_validate(clf, X, y, cv=GroupKFold(2), params={"groups": groups})["test_score"]
        assert folded.shape == (2,)  # the splitter takes the groups, too
        pipe = make_pipeline(StandardScaler(), clf).fit(X, y, groups=given)
        assert pipe.score(X, y, groups=given) > 0.85
        assert (pipe.predict(X, groups=given) == y).mean() > 0.85
        unasked = make_pipeline(StandardScaler(), MassartClassifier())
        with pytest.raises(ValueError, match="groups"):
            unasked.fit(X, y, groups=given)
    assert clf.get_metadata_routing().partial_fit.requests["groups"] is True
    assert not hasattr(LogisticRegression(), "set_partial_fit_request")


def test_files_go_on_bit_for_bit(tmp_path):
    X, y, groups = turned(900)
    clf = MassartClassifier(random_state=3).partial_fit(X[:400], y[:400], ["no", "yes"], groups=groups[:400])
    save(clf, tmp_path / "m.massart")
    loaded = load(tmp_path / "m.massart")
    assert isinstance(loaded._learner, Grouped)
    for one in (clf, loaded):
        one.partial_fit(X[400:], y[400:], groups=np.where(np.arange(500) % 7, groups[400:], "late"))
    save(clf, tmp_path / "a.massart")
    save(loaded, tmp_path / "b.massart")
    assert (tmp_path / "a.massart").read_bytes() == (tmp_path / "b.massart").read_bytes()
    assert loaded.group_mistakes_ == clf.group_mistakes_


def test_refusals_are_sentences_and_change_nothing():
    X, y, groups = turned(30)
    several = np.arange(30) % 3
    for make, call, message in [
        (
            MassartClassifier,
            lambda c: c.partial_fit(X, several, [0, 1, 2], groups=groups),
            "are for two classes",
        ),
        (lambda: MassartClassifier(horizon=9), lambda c: c.fit(X, y, groups=groups), "leave horizon=9 out"),
        (lambda: MassartClassifier(0.1, 0.1, update="paper"), lambda c: c.fit(X, y, groups=groups), "leave update"),
        (lambda: MassartClassifier(0.1, 0.1).fit(X, y), lambda c: c.partial_fit(X, y, groups=groups), "too late"),
        (lambda: MassartClassifier().fit(X, y), lambda c: c.certificate(group="a"), "no row came with groups"),
    ]:
        clf = make()
        before = dict(vars(clf))
        with pytest.raises(InvalidParameterError, match=message):
            call(clf)
        assert vars(clf) == before
    clf = MassartClassifier().partial_fit(X, y, ["no", "yes"], groups=groups)
    before = clf.group_rounds_
    for call in (
        lambda: clf.partial_fit(X, y, groups=groups[:5]),
        lambda: clf.partial_fit(X, y, sample_weight=np.full(30, 3.0), groups=["new"] * 30),
        lambda: clf.predict(X, groups[:5]),
    ):
        with pytest.raises(InvalidDataError, match="groups"):
            call()
    assert clf.group_rounds_ == before
