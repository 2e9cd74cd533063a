"""Rows the learner gets wrong by almost nothing, which the usual losses hardly notice."""

from collections.abc import Callable
from typing import Any, ClassVar

from massart.worlds.adaptive import AdaptiveWorld
from massart.worlds.base import Region

__all__ = ["NearMiss"]


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

    name = "near-miss"
    letter = "A3"
    description = (
        "Every other row lies a hair's breadth on the wrong side of the learner's own boundary, with a true "
        "label; between them come noisy rows. A loss that is small where the score is small learns little."
    )
    default_noise_rate: ClassVar[float] = 0.1
    default_margin: ClassVar[float] = 0.1
    largest_margin: ClassVar[float] = 0.43
    margin_reason: ClassVar[str] = "its point (0.9, margin) must lie in the unit ball"

    def _regions(self) -> tuple[Region, ...]:
        return (Region("barely wrong", 0.0, None), Region("noisy", self.noise_rate, None))

    def _kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        from massart.kernels.learning.adversaries import near_miss  # noqa: PLC0415 - numba only when a game begins

        return near_miss, (self.noise_rate, self.margin)
