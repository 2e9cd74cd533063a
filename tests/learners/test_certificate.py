"""The certificate: its arithmetic, its coverage, and what it says."""

import numpy as np
import pytest

from massart import Halfspace, theory, worlds
from massart.errors import InvalidParameterError
from massart.kernels import halfspace as kernel
from massart.learners.certificate import Certificate
from massart.learners.experts import Experts
from massart.learners.rows import Rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 5))
Y = np.where((X[:, 0] >= 0) ^ (RNG.random(2000) < 0.1), 1.0, -1.0)


def learned(**options):
    learner = Halfspace(5, 0.1, 0.05, **options)
    learner.learn_many(X, Y)
    return learner


@pytest.mark.parametrize("options", [{}, {"optimizer": "adagrad-norm"}, {"horizon": 2000}, {"update": "paper"}])
def test_bounds_are_those_of_theory_at_the_gradients_seen(options):
    learner = learned(**options)
    c, s = learner.certificate(confidence=0.95), learner._s
    squares = float(s[kernel.SQUARES])
    if options.get("update") == "paper":
        slack = sum(theory.paper_slack(0.1, 0.05, t) for t in range(1, 2001)) / 2
        cap = theory.paper_gradient_cap(0.1, theory.paper_slack(0.1, 0.05, 2000), s[kernel.FLOOR])
        regret = slack + 2 / theory.paper_step(cap, 2000) + float(s[kernel.STEPPED]) / 2
        spread = theory.deviation(0.1, float(s[kernel.FLOOR]), 0.95, 2000)
    else:
        spread = theory.deviation(0.1, 0.05, 0.95, 2000)
        if "horizon" in options:
            regret = theory.fixed_regret(theory.fixed_step(0.1, 0.05, 2000), squares)
        elif "optimizer" in options:
            regret = theory.adagrad_regret(squares)
        else:
            regret = theory.ftrl_regret(theory.gradient_cap(0.1, 0.05), squares)
        assert squares <= theory.squared_gradients_bound(2000, learner.mistakes, 0.1, 0.05)
    assert c.regret_bound == pytest.approx(regret, rel=1e-9)
    assert c.mistake_bound == pytest.approx(200 + regret, rel=1e-9)
    assert c.confident_mistake_bound == pytest.approx(200 + regret + spread, rel=1e-9)
    assert (c.rounds, c.mistakes, c.noise_rate, c.margin, c.confidence) == (2000, learner.mistakes, 0.1, 0.05, 0.95)
    assert c.holds


def test_observed_bound_is_below_the_closed_one():
    assert learned().certificate().mistake_bound < theory.ftrl_mistake_bound(0.1, 0.05, 2000)


def test_before_the_first_round_nothing_is_promised_and_nothing_broken():
    for learner in (Halfspace(3, 0.1, 0.1), Halfspace(3, 0.1, 0.1, update="paper"), Experts(3)):
        certificate = learner.certificate()
        assert (certificate.rounds, certificate.mistakes, certificate.holds) == (0, 0, True)


def test_weights_count_as_rounds():
    light, heavy = Halfspace(5, 0.1, 0.05), Halfspace(5, 0.1, 0.05)
    light.learn_many(X, Y)
    heavy.learn_many(X, Y, np.full(2000, 4.0))
    one, four = light.certificate(), heavy.certificate()
    assert four.rounds == 4 * one.rounds
    assert four.mistakes == 4 * one.mistakes, "scaling all weights scales the learner: ftrl is scale free"
    assert four.regret_bound == pytest.approx(4 * one.regret_bound, rel=1e-9)
    assert four.confident_mistake_bound == pytest.approx(4 * one.confident_mistake_bound, rel=1e-9)


def test_rows_longer_than_one_widen_the_deviation():
    long = Halfspace(5, 0.1, 0.05, normalize=False)
    long.learn_many(4.0 * X, Y)
    c = long.certificate()
    spread = c.confident_mistake_bound - c.mistake_bound
    longest = np.sqrt((16 * X * X).sum(axis=1) + 1).max()
    assert spread == pytest.approx(theory.deviation(0.1, 0.05 / longest, 0.99, 2000), rel=1e-9)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 2, float("nan")])
def test_confidence_is_a_probability(confidence):
    for learner in (learned(), Experts(5)):
        with pytest.raises(InvalidParameterError, match="confidence"):
            learner.certificate(confidence)


def test_it_speaks():
    certificate = Certificate(1000, 120, 0.1, 0.05, 80.0, 180.0, 260.0, 0.99, True)
    assert str(certificate).splitlines() == [
        "120 mistakes in 1,000 rounds",
        "With noise_rate 0.1 and margin 0.05: at most 180 expected, 260 with probability 0.99.",
        "The mistakes agree with that.",
    ]
    assert "raise noise_rate or lower margin" in str(Certificate(1000, 300, 0.1, 0.05, 80.0, 180.0, 260.0, 0.99, False))


def test_coverage_at_a_low_confidence():
    """At confidence 0.6 at most 40% of honest runs may exceed the bound; 4 standard errors of 100 runs allow 60."""
    exceeded = 0
    for seed in range(100):
        world = worlds.make("fixed-pair", seed=seed)
        learner = Halfspace(world.dimension, world.noise_rate, world.margin, fit_intercept=False)
        chunk = next(world.chunks(500, size=500))
        learner.learn_many(chunk.X, chunk.y)
        exceeded += not learner.certificate(confidence=0.6).holds
    assert exceeded <= 100 * 0.4 + 4 * np.sqrt(100 * 0.4 * 0.6)


def test_mixture_speaks_through_its_tightest_believable_expert():
    short = 150  # a pool adds up in another order than one learner, and long streams amplify rounding
    pool = Experts(5, noise_rates=(0.0, 0.1, 0.3), margins=(0.05,))
    labels = (Y > 0).astype(np.int64)
    pool.learn_rows(Rows.of(X), labels, np.ones(2000), np.arange(short, dtype=np.uint64))
    c = pool.certificate()
    expert = Halfspace(5, c.noise_rate, c.margin)
    expert.learn_many(X[:short], Y[:short])
    assert c.mistake_bound == pytest.approx(expert.certificate().mistake_bound + 2 * pool._gaps[0], rel=1e-6)
    assert c.holds
    assert c.mistakes == pool.mistakes
    liar = Experts(5, noise_rates=(0.0,), margins=(0.9,))
    coins = RNG.integers(0, 2, size=2000)
    liar.learn_rows(Rows.of(X), coins, np.ones(2000), np.arange(2000, dtype=np.uint64))
    assert not liar.certificate().holds


def test_classes_add_up():
    pool = Experts(5, noise_rates=(0.1,), margins=(0.05,), classes=3)
    labels = RNG.integers(0, 3, size=100)
    pool.learn_rows(Rows.of(X[:100]), labels, np.ones(100), np.arange(100, dtype=np.uint64))
    parts = []
    for k in range(3):
        one = Halfspace(5, 0.1, 0.05)
        one.learn_many(X[:100], np.where(labels == k, 1.0, -1.0))
        parts.append(one.certificate().mistake_bound)
    assert pool.certificate().mistake_bound == pytest.approx(sum(parts), rel=1e-6)
