"""A fixed pool of rows, of which the learner is always shown one it still gets wrong."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from massart.worlds.adaptive import AdaptiveWorld
from massart.worlds.sacrificed import SacrificedMinority

__all__ = ["WorstOfPool"]

_POOL = 400  # rows


class WorstOfPool(AdaptiveWorld):
    """World A2: of 400 rows of `sacrificed-minority`, the misclassified one with the smallest |w.x|.

    Its label is true. When the learner is right on the whole pool, a random row is shown and its label
    is flipped with probability noise_rate. The pool is drawn from the world's seed.

    >>> world = WorstOfPool()
    >>> game = world.play(rounds=10)
    >>> world.regions[game.next(world.target).region].name
    'right'
    """

    name = "worst-of-pool"
    letter = "A2"
    description = (
        "Four hundred fixed rows; always one the learner still misclassifies, the one it is least sure of, "
        "and noise as soon as it has them all. Learners that need long to settle never do."
    )
    default_noise_rate: ClassVar[float] = SacrificedMinority.default_noise_rate
    default_margin: ClassVar[float] = SacrificedMinority.default_margin
    largest_margin: ClassVar[float] = SacrificedMinority.largest_margin
    margin_reason: ClassVar[str] = SacrificedMinority.margin_reason

    def _kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        from massart.kernels.learning.adversaries import worst_of_pool  # noqa: PLC0415 - numba only when a game begins

        # Its own branch of the seed: no block of the game shares a generator with the pool.
        seed = np.random.SeedSequence(self._root.entropy, spawn_key=(*self._root.spawn_key, 0, 0))
        base = SacrificedMinority(self.noise_rate, self.margin, self.dimension, seed)
        chunk = base.take(_POOL)
        columns = np.ascontiguousarray((chunk.X * chunk.clean[:, None]).T)
        return worst_of_pool, (self.noise_rate, columns, np.empty(_POOL))
