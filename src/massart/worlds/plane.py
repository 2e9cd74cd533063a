"""Worlds made of a few points in a plane, hidden among random directions.

The target is `e2`. A row is one of a few points of the plane (e1, e2), completed to the unit sphere by
a fresh random direction orthogonal to it, with a fresh random sign on row and label together. The
padding says nothing about the label: all that can be learned is in the plane.
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from massart.worlds.base import Chunk, Matrix, Region
from massart.worlds.halfspace import HalfspaceWorld
from massart.worlds.oblivious import ObliviousWorld, flip
from massart.worlds.sphere import complete

__all__ = ["PlaneWorld", "Point", "by_mass"]


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

    def _choose(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> npt.NDArray[np.integer]:
        """Choose the region of each round: independently, by mass."""
        del start, rounds
        return by_mass(rng, self._masses, count)

    def _draw(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> Chunk:
        region = self._choose(rng, start, count, rounds)
        clean = np.where(rng.random(count) < 0.5, 1.0, -1.0)
        y = flip(rng, clean, self._rates[region])
        # Padding last: its amount depends on the dimension, the regions and labels of a seed do not.
        rows = complete(rng, self.plane[region], self.dimension)
        rows *= clean[:, None]
        return Chunk(rows, y.astype(np.int8), clean.astype(np.int8), region.astype(np.int8))


def by_mass(rng: np.random.Generator, masses: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.integer]:
    """Draw `count` indices, each with probability proportional to its mass."""
    # Without the last edge, a sum of masses rounded below 1 cannot point past the last index.
    edges = np.cumsum(masses / masses.sum())[:-1]
    return np.searchsorted(edges, rng.random(count), side="right")
