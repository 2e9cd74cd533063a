"""Worlds made of a few points in a plane, hidden among random directions.

The target is `e2`. A row is one of a few points of the plane (e1, e2), completed to the unit sphere by
a fresh random direction orthogonal to it, with a fresh random sign on row and label together. The
padding says nothing about the label: all that can be learned is in the plane.
"""

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from massart.worlds.base import Chunk, HalfspaceWorld, Limits, ObliviousWorld, Region, flip, random_signs
from massart.worlds.stream import Block, Indices, Matrix, Vector

__all__ = [
    "FixedPair",
    "Kink",
    "MaskedMargin",
    "PlaneWorld",
    "Point",
    "SacrificedMajority",
    "SacrificedMinority",
    "TwoPhases",
    "by_mass",
    "complete",
]


class Point(NamedTuple):
    """A point of the plane with its share of the rounds and its noise, as a world writes it down."""

    name: str
    plane: tuple[float, float]
    mass: float
    flip_rate: float = 0.0


class PlaneWorld(HalfspaceWorld, ObliviousWorld):
    """A world given by its points; a subclass writes them down as functions of noise rate and margin."""

    plane: Matrix  # (points, 2): the points, in the order of `regions`

    def _declare(self) -> None:
        points = self._points()
        self.plane = np.array([point.plane for point in points])
        self.regions = tuple(Region(point.name, point.flip_rate, point.mass) for point in points)
        self._rates = np.array([point.flip_rate for point in points])
        self._masses = np.array([point.mass for point in points])
        self.bayes_error = float((self._rates * self._masses).sum())

    @abstractmethod
    def _points(self) -> list[Point]:
        """Write the points down; masses sum to 1, second coordinates are at least the margin."""

    def _choose(self, block: Block) -> Indices:
        """Choose the region of each round: independently, by mass."""
        return by_mass(block.rng, self._masses, block.size)

    def _draw(self, block: Block) -> Chunk:
        region = self._choose(block)
        clean = random_signs(block.rng, block.size)
        y = flip(block.rng, clean, self._rates[region])
        # Padding last: its amount depends on the dimension, the regions and labels of a seed do not.
        rows = complete(block.rng, self.plane[region], self.dimension)
        rows *= clean[:, None]
        return Chunk(rows, y.astype(np.int8), clean.astype(np.int8), region.astype(np.int8))


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

    name, letter = "masked-margin", "E1"
    description = (
        "Clean rows whose evidence is a short vector masked by random directions, beside noisy rows with a "
        "large one. Steps that grow with the score learn from the noisy rows and are slow to learn the masked."
    )
    limits = Limits(0.1, 0.045, largest_margin=0.05, reason="its point G lies 0.05 from the boundary")

    def _points(self) -> list[Point]:
        scale = self.margin / 0.45
        return [
            Point("F", (0.5, 0.5), 0.4, self.noise_rate),
            Point("G", (0.5, 0.05), 0.2),
            Point("N", (0.05 * scale, self.margin), 0.4),
        ]


class _Sacrificed(PlaneWorld):
    """A noisy point F, a long clean G and a short clean N = margin (-slope, 1)."""

    _long: ClassVar[tuple[tuple[float, float], tuple[float, float]]]  # F and G
    _slope: ClassVar[float]
    _shares: ClassVar[tuple[float, float, float]]  # the masses of F, G and N

    def _points(self) -> list[Point]:
        (f, g), masses = self._long, self._shares
        n = (-self._slope * self.margin, self.margin)
        return [Point("F", f, masses[0], self.noise_rate), Point("G", g, masses[1]), Point("N", n, masses[2])]


class SacrificedMinority(_Sacrificed):
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

    name, letter = "sacrificed-minority", "E2"
    description = (
        "Noise on a few rows makes it cheap for logistic, square and leaky-ReLU losses to get every clean row "
        "with a short vector wrong: even their exact minimisers err on more than half of the rounds."
    )
    limits = Limits(0.2, 0.04, largest_margin=0.08, reason="its point G lies 0.08 from the boundary")
    _long, _slope, _shares = ((0.6, 0.6), (0.95, 0.08)), 1.5, (0.22, 0.24, 0.54)


class SacrificedMajority(_Sacrificed):
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

    name, letter = "sacrificed-majority", "E3"
    description = (
        "Seven rows in ten are clean and short, and the exact minimisers of the logistic, hinge, square and "
        "leaky-ReLU losses get all of them wrong, for the sake of three in ten that are long."
    )
    limits = Limits(0.3, 0.04, largest_margin=0.06, reason="its point G lies 0.06 from the boundary")
    _long, _slope, _shares = ((0.39, 0.84), (0.98, 0.06)), 1.15, (0.13, 0.17, 0.70)


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

    name, letter = "kink", "E4"
    description = (
        "Every label is true although noise is declared. The leaky-ReLU loss is least exactly on the "
        "boundary of most rows, so descending it keeps getting a third of them wrong for ever."
    )
    limits = Limits(0.1, 0.05, largest_margin=0.05, reason="its point G lies 0.05 from the boundary")

    def _points(self) -> list[Point]:
        return [Point("G", (0.9, 0.05), 0.3), Point("A", (-1.2 * self.margin, self.margin), 0.7)]


class TwoPhases(SacrificedMinority):
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

    name, letter = "two-phases", "E5"
    description = (
        "Half a stream of long rows, then half a stream of short ones the first half never showed. "
        "Learners with decaying steps or growing confidence take very long to adapt."
    )
    _shares = (0.24, 0.26, 0.5)

    def _choose(self, block: Block) -> Indices:
        long_rows = by_mass(block.rng, self._masses[:2], block.size)
        return np.where(2 * block.indices < block.rounds, long_rows, 2)


class FixedPair(PlaneWorld):
    """World E6: two fixed unit rows on the two sides of the target, labels flipped at the same rate.

        A = (sqrt(1 - margin^2), margin)     mass .5
        B = (-sqrt(1 - margin^2), margin)    mass .5

    A learner that corrects every mistake in full undoes what it learned from the other row.

    >>> world = FixedPair()
    >>> world.noise_rate, world.margin, world.bayes_error
    (0.3, 0.3, 0.3)
    """

    name, letter = "fixed-pair", "E6"
    description = (
        "Two rows that never change, with uniform noise. Averaging is enough; the perceptron and the "
        "passive-aggressive learner, which correct each mistake in full, stay far above the noise rate."
    )
    limits = Limits(noise_rate=0.3, margin=0.3)

    def _points(self) -> list[Point]:
        across = math.sqrt(max(0.0, 1.0 - self.margin * self.margin))
        return [
            Point("A", (across, self.margin), 0.5, self.noise_rate),
            Point("B", (-across, self.margin), 0.5, self.noise_rate),
        ]


def by_mass(rng: np.random.Generator, masses: Vector, count: int) -> Indices:
    """Draw `count` indices, each with probability proportional to its mass."""
    # Without the last edge, a sum of masses rounded below 1 cannot point past the last index.
    edges = np.cumsum(masses / masses.sum())[:-1]
    return np.searchsorted(edges, rng.random(count), side="right")


def complete(rng: np.random.Generator, plane: npt.ArrayLike, dimension: int) -> Matrix:
    """Complete points `(p1, p2)` to unit vectors by a uniformly random direction orthogonal to the plane.

    In two dimensions there is no such direction and the points stay where they are.

    >>> rows = complete(np.random.default_rng(0), [[0.6, 0.6], [-0.06, 0.04]], dimension=5)
    >>> rows[:, :2].tolist()
    [[0.6, 0.6], [-0.06, 0.04]]
    >>> np.linalg.norm(rows, axis=1).round(12).tolist()
    [1.0, 1.0]
    """
    points = np.asarray(plane, dtype=np.float64)
    rows = np.empty((len(points), dimension))
    rows[:, :2] = points
    if dimension > 2:
        padding = rng.standard_normal((len(points), dimension - 2))
        rest = 1.0 - np.square(points).sum(axis=1)
        room = np.sqrt(np.where(rest > 1e-12, rest, 0.0))  # less is rounding: the point is on the sphere
        padding *= (room / np.sqrt(np.square(padding).sum(axis=1)))[:, None]
        rows[:, 2:] = padding
    return rows
