"""The state of a learner as a message: columns of which something is known, and small arrays, whole.

What travels between a learner on one machine and a mixture on another (massart.scale) is a `Packed`: of arrays with a
row for each column only the rows that are not zero, or that differ from a state that both sides have. The row of the
constant coordinate comes last, whatever the number of columns is.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.learners.columns import are_many
from massart.learners.sparse_rows import SparseRows, aligned

__all__ = ["Packed", "changed", "owned", "pack", "union", "unpack", "updated"]

# Arrays with a row for each column, by their names, whoever has them.
_TABLES: Final = ("weights", "variances")


class Packed(NamedTuple):
    """A state: `tables[name][i]` belongs to column `numbers[i]`, the last row to the constant coordinate."""

    width: int
    numbers: NDArray[np.uint32]  # ascending
    tables: dict[str, NDArray[np.float64]]  # (numbers.size + 1, ...)
    small: dict[str, NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """What it takes to send it, without what a protocol adds."""
        arrays: list[NDArray[Any]] = [self.numbers, *self.tables.values(), *self.small.values()]
        return sum(array.nbytes for array in arrays)

    def rows(self, name: str, numbers: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Of a table, the rows of these columns, zeros where nothing is stored, and the constant's; a copy."""
        found = self.whole_rows(name, numbers)
        return found.copy() if found is self.tables[name] else found

    def whole_rows(self, name: str, numbers: NDArray[np.uint32]) -> NDArray[np.float64]:
        """The same, to look at only: it may be the table itself."""
        table = self.tables[name]
        if numbers is self.numbers or np.array_equal(numbers, self.numbers):
            return table
        found = np.zeros((numbers.size + 1, *table.shape[1:]))
        at = np.searchsorted(self.numbers, numbers)
        there = at < self.numbers.size
        there[there] = self.numbers[at[there]] == numbers[there]
        found[:-1][there], found[-1] = table[at[there]], table[-1]
        return found


def pack(arrays: Mapping[str, Any]) -> Packed:
    """The arrays of a learner, without rows that are zero in all tables; copies.

    >>> packed = pack({"weights": np.array([0.0, 2.0, 0.0, 5.0]), "rule": np.ones(2)})
    >>> packed.width, packed.numbers.tolist(), packed.tables["weights"].tolist(), list(packed.small)
    (3, [1], [2.0, 5.0], ['rule'])
    """
    own = {name: arrays[name] for name in _TABLES if name in arrays}
    width = len(next(iter(own.values()))) - 1
    if any(isinstance(array, SparseRows) for array in own.values()):
        numbers = np.empty(0, np.int64)
        for array in own.values():
            numbers = union(numbers, array.numbers.astype(np.int64))
    else:
        stored = np.zeros(width, dtype=bool)
        for array in own.values():
            bits = array[:-1].view(np.uint64)
            stored |= bits.any(axis=1) if bits.ndim == 2 else bits != 0
        numbers = np.flatnonzero(stored)
    every = np.append(numbers[numbers < width], width)
    tables = {name: array[every] for name, array in own.items()}
    numbers = every[:-1]
    small = {name: np.array(array) for name, array in arrays.items() if name not in own}
    return Packed(width, numbers.astype(np.uint32), tables, small)


def union(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Numbers that are in one of two ascending arrays, ascending.

    >>> union(np.array([1, 4, 6]), np.array([2, 4])).tolist()
    [1, 2, 4, 6]
    """
    if np.array_equal(first, second) or not second.size:
        return first
    if not first.size:
        return second
    both = np.concatenate([first, second])
    both.sort(kind="stable")  # which merges two sorted parts
    return np.asarray(both[np.append(True, both[1:] != both[:-1])])


def unpack(packed: Packed) -> dict[str, Any]:
    """The arrays that were packed, to learn with: `from_arrays` takes them."""
    numbers = np.append(packed.numbers.astype(np.int64), packed.width)
    made: dict[str, Any] = {}
    for name, table in packed.tables.items():
        if are_many(packed.width) and "variances" in packed.tables:  # a pool keeps only columns that occurred
            made[name] = SparseRows(numbers, table.copy(), packed.width + 1)
            continue
        rows = packed.width + 1
        made[name] = aligned(rows, table.shape[1]) if table.ndim == 2 else np.zeros(rows)
        made[name][numbers] = table
    return made | {name: array.copy() for name, array in packed.small.items()}


def owned(packed: Packed) -> Packed:
    """The same state in memory that kernels can work on: what comes over a network may lie at any byte, read-only."""
    return Packed(
        packed.width,
        np.require(packed.numbers, requirements=["C", "A"]),
        {name: np.require(table, requirements=["C", "A"]) for name, table in packed.tables.items()},
        {name: array.copy() for name, array in packed.small.items()},
    )


def changed(base: Packed, after: Packed) -> Packed:
    """What has changed since `base`: rows of columns of which one byte is another; small arrays whole.

    >>> base = pack({"weights": np.array([1.0, 2.0, 0.0, 5.0])})
    >>> found = changed(base, pack({"weights": np.array([1.0, 3.0, 4.0, 5.0])}))
    >>> found.numbers.tolist(), found.tables["weights"].tolist()
    ([1, 2], [3.0, 4.0, 5.0])
    """
    numbers = union(base.numbers, after.numbers)
    other = np.zeros(numbers.size, dtype=bool)
    for name in after.tables:
        before, now = (one.whole_rows(name, numbers)[:-1].view(np.uint64) for one in (base, after))
        differ = before != now
        other |= differ if differ.ndim == 1 else differ.any(axis=1)
    numbers = numbers[other]
    tables = {name: after.whole_rows(name, numbers) for name in after.tables}
    return Packed(after.width, numbers, tables, after.small)


def updated(base: Packed, change: Packed) -> Packed:
    """The state that a change leads to: the inverse of `changed`, bit for bit."""
    numbers = union(base.numbers, change.numbers)
    places = np.append(np.searchsorted(numbers, change.numbers), numbers.size)
    tables = {}
    for name, table in change.tables.items():
        tables[name] = base.rows(name, numbers)
        tables[name][places] = table
    return Packed(max(base.width, change.width), numbers, tables, change.small)
