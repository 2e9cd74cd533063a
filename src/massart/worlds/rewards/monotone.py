"""Reward worlds that satisfy the model, whose arms, gap and margin one may choose within the world's range."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from massart.worlds.base import Seed, Vector
from massart.worlds.ranges import whole_number, within
from massart.worlds.rewards.base import RewardWorld

__all__ = ["MonotoneWorld"]

_ROUNDING = 1e-12  # by which a gap or margin may exceed its range


class MonotoneWorld(RewardWorld):
    """A world with target `e2`; a subclass gives its defaults, its largest margin and gap, and its best reward.

    A gap or margin left at None is the default, or the largest with that many arms where the default is too large.
    """

    default_arms: ClassVar[int] = 5
    least_arms: ClassVar[int] = 2
    default_gap: ClassVar[float]
    default_margin: ClassVar[float]
    gap_reason: ClassVar[str] = "expected rewards lie between 0 and 1"
    margin_reason: ClassVar[str] = "contexts have norm at most 1"

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
        arms = self.default_arms if arms is None else arms
        self.arms = whole_number(self.name, "arms", arms, least=self.least_arms)
        self.dimension = whole_number(self.name, "dimension", 10 if dimension is None else dimension, least=2)
        self.margin = self._fit("margin", margin, self.default_margin, self._largest_margin(), self.margin_reason)
        self.gap = self._fit("gap", gap, self.default_gap, self._largest_gap(), self.gap_reason)
        self.target = np.zeros(self.dimension)
        self.target[1] = 1.0
        self._declare()

    def _fit(self, parameter: str, value: float | None, default: float, largest: float, why: str) -> float:
        top = largest + _ROUNDING
        if value is None:
            return self._usual(default, top)
        return within(self.name, parameter, value, 0.0, top, ends="(]", why=f"with {self.arms} arms, {why}")

    def _usual(self, default: float, largest: float) -> float:
        """Give the gap or margin of a world of which only the number of arms was said."""
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
