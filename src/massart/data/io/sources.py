"""Where bytes come from: files, patterns, folders, pipes and standard input; plain, gzip, zstd or bz2."""

import glob
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from weakref import WeakKeyDictionary, finalize

from massart.data.formats import detect_format, format_of_name, suffix_of
from massart.data.io.stream import Stored, Stream
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["Paths", "Seekable", "Source", "Stream", "find_sources", "is_topic", "seekable"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_COPY: Final = 1 << 20  # bytes that are unpacked at a time


class Source:
    r"""One file, pipe or standard input ("-"), of which nothing is read before it is needed.

    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.svm").write_bytes(gzip.compress(b"1 1:0.5\n-1 2:1\n"))
    ...     source = Source(f"{folder}/a.svm")
    ...     with source.open(8) as file:
    ...         source.compression, source.head(7), file.readline(), source.fraction()
    ('gzip', b'1 1:0.5', b'-1 2:1\n', 1.0)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = os.fspath(path)
        self.path = None if given == "-" else Path(given)
        # A name that is no UTF-8 can be opened, but not printed.
        self.name = "standard input" if given == "-" else os.fsencode(given).decode(errors="replace")
        self._latest: Stream | None = None  # the stream whose progress is asked for
        self._waiting: Stream | None = None  # a pipe that was looked into
        self._seen = b""  # what was read from a pipe by looking
        self._spent = False
        self.eager = False  # hand out whole lines as soon as they are there, in blocks of any size

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once."""
        return self.path is None or not stat.S_ISREG(self._stat().st_mode)

    @property
    def is_resumable(self) -> bool:
        """Whether reading can go on from a position in another process."""
        return not self.is_pipe

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for a pipe."""
        return None if self.is_pipe else self._stat().st_size

    @property
    def compression(self) -> str | None:
        """What its first bytes say: gzip, zstd, bz2, or None."""
        if self.is_pipe:
            self._waiting = self._waiting or (None if self._spent else self._start())
            stream = self._waiting or self._latest
            return None if stream is None else stream.compression
        with self._start() as stream:
            return stream.compression

    def stream(self, offset: int = 0) -> Stream:
        """The decompressed bytes from an offset, unbuffered; compressed data and pipes are read up to there."""
        if self.is_pipe:
            self._once()
            self._spent = True
        stream = self._waiting or self._start()
        self._waiting, self._latest = None, stream
        stream.unread(self._seen)
        try:
            stream.skip(offset)
        except BaseException:
            stream.close()
            raise
        return stream

    def stream_from(self, start: Any) -> Any:
        """The decompressed bytes from a position on."""
        return self.stream(start.offset)

    def placed(self, chunk: Any) -> Any:
        """A chunk of it, with what is known about the places of its rows."""
        return chunk

    def prepare(self, data_format: str) -> None:
        """Be read as this format; refuse what cannot be."""

    def stop(self) -> None:
        """End what waits for rows."""

    def commit(self, position: Any) -> None:
        """A checkpoint has come to a position."""

    def open(self, offset: int = 0) -> io.BufferedReader:
        """The decompressed bytes from an offset, as a file for reading."""
        return io.BufferedReader(self.stream(offset), 1 << 16)

    def head(self, size: int = 1 << 20) -> bytes:
        """The first bytes, up to damage if there is any; a pipe hands them out again when it is opened."""
        if not self.is_pipe:
            with self._start() as stream:
                return _first(stream, size)
        if not self._spent:
            self._waiting = self._waiting or self._start()
            if not (self.eager and b"\n" in self._seen):
                left = size - len(self._seen)
                self._seen += _first(self._waiting, left, required=not self._seen, eager=self.eager)
        elif not self._seen:
            self._once()
        return self._seen[:size]

    def fraction(self) -> float | None:
        """Which share of the bytes on disk the stream opened last has read; None where the size is not known."""
        if self._latest is None:
            return None if self.is_pipe else 0.0
        stored = self._latest.stored
        return None if stored.size is None else min(1.0, stored.taken / max(1, stored.size))

    def _start(self) -> Stream:
        try:
            if self.path is not None:
                file = io.FileIO(self.path)
                found = os.fstat(file.fileno())
                return Stream(Stored(self.name, file, found.st_size if stat.S_ISREG(found.st_mode) else None))
        except OSError as error:
            raise _unreadable(self.name, error) from None
        if getattr(sys.stdin, "buffer", None) is None:
            raise InvalidDataError("there is no standard input: name a file")
        return Stream(Stored(self.name, sys.stdin.buffer, None, closes=False))

    def _once(self) -> None:
        if self._spent:
            raise InvalidDataError(f"{self.name} can be read only once: write it to a file for several passes")

    def _stat(self) -> os.stat_result:
        assert self.path is not None  # noqa: S101 - for the type checker
        try:
            return self.path.stat()
        except OSError as error:
            raise _unreadable(self.name, error) from None


def find_sources(paths: Paths) -> tuple[Source, ...]:
    """Files, "-" for standard input, patterns with * ? [] or ** (sorted), folders of data files of one format, topics.

    A file that a folder or a pattern leads to by several names, as links do, is taken once, by the first of them; one
    that two of the paths lead to is refused. In a folder, and in the folders inside it, names that begin with . or _
    are left out, as Spark and Hive do, and so are files without a known suffix; if no file has
    one, files without any suffix, .txt and .dat are taken.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.svm", "a.svm.gz", "_SUCCESS", "README.md"):
    ...         Path(folder, name).touch()
    ...     [source.path.name for source in find_sources(folder)]
    ['a.svm.gz', 'b.svm']
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise InvalidParameterError("there is nothing to read: name a file, a folder, a pattern, or - for a pipe")
    found = [_source(path) for path in _each_once(given)]
    if sum(source.path is None for source in found) > 1:
        if any(is_topic(path) for path in given):
            raise InvalidDataError("one topic, or standard input, is read at a time: name one of them")
        raise InvalidDataError("- stands for standard input, which can be read only once: give it once")
    return tuple(found)


def is_topic(path: object) -> bool:
    """Whether this is the address of a topic of Kafka.

    >>> is_topic("kafka://localhost:9092/clicks"), is_topic("clicks.csv")
    (True, False)
    """
    return isinstance(path, str) and path.startswith("kafka://")


def _source(path: str) -> Source:
    if not is_topic(path):
        return Source(path)
    from massart.data.io.topic import TopicSource  # noqa: PLC0415  it derives from Source

    return TopicSource(path)


def _each_once(given: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that the paths lead to, identified by device and inode."""
    names: dict[tuple[int, int], str] = {}  # of the files of the paths before
    found: list[str] = []
    for one in given:
        own: dict[tuple[int, int], str] = {}
        for path in _expand(os.fspath(one)):
            try:
                about = None if path == "-" or is_topic(path) else os.stat(path)
            except OSError as error:
                raise _unreadable(path, error) from None
            if about is None or not stat.S_ISREG(about.st_mode):
                found.append(path)
                continue
            file = about.st_dev, about.st_ino
            if file in names:
                same = f"{path} is named twice" if names[file] == path else f"{names[file]} and {path} are one file"
                raise InvalidDataError(f"{same}: name it once; training with `passes=N` reads it several times")
            if own.setdefault(file, path) == path:
                found.append(path)
        names |= own
    return found


def _expand(given: str) -> list[str]:
    if given == "-" or is_topic(given):
        return [given]
    if not os.path.lexists(given) and glob.has_magic(given):
        matches = sorted(_matches(given))
        if not matches:
            raise InvalidDataError(f"no file matches {given}")
        # A folder and the files in it may both match, as they do with **.
        return list(dict.fromkeys(path for match in matches for path in _expand(match)))
    try:
        if given and Path(given).is_dir():
            return _inside(given)
        if not given or not Path(given).exists():
            raise InvalidDataError(f"{given or 'a file without a name'} does not exist")
        if not os.access(given, os.R_OK):
            raise PermissionError
    except OSError as error:
        raise _unreadable(given, error) from None
    return [given]


def _matches(pattern: str) -> list[str]:
    """What matches a pattern; ** goes into each folder once, however many links lead to it."""
    parts = pattern.split("/")
    if "**" not in parts:
        return glob.glob(pattern)
    at = parts.index("**")
    before, after = "/".join(parts[:at]), "/".join(parts[at + 1 :]) or "*"
    root = "/" if at == 1 and not parts[0] else before
    waiting = sorted(_matches(root), reverse=True) if glob.has_magic(root) else [root]
    seen: set[tuple[int, int]] = set()
    found: dict[str, None] = {}
    while waiting:
        folder = waiting.pop()
        try:
            about = os.stat(folder or ".")
            entries = sorted(os.scandir(folder or "."), key=lambda entry: (entry.is_symlink(), entry.name))
        except OSError:
            continue  # as glob does
        if (about.st_dev, about.st_ino) in seen:
            continue
        seen.add((about.st_dev, about.st_ino))
        found.update(dict.fromkeys(_matches(os.path.join(glob.escape(folder), after))))
        inner = [os.path.join(folder, one.name) for one in entries if not one.name.startswith(".") and one.is_dir()]
        waiting += reversed(inner)
    return list(found)


def _inside(folder: str) -> list[str]:
    files: list[str] = []

    def refuse(error: OSError) -> None:
        raise _unreadable(str(error.filename), error)

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not _hidden(name)]
        files += [os.path.join(place, name) for name in names if not _hidden(name)]
    files = sorted((path for path in files if Path(path).is_file()), key=lambda path: Path(path).parts)
    named = {path: format_of_name(path) for path in files}
    chosen = {path: kind for path, kind in named.items() if kind is not None} or {
        path: detect_format(Source(path))
        for path in files
        if suffix_of(path) in ("", ".txt", ".dat") and Path(path).stat().st_size
    }
    kinds = sorted(set(chosen.values()))
    if not kinds:
        raise InvalidDataError(f"{folder} is a folder without data files")
    if len(kinds) > 1:
        raise InvalidDataError(f"{folder} holds files of several formats ({', '.join(kinds)}): name those of one")
    return list(chosen)


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)  # _day=1 is a partition


def _first(stream: Stream, size: int, *, required: bool = True, eager: bool = False) -> bytes:
    data = bytearray(max(0, size))
    filled = 0
    try:
        while filled < size and (count := stream.readinto(memoryview(data)[filled:])):
            filled += count
            if eager and b"\n" in data[:filled] and not stream.ready():
                break
    except InvalidDataError:
        if required and not filled:
            raise
    return bytes(data[:filled])


def _unreadable(name: str, error: OSError) -> InvalidDataError:
    if isinstance(error, FileNotFoundError):
        return InvalidDataError(f"{name} does not exist")
    if isinstance(error, IsADirectoryError):
        return InvalidDataError(f"{name} is a folder: name a file in it")
    if isinstance(error, PermissionError):
        return InvalidDataError(f"{name} may not be read: change its permissions, or who reads it")
    return InvalidDataError(f"{name} cannot be read: {error.strerror or error}")


# A pipe gives its bytes once, and both detection and reading need them: they stay while the source does.
_unpacked: "WeakKeyDictionary[Source, tuple[IO[bytes], Stream]]" = WeakKeyDictionary()


class Seekable:
    """The bytes of a source, at any place: a regular file has a `path`, and everything has a `file`."""

    def __init__(self, source: Source, file: IO[bytes], stream: Stream, *, plain: bool) -> None:
        self.path = source.path if plain else None
        self.file = file
        self.size = file.seek(0, os.SEEK_END)
        self._stream = stream

    def report(self, fraction: float) -> None:
        """Say how much was read, for `Source.fraction`, which sees only what passes through the source."""
        stored = self._stream.stored
        if stored.size is not None:
            stored.taken = int(stored.size * min(1.0, fraction))


@contextmanager
def seekable(source: Source) -> Iterator[Seekable]:
    """Open a source for reading at any place.

    >>> import gzip, tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".gz") as packed:
    ...     _ = packed.write(gzip.compress(b"0123456789")), packed.flush()
    ...     with seekable(Source(packed.name)) as opened:
    ...         opened.file.seek(7), opened.file.read()
    (7, b'789')
    """
    if source in _unpacked:
        file, stream = _unpacked[source]
        yield Seekable(source, file, stream, plain=False)
        return
    with source.stream() as stream:
        if stream.compression is None and stream.stored.size is not None and source.path is not None:
            with source.path.open("rb") as file:
                yield Seekable(source, file, stream, plain=True)
            return
        file = _unpack(source, stream)
        _unpacked[source] = file, stream
        finalize(source, file.close)
    yield Seekable(source, file, stream, plain=False)


def _unpack(source: Source, stream: Stream) -> IO[bytes]:
    import shutil  # noqa: PLC0415 - these two bring much along that a plain file does not need
    import tempfile  # noqa: PLC0415

    file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the source that it belongs to
    try:
        shutil.copyfileobj(stream, file, _COPY)
        file.flush()
    except OSError as error:
        file.close()
        raise InvalidDataError(
            f"{source.name} cannot be unpacked to {tempfile.gettempdir()}: {error.strerror or error}; "
            "point TMPDIR at a folder with more room"
        ) from None
    except BaseException:
        file.close()
        raise
    return file
