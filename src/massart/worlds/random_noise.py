"""The benign world: uniform rows, uniform noise."""

from typing import ClassVar

import numpy as np

from massart.worlds.base import Chunk, Region
from massart.worlds.halfspace import HalfspaceWorld
from massart.worlds.oblivious import ObliviousWorld, flip

__all__ = ["RandomNoise"]


class RandomNoise(HalfspaceWorld, ObliviousWorld):
    """World E0: x uniform on the unit sphere given |x2| >= margin, every label flipped at the same rate.

    The squared height x2^2 of a uniform point of the sphere is Beta(1/2, (d - 1)/2); it is drawn by
    inverting the upper tail, so that no margin makes it slow.

    >>> world = RandomNoise(noise_rate=0.1, margin=0.1, dimension=20)
    >>> rows = world.take(1000).X
    >>> bool(abs(rows[:, 1]).min() >= 0.1)
    True
    """

    name = "random-noise"
    letter = "E0"
    description = (
        "Rows spread over the whole sphere, each label flipped with the same probability. Only learners "
        "that take every mistake at its word, the perceptron and its kin, do badly here."
    )
    default_noise_rate: ClassVar[float] = 0.1
    default_margin: ClassVar[float] = 0.1

    def _declare(self) -> None:
        self.regions = (Region("all", self.noise_rate, 1.0),)
        self.bayes_error = self.noise_rate

    def _draw(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> Chunk:
        from scipy.special import betaincc, betainccinv  # noqa: PLC0415 - scipy only when rows are drawn

        del start, rounds
        clean = np.where(rng.random(count) < 0.5, 1.0, -1.0)
        y = flip(rng, clean, self.noise_rate)
        shape = (0.5, (self.dimension - 1) / 2)
        tail = rng.random(count) * betaincc(*shape, self.margin**2)
        height = np.clip(np.sqrt(betainccinv(*shape, tail)), self.margin, 1.0)
        rows = rng.standard_normal((count, self.dimension))
        rows[:, 1] = 0.0
        rows *= (np.sqrt(1.0 - height**2) / np.sqrt(np.square(rows).sum(axis=1)))[:, None]
        rows[:, 1] = clean * height
        return Chunk(rows, y.astype(np.int8), clean.astype(np.int8), np.zeros(count, dtype=np.int8))
