"""The door: rows, labels and weights are checked here, all of them, before a learner sees the first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from massart.errors import InvalidDataError
from massart.kernels import rows as kernel

_BLOCK = 8192  # rows of a Fortran-ordered or strided array that are copied at a time
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
# Squares and fourth powers of what a learner is given must stay finite and above zero.
SMALLEST, LARGEST = 1e-50, 1e50


def _frozen(a: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for it alone, and a memory map is used where it lies."""
    view = a.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class Rows:
    """A batch of checked rows, dense or CSR, as the kernels take them: nothing is copied that need not be."""

    dense: NDArray[Any] | None  # (count, width) float32 or float64
    csr: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None  # data, unsigned indices, unsigned indptr
    count: int
    width: int

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None, *, scaled: bool = True) -> "Rows":
        """Check a 2-dimensional array or a sparse matrix; `names` are the columns' names for messages.

        Rows that will not be `scaled` to norm 1 may be no longer than 1e50.

        >>> Rows.of(np.eye(2)).count
        2
        >>> Rows.of(np.array([[1.0, 2.0], [np.nan, 0.0]]))
        Traceback (most recent call last):
        massart.errors.InvalidDataError: Input X contains NaN at row 1, column 0 (counted from 0): drop the row or ...
        """
        longest = np.inf if scaled else LARGEST
        if sparse.issparse(X):
            return cls._of_csr(X.tocsr(), names, longest)
        X = np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise InvalidDataError(
                f"X is an array of {X.dtype} with {X.ndim} dimensions: give real numbers, one row per example"
            )
        if X.dtype not in _FLOATS:
            X = X.astype(np.float64)
        dense = cls(_frozen(X), None, *X.shape)
        for block, start, _ in dense._blocks(None):
            bad = kernel.check_dense(block, longest)
            if bad >= 0:
                raise _not_finite(X[start + bad], start + bad, np.arange(X.shape[1]), names)
        return dense

    @classmethod
    def _of_csr(cls, X: Any, names: Sequence[str] | None, longest: float) -> "Rows":
        if X.indptr.shape != (X.shape[0] + 1,) or X.indices.shape != X.data.shape:
            raise InvalidDataError(
                f"The sparse matrix X of shape {X.shape} has {X.indptr.size} row pointers, {X.indices.size} indices "
                f"and {X.data.size} values, which do not fit together: build it again with scipy.sparse.csr_matrix"
            )
        if X.dtype not in _FLOATS:
            X = X.astype(np.float64)
        unsigned = np.uint32 if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32 else np.uint64
        wide = np.int32 if unsigned is np.uint32 else np.int64
        indices = _frozen(X.indices.astype(wide, copy=False).view(unsigned))
        indptr = _frozen(X.indptr.astype(wide, copy=False).view(unsigned))
        verdict, row = kernel.check_csr(_frozen(X.data), indices, indptr, X.shape[1], longest)
        if verdict == kernel.NOT_CANONICAL:
            X = X.copy()
            X.sum_duplicates()
            return cls._of_csr(X, names, longest)
        if verdict == kernel.OUT_OF_RANGE:
            raise InvalidDataError(
                f"Row {row} (counted from 0) of the sparse matrix X has an index outside its {X.shape[1]} columns, "
                "or row pointers that do not fit its data: build it again with scipy.sparse.csr_matrix. "
                "Nothing was learned from this batch."
            )
        if verdict == kernel.NOT_FINITE:
            start, stop = X.indptr[row], X.indptr[row + 1]
            raise _not_finite(X.data[start:stop], row, X.indices[start:stop], names)
        return cls(None, (_frozen(X.data), indices, indptr), *X.shape)

    def _blocks(
        self, order: NDArray[np.uint64] | None
    ) -> Iterator[tuple[NDArray[Any], int, NDArray[np.uint64] | None]]:
        """Dense rows as C-ordered arrays: (rows, place of the first in `order`, their own order)."""
        assert self.dense is not None  # noqa: S101
        X = self.dense
        if X.flags.c_contiguous:
            yield X, 0, order
            return
        for start in range(0, self.count if order is None else order.size, _BLOCK):
            pick: Any = slice(start, start + _BLOCK) if order is None else order[start : start + _BLOCK]
            block = np.ascontiguousarray(X[pick])
            yield _frozen(block), start, np.arange(block.shape[0], dtype=np.uint64)

    def parts(
        self, order: NDArray[np.uint64], *columns: NDArray[Any]
    ) -> Iterator[tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...], NDArray[np.uint64], slice]]:
        """What a kernel takes, part by part: (rows, columns of labels and weights, order, place in the output)."""
        if self.csr is not None:
            yield self.csr, columns, order, slice(None)
            return
        for block, start, inner in self._blocks(order):
            if inner is order or inner is None:
                yield (block,), columns, order, slice(None)
            else:
                pick = order[start : start + _BLOCK]
                yield (block,), tuple(c[pick] for c in columns), inner, slice(start, start + inner.size)

    def keys(self, labels: NDArray[np.int64], seed: np.uint64) -> NDArray[np.uint64]:
        """A key per row that depends on what the row is, not on where it stands."""
        if self.csr is not None:
            return np.asarray(kernel.keys_csr(*self.csr, labels, seed))
        found = np.empty(self.count, np.uint64)
        for block, start, _ in self._blocks(None):
            stop = start + block.shape[0]
            found[start:stop] = kernel.keys_dense(block, labels[start:stop], seed)
        return found


def _not_finite(values: NDArray[Any], row: int, columns: NDArray[Any], names: Sequence[str] | None) -> InvalidDataError:
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size == 0:
        return InvalidDataError(
            f"Input X contains a row too large to compute with, row {row} (counted from 0): divide columns by "
            "their typical size, for instance with sklearn.preprocessing.StandardScaler. "
            "Nothing was learned from this batch."
        )
    column = int(columns[bad[0]])
    name = f" ({names[column]!r})" if names is not None else ""
    what = "NaN" if np.isnan(values[bad[0]]) else "infinity"
    return InvalidDataError(
        f"Input X contains {what} at row {row}, column {column}{name} (counted from 0): drop the row or fill the "
        "value, for instance with sklearn.impute.SimpleImputer. Nothing was learned from this batch."
    )


def check_weights(weights: Any, count: int) -> NDArray[np.float64]:
    """Importance weights, one per row, finite and not negative; a row of weight 0 counts as absent."""
    if weights is None:
        return np.ones(count)
    try:
        weights = np.asarray(weights)
        weights = weights.astype(np.complex128 if weights.dtype.kind == "c" else np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"sample_weight must be real numbers, one per row: {error}") from None
    if weights.dtype.kind == "c":
        raise InvalidDataError("sample_weight must be real numbers, one per row: these are complex")
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        raise InvalidDataError(
            f"sample_weight has shape {weights.shape}, but there are {count} rows: give one weight per row, as a "
            "1-dimensional array (Sample weights must be 1D array or scalar)"
        )
    bad = np.flatnonzero(~(((weights >= SMALLEST) & (weights <= LARGEST)) | (weights == 0)))
    if bad.size:
        raise InvalidDataError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]}: weights must be finite and not negative, between "
            f"{SMALLEST:g} and {LARGEST:g}; use 0 to leave a row out. Nothing was learned from this batch."
        )
    return np.asarray(weights)
