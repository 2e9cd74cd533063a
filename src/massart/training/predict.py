"""Predictions of a model for the rows of a file: one line per row of the input, an empty one for a row left out."""

import contextlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, crossed
from massart.data.formats import detect_format
from massart.data.formats.labels import ClassNumbers
from massart.data.io.prefetch import ahead
from massart.data.io.sources import Source, find_sources
from massart.data.reader import Reader
from massart.data.schema import TEXTS, Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.files import OutputLock, check_place, is_special, move_into
from massart.kernels.door import Rows
from massart.learners.class_pool import ClassPool
from massart.models.opening import model_of
from massart.training.chunk_trainer import check_width, row_errors
from massart.training.progress import Callbacks
from massart.training.resume import TrainedModel, open_trained
from massart.training.scoring import Scorer, known_columns
from massart.values import Record

__all__ = ["KeptOutput", "Predicted", "PredictionFile", "PredictionLines", "Sink", "predict_file"]


class Sink(Protocol):
    """Where text goes: a pipe, say."""

    def write(self, text: bytes, /) -> Any:
        """Take these bytes."""


class Predicted(Record):
    """What was predicted."""

    rows: int = 0
    labelled: int = 0
    mistakes: int = 0  # among the labelled
    rows_with_errors: int = 0  # left out

    @property
    def error(self) -> float | None:
        """Mistakes per labelled row."""
        return self.mistakes / self.labelled if self.labelled else None

    def count(self, part: Chunk, answers: NDArray[np.int64], classes: NDArray[np.int64]) -> None:
        """Add the rows of a part of a chunk; the class of a label that the model does not know is -1."""
        labelled = part.y != 0
        self.rows += len(part)
        self.labelled += int(np.count_nonzero(labelled))
        self.mistakes += int(np.count_nonzero(labelled & (answers != classes)))
        self.rows_with_errors += len(part.errors)


def predict_file(
    model: Path,
    data: Sequence[str],
    out: Path | Sink,
    *,
    scores: bool = False,
    probabilities: bool = False,
    data_format: str | None = None,
    strict: bool = False,
    workers: int = 2,
    callbacks: Callbacks | None = None,
) -> Predicted:
    """Write a label, the score w.x + c or probabilities for every row, read as the model's own schema says.

    A score of 0 or more means the positive label; probabilities are written as label:probability for each class.
    Columns that the model has never met count for nothing.
    """
    callbacks = callbacks or Callbacks()
    saved = open_trained(model, mmap=True)
    answering = _Answering(saved, scores=scores, probabilities=probabilities)
    classes, schema = saved.model.classes, saved.schema
    if saved.model.schema is None and isinstance(classes[0], str):
        schema = schema.replace(labels=None)  # whatever labels the rows may have, they need not be these
    if data_format is not None and data_format != schema.format:
        schema = schema.replace(format=data_format, header=None, separator=None)
    if isinstance(out, Path):
        check_place(out, "the predictions")
    sources = find_sources(list(data))
    for source in sources:
        source.eager = source.is_pipe and schema.format in TEXTS  # an answer may be waited for before the next row
    reader = _reader(sources, schema, workers)
    if reader.schema.width is not None:
        check_width(reader.schema.width, saved.model.learner.n_features)
    sink = PredictionFile(out) if isinstance(out, Path) else out
    answering.groups = reader.schema.groups
    found = Predicted()
    try:
        for chunk in ahead(reader.chunks(), lambda: False):  # which does not wait for a silent pipe at the end
            lines = PredictionLines(as_scores=scores)
            for part in crossed(chunk):
                for error in row_errors(part, strict=strict):
                    callbacks.row_error(error)
                answers, values, texts = answering(part)
                found.count(part, answers, answering.classes_of(part))
                lines.add(part, values, texts)
            sink.write(lines.text(tuple(map(str, classes))))
            callbacks.advanced(found.rows, reader.fraction())
        if isinstance(sink, PredictionFile):
            sink.finish()
    except BaseException:
        if isinstance(sink, PredictionFile):
            sink.abandon()
        raise
    return found


class _Answering:
    """The answers of a model for the rows of a chunk."""

    def __init__(self, saved: TrainedModel, *, scores: bool, probabilities: bool) -> None:
        many, path = isinstance(saved.model.learner, ClassPool), saved.model.path
        if scores and probabilities:
            raise InvalidParameterError("`scores` and `probabilities` both say what to write: choose one")
        if scores and many:
            raise InvalidParameterError(
                f"{path} has {len(saved.model.classes)} classes, which have no one score: pass `probabilities`"
            )
        self._learner = saved.kept if many and saved.kept is not None else saved.model.learner
        if many:
            self._learner = self._learner.copy()  # not the memory of the file, for which no kernel is compiled
        self.groups: tuple[str, ...] = ()  # columns that say which groups a row belongs to
        self._weights = None if many else np.array(saved.model.weights[0]) if saved.model.is_linear else np.zeros(1)
        self._numbers = ClassNumbers(saved.schema.labels or (), grows=False) if many else None
        self._names = [_quoted(str(label)) for label in saved.model.classes]
        self._classifier: Any = None
        if probabilities and not many:
            if saved.calibration is None or "batch_weights" in saved.model.arrays:
                raise InvalidParameterError(
                    f"{path} has no probabilities, which a training of one pass learns: leave `probabilities` out"
                )
            self._classifier = model_of(str(path), saved.model.kind, saved.model.meta, saved.model.arrays)
        self._probabilities = probabilities

    def __call__(self, part: Chunk) -> tuple[NDArray[np.int64], NDArray[np.float64], list[str] | None]:
        """Numbers of classes; scores or, of more than two classes, the same numbers; texts of probabilities."""
        if self._weights is not None:
            scores = Scorer(self._weights, self._learner, self.groups).scores(part)
            texts = None
            if self._probabilities:
                rows = known_columns(part, self._learner.n_features)
                texts = self._texts(np.asarray(self._classifier.predict_proba(rows)))
            return (scores >= 0.0).astype(np.int64), scores, texts
        chances = self._learner.probabilities(Rows.of(known_columns(part, self._learner.n_features)))
        answers = chances.argmax(axis=1)
        return answers, answers.astype(np.float64), self._texts(chances) if self._probabilities else None

    def classes_of(self, part: Chunk) -> NDArray[np.int64]:
        """The numbers of the classes of the labels, -1 if there is no such class."""
        return (part.y > 0).astype(np.int64) if self._numbers is None else self._numbers.of(part.labels)

    def _texts(self, chances: NDArray[np.float64]) -> list[str]:
        return [
            " ".join(f"{name}:{chance:.6g}" for name, chance in zip(self._names, row, strict=True))
            for row in chances.tolist()
        ]


def _quoted(name: str) -> str:
    """A label that can stand before a colon: in quotes, as JSON has it, if it holds a blank, a colon or a quote."""
    return json.dumps(name) if re.search(r'[\s:"]', name) else name


def _reader(sources: Sequence[Source], schema: Schema, workers: int) -> Reader:
    """A reader of the rows; those of another format have none of the model's columns, and are refused for that."""
    try:
        return Reader(sources, schema, workers=workers, labelled=False, tags=True)
    except InvalidDataError:
        found = None
        with contextlib.suppress(InvalidDataError):
            found = detect_format(sources[0])
        if found is None or schema.format in ("auto", found):
            raise
        raise InvalidDataError(
            f"{sources[0].name} is {found}, but the model was trained on {schema.format}: give rows with its columns"
        ) from None


class PredictionLines:
    r"""The scores of a chunk's rows, part by part, and then the lines of predictions.

    A score that is NaN means that the row was left out. Of more than two classes, scores are the numbers of the
    answers. A tag of the row stands after its prediction.

    >>> from massart.data.formats.text import parse_block
    >>> from massart.data.schema import Schema
    >>> chunk = parse_block(b"1 |f a\n1 'x7 |f a\n1 |f a:\n-1 |f b\n", Schema("vw", bits=18))
    >>> lines = PredictionLines()
    >>> lines.add(chunk, np.array([0.5, -1.0, np.nan]))
    >>> lines.text(("no", "yes"))
    b'yes\nno x7\n\n\n'
    """

    def __init__(self, *, as_scores: bool = False) -> None:
        self._as_scores = as_scores
        self._texts: list[str] = []
        self._parts: list[tuple[Chunk, NDArray[np.float64]]] = []

    def add(self, part: Chunk, scores: NDArray[np.float64], texts: Sequence[str] | None = None) -> None:
        """The scores of the rows of a part, or what is to be written of them; of the part, lines, tags and errors."""
        self._parts.append((part.replace(rows=(), y=part.y[:0]), scores))
        self._texts += texts or []

    def text(self, names: Sequence[str]) -> bytes:
        """One line per row, an empty one for each row with an error; `names` are those of the classes."""
        return "\n".join([*self.rows(names)[1], ""]).encode(errors="surrogatepass")

    def rows(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """The lines of the rows in the input, and what `text` has for each."""
        lines = np.concatenate([part.lines for part, _ in self._parts]) if self._parts else np.empty(0, np.int64)
        scores = np.concatenate([own for _, own in self._parts]) if self._parts else np.empty(0)
        tags = [tag for part, own in self._parts for tag in (part.tags or [""] * own.size)]
        errors = [error.line for part, _ in self._parts for error in part.errors]
        if errors:
            places = np.searchsorted(lines, sorted(errors))
            lines = np.insert(lines, places, sorted(errors))
            scores = np.insert(scores, places, np.nan)
            tags = np.insert(np.array(tags, object), places, "").tolist()
        left_out = np.isnan(scores)
        if self._texts:
            given = iter(self._texts)
            texts = ["" if none else next(given) for none in left_out.tolist()]
        elif self._as_scores:
            texts = [repr(score) for score in scores.tolist()]
            for place in np.flatnonzero(left_out).tolist():
                texts[place] = ""
        else:
            numbers = (scores >= 0.0) if len(names) == 2 else np.where(left_out, 0.0, scores).astype(np.int64)
            table = ("", *names)
            texts = [table[kind] for kind in np.where(left_out, 0, 1 + numbers).tolist()]
        if any(tags):
            texts = [f"{text} {tag}" if text and tag else text for text, tag in zip(texts, tags, strict=True)]
        return lines.tolist(), texts


class KeptOutput:
    """Where predictions go that a checkpoint relies on."""

    tells_group = False  # whether it tells the group of the rows' topic how far they have come

    def begin(self, source: Any, note: Callable[[str], None], *, resume: bool) -> None:
        """Get ready, once the place to go on from is known."""

    def take(self, chunk: Chunk, found: PredictionLines, names: Sequence[str]) -> None:
        """Write the predictions of a chunk."""
        raise NotImplementedError

    def sync(self) -> int:
        """Let all that was written last, whatever happens; how much that is, for the checkpoint."""
        raise NotImplementedError

    def keep(self, length: int) -> None:
        """So much is what a checkpoint relies on from now on."""

    def finish(self) -> None:
        """All is written."""
        raise NotImplementedError

    def abandon(self, *, whole: bool = False) -> None:
        """Leave what a checkpoint relies on, and nothing if there is none, or if `whole`."""
        raise NotImplementedError


class PredictionFile(KeptOutput):
    r"""A file that has its name only once it is complete; until then it is NAME.partial. A device is written directly.

    No other process can write it until it is finished or abandoned.

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
        self._kept = length  # bytes that a checkpoint relies on
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
                    f"{self.partial} is shorter than the checkpoint says: train again with `resume=False`"
                )
            file.truncate(length)
            file.seek(length)
            return file

    def take(self, chunk: Chunk, found: PredictionLines, names: Sequence[str]) -> None:
        """Add a line for every row."""
        self.write(found.text(names))

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
        """So many bytes are what a checkpoint relies on from now on."""
        self._kept = length

    def finish(self) -> None:
        """Give it its name."""
        with self._sentence():
            if self.partial == self.path:
                self._file.close()
            else:
                move_into(self._file, self.partial, self.path)
        self._lock.release()

    def abandon(self, *, whole: bool = False) -> None:
        """Leave what a checkpoint relies on, and nothing if there is none, or if `whole`."""
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
