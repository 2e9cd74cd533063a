"""Model files of a training: the finished model, the checkpoint on the way, the model it begins with.

All of them are classifiers that `massart.load` opens. A checkpoint holds more: the learner of later passes, the
weights kept so far, and the progress.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.reading import Reading
from massart.errors import InvalidParameterError, ModelFileError
from massart.learners.models import check_classifier, learner_from, learner_meta
from massart.store.model_file import read_header, read_model, write_model
from massart.training.identity import digest
from massart.training.pupil import Pupil, fitted
from massart.training.settings import Learner, Settings

__all__ = ["Saved", "class_names", "class_values", "label_words", "open_model", "reading_with", "write_classifier"]

_FIRST, _AGAIN, _KEPT = "learner.", "further.", "kept"


class Saved(NamedTuple):
    """A classifier of two classes as it lies in a file."""

    path: Path
    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    name: str  # that changes with whatever is in it

    @property
    def classes(self) -> list[Any]:
        """The negative one and the positive one."""
        return list(self.meta["classes"]) if "classes" in self.meta else list(self.arrays["classes"].tolist())

    @property
    def reading(self) -> Reading:
        """How its rows were read; of a model that learned from arrays, what its labels tell of it."""
        if "reading" in self.meta:
            return Reading.from_dict(self.meta["reading"])
        usual = set(self.classes) in ({-1, 1}, {0, 1})
        return Reading(labels=None if usual else (str(self.classes[0]), str(self.classes[1])))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The trainings it has been through."""
        return list(self.meta.get("training", {}).get("runs", []))

    def pupil(self, settings: Settings) -> Pupil:
        """Who goes on from it."""
        first = self._learner(_FIRST)
        pupil = Pupil(settings, first, first.n_features)
        if any(name.startswith(_AGAIN) for name in self.arrays):
            pupil.again = self._learner(_AGAIN)
        pupil.kept = self.arrays.get(_KEPT)
        return pupil

    def _learner(self, prefix: str) -> Learner:
        own = {n.removeprefix(prefix): array for n, array in self.arrays.items() if n.startswith(prefix)}
        learner = learner_from(str(self.meta["learner"]), own)
        if learner.n_features != self.meta.get("n_features_in"):
            raise ModelFileError(f"{self.path}: its learner has not as many columns as it says; save it again")
        return learner


def open_model(path: Path, *, mmap: bool = False) -> Saved:
    """A classifier of two classes that has learned something; anything else is refused by name."""
    try:
        header = read_header(path)
        kind, meta, arrays = read_model(path, mmap=mmap)
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}") from None
    if kind != "classifier":
        raise ModelFileError(f"{path} holds a {kind}, not a classifier")
    if "learner" not in meta:
        raise ModelFileError(f"{path} holds a classifier that has learned nothing yet")
    check_classifier(str(path), meta, arrays)
    saved = Saved(path, meta, arrays, digest(header))
    if len(saved.classes) != 2:
        raise ModelFileError(f"{path} tells {len(saved.classes)} classes apart: the command line takes two")
    return saved


def write_classifier(
    path: Path,
    pupil: Pupil,
    settings: Settings,
    reading: Reading,
    classes: list[Any],
    training: dict[str, Any],
    progress: dict[str, Any] | None = None,
) -> None:
    """Write the model file, whole or not at all."""
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
    write_model(path, "classifier", meta if progress is None else meta | {"progress": progress}, arrays)


def class_values(reading: Reading) -> list[Any]:
    """The two classes of a reading, as numbers if both are.

    >>> class_values(Reading()), class_values(Reading(labels=("0", "1"))), class_values(Reading(labels=("no", "yes")))
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


def label_words(reading: Reading) -> tuple[str, str]:
    """How the rows name the two classes.

    >>> label_words(Reading()), label_words(Reading(labels=("1", "2")))
    (('-1 or 0', '1'), ('1', '2'))
    """
    return ("-1 or 0", "1") if reading.labels is None else reading.labels


def class_names(classes: list[Any]) -> tuple[str, str]:
    """How predictions name them."""
    return str(classes[0]), str(classes[1])


def reading_with(own: Reading, asked: Reading, model: str) -> Reading:
    """A model's reading; what was asked for and differs is refused, but for the format, which the data decides.

    >>> reading_with(Reading("vw", bits=18), Reading(bits=20), "m.massart")
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
