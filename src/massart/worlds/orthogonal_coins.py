"""The hardest world for everybody: rows that teach nothing about each other."""

import math
from typing import ClassVar

import numpy as np

from massart.errors import InvalidParameterError
from massart.worlds.base import Chunk, Region, Seed
from massart.worlds.halfspace import HalfspaceWorld
from massart.worlds.oblivious import ObliviousWorld, flip

__all__ = ["OrthogonalCoins"]

_ROUNDING = 1e-5  # of 1 / margin^2, relative: 0.288675 is meant to be 1 / sqrt(12)


class OrthogonalCoins(HalfspaceWorld, ObliviousWorld):
    """The stream of Theorem 18 (lower bound): D = 1 / margin^2 orthogonal rows in turn, each with a coin of its own.

        target = margin * (+-e1 +- ... +- eD)    signs drawn once, from the seed
        row of round t = e_i, i = t mod D        with a fresh sign on row and label together

    Every label is flipped at the same rate. What is seen of one row says nothing about another, so
    nobody does better than the majority of the labels seen at each row. The default noise rate is the
    hardest there is for 400 visits of each row: 0.5 - 0.625 / sqrt(400).

    `margin` must be one over the square root of a whole number, which is the number of rows; without it,
    `dimension` is that number. Coordinates beyond it are 0.

    >>> world = OrthogonalCoins(margin=0.5, noise_rate=0.4)
    >>> world.dimension, abs(world.target).tolist()
    (4, [0.5, 0.5, 0.5, 0.5])
    >>> abs(world.take(5).X).argmax(axis=1).tolist()
    [0, 1, 2, 3, 0]
    """

    name = "orthogonal-coins"
    description = (
        "Orthogonal rows in turn, each with a target sign of its own and labels that are nearly fair coins. No learner "
        "does better than counting the labels of each row: the lower bound of Theorem 18."
    )
    default_noise_rate: ClassVar[float] = 0.469
    default_margin: ClassVar[float] = 0.1

    def __init__(
        self,
        noise_rate: float | None = None,
        margin: float | None = None,
        dimension: int | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(noise_rate, margin, dimension, seed)
        if margin is None and dimension is not None:
            self.rows = self.dimension
        else:
            self.rows = self._whole(1.0 / self.margin**2)
            self.dimension = max(2, self.rows) if dimension is None else self.dimension
        if self.dimension < self.rows:
            raise InvalidParameterError(
                f"the world {self.name!r} has {self.rows} orthogonal rows at margin {self.margin:g} and needs "
                f"dimension to be at least that, got {dimension!r}: leave one of the two out"
            )
        self.margin = 1.0 / math.sqrt(self.rows)
        signs = np.where(self._generator(0, 1).random(self.rows) < 0.5, 1.0, -1.0)
        self.target = np.zeros(self.dimension)
        self.target[: self.rows] = self.margin * signs

    def _whole(self, rows: float) -> int:
        if abs(rows - round(rows)) > _ROUNDING * rows:
            near = [f"{1.0 / math.sqrt(d):.7g} ({d} rows)" for d in (math.floor(rows), math.ceil(rows))]
            raise InvalidParameterError(
                f"the world {self.name!r} needs 1 / margin^2, its number of rows, to be whole, and at "
                f"margin={self.margin!r} it is {rows:.6g}: take {' or '.join(near)}"
            )
        return round(rows)

    def _declare(self) -> None:
        self.regions = (Region("all", self.noise_rate, 1.0),)
        self.bayes_error = self.noise_rate

    def _draw(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> Chunk:
        del rounds
        clean = np.where(rng.random(count) < 0.5, 1.0, -1.0)
        y = flip(rng, clean, self.noise_rate)
        shown = np.arange(start, start + count) % self.rows
        rows = np.zeros((count, self.dimension))
        rows[np.arange(count), shown] = clean * np.sign(self.target[shown])
        return Chunk(rows, y.astype(np.int8), clean.astype(np.int8), np.zeros(count, dtype=np.int8))
