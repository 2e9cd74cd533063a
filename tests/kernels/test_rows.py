"""The door's kernels: a row has one key whatever form it comes in, and a check finds the first row that is wrong."""

from itertools import chain, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from massart.kernels.door import Rows
from massart.kernels.learning import rows as kernel

SEED = np.uint64(7)


def keys(X, labels=None, seed=SEED):
    labels = np.zeros(X.shape[0], np.int64) if labels is None else np.asarray(labels, np.int64)
    return Rows.of(X).keys(labels, seed)


@pytest.fixture
def sparse_values():
    """(200, 12) with two thirds zeros, values that float32 holds exactly, and two all-zero rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12)).astype(np.float32).astype(np.float64) * (rng.random((200, 12)) < 1 / 3)
    X[[0, 199]] = 0.0
    return X


def wide(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def full(X):
    n, d = X.shape
    return sp.csr_matrix((X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=X.shape)


def backwards(X):
    parts = [slice(a, b) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    take = np.concatenate([np.arange(p.start, p.stop)[::-1] for p in parts])
    return sp.csr_matrix((X.data[take], X.indices[take], X.indptr), shape=X.shape)


def in_halves(X):
    return sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "negative zeros": lambda X: np.where(X == 0, -0.0, X),
    "csr": sp.csr_matrix,
    "csr float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "csr array": sp.csr_array,
    "csr int64": lambda X: wide(sp.csr_array(X)),
    "csr explicit zeros": full,
    "csr unsorted": lambda X: backwards(sp.csr_matrix(X)),
    "csr in halves": lambda X: in_halves(sp.csr_matrix(X)),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_rows_have_the_same_keys_in_any_form(sparse_values, form):
    labels = np.arange(200) % 3
    assert np.array_equal(keys(sparse_values, labels), keys(FORMS[form](sparse_values), labels))


def test_a_fortran_array_longer_than_a_block_has_the_keys_of_its_rows():
    X = np.random.default_rng(1).normal(size=(20_000, 2))
    labels = np.random.default_rng(2).integers(3, size=20_000)
    assert np.array_equal(keys(X, labels), keys(np.asfortranarray(X), labels))


def test_different_rows_have_different_keys():
    """Every pair differs in one thing only; 64 bits make a chance collision among these rows about 1e-11 likely."""
    n = 20_000
    ramp = np.arange(1.0, n + 1)
    by_value = np.column_stack([ramp, np.zeros(n), np.zeros(n)])
    by_place = sp.eye_array(n, format="csr")
    assert np.unique(keys(by_value)).size == n
    assert np.unique(keys(-by_value)).size == n
    assert np.unique(keys(by_place)).size == n
    assert np.unique(keys(by_value[:1].repeat(n, axis=0), labels=np.arange(n))).size == n
    assert np.unique([keys(by_value[:1], seed=np.uint64(s))[0] for s in range(1000)]).size == 1000


@pytest.mark.parametrize(
    ("row", "other"),
    [
        ([1.0, 2.0], [2.0, 1.0]),
        ([1.0, 2.0], [3.0, 0.0]),
        ([1.0, 0.0], [0.0, 1.0]),
        ([1.0, 1.0], [0.0, 0.0]),
        ([1.0, -1.0], [-1.0, 1.0]),
        ([1.0, 1.0], [-1.0, -1.0]),
        ([1.0, 0.0], [np.nextafter(1.0, 2.0), 0.0]),
        ([5e-324, 0.0], [0.0, 0.0]),
    ],
)
def test_near_twins_have_different_keys(row, other):
    found = keys(np.array([row, other]))
    assert found[0] != found[1]


def test_keys_are_spread_evenly():
    """Each of 64 bits is set in half of the keys: for 4,096 fair bits 6 standard errors are 6 * 32 = 192."""
    found = keys(np.arange(1.0, 4097.0)[:, None])
    counts = ((found[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).sum(axis=0)
    assert np.all(np.abs(counts.astype(int) - 2048) < 192)


def test_copies_are_numbered_through_rows_of_equal_key():
    """A row given as 2 + 1 copies has the copies of the row given once with 3, and a row of 0 copies has none."""
    split, whole = (
        kernel.copy_keys(np.array(k, np.uint64), np.array(c))
        for k, c in [([5, 5, 9, 9], [2, 1, 0, 2]), ([5, 9], [3, 2])]
    )
    assert split[0].tolist() == [0, 0, 1, 3, 3]
    assert whole[0].tolist() == [0, 0, 0, 1, 1]
    assert np.array_equal(split[1], whole[1])
    assert np.unique(whole[1]).size == 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (3, 2), (9, 4)])
def test_check_dense_finds_the_first_bad_row(dtype, bad, place):
    X = np.ones((10, 5), dtype)
    assert kernel.check_dense(X, np.inf) == -1
    X[place] = bad
    X[9, 0] = np.nan
    assert kernel.check_dense(X, np.inf) == place[0]


def test_check_dense_squares_in_double_precision():
    """1e30 squared is beyond float32 but not beyond float64; 1e155 squared is beyond both."""
    assert kernel.check_dense(np.full((2, 3), 1e30, np.float32), np.inf) == -1
    assert kernel.check_dense(np.full((2, 3), 1e153), np.inf) == -1
    assert kernel.check_dense(np.array([[1.0, 1.0], [1e155, 1.0]]), np.inf) == 1
    assert kernel.check_dense(np.full((2, 3), 5e-324), np.inf) == -1
    assert kernel.check_dense(np.zeros((0, 3)), np.inf) == -1
    assert kernel.check_dense(np.zeros((3, 0)), np.inf) == -1


def check(indices, indptr, columns, width=np.int32):
    unsigned = np.uint32 if width is np.int32 else np.uint64
    return tuple(kernel.check_indices(*(np.array(a, dtype=width).view(unsigned) for a in (indices, indptr)), columns))


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("indices", "indptr", "verdict"),
    [
        ([], [0], (kernel.GOOD, -1)),
        ([], [0, 0, 0], (kernel.GOOD, -1)),
        ([0, 2, 1], [0, 2, 2, 3], (kernel.GOOD, -1)),
        ([0, 2, 1], [0, 0, 3, 3], (kernel.NOT_CANONICAL, -1)),
        ([0, 1, 1], [0, 1, 3], (kernel.NOT_CANONICAL, -1)),
        ([0, 3, 1], [0, 1, 3], (kernel.OUT_OF_RANGE, 1)),
        ([0, -1, 1], [0, 1, 3], (kernel.OUT_OF_RANGE, 1)),
        ([0, 1, 2], [0, 4], (kernel.OUT_OF_RANGE, 0)),
        ([0, 1, 2], [0, 2, 1], (kernel.OUT_OF_RANGE, 1)),
        ([0, 1, 2], [-1, 2], (kernel.OUT_OF_RANGE, 0)),
        # A harmless disorder in an earlier row never hides a fault in a later one.
        ([1, 0, 3], [0, 2, 3], (kernel.OUT_OF_RANGE, 1)),
    ],
)
def test_check_indices_finds_the_first_bad_row(width, indices, indptr, verdict):
    assert check(indices, indptr, 3, width) == verdict


def test_check_indices_is_right_about_any_rows():
    """Rows of 0 to 3 entries in 3 columns: often in order, often not, and last entries before first ones."""
    rng = np.random.default_rng(7)
    found = set()
    for _ in range(400):
        rows = [rng.choice(3, size=rng.integers(4)).tolist() for _ in range(rng.integers(1, 4))]
        starts = np.cumsum([2, *map(len, rows)]).tolist()  # two entries before the first row belong to none
        in_order = all(a < b for row in rows for a, b in pairwise(row))
        verdict, _ = check([2, 1, *chain(*rows), 0], starts, 3)
        assert verdict == (kernel.GOOD if in_order else kernel.NOT_CANONICAL)
        found.add(verdict)
    assert found == {kernel.GOOD, kernel.NOT_CANONICAL}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("place", [0, 1, 4])
def test_check_values_finds_the_first_bad_row(bad, place):
    data, indptr = np.arange(5.0), np.array([0, 1, 1, 3, 5], np.uint32)
    assert kernel.check_values(data, indptr, np.inf) == -1
    data[place] = bad
    assert kernel.check_values(data, indptr, np.inf) == {0: 0, 1: 2, 4: 3}[place]


def test_rows_longer_than_asked_for_are_found():
    X = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0]])
    assert kernel.check_dense(X, 10.0) == -1
    assert kernel.check_dense(X, 9.9) == 1
    indptr = np.array([0, 2, 4, 6], np.uint32)
    assert kernel.check_values(X.ravel(), indptr, 9.9) == 1
    assert kernel.check_values(X.ravel(), indptr, 10.0) == -1


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_scores_of_dense_and_csr_rows_are_the_same_and_many_at_once_are_those_of_scipy(kind):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(50, 33)) * (rng.random((50, 33)) < 0.5)).astype(kind)
    W = rng.normal(size=(33, 7))
    together = np.zeros((50, 7))
    kernel.score_many(X, W, together)
    assert np.array_equal(together, sp.csr_matrix(X) @ W)
    rows = sp.csr_matrix(X)
    for column in range(7):
        weights = np.append(W[:, column], 0.0)
        dense, sparse = np.zeros((2, 50))
        kernel.score_dense(X, weights, dense)
        kernel.score_csr(rows.data, rows.indices.view(np.uint32), rows.indptr.view(np.uint32), weights, sparse)
        assert np.array_equal(dense, sparse)
        assert_close(dense, X, W[:, column])
        assert_close(together[:, column], X, W[:, column])


def assert_close(scores, X, w):
    """A sum of d products, each rounded, is off by at most d eps times the sum of their sizes (Higham, section 3.1)."""
    bound = 2 * len(w) * np.finfo(float).eps * (np.abs(X) @ np.abs(w)) + 1e-300
    np.testing.assert_array_less(np.abs(scores - X.astype(np.float64) @ w), bound)


@pytest.mark.parametrize("width", [0, 1, 5, 8, 12])
def test_columns_that_the_weights_do_not_have_count_as_zeros(sparse_values, width):
    weights = np.random.default_rng(1).normal(size=width + 1)
    forms = sparse_values, sp.csr_matrix(sparse_values), sparse_values[:, :width]
    scores = [Rows.of(form).score(weights) for form in forms]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])
