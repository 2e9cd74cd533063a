"""The columns of a bandit that knows features by name: one for each hashed feature, given out as they first occur.

Features come as hashed columns of `massart.data.offers`, 2^24 of them. Those that occur get the columns
0, 1, 2, ... of the bandit's weights, so there are as many weights as features. After `MOST_COLUMNS` no new column is
given out: a feature that is new then shares the column that its hash points to.
"""

import json
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.offers import WIDTH, Offer, has_names, offer_of, offer_of_matrix
from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.parsing.offers import placed_rows
from massart.kernels.ranking_door import CheckedArms, check_arms, ordered_arms
from massart.kernels.ranking_state import RankingState

__all__ = ["MOST_COLUMNS", "FeatureTable"]

MOST_COLUMNS: Final = 1 << 16
_LONGEST: Final = 100  # characters of a name that are kept
_MOST_TEXT: Final = 1 << 22  # characters of all names
_MOST_BYTES: Final = 1 << 26  # of all names in a file


class FeatureTable:
    """Which column each feature has, and what it is called.

    >>> table = FeatureTable()
    >>> arms = table.arms(table.offer({"news": None, "sport": None}, {"age": 0.5}), None)
    >>> arms.width, [table.name(column) for column in range(4)]
    (4, ['arm=news', 'arm=news * age', 'arm=sport', 'arm=sport * age'])
    """

    def __init__(self) -> None:
        self._columns: dict[int, int] = {}  # hashed column -> column
        self._names: dict[int, str] = {}  # of columns
        self._text = 0  # characters of all names

    def __len__(self) -> int:
        return len(self._columns)

    def given(
        self, arms: Any, context: Any, allowed: Any, state: RankingState, *, keep: bool = True
    ) -> tuple[CheckedArms, Offer | None]:
        """The arms as a state takes them; and as they were given, if they have names.

        Rows without a context are for the state as they are, unless features have had names before.
        """
        if not self._columns:
            if context is None and (type(arms) is np.ndarray or not has_names(arms)):
                return state.arms(arms, allowed), None
            if state.width is not None:
                raise InvalidDataError(
                    f"this bandit has learned from rows of {state.width} features, which have no names: give it rows "
                    "without a context, or begin a new bandit for features with names"
                )
        offer = self.offer(arms, context)
        return self.arms(offer, allowed, keep=keep), offer

    @staticmethod
    def offer(arms: Any, context: Any) -> Offer:
        """The offer of arms in any form; CSR rows of 2^24 columns are features that were hashed already."""
        if isinstance(arms, Offer):
            return arms
        if context is None and not has_names(arms) and getattr(arms, "shape", (0,))[-1] == WIDTH:
            return offer_of_matrix(*check_arms(arms).rows)
        return offer_of(arms, context)

    def arms(self, offer: Offer, allowed: Any, *, keep: bool = True) -> CheckedArms:
        """The arms of an offer, CSR; features that are new get columns, which are forgotten again unless `keep`."""
        known, first = self._columns, len(self._columns)
        entries = sum(map(len, offer.rows))
        placed = np.empty(entries), np.empty(entries, np.int64), np.empty(len(offer.rows) + 1, np.int64)
        if first and placed_rows(offer.rows, known, *placed) == entries:  # nothing is new, and all in order
            return ordered_arms(*placed, (len(offer.rows), first), allowed)
        columns: list[Any] = list(map(known.get, chain.from_iterable(offer.rows)))
        width = first
        if None in columns:
            keys = list(chain.from_iterable(offer.rows))
            new = dict.fromkeys(key for key, column in zip(keys, columns, strict=True) if column is None)
            given = {key: first + place for place, key in zip(range(MOST_COLUMNS - first), new, strict=False)}
            columns = [
                column if column is not None else given.get(key, key % MOST_COLUMNS)
                for key, column in zip(keys, columns, strict=True)
            ]
            width = first + len(given)
            if keep and given:
                known.update(given)
                self._note_names(offer, first)
        values = np.array([value for row in offer.rows for value in row.values()], dtype=np.float64)
        sizes = np.array(list(map(len, offer.rows)), dtype=np.int64)
        parts = _ordered(values, np.array(columns, dtype=np.int64), sizes)
        if width == 0:
            raise InvalidDataError("arms have no features: give each at least one that is not 0, or an id")
        return ordered_arms(*parts, (sizes.size, width), allowed)

    def _note_names(self, offer: Offer, first: int) -> None:
        """Names of the columns from `first` on, as long as there is room."""
        for key, name in offer.names().items():
            column = self._columns.get(key, -1)
            if column >= first and column not in self._names and self._text + _LONGEST <= _MOST_TEXT:
                self._names[column] = name[:_LONGEST]
                self._text += min(len(name), _LONGEST)

    def name(self, column: int) -> str:
        """What a column is called; if its feature came without a name, its hashed number.

        >>> table = FeatureTable()
        >>> _ = table.arms(offer_of_matrix(np.ones(1), np.array([77]), np.array([0, 1])), None)
        >>> table.name(0)
        'column 77'
        """
        if column in self._names:
            return self._names[column]
        return f"column {self.keys()[column]}"

    def keys(self) -> list[int]:
        """The hashed number of each column."""
        return list(self._columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For a file; `from_arrays` gives the table back. Nothing if nothing has a name."""
        if not self._columns:
            return {}
        names = json.dumps([self._names.get(column, "") for column in range(len(self))]).encode()
        return {
            "feature_keys": np.array(self.keys(), dtype=np.uint32),
            "feature_names": np.frombuffer(names, dtype=np.uint8).copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], width: int) -> "FeatureTable":
        """The table that `arrays` wrote; `width` is the number of the weights' rows.

        Whatever is in a file, a ModelFileError is the worst.
        """
        if "feature_keys" not in arrays and "feature_names" not in arrays:
            return cls()
        for name, dtype in (("feature_keys", np.uint32), ("feature_names", np.uint8)):
            array = arrays.get(name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise ModelFileError(f"array {name!r} is missing, or not a list of {dtype.__name__}: save it again")
        keys, text = arrays["feature_keys"], arrays["feature_names"]
        if not 0 < width <= keys.size <= MOST_COLUMNS or (keys.size and keys.max() >= WIDTH):
            raise ModelFileError(f"array 'feature_keys' does not name the {width} columns of the weights")
        table = cls()
        table._columns = {key: column for column, key in enumerate(keys.tolist())}
        if len(table._columns) != keys.size or text.size > _MOST_BYTES:
            raise ModelFileError("array 'feature_keys' has a feature twice, or 'feature_names' is too long")
        try:
            names = json.loads(text.tobytes())
        except (ValueError, RecursionError):
            names = None
        good = isinstance(names, list) and len(names) == keys.size
        if not good or not all(isinstance(name, str) and len(name) <= _LONGEST for name in names):
            raise ModelFileError("array 'feature_names' is not a JSON list with one name for each column")
        table._names = {column: name for column, name in enumerate(names) if name}
        table._text = sum(map(len, names))
        if table._text > _MOST_TEXT:
            raise ModelFileError("array 'feature_names' holds more text than a bandit keeps")
        return table


def _ordered(
    values: NDArray[np.float64], columns: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """CSR with the columns of each row in order, each once: features that share a column are added up.

    >>> [part.tolist() for part in _ordered(np.array([1.0, 2.0, 3.0]), np.array([4, 0, 4]), np.array([3]))]
    [[2.0, 4.0], [0, 4], [0, 2]]
    """
    starts = np.zeros(sizes.size + 1, np.int64)
    sizes.cumsum(out=starts[1:])
    rising = np.ones(columns.size + 1, dtype=bool)
    np.greater(columns[1:], columns[:-1], out=rising[1:-1])
    rising[starts] = True
    if rising.all():  # as it is where features come in the order in which they first occurred
        return values, columns, starts
    rows = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((columns, rows))
    values, columns = values[order], columns[order]
    same = np.flatnonzero((columns[1:] == columns[:-1]) & (rows[1:] == rows[:-1]))  # lexsort leaves rows as they are
    if same.size:
        first = np.delete(np.arange(columns.size), same + 1)
        values, columns, rows = np.add.reduceat(values, first), columns[first], rows[first]
        sizes = np.bincount(rows, minlength=sizes.size)
    return values, columns, np.concatenate([[0], np.cumsum(sizes)])
