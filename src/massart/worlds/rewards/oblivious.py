"""Reward worlds that write their whole stream before the policy begins, and the cutting of it into chunks."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from massart.errors import InvalidDataError
from massart.worlds.base import Weights
from massart.worlds.ranges import whole_number
from massart.worlds.rewards.base import RewardChunk, RewardRound, RewardWorld

__all__ = ["ObliviousRewardStream", "ObliviousRewardWorld"]


class ObliviousRewardWorld(RewardWorld):
    """A reward world whose rounds do not depend on the policy: `chunks` is the natural way through it."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, start: int, count: int) -> RewardChunk:
        """Draw rounds `start` to `start + count`."""

    def chunks(self, rounds: int, size: int = 4096) -> Iterator[RewardChunk]:
        """Yield the first `rounds` rounds, `size` at a time, from the beginning at every call."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        size = whole_number(self.name, "size", size, least=1)
        return _recut(self._blocks(rounds), min(size, rounds))

    def play(self, rounds: int) -> "ObliviousRewardStream":
        """Give the same rounds one at a time, to a loop that also plays adaptive worlds."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        return ObliviousRewardStream(self, rounds)

    def _blocks(self, rounds: int) -> Iterator[RewardChunk]:
        length = self._block
        for index, start in enumerate(range(0, rounds, length)):
            # A whole block even when fewer rounds are needed: the draws of a block depend on its length.
            block = self._draw(self._generator(index), start, length)
            yield _slice(block, 0, min(length, rounds - start))


class ObliviousRewardStream:
    """Rounds of an oblivious world one at a time; the policy's weights are not looked at."""

    def __init__(self, world: ObliviousRewardWorld, rounds: int) -> None:
        self.rounds = rounds
        self.played = 0
        self._world = world
        self._rounds = self._one_by_one()

    def _one_by_one(self) -> Iterator[RewardRound]:
        for block in self._world._blocks(self.rounds):
            yield from (RewardRound(*one) for one in zip(*block, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rounds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy draws what has been played again, and goes on."""
        self.__dict__.update(state)
        self._rounds = islice(self._one_by_one(), self.played, None)

    def next(self, weights: Weights) -> RewardRound:
        """Give the next round, whatever the weights."""
        del weights
        try:
            answer = next(self._rounds)
        except StopIteration:
            raise InvalidDataError(f"this game ended after {self.rounds} rounds: call play with more rounds") from None
        self.played += 1
        return answer


def _slice(chunk: RewardChunk, begin: int, end: int) -> RewardChunk:
    return RewardChunk._make(part[begin:end] for part in chunk)


def _recut(blocks: Iterable[RewardChunk], size: int) -> Iterator[RewardChunk]:
    waiting: list[RewardChunk] = []
    held = 0
    for block in blocks:
        begin, length = 0, len(block.means)
        while begin < length:
            end = min(begin + size - held, length)
            waiting.append(_slice(block, begin, end))
            held += end - begin
            begin = end
            if held == size:
                yield _join(waiting)
                waiting, held = [], 0
    if waiting:
        yield _join(waiting)


def _join(parts: list[RewardChunk]) -> RewardChunk:
    if len(parts) == 1:
        return parts[0]
    return RewardChunk._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
