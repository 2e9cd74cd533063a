"""Inverse-gap weighting: an arm that looks worse is played less, and less so as the regression is trusted more."""

from math import inf

from massart.kernels.learning import policies as kernel
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.linear import LinearPolicy


class SquareCB(LinearPolicy):
    """SquareCB on ridge regression (Foster and Rakhlin 2020).

        p_i = 1 / (k + rate_t (w.x_a - w.x_i)) for i != a, the greedy arm a gets the rest,
        rate_t = trust sqrt(k t / (d' ln(1 + t/d') + ln(2/delta))),  d' = d + 1, delta = .05, t - 1 rewards learned

    The paper's rate is sqrt(k T / (R + ln(2/delta))) for a horizon T and the regret R of the regression, which is
    d' ln(1 + T/d') for ridge up to constants; here T is the present round.

    >>> policy = SquareCB(dimension=1)
    >>> policy.probabilities([[1.0], [0.0], [0.5]]).round(9).tolist()
    [0.333333333, 0.333333333, 0.333333333]
    """

    _kind = kernel.INVERSE_GAP

    def __init__(
        self,
        dimension: int,
        trust: float = 1.0,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._start(dimension, reward_range, seed, in_range("trust", trust, 0.0, inf, closed=True), ridge)
