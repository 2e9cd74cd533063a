"""Names to columns as Vowpal Wabbit does it, and features of several namespaces multiplied.

A name is hashed by MurmurHash3 (Appleby, public domain, 32 bits); digits are taken as they are. The column of a product
is h <- (h * FNV) ^ column for one factor after the other. A namespace that occurs twice in a crossing gives each
combination of its features once. Products go to a buffer of fixed size, row by row: they are never all written out.
"""

from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Bytes, njit
from massart.kernels.parsing.merge_duplicates import merge_row, merge_tables
from massart.kernels.parsing.row_errors import LARGEST
from massart.kernels.parsing.swar import digits_of, load_word, select

_FIRST, _SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_FNV: Final = np.uint32(16777619)
ANY: Final = np.uint8(58)  # ":" stands for every namespace
_ONE = np.uint64(1)


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
def _finish(h: Any, k: Any, size: np.uint64) -> Any:
    """The last bytes, fewer than four, and the mixing at the end."""
    h ^= _scramble(k) ^ np.uint32(size)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@njit(cache=True, nogil=True)
def murmur3(text: Bytes, start: np.uint64, stop: np.uint64, seed: np.uint32) -> Any:
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
def short_murmur3(text: Bytes, start: np.uint64, stop: np.uint64, seed: np.uint32) -> Any:
    """`murmur3` of at most 15 bytes, all of them and the next 16 in the text: no loop, hence no wrong guesses."""
    size = stop - start
    words = size >> np.uint64(2)
    first, none = load_word(text, start), np.uint32(seed)
    one = _absorb(none, np.uint32(first))
    two = _absorb(one, np.uint32(first >> np.uint64(32)))
    h = select(words > np.uint64(1), two, select(words > np.uint64(0), one, none))
    if words > np.uint64(2):
        h = _absorb(h, np.uint32(load_word(text, start + np.uint64(8))))
    last = load_word(text, start + (words << np.uint64(2)))
    return _finish(h, np.uint32(last & ((np.uint64(1) << (np.uint64(8) * (size & np.uint64(3)))) - np.uint64(1))), size)


@njit(cache=True, nogil=True)
def vw_hash(text: Bytes, start: np.uint64, stop: np.uint64, seed: np.uint32) -> Any:
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


@njit(cache=True, inline="always")
def name_hash(text: Bytes, start: np.uint64, stop: np.uint64, seed: np.uint32) -> Any:
    """`vw_hash`; a short name that is far from the end of the text goes faster."""
    if stop - start < np.uint64(16) and start + np.uint64(32) <= np.uint64(text.size):
        if text[start] - np.uint8(48) > np.uint8(9):
            return short_murmur3(text, start, stop, seed)
        digits, number = digits_of(load_word(text, start))
        if digits == stop - start:
            return np.uint32(np.uint32(number) + np.uint32(seed))
    return vw_hash(text, start, stop, seed)


@njit(cache=True, inline="always")
def _wanted(space: Any, letter: Any) -> bool:
    return letter in (ANY, space)


@njit(cache=True)
def _pairs(row: Any, letters: Any, mask: Any, out: Any, n: Any) -> Any:
    """Products of two or three features; the new n, or one more than the buffer's size if that is too small."""
    data, indices, spaces, start, stop = row
    values, columns = out
    room, three = np.uint64(values.size), letters[2] > np.uint8(0)
    for i in range(start, stop):
        if not _wanted(spaces[i], letters[0]):
            continue
        half = np.uint32(np.uint32(indices[i]) * _FNV)
        for j in range(i if letters[1] == letters[0] else start, stop):
            if not _wanted(spaces[j], letters[1]):
                continue
            h, product = half ^ np.uint32(indices[j]), data[i] * data[j]
            if not three:
                if n >= room:
                    return room + _ONE
                values[n], columns[n] = product, h & mask
                n += _ONE
                continue
            again = j if letters[2] == letters[1] else (i if letters[2] == letters[0] else start)
            for k in range(again, stop):
                if _wanted(spaces[k], letters[2]):
                    if n >= room:
                        return room + _ONE
                    values[n], columns[n] = product * data[k], np.uint32(np.uint32(h * _FNV) ^ indices[k]) & mask
                    n += _ONE
    return n


@njit(cache=True, nogil=True)
def cross_rows(rows: Any, spaces: Any, first: int, plan: Any, mask: Any, out: Any) -> Any:
    """Cross rows from `first` on until the buffer is full or a value too large; (rows crossed, whether too large).

    `rows` is CSR, `plan` (crossings, 3) are the namespaces' letters, 0 if there are but two. `out` is (data, indices,
    indptr): each row's own features come first, then its products.
    """
    data, indices, indptr = rows
    values, columns, starts = out
    tables = merge_tables()
    no_spaces = np.empty(0, np.uint8)
    room = np.uint64(values.size)
    starts[0] = np.uint32(0)
    n, done = np.uint64(0), 0
    for i in range(first, indptr.size - 1):
        if done + 1 >= starts.size:
            break
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        begin = n
        if n + (stop - start) > room:
            break
        for p in range(start, stop):
            values[n], columns[n] = data[p], indices[p]
            n += _ONE
        row = data, indices, spaces, start, stop
        for c in range(plan.shape[0]):
            n = _pairs(row, plan[c], mask, (values, columns), n)
            if n > room:
                break
        if n > room:
            n = begin
            break
        for p in range(begin, n):
            if not abs(values[p]) <= LARGEST:
                return done, True
        n = merge_row(values, columns, no_spaces, begin, n, tables, done + 1)
        done += 1
        starts[done] = np.uint32(n)
    return done, False
