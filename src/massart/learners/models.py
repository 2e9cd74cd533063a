"""`save` and `load`: a learner as a file that any later process can go on from, bit for bit.

What needs scikit-learn is imported when a classifier is saved or loaded, not before: training from files does without.
"""

import os
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.learners.drift import Drifting
from massart.learners.experts import Experts
from massart.learners.halfspace import Halfspace
from massart.learners.keys import key_path, read_key, write_key
from massart.learners.one_vs_rest import OneVsRest
from massart.learners.rules import check_arrays
from massart.store.model_file import read_model, write_model

if TYPE_CHECKING:
    from massart.learners.bandit import MonotoneBandit
    from massart.learners.classifier import MassartClassifier
    from massart.learners.ranker import MonotoneRanker

    Model = Halfspace | Experts | Drifting | MassartClassifier | MonotoneBandit | MonotoneRanker

__all__ = ["learner_from", "learner_meta", "load", "save"]

_LEARNERS: dict[str, type[Halfspace | Experts | Drifting]] = {
    "halfspace": Halfspace,
    "experts": Experts,
    "drifting": Drifting,
}
_NOTES = ("reading", "training")  # what a classifier that learned from files knows of them, with a _ at the end


def _classifier() -> "type[MassartClassifier]":
    from massart.learners.classifier import MassartClassifier  # noqa: PLC0415  scikit-learn

    return MassartClassifier


def _deciders() -> "dict[str, type[MonotoneBandit | MonotoneRanker]]":
    from massart.learners.bandit import MonotoneBandit  # noqa: PLC0415  scipy.stats
    from massart.learners.ranker import MonotoneRanker  # noqa: PLC0415

    return {"bandit": MonotoneBandit, "ranker": MonotoneRanker}


def learner_meta(learner: Halfspace | Experts | Drifting) -> tuple[str, dict[str, NDArray[Any]]]:
    """The name of a learner's kind in a file, and all that it remembers; nothing is copied.

    >>> name, arrays = learner_meta(Halfspace(2, 0.1, 0.05))
    >>> name, learner_from(name, arrays).n_features
    ('halfspace', 2)
    """
    for name, kind in _LEARNERS.items():
        if isinstance(learner, kind):
            return name, learner.arrays()
    raise ModelFileError(f"save does not know {type(learner).__name__}: it takes massart's classifiers and policies")


def learner_from(name: str, arrays: dict[str, NDArray[Any]]) -> Halfspace | Experts | Drifting:
    """The learner of which `learner_meta` told."""
    if name not in _LEARNERS:
        raise ModelFileError(f"there is no learner {name!r} in this version of massart")
    try:
        return _LEARNERS[name].from_arrays(arrays)
    except KeyError as missing:
        raise ModelFileError(f"array {missing} is missing, which a learner of kind {name!r} needs") from None


def save(model: "Model", path: str | os.PathLike[str]) -> None:
    """Write a learner or classifier to a file, atomically; `load` gives back one in exactly the same state.

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
    if isinstance(model, (Halfspace, Experts, Drifting)):
        name, arrays = learner_meta(model)
        write_model(path, name, {}, arrays)
        return
    if isinstance(model, _classifier()):
        write_model(path, "classifier", *_from_classifier(model))
        return
    for kind, decider in _deciders().items():
        if isinstance(model, decider):
            arrays, policy = model.arrays(), cast("Any", model)
            decider.from_arrays(arrays)  # what could not be opened is not written
            if kind == "bandit":
                write_key(path, policy.identity, policy.key)
            write_model(path, kind, {}, arrays)
            return
    raise ModelFileError(f"save does not know {type(model).__name__}: it takes massart's classifiers and policies")


def load(path: str | os.PathLike[str]) -> Any:
    """The learner or classifier that `save` wrote, or `massart train`."""
    kind, meta, arrays = read_model(path)
    try:
        if kind in _LEARNERS:
            return learner_from(kind, arrays)
        if kind == "classifier":
            return _to_classifier(meta, arrays)
        if kind in _deciders():
            decider: Any = _deciders()[kind].from_arrays(arrays)
            if kind == "bandit":
                lost = f" (there is none in {key_path(path)}, so choices from before the file cannot be verified)"
                decider.sign_with(read_key(path, decider.identity), lost)
                decider.reseed()
            return decider
    except KeyError as missing:
        raise ModelFileError(f"{os.fspath(path)} lacks {missing}, which a {kind} needs: save it again") from None
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"{os.fspath(path)} does not hold a {kind} that fits together: {error}") from None
    raise ModelFileError(f"{os.fspath(path)} holds a {kind!r}, which this version of massart does not know")


def _from_classifier(model: "MassartClassifier") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parameters = model.get_params()
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
    if value is not None and not isinstance(value, str) and not (isinstance(value, Real) and isfinite(value)):
        raise ModelFileError(f"save cannot write {name}={value!r}: parameters must be finite numbers, text or None")
    return value


def _plain(classes: NDArray[Any]) -> list[Any]:
    if not all(isinstance(label, (str, bool, int, float)) for label in classes):
        raise ModelFileError("save takes labels that are text, numbers or booleans; these classes hold other objects")
    return list(classes)


def _check_parts(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse a classifier whose parts are whole, but not of one classifier."""
    classes, width = len(meta["classes"] if "classes" in meta else arrays["classes"]), meta["n_features_in"] + 1
    pools = 1 if classes == 2 else classes
    if classes < 2:
        raise ValueError(f"a classifier of {classes} classes")
    if "batch_weights" in arrays:
        check_arrays(arrays, {"batch_weights": (pools, width)})
    if len(meta.get("feature_names_in", range(width - 1))) != width - 1:
        raise ValueError("there is not one feature name per feature")


def _to_classifier(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "MassartClassifier":
    parameters = dict(meta["parameters"])
    weights = parameters.get("class_weight")
    if isinstance(weights, dict):
        parameters["class_weight"] = dict(zip(weights["labels"], weights["weights"], strict=True))
    model = _classifier()(**parameters)
    for name in _NOTES:
        if not isinstance(meta.get(name, {}), dict):
            raise TypeError(f"{name} is not a table of settings")
        if name in meta:
            setattr(model, f"{name}_", meta[name])
    if "learner" not in meta:
        return model
    _check_parts(meta, arrays)
    prefix = "learner."
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    classes = len(meta["classes"] if "classes" in meta else arrays["classes"])
    if classes == 2:
        model._learner = learner_from(meta["learner"], own)
        members = [model._learner]
    else:
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
