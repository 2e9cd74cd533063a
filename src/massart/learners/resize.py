"""More columns, or fewer, for what a learner remembers about each; the last entry is the constant's and stays last."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError

__all__ = ["check_narrower", "check_wider", "narrowed", "widened"]


def check_wider(n_features: int, width: int) -> None:
    """Refuse to widen to fewer columns than there are."""
    if n_features < width:
        raise InvalidParameterError(
            f"n_features={n_features}: the learner has {width} columns already; give at least as many"
        )


def widened(array: NDArray[Any], wide: NDArray[Any]) -> NDArray[Any]:
    """`wide`, which is all zeros, with the entries of `array`: columns keep their place, the constant the last.

    >>> widened(np.array([1.0, 2.0, 9.0]), np.zeros(6)).tolist()
    [1.0, 2.0, 0.0, 0.0, 0.0, 9.0]
    """
    wide[: len(array) - 1] = array[:-1]
    wide[-1] = array[-1]
    return wide


def check_narrower(n_features: int, *arrays: NDArray[Any]) -> None:
    """Refuse to drop columns of which something is known in one of the arrays (the constant's entry is the last).

    >>> check_narrower(1, np.array([1.0, 2.0, 9.0]))
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: n_features=1: column 1 (counted from 0) has been learned ...
    """
    if not 0 <= n_features < len(arrays[0]):
        raise InvalidParameterError(
            f"n_features={n_features}: the learner has {len(arrays[0]) - 1} columns; give at most as many, 0 or more"
        )
    for array in arrays:
        rest = array[n_features:-1]
        if rest.any():
            first = n_features + int(np.flatnonzero(rest.reshape(len(rest), -1).any(axis=1))[0])
            raise InvalidParameterError(
                f"n_features={n_features}: column {first} (counted from 0) has been learned and cannot be dropped; "
                "give a larger number"
            )


def narrowed(array: NDArray[Any], n_features: int) -> NDArray[Any]:
    """The first columns and the constant, in the same memory.

    >>> narrowed(np.array([1.0, 2.0, 0.0, 0.0, 9.0]), 2).tolist()
    [1.0, 2.0, 9.0]
    """
    array[n_features] = array[-1]
    return array[: n_features + 1]
