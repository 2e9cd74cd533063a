"""What every reward world is: its declared truth, its randomness, and the records it hands out.

In a round there are k arms, each with a context x_i in the unit ball and an expected reward. A world that
satisfies the model has a unit vector w* (`target`) such that within each round

    w*.x_i > w*.x_j   implies   w*.(x_i - x_j) >= margin   and   mean_i - mean_j >= gap,

and nothing is assumed across rounds.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from massart import theory
from massart.worlds.stream import DrawnWorld, Matrix, Simulation, Vector, Weights

__all__ = ["Contexts", "ObliviousRewardWorld", "RewardChunk", "RewardRound", "RewardStream", "RewardWorld"]

Contexts = npt.NDArray[np.float64]

_BLOCK = 1024  # rounds drawn from one generator, fewer where contexts are large; changing it changes every stream
_BLOCK_NUMBERS = 2**20  # at most this many numbers of context in a block, but for the first round


class RewardChunk(NamedTuple):
    """Consecutive rounds. The simulator knows the rewards of all arms; a bandit is shown the one it chose."""

    contexts: Contexts  # (n, arms, dimension), C order; the order of arms within a round is random
    means: Matrix  # (n, arms), expected rewards
    rewards: Matrix  # (n, arms), drawn rewards


class RewardRound(NamedTuple):
    """One round: the contexts of its arms, their expected rewards, and those drawn."""

    contexts: Matrix  # (arms, dimension)
    means: Vector  # (arms,)
    rewards: Vector  # (arms,)


class RewardStream(Protocol):
    """Rounds one at a time, each chosen after seeing the policy's current weights."""

    rounds: int
    played: int

    def next(self, weights: Weights) -> RewardRound:
        """Choose the next round against a policy that favours the arm with the largest `weights.x`."""


class RewardWorld(Simulation[RewardChunk, RewardRound]):
    """A stream of rounds with k arms and a known truth.

    `best_reward` and `mean_reward` are the expected reward per round of the best and of a uniformly random arm, None
    where the policy decides what it is shown. A world that does not satisfy the model has None for gap, margin
    and target.
    """

    _kind: ClassVar[str] = "reward world"
    _declared: ClassVar[tuple[str, ...]] = ("arms", "gap", "margin", "dimension", "seed")
    satisfies_model: ClassVar[bool] = True

    arms: int
    dimension: int
    gap: float | None
    margin: float | None
    target: Vector | None
    reward_range: tuple[float, float] = (0.0, 1.0)
    best_reward: float | None = None
    mean_reward: float | None = None

    @property
    def guaranteed_lift(self) -> float | None:
        """Reward per round above a random arm guaranteed in the limit by Theorem 11 of docs/theory.md: (k-1)/k gap.

        >>> from massart import worlds
        >>> round(worlds.make("simpson").guaranteed_lift, 12)
        0.04
        """
        return None if self.gap is None else theory.guaranteed_lift(self.arms, self.gap, rounds=1)

    @property
    def best_lift(self) -> float | None:
        """Reward per round of the best arm above a random one, None where either is unknown.

        >>> from massart import worlds
        >>> round(worlds.make("simpson").best_lift, 12)
        0.1
        """
        if self.best_reward is None or self.mean_reward is None:
            return None
        return self.best_reward - self.mean_reward

    @abstractmethod
    def play(self, rounds: int) -> RewardStream:
        """Start a game of `rounds` rounds, shown one at a time."""

    def take(self, rounds: int) -> RewardChunk:
        """Give the first `rounds` rounds as one chunk; an adaptive world raises an error."""
        return next(self.chunks(rounds, rounds))

    @property
    def _block(self) -> int:
        """Rounds per block: few enough to stay in memory whatever the dimension."""
        return max(1, min(_BLOCK, _BLOCK_NUMBERS // (self.arms * self.dimension)))


class ObliviousRewardWorld(DrawnWorld[RewardChunk, RewardRound], RewardWorld):
    """A reward world whose rounds do not depend on the policy; a subclass draws them."""

    _block = RewardWorld._block

    def _single(self, chunk: RewardChunk) -> Iterator[RewardRound]:
        return map(RewardRound, *chunk)
