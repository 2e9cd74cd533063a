"""Theorem 18 on its own stream, `orthogonal-coins`: nobody is below it, and the library's learners are not far above.

A wrong answer to the true label costs 1 - 2 noise_rate mistakes more than a right one, on average, so the excess
over noise_rate * T is counted as that much per wrong answer: the flips themselves do not disturb the comparison.
"""

import numpy as np
import pytest
from scipy.stats import binom

from massart import Halfspace, theory, worlds
from massart.learners.pool import Pool

Z = 4.0
MARGIN, ROUNDS, SEEDS = 0.1, 40_000, 16
HARDEST = theory.hardest_noise_rate(MARGIN, ROUNDS)
KNOWN = {
    "ftrl": {},
    "fixed": {"optimizer": "fixed", "horizon": ROUNDS},
    "adagrad-norm": {"optimizer": "adagrad-norm"},
    "paper": {"update": "paper", "horizon": ROUNDS},
}
POOLS = {"pool": {"fit_intercept": False}, "pool with intercept": {}}


def optimum(noise_rate):
    """The expected excess of the best rule there is, the majority of the labels seen at the same row."""
    wrong = 0.0
    for seen in range(round(ROUNDS * MARGIN**2)):
        true = np.arange(seen + 1)  # how many of the labels seen were true
        law = binom.pmf(true, seen, 1 - noise_rate)
        wrong += law[2 * true < seen].sum() + 0.5 * law[2 * true == seen].sum()
    return (1 - 2 * noise_rate) * wrong / MARGIN**2


def majority(world, chunk):
    """Wrong answers of the same rule on one stream; a tie is half wrong."""
    turn = np.arange(len(chunk.y)) % world.rows
    told = (chunk.y * chunk.X[np.arange(len(turn)), turn]).reshape(-1, world.rows)
    before = (np.cumsum(told, axis=0) - told) * np.sign(world.target)
    return (before < 0).sum() + 0.5 * (before == 0).sum()


def excesses(noise_rate):
    """Excess of every learner over noise_rate * T, one number per seed."""
    found = {name: [] for name in ("majority", *KNOWN, *POOLS)}
    for seed in range(SEEDS):
        world = worlds.make("orthogonal-coins", noise_rate=noise_rate, seed=seed)
        chunk = world.take(ROUNDS)
        learners = {
            name: Halfspace(world.dimension, noise_rate, MARGIN, fit_intercept=False, **options)
            for name, options in KNOWN.items()
        } | {name: Pool(world.dimension, seed=seed, **options) for name, options in POOLS.items()}
        found["majority"].append(majority(world, chunk))
        for name, learner in learners.items():
            answers = np.where(learner.learn_many(chunk.X, chunk.y) >= 0, 1, -1)
            found[name].append((answers != chunk.clean).sum())
    return {name: (1 - 2 * noise_rate) * np.array(wrong) for name, wrong in found.items()}


@pytest.fixture(scope="module", params=[HARDEST, 0.469], ids=["hardest", "default"])
def raced(request):
    return request.param, excesses(request.param)


def test_nobody_is_below_the_lower_bound(raced):
    noise_rate, found = raced
    lower = theory.lower_mistake_bound_at(noise_rate, MARGIN, ROUNDS) - noise_rate * ROUNDS
    for name, excess in found.items():
        error = Z * excess.std(ddof=1) / np.sqrt(SEEDS)
        assert excess.mean() >= lower - error, name
        assert excess.mean() >= optimum(noise_rate) - error, name
        assert error < 0.2 * optimum(noise_rate), name  # so that a bound that is twice as high would be found out


def test_the_librarys_learners_are_within_a_factor_of_three_of_every_learner(raced):
    noise_rate, found = raced
    lower = theory.lower_mistake_bound_at(noise_rate, MARGIN, ROUNDS) - noise_rate * ROUNDS
    for name in (*KNOWN, *POOLS):
        assert found[name].mean() + Z * found[name].std(ddof=1) / np.sqrt(SEEDS) <= 3 * lower, name


def test_how_far_they_are_from_the_optimum(raced):
    """With noise rate and margin known a fifth above the best rule there is at most, the default pool a third."""
    noise_rate, found = raced
    best = optimum(noise_rate)
    assert abs(found["majority"].mean() - best) <= Z * found["majority"].std(ddof=1) / np.sqrt(SEEDS)
    for name, share in {"ftrl": 1 / 5, "fixed": 1 / 5, **dict.fromkeys(POOLS, 1 / 3)}.items():
        assert found[name].mean() + Z * found[name].std(ddof=1) / np.sqrt(SEEDS) <= (1 + share) * best, name


def test_the_bounds_hold_where_they_are_nearly_reached(raced):
    noise_rate, found = raced
    bounds = {"fixed": theory.fixed_mistake_bound, "ftrl": theory.ftrl_mistake_bound}
    for name, bound in bounds.items():
        allowed = bound(noise_rate, MARGIN, ROUNDS) - noise_rate * ROUNDS
        assert 0.25 * allowed <= found[name].mean() <= allowed
