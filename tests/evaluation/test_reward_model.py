"""The reward model: ridge as scikit-learn solves it, and never shown the decision it predicts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from massart.errors import InvalidParameterError
from massart.evaluation import RidgeRewards, cross_fitted_rewards
from massart.evaluation import reward_model as module


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("directly", [True, False])
def test_ridge_is_scikit_learns(thin, directly, monkeypatch):
    if not directly:
        monkeypatch.setattr(module, "_MOST_COLUMNS", 0)  # conjugate gradients instead of normal equations
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(80, 6)) + 1, random.uniform(0.5, 2, 80)
    X[np.abs(X) < 0.5] = 0
    X[:, 4] = 0  # a column without entries
    y = X @ random.normal(size=6) + random.normal(size=80)
    weights *= 80 / weights.sum()
    peer = Ridge(alpha=2.0).fit(X, y, sample_weight=weights)
    mine = RidgeRewards(2.0).fit(sparse.csr_array(X) if thin else X, y, weights)
    np.testing.assert_allclose(mine.coefficients, peer.coef_, rtol=1e-4, atol=1e-5)
    assert mine.intercept == pytest.approx(peer.intercept_, rel=1e-4)
    expected = np.clip(peer.predict(X), y.min(), y.max())
    np.testing.assert_allclose(mine.predict(X), expected, rtol=1e-4, atol=1e-4)


def test_no_decision_is_predicted_by_a_model_that_saw_it():
    """Changing one reward changes no prediction for its own arms, but some for others'."""
    random = np.random.default_rng(1)
    contexts, starts, taken = random.normal(size=(60, 3)), np.arange(31) * 2, np.arange(30) * 2
    rewards = random.random(30)
    before = cross_fitted_rewards(contexts, starts, taken, rewards, folds=4)
    for row in range(30):
        other = rewards.copy()
        other[row] = 0.5
        after = cross_fitted_rewards(contexts, starts, taken, other, folds=4)
        changed = np.flatnonzero(after != before)
        assert not set(changed) & {2 * row, 2 * row + 1}
        assert changed.size


@pytest.mark.parametrize("folds", [1, 0, 31])
def test_folds_that_cannot_be_are_refused(folds):
    with pytest.raises(InvalidParameterError, match="folds"):
        cross_fitted_rewards(np.ones((60, 1)), np.arange(31) * 2, np.arange(30) * 2, np.ones(30), folds=folds)


def test_a_penalty_that_cannot_be_is_refused():
    with pytest.raises(InvalidParameterError, match="penalty"):
        RidgeRewards(-1.0)
