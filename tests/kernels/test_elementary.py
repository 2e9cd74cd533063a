"""exp, log and cbrt against 40 decimal digits: within the stated error everywhere, and right at the edges."""

import math
import re
from decimal import Decimal, localcontext

import numpy as np
import oracle
import pytest

from massart.kernels.learning.elementary import cbrt, coin, draw, exp, exp_all, log

SMALLEST, SMALLEST_NORMAL, LARGEST = 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308


def cube_root(x):
    root = Decimal(math.cbrt(x))
    for _ in range(2):  # Newton's steps: 16 digits, 32, 64
        root -= (root - x / (root * root)) / 3
    return root


def worst(function, reference, arguments):
    """The largest error in units of the last place."""
    most = 0.0
    with localcontext(prec=40, Emin=-10_000, Emax=10_000):
        for x in arguments:
            right = reference(Decimal(float(x)))
            unit = Decimal(math.ulp(float(right)))
            most = max(most, float(abs(Decimal(function(float(x))) - right) / unit))
    return most


def any_double(rng, count):
    """Positive doubles of all sizes, every bit pattern alike."""
    return rng.integers(1, np.float64(np.inf).view(np.int64), count).view(np.float64)


def near(rng, points, count):
    """The doubles that are neighbours of `points`."""
    steps = rng.integers(-1000, 1001, (count, len(points)))
    return (np.array(points).view(np.int64) + steps).view(np.float64).ravel()


def test_exp_is_within_052_units_of_the_last_place():
    rng = np.random.default_rng(0)
    around = near(rng, [math.log(2.0) * k / 2 for k in (1, 2, 3, 5, 101, 1401, 2040)], 100)
    sizes = rng.choice([-1.0, 1.0], 2000) * np.exp2(rng.uniform(-60, 9, 2000))
    arguments = [
        *around,
        *-around,
        *sizes,
        *rng.uniform(-708.0, 709.7, 20_000),
        *near(rng, [709.782712893384], 10) - 2e-10,
    ]
    assert worst(exp, Decimal.exp, arguments) < 0.52
    # results that are subnormal: their unit of the last place is 2^-1074
    assert worst(exp, Decimal.exp, rng.uniform(-745.13, -708.3, 1000)) < 1.0


def test_log_is_within_one_unit_of_the_last_place():
    rng = np.random.default_rng(1)
    around = near(rng, [math.sqrt(0.5), 1.0, math.sqrt(2.0), 2.0, 1024.0, SMALLEST_NORMAL * 2], 300)
    arguments = [*around[around != 1.0], *any_double(rng, 5000), *rng.uniform(0.5, 2.0, 20_000), SMALLEST, LARGEST]
    assert worst(log, Decimal.ln, arguments) < 1.0


def test_cbrt_is_within_two_thirds_of_a_unit_of_the_last_place():
    rng = np.random.default_rng(2)
    around = near(rng, [1.0, 8.0, 27.0, 1e-9, SMALLEST_NORMAL * 2], 200)
    subnormal = rng.integers(1, 1 << 52, 2000).view(np.float64)
    arguments = [*around, *any_double(rng, 4000), *rng.uniform(1.0, 8.0, 6000), *subnormal, SMALLEST, LARGEST]
    assert worst(cbrt, cube_root, arguments) < 0.67


def test_edges():
    nan, inf = math.nan, math.inf
    assert [exp(x) for x in (0.0, -0.0, inf, -inf, 710.0, -746.0, 1e308, -1e308)] == [1, 1, inf, 0, inf, 0, inf, 0]
    assert exp(709.782712893384) < inf == exp(math.nextafter(709.782712893384, inf))
    assert exp(-745.1332191019411) == SMALLEST
    assert exp(math.nextafter(-745.1332191019411, -inf)) == 0.0
    assert [log(x) for x in (0.0, -0.0, 1.0, inf)] == [-inf, -inf, 0.0, inf]
    assert [cbrt(x) for x in (0.0, 1.0, 8.0, 1e-300, inf)] == [0.0, 1.0, 2.0, 1e-100, inf]
    assert all(
        math.isnan(f(x)) for f, x in [(exp, nan), (log, nan), (log, -1.0), (log, -inf), (cbrt, nan), (cbrt, -1.0)]
    )


def test_exp_of_an_array_is_that_of_its_entries():
    x = np.random.default_rng(3).uniform(-800.0, 800.0, 999)
    assert exp_all(x).tolist() == [exp(value) for value in x]


@pytest.mark.parametrize("function", [exp, log, cbrt])
def test_nothing_is_fused_and_no_library_is_called(function):
    import numba

    function = numba.njit(error_model="numpy")(function.py_func)  # what comes from a cache cannot be looked at
    function(1.5)
    code = "".join(function.inspect_llvm().values())
    assert not re.search(
        r"@llvm\.(fma|fmuladd|exp|log|pow)|@(exp|log|pow|cbrt)\b|\bf(add|sub|mul|div) \w*(fast|contract)", code
    )
    machine_code = "".join(function.inspect_asm().values())
    assert not re.search(r"\bv?fn?m(add|sub)\w*", machine_code)  # x86-64 and ARM name them alike


def test_the_draw_never_takes_an_impossible_arm():
    p = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    for toss, arm in ((0.0, 1), (0.2499, 1), (0.25, 3), (np.nextafter(1.0, 0.0), 3)):
        assert draw(p, toss) == arm
    assert draw(np.array([0.1, 0.2, 0.7 - 1e-12, 0.0]), np.nextafter(1.0, 0.0)) == 2


def test_coins_are_splitmix64():
    for number in range(200):
        assert coin(np.uint64(2**63 + 5), float(number)) == oracle.coin(2**63 + 5, number)
