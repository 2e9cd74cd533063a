"""The adversary that almost attains the mistake bound of the inverse-margin learner."""

from collections.abc import Callable
from typing import Any, ClassVar

from massart.worlds.adaptive import AdaptiveWorld

__all__ = ["WorstPoint"]


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

    name = "worst-point"
    letter = "A1"
    description = (
        "Shows the row the learner scores worst among those near the boundary, truthfully while the learner "
        "is wrong and noisily once it is right: the mistake bound is nearly attained, averaging is ruinous."
    )
    default_noise_rate: ClassVar[float] = 0.1
    default_margin: ClassVar[float] = 0.1

    def _kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        from massart.kernels.learning.adversaries import worst_point  # noqa: PLC0415 - numba only when a game begins

        return worst_point, (self.noise_rate, self.margin)
