"""What every world is: its declared truth, its randomness, and the records it hands out.

A world never keeps a position. Its rows are drawn in blocks of fixed length, block `b` from its own generator
`SeedSequence(seed, spawn_key=(b,))`, so the stream is the same whatever the chunk size, from any restart, and
in any process.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidParameterError

__all__ = ["Chunk", "Labels", "Matrix", "Region", "Round", "Seed", "Stream", "Vector", "Weights", "World"]

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int8]
Weights = npt.NDArray[np.floating] | Sequence[float]
Seed = int | np.random.SeedSequence | None


class Region(NamedTuple):
    """A part of a world, the rate at which its labels are flipped, and its share of the rounds.

    `mass` is None where the learner's own behaviour decides how often the region is shown.
    """

    name: str
    flip_rate: float
    mass: float | None


class Chunk(NamedTuple):
    """Consecutive rounds: rows, the labels the learner is told, the true ones, and each row's region."""

    X: Matrix  # (n, dimension), C order
    y: Labels  # (n,), -1 or +1, after the noise
    clean: Labels  # (n,), -1 or +1, before the noise
    region: Labels  # (n,), index into the world's `regions`


class Round(NamedTuple):
    """One round: the row, the label the learner is told, the true one, and the region's index."""

    x: Vector  # (dimension,)
    y: int
    clean: int
    region: int


class Stream(Protocol):
    """Rounds one at a time, each chosen after seeing the learner's current weights."""

    rounds: int
    played: int

    def next(self, weights: Weights) -> Round:
        """Choose the next round against a learner that predicts +1 exactly where `weights.x >= 0`."""


class World(ABC):
    """A stream of labelled rows that knows its truth.

    Every row has `||x|| <= 1` and `|target.x| >= margin`, and its label is flipped with probability at most
    `noise_rate`, which is below 1/2. `bayes_error` is the mistake rate of `target` itself; it is None when
    the learner decides how often the noisy rows come.
    """

    name: ClassVar[str]
    letter: ClassVar[str] = ""
    description: ClassVar[str]
    adaptive: ClassVar[bool] = False

    noise_rate: float
    margin: float | None
    dimension: int
    target: Vector
    regions: tuple[Region, ...]
    bayes_error: float | None

    def __init__(self, seed: Seed) -> None:
        try:
            self._root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        except (TypeError, ValueError):
            message = f"seed must be a non-negative integer, a SeedSequence or None, got {seed!r}"
            raise InvalidParameterError(message) from None
        self.seed = seed

    def target_at(self, round_index: int) -> Vector:
        """Give the unit vector that labels the row of this round; only a turning world changes it."""
        del round_index
        return self.target

    @abstractmethod
    def chunks(self, rounds: int, size: int = 4096) -> Iterator[Chunk]:
        """Yield the first `rounds` rounds, `size` at a time; an adaptive world refuses."""

    @abstractmethod
    def play(self, rounds: int) -> Stream:
        """Start a game of `rounds` rounds, shown one at a time."""

    def _generator(self, *key: int) -> np.random.Generator:
        """Derive the generator of one block: a function of seed and key, never of what came before."""
        child = np.random.SeedSequence(self._root.entropy, spawn_key=(*self._root.spawn_key, *key))
        return np.random.default_rng(child)

    def _parameters(self) -> dict[str, Any]:
        return {
            "noise_rate": self.noise_rate,
            "margin": self.margin,
            "dimension": self.dimension,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._parameters().items())
        return f"<world {self.name}: {inside}>"
