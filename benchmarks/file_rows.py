"""Frozen, seeded text files of any size: svmlight, the same rows as Vowpal Wabbit's text, and text with names.

A block of different rows is made once and written again and again: each time its pieces come in another order, and
each label is told anew, so that nobody can learn by heart which labels lie.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from file_names import catalogue, numbers
from numpy.typing import NDArray
from workloads import SEED

LIES = 0.1  # the part of all labels that is flipped
COLUMNS = 100_000
MEGABYTE = 1_000_000
FEW = 1_000  # rows that show whether somebody can read them
_BLOCK = 64  # megabytes of different rows
_ROW_BYTES = 400  # about; it decides how many rows are different, and nothing else
_PIECES = 64  # in which a block is cut, to be put together in another order
_DRAWS = 33  # features drawn for a row; about 30 of them are different
_BATCH = 10_000  # rows that are written out together
_PLUS, _MINUS = ord("+"), ord("-")


@dataclass(frozen=True)
class Block:
    """Lines that all begin with the sign of a label, which is told anew in every copy."""

    lines: NDArray[np.uint8]
    starts: NDArray[np.int64]  # (rows + 1,) where each line begins; the last is where the block ends
    truth: NDArray[np.bool_]  # (rows,) on which side of the halfspace

    @classmethod
    def of(cls, lines: list[str], truth: NDArray[np.bool_]) -> "Block":
        """The block of these lines; nothing in them is wider than a byte."""
        starts = np.concatenate(([0], np.cumsum([len(line) for line in lines])))
        return cls(np.frombuffer("".join(lines).encode("ascii"), np.uint8), starts, truth)

    def __len__(self) -> int:
        return self.truth.size

    def rows_in(self, megabytes: float) -> int:
        """How many rows make a file of this size."""
        return max(1, round(megabytes * MEGABYTE * len(self) / int(self.starts[-1])))

    def copies(self, rows: int) -> Iterator[memoryview]:
        """The text of that many rows, block by block; equal numbers give rows in equal order with equal labels."""
        cuts = np.linspace(0, len(self), min(_PIECES, len(self)) + 1).astype(np.int64)
        for number, first in enumerate(range(0, rows, len(self))):
            rng = np.random.default_rng([SEED, number])
            pieces = [slice(*cuts[i : i + 2]) for i in rng.permutation(cuts.size - 1)]
            lengths = np.diff(self.starts)
            starts = np.concatenate(([0], *(lengths[piece] for piece in pieces))).cumsum()
            truth = np.concatenate([self.truth[piece] for piece in pieces])
            text = np.concatenate([self.lines[self.starts[p.start] : self.starts[p.stop]] for p in pieces])
            text[starts[:-1]] = np.where(truth ^ (rng.random(len(self)) < LIES), _PLUS, _MINUS)
            yield text[: starts[min(len(self), rows - first)]].data

    def write(self, path: Path, rows: int) -> Path:
        """A file of that many rows, on the disk when this returns: no later writing disturbs what is timed."""
        with path.open("wb") as file:
            for text in self.copies(rows):
                file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return path


def counted_blocks(megabytes: float) -> tuple[Block, Block]:
    """svmlight, and the same rows as Vowpal Wabbit's text: about 30 of 100,000 columns, a few of them in most rows."""
    rng = np.random.default_rng([SEED, COLUMNS])
    rows = _different_rows(megabytes)
    place = rng.permutation(COLUMNS)  # which columns are the frequent ones
    ids = np.sort(place[zipf(rng, (rows, _DRAWS), COLUMNS)], axis=1)
    values = numbers(rng, ids.shape)
    keep = ~repeated(ids)
    truth = _sides(rng.standard_normal(COLUMNS), ids, values, keep)
    bodies = _bodies([f"{column}:" for column in range(1, COLUMNS + 1)], ids, values, keep)
    return Block.of([f"+1 {body}\n" for body in bodies], truth), Block.of([f"+1 | {body}\n" for body in bodies], truth)


def named_block(megabytes: float) -> Block:
    """Vowpal Wabbit's text: three namespaces, about 30 features with names, a third of them without a number."""
    rng = np.random.default_rng([SEED, COLUMNS, 3])
    names = catalogue(COLUMNS)
    ids = names.draw(rng, _different_rows(megabytes), zipf)
    values = np.where(names.valued[ids], numbers(rng, ids.shape), 0.0)
    keep = ~repeated(ids)
    weights = np.where(names.marks, 0.0, rng.standard_normal(names.marks.size))
    truth = _sides(weights, ids, np.where(names.valued[ids], values, 1.0), keep)
    return Block.of([f"+1 {body}\n" for body in _bodies(names.texts, ids, values, keep)], truth)


def zipf(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> NDArray[np.int64]:
    """Whole numbers below `count`, r with a probability of about 1 / (r + 1)."""
    return np.minimum(np.exp(rng.random(shape) * np.log(count + 1)).astype(np.int64), count) - 1


def repeated(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which entries are equal to the one on their left: equal ones stand side by side."""
    return np.diff(ids, axis=1, prepend=-1) == 0


def _different_rows(megabytes: float) -> int:
    return max(1, round(min(megabytes, _BLOCK) * MEGABYTE / _ROW_BYTES))


def _sides(
    weights: NDArray[np.float64], ids: NDArray[np.int64], values: NDArray[np.float64], keep: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The side of a halfspace through the middle of the rows."""
    scores = (weights[ids] * values * keep).sum(axis=1)
    return scores >= np.median(scores)


def _bodies(
    texts: list[str], ids: NDArray[np.int64], values: NDArray[np.float64], keep: NDArray[np.bool_]
) -> list[str]:
    """Each row's names and numbers; a name whose number is 0 stands alone."""
    bodies = []
    for first in range(0, len(ids), _BATCH):
        batch = slice(first, first + _BATCH)
        kept = keep[batch]
        pairs = zip(ids[batch][kept].tolist(), values[batch][kept].tolist(), strict=True)
        words = [f"{texts[i]}{value:.6g}" if value else texts[i] for i, value in pairs]
        cuts = [0, *kept.sum(axis=1).cumsum().tolist()]
        bodies += [" ".join(words[start:stop]) for start, stop in pairwise(cuts)]
    return bodies
