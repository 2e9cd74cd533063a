"""Dicts of features as sparse rows: columns for names as they first come, and the rows that came last.

A text is a category: {"town": "Rome"} is the feature "town=Rome" with the value 1. None is a feature that is absent,
as is any that a dict does not have; it counts 0.
"""

from math import inf, isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.hashing import name_hash
from massart.errors import InvalidDataError, shown
from massart.kernels.parsing.features import NO_ROOM, Reader, feature_reader

__all__ = ["KEPT", "LONGEST", "FeatureRows", "Part"]

KEPT: Final = 512  # of the last rows that were learned, at least; all of them while there are not so many
MOST_NAMES: Final = 1 << 20  # with columns of their own; later names share them
_MOST_ENTRIES: Final = 1 << 16  # of kept rows, at most
LONGEST: Final = 1e300  # the squared norm of a row, at most

Part = tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]  # values, columns, where rows begin and end


class FeatureRows:
    """Rows, one after the other, with labels and weights; `done` of them have been learned.

    >>> rows = FeatureRows()
    >>> rows.names_of({"age": 31, "town": "Rome"})
    ['age', 'town=Rome']
    """

    def __init__(self) -> None:
        self.columns: dict[Any, int] = {}  # of names
        self.values, self.numbers = np.empty(1 << 8), np.empty(1 << 8, np.uint32)
        self.ends: list[int] = [0]
        self.labels: list[int] = []
        self.weights: list[float] = []  # those of later rows are 1
        self.done = 0
        self.read = self._reader()  # (features, place, whether other names are left out) to where the row ends, or < 0

    def _reader(self) -> Reader:
        return feature_reader(self.columns, self.values, self.numbers, LONGEST)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "read"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.read = self._reader()

    @property
    def waiting(self) -> int:
        """How many rows have not been learned."""
        return len(self.labels) - self.done

    @property
    def are_many(self) -> bool:
        """Whether it is time to forget some that have been learned."""
        return self.done > 2 * KEPT or self.ends[-1] > _MOST_ENTRIES

    def add(self, features: Any, label: int, weight: float) -> bool:
        """Append a row if all its names have columns; if not, nothing happens, and `read` is for it."""
        end = self.read(features, self.ends[-1], False)
        if end < 0:
            return False
        self._append(end, label, weight)
        return True

    def _append(self, end: int, label: int, weight: float) -> None:
        if weight != 1.0:
            self._fill_weights()
            self.weights.append(weight)
        self.ends.append(end)
        self.labels.append(label)

    def _fill_weights(self) -> None:
        self.weights += [1.0] * (len(self.labels) - len(self.weights))

    def names_of(self, features: Any) -> list[Any]:
        """Names of a dict that have no column yet."""
        return [name for name in _numbered(features) if name not in self.columns]

    def learn_names(self, names: list[Any]) -> None:
        """Give columns to the new names of a dict, as long as there are any; its order has no part in them."""
        names = names[: MOST_NAMES - len(self.columns)]
        ordered = sorted(names, key=lambda name: (str(name), type(name) is int))
        place = {name: len(self.columns) + n for n, name in enumerate(ordered)}
        self.columns |= {name: place[name] for name in names}

    def add_read(self, features: Any, label: int, weight: float) -> None:
        """`add` for a row of any form, whose names have columns."""
        self._append(self._put(*self._entries(features, is_known=False)), label, weight)

    def row(self, features: Any) -> tuple[int, int]:
        """Where a row to predict begins and ends, behind all others; names without a column are left out."""
        start = self.ends[-1]
        end = self.read(features, start, True)
        if end == NO_ROOM:
            self._make_room(start + len(features))
            end = self.read(features, start, True)
        if end < 0:
            end = self._put(*self._entries(features, is_known=True))
        return start, end

    def row_at(self, start: int, end: int) -> Part:
        """The row that lies there."""
        return self.values[start:end], self.numbers[start:end], np.array([0, end - start], np.uint32)

    def _put(self, values: NDArray[np.float64], numbers: NDArray[np.uint32]) -> int:
        """Entries behind all rows; return where they end."""
        start = self.ends[-1]
        end = start + values.size
        self._make_room(end)
        self.values[start:end], self.numbers[start:end] = values, numbers
        return end

    def part(self, first: int) -> tuple[Part, NDArray[np.int64], NDArray[np.float64] | None]:
        """The rows from one on, with their labels, and weights if they are not all 1."""
        start, end = self.ends[first], self.ends[-1]
        starts = np.array(self.ends[first:], np.int64) - start
        self._fill_weights()
        weights = self.weights[first:]
        rows = self.values[start:end], self.numbers[start:end], starts.astype(np.uint32)
        even = weights.count(1.0) == len(weights)
        return rows, np.array(self.labels[first:], np.int64), None if even else np.array(weights)

    def forget(self, *, keep: bool) -> None:
        """Forget rows that have been learned, all but the last; with `keep`, only if there are too many."""
        if keep and not self.are_many:
            return
        first, entries = self.done, self.ends[-1]
        while keep and first > self.done - KEPT and first > 0 and entries - self.ends[first - 1] <= _MOST_ENTRIES // 2:
            first -= 1
        start = self.ends[first]
        left = entries - start
        self.values[:left], self.numbers[:left] = self.values[start:entries], self.numbers[start:entries]
        self.ends = [end - start for end in self.ends[first:]]
        self._fill_weights()
        self.labels, self.weights, self.done = self.labels[first:], self.weights[first:], self.done - first

    def _make_room(self, needed: int) -> None:
        if needed > self.values.size:
            room = max(needed, 2 * self.values.size)
            for name in ("values", "numbers"):
                old = getattr(self, name)
                wide = np.empty(room, old.dtype)
                wide[: old.size] = old
                setattr(self, name, wide)
            self.read = self._reader()

    def _entries(self, features: Any, *, is_known: bool) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
        """Values and columns of a dict of any form, by increasing column; names that share a column add up."""
        found: dict[int, float] = {}
        for name, value in _numbered(features).items():
            column = self.columns.get(name)
            if column is None and len(self.columns) >= MOST_NAMES:
                column = name_hash(str(name)) % MOST_NAMES
            if column is not None:
                found[column] = found.get(column, 0.0) + value
            elif not is_known:
                raise InvalidDataError(f"the feature {shown(name)} has no column")
        order = [column for column in sorted(found) if found[column] != 0.0]
        values = np.array([found[column] for column in order], np.float64)
        return values, np.array(order, np.uint32)


def _numbered(features: Any) -> dict[Any, float]:
    """Features with numbers as values, by names that are texts or whole numbers."""
    if not hasattr(features, "items"):
        raise InvalidDataError(f"x is a {type(features).__name__}: give a dict of features, {{name: value}}")
    found: dict[Any, float] = {}
    square = 0.0
    for given, value in features.items():
        name = given if type(given) in (str, int) else str(given)
        if value is None:
            continue
        if isinstance(value, str):
            found[f"{name}={value}"] = 1.0
            continue
        try:
            number = float(value)
        except OverflowError:
            number = inf
        except (TypeError, ValueError):
            raise InvalidDataError(
                f"the feature {shown(given)} is {shown(value)}: give a number, a text, which is a category, or None"
            ) from None
        if not isfinite(number):
            raise InvalidDataError(
                f"the feature {shown(given)} is {shown(value)}: leave it out, give None, or fill it, for instance with "
                "river's preprocessing.StatImputer"
            )
        found[name] = found.get(name, 0.0) + number
        square += number * number
        if not square <= LONGEST:
            raise InvalidDataError(
                f"the feature {shown(given)} is {number:g}, too large to compute with: divide it by its typical size, "
                "for instance with river's preprocessing.StandardScaler"
            )
    return found
