"""Exact line searches on the number of mistakes, along one coordinate after another.

Noise below one half moves the minimiser of every convex loss, but not that of the mistakes. In n dimensions those
cannot be minimised in any reasonable time; along a line they can, by sorting.
"""

from math import sqrt
from typing import Any

import numpy as np

from massart.kernels.compiling import Floats, Integers, njit


@njit(cache=True, error_model="numpy")
def _best_step(x: Floats, s: Floats, y: Floats, c: Floats, heavy: Floats, doubt: float) -> float:
    """The step a for which s + a x makes the fewest mistakes (weights c), or 0 if they could be fewer by chance.

    Row i changes sides at a_i = -s_i / x_i. Fewer mistakes by `gain` are no chance if gain > doubt * sqrt(sum heavy^2),
    the sum over the rows that change sides: without a real gain, each of them is as likely a loss, and of the weight
    `heavy` if its label is the heavier one.
    """
    turns = np.where((s == 0.0) & (x > 0.0), -1e-300, -s / x)  # a score of 0 means +1
    order = np.argsort(turns)
    turns = turns[order]
    n = turns.size
    here = np.searchsorted(turns, 0.0)
    best, step = 0.0, 0.0
    for direction in (1, -1):
        gain, changed = 0.0, 0.0
        k = here if direction > 0 else here - 1
        while k + (direction > 0) > 0 and 0 <= k < n:
            i = order[k]
            # From left to right a row comes to the side of its x; it is right there if x and y agree.
            gain += c[i] * (1.0 if (x[i] * y[i] > 0.0) == (direction > 0) else -1.0)
            changed += heavy[i] * heavy[i]
            after = k + 1 if direction > 0 else k - 1
            there = turns[after] if 0 <= after < n else np.inf  # not finite either if x is 0
            if there != turns[k] and abs(there) < np.inf and gain > best and gain > doubt * sqrt(changed):
                best, step = gain, 0.5 * (turns[k] + there)
            k = after
    return step


@njit(cache=True, error_model="numpy")
def scores_of(columns: tuple[Floats, Integers, Integers], w: Floats, count: int) -> Any:
    """The scores of `count` rows, column after column; `columns` is CSC as in `polish`."""
    data, indices, indptr = columns
    scores = np.zeros(count)
    for j in range(w.size):
        for p in range(indptr[j], indptr[j + 1]):
            scores[indices[p]] += data[p] * w[j]
    return scores


@njit(cache=True, error_model="numpy")
def polish(
    columns: tuple[Floats, Integers, Integers], y: Floats, c: Floats, heavy: Floats, s: Floats, w: Floats,
    doubt: float, sweeps: int,
) -> int:  # fmt: skip
    """Change w, and the scores s of the rows with it, where that makes fewer mistakes; return how often it did.

    `columns` is CSC (data, indices, indptr), one per entry of w; y is -1 or +1, c the rows' weights, `heavy` what
    these could have been with either label.
    """
    data, indices, indptr = columns
    changes = 0
    for _ in range(sweeps):
        for j in range(w.size):
            rows, x = indices[indptr[j] : indptr[j + 1]], data[indptr[j] : indptr[j + 1]]
            step = _best_step(x, s[rows], y[rows], c[rows], heavy[rows], doubt) if rows.size > 1 else 0.0
            if step != 0.0:
                changes += 1
                w[j] += step
                for k in range(rows.size):
                    s[rows[k]] += step * x[k]
    return changes
