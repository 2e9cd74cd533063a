"""Streams of two classes whose target moves, for the accuracy benchmark: five generators of river, and a market.

Blocks are concepts one after the other, abruptly or over about 5,000 rows in which rows of the old and of the new one
alternate at random. The market is like Elec2 (Harries 1999), which river downloads: half-hourly prices and demands, the
label is whether the price is above its mean over the last day, and what drives the price changes with the season.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS, MARKET_ROWS, WIDTH = 50_000, 45_312, 5_000
_DAY = 48  # half-hours

Rows = tuple[NDArray[np.float64], NDArray[np.bool_]]


def _take(generator: Any, rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    taken = list(islice(iter(generator), rows))
    return np.array([list(map(float, x.values())) for x, _ in taken]), np.array([y for _, y in taken])


def _blocks(make: Callable[[int], Any], concepts: Sequence[int], seed: int, width: int) -> tuple[Any, Any]:
    """One concept after the other; around each change, over about `width` rows, either of the two at random."""
    rng = np.random.default_rng([seed, 1])
    each = [_take(make(concept), ROWS) for concept in concepts]
    t, which = np.arange(ROWS), np.zeros(ROWS, dtype=int)
    for i in range(1, len(concepts)):
        past = t - i * (ROWS // len(concepts))
        chance = 1.0 / (1.0 + np.exp(-4.0 * past / width)) if width else (past >= 0).astype(float)
        which = np.where((rng.random(ROWS) < chance) & (which == i - 1), i, which)
    return np.stack([X for X, _ in each])[which, t], np.stack([y for _, y in each])[which, t]


def _sea(seed: int, width: int) -> Rows:
    from river.datasets import synth

    return _blocks(lambda variant: synth.SEA(variant=variant, noise=0.1, seed=seed), (0, 3, 1, 2), seed, width)


def _agrawal(seed: int, width: int) -> Rows:
    from river.datasets import synth

    functions = (2, 7, 4, 1) if width else (0, 3, 6, 8)
    return _blocks(
        lambda function: synth.Agrawal(classification_function=function, perturbation=0.05, seed=seed),
        functions, seed, width,
    )  # fmt: skip


def _led(seed: int, width: int) -> Rows:
    """Whether the digit is 5 or more; segments change places with columns that mean nothing."""
    from river.datasets import synth

    X, digits = _blocks(
        lambda moved: synth.LEDDrift(
            seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=moved
        ),
        (0, 3, 5, 7), seed, width,
    )  # fmt: skip
    return X, digits >= 5


def _hyperplane(seed: int, speed: float) -> Rows:
    from river.datasets import synth

    return _take(
        synth.Hyperplane(
            seed=seed, n_features=10, n_drift_features=10, mag_change=speed, noise_percentage=0.05, sigma=0.1
        ),
        ROWS,
    )


def _rbf(seed: int, speed: float) -> Rows:
    from river.datasets import synth

    return _take(
        synth.RandomRBFDrift(
            seed_model=seed, seed_sample=seed, n_classes=2, n_features=10, n_centroids=20, change_speed=speed,
            n_drift_centroids=20,
        ),
        ROWS,
    )  # fmt: skip


def _market(seed: int) -> Rows:
    rng, t = np.random.default_rng([seed, 2]), np.arange(MARKET_ROWS)

    def wander(keep: float, size: float) -> NDArray[np.float64]:
        found, steps = np.zeros(MARKET_ROWS), rng.normal(size=MARKET_ROWS) * size
        for i in range(1, MARKET_ROWS):
            found[i] = keep * found[i - 1] + steps[i]
        return found

    day, season, late = 2 * np.pi * t / _DAY, np.sin(2 * np.pi * t / (_DAY * 180)), t > MARKET_ROWS // 2
    demand = 0.45 + 0.12 * np.sin(day - 1.8) * (1 + 0.4 * season) + 0.06 * np.sin(2 * day) + wander(0.97, 0.012)
    demand -= 0.05 * (t // _DAY % 7 >= 5)
    other = 0.42 + 0.1 * np.sin(day - 1.6) * (1 - 0.3 * season) + wander(0.96, 0.013)
    gain = 1 + 0.8 * np.sin(2 * np.pi * t / (_DAY * 300) + 1)
    price = 0.06 + 0.12 * gain * (demand - 0.45) + 0.04 * (other - 0.42) * late + wander(0.9, 0.008)
    price += 0.05 * (rng.random(MARKET_ROWS) < 0.01)
    other_price = np.where(late, 0.06 * price + 0.02 * (other - 0.42) + rng.normal(size=MARKET_ROWS) * 0.002, 0.003)
    transfer = np.where(late, 0.4 + 0.3 * (demand - other) + rng.normal(size=MARKET_ROWS) * 0.05, 0.41)
    sums = np.concatenate(([0.0], np.cumsum(price)))
    above = price[_DAY:] > (sums[_DAY:-1] - sums[: -_DAY - 1]) / _DAY
    columns = (
        t / MARKET_ROWS, t // _DAY % 7 + 1, t % _DAY / (_DAY - 1), price, demand, other_price, other, transfer
    )  # fmt: skip
    return np.stack(columns, axis=1)[_DAY:], above


_STREAMS: dict[str, Callable[[int], Rows]] = {
    "sea-abrupt": lambda seed: _sea(seed, 0),
    "sea-gradual": lambda seed: _sea(seed, WIDTH),
    "agrawal-abrupt": lambda seed: _agrawal(seed, 0),
    "agrawal-gradual": lambda seed: _agrawal(seed, WIDTH),
    "led-abrupt": lambda seed: _led(seed, 0),
    "led-gradual": lambda seed: _led(seed, WIDTH),
    "hyperplane-slow": lambda seed: _hyperplane(seed, 0.001),
    "hyperplane-fast": lambda seed: _hyperplane(seed, 0.01),
    "rbf-slow": lambda seed: _rbf(seed, 0.0001),
    "rbf-fast": lambda seed: _rbf(seed, 0.001),
    "market": _market,
}
NAMES = tuple(_STREAMS)


def rows_of(name: str, seed: int) -> Rows:
    """(rows, labels) of a stream by its name."""
    X, y = _STREAMS[name](seed)
    return X, np.asarray(y, dtype=bool)
