"""A model of the reward for the direct method and the doubly robust estimators, cross-fitted.

The model of a decision never saw that decision: the log is cut into folds at random, and the rewards of a fold are
predicted by a model fitted to the others (Chernozhukov et al. 2018).  So a doubly robust estimate stays unbiased
however badly the model fits. The model is a ridge regression, one of `REWARD_MODELS`, or any regressor with
scikit-learn's `fit` and `predict`.
"""

import copy
import importlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidDataError, InvalidParameterError, shown

__all__ = ["REWARD_MODELS", "RidgeRewards", "cross_fitted_rewards", "folds_of", "regressor", "used_columns"]

REWARD_MODELS: Final = {
    "ridge": "ridge regression on the features of the arm",
    "forest": "a random forest of 100 trees, scikit-learn's",
    "boosting": "gradient boosted trees, scikit-learn's, for logs with few features",
    "mean": "the mean reward, whatever the arm",
}
_MOST_COLUMNS = 1000  # up to which the normal equations are solved directly
_DENSE: Final = 1 << 30  # bytes that rows may take, for a model that does not take sparse ones


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


def regressor(asked: Any, seed: int = 0) -> Callable[[], Any]:
    """What makes a new model, from the name of one, an import path, a class, or a regressor, which is not changed.

    An import path, as in "sklearn.svm:SVR", imports that module: it must not come from others.

    >>> regressor("sklearn.linear_model:Ridge")()
    Ridge()
    """
    if asked == "ridge":
        return RidgeRewards
    if isinstance(asked, str) and asked in REWARD_MODELS:
        return lambda: _named(asked, seed)
    if isinstance(asked, str):
        module, _, name = asked.partition(":")
        try:
            asked = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            names = ", ".join(REWARD_MODELS)
            raise InvalidParameterError(
                f"reward_model={shown(asked)}: it is none of {names}, and no import path module:Name ({error})"
            ) from None
    if isinstance(asked, type):
        return asked
    if not (callable(getattr(asked, "fit", None)) and callable(getattr(asked, "predict", None))):
        raise InvalidParameterError(f"reward_model={shown(asked)}: it has no fit and predict; give a regressor")
    if not hasattr(asked, "get_params"):
        return lambda: copy.deepcopy(asked)
    from sklearn.base import clone  # noqa: PLC0415  takes long

    return lambda: clone(asked)


def _named(name: str, seed: int) -> Any:
    if name == "mean":
        from sklearn.dummy import DummyRegressor  # noqa: PLC0415

        return DummyRegressor()
    from sklearn import ensemble  # noqa: PLC0415

    if name == "forest":
        return ensemble.RandomForestRegressor(min_samples_leaf=5, random_state=seed % (1 << 32))
    return ensemble.HistGradientBoostingRegressor(early_stopping=False, random_state=seed % (1 << 32))


def folds_of(count: int, folds: int, seed: int, groups: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """The fold of each decision; those of one group are in one fold."""
    random = np.random.default_rng(seed)
    if groups is None:
        return random.permutation(count) % folds
    return (random.permutation(int(groups.max()) + 1) % folds)[groups]


def used_columns(contexts: Any) -> Any:
    """Only the columns that are used: a log may say that there are billions."""
    if not sparse.issparse(contexts):
        return contexts
    used, places = np.unique(contexts.indices, return_inverse=True)
    parts = contexts.data, places.astype(np.int64), contexts.indptr
    return sparse.csr_array(parts, shape=(contexts.shape[0], max(1, used.size)))


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
    model: Any = None,
    groups: npt.NDArray[np.int64] | None = None,
) -> FloatArray:
    """Predicted reward of every arm (K,), by models that did not see its decision.

    `contexts` (K, d) are the arms of all decisions, those of decision i from `starts[i]` to `starts[i + 1]`;
    `taken` (n,) are the ones that earned `rewards` (n,). `model` is as for `regressor`, by default a ridge with
    `penalty`; what it predicts is clipped to the rewards seen. The decisions of one of `groups` (n,) are in one fold.

    >>> contexts = np.array([[0.0], [1.0]] * 40)
    >>> taken = np.arange(40) * 2 + np.arange(40) % 2
    >>> rewards = (np.arange(40) % 2).astype(float)
    >>> cross_fitted_rewards(contexts, np.arange(41) * 2, taken, rewards, penalty=1e-9)[:2].round(6).tolist()
    [0.0, 1.0]
    """
    count = rewards.size if groups is None else int(groups.max()) + 1
    if not 2 <= folds <= count:
        raise InvalidParameterError(f"folds must be from 2 to the {count} decisions of the log, not {folds}")
    make = (lambda: RidgeRewards(penalty)) if model is None else regressor(model, seed)
    contexts = used_columns(contexts)
    fold_of = folds_of(rewards.size, folds, seed, groups)
    fold_of_arm = np.repeat(fold_of, np.diff(starts))
    predicted = np.empty(contexts.shape[0])
    for fold in range(folds):
        others, here = fold_of != fold, np.flatnonzero(fold_of_arm == fold)
        share = None if row_weights is None else row_weights[others]
        predicted[here] = _fitted(make(), contexts[taken[others]], rewards[others], share, contexts[here])
    return predicted


def _fitted(model: Any, rows: Any, rewards: FloatArray, share: FloatArray | None, others: Any) -> FloatArray:
    """What a model, fitted to rows and rewards, predicts for others."""
    if isinstance(model, RidgeRewards):
        return model.fit(rows, rewards, share).predict(others)
    name = type(model).__name__
    given = {} if share is None or bool((share == share[0]).all()) else {"sample_weight": share}
    try:
        if sparse.issparse(rows) and not _takes_sparse(model):
            if 8 * (rows.shape[0] + others.shape[0]) * rows.shape[1] > _DENSE:
                raise InvalidDataError(
                    f"reward_model {name} does not take sparse rows, and {rows.shape[1]:,} columns are too many to "
                    "fill in: take ridge or forest"
                )
            rows, others = rows.toarray(), others.toarray()
        elif sparse.issparse(rows):
            rows, others = _short(rows), _short(others)
        model.fit(rows, rewards, **given)
        predicted = np.asarray(model.predict(others), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidDataError):
            raise
        raise InvalidParameterError(f"reward_model {name} cannot be fitted to this log: {error}") from None
    if predicted.shape != (others.shape[0],) or not np.isfinite(predicted).all():
        raise InvalidParameterError(f"reward_model {name} predicts no finite number for each row: take another")
    return np.clip(predicted, float(rewards.min()), float(rewards.max()))


def _short(rows: Any) -> Any:
    """Rows with indices of 32 bits: trees take no others."""
    parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=rows.shape) if rows.nnz < 1 << 31 else rows


def _takes_sparse(model: Any) -> bool:
    tags = getattr(model, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.sparse)
