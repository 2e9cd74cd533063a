"""Label worlds: what they declare, the records they hand out, and the parameters one may choose.

`World` is what every label world is, `HalfspaceWorld` one whose noise rate, margin and dimension may be chosen within
the world's `Limits`, `ObliviousWorld` one whose rows do not depend on the learner.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from massart.worlds.ranges import whole_number, within
from massart.worlds.stream import DrawnWorld, Seed, Simulation, Vector, Weights

__all__ = [
    "Chunk",
    "HalfspaceWorld",
    "Labels",
    "Limits",
    "ObliviousWorld",
    "Region",
    "Round",
    "Stream",
    "World",
    "flip",
    "random_signs",
]

Labels = npt.NDArray[np.int8]

_ONE_HALF = "at 1/2 a label carries no information"


class Region(NamedTuple):
    """A part of a world, the rate at which its labels are flipped, and its share of the rounds.

    `mass` is None where the learner's own behaviour decides how often the region is shown.
    """

    name: str
    flip_rate: float
    mass: float | None


class Chunk(NamedTuple):
    """Consecutive rounds: rows, the labels the learner is given, the true ones, and each row's region."""

    X: npt.NDArray[np.float64]  # (n, dimension), C order
    y: Labels  # (n,), -1 or +1, after the noise
    clean: Labels  # (n,), -1 or +1, before the noise
    region: Labels  # (n,), index into the world's `regions`


class Round(NamedTuple):
    """One round: the row, the label the learner is given, the true one, and the region's index."""

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


class World(Simulation[Chunk, Round]):
    """A stream of labelled rows with a known truth.

    Every row has `||x|| <= 1` and `|target.x| >= margin`, and its label is flipped with probability at most
    `noise_rate`, which is below 1/2. `bayes_error` is the mistake rate of `target` itself; it is None when
    the learner decides how often the noisy rows come.
    """

    letter: ClassVar[str] = ""
    _kind: ClassVar[str] = "world"
    _declared: ClassVar[tuple[str, ...]] = ("noise_rate", "margin", "dimension", "seed")

    noise_rate: float
    margin: float | None
    dimension: int
    target: Vector
    regions: tuple[Region, ...]
    bayes_error: float | None

    def target_at(self, round_index: int) -> Vector:
        """Give the unit vector that labels the row of this round; only a turning world changes it."""
        del round_index
        return self.target

    @abstractmethod
    def play(self, rounds: int) -> Stream:
        """Start a game of `rounds` rounds, shown one at a time."""


class Limits(NamedTuple):
    """The default noise rate and margin of a world, and its largest margin with the reason for it."""

    noise_rate: float
    margin: float
    largest_margin: float = 1.0
    reason: str = "rows have norm at most 1"


class HalfspaceWorld(World):
    """A world with target `e2`; a subclass gives its limits and its regions."""

    limits: ClassVar[Limits]

    margin: float

    def __init__(
        self, noise_rate: float | None = None, margin: float | None = None, dimension: int | None = None, seed: Seed = 0
    ) -> None:
        super().__init__(seed)
        name, limits = self.name, self.limits
        self._given = (margin, dimension)
        noise_rate = limits.noise_rate if noise_rate is None else noise_rate
        margin = limits.margin if margin is None else margin
        self.noise_rate = within(name, "noise_rate", noise_rate, 0.0, 0.5, ends="[)", why=_ONE_HALF)
        self.margin = within(name, "margin", margin, 0.0, limits.largest_margin, ends="(]", why=limits.reason)
        self.dimension = whole_number(name, "dimension", 20 if dimension is None else dimension, least=2)
        self.target = np.zeros(self.dimension)
        self.target[1] = 1.0
        self._declare()

    @abstractmethod
    def _declare(self) -> None:
        """Set what follows from noise rate and margin: the regions and, where it is known, the Bayes error."""


class ObliviousWorld(DrawnWorld[Chunk, Round], World):
    """A world whose rows do not depend on the learner; a subclass draws them."""

    @property
    def _block(self) -> int:
        return 4096

    def _single(self, chunk: Chunk) -> Iterator[Round]:
        return map(Round, chunk.X, chunk.y.tolist(), chunk.clean.tolist(), chunk.region.tolist())


def random_signs(rng: np.random.Generator, count: int) -> Vector:
    """Draw `count` signs, -1 or +1 with equal probability."""
    signs: Vector = np.where(rng.random(count) < 0.5, 1.0, -1.0)
    return signs


def flip(rng: np.random.Generator, clean: Vector, rates: Vector | float) -> Vector:
    """Flip each label with its own probability."""
    flipped: Vector = np.where(rng.random(len(clean)) < rates, -clean, clean)
    return flipped
