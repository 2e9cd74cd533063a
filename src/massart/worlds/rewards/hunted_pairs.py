"""Hard pairs, of which the policy is shown the short one as long as it has it in the wrong order."""

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.base import Vector, Weights
from massart.worlds.ranges import whole_number
from massart.worlds.rewards.base import RewardChunk, RewardRound
from massart.worlds.rewards.drawing import shuffled_steps
from massart.worlds.rewards.hard_pairs import HardPairs
from massart.worlds.rewards.pairs import PairWorld
from massart.worlds.sphere import complete

__all__ = ["HuntedPairs", "HuntedStream"]

_SHARE_OF_F = 0.48  # among the rounds that do not show N, as among those of `hard-pairs`


class HuntedPairs(PairWorld):
    """The points of `hard-pairs`: N whenever the weights w have it in the wrong order, otherwise F or G.

    N is shown when -1.5 w_1 + w_2 <= 0, that is when the plane part of w does not prefer the better end of its
    line; otherwise F with probability .48, else G. All points are padded with fresh random directions,
    and rewards are drawn from the world's own numbers, which the policy's coins cannot change.

    >>> game = HuntedPairs().play(rounds=10)
    >>> one = game.next([1.0] + 9 * [0.0])      # the weights point along e1, where N is in the wrong order
    >>> sorted(abs(one.contexts[:, 1]).tolist()), sorted(one.means.round(3).tolist())
    ([0.04, 0.04], [0.025, 0.975])
    """

    name = "hunted-pairs"
    description = (
        "Hard pairs chosen against the policy: the pair with short contexts as long as the policy has it in the wrong "
        "order, otherwise pairs that pull the policy away again."
    )
    adaptive = True
    default_gap: ClassVar[float] = HardPairs.default_gap
    default_margin: ClassVar[float] = HardPairs.default_margin
    reach: ClassVar[float] = HardPairs.reach
    chain: ClassVar[float] = HardPairs.chain

    def _declare(self) -> None:
        """Nothing is known ahead: the policy decides what it is shown."""

    def chunks(self, rounds: int, size: int = 4096) -> Iterator[RewardChunk]:
        """Refuse: the rounds of an adaptive world depend on the policy."""
        raise InvalidParameterError(
            f"the world {self.name!r} is adaptive: its rounds depend on the policy's weights, so {rounds} of them, "
            f"{size} at a time, cannot be drawn ahead; use play(rounds) and then next(weights)"
        )

    def play(self, rounds: int) -> "HuntedStream":
        """Start a game of `rounds` rounds; every game of the same world draws the same random numbers."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        return HuntedStream(self._both, self.plane[2], self.dimension, rounds)

    def _both(self, block: int) -> tuple[RewardChunk, RewardChunk]:
        """Draw a block of rounds twice: with F or G, and with N, from the same order of arms and the same coins."""
        rng, length = self._generator(block), self._block
        step = shuffled_steps(rng, length, self.arms)
        coins = rng.random((length, self.arms))
        drawn = []
        for point in ((rng.random(length) >= _SHARE_OF_F).astype(np.intp), np.full(length, 2)):
            means = self._expected(point, step)
            contexts = self._line(complete(rng, self.plane[point], self.dimension), step)
            drawn.append(RewardChunk(contexts, means, (coins < means).astype(np.float64)))
        return drawn[0], drawn[1]


class HuntedStream:
    """A game: `next(weights)` shows one round."""

    def __init__(
        self,
        draw: Callable[[int], tuple[RewardChunk, RewardChunk]],
        hunted: Vector,
        dimension: int,
        rounds: int,
    ) -> None:
        self.rounds = rounds
        self.played = 0
        self._draw = draw
        self._first, self._second = hunted.tolist()
        self._weights = np.zeros(dimension)
        self._block = self._t = 0
        self._pulling, self._hunting = draw(0)

    def next(self, weights: Weights) -> RewardRound:
        """Choose the next round against a policy that favours the arm with the largest `weights.x`.

        `weights` may have any norm, zero included, and shape (dimension,) or (1, dimension); they are
        looked at, never kept.
        """
        if self.played >= self.rounds:
            raise InvalidDataError(f"this game ended after {self.rounds} rounds: call play with more rounds")
        w = self._weights
        try:
            # The assignment would spread a single number over all coordinates: lengths are compared first.
            w[:] = weights if len(weights) == w.size or np.shape(weights) == (1, w.size) else ()
        except (TypeError, ValueError):
            raise self._bad(weights) from None
        if not np.isfinite(w).all():
            raise self._bad(weights)
        t = self._t
        if t == len(self._hunting.means):
            self._block, t = self._block + 1, 0
            self._pulling, self._hunting = self._draw(self._block)
        misordered = self._first * w.item(0) + self._second * w.item(1) <= 0.0
        contexts, means, rewards = self._hunting if misordered else self._pulling
        self._t = t + 1
        self.played += 1
        return RewardRound(contexts[t], means[t], rewards[t])

    def _bad(self, weights: Weights) -> InvalidDataError:
        shape = np.shape(weights)
        size = self._weights.size
        if shape not in ((size,), (1, size)):
            return InvalidDataError(f"weights must have shape ({size},), got {shape}")
        return InvalidDataError("weights hold something that is not a finite number: did the policy diverge?")
