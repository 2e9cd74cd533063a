"""Rewards that rise with the score by a different step function in every round."""

from typing import Any, ClassVar

import numpy as np

from massart.worlds.base import Seed
from massart.worlds.ranges import within
from massart.worlds.rewards.base import RewardChunk
from massart.worlds.rewards.drawing import coin_rewards, on_sphere, shuffled_ranks
from massart.worlds.rewards.monotone import MonotoneWorld
from massart.worlds.rewards.oblivious import ObliviousRewardWorld

__all__ = ["StepMaps"]

_OFFSET = 0.4  # the level of a round is uniform in [-_OFFSET, _OFFSET]
_FALL = 0.5  # by which the reward of a whole round falls with its level


class StepMaps(MonotoneWorld, ObliviousRewardWorld):
    """Neighbours differ by `gap`, but for one pair of neighbours, drawn anew each round, that differs by `jump` more.

    With a level o uniform in [-.4, .4], steps r = -(k-1)/2, ..., (k-1)/2 and J uniform among the k-1 steps but the
    lowest,

        score  w*.x = o + margin r,     expected reward = .5 - .5 o + gap r + jump (1{r >= J} - 1/2).

    The expected lift of the best arm is (k-1)/2 gap + jump/2.

    >>> world = StepMaps()
    >>> world.arms, world.gap, world.margin, world.mean_reward, round(world.best_reward, 12)
    (5, 0.05, 0.1, 0.5, 0.8)
    >>> np.diff(np.sort(world.take(1).means[0])).round(2).tolist()
    [0.05, 0.05, 0.45, 0.05]
    """

    name = "step-maps"
    description = (
        "In each round rewards rise with the score by another step function, with one large jump somewhere, and fall "
        "across rounds as scores rise. No single curve from score to reward describes two rounds."
    )
    least_arms: ClassVar[int] = 3  # of two arms, the one pair of neighbours would always jump
    default_gap: ClassVar[float] = 0.05
    default_margin: ClassVar[float] = 0.1
    gap_reason: ClassVar[str] = "rewards lie between 0 and 1, of which the level of the round takes 0.4, and the jump"
    margin_reason: ClassVar[str] = "scores lie between -1 and 1, of which the level of the round takes 0.8"

    def __init__(
        self,
        arms: int | None = None,
        gap: float | None = None,
        margin: float | None = None,
        dimension: int | None = None,
        seed: Seed = 0,
        *,
        jump: float = 0.4,
    ) -> None:
        room = 1.0 - 2.0 * _FALL * _OFFSET
        self.jump = within(self.name, "jump", jump, 0.0, room, ends="[)", why="no room would be left for the gap")
        super().__init__(arms, gap, margin, dimension, seed)

    def _largest_margin(self) -> float:
        return 2.0 * (1.0 - _OFFSET) / (self.arms - 1)

    def _largest_gap(self) -> float:
        return (1.0 - 2.0 * _FALL * _OFFSET - self.jump) / (self.arms - 1)

    def _declare(self) -> None:
        self.mean_reward = 0.5
        self.best_reward = 0.5 + 0.5 * (self.arms - 1) * self.gap + 0.5 * self.jump

    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        del start
        rank = shuffled_ranks(rng, count, self.arms)
        step = rank - 0.5 * (self.arms - 1)
        level = rng.uniform(-_OFFSET, _OFFSET, (count, 1))
        above = rank >= rng.integers(1, self.arms, (count, 1))
        means = np.clip(0.5 - _FALL * level + self.gap * step + self.jump * (above - 0.5), 0.0, 1.0)
        rewards = coin_rewards(rng, means)
        scores = np.clip(level + self.margin * step, -1.0, 1.0)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, rewards)

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "jump": self.jump}
