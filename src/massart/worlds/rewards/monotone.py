"""Reward worlds that satisfy the model, with arms, gap and margin to choose, and the random parts they are made of."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from massart.worlds.ranges import whole_number, within
from massart.worlds.rewards.base import Contexts, RewardWorld
from massart.worlds.stream import Matrix, Seed, Vector

__all__ = [
    "MonotoneWorld",
    "RewardLimits",
    "coin_rewards",
    "on_sphere",
    "shuffled_ranks",
    "shuffled_steps",
    "spaced_scores",
]

_ROUNDING = 1e-12  # by which a gap or margin may exceed its range


class RewardLimits(NamedTuple):
    """The default gap, margin and number of arms of a world, why gap and margin are limited, and the fewest arms."""

    gap: float
    margin: float
    gap_reason: str = "expected rewards lie between 0 and 1"
    margin_reason: str = "contexts have norm at most 1"
    arms: int = 5
    least_arms: int = 2


class MonotoneWorld(RewardWorld):
    """A world with target `e2`; a subclass gives its limits, its largest margin and gap, and its best reward.

    A gap or margin left at None is the default, or the largest with that many arms where the default is too large.
    """

    limits: ClassVar[RewardLimits]

    gap: float
    margin: float
    target: Vector

    def __init__(
        self,
        arms: int | None = None,
        gap: float | None = None,
        margin: float | None = None,
        dimension: int | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(seed)
        limits = self.limits
        arms = limits.arms if arms is None else arms
        self.arms = whole_number(self.name, "arms", arms, least=limits.least_arms)
        self.dimension = whole_number(self.name, "dimension", 10 if dimension is None else dimension, least=2)
        self.margin = self._fit("margin", margin, limits.margin, self._largest_margin(), limits.margin_reason)
        self.gap = self._fit("gap", gap, limits.gap, self._largest_gap(), limits.gap_reason)
        self.target = np.zeros(self.dimension)
        self.target[1] = 1.0
        self._declare()

    def _fit(self, parameter: str, value: float | None, default: float, largest: float, why: str) -> float:
        top = largest + _ROUNDING
        if value is None:
            return self._usual(default, top)
        return within(self.name, parameter, value, 0.0, top, ends="(]", why=f"with {self.arms} arms, {why}")

    def _usual(self, default: float, largest: float) -> float:
        """Give the gap or margin when it is left at None."""
        return min(default, largest)

    @abstractmethod
    def _largest_margin(self) -> float:
        """Give the largest margin there is room for with this many arms."""

    @abstractmethod
    def _largest_gap(self) -> float:
        """Give the largest gap there is room for with this many arms and this margin."""

    @abstractmethod
    def _declare(self) -> None:
        """Set what follows from arms, gap and margin: the best and the mean reward, where they are known."""


def shuffled_ranks(rng: np.random.Generator, count: int, arms: int) -> npt.NDArray[np.intp]:
    """Give each round a random order of the ranks 0 (worst) to arms - 1 (best): position says nothing.

    >>> shuffled_ranks(np.random.default_rng(0), count=3, arms=4).sum(axis=1).tolist()
    [6, 6, 6]
    """
    ranks = np.empty((count, arms), dtype=np.intp)
    ranks[:] = np.arange(arms)
    return rng.permuted(ranks, axis=1, out=ranks)


def shuffled_steps(rng: np.random.Generator, count: int, arms: int) -> Matrix:
    """Give the same order as steps from the middle rank, -(arms - 1)/2 to (arms - 1)/2.

    >>> sorted(shuffled_steps(np.random.default_rng(0), count=1, arms=4)[0].tolist())
    [-1.5, -0.5, 0.5, 1.5]
    """
    steps = shuffled_ranks(rng, count, arms).astype(np.float64)
    steps -= 0.5 * (arms - 1)
    return steps


def spaced_scores(rng: np.random.Generator, count: int, arms: int, apart: float, reach: float) -> Matrix:
    """Draw rising scores in [-reach, reach], uniform among those with neighbours at least `apart` apart.

    s_i = -reach + i apart + (2 reach - (k-1) apart) u_(i), where u_(i) are sorted uniform numbers.

    >>> scores = spaced_scores(np.random.default_rng(0), count=100, arms=4, apart=0.2, reach=0.9)
    >>> bool(np.diff(scores).min() >= 0.2), bool(abs(scores).max() <= 0.9)
    (True, True)
    """
    uniform = rng.random((count, arms))
    uniform.sort(axis=1)
    scores: Matrix = -reach + apart * np.arange(arms) + (2.0 * reach - (arms - 1) * apart) * uniform
    return scores


def coin_rewards(rng: np.random.Generator, means: Matrix) -> Matrix:
    """Draw a reward of 1 with the probability that is its mean, otherwise 0.

    >>> coin_rewards(np.random.default_rng(0), np.array([[0.0, 1.0]])).tolist()
    [[0.0, 1.0]]
    """
    return (rng.random(means.shape) < means).astype(np.float64)


def on_sphere(rng: np.random.Generator, scores: Matrix, dimension: int) -> Contexts:
    """Complete scores along e2 to unit vectors, each by its own uniformly random direction orthogonal to e2.

    >>> contexts = on_sphere(np.random.default_rng(0), np.array([[0.6, -0.3]]), dimension=5)
    >>> contexts[0, :, 1].tolist(), np.linalg.norm(contexts[0], axis=1).round(12).tolist()
    ([0.6, -0.3], [1.0, 1.0])
    """
    contexts = rng.standard_normal((*scores.shape, dimension))
    contexts[..., 1] = 0.0
    squares = np.einsum("nkd,nkd->nk", contexts, contexts)
    contexts *= np.sqrt((1.0 - scores * scores) / squares)[..., None]
    contexts[..., 1] = scores
    return contexts
