"""A model of the reward for the direct method and the doubly robust estimators: ridge regression, cross-fitted.

The model of a decision never saw that decision: the log is cut into folds at random, and the rewards of a fold are
predicted by a ridge fitted to the others (Chernozhukov et al. 2018).  So a doubly robust estimate stays unbiased
however badly the model fits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidParameterError

__all__ = ["RidgeRewards", "cross_fitted_rewards"]

_MOST_COLUMNS = 1000  # up to which the normal equations are solved directly


class RidgeRewards:
    """argmin over b, beta of sum_i u_i (r_i - b - beta.x_i)^2 + penalty ||beta||^2.

    Predictions are clipped to the rewards seen: it should not predict what was never observed.

    >>> model = RidgeRewards(penalty=0.0).fit(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 3.0]))
    >>> model.predict(np.array([[0.5], [9.0]])).round(6).tolist()
    [1.5, 3.0]
    """

    def __init__(self, penalty: float = 1.0) -> None:
        if not 0.0 <= penalty < np.inf:
            raise InvalidParameterError(f"penalty must be a finite number of at least 0, not {penalty}")
        self.penalty = penalty
        self.intercept = 0.0
        self.coefficients: FloatArray = np.zeros(0)
        self.rewards_seen = (0.0, 0.0)

    def fit(self, rows: Any, rewards: FloatArray, row_weights: FloatArray | None = None) -> "RidgeRewards":
        """Fit to the contexts of the arms taken (n, d), dense or CSR, and their rewards."""
        share = np.ones(rewards.size) if row_weights is None else row_weights
        share = share * (rewards.size / share.sum())
        self.coefficients = np.zeros(rows.shape[1])
        self.rewards_seen = float(rewards.min()), float(rewards.max())
        level = float(share @ rewards) / rewards.size
        used = np.unique(rows.indices) if sparse.issparse(rows) else np.arange(rows.shape[1])
        X = rows[:, used] if sparse.issparse(rows) else rows
        centre = np.asarray(X.T @ share) / rewards.size
        product = np.asarray(X.T @ (share * (rewards - level)))
        if used.size:
            self.coefficients[used] = self._solve(X, share, centre, product)
        self.intercept = level - float(centre @ self.coefficients[used])
        return self

    def predict(self, rows: Any) -> FloatArray:
        """Expected rewards of contexts (m, d)."""
        return np.clip(np.asarray(rows @ self.coefficients) + self.intercept, *self.rewards_seen)

    def _solve(self, X: Any, share: FloatArray, centre: FloatArray, product: FloatArray) -> FloatArray:
        """(X' U X - n centre centre' + penalty I) beta = product."""
        count, width = X.shape
        if width <= _MOST_COLUMNS:
            gram = X.T @ (X.multiply(share[:, None]).tocsr() if sparse.issparse(X) else X * share[:, None])
            gram = gram.toarray() if sparse.issparse(gram) else gram
            system = gram - count * np.outer(centre, centre) + self.penalty * np.eye(width)
            return np.asarray(np.linalg.lstsq(system, product, rcond=None)[0])

        def times(vector: FloatArray) -> FloatArray:
            inner = np.asarray(X.T @ (share * (X @ vector)))
            return np.asarray(inner - count * centre * (centre @ vector) + self.penalty * vector)

        operator = LinearOperator((width, width), matvec=times, dtype=np.float64)
        return np.asarray(cg(operator, product, rtol=1e-6, maxiter=200)[0])


def cross_fitted_rewards(
    contexts: Any,
    starts: npt.NDArray[np.int64],
    taken: npt.NDArray[np.int64],
    rewards: FloatArray,
    row_weights: FloatArray | None = None,
    *,
    folds: int = 5,
    penalty: float = 1.0,
    seed: int = 0,
) -> FloatArray:
    """Predicted reward of every arm (K,), by models that did not see its decision.

    `contexts` (K, d) are the arms of all decisions, those of decision i from `starts[i]` to `starts[i + 1]`;
    `taken` (n,) are the ones that earned `rewards` (n,).

    >>> contexts = np.array([[0.0], [1.0]] * 40)
    >>> taken = np.arange(40) * 2 + np.arange(40) % 2
    >>> rewards = (np.arange(40) % 2).astype(float)
    >>> cross_fitted_rewards(contexts, np.arange(41) * 2, taken, rewards, penalty=1e-9)[:2].round(6).tolist()
    [0.0, 1.0]
    """
    count = rewards.size
    if not 2 <= folds <= count:
        raise InvalidParameterError(f"folds must be from 2 to the {count} decisions of the log, not {folds}")
    if sparse.issparse(contexts):  # only the columns that are used: a log may say that there are billions
        used, places = np.unique(contexts.indices, return_inverse=True)
        parts = contexts.data, places.astype(np.int64), contexts.indptr
        contexts = sparse.csr_array(parts, shape=(contexts.shape[0], max(1, used.size)))
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    fold_of_arm = np.repeat(fold_of, np.diff(starts))
    predicted = np.empty(contexts.shape[0])
    for fold in range(folds):
        others, here = fold_of != fold, np.flatnonzero(fold_of_arm == fold)
        share = None if row_weights is None else row_weights[others]
        model = RidgeRewards(penalty).fit(contexts[taken[others]], rewards[others], share)
        predicted[here] = model.predict(contexts[here])
    return predicted
