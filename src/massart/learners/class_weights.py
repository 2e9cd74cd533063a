"""Weights by label: those that were given, and "balanced" ones, of all rows or of those that came before."""

from collections.abc import Mapping
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.options import LARGEST, SMALLEST

__all__ = ["balanced_weights", "class_weights", "joined_counts"]

_LIGHTEST, _HEAVIEST = 1e-10, 1e10


def class_weights(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """One weight per class; "balanced" is n / (k n_c), where rows count what they weigh.

    `labels` are numbers of classes, with their sample weights.

    >>> none = np.empty(0, np.int64), np.empty(0)
    >>> class_weights({"spam": 3.0}, np.array(["ham", "spam"]), *none).tolist()
    [1.0, 3.0]
    >>> class_weights("balanced", np.array(["ham", "spam"]), np.array([0, 1, 0]), np.array([1.0, 1.0, 2.0])).tolist()
    [0.6666666666666666, 2.0]
    """
    try:
        if isinstance(class_weight, Mapping):
            # Not compute_class_weight: it looks up int(label), which is another label for 0.5 and for "1".
            known = [label in class_weight for label in classes]
            if not all(known) and sum(known) != len(class_weight):
                raise ValueError(f"the classes are {classes.tolist()}")
            weights = np.array([class_weight.get(label, 1.0) for label in classes], dtype=np.float64)
        elif class_weight is None:
            weights = np.ones(classes.size)
        elif isinstance(class_weight, str) and class_weight == "balanced":
            weights = fsum(weight) / (classes.size * _sums(labels, weight, classes.size))
        else:
            raise ValueError(f"the classes are {classes.tolist()}")
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"class_weight={class_weight!r}: give a dict from labels to weights, 'balanced' or None ({error})"
        ) from None
    if not ((weights >= _LIGHTEST) & (weights <= _HEAVIEST)).all():
        raise InvalidParameterError(
            f"class_weight={class_weight!r}: weights must lie between {_LIGHTEST:g} and {_HEAVIEST:g}"
        )
    return weights


def _sums(labels: NDArray[np.int64], weight: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """The weight of each class, rounded once: it does not depend on the order of rows."""
    ends = np.cumsum(np.bincount(labels, minlength=classes))[:-1]
    parts = np.split(weight[np.argsort(labels, kind="stable")], ends)
    return np.array([fsum(part) for part in parts])


def balanced_weights(
    labels: NDArray[np.int64], seen: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weight of each row of a stream with balanced classes, and what has been seen after all of them.

    `labels` are numbers of classes; `weight` are the sample weights, one per row, all above 0. `seen` are the sums of
    the sample weights before, of each of the k classes and, last, of all. A row of class c and weight v weighs
    v (n + k) / (k (n_c + 1)): n / (k n_c), the definition of scikit-learn, for the rows before it and one more of each
    class. So no row looks at labels after its own. Sums are added up one row after the other, so that rows one by one
    weigh what they weigh together, bit for bit.

    >>> balanced_weights(np.array([0, 0, 0, 1]), np.zeros(3), np.ones(4))[0].round(3).tolist()
    [1.0, 0.75, 0.667, 2.5]
    """
    classes = seen.size - 1
    total = np.cumsum(np.concatenate((seen[-1:], weight)))
    before, after = np.empty(labels.size), seen.copy()
    after[-1] = total[-1]
    for number in np.unique(labels).tolist():
        places = np.flatnonzero(labels == number)
        sums = np.cumsum(np.concatenate((seen[number : number + 1], weight[places])))
        before[places], after[number] = sums[:-1], sums[-1]
    found = weight * ((total[:-1] + classes) / (classes * (before + 1.0)))
    return np.clip(found, SMALLEST, LARGEST), after


def joined_counts(counts: NDArray[np.float64], places: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Sums by class when more classes are known: what was class n is `places[n]` from now on.

    >>> joined_counts(np.array([3.0, 5.0]), np.array([0, 2]), 3).tolist()
    [3.0, 0.0, 5.0]
    """
    more = np.zeros(classes)
    more[places] = counts
    return more
