r"""Text in blocks of whole lines, cut at the same places however the bytes arrive.

A block begins where the one before it ended, takes `size` bytes and is cut after the last line end among them; a
line that is longer takes as many portions of `size` as it needs.  So where a block ends depends only on where it
begins, and reading can go on from the end of any block. Of a source that is `eager`, a block ends as soon as a line
end is there and nothing more.
"""

import contextlib
import queue
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Position, RowError
from massart.data.io.sources import Source
from massart.data.io.stream import Stream
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.parsing.row_errors import LONGEST_LINE
from massart.kernels.parsing.swar import count_between
from massart.values import Value

__all__ = ["Block", "Spare", "blocks"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NEWLINE: Final = np.uint8(10)
_NOTHING: Final = np.empty(0, np.uint8)
_START: Final = Position()
_SMALLEST: Final = 4  # bytes of a portion: the byte order mark, and something after it


Spare: TypeAlias = queue.SimpleQueue[NDArray[np.uint8]]  # buffers to be used again


class Block(Value):
    """Whole lines of one source; `text[i]` is byte `offset + i` of its decompressed data.

    The text ends with a line end, which is added where the last line of the source has none, and shares memory with
    no other block.  It is empty only in a last block that has nothing but errors.
    """

    text: NDArray[np.uint8]  # contiguous and writable
    offset: int  # decompressed bytes before the text
    line: int  # lines before the text
    end: Position  # where the next block begins
    errors: tuple[RowError, ...] = ()  # lines that were too long to keep, after the block before and before this text

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The memory that the text lies in."""
        return self.text if self.text.base is None else np.asarray(self.text.base)


def blocks(
    source: Source,
    start: Position = _START,
    size: int = 1 << 20,
    *,
    longest: int = LONGEST_LINE,
    spare: Spare | None = None,
) -> Iterator[Block]:
    r"""Every line from `start` on, in blocks of about `size` bytes; a line of more than `longest` bytes is a error.

    A UTF-8 byte order mark is left out. Whoever is done with a block may put `block.buffer` into `spare`, to be used
    for another: fresh memory costs more than reading into it.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"1 1:5\n-1 2:1\n1 3:7"), file.flush()
    ...     for block in blocks(Source(file.name), size=10):
    ...         print(block.text.tobytes(), block.offset, block.line, block.end[:3])
    b'1 1:5\n' 0 0 (0, 6, 1)
    b'-1 2:1\n' 6 1 (0, 13, 2)
    b'1 3:7\n' 13 2 (0, 18, 3)
    """
    if min(size, longest) < _SMALLEST:
        raise InvalidParameterError(f"size={size}, longest={longest}: give at least {_SMALLEST} bytes for each")
    return _opened(source, start, min(size, longest), longest, queue.SimpleQueue() if spare is None else spare)


def _opened(source: Source, start: Position, size: int, longest: int, spare: Spare) -> Iterator[Block]:
    with source.stream_from(start) as stream:
        yield from _Cutter(stream, source.name, start, size, longest, spare, eager=source.eager).blocks()


class _Cutter:
    """Reads a stream and cuts it; no portion is larger than `longest`, so only the first line of a buffer can be."""

    def __init__(
        self, stream: Stream, name: str, start: Position, size: int, longest: int, spare: Spare, *, eager: bool
    ) -> None:
        self.eager = eager  # take what there is as soon as it has a line end
        self.stream, self.name, self.size, self.longest, self.spare = stream, name, size, longest, spare
        self.number, self.offset, self.line, _ = start  # of the first byte that is not yet handed out
        self.rest = _NOTHING  # bytes from there on that were read already, fewer than a portion
        self.errors: list[RowError] = []  # that wait for the next block
        self.dropping = False  # inside a line that is too long
        self.ended = False
        self.error: InvalidDataError | None = None  # waits until all that came before it is handed out

    def blocks(self) -> Iterator[Block]:
        while not self.ended or self.rest.size:
            buffer, filled, searched, cut = self._fill()
            begin = self._mark(buffer, filled)
            first = filled  # where the first line ends
            if cut and (searched or self.dropping):
                first = searched + int(np.argmax(buffer[searched:filled] == _NEWLINE))
            elif cut:
                first = begin  # somewhere within one portion
            complete = self.ended and self.error is None
            if self.dropping or first - begin > self.longest:
                self._drop(buffer[first + 1 : filled].copy(), min(first + 1, filled), done=cut > 0 or complete)
            elif complete and max(cut, begin) < filled:
                buffer[filled] = _NEWLINE
                self.rest = _NOTHING
                yield self._block(buffer[begin : filled + 1], begin, filled)
            else:
                self.rest = buffer[cut:filled].copy()
                if cut:
                    yield self._block(buffer[begin:cut], begin, cut)
                elif self.ended:
                    break
        if self.errors:
            yield self._block(_NOTHING.copy(), 0, 0)
        if self.error is not None:
            raise self.error

    def _fill(self) -> tuple[NDArray[np.uint8], int, int, int]:
        """Portions until there is a line end: the buffer, where the last two portions end, and where the last line."""
        buffer = self._buffer(self.size + 1)  # room for the line end that the last line may lack
        buffer[: self.rest.size] = self.rest
        filled = self._read(buffer, self.rest.size, self.size)
        begin = self._mark(buffer, filled)
        searched, cut = 0, _last_line_end(buffer, 0, filled)
        while not (cut or self.dropping or self.ended) and filled - begin <= self.longest:
            searched = filled
            if buffer.size <= filled + self.size:
                larger = np.empty(min(2 * filled, self.longest + begin) + self.size + 1, np.uint8)
                larger[:filled] = buffer[:filled]
                buffer = larger
            filled = self._read(buffer, filled, filled + self.size)
            cut = _last_line_end(buffer, searched, filled)
        return buffer, filled, searched, cut

    def _buffer(self, size: int) -> NDArray[np.uint8]:
        with contextlib.suppress(queue.Empty):
            used = self.spare.get_nowait()
            if used.size == size:
                return used
        return np.empty(size, np.uint8)

    def _read(self, buffer: NDArray[np.uint8], start: int, stop: int) -> int:
        """Fill buffer[start:stop] to the brim and return where the bytes end: at `stop`, or before it at the end."""
        view = memoryview(buffer.data)
        try:
            while start < stop and not self.ended:
                count = self.stream.readinto(view[start:stop])
                self.ended = not count
                start += count
                if self.eager and count and b"\n" in view[start - count : start].tobytes() and not self.stream.ready():
                    break
        except InvalidDataError as error:
            self.ended, self.error = True, error
        return start

    def _mark(self, buffer: NDArray[np.uint8], filled: int) -> int:
        """The length of the byte order mark, if the buffer begins with one at the beginning of the source."""
        return 3 if self.offset == 0 and filled >= 3 and buffer[:3].tobytes() == _BYTE_ORDER_MARK else 0

    def _drop(self, rest: NDArray[np.uint8], length: int, *, done: bool) -> None:
        self.dropping, self.rest = not done, rest
        self.offset += length
        if done:
            self.line += 1
            self.errors.append(RowError(self.name, self.line, 0, f"the line is longer than {_amount(self.longest)}"))

    def _block(self, text: NDArray[np.uint8], begin: int, stop: int) -> Block:
        first, before, errors = self.offset + begin, self.line, tuple(self.errors)
        self.errors.clear()
        self.offset += stop
        self.line += int(count_between(text, _NEWLINE, _NEWLINE))
        return Block(text, first, before, Position(self.number, self.offset, self.line), errors)


def _last_line_end(buffer: NDArray[np.uint8], start: int, stop: int) -> int:
    """One more than the place of the last line end in buffer[start:stop]; 0 if there is none."""
    reach = 1 << 12
    while stop > start:
        begin = max(start, stop - reach)
        place = buffer[begin:stop].tobytes().rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        stop, reach = begin, 2 * reach
    return 0


def _amount(size: int) -> str:
    return f"{size >> 20} MiB" if size % (1 << 20) == 0 else f"{size:,} bytes"
