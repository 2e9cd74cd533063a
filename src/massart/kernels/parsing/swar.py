"""Eight bytes of text at a time, as one number: how many of them are digits, and what number the digits make.

The loops over digits that these replace end after one to eight turns, and a processor that guesses wrong when they
end loses more time than all the rest takes. Bytes that mean something are looked for 64 at a time.

`_nrt=False`, here and in the parsers: Numba counts references to an array wherever it is handed on, also to functions
that are inlined, and each count is an atomic operation. A function that makes no arrays needs no counts; one that does
and is called by such a function says `_nrt=True`, as it would take over the option.
"""

from typing import Any

import numpy as np

from massart.kernels.compiling import Bytes, intrinsic, ir, njit, types

_NONE, _ONE, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(8)
_HIGHEST = np.uint64(0x8080808080808080)
_AT_ONCE = 12  # marks in 64 bytes, or more than there are
_MINUS, _PLUS = np.uint8(45), np.uint8(43)
_TENS = np.array([float(10**k) for k in range(23)])  # exact
# By the point's place among 16 bytes, 16 without a point, and 32 more with a minus: no guess about either.
_SIGNED_TENS = np.array([sign * 10.0 ** max(15 - k, 0) for sign in (1, -1) for k in range(32)])
_VECTOR = ir.VectorType(ir.IntType(8), 64)


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
def _ones(_: Any, a: Any) -> Any:
    """How many bits of a are 1."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), generate


@intrinsic
def select(_: Any, condition: Any, a: Any, b: Any) -> Any:
    """The number a if the condition holds, else b; both are there already: the processor guesses nothing."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(values[0], values[1], values[2])

    return a(types.boolean, a, a), generate


def _load_vector(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, values[0]).data
    return builder.load(builder.bitcast(builder.gep(data, [values[1]]), _VECTOR.as_pointer()), align=1)


@intrinsic
def _mark_bits(_: Any, text: Bytes, p: Any) -> Any:
    """A bit for each of text[p:p + 64]: whether it is below 0x21, ":" or "|"; nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        block = _load_vector(context, builder, signature, values)

        def every(byte: int) -> Any:
            return ir.Constant(_VECTOR, [byte] * 64)

        found = builder.icmp_unsigned("<", block, every(0x21))
        for byte in b":|":
            found = builder.or_(found, builder.icmp_unsigned("==", block, every(byte)))
        return builder.bitcast(found, ir.IntType(64))

    return types.uint64(text, types.uint64), generate


@intrinsic
def _bits_between(_: Any, text: Bytes, p: Any, least: Any, most: Any) -> Any:
    """A bit for each of text[p:p + 64]: whether it is one of the bytes least..most; nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        block = _load_vector(context, builder, signature, values)
        nothing, zeros = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        low, high = (
            builder.shuffle_vector(builder.insert_element(nothing, one, ir.Constant(ir.IntType(32), 0)), nothing, zeros)
            for one in values[2:]
        )
        inside = builder.icmp_unsigned("<=", builder.sub(block, low), builder.sub(high, low))
        return builder.bitcast(inside, ir.IntType(64))

    return types.uint64(text, types.uint64, types.uint8, types.uint8), generate


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


@njit(cache=True, inline="always")
def _last_digits(text: Bytes, stop: np.uint64, count: np.uint64) -> Any:
    """Bytes text[stop - count:stop], 1 to 8 of them, as digits at the end of a word that begins with zeros."""
    shift = (np.uint64(64) - _EIGHT * count) & np.uint64(63)
    return ((load_word(text, stop - _EIGHT) ^ np.uint64(0x3030303030303030)) >> shift) << shift


@njit(cache=True, inline="always")
def _points(t: Any) -> Any:
    """For each byte of a word of digits its highest bit, if it is a point; right up to the first of them."""
    t = t ^ np.uint64(0x1E1E1E1E1E1E1E1E)  # a point, taken for a digit
    return (t - np.uint64(0x0101010101010101)) & ~t & _HIGHEST


@njit(cache=True, inline="always")
def _up_to(bits: Any) -> Any:
    """All bits up to the lowest one of `bits`; none for 0."""
    return select(bits != _NONE, bits ^ (bits - _ONE), _NONE)


@njit(cache=True, inline="always")
def _others(t: Any) -> Any:
    """For each byte of a word its highest bit, if it is no digit; right up to the first of them."""
    return ((t + np.uint64(0x7676767676767676)) | t) & _HIGHEST


@njit(cache=True, inline="always")
def _short_digits(text: Bytes, start: np.uint64, stop: np.uint64) -> Any:
    """(the number without its point, the point's place, whether it is one) of text[start:stop], at most 8 bytes.

    There is no sign, and 8 bytes of text before `stop` exist. The place is 15 for the last byte, one less for each
    byte before it, 16 if there is no point. Nothing depends on what the bytes are before the number is known, so that
    the processor can work on several at a time: all that stands before the point moves by one byte, over the point.
    """
    t = _last_digits(text, stop, stop - start)
    points = _points(t)
    t = t ^ ((t ^ (t << _EIGHT)) & _up_to(points))
    valid = _others(t) == _NONE and stop - start - np.uint64(points != _NONE) - _ONE < _EIGHT
    return _eight_digits(t), _EIGHT + (_trailing_zeros(points) >> np.uint64(3)), valid


@njit(cache=True, inline="always")
def _middle_digits(text: Bytes, start: np.uint64, stop: np.uint64) -> Any:
    """`_short_digits` of 9 to 16 bytes and a number below 2^53; 16 bytes of text before `stop` exist."""
    high, low = _last_digits(text, stop - _EIGHT, stop - start - _EIGHT), _last_digits(text, stop, _EIGHT)
    first, second = _points(high), _points(low)
    early = first != _NONE  # a point is among the first 8 of the 16 bytes
    later = _EIGHT + (_trailing_zeros(second) >> np.uint64(3))
    place = select(early, _trailing_zeros(first) >> np.uint64(3), later)
    second = _up_to(select(early, _NONE, second))
    first = select(second != _NONE, ~_NONE, _up_to(first))
    low = low ^ ((low ^ ((low << _EIGHT) | (high >> np.uint64(56)))) & second)
    high = high ^ ((high ^ (high << _EIGHT)) & first)
    w = _eight_digits(high) * np.uint64(100_000_000) + _eight_digits(low)
    return w, place, _others(high) | _others(low) == _NONE and w < np.uint64(9007199254740992)


@njit(cache=True, error_model="numpy", inline="always")
def short_number(text: Bytes, start: np.uint64, stop: np.uint64) -> Any:
    """(value, whether it is one) of text[start:stop] if that is a plain number of at most 8 bytes after its sign."""
    negative = np.uint64(text[start] == _MINUS)
    first = start + negative
    if stop - first > _EIGHT or stop < _EIGHT:
        return 0.0, False
    w, place, valid = _short_digits(text, first, stop)
    return np.float64(np.int64(w)) / _SIGNED_TENS[place + (negative << np.uint64(5))], valid


@njit(cache=True, error_model="numpy", inline="always")
def middle_number(text: Bytes, start: np.uint64, stop: np.uint64) -> Any:
    """`short_number` for 9 to 16 bytes."""
    negative = np.uint64(text[start] == _MINUS)
    first = start + negative
    if stop - first - np.uint64(9) > np.uint64(7) or stop < np.uint64(16):
        return 0.0, False
    w, place, valid = _middle_digits(text, first, stop)
    return np.float64(np.int64(w)) / _SIGNED_TENS[place + (negative << np.uint64(5))], valid


@njit(cache=True, error_model="numpy", inline="always")
def power_number(text: Bytes, start: np.uint64, stop: np.uint64) -> Any:
    """`short_number` for up to 16 bytes and an exponent of two digits after them, as in 3.75e-05."""
    negative = text[start] == _MINUS
    first, last = start + np.uint64(negative), stop - np.uint64(4)
    if stop < np.uint64(20) or last - first - _ONE > np.uint64(15):
        return 0.0, False
    if text[last] | np.uint8(32) != np.uint8(101):
        return 0.0, False
    sign = text[last + _ONE]
    tens, ones = text[stop - np.uint64(2)] - np.uint8(48), text[stop - _ONE] - np.uint8(48)
    if last - first > _EIGHT:
        w, place, valid = _middle_digits(text, first, last)
    else:
        w, place, valid = _short_digits(text, first, last)
    power = np.int64(tens) * 10 + np.int64(ones)
    q = (-power if sign == _MINUS else power) - np.int64(select(place < np.uint64(16), np.uint64(15) - place, _NONE))
    valid = valid and tens < np.uint8(10) and ones < np.uint8(10) and sign in (_MINUS, _PLUS)
    if not valid or abs(q) > 22:
        return 0.0, False
    value = np.float64(np.int64(w))
    value = value / _TENS[-q] if q < 0 else value * _TENS[q]
    return -value if negative else value, True


@njit(cache=True, _nrt=False)
def find_marks(text: Bytes, start: np.uint64, places: Any) -> Any:
    """Find the places of the bytes below 0x21, of ":" and of "|" from `start` on, in order; return how many.

    It stops at the end of the text, or when fewer than 64 places are left. Bytes below 0x21 other than blanks and
    newlines are rare; who meets one takes a closer look.
    """
    count, p, size = np.uint64(0), np.uint64(start), np.uint64(text.size)
    room = np.uint64(places.size) - np.uint64(64)
    while p + np.uint64(64) <= size and count <= room:
        found = _mark_bits(text, p)
        after = count + _ones(found)
        # Places that do not count are written as well: that takes less time than wrong guesses of how many there are.
        for i in range(_AT_ONCE):
            places[count + np.uint64(i)] = np.uint32(p + _trailing_zeros(found))
            found &= found - _ONE
        count += np.uint64(_AT_ONCE)
        while found != _NONE:
            places[count] = np.uint32(p + _trailing_zeros(found))
            found &= found - _ONE
            count += _ONE
        count = after
        p += np.uint64(64)
    if p + np.uint64(64) > size:
        while p < size and count < np.uint64(places.size):
            if text[p] < np.uint8(0x21) or text[p] == np.uint8(58) or text[p] == np.uint8(124):
                places[count] = np.uint32(p)
                count += _ONE
            p += _ONE
    return count


@njit(cache=True, nogil=True, _nrt=False)
def count_between(text: Bytes, least: Any, most: Any) -> Any:
    r"""How many bytes are least..most, two numbers of uint8, the first not above the second.

    >>> int(count_between(np.frombuffer(b"1 |a b\n", np.uint8), np.uint8(0), np.uint8(32)))
    3
    """
    count, p, size = _NONE, _NONE, np.uint64(text.size)
    while p + np.uint64(64) <= size:
        count += _ones(_bits_between(text, p, least, most))
        p += np.uint64(64)
    while p < size:
        count += np.uint64(least <= text[p] <= most)
        p += _ONE
    return count
