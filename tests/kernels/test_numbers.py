"""Numbers are read as Python reads them, to the last bit; what is no number is seen as such."""

import math
import struct
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_numbers import EDGES, SPOILT, any_float, halfway, long, number
from text_reference import number as slow_number

from massart.kernels.parsing.numbers import parse_number

RANDOM = 200_000
many = settings(derandomize=True, max_examples=500, deadline=None)  # the first call compiles


def check(written: str | bytes, around: tuple[bytes, bytes] = (b"1", b"5e1")) -> None:
    """The kernel says what the reference says, whatever stands before and after the number."""
    text = written.encode() if isinstance(written, str) else written
    within = np.frombuffer(bytearray(around[0] + text + around[1]), np.uint8)
    start = len(around[0])
    value, status = parse_number(within, start, start + len(text))
    expected, right = slow_number(text)
    assert status == right, (text, status)
    if right == 0:
        assert struct.pack("<d", value) == struct.pack("<d", expected), (text, value, expected)


@pytest.mark.parametrize("written", [*EDGES, *SPOILT, ""])
@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_edges(written, sign):
    check(sign + written)
    check(sign + written, (b"", b""))
    check(sign + written, (b"e", b":"))


@many
@given(st.floats())
def test_floats_come_back(value):
    for written in (repr(value), f"{value:.17g}", f"{value:.3f}", f"{value:e}", f"{value:.30e}", f"{value:.40f}"):
        check(written)
    if math.isfinite(value):
        text = np.frombuffer(bytearray(repr(value).encode()), np.uint8)
        assert struct.pack("<d", parse_number(text, 0, text.size)[0]) == struct.pack("<d", value)


@many
@given(st.text("0123456789", max_size=900), st.text("0123456789", max_size=900), st.integers(-1300, 1300))
def test_long_numbers(whole, fraction, power):
    check(f"{whole}.{fraction}e{power}")
    check(f"-{whole}{fraction}e{power - len(whole)}")
    check(f"{whole}.{fraction}")


@many
@given(st.text("0123456789.eE+-_ nafitNAFIT", max_size=12))
def test_what_looks_like_a_number(written):
    check(written)


@many
@given(st.binary(max_size=12))
def test_any_bytes(text):
    check(text)


@pytest.mark.parametrize("kind", [halfway, long, any_float])
def test_hard_numbers(kind):
    rng = Random(1)  # noqa: S311
    for _ in range(20_000):
        check(kind(rng))


def test_every_digit_count_around_a_halfway_point():
    """Between 2^53 and 2^53 + 2, and between 0 and the smallest float, decided by the last of many digits."""
    smallest = f"{2.0**-1074:.1080f}".rstrip("0")  # exact
    half = str(int(smallest.replace(".", "")) * 5).rjust(len(smallest), "0")
    half = f"0.{half[1:]}"
    assert float(half) == 0.0 and float(half + "1") == 5e-324  # noqa: PT018
    for zeros in range(0, 900, 7):
        for last in ("", "0", "1"):
            check("9007199254740993." + "0" * zeros + last)
            check("9007199254740992." + "9" * zeros + last)
            check(half + "0" * zeros + last)
            check("0." + "0" * zeros + "5" + last)


def test_powers_of_ten():
    for power in range(-400, 400):
        for digits in ("1", "9", "17976931348623157", "17976931348623159", "24703282292062327", "99999999999999999999"):
            check(f"{digits}e{power}")
            check(f"0.{digits}e{power}")


def test_random_strings():
    rng = Random(2)  # noqa: S311
    for _ in range(RANDOM):
        check(number(rng))
