"""Offers: dicts of features to rows of hashed columns, and these rows to the columns that a bandit has given out.

Both functions are written in C (build_kernels/read_offers.h), since dicts are no arrays that a kernel could take; where
nothing was compiled when the package was built, what is written here does the same, slower. What is unusual they leave
to the caller, whose definition in Python holds for everything: `massart.data.hashing`, `massart.learners.features`.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import BUILT

__all__ = ["UNUSUAL", "hashed_rows", "hashed_rows_in_python", "placed_rows", "placed_rows_in_python"]

UNUSUAL: Final = -1

Row = dict[int, float]  # column -> value


def hashed_rows_in_python(
    objects: list[Any], columns: dict[str, int], texts: dict[tuple[str, str], int], largest: float
) -> list[Row | None]:
    """The rows of objects by the columns of known names and texts; None for one that is unusual.

    Unusual is what is no dict, has names or texts that are not known, values of other types, whole numbers of more than
    64 bits, numbers above `largest` in size, or two features in one column.

    >>> hashed_rows_in_python([{"a": 2, "b": "x", "c": None}, {"new": 1.0}], {"a": 7}, {("b", "x"): 9}, 1e50)
    [{7: 2.0, 9: 1.0}, None]
    """
    return [_hashed(one, columns, texts, largest) for one in objects]


def _hashed(
    features: Any, columns: dict[str, int], texts: dict[tuple[str, str], int], largest: float
) -> Row | None:  # fmt: skip
    if type(features) is not dict:
        return None
    row: Row = {}
    for name, value in features.items():
        kind = type(value)
        if type(name) is not str or kind not in (float, int, bool, str, type(None)):
            return None
        if kind is str and value:
            column, number = texts.get((name, value)), 1.0
        elif kind is str or value is None or value is False:
            continue
        else:
            if (kind is int and not -(1 << 63) <= value < 1 << 63) or not -largest <= float(value) <= largest:
                return None
            if not value:
                continue
            column, number = columns.get(name), float(value)
        if column is None or column in row:
            return None
        row[column] = number
    return row


def placed_rows_in_python(
    rows: tuple[Row, ...],
    columns: dict[int, int],
    values: NDArray[np.float64],
    numbers: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> int:
    """Entries of rows to CSR arrays, by the columns of their keys; returns how many there are.

    `UNUSUAL` if a key has no column, the columns of a row do not rise, or the arrays have no room.

    >>> arrays = np.empty(2), np.empty(2, np.int64), np.empty(3, np.int64)
    >>> placed_rows_in_python(({70: 0.5}, {80: 2.0}), {70: 0, 80: 1}, *arrays), [one.tolist() for one in arrays]
    (2, [[0.5, 2.0], [0, 1], [0, 1, 2]])
    """
    n, room = 0, min(values.size, numbers.size)
    if starts.size != len(rows) + 1:
        return UNUSUAL
    starts[0] = 0
    for k, row in enumerate(rows):
        own: list[Any] = [columns.get(key) for key in row]
        if None in own or len(own) > room - n or sorted(set(own)) != own:
            return UNUSUAL
        numbers[n : n + len(own)], values[n : n + len(own)] = own, list(row.values())
        n += len(own)
        starts[k + 1] = n
    return n


hashed_rows: Callable[..., list[Row | None]] = (
    hashed_rows_in_python if BUILT is None else getattr(BUILT, "hashed_rows", hashed_rows_in_python)
)
placed_rows: Callable[..., int] = (
    placed_rows_in_python if BUILT is None else getattr(BUILT, "placed_rows", placed_rows_in_python)
)
