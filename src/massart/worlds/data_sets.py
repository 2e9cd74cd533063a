"""Labelled data sets as worlds that a sweep can make anew for each seed, in any process."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.base import World
from massart.worlds.data import NOISES, from_data, one_label_per_row, scaled_rows, standard_columns
from massart.worlds.rewards.base import RewardWorld
from massart.worlds.rewards.labelled import CONVERSIONS, from_items, from_supervised
from massart.worlds.stream import Seed, Vector

__all__ = ["DATA_NOISES", "LABELS", "REWARD_CONVERSIONS", "DataSet", "describe_data_set"]

LABELS: Final = "labels"
_ITEMS: Final = ("items", "simpson-items")
REWARD_CONVERSIONS: Final = (*CONVERSIONS, *_ITEMS)
DATA_NOISES: Final = NOISES[:3]  # those that need no group
MOST_FEATURES: Final = 3000  # of an arm: policies keep matrices of that many rows and columns
_ARMS: Final = "Rows of a data file: an arm for each class"
_SENTENCES: Final = {
    LABELS: "Rows of a data file with two classes, their labels flipped at a rate of at most the noise rate.",
    "clean": f"{_ARMS}, reward 1 for the row's own class and 0 for the others.",
    "noisy": f"{_ARMS}, reward 1 for the row's own, flipped with a probability of up to .3 that depends on the row.",
    "drifting-level": f"{_ARMS}; the row's own earns .4 more, on a level from 0 to .6 and back in 2,000 rounds.",
    "level-by-context": f"{_ARMS}; the row's own earns .4 more, on a level between 0 and .6 that depends on the row.",
    "items": "Each arm is a row of a data file; the higher its class, the higher its expected reward.",
    "simpson-items": "Each arm is a row of a data file; within a round better classes earn more, and rounds of "
    "better-looking rows earn less.",
}


def describe_data_set(name: str) -> str | None:
    """What the world of a data set does, by the name that its rows have; None for other names.

    >>> describe_data_set("vehicle:clean")
    "Rows of a data file: an arm for each class, reward 1 for the row's own class and 0 for the others."
    """
    stem, _, conversion = name.rpartition(":")
    return _SENTENCES.get(conversion) if stem else None


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """A labelled data set and what its rounds are, for `massart.arena.sweep`.

    `conversion` is "labels" for rows with two classes, whose labels are flipped as `from_data` says (`noise`,
    `noise_rate`); one of those of `from_supervised` for classes as arms; "items" or "simpson-items" for rows as arms,
    `arms` of them in a round, as in `from_items`. Columns are standardised and, but for items, get a column of ones,
    unless `raw`; items are standardised always.

    >>> rows = np.array([[3.0, 4.0], [0.0, -5.0], [5.0, 0.0]])
    >>> world = DataSet("directions", rows, ["up", "down", "right"], "noisy").make(seed=0)
    >>> world.name, world.arms, world.dimension
    ('directions:noisy', 3, 9)
    """

    name: str
    X: npt.ArrayLike
    y: npt.ArrayLike
    conversion: str = LABELS
    raw: bool = False
    arms: int = 5
    noise: str = "uniform"
    noise_rate: float = 0.0
    _target: Vector | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        known = (LABELS, *REWARD_CONVERSIONS)
        if self.conversion not in known:
            raise InvalidParameterError(f"conversion must be one of {', '.join(known)}, got {self.conversion!r}")
        if self.raw and self.conversion in _ITEMS:
            raise InvalidParameterError(f"raw: the columns of {self.conversion} are standardised always")
        rows = scaled_rows(self.X)
        labels = one_label_per_row(self.y, len(rows))
        self._set(X=np.array(self.X, dtype=np.float64), y=labels)
        classes = len(np.unique(labels))
        if classes < 2:
            raise InvalidDataError(f"{self.name}: all {len(rows):,} rows have the same label, {labels[0]}")
        if self.conversion == LABELS:
            if classes > 2:
                raise InvalidDataError(
                    f"{self.name} has {classes} classes, and these learners know two: race policies on it, with its "
                    "classes as arms (`bandit`)"
                )
            if not self.raw:
                self._set(X=scaled_rows(standard_columns(rows, ones=True)))
            # Once for all seeds: the digits of a fitted boundary depend on the number of threads.
            self._set(_target=self._labelled(0, None).target)
        elif self.conversion in CONVERSIONS:
            features = classes * (rows.shape[1] + (not self.raw))
            if features > MOST_FEATURES:
                raise InvalidDataError(
                    f"{self.name}: {classes} classes with {rows.shape[1]} columns make arms of "
                    f"{features:,} features, more than {MOST_FEATURES:,}: leave columns out, or use its rows as items"
                )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def world_name(self) -> str:
        """What rows call it.

        >>> DataSet("iris", np.eye(3), [0, 1, 2], "items").world_name
        'iris:items'
        """
        return f"{self.name}:{self.conversion}"

    @property
    def rows(self) -> int | None:
        """How many rounds show each row once; None of items, which are drawn."""
        return None if self.conversion in _ITEMS else len(np.asarray(self.X))

    def make(self, seed: Seed) -> World | RewardWorld:
        """The world of a seed."""
        world: World | RewardWorld
        if self.conversion == LABELS:
            world = self._labelled(seed, self._target)
        elif self.conversion in _ITEMS:
            simpson = self.conversion != _ITEMS[0]
            world = from_items(self.X, self.y, arms=self.arms, simpson=simpson, seed=seed)
        else:
            how: Any = {"conversion": self.conversion, "standardise": not self.raw}
            world = from_supervised(self.X, self.y, **how, seed=seed)
        vars(world)["name"] = self.world_name  # of this data set, where the class has one for all
        return world

    def _labelled(self, seed: Seed, target: Vector | None) -> World:
        return from_data(self.X, self.y, noise=self.noise, noise_rate=self.noise_rate, target=target, seed=seed)

    def identity(self) -> Mapping[str, Any]:
        """What a journal knows it by: its options, and a digest of its rows and labels."""
        digest = hashlib.sha256(np.asarray(self.X).tobytes())
        digest.update(repr(np.asarray(self.y).tolist()).encode())
        options = {"raw": self.raw, "arms": self.arms, "noise": self.noise, "noise_rate": self.noise_rate}
        return {"name": self.world_name, **options, "sha256": digest.hexdigest()}
