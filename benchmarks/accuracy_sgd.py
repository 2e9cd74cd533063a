"""scikit-learn's linear learners, with what they would have predicted for each row.

`partial_fit` on single rows spends half a millisecond on checking its arguments, and on many rows does not say what it
predicted on the way. So the predictions come from a compiled loop with scikit-learn's arithmetic, and scikit-learn
learns the same rows in one call of `partial_fit`: if the loop has not arrived at the same weights, its predictions are
thrown away, and scikit-learn is asked row by row.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.linear_model import Perceptron, SGDClassifier

SMALL_AGGRESSIVENESS = 0.01
_LOG, _HINGE, _HUBER = range(3)
_OPTIMAL, _CONSTANT, _PA = range(3)
_ALPHA = 1e-4  # the penalty of SGDClassifier
_CLASSES = np.array([False, True])
_CLOSE = 1e-6  # relative to the largest weight


class _Rule(NamedTuple):
    """What distinguishes the learners inside the loop."""

    loss: int
    threshold: float  # of the hinge
    steps: int
    step: float  # constant step, or aggressiveness
    alpha: float
    average: bool


_SGD = {"steps": _OPTIMAL, "step": 0.0, "alpha": _ALPHA, "average": False}
_RULES = {
    "sklearn-log": _Rule(_LOG, 0.0, **_SGD),
    "sklearn-hinge": _Rule(_HINGE, 1.0, **_SGD),
    "sklearn-huber": _Rule(_HUBER, 0.0, **_SGD),
    "sklearn-averaged": _Rule(_LOG, 0.0, **(_SGD | {"average": True})),
    "sklearn-perceptron": _Rule(_HINGE, 0.0, _CONSTANT, 1.0, 0.0, False),
    "sklearn-pa": _Rule(_HINGE, 1.0, _PA, SMALL_AGGRESSIVENESS, 0.0, False),
}
NAMES = tuple(_RULES)


def estimator(name: str) -> Any:
    """The estimator itself, at its defaults; rows are not shuffled, for their order is the stream's."""
    order = {"shuffle": False, "random_state": np.random.RandomState(0)}
    if name == "sklearn-perceptron":
        return Perceptron(**order)
    if name == "sklearn-pa":
        return SGDClassifier("hinge", penalty=None, learning_rate="pa1", eta0=SMALL_AGGRESSIVENESS, **order)
    loss = {"sklearn-hinge": "hinge", "sklearn-huber": "modified_huber"}.get(name, "log_loss")
    return SGDClassifier(loss, average=name == "sklearn-averaged", **order)


def answers(name: str, X: Any, y: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What the learner predicts for each row before it learns it; False for the first, where it knows no weights."""
    rule = _RULES[name]
    # scikit-learn slows the intercept down on sparse rows, and on these alone.
    intercept_rate = 0.01 if issparse(X) else 1.0
    rows = X if issparse(X) else _every_column(X)
    said, weights = _loop(rows.data, rows.indices, rows.indptr, X.shape[1], y, rule, intercept_rate)
    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True):
        warnings.simplefilter("ignore")
        learned = estimator(name).partial_fit(X, y, classes=_CLASSES)
    reached = np.append(learned.coef_[0], learned.intercept_[0])
    if np.abs(weights - reached).max() <= _CLOSE * np.abs(reached).max():
        return said
    return row_by_row(name, X, y)


def row_by_row(name: str, X: Any, y: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same from scikit-learn alone: predict, then partial_fit, a row at a time."""
    learner = estimator(name)
    said = np.zeros(len(y), bool)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        learner.partial_fit(X[:1], y[:1], classes=_CLASSES)
        for i in range(1, len(y)):
            row = X[i : i + 1]
            score = row @ learner.coef_[0] + learner.intercept_
            said[i] = score[0] > 0.0
            learner.partial_fit(row, y[i : i + 1])
    return said


def _every_column(X: NDArray[np.float64]) -> csr_matrix:
    """Dense rows as sparse ones that hold their zeros, too, as scikit-learn's loop takes them."""
    rows, columns = X.shape
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    return csr_matrix((X.reshape(-1), indices, np.arange(rows + 1, dtype=np.int64) * columns), shape=X.shape)


@njit(cache=True)
def _slope(loss: int, threshold: float, y: float, p: float) -> float:
    """The derivative of the loss at score p; y is -1 or 1."""
    z = y * p
    if loss == _LOG:
        target = 0.5 * (y + 1.0)
        if p <= -37.0:  # where 1 + exp(p) is 1
            return np.exp(p) - target
        e = np.exp(-p)
        return ((1.0 - target) - target * e) / (1.0 + e)
    if loss == _HINGE:
        return -y if z <= threshold else 0.0
    if z >= 1.0:
        return 0.0
    return 2.0 * (1.0 - z) * -y if z >= -1.0 else -4.0 * y


@njit(cache=True)
def _loop(data: Any, indices: Any, indptr: Any, columns: int, labels: Any, rule: _Rule, intercept_rate: float) -> Any:
    """Predictions before each row, and the last weights, intercept last.

    w = scale * v, so that the penalty's shrinking is one product; the average of w over the rounds is (a + A v) / B.
    """
    v, a = np.zeros(columns), np.zeros(columns)
    scale, A, B = 1.0, 0.0, 1.0
    intercept, average_intercept = 0.0, 0.0
    first = 0.0 if rule.steps != _OPTIMAL else 1.0 / (np.sqrt(1.0 / np.sqrt(rule.alpha)) * rule.alpha)
    said = np.zeros(labels.size, np.bool_)
    for t in range(labels.size):
        start, stop = indptr[t], indptr[t + 1]
        y = 1.0 if labels[t] else -1.0
        dot, averaged, square = 0.0, 0.0, 0.0
        for i in range(start, stop):
            x, j = data[i], indices[i]
            dot += v[j] * x
            averaged += a[j] * x
            square += x * x
        p = dot * scale + intercept
        said[t] = (averaged + A * dot) / B + average_intercept > 0.0 if rule.average else p > 0.0
        step = rule.step
        if rule.steps == _PA:
            if square == 0.0:
                continue
            update = min(step, max(rule.threshold - y * p, 0.0) / square) * y
        else:
            if rule.steps == _OPTIMAL:
                step = 1.0 / (rule.alpha * (first + t))
            update = -step * min(max(_slope(rule.loss, rule.threshold, y, p), -1e12), 1e12)
        if rule.alpha > 0.0:
            scale *= max(0.0, 1.0 - step * rule.alpha)
            if scale < 1e-9:
                a = (a + A * v) / B
                v, scale, A, B = v * scale, 1.0, 0.0, 1.0
        if update != 0.0:
            for i in range(start, stop):
                v[indices[i]] += data[i] * (update / scale)
            intercept += update * intercept_rate
        if rule.average:
            for i in range(start, stop):
                a[indices[i]] += A * data[i] * (-update / scale)
            if t > 0:
                B /= 1.0 - 1.0 / (t + 1.0)
            A += B * scale / (t + 1.0)
            average_intercept += (intercept - average_intercept) / (t + 1.0)
    weights = np.empty(columns + 1)
    weights[:columns] = (a + A * v) / B if rule.average else v * scale
    weights[columns] = average_intercept if rule.average else intercept
    return said, weights
