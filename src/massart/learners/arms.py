"""The door for decisions: contexts, masks and rewards are checked here; a refusal leaves the policy as it was."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.door import Rows


@dataclass(frozen=True)
class Arms:
    """The arms of one round as the kernels take them.

    >>> arms = Arms.of([[1.0, 0.0], [0.5, 0.5]], allowed=[True, False])
    >>> arms.count, arms.width, arms.allowed.tolist()
    (2, 2, [True, False])
    """

    contexts: Any  # (k, d) array or CSR matrix
    rows: Any  # (data, indices, indptr): CSR, or dense with one list of indices and no indptr
    allowed: NDArray[np.bool_]
    count: int
    width: int

    @classmethod
    def of(
        cls, contexts: Any, allowed: Any = None, width: int | None = None, *, own: bool = False, finite: bool = False
    ) -> "Arms":
        """Take a (k, d) array of numbers or a sparse matrix with one row per arm; a copy, unless it is our `own`.

        `finite`: somebody else looks whether the numbers are, as `kernels.ranking.look` does.
        """
        if own and type(contexts) is np.ndarray and contexts.dtype == np.float64 and contexts.flags.c_contiguous:
            pass
        elif not sparse.issparse(contexts):
            try:
                given = np.asarray(contexts)
                if given.dtype.kind == "c":
                    raise TypeError
                contexts = np.array(given, dtype=np.float64)
            except (TypeError, ValueError):
                raise InvalidDataError(
                    "contexts must be real numbers, one row per arm, all rows of the same length"
                ) from None
        if contexts.ndim != 2:
            raise InvalidDataError(f"contexts have {contexts.ndim} dimensions: give one row per arm, (k, d)")
        count, features = contexts.shape
        if count == 0:
            raise InvalidDataError("contexts have no rows: there is no arm to choose")
        if width is not None and features != width:
            raise InvalidDataError(f"contexts have {features} features, but this policy has {width}")
        mask = np.ones(count, dtype=bool)
        if allowed is not None:
            mask = np.asarray(allowed)
            if mask.shape != (count,) or mask.dtype != bool:
                raise InvalidDataError(f"allowed must be {count} booleans, one per arm")
            if not mask.any():
                raise InvalidDataError("allowed forbids every arm: allow at least one")
        if sparse.issparse(contexts):
            rows = Rows.of(contexts)
            return cls(contexts.tocsr(copy=True), rows.csr, mask, count, features)  # a choice outlives its caller's
        every = _every(features)
        arms = cls(contexts, (contexts.reshape(-1), every, every[:0]), mask, count, features)
        if not finite and not np.isfinite(contexts).all():
            raise arms.refusal(int(np.flatnonzero(~np.isfinite(contexts).all(axis=1))[0]))
        return arms

    def refusal(self, arm: int, margin: float | None = None, otherwise: str = "") -> InvalidDataError:
        """What is wrong with an arm whose context is not finite, too long to compute with, or too long for a margin."""
        row = self.contexts[arm]
        norm = float(np.linalg.norm(row.data if sparse.issparse(row) else row))
        if margin is not None and norm <= 1e50:
            return too_long(f"contexts[{arm}]", norm, margin, otherwise)
        return InvalidDataError(f"contexts[{arm}] holds a number that is not finite, or is longer than 1e50")


def too_long(place: str, norm: float, margin: float, otherwise: str = "") -> InvalidDataError:
    """The margin is a difference of scores of contexts in the unit ball; this context is outside."""
    return InvalidDataError(
        f"{place} has norm {norm:.10g}, but margin={margin:g} is meant for contexts of norm at most 1: divide all "
        f"contexts, and the margin, by one number that no norm exceeds{otherwise}"
    )


@lru_cache(maxsize=64)
def _every(features: int) -> NDArray[np.uint64]:
    every = np.arange(features, dtype=np.uint64)
    every.flags.writeable = False
    return every


def check_reward_range(reward_range: Any) -> tuple[float, float]:
    """Lowest and highest reward.

    >>> check_reward_range((0, 1))
    (0.0, 1.0)
    """
    try:
        lowest, highest = (float(end) for end in reward_range)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"reward_range={reward_range!r}: give the lowest and the highest reward") from None
    if not (np.isfinite(lowest) and np.isfinite(highest) and lowest < highest):
        raise InvalidParameterError(f"reward_range={reward_range!r}: the lowest reward must be below the highest")
    return lowest, highest


def reward_number(reward: Any, lowest: float, highest: float, *, clip: bool) -> float:
    """A reward within the range.

    >>> reward_number(0.5, 0.0, 1.0, clip=False), reward_number(7, 0.0, 1.0, clip=True)
    (0.5, 1.0)
    """
    try:
        value = float(reward)
    except (TypeError, ValueError):
        raise InvalidDataError(f"reward={reward!r} is not a number") from None
    if np.isnan(value):
        raise InvalidDataError("reward is NaN: give a number, or let the choice expire")
    if clip:
        return min(max(value, lowest), highest)
    if not lowest <= value <= highest:
        raise InvalidDataError(
            f"reward={value:g} is outside reward_range ({lowest:g}, {highest:g}): widen the range, or set "
            "clip_rewards=True"
        )
    return value
