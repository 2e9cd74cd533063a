"""Text to float64, exactly: the number that is nearest to what is written, as Python's float() gives it.

    number   [+-] ( D+ [ . D* ] | . D+ ) [ (e|E) [+-] D+ ]

Up to 19 digits w and a power of ten q: if w < 2^53 and |q| <= 22, w and 10^|q| are floats and one operation rounds
once. Otherwise w 5^q is known to 128 bits, which is enough (Eisel and Lemire; Mushtak and Lemire 2023). With more
digits, w and w + 1 usually round alike; if not, integers of any length decide on which side of the middle the
number lies.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, intrinsic, ir, njit, types
from massart.kernels.parsing.swar import digits_of, load_word, middle_number, power_number, short_number

OK, NOT_A_NUMBER, NOT_FINITE = 0, 1, 2

_LEAST, _MOST = -342, 308  # powers of ten beyond which 19 digits are 0 or infinity
_DIGITS: Final = 800  # that can decide; any others count as one that is not 0
_WORDS: Final = 160  # of 32 bits: 800 digits times 10^308, or 10^1142, or 2^1075 times 800 digits
_NAN, _INF, _INFINITY = tuple(b"nan"), tuple(b"inf"), tuple(b"infinity")
_TENS = np.array([float(10**k) for k in range(23)])  # not np.power, which need not be exact
_WHOLE_TENS = 10 ** np.arange(9, dtype=np.uint64)


def _fives() -> tuple[Any, Any]:
    """The first 128 bits of 5^q for all q, high and low: rounded down for q >= 0, up for q < 0."""
    high, low = [], []
    for q in range(_LEAST, _MOST + 1):
        power = 5 ** abs(q)
        if q < 0:
            length = (power - 1).bit_length()
            power = 2 ** (length + 127 if q >= -27 else 2 * length + 128) // power + 1
        shift = power.bit_length() - 128
        power = power >> shift if shift > 0 else power << -shift
        high.append(power >> 64)
        low.append(power & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


_HIGH, _LOW = _fives()


@intrinsic
def _wide_product(_: Any, a: Any, b: Any) -> Any:
    """(high, low) 64 bits of a * b."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(values[0], wide), builder.zext(values[1], wide))
        parts = builder.lshr(product, ir.Constant(wide, 64)), product
        return context.make_tuple(builder, signature.return_type, [builder.trunc(p, ir.IntType(64)) for p in parts])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


@intrinsic
def _leading_zeros(_: Any, a: Any) -> Any:
    """The number of zeros before the first bit of a, which is not 0."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctlz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(cache=True, error_model="numpy")
def _nearest(w: Any, q: int) -> float:
    """The float nearest to w 10^q, where w < 2^64."""
    if w == np.uint64(0) or q < _LEAST:
        return 0.0
    if q > _MOST:
        return np.inf
    zeros = _leading_zeros(w)
    w = w << zeros
    high, low = _wide_product(w, _HIGH[q - _LEAST])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        carry, _ = _wide_product(w, _LOW[q - _LEAST])
        low += carry
        if carry > low:
            high += np.uint64(1)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    m = high >> shift  # 54 bits: one more than fits, to round by
    exponent = ((217706 * q) >> 16) + 63 + 1023 + np.int64(upper) - np.int64(zeros)
    if exponent <= 0:
        if 1 - exponent >= 64:
            return 0.0
        m = m >> np.uint64(1 - exponent)
        m = (m + (m & np.uint64(1))) >> np.uint64(1)
        return np.uint64(m).view(np.float64)  # if it reached 2^52, it is the smallest normal number
    if low <= np.uint64(1) and -4 <= q <= 23 and m & np.uint64(3) == np.uint64(1) and m << shift == high:
        m = m & ~np.uint64(1)  # exactly in the middle: to even
    m = (m + (m & np.uint64(1))) >> np.uint64(1)
    if m >= np.uint64(1) << np.uint64(53):
        m = np.uint64(1) << np.uint64(52)
        exponent += 1
    if exponent >= 2047:
        return np.inf
    return np.uint64((m & ~(np.uint64(1) << np.uint64(52))) | (np.uint64(exponent) << np.uint64(52))).view(np.float64)


@njit(cache=True)
def _times(number: Any, length: int, factor: Any, added: Any) -> int:
    """Number <- factor * number + added, for integers of `length` words; return the new length."""
    carry = np.uint64(added)
    for i in range(length):
        carry += np.uint64(number[i]) * np.uint64(factor)
        number[i] = np.uint32(carry & np.uint64(0xFFFFFFFF))
        carry = carry >> np.uint64(32)
    if carry > np.uint64(0):
        number[length] = np.uint32(carry)
        length += 1
    return length


@njit(cache=True, _nrt=True)
def _decide(text: Bytes, start: int, stop: int, q: int, below: float, above: float) -> float:
    """Which of two neighbours is nearer to the digits of text[start:stop], from the first that is not 0, times 10^q.

    `q` is that of the first digit left out after _DIGITS, or of the last digit.
    """
    bits = np.float64(below).view(np.uint64)
    exponent = np.int64(bits >> np.uint64(52))
    m = bits & ((np.uint64(1) << np.uint64(52)) - np.uint64(1))
    if exponent > 0:
        m |= np.uint64(1) << np.uint64(52)
    exponent = np.int64(max(exponent, np.int64(1)) - 1076)  # the middle is (2 m + 1) 2^exponent
    middle = np.uint64(2) * m + np.uint64(1)
    A, B = np.zeros(_WORDS, np.uint32), np.zeros(_WORDS, np.uint32)
    B[0], B[1] = np.uint32(middle & np.uint64(0xFFFFFFFF)), np.uint32(middle >> np.uint64(32))
    a, b, taken, rest = 0, 2, 0, False
    for p in range(start, stop):
        digit = text[p] - np.uint8(48)
        if digit < np.uint8(10):
            if taken < _DIGITS:
                a = _times(A, a, 10, digit)
                taken += 1
            elif digit > np.uint8(0):
                rest = True
    if rest:
        a = _times(A, a, 10, 1)
        q -= 1
    for _ in range(q):
        a = _times(A, a, 10, 0)
    for _ in range(-q):
        b = _times(B, b, 10, 0)
    for _ in range(exponent):
        b = _times(B, b, 2, 0)
    for _ in range(-exponent):
        a = _times(A, a, 2, 0)
    for i in range(max(a, b) - 1, -1, -1):
        if A[i] != B[i]:
            return above if A[i] > B[i] else below
    return below if m & np.uint64(1) == np.uint64(0) else above


@njit(cache=True)
def _is_word(text: Bytes, start: int, stop: int, word: Any) -> bool:
    """Whether text[start:stop] is a word of small letters, in any case."""
    same = stop - start == len(word)
    for k in range(len(word)):
        same = same and text[start + k] | 32 == word[k]
    return same


@njit(cache=True, nogil=True)
def parse_number(text: Bytes, start: int, stop: int) -> Any:
    """(value, OK), or (0, what is wrong), of text[start:stop], an array of bytes; the whole of it must be a number.

    >>> parse_number(np.frombuffer(b"-12.5e-1", np.uint8), 0, 8)
    (-1.25, 0)
    """
    p = start
    negative = p < stop and text[p] == np.uint8(45)
    if p < stop and (negative or text[p] == np.uint8(43)):
        p += 1
    first, seen, w, kept, q, point = p, 0, np.uint64(0), 0, np.int64(0), False
    significant = -1  # where the first digit that is not 0 stands
    more, zeros_only = 0, True  # digits after the 19th, and whether all of them are 0
    while p < stop:
        digit = text[p] - np.uint8(48)
        if digit < np.uint8(10):
            seen += 1
            if kept > 0 or digit > np.uint8(0):
                if kept == 0:
                    significant = p
                if kept < 19:
                    w = w * np.uint64(10) + np.uint64(digit)
                    kept += 1
                else:
                    more += 1
                    zeros_only = zeros_only and digit == np.uint8(0)
            if point:
                q -= 1
        elif text[p] == np.uint8(46) and not point:
            point = True
        else:
            break
        p += 1
    last = p
    if seen == 0:
        words = _is_word(text, first, stop, _NAN) or _is_word(text, first, stop, _INF)
        return 0.0, NOT_FINITE if words or _is_word(text, first, stop, _INFINITY) else NOT_A_NUMBER
    if p < stop and text[p] | 32 == 101:
        p += 1
        down = p < stop and text[p] == np.uint8(45)
        if p < stop and (down or text[p] == np.uint8(43)):
            p += 1
        if p == stop:
            return 0.0, NOT_A_NUMBER
        power = np.int64(0)
        while p < stop and text[p] - np.uint8(48) < np.uint8(10):
            power = min(power * 10 + np.int64(text[p] - np.uint8(48)), np.int64(1000000000))
            p += 1
        q += -power if down else power
    if p < stop:
        return 0.0, NOT_A_NUMBER
    value = _nearest(w, q + more)
    if not zeros_only:
        above = _nearest(w + np.uint64(1), q + more)
        if above != value:
            value = _decide(text, significant, last, q + max(0, kept + more - _DIGITS), value, above)
    if value == np.inf:
        return 0.0, NOT_FINITE
    return -value if negative else value, OK


@njit(cache=True, error_model="numpy", inline="always")
def scan_number(text: Bytes, p: Any, size: np.uint64) -> Any:
    """(value, where it ends) of the plain number at text[p]; it ends at p if it takes `parse_number` to read it.

    A plain number has no plus, no exponent, up to 7 digits before the point and up to 15 after it.
    """
    if p + np.uint64(32) > size:
        return 0.0, p
    negative = text[p] == np.uint8(45)
    q = p + np.uint64(negative)
    whole, w = digits_of(load_word(text, q))
    q += whole
    digits = np.uint64(0)
    if text[q] == np.uint8(46):
        q += np.uint64(1)
        digits, fraction = digits_of(load_word(text, q))
        w = w * _WHOLE_TENS[digits] + fraction
        q += digits
        if digits == np.uint64(8):
            more, fraction = digits_of(load_word(text, q))
            w = w * _WHOLE_TENS[more] + fraction
            q += more
            digits += more
    if (
        whole == np.uint64(8)
        or digits == np.uint64(16)
        or whole + digits == np.uint64(0)
        or whole + digits > np.uint64(19)
        or text[q] | np.uint8(32) == np.uint8(101)
    ):
        return 0.0, p
    if w < np.uint64(9007199254740992):
        value = np.float64(np.int64(w)) / _TENS[digits]
    else:
        value = _nearest(w, -np.int64(digits))
    return -value if negative else value, q


@njit(cache=True, inline="always")
def field_number(text: Bytes, start: np.uint64, stop: np.uint64, size: np.uint64) -> Any:
    """(value, whether it is one) of text[start:stop], if it is a plain number as `scan_number` has it."""
    value, valid = short_number(text, start, stop)
    if not valid:
        value, valid = middle_number(text, start, stop)
        if not valid:
            value, valid = power_number(text, start, stop)
            if not valid:
                value, end = scan_number(text, start, size)
                valid = end == stop and start < stop
    return value, valid


@njit(cache=True, inline="always")
def label_number(text: Bytes, start: np.uint64, size: np.uint64) -> Any:
    """`scan_number`, with a plus before it, too."""
    plus = text[start] == np.uint8(43) and text[start + np.uint64(1)] - np.uint8(48) < np.uint8(10)
    value, end = scan_number(text, start + np.uint64(plus), size)
    return value, end if end > start + np.uint64(plus) else start
