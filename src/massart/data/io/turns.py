"""The order of the records of a topic, which does not depend on when they arrive.

Partitions take turns, by number. A turn is a range of offsets: the turns of a partition begin at its first offset and
are `records` offsets long, whether each of them has a record or not. A round goes up to an end in each partition and
is over when all have come to theirs. So the order follows from the beginnings and the ends alone, and both are in the
marks of every position: reading that goes on from one sees what it would have seen.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from massart.data.chunk import Places, Position

__all__ = ["BEFORE", "FIELDS", "Batch", "Round", "State", "TopicPlaces", "following_of", "state_at"]

FIELDS: Final = 4  # numbers of a partition in marks, and
BEFORE: Final = 3  # before the first of them


class State(NamedTuple):
    """What has been taken: whose turn it is, by place among the partitions, and the next offset of each."""

    turn: int
    following: tuple[int, ...]


class Round(NamedTuple):
    """From where to where the partitions are read."""

    partitions: tuple[int, ...]
    begins: tuple[int, ...]  # where the first turn of each begins
    ends: tuple[int, ...]
    records: int

    def stop(self, state: State) -> int:
        """Where the turn under way ends."""
        place = state.turn
        begin, following = self.begins[place], state.following[place]
        return min(self.ends[place], begin + ((following - begin) // self.records + 1) * self.records)

    def moved(self, state: State, offset: int) -> State:
        """The state once the partition whose turn it is has come to an offset."""
        over = offset >= self.stop(state)
        following = (*state.following[: state.turn], offset, *state.following[state.turn + 1 :])
        return self.settled(State(state.turn + 1, following)) if over else State(state.turn, following)

    def marks(self, state: State, skipped: int) -> tuple[int, ...]:
        """What a position needs to be gone on from."""
        rows = zip(self.partitions, self.begins, state.following, self.ends, strict=True)
        return (skipped, state.turn, self.records, *(number for row in rows for number in row))

    def settled(self, state: State) -> State:
        """With the turn at a partition that has something left; at the number of partitions if none has."""
        count = len(self.partitions)
        for step in range(count):
            place = (state.turn + step) % count
            if state.following[place] < self.ends[place]:
                return State(place, state.following)
        return State(count, state.following)


class Batch(NamedTuple):
    """Records of one turn that were handed out together."""

    partition: int
    offsets: list[int]
    ends: list[int]  # bytes of the text after each record
    lines: list[int]  # and lines
    first: tuple[int, int]  # bytes and lines before them
    done: tuple[int, int]  # bytes and lines of the first record that were handed out earlier
    round: Round
    before: State
    after: State


def following_of(position: Position) -> dict[int, int]:
    """By partition, the offset from which a position goes on."""
    return dict(zip(position.marks[BEFORE::FIELDS], position.marks[BEFORE + 2 :: FIELDS], strict=True))


def state_at(batch: Batch, offset: int) -> tuple[State, int]:
    """The state at a byte of a batch, and how many bytes of the record there are before it."""
    if offset >= batch.ends[-1]:
        return batch.after, 0
    number = bisect_right(batch.ends, offset)
    begin = batch.ends[number - 1] if number else batch.first[0] - batch.done[0]
    turn, following = batch.before
    here = (*following[:turn], batch.offsets[number], *following[turn + 1 :])
    return State(turn, here), offset - begin


class TopicPlaces(Places):
    """Which record each line of a chunk is of."""

    def __init__(self, name: str, batches: Sequence[Batch]) -> None:
        self._name, self._batches = name, batches
        self._last = [batch.lines[-1] for batch in batches]

    def of(self, line: int) -> tuple[int, int, int]:
        """Partition, offset, and the line of the record, from 1."""
        partition, offset, own, _ = self._find(line)
        return partition, offset, own

    def words(self, line: int) -> str:
        """For messages; the line only where a record has several."""
        partition, offset, own, count = self._find(line)
        place = f"{self._name}, partition {partition}, offset {offset}"
        return f"{place}, line {own}" if count > 1 else place

    def _find(self, line: int) -> tuple[int, int, int, int]:
        batch = self._batches[min(bisect_right(self._last, line - 1), len(self._batches) - 1)]
        number = min(bisect_right(batch.lines, line - 1), len(batch.offsets) - 1)
        begin = batch.lines[number - 1] if number else batch.first[1] - batch.done[1]
        return batch.partition, batch.offsets[number], line - begin, batch.lines[number] - begin
