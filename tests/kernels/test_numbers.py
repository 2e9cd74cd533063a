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

from massart.kernels.compiling import njit
from massart.kernels.parsing.numbers import field_number, parse_number

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


@njit()
def field(text, start, stop):
    """`field_number`, which is only for other kernels."""
    return field_number(text, np.uint64(start), np.uint64(stop), np.uint64(text.size))


def quick(written: str, before: bytes = b"-1 |space first name:") -> bool:
    """Whether the quick way takes it for a number; then its value is that of the reference."""
    text = np.frombuffer(before + written.encode() + b" " * 32, np.uint8)
    value, valid = field(text, len(before), len(before) + len(written))
    expected, right = slow_number(written.encode())
    if valid:
        assert right == 0, written
        assert struct.pack("<d", value) == struct.pack("<d", expected), (written, value, expected)
    return bool(valid)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("power", ["", "e-05", "E+07", "e+00"])
def test_usual_numbers_go_the_quick_way(sign, power):
    """Up to 15 digits, with the point at every place or none: slow lines would be the price."""
    for digits in range(1, 16):
        whole = "918273645546372"[:digits]
        for point in range(digits + 1):
            assert quick(f"{sign}{whole[:point]}.{whole[point:]}{power}"), (whole, point)
            assert quick(f"{sign}{'0' * point}{whole[point:]}{power}"), (whole, point)


def test_the_quick_way_is_right_or_leaves_it_to_the_other():
    rng = Random(3)  # noqa: S311
    for _ in range(20_000):
        quick(number(rng))
        quick("".join(rng.choice("0123456789.-+eE:") for _ in range(rng.randrange(22))))
        quick(f"{rng.random() * 10.0 ** rng.randrange(-30, 30):.{rng.randrange(18)}e}")


@pytest.mark.parametrize("written", ["5", "0.5", "-0.25", "1234.5678", "1.5e-05", "123456789.12345"])
def test_nothing_before_the_text_is_read(written):
    """The quick way reads words that end with the number: at the beginning of a text there may be no such word."""
    for before in range(24):
        quick(written, b" " * before)


@pytest.mark.parametrize(
    "written", [".", "-", "-.", "", "1.2.3", "1e-5x", "e-05", ".e-05", "1e-0", "--1", "1-", "1e5:"]
)
def test_what_is_no_plain_number_is_left_to_the_other_way(written):
    assert not quick(written)
