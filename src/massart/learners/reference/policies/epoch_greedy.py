"""Explore in rounds of their own, rarer and rarer, and learn from those alone."""

from massart.kernels.learning import policies as kernel
from massart.learners.reference.policies.linear import LinearPolicy


class EpochGreedy(LinearPolicy):
    """Epoch-greedy (Langford and Zhang 2007): a random arm, then greedy rounds, more in later epochs.

    The n-th epoch has floor(sqrt(n / (k (d + 1)))) greedy rounds, so about (k d)^(1/3) T^(2/3) of T rounds explore.
    Departures: the number of greedy rounds is the paper's for a finite class with the logarithm of its size set to
    the number of weights; and the best hypothesis on the exploration rounds, which is hard to
    find among linear ones, is their ridge regression. Epochs count choices, so late rewards do not stop them. Within an
    epoch the arm is certain: the log's greedy rounds say nothing about other arms.

    >>> policy = EpochGreedy(dimension=1)
    >>> [policy.choose([[1.0], [0.0]]).probability for _ in range(7)]
    [0.5, 0.5, 0.5, 0.5, 1.0, 0.5, 1.0]
    """

    _kind = kernel.EPOCH

    def __init__(
        self,
        dimension: int,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._start(dimension, reward_range, seed, ridge=ridge)
