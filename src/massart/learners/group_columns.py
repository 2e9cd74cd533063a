"""Which groups rows belong to: an array, or the columns of a table, whose equal values make a group."""

from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, shown

__all__ = [
    "LONGEST_NAME",
    "MOST_GROUPS",
    "GroupColumns",
    "check_group_names",
    "group_columns",
    "group_text",
    "read_groups",
]

MOST_GROUPS = 1000  # of one learner: each has a pool of its own
LONGEST_NAME = 200  # characters
_LARGEST_WHOLE = 1e15  # of floats that are written as whole numbers


class _Column(NamedTuple):
    codes: NDArray[np.int64]  # (n,) the place of each row's name in `names`; -1: none
    names: tuple[str, ...]


class GroupColumns(NamedTuple):
    """The groups of some rows: in each column, a row is in one group or in none."""

    n_rows: int
    columns: tuple[_Column, ...]

    def taken(self, order: NDArray[np.uint64] | None) -> "GroupColumns":
        """Of the rows of an order; None: of all."""
        if order is None:
            return self
        rows = order.astype(np.int64)
        return GroupColumns(int(rows.size), tuple(_Column(codes[rows], names) for codes, names in self.columns))

    def in_order(self) -> list[str]:
        """The names that occur, in the order in which they come, row by row."""
        first: dict[str, int] = {}
        for number, (codes, names) in enumerate(self.columns):
            present, rows = np.unique(codes, return_index=True)
            for code, row in zip(present.tolist(), rows.tolist(), strict=True):
                if code >= 0:
                    first[names[code]] = row * len(self.columns) + number
        return sorted(first, key=first.__getitem__)

    def numbered(self, known: dict[str, int]) -> NDArray[np.int64]:
        """(n, columns) numbers of the groups; -1 where a row is in none, or in one that is not known."""
        found = np.full((self.n_rows, len(self.columns)), -1, np.int64)
        for place, (codes, names) in enumerate(self.columns):
            table = np.array([*(known.get(name, -1) for name in names), -1], np.int64)
            found[:, place] = table[codes]  # the last entry is that of -1
        return found


def group_columns(groups: Any, count: int) -> GroupColumns:
    """`groups` as users pass it, for so many rows.

    An array of shape (n,): the value is the name of the row's group. One of shape (n, k), or a table with named
    columns: a row is in k groups, called COLUMN=VALUE; columns without a name are counted from 0. A missing value,
    None, NaN or "", means no group.

    >>> group_columns(["a", None, "b"], 3).in_order()
    ['a', 'b']
    >>> group_columns(np.array([[1, 0], [1, 2]]), 2).in_order()
    ['0=1', '1=0', '1=2']
    """
    return _grouped(*_columns_of(groups), count)


def read_groups(labels: Sequence[str], values: NDArray[Any]) -> GroupColumns:
    """The groups of rows from a file, (n, columns) of `values` in columns with these names.

    >>> read_groups(["town"], np.array([["Ulm"], [None]], dtype=object)).in_order()
    ['town=Ulm']
    """
    return _grouped(list(labels), list(values.T), len(values))


def _grouped(labels: Sequence[str | None], columns: Sequence[NDArray[Any]], count: int) -> GroupColumns:
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InvalidDataError(f"groups has two columns called {twice!r}: give each a name of its own")
    made = []
    for label, values in zip(labels, columns, strict=True):
        if values.shape != (count,):
            raise InvalidDataError(f"X has {count} rows, but groups has {values.shape[0]}: give the groups of each row")
        codes, texts = _coded(values)
        made.append(_Column(codes, tuple(text if label is None else f"{label}={text}" for text in texts)))
    for _, names in made:
        check_group_names(names)
    return GroupColumns(count, tuple(made))


def check_group_names(names: Sequence[str]) -> None:
    """Refuse names that a file could not hold, or that are no names."""
    for name in names:
        if len(name) > LONGEST_NAME:
            raise InvalidDataError(
                f"groups has a name of {len(name)} characters, {name[:20]!r}...: give at most {LONGEST_NAME}"
            )
        if not name or "\0" in name:
            raise InvalidDataError(f"groups has the name {name!r}: give text without zero bytes")


def _columns_of(groups: Any) -> tuple[list[str | None], list[NDArray[Any]]]:
    """Labels and values of the columns; the label of a single one without a table is None."""
    names = getattr(groups, "columns", None)
    if names is not None and not isinstance(groups, np.ndarray):
        return [str(name) for name in names], [_values(groups[name]) for name in names]
    values = _values(groups)
    if values.ndim == 2:
        return [str(number) for number in range(values.shape[1])], list(values.T)
    if values.ndim != 1:
        raise InvalidDataError(f"groups has {values.ndim} dimensions: give one value per row, or one row of values")
    return [None], [values]


def _values(given: Any) -> NDArray[Any]:
    values = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    return values if values.dtype.kind in "biufUO" else values.astype(object)


def _coded(values: NDArray[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """The place of each value's text in a list of texts; -1 if it is missing."""
    distinct: Sequence[Any]
    if values.dtype.kind == "O":
        places: dict[Hashable, int] = {}
        keys = [_key(value) for value in values.tolist()]
        codes = np.array([places.setdefault(key, len(places)) for key in keys], np.int64)
        distinct = [key[1] for key in places]  # type: ignore[index]
    else:
        found, places_of = np.unique(values, return_inverse=True)
        distinct, codes = found.tolist(), places_of.astype(np.int64)
    texts: dict[str, int] = {}
    table = [-1 if text is None else texts.setdefault(text, len(texts)) for text in map(group_text, distinct)]
    return np.array([*table, -1], np.int64)[codes], list(texts)


def _key(value: Any) -> Hashable:
    """Equal for values of one kind that are equal: 1 and True are not."""
    try:
        hash(value)
    except TypeError:
        raise InvalidDataError(
            f"groups holds {shown(value)}, which is no name: give text or numbers, one for each row"
        ) from None
    return type(value), value


def group_text(value: Any) -> str | None:
    """How a value names a group; None if it is missing.

    >>> [group_text(value) for value in ("a", 2, 2.0, 0.5, True, None, float("nan"), "")]
    ['a', '2', '2', '0.5', 'True', None, None, None]
    """
    if value is None or isinstance(value, str):
        return str(value) if value else None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, Real) and not isinstance(value, Integral):
        value = float(value)
        value = int(value) if value.is_integer() and abs(value) < _LARGEST_WHOLE else value
    try:
        missing = bool(value != value)  # noqa: PLR0124  NaT, as NaN
    except TypeError:  # pandas.NA says neither yes nor no
        missing = True
    return None if missing else str(value)
