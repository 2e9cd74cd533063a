"""Thompson sampling, with the probability of every arm known."""

from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import policies as kernel
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.linear import LinearPolicy, normal_table

_DRAWS: Final = 128  # a power of 2: then the table is balanced


class LinearThompson(LinearPolicy):
    """Each arm as often as it is the best under the posterior N(w, scale^2 P) (Agrawal and Goyal 2013).

    The probability that an arm is the best among k has no closed form. It is the share of 128 fixed, evenly spread
    draws of the k scores that the arm wins; one more draw is uniform, so no allowed arm has probability 0. What is
    reported is what is played.

    scale = 1/2 is the largest standard deviation that a reward in an interval of length 1 can have, so this is the
    posterior of the Gaussian model. The constant of the paper's regret bound, sqrt(9 d ln(t/delta)), plays almost
    uniformly for a long time.

    >>> policy = LinearThompson(dimension=2)
    >>> policy.probabilities(np.eye(2)).round(1).tolist()
    [0.5, 0.5]
    """

    _kind = kernel.THOMPSON

    def __init__(
        self,
        dimension: int,
        scale: float = 0.5,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._start(dimension, reward_range, seed, in_range("scale", scale, 0.0, inf, closed=True), ridge)

    def _table(self, arms: int) -> NDArray[np.float64]:
        return normal_table(_DRAWS, arms)
