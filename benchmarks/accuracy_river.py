"""river's linear learners in the loop of river's users: a row is a dictionary, predicted and then learned."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import linear_model, preprocessing
from scipy.sparse import issparse

_LEARNERS = {
    "log": linear_model.LogisticRegression,
    "alma": linear_model.ALMAClassifier,
    "pa": linear_model.PAClassifier,
}
_FRESH = 1_000  # updates after which a norm is summed anew, so that rounding errors do not add up


class SparseAlma(linear_model.ALMAClassifier):
    """ALMAClassifier with its norm kept up to date.

    river sums the squares of all weights at every update, in rows of 50 out of 30,000 words nearly all of its time.
    For p = 2, the default; `same_as_river` compares the two.
    """

    def __init__(self) -> None:
        super().__init__()
        self._square = 0.0

    def learn_one(self, x: dict[int, float], y: bool) -> None:
        """One row, as river learns it: a step when the margin is small, then the weights of the row shrink."""
        sign, root = (1.0 if y else -1.0), math.sqrt(self.k)
        if sign * self._raw_dot(x) >= (1 - self.alpha) * self.B / root:
            return
        step = sign * self.C / root
        self._put({i: self.w[i] + step * value for i, value in x.items()})
        if self.k % _FRESH == 0:
            self._square = sum(weight * weight for weight in self.w.values())
        if self._square > 1.0:
            norm = math.sqrt(self._square)
            self._put({i: self.w[i] / norm for i in x})
        self.k += 1

    def _put(self, weights: dict[int, float]) -> None:
        for i, weight in weights.items():
            self._square += weight * weight - self.w[i] * self.w[i]
            self.w[i] = weight


def answers(name: str, X: Any, y: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What river-log, river-alma or river-pa, or one of them -scaled, predicts for each row before it learns it."""
    kind = name.split("-")[1]
    model = SparseAlma() if kind == "alma" and issparse(X) else _LEARNERS[kind]()
    return _play(model, name.endswith("-scaled"), X, y)


def same_as_river(X: Any, y: NDArray[np.bool_]) -> bool:
    """Whether our form of ALMA predicts what river's does, on these rows."""
    return np.array_equal(_play(SparseAlma(), False, X, y), _play(linear_model.ALMAClassifier(), False, X, y))


def _play(model: Any, scaled: bool, X: Any, y: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if scaled:
        model = preprocessing.StandardScaler() | model
    said = np.zeros(len(y), bool)
    for i, (row, label) in enumerate(zip(_dictionaries(X, zeros=scaled), y.tolist(), strict=True)):
        said[i] = bool(model.predict_one(row))
        model.learn_one(row, label)
    return said


def _dictionaries(X: Any, zeros: bool) -> Iterator[dict[int, float]]:
    """The non-zeros of each row; of a dense row all of it for a scaler, which has to see the zeros."""
    if issparse(X):
        for start, stop in pairwise(X.indptr.tolist()):
            yield dict(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True))
    else:
        for row in X:
            yield dict(enumerate(row.tolist())) if zeros else {j: v for j, v in enumerate(row.tolist()) if v != 0.0}
