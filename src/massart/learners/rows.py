"""The door: rows and weights are checked here, so that a refusal names the place and leaves the learner as it was."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError
from massart.kernels import rows as kernel

_BLOCK = 8192  # rows of a Fortran-ordered or strided array that are copied at a time
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
# Squares and fourth powers of what a learner is given must stay finite and above zero.
SMALLEST, LARGEST = 1e-50, 1e50


def _floats(a: NDArray[Any]) -> NDArray[Any]:
    return a if a.dtype in _FLOATS else a.astype(np.float64)


def _frozen(a: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for it alone, and a memory map is used where it lies."""
    view = a.view()
    view.flags.writeable = False
    return view


_NO_ORDER = np.empty(0, np.uint64)
NO_WEIGHT = np.empty(0)

Batch = tuple[int, NDArray[np.uint64], NDArray[Any], NDArray[np.float64]]  # count, order, labels, weight


@dataclass(frozen=True)
class Rows:
    """A batch of rows, dense or CSR, as the kernels take them: nothing is copied that need not be.

    Sparse rows are checked when they are taken. Dense ones need not be: a kernel finds a value that is not finite on
    its way and returns the place, and a copy of the weights to go back to is never more than a row; `refuse` says
    what is wrong there. `check` looks at all rows beforehand.
    """

    dense: NDArray[Any] | None  # (count, width) float32 or float64
    csr: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None  # data, unsigned indices, unsigned indptr
    count: int
    width: int
    names: Sequence[str] | None = None  # of the columns, for messages
    longest: float = np.inf  # that a row may be
    checked: bool = False

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None, *, scaled: bool = True) -> "Rows":
        """Take a 2-dimensional array of real numbers or a sparse matrix.

        Rows that will not be `scaled` to norm 1 may be no longer than 1e50.

        >>> Rows.of(np.eye(2)).count
        2
        """
        longest = np.inf if scaled else LARGEST
        sparse = sys.modules.get("scipy.sparse")  # not imported here: whoever has a sparse matrix has done so
        if sparse is not None and sparse.issparse(X):
            return cls._of_csr(X.tocsr(), names, longest).check()
        X = np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise InvalidDataError(
                f"X is an array of {X.dtype} with {X.ndim} dimensions: give real numbers, one row per example"
            )
        return cls(_frozen(_floats(X)), None, X.shape[0], X.shape[1], names, longest)

    @classmethod
    def _of_csr(cls, X: Any, names: Sequence[str] | None, longest: float) -> "Rows":
        if X.indptr.shape != (X.shape[0] + 1,) or X.indices.shape != X.data.shape:
            raise InvalidDataError(
                f"The sparse matrix X of shape {X.shape} has {X.indptr.size} row pointers, {X.indices.size} indices "
                f"and {X.data.size} values, which do not fit together: build it again with scipy.sparse.csr_matrix"
            )
        unsigned = np.uint32 if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32 else np.uint64
        wide = np.int32 if unsigned is np.uint32 else np.int64
        indices = _frozen(X.indices.astype(wide, copy=False).view(unsigned))
        indptr = _frozen(X.indptr.astype(wide, copy=False).view(unsigned))
        verdict, row = kernel.check_indices(indices, indptr, X.shape[1])
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
        return cls(None, (_frozen(_floats(X.data)), indices, indptr), X.shape[0], X.shape[1], names, longest)

    def check(self) -> "Rows":
        """These rows, if all of them are finite and none is too long.

        >>> Rows.of(np.array([[1.0, 2.0], [np.nan, 0.0]])).check()
        Traceback (most recent call last):
        massart.errors.InvalidDataError: Input X contains NaN at row 1, column 0 (counted from 0): drop the row or ...
        """
        if self.checked:
            return self
        if self.csr is not None:
            bad = kernel.check_values(self.csr[0], self.csr[2], self.longest)
            if bad >= 0:
                raise self.refusal(bad)
        else:
            for block, start in self._blocks(_NO_ORDER):
                bad = kernel.check_dense(block, self.longest)
                if bad >= 0:
                    raise self.refusal(start + bad)
        return replace(self, checked=True)

    def refusal(self, row: int) -> InvalidDataError:
        """What is wrong with a row that is not sound."""
        if self.csr is not None:
            data, indices, indptr = self.csr
            entries = slice(int(indptr[row]), int(indptr[row + 1]))
            return _not_finite(data[entries], row, indices[entries], self.names)
        dense = np.asarray(self.dense)
        return _not_finite(dense[row], row, np.arange(self.width), self.names)

    def _blocks(self, order: NDArray[np.uint64]) -> Iterator[tuple[NDArray[Any], int]]:
        """Dense rows as C-ordered arrays, with the place of their first; all at once if they are C-ordered already."""
        X = np.asarray(self.dense)
        if X.flags.c_contiguous and order.size == 0:
            yield _frozen(X), 0
            return
        for start in range(0, order.size or self.count, _BLOCK):
            pick: Any = order[start : start + _BLOCK] if order.size else slice(start, start + _BLOCK)
            yield _frozen(np.ascontiguousarray(X[pick])), start

    def parts(
        self, order: NDArray[np.uint64] | None, y: NDArray[Any], weight: NDArray[np.float64]
    ) -> Iterator[tuple[Any, Batch, slice]]:
        """What a kernel takes, part by part: (rows, batch, place in the whole); without an order, all rows."""
        chosen = _NO_ORDER if order is None else order
        count = self.count if order is None else order.size
        if self.csr is not None:
            yield self.csr, (count, chosen, y, weight), slice(0, count)
            return
        X = np.asarray(self.dense)
        if count == 0 or X.flags.c_contiguous:
            yield _frozen(np.ascontiguousarray(X)), (count, chosen, y, weight), slice(0, count)
            return
        for block, start in self._blocks(chosen):
            place = slice(start, start + block.shape[0])
            pick: Any = place if order is None else order[place]
            yield block, (block.shape[0], _NO_ORDER, y[pick], weight[pick] if weight.size else weight), place

    def refuse(self, order: NDArray[np.uint64] | None, place: int) -> NoReturn:
        """Raise for the row at a place of the order."""
        raise self.refusal(place if order is None else int(order[place]))

    def keys(self, labels: NDArray[np.int64], seed: np.uint64) -> NDArray[np.uint64]:
        """A key per row that depends on what the row is, not on where it stands."""
        if self.csr is not None:
            return np.asarray(kernel.keys_csr(*self.csr, labels, seed))
        found = np.empty(self.count, np.uint64)
        for block, start in self._blocks(_NO_ORDER):
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
    """Importance weights, one per row, finite and not negative; a row of weight 0 counts as absent. None is all 1."""
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
