"""Scores of rows by one vector of weights: w.x + c, the constant c being the last weight.

Columns beyond those of the weights were never seen in training: their weight is 0.
"""

from typing import Any

import numpy as np

from massart.kernels.compiling import njit


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


@njit(cache=True, nogil=True)
def score_many(X: Any, W: Any, scores: Any) -> None:
    """scores[i, c] += sum over j of X[i, j] W[j, c], column after column of X, as SciPy does for a sparse X.

    What a product by BLAS gives in the last digit depends on the processor and on the number of threads; this does not.
    """
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            for c in range(W.shape[1]):
                scores[i, c] += x * W[j, c]


@njit(cache=True, nogil=True)
def score_many_csr(data: Any, indices: Any, indptr: Any, W: Any, scores: Any) -> None:
    """`score_many` for CSR rows."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            x, j = np.float64(data[p]), indices[p]
            for c in range(W.shape[1]):
                scores[i, c] += x * W[j, c]


@njit(cache=True, nogil=True)
def mixed(W: Any, factors: Any) -> Any:
    """The sum over k of W[j, k] factors[k], for every j: in the order of k, which `@` and einsum do not promise."""
    total = np.empty(W.shape[0])
    for j in range(W.shape[0]):
        sum_j = 0.0
        for k in range(W.shape[1]):
            sum_j += W[j, k] * factors[k]
        total[j] = sum_j
    return total
