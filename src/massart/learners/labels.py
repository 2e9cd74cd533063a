"""Labels of any kind as numbers of classes, and the weights of the classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["class_weights", "label_numbers"]

_LIGHTEST, _HEAVIEST = 1e-10, 1e10  # class weights


def class_weights(class_weight: Any, classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """One weight per class; `y` are the labels that "balanced" counts.

    >>> class_weights({"spam": 3.0}, np.array(["ham", "spam"]), np.array([])).tolist()
    [1.0, 3.0]
    """
    try:
        if isinstance(class_weight, Mapping):
            # Not compute_class_weight: it looks up int(label), which is another label for 0.5 and for "1".
            known = [label in class_weight for label in classes]
            if not all(known) and sum(known) != len(class_weight):
                raise ValueError(f"the classes are {classes.tolist()}")
            weights = np.array([class_weight.get(label, 1.0) for label in classes], dtype=np.float64)
        else:
            weights = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"class_weight={class_weight!r}: give a dict from labels to weights, 'balanced' or None ({error})"
        ) from None
    if not ((weights >= _LIGHTEST) & (weights <= _HEAVIEST)).all():
        raise InvalidParameterError(
            f"class_weight={class_weight!r}: weights must lie between {_LIGHTEST:g} and {_HEAVIEST:g}"
        )
    return weights


def label_numbers(y: NDArray[Any], classes: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The number of each label among the classes; a label that is none of them is refused.

    >>> label_numbers(np.array(["b", "a", "b"]), np.array(["a", "b"]), 3).tolist()
    [1, 0, 1]
    """
    if y.shape[0] != count:
        raise InvalidDataError(f"X has {count} rows, but y has {y.shape[0]} labels: give one label per row")
    numbers, known = np.zeros(y.shape[0], dtype=np.int64), np.zeros(y.shape[0], dtype=bool)
    for number, label in enumerate(classes):
        found = y == label
        known |= found
        numbers += number * found
    unknown = np.flatnonzero(~known)
    if unknown.size:
        raise InvalidDataError(
            f"y[{unknown[0]}] is {y[unknown[0]]!r}, which is not one of the classes {classes.tolist()} named on "
            "the first call: drop the row, or start a new classifier with all classes. "
            "Nothing was learned from this batch."
        )
    return numbers
