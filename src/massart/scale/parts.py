"""Parts of the data, each learned by one worker: files, ranges of bytes of a file, arrays, blocks of a cluster.

A part is read piece by piece: a piece begins where the one before it ended, at a `Cursor`.
"""

import io
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from massart.data.chunk import Chunk, Position
from massart.data.io.sources import Source, find_sources
from massart.data.io.stream import Stored, Stream
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["Arrays", "Cursor", "Files", "check_files", "cut", "pieces"]

_CUTTABLE: Final = ("svmlight", "vw", "jsonl")  # formats whose rows are lines, with nothing before the first
_LOOKED_AT: Final = 1 << 16


class Files(NamedTuple):
    """One or more files; or one whose rows begin at bytes from `begin` up to before `stop`."""

    names: tuple[str, ...]
    begin: int = 0
    stop: int | None = None

    def sources(self) -> tuple[Source, ...]:
        """What is read."""
        if self.stop is not None:
            return (_Range(self.names[0], self.begin, self.stop),)
        return tuple(Source(name) for name in self.names)

    @property
    def is_empty(self) -> bool:
        """Whether there is not a byte in it."""
        return all(not source.size for source in self.sources())


class Arrays(NamedTuple):
    """Rows, their labels and perhaps weights: arrays, CSR matrices, data frames, or what is loaded by a worker."""

    X: Any
    y: Any
    weight: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether there is no row in it, as far as that is known here."""
        return hasattr(self.y, "__len__") and not hasattr(self.y, "dask") and len(self.y) == 0


class Cursor(NamedTuple):
    """How much of a part is done: the chunk that is begun and so many of its rows; of arrays, so many rows."""

    position: Position = Position()
    rows: int = 0
    ended: bool = False


class _Range(Source):
    """Lines of a plain text file; lines are counted from where it begins, and its name says so."""

    def __init__(self, path: str | os.PathLike[str], begin: int, stop: int) -> None:
        super().__init__(path)
        self._begin, self._stop = begin, stop
        if begin:
            self.name = f"{self.name} from byte {begin:,} on"

    @property
    def size(self) -> int | None:
        """Bytes of these lines."""
        return self._stop - self._begin

    def _start(self) -> Stream:
        assert self.path is not None  # noqa: S101  it was cut, so it is a file
        try:
            file = io.FileIO(self.path)
        except OSError as error:
            raise InvalidDataError(f"{self.name} cannot be read: {error.strerror or error}") from None
        return Stream(Stored(self.name, _Window(file, self._begin, self._stop), self._stop - self._begin))


class _Window:
    """Some bytes of a file as if they were all."""

    def __init__(self, file: io.FileIO, begin: int, stop: int) -> None:
        self._file, self._begin, self._stop = file, begin, stop
        file.seek(begin)

    def readinto(self, view: memoryview) -> int | None:
        """As many bytes as fit, up to the end of the window."""
        left = self._stop - self._file.tell()
        return self._file.readinto(view[: max(0, left)])

    def seek(self, offset: int) -> None:
        """Go to a byte of the window."""
        self._file.seek(self._begin + offset)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def cut(paths: Sequence[str], shards: int, schema: Schema) -> list[Files]:
    r"""So many parts of about equal size, or fewer: whole files, or ranges of plain svmlight, VW text and JSON lines.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.svm")
    ...     _ = path.write_text("1 1:1\n" * 100)
    ...     [(part.begin, part.stop) for part in cut([str(path)], 3, Schema("svmlight"))]
    [(0, 204), (204, 402), (402, 600)]
    """
    sources = find_sources(list(paths))
    for source in sources:
        if source.is_pipe:
            raise InvalidParameterError(f"{source.name} is a pipe, which workers cannot share: write it to files first")
    if len(sources) >= shards:
        return [Files(tuple(str(one.path) for one in group)) for group in _grouped(sources, shards)]
    total = sum(source.size or 0 for source in sources)
    parts: list[Files] = []
    for source in sources:
        share = max(1, round(shards * (source.size or 0) / max(1, total)))
        can = share > 1 and schema.format in _CUTTABLE and source.compression is None
        parts += _ranges(source, share) if can else [Files((str(source.path),))]
    return parts


def _grouped(sources: Sequence[Source], shards: int) -> list[list[Source]]:
    """Neighbours together, about equal in size, at least one each."""
    groups: list[list[Source]] = []
    left, rest = list(sources), sum(source.size or 0 for source in sources)
    for number in range(shards, 0, -1):
        group, size = [left.pop(0)], 0
        size += group[0].size or 0
        while len(left) >= number and (number == 1 or size + (left[0].size or 0) / 2 <= rest / number):
            group.append(left.pop(0))
            size += group[-1].size or 0
        rest -= size
        groups.append(group)
    return groups


def _ranges(source: Source, count: int) -> list[Files]:
    """Ranges of whole lines of a plain file."""
    assert source.path is not None  # noqa: S101  pipes have been refused
    size = source.size or 0
    with source.path.open("rb") as file:
        ends = [_line_end(file, size * k // count, size) for k in range(1, count)]
    places = sorted({0, *ends, size})
    return [Files((str(source.path),), *pair) for pair in pairwise(places)]


def _line_end(file: Any, place: int, size: int) -> int:
    """The byte after the first line end from a place on."""
    file.seek(place)
    while block := file.read(_LOOKED_AT):
        found = block.find(b"\n")
        if found >= 0:
            return place + int(found) + 1
        place += len(block)
    return size


def check_files(parts: Sequence[Files], asked: Schema, schema: Schema) -> None:
    """Refuse parts that are not of one schema, before anything is learned.

    `asked` is what was said about the files, `schema` what was found out from the first of them.
    """
    first = parts[0].names[0]
    for part in parts:
        for name in part.names:
            source = Source(name)
            if part.begin or not source.size:
                continue
            found = Reader([source], asked).schema
            for what in ("format", "labels", "bits", "columns", "separator"):
                own, other = getattr(schema, what), getattr(found, what)
                if own != other:
                    raise InvalidDataError(
                        f"{name} has {what} {_shown(other)}, but {first} has {_shown(own)}: shards must agree"
                    )
            if found.width is not None and schema.width is not None and found.width != schema.width:
                raise InvalidDataError(
                    f"{name} has {found.width:,} columns, but {first} has {schema.width:,}: shards must agree"
                )


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return (text if len(text) <= 60 else f"{text[:60]}...") if value is not None else "-1 or 0, and 1"


def pieces(
    part: Files, schema: Schema, cursor: Cursor, rows: int | None, threads: int
) -> Iterator[tuple[Chunk, Cursor]]:
    """Chunks of a part from a cursor on, so many rows of them or all, each with the cursor after it.

    Where a piece ends depends on the part and on the number of rows alone.
    """
    sources = [source for source in part.sources() if source.size]
    left = rows
    if not sources or cursor.ended:
        return
    reader = Reader(sources, schema, workers=threads, find_labels=False)
    at, done = cursor.position, cursor.rows
    for whole in reader.chunks(at):
        size = len(whole)
        take = size - done if left is None else min(size - done, left)
        if left is not None:
            left -= take
        if done + take < size:
            yield _sliced(whole, done, done + take), Cursor(at, done + take)
            return
        at = whole.end
        yield _sliced(whole, done, size), Cursor(at, 0)
        done = 0
        if left == 0:
            return
    yield _sliced(_NO_ROWS, 0, 0), Cursor(at, 0, ended=True)


def _sliced(chunk: Chunk, first: int, last: int) -> Chunk:
    """Some rows of a chunk; its errors go with the first of them."""
    if first == 0 and last == len(chunk):
        return chunk
    rows, spaces = chunk.rows, chunk.spaces
    if chunk.is_sparse:
        data, indices, indptr = rows
        start, stop = int(indptr[first]), int(indptr[last])
        rows = data[start:stop], indices[start:stop], indptr[first : last + 1] - indptr[first]
        spaces = spaces[start:stop] if spaces.size else spaces
    else:
        rows = rows[first:last]
    return chunk.replace(
        rows=rows,
        y=chunk.y[first:last],
        weight=chunk.weight[first:last],
        lines=chunk.lines[first:last],
        errors=chunk.errors if first == 0 else (),
        spaces=spaces,
        tags=None if chunk.tags is None else chunk.tags[first:last],
        groups=chunk.groups[first:last],
        labels=chunk.labels[first:last],
    )


_NO_ROWS: Final = Chunk(
    (np.empty(0), np.empty(0, np.uint32), np.zeros(1, np.uint32)),
    1,
    np.empty(0, np.int8),
    np.empty(0),
    Position(),
    np.empty(0, np.int64),
)
