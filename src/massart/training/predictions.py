"""Predictions as text: one line per row of the input, an empty one for a row that was left out."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["Answers", "PredictionFile", "Sink", "check_place"]


class Sink(Protocol):
    """Where text goes: a pipe, say."""

    def write(self, text: bytes, /) -> Any:
        """Take these bytes."""


class Answers:
    r"""The scores of a chunk's rows, part by part, and then its lines.

    A score that is NaN means that the row was left out. A tag of the row stands after its prediction.

    >>> from massart.data.text_format import parse_block
    >>> from massart.data.reading import Reading
    >>> chunk = parse_block(b"1 |f a\n1 'x7 |f a\n1 |f a:\n-1 |f b\n", Reading("vw", bits=18))
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
        flaws = [flaw.line for part, _ in self._parts for flaw in part.flaws]
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
        return "\n".join(texts).encode()


class PredictionFile:
    r"""A file that has its name only once it is whole; on the way it is NAME.partial. A device is written directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = PredictionFile(Path(folder, "p.txt"))
    ...     file.write(b"1\n")
    ...     [path.name for path in Path(folder).iterdir()], file.finish(), Path(folder, "p.txt").read_text()
    (['p.txt.partial'], None, '1\n')
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        self.partial = path if _is_special(path) else path.with_name(f"{path.name}.partial")
        self._kept = length  # bytes that a checkpoint counts on
        self._file: IO[bytes] | None = None
        with self._sentence():
            if length and self.partial != path:
                self._file = self.partial.open("r+b")
                if self._file.seek(0, os.SEEK_END) < length:
                    self._file.close()
                    raise InvalidDataError(
                        f"{self.partial} is shorter than the checkpoint says: train again without --resume"
                    )
                self._file.truncate(length)
                self._file.seek(length)
            else:
                self._file = self.partial.open("wb")

    def write(self, text: bytes, /) -> None:
        """Add some lines."""
        assert self._file is not None  # noqa: S101  it is open
        with self._sentence():
            self._file.write(text)

    def sync(self) -> int:
        """Bytes written so far, which a checkpoint may count on from now on."""
        assert self._file is not None  # noqa: S101  it is open
        with self._sentence():
            self._file.flush()
            if self.partial != self.path:
                os.fsync(self._file.fileno())
                self._kept = self._file.tell()
        return self._kept

    def finish(self) -> None:
        """Give it its name."""
        assert self._file is not None  # noqa: S101  it is open
        with self._sentence():
            self._file.close()
            if self.partial != self.path:
                self.partial.replace(self.path)

    def abandon(self, *, whole: bool = False) -> None:
        """Leave what a checkpoint counts on, and nothing if there is none, or if `whole`."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.close()
            if self.partial == self.path:
                return
            if self._kept and not whole:
                os.truncate(self.partial, self._kept)
            else:
                self.partial.unlink()

    @contextlib.contextmanager
    def _sentence(self) -> Any:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InvalidDataError(f"{self.path} could not be written: {error.strerror or error}") from None


def check_place(path: Path, what: str, *, devices: bool = False) -> None:
    """Refuse, before anything is learned, a place where nothing could be written afterwards.

    >>> check_place(Path("/no/such/folder/m.massart"), "the model")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: the model cannot be written to /no/such/folder/m.massart: there is no...
    """
    if path.is_dir():
        raise InvalidParameterError(f"{path} is a folder: give the name of a file for {what}")
    if not path.parent.is_dir():
        raise InvalidParameterError(
            f"{what} cannot be written to {path}: there is no folder {path.parent}; make it first"
        )
    if _is_special(path):
        if devices:
            return
        raise InvalidParameterError(f"{path} is not a file: {what} needs one")
    trial = path.with_name(f".{path.name}.trial")  # permission bits do not tell: a read-only disk, root
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InvalidParameterError(f"{what} cannot be written to {path}: {error.strerror}") from None


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()
