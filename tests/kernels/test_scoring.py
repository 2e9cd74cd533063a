"""Scores without BLAS: the same bits for dense rows, for sparse rows, and for rows and weights in any company."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart.kernels.learning.scoring import score_csr, score_dense, score_many


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_many_weights_at_once_give_what_each_gives_alone(kind):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(50, 33)) * (rng.random((50, 33)) < 0.5)).astype(kind)
    W = rng.normal(size=(33, 7))
    together = np.zeros((50, 7))
    score_many(X, W, together)
    assert np.array_equal(together, sp.csr_matrix(X) @ W)
    rows = sp.csr_matrix(X)
    for column in range(7):
        weights = np.append(W[:, column], 0.0)
        dense, sparse = np.zeros((2, 50))
        score_dense(X, weights, dense)
        score_csr(rows.data, rows.indices.view(np.uint32), rows.indptr.view(np.uint32), weights, sparse)
        assert np.array_equal(together[:, column], dense)
        assert np.array_equal(together[:, column], sparse)
    # A sum of 33 products, each rounded, is off by at most 33 eps times the sum of their sizes (Higham, section 3.1).
    exact = X.astype(np.float64) @ W
    np.testing.assert_array_less(np.abs(together - exact), 66 * np.finfo(float).eps * (np.abs(X) @ np.abs(W)) + 1e-300)
