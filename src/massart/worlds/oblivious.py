"""Worlds whose rows are not points of a plane and do not depend on the learner: uniform, orthogonal, turning."""

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from massart.errors import InvalidParameterError
from massart.worlds.base import Chunk, HalfspaceWorld, Limits, ObliviousWorld, Region, flip, random_signs
from massart.worlds.ranges import within
from massart.worlds.stream import Block, Indices, Matrix, Seed, Vector

__all__ = ["OrthogonalCoins", "RandomNoise", "TurningTarget"]

_ROUNDING = 1e-5  # of 1 / margin^2, relative: 0.288675 is meant to be 1 / sqrt(12)


class _UniformNoise(HalfspaceWorld, ObliviousWorld):
    """Every label is flipped at the same rate; a subclass places the rows."""

    def _declare(self) -> None:
        self.regions = (Region("all", self.noise_rate, 1.0),)
        self.bayes_error = self.noise_rate

    @abstractmethod
    def _place(self, block: Block, clean: Vector) -> Matrix:
        """Draw the rows of a block whose true labels are `clean`."""

    def _draw(self, block: Block) -> Chunk:
        clean = random_signs(block.rng, block.size)
        y = flip(block.rng, clean, self.noise_rate)
        region = np.zeros(block.size, dtype=np.int8)
        return Chunk(self._place(block, clean), y.astype(np.int8), clean.astype(np.int8), region)


class RandomNoise(_UniformNoise):
    """World E0: x uniform on the unit sphere given |x2| >= margin, every label flipped at the same rate.

    The squared height x2^2 of a uniform point of the sphere is Beta(1/2, (d - 1)/2); it is drawn by
    inverting the upper tail, so that no margin makes it slow.

    >>> world = RandomNoise(noise_rate=0.1, margin=0.1, dimension=20)
    >>> rows = world.take(1000).X
    >>> bool(abs(rows[:, 1]).min() >= 0.1)
    True
    """

    name, letter = "random-noise", "E0"
    description = (
        "Rows spread over the whole sphere, each label flipped with the same probability. Only learners "
        "that correct every mistake in full, such as the perceptron, do badly here."
    )
    limits = Limits(noise_rate=0.1, margin=0.1)

    def _place(self, block: Block, clean: Vector) -> Matrix:
        from scipy.special import betaincc, betainccinv  # noqa: PLC0415 - scipy only when rows are drawn

        rng, count = block.rng, block.size
        shape = (0.5, (self.dimension - 1) / 2)
        tail = rng.random(count) * betaincc(*shape, self.margin**2)
        height = np.clip(np.sqrt(betainccinv(*shape, tail)), self.margin, 1.0)
        rows = rng.standard_normal((count, self.dimension))
        rows[:, 1] = 0.0
        rows *= (np.sqrt(1.0 - height**2) / np.sqrt(np.square(rows).sum(axis=1)))[:, None]
        rows[:, 1] = clean * height
        return rows


class OrthogonalCoins(_UniformNoise):
    """The stream of Theorem 18 (lower bound): D = 1 / margin^2 orthogonal rows in turn, each with a sign of its own.

        target = margin * (+-e1 +- ... +- eD)    signs drawn once, from the seed
        row of round t = e_i, i = t mod D        with a fresh sign on row and label together

    Every label is flipped at the same rate. What is seen of one row says nothing about another, so
    no learner does better than the majority of the labels seen at each row. The default noise rate is the
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
    limits = Limits(noise_rate=0.469, margin=0.1)

    def _declare(self) -> None:
        super()._declare()
        margin, dimension = self._given
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
        self.target = np.zeros(self.dimension)
        self.target[: self.rows] = self.margin * random_signs(self._generator(0, 1), self.rows)

    def _whole(self, rows: float) -> int:
        if abs(rows - round(rows)) > _ROUNDING * rows:
            near = [f"{1.0 / math.sqrt(d):.7g} ({d} rows)" for d in (math.floor(rows), math.ceil(rows))]
            raise InvalidParameterError(
                f"the world {self.name!r} needs 1 / margin^2, its number of rows, to be whole, and at "
                f"margin={self.margin!r} it is {rows:.6g}: take {' or '.join(near)}"
            )
        return round(rows)

    def _place(self, block: Block, clean: Vector) -> Matrix:
        shown = block.indices % self.rows
        rows = np.zeros((block.size, self.dimension))
        rows[np.arange(block.size), shown] = clean * np.sign(self.target[shown])
        return rows


class TurningTarget(ObliviousWorld):
    """An oblivious world turned as a whole in the plane (e1, e2), by the same angle in every round.

    Row and target of round t are both rotated by t * angle_per_round, so that w*_t.x_t, and with it the
    margin, the labels and the noise, are those of the world that is turned. `target` is that of round
    0, `target_at` that of any round. No theorem for a fixed target covers this world.

    Parameters: `base` is the name of an oblivious world, to which noise_rate, margin, dimension and seed are
    given, or such a world itself; angle_per_round is in radians.

    >>> world = TurningTarget(angle_per_round=1e-3, dimension=5)
    >>> world.target_at(0).tolist()
    [0.0, 1.0, 0.0, 0.0, 0.0]
    >>> world.target_at(1000)[:2].round(4).tolist()
    [-0.8415, 0.5403]
    """

    name = "turning-target"
    description = (
        "Another world whose target turns at a constant speed while the stream runs: what was learned "
        "grows stale, and a learner that only ever grows more certain is left behind."
    )

    def __init__(
        self,
        noise_rate: float | None = None,
        margin: float | None = None,
        dimension: int | None = None,
        seed: Seed = 0,
        *,
        base: "str | ObliviousWorld" = RandomNoise.name,
        angle_per_round: float = 1e-4,
    ) -> None:
        self.base = _base(base, noise_rate, margin, dimension, seed)
        super().__init__(self.base.seed)
        self.angle_per_round = within(self.name, "angle_per_round", angle_per_round, -math.pi, math.pi)
        if self.base.dimension < 2:
            raise InvalidParameterError("a target can only turn in at least two dimensions, got 1")
        self.noise_rate = self.base.noise_rate
        self.margin = self.base.margin
        self.dimension = self.base.dimension
        self.target = self.base.target
        self.regions = self.base.regions
        self.bayes_error = self.base.bayes_error

    def target_at(self, round_index: int) -> Vector:
        """Give the target of this round."""
        turned = self.base.target_at(round_index).copy()
        _turn(turned[None], np.array([round_index]), self.angle_per_round)
        return turned

    def _draw(self, block: Block) -> Chunk:
        chunk = self.base._draw(block)
        _turn(chunk.X, block.indices, self.angle_per_round)
        return chunk

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "base": self.base.name, "angle_per_round": self.angle_per_round}


def _turn(rows: Matrix, rounds: Indices, angle_per_round: float) -> None:
    """Rotate the row of each round in the plane of the first two coordinates, in place."""
    angles = rounds * angle_per_round
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = rows[:, 0].copy(), rows[:, 1].copy()
    rows[:, 0] = first * cos - second * sin
    rows[:, 1] = first * sin + second * cos


def _base(
    base: "str | ObliviousWorld", noise_rate: float | None, margin: float | None, dimension: int | None, seed: Seed
) -> ObliviousWorld:
    if isinstance(base, str):
        from massart.worlds.registry import make  # noqa: PLC0415 - the registry imports this module

        made = make(base, noise_rate=noise_rate, margin=margin, dimension=dimension, seed=seed)
    else:
        made = base
        if (noise_rate, margin, dimension) != (None, None, None):
            raise InvalidParameterError(
                "noise_rate, margin and dimension belong to the world that is turned: give them to base, "
                "or give its name as base"
            )
    if not isinstance(made, ObliviousWorld):
        raise InvalidParameterError(
            f"only an oblivious world can be turned, and {getattr(made, 'name', made)!r} is not one"
        )
    return made
