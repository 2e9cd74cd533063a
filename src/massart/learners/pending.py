"""The choices of a policy that wait for their reward: which they are, when they expire, and how they are saved."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, ModelFileError, shown
from massart.kernels.learning.ranking_rounds import parts
from massart.kernels.ranking_door import CheckedRound, check_arms, check_block, sparse_arms
from massart.kernels.ranking_state import require_arrays

__all__ = ["Pending"]

_DENSE = -1


class Pending:
    """Numbers of choices that wait, each with its epoch; their rounds are kept only if they may expire.

    Without `expire_after` a choice that waits takes about 100 bytes, and the `Choice` itself holds its round.

    >>> pending = Pending()
    >>> pending.add(7, 99, None)
    >>> pending.check(7, 99, chosen=8)
    >>> pending.settle(7)
    >>> pending.check(7, 99, chosen=8)
    Traceback (most recent call last):
    massart.errors.InvalidDataError: choice.number=7 has been learned already, or was never made...
    """

    def __init__(self, expire_after: int | None = None) -> None:
        self.expire_after = expire_after
        self._epochs: dict[int, int] = {}  # of numbers, which grow from one to the next
        self._kept: dict[int, CheckedRound] = {}

    def __len__(self) -> int:
        return len(self._epochs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._epochs)

    def add(self, number: int, epoch: int, made: CheckedRound | None) -> None:
        """A choice was made."""
        self._epochs[number] = epoch
        if self.expire_after is not None and made is not None:
            self._kept[number] = made

    def waits(self, number: int, epoch: int) -> bool:
        """Whether this choice does."""
        return self._epochs.get(number) == epoch

    def check(self, number: int, epoch: int, chosen: int) -> None:
        """Refuse a choice that does not wait; `chosen` choices have been made so far."""
        if self.waits(number, epoch):
            return
        if number in self._epochs or not 0 <= number < chosen:
            raise InvalidDataError(
                f"choice.number={shown(number)} of epoch {epoch & (1 << 64) - 1:x} was not made by this bandit, but by "
                "another copy of it: learn with the one that made the choice, or with one saved after it"
            )
        if self.expire_after is not None and number < chosen - self.expire_after:
            raise InvalidDataError(
                f"choice.number={number} was learned already, or has expired with the default reward: "
                f"{chosen - 1 - number:,} choices were made after it, and expire_after={self.expire_after:,}"
            )
        raise InvalidDataError(
            f"choice.number={number} has been learned already, or was never made: pass each choice once, to the "
            "bandit that made it"
        )

    def settle(self, number: int) -> None:
        """A choice waits no longer."""
        del self._epochs[number]
        if self._kept:
            self._kept.pop(number, None)

    def overdue(self, chosen: int) -> Iterator[tuple[int, CheckedRound]]:
        """The choices after which `expire_after` others have been made, as long as nothing else changes."""
        if self.expire_after is None:
            return
        due = []
        for number in self._epochs:  # in the order in which they were made
            if number >= chosen - self.expire_after:
                break
            due.append(number)
        for number in due:
            yield number, self._kept[number]

    def clear(self) -> int:
        """Wait for nothing any more; how many choices waited."""
        count = len(self._epochs)
        self._epochs.clear()
        self._kept.clear()
        return count

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For a file; `from_arrays` gives it back."""
        numbers = list(self._epochs)
        saved: dict[str, NDArray[Any]] = {
            "pending": np.array(numbers, dtype=np.int64),
            "pending_epochs": np.array([self._epochs[number] for number in numbers], dtype=np.uint64),
        }
        if self.expire_after is None:
            return saved
        made = [self._kept[number] for number in numbers]
        dense = [round_.arms.rows[2].size == 0 for round_ in made]
        sizes = [
            (round_.arms.count, _DENSE if flat else round_.arms.rows[0].size)
            for round_, flat in zip(made, dense, strict=True)
        ]
        sparse = [round_.arms.rows for round_, flat in zip(made, dense, strict=True) if not flat]
        return saved | {
            "pending_sizes": np.array(sizes, dtype=np.int64).reshape(-1, 2),
            "pending_blocks": _joined([round_.block for round_ in made], np.float64),
            "pending_values": _joined([round_.arms.rows[0] for round_ in made], np.float64),
            "pending_indices": _joined([rows[1] for rows in sparse], np.uint64),
            "pending_indptr": _joined([rows[2] for rows in sparse], np.uint64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], expire_after: int | None, state: Any) -> "Pending":
        """What `arrays` wrote, for a bandit in this state."""
        numbers = _flat(arrays, "pending", np.int64)
        epochs = _flat(arrays, "pending_epochs", np.uint64)
        chosen = int(state.chosen)
        grows = bool((np.diff(numbers) > 0).all()) if numbers.size else True
        if epochs.size != numbers.size or not grows or (numbers.size and not 0 <= numbers[0] <= numbers[-1] < chosen):
            raise ModelFileError("array 'pending' is not the numbers of choices that were made, each with its epoch")
        if numbers.size + state.learned > chosen:
            raise ModelFileError("array 'pending' and the rounds learned are more than the choices made")
        pending = cls(expire_after)
        pending._epochs = {int(number): int(epoch) for number, epoch in zip(numbers, epochs, strict=True)}
        if expire_after is not None:
            pending._kept = dict(zip(pending._epochs, _rounds(arrays, numbers.size, state), strict=True))
        return pending


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _flat(arrays: dict[str, NDArray[Any]], name: str, dtype: Any) -> NDArray[Any]:
    require_arrays(arrays, (name,))
    if arrays[name].ndim != 1 or arrays[name].dtype != dtype:
        raise ModelFileError(f"array {name!r} is not a list of {dtype.__name__}")
    return arrays[name]


def _rounds(arrays: dict[str, NDArray[Any]], count: int, state: Any) -> Iterator[CheckedRound]:
    require_arrays(arrays, ("pending_sizes",))
    sizes = arrays["pending_sizes"]
    if sizes.shape != (count, 2) or sizes.dtype != np.int64:
        raise ModelFileError("array 'pending_sizes' does not have two whole numbers per choice that waits")
    names = ("pending_blocks", "pending_values", "pending_indices", "pending_indptr")
    left = [_flat(arrays, name, np.float64 if i < 2 else np.uint64) for i, name in enumerate(names)]

    def take(place: int, size: int) -> NDArray[Any]:
        if not 0 <= size <= left[place].size:
            raise ModelFileError(f"array {names[place]!r} is too short for the choices that wait")
        part, left[place] = left[place][:size], left[place][size:]
        return part

    width, experts = state.weights.shape
    for arms, entries in sizes.tolist():
        if not 1 <= arms <= left[0].size:
            raise ModelFileError("array 'pending_sizes' tells of choices among no arms, or among too many")
        block = take(0, state.block_size(arms)).copy()
        allowed = parts(block, arms, experts)[4] > 0.0
        try:
            if entries == _DENSE:
                checked = check_arms(take(1, arms * width).reshape(arms, width), allowed)
            else:
                rows = (take(1, entries), take(2, entries), take(3, arms + 1))
                checked = sparse_arms(*rows, (arms, width), allowed)
            state.look(checked)
            yield check_block(checked, block, state)
        except InvalidDataError as error:
            raise ModelFileError(f"a choice that waits is damaged: {error}") from None
    if any(part.size for part in left):
        raise ModelFileError("the arrays of choices that wait hold more than those choices")
