"""A random arm: what lift is measured from, and the log that is easiest to evaluate other policies on."""

from massart.kernels.learning import policies as kernel
from massart.learners.reference.policies.linear import LinearPolicy


class Uniform(LinearPolicy):
    """Every allowed arm with the same probability, whatever it learns.

    >>> policy = Uniform(dimension=2)
    >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [0.5, 0.5]
    """

    _kind = kernel.UNIFORM
    _learns = False

    def __init__(self, dimension: int, *, reward_range: tuple[float, float] = (0.0, 1.0), seed: int = 0) -> None:
        self._start(dimension, reward_range, seed)
