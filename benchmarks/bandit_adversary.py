"""A world whose level is set each round against the arm of a regression that takes out the round's mean.

Contexts are those of the world `simpson`: five arms at steps r = -2, ..., 2 of the score. Before the policy draws,
the adversary looks at the arm a that a ridge regression of all rewards earned so far on [x - mean, mean, 1] would play,
and adds the same to the expected rewards of all arms:

    expected reward of arm i = .5 + .05 r_i - .175 r_a

So a regression that plays its best arm sees low rewards for it and high ones when it plays a bad one, though within
each round the higher score is the better arm, by the gap that `simpson` has. A random arm learns from nothing of that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart import worlds

GAP, FALL = 0.05, 0.175
BEST_LIFT = 2 * GAP


class _Regression:
    """Recursive least squares on an arm less the mean of its round, that mean, and 1."""

    def __init__(self, dimension: int) -> None:
        self._weights = np.zeros(2 * dimension + 1)
        self._inverse = np.eye(2 * dimension + 1)
        self._dimension = dimension

    def favourite(self, contexts: NDArray[np.float64]) -> int:
        """The arm of the highest prediction."""
        return int((contexts @ self._weights[: self._dimension]).argmax())

    def learn(self, contexts: NDArray[np.float64], arm: int, reward: float) -> None:
        """Learn what the policy earned."""
        mean = contexts.mean(axis=0)
        row = np.concatenate([contexts[arm] - mean, mean, [1.0]])
        moved = self._inverse @ row
        gain = 1.0 / (1.0 + row @ moved)
        self._weights += gain * (reward - row @ self._weights) * moved
        self._inverse -= gain * np.outer(moved, moved)


def lift(policy: Any, rounds: int, seed: int) -> float:
    """What the policy earns per round above a random arm; at best BEST_LIFT."""
    chunk = worlds.make("simpson", seed=seed).take(rounds)
    steps = np.rint((chunk.means - chunk.means.mean(axis=1, keepdims=True)) / GAP)
    uniform = np.random.default_rng([seed, rounds]).random(rounds)
    regression, earned = _Regression(chunk.contexts.shape[2]), 0.0
    for contexts, r, coin in zip(chunk.contexts, steps, uniform, strict=True):
        level = 0.5 - FALL * r[regression.favourite(contexts)]
        choice = policy.choose(contexts)
        reward = float(coin < level + GAP * r[choice.arm])
        policy.learn(choice, reward)
        regression.learn(contexts, choice.arm, reward)
        earned += GAP * r[choice.arm]
    return float(earned / rounds)
