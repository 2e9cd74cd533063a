"""Optimism: the arm whose reward could be the highest."""

from math import inf

from massart.kernels.learning import policies as kernel
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.linear import LinearPolicy


class LinUCB(LinearPolicy):
    """LinUCB with one model for all arms (Li, Chu, Langford, Schapire 2010).

        argmax_i  w.x_i + alpha sqrt(x_i' P x_i),     P = (ridge I + sum x_A x_A')^-1,  w = P sum y x_A

    where x ends in a 1. The arm is certain, so a log of it says nothing about other arms. The paper's alpha is
    1 + sqrt(ln(2/delta)/2), and it reports that smaller ones do better; 1 is the usual choice.

    >>> policy = LinUCB(dimension=2)
    >>> policy.probabilities([[0.5, 0.0], [0.0, 1.0]]).tolist()
    [0.0, 1.0]
    """

    _kind = kernel.UCB

    def __init__(
        self,
        dimension: int,
        alpha: float = 1.0,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._start(dimension, reward_range, seed, in_range("alpha", alpha, 0.0, inf, closed=True), ridge)
