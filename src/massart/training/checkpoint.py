"""Model files of a training: the finished model, the checkpoint on the way, the model it begins with.

All of them are classifiers that `massart.load` opens. A checkpoint holds more: the learner of later passes, the
weights kept so far, and the progress.
"""

import json
import re
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart import __version__
from massart.data.schema import Schema
from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels.states import check_arrays
from massart.models.headers import check_header, printable
from massart.models.model_file import read_header, read_model, write_model
from massart.models.saving import check_classifier, learner_from, learner_meta
from massart.training.pupil import Pupil, fitted
from massart.training.resume import digest
from massart.training.settings import Learner, Settings

__all__ = ["Saved", "class_names", "class_values", "label_words", "open_model", "reading_with", "write_classifier"]

_LAYOUT: Final = 1  # of checkpoints: what is learned and counted on the way, and how it is stored
_FIRST, _AGAIN, _KEPT = "learner.", "further.", "kept"


@dataclass(frozen=True)
class Saved:
    """A classifier of two classes as it lies in a file, checked."""

    path: Path
    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    name: str  # that changes with whatever is in it
    version: str  # of massart, which wrote it
    classes: list[Any]  # the negative one and the positive one
    reading: Schema  # how its rows were read; of a model that learned from arrays, what its labels tell of it
    first: Learner
    again: Learner | None

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The trainings it has been through."""
        return list(self.meta.get("training", {}).get("runs", []))

    def check_version(self) -> None:
        """Refuse to go on from a checkpoint of a newer version, or with another layout."""
        if _numbers(self.version) > _numbers(__version__) or self.meta.get("layout") != _LAYOUT:
            raise ModelFileError(
                f"{self.path} was written by massart {printable(self.version)}, and this is {__version__}, which does "
                "not know its checkpoints: go on with the version that wrote it, or leave --resume out to begin again"
            )

    def pupil(self, settings: Settings) -> Pupil:
        """Who goes on from it."""
        pupil = Pupil(settings, self.first, self.first.n_features)
        pupil.again, pupil.kept = self.again, self.arrays.get(_KEPT)
        return pupil


def _numbers(version: str) -> tuple[float, ...]:
    """A version for comparison; one that is no number is newer than all.

    >>> _numbers("0.9.0.dev1") < _numbers("0.10.0") < _numbers("soon")
    True
    """
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return tuple(map(float, found[0].split("."))) if found else (inf,)


def open_model(path: Path, *, mmap: bool = False) -> Saved:
    """A classifier of two classes that has learned something; anything else is refused by name.

    Checksums are verified. With `mmap`, arrays stay in the file: what must not change is to be copied.
    """
    try:
        header = read_header(path)
        kind, _, arrays = read_model(path, mmap=mmap, verify=True)
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}") from None
    if kind != "classifier":
        raise ModelFileError(f"{path} holds a {printable(kind)}, not a classifier")
    if "learner" not in header["meta"]:
        raise ModelFileError(f"{path} holds a classifier that has learned nothing yet")
    return _assembled(path, header, arrays)


def _assembled(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Saved:
    """The classifier of a header and arrays, refused unless all of it fits together."""
    check_header(path, header)
    meta = header["meta"]
    check_classifier(str(path), meta, arrays)
    try:
        classes = list(meta["classes"]) if "classes" in meta else list(arrays["classes"].tolist())
        if len(classes) != 2:
            raise ModelFileError(f"{path} tells {len(classes)} classes apart: the command line takes two")
        usual = set(classes) in ({-1, 1}, {0, 1})
        reading = Schema(labels=None if usual else (str(classes[0]), str(classes[1])))
        if "reading" in meta:
            reading = Schema.from_dict(meta["reading"], width=meta["n_features_in"])
        width = meta["n_features_in"]
        first = _learner(meta["learner"], arrays, _FIRST)
        again = _learner(meta["learner"], arrays, _AGAIN) if any(n.startswith(_AGAIN) for n in arrays) else None
        widths = {width, first.n_features, width if again is None else again.n_features, reading.width or width}
        if len(widths) > 1:
            raise ModelFileError(f"its parts are of {' and '.join(map(str, sorted(widths)))} columns")
        if _KEPT in arrays:
            check_arrays(arrays, {_KEPT: (min(arrays[_KEPT].size, width + 1),)})
    except KeyError as missing:
        raise ModelFileError(f"{path} lacks {missing}, which a classifier needs: save it again") from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{path} does not hold a classifier that fits together: {error}") from None
    return Saved(path, meta, arrays, digest(header), header["massart"], classes, reading, first, again)


def _learner(kind: str, arrays: dict[str, NDArray[Any]], prefix: str) -> Learner:
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return learner_from(kind, own)


def write_classifier(
    path: Path,
    pupil: Pupil,
    settings: Settings,
    reading: Schema,
    classes: list[Any],
    training: dict[str, Any],
    progress: dict[str, Any] | None = None,
) -> None:
    """Write the model file, whole or not at all; what could not be opened again is refused, and nothing happens."""
    assert pupil.first is not None  # noqa: S101  whoever writes has learned something
    name, own = learner_meta(pupil.first)
    arrays = {f"{_FIRST}{part}": array for part, array in own.items()}
    if settings.passes > 1 and (pupil.kept is not None or pupil.again is not None):
        best = pupil.kept if pupil.kept is not None else pupil.weights()
        arrays["batch_weights"] = fitted(best, pupil.width)[None]
    if progress is not None:
        if pupil.again is not None:
            arrays |= {f"{_AGAIN}{part}": array for part, array in learner_meta(pupil.again)[1].items()}
        if pupil.kept is not None:
            arrays[_KEPT] = pupil.kept
    arrays["classes"] = np.array(classes)
    meta: dict[str, Any] = {
        "parameters": settings.parameters(),
        "learner": name,
        "n_iter": settings.passes,
        "n_features_in": pupil.width,
        "reading": reading.as_dict(),
        "training": training,
    }
    if progress is not None:
        meta |= {"progress": progress, "layout": _LAYOUT}
    try:
        _assembled(path, {"massart": "", "meta": json.loads(json.dumps(meta, allow_nan=False))}, arrays)
    except ValueError as error:
        raise ModelFileError(
            f"{path} is not written, as it could not be opened again, and what was there before is as it was: {error}"
        ) from None
    write_model(path, "classifier", meta, arrays)


def class_values(reading: Schema) -> list[Any]:
    """The two classes of a reading, as numbers if both are.

    >>> class_values(Schema()), class_values(Schema(labels=("0", "1"))), class_values(Schema(labels=("no", "yes")))
    ([-1, 1], [0, 1], ['no', 'yes'])
    """
    if reading.labels is None:
        return [-1, 1]
    for number in (int, float):
        try:
            return [number(label) for label in reading.labels]
        except ValueError:
            continue
    return list(reading.labels)


def label_words(reading: Schema) -> tuple[str, str]:
    """How the rows name the two classes.

    >>> label_words(Schema()), label_words(Schema(labels=("1", "2")))
    (('-1 or 0', '1'), ('1', '2'))
    """
    return ("-1 or 0", "1") if reading.labels is None else reading.labels


def class_names(classes: list[Any]) -> tuple[str, str]:
    """How predictions name them."""
    return str(classes[0]), str(classes[1])


def reading_with(own: Schema, asked: Schema, model: str) -> Schema:
    """A model's reading; what was asked for and differs is refused, but for the format, which the data decides.

    >>> reading_with(Schema("vw", bits=18), Schema(bits=20), "m.massart")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: bits=20, but m.massart was begun with bits=18: leave it out
    """
    for name, value in asked.as_dict().items():
        if name != "format" and getattr(own, name) != value:
            raise InvalidParameterError(
                f"{name}={value!r}, but {model} was begun with {name}={getattr(own, name)!r}: leave it out"
            )
    if asked.format in ("auto", own.format):
        return own
    return replace(own, format=asked.format, header=None, separator=None)
