"""CSR rows with columns in any order or more than once: what is learned is what the summed rows give, bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart.errors import InvalidDataError
from massart.kernels import door
from massart.kernels.door import Rows
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool


def summed(X):
    """Row by row: entries of one column added up in their order, in the type of the values; columns increase."""
    data, indices, indptr = [], [], [0]
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        row = {}
        for column, value in zip(X.indices[start:stop].tolist(), X.data[start:stop], strict=True):
            row[column] = row[column] + value if column in row else value
        indices += sorted(row)
        data += [row[column] for column in sorted(row)]
        indptr.append(len(data))
    return sp.csr_matrix((np.array(data, X.dtype), indices, indptr), shape=X.shape)


def shuffled(seed, rows, width, most, kind=np.float64, index=np.int32):
    """Rows of 0 to `most` entries, in columns drawn with repeats."""
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(rng.integers(0, most + 1, size=rows))).astype(index)
    indices, data = rng.integers(0, width, size=indptr[-1]).astype(index), rng.normal(size=indptr[-1]).astype(kind)
    X = sp.csr_matrix((data, indices, indptr), shape=(rows, width))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X, rng.choice([-1, 1], size=rows)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("width", "most"), [(1, 5), (3, 40), (255, 17), (256, 30), (257, 30), (70_000, 200)])
@pytest.mark.parametrize("entries", [1, 100, 1 << 17])
def test_learners_learn_the_summed_rows(monkeypatch, kind, index, width, most, entries):
    monkeypatch.setattr(door, "_ENTRIES", entries)  # blocks of one row, of some rows, of all
    X, y = shuffled(width + most, 60, width, most, kind, index)
    before = X.copy()
    expected = summed(X)
    for new in (lambda: Halfspace(width, 0.1, 0.1), lambda: Pool(width)):
        found, wanted = new(), new()
        assert np.array_equal(found.learn_many(X, y), wanted.learn_many(expected, y))
        assert all(np.array_equal(a, wanted.arrays()[name]) for name, a in found.arrays().items())
    order = np.random.default_rng(0).permutation(60)[:40].astype(np.uint64)
    weight, labels = np.linspace(0.5, 2.0, 60), y.astype(np.int8)
    found, wanted = Halfspace(width, 0.1, 0.1), Halfspace(width, 0.1, 0.1)
    found.learn_rows(Rows.of(X), labels, weight, order)
    wanted.learn_rows(Rows.of(expected), labels, weight, order)
    assert np.array_equal(found.weights, wanted.weights)
    weights, numbers = np.random.default_rng(1).normal(size=width + 1), np.zeros(60, np.int64)
    assert np.array_equal(Rows.of(X).score(weights), Rows.of(expected).score(weights))
    assert np.array_equal(Rows.of(X).keys(numbers, np.uint64(3)), Rows.of(expected).keys(numbers, np.uint64(3)))
    for name in ("data", "indices", "indptr"):  # the caller's matrix stays as it is
        assert np.array_equal(getattr(X, name), getattr(before, name))


@pytest.mark.parametrize("entries", [1, 1 << 17])
def test_sums_are_checked_not_entries(monkeypatch, entries):
    monkeypatch.setattr(door, "_ENTRIES", entries)
    indptr, indices = np.array([0, 1, 3]), np.array([0, 2, 2])
    for data, kind in (([1.0, 9e153, 9e153], np.float64), ([1.0, 3e38, 3e38], np.float32)):
        X = sp.csr_matrix((np.array(data, kind), indices, indptr), shape=(2, 3))
        with pytest.raises(InvalidDataError, match=r"row 1|Row 1"):
            Rows.of(X)
        X.data[2] *= -1  # the sum is 0
        assert Rows.of(X).count == 2
    X = sp.csr_matrix((np.array([1.0, np.nan, 1.0]), indices, indptr), shape=(2, 3))
    with pytest.raises(InvalidDataError, match="NaN at row 1, column 2"):
        Rows.of(X)


def test_long_rows_in_any_order_take_blocks_of_their_own(monkeypatch):
    monkeypatch.setattr(door, "_ENTRIES", 50)
    X, _ = shuffled(0, 20, 1000, 300)
    blocks = list(Rows.of(X)._csr_blocks(np.empty(0, np.uint64)))
    sizes = np.diff(X.indptr)
    assert len(blocks) > 10
    for (_, _, indptr), start in blocks:
        rows = slice(start, start + indptr.size - 1)
        assert sizes[rows].sum() <= 50 or indptr.size == 2
