"""Rows of a batch: checks before any learner sees them, keys for an order of their own, and scores.

Values are checked by the squared norm of their row, which is not finite if one of them is not. Only these checks allow
the compiler to add up in another order (`fastmath`): it decides whether a row is accepted near the limit of 1e154, and
no number that is kept. Scores are the sums of kernels/learning/sums.py. Columns beyond those of the weights were never
seen in training: their weight is 0.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import Floats, Indices, Integers, Labels, Values, njit
from massart.kernels.learning.elementary import mix
from massart.kernels.learning.sums import read_csr, read_csr_with_zeros, read_dense, read_dense_with_zeros

_FAST: Final = {"reassoc", "contract", "arcp", "nsz"}
GOOD, OUT_OF_RANGE, NOT_CANONICAL, NO_LABEL = 0, 1, 2, 3


@njit(cache=True, fastmath=_FAST)
def check_dense(X: Values, longest: float) -> int:
    """The first row whose squared norm is not finite or above longest^2, or -1."""
    limit = longest * longest
    for i in range(X.shape[0]):
        square = 0.0
        for j in range(X.shape[1]):
            square += np.float64(X[i, j]) * X[i, j]
        if not (square < np.inf and square <= limit):
            return i
    return -1


@njit(cache=True, fastmath=_FAST)
def check_values(data: Values, indptr: Indices, longest: float) -> int:
    """`check_dense` for CSR rows."""
    limit = longest * longest
    for i in range(indptr.size - 1):
        square = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            square += np.float64(data[p]) * data[p]
        if not (square < np.inf and square <= limit):
            return i
    return -1


@njit(cache=True)
def check_indices(indices: Indices, indptr: Indices, columns: int) -> Any:
    """(what is wrong, first row out of range) with CSR indices: out of range, or not sorted without repeats.

    The last is not an error: such rows are put in order first, because a repeated index means a sum.
    """
    width, size, rows = np.uint64(columns), np.uint64(indices.size), indptr.size - 1
    for i in range(rows):
        if np.uint64(indptr[i + 1]) < np.uint64(indptr[i]) or np.uint64(indptr[i + 1]) > size:
            return OUT_OF_RANGE, i
    if rows == 0:
        return GOOD, -1
    # All entries at once, whatever the rows: these loops are what the compiler takes several numbers at a time in.
    start, stop, highest, falls = np.uint64(indptr[0]), np.uint64(indptr[rows]), indices.dtype.type(0), 0
    for p in range(start, stop):
        highest = max(highest, indices[p])
    if stop > start and np.uint64(highest) >= width:
        for i in range(rows):
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                if np.uint64(indices[p]) >= width:
                    return OUT_OF_RANGE, i
    for p in range(start + np.uint64(1), stop):
        falls += indices[p] <= indices[p - np.uint64(1)]
    for i in range(rows):  # less those from one row to the next
        first = np.uint64(indptr[i])
        if start < first < np.uint64(indptr[i + 1]):
            falls -= indices[first] <= indices[first - np.uint64(1)]
    return (NOT_CANONICAL if falls > 0 else GOOD), -1


@njit(cache=True)
def check_batch(order: NDArray[np.uint64], y: Labels, count: int) -> int:
    """What is wrong with the rows to be learned: a number of no row, or a label that is neither -1 nor +1."""
    rows, outside, other = np.uint64(count), np.uint8(0), np.uint8(0)
    for t in range(order.size):
        outside |= np.uint8(order[t] >= rows)
    if outside:
        return OUT_OF_RANGE
    for t in range(order.size):
        label = y[order[t]]
        other |= np.uint8((label != 1) & (label != -1))
    if order.size == 0:
        for i in range(y.size):
            other |= np.uint8((y[i] != 1) & (y[i] != -1))
    return NO_LABEL if other else GOOD


@njit(cache=True, inline="always")
def _entry(index: Any, value: float) -> Any:
    """A key for one non-zero entry; a sum of them is a key for the row, in any order of the entries."""
    return mix(mix(np.uint64(index) + np.uint64(1)) ^ np.float64(value).view(np.uint64))


@njit(cache=True)
def keys_dense(X: Values, labels: Integers, seed: np.uint64) -> Any:
    """A 64-bit key per row that depends on its values, its label and the seed, not on its place."""
    keys = np.empty(X.shape[0], np.uint64)
    for i in range(X.shape[0]):
        key = seed ^ mix(np.uint64(labels[i]) + np.uint64(0x9E3779B97F4A7C15))
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                key += _entry(j, X[i, j])
        keys[i] = mix(key)
    return keys


@njit(cache=True)
def keys_csr(data: Values, indices: Indices, indptr: Indices, labels: Integers, seed: np.uint64) -> Any:
    """`keys_dense` for CSR rows: the same key for the same row."""
    keys = np.empty(indptr.size - 1, np.uint64)
    for i in range(indptr.size - 1):
        key = seed ^ mix(np.uint64(labels[i]) + np.uint64(0x9E3779B97F4A7C15))
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if data[p] != 0.0:
                key += _entry(indices[p], data[p])
        keys[i] = mix(key)
    return keys


@njit(cache=True)
def copy_keys(keys: NDArray[np.uint64], copies: Integers) -> Any:
    """(row, key) of every copy: `copies[i]` of row i, numbered on through rows of equal key.

    Rows must come sorted by key, so that equal rows stand together: a row given twice then has the same copies,
    with the same keys, as the row given once with weight two.
    """
    total = 0
    for i in range(copies.size):
        total += copies[i]
    rows, again = np.empty(total, np.int64), np.empty(total, np.uint64)
    at, number = 0, np.uint64(0)
    for i in range(keys.size):
        if i > 0 and keys[i] != keys[i - 1]:
            number = np.uint64(0)
        for _ in range(copies[i]):
            rows[at] = i
            again[at] = mix(keys[i] + number * np.uint64(0x9E3779B97F4A7C15))
            number += np.uint64(1)
            at += 1
    return rows, again


@njit(cache=True)
def add_squares(
    data: Values, indices: Indices, indptr: Indices, weight: Floats, total: Floats, present: Floats
) -> None:
    """Add weight * x^2 to `total`, and the weight to `present` where x^2 is not 0, for each entry of CSR rows."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            square = np.float64(data[p] * data[p])
            if square != 0.0:
                total[indices[p]] += weight[i] * square
                present[indices[p]] += weight[i]


@njit(cache=True, error_model="numpy", nogil=True)
def score_csr(data: Values, indices: Indices, indptr: Indices, weights: Floats, scores: Floats) -> None:
    """scores[i] = sum of data * weights over the entries of row i, plus the constant."""
    width = np.uint64(weights.size - 1)
    for i in range(indptr.size - 1):
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        outside = np.uint8(0)
        for p in range(start, stop):
            outside |= np.uint8(np.uint64(indices[p]) >= width)
        if outside:
            dot, _ = read_csr_with_zeros(data, indices, start, stop, weights)
        else:
            dot, _, has_zeros = read_csr(data, indices, start, stop, weights)
            if has_zeros:
                dot, _ = read_csr_with_zeros(data, indices, start, stop, weights)
        scores[i] = dot + weights[width]


@njit(cache=True, error_model="numpy", nogil=True)
def score_dense(X: Values, weights: Floats, scores: Floats) -> None:
    """The same for a matrix whose rows lie one after the other."""
    d = np.uint64(X.shape[1])
    width = min(np.uint64(weights.size - 1), d)
    flat, values, places = X.reshape(-1), np.empty(width), np.empty(width, np.uint64)
    for i in range(np.uint64(X.shape[0])):
        start = i * d
        dot, _, has_zeros = read_dense(flat, start, start + width, weights)
        if has_zeros:
            dot, _ = read_dense_with_zeros(flat, start, start + width, weights, values, places)
        scores[i] = dot + weights[weights.size - 1]


@njit(cache=True, nogil=True)
def score_many(X: Values, W: Floats, scores: Floats) -> None:
    """scores[i, c] += sum over j of X[i, j] W[j, c], column after column of X, as SciPy does for a sparse X.

    What a product by BLAS gives in the last digit depends on the processor and on the number of threads; this does not.
    """
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            for c in range(W.shape[1]):
                scores[i, c] += x * W[j, c]


@njit(cache=True, nogil=True)
def score_many_csr(data: Values, indices: Indices, indptr: Indices, W: Floats, scores: Floats) -> None:
    """`score_many` for CSR rows."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            x, j = np.float64(data[p]), indices[p]
            for c in range(W.shape[1]):
                scores[i, c] += x * W[j, c]


@njit(cache=True, nogil=True)
def mixed(W: Floats, factors: Floats) -> Any:
    """The sum over k of W[j, k] factors[k], for every j: in the order of k, which `@` and einsum do not guarantee."""
    total = np.empty(W.shape[0])
    for j in range(W.shape[0]):
        sum_j = 0.0
        for k in range(W.shape[1]):
            sum_j += W[j, k] * factors[k]
        total[j] = sum_j
    return total
