"""The door to the kernels of halfspaces: rows, labels, weights and outputs are checked here, whoever calls.

Kernels check no index. So what they are given is of a type that only this module can make: `Rows` have shapes, types
and indices that fit together, `FiniteRows` are finite, too. A refusal names the place and leaves the learner as it was.
The door reads an array once: nobody may change it, from another thread, until the call is over.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError
from massart.kernels.forms import check_form, check_mask
from massart.kernels.learning import rows as kernel
from massart.kernels.learning.row_order import put_in_order
from massart.kernels.learning.rows import score_csr, score_dense
from massart.options import LARGEST, SMALLEST
from massart.values import Value

_BLOCK = 8192  # rows of a Fortran-ordered or strided array that are copied at a time
_ENTRIES = 1 << 17  # of sparse rows that are put in order at a time, or one row if it has more
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_INT8, _UINT32, _UINT64, _FLOAT64 = np.dtype(np.int8), np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.float64)
_LONGEST = 1e154  # that a row may be which is scaled to norm 1: its square stays finite, in any order of additions


def _floats(a: NDArray[Any]) -> NDArray[Any]:
    if a.dtype in _FLOATS:
        return a
    with np.errstate(over="ignore"):  # of numbers longer than 64 bits: infinity is refused
        return a.astype(np.float64)


def regular(a: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy, one entry after the other, each at an address that is a multiple of its size."""
    return a if a.flags.num & _REGULAR == _REGULAR else np.require(a, requirements=("C", "A"))


def read_only(a: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for it alone, and a memory map is used where it lies."""
    view = a.view()
    view.flags.writeable = False
    return view


_REGULAR = 0x101  # of an array's flags: C-contiguous and aligned
_NO_ORDER = np.empty(0, np.uint64)
NO_WEIGHT = np.empty(0)
_SEAL = object()  # who has it has checked

Batch = tuple[int, NDArray[np.uint64], NDArray[Any], NDArray[np.float64]]  # count, order, labels, weight


class Rows(Value):
    """A batch of rows, dense or CSR, as the kernels take them: nothing is copied that need not be.

    Made by `Rows.of` and `Rows.read` alone. Sparse rows are finite. Dense ones need not be: a kernel finds a value that
    is not on its way and returns the place, and a copy of the weights to go back to is never more than a row; `refuse`
    says what is wrong there. `check` looks at all rows beforehand.
    """

    dense: NDArray[Any] | None  # (count, width) float32 or float64
    csr: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None  # data, unsigned indices, unsigned indptr
    count: int
    width: int
    names: Sequence[str] | None = None  # of the columns, for messages
    longest: float = _LONGEST  # that a row may be
    in_order: bool = (
        True  # whether columns of CSR rows increase, or come as a reader gives them; else blocks are sorted
    )
    seal: object = None

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise TypeError("rows that nobody has checked: make them with Rows.of")

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None, *, scaled: bool = True) -> "Rows":
        """Take a 2-dimensional array of real numbers or a sparse matrix.

        Rows that will not be `scaled` to norm 1 may be no longer than 1e50.

        >>> Rows.of(np.eye(2)).count
        2
        """
        longest = _LONGEST if scaled else LARGEST
        if check_form(X):
            return cls._of_csr(X.tocsr(), names, longest).check()
        try:
            X = np.asarray(X)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"X is no array of numbers: {error}") from None
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise InvalidDataError(
                f"X is an array of {X.dtype} with {X.ndim} dimensions: give real numbers, one row per example"
            )
        return Rows(read_only(_floats(X)), None, X.shape[0], X.shape[1], names, longest, seal=_SEAL)

    @classmethod
    def read(cls, rows: Any, width: int | None = None, *, scaled: bool = True) -> "FiniteRows":
        """Rows of a file, as a reader gives them, for a learner of so many columns; None: however many there are.

        `rows` is an array, or (values, columns, row pointers) with columns in any order.

        >>> Rows.read((np.ones(2), np.array([0, 7], np.uint32), np.array([0, 1, 2], np.uint32)), 5)
        Traceback (most recent call last):
        massart.errors.InvalidDataError: the rows have an entry in column 7 (counted from 0), but the model ...
        """
        longest = _LONGEST if scaled else LARGEST
        if not isinstance(rows, tuple):
            found = cls.of(rows, scaled=scaled)
            found.check_width(found.width if width is None else width)
            return found.check()
        data, indices, indptr = rows
        if not (
            all(type(part) is np.ndarray and part.ndim == 1 and part.flags.num & _REGULAR == _REGULAR for part in rows)
            and data.dtype in _FLOATS
            and indices.dtype == indptr.dtype
            and indices.dtype in (_UINT32, _UINT64)
            and indices.size == data.size
            and indptr.size > 0
            and indptr[-1] <= data.size
            and bool(np.all(indptr[:-1] <= indptr[1:]))
        ):
            raise InvalidDataError("the values, columns and row pointers of the rows do not fit together")
        met = int(indices.max()) + 1 if indices.size else 0
        if width is not None and met > width:
            raise InvalidDataError(
                f"the rows have an entry in column {met - 1} (counted from 0), but the model has {width} columns"
            )
        parts = read_only(data), read_only(indices), read_only(indptr)
        return Rows(None, parts, indptr.size - 1, met if width is None else width, None, longest, seal=_SEAL).check()

    @classmethod
    def _of_csr(cls, X: Any, names: Sequence[str] | None, longest: float) -> "Rows":
        if X.indptr.shape != (X.shape[0] + 1,) or X.indices.shape != X.data.shape or X.data.ndim != 1:
            raise InvalidDataError(
                f"The sparse matrix X of shape {X.shape} has {X.indptr.size} row pointers, {X.indices.size} indices "
                f"and {X.data.size} values, which do not fit together: build it again with scipy.sparse.csr_matrix"
            )
        unsigned = np.uint32 if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32 else np.uint64
        wide = np.int32 if unsigned is np.uint32 else np.int64
        indices = read_only(regular(np.asarray(X.indices, wide)).view(unsigned))
        indptr = read_only(regular(np.asarray(X.indptr, wide)).view(unsigned))
        verdict, row = kernel.check_indices(indices, indptr, X.shape[1])
        if verdict == kernel.OUT_OF_RANGE:
            raise InvalidDataError(
                f"Row {row} (counted from 0) of the sparse matrix X has an index outside its {X.shape[1]} columns, "
                "or row pointers that do not fit its data: build it again with scipy.sparse.csr_matrix. "
                "Nothing was learned from this batch."
            )
        parts = read_only(regular(_floats(X.data))), indices, indptr
        in_order = verdict != kernel.NOT_CANONICAL
        return Rows(None, parts, X.shape[0], X.shape[1], names, longest, in_order, _SEAL)

    def check(self) -> "FiniteRows":
        """These rows, if all of them are finite and none is too long.

        >>> Rows.of(np.array([[1.0, 2.0], [np.nan, 0.0]])).check()
        Traceback (most recent call last):
        massart.errors.InvalidDataError: Input X contains NaN at row 1, column 0 (counted from 0): drop the row or ...
        """
        if isinstance(self, FiniteRows):
            return self
        if self.csr is not None:
            if self.in_order or not self._are_short():
                for (data, _, indptr), start in self._csr_blocks(_NO_ORDER):
                    bad = kernel.check_values(data, indptr, self.longest)
                    if bad >= 0:
                        raise self.refusal(start + bad)
        else:
            for block, start in self._blocks(_NO_ORDER):
                bad = kernel.check_dense(block, self.longest)
                if bad >= 0:
                    raise self.refusal(start + bad)
        return FiniteRows(self.dense, self.csr, self.count, self.width, self.names, self.longest, self.in_order, _SEAL)

    def check_width(self, width: int) -> None:
        """Refuse rows that have not as many columns as a learner."""
        if self.width != width:
            raise InvalidDataError(f"X has {self.width} columns, but this learner takes {width} features")

    def refusal(self, row: int) -> InvalidDataError:
        """What is wrong with a row that is not valid."""
        if self.csr is not None:
            (data, indices, indptr), _ = next(self._csr_blocks(np.array([row], np.uint64)))
            entries = slice(int(indptr[row]), int(indptr[row + 1])) if self.in_order else slice(None)
            return _not_finite(data[entries], row, indices[entries], self.names)
        dense = np.asarray(self.dense)
        return _not_finite(dense[row], row, np.arange(self.width), self.names)

    def _blocks(self, order: NDArray[np.uint64]) -> Iterator[tuple[NDArray[Any], int]]:
        """Dense rows as C-ordered arrays, with the place of their first; all at once if they are C-ordered already."""
        X = np.asarray(self.dense)
        if X.flags.num & _REGULAR == _REGULAR and order.size == 0:
            yield read_only(X), 0
            return
        for start in range(0, order.size or self.count, _BLOCK):
            pick: Any = order[start : start + _BLOCK] if order.size else slice(start, start + _BLOCK)
            yield read_only(regular(X[pick])), start

    @property
    def _entries(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """(data, indices, indptr) of CSR rows."""
        csr: Any = self.csr
        return csr[0], csr[1], csr[2]

    def _csr_blocks(self, order: NDArray[np.uint64]) -> Iterator[tuple[Any, int]]:
        """CSR rows with increasing columns, and the place of the first: all rows at once if they are so already.

        Else only rows of the order, which are copied, so many at a time that they stay in a cache.
        """
        if self.in_order:
            yield self._entries, 0
            return
        data, indices, indptr = self._entries
        picked: Any = order if order.size else slice(None)
        ends = np.cumsum(np.diff(indptr)[picked], dtype=np.int64)
        start = 0
        while start < ends.size:
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _ENTRIES, side="right")))
            size = int(ends[stop - 1]) - before
            block = np.empty(size, data.dtype), np.empty(size, indices.dtype), np.empty(stop - start + 1, indptr.dtype)
            put_in_order(self._entries, order, start, self.width, *block)
            end = int(block[2][-1])
            yield (read_only(block[0][:end]), read_only(block[1][:end]), read_only(block[2])), start
            start = stop

    def _are_short(self) -> bool:
        """Whether rows whose entries are not summed yet are so short that their sums cannot be too long.

        By Cauchy's inequality: n entries of norm s have sums of norm at most s sqrt(n).
        """
        data, _, indptr = self._entries
        most = float(np.sqrt(max(1.0, float(np.diff(indptr).max(initial=0)))))
        longest = min(self.longest, 1e37) if data.dtype == np.float32 else self.longest
        return bool(kernel.check_values(data, indptr, longest / most) < 0)

    def parts(
        self, order: NDArray[np.uint64] | None, y: NDArray[np.int8], weight: NDArray[np.float64]
    ) -> Iterator[tuple[Any, Batch, slice]]:
        """What a kernel takes, part by part: (rows, batch, place in the whole); without an order, all rows.

        `y` and `weight` have one entry per row of these, whatever the order is; `weight` may be empty.
        """
        self.check_batch(order, y, weight)
        chosen = _NO_ORDER if order is None else order
        count = self.count if order is None else order.size
        if self.csr is not None and self.in_order:
            yield self.csr, (count, chosen, y, weight), slice(0, count)
            return
        if self.csr is not None:
            for rows, start in self._csr_blocks(chosen):
                place = slice(start, start + rows[2].size - 1)
                yield rows, self._batch_of(place, order, y, weight), place
            return
        X = np.asarray(self.dense)
        if count == 0 or X.flags.num & _REGULAR == _REGULAR:
            yield read_only(regular(X)), (count, chosen, y, weight), slice(0, count)
            return
        for block, start in self._blocks(chosen):
            place = slice(start, start + block.shape[0])
            yield block, self._batch_of(place, order, y, weight), place

    @staticmethod
    def _batch_of(place: slice, order: Any, y: Any, weight: Any) -> Batch:
        """The labels and weights of rows that have been copied in their order."""
        pick: Any = place if order is None else order[place]
        return place.stop - place.start, _NO_ORDER, y[pick], weight[pick] if weight.size else weight

    def check_batch(self, order: Any, y: Any, weight: Any) -> None:
        """Refuse labels and weights that are not one per row, and an order of rows that there are not."""
        if not _is_vector(y, _INT8, self.count):
            raise InvalidDataError(f"y must hold {self.count} labels, each -1 or +1, as 8-bit numbers")
        if order is not None and not _is_vector(order, _UINT64):
            raise InvalidDataError("the order must hold numbers of rows, as unsigned numbers of 64 bits")
        if weight.size and not _is_vector(weight, _FLOAT64, self.count):
            raise InvalidDataError(f"sample_weight must hold {self.count} numbers, one per row")
        if order is None or order.size:
            verdict = kernel.check_batch(_NO_ORDER if order is None else order, y, self.count)
            if verdict == kernel.OUT_OF_RANGE:
                raise InvalidDataError(f"the order holds numbers of rows that are not from 0 to {self.count - 1}")
            if verdict == kernel.NO_LABEL:
                raise InvalidDataError("y holds labels other than -1 and +1")

    def score(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(count,) w.x + c of every row, the constant c being the last weight; further columns have weight 0."""
        if not _is_vector(weights, _FLOAT64) or weights.size == 0:
            raise InvalidDataError(f"weights of shape {weights.shape}: give one per column, and the constant's")
        scores = np.empty(self.count)
        if self.csr is not None:
            for rows, start in self._csr_blocks(_NO_ORDER):
                score_csr(*rows, weights, scores[start : start + rows[2].size - 1])
            return scores
        for block, start in self._blocks(_NO_ORDER):
            score_dense(block, weights, scores[start : start + block.shape[0]])
        return scores

    def as_dense(self, order: NDArray[np.uint64]) -> NDArray[np.float64]:
        """(rows of the order, width) float64: a copy of these rows, for few columns."""
        if self.csr is None:
            return np.ascontiguousarray(np.asarray(self.dense)[order.astype(np.int64)], np.float64)
        found = np.zeros((order.size, self.width))
        for (data, indices, indptr), start in self._csr_blocks(order):
            own = order if self.in_order else np.arange(indptr.size - 1, dtype=np.uint64)
            sizes = np.diff(indptr)[own].astype(np.int64)
            rows = np.repeat(np.arange(start, start + own.size), sizes)
            first = np.repeat(indptr[own].astype(np.int64) - np.cumsum(sizes) + sizes, sizes)
            entries = first + np.arange(rows.size)
            found[rows, indices[entries]] = data[entries]
        return found

    def refuse(self, order: NDArray[np.uint64] | None, place: int) -> NoReturn:
        """Raise for the row at a place of the order."""
        raise self.refusal(place if order is None else int(order[place]))

    def keys(self, labels: NDArray[np.int64], seed: np.uint64) -> NDArray[np.uint64]:
        """A key per row that depends on what the row is, not on where it stands."""
        found = np.empty(self.count, np.uint64)
        if self.csr is not None:
            for rows, start in self._csr_blocks(_NO_ORDER):
                stop = start + rows[2].size - 1
                found[start:stop] = kernel.keys_csr(*rows, labels[start:stop], seed)
            return found
        for block, start in self._blocks(_NO_ORDER):
            stop = start + block.shape[0]
            found[start:stop] = kernel.keys_dense(block, labels[start:stop], seed)
        return found


class FiniteRows(Rows):
    """Rows of which every value has been looked at; made by `Rows.check` and `Rows.read` alone."""


def _is_vector(array: Any, dtype: "np.dtype[Any]", size: int | None = None) -> bool:
    """Whether a kernel can take it: one dimension, one entry after the other, and so many of them."""
    return bool(
        type(array) is np.ndarray
        and array.dtype == dtype
        and (array.shape == (size,) if size is not None else array.ndim == 1)
        and array.flags.num & _REGULAR == _REGULAR
    )


def checked_csr(X: Any) -> Any:
    """A sparse matrix as one in CSR form whose rows SciPy can pick."""
    Rows.of(X)
    return X.tocsr()


def check_outputs(
    scores: NDArray[np.float64], count: int, average: NDArray[np.float64], weights: NDArray[np.float64]
) -> None:
    """Refuse arrays that a kernel could not write its scores and sums to; empty ones are not written to."""
    if scores.size and not (_is_vector(scores, _FLOAT64, count) and scores.flags.writeable):
        raise InvalidDataError(f"scores must be an array of {count} numbers, one per round, that can be written to")
    if average.size and not (
        average.shape == weights.shape
        and average.dtype == _FLOAT64
        and average.flags.num & _REGULAR == _REGULAR
        and average.flags.writeable
    ):
        raise InvalidDataError(f"average must be an array of shape {weights.shape}, as new_average makes it")


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


_LABELS: dict[Any, NDArray[np.int8]] = {label: np.array([label], np.int8) for label in (-1, 1)}


def row_of(x: Any, width: int) -> NDArray[Any]:
    """(width,): the numbers of one row, which need not be finite."""
    try:
        row = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"The row is no array of numbers: {error}") from None
    if row is not x:
        check_mask(x, "The row")
    if row.shape != (width,):
        raise InvalidDataError(f"The row has shape {row.shape}, but this learner takes {width} features")
    if row.dtype.kind not in "fiub":
        raise InvalidDataError(f"The row is an array of {row.dtype}: give real numbers")
    return row


def one_row(x: Any, width: int, *, scaled: bool = True) -> Rows:
    """One row, as a batch, for a learner of so many columns."""
    return Rows.of(row_of(x, width)[None, :], scaled=scaled)


def one_label(y: Any) -> NDArray[np.int8]:
    """The label -1 or +1 of a batch of one row."""
    label = _LABELS.get(y) if isinstance(y, (int, float, np.number)) else None
    if label is None:
        raise InvalidDataError(f"The label is {y!r}: this learner takes -1 and +1; MassartClassifier takes any labels")
    return label


def check_labels(y: Any, count: int) -> NDArray[np.int8]:
    """Labels -1 and +1, one per row."""
    check_mask(y, "y")
    try:
        labels = np.asarray(y)
        fits = labels.shape == (count,) and bool(np.all((labels == 1) | (labels == -1)))
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InvalidDataError(f"y must hold {count} labels, each -1 or +1")
    return labels.astype(np.int8)


def check_weights(weights: Any, count: int) -> NDArray[np.float64]:
    """Importance weights, one per row, finite and not negative; a row of weight 0 counts as absent. None is all 1."""
    if weights is None:
        return np.ones(count)
    check_mask(weights, "sample_weight")
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
