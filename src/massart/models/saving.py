"""`save` and `load`: a learner as a file that any later process can go on from, bit for bit.

What needs scikit-learn is imported when a classifier is saved or loaded, not before: training from files does without.
"""

import json
import os
from contextlib import AbstractContextManager, nullcontext
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.kernels.states import check_arrays
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace
from massart.learners.keys import key_path, read_key, write_key
from massart.learners.locking import Guarded, lock_of
from massart.learners.multiclass import OneVsRest
from massart.learners.pool import Pool
from massart.models.model_file import read_model, write_model

if TYPE_CHECKING:
    from massart.learners.bandit import MonotoneBandit
    from massart.learners.classifier import MassartClassifier
    from massart.learners.ranker import MonotoneRanker

    Model = Halfspace | Pool | Drifting | MassartClassifier | MonotoneBandit | MonotoneRanker

__all__ = ["check_classifier", "check_model", "learner_from", "learner_meta", "load", "model_of", "save"]

_LEARNERS: dict[str, type[Halfspace | Pool | Drifting]] = {
    "halfspace": Halfspace,
    "experts": Pool,
    "drifting": Drifting,
}
# What building a model of a file that was forged may raise; a ModelFileError is a ValueError.
_UNFIT = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
_MOST_FEATURES = 1 << 40
_NOTES = ("reading", "training")  # what a classifier that learned from files knows of them, with a _ at the end


def _classifier() -> "type[MassartClassifier]":
    from massart.learners.classifier import MassartClassifier  # noqa: PLC0415  scikit-learn

    return MassartClassifier


def _deciders() -> "dict[str, type[MonotoneBandit | MonotoneRanker]]":
    from massart.learners.bandit import MonotoneBandit  # noqa: PLC0415  scipy.stats
    from massart.learners.ranker import MonotoneRanker  # noqa: PLC0415

    return {"bandit": MonotoneBandit, "ranker": MonotoneRanker}


def learner_meta(learner: Halfspace | Pool | Drifting) -> tuple[str, dict[str, NDArray[Any]]]:
    """The name of a learner's kind in a file, and all that it remembers; nothing is copied.

    >>> name, arrays = learner_meta(Halfspace(2, 0.1, 0.05))
    >>> name, learner_from(name, arrays).n_features
    ('halfspace', 2)
    """
    for name, kind in _LEARNERS.items():
        if isinstance(learner, kind):
            return name, learner.arrays()
    raise ModelFileError(f"save does not know {type(learner).__name__}: it takes massart's classifiers and policies")


def learner_from(name: str, arrays: dict[str, NDArray[Any]]) -> Halfspace | Pool | Drifting:
    """The learner of which `learner_meta` told."""
    if not isinstance(name, str) or name not in _LEARNERS:
        raise ModelFileError(f"there is no learner {name!r} in this version of massart")
    try:
        with np.errstate(all="ignore"):  # what is not finite in the end is refused
            return _LEARNERS[name].from_arrays(arrays)
    except KeyError as missing:
        raise ModelFileError(f"array {missing} is missing, which a learner of kind {name!r} needs") from None
    except _UNFIT as error:
        raise ModelFileError(f"its arrays are not those of a learner of kind {name!r}: {error}") from None


def save(model: "Model", path: str | os.PathLike[str]) -> None:
    """Write a learner or classifier to a file, atomically; `load` gives back one in exactly the same state.

    What could not be loaded again is refused, and the file that was there stays. Other threads that learn with the
    model wait meanwhile.

    Of a bandit, the key that signs its choices is written to a second file beside it, PATH.key, for its owner alone;
    `load` reads it from there, and lets the bandit draw anew.

    >>> import tempfile
    >>> from massart import MassartClassifier, load, save
    >>> clf = MassartClassifier(0.1, 0.05).partial_fit([[1.0, 2.0]], ["yes"], classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/model.massart")
    ...     load(f"{folder}/model.massart").predict([[1.0, 2.0]])
    array(['yes'], dtype='<U3')
    """
    with _held(model):
        kind, meta, arrays = _parts(model)
        check_model(kind, meta, arrays)
        if kind == "bandit":
            bandit = cast("MonotoneBandit", model)
            write_key(path, bandit.identity, bandit.key)
        write_model(path, kind, meta, arrays)


def _held(model: Any) -> AbstractContextManager[Any]:
    """While it is held, no other thread changes the model."""
    if isinstance(model, Halfspace):
        return model.held()
    if isinstance(model, Guarded):
        held: AbstractContextManager[Any] = model._lock
        return held
    return lock_of(model) if isinstance(model, _classifier()) else nullcontext()


def _parts(model: "Model") -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """What goes to a file: the kind, what is told beside the arrays, the arrays."""
    if isinstance(model, (Halfspace, Pool, Drifting)):
        name, arrays = learner_meta(model)
        return name, {}, arrays
    if isinstance(model, _classifier()):
        return "classifier", *_from_classifier(model)
    for kind, decider in _deciders().items():
        if isinstance(model, decider):
            return kind, {}, model.arrays()
    raise ModelFileError(f"save does not know {type(model).__name__}: it takes massart's classifiers and policies")


def check_model(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse to write what `load` would not open."""
    try:
        _model_from(kind, json.loads(json.dumps(meta, allow_nan=False)), arrays)
    except _UNFIT as error:
        raise ModelFileError(
            f"the {kind} is not written, for it could not be loaded again ({_words(error)}), and what was there "
            "before is as it was"
        ) from error


def load(path: str | os.PathLike[str]) -> Any:
    """The learner or classifier that `save` wrote, or `massart train`."""
    kind, meta, arrays = read_model(path)
    model = model_of(os.fspath(path), kind, meta, arrays)
    if kind == "bandit":
        lost = f" (there is none in {key_path(path)}, so choices from before the file cannot be verified)"
        model.sign_with(read_key(path, model.identity), lost)
        model.reseed()
    return model


def model_of(place: str, kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """The model whose parts a file at this place holds."""
    if kind not in _LEARNERS and kind != "classifier" and kind not in _deciders():
        raise ModelFileError(f"{place} holds a {kind!r}, which this version of massart does not know")
    try:
        return _model_from(kind, meta, arrays)
    except _UNFIT as error:
        raise ModelFileError(f"{place} does not hold a {kind} that fits together: {_words(error)}") from None


def _words(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _model_from(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """The model of which a file tells; whatever it tells, an error of `_UNFIT` is the worst."""
    if kind in _LEARNERS:
        return learner_from(kind, arrays)
    if kind == "classifier":
        return _to_classifier(meta, arrays)
    return _deciders()[kind].from_arrays(arrays)


def _from_classifier(model: "MassartClassifier") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parameters = model.get_params()
    unknown = parameters.keys() - _classifier()().get_params().keys()
    if unknown:
        raise ModelFileError(
            f"save cannot write {type(model).__name__} with its parameter {min(unknown)}: it takes MassartClassifier's"
        )
    state = parameters["random_state"]
    # A generator cannot be put in a header; its seed has been drawn already, when learning began.
    parameters["random_state"] = int(state) if isinstance(state, Integral) else None
    meta: dict[str, Any] = {"parameters": {name: _number_or_text(name, parameters[name]) for name in parameters}}
    meta |= {name: getattr(model, f"{name}_") for name in _NOTES if hasattr(model, f"{name}_")}
    if not hasattr(model, "_learner"):
        return meta, {}
    arrays = {f"learner.{name}": array for name, array in model._learner.arrays().items()}
    if model._batch_weights is not None:
        arrays["batch_weights"] = model._batch_weights
    classes = model.classes_
    if classes.dtype.hasobject:
        meta["classes"] = _plain(classes)
    else:
        arrays["classes"] = classes
    learner = model._learner.members[0] if isinstance(model._learner, OneVsRest) else model._learner
    meta["learner"] = learner_meta(learner)[0]
    meta["n_iter"], meta["n_features_in"] = model.n_iter_, model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        meta["feature_names_in"] = [str(name) for name in model.feature_names_in_]
    return meta, arrays


def _number_or_text(name: str, value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, dict):  # class weights: JSON knows no keys but text
        labels = _plain(np.array([k.item() if hasattr(k, "item") else k for k in value], dtype=object))
        return {"labels": labels, "weights": [_number_or_text(name, weight) for weight in value.values()]}
    if not _is_setting(value):
        raise ModelFileError(f"save cannot write {name}={value!r}: parameters must be finite numbers, text or None")
    return value


def _is_setting(value: Any) -> bool:
    """Whether a parameter can be written, or may have been: None, text, or a finite number of 64 bits."""
    if isinstance(value, Integral):
        return abs(int(value)) < 1 << 64
    return value is None or isinstance(value, str) or (isinstance(value, Real) and isfinite(value))


def _plain(classes: NDArray[Any]) -> list[Any]:
    if not all(isinstance(label, (str, bool, int, float)) for label in classes):
        raise ModelFileError("save takes labels that are text, numbers or booleans; these classes hold other objects")
    return list(classes)


def check_classifier(place: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse what a file at this place tells of a classifier if it does not fit together."""
    try:
        _count_classes(meta, arrays)
    except _UNFIT as error:
        raise ModelFileError(f"{place} does not hold a classifier that fits together: {_words(error)}") from None


def _count_classes(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> int:
    """The number of classes; parts that are whole, but not of one classifier, are refused."""
    listed = meta["classes"] if "classes" in meta else arrays["classes"]
    if not (isinstance(listed, list) or (isinstance(listed, np.ndarray) and listed.ndim == 1)) or len(listed) < 2:
        raise ValueError("its classes are not a list of two or more")
    if isinstance(listed, list) and not all(isinstance(label, (str, bool, int, float)) for label in listed):
        raise ValueError("its classes are neither text nor numbers")
    if len(set(listed if isinstance(listed, list) else listed.tolist())) != len(listed):
        raise ValueError("its classes are not all different")
    classes, features = len(listed), meta["n_features_in"]
    if type(features) is not int or not 0 <= features < _MOST_FEATURES:
        raise ValueError(f"it has {features!r} features")
    if type(meta["n_iter"]) is not int or meta["n_iter"] < 1:
        raise ValueError(f"it has made {meta['n_iter']!r} passes")
    if "batch_weights" in arrays:
        check_arrays(arrays, {"batch_weights": (1 if classes == 2 else classes, features + 1)})
    if "feature_names_in" in meta:
        names = meta["feature_names_in"]
        if not isinstance(names, list) or len(names) != features or not all(isinstance(name, str) for name in names):
            raise ValueError("there is not one feature name per feature")
    return classes


def _to_classifier(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "MassartClassifier":
    parameters = dict(meta["parameters"])
    weights = parameters.get("class_weight")
    if isinstance(weights, dict):
        if not all(map(_is_setting, [*weights["labels"], *weights["weights"]])):
            raise TypeError("its class weights are not numbers")
        parameters["class_weight"] = dict(zip(weights["labels"], weights["weights"], strict=True))
    for name, value in parameters.items():
        if not _is_setting(value) and not (name == "class_weight" and isinstance(value, dict)):
            raise TypeError(f"its parameter {name} is neither a finite number nor text")
    model = _classifier()(**parameters)
    for name in _NOTES:
        if not isinstance(meta.get(name, {}), dict):
            raise TypeError(f"{name} is not a table of settings")
        if name in meta:
            setattr(model, f"{name}_", meta[name])
    if "learner" not in meta:
        return model
    classes = _count_classes(meta, arrays)
    prefix = "learner."
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if classes == 2:
        model._learner = learner_from(meta["learner"], own)
        members = [model._learner]
    else:
        with np.errstate(all="ignore"):
            model._learner = OneVsRest.from_arrays(own, _LEARNERS[meta["learner"]])
        members = model._learner.members
    if len(members) != (1 if classes == 2 else classes) or {m.n_features for m in members} != {meta["n_features_in"]}:
        raise ValueError(f"{classes} classes and {meta['n_features_in']} features are not the learner's")
    model._batch_weights = arrays.get("batch_weights")
    model.classes_ = np.array(meta["classes"], dtype=object) if "classes" in meta else arrays["classes"]
    model.n_iter_, model.n_features_in_ = meta["n_iter"], meta["n_features_in"]
    if "feature_names_in" in meta:
        model.feature_names_in_ = np.array(meta["feature_names_in"], dtype=object)
    return model
