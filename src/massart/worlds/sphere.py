"""Points on the unit sphere with prescribed first coordinates."""

import math

import numpy as np
import numpy.typing as npt

from massart.worlds.base import Matrix

__all__ = ["complete", "filling"]


def filling(first: float, second: float) -> float:
    """Length that is left for the other coordinates: `sqrt(1 - first^2 - second^2)`.

    >>> round(filling(0.6, 0.0), 12)
    0.8
    """
    return math.sqrt(max(0.0, 1.0 - first * first - second * second))


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
