"""Files whose end must be read before their middle: what is compressed or comes through a pipe is unpacked to disk."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final
from weakref import WeakKeyDictionary, finalize

from massart.data.io.sources import Source
from massart.data.io.stream import Stream
from massart.errors import InvalidDataError

__all__ = ["Seekable", "seekable"]

_COPY: Final = 1 << 20  # bytes that are unpacked at a time

# A pipe gives its bytes once, and both a look at the file and its reading need them: they stay while the source does.
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

    >>> import gzip
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
