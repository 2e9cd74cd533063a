"""Where written data goes: a file that has its name only once it is whole, a device, or standard output.

What is written is compressed if the name ends with .gz, .zst or .bz2.
"""

import bz2
import contextlib
import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from massart.data.io.stream import zstandard_module
from massart.errors import InvalidDataError
from massart.files import OutputLock, advice, check_place, is_special, move_into, partial_path, remove

__all__ = ["Target", "writing"]

_GZIP_LEVEL: Final = 6  # the default of gzip itself; Python's takes twice the time for a hundredth less


class Target(io.RawIOBase):
    """A file for writing, whose errors are messages; a pipe that nobody reads is `BrokenPipeError`."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._place = 0
        self._abandoned = False

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any, /) -> int:
        """Write all of the data."""
        view = memoryview(data).cast("B")
        if not self._abandoned:
            with self.sentence():
                self._file.write(view)
        self._place += len(view)
        return len(view)

    def tell(self) -> int:
        """Bytes written so far."""
        return self._place

    def overwrite(self, data: bytes) -> None:
        """Write these bytes over the first ones; only regular files can."""
        with self.sentence():
            self._file.seek(0)
            self._file.write(data)
            self._file.seek(0, os.SEEK_END)

    def abandon(self) -> None:
        """Close the file; what a compressor writes when it is closed is dropped."""
        self._abandoned = True
        with contextlib.suppress(OSError):
            self._file.close()

    @contextmanager
    def sentence(self) -> Iterator[None]:
        """Errors inside of it are about writing this file."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            what_to_do = f"; {advice(error)}" if advice(error) else ""
            raise InvalidDataError(
                f"{self._name} could not be written: {error.strerror or error}{what_to_do}"
            ) from None


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Target]:
    r"""A file to write; "-" is standard output. If anything goes wrong, a file that was there before stays as it was.

    Nobody else can write it meanwhile: a second writer is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with writing(f"{folder}/a.txt.gz") as target:
    ...         _ = target.write(b"whole\n")
    ...     os.listdir(folder), gzip.decompress(Path(folder, "a.txt.gz").read_bytes())
    (['a.txt.gz'], b'whole\n')
    """
    name = os.fspath(path)
    if name == "-":
        if getattr(sys.stdout, "buffer", None) is None:
            raise InvalidDataError("there is no standard output: name a file")
        sys.stdout.flush()
        target = Target(sys.stdout.buffer, "standard output")
        yield target
        with target.sentence():
            sys.stdout.buffer.flush()
        return
    check_place(path)
    with OutputLock(path):
        yield from _replacing(Path(path), name)


def _replacing(place: Path, name: str) -> Iterator[Target]:
    partial = place if is_special(place) else partial_path(place)
    with Target(io.BytesIO(), name).sentence():
        file = partial.open("wb")
    target = Target(file, name)
    try:
        yield from _compressed(target, name)
        with target.sentence():
            if partial == place:
                file.close()
            else:
                move_into(file, partial, place)
    except BaseException:
        target.abandon()
        if partial != place:
            remove(partial)
        raise


def _compressed(target: Target, name: str) -> Iterator[Target]:
    """The target, or one that compresses what goes into it."""
    suffix = Path(name.lower()).suffix
    if suffix in (".gz", ".gzip", ".bgz"):
        # Neither name nor time: the same data is the same file.
        yield from _closed(gzip.GzipFile("", "wb", _GZIP_LEVEL, target, mtime=0), name)
    elif suffix == ".bz2":
        yield from _closed(bz2.BZ2File(target, "wb"), name)
    elif suffix in (".zst", ".zstd"):
        yield from _closed(zstandard_module("write").ZstdCompressor().stream_writer(target, closefd=False), name)
    else:
        yield target


def _closed(compressor: Any, name: str) -> Iterator[Target]:
    yield Target(compressor, name)
    compressor.close()
