"""The kernels of tables against NumPy and a slow CSR: values, missing ones, too large ones, collisions."""

import os
import sys

import numpy as np
import processes
import pytest

from massart.data.formats.table_chunks import frozen
from massart.data.hashing import name_hash
from massart.kernels.parsing.tables import hash_texts, put_block, put_column, put_eight_columns, to_csr

RANDOM = np.random.default_rng(0)


def odd_values(shape, dtype):
    values = RANDOM.normal(size=shape)
    values[RANDOM.random(shape) < 0.1] = np.nan
    if dtype == np.float64:
        values[RANDOM.random(shape) < 0.1] = 1e101
        values[RANDOM.random(shape) < 0.1] = -1e100
    values[RANDOM.random(shape) < 0.1] = -np.inf
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_become_rows(dtype):
    values = odd_values((33, 10), dtype)
    wanted = np.where(np.isnan(values), 0, values)
    columns = [frozen(np.ascontiguousarray(values[:, j])) for j in range(10)]
    large = np.abs(wanted.astype(np.float64)) > 1e100
    out = np.full((33, 12), 7, dtype)
    assert sum(put_column(out, j + 1, columns[j]) for j in range(10)) == large.sum()
    np.testing.assert_array_equal(out[:, 1:11], wanted)
    assert (out[:, [0, 11]] == 7).all()
    out = np.full((33, 12), 7, dtype)
    found = put_eight_columns(out, 3, tuple(columns[:8]))
    assert found == large[:, :8].sum()
    np.testing.assert_array_equal(out[:, 3:11], wanted[:, :8])
    assert (out[:, [0, 1, 2, 11]] == 7).all()
    out = np.full((33, 4), 7, dtype)
    chosen = np.array([9, 0, 4], np.uint64)
    found = put_block(out, 1, frozen(values), chosen)
    assert found == large[:, [9, 0, 4]].sum()
    np.testing.assert_array_equal(out, np.column_stack([np.full(33, 7), wanted[:, [9, 0, 4]]]))


def test_texts_are_hashed_like_names():
    words = ["", "7", "age", "Łódź", "x" * 100, "00123", ""]
    parts = [word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, parts)])
    out = np.empty(len(words), np.uint32)
    hash_texts(frozen(np.frombuffer(b"".join(parts), np.uint8)), frozen(offsets), np.uint32(5), out)
    assert out.tolist() == [name_hash(word, 5) for word in words]


@pytest.mark.parametrize("width", [4, 100, 5000])  # 5000: more than the table for collisions holds
@pytest.mark.parametrize("merging", [True, False])
def test_rows_become_csr(width, merging):
    n, most = 6, 1 << 30 if not merging else width
    values = RANDOM.normal(size=(n, width)) * (RANDOM.random((n, width)) < 0.7)
    fixed = np.arange(width, dtype=np.uint32) if not merging else RANDOM.integers(0, most, width, dtype=np.uint32)
    which = np.full(width, -1, np.int64)
    which[::3] = np.arange(which[::3].size) if merging else -1
    varying = RANDOM.integers(0, most, (which.max() + 1, n), dtype=np.uint32)
    spaces = RANDOM.integers(0, 256, width, dtype=np.uint8)
    out = np.empty(n * width), np.empty(n * width, np.uint32), np.empty(n + 1, np.uint32), np.empty(n * width, np.uint8)
    used = to_csr(values, fixed, which, varying, merging, spaces, out)
    data, indices, indptr, own = out
    assert indptr[-1] == used
    for i in range(n):
        wanted, letters = {}, {}
        for j in range(width):
            column = int(fixed[j] if which[j] < 0 else varying[which[j], i])
            if values[i, j] != 0:
                wanted[column] = wanted.get(column, 0.0) + values[i, j]
                letters.setdefault(column, int(spaces[j]))
        row = slice(indptr[i], indptr[i + 1])
        assert list(zip(indices[row].tolist(), data[row].tolist(), strict=True)) == list(wanted.items())
        assert own[row].tolist() == [letters[column] for column in wanted]


@pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") == "1", reason="this is the inner run")
def test_no_kernel_reads_or_writes_out_of_bounds(tmp_path):
    checked = os.environ | {"MASSART_JIT": "1", "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    again = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__]
    done = processes.run(again, env=checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
