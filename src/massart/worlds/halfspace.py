"""Worlds whose noise rate, margin and dimension one may choose within the world's range."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from massart.worlds.base import Seed, World
from massart.worlds.ranges import whole_number, within

__all__ = ["HalfspaceWorld"]


class HalfspaceWorld(World):
    """A world with target `e2`; a subclass gives its defaults, its largest margin and its regions."""

    default_noise_rate: ClassVar[float]
    default_margin: ClassVar[float]
    largest_margin: ClassVar[float] = 1.0
    margin_reason: ClassVar[str] = "rows have norm at most 1"

    margin: float

    def __init__(
        self,
        noise_rate: float | None = None,
        margin: float | None = None,
        dimension: int | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(seed)
        noise_rate = self.default_noise_rate if noise_rate is None else noise_rate
        margin = self.default_margin if margin is None else margin
        dimension = 20 if dimension is None else dimension
        coin = "at 1/2 a label is a fair coin"
        room = self.margin_reason
        self.noise_rate = within(self.name, "noise_rate", noise_rate, 0.0, 0.5, ends="[)", why=coin)
        self.margin = within(self.name, "margin", margin, 0.0, self.largest_margin, ends="(]", why=room)
        self.dimension = whole_number(self.name, "dimension", dimension, least=2)
        self.target = np.zeros(self.dimension)
        self.target[1] = 1.0
        self._declare()

    @abstractmethod
    def _declare(self) -> None:
        """Set what follows from noise rate and margin: the regions and, where it is known, the Bayes error."""
