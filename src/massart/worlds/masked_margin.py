"""Hard only for a while: short rows whose evidence drowns in their own random directions."""

from typing import ClassVar

from massart.worlds.plane import PlaneWorld, Point

__all__ = ["MaskedMargin"]


class MaskedMargin(PlaneWorld):
    """World E1: noisy rows far from the boundary, clean ones near it, and clean ones that are almost padding.

        F = (.5, .5)                      mass .4, flipped with probability noise_rate
        G = (.5, .05)                     mass .2, clean
        N = (margin / .45) (.05, .45)     mass .4, clean

    At the default noise and margin the population minimisers of the logistic, hinge, square and leaky-ReLU
    losses all classify N correctly: what fails here is finite time. The rows N are almost all padding, so
    a learner needs many rounds before their small signal exceeds the variance of its own weights.

    >>> world = MaskedMargin()
    >>> world.noise_rate, world.margin, world.bayes_error
    (0.1, 0.045, 0.04...)
    """

    name = "masked-margin"
    letter = "E1"
    description = (
        "Clean rows whose evidence is a short vector masked by random directions, beside noisy rows with a "
        "large one. Steps that grow with the score learn from the loud rows and are slow to learn the masked."
    )
    default_noise_rate: ClassVar[float] = 0.1
    default_margin: ClassVar[float] = 0.045
    largest_margin: ClassVar[float] = 0.05
    margin_reason: ClassVar[str] = "its point G lies 0.05 from the boundary"

    def _points(self) -> list[Point]:
        scale = self.margin / 0.45
        return [
            Point("F", (0.5, 0.5), 0.4, self.noise_rate),
            Point("G", (0.5, 0.05), 0.2),
            Point("N", (0.05 * scale, self.margin), 0.4),
        ]
