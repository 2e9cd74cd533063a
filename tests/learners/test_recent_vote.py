"""The vote by recent mistakes: against NumPy, on targets that move and that stay, and in files from before it."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import MassartClassifier
from massart.errors import ModelFileError
from massart.kernels.door import Rows
from massart.kernels.learning import mixture
from massart.kernels.learning.pool import FEW, FORGETTING
from massart.kernels.learning.recent_vote import Lead, Recent
from massart.learners.pool import Pool

T, WIDTH = 12_000, 10
Z = 4.0
NEW = ("recent", "lead", "forgetting")


def stream(kind, seed, rounds=T, noise=0.1, width=WIDTH):
    """Gaussian rows, labels of a halfspace that stays, jumps to its opposite every 2,000 rounds, or turns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, width))
    t = np.arange(rounds)
    angle = 2 * np.pi * t / 8000
    clean = {
        "stays": X[:, 0],
        "jumps": X[:, 0] * np.where(t // 2000 % 2, -1, 1),
        "turns": X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle),
    }[kind]
    return X, np.where(clean > 0, 1, -1) * np.where(rng.random(rounds) < noise, -1, 1)


def wrong(scores, y):
    return (scores >= 0.0) != (y > 0)


def bytes_of(pool):
    return {name: np.asarray(array).tobytes() for name, array in pool.arrays().items()}


@pytest.mark.parametrize("kind", ["jumps", "turns"])
def test_a_moving_target_is_followed(kind):
    """Fewer mistakes than without, by Z standard errors: of n rows that only one of the two got wrong, sqrt(n)."""
    gain, split = 0, 0
    for seed in range(3):
        X, y = stream(kind, seed)
        with_it, without = (wrong(Pool(WIDTH, forgetting=f, seed=seed).learn_many(X, y), y) for f in (True, False))
        gain += int(without.sum()) - int(with_it.sum())
        split += int((with_it != without).sum())
    assert gain > Z * np.sqrt(split) > 0


@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
def test_a_target_that_stays_costs_little(width):
    """Not more mistakes than without by Z standard errors of the rows in which the two differ, and few of these."""
    loss, split = 0, 0
    for seed in range(3):
        X, y = stream("stays", seed, width=width)
        with_it, without = (wrong(Pool(width, forgetting=f, seed=seed).learn_many(X, y), y) for f in (True, False))
        loss += int(with_it.sum()) - int(without.sum())
        split += int((with_it != without).sum())
    assert loss <= Z * np.sqrt(split)
    assert split < 0.02 * 3 * T


@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
def test_experts_and_draws_are_those_of_a_pool_without(width):
    """The vote alone differs: shares, losses and weights of experts that may be drawn have the same bits."""
    X, y = stream("jumps", 1, 3000, width=width)
    pools = [Pool(width, forgetting=f, seed=2) for f in (True, False)]
    for pool in pools:
        pool.learn_many(X, y)
    assert pools[0]._u[Lead.SPLIT] > 0.0
    for name in ("weights", "variances", "columns", "members"):
        np.testing.assert_array_equal(pools[0].arrays()[name], pools[1].arrays()[name])
    assert pools[0].columns().tobytes() == pools[1].columns().tobytes()


class Votes:
    """The two votes as the module says, in NumPy, from the scores and powers of all experts."""

    def __init__(self, experts):
        self.loss, self.block, self.voice = np.zeros(experts), np.zeros(experts), np.ones(experts)
        self.weight = self.new = self.ahead = self.split = self.heaviest = 0.0
        self.rounds, self.followed = 0, False

    def learn(self, missed, steady, lately, c, power):
        self.rounds += 1
        self.heaviest = max(self.heaviest, c)
        self.block += c * missed
        self.new += c
        self.ahead += c * (float(steady) - float(lately))
        self.split += c * c * (steady != lately)
        if self.rounds % 64 == 1:
            self.loss, self.block = 15 / 16 * self.loss + self.block, np.zeros(missed.size)
            self.weight, self.new = 15 / 16 * self.weight + self.new, 0.0
            self.ahead, self.split = 15 / 16 * self.ahead, 15 / 16 * self.split
            best = self.loss.min()
            variance = self.heaviest * (self.heaviest + best * (1 - best / self.weight))
            share = np.exp(-(self.loss - best) * np.sqrt(2 * np.log(missed.size) / variance))
            known = np.where(power > 0.0, power, power.max() or 1.0)
            self.voice, self.total = share / np.sqrt(known), share.sum()
        if self.rounds % 64 == 1 or steady != lately:
            self.followed = self.ahead > 1.5 * np.sqrt(self.split) + self.heaviest


def scores_of(pool, x):
    """The scores of all experts of a pool for a row: those that may be drawn, then those that forget."""
    row = np.append(x, 1.0)
    scores = pool.columns()[0] @ row
    late = pool._few_columns()[-FORGETTING:] @ row if pool._D.size else np.empty(0)
    return np.concatenate([scores, late])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [3, FEW + 1])
def test_the_votes_are_those_of_the_textbook(width, weighted):
    """Round by round: weights, which vote is taken, and the score of the answer of a vote."""
    X, y = stream("jumps", 3, 3000, width=width)
    c = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    pool = Pool(width, voting="majority")
    votes, followed = Votes(pool._R.shape[1]), 0
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        scores = scores_of(pool, x)
        steady = pool._M[mixture.Member.VOICE] @ scores[: pool._M.shape[1]]
        lately = votes.voice @ scores
        if i:
            followed += votes.followed
            assert pool._follows_recent == votes.followed
            unit = votes.total if votes.followed else pool._t[mixture.Total.TOTAL]
            assert pool.score(x) == pytest.approx((lately if votes.followed else steady) / unit, rel=1e-6, abs=1e-9)
        pool.learn_rows(Rows.of(x[None]), np.array([label], np.int8), c[i : i + 1])
        power = pool._R[Recent.POWER].copy()
        power[: pool._M.shape[1]] = pool._M[mixture.Member.POWER]
        votes.learn(wrong(scores, label), wrong(steady, label), wrong(lately, label), c[i], power)
        np.testing.assert_allclose(pool._R[Recent.VOICE], votes.voice, rtol=1e-7, atol=1e-12)
    if width == 3:
        assert 0 < followed < len(y)


@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
def test_dense_sparse_and_single_rows_are_the_same(width):
    X, y = stream("jumps", 4, 5000, width=width)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    pools = [Pool(width, seed=5) for _ in range(3)]
    pools[0].learn_many(X, y)
    pools[1].learn_many(sp.csr_matrix(X), y)
    for x, label in zip(X, y, strict=True):
        pools[2].learn(x, label)
    assert pools[0]._u[Lead.SPLIT] > 0.0
    assert bytes_of(pools[0]) == bytes_of(pools[1]) == bytes_of(pools[2])


@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
def test_a_pool_from_before_goes_on_as_it_was(width):
    """Arrays without those of the vote by recent mistakes are a pool that has none."""
    X, y = stream("jumps", 6, 4000, width=width)
    before = Pool(width, seed=1, forgetting=False)
    before.learn_many(X[:2000], y[:2000])
    assert not set(NEW) & set(before.arrays())
    opened = Pool.from_arrays({name: np.array(array) for name, array in before.arrays().items()})
    assert [pool.learn_many(X[2000:], y[2000:]).tobytes() for pool in (before, opened)].count(b"") == 0
    assert bytes_of(before) == bytes_of(opened)


@pytest.mark.parametrize("width", [WIDTH, FEW + 1])
def test_a_pool_resumes_to_the_bit(width):
    X, y = stream("jumps", 7, 5000, width=width)
    pool, other = Pool(width, seed=1), Pool(width, seed=1)
    pool.learn_many(X, y)
    other.learn_many(X[:2777], y[:2777])
    other = Pool.from_arrays({name: np.array(array) for name, array in other.arrays().items()})
    other.learn_many(X[2777:], y[2777:])
    assert pool._u[Lead.SPLIT] > 0.0
    assert bytes_of(pool) == bytes_of(other)


def forged(arrays, name, place, value):
    array = np.array(arrays[name])
    array[place] = value
    return arrays | {name: array}


def test_forged_arrays_are_refused():
    pool = Pool(WIDTH)
    pool.learn_many(*stream("jumps", 8, 300))
    arrays = {name: np.array(array) for name, array in pool.arrays().items()}
    for name in NEW:
        with pytest.raises(ModelFileError, match=name):
            Pool.from_arrays({key: array for key, array in arrays.items() if key != name})
        with pytest.raises(ModelFileError, match=name):
            Pool.from_arrays(arrays | {name: arrays[name][..., :-1].copy()})
        with pytest.raises(ModelFileError, match="not finite"):
            Pool.from_arrays(forged(arrays, name, (0,) * arrays[name].ndim, np.nan))
    for name, place in [("recent", (row, 0)) for row in Recent] + [("lead", Lead.SPLIT), ("lead", Lead.TOTAL)]:
        with pytest.raises(ModelFileError, match=name):
            Pool.from_arrays(forged(arrays, name, place, -1.0))
    with pytest.raises(ModelFileError, match="lead"):
        Pool.from_arrays(forged(arrays, "lead", Lead.FOLLOWED, 0.5))


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e70])
def test_extreme_rows_keep_a_finite_state(size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) * size ** rng.integers(0, 2, (500, 4))
    y = np.where(rng.random(500) < 0.5, 1, -1)
    pool = Pool(4)
    pool.learn_many(X, y)
    Pool.from_arrays(pool.arrays())  # checks that all of it is finite and within its range
    assert np.isfinite(pool.leaders()).all()


def test_predict_uses_the_vote_that_is_followed():
    X, y = stream("turns", 9)
    clf = MassartClassifier(random_state=0).partial_fit(X, y > 0, classes=[False, True])
    assert clf._learner._follows_recent
    assert (clf.predict(X[-300:]) == (y[-300:] > 0)).mean() > 0.8  # a tenth of the labels is false
    assert sum(clf.expert_weights_.values()) == pytest.approx(1.0, abs=1e-12)
