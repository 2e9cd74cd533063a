"""The bytes of a file as they are stored and, decompressed, as they are read.

Damage is reported when it is reached: whatever can be decompressed before it is handed out first.
"""

import io
import select
from typing import Any, Final

from massart.data.io.compression import Damage, compression_of, decompressed, may_be_compressed
from massart.errors import InvalidDataError, MassartError

__all__ = ["Stored", "Stream"]

_SKIPPED: Final = 1 << 20  # bytes that are read and thrown away at once


class Stored:
    """Bytes as they are stored, counted; what goes wrong becomes a sentence."""

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
        """Close the file, unless it is somebody else's."""
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
        while len(start) < 10 and may_be_compressed(start) and (more := stored.some()):
            start += more
        stored.unread(start)
        self.compression = compression_of(start)
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
        except Damage as damage:
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
        f"{name} ends after {size:,} bytes, but reading was to go on at byte {offset:,}: is it still the same file?"
    )
