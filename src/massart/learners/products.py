"""Products of columns for two classes: a pool on the columns beside one on columns and their products, mixed.

With few columns, data that is not linear in them may be so in their products by pairs. The second pool learns rows of
columns that are standardised with the rows before, and of their products (kernels/learning/softmax.py), as learners of
more classes do. The two are mixed as experts of a pool are (kernels/learning/mixture.py): if products do not help, the
answers are hardly worse than those of the pool without them (docs/theory.md, 7.4), on which the certificate rests.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels.door import FiniteRows, Rows, check_outputs, row_of
from massart.kernels.learning import mixture
from massart.kernels.learning import pool as kernel
from massart.kernels.learning.class_pool import FEW
from massart.kernels.learning.softmax import product_rows
from massart.kernels.states import check_two
from massart.learners.base import check_columns, check_wider
from massart.learners.locking import locked
from massart.learners.pair import PoolPair, new_totals, second_seed
from massart.learners.pool import Grid, Pool
from massart.options import LearnerOptions

__all__ = ["MOST_COLUMNS", "Products", "check_few", "count_products"]

MOST_COLUMNS = FEW  # of which there are products
_ENTRIES = 1 << 17  # of a block of rows with products
_NO_WEIGHT = np.empty(0)


def count_products(n_features: int) -> int:
    """The columns of a row with products: itself, and one for each pair, squares included.

    >>> count_products(2), count_products(64)
    (5, 2144)
    """
    return n_features + n_features * (n_features + 1) // 2


def check_few(n_features: int) -> None:
    """Refuse products of many columns.

    >>> check_few(65)
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: `products=True` is for 1 to 64 columns, and these are 65 (columns of text ...
    """
    if not 1 <= check_columns(n_features) <= MOST_COLUMNS:
        raise InvalidParameterError(
            f"`products=True` is for 1 to {MOST_COLUMNS} columns, and these are {n_features} (columns of text are "
            "hashed to many): leave it out, or choose columns"
        )


class Products(PoolPair):
    """`Pool` twice: one on the columns, one on columns and their products by pairs.

    >>> learner = Products(2)
    >>> X = np.random.default_rng(0).normal(size=(4000, 2))
    >>> scores = learner.learn_many(X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1))
    >>> learner.rounds, learner.mistakes < 400 < learner.plain.mistakes
    (4000, True)
    """

    _parts = ("plain", "products")

    def __init__(
        self,
        n_features: int,
        options: LearnerOptions = LearnerOptions(),  # noqa: B008 - frozen
        *,
        grid: Grid | None = None,
        **changes: Any,
    ) -> None:
        options = options.replace(**changes) if changes else options
        check_few(n_features)
        totals = new_totals()
        totals[[mixture.Total.TOTAL, mixture.Total.TOTAL_THEN]] = 2.0
        members = np.zeros((len(mixture.Member), 2))
        members[[mixture.Member.SHARE, mixture.Member.VOICE]] = 1.0
        plain = Pool(n_features, options, grid=grid)
        crossed = Pool(count_products(n_features), options, grid=grid, seed=second_seed(options.seed))
        self._set_pools(plain, crossed, totals)
        self._set_own(members, np.zeros((2, n_features)), np.zeros(1))

    def _set_own(self, members: NDArray[Any], spreads: NDArray[Any], seen: NDArray[Any]) -> None:
        self._M = members  # (MEMBER_SIZE, 2) mistakes, shares and sizes of scores of the two pools
        self._spreads = spreads  # (2, n_features) means and sums of squared differences of the columns
        self._seen = seen  # (1,) the sum of weights

    @property
    def plain(self) -> Pool:
        """The pool without products."""
        return self._first

    @property
    def crossed(self) -> Pool:
        """The pool with products."""
        return self._second

    @property
    def _bias(self) -> float:
        return float(self._first._how[kernel.Setting.BIAS])

    def _learn(self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any) -> None:
        rows = rows.check()
        taken = np.arange(rows.count, dtype=np.uint64) if order is None else order
        check_outputs(scores, taken.size, self._no_average, self._no_average)  # the first pool checks the average
        first, second = np.empty(taken.size), np.empty(taken.size)
        self._first.learn_rows(rows, y, weight, order, average, first)  # refuses what is not valid
        for block, place in self._dense_blocks(rows, taken):
            pick = taken[place].astype(np.int64)
            own = np.ascontiguousarray(weight[pick]) if weight.size else weight
            made = self._with_products(block, own, learning=True)
            self._second.learn_rows(made, np.ascontiguousarray(y[pick]), own, scores=second[place])
        answers = scores if scores.size else np.empty(taken.size)
        batch, classes = (taken.size, taken, y, weight), np.array(self.class_weight)
        voting = float(self._first._how[kernel.Setting.VOTING])
        mixture.mix_two(first, second, batch, classes, voting, self._seed(), self._M, self._t, answers)

    def _dense_blocks(self, rows: FiniteRows, taken: NDArray[np.uint64]) -> Iterator[tuple[NDArray[Any], slice]]:
        """The rows of an order as dense blocks, and their places in it."""
        size = max(1, _ENTRIES // self._second.n_features)
        for start in range(0, taken.size, size):
            place = slice(start, min(start + size, taken.size))
            yield rows.as_dense(taken[place]), place

    def _with_products(self, block: NDArray[np.float64], weight: NDArray[np.float64], *, learning: bool) -> FiniteRows:
        """Rows with products; with `learning`, each counts in the means and deviations of those after it."""
        found = np.empty((len(block), self._second.n_features))
        spreads, seen = (self._spreads, self._seen) if learning else (self._spreads.copy(), self._seen.copy())
        product_rows(block, weight, self._bias, learning, spreads, seen, found)
        return Rows.of(found).check()

    @locked
    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """(count,) the score of the vote of both pools for every row; nothing changes."""
        rows = rows.check()
        rows.check_width(self.n_features)
        voices, total = self._M[mixture.Member.VOICE], self._t[mixture.Total.TOTAL]
        first, second = (np.ascontiguousarray(pool.leaders()[0]) for pool in (self._first, self._second))
        found = voices[0] * rows.score(first)
        for block, place in self._dense_blocks(rows, np.arange(rows.count, dtype=np.uint64)):
            found[place] += voices[1] * self._with_products(block, _NO_WEIGHT, learning=False).score(second)
        return np.asarray(found / total)

    def score(self, x: NDArray[Any]) -> float:
        """The score of the vote for one row."""
        return float(self.scores(Rows.of(row_of(x, self.n_features)[None, :], scaled=self._scaled))[0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the vote of the pool without products; the score is not linear in the columns."""
        return self._first.weights

    def shares(self) -> dict[str, float]:
        """The weight of each expert of both pools, the largest first; they add up to 1."""
        shares = self._M[mixture.Member.SHARE] / self._M[mixture.Member.SHARE].sum()
        named = {name: shares[0] * share for name, share in self._first.shares().items()}
        named |= {f"products: {name}": shares[1] * share for name, share in self._second.shares().items()}
        return {name: float(share) for name, share in sorted(named.items(), key=lambda pair: -pair[1])}

    @locked
    def mix_as(self, other: Self) -> None:
        """Weigh the two pools as another learner does."""
        self._M, self._t = other._M.copy(), other._t.copy()

    def widen(self, n_features: int) -> None:
        """Refused, but for as many columns as there are: their products are columns, too."""
        check_wider(n_features, self.n_features)
        if n_features != self.n_features:
            raise InvalidParameterError(
                f"n_features={n_features}: a learner with products of {self.n_features} columns takes no more of them"
            )

    def narrow(self, n_features: int) -> None:
        """Refused, but for as many columns as there are."""
        if n_features != self.n_features:
            raise InvalidParameterError(
                f"n_features={n_features}: a learner with products of {self.n_features} columns takes no fewer of them"
            )

    def _own_arrays(self) -> dict[str, Any]:
        return {"totals": self._t, "members": self._M, "spreads": self._spreads, "seen": self._seen}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The learner whose `arrays()` these are."""
        plain, crossed = cls._pools_of(arrays)
        d = plain.n_features
        if not 1 <= d <= MOST_COLUMNS or crossed.n_features != count_products(d):
            raise ModelFileError("the arrays are not those of a pool on few columns and one on their products")
        check_two(arrays, d)
        learner = cls.__new__(cls)
        learner._set_pools(plain, crossed, arrays["totals"])
        learner._set_own(arrays["members"], arrays["spreads"], arrays["seen"])
        return learner

    def _copy_to(self, twin: Self) -> None:
        twin._set_own(self._M.copy(), self._spreads.copy(), self._seen.copy())
