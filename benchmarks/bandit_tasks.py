"""Labelled data as rounds of a bandit, with the expected and the drawn rewards of all arms.

Arms are classes (`CONVERSIONS`): rows in random order, each shown once; all arms of a round share the row x, with a 1
at its end, and the expected reward of arm a in round t is, with right = [a is the row's class],

    clean             right                                       drawn without noise
    noisy             right, flipped with probability f(x) <= .3  f = .3 times the rank of x in a random direction
    drifting level    level(t) + .4 right                         three periods of a sine, from 0 to .6
    level by context  level(x) + .4 right                         .6 times the rank of x in a random direction
    raw               right                                       columns as they are in the file
    switching         right, and after each third of the rounds   drawn without noise
                      the classes change places at random

Columns are standardised but for the last. Arms are rows of the data set (`ITEMS`), with v in [0, 1] the place of the
row's class among the classes in their order:

    items          five rows at random, expected reward .1 + .8 v
    simpson items  five rows of a similar score s, the least squares fit of v; with c, the middle of their ranks by s,
                   expected reward .5 + .4 (v - .5) - (c - .5): within a round better rows earn more, while the level
                   of rounds falls as their scores rise
    steep simpson items  the same, with .5 + .2 (v - .5) - 1.2 (c - .5)

Rewards are 0 or 1 with these expectations. The same seed gives the same rounds.
"""

import zlib
from dataclasses import dataclass

import numpy as np
from bandit_data import Table
from numpy.typing import NDArray

CONVERSIONS = ("clean", "noisy", "drifting level", "level by context", "raw", "switching")
ITEMS = ("items", "simpson items", "steep simpson items")
KINDS = (*CONVERSIONS, *ITEMS)
SEED = 15
MOST_NOISE, LEVELS, BONUS = 0.3, 0.6, 0.4
SHOWN, WINDOW = 5, 0.2
EFFECTS = {"simpson items": (0.4, 1.0), "steep simpson items": (0.2, 1.2)}  # within a round, and the fall between them
LARGEST = 1e6  # of a raw feature; the policies to compare with take no larger ones

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Rounds of one kind, made of one data set with one seed."""

    data: str
    kind: str
    seed: int
    rows: Floats  # (n, d) the row that the arms share, or (n, k, d) a row for each arm
    means: Floats  # (n, k)
    rewards: Floats  # (n, k)

    @property
    def rounds(self) -> int:
        """How many there are."""
        return len(self.means)

    @property
    def arms(self) -> int:
        """In every round."""
        return self.means.shape[1]

    @property
    def shared(self) -> bool:
        """Whether the arms of a round share one row."""
        return self.rows.ndim == 2

    @property
    def dimension(self) -> int:
        """Features of an arm, as `contexts` gives them."""
        return self.rows.shape[-1] * (self.arms if self.shared else 1)

    def contexts(self, begin: int, end: int) -> Floats:
        """(rounds, k, dimension): a shared row stands in the block of its arm, with zeros elsewhere."""
        rows = self.rows[begin:end]
        if not self.shared:
            return rows
        k, d = self.arms, rows.shape[1]
        blocks = np.zeros((len(rows), k, k, d))
        arms = np.arange(k)
        blocks[:, arms, arms] = rows[:, None, :]
        return blocks.reshape(len(rows), k, k * d)

    def plain(self, begin: int, end: int) -> Floats:
        """(rounds, k, d): a shared row as it is for every arm, for policies with a model of each arm."""
        rows = self.rows[begin:end]
        return np.repeat(rows[:, None, :], self.arms, axis=1) if self.shared else rows

    def score(self, arms: NDArray[np.int64]) -> float:
        """The share of rounds in which the right class was played; of items, the share of the best lift."""
        chosen = np.take_along_axis(self.means, arms[:, None], axis=1)[:, 0]
        best, mean = self.means.max(axis=1), self.means.mean(axis=1)
        if self.shared:
            return float((chosen == best).mean())
        return float((chosen - mean).sum() / (best - mean).sum())


def make(table: Table, kind: str, seed: int, rounds: int) -> Task:
    """At most `rounds` rounds; as many as there are rows where classes are arms."""
    return (_items if kind in ITEMS else _classes)(table, kind, seed, rounds)


def _rng(table: Table, seed: int, *more: str) -> np.random.Generator:
    return np.random.default_rng([SEED, seed, *(zlib.crc32(word.encode()) for word in (table.name, *more))])


def _rank(rng: np.random.Generator, X: Floats) -> Floats:
    """Of rows in a random direction, from 0 to 1."""
    places = np.argsort(np.argsort(X @ rng.standard_normal(X.shape[1]), kind="stable"), kind="stable")
    return np.asarray(places / max(1, len(X) - 1))


def _classes(table: Table, kind: str, seed: int, rounds: int) -> Task:
    order = _rng(table, seed).permutation(len(table.y))[:rounds]  # the same for all kinds
    X = np.clip(table.X, -LARGEST, LARGEST) if kind == "raw" else table.standardised()
    rows = np.column_stack([X[order], np.ones(len(order))])
    right = (table.y[order, None] == np.arange(table.classes)).astype(float)
    rng, n = _rng(table, seed, kind), len(order)
    if kind == "noisy":
        rate = MOST_NOISE * _rank(rng, X)[order, None]
        means = right * (1.0 - rate) + (1.0 - right) * rate
    elif kind == "drifting level":
        turns = 3.0 * np.arange(n)[:, None] / n + rng.random()
        means = 0.5 * LEVELS * (1.0 + np.sin(2.0 * np.pi * turns)) + BONUS * right
    elif kind == "level by context":
        means = LEVELS * _rank(rng, X)[order, None] + BONUS * right
    elif kind == "switching":
        third = np.minimum(3 * np.arange(n) // n, 2)
        places = np.array([np.arange(table.classes), *(rng.permutation(table.classes) for _ in range(2))])
        right = right[np.arange(n)[:, None], places[third]]
        return Task(table.name, kind, seed, rows, right, right)
    else:
        return Task(table.name, kind, seed, rows, right, right)
    return Task(table.name, kind, seed, rows, means, (rng.random(means.shape) < means).astype(float))


def _items(table: Table, kind: str, seed: int, rounds: int) -> Task:
    rng, X = _rng(table, seed, kind), table.standardised()
    value = table.y / (table.classes - 1.0)
    if kind == "items":
        chosen = rng.integers(len(X), size=(rounds, SHOWN))
        means = 0.1 + 0.8 * value[chosen]
    else:
        columns = np.column_stack([X, np.ones(len(X))])
        gram = columns.T @ columns + np.eye(columns.shape[1])
        by_score = np.argsort(columns @ np.linalg.solve(gram, columns.T @ value), kind="stable")
        centre = rng.uniform(WINDOW, 1.0 - WINDOW, (rounds, 1))
        rank = centre + rng.uniform(-WINDOW, WINDOW, (rounds, SHOWN))
        chosen = by_score[np.minimum((rank * len(X)).astype(int), len(X) - 1)]
        within, fall = EFFECTS[kind]
        means = 0.5 + within * (value[chosen] - 0.5) - fall * (centre - 0.5)
    return Task(table.name, kind, seed, X[chosen], means, (rng.random(means.shape) < means).astype(float))
