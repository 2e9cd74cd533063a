"""exp, log and the cube root from additions, multiplications, divisions and shifts alone: the same bits everywhere.

The C library chooses between variants of these functions by the processor, NumPy and Intel's SVML have others, and
their last bits differ. What a model file holds must not depend on that, so learners take these. The algorithms are
those of fdlibm (Sun Microsystems 1993) and of FreeBSD's cbrt: an argument reduced to a short interval, a fixed
polynomial there, and its exponent put back by shifts. No `fastmath` flag lets the compiler fuse a product and a sum.

    exp    error below 1 ulp, results below 2^-1022 included
    log    error below 1 ulp
    cbrt   error below 0.67 ulp

tests/kernels/test_elementary.py measures them against 40 decimal digits.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import njit

__all__ = ["cbrt", "exp", "exp_all", "log"]

_LN2_HIGH: Final = 6.93147180369123816490e-01  # 33 bits of ln 2, so that its multiples up to 2^20 are exact
_LN2_LOW: Final = 1.90821492927058770002e-10
_LARGEST: Final = 7.09782712893383973096e02  # exp is finite up to here,
_SMALLEST: Final = -7.45133219101941108420e02  # and above 0 from here on
_MANTISSA: Final = np.int64((1 << 52) - 1)
_HALF_ROOT: Final = np.int64(0x3FE6A09E667F3BCC)  # sqrt(1/2), as the integer of its bits
_ONE: Final = np.int64(0x3FF0000000000000)


@njit(cache=True, error_model="numpy")
def _power_of_two(k: Any) -> float:
    """2^k for k from -1022 to 1023."""
    return np.int64((k + np.int64(1023)) << np.int64(52)).view(np.float64)


@njit(cache=True, error_model="numpy")
def exp(x: float) -> float:
    """e^x: infinite above 709.78, 0 below -745.13, NaN for NaN.

    >>> exp(0.0), exp(1.0), exp(-1000.0)
    (1.0, 2.7182818284590455, 0.0)
    """
    if not _SMALLEST <= x <= _LARGEST:
        return np.inf if x > 0.0 else 0.0 if x < 0.0 else x
    k = np.int64(1.44269504088896338700 * x + (0.5 if x >= 0.0 else -0.5))
    high, low = x - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    t = r * r
    # r - t R(t) with R from the Remez algorithm: exp(r) = 1 + 2 r / (R' - r)
    c = 4.13813679705723846039e-08
    c = -1.65339022054652515390e-06 + t * c
    c = 6.61375632143793436117e-05 + t * c
    c = -2.77777777770155933842e-03 + t * c
    c = 1.66666666666666019037e-01 + t * c
    c = r - t * c
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    if k > np.int64(1023):
        return y * 2.0 * _power_of_two(np.int64(1023))
    if k < np.int64(-1021):
        return y * _power_of_two(k + np.int64(1000)) * _power_of_two(np.int64(-1000))
    return y * _power_of_two(k)


@njit(cache=True, error_model="numpy")
def exp_all(x: Any) -> Any:
    """`exp` of each number of a 1-dimensional array."""
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = exp(x[i])
    return y


@njit(cache=True, error_model="numpy")
def log(x: float) -> float:
    """The natural logarithm: minus infinity at 0, NaN below it and for NaN.

    >>> log(1.0), log(10.0), log(0.0)
    (0.0, 2.302585092994046, -inf)
    """
    if not 0.0 < x < np.inf:
        return -np.inf if x == 0.0 else x if x > 0.0 else np.nan
    k = np.int64(0)
    if x < 2.2250738585072014e-308:  # subnormal
        x *= 18014398509481984.0
        k = np.int64(-54)
    # x = 2^k m with m in [sqrt(1/2), sqrt(2))
    bits = np.float64(x).view(np.int64) + (_ONE - _HALF_ROOT)
    k += (bits >> np.int64(52)) - np.int64(1023)
    f = np.int64((bits & _MANTISSA) + _HALF_ROOT).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = 1.479819860511658591e-01
    odd = 1.818357216161805012e-01 + w * odd
    odd = 2.857142874366239149e-01 + w * odd
    odd = 6.666666666666735130e-01 + w * odd
    square = 0.5 * f * f
    return k * _LN2_HIGH - ((square - (s * (square + (z * odd + even)) + k * _LN2_LOW)) - f)


@njit(cache=True, error_model="numpy")
def cbrt(x: float) -> float:
    """The cube root of a number that is not negative; NaN below 0 and for NaN.

    >>> cbrt(27.0), cbrt(0.0)
    (3.0, 0.0)
    """
    if not 0.0 < x < np.inf:
        return x if x >= 0.0 else np.nan
    # 5 bits from a third of the exponent, 23 by a polynomial, all by one step of Newton's
    scale = 1.0
    if x < 2.2250738585072014e-308:  # subnormal
        x *= 18014398509481984.0
        scale = 1.0 / 262144.0
    bits = ((np.float64(x).view(np.int64) >> np.int64(32)) // np.int64(3) + np.int64(715094163)) << np.int64(32)
    t = np.int64(bits).view(np.float64)
    r = (t * t) * (t / x)
    low = 1.87595182427177009643 + r * (-1.88497979543377169875 + r * 1.621429720105354466140)
    t *= low + ((r * r) * r) * (-0.758397934778766047437 + r * 0.145996192886612446982)
    # rounded to 23 bits, so that t * t is exact
    t = np.int64((np.float64(t).view(np.int64) + np.int64(0x80000000)) & np.int64(-0x40000000)).view(np.float64)
    r = x / (t * t)
    t += t * ((r - t) / (t + t + r))
    return t * scale
