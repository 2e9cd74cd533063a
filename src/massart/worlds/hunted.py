"""The sacrificed rows, shown whenever the learner gets them wrong."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from massart.worlds.adaptive import AdaptiveWorld
from massart.worlds.base import Region
from massart.worlds.plane import PlaneWorld
from massart.worlds.sacrificed import SacrificedMajority, SacrificedMinority

__all__ = ["HuntedMajority", "HuntedMinority"]


class _Hunted(AdaptiveWorld):
    """World A4 over a world with points F, G, N; `share` is that of F among the rounds that do not show N."""

    _base: ClassVar[type[PlaneWorld]]
    _share: ClassVar[float]

    def _regions(self) -> tuple[Region, ...]:
        base = self._base(self.noise_rate, self.margin, self.dimension)
        return tuple(region._replace(mass=None) for region in base.regions)

    def _kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        from massart.kernels.learning.adversaries import hunted  # noqa: PLC0415 - numba only when a game begins

        plane = np.ascontiguousarray(self._base(self.noise_rate, self.margin, self.dimension).plane)
        return hunted, (self.noise_rate, self._share, plane)


class HuntedMinority(_Hunted):
    """World A4 over E2: N, with its padding against the learner's, whenever the learner errs on it.

    The padding of N points along minus the learner's own weights outside the plane, so that the noise it has
    picked up there is used against it. Otherwise the round is F (probability .48, flipped with probability
    noise_rate) or G. The points are those of `sacrificed-minority`.

    >>> game = HuntedMinority().play(rounds=10)
    >>> game.next([1.0] + 19 * [0.0]).region      # the weights point along e1, where N is wrong
    2
    """

    name = "hunted-minority"
    letter = "A4/E2"
    description = (
        "The points of sacrificed-minority, chosen against the learner: the short clean row whenever it is "
        "wrong there, otherwise rows that pull it away again. Classical learners err about twice in three."
    )
    default_noise_rate: ClassVar[float] = SacrificedMinority.default_noise_rate
    default_margin: ClassVar[float] = SacrificedMinority.default_margin
    largest_margin: ClassVar[float] = SacrificedMinority.largest_margin
    margin_reason: ClassVar[str] = SacrificedMinority.margin_reason
    _base: ClassVar[type[PlaneWorld]] = SacrificedMinority
    _share: ClassVar[float] = 0.48


class HuntedMajority(_Hunted):
    """World A4 over E3: as `hunted-minority`, with the points of `sacrificed-majority`; F comes with .43.

    >>> world = HuntedMajority()
    >>> [region.name for region in world.regions], world.noise_rate
    (['F', 'G', 'N'], 0.3)
    """

    name = "hunted-majority"
    letter = "A4/E3"
    description = (
        "The points of sacrificed-majority, chosen against the learner: the short clean row whenever it is "
        "wrong there, otherwise rows that pull it away again. Classical learners err about three times in four."
    )
    default_noise_rate: ClassVar[float] = SacrificedMajority.default_noise_rate
    default_margin: ClassVar[float] = SacrificedMajority.default_margin
    largest_margin: ClassVar[float] = SacrificedMajority.largest_margin
    margin_reason: ClassVar[str] = SacrificedMajority.margin_reason
    _base: ClassVar[type[PlaneWorld]] = SacrificedMajority
    _share: ClassVar[float] = 0.43
