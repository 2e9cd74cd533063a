"""Rounds that are planned by one copy of a bandit and learned by another: without a change, as bytes, in a fixed order.

`MonotoneBandit.choose` draws, counts and remembers in one step, which is right for one process. A service has deciders
that must not change the model, and one order in which rewards are learned. Here a choice is two steps:

- `plan_round` says what the bandit would do; nothing changes. The caller draws an arm from its probabilities and keeps
  `RoundPlan.pack(arm)`, the bytes that learning needs.
- `learn_round` learns such bytes. Features that the bandit has not seen get their columns there, in the order in which
  rounds are learned. Bandits that began alike and have learned the same bytes in the same order are equal, to the bit.
"""

import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.offers import Offer
from massart.errors import InvalidDataError
from massart.kernels.learning.ranking_rounds import ARM
from massart.kernels.ranking_door import CheckedRound, check_stored, stored_arms

if TYPE_CHECKING:
    from massart.learners.bandit import MonotoneBandit

__all__ = ["FORMAT", "RoundPlan", "learn_round", "plan_round", "round_arm", "round_probabilities"]

FORMAT: Final = 1  # of the bytes, and of the features: it changes with their hash
_HEAD: Final = struct.Struct("<BBHIIIdd")  # format, columns follow, experts, arms, entries, block, longest twice


class RoundPlan:
    """What a bandit would do in a round."""

    __slots__ = ("_known", "_longest", "_made")

    def __init__(self, made: CheckedRound, longest: tuple[float, float], *, known: bool) -> None:
        self._made, self._longest, self._known = made, longest, known

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(k,) of the arms."""
        return self._made.probabilities

    def pack(self, arm: int) -> bytes:
        """The round in which this arm was played."""
        made, block = self._made, self._made.block.copy()
        block[ARM] = arm
        values, columns, starts = made.arms.rows
        head = _HEAD.pack(FORMAT, self._known, made.experts, made.arms.count, values.size, block.size, *self._longest)
        if not self._known:  # the columns of features that are new are not those that they will have
            return head + block.tobytes()
        return b"".join(
            (head, block.tobytes(), values.tobytes(), starts.astype(np.uint32).tobytes(),
             columns.astype(np.uint16).tobytes())
        )  # fmt: skip


def plan_round(bandit: "MonotoneBandit", offer: Offer, allowed: Any = None) -> RoundPlan:
    """What a bandit that knows features by name would do with this offer; nothing changes."""
    with bandit._lock:
        table = bandit._features
        arms = table.arms(offer, allowed, keep=False)
        made, longest = bandit._state.plan(arms)
        return RoundPlan(made, longest, known=arms.width <= len(table))


def learn_round(bandit: "MonotoneBandit", packed: bytes, reward: float, offer: Any) -> tuple[list[float], int]:
    """Learn a reward within the range; the probabilities of all arms, and the arm that was played.

    `offer()` gives what was offered, and is called if features were new.
    """
    with bandit._lock:
        head, block, rest = _split(packed)
        _, known, _, count, entries, size, slow, fast = head
        state, table = bandit._state, bandit._features
        if size != state.block_size(count):
            raise InvalidDataError("the round was planned by a bandit with other settings")
        allowed = block[state.allowed_part(count)] > 0.0
        if known:
            values = np.frombuffer(rest, np.float64, entries)
            starts = np.frombuffer(rest, np.uint32, count + 1, 8 * entries)
            columns = np.frombuffer(rest, np.uint16, entries, 8 * entries + 4 * (count + 1))
            arms = stored_arms(values, columns, starts, len(table), allowed)
        else:
            arms = table.arms(offer(), allowed)
        made = check_stored(arms, block, state)
        state.count((slow, fast))
        state.absorb(made, reward)
        start = 3 + 3 * made.experts
        return block[start : start + count].tolist(), int(block[ARM])


def round_arm(packed: bytes) -> int:
    """The arm that was played."""
    return int(_split(packed)[1][ARM])


def round_probabilities(packed: bytes) -> NDArray[np.float64]:
    """(k,) those of all arms."""
    head, block, _ = _split(packed)
    start = 3 + 3 * head[2]
    return block[start : start + head[3]]


def _split(packed: bytes) -> tuple[tuple[Any, ...], NDArray[np.float64], memoryview]:
    """The head, the block and what follows."""
    if len(packed) < _HEAD.size or packed[0] != FORMAT:
        raise InvalidDataError("these are not the bytes of a round that this version of massart writes")
    head = _HEAD.unpack_from(packed)
    _, known, _, count, entries, size, slow, fast = head
    columns = 10 * entries + 4 * (count + 1) if known else 0
    if len(packed) != _HEAD.size + 8 * size + columns or not (0.0 <= slow <= 1e51 and 0.0 <= fast <= 1e120):
        raise InvalidDataError("the bytes of a round are damaged")
    block = np.frombuffer(packed, np.float64, size, _HEAD.size)
    return head, block, memoryview(packed)[_HEAD.size + 8 * size :]
