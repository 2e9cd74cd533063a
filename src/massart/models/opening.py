"""The one place that knows which class a model file holds: `load` gives it back, `open_model` gives what is in it.

What needs scikit-learn or SciPy is imported when such a model is built, not before: training from files does without.
"""

import hashlib
import json
import os
from functools import cached_property
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from massart.data.schema import Schema
from massart.errors import ModelFileError
from massart.kernels.states import check_arrays
from massart.learners.calibration import ClassCalibration, ScoreCalibration
from massart.learners.class_pool import ClassPool
from massart.learners.drift import Drifting
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.multiclass import Binary, OneVsRest
from massart.learners.pool import Pool
from massart.learners.products import Products
from massart.models.headers import check_header
from massart.models.keys import key_path, read_key
from massart.models.model_file import read_parts
from massart.values import Value

if TYPE_CHECKING:
    from massart.learners.bandit import MonotoneBandit
    from massart.learners.classifier import MassartClassifier
    from massart.learners.ranker import MonotoneRanker

__all__ = [
    "CLASSES",
    "LEARNERS",
    "NOTES",
    "UNFIT",
    "OpenedModel",
    "build_model",
    "classifier_type",
    "decider_types",
    "error_words",
    "is_model_file",
    "is_setting",
    "learner_from",
    "load",
    "model_of",
    "open_model",
]

LEARNERS: Final[dict[str, type[Binary]]] = {
    "halfspace": Halfspace,
    "experts": Pool,
    "drifting": Drifting,
    "products": Products,
    "groups": Grouped,
}
CLASSES: Final = "classes"  # the learner of several classes together, which a classifier alone has
# What building a model of a forged file may raise; a ModelFileError is a ValueError.
UNFIT: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
NOTES: Final = ("reading", "training")  # what a classifier that learned from files knows of them, with a _ at the end
_OWN: Final = "learner."  # begins the names of a classifier's own arrays
_BATCH: Final = "batch."  # and those of what predicts after `fit`, if classes were learned together
_SCORES: Final = "calibration."  # and those of the calibration of two classes
_SPARSE: Final = (
    "weights",
    "variances",
    "sums",
)  # arrays that are folded in memory as in the file where that is of use
_MOST_FEATURES: Final = 1 << 40
_MOST_SEEN: Final = 1e66  # sum of the weights of all rows that can be counted, each at most 1e50
_ROUNDING: Final = 1e-6  # relative, of sums of many numbers
_ZIP: Final = b"PK\x03\x04"


def classifier_type() -> "type[MassartClassifier]":
    """The class of classifiers."""
    from massart.learners.classifier import MassartClassifier  # noqa: PLC0415  scikit-learn

    return MassartClassifier


def decider_types() -> "dict[str, type[MonotoneBandit | MonotoneRanker]]":
    """The classes that decide, by their name in a file."""
    from massart.learners.bandit import MonotoneBandit  # noqa: PLC0415  scipy.stats
    from massart.learners.ranker import MonotoneRanker  # noqa: PLC0415

    return {"bandit": MonotoneBandit, "ranker": MonotoneRanker}


class OpenedModel(Value):
    """What is in a model file, checked."""

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    classes: tuple[Any, ...]  # the negative and the positive one, or more
    learner: Any  # of a classifier, or the learner itself; None if nothing was learned, or it is another kind

    @classmethod
    def of(cls, path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "OpenedModel":
        """The model of a header and arrays; refused unless all of it fits together."""
        check_header(path, header)
        kind = header["kind"]
        try:
            opened = cls(path, header, arrays, *_learned(kind, header["meta"], arrays))
            _ = opened.schema
        except UNFIT as error:
            raise ModelFileError(f"{path} does not hold a {kind} that fits together: {error_words(error)}") from None
        return opened

    @property
    def kind(self) -> str:
        """What it holds: classifier, halfspace, experts, drifting, products, groups, bandit, ranker."""
        return str(self.header["kind"])

    @property
    def meta(self) -> dict[str, Any]:
        """What the header says beside the arrays."""
        return dict(self.header["meta"])

    @cached_property
    def schema(self) -> Schema | None:
        """How files were read, if it learned from files."""
        if "reading" not in self.meta:
            return None
        return Schema.from_dict(self.meta["reading"], width=self.meta["n_features_in"])

    def class_pool(self, beginning: str) -> ClassPool | None:
        """A further learner of several classes, whose arrays have names that begin so; None if there is none."""
        own = {name.removeprefix(beginning): array for name, array in self.arrays.items() if name.startswith(beginning)}
        return _class_pool(own, len(self.classes), self.meta["n_features_in"]) if own else None

    @property
    def calibration(self) -> ScoreCalibration | None:
        """What makes probabilities of the scores of two classes, if it has learned that."""
        own = {name.removeprefix(_SCORES): array for name, array in self.arrays.items() if name.startswith(_SCORES)}
        return ScoreCalibration.from_arrays(own) if own and len(self.classes) == 2 else None

    @property
    def is_linear(self) -> bool:
        """Whether answers come from one score w.x + c, or one for each of several classes."""
        return self.learner is not None and not isinstance(self.learner, ClassPool | Products)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(1, or one for each of several classes; columns + 1), the constant last; none if it is not linear."""
        if self.learner is None:
            return np.zeros((0, 1))
        if not self.is_linear:
            return np.zeros((0, self.learner.n_features + 1))
        return np.asarray(self.arrays["batch_weights"] if "batch_weights" in self.arrays else self.learner.leaders())

    @property
    def names(self) -> tuple[str, ...] | None:
        """One for each column, if columns have names."""
        if "feature_names_in" in self.meta:
            return tuple(self.meta["feature_names_in"])
        if self.schema is None or self.schema.bits is not None or self.schema.columns is None:
            return None
        return self.schema.columns if len(self.schema.columns) == self.weights.shape[1] - 1 else None

    @property
    def naming(self) -> Literal["name", "index", "hash", "column"]:
        """How columns are called: by name, by the index of svmlight, by hash, by number from 0."""
        if self.names is not None:
            return "name"
        if self.schema is None:
            return "column"
        return "hash" if self.schema.bits is not None else "index"

    def key(self, column: int) -> str:
        """What a column is called in a file."""
        names = self.names
        if names is not None:
            return names[column]
        return str(column + 1 if self.naming == "index" else column)

    @property
    def digest(self) -> str:
        """A name that changes with whatever is in the file; the header holds the checksums of all else."""
        return hashlib.sha256(json.dumps(self.header, sort_keys=True).encode()).hexdigest()


def open_model(path: str | os.PathLike[str], *, mmap: bool = True) -> OpenedModel:
    """A model file of any kind, its checksums verified; with `mmap`, arrays stay in the file and are read-only."""
    place = Path(path)
    try:
        header, arrays = read_parts(place, mmap=mmap, verify=True, sparse=_SPARSE)
    except FileNotFoundError:
        raise ModelFileError(f"{place} does not exist") from None
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error.strerror or error}") from None
    return OpenedModel.of(place, header, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """The learner or classifier that `save` wrote, or `massart train`."""
    header, arrays = read_parts(path, sparse=_SPARSE)
    kind = header["kind"]
    model = model_of(os.fspath(path), kind, header["meta"], arrays)
    if kind == "bandit":
        lost = f" (there is none in {key_path(path)}, so choices from before the file cannot be verified)"
        model.sign_with(read_key(path, model.identity), lost)
        model.reseed()
    return model


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether the first bytes are those of a model file.

    >>> is_model_file("/dev/null")
    False
    """
    place = Path(path)
    if not place.is_file():
        return False
    with place.open("rb") as file:
        start = file.read(64)
    return start.startswith(_ZIP) and b"header.json" in start


def model_of(place: str, kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """The model whose parts a file at this place holds."""
    if kind not in LEARNERS and kind != "classifier" and kind not in decider_types():
        raise ModelFileError(f"{place} holds a {kind!r}, which this version of massart does not know")
    try:
        return build_model(kind, meta, arrays)
    except UNFIT as error:
        raise ModelFileError(f"{place} does not hold a {kind} that fits together: {error_words(error)}") from None


def error_words(error: Exception) -> str:
    """What an error of `UNFIT` says."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def build_model(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """The model of these parts; whatever they are, an error of `UNFIT` is the worst."""
    if kind == "classifier":
        return _classifier(meta, arrays)
    if kind in LEARNERS:
        return learner_from(kind, arrays)
    return decider_types()[kind].from_arrays(_whole(arrays))


def learner_from(name: str, arrays: dict[str, NDArray[Any]]) -> Binary:
    """The learner of that name and with these arrays, as `learner_meta` gives them."""
    if not isinstance(name, str) or name not in LEARNERS:
        raise ModelFileError(f"there is no learner {name!r} in this version of massart")
    try:
        with np.errstate(all="ignore"):  # what is not finite in the end is refused
            return LEARNERS[name].from_arrays(arrays if name != "halfspace" else _whole(arrays))
    except KeyError as missing:
        raise ModelFileError(f"array {missing} is missing, which a learner of kind {name!r} needs") from None
    except UNFIT as error:
        raise ModelFileError(f"its arrays are not those of a learner of kind {name!r}: {error}") from None


def _whole(arrays: dict[str, Any]) -> dict[str, Any]:
    """The same arrays, none of them sparse."""
    return {name: np.asarray(array) for name, array in arrays.items()}


def _learned(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[tuple[Any, ...], Any]:
    """Classes and learner; nothing of them where there is no learner of labels."""
    if kind in LEARNERS:
        return (-1, 1), learner_from(kind, arrays)
    if kind != "classifier" or "learner" not in meta:
        return (), None
    classes, width = _classes(meta, arrays), meta["n_features_in"]
    own = _own(arrays, _OWN)
    learner: Any
    if meta["learner"] == CLASSES:
        learner = _class_pool(own, len(classes), width)
        return classes, learner
    if len(classes) == 2:
        learner = learner_from(meta["learner"], own)
        if isinstance(learner, Products) and "batch_weights" in arrays:
            raise ValueError("it has weights of columns, and products of them")
        members = [learner]
    else:
        with np.errstate(all="ignore"):
            learner = OneVsRest.from_arrays(
                own if meta["learner"] != "halfspace" else _whole(own), LEARNERS[meta["learner"]]
            )
        members = learner.members
    if len(members) != (1 if len(classes) == 2 else len(classes)) or {one.n_features for one in members} != {width}:
        raise ValueError(f"{len(classes)} classes and {width} features are not the learner's")
    return classes, learner


def _own(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin so, without that."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _class_pool(arrays: dict[str, Any], classes: int, width: int) -> ClassPool:
    """The learner of several classes together with these arrays, of so many classes and columns."""
    with np.errstate(all="ignore"):
        learner = ClassPool.from_arrays(arrays)
    if (learner.n_classes, learner.n_features) != (classes, width):
        raise ValueError(f"{classes} classes and {width} features are not the learner's")
    return learner


def _refitted(learner: Any, arrays: dict[str, Any]) -> ClassPool | Products:
    """What predicts after `fit` with such a learner."""
    if isinstance(learner, ClassPool):
        return _class_pool(arrays, learner.n_classes, learner.n_features)
    again = learner_from("products", arrays)
    if not isinstance(learner, Products) or not isinstance(again, Products) or again.n_features != learner.n_features:
        raise ValueError("what predicts after fit is not of the learner's kind")
    return again


def _classes(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[Any, ...]:
    """The classes of a classifier; parts that are valid, but not of one classifier, are refused."""
    listed = meta["classes"] if "classes" in meta else arrays["classes"]
    if not (isinstance(listed, list) or (isinstance(listed, np.ndarray) and listed.ndim == 1)) or not len(listed):
        raise ValueError("its classes are not a list")
    if len(listed) < 2 and meta.get("learner") != CLASSES:
        raise ValueError("its classes are not a list of two or more")
    if isinstance(listed, list) and not all(isinstance(label, (str, bool, int, float)) for label in listed):
        raise ValueError("its classes are neither text nor numbers")
    classes = tuple(listed if isinstance(listed, list) else listed.tolist())
    if len(set(classes)) != len(classes):
        raise ValueError("its classes are not all different")
    features = meta["n_features_in"]
    if type(features) is not int or not 0 <= features < _MOST_FEATURES:
        raise ValueError(f"it has {features!r} features")
    if type(meta["n_iter"]) is not int or meta["n_iter"] < 1:
        raise ValueError(f"it has made {meta['n_iter']!r} passes")
    if "batch_weights" in arrays:
        check_arrays(arrays, {"batch_weights": (1 if len(classes) == 2 else len(classes), features + 1)})
    if "feature_names_in" in meta:
        names = meta["feature_names_in"]
        if not isinstance(names, list) or len(names) != features or not all(isinstance(name, str) for name in names):
            raise ValueError("there is not one feature name per feature")
    return classes


def is_setting(value: Any) -> bool:
    """Whether a parameter can be written, or may have been: None, text, or a finite number of 64 bits."""
    if isinstance(value, Integral):
        return abs(int(value)) < 1 << 64
    return value is None or isinstance(value, str) or (isinstance(value, Real) and isfinite(value))


def _classifier(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "MassartClassifier":
    parameters = dict(meta["parameters"])
    weights = parameters.get("class_weight")
    if isinstance(weights, dict):
        if not all(map(is_setting, [*weights["labels"], *weights["weights"]])):
            raise TypeError("its class weights are not numbers")
        parameters["class_weight"] = dict(zip(weights["labels"], weights["weights"], strict=True))
    for name, value in parameters.items():
        if not is_setting(value) and not (name == "class_weight" and isinstance(value, dict)):
            raise TypeError(f"its parameter {name} is neither a finite number nor text")
    model = classifier_type()(**parameters)
    for name in NOTES:
        if not isinstance(meta.get(name, {}), dict):
            raise TypeError(f"{name} is not a table of settings")
        if name in meta:
            setattr(model, f"{name}_", meta[name])
    _, model_learner = _learned("classifier", meta, arrays)
    if model_learner is None:
        return model
    model._learner = model_learner
    model._batch_weights = arrays.get("batch_weights")
    model._batch_learner, model._calibration = None, None
    if meta.get("refitted", False):
        model._batch_learner = _refitted(model_learner, _own(arrays, _BATCH))
    if meta.get("calibrated", False):
        kind = ScoreCalibration if len(_classes(meta, arrays)) == 2 else ClassCalibration
        model._calibration = kind.from_arrays(_own(arrays, _SCORES))
    model._is_open = meta.get("open", False) is True
    model.classes_ = np.array(meta["classes"], dtype=object) if "classes" in meta else arrays["classes"]
    model.n_iter_, model.n_features_in_ = meta["n_iter"], meta["n_features_in"]
    model._labels_seen = _labels_seen(arrays["labels_seen"], len(model.classes_)) if "labels_seen" in arrays else None
    schema = Schema.from_dict(meta.get("reading", {}))
    if schema.columns is not None and schema.bits is not None and schema.width == model.n_features_in_:
        model.feature_names_in_ = np.array(schema.columns, dtype=object)  # of a table, hashed
        model.n_features_in_ = len(schema.columns)
    elif "feature_names_in" in meta:
        model.feature_names_in_ = np.array(meta["feature_names_in"], dtype=object)
    return model


def _labels_seen(sums: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """The sums of weights by class, and of all, from which `partial_fit` balances classes."""
    check_arrays({"labels_seen": sums}, {"labels_seen": (classes + 1,)})
    if sums.min() < 0 or sums.max() > _MOST_SEEN or abs(sums[:-1].sum() - sums[-1]) > _ROUNDING * sums[-1]:
        raise ValueError("array 'labels_seen' does not hold sums of weights")
    return sums
