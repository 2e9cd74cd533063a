"""Features in units from a millionth to a million, side by side: nothing needs to be scaled beforehand.

Two runs on the same rows in different units are compared row by row: the one in wild units may be worse by one row in a
hundred. If n rows are got wrong by one run alone, their difference has a standard error of sqrt(n) rows; Z of them are
for chance. Seeds are fixed.
"""

import functools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

from massart import MassartClassifier

Z = 3.0
SEEDS = range(6)
DATA = ("breast cancer", "digits", "halfspace")


@functools.cache
def data(name):
    """Columns of mean 0 and deviation 1."""
    if name == "halfspace":  # more than 64 features: only the diagonal experts can tell units
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 100))
        return X, (X @ rng.normal(size=100) > 0) ^ (rng.random(5000) < 0.1)
    X, y = (load_breast_cancer if name == "breast cancer" else load_digits)(return_X_y=True)
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y % 2 == 1


def units(width, seed):
    """1e-6 to 1e6, spread evenly over the columns: from left to right, from right to left, or shuffled."""
    spread = 10.0 ** np.linspace(-6, 6, width)
    return (spread, spread[::-1], np.random.default_rng(seed).permutation(spread))[seed % 3]


def allowed(wrong, other):
    return 0.01 * wrong.size + Z * np.sqrt(np.count_nonzero(wrong != other))


def online_mistakes(X, y, seed):
    """Which rows were answered wrongly before they were learned."""
    model = MassartClassifier(random_state=seed)
    model.partial_fit(X[:1], y[:1], classes=[False, True])
    scores = model._learner.learn_many(X[1:], np.where(y[1:], 1, -1))
    return np.append(model.mistakes_ > np.count_nonzero((scores >= 0) != y[1:]), (scores >= 0) != y[1:])


@functools.cache
def fit_mistakes(name, seed, scaled):
    """Which of the rows held out (a third) are predicted wrongly after `fit` on the others."""
    X, y = data(name)
    units_here = np.ones(X.shape[1]) if scaled else units(X.shape[1], seed)
    order = np.random.default_rng(seed).permutation(y.size)
    test, train = order[: y.size // 3], order[y.size // 3 :]
    model = MassartClassifier(random_state=seed).fit(X[train] * units_here, y[train])
    return model.predict(X[test] * units_here) != y[test]


@pytest.mark.parametrize("name", DATA)
def test_progressive_error_does_not_depend_on_units(name):
    X, y = data(name)
    scaled, wild = [], []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(y.size)
        scaled.append(online_mistakes(X[order], y[order], seed))
        wild.append(online_mistakes(X[order] * units(X.shape[1], seed), y[order], seed))
    scaled, wild = np.concatenate(scaled), np.concatenate(wild)
    assert wild.sum() <= scaled.sum() + allowed(scaled, wild)


@pytest.mark.parametrize(
    "name",
    [
        "breast cancer",
        "digits",
        "halfspace",
    ],
)
def test_fit_does_not_depend_on_units(name):
    scaled, wild = (np.concatenate([fit_mistakes(name, seed, how) for seed in SEEDS]) for how in (True, False))
    assert wild.sum() <= scaled.sum() + allowed(scaled, wild)


@pytest.mark.parametrize("name", DATA)
def test_fit_in_any_units_is_as_good_as_logistic_regression_in_the_right_ones(name):
    X, y = data(name)
    wild, peer = [], []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(y.size)
        test, train = order[: y.size // 3], order[y.size // 3 :]
        wild.append(fit_mistakes(name, seed, False))
        peer.append(LogisticRegression(max_iter=1000).fit(X[train], y[train]).predict(X[test]) != y[test])
    wild, peer = np.concatenate(wild), np.concatenate(peer)
    assert wild.sum() <= peer.sum() + allowed(wild, peer)


@pytest.mark.parametrize("width", [10, 100])
def test_units_that_change_by_powers_of_two_change_nothing_for_diagonal_experts(width):
    """Their variances scale each column exactly, so their scores are the same bits in any such units."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, width))
    y = X[:, 0] > 0
    powers = 2.0 ** rng.integers(-20, 20, size=width)
    plain, wild = (
        MassartClassifier(fit_intercept=False, random_state=0).partial_fit(rows, y, classes=[False, True])
        for rows in (X, X * powers)
    )
    mine, yours = plain._learner.columns()[0, :4, :-1], wild._learner.columns()[0, :4, :-1]
    assert np.array_equal(mine, yours * powers)


def test_a_column_that_comes_late_and_large():
    """A feature first seen after 1,000 rounds, in units a million times those of the others, is learned as any other.

    Mistakes made from then on: no more than with the column in the units of the others, within the same threshold.
    """
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 80))
    X[:1000, 0] = 0.0
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    wrong = {unit: online_mistakes(X * np.append(unit, np.ones(79)), y, 0)[1000:] for unit in (1.0, 1e6, 1e-6)}
    for unit in (1e6, 1e-6):
        assert wrong[unit].sum() <= wrong[1.0].sum() + allowed(wrong[1.0], wrong[unit])
