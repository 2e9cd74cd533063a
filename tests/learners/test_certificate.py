"""The certificate: its arithmetic, its coverage, and what it says."""

import numpy as np
import pytest

from massart import Halfspace, theory, worlds
from massart.errors import InvalidParameterError
from massart.kernels import halfspace as kernel
from massart.kernels import mixture
from massart.kernels.pool import DIAGONAL
from massart.learners.certificate import Certificate
from massart.learners.drift import Drifting
from massart.learners.experts import Experts
from massart.learners.one_vs_rest import OneVsRest
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
    for learner in (Halfspace(3, 0.1, 0.1), Halfspace(3, 0.1, 0.1, update="paper"), Experts(3), Drifting(3, 10)):
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
    for learner in (learned(), Experts(5), Drifting(5, 10), OneVsRest([Experts(5) for _ in range(3)])):
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


# A pool adds up in another order than one learner, and long streams amplify rounding.
SHORT = 100


def against_the_vote(pool, weights):
    """Labels that make every vote of this pool a mistake, which no expert makes as often."""
    labels = np.empty(weights.size, np.int8)
    for i, weight in enumerate(weights):
        labels[i] = -pool.predict(X[i])
        pool.learn_rows(Rows.of(X[i : i + 1]), labels[i : i + 1], np.array([weight]))
    return labels


@pytest.mark.parametrize("voting", ["sample", "majority"])
@pytest.mark.parametrize("weight", [None, 3.0])
@pytest.mark.parametrize("hostile", [False, True])
def test_mixture_speaks_through_its_tightest_believable_expert(voting, weight, hostile):
    """The smallest sum of an expert's own bound and of what the answers were expected to lose beyond its mistakes."""
    rates = (0.0, 0.1, 0.3)
    pool = Experts(5, noise_rates=rates, margins=(0.05,), voting=voting)
    weights = np.ones(SHORT) if weight is None else np.where(np.arange(SHORT) % 2, weight, 1.0)
    y = against_the_vote(pool.copy(), weights) if hostile else Y[:SHORT].astype(np.int8)
    pool.learn_rows(Rows.of(X[:SHORT]), y, weights)
    lost = pool._t[mixture.EXPECTED]
    doubt = 0.05 / (len(rates) + 1)
    speakers = {}
    for k, rate in enumerate(rates):
        alone = Halfspace(5, rate, 0.05)
        alone.learn_many(X[:SHORT], y, weights)
        own = alone.certificate(1 - doubt)
        assert pool._M[mixture.LOSS, DIAGONAL + k] == own.mistakes
        price = max(0.0, lost - own.mistakes)
        speakers[own.mistake_bound + price] = (rate, price, own)
    bound, (rate, price, own) = min(speakers.items())
    assert (price > 0) == hostile
    c = pool.certificate(0.95)
    chance = np.sqrt(0.5 * np.sum(weights**2) * np.log(1 / doubt)) if voting == "sample" else 0.0
    assert (c.noise_rate, c.margin, c.holds, c.confidence) == (rate, 0.05, True, 0.95)
    assert c.mistake_bound == pytest.approx(bound, rel=1e-6)
    assert c.regret_bound == pytest.approx(own.regret_bound + price, rel=1e-6)
    assert c.confident_mistake_bound == pytest.approx(own.confident_mistake_bound + price + chance, rel=1e-6)
    assert c.rounds == weights.sum()
    assert c.mistakes == pool._t[mixture.WRONG]
    if voting == "majority":
        assert lost == c.mistakes, "without coins the answers lose what they were expected to"


def test_mixture_is_silent_when_no_expert_can_be_believed():
    """Coins for labels: half of the answers are wrong, which no noise rate of 0 or 0.1 allows at a margin of 0.9."""
    pool = Experts(5, noise_rates=(0.0, 0.1), margins=(0.9, 0.5))
    pool.learn_many(X, RNG.choice([-1, 1], size=2000))
    c = pool.certificate()
    assert not c.holds
    assert (c.noise_rate, c.margin) == (0.1, 0.5), "the least demanding of them is named"
    assert pool.least_noise_rate() == 0.5


def test_least_noise_rate_is_the_smallest_not_contradicted():
    """Labels lie at a rate of 0.3 at a margin of 0.5: rates below it are contradicted one after the other."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60_000, 3))
    rows[:, 0] = np.sign(rows[:, 0]) * 2.0
    rows[:, 1:] *= 0.5
    y = np.sign(rows[:, 0]) * np.where(rng.random(60_000) < 0.3, -1, 1)
    pool = Experts(3, noise_rates=(0.05, 0.15, 0.25, 0.35), margins=(0.5,), fit_intercept=False)
    seen, start = [], 0
    for stop in (50, 2000, 10_000, 60_000):
        pool.learn_many(rows[start:stop], y[start:stop])
        seen.append(pool.least_noise_rate())
        start = stop
    assert seen == sorted(seen)
    assert seen[0] == 0.05
    assert seen[-1] in (0.25, 0.35), "0.25 lies within the deviation that 60,000 rounds still allow"
    holds = []
    for rate in (0.05, 0.15, 0.25, 0.35):
        alone = Halfspace(3, rate, 0.5, fit_intercept=False)
        alone.learn_many(rows, y)
        holds.append(alone.certificate(1 - 0.01 / 5).holds)
    assert seen[-1] == (0.05, 0.15, 0.25, 0.35)[holds.index(True)]


@pytest.mark.parametrize("kind", ["told", "pool", "drifting"])
def test_classes_add_up(kind):
    """A wrong class needs a wrong halfspace: bounds add up, each asked for a third of the doubt."""
    make = {
        "told": lambda: Halfspace(5, 0.1, 0.05),
        "pool": lambda: Experts(5),
        "drifting": lambda: Drifting(5, 40),
    }[kind]
    labels = RNG.integers(0, 3, size=100)
    together = OneVsRest([make() for _ in range(3)])
    together.learn_rows(Rows.of(X[:100]), labels)
    parts = []
    for k in range(3):
        one = make()
        one.learn_many(X[:100], np.where(labels == k, 1, -1))
        parts.append(one.certificate(1 - 0.01 / 3))
    c = together.certificate(0.99)
    assert c.mistake_bound == pytest.approx(sum(p.mistake_bound for p in parts), rel=1e-9)
    assert c.regret_bound == pytest.approx(sum(p.regret_bound for p in parts), rel=1e-9)
    assert c.confident_mistake_bound == pytest.approx(sum(p.confident_mistake_bound for p in parts), rel=1e-9)
    assert (c.noise_rate, c.margin) == (max(p.noise_rate for p in parts), min(p.margin for p in parts))
    assert (c.rounds, c.mistakes, c.confidence) == (100, together.mistakes, 0.99)


def test_a_council_is_charged_for_what_it_lost_to_its_default():
    learner = Drifting(5, 50, seed=1)
    learner.learn_many(X, Y)
    lost = learner._t[mixture.EXPECTED] - learner.steady._t[mixture.WRONG]
    own, c = learner.steady.certificate(), learner.certificate()
    assert 0 < lost < theory.council_default_price(learner._t[mixture.SPLIT])
    assert c.mistake_bound == pytest.approx(own.mistake_bound + lost)
    assert c.regret_bound == pytest.approx(own.regret_bound + lost)
    assert c.confident_mistake_bound == pytest.approx(own.confident_mistake_bound + lost)
    assert (c.mistakes, c.rounds, c.noise_rate) == (learner.mistakes, 2000, own.noise_rate)
    cheap = own.charged(-5.0, own.mistakes - 5)
    assert cheap.mistake_bound == own.mistake_bound, "who did better than the learner followed paid nothing"
    assert not own.charged(0.0, own.confident_mistake_bound + 1).holds
