"""Hard for ever: convex losses gain by getting the rows with a short vector wrong."""

from typing import ClassVar

from massart.worlds.plane import PlaneWorld, Point

__all__ = ["SacrificedMajority", "SacrificedMinority"]


class SacrificedMinority(PlaneWorld):
    """World E2: the minimisers of logistic, square and leaky-ReLU loss misclassify the short rows N.

        F = (.6, .6)             mass .22, flipped with probability noise_rate
        G = (.95, .08)           mass .24, clean
        N = margin (-1.5, 1)     mass .54, clean

    The noise limits how large w.F can profitably be; G, clean and long, then pulls w towards e1, where N is
    on the wrong side. N is more than half of the rounds, but a minority in length: a loss that grows with
    the score gives it up. At the defaults the mistake rate of these minimisers is .584, that of the target
    .044. The minimiser of the hinge loss is still right here; in `sacrificed-majority` it is wrong as well.

    >>> world = SacrificedMinority()
    >>> world.noise_rate, world.margin, round(world.bayes_error, 12)
    (0.2, 0.04, 0.044)
    """

    name = "sacrificed-minority"
    letter = "E2"
    description = (
        "Noise on a few rows makes it cheap for logistic, square and leaky-ReLU losses to get every clean row "
        "with a short vector wrong: even their exact minimisers err on more than half of the rounds."
    )
    default_noise_rate: ClassVar[float] = 0.2
    default_margin: ClassVar[float] = 0.04
    largest_margin: ClassVar[float] = 0.08
    margin_reason: ClassVar[str] = "its point G lies 0.08 from the boundary"

    def _points(self) -> list[Point]:
        return [
            Point("F", (0.6, 0.6), 0.22, self.noise_rate),
            Point("G", (0.95, 0.08), 0.24),
            Point("N", (-1.5 * self.margin, self.margin), 0.54),
        ]


class SacrificedMajority(PlaneWorld):
    """World E3: as `sacrificed-minority`, and the minimiser of the hinge loss fails as well.

        F = (.39, .84)            mass .13, flipped with probability noise_rate
        G = (.98, .06)            mass .17, clean
        N = margin (-1.15, 1)     mass .70, clean

    At the defaults the minimisers of the logistic, hinge, square and leaky-ReLU losses all misclassify N:
    their mistake rate is .739, that of the target .039.

    >>> world = SacrificedMajority()
    >>> world.noise_rate, world.margin, round(world.bayes_error, 12)
    (0.3, 0.04, 0.039)
    """

    name = "sacrificed-majority"
    letter = "E3"
    description = (
        "Seven rows in ten are clean and short, and the exact minimisers of the logistic, hinge, square and "
        "leaky-ReLU losses get all of them wrong, for the sake of three in ten that are long."
    )
    default_noise_rate: ClassVar[float] = 0.3
    default_margin: ClassVar[float] = 0.04
    largest_margin: ClassVar[float] = 0.06
    margin_reason: ClassVar[str] = "its point G lies 0.06 from the boundary"

    def _points(self) -> list[Point]:
        return [
            Point("F", (0.39, 0.84), 0.13, self.noise_rate),
            Point("G", (0.98, 0.06), 0.17),
            Point("N", (-1.15 * self.margin, self.margin), 0.70),
        ]
