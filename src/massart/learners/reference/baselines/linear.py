"""Linear baselines: one vector, or a second array beside it (an average, a step per coordinate, a matrix)."""

from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import baselines as kernel
from massart.learners.reference.baselines.base import Baseline, Kernels, in_range, new_state


class _Linear(Baseline):
    """w = scale * v, O(d) per row: w <- w + b x with a number b of the row."""

    _kernels: ClassVar[Kernels] = (kernel.linear_learn, kernel.linear_learn_many, kernel.linear_score)
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


class _Descent(_Linear):
    """Stochastic gradient descent with steps `step` / sqrt(t)."""

    def __init__(self, n_features: int, step: float = 1.0) -> None:
        self._begin(n_features, in_range("step", step, 0.0, inf))


class _WithSecond(Baseline):
    """A second array beside the weights: a vector, O(d) per row, or a matrix, O(d^2)."""

    _kind: ClassVar[float]
    _square: ClassVar[bool] = False

    def _begin(self, n_features: int, parameter: float = 0.0) -> None:
        size = max(n_features, 0)
        second = np.eye(size) if self._square else np.zeros(size)
        self._start(n_features, new_state(self._kind, parameter), np.zeros(size), second)


class _Paired(_WithSecond):
    """An average, or a step per coordinate."""

    _kernels: ClassVar[Kernels] = (kernel.paired_learn, kernel.paired_learn_many, kernel.paired_score)
    _names: ClassVar[tuple[str, ...]] = ("state", "weights", "second")


class _Matrix(_WithSecond):
    """A matrix that says how well each direction is known."""

    _kernels: ClassVar[Kernels] = (kernel.matrix_learn, kernel.matrix_learn_many, kernel.matrix_score)
    _names: ClassVar[tuple[str, ...]] = ("state", "weights", "covariance")
    _square = True

    def __init__(self, n_features: int, regularization: float = 1.0) -> None:
        self._begin(n_features, in_range("regularization", regularization, 0.0, inf))


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


class AveragedPerceptron(_Paired):
    """A perceptron that learns, and the average of all its weights so far, that predicts (Freund, Schapire 1999).

        predict with (w_1 + ... + w_t) / t;    on a mistake of w_t itself: w_{t+1} = w_t + y x

    >>> learner = AveragedPerceptron(1)
    >>> learner.learn_many([[1.0], [1.0], [1.0]], [-1, -1, -1]).round(9).tolist()
    [0.0, -0.5, -0.666666667]
    """

    _kind = kernel.AVERAGED_PERCEPTRON

    def __init__(self, n_features: int) -> None:
        self._begin(n_features)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the average that predicts the next row."""
        state, w, z = self._memory
        return np.asarray(w - z / (state[kernel.State.ROUNDS] + 1.0))


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


class LogisticDescent(_Descent):
    """Stochastic gradient descent on log(1 + exp(-y w.x)) with steps `step` / sqrt(t).

        w <- w + step / sqrt(t) * y x / (1 + exp(y w.x))

    >>> learner = LogisticDescent(1, step=2.0)
    >>> learner.learn_many([[1.0], [1.0]], [1, 1]).tolist()
    [0.0, 1.0]
    """

    _kind = kernel.LOGISTIC


class HingeDescent(_Descent):
    """Stochastic gradient descent on max(0, 1 - y w.x) with steps `step` / sqrt(t).

    >>> learner = HingeDescent(1, step=2.0)
    >>> learner.learn_many([[1.0], [1.0], [0.5]], [1, 1, -1]).tolist()
    [0.0, 2.0, 1.0]
    """

    _kind = kernel.HINGE


class AdaptiveLogistic(_Paired):
    """Logistic descent with a step of its own for each coordinate, as in AdaGrad and Vowpal Wabbit.

        g = -y x / (1 + exp(y w.x)),    w_j <- w_j - step g_j / sqrt(sum of g_j^2 so far)

    Diagonal AdaGrad: Duchi, Hazan and Singer (2011); the default step is that of `vw`.

    >>> learner = AdaptiveLogistic(2)
    >>> learner.learn_many([[1.0, 0.0], [1.0, 0.1]], [1, 1]).tolist()
    [0.0, 0.5]
    """

    _kind = kernel.ADAPTIVE_LOGISTIC

    def __init__(self, n_features: int, step: float = 0.5) -> None:
        self._begin(n_features, in_range("step", step, 0.0, inf))


class Arow(_Matrix):
    """Adaptive regularisation of weight vectors (Crammer, Kulesza, Dredze 2009).

        while y w.x < 1:  w <- w + beta (1 - y w.x) y P x,  P <- P - beta P x x' P,  beta = 1 / (x' P x + r)

    with P = I at first and r = `regularization`.

    >>> learner = Arow(1)
    >>> learner.learn_many([[1.0], [1.0]], [1, 1]).tolist()
    [0.0, 0.5]
    """

    _kind = kernel.AROW


class OnlineRidge(_Matrix):
    """Recursive least squares on the labels: w minimises r |w|^2 + sum (y - w.x)^2 over the rows so far.

    The matrix kept is P = (I + sum x x' / r)^-1; AROW differs from this only in passing over the rows with y w.x >= 1.

    >>> learner = OnlineRidge(1)
    >>> learner.learn_many([[1.0], [1.0], [1.0]], [1, 1, -1]).round(9).tolist()
    [0.0, 0.5, 0.666666667]
    """

    _kind = kernel.RIDGE


class LeakyReluDescent(_Linear):
    """Descent on the leaky-ReLU loss as it is, without division by the margin: shows what the reweighting gains.

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
    """The reweighted descent with m = |w.x| + 1 without a known margin, by coin betting.

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
