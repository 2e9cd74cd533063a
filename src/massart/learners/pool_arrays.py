"""What a pool remembers, and where: arrays of one row for each column, or for each column that occurred.

kernels/learning/pool.py says what the arrays are. Up to `MANY_COLUMNS` columns the weights have a row for each. With
more, a map says which row a column has, if it occurred (learners/columns.py): until dense rows come, which have all
columns. Nobody else needs to know: arrays for files, averages and votes are those of all columns.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.kernels.door import Rows, read_only
from massart.kernels.learning import pool as kernel
from massart.kernels.states import check_pool
from massart.learners.base import BinaryLearner, check_narrower, check_wider, narrowed, widened
from massart.learners.columns import ColumnMap, ColumnSums, are_many
from massart.learners.locking import locked
from massart.learners.sparse_rows import SparseRows, aligned, grown

_NO_ARRAY, _NO_NUMBERS, _NO_COLUMNS = np.empty((0, 0)), np.empty(0), read_only(np.empty(0, np.uint32))


class PoolArrays(BinaryLearner):
    """The arrays of a pool, as the kernel takes them and as files hold them."""

    _no_average = np.empty((0, 0))

    def _set(self, arrays: dict[str, NDArray[Any]], known: ColumnMap | None) -> None:
        # With many columns W and V have a row for each that occurred, and the map says which; else one for each column.
        self._map = known
        self._how = arrays["how"]  # (HOW_SIZE,) the options
        self._scaled = bool(self._how[kernel.Setting.UNIT])
        self._class_weight = float(self._how[kernel.Setting.NEGATIVE]), float(self._how[kernel.Setting.POSITIVE])
        self._W = arrays["weights"]  # (rows, COLUMNS) the last row for the constant coordinate
        self._V = arrays["variances"]  # (rows,) of the diagonal experts
        # Of the columns there were at first, however many there are now; empty if these were many.
        self._F = arrays.get("full", _NO_ARRAY)  # (columns + 2, columns + 1)
        self._C = arrays.get("centred", _NO_ARRAY)  # (CENTRED_SIZE, columns + 1)
        self._S = arrays["columns"]  # (COLUMN_SIZE, COLUMNS) norms and scales
        self._M = arrays["members"]  # (MEMBER_SIZE, experts) mistakes, shares, sizes of scores
        self._t = arrays["totals"]  # (TOTAL_SIZE,) counts, and the state of the mixture
        # With a vote by recent mistakes; else, and in files from before there was one, empty.
        self._D = arrays.get("forgetting", _NO_ARRAY)  # (FORGETTING, columns at first, padded) with few of these
        self._R = arrays.get("recent", _NO_ARRAY)  # (RECENT_SIZE, experts, and those that forget) recent mistakes
        self._u = arrays.get("lead", _NO_NUMBERS)  # (LEAD_SIZE,) the two votes
        self._seed = arrays["seed"]  # (1,) of the random draws
        self._every = _NO_COLUMNS
        self._plain = self._M.shape[1] - kernel.DIAGONAL - kernel.RECENT - (1 + kernel.CENTRED if self._F.size else 0)

    def _sums(self, average: Any) -> NDArray[np.float64]:
        """An average as an array with the rows of W, which it is of now; empty if there is none."""
        if isinstance(average, ColumnSums):
            return average.table(self._map, len(self._W))
        if average.size:
            self._keep_all_columns()
        return np.asarray(average)

    def _state(self) -> tuple[NDArray[np.float64], ...]:
        return self._W, self._V, self._F, self._C, self._S, self._M, self._t, self._D, self._R, self._u

    def _parts(self, rows: Rows, order: Any, y: Any, weight: Any) -> Iterator[tuple[Any, Any, slice]]:
        """(entries, batch, place in the whole) for the kernel, and room for all columns that they have."""
        for data, batch, place in rows.parts(order, y, weight):
            if rows.csr is None:
                yield (data.reshape(-1), self._columns_of(data), _NO_COLUMNS), batch, place
            elif self._map is None:
                yield data, batch, place
            else:
                for entries, own, part in self._map.parts(data, batch):
                    self._make_room(self._map, int(np.diff(entries[2]).max()))
                    yield entries, own, slice(place.start + part.start, place.start + part.stop)

    def _make_room(self, known: ColumnMap, longest: int) -> None:
        """Have a row for each column with a slot, and as many as a row has entries: the kernel's scratch is so long.

        It is looked at before every call of the kernel: if there is no memory now, slots have been given all the same.
        """
        room = len(self._W) - 1
        wanted = known.room_after(room, max(known.room, longest))
        self._W, self._V = grown(self._W, wanted + 1), grown(self._V, wanted + 1)

    def _keep_all_columns(self) -> None:
        """From now on without a map: dense rows have all columns."""
        if self._map is not None:
            weights, variances = self._per_column()
            self._W, self._V, self._map = np.asarray(weights), np.asarray(variances), None

    def _per_column(self) -> tuple[Any, Any]:
        """Weights and variances as arrays of n_features + 1 rows, without a copy."""
        if self._map is None:
            return self._W, self._V
        seen = self._map.seen(len(self._W))
        return self._map.rows_of(self._W, seen), self._map.rows_of(self._V, seen)

    def _in_columns(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., n_features + 1) of what has the rows of W in its last dimension."""
        if self._map is None:
            return table
        columns, slots = self._map.seen(len(self._W))
        whole = np.zeros((*table.shape[:-1], self.n_features + 1))
        whole[..., columns] = table[..., slots]
        return whole

    def _columns_of(self, dense: NDArray[Any]) -> NDArray[np.uint32]:
        """The list of columns that all dense rows share; there is none while rows are sparse, and columns many."""
        if self._every.size != dense.shape[1]:
            self._every = read_only(np.arange(dense.shape[1], dtype=np.uint32))
        return self._every

    def new_average(self) -> Any:
        """Zeros as `learn_rows(average=...)` takes them: an array, or `ColumnSums` with many columns."""
        if self._map is not None:
            return ColumnSums(self._map, kernel.COLUMNS)
        return np.zeros(self._W.shape)  # not zeros_like, which would touch all of it

    @property
    def n_features(self) -> int:
        """The columns of a row."""
        return int(self._V.size - 1) if self._map is None else self._map.n_columns

    @locked
    def widen(self, n_features: int) -> None:
        """Make room for more columns: from now on as if there had been so many from the start, bit for bit.

        But the experts for few features, if there are any, go on with the columns they know.
        """
        check_wider(n_features, self.n_features)
        if n_features == self.n_features:
            return
        if self._map is None and are_many(n_features) and not self._F.size:
            self._map, (self._W, self._V) = ColumnMap.of(SparseRows.of(self._W), SparseRows.of(self._V))
        if self._map is not None:
            self._map.resize(n_features)
        else:
            self._W = widened(self._W, aligned(n_features + 1, kernel.COLUMNS))
            self._V = widened(self._V, np.zeros(n_features + 1))

    @property
    def is_of_few(self) -> bool:
        """Whether there are experts for few features, and they know all columns."""
        return bool(self._F.size) and self._F.shape[1] - 1 == self.n_features

    @locked
    def widen_few(self, n_features: int) -> None:
        """`widen`, and the experts for few features know the columns that come, too."""
        d = self._F.shape[1] - 1
        self.widen(n_features)
        full, forgetting = (
            np.zeros((n_features + 2, n_features + 1)),
            np.zeros((len(self._D), kernel.padded(n_features))),
        )
        full[:-1] = widened(widened(self._F[:-1], np.zeros((n_features + 1, d + 1))).T, np.zeros(full[:-1].shape)).T
        full[-1] = widened(self._F[-1], full[-1])
        self._C = np.ascontiguousarray(widened(self._C.T, np.zeros((n_features + 1, len(self._C)))).T)
        forgetting[:, :d], forgetting[:, n_features] = self._D[:, :d], self._D[:, d] if self._D.size else 0.0
        self._F, self._D = full, forgetting if self._D.size else self._D

    @locked
    def narrow(self, n_features: int) -> None:
        """Drop columns at the end, of which nothing must be known: the inverse of `widen`."""
        self.check_narrower(n_features)
        if self._map is not None:
            self._map.resize(n_features)
        elif n_features < self.n_features:
            self._W, self._V = narrowed(self._W, n_features), narrowed(self._V, n_features)

    def check_narrower(self, n_features: int) -> None:
        """Refuse to drop columns of which something is known."""
        check_narrower(n_features, *self._per_column())

    @locked
    def arrays(self) -> dict[str, Any]:
        """All of its state; `from_arrays` restores it bit for bit.

        With many columns, weights and variances are `SparseRows`, which np.asarray turns into arrays.
        """
        return self._arrays_with(*self._per_column())

    def _arrays_with(self, weights: Any, variances: Any) -> dict[str, Any]:
        few = {"full": self._F, "centred": self._C} if self._F.size else {}
        recent = {"recent": self._R, "lead": self._u} if self._u.size else {}
        late = {"forgetting": self._D} if self._D.size else {}
        return (
            few
            | recent
            | late
            | {
                "how": self._how,
                "weights": weights,
                "variances": variances,
                "columns": self._S,
                "members": self._M,
                "totals": self._t,
                "seed": self._seed,
            }
        )

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The pool whose `arrays()` these are; it works in the same memory where it can."""
        few = "full" in arrays or "centred" in arrays
        known, weights, variances = _tables(arrays["weights"], arrays["variances"], few=few)
        arrays = arrays | {"weights": weights, "variances": variances}
        names = check_pool(arrays)
        pool = cls.__new__(cls)
        pool._set({name: array for name, array in arrays.items() if name in names}, known)
        return pool

    @locked
    def copy(self) -> Self:
        """An independent pool in the same state."""
        twin = type(self).__new__(type(self))
        own = {name: array.copy() for name, array in self._arrays_with(self._W, self._V).items()}
        twin._set(own, None if self._map is None else self._map.copy())
        return twin


def _tables(weights: Any, variances: Any, *, few: bool) -> tuple[ColumnMap | None, NDArray[Any], NDArray[Any]]:
    """(map, weights, variances) of a pool with these weights and variances of all columns, as `arrays` gives them."""
    if isinstance(weights, SparseRows) and isinstance(variances, SparseRows) and not few:
        if weights.origin is not None and weights.origin is variances.origin:
            return weights.origin, weights.values, variances.values
        alike = len(weights) == len(variances) and weights.shape[1:] == (kernel.COLUMNS,) and variances.ndim == 1
        if alike and are_many(len(weights) - 1) and weights.dtype == variances.dtype == np.float64:
            known, (table, spread) = ColumnMap.of(weights, variances)
            return known, table, spread
    return None, np.asarray(weights), np.asarray(variances)
