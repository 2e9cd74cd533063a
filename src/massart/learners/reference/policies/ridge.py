"""Greedy on a ridge regression, with a fixed share of random arms: on the arms as they are, or centred."""

from massart.kernels.learning import policies as kernel
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.linear import LinearPolicy


class EpsilonGreedyRidge(LinearPolicy):
    """The arm a of the highest w.x, or with probability epsilon a random one.

        p_i = epsilon / k + (1 - epsilon) [i = a],     (w, c) = argmin ridge (|w|^2 + c^2) + sum (y_t - c - w.x_A)^2

    y is the reward less the middle of its range, in units of the range. A model of the reward across rounds: where
    hard rounds show high scores, w points the wrong way (Simpson's paradox).

    >>> policy = EpsilonGreedyRidge(dimension=1, epsilon=0.2)
    >>> choice = policy.choose([[1.0]])
    >>> policy.learn(choice, 1.0)
    >>> policy.weights.tolist(), policy.probabilities([[1.0], [-1.0]]).round(9).tolist()
    ([0.16666666666666666], [0.9, 0.1])
    """

    _kind = kernel.GREEDY

    def __init__(
        self,
        dimension: int,
        epsilon: float = 0.1,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._start(dimension, reward_range, seed, _share("epsilon", epsilon), ridge)


class ActionCentredRidge(LinearPolicy):
    """Epsilon-greedy on the regression of y on x_A - sum_i p_i x_i, the arm less what was expected of the round.

        w = argmin ridge |w|^2 + sum (y_t - w.(x_A - sum_i p_i x_i))^2

    Whatever all arms of a round share has mean zero given the round, so it cannot turn w (the semiparametric model:
    Greenewald et al. 2017 for two arms, Krishnamurthy et al. 2018 for k; they explore by Thompson sampling and by
    elimination, here it is a fixed share, which is what centring needs). Within the round rewards must be linear.
    With epsilon 0 the centred row of the only arm played is 0, and nothing is learned.

    >>> policy = ActionCentredRidge(dimension=1, epsilon=1.0)
    >>> choice = policy.choose([[1.0], [0.0]], allowed=[True, False])
    >>> policy.learn(choice, 1.0)
    >>> policy.weights.tolist()
    [0.0]
    """

    _kind = kernel.CENTRED

    def __init__(
        self,
        dimension: int,
        epsilon: float = 0.1,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._start(dimension, reward_range, seed, _share("epsilon", epsilon), ridge)


def _share(name: str, value: float) -> float:
    return 1.0 if value == 1.0 else in_range(name, value, 0.0, 1.0, closed=True)
