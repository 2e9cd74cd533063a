"""What scikit-learn passes to a classifier: rows, labels of any kind as numbers of classes, class weights, seeds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d, validate_data

from massart.errors import InvalidDataError, InvalidParameterError, InvalidTypeError, MassartError, shown
from massart.kernels.forms import check_form, check_mask
from massart.learners.locking import lock_of

__all__ = ["check_classes", "check_labels", "check_rows", "class_weights", "draw_seed", "label_numbers",
           "labels_present", "own_errors", "unchanged_on_error"]  # fmt: skip

_PLAIN = (np.ndarray, csr_matrix, csr_array)
_FORMATS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
_LIGHTEST, _HEAVIEST = 1e-10, 1e10  # class weights


@contextmanager
def own_errors() -> Iterator[None]:
    """Errors of scikit-learn's checks become massart's, in the same words; `NotFittedError` stays what it is."""
    try:
        yield
    except (MassartError, NotFittedError):
        raise
    except TypeError as error:
        raise InvalidTypeError(str(error)) from error
    except ValueError as error:
        raise InvalidDataError(str(error)) from error


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """One thread at a time; if the data are refused, the estimator stays as it was."""
    with lock_of(estimator), own_errors():
        before, generator = dict(estimator.__dict__), estimator.random_state
        draws = generator.get_state() if isinstance(generator, np.random.RandomState) else None
        try:
            yield
        except BaseException:
            for name in estimator.__dict__.keys() - before.keys():
                del estimator.__dict__[name]
            estimator.__dict__.update(before)
            if draws is not None:
                generator.set_state(draws)
            raise


def check_rows(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
    """X, or X and y, as arrays that scikit-learn's checks accept; values need not be finite."""
    check_form(X)
    if isinstance(y, str) and not reset and _is_checked_already(estimator, X):
        return X
    return validate_data(estimator, X, y, reset=reset, **_FORMATS)


def _is_checked_already(estimator: Any, X: Any) -> bool:
    """Whether scikit-learn's checks, which take longer than a row, would give X back as it is."""
    return (
        type(X) in _PLAIN
        and X.ndim == 2
        and X.dtype in _FORMATS["dtype"]
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", 0) > 0
        and not hasattr(estimator, "feature_names_in_")
    )


def check_labels(y: Any) -> NDArray[Any]:
    """Labels as a vector.

    >>> check_labels([1, 0]).tolist(), check_labels(np.array(["a", "b"])).tolist()
    ([1, 0], ['a', 'b'])
    """
    check_mask(y, "y")
    return y if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU" else column_or_1d(y)


def draw_seed(random_state: Any) -> int:
    """A seed for `random_state`: itself if it is a number, else drawn."""
    if isinstance(random_state, Integral):
        if not 0 <= int(random_state) < 2**32:
            raise InvalidParameterError(
                f"random_state={shown(random_state)}: give a whole number from 0 to 2**32 - 1, or None"
            )
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_classes(classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """All classes, sorted: those of the first call to `partial_fit` (`known`), or those that it names."""
    if classes is None:
        if known is None:
            raise InvalidDataError(
                "classes must be passed on the first call to partial_fit: name all labels that may ever occur, "
                "as in partial_fit(X, y, classes=[0, 1])"
            )
        return known
    classes = np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(classes, known):
        raise InvalidDataError(
            f"classes={classes.tolist()} is not the same as on the first call to partial_fit, "
            f"{known.tolist()}: leave it out, or start a new classifier"
        )
    if classes.size < 2:
        raise InvalidDataError(f"classes={classes.tolist()}: name at least two classes")
    return classes if known is None else known


def joined_classes(classes: Any, known: NDArray[Any] | None, y: NDArray[Any], *, is_open: bool) -> NDArray[Any]:
    """All classes, sorted: those that are named, or known, and where they may join, those of the labels.

    >>> joined_classes(None, np.array([1, 5]), np.array([3, 1]), is_open=True).tolist()
    [1, 3, 5]
    """
    if classes is not None or not is_open:
        return check_classes(classes, known)
    new = np.unique(y)
    joined = new if known is None else np.union1d(known, new)
    return joined if known is None or joined.size > known.size else known


def labels_present(y: NDArray[Any], weight: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes with rows of positive weight, and the number of each label among them.

    A row of weight 0 counts as absent: its label only has to be a valid number.

    >>> labels_present(np.array(["b", "a", "c"]), np.array([1.0, 1.0, 0.0]))[0].tolist()
    ['a', 'b']
    """
    if not weight.any():
        raise InvalidDataError("Every sample_weight is zero, so there is nothing to learn: weigh some row above 0")
    classes, labels = np.unique(y, return_inverse=True)
    present = np.unique(labels[weight > 0])
    if present.size < 2:
        raise InvalidDataError(
            f"fit needs rows of at least two classes with positive weight, but found only "
            f"{shown(classes[present[0]])}: add rows of the "
            "other class, or use partial_fit(X, y, classes=[...]), which may see one class at first"
        )
    numbers = np.zeros(classes.size, dtype=np.int64)
    numbers[present] = np.arange(present.size)
    return classes[present], numbers[labels]


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
            f"y[{unknown[0]}] is {shown(y[unknown[0]])}, which is not one of the classes {classes.tolist()} named on "
            "the first call: drop the row, or start a new classifier with all classes. "
            "Nothing was learned from this batch."
        )
    return numbers
