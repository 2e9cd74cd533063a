"""A target that moves: what forgetting gains, what it costs when nothing moves, and that fading is weighting."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import Halfspace, MassartClassifier, theory, worlds
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.door import Rows
from massart.kernels.learning import mixture
from massart.kernels.learning import pool as kernel
from massart.kernels.learning.pool import DIAGONAL, FEW
from massart.learners.drift import Drifting, fade
from massart.learners.pool import Pool

T, WIDTH = 12_000, 10
Z = 4.0


def stream(kind, seed, rounds=T, noise=0.1):
    """Gaussian rows, labels of a halfspace that stays, jumps to its opposite every 2,000 rounds, or turns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, WIDTH))
    t = np.arange(rounds)
    if kind == "jumps":
        clean = X[:, 0] * np.where(t // 2000 % 2, -1, 1)
    elif kind == "turns":
        angle = 2 * np.pi * t / 8000
        clean = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    else:
        clean = X[:, 0]
    return X, np.where(clean > 0, 1, -1) * np.where(rng.random(rounds) < noise, -1, 1)


@pytest.mark.parametrize(("kind", "rounds", "horizon"), [("jumps", T, 200), ("turns", 40_000, 500)])
@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
def test_a_moving_target_is_followed(kind, rounds, horizon, width):
    """Fewer mistakes than a pool without, by Z standard errors: of n rows that only one of them got wrong, sqrt(n)."""
    gain, split = 0, 0
    for seed in range(3):
        X, y = stream(kind, seed, rounds)
        X = np.hstack([X, np.random.default_rng(seed).normal(size=(rounds, width - WIDTH))])
        steady, drifting = Pool(width, seed=seed, forgetting=False), Drifting(width, horizon, seed=seed)
        wrong = [(learner.learn_many(X, y) >= 0) != (y > 0) for learner in (steady, drifting)]
        assert drifting.mistakes == np.count_nonzero(wrong[1])
        gain += steady.mistakes - drifting.mistakes
        split += np.count_nonzero(wrong[0] != wrong[1])
    assert gain > Z * np.sqrt(split)


@pytest.mark.parametrize("voting", ["sample", "majority"])
@pytest.mark.parametrize("kind", ["stays", "jumps", "turns"])
def test_the_mixture_pays_at_most_its_price(kind, voting):
    """On every path EXPECTED <= mistakes of the pool that remembers + a logarithm, <= those of the other + a root."""
    for seed in range(5):
        X, y = stream(kind, seed, 4000)
        learner = Drifting(WIDTH, 100, seed=seed, voting=voting)
        scores = learner.learn_many(X, y)
        t, split = learner._t, learner._t[mixture.Total.SPLIT]
        assert t[mixture.Total.VOTED] == learner.steady.mistakes
        assert t[mixture.Total.DRAWN] == learner.recent.mistakes
        assert t[mixture.Total.EXPECTED] <= learner.steady.mistakes + theory.prod_default_price(split)
        assert t[mixture.Total.EXPECTED] <= learner.recent.mistakes + theory.prod_price(split)
        assert learner.rounds == 4000
        assert learner.mistakes == np.count_nonzero((scores >= 0) != (y > 0))


def test_what_stays_costs_a_logarithm():
    """Mean over seeds of mistakes less those of the pool that remembers: the price, and Z standard errors."""
    extra, price = [], []
    for seed in range(40):
        X, y = stream("stays", seed, 2000)
        learner = Drifting(WIDTH, 50, seed=seed)
        learner.learn_many(X, y)
        extra.append(learner.mistakes - learner.steady.mistakes)
        price.append(theory.prod_default_price(learner._t[mixture.Total.SPLIT]))
        assert learner.steady.mistakes < learner.recent.mistakes
        assert learner.leader is learner.steady
    assert np.mean(extra) <= np.mean(price) + Z * np.std(extra, ddof=1) / np.sqrt(40)
    assert np.ptp(extra) > 0, "random numbers were drawn"


def test_a_turning_world_in_which_nothing_else_is_wrong():
    world = worlds.make("turning-target", base="random-noise", angle_per_round=1e-3, seed=1)
    chunk = next(world.chunks(20_000, size=20_000))
    fixed, moving = Pool(world.dimension), Drifting(world.dimension, 500)
    for learner in (fixed, moving):
        learner.learn_many(chunk.X, chunk.y)
    assert moving.mistakes < fixed.mistakes - Z * np.sqrt(fixed.mistakes)


@pytest.mark.parametrize("voting", ["sample", "majority"])
@pytest.mark.parametrize("factor", [2.0**-30, 0.01, 3.0])
def test_fading_is_weighting(voting, factor):
    """Faded by f, then taught rows of weight f c, a pool is one taught rows of weight c: all of them weigh less.

    A factor that is a power of two changes no bit of any quotient, so long streams agree; others round, and the
    rounding grows from round to round (short streams, loose tolerance). The squares of Prod are not discounted.
    """
    X, y = stream("stays", 0, 500)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(500, FEW + 1 - WIDTH))])  # no full matrix: it begins anew
    rows, y = Rows.of(X), y.astype(np.int8)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=500)
    exact = factor == 2.0**-30
    first = np.arange(400 if exact else 100, dtype=np.uint64)
    then = np.arange(first.size, first.size + (100 if exact else 20), dtype=np.uint64)
    plain, faded = (Pool(X.shape[1], voting=voting, seed=3, forgetting=False) for _ in range(2))
    for pool in (plain, faded):
        pool.learn_rows(rows, y, weight, first)
    fade(faded, factor)
    scores = np.empty(then.size), np.empty(then.size)
    plain.learn_rows(rows, y, weight, then, scores=scores[0])
    faded.learn_rows(rows, y, factor * weight, then, scores=scores[1])
    near = {"rtol": 1e-9 if exact else 1e-6, "atol": 1e-12 if exact else 1e-9}
    np.testing.assert_allclose(scores[1], scores[0], **near)
    np.testing.assert_allclose(faded.leaders(), plain.leaders(), **near)
    np.testing.assert_allclose(faded.columns(), plain.columns(), **near)
    assert (faded.rounds, faded.mistakes) == (plain.rounds, plain.mistakes)
    assert list(faded.shares()) == list(plain.shares())
    mine, yours = faded.certificate(), plain.certificate()
    for name in ("rounds", "mistakes", "regret_bound", "mistake_bound", "confident_mistake_bound"):
        assert getattr(mine, name) == pytest.approx(factor * getattr(yours, name), rel=1e-6), name
    assert mine.constant_mistakes == pytest.approx(factor * yours.constant_mistakes, rel=1e-9)
    assert mine.evidence == pytest.approx(yours.evidence, rel=1e-6), "evidence has no unit"
    names = ("WEIGHT", "WRONG", "EXPECTED", "FIRST", "POSITIVES", "HEAVIEST")
    for name, power in (*((name, 1) for name in names), ("COINS", 2), ("WEIGHT2", 2)):
        place = mixture.Total[name]
        assert faded._t[place] == pytest.approx(factor**power * plain._t[place], rel=1e-6), name
    for name, power in (("LINEAR", 1), ("INVERSE", 1), ("SPREAD", 2), ("NORM2", 2), ("SQUARES", 2)):
        own = kernel.Column[name]
        expected = factor**power * plain._S[own, DIAGONAL : DIAGONAL + 8]
        np.testing.assert_allclose(faded._S[own, DIAGONAL : DIAGONAL + 8], expected, rtol=1e-6)


def test_weights_begin_again_without_a_jump():
    """Every 20 horizons the pool that forgets is faded; a pool that is never faded learns the same."""
    horizon, rounds = 3, 200  # fades at round 60, 120, 180
    X, y = stream("stays", 0, rounds)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(rounds, FEW + 1 - WIDTH))])
    learner = Drifting(X.shape[1], horizon, voting="majority")
    learner.learn_many(X, y)
    never = Pool(X.shape[1], voting="majority")
    never.learn_rows(Rows.of(X), y.astype(np.int8), np.exp(np.arange(rounds) / horizon))
    assert learner.recent.mistakes == never.mistakes
    np.testing.assert_allclose(learner.recent.leaders(), never.leaders(), rtol=1e-6, atol=1e-9)
    assert learner.recent._t[mixture.Total.WEIGHT] < np.exp(20) * 4


@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
@pytest.mark.parametrize("horizon", [1, 2.5, 30])
def test_batches_do_not_matter(width, horizon):
    """In one call, in pieces that cross the end of a period, and row by row: the same bits."""
    X, y = stream("jumps", 0, 400)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(400, width - WIDTH))])
    whole = Drifting(width, horizon, seed=1)
    scores = whole.learn_many(X, y)
    for cuts in ([1, 2, 77, 399], list(range(1, 400)), [50, 50, 250]):
        for form in (np.asarray, sp.csr_matrix):
            pieces = Drifting(width, horizon, seed=1)
            given = [pieces.learn_many(form(X[at]), y[at]) for at in np.split(np.arange(400), cuts) if at.size]
            assert np.array_equal(np.concatenate(given), scores)
            for name, array in whole.arrays().items():
                assert np.array_equal(array, pieces.arrays()[name]), name


def test_rows_taken_twice_in_one_order():
    """Copies of a row come with the weights of their own rounds."""
    X, y = stream("stays", 0, 50)
    order = np.random.default_rng(0).integers(0, 50, size=300).astype(np.uint64)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=50)
    at_once, spelled = Drifting(WIDTH, 20), Drifting(WIDTH, 20)
    at_once.learn_rows(Rows.of(X), y.astype(np.int8), weight, order)
    taken = order.astype(int)
    spelled.learn_rows(Rows.of(X[taken]), y[taken].astype(np.int8), weight[taken])
    for name, array in at_once.arrays().items():
        assert np.array_equal(array, spelled.arrays()[name]), name


def test_a_row_that_is_not_sound_leaves_both_pools_as_they_were():
    X, y = stream("stays", 0, 100)
    learner = Drifting(WIDTH, 10)
    learner.learn_many(X, y)
    before = {name: array.copy() for name, array in learner.arrays().items()}
    X[60, 3] = np.nan
    with pytest.raises(InvalidDataError, match="row 60, column 3"):
        learner.learn_many(X, y)
    assert all(np.array_equal(array, before[name]) for name, array in learner.arrays().items())


@pytest.mark.parametrize("horizon", [0, 0.999, -1, float("nan"), float("inf")])
def test_a_horizon_is_one_round_or_more(horizon):
    with pytest.raises(InvalidParameterError, match="horizon"):
        Drifting(3, horizon)
    with pytest.raises(InvalidParameterError, match="horizon"):
        MassartClassifier(horizon=horizon).fit(np.eye(2), [0, 1])


def test_a_classifier_with_a_horizon_forgets():
    """Unless noise rate and margin are told: then the horizon is the number of rounds to come."""
    X, y = stream("jumps", 0, 6000)
    clf = MassartClassifier(horizon=200, random_state=3).partial_fit(X, y, classes=[-1, 1])
    learner = Drifting(WIDTH, 200, seed=3)
    learner.learn_many(X, y)
    assert clf.mistakes_ == learner.mistakes
    assert np.array_equal(clf.coef_[0], learner.weights)
    assert clf.certificate() == learner.certificate()
    assert clf.mistakes_ < learner.steady.mistakes - 100
    several = MassartClassifier(horizon=200).partial_fit(X, y, classes=[-1, 0, 1])._learner.members
    assert all(isinstance(member, Drifting) for member in several)
    told = MassartClassifier(0.1, 0.05, horizon=200).partial_fit(X, y, classes=[-1, 1])
    assert isinstance(told._learner, Halfspace)


def test_the_shortest_horizon_and_the_longest():
    X, y = stream("stays", 0, 500)
    for horizon in (1, 2**53):
        learner = Drifting(WIDTH, horizon)
        learner.learn_many(X, y)
        assert np.isfinite(learner.leaders()).all()
        assert learner.certificate().holds
    assert learner.recent.mistakes < 1.2 * learner.steady.mistakes, "who never forgets is a pool like the other"


def test_the_leader_speaks():
    X, y = stream("jumps", 0)
    learner = Drifting(WIDTH, 200)
    learner.learn_many(X, y)
    assert learner.leader is learner.recent
    assert learner.score(X[0]) == learner.recent.score(X[0])
    assert learner.predict(X[0]) == learner.recent.predict(X[0])
    assert learner.shares() == learner.recent.shares()
    assert np.array_equal(learner.direction, learner.recent.weights)
    assert learner.lower_noise_rate() == learner.steady.lower_noise_rate()
    twin = learner.copy()
    assert np.array_equal(twin.learn_many(X, y), learner.learn_many(X, y))
