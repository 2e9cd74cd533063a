"""Mixtures of the pool's experts for few features: AROW with the full matrix, and logistic descent on centred features.

kernels/learning/few_features.py says what F and C are; merging.py what is mixed, and when.
"""

from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import mixture, pool
from massart.kernels.learning.mixture import Total
from massart.kernels.learning.rows import mixed as product

__all__ = ["few_changes", "mixed_few"]

_CENTRED_PACES: Final = (3.0, 1.0, 0.3)
_LARGEST_SPREAD: Final = 1e300
_LITTLE: Final = 1e-9


def few_changes(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What has changed in the arrays of a pool, in numbers that add up."""
    return _matrix_changes(then["full"], now["full"]) | _moments(then, now)


def _matrix_changes(then: NDArray[np.float64], now: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """AROW's information and its product with the mean; zeros if the matrix was lost to rounding on the way."""
    before, after = _matrix_information(then), _matrix_information(now)
    old, new = then[:-1].diagonal(), now[:-1].diagonal()
    lost = bool(((new > old * (1.0 + _LITTLE)) & (old > 0.0)).any() or ((new == 0.0) & (old > 0.0)).any())
    if before is None or after is None or lost:
        size = then.shape[1]
        return {"information": np.zeros((size, size)), "pointed": np.zeros(size)}
    return {"information": after[0] - before[0], "pointed": after[1] - before[1]}


def _matrix_information(full: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """(inverse of the matrix, that times the mean); features that did not occur have no information."""
    seen = np.flatnonzero(full[:-1].diagonal() > 0.0)
    found = np.zeros((full.shape[1], full.shape[1]))
    if seen.size:
        inverse = _inverted(full[np.ix_(seen, seen)])
        if inverse is None:
            return None
        found[np.ix_(seen, seen)] = inverse
    return found, np.asarray(product(found, np.ascontiguousarray(full[-1])))


def _inverted(matrix: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The inverse of a positive definite matrix by elimination, the same on every processor; None if it is not one."""
    diagonal = matrix.diagonal()
    if not (diagonal > 0.0).all():
        return None
    units = np.sqrt(diagonal)
    size = len(matrix)
    work = np.concatenate([matrix / units[:, None] / units[None, :], np.eye(size)], axis=1)
    for j in range(size):
        pivot = work[j, j]
        if not pivot > 1e-12:
            return None
        row = work[j] / pivot
        work -= work[:, j : j + 1] * row[None, :]
        work[j] = row
    found = work[:, size:] / units[:, None] / units[None, :]
    return np.asarray(0.5 * (found + found.T)) if np.isfinite(found).all() else None


def _moments(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Sums of x - m and (x - m)^2 over the rows, m the mean of the base, and the changes of the centred weights."""
    first = then["centred"][pool.MEAN]
    weight = float(now["totals"][Total.WEIGHT])
    away = now["centred"][pool.MEAN] - first
    squares = now["centred"][pool.DEVIATION] + weight * np.square(away) - then["centred"][pool.DEVIATION]
    weights = now["centred"][pool.DEVIATION + 1 :] - then["centred"][pool.DEVIATION + 1 :]
    return {"away": weight * away, "squares": squares, "centred": weights}


def mixed_few(
    old: dict[str, Any], extra: dict[str, Any], count: int, t: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """The full matrix and the centred experts."""
    centred, weight = old["centred"].copy(), float(t[Total.WEIGHT])
    away = extra["away"] / max(weight, mixture.LEAST)
    centred[pool.MEAN] += away
    spread = centred[pool.DEVIATION] + extra["squares"] - weight * np.square(away)
    centred[pool.DEVIATION] = np.clip(spread, 0.0, _LARGEST_SPREAD)
    size = centred.shape[1]
    for k in range(len(extra["centred"])):
        pull = 0.5 * (_CENTRED_PACES[k] if k < len(_CENTRED_PACES) else 1.0) / sqrt(size)
        factor = (1.0 + pull * extra["roots"] / count) / (1.0 + pull * extra["roots"])
        centred[pool.DEVIATION + 1 + k] += factor * extra["centred"][k]
    return {"full": _mixed_matrix(old["full"], extra), "centred": centred}


def _mixed_matrix(full: NDArray[np.float64], extra: dict[str, Any]) -> NDArray[np.float64]:
    base = _matrix_information(full)
    if base is None:
        return full.copy()
    information, pointed = base[0] + extra["information"], base[1] + extra["pointed"]
    seen = np.flatnonzero(information.diagonal() > 0.0)
    inverse = _inverted(information[np.ix_(seen, seen)]) if seen.size else None
    if inverse is None:
        return full.copy()
    found = np.zeros(full.shape)
    found[np.ix_(seen, seen)] = inverse
    found[-1, seen] = product(np.ascontiguousarray(inverse), np.ascontiguousarray(pointed[seen]))
    return found
