"""The door of the ranking kernels: contexts, masks and choices that come back are checked here, for every caller.

`CheckedArms` and `CheckedRound` are made by the functions of this module and by nothing else, so whoever holds one
knows that widths, types, index ranges and numbers fit. Both own what they hold, in memory that cannot be written to.
`kernels/ranking_state.py` is the door for what is remembered between rounds.
"""

import math
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError
from massart.kernels.forms import check_mask, check_sparse_parts
from massart.kernels.learning import blend
from massart.kernels.learning import ranking as kernel
from massart.kernels.learning import ranking_rounds as rounds
from massart.kernels.learning import rows as rows_kernel
from massart.kernels.learning.ranking import Setting
from massart.options import LEAST_MARGIN

__all__ = ["CheckedArms", "CheckedRound", "check_arms", "check_block", "check_round", "check_sparse", "check_stored",
           "contexts_too_long", "make_round", "ordered_arms", "sparse_arms", "stored_arms"]  # fmt: skip

_FLOAT = np.dtype(np.float64)
_NUMBERS = "fiubO"  # booleans, whole numbers, floats, and objects that say which float they are
# A context longer than this is refused: squares of sums of squares stay finite.
LONGEST = 1e50
MOST_CAP = 1e100  # of gradient norms, and of 1 / step in Algorithm 3: what a file may hold
_MOST_ENTRIES = 1 << 40
_MOST_STORED = 1 << 32  # of sparse contexts, whose columns `column_groups.number` numbers by 32 bits


class _Checked:
    """Made by this module only."""

    __slots__ = ()

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"{type(self).__name__} is made by the functions of ranking_door, which check what is in it")


class CheckedArms(_Checked):
    """The arms of a round as the kernels take them: k rows of d features, all indices in range."""

    __slots__ = ("allowed", "count", "rows", "width")

    rows: tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.uint64]]  # CSR; dense: all columns and no indptr
    allowed: NDArray[np.bool_]  # (k,), at least one
    count: int
    width: int

    @property
    def contexts(self) -> Any:
        """(k, d) array that cannot be written to, or CSR matrix."""
        data, indices, indptr = self.rows
        if indptr.size == 0:
            return data.reshape(self.count, self.width)
        from scipy import sparse  # noqa: PLC0415  whoever has sparse contexts has imported it

        parts = (data, indices.astype(np.int64), indptr.astype(np.int64))
        return sparse.csr_matrix(parts, shape=(self.count, self.width))

    def norm(self, arm: int) -> float:
        """Of a context; it may overflow."""
        data, _, indptr = self.rows
        start, stop = (int(indptr[arm]), int(indptr[arm + 1])) if indptr.size else (arm * self.width,) * 2
        return math.hypot(*data[start : stop if indptr.size else start + self.width].tolist())

    def refuse(self, arm: int, margin: float | None = None, otherwise: str = "") -> NoReturn:
        """Say what is wrong with an arm whose context is not finite or too long."""
        norm = self.norm(arm)
        if margin is not None and norm <= LONGEST:
            raise contexts_too_long(f"contexts[{arm}]", norm, margin, otherwise)
        raise InvalidDataError(
            f"contexts[{arm}] holds NaN or a number that is not finite, or is longer than {LONGEST:g}: divide all "
            "contexts by one number, and leave out what is not finite"
        )


class CheckedRound(_Checked):
    """A choice that was made: its arms, and the block of numbers that kernels/learning/ranking_rounds.py describes."""

    __slots__ = ("arms", "block", "experts")

    arms: CheckedArms
    block: NDArray[np.float64]
    experts: int

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(k,) a copy that cannot be written to."""
        start = rounds.HEAD + 3 * self.experts
        return _frozen(self.block[start : start + self.arms.count].copy())

    def memo(self) -> dict[str, NDArray[Any]]:
        """What of the block a choice carries along, by name; `check_round` takes it back."""
        shares, arms, rates, _, allowed, margins, distances = rounds.parts(self.block, self.arms.count, self.experts)
        named = {
            "arms": arms.astype(np.int64),
            "rates": rates,
            "margins": margins,
            "distances": distances,
            "allowed": allowed > 0.0,
            "baseline": self.block[rounds.BASE : rounds.BASE + 1],
            "shares": shares,
        }
        rest = self.block[rounds.block_size(self.arms.count, self.experts) :]
        if rest.size:
            named["rest"] = rest
        return {name: _frozen(array.copy()) for name, array in named.items()}


def contexts_too_long(place: str, norm: float, margin: float, otherwise: str = "") -> InvalidDataError:
    """The margin is a difference of scores of contexts in the unit ball; this context is outside."""
    return InvalidDataError(
        f"{place} has norm {norm:.10g}, but margin={margin:g} is meant for contexts of norm at most 1: divide all "
        f"contexts, and the margin, by one number that no norm exceeds{otherwise}"
    )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """A flat copy in memory that nobody can write to."""
    return np.frombuffer(array.tobytes(), array.dtype)


@lru_cache(maxsize=64)
def _columns(width: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    every = _frozen(np.arange(width, dtype=np.uint64))
    return every, every[:0]


@lru_cache(maxsize=64)
def _everyone(count: int) -> NDArray[np.bool_]:
    return _frozen(np.ones(count, dtype=bool))


def check_arms(contexts: Any, allowed: Any = None, width: int | None = None) -> CheckedArms:
    """A (k, d) array of numbers or a sparse matrix, one row per arm, and a mask of the arms that may be played.

    Whether the numbers are finite and short enough is looked at where they are used, by `look` of ranking.py.

    >>> arms = check_arms([[1.0, 0.0], [0.5, 0.5]], allowed=[True, False])
    >>> arms.count, arms.width, arms.allowed.tolist()
    (2, 2, [True, False])
    """
    given, csr = contexts, None
    if not (type(contexts) is np.ndarray and contexts.dtype is _FLOAT):
        sparse = sys.modules.get("scipy.sparse")  # not imported here: whoever has a sparse matrix has done so
        if sparse is not None and sparse.issparse(contexts):
            csr = _csr(contexts)
        else:
            given = _numbers(contexts)
    if given.ndim != 2:
        raise InvalidDataError(f"contexts have {given.ndim} dimensions: give one row per arm, (k, d)")
    count, features = given.shape
    if count == 0:
        raise InvalidDataError("contexts have no rows: there is no arm to choose")
    if width is not None and features != width:
        raise InvalidDataError(f"contexts have {features} features, but this policy has {width}")
    if features == 0:
        raise InvalidDataError("contexts have no columns: give at least one feature per arm")
    if csr is None:
        csr = (np.frombuffer(given.tobytes()), *_columns(features))
    return _arms(csr, _everyone(count) if allowed is None else _mask(allowed, count), count, features)


def _arms(rows: Any, allowed: NDArray[np.bool_], count: int, width: int) -> CheckedArms:
    arms = object.__new__(CheckedArms)
    arms.rows, arms.allowed, arms.count, arms.width = rows, allowed, count, width
    return arms


def _numbers(contexts: Any) -> NDArray[np.float64]:
    check_mask(contexts, "contexts")
    try:
        given = np.asarray(contexts)
        if given.dtype.kind not in _NUMBERS:
            raise TypeError(given.dtype)
        with np.errstate(over="ignore"):
            return np.asarray(given, dtype=np.float64)
    except Exception:  # whatever an object says when it is asked for its number
        raise InvalidDataError("contexts must be real numbers, one row per arm, all rows of the same length") from None


def _mask(allowed: Any, count: int) -> NDArray[np.bool_]:
    try:
        mask = np.array(allowed)
        good = mask.shape == (count,) and mask.dtype == bool
    except Exception:  # ragged, or an object that is no array
        good = False
    if not good:
        raise InvalidDataError(f"allowed must be {count} booleans, one per arm")
    if not mask.any():
        raise InvalidDataError("allowed forbids every arm: allow at least one")
    return _frozen(mask)


def _csr(matrix: Any) -> Any:
    """Flat arrays of a SciPy matrix, which somebody may have put together by hand."""
    try:
        check_sparse_parts(matrix)
        if matrix.format != "csr":
            matrix = matrix.tocsr()
        parts = (matrix.data, matrix.indices, matrix.indptr)
        shape = tuple(int(size) for size in matrix.shape)
    except Exception as error:
        raise InvalidDataError(f"The sparse contexts do not fit together ({error}): build them again") from None
    return check_sparse(*parts, shape)


def check_sparse(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """(data, indices, indptr) of a CSR matrix of this shape, sorted and without repeats, in memory of our own."""
    try:
        values = np.asarray(data)
        numbers = [np.asarray(indices), np.asarray(indptr)]
        kinds = values.dtype.kind in _NUMBERS and all(n.dtype.kind in "iu" or n.size == 0 for n in numbers)
        flat = values.ndim == numbers[0].ndim == numbers[1].ndim == 1
        if not kinds or not flat or values.size != numbers[0].size or numbers[1].size != shape[0] + 1:
            raise ValueError(f"{numbers[1].size} row pointers, {numbers[0].size} indices, {values.size} values")
        if shape[0] * shape[1] > _MOST_ENTRIES or min(shape) < 1 or values.size > _MOST_STORED:
            raise ValueError(f"shape {shape}, {values.size} values")
        with np.errstate(over="ignore"):
            values = np.asarray(values, dtype=np.float64)
        columns, places = (_own(n.astype(np.int64)).view(np.uint64) for n in numbers)
        values = _own(values)
    except InvalidDataError:
        raise
    except Exception as error:
        raise InvalidDataError(f"The sparse contexts do not fit together ({error}): build them again") from None
    verdict, row = rows_kernel.check_indices(columns, places, shape[1])
    if verdict == rows_kernel.OUT_OF_RANGE:
        raise InvalidDataError(
            f"contexts[{row}] of the sparse contexts has an index outside their {shape[1]} columns, or row pointers "
            "that do not fit: build them again with scipy.sparse.csr_matrix"
        )
    if verdict == rows_kernel.NOT_CANONICAL:
        from scipy import sparse  # noqa: PLC0415

        again = sparse.csr_matrix((values, columns.astype(np.int64), places.astype(np.int64)), shape=shape, copy=True)
        again.sum_duplicates()
        return check_sparse(again.data, again.indices, again.indptr, shape)
    return values, columns, places


def sparse_arms(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], allowed: Any) -> CheckedArms:
    """Arms of the parts of a CSR matrix."""
    return _arms(check_sparse(data, indices, indptr, shape), _mask(allowed, shape[0]), *shape)


def ordered_arms(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], allowed: Any) -> CheckedArms:
    """Arms of an offer, which has few entries: its arrays, of 64 bits, are in order, and the caller lets go of them."""
    mask = _everyone(shape[0]) if allowed is None else _mask(allowed, shape[0])
    return _arms((_frozen(data), _frozen(indices).view(np.uint64), _frozen(indptr).view(np.uint64)), mask, *shape)


def make_round(arms: CheckedArms, block: NDArray[np.float64], experts: int) -> CheckedRound:
    """For kernels/ranking_state.py: a round that `decide` has just filled."""
    made = object.__new__(CheckedRound)
    made.arms, made.block, made.experts = arms, block, experts
    return made


def check_round(arms: CheckedArms, arm: int, probabilities: Any, memo: Mapping[str, Any], state: Any) -> CheckedRound:
    """A choice that was out of our hands, with what `CheckedRound.memo` said of it; see `check_block`."""
    k, experts = arms.count, state.experts.shape[1]
    block = np.zeros(state.block_size(k))
    shares, own, rates, p, free, m, z2 = rounds.parts(block, k, experts)
    into = {"arms": own, "rates": rates, "margins": m, "distances": z2, "allowed": free, "shares": shares}
    if state.is_blend:
        into["rest"] = block[rounds.block_size(k, experts) :]
    try:
        for name, place in {"probabilities": p, "baseline": block[rounds.BASE : rounds.BASE + 1], **into}.items():
            given = np.asarray(probabilities if name == "probabilities" else memo[name])
            if given.dtype.kind not in "fiub" or given.shape != place.shape:
                raise ValueError(f"{name} is an array of {given.dtype} of shape {given.shape}")
            place[...] = given
    except Exception as error:
        raise InvalidDataError(f"choice.memo is not what choose wrote ({error}): pass the choice unchanged") from None
    block[rounds.ARM] = arm if type(arm) is int and 0 <= arm < k else -1
    return check_block(arms, block, state)


@np.errstate(all="ignore")  # forged numbers overflow, and are then found to be too large
def check_block(arms: CheckedArms, block: NDArray[np.float64], state: Any) -> CheckedRound:
    """The round of this block, if a bandit in this state may have written it; the block becomes the round's own.

    `arms` have been looked at. What is checked is what the kernels rely on: indices in range, probabilities that were
    possible, and numbers of sizes with which a step from any state stays finite.
    """
    k, experts, how = arms.count, state.experts.shape[1], state.how
    if block.shape != (state.block_size(k),) or not np.isfinite(block).all():
        raise _never_written()
    own = _check_part(arms, block, how, experts)
    arm, p = block[rounds.ARM], rounds.parts(block, k, experts)[3]
    block[rounds.GREEDY] = p.argmax()
    least = 0.5 * kernel.LEAST_RATE / k
    fair = arm == np.floor(arm) and 0 <= arm < k and p[int(arm)] >= least
    fair = fair and bool(p[arms.allowed].min() >= 1e-9 * least)  # the mixture's floors are at least 1e-9
    fair = fair and bool(how[Setting.LOWEST] <= block[rounds.BASE] <= how[Setting.HIGHEST])
    m, z2 = rounds.parts(block, k, experts)[5:]
    if not (fair and _steps_are_finite(arms, own, m, z2, how)):
        raise _never_written()
    if state.is_blend:
        _check_rest(arms, block, how, experts)
    return make_round(arms, block, experts)


def stored_arms(data: Any, indices: Any, indptr: Any, width: int, allowed: NDArray[np.bool_]) -> CheckedArms:
    """Arms of CSR parts that our own store kept, of the right types; their indices are checked, and rows are sorted."""
    rows = data, indices.astype(np.uint64), indptr.astype(np.uint64)
    if indptr[-1] != data.size or not allowed.any() or rows_kernel.check_indices(rows[1], rows[2], width)[0]:
        raise InvalidDataError("the arms of a stored round do not fit together: the store is damaged")
    return _arms(rows, _frozen(allowed), allowed.size, width)


@lru_cache(maxsize=64)
def _arms_of_block(k: int, experts: int, is_blend: bool) -> NDArray[np.int64]:
    """Where numbers of arms stand in a block."""
    size = rounds.block_size(k, experts)
    places = [rounds.ARM, *range(rounds.HEAD + experts, rounds.HEAD + 2 * experts)]
    if is_blend:
        places += [size + place for place in places[1:]] + [2 * size]
    return np.array(places)


def check_stored(arms: CheckedArms, block: NDArray[np.float64], state: Any) -> CheckedRound:
    """The round of a block that our own store kept: finite, of the right size, and with indices in range.

    That is what keeps a kernel within its arrays. Whoever can write the store can change what is learned; for what
    comes from outside there is `check_block`.
    """
    k, experts = arms.count, state.experts.shape[1]
    if block.shape != (state.block_size(k),) or not np.logical_and.reduce(np.isfinite(block)):
        raise _never_written()
    numbers = block[_arms_of_block(k, experts, state.is_blend)].tolist()
    in_range = min(numbers) >= 0.0 and max(numbers) < k and all(map(float.is_integer, numbers))
    if not (in_range and block[rounds.HEAD + 3 * experts + int(numbers[0])] > 0.0):
        raise _never_written()
    return make_round(arms, block, experts)


def _check_part(arms: CheckedArms, block: NDArray[np.float64], how: Any, experts: int) -> NDArray[np.int64]:
    """The arms of a set of experts, if these are in range and the probabilities possible."""
    k = arms.count
    shares, own, rates, p, free, _, _ = rounds.parts(block, k, experts)
    played = free > 0.0
    whole = bool((own == np.floor(own)).all() and np.isin(free, (0.0, 1.0)).all())
    if not (whole and own.min() >= 0 and own.max() < k and np.array_equal(arms.allowed, played)):
        raise _never_written()
    numbers = own.astype(np.int64)
    fair = abs(float(p.sum()) - 1.0) <= 1e-9 and p.min() >= 0.0 and not p[~played].any()
    fair = fair and abs(float(shares.sum()) - 1.0) <= 1e-9 and shares.min() >= 0.0
    if not (fair and rates.min() >= 0.0 and rates.max() <= 1.0 and bool(played[numbers].all())):
        raise _never_written()
    return numbers


def _check_rest(arms: CheckedArms, block: NDArray[np.float64], how: Any, experts: int) -> None:
    """What kernels/learning/blend.py adds to a block: that of the fast experts, shares and predictions."""
    k, size = arms.count, rounds.block_size(arms.count, experts)
    fast, rest = block[size : 2 * size], block[2 * size :]
    _check_part(arms, fast, how, experts)
    m, z2 = rounds.parts(fast, k, experts)[5:]
    arm, portions = rest[0], rest[1 : blend.REST]
    predicted, p = rest[blend.REST : blend.REST + k], rest[blend.REST + k :]
    good = bool(m.min() >= 0.5 * LEAST_MARGIN and m.max() <= 1e60 and z2.min() >= 0.0 and z2.max() <= 1e60)
    good = good and arm == np.floor(arm) and 0 <= arm < k and bool(arms.allowed[int(arm)])
    good = good and bool(portions.min() >= 0.0 and portions.max() <= 1.0)
    good = good and bool(predicted.min() >= 0.0 and predicted.max() <= 1.0 and p.min() >= 0.0)
    if not good or abs(float(p.sum()) - 1.0) > 1e-9 or p[~arms.allowed].any():
        raise _never_written()


def _steps_are_finite(arms: CheckedArms, own: NDArray[np.int64], m: Any, z2: Any, how: Any) -> bool:
    floor = m[own, np.arange(own.size)]
    if how[Setting.PAPER]:  # m[a] is 1 / step, z2 factors of the loss
        width = how[Setting.HIGHEST] - how[Setting.LOWEST]
        others = np.delete(m[:, 0], own[0])
        small = others.min(initial=1.0) >= 1e-45 and others.max(initial=1.0) <= 1e300 and m.max() <= 1e300
        step = arms.allowed.sum() < 2 or floor[0] >= 1e-10 * width / arms.count
        return bool(small and step and 0.0 < floor[0] <= MOST_CAP and z2.min() >= 0.0 and z2.max() <= 1e6)
    longest = max(arms.norm(i) for i in range(arms.count))
    # m[a] is gamma, at least 1e-12 of the longest context; w.(x_a - x_j) >= 0; |x_a - x_j| is at most twice as long
    near = bool((m >= floor).all() and floor.min() >= max(1e-13 * longest, 0.99e-150) and m.max() <= 1e110)
    return near and bool(z2.min() >= 0.0 and z2.max() <= 4.1 * longest**2 + 2.0 * kernel.LEAST_Z2)


def _never_written() -> InvalidDataError:
    return InvalidDataError("choice.memo holds numbers that choose never wrote: pass the choice unchanged")
