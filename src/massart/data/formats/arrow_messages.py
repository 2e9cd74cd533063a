"""What the messages of an Arrow stream say of their size, looked at before PyArrow makes arrays of them.

Buffers of a message may be compressed, so that a few bytes become gigabytes, and parts of a schema may be used many
times over. Messages are Flatbuffers (`Message.fbs` and `Schema.fbs` of Arrow's format, version 1); no more of them is
read here than sizes, and PyArrow verifies the rest. A ValueError, or TooLarge, says what is wrong.
"""

import struct
from collections.abc import Callable
from typing import IO, Any, Final

from massart.data.row_errors import TooLarge

__all__ = ["BlockWalker", "CheckedMessages", "MessageWalker", "check_schema", "is_message"]

_MARK: Final = 0xFFFFFFFF  # before the length of a message, since version 0.15
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # kinds of messages
_MOST_METADATA: Final = 1 << 28  # bytes of one message's description
_FEWEST_BYTES: Final = 16  # of a field's description, and of a message's
_BLOCK: Final = struct.Struct("<qi4xq")  # where a message begins, the lengths of its description and of its body
_SOME_ROWS: Final = 1 << 16  # that a batch may have whatever its size
_PIECE: Final = 1 << 20  # bytes of a body that are read at once


class _Table:
    """A table of a Flatbuffer: fields by number, those that are absent are 0 or None."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place
        self._names = place - _at(data, "<i", place)
        self._size = _at(data, "<H", self._names)

    @classmethod
    def root(cls, data: bytes) -> "_Table":
        return cls(data, _at(data, "<I", 0))

    def number(self, field: int, kind: str) -> int:
        place = self._place(field)
        return _at(self.data, kind, place) if place else 0

    def table(self, field: int) -> "_Table | None":
        place = self._place(field)
        return _Table(self.data, place + _at(self.data, "<I", place)) if place else None

    def vector(self, field: int) -> tuple[int, int]:
        """Where the elements of a list (or the letters of a text) begin, and how many there are."""
        place = self._place(field)
        if not place:
            return 0, 0
        begin = place + _at(self.data, "<I", place)
        return begin + 4, _at(self.data, "<I", begin)

    def tables(self, field: int) -> list["_Table"]:
        begin, count = self.vector(field)
        if count > len(self.data):
            raise ValueError("a list is longer than its message")
        places = [begin + 4 * i for i in range(count)]
        return [_Table(self.data, place + _at(self.data, "<I", place)) for place in places]

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A list of structs of two 64-bit numbers."""
        begin, count = self.vector(field)
        if begin + 16 * count > len(self.data):
            raise ValueError("a list is longer than its message")
        return [struct.unpack_from("<qq", self.data, begin + 16 * i) for i in range(count)]

    def _place(self, field: int) -> int:
        offset = 4 + 2 * field
        found = _at(self.data, "<H", self._names + offset) if offset < self._size else 0
        return self.place + found if found else 0


def _at(data: bytes, kind: str, place: int) -> int:
    if not 0 <= place <= len(data) - struct.calcsize(kind):
        raise ValueError("a message that points outside of itself")
    return int(struct.unpack_from(kind, data, place)[0])


def check_schema(metadata: bytes, place: int = 2) -> None:
    """Refuse a schema that is larger than its description, as it is if parts of that are used several times.

    It stands in this field of a message; in that of a footer it is the first.
    """
    header = _Table.root(metadata).table(place)
    room = len(metadata)
    waiting = [] if header is None else [header]
    is_schema = True
    while waiting:
        one = waiting.pop()
        texts = [] if is_schema else [one.vector(0)[1]]
        for entry in one.tables(2 if is_schema else 6):  # pairs of texts
            texts += [entry.vector(0)[1], entry.vector(1)[1]]
        room -= sum(texts) + _FEWEST_BYTES * len(texts)
        if room < 0:
            raise ValueError("a schema that is larger than its description")
        waiting += one.tables(1 if is_schema else 5)
        is_schema = False


class _Checker:
    """Looks at one message after the other; dictionaries stay in memory, so that they are added up."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._dictionaries: dict[int, int] = {}

    def body(self, metadata: bytes) -> tuple[int, int]:
        """The kind of a message and the length of its body."""
        message = _Table.root(metadata)
        length = message.number(3, "<q")
        if length < 0:
            raise ValueError("a message of negative length")
        return message.number(1, "<B"), length

    def check(self, metadata: bytes, read: Callable[[int, int], bytes]) -> None:
        """Refuse what unpacks to too much; `read` gives bytes of the body."""
        message = _Table.root(metadata)
        kind, header, length = message.number(1, "<B"), message.table(2), message.number(3, "<q")
        if kind == _SCHEMA:
            check_schema(metadata)
        if header is None or kind not in (_DICTIONARY, _BATCH):
            return
        batch = header.table(1) if kind == _DICTIONARY else header
        if batch is None:
            raise ValueError("a dictionary without values")
        size = _unpacked(batch, length, read)
        if batch.number(0, "<q") > max(_SOME_ROWS, 8 * size):
            raise ValueError(f"{batch.number(0, '<q'):,} rows in {size:,} bytes")
        if kind == _DICTIONARY:
            name = header.number(0, "<q")
            before = self._dictionaries.get(name, 0) if header.number(2, "<B") else 0
            self._dictionaries[name] = before + size
            size = sum(self._dictionaries.values())
        if size > self.limit:
            raise TooLarge(f"a record batch unpacks to {size:,} bytes, more than {self.limit:,}: write smaller ones")


def _unpacked(batch: _Table, length: int, read: Callable[[int, int], bytes]) -> int:
    """Bytes of all buffers once they are decompressed."""
    if batch.table(3) is None:
        return length
    total = 0
    for offset, size in batch.pairs(2):
        if size == 0:
            continue
        if not (offset >= 0 and size >= 8 and offset + size <= length):
            raise ValueError("a buffer outside of its message")
        (claimed,) = struct.unpack("<q", read(offset, 8))
        if claimed < -1:
            raise ValueError("a buffer of negative length")
        total += size if claimed == -1 else claimed
    return total


def _prefix(read: Callable[[int], bytes]) -> tuple[bytes, int]:
    """The bytes before a message, and the length of its description: 0 at the end."""
    start = read(4)
    if len(start) == 4 and int.from_bytes(start, "little") == _MARK:
        start += read(4)
    if len(start) % 4 or not start:
        return start, 0
    length = int.from_bytes(start[-4:], "little") if len(start) == 8 or start[:4] != b"\xff\xff\xff\xff" else 0
    if length > _MOST_METADATA:
        raise ValueError(f"a message whose description has {length:,} bytes")
    return start, length


class MessageWalker:
    """Goes beside a reader of a regular file whose messages begin at `offset`, one record batch at a time."""

    def __init__(self, file: IO[bytes], offset: int, size: int, limit: int) -> None:
        self._file, self._place, self._size = file, offset, size
        self._checker = _Checker(limit)
        self._ended = False

    def to_next_batch(self) -> None:
        """Check all messages up to the next record batch, or to the end."""
        kind = 0
        while kind != _BATCH and not self._ended:
            self._file.seek(self._place)
            start, length = _prefix(self._file.read)
            if not length:
                self._ended = True  # or the file is cut off: PyArrow says so
                return
            metadata = self._file.read(length)
            if len(metadata) < length:
                self._ended = True
                return
            kind, body = self._checker.body(metadata)
            begin = self._place + len(start) + length
            if begin + body > self._size:
                raise ValueError(f"a message of {body:,} bytes goes beyond the end of the file")
            self._checker.check(metadata, lambda offset, size: _bytes_at(self._file, begin + offset, size))  # noqa: B023
            self._place = begin + body


def _bytes_at(file: IO[bytes], place: int, size: int) -> bytes:
    file.seek(place)
    found = file.read(size)
    if len(found) < size:
        raise ValueError("a buffer goes beyond the end of the file")
    return found


def is_message(start: bytes) -> bool:
    """Whether a message can begin with these bytes: some programs begin a file with a schema that is none."""
    length = int.from_bytes(start[:4], "little")
    return len(start) < 4 or length == 0 or length >= _FEWEST_BYTES


class BlockWalker:
    """Goes beside a reader of a file's record batches by its footer, which says where each message begins."""

    def __init__(self, file: IO[bytes], size: int, limit: int) -> None:
        self._file, self._size = file, size
        self._checker = _Checker(limit)
        end = self._read(size - 10, 10) if size >= 18 else b""
        length = int.from_bytes(end[:4], "little")
        if end[4:] != b"ARROW1" or length > size - 18:
            raise ValueError("it does not end with a footer and ARROW1")
        footer = self._read(size - 10 - length, length)
        check_schema(footer, place=1)
        about = _Table.root(footer)
        for block in self._blocks(about, 2):  # dictionaries: read before the first batch
            self._check(block)
        self._batches = iter(self._blocks(about, 3))

    def to_next_batch(self) -> None:
        """Check the next record batch, if there is one."""
        for block in self._batches:
            self._check(block)
            return

    @staticmethod
    def _blocks(about: _Table, field: int) -> list[tuple[int, int, int]]:
        begin, count = about.vector(field)
        if begin + _BLOCK.size * count > len(about.data):
            raise ValueError("a list is longer than its message")
        return [_BLOCK.unpack_from(about.data, begin + _BLOCK.size * i) for i in range(count)]

    def _check(self, block: tuple[int, int, int]) -> None:
        place, described, _ = block
        if not (8 <= place <= self._size and 0 < described <= _MOST_METADATA):
            raise ValueError("a record batch outside of the file")
        whole = self._read(place, described)
        start = 8 if whole[:4] == _MARK.to_bytes(4, "little") else 4
        if not 0 < int.from_bytes(whole[start - 4 : start], "little") <= described - start:
            raise ValueError("a message that is longer than the footer says")
        metadata = whole[start:]
        _, body = self._checker.body(metadata)
        begin = place + described
        if begin + body > self._size:
            raise ValueError(f"a message of {body:,} bytes goes beyond the end of the file")
        self._checker.check(metadata, lambda offset, size: self._read(begin + offset, size))

    def _read(self, place: int, size: int) -> bytes:
        return _bytes_at(self._file, place, size)


class CheckedMessages:
    """A stream of messages as a file for PyArrow: each is checked before any of it is handed out."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._checker = _Checker(limit)
        self._ready: Any = memoryview(b"")
        self._ended = False
        self.closed = False

    def readable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Nothing: the file belongs to another."""
        self.closed = True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        parts, left = [], size if size >= 0 else _PIECE
        while left and (self._ready or self._next()):
            part = self._ready[:left]
            self._ready = self._ready[len(part) :]
            left -= len(part)
            parts.append(part)
        return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)

    def _next(self) -> bool:
        if self._ended:
            return False
        start, length = _prefix(self._file.read)
        whole = bytearray(start)
        body = 0
        if length:
            metadata = self._file.read(length)
            whole += metadata
            if len(metadata) == length:
                _, body = self._checker.body(metadata)
                if body > self._checker.limit:
                    raise TooLarge(
                        f"a message of {body:,} bytes, more than {self._checker.limit:,}: write smaller ones"
                    )
                begin = len(whole)
                while len(whole) < begin + body and (piece := self._file.read(min(_PIECE, begin + body - len(whole)))):
                    whole += piece
                self._checker.check(metadata, lambda offset, size: self._from(whole, begin + offset, size))
        self._ended = not length or len(whole) < len(start) + length + body
        self._ready = memoryview(whole)
        return bool(whole)

    @staticmethod
    def _from(whole: bytearray, place: int, size: int) -> bytes:
        if place + size > len(whole):
            raise ValueError("a buffer goes beyond the end of the stream")
        return bytes(whole[place : place + size])
