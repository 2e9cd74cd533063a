"""How the cost of a row grows with the number of rows, with its non-zeros, and with the number of columns.

The first two are exponents of a power law, fitted to logarithms within each round: 1 is linear. A fixed cost per row
or per call would bend the line at its lower end, and a cache that becomes too small at its upper end. So every batch
is larger than the caches and comes from memory, and the weights stay within the second cache.

The third cannot be constant in seconds, because a table of 10^7 weights does not fit a cache. What the caches do is
measured in the same round by a loop that learns nothing: it reads and writes an array of the same size at the same
places. A model of 10^7 columns whose rows keep to 10^3 of them needs no larger cache than one of 10^3 columns.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from measuring import Contender, Elapsed, Finding, Section, Wanted, interleave, quotients, stopwatch
from numba import njit
from numpy.typing import NDArray
from peers import MARGIN
from report import Tick
from scipy.sparse import csr_matrix
from workloads import NOISE_RATE, SEED, Sizes, first_rows, lying_labels, sparse_rows, spread_columns

from massart import Halfspace

ONE = Wanted(0.95, 1.05)
CACHES_EXPLAIN_GROWTH = Wanted(at_most=1.0)
CACHES_EXPLAIN_EXTRA = Wanted(at_most=1.1)  # a difference of differences: a tenth is the noise of the two loops
PLACES = 6  # where weights happen to lie in memory decides about 5 %, so that many places are averaged


@njit(fastmath=True)
def gather_and_scatter(data: Any, indices: Any, indptr: Any, table: Any) -> None:
    """What any learner must do to memory for each row, and no more: read the row's places, then write them."""
    for i in range(indptr.size - 1):
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        total = 0.0
        for p in range(start, stop):
            total += data[p] * table[indices[p]]
        # Nothing can be written before all is read, as in a learner.
        step = 1e-3 if total < 0.0 else -1e-3
        for p in range(start, stop):
            table[indices[p]] += step * data[p]


def _learning(name: str, placed: Sequence[tuple[Halfspace, csr_matrix]], y: NDArray[np.int64]) -> Contender:
    """`learn_many` on learners that are not new: their weights are in memory since the round thrown away."""

    def run() -> Elapsed:
        times = [stopwatch(partial(learner.learn_many, X, y)) for learner, X in placed]
        return Elapsed(sum(t.wall for t in times), sum(t.processor for t in times))

    return Contender(name, "Halfspace.learn_many", sum(X.shape[0] for _, X in placed), run)


def _new(X: csr_matrix) -> Halfspace:
    return Halfspace(X.shape[1], NOISE_RATE, MARGIN)


def _moving(name: str, placed: Sequence[tuple[NDArray[np.float64], csr_matrix]]) -> Contender:
    """The loop that learns nothing, on tables of the size of the weights."""

    def run() -> Elapsed:
        times = [
            stopwatch(partial(gather_and_scatter, X.data, X.indices.view(np.uint32), X.indptr.view(np.uint32), table))
            for table, X in placed
        ]
        return Elapsed(sum(t.wall for t in times), sum(t.processor for t in times))

    return Contender(name, "gather_and_scatter", sum(X.shape[0] for _, X in placed), run)


def _table(X: csr_matrix) -> NDArray[np.float64]:
    return np.zeros(X.shape[1] + 1)


def _exponents(x: Sequence[float], seconds: Sequence[Sequence[float]]) -> list[float]:
    """The exponent of x in seconds, round by round."""
    return [float(np.polyfit(np.log(x), np.log(of_round), 1)[0]) for of_round in zip(*seconds, strict=True)]


def _power(columns: int) -> str:
    return f"d = 10^{round(np.log10(columns))}"


def rows_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    """Seconds per batch against rows."""
    X, y = sparse_rows(sizes.growth_rows[-1], sizes.sparse_columns, sizes.sparse_nonzeros)
    contenders = []
    for rows in sizes.growth_rows:
        part = first_rows(X, rows)
        contenders.append(_learning(f"T = {rows:,}", [(_new(part), part)], y[:rows]))
    seconds = interleave(contenders, repeats, tick)
    totals = [[s * c.rows for s in seconds[c.name].wall] for c in contenders]
    span = f"T = {sizes.growth_rows[0]:,} to {sizes.growth_rows[-1]:,}"
    finding = Finding("exponent of T", f"seconds per batch, {span}", _exponents(sizes.growth_rows, totals), ONE)
    about = f"CSR rows of {sizes.sparse_nonzeros} non-zeros in {sizes.sparse_columns:,} columns, {span}."
    return Section("Growth with rows", about, "exponent", contenders, seconds, [finding])


def nonzeros_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    """Seconds per row against non-zeros per row.

    Judged where weights and row stay in one cache; also shown for the wider rows of the CSR workload, where more
    non-zeros mean more lines of the cache, and a row of many no longer fits the first one.
    """
    grid = sizes.growth_nonzeros
    widths = (sizes.nonzeros_columns, sizes.sparse_columns)
    contenders = []
    for columns in widths:
        for nonzeros in grid:
            X, y = sparse_rows(sizes.total_nonzeros // nonzeros, columns, nonzeros)
            contenders.append(_learning(f"{nonzeros:,} of {columns:,}", [(_new(X), X)], y))
    seconds = interleave(contenders, repeats, tick)
    span = f"{grid[0]:,} to {grid[-1]:,}"
    findings = []
    for columns, wanted in zip(widths, (ONE, None), strict=True):
        per_row = [seconds[f"{nonzeros:,} of {columns:,}"].wall for nonzeros in grid]
        # Weights 1 / non-zeros: every point of the line counts by its relative error.
        lines = [np.polyfit(grid, of_round, 1, w=1 / np.array(grid)) for of_round in zip(*per_row, strict=True)]
        fixed = [float(intercept / slope) for slope, intercept in lines]
        findings += [
            Finding("exponent of non-zeros", f"{span} of {columns:,} columns", _exponents(grid, per_row), wanted),
            Finding("a / b in a + b * non-zeros", "fixed cost of a row, in non-zeros", fixed),
        ]
    about = f"CSR rows of {span} non-zeros, {sizes.total_nonzeros:,} in every batch; seconds per row."
    return Section("Growth with non-zeros", about, "number", contenders, seconds, findings)


def columns_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    """Seconds per row against columns, for the learner, for the empty loop, and for rows that keep to few columns."""
    rows, grid = sizes.columns_rows, sizes.growth_columns
    matrices, local, y = _matrices(rows, grid, sizes.sparse_nonzeros)
    contenders = []
    for d, X in matrices.items():
        places = range(PLACES if d == grid[0] else 1)
        contenders.append(_learning(f"learner, {_power(d)}", [(_new(X), X) for _ in places], y))
        contenders.append(_moving(f"loop, {_power(d)}", [(_table(X), X) for _ in places]))
    wide_learner, wide_table = _new(local[0]), _table(local[0])
    contenders.append(_learning("learner, few columns", [(wide_learner, X) for X in local], y))
    contenders.append(_moving("loop, few columns", [(wide_table, X) for X in local]))
    seconds = interleave(contenders, repeats, tick)

    learner = [seconds[f"learner, {_power(d)}"].wall for d in grid]
    loop = [seconds[f"loop, {_power(d)}"].wall for d in grid]
    narrow, wide = _power(grid[0]), _power(grid[-1])
    findings = []
    for d, of_learner, of_loop in zip(grid[1:], learner[1:], loop[1:], strict=True):
        findings += [
            Finding(f"learner, {_power(d)}", f"seconds per row, over {narrow}", quotients(of_learner, learner[0])),
            Finding(f"loop, {_power(d)}", "the same, no learning", quotients(of_loop, loop[0])),
        ]
    growth = quotients(quotients(learner[-1], learner[0]), quotients(loop[-1], loop[0]))
    extra = quotients(np.subtract(learner[-1], learner[0]).tolist(), np.subtract(loop[-1], loop[0]).tolist())
    few = quotients(seconds["learner, few columns"].wall, learner[0])
    few_loop = quotients(seconds["loop, few columns"].wall, loop[0])
    findings += [
        Finding("learner's growth / loop's", f"growth from {narrow} to {wide}", growth, CACHES_EXPLAIN_GROWTH),
        Finding("learner's extra / loop's", "seconds per row added on the way", extra, CACHES_EXPLAIN_EXTRA),
        Finding("learner, few columns", f"{grid[0]:,} of {wide}; over {narrow}", few, ONE),
        Finding("loop, few columns", "the same, no learning", few_loop),
    ]
    about = f"{rows:,} CSR rows of {sizes.sparse_nonzeros} non-zeros, {narrow} to {wide} columns."
    return Section("Growth with columns", about, "times", contenders, seconds, findings)


def _matrices(
    rows: int, grid: Sequence[int], nonzeros: int
) -> tuple[dict[int, csr_matrix], list[csr_matrix], NDArray[np.int64]]:
    """Rows for each number of columns, with the same values; rows within few of the most columns; labels."""
    rng = np.random.default_rng([SEED, rows])
    values = rng.standard_normal(rows * nonzeros)
    indptr = np.arange(rows + 1, dtype=np.int32) * np.int32(nonzeros)
    at = {columns: spread_columns(rng, rows, columns, nonzeros).ravel() for columns in grid}
    matrices = {columns: csr_matrix((values, where, indptr), (rows, columns)) for columns, where in at.items()}
    starts = rng.integers(0, grid[-1] - grid[0], size=PLACES, dtype=np.int32)
    local = [csr_matrix((values, at[grid[0]] + start, indptr), (rows, grid[-1])) for start in starts]
    return matrices, local, lying_labels(rng, rng.standard_normal(rows))
