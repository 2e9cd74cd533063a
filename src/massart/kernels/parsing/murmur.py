"""Names to numbers as Vowpal Wabbit does it: MurmurHash3 (Appleby, public domain, 32 bits), and digits as they are."""

from typing import Any

import numpy as np

from massart.kernels.compiling import njit
from massart.kernels.parsing.swar import load_word

_FIRST, _SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


@njit(cache=True, inline="always")
def _turn(k: Any, bits: int) -> Any:
    return np.uint32((np.uint32(k) << np.uint32(bits)) | (np.uint32(k) >> np.uint32(32 - bits)))


@njit(cache=True, inline="always")
def _scramble(k: Any) -> Any:
    return np.uint32(_turn(np.uint32(k * _FIRST), 15) * _SECOND)


@njit(cache=True, inline="always")
def _absorb(h: Any, k: Any) -> Any:
    return np.uint32(_turn(h ^ _scramble(k), 13) * np.uint32(5) + np.uint32(0xE6546B64))


@njit(cache=True, inline="always")
def _finish(h: Any, k: Any, size: Any) -> Any:
    """The last bytes, fewer than four, and the mixing at the end."""
    h ^= _scramble(k) ^ np.uint32(size)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@njit(cache=True, nogil=True)
def murmur3(text: Any, start: Any, stop: Any, seed: Any) -> Any:
    """MurmurHash3_x86_32 of the bytes text[start:stop].

    >>> int(murmur3(np.frombuffer(b"massart", np.uint8), np.uint64(0), np.uint64(7), np.uint32(0)))
    2111143707
    """
    h, p, size = np.uint32(seed), np.uint64(start), np.uint64(stop) - np.uint64(start)
    whole = p + (size & ~np.uint64(3))
    while p < whole:
        k = (
            np.uint32(text[p])
            | np.uint32(text[p + np.uint64(1)]) << np.uint32(8)
            | np.uint32(text[p + np.uint64(2)]) << np.uint32(16)
            | np.uint32(text[p + np.uint64(3)]) << np.uint32(24)
        )
        h = _absorb(h, np.uint32(k))
        p += np.uint64(4)
    k, left = np.uint32(0), size & np.uint64(3)
    while left > np.uint64(0):
        left -= np.uint64(1)
        k = np.uint32(k << np.uint32(8)) | np.uint32(text[p + left])
    return _finish(h, k, size)


@njit(cache=True, inline="always")
def short_murmur3(text: Any, start: Any, stop: Any, seed: Any) -> Any:
    """`murmur3` of at most 15 bytes, all of them and the next 16 in the text: no loop, hence no wrong guesses."""
    size = stop - start
    first, second = load_word(text, start), load_word(text, start + np.uint64(8))
    words = size >> np.uint64(2)
    h = np.uint32(seed)
    h = _absorb(h, np.uint32(first)) if words > np.uint64(0) else h
    h = _absorb(h, np.uint32(first >> np.uint64(32))) if words > np.uint64(1) else h
    h = _absorb(h, np.uint32(second)) if words > np.uint64(2) else h
    last = load_word(text, start + (words << np.uint64(2)))
    return _finish(h, np.uint32(last & ((np.uint64(1) << (np.uint64(8) * (size & np.uint64(3)))) - np.uint64(1))), size)


@njit(cache=True, nogil=True)
def vw_hash(text: Any, start: Any, stop: Any, seed: Any) -> Any:
    """The hash of a name: a whole number is itself plus the seed, anything else is `murmur3`.

    >>> int(vw_hash(np.frombuffer(b"13", np.uint8), np.uint64(0), np.uint64(2), np.uint32(5)))
    18
    """
    number = np.uint32(0)
    for p in range(np.uint64(start), np.uint64(stop)):
        digit = text[p] - np.uint8(48)
        if digit > np.uint8(9):
            return murmur3(text, start, stop, seed)
        number = np.uint32(number * np.uint32(10) + np.uint32(digit))
    return np.uint32(number + np.uint32(seed))
