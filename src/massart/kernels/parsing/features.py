"""The features of a dict, {name: number}, as the entries of a sparse row.

The readers of `feature_reader` are written in C (build_kernels/read_features.h), since a dict is no array that a kernel
could take; where nothing was compiled when the package was built, what is written here does the same, slower.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.compiling import BUILT

__all__ = ["NO_ROOM", "UNUSUAL", "Reader", "feature_reader", "feature_reader_in_python"]

UNUSUAL: Final = -1
NO_ROOM: Final = -2

Reader = Callable[[Any, int, bool], int]  # features, where the row begins, whether other names are left out


def feature_reader_in_python(
    columns: dict[Any, int], values: NDArray[np.float64], numbers: NDArray[np.uint32], longest: float
) -> Reader:
    """A function `(features, at, is_known)` that reads dicts into these arrays.

    `columns` has the columns of names, each of 0, 1, ... once; names may join, and none leaves.

    >>> values, numbers = np.empty(3), np.empty(3, np.uint32)
    >>> read = feature_reader_in_python({"a": 0, "b": 1}, values, numbers, 1e300)
    >>> read({"b": 2, "a": 0.5}, 1, False), values[1:].tolist(), numbers[1:].tolist()
    (3, [0.5, 2.0], [0, 1])
    """

    def read(features: Any, at: int, is_known: bool) -> int:
        return _read_features(features, columns, values, numbers, at, longest, is_known)

    return read


def _read_features(
    features: Any, columns: dict[Any, int], values: NDArray[np.float64], numbers: NDArray[np.uint32], at: int,
    longest: float, is_known: bool,
) -> int:  # fmt: skip
    """Entries that are not 0 go to `values` and `numbers` from `at` on, by increasing column; returns where they end.

    Numbers whose names have no column are left out if `is_known`. `UNUSUAL` if there are others, values that are
    neither float nor int, a squared norm above `longest` or not finite, or two names with one column; `NO_ROOM` if
    arrays are too short.
    """
    if not isinstance(features, dict):
        return UNUSUAL
    if len(features) > min(values.size, numbers.size) - at:
        return NO_ROOM
    found: dict[int, float] = {}
    square = 0.0
    for name, value in features.items():
        column = columns.get(name)
        if (column is None and not is_known) or not isinstance(value, (int, float)):
            return UNUSUAL
        try:
            number = float(value)
        except OverflowError:
            return UNUSUAL
        if column is None:
            continue
        if number == 0.0:
            continue
        if column in found:
            return UNUSUAL
        found[column] = number
        square += number * number
    if not square <= longest:
        return UNUSUAL
    end = at + len(found)
    order = sorted(found)
    numbers[at:end], values[at:end] = order, [found[column] for column in order]
    return end


feature_reader: Callable[..., Reader] = (
    feature_reader_in_python if BUILT is None else getattr(BUILT, "feature_reader", feature_reader_in_python)
)
