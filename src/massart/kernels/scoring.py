"""Scores of rows by one vector of weights: w.x + c, the constant c being the last weight.

Columns beyond those of the weights were never seen in training: their weight is 0.
"""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def score_csr(data: Any, indices: Any, indptr: Any, weights: Any, scores: Any) -> None:
    """scores[i] = sum of data * weights over the entries of row i, plus the constant."""
    width = np.uint64(weights.size - 1)
    for i in range(indptr.size - 1):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            column = np.uint64(indices[p])
            if column < width:
                total += data[p] * weights[column]
        scores[i] = total + weights[width]


@njit(cache=True, nogil=True)
def score_dense(X: Any, weights: Any, scores: Any) -> None:
    """The same for a matrix whose rows lie one after the other."""
    width = min(weights.size - 1, X.shape[1])
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(width):
            total += X[i, j] * weights[j]
        scores[i] = total + weights[weights.size - 1]
