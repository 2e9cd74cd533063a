"""The certificate: its arithmetic, its coverage, and what it says."""

import numpy as np
import pytest

from massart import Halfspace, theory, worlds
from massart.errors import InvalidParameterError
from massart.kernels.door import Rows
from massart.kernels.learning import halfspace as kernel
from massart.kernels.learning import mixture
from massart.kernels.learning import pool as pool_kernel
from massart.kernels.learning.pool import DIAGONAL
from massart.learners.certificate import Certificate
from massart.learners.certify import Prod
from massart.learners.drift import Drifting
from massart.learners.halfspace import initial_state
from massart.learners.multiclass import OneVsRest, make_learner
from massart.learners.pool import NOISE_RATES, Pool
from massart.options import LearnerOptions

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 5))
Y = np.where((X[:, 0] >= 0) ^ (RNG.random(2000) < 0.1), 1.0, -1.0)


def learned(**options):
    learner = Halfspace(5, 0.1, 0.05, **options)
    learner.learn_many(X, Y)
    return learner


OPTIONS = [{}, {"optimizer": "adagrad-norm"}, {"horizon": 2000}, {"update": "paper"}]


@pytest.mark.parametrize("weight", [1.0, 0.25])
@pytest.mark.parametrize("options", OPTIONS)
def test_bounds_and_evidence_are_those_of_theory_on_the_path(options, weight):
    """tests/kernels compares the path's sums with their definitions; here they become Theorem 12."""
    learner = Halfspace(5, 0.1, 0.05, **options)
    learner.learn_many(X, Y, np.full(2000, weight))
    c, s = learner.certificate(confidence=0.95), learner._s
    squares = float(s[kernel.State.SQUARES])
    exact = float(s[kernel.State.LINEAR]) + float(s[kernel.State.NORM2]) ** 0.5
    if options.get("update") == "paper":
        slack = weight * sum(theory.paper_slack(0.1, 0.05, t) for t in range(1, 2001)) / 2
        regret = slack + 2 / float(s[kernel.State.STEP]) + float(s[kernel.State.STEPPED]) / 2
    elif "optimizer" in options:
        regret = theory.adagrad_regret(squares)
    else:
        regret = exact
        closed = theory.fixed_regret(theory.fixed_step(0.1, 0.05, 2000), squares)
        cap = theory.gradient_cap(0.1, 0.05)
        assert exact <= closed if "horizon" in options else exact <= theory.ftrl_regret(cap, squares)
        assert squares <= weight**2 * theory.squared_gradients_bound(2000, learner.mistakes, 0.1, 0.05) * (1 + 1e-12)
    floor = float(s[kernel.State.FLOOR]) if options.get("update") == "paper" else 0.05
    spreads, scale = [(float(s[kernel.State.SPREAD]), weight * (1 + floor) / floor)], weight * 1.05 / 0.05
    assert c.regret_bound == pytest.approx(regret, rel=1e-9)
    assert c.mistake_bound == pytest.approx(200 * weight + regret, rel=1e-9)
    chance = theory.anytime_deviation(0.95, spreads, scale)
    assert c.confident_mistake_bound == pytest.approx(200 * weight + regret + chance, rel=1e-9)
    excess = weight * learner.mistakes - 200 * weight - regret
    assert c.evidence == pytest.approx(np.exp(theory.anytime_evidence(excess, spreads, scale)), rel=1e-6)
    assert (c.rounds, c.mistakes) == (2000 * weight, weight * learner.mistakes)
    assert (c.noise_rate, c.margin, c.confidence) == (0.1, 0.05, 0.95)
    assert c.constant_mistakes == weight * min(np.count_nonzero(Y > 0), np.count_nonzero(Y < 0))
    assert c.applies
    assert c.holds


def test_observed_bound_is_below_the_closed_one():
    assert learned().certificate().mistake_bound < theory.ftrl_mistake_bound(0.1, 0.05, 2000)


def test_before_the_first_round_nothing_is_promised_and_nothing_broken():
    for learner in (Halfspace(3, 0.1, 0.1), Halfspace(3, 0.1, 0.1, update="paper"), Pool(3), Drifting(3, 10)):
        certificate = learner.certificate()
        assert (certificate.rounds, certificate.mistakes, certificate.holds) == (0, 0, True)
        assert (certificate.evidence, certificate.verdict) == (0.0, "says nothing yet")
        assert str(certificate) == "says nothing yet: no round has been learned"
        assert learner.lower_noise_rate() == 0.0


def test_weights_count_as_rounds():
    light, heavy = Halfspace(5, 0.1, 0.05), Halfspace(5, 0.1, 0.05)
    light.learn_many(X, Y)
    heavy.learn_many(X, Y, np.full(2000, 4.0))
    one, four = light.certificate(), heavy.certificate()
    assert four.rounds == 4 * one.rounds
    assert four.mistakes == 4 * one.mistakes, "scaling all weights scales the learner: ftrl is scale free"
    assert four.regret_bound == pytest.approx(4 * one.regret_bound, rel=1e-9)
    assert four.confident_mistake_bound == pytest.approx(4 * one.confident_mistake_bound, rel=1e-9)
    assert four.evidence == pytest.approx(one.evidence, rel=1e-6), "evidence has no unit"
    assert four.applies


def test_rows_longer_than_one_widen_the_deviation():
    """a = (margin + |x|) / m, of each row as long as it is."""
    long = Halfspace(5, 0.1, 0.05, normalize=False)
    spread = largest = 0.0
    for x, y in zip(4.0 * X[:300], Y, strict=False):
        before = long.copy()
        u = abs(long.learn(x, y))
        length = np.sqrt(x @ x + 1)
        if (
            long._s[kernel.State.CAP] > before._s[kernel.State.CAP]
        ):  # a row longer than any before lowers w before it is learned
            u *= np.sqrt(before._s[kernel.State.CAP] ** 2 + before._s[kernel.State.SQUARES])
            u /= np.sqrt(long._s[kernel.State.CAP] ** 2 + before._s[kernel.State.SQUARES])
        a = (0.05 + length) / (u + 0.05)
        spread, largest = spread + 0.1 * 0.9 * a * a, max(largest, (0.05 + length) / 0.05)
    assert long._s[kernel.State.SPREAD] == pytest.approx(spread, rel=1e-3)
    c = long.certificate()
    chance = theory.anytime_deviation(0.99, [(spread, largest)], 1.05 / 0.05)
    assert c.confident_mistake_bound - c.mistake_bound == pytest.approx(chance, rel=1e-3)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 2, float("nan")])
def test_confidence_is_a_probability(confidence):
    for learner in (learned(), Pool(5), Drifting(5, 10), OneVsRest([Pool(5) for _ in range(3)])):
        with pytest.raises(InvalidParameterError, match="confidence"):
            learner.certificate(confidence)


def certificate(mistakes=120.0, sure=260.0, expected=180.0, holds=True, constant=450.0, rounds=1000.0, rate=0.1):
    return Certificate(
        rounds, mistakes, rate, 0.05, 80.0, expected, sure, 0.99, holds, evidence=0.1, constant_mistakes=constant
    )


def test_it_speaks_in_three_forms():
    within = certificate()
    assert (within.verdict, within.says_nothing) == ("within the bound", False)
    assert (
        str(within)
        == within.sentence
        == (
            "within the bound: 120 mistakes in 1,000 rounds; at most 260 at 0.99, at most 180 expected, "
            "for noise rate 0.1, margin 0.05"
        )
    )
    assert "more than 180 expected" in str(certificate(mistakes=200.0)), "never at most what has been exceeded"
    assert "expected" not in str(certificate(expected=260.0)), "a pool has no bound on its expectation"
    broken = certificate(mistakes=300.0, holds=False)
    assert broken.verdict == "contradicts the declaration"
    assert str(broken) == (
        "contradicts the declaration: 300 mistakes in 1,000 rounds; the labels rule out noise rate 0.1, margin 0.05 "
        "at confidence 0.99: the noise rate is higher or the margin smaller"
    )
    silent = certificate(sure=600.0)
    assert (silent.verdict, silent.says_nothing) == ("says nothing yet", True)
    assert str(silent) == (
        "says nothing yet: 120 mistakes in 1,000 rounds, bound 600 at 0.99 for noise rate 0.1, margin 0.05; "
        "always answering the more frequent label makes 450; needs about 2,041 rounds at this rate"
    )


def test_sums_of_weights_are_not_called_counts():
    """Where rounds and mistakes are weights, the sentence says so; with weights of 1 it does not."""
    for make in (lambda **own: Halfspace(5, 0.1, 0.05, **own), lambda **own: Pool(5, **own)):
        plain, by_class = make(), make(class_weight=(1.0, 3.0))
        plain.learn_many(X[:200], Y[:200])
        by_class.learn_many(X[:200], Y[:200])
        assert "200 rounds" in str(plain.certificate())
        assert "of weight" not in str(plain.certificate())
        assert "in rounds of weight" in str(by_class.certificate())


def test_it_never_agrees_with_more_mistakes_than_its_bound():
    """Where no verdict may blame the stream, because of weights, it says nothing instead of "within"."""
    odd = certificate(mistakes=300.0).replace(applies=False)
    assert (odd.verdict, odd.says_nothing) == ("says nothing yet", False)
    assert str(odd) == (
        "says nothing yet: 300 mistakes in 1,000 rounds; nothing is proved for weights that a label decides, "
        "rows learned twice, or shards that were mixed"
    )


@pytest.mark.parametrize(
    ("sure", "constant", "silent"),
    [(449.9, 450.0, False), (450.0, 450.0, True), (499.9, 800.0, False), (500.0, 800.0, True), (0.0, 0.0, True)],
)
def test_it_says_something_only_below_what_guessing_gives(sure, constant, silent):
    """Below the rarer label's count, and below half of the rounds."""
    c = certificate(mistakes=0.0, sure=sure, expected=0.0, constant=constant)
    assert c.says_nothing is silent
    assert (c.verdict == "says nothing yet") is silent


def test_rounds_needed_if_the_excess_grows_like_the_root():
    """At n times the rounds the excess of 500 becomes 500 sqrt(n), the room 0.35 * 1000 n: equal at n = 2.04."""
    c = certificate(sure=600.0)
    n = c.rounds_needed / 1000
    assert 500 * np.sqrt(n) == pytest.approx(350 * n, rel=1e-3)
    assert certificate(sure=600.0, constant=100.0).rounds_needed is None, "the noise rate is that of a constant"
    assert "no number of rounds is enough while the rarer label is no more frequent than the noise rate" in str(
        certificate(sure=600.0, constant=100.0)
    )
    assert certificate(rounds=0.0).rounds_needed is None


def test_unequal_weights_are_never_blamed_on_the_stream():
    """Weights that favour wrong labels, which the software cannot know: no verdict, no limit for the noise rate."""
    y = np.where(X[:, 0] >= 0, 1.0, -1.0)
    for make in (lambda: Halfspace(5, 0.0, 0.9), lambda: Pool(5, grid=[(0.0, 0.9, True)]), lambda: Pool(5)):
        learner = make()
        flipped = RNG.random(2000) < 0.5
        labels = np.where(flipped, -y, y).astype(np.int8)
        learner.learn_rows(Rows.of(X), labels, np.where(flipped, 5.0, 1.0))
        c = learner.certificate()
        assert (c.holds, c.applies) == (True, False)
        assert c.verdict == ("within the bound" if c.mistakes <= c.confident_mistake_bound else "says nothing yet")
        assert learner.lower_noise_rate() == 0.0
    equal = Halfspace(5, 0.0, 0.9)
    equal.learn_many(X, labels, np.full(2000, 5.0))
    assert (equal.certificate().holds, equal.certificate().applies) == (False, True)


def test_rounding_does_not_make_weights_unequal():
    """0.1 added up 2,000 times is not 200."""
    for learner in (Halfspace(5, 0.1, 0.05), Pool(5)):
        learner.learn_rows(Rows.of(X), Y.astype(np.int8), np.full(2000, 0.1))
        assert learner.certificate().applies


def test_what_is_known_not_to_be_proved_is_not_certified():
    labels = RNG.choice([-1, 1], size=2000)
    for make in (lambda: Halfspace(5, 0.0, 0.9), lambda: Pool(5, grid=[(0.0, 0.9, True)]), lambda: Drifting(5, 50)):
        learner = make()
        learner.mark_unproved()
        learner.learn_many(X, labels)
        assert (learner.certificate().holds, learner.certificate().applies) == (True, False)
        assert learner.lower_noise_rate() == 0.0
        assert not learner.copy().certificate().applies


@pytest.mark.parametrize("classes", [(1.0, 2.0), (3.0, 1.0)])
def test_class_weights_change_the_noise_rate_and_weigh_mistakes(classes):
    """Theorem 13: rounds, mistakes and the constant's are weighted; the path's sums are those of weighted rows."""
    rate = theory.class_weight_noise_rate(0.1, classes[0] / classes[1])
    learner = Halfspace(5, 0.1, 0.05, class_weight=classes)
    scores = learner.learn_many(X, Y)
    c, s = learner.certificate(), learner._s
    cost = np.where(Y > 0, classes[1], classes[0])
    assert c.noise_rate == pytest.approx(rate)
    assert c.rounds == cost.sum()
    assert c.mistakes == cost[(scores >= 0) != (Y > 0)].sum()
    assert c.constant_mistakes == min(cost[Y > 0].sum(), cost[Y < 0].sum())
    assert learner.positive_weight == np.count_nonzero(Y > 0)
    assert learner.class_weight == classes
    largest = max(classes) * 1.05 / 0.05
    chance = theory.anytime_deviation(0.99, [(float(s[kernel.State.SPREAD]), largest)], largest)
    regret = float(s[kernel.State.LINEAR]) + float(s[kernel.State.NORM2]) ** 0.5
    assert c.confident_mistake_bound == pytest.approx(rate * cost.sum() + regret + chance)
    assert (c.applies, c.holds) == (True, True)


def test_class_weights_both_two_are_weights_of_two():
    """To the last number of the certificate; a learner knows which of them were weights of rows."""
    for make in (
        lambda **o: Halfspace(5, 0.1, 0.05, **o),
        lambda **o: Pool(5, **o),
        lambda **o: Drifting(5, 9, **o),
    ):
        by_class, by_row = make(class_weight=(2.0, 2.0)), make()
        by_class.learn_many(X, Y)
        by_row.learn_rows(Rows.of(X), Y.astype(np.int8), np.full(2000, 2.0))
        assert by_class.certificate().asdict() == pytest.approx(by_row.certificate().asdict())
        assert by_class.lower_noise_rate() == pytest.approx(by_row.lower_noise_rate())
        assert np.array_equal(by_class.leaders(), by_row.leaders())


def test_class_weights_for_which_nothing_is_proved():
    """0.2 at a ratio of 100 is a rate of 0.96: the learner learns, and certifies nothing."""
    for learner in (
        Halfspace(5, 0.2, 0.05, class_weight=(1.0, 100.0)),
        make_learner(5, LearnerOptions(0.2, class_weight=(1.0, 100.0))),
        make_learner(5, LearnerOptions(0.2, horizon=100, class_weight=(1.0, 100.0))),
    ):
        learner.learn_many(X, RNG.choice([-1, 1], size=2000))
        assert (learner.certificate().holds, learner.certificate().applies) == (True, False)
        assert np.isfinite(learner.leaders()).all()


def test_the_limit_before_class_weights_is_the_users():
    """Declared 0.05 with weights 1 and 2, labels are coins: what is ruled out is a rate of unweighted flips."""
    learner = Halfspace(5, 0.05, 0.5, class_weight=(1.0, 2.0))
    learner.learn_many(X, RNG.choice([-1, 1], size=2000))
    assert not learner.certificate().holds
    assert learner.lower_noise_rate() == pytest.approx(0.05)


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
@pytest.mark.parametrize("classes", [(1.0, 1.0), (1.0, 2.0)])
def test_mixture_speaks_through_its_tightest_believable_expert(voting, weight, hostile, classes):
    """The smallest sum of an expert's own bound, of what the answers were expected to lose beyond its mistakes, and of
    what chance can add to both, each expert at its share of the doubt (Theorem 14); of those that neither
    mistakes nor evidence, the mean of three e-values, rule out."""
    grid = [(rate, 0.05, constant) for rate in (0.0, 0.1, 0.3) for constant in (True, False)]
    pool = Pool(5, grid=grid, voting=voting, class_weight=classes)
    weights = np.ones(SHORT) if weight is None else np.where(np.arange(SHORT) % 2, weight, 1.0)
    y = against_the_vote(pool.copy(), weights) if hostile else Y[:SHORT].astype(np.int8)
    pool.learn_rows(Rows.of(X[:SHORT]), y, weights)
    t = pool._t
    coins = (float(t[mixture.Total.COINS]), float(weights.max() * max(classes)))
    heaviest, first = coins[1], float(weights[0] * max(classes))
    alones = {}
    for k, (rate, margin, constant) in enumerate(grid):
        alone = alones[rate, constant] = Halfspace(5, rate, margin, class_weight=classes, fit_intercept=constant)
        alone._rule[kernel.Rule.ETA] = rate  # a pool's rates are those of weighted mistakes
        alone._s[: len(kernel.State)] = initial_state(alone._rule)
        alone.learn_many(X[:SHORT], y, weights)
        assert pool._M[mixture.Member.LOSS, DIAGONAL + k] == alone.certificate().mistakes
    bounds, evidences = {}, []
    for (rate, constant), alone in alones.items():
        own, s = alone.certificate(), alone._s
        price = max(0.0, t[mixture.Total.EXPECTED] - own.mistakes)
        spreads = [(float(s[kernel.State.SPREAD]), float(s[kernel.State.HEAVIEST]) * 1.05 / 0.05)]
        scale = first * 1.05 / 0.05
        chance = theory.anytime_deviation(1 - 0.05 / 6, [*spreads, coins], scale)
        excess, tossed = own.mistakes - own.mistake_bound, float(t[mixture.Total.WRONG] - t[mixture.Total.EXPECTED])
        e_values = [
            np.exp(theory.anytime_evidence(excess, spreads, scale)),
            np.exp(theory.anytime_evidence(excess + tossed, [*spreads, coins], scale)),
        ]
        if classes == (1.0, 1.0):
            directions = [
                theory.direction_evidence(
                    rate,
                    0.05,
                    2 * 0.05 * float(other._s[kernel.State.NORM2]) ** 0.5,
                    float(other._s[kernel.State.INVERSE]),
                    1 - 2 * declared,
                    heaviest=heaviest,
                    scale=first,
                )
                for (declared, like), other in alones.items()
                if like == constant
            ]
            e_values.append(np.mean(np.exp(directions)))
        evidences.append(np.mean(e_values))
        bound = own.mistake_bound + price + chance
        if t[mixture.Total.WRONG] <= bound and evidences[-1] < 6 / 0.05:
            bounds[bound] = (rate, price, own)
    bound, (rate, price, own) = min(bounds.items())
    assert (price > 0) == hostile
    c = pool.certificate(0.95)
    assert (c.noise_rate, c.margin, c.holds, c.confidence) == (rate, 0.05, True, 0.95)
    assert c.confident_mistake_bound == pytest.approx(bound, rel=1e-6)
    assert c.mistake_bound == c.confident_mistake_bound, "the expert is named after the fact"
    assert c.regret_bound == pytest.approx(own.regret_bound + price, rel=1e-6)
    cost = weights * np.where(y > 0, classes[1], classes[0])
    assert c.rounds == pytest.approx(cost.sum())
    assert c.constant_mistakes == pytest.approx(min(cost[y > 0].sum(), cost[y < 0].sum()))
    assert c.mistakes == t[mixture.Total.WRONG]
    assert c.applies == (weight is None)
    assert c.evidence == pytest.approx(min(evidences), rel=1e-4)
    if voting == "majority":
        assert t[mixture.Total.EXPECTED] == c.mistakes, "without coins the answers lose what they were expected to"


def test_a_pool_of_one_expert_has_a_bound_on_its_expectation():
    pool = Pool(5, grid=[(0.1, 0.05, True)])
    pool.learn_many(X[:SHORT], Y[:SHORT])
    alone = Halfspace(5, 0.1, 0.05)
    alone.learn_many(X[:SHORT], Y[:SHORT])
    price = max(0.0, pool._t[mixture.Total.EXPECTED] - alone.mistakes)
    c = pool.certificate()
    assert c.mistake_bound == pytest.approx(alone.certificate().mistake_bound + price)
    assert c.mistake_bound < c.confident_mistake_bound


def test_mixture_contradicts_when_no_expert_can_be_believed():
    """Coins for labels: half of the answers are wrong, which no noise rate of 0 or 0.1 allows at a margin of 0.5."""
    pool = Pool(5, grid=[(rate, margin, True) for rate in (0.0, 0.1) for margin in (0.9, 0.5)])
    pool.learn_many(X, RNG.choice([-1, 1], size=2000))
    c = pool.certificate()
    assert not c.holds
    assert c.evidence > 100
    assert (c.noise_rate, c.margin) == (0.1, 0.5), "the least demanding of them is named"
    assert 0.1 <= pool.lower_noise_rate() < 0.5


def flipped(noise, rounds, seed=1):
    """Rows of margin at least 0.5, through the origin, and labels that lie at this rate."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rounds, 3))
    rows[:, 0] = np.sign(rows[:, 0]) * 2.0
    rows[:, 1:] *= 0.5
    rows[:, 1:] /= np.maximum(1.0, np.linalg.norm(rows[:, 1:], axis=1, keepdims=True) / 3.0)
    return rows, np.sign(rows[:, 0]) * np.where(rng.random(rounds) < noise, -1, 1)


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("kind", ["told", "pool"])
def test_lower_noise_rate_rises_to_the_noise_rate_and_not_above(kind, noise):
    """Nothing at first; never above the truth (at 0.99, on fixed seeds); in the end above half of it, or, for who was
    told a lower rate, that rate: its own gradients can rule out no more."""
    rows, y = flipped(noise, 20_000)
    if kind == "told":
        learner = Halfspace(3, 0.05, 0.5, fit_intercept=False)
    else:
        learner = Pool(3, grid=[(rate, 0.5, False) for rate in (0.05, 0.15, 0.25, 0.35)], fit_intercept=False)
    seen, start = [], 0
    for stop in (5, 500, 5_000, 20_000):
        learner.learn_many(rows[start:stop], y[start:stop])
        seen.append(learner.lower_noise_rate())
        assert learner.lower_noise_rate(0.9999) <= seen[-1]
        start = stop
    assert seen[0] == 0.0
    assert max(seen) <= noise
    assert seen[-1] >= (min(0.05, noise / 2) if kind == "told" else noise / 2)
    assert learner.certificate().holds == (noise <= (0.05 if kind == "told" else 0.35))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coin_labels_are_found_out_by_the_default_pool(fit_intercept):
    """At its smallest margins, 1/16 with the constant coordinate and 1/128 without, 20,000 rounds are enough."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(20_000, 5))
    pool = Pool(5, fit_intercept=fit_intercept)
    pool.learn_many(rows, rng.choice([-1, 1], size=20_000))
    assert 0.05 < pool.lower_noise_rate() < 0.5


def test_coin_labels_are_found_out_in_a_thousand_rounds_at_a_larger_margin():
    """The experts of higher noise rates, whose steps lean less on their own answers, find out more."""
    rng = np.random.default_rng(2)
    pool = Pool(5, grid=[(rate, 1 / 16, True) for rate in NOISE_RATES])
    pool.learn_many(rng.normal(size=(1000, 5)), rng.choice([-1, 1], size=1000))
    assert 0.05 < pool.lower_noise_rate() < 0.5


@pytest.mark.parametrize("options", [{"optimizer": "adagrad-norm"}, {"update": "paper"}])
def test_without_the_sum_of_gradients_the_limit_is_the_declared_rate_or_nothing(options):
    learner = Halfspace(5, 0.05, 0.9, **options)
    learner.learn_many(X, Y)
    rate = learner.lower_noise_rate()
    assert rate == (0.0 if learner.certificate(0.995).holds else 0.05)


@pytest.mark.parametrize("kind", ["told", "pool", "drifting"])
def test_classes_add_up(kind):
    """A wrong class needs a wrong halfspace: bounds add up, each asked for a third of the doubt, up to all rounds."""
    make = {
        "told": lambda: Halfspace(5, 0.1, 0.3),
        "pool": lambda: Pool(5, grid=[(0.05, 0.5, True)]),
        "drifting": lambda: Drifting(5, 40, grid=[(0.05, 0.5, True)]),
    }[kind]
    rounds = 500
    labels = RNG.integers(0, 3, size=rounds) * (RNG.random(rounds) < 0.2)
    together = OneVsRest([make() for _ in range(3)])
    together.learn_rows(Rows.of(X[:rounds]), labels)
    parts = []
    for k in range(3):
        one = make()
        one.learn_many(X[:rounds], np.where(labels == k, 1, -1))
        parts.append(one.certificate(1 - 0.01 / 3))
    c = together.certificate(0.99)
    assert sum(p.mistake_bound for p in parts) < rounds
    assert c.mistake_bound == pytest.approx(sum(p.mistake_bound for p in parts), rel=1e-9)
    assert c.regret_bound == pytest.approx(sum(p.regret_bound for p in parts), rel=1e-9)
    total = sum(p.confident_mistake_bound for p in parts)
    assert c.confident_mistake_bound == pytest.approx(min(rounds, total), rel=1e-9)
    assert c.evidence == pytest.approx(np.mean([p.evidence for p in parts]))
    assert c.constant_mistakes == rounds - np.bincount(labels).max()
    assert (c.noise_rate, c.margin) == (max(p.noise_rate for p in parts), min(p.margin for p in parts))
    assert (c.rounds, c.mistakes, c.confidence) == (rounds, together.mistakes, 0.99)


def test_classes_are_cut_at_the_rounds():
    together = OneVsRest([Pool(5) for _ in range(3)])
    together.learn_rows(Rows.of(X[:100]), RNG.integers(0, 3, size=100))
    c = together.certificate()
    assert c.mistake_bound == c.confident_mistake_bound == 100
    assert c.verdict == "says nothing yet"


def test_classes_with_weights_count_unweighted_answers():
    """A mistake of member k weighs at least its lighter class weight, so its bound is divided by that."""
    pairs = [(1.0, 0.5), (1.0, 2.0), (1.0, 1.0)]
    labels = RNG.integers(0, 3, size=500)
    together = OneVsRest([Halfspace(5, 0.05, 0.9, class_weight=pair) for pair in pairs])
    together.learn_rows(Rows.of(X[:500]), labels)
    parts = [member.certificate(1 - 0.01 / 3) for member in together.members]
    c = together.certificate()
    expected = sum(p.mistake_bound / min(pair) for p, pair in zip(parts, pairs, strict=True))
    assert c.mistake_bound == pytest.approx(min(500, expected))
    assert (c.rounds, c.mistakes) == (500, together.mistakes)
    assert c.constant_mistakes == 500 - np.bincount(labels).max()


@pytest.mark.parametrize("voting", ["sample", "majority"])
def test_a_mixture_pays_for_what_it_lost_to_its_default_and_for_its_draws(voting):
    learner = Drifting(5, 50, seed=1, voting=voting, grid=[(0.1, 0.05, True)])
    learner.learn_many(X, Y)
    own, c = learner.steady.certificate(), learner.certificate()
    t, steady, S = learner._t, learner.steady._t, learner.steady._S
    lost = t[mixture.Total.EXPECTED] - steady[mixture.Total.WRONG]
    assert 0 < lost < theory.prod_default_price(t[mixture.Total.SPLIT])
    price = steady[mixture.Total.EXPECTED] + lost - learner.steady._M[mixture.Member.LOSS, DIAGONAL]
    regret = S[pool_kernel.Column.LINEAR, DIAGONAL] + S[pool_kernel.Column.NORM2, DIAGONAL] ** 0.5
    assert c.regret_bound == pytest.approx(regret + max(0.0, price))
    assert c.mistake_bound == pytest.approx(0.1 * 2000 + regret + max(0.0, price))
    spreads = [
        (0.1 * 0.9 * S[pool_kernel.Column.SPREAD, DIAGONAL], 1.05 / 0.05),
        (steady[mixture.Total.COINS], 1.0),
        (t[mixture.Total.COINS], 1.0),
    ]
    chance = theory.anytime_deviation(0.99, spreads, 1.05 / 0.05)
    assert c.confident_mistake_bound == pytest.approx(c.mistake_bound + chance)
    assert t[mixture.Total.COINS] > 0
    assert (c.mistakes, c.rounds, c.noise_rate) == (learner.mistakes, 2000, own.noise_rate)
    worse = Prod(c.mistakes, float(t[mixture.Total.EXPECTED]) + 5000.0, 0.0, 1.0)  # had it expected to lose more
    dear = learner.steady.certificate_with(worse, 0.99)
    assert dear.regret_bound == pytest.approx(regret + price + 5000.0)
    assert dear.evidence <= c.evidence
