"""`massart.plot`: axes in, axes out, and what is drawn are the learner's own numbers."""

from itertools import pairwise

import numpy as np
import pytest

from massart import MassartClassifier, MonotoneBandit, MonotoneRanker, diagnose, plot
from massart.errors import InvalidDataError, InvalidParameterError

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def axes():
    """New axes without a window; figures are closed at the end."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot.figure().subplots()
    pyplot.close("all")


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(2000, 4))
    return X, (X[:, 0] > 0) ^ (np.random.default_rng(1).random(2000) < 0.1)


@pytest.fixture(scope="module")
def learned(rows):
    classifier = MassartClassifier(random_state=0)
    return classifier, plot.History().learn(classifier, *rows, classes=[False, True])


def test_a_history_is_what_the_learner_was(rows, learned):
    X, y = rows
    classifier, history = learned
    for one in (history.moments[20], history.moments[-1]):
        own = MassartClassifier(random_state=0).partial_fit(X[: one.rounds], y[: one.rounds], classes=[False, True])
        assert (own.mistakes_, own.certificate().confident_mistake_bound) == (one.mistakes, one.bound)
        assert own.expert_weights_ == one.weights
    whole = MassartClassifier(random_state=0).partial_fit(X, y, classes=[False, True])
    assert np.array_equal(whole.coef_, classifier.coef_)
    assert np.array_equal(whole.predict_proba(X), classifier.predict_proba(X))
    rounds = [one.rounds for one in history.moments]
    assert rounds[-1] == 2000
    assert all(later <= max(early + 1, 1.1 * early) for early, later in pairwise(rounds))


def test_a_history_of_a_frame_and_of_more_rows(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame, labels = pd.DataFrame(X, columns=list("abcd")), pd.Series(y)
    history = plot.History(factor=2.0)
    classifier = MassartClassifier(random_state=0)
    history.learn(classifier, frame[:500], labels[:500], classes=[False, True])
    history.learn(classifier, frame[500:], labels[500:])
    assert classifier.rounds_ == 2000
    assert [one.rounds for one in history.moments][-3:] == [500, 1000, 2000]


def test_progress_and_experts(learned, axes):
    _, history = learned
    assert plot.progress(history, axes) is axes
    mistakes, bound = axes.get_lines()
    last = history.moments[-1]
    assert mistakes.get_ydata()[-1] == last.mistakes / last.rounds
    assert bound.get_ydata()[-1] == min(1.0, last.bound / last.rounds)
    other = plot.experts(history, most=2)
    assert other is not axes
    assert len(other.get_lines()) == 2
    for line in other.get_lines():
        assert line.get_ydata()[-1] == last.weights[line.get_label()]


def test_certificate_and_weights(learned, axes):
    classifier, _ = learned
    assert plot.certificate(classifier, axes) is axes
    found = classifier.certificate()
    assert [bar.get_width() for bar in axes.patches] == [
        found.mistakes,
        found.confident_mistake_bound,
        found.constant_mistakes,
        found.rounds,
    ]
    drawn = plot.weights(classifier, top=3)
    largest = np.argsort(-np.abs(classifier.coef_[0]))[:3]
    assert [bar.get_width() for bar in drawn.patches] == classifier.coef_[0][largest].tolist()
    assert [text.get_text() for text in drawn.get_yticklabels()] == [f"column {k}" for k in largest]


def test_reliability(rows, learned, axes):
    X, y = rows
    classifier, _ = learned
    assert plot.reliability(classifier, X, y, axes) is axes
    points = axes.collections[0].get_offsets()
    best = classifier.predict_proba(X).max(axis=1)
    right = classifier.predict(X) == y
    top = best >= 0.9
    assert points[-1].tolist() == pytest.approx([best[top].mean(), right[top].mean()])
    found = diagnose(X, y)
    drawn = plot.reliability(found).collections[0].get_offsets()
    assert drawn.tolist() == [[p, share] for p, share, _ in found.reliability.points()]
    assert sum(rows for *_, rows in found.reliability.points()) == found.compared


def test_lift(axes):
    bandit, rng = MonotoneBandit(gap=0.3, margin=0.2, random_state=0), np.random.default_rng(0)
    for _ in range(200):
        contexts = rng.choice([-0.7, 0.7], size=(3, 2))
        choice = bandit.choose(contexts)
        bandit.learn(choice, float(rng.random() < 0.5 + 0.4 * contexts[choice.arm, 0]))
    assert plot.lift(bandit, axes) is axes
    found = bandit.certificate()
    assert [bar.get_width() for bar in axes.patches] == [found.observed_lift, found.guaranteed_lift]
    again = plot.lift(found)
    assert again.get_title(loc="left") == axes.get_title(loc="left")


def test_what_cannot_be_drawn(rows, learned):
    X, _ = rows
    classifier, _ = learned
    with pytest.raises(InvalidDataError, match="empty"):
        plot.progress(plot.History())
    with pytest.raises(InvalidParameterError, match="record one with"):
        plot.progress(classifier)
    with pytest.raises(InvalidParameterError, match="factor=1"):
        plot.History(factor=1.0)
    with pytest.raises(InvalidParameterError, match="give rows"):
        plot.reliability(classifier)
    with pytest.raises(InvalidParameterError, match="no lift"):
        plot.lift(MonotoneRanker())
    several = MassartClassifier().partial_fit(X, np.argmax(X, axis=1))
    with pytest.raises(InvalidDataError, match="no weights"):
        plot.weights(several)
    one_each = MassartClassifier(0.1, 0.05).partial_fit(X, np.argmax(X, axis=1), classes=range(4))
    with pytest.raises(InvalidParameterError, match="name one of"):
        plot.weights(one_each)
    assert "towards 2" in plot.weights(one_each, label=2).get_title(loc="left")


def test_notebooks_show_tables(learned):
    classifier, _ = learned
    assert "Certificate: " in classifier.certificate()._repr_html_()
    assert "expert weights" in classifier._repr_mimebundle_()["text/html"]
    bandit = MonotoneBandit(random_state=0)
    choice = bandit.choose({"<b>": [1.0], "c": [0.5]})
    for shown in (choice._repr_html_(), bandit._repr_html_(), bandit.certificate()._repr_html_()):
        assert "<table" in shown
        assert "<b>" not in shown
        assert "http" not in shown
    assert f"{choice.probability:.4g}" in choice._repr_html_()
