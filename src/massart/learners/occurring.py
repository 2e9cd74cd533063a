"""Columns that occur in sparse rows: of all others, the weights are 0, and nobody needs to look at them.

`fit` compares dozens of weight vectors. With millions of columns, most of which occur in no row, these would be many
times as large as the model.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Occurring"]

_MANY = 1024  # columns from which on it matters
_PER_COLUMN = ("weights", "variances")  # arrays of a learner with one entry per column, and one for the constant


class Occurring:
    """The columns of a matrix that are looked at: those that occur if it is sparse and they are few, else all.

    >>> columns = Occurring(sparse.csr_matrix(([1.0, 2.0], [3, 2000], [0, 2]), shape=(1, 5000)))
    >>> columns.of_rows.shape, columns.of_rows.toarray().tolist()
    ((1, 2), [[1.0, 2.0]])
    >>> np.flatnonzero(columns.widened(np.array([[5.0, 6.0, 7.0]]))).tolist()
    [3, 2000, 5000]
    """

    def __init__(self, X: Any) -> None:
        self.width = int(X.shape[1])
        self._taken: NDArray[np.int64] | None = None  # numbers of the columns, and that of the constant
        self.of_rows = X
        if not sparse.issparse(X) or self.width < _MANY:
            return
        seen = np.zeros(self.width + 1, dtype=bool)
        seen[X.indices] = True
        seen[-1] = True
        if np.count_nonzero(seen) > self.width // 2:
            return
        self._taken = np.flatnonzero(seen)
        places = np.searchsorted(self._taken, X.indices)
        self.of_rows = sparse.csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], self._taken.size - 1))

    def _of(self, learner: Any) -> Any:
        """A copy of a learner that knows these columns alone: its weights are the same."""
        if self._taken is None:
            return learner
        if hasattr(learner, "members"):
            return type(learner)([self._of(member) for member in learner.members])
        arrays = learner.arrays()
        for name, array in arrays.items():
            if name.rpartition(".")[2] in _PER_COLUMN:
                arrays[name] = array[self._taken]
        return type(learner).from_arrays(arrays)

    def columns(self, learner: Any) -> NDArray[np.float64]:
        """(classes, experts, columns + 1): all weights of a learner."""
        return np.asarray(self._of(learner).columns())

    def leaders(self, learner: Any) -> NDArray[np.float64]:
        """(classes, 1, columns + 1): the weights that predict now."""
        return np.asarray(self._of(learner).leaders()[:, None, :])

    def summed(self, learner: Any, average: Any) -> tuple[NDArray[np.float64], float]:
        """(classes, experts, columns + 1): the sum of weight * w over all rounds, and the sum of weights."""
        if self._taken is not None:
            taken = self._taken
            average = [part[taken] for part in average] if isinstance(average, list) else average[taken]
        total, weight = self._of(learner).summed(average)
        return np.asarray(total), float(weight)

    def widened(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(classes, columns + 1) weights as weights of all columns."""
        if self._taken is None:
            return weights
        wide = np.zeros((len(weights), self.width + 1))
        wide[:, self._taken] = weights
        return wide

    def divided(self, X: Any, sizes: NDArray[np.float64]) -> Any:
        """All columns of X, divided by the sizes of these ones."""
        if not sparse.issparse(X):
            return X / sizes
        factors = (1.0 / sizes)[self.of_rows.indices]
        return sparse.csr_matrix((X.data * factors, X.indices, X.indptr), shape=X.shape)
