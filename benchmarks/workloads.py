"""Frozen, seeded rows: what the contenders learn from is the same in every run on every machine."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

SEED = 20_240
NOISE_RATE = 0.1  # every label lies with a probability of its own, between 0 and this


@dataclass(frozen=True)
class Sizes:
    """How much of everything: `FULL` is what results are quoted from, `QUICK` only shows that everything runs."""

    rows: int = 300_000
    sparse_columns: int = 47_236
    sparse_nonzeros: int = 75
    dense_columns: int = 100
    few_columns: int = 30
    class_rows: int = 40_000
    class_entries: tuple[tuple[int, int], ...] = ((10_000, 16), (47_236, 75))  # columns, entries of a row
    classes: tuple[int, ...] = (3, 7, 20, 100)
    product_rows: int = 20_000
    single_columns: int = 50
    single_rows: int = 60_000
    slow_rows: int = 3_000  # for peers that spend tens of microseconds in Python on each row
    example_rows: int = 10_000  # Vowpal Wabbit examples that are built beforehand
    file_rows: int = 40_000  # different rows in Vowpal Wabbit's file
    file_copies: int = 3  # times they are written, so that the start of a run does not count
    growth_rows: tuple[int, ...] = (50_000, 100_000, 200_000, 300_000)
    growth_nonzeros: tuple[int, ...] = (200, 400, 800, 1_600, 3_200)
    nonzeros_columns: int = 16_384  # 128 KiB of weights: beyond the first cache, within the second, with any row
    total_nonzeros: int = 8_000_000  # per batch while non-zeros per row grow
    growth_columns: tuple[int, ...] = (10**3, 10**4, 10**5, 10**6, 10**7)
    columns_rows: int = 100_000  # rows while columns grow


FULL = Sizes()
QUICK = Sizes(
    rows=2_000,
    class_rows=300,
    product_rows=300,
    single_rows=500,
    slow_rows=50,
    example_rows=100,
    file_rows=200,
    file_copies=1,
    growth_rows=(500, 1_000, 2_000),
    total_nonzeros=64_000,
    growth_columns=(10**3, 10**4, 10**5),
    columns_rows=500,
)


def spread_columns(rng: np.random.Generator, rows: int, columns: int, nonzeros: int) -> NDArray[np.int32]:
    """(rows, nonzeros) column numbers, increasing along each row: one at random from each of `nonzeros` equal strips.

    So the columns of a row are different, spread over the whole width, and need no sorting.
    """
    edges = np.arange(nonzeros + 1) * columns // nonzeros
    within = rng.random((rows, nonzeros), dtype=np.float32) * np.diff(edges)
    # The largest float32 below 1 times a wide strip may round up to the strip's end.
    return np.minimum(edges[:-1] + within.astype(np.int64), edges[1:] - 1).astype(np.int32)


def sparse_rows(rows: int, columns: int, nonzeros: int) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Rows with `nonzeros` normal values each, and labels of a random halfspace, some of them lies."""
    rng = np.random.default_rng([SEED, rows, columns, nonzeros])
    indices = spread_columns(rng, rows, columns, nonzeros).ravel()
    indptr = np.arange(rows + 1, dtype=np.int32) * np.int32(nonzeros)
    X = csr_matrix((rng.standard_normal(rows * nonzeros), indices, indptr), shape=(rows, columns))
    return X, lying_labels(rng, X @ rng.standard_normal(columns))


def dense_rows(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Normal values, and labels of a random halfspace, some of them lies."""
    rng = np.random.default_rng([SEED, rows, columns])
    X = rng.standard_normal((rows, columns))
    return X, lying_labels(rng, X @ rng.standard_normal(columns))


def lying_labels(rng: np.random.Generator, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """-1 and +1: the sign of each score, flipped with a probability that differs from row to row."""
    flipped = rng.random(scores.size) < NOISE_RATE * rng.random(scores.size)
    return np.where((scores >= 0.0) ^ flipped, 1, -1)


def first_rows(X: csr_matrix, rows: int) -> csr_matrix:
    """The first rows of X; the arrays are shared, not copied."""
    stop = int(X.indptr[rows])
    return csr_matrix((X.data[:stop], X.indices[:stop], X.indptr[: rows + 1]), shape=(rows, X.shape[1]))


def row_dictionaries(X: csr_matrix | NDArray[np.float64], rows: int) -> list[dict[int, float]]:
    """The first rows as {column: value}, the form in which river takes them."""
    if isinstance(X, np.ndarray):
        return [dict(enumerate(row)) for row in X[:rows].tolist()]
    cuts = X.indptr[: rows + 1].tolist()
    indices, values = X.indices[: cuts[-1]].tolist(), X.data[: cuts[-1]].tolist()
    return [dict(zip(indices[start:stop], values[start:stop], strict=True)) for start, stop in pairwise(cuts)]


def row_lines(X: csr_matrix | NDArray[np.float64], y: NDArray[np.int64], rows: int) -> list[str]:
    """The first rows as Vowpal Wabbit's text."""
    return [
        f"{label} | " + " ".join([f"{column}:{value:.5f}" for column, value in row.items()])
        for label, row in zip(y[:rows].tolist(), row_dictionaries(X, rows), strict=True)
    ]
