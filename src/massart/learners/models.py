"""`save` and `load`: a learner as a file that any later process can go on from, bit for bit."""

import os
from collections.abc import Callable
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.learners.bandit import MonotoneBandit
from massart.learners.classifier import MassartClassifier
from massart.learners.drift import Drifting
from massart.learners.experts import Experts
from massart.learners.halfspace import Halfspace
from massart.learners.one_vs_rest import OneVsRest
from massart.learners.ranker import MonotoneRanker
from massart.learners.rules import check_arrays
from massart.store.model_file import read_model, write_model

Model = Halfspace | Experts | Drifting | MassartClassifier | MonotoneBandit | MonotoneRanker
_LEARNERS: dict[str, type[Halfspace | Experts | Drifting]] = {
    "halfspace": Halfspace,
    "experts": Experts,
    "drifting": Drifting,
}
_DECIDERS: dict[str, type[MonotoneBandit | MonotoneRanker]] = {"bandit": MonotoneBandit, "ranker": MonotoneRanker}


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a learner or classifier to a file, atomically; `load` gives back one in exactly the same state.

    >>> import tempfile
    >>> from massart import MassartClassifier, load, save
    >>> clf = MassartClassifier(0.1, 0.05).partial_fit([[1.0, 2.0]], ["yes"], classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/model.massart")
    ...     load(f"{folder}/model.massart").predict([[1.0, 2.0]])
    array(['yes'], dtype='<U3')
    """
    if isinstance(model, MassartClassifier):
        write_model(path, "classifier", *_from_classifier(model))
        return
    for kind, learner in (_LEARNERS | _DECIDERS).items():
        if isinstance(model, learner):
            write_model(path, kind, {}, model.arrays())
            return
    raise ModelFileError(f"save does not know {type(model).__name__}: it takes MassartClassifier and Halfspace")


def load(path: str | os.PathLike[str]) -> Any:
    """The learner or classifier that `save` wrote."""
    kind, meta, arrays = read_model(path)
    readers: dict[str, Callable[[], Model]] = {
        "classifier": lambda: _to_classifier(meta, arrays),
        **{name: lambda cls=cls: cls.from_arrays(arrays) for name, cls in (_LEARNERS | _DECIDERS).items()},  # type: ignore[misc]
    }
    if kind not in readers:
        raise ModelFileError(f"{os.fspath(path)} holds a {kind!r}, which this version of massart does not know")
    try:
        return readers[kind]()
    except KeyError as missing:
        raise ModelFileError(f"{os.fspath(path)} lacks {missing}, which a {kind} needs: save it again") from None
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"{os.fspath(path)} does not hold a {kind} that fits together: {error}") from None


def _from_classifier(model: MassartClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parameters = model.get_params()
    state = parameters["random_state"]
    # A generator cannot be put in a header; its seed has been drawn already, when learning began.
    parameters["random_state"] = int(state) if isinstance(state, Integral) else None
    meta: dict[str, Any] = {"parameters": {name: _number_or_text(name, parameters[name]) for name in parameters}}
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
    meta["learner"] = next(kind for kind, cls in _LEARNERS.items() if isinstance(learner, cls))
    meta["n_iter"], meta["n_features_in"] = model.n_iter_, model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        meta["feature_names_in"] = [str(name) for name in model.feature_names_in_]
    return meta, arrays


def _number_or_text(name: str, value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
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


def _to_classifier(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> MassartClassifier:
    model = MassartClassifier(**meta["parameters"])
    if "learner" not in meta:
        return model
    _check_parts(meta, arrays)
    prefix = "learner."
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    kind = _LEARNERS[meta["learner"]]
    classes = len(meta["classes"] if "classes" in meta else arrays["classes"])
    model._learner = kind.from_arrays(own) if classes == 2 else OneVsRest.from_arrays(own, kind)
    if model._learner.leaders().shape != (1 if classes == 2 else classes, meta["n_features_in"] + 1):
        raise ValueError(f"{classes} classes and {meta['n_features_in']} features are not the learner's")
    model._batch_weights = arrays.get("batch_weights")
    model.classes_ = np.array(meta["classes"], dtype=object) if "classes" in meta else arrays["classes"]
    model.n_iter_, model.n_features_in_ = meta["n_iter"], meta["n_features_in"]
    if "feature_names_in" in meta:
        model.feature_names_in_ = np.array(meta["feature_names_in"], dtype=object)
    return model
