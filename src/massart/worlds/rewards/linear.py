"""The benign world: rewards are linear in the contexts, the assumption regression policies are made for."""

from typing import ClassVar

import numpy as np

from massart.worlds.rewards.base import RewardChunk
from massart.worlds.rewards.drawing import coin_rewards, on_sphere, shuffled_ranks, spaced_scores
from massart.worlds.rewards.monotone import MonotoneWorld
from massart.worlds.rewards.oblivious import ObliviousRewardWorld

__all__ = ["Linear"]

_REACH = 0.9  # of the scores, on both sides of zero


class Linear(MonotoneWorld, ObliviousRewardWorld):
    """Expected reward .5 + (gap / margin) w*.x, with scores w*.x spread over [-.9, .9], at least `margin` apart.

    The expected best of k spaced scores is -.9 + (k-1) margin + (1.8 - (k-1) margin) k/(k+1).

    >>> world = Linear()
    >>> world.arms, world.gap, world.margin, world.mean_reward, round(world.best_reward, 4)
    (5, 0.05, 0.1, 0.5, 0.8333)
    >>> chunk = world.take(1000)
    >>> bool(abs(chunk.means - (0.5 + 0.5 * chunk.contexts @ world.target)).max() < 1e-12)
    True
    """

    name = "linear"
    description = (
        "Expected rewards are a linear function of the contexts: what LinUCB, ridge and Thompson sampling assume. "
        "Nobody should do badly here, and a policy that assumes less pays for it."
    )
    default_gap: ClassVar[float] = 0.05
    default_margin: ClassVar[float] = 0.1
    gap_reason: ClassVar[str] = "expected rewards .5 + (gap / margin) score lie between 0 and 1, scores reach 0.9"
    margin_reason: ClassVar[str] = "scores lie between -0.9 and 0.9"

    def _largest_margin(self) -> float:
        return 2.0 * _REACH / (self.arms - 1)

    def _largest_gap(self) -> float:
        return 0.5 / _REACH * self.margin

    def _declare(self) -> None:
        chain = (self.arms - 1) * self.margin
        highest = -_REACH + chain + (2.0 * _REACH - chain) * self.arms / (self.arms + 1)
        self.mean_reward = 0.5
        self.best_reward = 0.5 + self.gap / self.margin * highest

    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        del start
        rank = shuffled_ranks(rng, count, self.arms)
        rising = spaced_scores(rng, count, self.arms, self.margin, _REACH)
        scores = np.take_along_axis(rising, rank, axis=1)
        means = np.clip(0.5 + self.gap / self.margin * scores, 0.0, 1.0)
        rewards = coin_rewards(rng, means)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, rewards)
