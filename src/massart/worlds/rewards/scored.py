"""Reward worlds whose scores are spread over an interval, or lie at the level of their round."""

from typing import Any, ClassVar

import numpy as np

from massart.worlds.ranges import within
from massart.worlds.rewards.base import ObliviousRewardWorld, RewardChunk
from massart.worlds.rewards.monotone import (
    MonotoneWorld,
    RewardLimits,
    coin_rewards,
    on_sphere,
    shuffled_ranks,
    shuffled_steps,
    spaced_scores,
)
from massart.worlds.stream import Block, Matrix, Seed

__all__ = ["Linear", "Simpson", "SortedRewards", "StepMaps"]

_REACH = 0.9  # of spread scores, on both sides of zero
_SPREAD = "scores lie between -0.9 and 0.9"
_OFFSET = 0.4  # the level of a round is uniform in [-_OFFSET, _OFFSET]
_SHIFTED = "scores lie between -1 and 1, of which the level of the round takes 0.8"


class _Spread(MonotoneWorld, ObliviousRewardWorld):
    """Scores are spread over [-.9, .9], at least `margin` apart."""

    def _largest_margin(self) -> float:
        return 2.0 * _REACH / (self.arms - 1)


class _Levelled(MonotoneWorld, ObliviousRewardWorld):
    """Scores lie `margin` apart around the level of the round, with which all rewards of the round fall."""

    fall: ClassVar[float]  # by which the reward of a whole round falls with its level
    jump: float = 0.0

    def _largest_margin(self) -> float:
        return 2.0 * (1.0 - _OFFSET) / (self.arms - 1)

    def _largest_gap(self) -> float:
        return (1.0 - 2.0 * self.fall * _OFFSET - self.jump) / (self.arms - 1)

    def _declare(self) -> None:
        self.mean_reward = 0.5
        self.best_reward = 0.5 + 0.5 * (self.arms - 1) * self.gap + 0.5 * self.jump

    def _jumps(self, rng: np.random.Generator, step: Matrix) -> Matrix | float:
        """Give what is added to the expected rewards of arms `step` steps from the middle."""
        del rng, step
        return 0.0

    def _draw(self, block: Block) -> RewardChunk:
        rng, count = block.rng, block.size
        step = shuffled_steps(rng, count, self.arms)
        level = rng.uniform(-_OFFSET, _OFFSET, (count, 1))
        jumps = self._jumps(rng, step)
        means = np.clip(0.5 - self.fall * level + self.gap * step + jumps, 0.0, 1.0)
        rewards = coin_rewards(rng, means)
        scores = np.clip(level + self.margin * step, -1.0, 1.0)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, rewards)


class Linear(_Spread):
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
        "Every policy should do well here; one that assumes less learns more slowly."
    )
    limits = RewardLimits(
        0.05,
        0.1,
        gap_reason="expected rewards .5 + (gap / margin) score lie between 0 and 1, scores reach 0.9",
        margin_reason=_SPREAD,
    )

    def _largest_gap(self) -> float:
        return 0.5 / _REACH * self.margin

    def _declare(self) -> None:
        chain = (self.arms - 1) * self.margin
        highest = -_REACH + chain + (2.0 * _REACH - chain) * self.arms / (self.arms + 1)
        self.mean_reward = 0.5
        self.best_reward = 0.5 + self.gap / self.margin * highest

    def _draw(self, block: Block) -> RewardChunk:
        rng, count = block.rng, block.size
        rank = shuffled_ranks(rng, count, self.arms)
        rising = spaced_scores(rng, count, self.arms, self.margin, _REACH)
        scores = np.take_along_axis(rising, rank, axis=1)
        means = np.clip(0.5 + self.gap / self.margin * scores, 0.0, 1.0)
        rewards = coin_rewards(rng, means)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, rewards)


class SortedRewards(_Spread):
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
    limits = RewardLimits(0.1, 0.1, gap_reason="rewards lie between 0 and 1", margin_reason=_SPREAD)

    def _largest_gap(self) -> float:
        return 1.0 / (self.arms - 1)

    def _declare(self) -> None:
        chain = (self.arms - 1) * self.gap
        self.mean_reward = 0.5
        self.best_reward = chain + (1.0 - chain) * self.arms / (self.arms + 1)

    def _draw(self, block: Block) -> RewardChunk:
        rng, count = block.rng, block.size
        rank = shuffled_ranks(rng, count, self.arms)
        rising = spaced_scores(rng, count, self.arms, self.margin, _REACH)
        better = np.clip(0.5 + spaced_scores(rng, count, self.arms, self.gap, 0.5), 0.0, 1.0)
        scores, means = np.take_along_axis(rising, rank, axis=1), np.take_along_axis(better, rank, axis=1)
        return RewardChunk(on_sphere(rng, scores, self.dimension), means, means.copy())


class Simpson(_Levelled):
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
    limits = RewardLimits(
        0.05,
        0.1,
        gap_reason="rewards lie between 0 and 1, of which the level of the round takes 0.64",
        margin_reason=_SHIFTED,
    )
    fall = 0.8


class StepMaps(_Levelled):
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
    limits = RewardLimits(
        0.05,
        0.1,
        gap_reason="rewards lie between 0 and 1, of which the level of the round takes 0.4, and the jump",
        margin_reason=_SHIFTED,
        least_arms=3,  # of two arms, the one pair of neighbours would always jump
    )
    fall = 0.5

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
        room = 1.0 - 2.0 * self.fall * _OFFSET
        self.jump = within(self.name, "jump", jump, 0.0, room, ends="[)", why="no room would be left for the gap")
        super().__init__(arms, gap, margin, dimension, seed)

    def _jumps(self, rng: np.random.Generator, step: Matrix) -> Matrix:
        above = step + 0.5 * (self.arms - 1) >= rng.integers(1, self.arms, (len(step), 1))
        return np.where(above, 0.5 * self.jump, -0.5 * self.jump)

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "jump": self.jump}
