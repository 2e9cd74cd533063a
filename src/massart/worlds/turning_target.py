"""Drift: a world whose target turns while the stream runs."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidParameterError
from massart.worlds.base import Chunk, Matrix, Seed, Vector
from massart.worlds.oblivious import ObliviousWorld
from massart.worlds.random_noise import RandomNoise
from massart.worlds.ranges import within

__all__ = ["TurningTarget"]


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

    def _draw(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> Chunk:
        chunk = self.base._draw(rng, start, count, rounds)
        _turn(chunk.X, np.arange(start, start + count), self.angle_per_round)
        return chunk

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "base": self.base.name, "angle_per_round": self.angle_per_round}


def _turn(rows: Matrix, rounds: npt.NDArray[np.integer], angle_per_round: float) -> None:
    """Rotate the row of each round in the plane of the first two coordinates, in place."""
    angles = rounds * angle_per_round
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = rows[:, 0].copy(), rows[:, 1].copy()
    rows[:, 0] = first * cos - second * sin
    rows[:, 1] = first * sin + second * cos


def _base(
    base: "str | ObliviousWorld",
    noise_rate: float | None,
    margin: float | None,
    dimension: int | None,
    seed: Seed,
) -> ObliviousWorld:
    if isinstance(base, str):
        from massart.worlds.registry import make  # noqa: PLC0415 - the registry knows this world, too

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
