"""Simpson's paradox: better arms within a round, worse rewards across rounds."""

from typing import ClassVar

import numpy as np

from massart.worlds.rewards.base import RewardChunk
from massart.worlds.rewards.drawing import coin_rewards, on_sphere, shuffled_steps
from massart.worlds.rewards.monotone import MonotoneWorld
from massart.worlds.rewards.oblivious import ObliviousRewardWorld

__all__ = ["Simpson"]

_OFFSET = 0.4  # the level of a round is uniform in [-_OFFSET, _OFFSET]
_FALL = 0.8  # by which the reward of a whole round falls with its level


class Simpson(MonotoneWorld, ObliviousRewardWorld):
    """Rounds at a higher level have lower rewards; within a round, the higher score still has the higher reward.

    With a level o uniform in [-.4, .4] and steps r = -(k-1)/2, ..., (k-1)/2,

        score  w*.x = o + margin r,     expected reward = .5 - .8 o + gap r.

    Over all rounds, reward and score have covariance -.8 (.16/3) + margin gap (k^2-1)/12, negative at the defaults
    (and with `arms=10, gap=0.02`): a regression learns that high scores are bad, and takes the worst arm.

    >>> world = Simpson()
    >>> world.arms, world.gap, world.margin, world.mean_reward, world.best_reward
    (5, 0.05, 0.1, 0.5, 0.6)
    >>> chunk = world.take(5000)
    >>> float(np.corrcoef((chunk.contexts @ world.target).ravel(), chunk.means.ravel())[0, 1].round(1))
    -0.6
    """

    name = "simpson"
    description = (
        "The better item is shown to harder customers: across rounds rewards fall as scores rise, within each round "
        "they rise. Regression on the contexts learns the wrong sign and earns less than a random choice."
    )
    default_gap: ClassVar[float] = 0.05
    default_margin: ClassVar[float] = 0.1
    gap_reason: ClassVar[str] = "rewards lie between 0 and 1, of which the level of the round takes 0.64"
    margin_reason: ClassVar[str] = "scores lie between -1 and 1, of which the level of the round takes 0.8"

    def _largest_margin(self) -> float:
        return 2.0 * (1.0 - _OFFSET) / (self.arms - 1)

    def _largest_gap(self) -> float:
        return (1.0 - 2.0 * _FALL * _OFFSET) / (self.arms - 1)

    def _declare(self) -> None:
        self.mean_reward = 0.5
        self.best_reward = 0.5 + 0.5 * (self.arms - 1) * self.gap

    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        del start
        step = shuffled_steps(rng, count, self.arms)
        level = rng.uniform(-_OFFSET, _OFFSET, (count, 1))
        means = np.clip(0.5 - _FALL * level + self.gap * step, 0.0, 1.0)
        rewards = coin_rewards(rng, means)
        scores = np.clip(level + self.margin * step, -1.0, 1.0)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, rewards)
