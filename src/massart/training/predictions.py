"""Predictions as text: one line per row of the input, an empty one for a row that was left out."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.errors import InvalidDataError
from massart.files import OutputLock, is_special

__all__ = ["Answers", "PredictionFile", "Sink"]


class Sink(Protocol):
    """Where text goes: a pipe, say."""

    def write(self, text: bytes, /) -> Any:
        """Take these bytes."""


class Answers:
    r"""The scores of a chunk's rows, part by part, and then its lines.

    A score that is NaN means that the row was left out. A tag of the row stands after its prediction.

    >>> from massart.data.formats.text import parse_block
    >>> from massart.data.schema import Schema
    >>> chunk = parse_block(b"1 |f a\n1 'x7 |f a\n1 |f a:\n-1 |f b\n", Schema("vw", bits=18))
    >>> answers = Answers()
    >>> answers.add(chunk, np.array([0.5, -1.0, np.nan]))
    >>> answers.text(("no", "yes"))
    b'yes\nno x7\n\n\n'
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Chunk, NDArray[np.float64]]] = []

    def add(self, part: Chunk, scores: NDArray[np.float64]) -> None:
        """The scores of the rows of a part; only its lines, tags and flaws are remembered."""
        self._parts.append((replace(part, rows=(), y=part.y[:0]), scores))

    def text(self, names: tuple[str, str], *, as_scores: bool = False) -> bytes:
        """One line per row, an empty one for each row with a flaw."""
        scores = np.concatenate([own for _, own in self._parts]) if self._parts else np.empty(0)
        tags = [tag for part, own in self._parts for tag in (part.tags or [""] * own.size)]
        flaws = [flaw.line for part, _ in self._parts for flaw in part.errors]
        if flaws:
            places = np.searchsorted(np.concatenate([part.lines for part, _ in self._parts]), sorted(flaws))
            scores = np.insert(scores, places, np.nan)
            tags = np.insert(np.array(tags, object), places, "").tolist()
        left_out = np.isnan(scores)
        if as_scores:
            texts = [repr(score) for score in scores.tolist()]
            for place in np.flatnonzero(left_out).tolist():
                texts[place] = ""
        else:
            table = ("", *names)
            texts = [table[kind] for kind in np.where(left_out, 0, 1 + (scores >= 0.0)).tolist()]
        if any(tags):
            texts = [f"{text} {tag}" if text and tag else text for text, tag in zip(texts, tags, strict=True)]
        texts.append("")
        return "\n".join(texts).encode(errors="surrogatepass")


class PredictionFile:
    r"""A file that has its name only once it is whole; on the way it is NAME.partial. A device is written directly.

    Nobody else can write it until it is finished or abandoned.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = PredictionFile(Path(folder, "p.txt"))
    ...     file.write(b"1\n")
    ...     sorted(os.listdir(folder)), file.finish(), os.listdir(folder), Path(folder, "p.txt").read_text()
    (['.p.txt.lock', 'p.txt.partial'], None, ['p.txt'], '1\n')
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        self.partial = path if is_special(path) else path.with_name(f"{path.name}.partial")
        self._kept = length  # bytes that a checkpoint counts on
        self._lock = OutputLock(path).acquire()
        try:
            self._file = self._opened(length)
        except BaseException:
            self._lock.release()
            raise

    def _opened(self, length: int) -> IO[bytes]:
        with self._sentence():
            if not length or self.partial == self.path:
                return self.partial.open("wb")
            file = self.partial.open("r+b")
            if file.seek(0, os.SEEK_END) < length:
                file.close()
                raise InvalidDataError(
                    f"{self.partial} is shorter than the checkpoint says: train again without --resume"
                )
            file.truncate(length)
            file.seek(length)
            return file

    def write(self, text: bytes, /) -> None:
        """Add some lines."""
        with self._sentence():
            self._file.write(text)

    def sync(self) -> int:
        """Bytes written so far, all of them on the disk; 0 for a device."""
        with self._sentence():
            self._file.flush()
            if self.partial == self.path:
                return 0
            os.fsync(self._file.fileno())
            return self._file.tell()

    def keep(self, length: int) -> None:
        """So many bytes are what a checkpoint counts on from now on."""
        self._kept = length

    def finish(self) -> None:
        """Give it its name."""
        with self._sentence():
            self._file.close()
            if self.partial != self.path:
                self.partial.replace(self.path)
        self._lock.release()

    def abandon(self, *, whole: bool = False) -> None:
        """Leave what a checkpoint counts on, and nothing if there is none, or if `whole`."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            if self.partial == self.path:
                pass
            elif self._kept and not whole:
                os.truncate(self.partial, self._kept)
            else:
                self.partial.unlink()
        self._lock.release()

    @contextlib.contextmanager
    def _sentence(self) -> Any:
        try:
            yield
        except OSError as error:
            raise InvalidDataError(f"{self.path} could not be written: {error.strerror or error}") from None
