"""Rounds that were recorded somewhere, gone through again and again."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from massart.worlds.base import Matrix, Seed
from massart.worlds.rewards.base import Contexts, RewardChunk
from massart.worlds.rewards.drawing import shuffled_ranks
from massart.worlds.rewards.oblivious import ObliviousRewardWorld

__all__ = ["Indices", "ReplayWorld"]

Indices = npt.NDArray[np.integer]


class ReplayWorld(ObliviousRewardWorld):
    """A finite set of rounds, each shown once per pass; nothing is known of their rewards.

    Rounds beyond the last start over, in a new order if `shuffle`. The arms of a round are always shuffled.
    """

    satisfies_model: ClassVar[bool] = False
    gap = None
    margin = None
    target = None

    def __init__(self, size: int, shuffle: bool, seed: Seed) -> None:
        super().__init__(seed)
        self.size = size
        self.shuffle = shuffle
        self._pass: tuple[int, Indices] = (-1, np.arange(size))

    @abstractmethod
    def _contexts(self, chosen: Indices, order: Indices) -> Contexts:
        """Give the contexts of the recorded rounds `chosen` (n,), arms in the order `order` (n, arms)."""

    @abstractmethod
    def _means(self, chosen: Indices, order: Indices) -> Matrix:
        """Give the expected rewards of the same arms."""

    def _rewards(self, rng: np.random.Generator, means: Matrix) -> Matrix:
        """Draw the rewards: they are their means unless a world says otherwise."""
        del rng
        return means.copy()

    def _order(self, epoch: int) -> Indices:
        """Give the order of one pass over the rounds, remembering the latest."""
        if self.shuffle and self._pass[0] != epoch:
            # Two numbers as the key: never the generator of a block, which has one.
            self._pass = (epoch, self._generator(epoch, 1).permutation(self.size))
        return self._pass[1]

    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        first, last = start // self.size, (start + count - 1) // self.size
        orders = np.concatenate([self._order(epoch) for epoch in range(first, last + 1)])
        chosen = orders[start - first * self.size :][:count]
        order = shuffled_ranks(rng, count, self.arms)
        means = self._means(chosen, order)
        return RewardChunk(self._contexts(chosen, order), means, self._rewards(rng, means))

    def _parameters(self) -> dict[str, Any]:
        return {"rows": self.size, "arms": self.arms, "dimension": self.dimension, "seed": self.seed}
