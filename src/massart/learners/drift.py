"""A target that moves: a pool that keeps all rounds beside one that forgets, mixed by Prod with a default.

Forgetting is weighting: in the forgetting pool the row of round t weighs exp(t / horizon) times its own weight, so a
row counts 1/e as much as one that came `horizon` rounds later. The bounds of the pool's learners hold for weighted
rows, so it is the recent mistakes that are bounded. The default is the pool that keeps all rounds: if nothing moves,
forgetting costs a logarithm (Theorem 7 of docs/theory.md).
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels.door import Rows, check_outputs
from massart.kernels.learning import mixture
from massart.kernels.learning import pool as kernel
from massart.kernels.learning.elementary import exp, exp_all
from massart.kernels.states import check_arrays, check_pair
from massart.learners.locking import locked
from massart.learners.pair import PoolPair, new_totals, second_seed
from massart.learners.pool import Grid, Pool
from massart.options import LONGEST_HORIZON, LearnerOptions

_SPAN = 20  # horizons after which weights begin again at 1: exp(20) is far from overflow
_LEAST_CAP = 1e-100  # that of rows of weight and length 1e-50, the smallest there are
# What grows with the weights of the rows.
_TOTALS = (
    *("WEIGHT", "HEAVIEST", "WRONG", "EXPECTED", "DRAWN", "VOTED"),
    *("GAP", "DRAWN_THEN", "BEST_THEN", "DOUBT", "HEARD", "FIRST", "POSITIVES"),
)


def fade(pool: Pool, factor: float) -> None:
    """Make all rows learned so far weigh `factor` times what they did."""
    t, S = pool._t, pool._S
    t[[mixture.Total[name] for name in _TOTALS]] *= factor
    t[[mixture.Total.WEIGHT2, mixture.Total.COINS]] *= factor * factor
    pool._M[mixture.Member.LOSS] *= factor
    if t[mixture.Total.GAP] > mixture.LEAST:
        t[mixture.Total.RATE] /= factor
        t[mixture.Total.KEEP] = exp(-t[mixture.Total.RATE])
    else:  # nothing that distinguishes experts was seen for so long that it is as good as never
        mixture.share(pool._M, t, pool._M.shape[1], 0.0)
    plain = slice(kernel.DIAGONAL, None)
    for row in (kernel.Column.CAP, kernel.Column.LINEAR, kernel.Column.INVERSE):
        S[row, plain] *= factor
    for row in (kernel.Column.SQUARES, kernel.Column.NORM2, kernel.Column.SPREAD):
        S[row, plain] *= factor * factor
    # Rows that are all zeros do not raise it.
    S[kernel.Column.CAP, plain] = np.maximum(S[kernel.Column.CAP, plain], _LEAST_CAP)
    gradients = 2.0 * (np.square(S[kernel.Column.CAP, plain]) + S[kernel.Column.SQUARES, plain])
    S[kernel.Column.SCALE, plain] = 1.0 / np.sqrt(np.maximum(gradients, S[kernel.Column.NORM2, plain]))
    S[kernel.Column.SCALED, : kernel.DIAGONAL] *= factor
    pool._W[:, plain] *= factor
    # A column that is not met for a dozen periods: as good as unknown, and the next row with it decides.
    pool._V /= factor
    np.minimum(pool._V, kernel.LARGEST_VARIANCE, out=pool._V)
    if pool._F.size:
        # Its variances begin anew: scaled up, the rounding errors of what was subtracted would grow for ever.
        pool._F[:-1] = 0.0
        t[mixture.Total.TIGHT] = 0.0
        pool._C[kernel.DEVIATION] *= factor


class Drifting(PoolPair):
    """`Pool` twice: one keeps all rounds, the other about the last `horizon`.

    >>> learner = Drifting(2, horizon=100)
    >>> X = np.random.default_rng(0).normal(size=(4000, 2))
    >>> y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(4000) < 2000, 1, -1)  # turns around half way
    >>> scores = learner.learn_many(X, y)
    >>> learner.rounds, learner.mistakes < learner.steady.mistakes
    (4000, True)
    """

    _parts = ("steady", "recent")

    def __init__(
        self,
        n_features: int,
        horizon: float,
        options: LearnerOptions = LearnerOptions(),  # noqa: B008 - frozen
        *,
        grid: Grid | None = None,
        **changes: Any,
    ) -> None:
        options = options.replace(horizon=horizon, **changes)
        if options.horizon is None:
            raise InvalidParameterError("horizon=None: give the number of rounds after which the past may be forgotten")
        steady = Pool(n_features, options, grid=grid, forgetting=False)
        recent = Pool(n_features, options, grid=grid, forgetting=False, seed=second_seed(options.seed))
        self._set_pools(steady, recent, new_totals())
        self._set_horizon(np.array([horizon], dtype=np.float64))

    def _set_horizon(self, horizon: NDArray[np.float64]) -> None:
        self._horizon = horizon  # (1,)
        self._period = max(1, int(_SPAN * horizon[0]))

    @property
    def steady(self) -> Pool:
        """The pool that keeps all rounds."""
        return self._first

    @property
    def recent(self) -> Pool:
        """The pool that forgets."""
        return self._second

    def _learn(self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any) -> None:
        taken = np.arange(rows.count, dtype=np.uint64) if order is None else order
        steady, recent = np.empty(taken.size), np.empty(taken.size)
        check_outputs(scores, taken.size, self._no_average, self._no_average)  # the steady pool checks the average
        self.steady.learn_rows(rows, y, weight, order, average, steady)  # refuses what is not valid
        # One weight per row of `rows`, which is learned at most once per call of the kernel below.
        grown = np.empty(rows.count)
        start = 0
        while start < taken.size:
            age = self.recent.rounds % self._period
            if age == 0 and self.recent.rounds > 0:
                fade(self.recent, exp(-self._period / self._horizon[0]))
            part = taken[start : start + self._stretch(taken[start:], self._period - age)]
            ages = age + np.arange(part.size)
            grown[part] = exp_all(ages / self._horizon[0]) * (weight[part] if weight.size else 1.0)
            stop = start + part.size
            self.recent.learn_rows(rows, y, grown, part, scores=recent[start:stop])
            start = stop
        answers = scores if scores.size else np.empty(taken.size)
        batch, classes = (taken.size, taken, y, weight), np.array(self.class_weight)
        mixture.mix_pair(steady, recent, batch, classes, self._seed(), self._t, answers)

    @staticmethod
    def _stretch(order: NDArray[np.uint64], longest: int) -> int:
        """How many rows from here on are all different: a copy of a row comes with a weight of its own."""
        order = order[:longest]
        if order.size == 1:
            return 1
        _, first = np.unique(order, return_index=True)
        if first.size == order.size:
            return int(order.size)
        seen = np.zeros(order.size, dtype=bool)
        seen[first] = True
        return int(np.argmin(seen))

    def score(self, x: NDArray[Any]) -> float:
        """The score of the vote of the pool that does better at present."""
        return self.leader.score(x)

    @property
    def leader(self) -> Pool:
        """The pool with the larger weight."""
        return self.recent if self._t[mixture.Total.CHANCE] > 0.5 else self.steady

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the leader's vote, without the constant coordinate."""
        return self.leader.weights

    def shares(self) -> dict[str, float]:
        """The weight of each expert of the leading pool."""
        return self.leader.shares()

    @locked
    def columns(self) -> NDArray[np.float64]:
        """(1, experts, n_features + 1): the weights of every expert of both pools."""
        return np.concatenate([self.steady.columns(), self.recent.columns()], axis=1)

    @locked
    def leaders(self) -> NDArray[np.float64]:
        """(1, n_features + 1): the weights of the leader's vote."""
        return self.leader.leaders()

    @locked
    def widen(self, n_features: int) -> None:
        """Make room for more columns, in both pools: see `Pool.widen`."""
        self.steady.widen(n_features)
        self.recent.widen(n_features)

    @locked
    def narrow(self, n_features: int) -> None:
        """Drop columns at the end, of which neither pool must know anything: the inverse of `widen`."""
        for pool in (self.steady, self.recent):
            pool.check_narrower(n_features)
        self.steady.narrow(n_features)
        self.recent.narrow(n_features)

    def _own_arrays(self) -> dict[str, Any]:
        return {"totals": self._t, "horizon": self._horizon}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The learner whose `arrays()` these are."""
        check_pair(arrays["totals"])
        check_arrays(arrays, {"horizon": (1,)})
        steady, recent = cls._pools_of(arrays)
        if steady.n_features != recent.n_features or not 1 <= arrays["horizon"][0] <= LONGEST_HORIZON:
            raise ModelFileError("the arrays are not those of two pools of one width and a horizon of 1 or more")
        learner = cls.__new__(cls)
        learner._set_pools(steady, recent, arrays["totals"])
        learner._set_horizon(arrays["horizon"])
        return learner

    def _copy_to(self, twin: Self) -> None:
        twin._set_horizon(self._horizon.copy())
