"""Bandits of every kind, rounds for them, and how to compare what they remember: for the tests of this folder."""

import numpy as np

from massart.learners.bandit import MonotoneBandit

D = 4
KINDS = {
    "one expert": {"gap": 0.1, "margin": 0.2, "horizon": 1000},
    "default": {},
    "floor": {"gap": 0.1, "exploration": 0.4},
    "paper": {"gap": 0.5, "margin": 0.5, "horizon": 10**4, "update": "paper"},
}


def make(kind, seed=0, **more):
    return MonotoneBandit(random_state=seed, **KINDS[kind], **more)


def in_ball(X):
    """Rows longer than 1 scaled to length 1: a known margin is for such contexts."""
    return X / np.maximum(1.0, np.linalg.norm(X, axis=-1, keepdims=True))


def rounds(count, seed=0, arms=None):
    """Contexts in the unit ball and rewards of 0 or 1 that rise with the first coordinate."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k = arms or int(rng.integers(2, 6))
        X = in_ball(rng.normal(size=(k, D)) / 2)
        yield X, (rng.random(k) < 0.5 + 0.4 * np.tanh(3 * X[:, 0])).astype(float)


def trained(kind, count=60, **more):
    bandit = make(kind, **more)
    for X, r in rounds(count):
        choice = bandit.choose(X)
        bandit.learn(choice, r[choice.arm])
    return bandit


def state(bandit):
    return {name: array.copy() for name, array in bandit.arrays().items()}


def assert_same(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert np.array_equal(one[name], two[name]), name


def simpson(rng, count, arms, gap, margin, d=D):
    """Scores at a random level with steps of `margin`, rewards that fall with the level and rise by `gap` a step.

    The target is -e_1, the opposite of where Algorithm 3 begins.
    """
    steps = rng.permuted(np.tile(np.arange(arms) - (arms - 1) / 2, (count, 1)), axis=1)
    level = rng.uniform(-0.2, 0.2, (count, 1))
    contexts = rng.normal(size=(count, arms, d))
    contexts[..., 0] = 0
    scores = level + margin * steps
    contexts *= (np.sqrt(1 - scores**2) / np.linalg.norm(contexts, axis=2))[..., None]
    contexts[..., 0] = -scores
    means = 0.5 - level * (1 - gap * (arms - 1)) + gap * steps
    return contexts, means, (rng.random(means.shape) < means).astype(float)


def hunted(weights, rng, gap, margin):
    """Two arms of norm 1, scores `margin` and means `gap` apart, in the wrong order for these weights if possible.

    The target is e_1; the worse arm comes first.
    """
    aside = np.where(np.arange(D) > 0, weights, 0.0)
    if not aside.any():
        aside[1:] = rng.normal(size=D - 1)
    better = -np.sqrt(1 - (margin / 2) ** 2) * aside / np.linalg.norm(aside)
    better[0] = margin / 2
    return np.array([-better, better]), np.array([0.5 - gap / 2, 0.5 + gap / 2])
