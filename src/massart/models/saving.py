"""`save`: a learner, classifier or policy as a file that any later process can go on from, bit for bit."""

import json
import os
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.learners.class_pool import ClassPool
from massart.learners.halfspace import Halfspace
from massart.learners.locking import Guarded, lock_of
from massart.learners.multiclass import Binary, OneVsRest
from massart.models.keys import write_key
from massart.models.model_file import write_model
from massart.models.opening import (
    CLASSES,
    LEARNERS,
    NOTES,
    UNFIT,
    build_model,
    classifier_type,
    decider_types,
    error_words,
    is_setting,
)

if TYPE_CHECKING:
    from massart.learners.bandit import MonotoneBandit
    from massart.learners.classifier import MassartClassifier
    from massart.learners.ranker import MonotoneRanker

    Model = Binary | MassartClassifier | MonotoneBandit | MonotoneRanker

__all__ = ["check_model", "learner_meta", "model_parts", "save"]


def learner_meta(learner: Binary | ClassPool) -> tuple[str, dict[str, NDArray[Any]]]:
    """The name of a learner's kind in a file, and all that it remembers; nothing is copied.

    >>> name, arrays = learner_meta(Halfspace(2, 0.1, 0.05))
    >>> name, sorted(arrays)
    ('halfspace', ['rule', 'state', 'weights'])
    """
    for name, kind in (*LEARNERS.items(), (CLASSES, ClassPool)):
        if isinstance(learner, kind):
            return name, learner.arrays()
    raise ModelFileError(f"save does not know {type(learner).__name__}: it takes massart's classifiers and policies")


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
        kind, meta, arrays = model_parts(model)
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
    return lock_of(model) if isinstance(model, classifier_type()) else nullcontext()


def model_parts(model: "Model") -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """What goes to a file: the kind, what stands beside the arrays, the arrays."""
    if isinstance(model, Binary):
        name, arrays = learner_meta(model)
        return name, {}, arrays
    if isinstance(model, classifier_type()):
        return "classifier", *_from_classifier(model)
    for kind, decider in decider_types().items():
        if isinstance(model, decider):
            return kind, {}, model.arrays()
    raise ModelFileError(f"save does not know {type(model).__name__}: it takes massart's classifiers and policies")


def check_model(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse to write what `load` would not open."""
    try:
        build_model(kind, json.loads(json.dumps(meta, allow_nan=False)), arrays)
    except UNFIT as error:
        raise ModelFileError(
            f"the {kind} is not written, for it could not be loaded again ({error_words(error)}), and what was there "
            "before is as it was"
        ) from error


def _from_classifier(model: "MassartClassifier") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parameters = model.get_params()
    unknown = parameters.keys() - classifier_type()().get_params().keys()
    if unknown:
        raise ModelFileError(
            f"save cannot write {type(model).__name__} with its parameter {min(unknown)}: it takes MassartClassifier's"
        )
    state = parameters["random_state"]
    # A generator cannot be put in a header; its seed has been drawn already, when learning began.
    parameters["random_state"] = int(state) if isinstance(state, Integral) else None
    if parameters["products"] is False:
        del parameters["products"]  # a file without is as before there were any
    meta: dict[str, Any] = {"parameters": {name: _number_or_text(name, parameters[name]) for name in parameters}}
    meta |= {name: getattr(model, f"{name}_") for name in NOTES if hasattr(model, f"{name}_")}
    if not hasattr(model, "_learner"):
        return meta, {}
    arrays = {f"learner.{name}": array for name, array in model._learner.arrays().items()}
    if model._batch_weights is not None:
        arrays["batch_weights"] = model._batch_weights
    meta["refitted"] = model._batch_learner is not None
    if model._batch_learner is not None:
        arrays |= {f"batch.{name}": array for name, array in model._batch_learner.arrays().items()}
    meta["calibrated"] = model._calibration is not None
    if model._calibration is not None:
        arrays |= {f"calibration.{name}": array for name, array in model._calibration.arrays().items()}
    classes = model.classes_
    if classes.dtype.hasobject:
        meta["classes"] = _plain(classes)
    else:
        arrays["classes"] = classes
    learner = model._learner.members[0] if isinstance(model._learner, OneVsRest) else model._learner
    if isinstance(learner, ClassPool):
        meta["learner"], meta["open"] = CLASSES, model._is_open
    else:
        meta["learner"] = learner_meta(learner)[0]
    meta["n_iter"], meta["n_features_in"] = model.n_iter_, learner.n_features
    if model._labels_seen is not None:
        arrays["labels_seen"] = model._labels_seen
    if hasattr(model, "feature_names_in_") and learner.n_features == model.n_features_in_:  # else reading has them
        meta["feature_names_in"] = [str(name) for name in model.feature_names_in_]
    return meta, arrays


def _number_or_text(name: str, value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, dict):  # class weights: JSON knows no keys but text
        labels = _plain(np.array([k.item() if hasattr(k, "item") else k for k in value], dtype=object))
        return {"labels": labels, "weights": [_number_or_text(name, weight) for weight in value.values()]}
    if not is_setting(value):
        raise ModelFileError(f"save cannot write {name}={value!r}: parameters must be finite numbers, text or None")
    return value


def _plain(classes: NDArray[Any]) -> list[Any]:
    if not all(isinstance(label, (str, bool, int, float)) for label in classes):
        raise ModelFileError("save takes labels that are text, numbers or booleans; these classes hold other objects")
    return list(classes)
