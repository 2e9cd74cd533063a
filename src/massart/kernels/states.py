"""The door for what learners of halfspaces remember: what must hold of each array before a kernel may work on it.

A file may hold anything. An array of another shape would lead a kernel out of its memory; a number outside its range
would make what it computes meaningless. So every learner made from arrays passes here, and what is written to a file
is checked in the same way: what is saved can be opened.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.kernels.learning import halfspace, mixture, pool
from massart.options import LARGEST, SMALLEST

__all__ = ["check_arrays", "check_council", "check_halfspace", "check_pool"]

_CHECKED = 1 << 16  # rows of an array that are looked at together
_TINY = float(np.nextafter(0.0, 1.0))
_MOST = float(np.finfo(np.float64).max)


class _Range(NamedTuple):
    """The numbers that an entry may be."""

    low: float
    high: float
    whole: bool = False

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low:g}" + (f" to {self.high:g}" if self.high < _MOST else " on")


_COUNT = _Range(0.0, 2.0**53, whole=True)
_FLAG = _Range(0.0, 1.0, whole=True)
_SIZE = _Range(0.0, _MOST)  # a sum of squares, weights or losses
_FACTOR = _Range(_TINY, _MOST)  # never 0: something is divided by it
_CHANCE = _Range(0.0, 1.0)
_NOISE_RATE, _MARGIN = _Range(0.0, float(np.nextafter(0.5, 0.0))), _Range(SMALLEST, 1.0)
_CONSTANT = _Range(0.0, LARGEST)
_CLASS_WEIGHT = _Range(SMALLEST, LARGEST)
_MARK = _Range(0.0, 2.0, whole=True)

_RULE = {
    halfspace.KIND: _Range(0.0, 3.0, whole=True),
    halfspace.ETA: _NOISE_RATE,
    halfspace.GAMMA: _MARGIN,
    halfspace.PACE: _SIZE,
    halfspace.UNIT: _FLAG,
    halfspace.BIAS: _CONSTANT,
    halfspace.NEGATIVE: _CLASS_WEIGHT,
    halfspace.POSITIVE: _CLASS_WEIGHT,
}
_STATE = {
    halfspace.SCALE: _FACTOR,
    halfspace.ROUNDS: _COUNT,
    halfspace.MISTAKES: _COUNT,
    halfspace.UNPROVED: _MARK,
    **dict.fromkeys(
        (
            *(halfspace.NORM2, halfspace.SQUARES, halfspace.CAP, halfspace.STEPPED, halfspace.STEP, halfspace.SLACK),
            *(halfspace.FLOOR, halfspace.WEIGHT, halfspace.WEIGHT2, halfspace.HEAVIEST, halfspace.LONGEST2),
            *(halfspace.WRONG, halfspace.SPREAD, halfspace.INVERSE, halfspace.FIRST, halfspace.POSITIVES),
        ),
        _SIZE,
    ),
}
_HOW = {
    pool.UNIT: _FLAG,
    pool.BIAS: _CONSTANT,
    pool.VOTING: _FLAG,
    pool.NEGATIVE: _CLASS_WEIGHT,
    pool.POSITIVE: _CLASS_WEIGHT,
}
_COLUMNS = {
    pool.ETA: _NOISE_RATE,
    pool.GAMMA: _MARGIN,
    pool.SCALE: _FACTOR,
    pool.CONSTANT: _FLAG,
    **dict.fromkeys((pool.CAP, pool.SQUARES, pool.NORM2, pool.SPREAD, pool.INVERSE), _SIZE),
}
_MEMBERS = dict.fromkeys((mixture.LOSS, mixture.SHARE, mixture.VOICE, mixture.POWER), _SIZE)
_COUNCIL = {
    mixture.ROUNDS: _COUNT,
    mixture.MISTAKES: _COUNT,
    mixture.PRIOR: _Range(_TINY, 0.5),
    mixture.FAVOUR: _FACTOR,
    mixture.CHANCE: _CHANCE,
    mixture.KEEP: _CHANCE,
    mixture.TREND: _Range(-1.0, 1.0),
    mixture.UNPROVED: _MARK,
    **dict.fromkeys(
        (
            *(mixture.WEIGHT, mixture.WEIGHT2, mixture.HEAVIEST, mixture.LONGEST2, mixture.WRONG, mixture.EXPECTED),
            *(mixture.DRAWN, mixture.VOTED, mixture.GAP, mixture.RATE, mixture.TOTAL, mixture.TOTAL_THEN),
            *(mixture.DRAWN_THEN, mixture.BEST_THEN, mixture.DOUBT, mixture.NEXT, mixture.HEARD, mixture.SPLIT),
            *(mixture.TIGHT, mixture.COINS, mixture.FIRST, mixture.POSITIVES),
        ),
        _SIZE,
    ),
}
_TOTALS = _COUNCIL | {mixture.TOTAL: _FACTOR, mixture.TOTAL_THEN: _FACTOR}


def check_halfspace(arrays: Mapping[str, NDArray[Any]]) -> None:
    """The arrays of one halfspace: kernels/learning/halfspace.py says what their entries are."""
    width = arrays["weights"].size
    check_arrays(arrays, {"rule": (halfspace.RULE_SIZE,), "weights": (width,), "state": (halfspace.STATE_SIZE,)})
    _check_ranges("rule", arrays["rule"], _RULE)
    _check_ranges("state", arrays["state"], _STATE)
    state = arrays["state"]
    _check_counts("state", state[halfspace.ROUNDS], state[halfspace.MISTAKES])


def check_pool(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """The arrays of a pool, whose names are returned: pool.py and mixture.py say what they are."""
    width, experts = arrays["variances"].size, arrays["members"].shape[-1] if arrays["members"].ndim else 0
    few = "full" in arrays or "centred" in arrays  # whatever the width is: it may have changed
    least = pool.DIAGONAL + pool.LATE + (1 + pool.CENTRED if few else 0)
    shapes: dict[str, tuple[int, ...]] = {
        "how": (pool.HOW_SIZE,),
        "weights": (width, pool.COLUMNS),
        "variances": (width,),
        "columns": (pool.COLUMN_SIZE, pool.COLUMNS),
        "members": (mixture.MEMBER_SIZE, experts),
        "totals": (mixture.TOTAL_SIZE,),
    }
    if few:
        first = min(arrays["full"].shape[-1] if arrays["full"].ndim else 0, pool.FEW + 1)
        shapes |= {"full": (first + 1, first), "centred": (pool.CENTRED_SIZE, first)}
    check_arrays(arrays, shapes)
    if not least < experts <= least + pool.PLAIN:
        raise ModelFileError(f"array 'members' has {experts} columns, one per expert")
    if arrays["seed"].shape != (1,) or arrays["seed"].dtype != np.uint64:
        raise ModelFileError("array 'seed' is not one number of 64 bits")
    for name, ranges in (("how", _HOW), ("columns", _COLUMNS), ("members", _MEMBERS), ("totals", _TOTALS)):
        _check_ranges(name, arrays[name], ranges)
    _check_ranges("variances", arrays["variances"][None], {0: _SIZE})
    if few:
        _check_ranges("centred", arrays["centred"], {pool.DEVIATION: _SIZE})
    totals = arrays["totals"]
    _check_counts("totals", totals[mixture.ROUNDS], totals[mixture.MISTAKES])
    return (*shapes, "seed")


def check_council(totals: NDArray[Any]) -> None:
    """The council of two pools: kernels/learning/mixture.py says what its entries are."""
    check_arrays({"totals": totals}, {"totals": (mixture.TOTAL_SIZE,)})
    _check_ranges("totals", totals, _COUNCIL)
    _check_counts("totals", totals[mixture.ROUNDS], totals[mixture.MISTAKES])


def check_arrays(arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays that a kernel could not work on safely: wrong shape, wrong type, empty, not finite."""
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous or not array.flags.aligned:
            raise ModelFileError(
                f"array {name!r} is {array.dtype} of shape {array.shape}, not float64 of shape {shape}"
            )
        blocks = (array[start : start + _CHECKED] for start in range(0, array.shape[0], _CHECKED))
        if array.size == 0 or not all(np.isfinite(block).all() for block in blocks):
            raise ModelFileError(f"array {name!r} is empty or holds numbers that are not finite")


def _check_ranges(name: str, array: NDArray[Any], ranges: Mapping[int, _Range]) -> None:
    for place, allowed in ranges.items():
        entry = array[place]
        bad = (entry < allowed.low) | (entry > allowed.high)
        if allowed.whole:
            bad |= entry != np.rint(entry)
        if np.any(bad):
            found = np.atleast_1d(entry)[np.atleast_1d(bad)][0]
            raise ModelFileError(f"array {name!r} holds {found:g} at entry {place}, which should be {allowed}")


def _check_counts(name: str, rounds: float, mistakes: float) -> None:
    if mistakes > rounds:
        raise ModelFileError(f"array {name!r} tells of {mistakes:g} mistakes in {rounds:g} rounds")
