"""Exponential weights over a net of directions: what is possible when time does not matter. Up to three features."""

from math import ceil, log, pi
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.kernels.learning import baselines as kernel
from massart.learners.reference.baselines.base import Baseline, Kernels, in_range, new_state

_LARGEST_NET = 10_000_000


def direction_net(n_features: int, radius: float) -> NDArray[np.float64]:
    """(N, d) unit vectors such that every unit vector lies within `radius` of one of them; d is 1, 2 or 3.

    On the sphere: rings `radius` apart, and on each ring points at most `radius` apart. A walk of at most half of
    that along a meridian, then along the ring, reaches a point of the net. N is about `net_size`.

    >>> direction_net(2, radius=0.5).shape, direction_net(3, radius=0.5).shape
    ((7, 2), (59, 3))
    """
    if n_features == 1:
        return np.array([[1.0], [-1.0]])
    if n_features == 2:
        angle = 2 * pi * np.arange(ceil(pi / radius)) / ceil(pi / radius)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    rings = ceil(pi / radius)
    points = []
    for polar in (np.arange(rings) + 0.5) * pi / rings:
        count = ceil(2 * pi * np.sin(polar) / radius)
        angle = 2 * pi * np.arange(count) / count
        height = np.full(count, np.cos(polar))
        points.append(np.column_stack([np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle), height]))
    return np.concatenate(points)


def net_size(n_features: int, radius: float) -> float:
    """About how many directions a net has: 2, pi / radius, or 4 pi / radius^2.

    >>> round(net_size(3, radius=0.5), 1)
    50.3
    """
    return (2.0, pi / radius, 4.0 * pi / radius**2)[n_features - 1]


class ExponentialNet(Baseline):
    """A vote of many fixed directions; each mistake multiplies a direction's weight by noise / (1 - noise).

    With uniform noise this is the Bayes rule over the net. The net is fine enough (radius margin / 2) that one of
    its directions is never wrong about a clean label. For a finite class the idea and its bound, regret
    logarithmic in T, are by Ben-David, Pal and Shalev-Shwartz (2009). The cost of a round grows like
    (1 / margin)^(d-1): for comparison only. The vote is not linear; `weights` is the weighted mean direction.

    >>> learner = ExponentialNet(2, noise_rate=0.1, margin=0.3)
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([1, -1] * 50)
    >>> bool((np.sign(learner.learn_many(X, y)) == y)[10:].all())
    True
    """

    _kernels: ClassVar[Kernels] = (kernel.net_learn, kernel.net_learn_many, kernel.net_score)
    _names: ClassVar[tuple[str, ...]] = ("state", "directions", "counts", "trust")

    def __init__(self, n_features: int, noise_rate: float, margin: float) -> None:
        if not 1 <= n_features <= 3:
            raise InvalidParameterError(
                f"n_features={n_features}: the net of directions grows like (1/margin)^(n_features - 1), so it is kept "
                "to 1, 2 or 3 features; use massart.Halfspace for more"
            )
        in_range("noise_rate", noise_rate, 0.0, 0.5, closed=True)
        in_range("margin", margin, 0.0, np.nextafter(1.0, 2.0))
        if net_size(n_features, margin / 2) > _LARGEST_NET:  # before memory runs out
            raise InvalidParameterError(
                f"margin={margin!r} needs a net of more than {_LARGEST_NET:,} directions: use massart.Halfspace"
            )
        directions = direction_net(n_features, margin / 2)
        counts = np.zeros(len(directions), np.int64)
        self._start(n_features, new_state(), directions, counts, _trust(noise_rate))

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the mean of the directions by their weights: the best linear description of the vote."""
        _, directions, counts, trust = self._memory
        shares = trust[np.minimum(counts - counts.min(), trust.size - 1)]
        return np.asarray((shares[:, None] * directions).sum(axis=0))


def _trust(noise_rate: float) -> NDArray[np.float64]:
    """The weight (noise / (1 - noise))^k of k mistakes more than the best, until it is 0 in floating point."""
    if noise_rate == 0.0:
        return np.array([1.0, 0.0])
    beta = noise_rate / (1.0 - noise_rate)
    return np.asarray(np.append(beta ** np.arange(ceil(-745.2 / log(beta))), 0.0))
