"""Second-order learners: a vector and a matrix that says how well each direction is known. O(d^2) per row."""

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar

import numpy as np

from massart.kernels.learning import baselines as kernel
from massart.learners.reference.baselines.base import Baseline, in_range, new_state


class _Matrix(Baseline):
    _kernels: ClassVar[tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = (
        kernel.matrix_learn,
        kernel.matrix_learn_many,
        kernel.matrix_score,
    )
    _names: ClassVar[tuple[str, ...]] = ("state", "weights", "covariance")
    _kind: ClassVar[float]

    def _begin(self, n_features: int, parameter: float) -> None:
        size = max(n_features, 0)
        self._start(n_features, new_state(self._kind, parameter), np.zeros(size), np.eye(size))


class Arow(_Matrix):
    """Adaptive regularisation of weight vectors (Crammer, Kulesza, Dredze 2009).

        while y w.x < 1:  w <- w + beta (1 - y w.x) y P x,  P <- P - beta P x x' P,  beta = 1 / (x' P x + r)

    with P = I at first and r = `regularization`.

    >>> learner = Arow(1)
    >>> learner.learn_many([[1.0], [1.0]], [1, 1]).tolist()
    [0.0, 0.5]
    """

    _kind = kernel.AROW

    def __init__(self, n_features: int, regularization: float = 1.0) -> None:
        self._begin(n_features, in_range("regularization", regularization, 0.0, inf))


class OnlineRidge(_Matrix):
    """Recursive least squares on the labels: w minimises r |w|^2 + sum (y - w.x)^2 over the rows so far.

    The matrix kept is P = (I + sum x x' / r)^-1; AROW differs from this only in passing over the rows with y w.x >= 1.

    >>> learner = OnlineRidge(1)
    >>> learner.learn_many([[1.0], [1.0], [1.0]], [1, 1, -1]).round(9).tolist()
    [0.0, 0.5, 0.666666667]
    """

    _kind = kernel.RIDGE

    def __init__(self, n_features: int, regularization: float = 1.0) -> None:
        self._begin(n_features, in_range("regularization", regularization, 0.0, inf))
