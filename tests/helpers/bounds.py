"""Whether Numba checks the indices of arrays, as NUMBA_BOUNDSCHECK=1 asks for."""

import sys

import numpy as np


def require_bounds_checking() -> None:
    """End the program if it would not notice an index out of bounds."""
    from numba import njit

    @njit
    def beyond(array: np.ndarray, i: int) -> int:
        return array[i]

    try:
        beyond(np.zeros(1, np.uint8), 1)
    except IndexError:
        return
    sys.exit("NUMBA_BOUNDSCHECK is not in force")
