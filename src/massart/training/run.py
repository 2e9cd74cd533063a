"""The training: passes over the chunks of a reader, checkpoints on the way, a model file at the end."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from massart.data.chunk import Chunk
from massart.errors import InvalidDataError, InvalidParameterError, MassartError
from massart.files import OutputLock
from massart.kernels.compiling import compiled
from massart.models.headers import printable
from massart.training.ahead import Ahead
from massart.training.checkpoint import Saved, class_names, class_values, label_words, write_classifier
from massart.training.events import Watcher
from massart.training.lesson import Lesson
from massart.training.predictions import PredictionFile, Sink
from massart.training.progress import FINISH, LEARN, MEASURE, Progress
from massart.training.pupil import Pupil
from massart.training.resume import difference, identity
from massart.training.settings import Settings
from massart.training.summary import Summary, peak_memory

__all__ = ["Training"]

_COUNTS = (  # that a model file tells of its training
    *("learned", "mistakes", "positive", "unlabelled", "weightless"),
    *("held_out", "flaws", "holdout", "best_pass"),
)
_TEXTS = ("svmlight", "vw", "csv", "jsonl")  # formats whose positions count bytes


class _RefusedError(InvalidDataError):
    """The labels are not two, so that there is nothing to go on with either."""


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
    predictions : where the answers given before learning go, one line per row.
    holdout : reads the rows that measure the error, where they are a file of their own.
    labels_given : whether somebody said which two labels to tell apart, so that others may be left out.
    warnings : what is to be said of the data, for the summary.
    """

    def __init__(
        self,
        reader: Any,
        settings: Settings,
        *,
        model: Path | None = None,
        begin: Saved | None = None,
        predictions: Path | Sink | None = None,
        as_scores: bool = False,
        holdout: Any = None,
        labels_given: bool = False,
        warnings: Sequence[str] = (),
        watcher: Watcher | None = None,
        stopped: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.reader, self.settings, self.model = reader, settings, model
        self.pupil = Pupil(settings) if begin is None else begin.pupil(settings)
        self.progress = Progress(width=self.pupil.width)
        self.classes = class_values(reader.schema) if begin is None else begin.classes
        self._runs = [] if begin is None else begin.runs
        others = [*reader.label_files(), *(() if holdout is None else (*holdout.sources, *holdout.label_files()))]
        name = None if begin is None else begin.name
        self.identity = identity(reader.sources, settings, reader.schema, name, others, with_content=model is not None)
        self._locks = [] if model is None else [OutputLock(model), OutputLock(_checkpoint(model))]
        self._predictions, self._as_scores = predictions, as_scores
        self.progress.output = output_name(predictions, as_scores=as_scores)
        self._sink: Sink | None = None
        self._holdout = holdout
        self.warnings = tuple(warnings)
        self._labels_given, self._goes_on = labels_given, begin is not None
        self._watcher = watcher or Watcher()
        self._stopped = stopped
        self._worked = [0, 0]  # rows learned and bytes read by this process
        self._compiled = 0.0  # seconds of compiling before the first row
        self._last = (0.0, 0)  # when the last checkpoint was written, and after how many rows

    @property
    def has_predictions(self) -> bool:
        """Whether the answers go to a file."""
        return isinstance(self._predictions, Path)

    @property
    def checkpoint(self) -> Path | None:
        """Where progress is kept until the model is written."""
        return None if self.model is None else _checkpoint(self.model)

    @property
    def can_go_on(self) -> bool:
        """Whether a checkpoint can be gone on from: not if the rows come through a pipe."""
        return not any(source.is_pipe for source in self.reader.sources)

    def hold(self) -> None:
        """Have nobody else write the model or its checkpoint, until `release` or the end of `run`."""
        try:
            for lock in self._locks:
                lock.acquire()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others write them."""
        for lock in self._locks:
            lock.release()

    def resume(self, saved: Saved) -> None:
        """Go on from a checkpoint, if it is of this very training, and of a version that this one can read."""
        saved.check_version()
        if not self.can_go_on:
            pipe = next(source.name for source in self.reader.sources if source.is_pipe)
            raise InvalidParameterError(
                f"{saved.path} cannot be gone on from: {pipe} is a pipe, which may bring other rows each time; name "
                "the file that the rows come from, or leave --resume out to begin again"
            )
        progress = Progress.from_dict(saved.meta.get("progress", {}))
        differs = difference(saved.runs[-1], self.identity) if saved.runs else "it tells of no training"
        if differs is None and progress.output != self.progress.output:
            then, now = (name or "nowhere" for name in (progress.output, self.progress.output))
            differs = f"its predictions went to {then} and go to {now} now"
        if differs is None and progress.position.source > len(self.reader.sources):
            differs = f"it has come to file {progress.position.source + 1}"
        if differs is not None:
            raise InvalidParameterError(
                f"{saved.path} is of another training: {differs}; go on with the same data and options, "
                "or leave --resume out to begin again"
            )
        self.progress = progress
        self.pupil, self.classes, self._runs = saved.pupil(self.settings), saved.classes, saved.runs[:-1]

    def run(self) -> Summary:
        """Learn to the end, or until stopped."""
        begun, self._compiled = time.monotonic(), compiled().seconds
        self._last = (begun, 0)
        try:
            self.hold()
            self._open_predictions()
            while self.progress.phase != FINISH:
                if not self._phase():
                    return self._interrupted(begun)
            self._finish()
        except _RefusedError:
            if isinstance(self._sink, PredictionFile):
                self._sink.abandon(whole=True)
            if self.checkpoint is not None:  # nobody could go on from it to a better end
                self.checkpoint.unlink(missing_ok=True)
            raise
        except BaseException:
            if isinstance(self._sink, PredictionFile):
                self._sink.abandon()
            raise
        finally:
            self.release()
        return self._summary(begun)

    def _phase(self) -> bool:
        """Go through the input once; whether it came to its end."""
        progress, measuring = self.progress, self.progress.phase == MEASURE
        reader = self._holdout if measuring and self._holdout is not None else self.reader
        lesson = Lesson(self.pupil, progress, self.settings, self.reader.schema.width, self._watcher)
        names = class_names(self.classes)
        if measuring:
            lesson.begin_measuring()
        else:
            self._watcher.begin(self)
        for chunk in self._until_stopped(reader):
            if measuring:
                lesson.measure(chunk)
            else:
                self._worked[0] += lesson.learn(chunk, self._sink, names, as_scores=self._as_scores)
            if reader.schema.format in _TEXTS:
                same = chunk.end.source == progress.position.source
                self._worked[1] += chunk.end.offset - (progress.position.offset if same else 0)
            progress.position = chunk.end
            rows, now = self._worked[0], time.monotonic()
            if self.settings.checkpoint.due(rows - self._last[1], now - self._last[0]):
                self._last = (now, rows)
                self._try_checkpoint()
        if self._stopped() is not None:
            return False
        self._next_phase()
        return True

    def _until_stopped(self, reader: Any) -> Iterator[Chunk]:
        """The chunks that are left; where a pipe may keep them waiting, a thread waits for them."""
        chunks = reader.chunks(self.progress.position)
        if any(source.is_pipe for source in reader.sources):
            yield from Ahead(chunks, lambda: self._stopped() is not None)
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
            self._watcher.measured(progress.passed, *progress.measured)
            if passes > 1 and progress.best_pass == progress.passed:
                self.pupil.keep()
        if progress.passed < passes:
            self.pupil.begin_again()
            progress.next_phase(LEARN, progress.passed + 1)
            return
        if passes > 1 and progress.best_pass is None:
            self.pupil.keep()
        progress.next_phase(FINISH, progress.passed)

    def _check_labels(self) -> None:
        """Refuse a training that has not told two labels apart, or was of the lesser part of the rows."""
        progress = self.progress
        unknown = sum(progress.unknown_labels.values())
        labelled = progress.learned + progress.held_out + progress.weightless + unknown
        if progress.learned == 0:
            raise _RefusedError(f"there is nothing to learn: {self._why_nothing()}")
        if 2 * unknown > labelled and not self._labels_given:
            raise _RefusedError(
                f"{unknown:,} of {labelled:,} rows with a label were left out for it, as two labels are told apart: "
                f"{self._labels_seen()}; no model is written"
            )
        if progress.positive in (0, progress.learned) and not self._goes_on:
            raise _RefusedError(
                f"two labels are told apart, but the {progress.learned:,} rows learned have only one: "
                f"{self._labels_seen()}, and give rows of both; no model is written"
            )

    def _labels_seen(self) -> str:
        """Which labels there were, how often, and what to do about them."""
        progress = self.progress
        negative, positive = label_words(self.reader.schema)
        seen = {negative: progress.learned - progress.positive, positive: progress.positive}
        others = progress.unknown_labels.items()
        counts = [*((label, count) for label, count in seen.items() if count), *others]
        words = ", ".join(
            f"{printable(label)} ({count:,} {'row' if count == 1 else 'rows'})" for label, count in counts
        )
        return f"the labels are {words}; name the two with --labels NEGATIVE,POSITIVE"

    def _why_nothing(self) -> str:
        progress = self.progress
        names = ", ".join(source.name for source in self.reader.sources[:3])
        if not (progress.read or progress.flaws):
            return f"{names} holds no row"
        why = f"of the rows of {names}, {progress.flawed:,} have flaws and {progress.unlabelled:,} no label"
        if progress.unknown_labels:
            return f"{why}; {self._labels_seen()}"
        return f"{why}; the first flaw is of the kind: {next(iter(progress.flaws))}" if progress.flaws else why

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

    def _training(self, *, complete: bool) -> dict[str, Any]:
        progress = self.progress
        run = {**self.identity, **{name: getattr(progress, name) for name in _COUNTS}}
        return {"complete": complete, "runs": [*self._runs, run]}

    def _write(self, path: Path, *, complete: bool) -> None:
        progress = None if complete else self.progress.as_dict()
        training = self._training(complete=complete)
        write_classifier(path, self.pupil, self.settings, self.reader.schema, self.classes, training, progress)

    def _try_checkpoint(self) -> bool:
        """Write a checkpoint; where that fails, say so and go on: the training is worth more."""
        if self.checkpoint is None or self.pupil.first is None:
            return False
        try:
            if isinstance(self._sink, PredictionFile):
                self.progress.predictions = self._sink.sync()
            self._write(self.checkpoint, complete=False)
            if isinstance(self._sink, PredictionFile):
                self._sink.keep(self.progress.predictions)
        except (MassartError, OSError) as error:
            self._watcher.note(f"no checkpoint was written: {error}")
            return False
        return True

    def _finish(self) -> None:
        """Write the model, then let go of what was only needed on the way."""
        if self.model is not None:
            self.pupil.trim(self.reader.schema.width or self.progress.width)
            if isinstance(self._sink, PredictionFile):
                self._try_checkpoint()  # the predictions get their name after the model: until then it is not over
            self._write(self.model, complete=True)
        if isinstance(self._sink, PredictionFile):
            self._sink.finish()
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)

    def _interrupted(self, begun: float) -> Summary:
        written = self._try_checkpoint()
        if isinstance(self._sink, PredictionFile):
            self._sink.abandon()
        return self._summary(begun, str(self.checkpoint) if written else None)

    def _summary(self, begun: float, checkpoint: str | None = None) -> Summary:
        progress, pupil, stopped = self.progress, self.pupil, self._stopped() if self.progress.phase != FINISH else None
        seconds, compiling = time.monotonic() - begun, compiled().seconds - self._compiled
        learning = max(seconds - compiling, 1e-9)
        sizes = [source.size for source in self.reader.sources]
        read = self._worked[1]
        if self.reader.schema.format not in _TEXTS and None not in sizes:
            read = sum(sizes) * self.settings.passes
        return Summary(
            rows=progress.learned,
            mistakes=progress.mistakes,
            positive=progress.positive,
            labels=label_words(self.reader.schema),
            answers=class_names(self.classes),
            passes=progress.passed,
            certificate=pupil.first.certificate() if pupil.first is not None else None,
            noise_rate=pupil.first.lower_noise_rate() if pupil.first is not None else None,
            features=pupil.features(),
            columns=pupil.width,
            flaws=dict(progress.flaws),
            unlabelled=progress.unlabelled,
            weightless=progress.weightless,
            held_out=progress.held_out,
            holdout=tuple(progress.holdout),
            best_pass=progress.best_pass,
            seconds=seconds,
            compiling_seconds=compiling,
            rows_per_second=self._worked[0] / learning,
            megabytes_per_second=read / learning / 1e6,
            peak_memory=peak_memory(),
            warnings=self.warnings,
            model=None if stopped or self.model is None else str(self.model),
            checkpoint=checkpoint,
            stopped=stopped,
        )


def output_name(predictions: Path | Sink | None, *, as_scores: bool) -> str:
    """What a checkpoint remembers of where predictions go."""
    if predictions is None:
        return ""
    return f"{predictions if isinstance(predictions, Path) else 'a pipe'}{' as scores' if as_scores else ''}"


def _checkpoint(model: Path) -> Path:
    return model.with_name(f"{model.name}.checkpoint")


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")
