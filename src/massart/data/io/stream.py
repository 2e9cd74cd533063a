"""The bytes of a file as they are stored and, decompressed, as they are read: plain, gzip, zstd or bz2.

Compression is recognised by the first bytes. Damage is reported when it is reached: all but the last 4 kB of what
can be decompressed before it are handed out first.
"""

import bz2
import io
import re
import select
import zlib
from collections.abc import Iterator
from typing import Any, Final

from massart.errors import InvalidDataError, MassartError, needs

__all__ = ["Stored", "Stream", "decompressed", "zstandard_module"]

_INPUT: Final = 1 << 18  # compressed bytes that are read at once
_OUTPUT: Final = 1 << 20  # decompressed bytes that are made at once
_STEP: Final = 1 << 12  # the same before damage, and of bz2: libraries drop what they made in the call that meets it
_BZ2_STARTS: Final = (bytes.fromhex("314159265359"), bytes.fromhex("177245385090"))  # a block; the end of no blocks
_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_SKIPPABLE: Final = 0x184D2A50  # and the fifteen numbers after it
_SKIPPED: Final = 1 << 20  # bytes that are read and thrown away at once


class _Damage(Exception):  # noqa: N818 - `Stream` makes an error of it, which knows the name
    """Compressed data that cannot be read on: near which byte and why; without arguments, it is cut off."""


def zstandard_module(use: str) -> Any:
    """The package zstandard, which is needed to `use` zstd files."""
    return needs("zstandard", "files", f"to {use} zstd files")


class Stored:
    """Bytes as they are stored, counted; an operating system error becomes a message."""

    def __init__(self, name: str, file: Any, size: int | None, *, closes: bool = True) -> None:
        self.name = name
        self.taken = 0  # bytes that were read from the file
        self._file = file
        self._closes = closes
        self.size = size  # as it was when the file was opened; None for a pipe
        self._lead = b""  # read already, not yet handed out

    def readinto(self, view: memoryview) -> int:
        """As many bytes as there are now, at least one; 0 at the end."""
        if self._lead:
            count = min(len(view), len(self._lead))
            view[:count], self._lead = self._lead[:count], self._lead[count:]
            return count
        # A buffered file, as standard input is, would wait until the view is full.
        read = getattr(self._file, "readinto1", self._file.readinto)
        try:
            while (count := read(view)) is None:
                select.select([self._file], [], [])
        except (OSError, ValueError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise InvalidDataError(f"{self.name} cannot be read after byte {self.taken:,}: {words}") from None
        self.taken += int(count)
        if not count and self.size is not None and self.taken < self.size:
            raise InvalidDataError(
                f"{self.name} became shorter while it was read: it had {self.size:,} bytes and ends after "
                f"{self.taken:,} or less; wait until it is written and start again"
            )
        return int(count)

    def read(self, size: int) -> bytes:
        """That many bytes, fewer only at the end or before an error, which the next call raises."""
        buffer = bytearray(size)
        filled = 0
        try:
            while filled < size and (count := self.readinto(memoryview(buffer)[filled:])):
                filled += count
        except InvalidDataError:
            if not filled:
                raise
        return bytes(buffer[:filled])

    def some(self) -> bytes:
        """A few bytes, as many as there are now, at least one; none at the end or before an error."""
        # As many as a buffered file reads at once: else `readinto1` of a larger view would wait for bytes after them.
        buffer = bytearray(io.DEFAULT_BUFFER_SIZE)
        try:
            return bytes(buffer[: self.readinto(memoryview(buffer))])
        except InvalidDataError:
            return b""

    def unread(self, data: bytes) -> None:
        """Hand these bytes out again before all others."""
        self._lead = data + self._lead

    def ready(self) -> bool:
        """Whether bytes of a pipe, or its end, are there now."""
        try:
            return bool(self._lead) or bool(select.select([self._file], [], [], 0)[0])
        except (OSError, ValueError, TypeError):  # nothing that the system can wait for
            return False

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay where they are."""
        self._lead = self.read(size) + self._lead
        return self._lead

    def seek(self, offset: int) -> None:
        """Go to a byte of the file."""
        self._file.seek(offset)
        self._lead, self.taken = b"", offset

    def close(self) -> None:
        """Close the file, unless it belongs to another."""
        if self._closes:
            self._file.close()


class Stream(io.RawIOBase):
    """The decompressed bytes of a source; `readinto` gives what there is, damage is raised once all before it is out.

    It is unbuffered: read lines from `Source.open`.
    """

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        start = b""
        # No more than needed: a pipe may bring the next row only when the first one has been answered.
        while len(start) < 10 and _may_be_compressed(start) and (more := stored.some()):
            start += more
        stored.unread(start)
        self.compression = _compression_of(start)
        self._pieces = decompressed(self.compression, stored) if self.compression else None
        self._piece = memoryview(b"")  # decompressed, not yet handed out
        self._made = 0  # decompressed bytes so far
        self._error: MassartError | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with as many bytes as there are now, at least one; 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._pieces is not None and not self._piece:
            self._next_piece()
        if self._piece or self._pieces is not None:
            count = min(len(view), len(self._piece))
            view[:count] = self._piece[:count]
            self._piece = self._piece[count:]
            return count
        return self.stored.readinto(view)

    def ready(self) -> bool:
        """Whether `readinto` would not wait."""
        return bool(self._piece) or self.stored.ready()

    def _next_piece(self) -> None:
        if self._error is not None:
            raise self._error
        assert self._pieces is not None  # noqa: S101 - for the type checker
        try:
            while not self._piece and (piece := next(self._pieces, None)) is not None:
                self._piece = memoryview(piece)
                self._made += len(piece)
        except _Damage as damage:
            what = f"cut off at byte {self.stored.taken:,}"
            if damage.args:
                what = f"damaged near byte {damage.args[0]:,} ({damage.args[1]})"
            self._error = InvalidDataError(
                f"{self.stored.name}: its {self.compression} data is {what}, after {self._made:,} decompressed bytes; "
                "copy the file again"
            )
        except MassartError as error:
            self._error = error
        if self._error is not None:
            raise self._error

    def unread(self, data: bytes) -> None:
        """Hand these bytes out again before all others."""
        if data:
            self._piece = memoryview(data + bytes(self._piece))

    def skip(self, offset: int) -> None:
        """Go from the beginning to an offset."""
        if self._pieces is None and self.stored.size is not None:
            if offset > self.stored.size:
                raise _too_short(self.stored.name, self.stored.size, offset)
            self.stored.seek(offset)
            return
        scratch = bytearray(min(offset, _SKIPPED))
        left = offset
        while left:
            count = self.readinto(memoryview(scratch)[: min(left, len(scratch))])
            if not count:
                raise _too_short(self.stored.name, offset - left, offset)
            left -= count

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if not self.closed:
            self.stored.close()
        super().close()


def _too_short(name: str, size: int, offset: int) -> InvalidDataError:
    return InvalidDataError(
        f"{name} ends after {size:,} bytes, but reading was to continue at byte {offset:,}: is it still the same file?"
    )


def _compression_of(start: bytes) -> str | None:
    """What the first ten bytes say: gzip, zstd, bz2, or None."""
    if start[:2] == b"\x1f\x8b":
        return "gzip"
    number = int.from_bytes(start[:4], "little")
    if len(start) >= 4 and (number == _ZSTD_MAGIC or number & 0xFFFFFFF0 == _ZSTD_SKIPPABLE):
        return "zstd"
    if re.match(rb"BZh[1-9]", start) and any(magic.startswith(start[4:10]) for magic in _BZ2_STARTS):
        return "bz2"
    return None


def _may_be_compressed(start: bytes) -> bool:
    """Whether more bytes are needed to know: fewer than ten that a compressed file may begin with."""
    skippable = len(start) > 0 and start[0] & 0xF0 == _ZSTD_SKIPPABLE & 0xF0
    magics = (b"\x1f\x8b", _ZSTD_MAGIC.to_bytes(4, "little"), b"BZh", start[:1] + b"\x2a\x4d\x18" if skippable else b"")
    return any(magic and magic.startswith(start[: len(magic)]) for magic in magics)


def decompressed(compression: str, stored: Stored) -> Iterator[bytes]:
    """The data in pieces, up to its end or to `_Damage`."""
    return {"gzip": _gunzip, "bz2": _bunzip, "zstd": _unzstd}[compression](stored)


def _gunzip(stored: Stored) -> Iterator[bytes]:
    data = stored.read(_INPUT)
    while data:
        inflater = zlib.decompressobj(wbits=31)
        while not inflater.eof:
            before = inflater.copy()  # 40 KB, for a second try in small steps
            try:
                yield inflater.decompress(data, _OUTPUT)
            except zlib.error:
                yield from _up_to_damage(before, data, stored)
            data = inflater.unconsumed_tail
            if not (data or inflater.eof):
                data = stored.read(_INPUT)
                if not data:
                    yield inflater.flush()
                    raise _Damage
        data = _after_padding(inflater.unused_data, stored)


def _up_to_damage(inflater: Any, data: bytes, stored: Stored) -> Iterator[bytes]:
    try:
        while True:
            yield inflater.decompress(data, _STEP)
            data = inflater.unconsumed_tail
    except zlib.error as error:
        raise _Damage(stored.taken - len(data), _reason(error)) from None


def _after_padding(data: bytes, stored: Stored) -> bytes:
    """What follows the end of a compressed stream; zeros that fill up a block of a tape or disk are nothing."""
    while not (data := data.lstrip(b"\0")):
        if not (data := stored.read(_INPUT)):
            break
    return data


def _reason(error: Exception) -> str:
    """The last part of what a library says, as in "Error -3 while decompressing data: invalid block type"."""
    return str(error).rpartition(": ")[2]


def _bunzip(stored: Stored) -> Iterator[bytes]:
    data = stored.read(_INPUT)
    while data:
        unzipper = bz2.BZ2Decompressor()
        while not unzipper.eof:
            try:
                yield unzipper.decompress(data, _STEP)
            except OSError as error:
                raise _Damage(stored.taken - len(data), _reason(error)) from None
            data = b""
            if unzipper.needs_input and not unzipper.eof:
                data = stored.read(_INPUT)
                if not data:
                    raise _Damage
        data = _after_padding(unzipper.unused_data, stored)


def _unzstd(stored: Stored) -> Iterator[bytes]:
    zstandard = zstandard_module("read")
    while stored.peek(1):
        unzipper = zstandard.ZstdDecompressor().decompressobj()
        for part in _zstd_frame(stored):
            try:
                yield unzipper.decompress(part)
            except zstandard.ZstdError as error:
                raise _Damage(stored.taken - len(part), _reason(error)) from None


def _zstd_frame(stored: Stored) -> Iterator[bytes]:
    """One frame in parts of at most one block, so that no part decompresses to more than 128 KB.

    The package's own reader takes a frame that is cut off for a whole one, and its decompressor has no limit.

    RFC 8878, section 3.1: a magic number, a header, blocks with three bytes of header each, perhaps a checksum.
    """

    def exactly(size: int) -> bytes:
        data = stored.read(size)
        if len(data) < size:
            stored.read(1)  # raises if it is an error that ended the data
            raise _Damage
        return data

    start = exactly(4)
    magic = int.from_bytes(start, "little")
    if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
        left = int.from_bytes(exactly(4), "little")
        while left:
            left -= len(exactly(min(left, _INPUT)))
        return
    if magic != _ZSTD_MAGIC:
        raise _Damage(stored.taken - 4, "no zstd frame begins here")
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
            raise _Damage(stored.taken - 3, "no block begins here")
        yield header + exactly(1 if kind == 1 else length)
    if flags & 4:
        yield exactly(4)
