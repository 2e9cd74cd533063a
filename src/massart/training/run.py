"""The training: passes over the chunks of a reader, checkpoints on the way, a model file at the end."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from massart.data.chunk import Chunk
from massart.data.formats.labels import ClassNumbers
from massart.data.io.prefetch import ahead
from massart.data.schema import TEXTS, Schema
from massart.errors import InvalidDataError, MassartError, counted
from massart.files import OutputLock
from massart.kernels.compiling import compiled
from massart.models.headers import printable
from massart.training.chunk_trainer import ChunkTrainer
from massart.training.predict import KeptOutput, PredictionFile, PredictionLines, Sink
from massart.training.progress import FINISH, LEARN, MEASURE, Callbacks, Progress
from massart.training.resume import TrainedModel, class_values, identity, write_trained
from massart.training.settings import Settings
from massart.training.summary import Summary, label_words, peak_memory
from massart.values import Record

__all__ = ["Training", "checkpoint_path"]

_COUNTS = {  # that a model file holds of its training, by their names there
    **{name: name for name in ("learned", "mistakes", "positive", "unlabelled", "weightless", "held_out")},
    **{"flaws": "row_errors", "holdout": "holdout", "best_pass": "best_pass"},
}


class _RefusedError(InvalidDataError):
    """There are not two labels, so that there is nothing to resume either."""


class _Work(Record):
    """What this process has done."""

    rows: int = 0  # learned
    size: int = 0  # bytes read
    compiling: float = 0.0  # seconds of compiling before the first row
    saved_rows: int = 0  # learned when the last checkpoint was written
    saved_at: float = 0.0  # when that was


class Training:
    """Learn what a reader reads.

    `stopped` is asked between chunks and gives the number of a signal once one has come: the training then writes a
    checkpoint and ends.

    Parameters
    ----------
    reader : a `massart.data.Reader`.
    settings : how to learn.
    model : where the model goes; None: nowhere.
    begin : a model to go on from.
    predictions : where the predictions made before learning go, one line per row.
    holdout : reads the rows that measure the error, where they are a file of their own.
    labels_given : whether the two labels were given, so that rows with others may be left out.
    warnings : about the data, for the summary.
    """

    def __init__(
        self,
        reader: Any,
        settings: Settings,
        *,
        model: Path | None = None,
        begin: TrainedModel | None = None,
        predictions: Path | Sink | KeptOutput | None = None,
        as_scores: bool = False,
        holdout: Any = None,
        labels_given: bool = False,
        warnings: Sequence[str] = (),
        callbacks: Callbacks | None = None,
        stopped: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.reader, self.settings, self.model = reader, settings, model
        self._callbacks = callbacks or Callbacks()
        numbers = None
        if reader.schema.is_many:
            numbers = ClassNumbers(reader.schema.labels or (), grows=reader.schema.new_labels)
        self.trainer = ChunkTrainer(settings, None, reader.schema.width, self._callbacks, reader.schema.groups, numbers)
        if begin is not None:
            begin.restore(self.trainer)
        self.progress.width = self.trainer.width
        self.progress.output = output_name(predictions, as_scores=as_scores)
        self._classes = class_values(reader.schema) if begin is None else list(begin.model.classes)
        self._runs = [] if begin is None else begin.runs
        others = [*reader.label_files(), *(() if holdout is None else (*holdout.sources, *holdout.label_files()))]
        name = None if begin is None else begin.model.digest
        self.identity = identity(reader.sources, settings, reader.schema, name, others, with_content=model is not None)
        self._locks = [] if model is None else [OutputLock(model), OutputLock(checkpoint_path(model))]
        self._predictions, self._as_scores = predictions, as_scores
        self._sink: Sink | KeptOutput | None = None
        self._holdout = holdout
        self.warnings = tuple(warnings)
        self._labels_given, self._goes_on = labels_given, begin is not None
        self._stopped = stopped
        self._work = _Work()

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        return self.trainer.progress

    @property
    def classes(self) -> list[Any]:
        """The values of the classes, as far as they have come."""
        if self.trainer.classes is None:
            return self._classes
        return class_values(Schema(labels=tuple(self.trainer.classes.names)))

    @property
    def has_predictions(self) -> bool:
        """Whether the predictions go to a file or a topic."""
        return isinstance(self._predictions, Path | KeptOutput)

    @property
    def checkpoint(self) -> Path | None:
        """Where progress is kept until the model is written."""
        return None if self.model is None else checkpoint_path(self.model)

    @property
    def can_go_on(self) -> bool:
        """Whether a checkpoint can be gone on from: not if the rows come through a pipe."""
        return all(source.is_resumable for source in self.reader.sources)

    def hold(self) -> None:
        """Lock the model and its checkpoint, until `release` or the end of `run`."""
        try:
            for lock in self._locks:
                lock.acquire()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let other processes write them."""
        for lock in self._locks:
            lock.release()

    def resume(self, saved: TrainedModel) -> None:
        """Go on from a checkpoint, if it is of this very training, and of a version that this one can read."""
        self.trainer.progress = saved.progress_of(self.identity, self.progress.output, self.reader.sources)
        saved.restore(self.trainer)
        if self.trainer.classes is not None:
            self.trainer.classes = ClassNumbers(saved.schema.labels or (), grows=self.trainer.classes.grows)
        self._classes, self._runs = list(saved.model.classes), saved.runs[:-1]

    def run(self) -> Summary:
        """Learn to the end, or until stopped."""
        begun = time.monotonic()
        self._work.compiling, self._work.saved_at = compiled().seconds, begun
        try:
            self.hold()
            self._open_predictions()
            while self.progress.phase != FINISH:
                if not self._phase():
                    return self._interrupted(begun)
            self._finish()
        except _RefusedError:
            if isinstance(self._sink, KeptOutput):
                self._sink.abandon(whole=True)
            if self.checkpoint is not None:  # going on from it could not end better
                self.checkpoint.unlink(missing_ok=True)
            raise
        except BaseException:
            if isinstance(self._sink, KeptOutput):
                self._sink.abandon()
            raise
        finally:
            self.reader.sources[0].stop()
            self.release()
        return self._summary(begun)

    def _phase(self) -> bool:
        """Go through the input once; whether it came to its end."""
        progress, work, measuring = self.progress, self._work, self.progress.phase == MEASURE
        reader = self._holdout if measuring and self._holdout is not None else self.reader
        if measuring:
            self.trainer.begin_measuring()
        else:
            self._callbacks.begin(self)
        for chunk in self._until_stopped(reader):
            if measuring:
                self.trainer.measure(chunk)
            else:
                self._learn(chunk)
            if reader.schema.format in TEXTS:
                same = chunk.end.source == progress.position.source
                work.size += chunk.end.offset - (progress.position.offset if same else 0)
            progress.position = chunk.end
            now = time.monotonic()
            if self.settings.checkpoint.due(work.rows - work.saved_rows, now - work.saved_at):
                work.saved_rows, work.saved_at = work.rows, now
                self._try_checkpoint()
        if self._stopped() is not None:
            return False
        self._next_phase()
        return True

    def _learn(self, chunk: Chunk) -> None:
        lines = None
        if self._sink is not None and self.progress.passed == 1:
            lines = PredictionLines(as_scores=self._as_scores)
        self._work.rows += self.trainer.learn(chunk, lines)
        if lines is None or self._sink is None:
            return
        if isinstance(self._sink, KeptOutput):
            self._sink.take(chunk, lines, self._names)
        else:
            self._sink.write(lines.text(self._names))

    @property
    def _names(self) -> tuple[str, ...]:
        """How predictions name the classes."""
        return tuple(map(str, self.classes))

    def _until_stopped(self, reader: Any) -> Iterator[Chunk]:
        """The chunks that are left; where a pipe may keep them waiting, a thread waits for them."""
        chunks = reader.chunks(self.progress.position)
        if any(source.is_pipe for source in reader.sources):
            yield from ahead(chunks, lambda: self._stopped() is not None)
            return
        with contextlib.closing(chunks):
            while self._stopped() is None and (chunk := next(chunks, None)) is not None:
                yield chunk

    def _next_phase(self) -> None:
        progress, passes = self.progress, self.settings.passes
        if progress.phase == LEARN:
            if progress.passed == 1:
                self._check_labels()
            if self.settings.holdout is not None:
                progress.next_phase(MEASURE, progress.passed)
                return
        else:
            progress.holdout.append(progress.measured)
            self._callbacks.measured(progress.passed, progress.measured)
            if passes > 1 and progress.best_pass == progress.passed:
                self.trainer.keep()
        if progress.passed < passes:
            self.trainer.begin_again()
            progress.next_phase(LEARN, progress.passed + 1)
            return
        if passes > 1 and progress.best_pass is None:
            self.trainer.keep()
        progress.next_phase(FINISH, progress.passed)

    def _check_labels(self) -> None:
        """Refuse a training whose rows had only one label, or that left most of the rows out for their label."""
        progress = self.progress
        unknown = sum(progress.unknown_labels.values())
        labelled = progress.learned + progress.held_out + progress.weightless + unknown
        if progress.learned == 0:
            raise _RefusedError(f"there is nothing to learn: {self._why_nothing()}")
        if 2 * unknown > labelled and not self._labels_given:
            raise _RefusedError(
                f"{unknown:,} of {labelled:,} rows with a label were left out for it, as there can be two labels: "
                f"{self._labels_seen()}; no model is written"
            )
        one_class = max(progress.counted.rows, default=0) == progress.learned
        if one_class and not self._goes_on:
            raise _RefusedError(
                f"two labels are needed, but the {progress.learned:,} rows learned have only one: "
                f"{self._labels_seen()}, and give rows of both; no model is written"
            )

    def _labels_seen(self) -> str:
        """Which labels there were, how often, and what to do about them."""
        progress = self.progress
        seen = dict(zip(self._label_words(), progress.counted.rows, strict=False))
        others = progress.unknown_labels.items()
        counts = [*((label, count) for label, count in seen.items() if count), *others]
        words = ", ".join(f"{printable(label)} ({counted(count, 'row')})" for label, count in counts)
        return f"the labels are {words}; name the two with `labels=('NEGATIVE', 'POSITIVE')`"

    def _label_words(self) -> tuple[str, ...]:
        """How the rows name the classes."""
        own = self.trainer.classes
        return label_words(self.reader.schema) if own is None else tuple(own.names)

    def _why_nothing(self) -> str:
        progress = self.progress
        names = ", ".join(source.name for source in self.reader.sources[:3])
        if not (progress.read or progress.row_errors):
            return f"{names} holds no row"
        bad = progress.rows_with_errors
        why = f"of the rows of {names}, {bad:,} have errors and {progress.unlabelled:,} no label"
        if progress.unknown_labels:
            return f"{why}; {self._labels_seen()}"
        return f"{why}; the first error is of the kind: {next(iter(progress.row_errors))}" if bad else why

    def _open_predictions(self) -> None:
        """Go on writing where the checkpoint says."""
        length = self.progress.predictions
        if not isinstance(self._predictions, Path):
            self._sink = self._predictions
            return
        finished = self.progress.phase == FINISH and self._predictions.is_file()
        if finished and self._predictions.stat().st_size == length and not _partial(self._predictions).exists():
            return  # it had its name already when the process was killed
        self._sink = PredictionFile(self._predictions, length)

    def _write(self, path: Path, *, complete: bool) -> None:
        run = {**self.identity, **{name: getattr(self.progress, field) for name, field in _COUNTS.items()}}
        training = {"complete": complete, "runs": [*self._runs, run]}
        write_trained(path, self.trainer, self.reader.schema, self.classes, training, checkpoint=not complete)

    def _try_checkpoint(self) -> bool:
        """Write a checkpoint; where that fails, say so and go on: the training is worth more."""
        if self.checkpoint is None or self.trainer.first is None:
            return False
        try:
            if isinstance(self._sink, KeptOutput):
                self.progress.predictions = self._sink.sync()
            self._write(self.checkpoint, complete=False)
            if isinstance(self._sink, KeptOutput):
                self._sink.keep(self.progress.predictions)
            if not (isinstance(self._sink, KeptOutput) and self._sink.tells_group):
                self.reader.sources[0].commit(self.progress.position)
        except (MassartError, OSError) as error:
            self._callbacks.note(f"no checkpoint was written: {error}")
            return False
        return True

    def _finish(self) -> None:
        """Write the model, then let go of what was only needed on the way."""
        if self.model is not None:
            self.trainer.trim(self.reader.schema.width or self.progress.width)
            if isinstance(self._sink, KeptOutput):
                self._try_checkpoint()  # the predictions get their name after the model: until then it is not over
            self._write(self.model, complete=True)
        if isinstance(self._sink, KeptOutput):
            self._sink.finish()
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)

    def _interrupted(self, begun: float) -> Summary:
        written = self._try_checkpoint()
        if isinstance(self._sink, KeptOutput):
            self._sink.abandon()
        return self._summary(begun, str(self.checkpoint) if written else None)

    def _summary(self, begun: float, checkpoint: str | None = None) -> Summary:
        progress, work = self.progress, self._work
        stopped = self._stopped() if progress.phase != FINISH else None
        seconds, compiling = time.monotonic() - begun, compiled().seconds - work.compiling
        learning = max(seconds - compiling, 1e-9)
        sizes = [source.size for source in self.reader.sources]
        read = work.size
        if self.reader.schema.format not in TEXTS and None not in sizes:
            read = sum(sizes) * self.settings.passes
        return Summary(
            rows=progress.learned,
            mistakes=progress.mistakes,
            positive=progress.positive,
            labels=self._label_words(),
            answers=self._names,
            counts=progress.counted,
            passes=progress.passed,
            trainer=self.trainer,
            row_errors=dict(progress.row_errors),
            unlabelled=progress.unlabelled,
            weightless=progress.weightless,
            held_out=progress.held_out,
            holdout=tuple(progress.holdout),
            best_pass=progress.best_pass,
            seconds=seconds,
            compiling_seconds=compiling,
            rows_per_second=work.rows / learning,
            megabytes_per_second=read / learning / 1e6,
            peak_memory=peak_memory(),
            warnings=self.warnings,
            model=None if stopped or self.model is None else str(self.model),
            checkpoint=checkpoint,
            stopped=stopped,
        )


def output_name(predictions: Path | Sink | KeptOutput | None, *, as_scores: bool) -> str:
    """How a checkpoint names where predictions go."""
    if predictions is None:
        return ""
    name = predictions if isinstance(predictions, Path) else getattr(predictions, "name", "a pipe")
    return f"{name}{' as scores' if as_scores else ''}"


def checkpoint_path(model: Path) -> Path:
    """Where the progress of a training of this model is kept."""
    return model.with_name(f"{model.name}.checkpoint")


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")
