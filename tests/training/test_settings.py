"""What is asked of a training: which learner, how often a checkpoint, and what is refused."""

import pytest

from massart.errors import InvalidParameterError
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool
from massart.training.settings import Every, Settings


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("1000", Every(rows=1000)),
        ("1e6", Every(rows=1_000_000)),
        ("30s", Every(seconds=30.0)),
        ("1.5m", Every(seconds=90.0)),
        ("2H", Every(seconds=7200.0)),
        ("0", Every()),
        ("0s", Every()),
    ],
)
def test_how_often(text, every):
    assert Every.parse(text) == every


@pytest.mark.parametrize("text", ["", "often", "-5", "1.5", "5d", "m", "1e999"])
def test_how_often_is_refused(text):
    with pytest.raises(InvalidParameterError, match="give rows as 1000000, or a time"):
        Every.parse(text)


def test_when_one_is_due():
    assert Every(rows=10).due(10, 0.0)
    assert not Every(rows=10).due(9, 1e9)
    assert Every(seconds=2.0).due(0, 2.0)
    assert not Every().due(10**9, 1e9)


def test_the_learner_that_belongs_to_what_is_known():
    assert isinstance(Settings(noise_rate=0.1, margin=0.1).learner(3), Halfspace)
    assert isinstance(Settings().learner(3), Pool)
    assert isinstance(Settings(horizon=10).learner(3), Drifting)
    rate = Settings(noise_rate=0.1).learner(3)
    assert [name for name in rate.shares() if "noise 0.1," in name]
    assert len([name for name in rate.shares() if name.startswith("bounded")]) == 8
    margin = Settings(margin=0.25).learner(3)
    assert len([name for name in margin.shares() if "margin 0.25" in name]) == 8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise_rate": 0.5}, "noise_rate"),
        ({"margin": 0.0}, "margin"),
        ({"horizon": 0}, "horizon"),
        ({"update": "paper"}, "knows noise_rate and margin"),
        ({"passes": 0}, "passes=0"),
        ({"holdout": 1}, "holdout=1"),
        ({"seed": -1}, "seed=-1"),
        ({"voting": "loud"}, "voting"),
    ],
)
def test_what_makes_no_learner_is_refused_by_name(options, words):
    with pytest.raises(InvalidParameterError, match=words):
        Settings(**options)


def test_going_on_takes_the_learner_of_the_model_and_refuses_another():
    first = Settings(noise_rate=0.1, margin=0.05, update="paper", seed=3)
    parameters = first.parameters()
    assert Settings(passes=2).going_on(parameters, "m").options() == {**first.options(), "passes": 2}
    assert Settings(noise_rate=0.1, margin=0.05, update="paper").going_on(parameters, "m").seed == 3
    with pytest.raises(InvalidParameterError, match=r"noise_rate=0.2, but m was begun with noise_rate=0.1"):
        Settings(noise_rate=0.2).going_on(parameters, "m")
    # The usual value contradicts, too, if somebody asked for it.
    asked = Settings(noise_rate=0.1, margin=0.05, given=frozenset(["update"]))
    with pytest.raises(InvalidParameterError, match="update='inverse-margin', but m was begun with update='paper'"):
        asked.going_on(parameters, "m")
