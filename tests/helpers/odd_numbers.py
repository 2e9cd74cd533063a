"""Numbers as texts that are hard to read: long, tiny, huge, exactly between two floats, or not quite numbers."""

import struct
from decimal import Context, Decimal
from random import Random

_EDGES = """
0 -0 +0 0.0 -0.0 .0 0. 00 000.000 0e0 0e999999999999 -0e-999999999999 1 +1 -1 1. .5 +.5 -5. 01 007 1e0 1E5 1e+5 1e-5
1.e1 .1e1 9007199254740991 9007199254740992 9007199254740993 -9007199254740993 9007199254740995 9007199254740993e22
9007199254740993.0000000000000000000000001 18446744073709551615 18446744073709551616 18446744073709551617
9223372036854775807 9223372036854775808 4294967296 99999999999999999999 1e22 1e23 8.5e22 123456789012345678e-22 1e37
12345678901234567890123456789 3.14159265358979323846264338327950288 1e-323 1e-324 2e-324 2.4703282292062327e-324
2.4703282292062328e-324 3e-324 4.9e-324 5e-324 7.4e-324 7.5e-324 1e-400 1e-99999999999999999999 1.5e-310
2.2250738585072014e-308 2.2250738585072011e-308 2.225073858507201e-308 2.2250738585072012e-308 6.631236846766476e-316
1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 1.797693134862315807e308 1.797693134862315808e308
1e308 1.8e308 1e309 -1e309 1e400 1e99999999999999999999 1e100 -1e100 1.00000000000000005e100 1.0000000000000001e100
1.00000000000000016e100 1e101 -1e101 1e200 1e-200 1e50 1.0000000000000002e50 1e-50 9.999999999999999e-51 1e51 1e-51
1e2147483647 1e2147483648 1e-2147483649 1e9223372036854775808 1e18446744073709551616 1e4294967296 1e-4294967297
"""
_SPOILT = """
nan NaN -nan +NAN inf -inf +Inf INF infinity -Infinity INFINITY infinit infinityx nann in na . + - e e5 1e 1e+ 1e- 1e5.0
1.2.3 +-1 --1 1- 1_0 0x10 1f 1e5e5 .e5 +.e1 -. 1,5 ٣ １ 1e٣ 1.5- 1e1+ 1..2 +nan- i n 0x1p3 1d5 1e0x1
"""
EDGES = tuple(_EDGES.split())
SPOILT = tuple(_SPOILT.split())


def halfway(rng: Random) -> str:
    """Exactly between two neighbouring floats, or off by the last of many digits."""
    low = rng.choice((rng.getrandbits(63), rng.getrandbits(52), rng.randrange(1, 1 << 12))) % 0x7FEFFFFFFFFFFFFF
    if rng.random() < 0.5:  # of moderate size: few digits, every one of which counts
        low = (1023 + rng.randrange(-60, 120)) << 52 | low >> 11
    ends = struct.unpack("<2d", struct.pack("<2Q", low, low + 1))
    exact = Context(prec=1200)
    middle = exact.divide(exact.add(Decimal(ends[0]), Decimal(ends[1])), Decimal(2)).as_tuple()
    digits, power = "".join(map(str, middle.digits)), int(middle.exponent)
    change = rng.randrange(5)
    if change == 1:  # a little above
        zeros = rng.randrange(30)
        digits, power = digits + "0" * zeros + "1", power - zeros - 1
    elif change == 2:  # a little below
        digits = str(int(digits) - 1)
    elif change == 3:  # cut
        keep = rng.randrange(1, len(digits) + 1)
        digits, power = digits[:keep], power + len(digits) - keep
    return f"{digits}e{power}" if rng.random() < 0.7 or abs(power) > 400 else f"{Decimal(f'{digits}e{power}'):f}"


def long(rng: Random) -> str:
    """Up to 900 digits, a point somewhere, an exponent that may undo it."""
    length = int(10 ** rng.uniform(1, 2.95))
    digits = "".join(rng.choices(rng.choice(("0123456789", "09", "0000000001", "9")), k=length))
    point = rng.randrange(length + 1)
    powers = ("", f"e{rng.randrange(-400, 400)}", f"e{-point}", f"E+{length - point}", "e-0000000000000000000005")
    return digits[:point] + rng.choice((".", "")) + digits[point:] + rng.choice(powers)


def any_float(rng: Random) -> str:
    """A float of any size, NaN and infinity among them, in one of the usual ways to write it."""
    value = struct.unpack("<d", rng.randbytes(8))[0] if rng.random() < 0.5 else rng.gauss(0, 10.0 ** rng.randrange(30))
    return rng.choice((repr, "{:.17g}".format, "{:.25e}".format, "{:.6g}".format))(value)


def number(rng: Random, *, fair: bool = False) -> str:
    """A number, or what nearly is one; if `fair`, always a number, of size 1e100 at most."""
    kind = rng.randrange(24)
    if kind < 13:
        written = rng.choice(("1", "2", "-1", "0", "0.5", "1e-3", str(rng.randrange(1000)), f"{rng.gauss(0, 1):.3f}"))
    elif kind < 17:
        written = rng.choice(EDGES if fair or kind < 16 else SPOILT)
    elif kind == 17:
        written = halfway(rng)
    elif kind == 18:
        written = long(rng)
    elif kind < 21:
        written = f"{rng.randrange(10**19)}e{rng.randrange(-345, 330)}"
    else:
        written = any_float(rng)
    return written if not fair or abs(float(written)) <= 1e100 else "0.25"
