"""Worlds that look at the learner's weights before they choose the round."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from massart.worlds.base import Chunk, HalfspaceWorld, Limits, Region, Round
from massart.worlds.plane import PlaneWorld, SacrificedMajority, SacrificedMinority
from massart.worlds.ranges import whole_number
from massart.worlds.stream import AdaptiveGame, Matrix, Weights, refuse_chunks

__all__ = [
    "AdaptiveStream",
    "AdaptiveWorld",
    "HuntedMajority",
    "HuntedMinority",
    "NearMiss",
    "WorstOfPool",
    "WorstPoint",
]

# Rounds whose random numbers are drawn together. Even, so that a kernel may take the parity of its row
# for that of the round; small, so that the rows stay in the processor's cache.
BLOCK = 1024

# What a kernel's answer means: 4 region + 2 [y = +1] + [clean = +1].
_MEANING = [(2 * (code >> 1 & 1) - 1, 2 * (code & 1) - 1, code >> 2) for code in range(12)]

_POOL = 400  # rows of `worst-of-pool`

Kernel = tuple[Callable[..., int], tuple[Any, ...]]  # the compiled choice and its arguments that never change


class AdaptiveWorld(HalfspaceWorld):
    """A world that chooses its row, and whether its label may be flipped, by looking at the learner's weights.

    The target is `e2` and each round carries a fresh random sign on row and label together. The label
    is drawn from the world's own generator, whatever random numbers the learner uses.
    """

    adaptive = True
    bayes_error = None

    def _declare(self) -> None:
        self.regions = self._regions()

    def _regions(self) -> tuple[Region, ...]:
        """Name the regions in the order the kernel numbers them."""
        return (Region("wrong", 0.0, None), Region("right", self.noise_rate, None))

    @abstractmethod
    def _kernel(self) -> Kernel:
        """Give the compiled choice of a round and the arguments that stay the same all game."""

    def chunks(self, rounds: int, size: int = 4096) -> Iterator[Chunk]:
        """Raise an error: the rows of an adaptive world depend on the learner."""
        raise refuse_chunks(self, "learner", rounds, size)

    def play(self, rounds: int) -> "AdaptiveStream":
        """Start a game of `rounds` rounds; every game of the same world draws the same random numbers."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        return AdaptiveStream(self, rounds)

    def _numbers(self, block: int) -> tuple[Matrix, Matrix]:
        rng = self._generator(block)
        return rng.standard_normal((BLOCK, self.dimension)), rng.random((BLOCK, 3))


class AdaptiveStream(AdaptiveGame):
    """A game: `next(weights)` shows one round."""

    player: ClassVar[str] = "learner"

    def __init__(self, world: AdaptiveWorld, rounds: int) -> None:
        super().__init__(world.dimension, rounds)
        self._world = world
        self._kernel, self._fixed = world._kernel()

    def __getstate__(self) -> dict[str, Any]:
        """All but the compiled kernel: where the copy goes, it may have been compiled in another way."""
        return {name: value for name, value in vars(self).items() if name not in ("_kernel", "_fixed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._kernel, self._fixed = self._world._kernel()

    def next(self, weights: Weights) -> Round:
        """Choose the next round against a learner that predicts +1 exactly where `weights.x >= 0`.

        `weights` may have any norm, zero included, and shape (dimension,) or (1, dimension); they are
        copied, never kept.
        """
        copy = self._look(weights)
        t = self.played % BLOCK
        if t == 0:
            # New memory each time: the rows handed out before stay what they were.
            self._rows, self._uniform = self._world._numbers(self.played // BLOCK)
        code = self._kernel(copy, self._rows, self._uniform, t, *self._fixed)
        if code < 0:
            raise self._bad(weights)
        self.played += 1
        return Round(self._rows[t], *_MEANING[code])


class WorstPoint(AdaptiveWorld):
    """World A1: always the row with the least score among those at distance `margin` from the boundary.

        x = margin w* - sqrt(1 - margin^2) w_perp / |w_perp|

    where w_perp is the part of the learner's weights orthogonal to w*. While the learner errs on it the label
    is clean, so that the row costs a whole mistake; once it is right, the label is flipped with
    probability noise_rate, so that what was learned is unlearned.

    >>> game = WorstPoint(margin=0.1).play(rounds=10)
    >>> one = game.next([3.0] + 19 * [0.0])
    >>> bool(one.x[0] * one.clean < -0.99), one.y == one.clean      # far on the wrong side, label true
    (True, True)
    """

    name, letter = "worst-point", "A1"
    description = (
        "Shows the row the learner scores worst among those near the boundary, truthfully while the learner "
        "is wrong and noisily once it is right: the mistake bound is nearly attained, averaging is ruinous."
    )
    limits = Limits(noise_rate=0.1, margin=0.1)

    def _kernel(self) -> Kernel:
        from massart.kernels.learning.adversaries import worst_point  # noqa: PLC0415 - numba only when a game begins

        return worst_point, (self.noise_rate, self.margin)


class WorstOfPool(AdaptiveWorld):
    """World A2: of 400 rows of `sacrificed-minority`, the misclassified one with the smallest |w.x|.

    Its label is true. When the learner is right on the whole pool, a random row is shown and its label
    is flipped with probability noise_rate. The pool is drawn from the world's seed.

    >>> world = WorstOfPool()
    >>> game = world.play(rounds=10)
    >>> world.regions[game.next(world.target).region].name
    'right'
    """

    name, letter = "worst-of-pool", "A2"
    description = (
        "Four hundred fixed rows; always one the learner still misclassifies, the one it is least sure of, "
        "and noise as soon as it has them all. Learners that need long to settle never do."
    )
    limits = SacrificedMinority.limits

    def _kernel(self) -> Kernel:
        from massart.kernels.learning.adversaries import worst_of_pool  # noqa: PLC0415 - numba only when a game begins

        # Its own branch of the seed: no block of the game shares a generator with the pool.
        base = SacrificedMinority(self.noise_rate, self.margin, self.dimension, self._child(0, 0))
        chunk = base.take(_POOL)
        columns = np.ascontiguousarray((chunk.X * chunk.clean[:, None]).T)
        return worst_of_pool, (self.noise_rate, columns, np.empty(_POOL))


class NearMiss(AdaptiveWorld):
    """World A3: every other row is scored wrong by a hair, and between them comes noise along e1.

    In even rounds x = margin w* - c w_perp / |w_perp| + padding, orthogonal to the learner's weights but for a
    hair on the wrong side, with a true label; c = margin (w.w*) / |w_perp|, and the padding is
    orthogonal to w and w*. In odd rounds, and when c would exceed the sphere, x = (.9, margin) with
    random padding, flipped with probability noise_rate. A loss of size |w.x| sees nothing in the even rows.

    >>> game = NearMiss().play(rounds=10)
    >>> weights = [1.0, 1.0] + 18 * [0.0]
    >>> one = game.next(weights)
    >>> bool(abs(one.x @ weights) < 1e-8), bool(one.x @ weights * one.clean < 0)
    (True, True)
    """

    name, letter = "near-miss", "A3"
    description = (
        "Every other row lies a hair's breadth on the wrong side of the learner's own boundary, with a true "
        "label; between them come noisy rows. A loss that is small where the score is small learns little."
    )
    limits = Limits(0.1, 0.1, largest_margin=0.43, reason="its point (0.9, margin) must lie in the unit ball")

    def _regions(self) -> tuple[Region, ...]:
        return (Region("barely wrong", 0.0, None), Region("noisy", self.noise_rate, None))

    def _kernel(self) -> Kernel:
        from massart.kernels.learning.adversaries import near_miss  # noqa: PLC0415 - numba only when a game begins

        return near_miss, (self.noise_rate, self.margin)


class _Hunted(AdaptiveWorld):
    """World A4 over a world with points F, G, N; `share` is that of F among the rounds that do not show N."""

    _base: ClassVar[type[PlaneWorld]]
    _share: ClassVar[float]

    def _regions(self) -> tuple[Region, ...]:
        base = self._base(self.noise_rate, self.margin, self.dimension)
        return tuple(region._replace(mass=None) for region in base.regions)

    def _kernel(self) -> Kernel:
        from massart.kernels.learning.adversaries import hunted  # noqa: PLC0415 - numba only when a game begins

        plane = np.ascontiguousarray(self._base(self.noise_rate, self.margin, self.dimension).plane)
        return hunted, (self.noise_rate, self._share, plane)


class HuntedMinority(_Hunted):
    """World A4 over E2: N, with its padding against the learner's, whenever the learner errs on it.

    The padding of N points along minus the learner's own weights outside the plane, so that the noise it has
    picked up there is used against it. Otherwise the round is F (probability .48, flipped with probability
    noise_rate) or G. The points are those of `sacrificed-minority`.

    >>> game = HuntedMinority().play(rounds=10)
    >>> game.next([1.0] + 19 * [0.0]).region      # the weights point along e1, where N is wrong
    2
    """

    name, letter = "hunted-minority", "A4/E2"
    description = (
        "The points of sacrificed-minority, chosen against the learner: the short clean row whenever it is "
        "wrong there, otherwise rows that pull it away again. Classical learners err about twice in three."
    )
    limits, _base, _share = SacrificedMinority.limits, SacrificedMinority, 0.48


class HuntedMajority(_Hunted):
    """World A4 over E3: as `hunted-minority`, with the points of `sacrificed-majority`; F comes with .43.

    >>> world = HuntedMajority()
    >>> [region.name for region in world.regions], world.noise_rate
    (['F', 'G', 'N'], 0.3)
    """

    name, letter = "hunted-majority", "A4/E3"
    description = (
        "The points of sacrificed-majority, chosen against the learner: the short clean row whenever it is "
        "wrong there, otherwise rows that pull it away again. Classical learners err about three times in four."
    )
    limits, _base, _share = SacrificedMajority.limits, SacrificedMajority, 0.43
