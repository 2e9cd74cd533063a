"""The reward model: ridge as scikit-learn solves it, any other regressor, and never shown the decision it predicts."""

import numpy as np
import pytest
import simulated
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import RidgeRewards, cross_fitted_rewards, evaluate
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


def curved(count=400, seed=0):
    """Rewards that a tree can model and a line cannot."""
    random = np.random.default_rng(seed)
    contexts = random.uniform(-1, 1, size=(2 * count, 1))
    taken = np.arange(count) * 2 + random.integers(2, size=count)
    rewards = (np.abs(contexts[taken, 0]) > 0.5).astype(float)
    return contexts, np.arange(count + 1) * 2, taken, rewards


@pytest.mark.parametrize(
    "model",
    [
        "forest",
        "boosting",
        "sklearn.tree:DecisionTreeRegressor",
        RandomForestRegressor,
        RandomForestRegressor(n_estimators=20, random_state=0),
        make_pipeline(PolynomialFeatures(6), LinearRegression()),
    ],
    ids=["forest", "boosting", "path", "class", "regressor", "pipeline"],
)
@pytest.mark.parametrize("thin", [False, True])
def test_any_regressor_models_what_a_line_cannot(model, thin):
    contexts, starts, taken, rewards = curved()
    given = sparse.csr_array(contexts) if thin else contexts
    line = cross_fitted_rewards(given, starts, taken, rewards)
    found = cross_fitted_rewards(given, starts, taken, rewards, model=model)
    assert np.square(found[taken] - rewards).mean() < 0.5 * np.square(line[taken] - rewards).mean()
    assert found.min() >= 0.0
    assert found.max() <= 1.0


def test_a_regressor_never_sees_the_decision_that_it_predicts():
    """Nearest neighbours would give back each reward if they had seen it; rewards are coins, so they know nothing."""
    random = np.random.default_rng(0)
    contexts, starts = random.normal(size=(2000, 3)), np.arange(1001) * 2
    taken = np.arange(1000) * 2
    rewards = (random.random(1000) < 0.5).astype(float)
    found = cross_fitted_rewards(contexts, starts, taken, rewards, model=KNeighborsRegressor(1))
    # Agreements of 1000 coins: .5 up to 4 standard errors, 4 * .5 / sqrt(1000) = .063.
    assert abs((found[taken] == rewards).mean() - 0.5) < 0.063
    seen = KNeighborsRegressor(1).fit(contexts[taken], rewards).predict(contexts[taken])
    assert (seen == rewards).all()


def test_the_decisions_of_one_group_are_in_one_fold():
    """Two copies of every decision: nearest neighbours find the copy unless it is in the same fold."""
    random = np.random.default_rng(1)
    contexts = np.repeat(random.normal(size=(300, 3)), 2, axis=0)
    rewards = np.repeat((random.random(300) < 0.5).astype(float), 2)
    parts = contexts, np.arange(601), np.arange(600), rewards
    apart = cross_fitted_rewards(*parts, model=KNeighborsRegressor(1))
    together = cross_fitted_rewards(*parts, model=KNeighborsRegressor(1), groups=np.repeat(np.arange(300), 2))
    assert (apart == rewards).mean() > 0.8
    assert abs((together == rewards).mean() - 0.5) < 4 * 0.5 / np.sqrt(300)


def test_a_regressor_that_was_given_is_not_changed():
    model = RandomForestRegressor(n_estimators=5, random_state=0)
    cross_fitted_rewards(*curved(50), model=model)
    assert not hasattr(model, "estimators_")


def test_weights_reach_the_regressor():
    contexts, starts, taken, rewards = curved(100)
    share = np.where(rewards == 1.0, 1e-9, 1.0)
    found = cross_fitted_rewards(contexts, starts, taken, rewards, share, model="mean")
    assert found.max() < 1e-3


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("magic", "none of ridge, forest, boosting, mean, and no import path"),
        ("sklearn.tree:Magic", "no import path"),
        (":", "no import path"),
        (7, "no fit and predict"),
        (PolynomialFeatures(), "no fit and predict"),
        (LogisticRegression(), "cannot be fitted"),
    ],
)
def test_what_is_no_regressor_is_refused(model, words):
    contexts, starts, taken, rewards = curved(50)
    with pytest.raises(InvalidParameterError, match=words):
        cross_fitted_rewards(contexts, starts, taken, rewards + 0.3 * rewards * contexts[taken, 0], model=model)


def test_more_columns_than_can_be_filled_in_are_refused():
    rows = sparse.random_array((2000, 200_000), density=1e-3, format="csr", rng=np.random.default_rng(0))
    rewards = np.arange(2000) % 2.0
    with pytest.raises(InvalidDataError, match=r"does not take sparse rows, and .* columns are too many"):
        cross_fitted_rewards(rows, np.arange(2001), np.arange(2000), rewards, model="boosting")


def test_doubly_robust_is_unbiased_with_any_model():
    """A forest on few decisions fits badly; the mean over 60 logs lies within 4 of its standard errors of the truth."""
    options = {"estimators": ["dr"], "intervals": ["normal"]}
    model = RandomForestRegressor(n_estimators=3, random_state=0)
    values = [evaluate(simulated.batch(150, s), "target", reward_model=model, **options)["dr"].value for s in range(60)]
    assert abs(np.mean(values) - simulated.TRUTH) <= 4 * np.std(values, ddof=1) / np.sqrt(60)
