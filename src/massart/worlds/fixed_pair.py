"""Two rows, over and over, with uniform noise: nothing to find out except whom to believe."""

from typing import ClassVar

from massart.worlds.plane import PlaneWorld, Point
from massart.worlds.sphere import filling

__all__ = ["FixedPair"]


class FixedPair(PlaneWorld):
    """World E6: two fixed unit rows on the two sides of the target, labels flipped at the same rate.

        A = (sqrt(1 - margin^2), margin)     mass .5
        B = (-sqrt(1 - margin^2), margin)    mass .5

    A learner that corrects every mistake in full forgets what the other row taught it.

    >>> world = FixedPair()
    >>> world.noise_rate, world.margin, world.bayes_error
    (0.3, 0.3, 0.3)
    """

    name = "fixed-pair"
    letter = "E6"
    description = (
        "Two rows that never change, with uniform noise. Averaging is enough; the perceptron and the "
        "passive-aggressive learner, which correct each mistake in full, stay far above the noise rate."
    )
    default_noise_rate: ClassVar[float] = 0.3
    default_margin: ClassVar[float] = 0.3

    def _points(self) -> list[Point]:
        across = filling(0.0, self.margin)
        return [
            Point("A", (across, self.margin), 0.5, self.noise_rate),
            Point("B", (-across, self.margin), 0.5, self.noise_rate),
        ]
