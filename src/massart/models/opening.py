"""A model file that is looked at, whatever it holds: what it predicts with, and what its columns are called."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from massart.data.schema import Schema
from massart.errors import ModelFileError
from massart.learners.multiclass import OneVsRest
from massart.models.headers import check_header
from massart.models.model_file import read_header, read_model
from massart.models.saving import learner_from

__all__ = ["Naming", "OpenedModel", "is_model_file", "open_any"]

Naming = Literal["name", "index", "hash", "column"]
_LEARNERS: Final = ("halfspace", "experts", "drifting")
_ZIP: Final = b"PK\x03\x04"


@dataclass(frozen=True)
class OpenedModel:
    """What is in a model file."""

    path: Path
    header: dict[str, Any]
    size: int  # bytes
    arrays: dict[str, NDArray[Any]]  # mapped
    classes: tuple[Any, ...]  # the negative and the positive one, or more
    learner: Any  # of a classifier, or the learner itself; None if nothing was learned, or it is another kind
    weights: NDArray[np.float64]  # (1, or one for each of several classes; columns + 1) the constant last
    reading: Schema | None  # how files were read, if it learned from files

    @property
    def kind(self) -> str:
        """What it holds: classifier, halfspace, experts, drifting, bandit, ranker."""
        return str(self.header["kind"])

    @property
    def meta(self) -> dict[str, Any]:
        """What is told beside the arrays."""
        return dict(self.header["meta"])

    @property
    def names(self) -> tuple[str, ...] | None:
        """One for each column, if columns have names."""
        if "feature_names_in" in self.meta:
            return tuple(self.meta["feature_names_in"])
        if self.reading is None or self.reading.bits is not None or self.reading.columns is None:
            return None
        return self.reading.columns if len(self.reading.columns) == self.weights.shape[1] - 1 else None

    @property
    def naming(self) -> Naming:
        """How columns are told apart: by name, by the index of svmlight, by hash, by number from 0."""
        if self.names is not None:
            return "name"
        if self.reading is None:
            return "column"
        return "hash" if self.reading.bits is not None else "index"

    def key(self, column: int) -> str:
        """What a column is called in a file."""
        names = self.names
        if names is not None:
            return names[column]
        return str(column + 1 if self.naming == "index" else column)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether the first bytes are those of a model file, or the whole is a zip with a header.

    >>> is_model_file("/dev/null")
    False
    """
    place = Path(path)
    if not place.is_file():
        return False
    with place.open("rb") as file:
        start = file.read(64)
    if not start.startswith(_ZIP):
        return False
    if b"header.json" in start:
        return True
    try:
        read_header(place)
    except ModelFileError:
        return False
    return True


def open_any(path: str | os.PathLike[str]) -> OpenedModel:
    """A model file of any kind, checked; its arrays are mapped, not copied."""
    place = Path(path)
    try:
        header, size = read_header(place), place.stat().st_size
        kind, meta, arrays = read_model(place, mmap=True, verify=True)
    except FileNotFoundError:
        raise ModelFileError(f"{place} does not exist") from None
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error.strerror or error}") from None
    check_header(place, header)
    try:
        reading = Schema.from_dict(meta["reading"], width=meta["n_features_in"]) if "reading" in meta else None
        classes, learner, weights = _learned(kind, meta, arrays)
    except KeyError as missing:
        raise ModelFileError(f"{place} lacks {missing}, which a {kind} needs: save it again") from None
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"{place} does not hold a {kind} that fits together: {error}") from None
    return OpenedModel(place, header, size, arrays, classes, learner, weights, reading)


def _learned(
    kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> tuple[tuple[Any, ...], Any, NDArray[np.float64]]:
    """Classes, learner and weights; nothing of them where there is no learner of labels."""
    nothing = np.zeros((0, 1))
    if kind in _LEARNERS:
        alone = learner_from(kind, arrays)
        return (-1, 1), alone, np.asarray(alone.leaders())
    if kind != "classifier" or "learner" not in meta:
        return (), None, nothing
    classes = tuple(meta["classes"]) if "classes" in meta else tuple(arrays["classes"].tolist())
    own = {name.removeprefix("learner."): array for name, array in arrays.items() if name.startswith("learner.")}
    learner: Any
    if len(classes) == 2:
        learner = learner_from(meta["learner"], own)
    else:
        learner = OneVsRest.from_arrays(own, type(learner_from(meta["learner"], _first_member(own))))
    weights = arrays["batch_weights"] if "batch_weights" in arrays else learner.leaders()
    if weights.shape != (1 if len(classes) == 2 else len(classes), int(meta["n_features_in"]) + 1):
        raise ValueError(f"{len(classes)} classes and {meta['n_features_in']} features are not the learner's")
    return classes, learner, np.asarray(weights)


def _first_member(own: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix("0."): array for name, array in own.items() if name.startswith("0.")}
