"""exp, log, the cube root and random numbers by arithmetic and shifts alone: the same bits everywhere.

The C library chooses between variants of these functions by the processor, NumPy and Intel's SVML have others, and
their last bits differ. What a model file holds must not depend on that, so learners take these. An argument is reduced
to a short interval, where a fixed polynomial is good enough, and its exponent put back by shifts. No `fastmath` flag
lets the compiler fuse a product and a sum.

    exp    error below 0.52 ulp, below 1 where the result is below 2^-1022: as in Arm's optimized-routines (2018)
    log    error below 1 ulp: as in fdlibm (Sun Microsystems 1993)
    cbrt   error below 0.67 ulp: as in FreeBSD's libm

tests/kernels/test_elementary.py measures them against 40 decimal digits.
"""

from math import isqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Floats, njit

__all__ = ["cbrt", "coin", "draw", "exp", "exp_all", "log", "mix"]

_PARTS: Final = 128  # of an octave


def _powers_of_two() -> tuple[Any, Any]:
    """2^(i / 128) = H (1 + T): the bits of H, less those that i adds to the exponent, and T."""
    one = 1 << 200
    root, power = 2 * one, one  # in units of 2^-200
    for _ in range(7):
        root = isqrt(root * one)
    heads, tails = [], []
    for _ in range(_PARTS):
        head = power / one  # Python rounds a quotient of integers to the nearest float
        exact = int(head * 2.0**52) << 148
        heads.append(head)
        tails.append((power - exact) / exact)
        power = power * root // one
    return np.array(heads).view(np.int64) - (np.arange(_PARTS) << 45), np.array(tails)


_BITS, _TAILS = _powers_of_two()
_SHIFT: Final = 1.5 * 2.0**52  # plus this number, a number is rounded, and its lowest bits are those of an integer
_PARTS_PER_E: Final = float.fromhex("0x1.71547652b82fep0") * _PARTS
_E_PART_HIGH: Final = float.fromhex("-0x1.62e42fefa0000p-8")  # -ln 2 / 128
_E_PART_LOW: Final = float.fromhex("-0x1.cf79abc9e3b39p-47")
_C2: Final = float.fromhex("0x1.ffffffffffdbdp-2")
_C3: Final = float.fromhex("0x1.555555555543cp-3")
_C4: Final = float.fromhex("0x1.55555cf172b91p-5")
_C5: Final = float.fromhex("0x1.1111167a4d017p-7")
_LARGEST: Final = 7.09782712893383973096e02  # exp is finite up to here,
_SMALLEST: Final = -7.45133219101941108420e02  # and above 0 from here on

_LN2_HIGH: Final = 6.93147180369123816490e-01  # 33 bits of ln 2, so that its multiples up to 2^20 are exact
_LN2_LOW: Final = 1.90821492927058770002e-10
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
    (1.0, 2.718281828459045, 0.0)
    """
    if not _SMALLEST <= x <= _LARGEST:
        return np.inf if x > 0.0 else 0.0 if x < 0.0 else x
    # x = n ln 2 / 128 + r, n = 128 k + i
    shifted = x * _PARTS_PER_E + _SHIFT
    number = np.float64(shifted).view(np.int64)
    n = shifted - _SHIFT
    r = (x + n * _E_PART_HIGH) + n * _E_PART_LOW
    square = r * r
    i = np.uint64(number & np.int64(_PARTS - 1))
    t = (_TAILS[i] + r + square * (_C2 + r * _C3)) + square * square * (_C4 + r * _C5)
    if -650.0 < x < 709.0:  # neither the result nor a product is subnormal or infinite
        power = np.int64(_BITS[i] + (number << np.int64(45))).view(np.float64)
        return power + power * t
    power = np.int64(_BITS[i] + (np.int64(i) << np.int64(45))).view(np.float64)
    k = (np.int64(n) - np.int64(i)) >> np.int64(7)
    y = power + power * t
    if k > np.int64(0):
        return y * 2.0 * _power_of_two(k - np.int64(1))
    return y * _power_of_two(k + np.int64(200)) * _power_of_two(np.int64(-200))


@njit(cache=True, error_model="numpy")
def exp_all(x: Floats) -> Any:
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


@njit(cache=True, error_model="numpy", inline="always")
def mix(h: Any) -> Any:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the answer depends on every bit of h."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@njit(cache=True, error_model="numpy", inline="always")
def coin(seed: np.uint64, number: float) -> float:
    """The `number`-th uniform draw in [0, 1) of stream `seed`: SplitMix64, which needs no state."""
    return np.float64(mix(seed + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, error_model="numpy", inline="always")
def draw(p: Floats, toss: float) -> int:
    """The place at which the running sum of the probabilities p passes the toss; never one with p = 0."""
    left, chosen = toss, -1
    for i in range(p.size):
        if p[i] > 0.0:
            chosen = i
            if left < p[i]:
                break
            left -= p[i]
    return chosen
