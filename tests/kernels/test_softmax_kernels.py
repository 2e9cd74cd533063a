"""Softmax learners by hand: probabilities, class means, and Newton's steps with half of a symmetric matrix."""

import numpy as np
import pytest

from massart.kernels.learning import softmax, softmax_newton


@pytest.mark.jit
@pytest.mark.parametrize("k", [1, 3, 4, 7])
def test_scores_become_probabilities_whatever_room_there_is(k):
    scores = np.random.default_rng(k).normal(size=k) * 10.0 ** np.arange(k)
    expected = np.exp(np.maximum(-700.0, scores - scores.max()))
    found = []
    for places in (8, 16):
        T = np.full((2, places), 7.0)
        T[1, :k] = scores
        softmax.soften_row(T, np.uint64(1), np.uint64(k))
        assert (T[0] == 7.0).all()
        found.append(T[1, :k])
    np.testing.assert_allclose(found[0], expected / expected.sum(), rtol=1e-11)
    assert np.array_equal(found[0], found[1])


@pytest.mark.jit
def test_nearest_class_means():
    rng = np.random.default_rng(0)
    X, y, k, d = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0], rng.integers(0, 5, 50), 5, 3
    spreads = np.stack([X.mean(axis=0), 50 * X.var(axis=0)])
    sums, counts = np.zeros((d, 8)), np.zeros(8)
    np.add.at(sums.T, y, X)
    counts[:k] = np.bincount(y, minlength=k)
    z, units, T, x = np.zeros(1 + d), np.zeros(d), np.zeros((4, 8)), X[7] + 0.5
    softmax.standardise(x, d, 1.0, 50.0, spreads, False, z, units)
    softmax.mean_scores(z, units, spreads, sums, counts, 2.0, np.uint64(k), T, np.uint64(2))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.stack([Z[y == c].sum(axis=0) / (np.count_nonzero(y == c) + 2.0) for c in range(k)])
    own = (x - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(z[1:], own, rtol=1e-12)
    np.testing.assert_allclose(T[2, :k], means @ own - 0.5 * (means**2).sum(axis=1), rtol=1e-10)


@pytest.mark.jit
@pytest.mark.parametrize("features", [3, 8, 21])
def test_newton_steps_with_half_of_the_matrix(features):
    rng = np.random.default_rng(features)
    weights, matrices, places = np.zeros((2, features, 4)), np.zeros((2, features, features)), 4
    expected, P = np.zeros((features, places)), 0.1 * np.eye(features)
    z, u = np.zeros(features + 8), np.zeros(features + 8)
    for n in range(30):
        z[:features], g, r, curvature = rng.normal(size=features), rng.normal(size=places), 0.5 + 0.01 * n, 0.2
        kept = n % 5 == 4
        softmax_newton.second_order_step(z, 0.1, r, curvature, kept, g, np.uint64(4), weights, matrices, 1, u)
        own = P @ z[:features]
        damped = 1.0 / (1.0 + r * curvature * (z[:features] @ own))
        expected += r * damped * np.outer(own, g)
        P -= 0.0 if kept else r * curvature * damped * np.outer(own, own)
    np.testing.assert_allclose(weights[1], expected, rtol=1e-9, atol=1e-12)
    assert not weights[0].any()
    assert not matrices[0].any()
    right = np.triu_indices(features)
    np.testing.assert_allclose(matrices[1][right], P[right], rtol=1e-9, atol=1e-13)
