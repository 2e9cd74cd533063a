"""First the loud rows, then the quiet ones."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from massart.worlds.plane import PlaneWorld, Point, by_mass
from massart.worlds.sacrificed import SacrificedMinority

__all__ = ["TwoPhases"]


class TwoPhases(PlaneWorld):
    """World E5: the first half of the rounds shows F and G of `sacrificed-minority`, the second half only N.

        F = (.6, .6)             .48 of the first half, flipped with probability noise_rate
        G = (.95, .08)           .52 of the first half, clean
        N = margin (-1.5, 1)     the second half, clean

    Each round is still a Massart round for the same target, but the rows are not identically distributed: a
    learner whose steps have shrunk, or whose confidence has grown, is slow to learn N. The stream
    depends on how many rounds are asked for, since that says where its middle is.

    >>> world = TwoPhases()
    >>> [int((chunk.region == 2).sum()) for chunk in world.chunks(rounds=1000, size=500)]
    [0, 500]
    """

    name = "two-phases"
    letter = "E5"
    description = (
        "Half a stream of long rows, then half a stream of short ones the first half never showed. "
        "Learners with decaying steps or growing confidence take very long to change their mind."
    )
    default_noise_rate: ClassVar[float] = SacrificedMinority.default_noise_rate
    default_margin: ClassVar[float] = SacrificedMinority.default_margin
    largest_margin: ClassVar[float] = SacrificedMinority.largest_margin
    margin_reason: ClassVar[str] = SacrificedMinority.margin_reason

    def _points(self) -> list[Point]:
        return [
            Point("F", (0.6, 0.6), 0.24, self.noise_rate),
            Point("G", (0.95, 0.08), 0.26),
            Point("N", (-1.5 * self.margin, self.margin), 0.5),
        ]

    def _choose(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> npt.NDArray[np.integer]:
        loud = by_mass(rng, self._masses[:2], count)
        return np.where(2 * np.arange(start, start + count) < rounds, loud, 2)
