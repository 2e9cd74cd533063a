"""First-order learners: one vector, O(d) per row, w <- w + b x with a number b of the row."""

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import baselines as kernel
from massart.learners.reference.baselines.base import Baseline, in_range, new_state


class _Linear(Baseline):
    """w = scale * v."""

    _kernels: ClassVar[tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = (
        kernel.linear_learn,
        kernel.linear_learn_many,
        kernel.linear_score,
    )
    _names = ("state", "weights")
    _kind: ClassVar[float]

    def _begin(self, n_features: int, parameter: float = 0.0, total: float = 0.0) -> None:
        state = new_state(self._kind, parameter)
        state[kernel.State.TOTAL] = total
        self._start(n_features, state, np.zeros(max(n_features, 0)))

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear predictor."""
        return np.asarray(self._state[kernel.State.SCALE] * self._memory[1])

    @property
    def direction(self) -> NDArray[np.float64]:
        """(d,) the weights up to a positive factor, without a copy: what an adversary looks at."""
        return self._memory[1]


class Perceptron(_Linear):
    """On a mistake add y x (Rosenblatt 1958).

    >>> learner = Perceptron(2)
    >>> learner.learn_many([[0.6, 0.8], [0.6, 0.8], [0.6, 0.8]], [-1, -1, 1]).round(9).tolist()
    [0.0, -1.0, -1.0]
    >>> learner.weights.tolist(), learner.mistakes
    ([0.0, 0.0], 2)
    """

    _kind = kernel.PERCEPTRON

    def __init__(self, n_features: int) -> None:
        self._begin(n_features)


class PassiveAggressive(_Linear):
    """Move just far enough that y w.x >= 1, but by no more than `aggressiveness` times the row.

        w <- w + y min(C, max(0, 1 - y w.x) / |x|^2) x

    This is PA-I of Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006).

    >>> learner = PassiveAggressive(2, aggressiveness=0.5)
    >>> learner.learn_many([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [1, 1, 1]).tolist()
    [0.0, 0.5, 1.0]
    """

    _kind = kernel.PASSIVE_AGGRESSIVE

    def __init__(self, n_features: int, aggressiveness: float = 1.0) -> None:
        self._begin(n_features, in_range("aggressiveness", aggressiveness, 0.0, inf))


class LogisticDescent(_Linear):
    """Stochastic gradient descent on log(1 + exp(-y w.x)) with steps `step` / sqrt(t).

        w <- w + step / sqrt(t) * y x / (1 + exp(y w.x))

    >>> learner = LogisticDescent(1, step=2.0)
    >>> learner.learn_many([[1.0], [1.0]], [1, 1]).tolist()
    [0.0, 1.0]
    """

    _kind = kernel.LOGISTIC

    def __init__(self, n_features: int, step: float = 1.0) -> None:
        self._begin(n_features, in_range("step", step, 0.0, inf))


class HingeDescent(_Linear):
    """Stochastic gradient descent on max(0, 1 - y w.x) with steps `step` / sqrt(t).

    >>> learner = HingeDescent(1, step=2.0)
    >>> learner.learn_many([[1.0], [1.0], [0.5]], [1, 1, -1]).tolist()
    [0.0, 2.0, 1.0]
    """

    _kind = kernel.HINGE

    def __init__(self, n_features: int, step: float = 1.0) -> None:
        self._begin(n_features, in_range("step", step, 0.0, inf))


class LeakyReluDescent(_Linear):
    """Descent on the leaky-ReLU loss as it is, without division by the margin: what the reweighting is worth.

        g = 1/2 ((1 - 2 noise_rate) sign(w.x) - y) x,    w <- w - sqrt(2 / sum |g|^2) g,  back to the unit ball

    The same gradients and steps as Halfspace(optimizer="adagrad-norm"), except for the denominator.

    >>> learner = LeakyReluDescent(2, noise_rate=0.1)
    >>> learner.learn_many([[0.0, 1.0], [0.0, 1.0]], [-1, -1]).tolist()
    [0.0, -1.0]
    """

    _kind = kernel.LEAKY_RELU

    def __init__(self, n_features: int, noise_rate: float) -> None:
        self._begin(n_features, in_range("noise_rate", noise_rate, 0.0, 0.5, closed=True))


class CoinBetting(_Linear):
    """The reweighted descent with m = |w.x| + 1 and no margin to know: w is a bet, and gains raise the stakes.

        g = 1/2 ((1 - 2 noise_rate) sign(w.x) - y) x / (|w.x| + 1) / (1 - noise_rate)
        w = -(sum g) / t * (1 - sum <g, w>)

    The bettor of Krichevsky and Trofimov as an optimiser, by Orabona and Pal (2016). It needs gradients of norm at
    most 1: the last factor makes that tight for rows of norm 1, and longer rows are scaled down.

    >>> learner = CoinBetting(1, noise_rate=0.0)
    >>> learner.learn_many([[1.0], [1.0], [1.0]], [-1, -1, -1]).tolist()
    [0.0, -0.5, -0.3333333333333333]
    """

    _kind = kernel.COIN_BETTING

    def __init__(self, n_features: int, noise_rate: float) -> None:
        self._begin(n_features, in_range("noise_rate", noise_rate, 0.0, 0.5, closed=True), total=1.0)
