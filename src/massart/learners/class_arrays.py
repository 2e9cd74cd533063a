"""The arrays of a pool of several classes: their shapes for so many classes, and room for more.

Classes are in fours where a vector takes four of them, with places behind the last one that count for nothing.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import class_pool as kernel
from massart.kernels.learning.softmax import RAW_SUMS
from massart.learners.sparse_rows import aligned

__all__ = ["BY_CLASS", "TABLES", "count_experts", "expert_names", "new_tables", "places_for",
           "weight_width", "with_room"]  # fmt: skip

BY_CLASS: Final = (
    "centred",
    "crossed",
    "newton",
    "surfaces",
    "means",
    "classes",
    "weights",
)  # arrays with places for classes
TABLES: Final = (
    "centred",
    "centred_sums",
    "newton",
    "matrices",
    "crossed",
    "crossed_sums",
    "surfaces",
    "large",
    "means",
)
_FOURS: Final = ("centred", "crossed")  # four numbers for each class
_RAW_NAMES = tuple(f"softmax, pace {pace:g}" for pace in kernel.RAW_PACES)
_CENTRED_NAMES = tuple(f"softmax, centred, pace {pace:g}" for pace in kernel.CENTRED_PACES)
_FEW_NAMES = (
    *(f"softmax, products, pace {pace:g}" for pace in kernel.CROSSED_PACES),
    *(f"softmax, second order, ridge {ridge:g}" for ridge in kernel.NEWTON_RIDGES),
)
_VERY_FEW_NAMES = tuple(f"softmax, products, second order, ridge {ridge:g}" for ridge in kernel.SURFACE_RIDGES)
_SIMPLE_NAMES = ("frequencies", "recent labels", "one halfspace per class")


def places_for(room: int) -> int:
    """The places that so many classes have, in fours.

    >>> places_for(1), places_for(4), places_for(5)
    (4, 4, 8)
    """
    return -(-room // 4) * 4


def _products(d: int) -> int:
    """How many features d columns have together with the constant and their products by pairs."""
    return 1 + d + d * (d + 1) // 2


def new_tables(d: int, room: int, kind: float) -> dict[str, NDArray[np.float64]]:
    """The arrays of the experts on centred columns, all zeros; without any place if there are none."""
    dense, places = kind == kernel.CENTRED, places_for(room)
    few, very_few = dense and d <= kernel.FEW, dense and d <= kernel.VERY_FEW
    size, large = (d + 1 if dense else 0), (_products(d) if few else 0)
    newton, surfaces = len(kernel.NEWTON_RIDGES) if few else 0, len(kernel.SURFACE_RIDGES) if very_few else 0
    return {
        "spreads": np.zeros((2, d if dense else 0)),
        "centred": aligned(size, kernel.PACES * room),
        "centred_sums": aligned(size, kernel.PACES),
        "newton": np.zeros((newton, size, places)),
        "matrices": np.zeros((newton, size, size)),
        "crossed": aligned(large, kernel.PACES * room),
        "crossed_sums": aligned(large, kernel.PACES),
        "surfaces": np.zeros((surfaces, large, places)),
        "large": np.zeros((surfaces, large, large)),
        "means": np.zeros((d if dense else 0, places)),
    }


def weight_width(room: int, kind: float) -> int:
    """The numbers that a column has: of the halfspaces, and before them, if any, of the softmax learners on columns."""
    return places_for(room) + (0 if kind == kernel.CENTRED else RAW_SUMS + kernel.PACES * room)


def with_room(name: str, array: NDArray[np.float64], before: int, room: int, kind: float) -> NDArray[np.float64]:
    """An array of BY_CLASS that has room for `before` classes, with room for more, or for fewer."""
    if room == before:
        return array
    raw, both = name == "weights" and kind != kernel.CENTRED, min(before, room)
    first = RAW_SUMS if raw else 0
    fours = kernel.PACES if raw or name in _FOURS else 0
    alone = name not in _FOURS  # behind the fours, if any, are places of one number for each class
    width = first + fours * room + (places_for(room) if alone else 0)
    more = aligned(len(array), width) if array.ndim == 2 else np.zeros((*array.shape[:-1], width))
    more[..., : first + fours * both] = array[..., : first + fours * both]
    if alone:
        start, then = first + fours * before, first + fours * room
        more[..., then : then + both] = array[..., start : start + both]
    return more


def expert_names(d: int, kind: float) -> tuple[str, ...]:
    """Of a pool of so many columns, in their order."""
    if kind != kernel.CENTRED:
        return (*_RAW_NAMES, *_SIMPLE_NAMES)
    few = _FEW_NAMES if d <= kernel.FEW else ()
    very_few = _VERY_FEW_NAMES if d <= kernel.VERY_FEW else ()
    return (*_CENTRED_NAMES, *few, *very_few, "means of classes", *_SIMPLE_NAMES)


def count_experts(d: int, kind: float) -> int:
    """How many there are."""
    return len(expert_names(d, kind))
