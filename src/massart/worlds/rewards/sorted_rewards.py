"""The noiseless world of Definition 1.3: in every round the rewards themselves are sorted by the score."""

from typing import ClassVar

import numpy as np

from massart.worlds.rewards.base import RewardChunk
from massart.worlds.rewards.drawing import on_sphere, shuffled_ranks, spaced_scores
from massart.worlds.rewards.monotone import MonotoneWorld
from massart.worlds.rewards.oblivious import ObliviousRewardWorld

__all__ = ["SortedRewards"]

_REACH = 0.9  # of the scores, on both sides of zero


class SortedRewards(MonotoneWorld, ObliviousRewardWorld):
    """Rewards without noise and without a formula: fresh rising numbers in [0, 1], at least `gap` apart, each round.

    Scores are fresh rising numbers in [-.9, .9], at least `margin` apart, drawn independently of the rewards:
    the order is all they share. The expected best reward is (k-1) gap + (1 - (k-1) gap) k/(k+1).

    >>> world = SortedRewards()
    >>> world.arms, world.gap, world.margin, world.mean_reward, round(world.best_reward, 12)
    (5, 0.1, 0.1, 0.5, 0.9)
    >>> chunk = world.take(1000)
    >>> bool((chunk.rewards == chunk.means).all())
    True
    """

    name = "sorted"
    description = (
        "No noise at all: in every round the rewards stand in the order of the scores, at values that change from "
        "round to round. The perceptron would find the target, had it seen all rewards."
    )
    default_gap: ClassVar[float] = 0.1
    default_margin: ClassVar[float] = 0.1
    gap_reason: ClassVar[str] = "rewards lie between 0 and 1"
    margin_reason: ClassVar[str] = "scores lie between -0.9 and 0.9"

    def _largest_margin(self) -> float:
        return 2.0 * _REACH / (self.arms - 1)

    def _largest_gap(self) -> float:
        return 1.0 / (self.arms - 1)

    def _declare(self) -> None:
        chain = (self.arms - 1) * self.gap
        self.mean_reward = 0.5
        self.best_reward = chain + (1.0 - chain) * self.arms / (self.arms + 1)

    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        del start
        rank = shuffled_ranks(rng, count, self.arms)
        rising = spaced_scores(rng, count, self.arms, self.margin, _REACH)
        better = np.clip(0.5 + spaced_scores(rng, count, self.arms, self.gap, 0.5), 0.0, 1.0)
        scores, means = np.take_along_axis(rising, rank, axis=1), np.take_along_axis(better, rank, axis=1)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, means.copy())
