"""Worlds that write their whole stream before the learner begins, and the cutting of it into chunks."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from massart.errors import InvalidDataError
from massart.worlds.base import Chunk, Round, Vector, Weights, World
from massart.worlds.ranges import whole_number

__all__ = ["BLOCK", "ObliviousStream", "ObliviousWorld", "flip"]

BLOCK = 4096  # rows drawn from one generator; changing it changes every stream


class ObliviousWorld(World):
    """A world whose rows do not depend on the learner: `chunks` is the natural way through it."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, start: int, count: int, rounds: int) -> Chunk:
        """Draw rounds `start` to `start + count` of a stream of `rounds` rounds."""

    def chunks(self, rounds: int, size: int = BLOCK) -> Iterator[Chunk]:
        """Yield the first `rounds` rounds, `size` at a time, from the beginning at every call."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        size = whole_number(self.name, "size", size, least=1)
        return _recut(self._blocks(rounds), size)

    def take(self, rounds: int) -> Chunk:
        """Give the first `rounds` rounds as one chunk."""
        return next(self.chunks(rounds, rounds))

    def play(self, rounds: int) -> "ObliviousStream":
        """Give the same rounds one at a time, to a loop that also plays adaptive worlds."""
        return ObliviousStream(self, whole_number(self.name, "rounds", rounds, least=1))

    def _blocks(self, rounds: int) -> Iterator[Chunk]:
        for index, start in enumerate(range(0, rounds, BLOCK)):
            # A whole block even when fewer rows are needed: the draws of a block depend on its length.
            block = self._draw(self._generator(index), start, BLOCK, rounds)
            yield _slice(block, 0, min(BLOCK, rounds - start))


class ObliviousStream:
    """Rounds of an oblivious world one at a time; the learner's weights are not looked at."""

    def __init__(self, world: ObliviousWorld, rounds: int) -> None:
        self.rounds = rounds
        self.played = 0
        self._world = world
        self._rounds = _one_by_one(world.chunks(rounds))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rounds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy draws what has been played again, and goes on."""
        self.__dict__.update(state)
        self._rounds = islice(_one_by_one(self._world.chunks(self.rounds)), self.played, None)

    def next(self, weights: Weights) -> Round:
        """Give the next round, whatever the weights."""
        del weights
        try:
            answer = next(self._rounds)
        except StopIteration:
            raise InvalidDataError(f"this game ended after {self.rounds} rounds: call play with more rounds") from None
        self.played += 1
        return answer


def flip(rng: np.random.Generator, clean: Vector, rates: Vector | float) -> Vector:
    """Flip each label with its own probability."""
    flipped: Vector = np.where(rng.random(len(clean)) < rates, -clean, clean)
    return flipped


def _one_by_one(chunks: Iterable[Chunk]) -> Iterator[Round]:
    for chunk in chunks:
        yield from map(Round, chunk.X, chunk.y.tolist(), chunk.clean.tolist(), chunk.region.tolist())


def _slice(chunk: Chunk, begin: int, end: int) -> Chunk:
    return Chunk._make(part[begin:end] for part in chunk)


def _recut(blocks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    waiting: list[Chunk] = []
    held = 0
    for block in blocks:
        begin = 0
        while begin < len(block.y):
            end = min(begin + size - held, len(block.y))
            waiting.append(_slice(block, begin, end))
            held += end - begin
            begin = end
            if held == size:
                yield _join(waiting)
                waiting, held = [], 0
    if waiting:
        yield _join(waiting)


def _join(parts: list[Chunk]) -> Chunk:
    if len(parts) == 1:
        return parts[0]
    return Chunk._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
