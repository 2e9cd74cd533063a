"""Before the first row: open the data and the models, and refuse what could not succeed."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from massart.data.io.sources import find_sources, is_topic
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidParameterError, MassartError
from massart.files import check_place
from massart.learners.products import check_few
from massart.training.predict import KeptOutput, Sink
from massart.training.progress import Callbacks
from massart.training.resume import TrainedModel, difference, open_trained
from massart.training.run import Training, checkpoint_path
from massart.training.settings import Settings

__all__ = ["is_complete", "open_training"]

_BESIDE = ("label", "weight")  # columns of a file that a data frame does not have


def open_training(
    data: Sequence[str],
    settings: Settings | None = None,
    schema: Schema | None = None,
    *,
    model: Path | None = None,
    initial: Path | None = None,
    resume: bool = False,
    predictions: Path | Sink | KeptOutput | None = None,
    as_scores: bool = False,
    follow: bool = False,
    workers: int = 2,
    callbacks: Callbacks | None = None,
    stopped: Callable[[], int | None] = lambda: None,
    made: type[Training] = Training,
) -> Training:
    r"""A training that is ready to run; its model is locked until it has run, or until its `release`.

    `made` is the class of the training.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.svm")
    ...     _ = path.write_text("1 1:1\n-1 1:-1\n" * 50)
    ...     summary = open_training([str(path)], model=Path(folder, "m.massart")).run()
    >>> summary.rows, summary.mistakes <= 5
    (100, True)
    """
    settings, schema, callbacks = settings or Settings(), schema or Schema(), callbacks or Callbacks()
    labels_given = schema.labels is not None
    _check_places(data, model, predictions, resume=resume)
    begin: TrainedModel | None = None
    if initial is not None:
        begin = open_trained(initial)
        settings = settings.going_on(begin.model.meta.get("parameters", {}), str(initial))
        schema = schema_with(begin.schema, schema, str(initial))
    sources = find_sources(list(data))
    _check_pipes(sources, settings)
    _prepare_topics(sources, settings, callbacks, follow=follow)
    topics = any(is_topic(one) for one in data)
    known = _reading_before(model) if topics and resume else None  # the first records may be gone
    reader = Reader(
        sources,
        schema if known is None else schema_with(known, schema, f"{model}.checkpoint"),
        workers=workers,
        tags=predictions is not None,
        find_labels=begin is None and known is None,
    )
    if reader.schema.groups:
        if settings.passes > 1:
            raise InvalidParameterError(
                f"passes={settings.passes}: rows in groups are learned in one pass; leave it out"
            )
        settings.learner(1, grouped=True)  # refuses options that groups do not go with
    if settings.products:
        reader.with_width()
        check_few(reader.schema.width or 0)
    if reader.schema.is_many:
        if reader.schema.groups:
            raise InvalidParameterError("`groups` are for two labels, and there are more: leave them out")
        if as_scores:
            raise InvalidParameterError("`scores` are those of two labels, and there are more: leave it out")
        reader.with_width()
    holdout = None
    if isinstance(settings.holdout, str):
        holdout = Reader(find_sources([settings.holdout]), reader.schema, workers=workers, find_labels=False)
        if settings.passes > 1:
            _once_only(holdout.sources, "the holdout is read again after every pass")
    training = made(
        reader,
        settings,
        model=model,
        begin=begin,
        predictions=predictions,
        as_scores=as_scores,
        holdout=holdout,
        labels_given=labels_given,
        warnings=reader.column_warnings() if begin is None else [],
        callbacks=callbacks,
        stopped=stopped,
    )
    training.hold()
    try:
        _settle_checkpoint(training, callbacks, resume=resume)
        if isinstance(predictions, KeptOutput):
            predictions.begin(sources[0], callbacks.note, resume=resume)
    except BaseException:
        training.release()
        raise
    for words in training.warnings:
        callbacks.note(words)
    return training


def is_complete(training: Training, initial: Path | None = None) -> bool:
    """Whether the model file is what this training would end with, and is complete.

    A model that began with itself has changed since: then it is the rest that must agree.
    """
    model, checkpoint = training.model, training.checkpoint
    if model is None or not model.is_file() or (training.has_predictions and checkpoint and checkpoint.exists()):
        return False
    try:
        saved = open_trained(model, mmap=True)
    except (MassartError, OSError):
        return False
    now: dict[str, Any] = dict(training.identity)
    runs = saved.runs or [{}]
    if initial is not None and initial.exists() and initial.samefile(model):
        now["initial"] = runs[-1].get("initial")
    return saved.is_complete and difference(runs[-1], now) is None


def _settle_checkpoint(training: Training, callbacks: Callbacks, *, resume: bool) -> None:
    """Go on from the checkpoint, or remove one of another training."""
    checkpoint, model = training.checkpoint, training.model
    if checkpoint is None or model is None:
        return
    # A process that was killed while it wrote one of the two has left what it had written.
    leftover = re.compile(rf"\.{re.escape(model.name)}(\.checkpoint)?\.[0-9a-f]{{8}}\.partial")
    for path in model.parent.iterdir():
        if leftover.fullmatch(path.name):
            path.unlink(missing_ok=True)
    if not checkpoint.is_file():
        return
    if resume:
        training.resume(open_trained(checkpoint))
        return
    try:
        same = difference(open_trained(checkpoint, mmap=True).runs[-1], training.identity) is None
    except (MassartError, LookupError, OSError):
        same = False
    if not same or training.has_predictions:
        callbacks.note(f"{checkpoint}, of a training that was not finished, is removed: this one begins again")
        checkpoint.unlink()


def _prepare_topics(sources: Sequence[Any], settings: Settings, callbacks: Callbacks, *, follow: bool) -> None:
    """Tell topics what is wanted of them; refuse what would wait for ever."""
    topics = [source for source in sources if source.is_pipe and source.is_resumable]
    if follow and len(sources) != len(topics):
        raise InvalidParameterError("`follow` waits for new records of a topic: name one, as kafka://host:9092/topic")
    if follow and settings.holdout is not None:
        raise InvalidParameterError("a holdout is measured at the end, to which `follow` never comes: leave one out")
    for source in topics:
        source.follow = source.eager = follow
        source.note = callbacks.note


def _reading_before(model: Path | None) -> Schema | None:
    """How the data of the checkpoint was read; None if there is none."""
    if model is None or not (checkpoint := checkpoint_path(model)).is_file():
        return None
    runs = open_trained(checkpoint).runs
    return Schema.from_dict(runs[-1]["reading"]) if runs and "reading" in runs[-1] else None


def _check_places(
    data: Sequence[str], model: Path | None, predictions: Path | Sink | KeptOutput | None, *, resume: bool
) -> None:
    if resume and model is None:
        raise InvalidParameterError("`resume=True` needs a model, beside which the checkpoint lies")
    written: list[tuple[Path, str]] = [(model, "the model")] if model is not None else []
    if isinstance(predictions, Path):
        written.append((predictions, "the predictions"))
    for path, what in written:
        check_place(path, what, devices=what == "the predictions")
        if path.is_file() and any(Path(one).exists() and path.samefile(one) for one in data if one != "-"):
            raise InvalidParameterError(f"{path} is what is to be read: give another name for {what}")
    if len(written) == 2 and predictions == model:
        raise InvalidParameterError(f"{model} cannot hold both the model and the predictions: give two names")


def _check_pipes(sources: Sequence[Any], settings: Settings) -> None:
    if settings.passes > 1:
        _once_only(sources, f"{settings.passes} passes read it several times")
    if isinstance(settings.holdout, int):
        _once_only(sources, "a holdout is read again after the pass")


def _once_only(sources: Sequence[Any], why: str) -> None:
    for source in sources:
        if source.is_pipe:
            raise InvalidParameterError(f"{source.name} can be read only once, but {why}: write it to a file first")


def schema_with(own: Schema, asked: Schema, model: str) -> Schema:
    """A model's schema; what was asked for and differs is refused, but for the format, which the data decides.

    >>> schema_with(Schema("vw", bits=18), Schema(bits=20), "m.massart")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: bits=20, but m.massart was begun with bits=18: leave it out
    """
    for name, value in asked.as_dict().items():
        if name in _BESIDE and getattr(own, name) is None and own.columns is not None:  # of a data frame, say
            own = own.replace(**{name: value})
        if name != "format" and getattr(own, name) != value:
            raise InvalidParameterError(
                f"{name}={value!r}, but {model} was begun with {name}={getattr(own, name)!r}: leave it out"
            )
    if asked.format in ("auto", own.format):
        return own
    return own.replace(format=asked.format, header=None, separator=None)
