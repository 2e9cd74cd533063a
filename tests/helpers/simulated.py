"""A log of which everything is known: four kinds of customers, three arms, rewards 0 or 1."""

import numpy as np

from massart.data import DecisionBatch

LOGGING = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]])
TARGET = np.array([[0.1, 0.1, 0.8], [0.6, 0.2, 0.2], [1.0, 0.0, 0.0], [0.3, 0.3, 0.4]])
MEANS = np.array([[0.2, 0.5, 0.9], [0.4, 0.1, 0.3], [0.6, 0.7, 0.2], [0.1, 0.3, 0.8]])
TRUTH = float((TARGET * MEANS).sum(axis=1).mean())
LOGGED_TRUTH = float((LOGGING * MEANS).sum(axis=1).mean())
# one feature per arm and one that mixes customer and arm: a linear model of the rewards is wrong
FEATURES = np.array([[[*np.eye(3)[arm], kind * (arm - 1)] for arm in range(3)] for kind in range(4)])


def draw(count, seed):
    """Kinds, arms and rewards of `count` decisions."""
    random = np.random.default_rng(seed)
    kinds = random.integers(4, size=count)
    arms = (random.random((count, 1)) > LOGGING[kinds].cumsum(axis=1)).sum(axis=1)
    rewards = (random.random(count) < MEANS[kinds, arms]).astype(float)
    return kinds, arms, rewards


def weights_and_rewards(count, seed):
    kinds, arms, rewards = draw(count, seed)
    return TARGET[kinds, arms] / LOGGING[kinds, arms], rewards


def batch(count, seed):
    """The same as a log, with the target policy in its own column."""
    kinds, arms, rewards = draw(count, seed)
    return DecisionBatch(
        contexts=FEATURES[kinds].reshape(-1, 4),
        starts=np.arange(count + 1) * 3,
        arms=arms,
        propensities=LOGGING[kinds, arms],
        rewards=rewards,
        weights=np.ones(count),
        logged=LOGGING[kinds].ravel(),
        target=TARGET[kinds].ravel(),
        event_ids=[None] * count,
        times=[None] * count,
        lines=np.arange(1, count + 1),
    )
