"""Files from which a training goes on, and whether one is of the same training: data, options, first model.

A model that `massart train` wrote, its checkpoint and a classifier that `save` wrote are all classifiers that
`massart.load` opens. A checkpoint holds more: the learner of later passes, the weights kept so far, and the progress.
Nothing here depends on the clock or the machine: the same training gives the same model file, byte for byte.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

import numpy as np

from massart import __version__
from massart.data.formats.labels import as_text
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.states import check_arrays
from massart.learners.calibration import ScoreCalibration
from massart.learners.class_pool import ClassPool
from massart.models.headers import printable
from massart.models.model_file import write_model
from massart.models.opening import OpenedModel, learner_from, open_model
from massart.training.chunk_trainer import AGAIN, BATCH, KEPT, SCORES, ChunkTrainer
from massart.training.progress import Progress
from massart.training.settings import Settings
from massart.values import Value

__all__ = ["TrainedModel", "class_values", "content_digest", "difference", "identity", "open_trained", "write_trained"]

_LAYOUT: Final = 1  # of checkpoints: what is learned and counted on the way, and how it is stored
_SHARED: Final = 1 << 22  # bytes of all files together that are looked at
_LEAST, _BLOCK, _BLOCKS = 1 << 13, 1 << 12, 64  # bytes of a file; of a block, at least; blocks of a file, at most
_SAMPLED, _WHOLE = "blocks:", "sha256:"


class TrainedModel(Value):
    """A classifier in a file, checked."""

    model: OpenedModel
    schema: Schema  # how its rows were read; of a model that learned from arrays, what its labels say about it
    again: Any = None  # a learner
    kept: Any = None  # weights or, of more than two classes, a learner
    calibration: ScoreCalibration | None = None

    @classmethod
    def of(cls, model: OpenedModel) -> "TrainedModel":
        """The classifier; anything else is refused by name."""
        path, meta, arrays, classes = model.path, model.meta, model.arrays, model.classes
        if model.kind != "classifier":
            raise ModelFileError(f"{path} holds a {printable(model.kind)}, not a classifier")
        if model.learner is None:
            raise ModelFileError(f"{path} holds a classifier that has learned nothing yet")
        if len(classes) > 2 and not isinstance(model.learner, ClassPool):
            raise ModelFileError(
                f"{path} has {len(classes)} classes, each with a learner of its own: load it in Python"
            )
        usual = set(classes) in ({-1, 1}, {0, 1})
        schema = model.schema or Schema(labels=None if usual else tuple(map(str, classes)))
        if schema.is_many:  # those that have joined are no longer new
            schema = schema.replace(labels=tuple(map(as_text, classes)))
        own = {name.removeprefix(AGAIN): array for name, array in arrays.items() if name.startswith(AGAIN)}
        width = meta["n_features_in"]
        try:
            if isinstance(model.learner, ClassPool):
                return cls(model, schema, model.class_pool(AGAIN), model.class_pool(BATCH))
            again = learner_from(meta["learner"], own) if own else None
            widths = {width, width if again is None else again.n_features, schema.width or width}
            if len(widths) > 1:
                raise ModelFileError(f"its parts are of {' and '.join(map(str, sorted(widths)))} columns")
            if KEPT in arrays:
                check_arrays(arrays, {KEPT: (min(arrays[KEPT].size, width + 1),)})
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"{path} does not hold a classifier that fits together: {error}") from None
        return cls(model, schema, again, arrays.get(KEPT), model.calibration)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The trainings it has been through."""
        return list(self.model.meta.get("training", {}).get("runs", []))

    @property
    def is_complete(self) -> bool:
        """Whether its last training came to its end."""
        return bool(self.model.meta.get("training", {}).get("complete"))

    def restore(self, trainer: ChunkTrainer) -> None:
        """Let a trainer go on from it."""
        trainer.restore(self.model.learner, self.again, self.kept, self.calibration)

    def progress_of(self, identity: Mapping[str, Any], output: str, sources: Sequence[Any]) -> Progress:
        """How far it has come, as a checkpoint of the training with this identity, output and data; or refused."""
        path = self.model.path
        if _numbers(self.model.header["massart"]) > _numbers(__version__) or self.model.meta.get("layout") != _LAYOUT:
            raise ModelFileError(
                f"{path} was written by massart {printable(self.model.header['massart'])}, and this is {__version__}, "
                "which does not know its checkpoints: go on with the version that wrote it, or leave "
                "`resume=True` out to begin again"
            )
        pipe = next((source.name for source in sources if not source.is_resumable), None)
        if pipe is not None:
            raise InvalidParameterError(
                f"{path} cannot be gone on from: {pipe} is a pipe, which may bring other rows each time; name "
                "the file that the rows come from, or leave `resume=True` out to begin again"
            )
        progress = Progress.from_dict(self.model.meta.get("progress", {}))
        differs = difference(self.runs[-1], identity) if self.runs else "it names no training"
        if differs is None and progress.output != output:
            then, now = (name or "nowhere" for name in (progress.output, output))
            differs = f"its predictions went to {then} and go to {now} now"
        if differs is None and progress.position.source > len(sources):
            differs = f"it has come to file {progress.position.source + 1}"
        if differs is not None:
            raise InvalidParameterError(
                f"{path} is of another training: {differs}; go on with the same data and options, "
                "or leave `resume=True` out to begin again"
            )
        return progress


def _numbers(version: str) -> tuple[float, ...]:
    """A version for comparison; one that is no number is newer than all.

    >>> _numbers("0.9.0.dev1") < _numbers("0.10.0") < _numbers("soon")
    True
    """
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return tuple(map(float, found[0].split("."))) if found else (inf,)


def open_trained(path: Path, *, mmap: bool = False) -> TrainedModel:
    """The classifier in a file; with `mmap`, what must not change is to be copied."""
    return TrainedModel.of(open_model(path, mmap=mmap))


def write_trained(
    path: Path,
    trainer: ChunkTrainer,
    schema: Schema,
    classes: list[Any],
    training: dict[str, Any],
    *,
    checkpoint: bool = False,
) -> None:
    """Write the model file, or a checkpoint, atomically; what could not be opened again is refused."""
    name, arrays = trainer.arrays(checkpoint=checkpoint)
    arrays["classes"] = np.array(classes)
    meta: dict[str, Any] = {
        "parameters": trainer.settings.parameters(),
        "learner": name,
        "n_iter": trainer.settings.passes,
        "n_features_in": trainer.width,
        "reading": schema.as_dict(),
        "training": training,
    }
    meta["calibrated"] = any(name.startswith(SCORES) for name in arrays)
    if trainer.classes is not None:
        meta["open"], meta["refitted"] = trainer.classes.grows, any(name.startswith(BATCH) for name in arrays)
    if checkpoint:
        meta |= {"progress": trainer.progress.as_dict(), "layout": _LAYOUT}
    try:
        header = {"massart": "", "kind": "classifier", "meta": json.loads(json.dumps(meta, allow_nan=False))}
        TrainedModel.of(OpenedModel.of(path, header, arrays))
    except ValueError as error:
        raise ModelFileError(
            f"{path} is not written, as it could not be opened again, and what was there before is as it was: {error}"
        ) from None
    write_model(path, "classifier", meta, arrays)


def class_values(schema: Schema) -> list[Any]:
    """The classes of a schema, as numbers if all are.

    >>> class_values(Schema()), class_values(Schema(labels=("0", "1"))), class_values(Schema(labels=("no", "yes")))
    ([-1, 1], [0, 1], ['no', 'yes'])
    """
    if schema.labels is None:
        return [-1, 1]
    for number in (int, float):
        try:
            return [number(label) for label in schema.labels]
        except ValueError:
            continue
    return list(schema.labels)


def identity(
    sources: Sequence[Any],
    settings: Settings,
    schema: Schema,
    initial: str | None,
    others: Sequence[Any] = (),
    *,
    with_content: bool = True,
) -> dict[str, Any]:
    """What must be the same for a training to go on where another stopped.

    `others` are files beside the data: with its labels, with the rows that measure the error. Without `with_content`,
    as for a training that writes no file, none is read.

    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(name="a.svm", size=420, path=None, is_pipe=True)
    >>> found = identity([data], Settings(passes=2), Schema("svmlight"), None)
    >>> found["sources"], found["content"], found["options"]["passes"], found["reading"]
    ([['a.svm', 420]], [None], 2, {'format': 'svmlight'})
    """
    every = [*sources, *others]
    share = max(_LEAST, _SHARED // max(1, len(every)))
    found: dict[str, Any] = {
        "sources": [[source.name, source.size] for source in sources],
        "content": [_content(source, share, whole=settings.strict_resume) for source in every] if with_content else [],
        "options": settings.options(),
        "reading": schema.as_dict(),
        "initial": initial,
    }
    if others:
        found["others"] = [[source.name, source.size] for source in others]
    plain: dict[str, Any] = json.loads(json.dumps(found))  # what it will be after a visit to a file
    return plain


def _content(source: Any, share: int, *, whole: bool) -> str | None:
    """A digest of what a source holds; None for a pipe, whose content is not known beforehand. A topic has its own."""
    if source.is_pipe:
        return getattr(source, "digest", None)
    try:
        return content_digest(source.path, share, whole=whole)
    except OSError as error:
        raise InvalidDataError(f"{source.name} cannot be read: {error.strerror or error}") from None


def content_digest(path: Path, share: int = _SHARED, *, whole: bool = False) -> str:
    """A name for the content of a file: of `share` bytes of it, the first and the last among them, or of the whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a")
    ...     for text in (b"1 1:1", b"0 1:1"):
    ...         _ = path.write_bytes(text)
    ...         content_digest(path), content_digest(path, whole=True)[:15]
    ('blocks:163216db65f06dcfb47d91cac2f9ad09', 'sha256:cf1e190e')
    ('blocks:d62bd346a98efd5aac957cc7910467d0', 'sha256:48741895')
    """
    with path.open("rb") as file:
        if whole:
            return _WHOLE + hashlib.file_digest(file, "sha256").hexdigest()
        size = os.fstat(file.fileno()).st_size
        found = hashlib.blake2b(b"%d" % size, digest_size=16)
        for place, length in _blocks(size, share):
            file.seek(place)
            found.update(file.read(length))
    return _SAMPLED + found.hexdigest()


def _blocks(size: int, share: int) -> Iterator[tuple[int, int]]:
    """(first byte, bytes) of the blocks of a file of that size: the first, the last, one in each part between them.

    >>> list(_blocks(100, 8192)), [place for place, _ in _blocks(1 << 30, 16384)]
    ([(0, 100)], [0, 606971979, 914784371, 1073737728])
    """
    if size <= share:
        yield 0, size
        return
    count = min(_BLOCKS, share // _BLOCK)
    length = share // count
    last = size - length
    part = last // (count - 1)
    for number in range(count):
        place = last * number // (count - 1)
        if 0 < number < count - 1:  # anywhere in its part, but at the same place for each file of that size
            drawn = hashlib.blake2b(b"%d %d" % (size, number), digest_size=8).digest()
            place += int.from_bytes(drawn, "little") % max(1, part - length)
        yield place, length


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """How two trainings differ, in words; None if they do not.

    >>> difference({"sources": [["a.svm", 420]]}, {"sources": [["a.svm", 555]]})
    'a.svm had 420 bytes and has 555 bytes now'
    >>> same = {"sources": [["a.svm", 420]], "content": ["blocks:0"]}
    >>> difference(same | {"options": {"passes": 1}}, same | {"options": {"passes": 2}})
    'passes was 1 and is 2 now'
    >>> difference(same, same | {"content": ["blocks:1"]})
    'a.svm holds other data now'
    """
    before, after = ([*run.get("sources", []), *run.get("others", [])] for run in (then, now))
    if [name for name, _ in before] != [name for name, _ in after]:
        return f"its data was {_names(before)} and is {_names(after)} now"
    for (name, old), (_, new) in zip(before, after, strict=True):
        if old != new:
            return f"{name} had {_size(old)} and has {_size(new)} now"
    for part in ("options", "reading"):
        own, other = then.get(part, {}), now.get(part, {})
        for name in dict.fromkeys((*own, *other)):
            if own.get(name) != other.get(name):
                return f"{name} was {_value(own.get(name))} and is {_value(other.get(name))} now"
    if then.get("initial") != now.get("initial"):
        return "it began with another model"
    names = [name for name, _ in after]
    return _other_content(names, then.get("content", []), now.get("content", []))


def _other_content(names: Sequence[str], then: Sequence[str | None], now: Sequence[str | None]) -> str | None:
    if len(then) != len(names):
        return "it does not say what its data held"
    for name, old, new in zip(names, then, now, strict=True):
        if old is None or new is None:
            return f"{name} is a pipe, which may bring other rows each time"
        strict = [digest.startswith(_WHOLE) for digest in (old, new)]
        if strict == [False, True]:
            return "it was begun without `strict_resume=True`"
        if strict == [True, False]:
            return "it was begun with `strict_resume=True`"
        if old != new:
            return f"{name} holds other data now"
    return None


def _names(sources: Sequence[Any]) -> str:
    names = [str(name) for name, _ in sources]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _size(size: int | None) -> str:
    return "no size" if size is None else f"{size:,} bytes"


def _value(value: Any) -> str:
    if value is None or value == []:
        return "not given"
    return ",".join(map(str, value)) if isinstance(value, list) else f"{value}"
