"""Arms along a line: what the worlds made of the points F, G and N of `sacrificed-minority` share.

A round draws a point z of the unit sphere, of kind F, G or N, and places k arms along the line through it,

    x_i = 2 reach f_i z,   f_i equally spaced from -1/2 to 1/2,

so that neighbours differ by 2 reach z / (k-1). Two arms at reach 1 are z and -z: a row and its two labels.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from massart.worlds.base import Matrix, Vector
from massart.worlds.plane import by_mass
from massart.worlds.rewards.base import Contexts, RewardChunk
from massart.worlds.rewards.drawing import coin_rewards, shuffled_steps
from massart.worlds.rewards.monotone import MonotoneWorld
from massart.worlds.rewards.oblivious import ObliviousRewardWorld
from massart.worlds.sphere import complete

__all__ = ["ObliviousPairWorld", "PairWorld"]

_SECOND_OF_G = 0.08


class PairWorld(MonotoneWorld):
    """A world of arms along lines; `gap` is that of F, neighbours on G and N differ by `chain` / (k-1).

    F = (.6, .6) has mass .22, G = (.95, .08) mass .24, N = h (-1.5, 1) mass .54, with h = margin (k-1) / (2 reach).
    """

    default_arms: ClassVar[int] = 2
    reach: ClassVar[float]  # how far the outermost arms lie from the middle of the line
    chain: ClassVar[float]  # expected reward between the worst and the best arm on G and N
    gap_reason: ClassVar[str] = "F must not have more between its arms than G and N"
    margin_reason: ClassVar[str] = "N must not lie further from the boundary than G"

    masses: ClassVar[tuple[float, float, float]] = (0.22, 0.24, 0.54)

    def _largest_margin(self) -> float:
        return 2.0 * self.reach * _SECOND_OF_G / (self.arms - 1)

    def _largest_gap(self) -> float:
        return self.chain / (self.arms - 1)

    def _usual(self, default: float, largest: float) -> float:
        return min(default / (self.arms - 1), largest)  # the points stay where two arms have them

    @property
    def plane(self) -> Matrix:
        """The points F, G and N, one per row."""
        height = 0.5 * self.margin * (self.arms - 1) / self.reach
        return np.array([[0.6, 0.6], [0.95, _SECOND_OF_G], [-1.5 * height, height]])

    @property
    def gaps(self) -> Vector:
        """Expected reward between neighbours on F, G and N."""
        wide = self.chain / (self.arms - 1)
        return np.array([self.gap, wide, wide])

    def _expected(self, point: npt.NDArray[np.integer], step: Matrix) -> Matrix:
        """Give the expected rewards of arms `step` (n, arms) steps from the middle of the lines of `point` (n,)."""
        means: Matrix = 0.5 + self.gaps[point][:, None] * step
        return means

    def _line(self, z: Matrix, step: Matrix) -> Contexts:
        """Place the arms along the lines through z (n, dimension)."""
        along = 2.0 * self.reach / (self.arms - 1) * step
        contexts: Contexts = along[:, :, None] * z[:, None, :]
        return contexts


class ObliviousPairWorld(PairWorld, ObliviousRewardWorld):
    """A world of pairs whose points come by their masses, with a level o uniform in [-offset, offset].

    The level moves all arms of the round along the target, by o e2, and its expected rewards by -fall o.
    """

    offset: ClassVar[float] = 0.0
    fall: ClassVar[float] = 0.0

    def _declare(self) -> None:
        self.mean_reward = 0.5
        self.best_reward = 0.5 + 0.5 * (self.arms - 1) * float(np.multiply(self.gaps, self.masses).sum())

    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        del start
        point = by_mass(rng, np.array(self.masses), count)
        step = shuffled_steps(rng, count, self.arms)
        level = rng.uniform(-self.offset, self.offset, (count, 1))
        means = self._expected(point, step) - self.fall * level
        rewards = coin_rewards(rng, means)
        contexts = self._line(complete(rng, self.plane[point], self.dimension), step)
        contexts[:, :, 1] += level
        return RewardChunk(contexts, means, rewards)
