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
from massart.kernels.learning import calibration, class_pool, pool
from massart.kernels.learning.calibration import Calibration, Logistic
from massart.kernels.learning.class_mixture import CALIBRATIONS
from massart.kernels.learning.class_pool import Class, Heat
from massart.kernels.learning.class_pool import Setting as ClassSetting
from massart.kernels.learning.halfspace import Rule, State
from massart.kernels.learning.mixture import Member, Total
from massart.kernels.learning.pool import Column, Setting
from massart.kernels.learning.recent_vote import Lead, Recent
from massart.kernels.learning.softmax import RAW_SUMS
from massart.kernels.learning.specialists import LEAST, RATES, Count
from massart.options import LARGEST, SMALLEST

__all__ = [
    "check_arrays",
    "check_calibration",
    "check_class_pool",
    "check_halfspace",
    "check_heat",
    "check_pair",
    "check_pool",
    "check_specialists",
    "check_two",
]

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
_SHARE = _Range(LEAST, 2.0)  # of a weight that adds up to 1 with others, but for rounding
_NOISE_RATE, _MARGIN = _Range(0.0, float(np.nextafter(0.5, 0.0))), _Range(SMALLEST, 1.0)
_CONSTANT = _Range(0.0, LARGEST)
_CLASS_WEIGHT = _Range(SMALLEST, LARGEST)
_MARK = _Range(0.0, 1.0, whole=True)

_RULE = {
    Rule.KIND: _Range(0.0, 3.0, whole=True),
    Rule.ETA: _NOISE_RATE,
    Rule.GAMMA: _MARGIN,
    Rule.PACE: _SIZE,
    Rule.UNIT: _FLAG,
    Rule.BIAS: _CONSTANT,
    Rule.NEGATIVE: _CLASS_WEIGHT,
    Rule.POSITIVE: _CLASS_WEIGHT,
}
_STATE = {place: _SIZE for place in State if place not in (State.SCALED, State.LINEAR)} | {
    State.SCALE: _FACTOR,
    State.ROUNDS: _COUNT,
    State.MISTAKES: _COUNT,
    State.UNPROVED: _MARK,
}
_POOL = {
    Setting.UNIT: _FLAG,
    Setting.BIAS: _CONSTANT,
    Setting.VOTING: _FLAG,
    Setting.NEGATIVE: _CLASS_WEIGHT,
    Setting.POSITIVE: _CLASS_WEIGHT,
}
_COLUMNS = {place: _SIZE for place in Column if place not in (Column.SCALED, Column.LINEAR)} | {
    Column.ETA: _NOISE_RATE,
    Column.GAMMA: _MARGIN,
    Column.SCALE: _FACTOR,
    Column.CONSTANT: _FLAG,
}
_MEMBERS = dict.fromkeys(Member, _SIZE)
_PAIR_TOTALS = dict.fromkeys(Total, _SIZE) | {
    Total.ROUNDS: _COUNT,
    Total.MISTAKES: _COUNT,
    Total.PRIOR: _Range(_TINY, 0.5),
    Total.FAVOUR: _FACTOR,
    Total.CHANCE: _CHANCE,
    Total.KEEP: _CHANCE,
    Total.TREND: _Range(-1.0, 1.0),
    Total.UNPROVED: _MARK,
}
_LEAD = {place: _SIZE for place in Lead if place is not Lead.AHEAD} | {Lead.FOLLOWED: _FLAG, Lead.TOTAL: _FACTOR}
_CLASS_HOW = {
    ClassSetting.UNIT: _FLAG,
    ClassSetting.BIAS: _CONSTANT,
    ClassSetting.VOTING: _FLAG,
    ClassSetting.GAMMA: _MARGIN,
    ClassSetting.KIND: _Range(class_pool.UNDECIDED, class_pool.CENTRED, whole=True),
    ClassSetting.SEEN: _COUNT,
}
_CLASSES = dict.fromkeys(Class, _SIZE) | {
    Class.WEIGHT: _CLASS_WEIGHT,
    Class.SCALE: _FACTOR,
    Class.ROUNDS: _COUNT,
    Class.LINEAR: _Range(-_MOST, _MOST),
    Class.ETA: _NOISE_RATE,
    Class.NUMBER: _COUNT,
}
_TOTALS = _PAIR_TOTALS | {Total.TOTAL: _FACTOR, Total.TOTAL_THEN: _FACTOR}


def check_halfspace(arrays: Mapping[str, NDArray[Any]]) -> None:
    """The arrays of one halfspace: kernels/learning/halfspace.py says what their entries are."""
    width = arrays["weights"].size
    check_arrays(arrays, {"rule": (len(Rule),), "weights": (width,), "state": (len(State),)})
    _check_ranges("rule", arrays["rule"], _RULE)
    _check_ranges("state", arrays["state"], _STATE)
    state = arrays["state"]
    _check_counts("state", state[State.ROUNDS], state[State.MISTAKES])


def check_pool(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """The arrays of a pool, whose names are returned: pool.py and mixture.py say what they are."""
    width, experts = arrays["variances"].size, arrays["members"].shape[-1] if arrays["members"].ndim else 0
    few = "full" in arrays or "centred" in arrays  # whatever the width is: it may have changed
    least = pool.DIAGONAL + pool.RECENT + (1 + pool.CENTRED if few else 0)
    shapes: dict[str, tuple[int, ...]] = {
        "how": (len(Setting),),
        "weights": (width, pool.COLUMNS),
        "variances": (width,),
        "columns": (len(Column), pool.COLUMNS),
        "members": (len(Member), experts),
        "totals": (len(Total),),
    }
    if few:
        first = min(arrays["full"].shape[-1] if arrays["full"].ndim else 0, pool.FEW + 1)
        shapes |= {"full": (first + 1, first), "centred": (pool.CENTRED_SIZE, first)}
    check_arrays(arrays, shapes)
    if not least < experts <= least + pool.PLAIN:
        raise ModelFileError(f"array 'members' has {experts} columns, one per expert")
    late = _recent_shapes(arrays, experts, few)
    check_arrays(arrays, late)
    if arrays["seed"].shape != (1,) or arrays["seed"].dtype != np.uint64:
        raise ModelFileError("array 'seed' is not one number of 64 bits")
    for name, ranges in (("how", _POOL), ("columns", _COLUMNS), ("members", _MEMBERS), ("totals", _TOTALS)):
        _check_ranges(name, arrays[name], ranges)
    _check_ranges("variances", arrays["variances"][None], {0: _SIZE})
    if few:
        _check_ranges("centred", arrays["centred"], {pool.DEVIATION: _SIZE})
    if late:
        _check_ranges("recent", arrays["recent"], dict.fromkeys(Recent, _SIZE))
        _check_ranges("lead", arrays["lead"], _LEAD)
    totals = arrays["totals"]
    _check_counts("totals", totals[Total.ROUNDS], totals[Total.MISTAKES])
    return (*shapes, *late, "seed")


def _recent_shapes(arrays: Mapping[str, NDArray[Any]], experts: int, few: bool) -> dict[str, tuple[int, ...]]:
    """The shapes of what a pool has for its vote by recent mistakes; older files have none of it."""
    names = ("recent", "lead", "forgetting") if few else ("recent", "lead")
    if not any(name in arrays for name in names):
        return {}
    if missing := [name for name in names if name not in arrays]:
        raise ModelFileError(f"array {missing[0]!r} is missing")
    shapes: dict[str, tuple[int, ...]] = {
        "recent": (len(Recent), experts + (pool.FORGETTING if few else 0)),
        "lead": (len(Lead),),
    }
    return shapes | {"forgetting": (pool.FORGETTING, pool.padded(arrays["full"].shape[1] - 1))} if few else shapes


def check_class_pool(
    arrays: Mapping[str, NDArray[Any]], width: int, room: int, tables: Mapping[str, Any], row: int,
    experts: int,
) -> None:  # fmt: skip
    """The arrays of a pool of several classes: class_pool.py and class_mixture.py say what they are.

    `width` is the number of columns, `room` that of classes, `experts` that of experts; `tables` has
    arrays of the shapes that the experts on centred columns have, and a row of `weights` has `row` numbers.
    """
    known = arrays["class_weight"].size
    check_arrays(arrays, {"how": (len(ClassSetting),), "class_weight": (known,), "noise_rate": (1,)})
    _check_ranges("how", arrays["how"], _CLASS_HOW)
    seen = int(arrays["how"][ClassSetting.SEEN])
    rows = len(arrays["weights"])  # those of all columns, or of the columns that occurred
    shapes: dict[str, tuple[int, ...]] = {
        "weights": (rows, row),
        "classes": (len(Class), -(-room // 4) * 4),
        "members": (len(Member), experts),
        "mixed": (experts,),
        "trust": (CALIBRATIONS,),
        "heat": (len(class_pool.FIRST_HEATS), len(Heat)),
        "totals": (len(Total),),
    }
    is_raw = arrays["how"][ClassSetting.KIND] != class_pool.CENTRED
    if not is_raw and rows != width + 1:
        raise ModelFileError(f"array 'weights' has {rows} rows, not one for each of {width} columns and the constant")
    check_arrays(arrays, shapes | {name: like.shape for name, like in tables.items() if like.size})
    if room != max(1, seen) or seen > known or not (arrays["noise_rate"][0] == -1.0 or arrays["noise_rate"][0] >= 0.0):
        raise ModelFileError(f"array 'how' counts {seen} classes, which are not those of the others")
    if arrays["seed"].shape != (1,) or arrays["seed"].dtype != np.uint64:
        raise ModelFileError("array 'seed' is not one number of 64 bits")
    _check_ranges("class_weight", arrays["class_weight"][None], {0: _CLASS_WEIGHT})
    _check_ranges("noise_rate", arrays["noise_rate"], {0: _Range(-1.0, _NOISE_RATE.high)})
    if seen:
        classes = arrays["classes"][:, :seen]
        _check_ranges("classes", classes, _CLASSES)
        numbers = classes[Class.NUMBER]
        if numbers.max() >= known or np.unique(numbers).size != seen:
            raise ModelFileError(f"array 'classes' holds numbers that are not those of {seen} of {known} classes")
    for name, ranges in (("members", _MEMBERS), ("totals", _TOTALS)):
        _check_ranges(name, arrays[name], ranges)
    _check_ranges("heat", arrays["heat"].T, {Heat.HEAT: _Range(1e-6, 1e6), Heat.SQUARES: _SIZE})
    for name in ("mixed", "trust", "centred_sums", "crossed_sums"):
        _check_ranges(
            name, arrays[name].reshape(1, -1), {0: _Range(_TINY, 1.0) if name in ("mixed", "trust") else _SIZE}
        )
    if is_raw:
        _check_ranges("weights", arrays["weights"].T, dict.fromkeys(range(RAW_SUMS), _SIZE))
    if arrays["spreads"].size:
        _check_ranges("spreads", arrays["spreads"], {1: _SIZE})
    totals = arrays["totals"]
    _check_counts("totals", totals[Total.ROUNDS], totals[Total.MISTAKES])


def check_pair(totals: NDArray[Any]) -> None:
    """The weights between two pools: kernels/learning/mixture.py says what its entries are."""
    check_arrays({"totals": totals}, {"totals": (len(Total),)})
    _check_ranges("totals", totals, _PAIR_TOTALS)
    _check_counts("totals", totals[Total.ROUNDS], totals[Total.MISTAKES])


def check_two(arrays: Mapping[str, NDArray[Any]], width: int) -> None:
    """The mixture of two pools, and the spreads of so many columns: mixture.py and softmax.py say what they are."""
    check_arrays(arrays, {"totals": (len(Total),), "members": (len(Member), 2), "spreads": (2, width), "seen": (1,)})
    for name, ranges in (("totals", _TOTALS), ("members", _MEMBERS), ("spreads", {1: _SIZE}), ("seen", {0: _SIZE})):
        _check_ranges(name, arrays[name], ranges)
    _check_counts("totals", arrays["totals"][Total.ROUNDS], arrays["totals"][Total.MISTAKES])


def check_specialists(arrays: Mapping[str, NDArray[Any]], groups: int) -> None:
    """The weights between the pools of so many groups and what is counted: kernels/learning/specialists.py."""
    check_arrays(arrays, {"specialists": (1 + 2 * groups, RATES), "counts": (1 + groups, len(Count))})
    _check_ranges("specialists", arrays["specialists"][None], {0: _SHARE})
    if arrays["specialists"].sum() > _SHARE.high:
        raise ModelFileError(
            f"array 'specialists' holds weights that add up to {arrays['specialists'].sum():g}, not to 1"
        )
    counts = arrays["counts"].T
    _check_ranges("counts", counts, dict.fromkeys(Count, _SIZE) | {Count.ROUNDS: _COUNT, Count.MISTAKES: _COUNT})
    for rounds, mistakes in counts[[Count.ROUNDS, Count.MISTAKES]].T:
        _check_counts("counts", rounds, mistakes)


def check_calibration(arrays: Mapping[str, NDArray[Any]]) -> None:
    """The arrays of a calibration of scores: calibration.py says what they are."""
    shapes: dict[str, tuple[int, ...]] = {
        "head": (len(Calibration),),
        "logistic": (len(Logistic), calibration.EXPERTS),
        "trust": (calibration.EXPERTS,),
    }
    check_arrays(arrays, shapes)
    counts = {Calibration.ROUNDS: _COUNT, Calibration.LEARNED: _COUNT}
    _check_ranges("head", arrays["head"], dict.fromkeys(Calibration, _SIZE) | counts)
    _check_ranges("logistic", arrays["logistic"], {Logistic.A: _FACTOR, Logistic.P_AA: _SIZE, Logistic.P_BB: _SIZE})
    _check_ranges("trust", arrays["trust"][None], {0: _Range(_TINY, 1.0)})


def check_heat(arrays: Mapping[str, NDArray[Any]]) -> None:
    """The array of a calibration of several classes."""
    check_arrays(arrays, {"heat": (len(calibration.Heat),)})
    _check_ranges("heat", arrays["heat"], dict.fromkeys(calibration.Heat, _SIZE))


def check_arrays(arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays that a kernel could not work on safely: wrong shape, wrong type, empty, not finite."""
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous or not array.flags.aligned:
            raise ModelFileError(
                f"array {name!r} is {array.dtype} of shape {array.shape}, not float64 of shape {shape}"
            )
        blocks = (array[start : start + _CHECKED] for start in range(0, array.shape[0], _CHECKED))
        if array.size == 0 or not all(_are_finite(block) for block in blocks):
            raise ModelFileError(f"array {name!r} is empty or holds numbers that are not finite")


def _are_finite(numbers: NDArray[np.float64]) -> bool:
    """Whether all are: a sum is not finite if one of them is not, and is quicker than a look at each."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()
    return bool(np.isfinite(total) or np.isfinite(numbers).all())


def _check_ranges(name: str, array: NDArray[Any], ranges: Mapping[Any, _Range]) -> None:
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
        raise ModelFileError(f"array {name!r} counts {mistakes:g} mistakes in {rounds:g} rounds")
