"""What a classifier says about itself, in a terminal and in a notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from massart import MassartClassifier
from massart.learners.certificate import noise_rate_words
from massart.learners.halfspace import expert_name
from massart.learners.pool import expert_grid

KNOWN = {"noise_rate": 0.2, "margin": 0.05}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 6))
Y = ((X[:, 0] > 0) ^ (RNG.random(1200) < 0.1)).astype(int)
THREE = Y + (X[:, 1] > 0.4)
PARAMETERS = [{}, {"voting": "majority"}, {"horizon": 100}, {"noise_rate": 0.1}, KNOWN, {**KNOWN, "update": "paper"}]


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_summary_says_what_the_attributes_say(parameters, classes, how):
    y = Y if classes == 2 else THREE
    clf = MassartClassifier(**parameters, random_state=0)
    clf = clf.fit(X, y) if how == "fit" else clf.partial_fit(X, y, classes=range(classes))
    text, certificate = clf.summary(), clf.certificate()
    first, *lines = text.splitlines()
    assert first == repr(clf)
    facts = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines)
    assert facts["classes"] == ", ".join(map(str, range(classes)))
    assert facts["rows learned"] == "1,200"
    assert facts["predicted wrongly"].startswith(f"{clf.mistakes_:,} ({clf.mistakes_ / 1200:.1%})")
    assert facts["bound"] == certificate.sentence
    assert facts["bound"].startswith(certificate.verdict)
    assert facts["noise rate"] == noise_rate_words(clf.noise_rate_)
    weights = clf.expert_weights_
    together = classes == 2 or ("horizon" not in parameters and "margin" not in parameters)
    named = {"expert weights": weights} if together else {f"expert weights for {k}": weights[k] for k in range(3)}
    assert len(facts) == 5 + len(named)
    for name, shares in named.items():
        best = next(iter(shares))
        assert facts[name].startswith(f"{best} {shares[best]:.0%}")
        assert facts[name].count(";") <= 3
    assert len({line.index(facts[name]) for name, line in zip(facts, lines, strict=True)}) == 1, "aligned"


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_expert_weights_are_shares(parameters):
    """Sorted, non-negative, of sum 1; with one learner per class one dict each, under the label as it is."""
    two = MassartClassifier(**parameters, random_state=0).fit(X, np.where(Y, "yes", "no"))
    several = MassartClassifier(**parameters, random_state=0).fit(X, THREE).expert_weights_
    dicts = [several]
    if "horizon" in parameters or "margin" in parameters:
        assert list(several) == [0, 1, 2]
        assert all(type(label) is int for label in several)
        dicts = list(several.values())
    for shares in (two.expert_weights_, *dicts):
        values = list(shares.values())
        assert values == sorted(values, reverse=True)
        assert min(values) >= 0
        assert sum(values) == pytest.approx(1.0, abs=1e-12)
        assert all(isinstance(name, str) and isinstance(value, float) for name, value in shares.items())
    alone = "margin" in parameters
    assert (len(two.expert_weights_) == 1) == alone
    if alone:
        assert two.expert_weights_ == {"bounded, noise 0.2, margin 0.05": 1.0}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("parameters", "known"),
    [
        ({}, {}),
        ({"noise_rate": 0.13}, {"noise_rate": 0.13}),
        ({"margin": 0.07}, {"margin": 0.07}),
        ({"margin": 0.07, "horizon": 50}, {"margin": 0.07}),
        ({"noise_rate": 0.13, "class_weight": {1: 2.0}}, {"noise_rate": 0.26 / 1.13}),
    ],
)
def test_what_is_known_is_not_tried(parameters, known, fit_intercept):
    """With class weights the known noise rate is that of weighted mistakes."""
    clf = MassartClassifier(**parameters, fit_intercept=fit_intercept, random_state=0).fit(X, Y)
    bounded = {name for name in clf.expert_weights_ if name.startswith("bounded")}
    assert bounded == {
        expert_name(rate, margin, constant=constant or not fit_intercept)
        for rate, margin, constant in expert_grid(**known, fit_intercept=fit_intercept)
    }
    assert len(bounded) == 8


def test_noise_rate_is_a_lower_limit():
    """A tenth of the labels lie, at margin 0: nothing above that is ruled out; the largest of several classes."""
    for parameters in ({}, KNOWN, {"margin": 0.1}):
        assert 0.0 <= MassartClassifier(**parameters, random_state=0).fit(X, Y).noise_rate_ <= 0.1
    several = MassartClassifier(0.01, 0.9, random_state=0).fit(X, THREE)
    assert several.noise_rate_ == max(member.lower_noise_rate(1 - 0.01 / 3) for member in several._learner.members)
    assert several.noise_rate_ > 0.0


def test_a_contradiction_is_told():
    """Labels are coins: no noise rate below one half is compatible with that at a margin of 0.9."""
    y = RNG.integers(2, size=20_000)
    clf = MassartClassifier(0.01, 0.9).partial_fit(RNG.normal(size=(20_000, 3)), y, classes=[0, 1])
    text = clf.summary()
    assert "contradicts the declaration: " in text
    assert f"  {noise_rate_words(clf.noise_rate_)}" in text
    assert clf.noise_rate_ >= 0.01


class _Cells(HTMLParser):
    """Tags and texts of a piece of HTML."""

    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_notebook_shows_the_same_as_a_table(classes):
    labels = np.array(["<b>bold</b>", "a & b", '"><script>alert(1)</script>'])[:classes]
    clf = MassartClassifier(horizon=50, random_state=0).fit(X, labels[Y if classes == 2 else THREE])
    bundle = clf._repr_mimebundle_()
    plain = MassartClassifier(random_state=0)._repr_mimebundle_()
    assert set(bundle) == set(plain) == {"text/plain", "text/html"}
    own = bundle["text/html"][bundle["text/html"].rindex("<table") :]
    page = _Cells()
    page.feed(own)
    page.close()
    assert set(page.tags) == {"table", "tr", "th", "td"}, "labels are text, not markup"
    assert ", ".join(sorted(labels)) in page.texts
    facts = [line.strip() for line in clf.summary().splitlines()[1:]]
    assert len(facts) == page.tags.count("tr")
    for line, name, fact in zip(facts, page.texts[::2], page.texts[1::2], strict=True):
        assert re.split(r"\s{2,}", line, maxsplit=1) == [name, fact]
    if classes == 3:
        assert "expert weights for <b>bold</b>" in page.texts


def test_before_learning_there_is_nothing_to_sum_up():
    clf = MassartClassifier()
    for ask in (clf.summary, lambda: clf.noise_rate_, lambda: clf.expert_weights_):
        with pytest.raises(NotFittedError):
            ask()
    assert "rows learned" not in clf._repr_mimebundle_()["text/html"]
