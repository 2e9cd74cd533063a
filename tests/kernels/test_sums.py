"""Sums by lanes: what they are by definition, and that only the entries that are not 0 count, and their order.

Python calls none of these functions, they are parts of kernels: here Numba compiles what calls them.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from massart.kernels.compiling import njit
from massart.kernels.learning import simd, sums
from massart.kernels.learning.simd import LANES

WIDTHS = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 100]


class kernel:  # noqa: N801 - in place of a module
    """The functions, as Python can call them."""

    @staticmethod
    @njit()
    def read_dense(data, start, stop, v):
        return sums.read_dense(data, start, stop, v)

    @staticmethod
    @njit()
    def read_csr(data, indices, start, stop, v):
        return sums.read_csr(data, indices, start, stop, v)

    @staticmethod
    @njit()
    def read_dense_with_zeros(data, start, stop, v, values, places):
        return sums.read_dense_with_zeros(data, start, stop, v, values, places)

    @staticmethod
    @njit()
    def read_csr_with_zeros(data, indices, start, stop, v):
        return sums.read_csr_with_zeros(data, indices, start, stop, v)

    @staticmethod
    @njit()
    def add_dense(b, data, start, d, v):
        sums.add_dense(b, data, start, d, v)


def by_definition(products):
    """Entry n is added to lane n % LANES, and the lanes are added in halves."""
    lanes = np.zeros(LANES)
    for n, product in enumerate(products):
        lanes[n % LANES] += product
    while lanes.size > 1:
        lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
    return lanes[0]


def expected(x, v):
    x = x.astype(np.float64)
    kept = np.flatnonzero(x)
    return by_definition(x[kept] * v[kept]), by_definition(x[kept] * x[kept])


def dense(x, v):
    """What a kernel does with a dense row that lies behind others."""
    data, start, stop = np.append(np.full(3, np.nan), x).astype(x.dtype), np.uint64(3), np.uint64(3 + x.size)
    dot, square, has_zeros = kernel.read_dense(data, start, stop, v)
    assert has_zeros == bool((x == 0).any())
    if has_zeros:
        return kernel.read_dense_with_zeros(data, start, stop, v, np.empty(x.size), np.empty(x.size, np.uint64))
    return dot, square


def csr(x, columns, v):
    data, indices = np.append(np.full(3, np.nan), x).astype(x.dtype), np.append(np.zeros(3), columns)
    start, stop = np.uint64(3), np.uint64(3 + x.size)
    for kind in (np.uint32, np.uint64):
        dot, square, has_zeros = kernel.read_csr(data, indices.astype(kind), start, stop, v)
        assert has_zeros == bool((x == 0).any())
        if has_zeros:
            dot, square = kernel.read_csr_with_zeros(data, indices.astype(kind), start, stop, v)
    return dot, square


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("density", [1.0, 0.9, 0.3, 0.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_form_of_a_row_has_the_sum_of_the_definition(width, density, kind):
    rng = np.random.default_rng(width)
    for _ in range(20):
        x = (rng.normal(size=width) * (rng.random(width) < density)).astype(kind)
        v = rng.normal(size=width + 1)
        kept = np.flatnonzero(x)
        assert dense(x, v) == expected(x, v)
        assert csr(x, np.arange(width), v) == expected(x, v)
        assert csr(x[kept], kept, v) == expected(x, v)
        wider = np.insert(x, rng.integers(0, width + 1, size=5), 0.0)
        places = np.flatnonzero(wider)
        weights = rng.normal(size=wider.size + 1)
        weights[places] = v[kept]
        assert dense(wider, weights) == expected(x, v)


@settings(deadline=None)  # the first call compiles
@given(st.data())
def test_numbers_of_columns_do_not_count_only_their_order(data):
    width = data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    x, v, order = rng.normal(size=width), rng.normal(size=100), rng.permutation(99)[:width]
    renamed = np.zeros(100)
    renamed[:width] = v[order]
    assert csr(x, order, v) == csr(x, np.arange(width), renamed)


def test_one_lane_more_or_less_would_be_seen():
    # so that the tests above could fail: the order of additions does change the last bits
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=100), rng.normal(size=101)
    assert dense(x, v)[0] != np.cumsum(x * v[:100])[-1]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_adding_a_dense_row_rounds_each_product(width, kind):
    rng = np.random.default_rng(width)
    x, v = rng.normal(size=width).astype(kind), rng.normal(size=width + 1)
    found = v.copy()
    kernel.add_dense(0.3, np.append(np.full(3, np.nan), x).astype(kind), np.uint64(3), np.uint64(width), found)
    assert np.array_equal(found, np.append(v[:-1] + 0.3 * x.astype(np.float64), v[-1]))


def test_a_number_that_is_not_finite_is_in_the_square():
    x, v = np.ones(20), np.zeros(21)
    for place in (0, 9, 17, 19):
        for bad in (np.nan, np.inf):
            x[place] = bad
            assert not np.isfinite(dense(x, v)[1])
            assert not np.isfinite(csr(x, np.arange(20), v)[1])
        x[place] = 1.0


@njit()
def add(target, place, source, start, factor):
    more = simd.add_products(simd.load_four(target, place), simd.spread_four(factor), simd.load_four(source, start))
    simd.store_four(target, place, more)


@pytest.mark.parametrize("shift", range(8))
def test_four_columns_are_a_loop_over_them(shift):
    """At every alignment: a view that begins `shift` numbers after a cache line; results are the same bits."""
    rng = np.random.default_rng(shift)
    space = np.zeros(128)
    first = -space.ctypes.data % 64 // 8 + shift
    source = space[first : first + 60].reshape(5, 12)
    source[:] = rng.normal(size=(5, 12))
    kept, target = source.copy(), rng.normal(size=24)[shift : shift + 16]
    for place, start, factor in ((0, 0, 1.7), (shift, 13, -0.3), (12, 56, 1e-9), (5, 31, 0.0)):
        expected = target.copy()
        expected[place : place + 4] += factor * source.reshape(-1)[start : start + 4]
        add(target, np.uint64(place), source, np.uint64(start), factor)
        assert np.array_equal(target, expected)
    add(source, np.uint64(24), target, np.uint64(3), 2.5)  # into a matrix
    kept.reshape(-1)[24:28] += 2.5 * target[3:7]
    assert np.array_equal(source, kept)


def test_a_product_is_rounded_before_it_is_added():
    """No fused multiply-add: (1 + e)(1 - e) - 1 is 0 when the product is rounded, -e^2 when it is not."""
    e = 2.0**-30
    target, source = np.full(4, -1.0), np.full(4, 1.0 - e)
    add(target, np.uint64(0), source, np.uint64(0), 1.0 + e)
    assert (target == 0.0).all()
    v, x = np.append(np.full(16, 1.0 - e), 0.0), np.full(16, 1.0 + e)
    v[:8], x[:8] = -1.0, 1.0
    assert dense(x, v)[0] == 0.0


@njit()
def calculate(a, b, c):
    """Each operation of vectors once: its results in the columns of c."""
    x, y = simd.load_four(a, np.uint64(0)), simd.load_four(b, np.uint64(0))
    simd.store_four(c, np.uint64(0), x + y)
    simd.store_four(c, np.uint64(4), x - y)
    simd.store_four(c, np.uint64(8), x * y)
    simd.store_four(c, np.uint64(12), x / y)
    simd.store_four(c, np.uint64(16), simd.larger(x, y))
    simd.store_four(c, np.uint64(20), simd.roots(y * y))
    simd.store_four(c, np.uint64(24), simd.where_zero(x, y, x))
    simd.store_four(c, np.uint64(28), simd.where_negative(x, y, x))
    simd.store_four(c, np.uint64(32), simd.where_larger(x, y, x, y))
    return simd.any_larger(x, y)


def test_operations_of_vectors_are_those_of_numpy():
    a, b, c = np.array([0.0, -1.5, 3.0, -0.1]), np.array([0.7, 2.0, 3.0, 5.0]), np.empty((9, 4))
    assert not calculate(a, b, c)
    expected = [a + b, a - b, a * b, a / b, np.maximum(a, b), np.sqrt(b * b)]
    expected += [np.where(a == 0, b, a), np.where(a < 0, b, a), np.where(a > b, a, b)]
    assert np.array_equal(c, expected)
    assert calculate(b, a + 0.5, c)
