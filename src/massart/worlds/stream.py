"""What label worlds and reward worlds share: seeds, blocks, cutting into chunks, and streams of single rounds.

A world never keeps a position. Its rounds are drawn in blocks of fixed length, block `b` from its own generator
`SeedSequence(seed, spawn_key=(b,))`, so the stream is the same whatever the chunk size, from any restart, and
in any process.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidDataError, InvalidParameterError, counted
from massart.worlds.ranges import whole_number

__all__ = [
    "AdaptiveGame",
    "Block",
    "DrawnStream",
    "DrawnWorld",
    "Indices",
    "Matrix",
    "Passes",
    "Seed",
    "Simulation",
    "Vector",
    "Weights",
    "refuse_chunks",
]

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.integer]
Weights = npt.NDArray[np.floating] | Sequence[float]
Seed = int | np.random.SeedSequence | None

AnyChunk = TypeVar("AnyChunk", bound=tuple[Any, ...])  # a NamedTuple of arrays with one entry per round
AnyRound = TypeVar("AnyRound", bound=tuple[Any, ...])
Round_co = TypeVar("Round_co", bound=tuple[Any, ...], covariant=True)


class RoundStream(Protocol[Round_co]):
    """Rounds one at a time, each chosen after seeing the current weights."""

    rounds: int
    played: int

    def next(self, weights: Weights) -> Round_co:
        """Choose the next round."""


class Block(NamedTuple):
    """Rounds `start` to `start + size` of a stream of `rounds` rounds, and the generator to draw all of them from."""

    rng: np.random.Generator
    start: int
    size: int
    rounds: int

    @property
    def indices(self) -> Indices:
        """The index of every round of the block."""
        return np.arange(self.start, self.start + self.size)


class Simulation(ABC, Generic[AnyChunk, AnyRound]):
    """A simulated stream with a known truth, drawn from a seed."""

    name: ClassVar[str]
    description: ClassVar[str]
    adaptive: ClassVar[bool] = False
    _kind: ClassVar[str]  # how `repr` calls it
    _declared: ClassVar[tuple[str, ...]]  # the parameters that `repr` shows

    def __init__(self, seed: Seed) -> None:
        try:
            self._root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        except (TypeError, ValueError):
            message = f"seed must be a non-negative integer, a SeedSequence or None, got {seed!r}"
            raise InvalidParameterError(message) from None
        self.seed = seed

    @abstractmethod
    def chunks(self, rounds: int, size: int = 4096) -> Iterator[AnyChunk]:
        """Yield the first `rounds` rounds, `size` at a time; an adaptive world raises an error."""

    @abstractmethod
    def play(self, rounds: int) -> RoundStream[AnyRound]:
        """Start a game of `rounds` rounds, shown one at a time."""

    def _child(self, *key: int) -> np.random.SeedSequence:
        """Derive a seed: a function of the world's seed and the key, never of what was drawn before."""
        return np.random.SeedSequence(self._root.entropy, spawn_key=(*self._root.spawn_key, *key))

    def _generator(self, *key: int) -> np.random.Generator:
        """Give the generator of a block, whose key is one number, or of something else, whose key is two."""
        return np.random.default_rng(self._child(*key))

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._declared}

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._parameters().items())
        return f"<{self._kind} {self.name}: {inside}>"


class DrawnWorld(Simulation[AnyChunk, AnyRound]):
    """A world that draws its whole stream independently of the learner: `chunks` is the natural way through it."""

    @property
    @abstractmethod
    def _block(self) -> int:
        """Rounds drawn from one generator; changing it changes every stream."""

    @abstractmethod
    def _draw(self, block: Block) -> AnyChunk:
        """Draw the rounds of a block, everything from its generator."""

    @abstractmethod
    def _single(self, chunk: AnyChunk) -> Iterator[AnyRound]:
        """Split a chunk into its rounds."""

    def chunks(self, rounds: int, size: int = 4096) -> Iterator[AnyChunk]:
        """Yield the first `rounds` rounds, `size` at a time, from the beginning at every call."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        return _recut(self._blocks(rounds), whole_number(self.name, "size", size, least=1))

    def take(self, rounds: int) -> AnyChunk:
        """Give the first `rounds` rounds as one chunk."""
        return next(self.chunks(rounds, rounds))

    def play(self, rounds: int) -> "DrawnStream[AnyChunk, AnyRound]":
        """Give the same rounds one at a time, to a loop that also plays adaptive worlds."""
        return DrawnStream(self, whole_number(self.name, "rounds", rounds, least=1))

    def _blocks(self, rounds: int) -> Iterator[AnyChunk]:
        length = self._block
        for index, start in enumerate(range(0, rounds, length)):
            # A whole block even when fewer rounds are needed: the draws of a block depend on its length.
            block = self._draw(Block(self._generator(index), start, length, rounds))
            yield _slice(block, 0, min(length, rounds - start))


class DrawnStream(Generic[AnyChunk, AnyRound]):
    """Rounds of a `DrawnWorld` one at a time; the weights are ignored."""

    def __init__(self, world: DrawnWorld[AnyChunk, AnyRound], rounds: int) -> None:
        self.rounds = rounds
        self.played = 0
        self._world = world
        self._rounds = self._from(0)

    def _from(self, played: int) -> Iterator[AnyRound]:
        world = self._world
        singles = (one for block in world._blocks(self.rounds) for one in world._single(block))
        return islice(singles, played, None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rounds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy draws again what has been played, and continues."""
        self.__dict__.update(state)
        self._rounds = self._from(self.played)

    def next(self, weights: Weights) -> AnyRound:
        """Give the next round, whatever the weights."""
        del weights
        try:
            answer = next(self._rounds)
        except StopIteration:
            raise _ended(self.rounds) from None
        self.played += 1
        return answer


class AdaptiveGame:
    """What streams that look at the weights share: the count of rounds and a checked copy of the weights."""

    player: ClassVar[str]  # who hands in the weights: a learner or a policy

    def __init__(self, dimension: int, rounds: int) -> None:
        self.rounds = rounds
        self.played = 0
        self._weights = np.zeros(dimension)

    def _look(self, weights: Weights) -> Vector:
        """Copy the weights of the next round; whether they are finite is checked by the caller."""
        if self.played >= self.rounds:
            raise _ended(self.rounds)
        copy = self._weights
        try:
            # The assignment would spread a single number over all coordinates: lengths are compared first.
            copy[:] = weights if len(weights) == copy.size or np.shape(weights) == (1, copy.size) else ()
        except (TypeError, ValueError):
            raise self._bad(weights) from None
        return copy

    def _bad(self, weights: Weights) -> InvalidDataError:
        shape, size = np.shape(weights), self._weights.size
        if shape not in ((size,), (1, size)):
            return InvalidDataError(f"weights must have shape ({size},), got {shape}")
        return InvalidDataError(f"weights hold something that is not a finite number: did the {self.player} diverge?")


class Passes:
    """Goes through `size` recorded items again and again, in a new order each time if `shuffle`."""

    def __init__(self, size: int, shuffle: bool, world: Simulation[Any, Any]) -> None:
        self.size = size
        self.shuffle = shuffle
        self._world = world
        self._latest: tuple[int, Indices] = (-1, np.arange(size))

    def chosen(self, block: Block) -> Indices:
        """Give the item of each round of the block."""
        first, last = block.start // self.size, (block.start + block.size - 1) // self.size
        orders = np.concatenate([self._order(epoch) for epoch in range(first, last + 1)])
        return orders[block.start - first * self.size :][: block.size]

    def _order(self, epoch: int) -> Indices:
        """Give the order of one pass, remembering the latest."""
        if self.shuffle and self._latest[0] != epoch:
            # Two numbers as the key: never the generator of a block, which has one.
            self._latest = (epoch, self._world._generator(epoch, 1).permutation(self.size))
        return self._latest[1]


def refuse_chunks(world: Simulation[Any, Any], player: str, rounds: int, size: int) -> InvalidParameterError:
    """Give the error of an adaptive world whose rounds are asked for ahead."""
    return InvalidParameterError(
        f"the world {world.name!r} is adaptive: its rounds depend on the weights of the {player}, so {rounds} of them, "
        f"{size} at a time, cannot be drawn ahead; use play(rounds) and then next(weights)"
    )


def _ended(rounds: int) -> InvalidDataError:
    return InvalidDataError(f"this game ended after {counted(rounds, 'round')}: call play with more rounds")


def _slice(chunk: AnyChunk, begin: int, end: int) -> AnyChunk:
    return type(chunk)._make(part[begin:end] for part in chunk)  # type: ignore[attr-defined, no-any-return]


def _recut(blocks: Iterable[AnyChunk], size: int) -> Iterator[AnyChunk]:
    waiting: list[AnyChunk] = []
    held = 0
    for block in blocks:
        begin, length = 0, len(block[0])
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


def _join(parts: list[AnyChunk]) -> AnyChunk:
    if len(parts) == 1:
        return parts[0]
    columns = zip(*parts, strict=True)
    return type(parts[0])._make(np.concatenate(column) for column in columns)  # type: ignore[attr-defined, no-any-return]
