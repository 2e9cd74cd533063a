r"""Compressed bytes: gzip, bz2 and zstd, told by their first bytes, decompressed piece by piece up to any damage."""

import bz2
import importlib
import re
import zlib
from collections.abc import Generator, Iterator
from typing import Any, Final, Protocol

from massart.errors import MassartError

__all__ = ["Damage", "MissingZstandardError", "compression_of", "decompressed", "may_be_compressed"]

_INPUT: Final = 1 << 18  # compressed bytes that are read at once
_OUTPUT: Final = 1 << 20  # decompressed bytes that are made at once
_BZ2_OUTPUT: Final = 1 << 12  # small, since bz2 throws away what it made in the call that meets damage
_BZ2_STARTS: Final = (bytes.fromhex("314159265359"), bytes.fromhex("177245385090"))  # a block; the end of no blocks
_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_SKIPPABLE: Final = 0x184D2A50  # and the fifteen numbers after it


class MissingZstandardError(MassartError, ImportError):
    """The package zstandard is not installed."""


class Damage(Exception):  # noqa: N818 - `Source` makes an error of it, which knows the name
    """Compressed data that cannot be read on: near which byte and why; without arguments, it is cut off."""


class _Stored(Protocol):
    taken: int

    def read(self, size: int) -> bytes: ...
    def peek(self, size: int) -> bytes: ...


def compression_of(start: bytes) -> str | None:
    r"""What the first ten bytes say: gzip, zstd, bz2, or None.

    >>> compression_of(b"\x1f\x8b\x08"), compression_of(b"BZh9 is a word")
    ('gzip', None)
    """
    if start[:2] == b"\x1f\x8b":
        return "gzip"
    number = int.from_bytes(start[:4], "little")
    if len(start) >= 4 and (number == _ZSTD_MAGIC or number & 0xFFFFFFF0 == _ZSTD_SKIPPABLE):
        return "zstd"
    if re.match(rb"BZh[1-9]", start) and any(magic.startswith(start[4:10]) for magic in _BZ2_STARTS):
        return "bz2"
    return None


def may_be_compressed(start: bytes) -> bool:
    r"""Whether more bytes are needed to know: fewer than ten that a compressed file may begin with.

    >>> may_be_compressed(b"\x1f"), may_be_compressed(b"1 1:"), may_be_compressed(b"")
    (True, False, True)
    """
    skippable = len(start) > 0 and start[0] & 0xF0 == _ZSTD_SKIPPABLE & 0xF0
    magics = (b"\x1f\x8b", _ZSTD_MAGIC.to_bytes(4, "little"), b"BZh", start[:1] + b"\x2a\x4d\x18" if skippable else b"")
    return any(magic and magic.startswith(start[: len(magic)]) for magic in magics)


def decompressed(compression: str, stored: _Stored) -> Iterator[bytes]:
    """The data in pieces of at most about 1 MB, up to its end or to `Damage`."""
    return {"gzip": _gunzip, "bz2": _bunzip, "zstd": _unzstd}[compression](stored)


def _gunzip(stored: _Stored) -> Iterator[bytes]:
    data = stored.read(_INPUT)
    while data:
        inflater = zlib.decompressobj(wbits=31)
        while not inflater.eof:
            before = inflater.copy()  # 40 KB: zlib throws away what it made in the call that meets damage
            try:
                yield inflater.decompress(data, _OUTPUT)
            except zlib.error as error:
                left = yield from _gunzip_to_damage(before, data)
                raise Damage(stored.taken - left, _reason(error)) from None
            data = inflater.unconsumed_tail
            if not (data or inflater.eof):
                data = stored.read(_INPUT)
                if not data:
                    yield inflater.flush()
                    raise Damage
        data = _after_padding(inflater.unused_data, stored)


def _gunzip_to_damage(inflater: Any, data: bytes) -> Generator[bytes, None, int]:
    """What can be made of data that is damaged somewhere; returns how many bytes are left."""
    step = _OUTPUT
    while step:
        attempt = inflater.copy()
        try:
            piece = attempt.decompress(data, step)
        except zlib.error:
            step //= 2
            continue
        yield piece
        inflater, data = attempt, attempt.unconsumed_tail
    return len(data)


def _after_padding(data: bytes, stored: _Stored) -> bytes:
    """What follows the end of a compressed stream; zeros that fill up a block of a tape or disk are nothing."""
    while not (data := data.lstrip(b"\0")):
        if not (data := stored.read(_INPUT)):
            break
    return data


def _reason(error: Exception) -> str:
    """The last part of what a library says, as in "Error -3 while decompressing data: invalid block type"."""
    return str(error).rpartition(": ")[2]


def _bunzip(stored: _Stored) -> Iterator[bytes]:
    data = stored.read(_INPUT)
    while data:
        unzipper = bz2.BZ2Decompressor()
        while not unzipper.eof:
            try:
                yield unzipper.decompress(data, _BZ2_OUTPUT)
            except OSError as error:
                raise Damage(stored.taken - len(data), _reason(error)) from None
            data = b""
            if unzipper.needs_input and not unzipper.eof:
                data = stored.read(_INPUT)
                if not data:
                    raise Damage
        data = _after_padding(unzipper.unused_data, stored)


def _unzstd(stored: _Stored) -> Iterator[bytes]:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise MissingZstandardError('zstandard is needed to read zstd files: pip install "massart[files]"') from None
    while stored.peek(1):
        unzipper = zstandard.ZstdDecompressor().decompressobj()
        for part in _zstd_frame(stored):
            try:
                yield unzipper.decompress(part)
            except zstandard.ZstdError as error:
                raise Damage(stored.taken - len(part), _reason(error)) from None


def _zstd_frame(stored: _Stored) -> Iterator[bytes]:
    """One frame in parts of at most one block, so that no part decompresses to more than 128 KB.

    RFC 8878, section 3.1: a magic number, a header, blocks with three bytes of header each, perhaps a checksum.
    """

    def exactly(size: int) -> bytes:
        data = stored.read(size)
        if len(data) < size:
            stored.read(1)  # raises if it is an error that ended the data
            raise Damage
        return data

    start = exactly(4)
    magic = int.from_bytes(start, "little")
    if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
        left = int.from_bytes(exactly(4), "little")
        while left:
            left -= len(exactly(min(left, _INPUT)))
        return
    if magic != _ZSTD_MAGIC:
        raise Damage(stored.taken - 4, "no zstd frame begins here")
    descriptor = exactly(1)
    flags = descriptor[0]
    single = flags >> 5 & 1  # a single segment has no window descriptor
    size = (1 - single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
    yield start + descriptor + exactly(size)
    last = 0
    while not last:
        header = exactly(3)
        number = int.from_bytes(header, "little")
        last, kind, length = number & 1, number >> 1 & 3, number >> 3
        if kind == 3 or length > 1 << 17:
            raise Damage(stored.taken - 3, "no block begins here")
        yield header + exactly(1 if kind == 1 else length)
    if flags & 4:
        yield exactly(4)
