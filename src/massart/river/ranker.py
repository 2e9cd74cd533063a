"""MonotoneRanker as a ranker of river: users, items, and what users did with them."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from river.reco.base import Ranker
from scipy.sparse import csr_matrix

from massart.data.hashing import name_hash
from massart.errors import InvalidDataError, InvalidParameterError, shown
from massart.learners.ranker import MonotoneRanker as Monotone

__all__ = ["MonotoneRanker"]

_MOST_USERS: Final = 1 << 16  # whose last items are remembered
_REMEMBERED: Final = 8  # items of each


class MonotoneRanker(Ranker):
    """Ranks items for users, from rewards whose order alone counts: `massart.MonotoneRanker` for river.

    Only comparisons within a user are learned, so users who give high grades and users who give low ones count alike.
    A score is linear in the item, the features of `x` and both crossed with the user, hashed to 2**`hash_bits` columns.
    `x` are features of the item for this user: a dict whose texts are categories.

    `learn_one` learns an item together with the last eight that this user rewarded otherwise. Where all items of a
    round are seen at once, `learn_round` learns them together.

    Parameters
    ----------
    reward_range
        Lowest and highest reward; truth values are 0 and 1.
    hash_bits
        The number of columns is 2**hash_bits.
    seed
        Random seed.

    Examples
    --------
    >>> from massart.river import MonotoneRanker
    >>> ranker = MonotoneRanker(seed=0)
    >>> for _ in range(30):
    ...     ranker.learn_round("Anna", {"sport": 1.0, "news": 0.0, "arts": 0.0})
    ...     ranker.learn_round("Tom", {"sport": 0.0, "news": 1.0, "arts": 0.0})
    >>> ranker.rank("Anna", {"sport", "news", "arts"})[0], ranker.rank("Tom", {"sport", "news", "arts"})[0]
    ('sport', 'news')
    """

    def __init__(
        self, reward_range: tuple[float, float] = (0.0, 1.0), hash_bits: int = 14, seed: int | None = None
    ) -> None:
        super().__init__(seed=seed)
        if not isinstance(hash_bits, int) or not 4 <= hash_bits <= 22:
            raise InvalidParameterError(f"hash_bits={shown(hash_bits)}: give a whole number from 4 to 22")
        self.reward_range = reward_range
        self.hash_bits = hash_bits
        self._ranker = Monotone(reward_range=reward_range, random_state=seed)
        self._last: dict[Any, list[tuple[dict[int, float], float]]] = {}  # of each user: rows with rewards

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}

    @property
    def is_contextual(self) -> bool:
        """Whether `x` has a part in it."""
        return True

    def learn_one(self, user: Any, item: Any, y: Any, x: dict[Any, Any] | None = None) -> None:
        """Learn that a user gave a reward to an item."""
        row, reward = self._row(user, item, x), self._reward(y)
        before = self._last.pop(user, [])
        others = [(other, seen) for other, seen in before if seen != reward]
        if others:
            rows = [row, *(other for other, _ in others)]
            self._ranker.learn(self._matrix(rows), [reward, *(seen for _, seen in others)])
        if len(self._last) >= _MOST_USERS:
            del self._last[next(iter(self._last))]
        self._last[user] = [*((other, seen) for other, seen in before if other != row), (row, reward)][-_REMEMBERED:]

    def learn_round(self, user: Any, rewards: dict[Any, Any], x: dict[Any, dict[Any, Any]] | None = None) -> None:
        """Learn the rewards of several items that a user saw at once; `x` has features by item."""
        if len(rewards) < 2:
            raise InvalidDataError(f"rewards has {len(rewards)} items: give two or more, with their rewards")
        rows = [self._row(user, item, (x or {}).get(item)) for item in rewards]
        self._ranker.learn(self._matrix(rows), [self._reward(reward) for reward in rewards.values()])

    def predict_one(self, user: Any, item: Any, x: dict[Any, Any] | None = None) -> Any:
        """The score of an item for a user: of use only beside those of other items for the same user."""
        row = self._row(user, item, x)
        if self._ranker.rounds == 0:
            return 0.0
        return float(self._ranker.score(self._matrix([row]))[0])

    def rank(self, user: Any, items: Any, x: dict[Any, Any] | None = None) -> list[Any]:
        """Items, the best first; items of equal score in the order of their texts."""
        ordered = sorted(items, key=str)
        if self._ranker.rounds == 0 or not ordered:
            return ordered
        scores = self._ranker.score(self._matrix([self._row(user, item, x) for item in ordered]))
        return [ordered[place] for place in np.argsort(-scores, kind="stable")]

    def _reward(self, y: Any) -> float:
        try:
            return float(y)
        except (TypeError, ValueError):
            raise InvalidDataError(f"y is {shown(y)}: give a number or a truth value") from None

    def _row(self, user: Any, item: Any, x: dict[Any, Any] | None) -> dict[int, float]:
        """Features by column: of the item and of `x`, alone and crossed with the user."""
        features = {f"item={item}": 1.0}
        for name, value in (x or {}).items():
            if value is None:
                continue
            if isinstance(value, str):
                features[f"{name}={value}"] = 1.0
                continue
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                number = np.inf
            if not abs(number) <= 1e50:
                raise InvalidDataError(
                    f"the feature {shown(name)} is {shown(value)}: give a number of usual size, or a text"
                )
            features[str(name)] = number
        seed, mask = name_hash(f"user={user}"), (1 << self.hash_bits) - 1
        found: dict[int, float] = {}
        for name, number in features.items():
            for column in (name_hash(f"={name}") & mask, name_hash(f"*{name}", seed) & mask):
                found[column] = found.get(column, 0.0) + number
        return found

    def _matrix(self, rows: list[dict[int, float]]) -> csr_matrix:
        starts = np.cumsum([0, *map(len, rows)])
        columns = [sorted(row) for row in rows]
        values = [row[column] for row, order in zip(rows, columns, strict=True) for column in order]
        numbers = [column for order in columns for column in order]
        return csr_matrix((values, numbers, starts), shape=(len(rows), 1 << self.hash_bits))

    @property
    def ranker(self) -> Monotone:
        """The ranker that learns: for `guaranteed_lift`, `weights` and `massart.save`."""
        return self._ranker
