"""Eight bytes of text at a time, as one number: how many of them are digits, and what number the digits make.

The loops over digits that these replace end after one to eight turns, and a processor that guesses wrong when they
end loses more time than all the rest takes.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from massart.kernels.compiling import Bytes, njit

_ONE, _EIGHT = np.uint64(1), np.uint64(8)
_SIGNED_TENS = np.array([sign * 10.0**k for sign in (1, -1) for k in range(16)])  # to divide by: no guess about signs
_WHOLE_TENS = 10 ** np.arange(9, dtype=np.uint64)


@intrinsic
def load_word(_: Any, text: Bytes, p: Any) -> Any:
    """The bytes text[p:p + 8], the first of them lowest; they must exist: nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        place = builder.gep(data, [values[1]])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.uint64), generate


@intrinsic
def _trailing_zeros(_: Any, a: Any) -> Any:
    """The number of zeros after the last bit of a; 64 for 0."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def _mark_bits(_: Any, text: Bytes, p: Any) -> Any:
    """A bit for each of text[p:p + 64]: whether it is below 0x21, ":" or "|"; nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64)
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        place = builder.bitcast(builder.gep(data, [values[1]]), vector.as_pointer())
        block = builder.load(place, align=1)

        def every(byte: int) -> Any:
            return ir.Constant(vector, [byte] * 64)

        found = builder.icmp_unsigned("<", block, every(0x21))
        for byte in b":|":
            found = builder.or_(found, builder.icmp_unsigned("==", block, every(byte)))
        return builder.bitcast(found, ir.IntType(64))

    return types.uint64(text, types.uint64), generate


@njit(cache=True, inline="always")
def _eight_digits(t: Any) -> Any:
    """The number of eight digits, 0 to 9 each, the first of them in the lowest byte."""
    t = t * np.uint64(10) + (t >> _EIGHT)
    pairs = np.uint64(0x000000FF000000FF)
    t = (t & pairs) * np.uint64(0x000F424000000064) + ((t >> np.uint64(16)) & pairs) * np.uint64(0x0000271000000001)
    return t >> np.uint64(32)


@njit(cache=True, inline="always")
def digits_of(word: Any) -> Any:
    """(how many of the first bytes are digits, the number they make); 8 digits are few enough, too."""
    t = word ^ np.uint64(0x3030303030303030)
    others = ((t + np.uint64(0x7676767676767676)) | t) & np.uint64(0x8080808080808080)
    bits = _trailing_zeros(others) & np.uint64(0xF8)
    t = t << ((np.uint64(64) - bits) & np.uint64(63)) if bits > np.uint64(0) else np.uint64(0)
    return bits >> np.uint64(3), _eight_digits(t)


@njit(cache=True, error_model="numpy", inline="always")
def short_number(text: Bytes, start: np.uint64, stop: np.uint64, size: np.uint64) -> Any:
    """(value, whether it is one) of text[start:stop] if that is a plain number of at most 8 bytes.

    Nothing here depends on what the bytes are before the value is known, so that the processor can work on several
    numbers at the same time: the point is taken out of the word, and digits are converted as in `digits_of`.
    """
    if stop - start > _EIGHT or start + np.uint64(16) > size:
        return 0.0, False
    negative = np.uint64(text[start] == np.uint8(45))
    length = stop - start - negative
    word = load_word(text, start + negative)
    t = word ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    points = (t - np.uint64(0x0101010101010101)) & ~t & np.uint64(0x8080808080808080)
    point = min(_trailing_zeros(points) >> np.uint64(3), length)  # there is none: behind the last digit
    digits = length - np.uint64(point < length)
    before = (_ONE << (np.uint64(8) * point)) - _ONE if point < _EIGHT else ~np.uint64(0)
    t = ((word & before) | ((word >> _EIGHT) & ~before)) ^ np.uint64(0x3030303030303030)
    shift = np.uint64(64) - _EIGHT * digits
    t = t << (shift & np.uint64(63))
    others = ((t + np.uint64(0x7676767676767676)) | t) & np.uint64(0x8080808080808080)
    valid = others == np.uint64(0) and digits - _ONE < _EIGHT
    after = digits - point if point < length else np.uint64(0)
    return np.float64(np.int64(_eight_digits(t))) / _SIGNED_TENS[after + np.uint64(16) * negative], valid


@njit(cache=True, error_model="numpy", inline="always")
def middle_number(text: Bytes, start: np.uint64, stop: np.uint64, size: np.uint64) -> Any:
    """`short_number` for 9 to 16 bytes, the point among the first 8 of them."""
    negative = np.uint64(text[start] == np.uint8(45))
    length = stop - start - negative
    if length - np.uint64(9) > np.uint64(7) or start + np.uint64(24) > size:
        return 0.0, False
    first, second = load_word(text, start + negative), load_word(text, start + negative + _EIGHT)
    t = first ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    points = (t - np.uint64(0x0101010101010101)) & ~t & np.uint64(0x8080808080808080)
    point = _trailing_zeros(points) >> np.uint64(3)
    if point > np.uint64(7):
        return 0.0, False
    before = (_ONE << (_EIGHT * point)) - _ONE
    t = (first & before) | ((first >> _EIGHT) & ~before & np.uint64(0x00FFFFFFFFFFFFFF)) | (second << np.uint64(56))
    rest = length - np.uint64(9)  # digits after the first eight
    t = t ^ np.uint64(0x3030303030303030)
    u = (second >> _EIGHT) ^ np.uint64(0x3030303030303030)
    u = u << ((np.uint64(64) - _EIGHT * rest) & np.uint64(63)) if rest > np.uint64(0) else np.uint64(0)
    others = (t + np.uint64(0x7676767676767676)) | t | (u + np.uint64(0x7676767676767676)) | u
    w = _eight_digits(t) * _WHOLE_TENS[rest] + _eight_digits(u)
    value = np.float64(np.int64(w)) / _SIGNED_TENS[length - _ONE - point + np.uint64(16) * negative]
    return value, others & np.uint64(0x8080808080808080) == np.uint64(0)


@njit(cache=True)
def find_marks(text: Bytes, start: np.uint64, places: Any) -> Any:
    """Find the places of the bytes below 0x21, of ":" and of "|" from `start` on, in order; return how many.

    It stops at the end of the text, or when fewer than 64 places are left. Bytes below 0x21 other than blanks and
    newlines are rare; who meets one takes a closer look.
    """
    count, p, size = np.uint64(0), np.uint64(start), np.uint64(text.size)
    room = np.uint64(places.size) - np.uint64(64)
    while p + np.uint64(64) <= size and count <= room:
        found = _mark_bits(text, p)
        while found != np.uint64(0):
            places[count] = np.uint32(p + _trailing_zeros(found))
            found &= found - _ONE
            count += _ONE
        p += np.uint64(64)
    if p + np.uint64(64) > size:
        while p < size and count < np.uint64(places.size):
            if text[p] < np.uint8(0x21) or text[p] == np.uint8(58) or text[p] == np.uint8(124):
                places[count] = np.uint32(p)
                count += _ONE
            p += _ONE
    return count
