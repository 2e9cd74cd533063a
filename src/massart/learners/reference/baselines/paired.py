"""Learners with a second vector beside the weights: an average, or a step per coordinate. O(d) per row."""

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import baselines as kernel
from massart.learners.reference.baselines.base import Baseline, in_range, new_state


class _Paired(Baseline):
    _kernels: ClassVar[tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = (
        kernel.paired_learn,
        kernel.paired_learn_many,
        kernel.paired_score,
    )
    _names: ClassVar[tuple[str, ...]] = ("state", "weights", "second")
    _kind: ClassVar[float]

    def _begin(self, n_features: int, parameter: float = 0.0) -> None:
        size = max(n_features, 0)
        self._start(n_features, new_state(self._kind, parameter), np.zeros(size), np.zeros(size))


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
