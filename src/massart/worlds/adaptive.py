"""Worlds that look at the learner's weights before they choose the round."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.base import Chunk, Matrix, Region, Round, Weights
from massart.worlds.halfspace import HalfspaceWorld
from massart.worlds.ranges import whole_number

__all__ = ["AdaptiveStream", "AdaptiveWorld"]

# Rounds whose random numbers are drawn together. Even, so that a kernel may take the parity of its row
# for that of the round; small, so that the rows stay in the processor's cache.
BLOCK = 1024

# What a kernel's answer means: 4 region + 2 [y = +1] + [clean = +1].
_MEANING = [(2 * (code >> 1 & 1) - 1, 2 * (code & 1) - 1, code >> 2) for code in range(12)]


class AdaptiveWorld(HalfspaceWorld):
    """A world that chooses its row, and whether to lie about it, by looking at the learner's weights.

    The target is `e2` and each round carries a fresh random sign on row and label together. The label
    is drawn from the world's own generator and never sees the learner's coins.
    """

    adaptive = True
    bayes_error = None

    def _declare(self) -> None:
        self.regions = self._regions()

    def _regions(self) -> tuple[Region, ...]:
        """Name the regions in the order the kernel numbers them."""
        return (Region("wrong", 0.0, None), Region("right", self.noise_rate, None))

    @abstractmethod
    def _kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Give the compiled choice of a round and the arguments that stay the same all game."""

    def chunks(self, rounds: int, size: int = 4096) -> Iterator[Chunk]:
        """Refuse: the rows of an adaptive world depend on the learner."""
        raise InvalidParameterError(
            f"the world {self.name!r} is adaptive: its rows depend on the learner's weights, so chunks"
            f"({rounds}, {size}) cannot be drawn ahead; use play(rounds) and then next(weights)"
        )

    def play(self, rounds: int) -> "AdaptiveStream":
        """Start a game of `rounds` rounds; every game of the same world draws the same random numbers."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        kernel, fixed = self._kernel()
        return AdaptiveStream(kernel, fixed, self._numbers, self.dimension, rounds)

    def _numbers(self, block: int) -> tuple[Matrix, Matrix]:
        rng = self._generator(block)
        return rng.standard_normal((BLOCK, self.dimension)), rng.random((BLOCK, 3))


class AdaptiveStream:
    """A game: `next(weights)` shows one round."""

    def __init__(
        self,
        kernel: Callable[..., int],
        fixed: tuple[Any, ...],
        numbers: Callable[[int], tuple[Matrix, Matrix]],
        dimension: int,
        rounds: int,
    ) -> None:
        self.rounds = rounds
        self.played = 0
        self._kernel = kernel
        self._fixed = fixed
        self._numbers = numbers
        self._weights = np.zeros(dimension)

    def next(self, weights: Weights) -> Round:
        """Choose the next round against a learner that predicts +1 exactly where `weights.x >= 0`.

        `weights` may have any norm, zero included, and shape (dimension,) or (1, dimension); they are
        copied, never kept.
        """
        played = self.played
        t = played % BLOCK
        if t == 0:
            # New memory each time: the rows handed out before stay what they were.
            self._rows, self._coins = self._numbers(played // BLOCK)
        if played >= self.rounds:
            raise InvalidDataError(f"this game ended after {self.rounds} rounds: call play with more")
        try:
            # The assignment would spread a single number over all coordinates: lengths are compared first.
            fits = len(weights) == self._weights.size or np.shape(weights) == (1, self._weights.size)
            self._weights[:] = weights if fits else ()
        except (TypeError, ValueError):
            raise self._bad(weights) from None
        code = self._kernel(self._weights, self._rows, self._coins, t, *self._fixed)
        if code < 0:
            raise self._bad(weights)
        self.played = played + 1
        return Round(self._rows[t], *_MEANING[code])

    def _bad(self, weights: Weights) -> InvalidDataError:
        shape = np.shape(weights)
        size = self._weights.size
        if shape not in ((size,), (1, size)):
            return InvalidDataError(f"weights must have shape ({size},), got {shape}")
        return InvalidDataError("weights hold something that is not a finite number: did the learner diverge?")
