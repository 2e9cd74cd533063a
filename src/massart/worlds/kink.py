"""No noise at all, and yet the leaky-ReLU loss has its optimum where it cannot decide."""

from typing import ClassVar

from massart.worlds.plane import PlaneWorld, Point

__all__ = ["Kink"]


class Kink(PlaneWorld):
    """World E4: declared noise, true labels, and a leaky-ReLU optimum on the boundary of seven rows in ten.

        G = (.9, .05)            mass .3, clean
        A = margin (-1.2, 1)     mass .7, clean

    At the defaults the leaky-ReLU loss over the unit ball is least at w.A = 0, at 50.2 degrees from e1. There a
    descent balances its subgradients by getting a fraction q of A wrong for ever, where
    .3 noise_rate |G.a| = .7 |A| (noise_rate + (1 - 2 noise_rate) q) with a = A/|A|: q = .327, which
    is .229 mistakes per round in a world without noise.

    >>> world = Kink()
    >>> world.noise_rate, world.bayes_error
    (0.1, 0.0)
    """

    name = "kink"
    letter = "E4"
    description = (
        "Every label is true although noise is declared. The leaky-ReLU loss is least exactly on the "
        "boundary of most rows, so descending it keeps getting a third of them wrong for ever."
    )
    default_noise_rate: ClassVar[float] = 0.1
    default_margin: ClassVar[float] = 0.05
    largest_margin: ClassVar[float] = 0.05
    margin_reason: ClassVar[str] = "its point G lies 0.05 from the boundary"

    def _points(self) -> list[Point]:
        return [Point("G", (0.9, 0.05), 0.3), Point("A", (-1.2 * self.margin, self.margin), 0.7)]
