"""What scikit-learn passes to a classifier: rows, labels of any kind as numbers of classes, seeds."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.validation import column_or_1d, validate_data

from massart.data.formats.labels import as_text
from massart.data.frames import as_frame, frame_rows, frame_schema
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError, InvalidTypeError, MassartError, shown
from massart.kernels.forms import check_form, check_mask
from massart.learners.locking import lock_of

__all__ = ["check_classes", "check_labels", "check_rows", "draw_seed", "label_numbers", "labels_present",
           "note_labels", "own_errors", "unchanged_on_error"]  # fmt: skip

_PLAIN = (np.ndarray, csr_matrix, csr_array)
_FORMATS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
_USUAL = ({-1, 1}, {0, 1})  # classes
_LISTED = 6  # names that a message lists


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
    """X, or X and y, as arrays that scikit-learn's checks accept; values need not be finite.

    A frame with text becomes `HashedRows`; NaN is 0 with `missing="zero"`.
    """
    check_form(X)
    alone, fill = isinstance(y, str), estimator.missing == "zero"
    if alone and not reset and _is_checked_already(estimator, X):
        return _filled(X) if fill else X
    schema, frame = None if reset else _hashing_of(estimator), as_frame(X)
    if frame is not None:
        schema = _schema_for(estimator, frame, schema, reset=reset)
    if schema is None:
        found = validate_data(estimator, X, y, reset=reset, **_FORMATS)
        if reset:
            _note_reading(estimator, None)
        return found if not fill else _filled(found) if alone else (_filled(found[0]), found[1])
    if frame is not None:
        rows = frame_rows(frame, schema, fill=fill)
        if reset:
            _note_reading(estimator, schema)
        return rows if alone else (rows, check_X_y(np.zeros((rows.shape[0], 1)), y, **_FORMATS)[1])
    X = check_array(X, **_FORMATS)
    if X.shape[1] != schema.width:
        names = ", ".join(map(shown, (schema.columns or ())[:_LISTED]))
        raise InvalidDataError(
            f"X has {X.shape[1]} columns without names, but this classifier has learned from a table with the columns "
            f"{names}{', ...' * (len(schema.columns or ()) > _LISTED)}: give a data frame with them, or rows hashed to "
            f"{schema.width:,} columns"
        )
    return _filled(X) if fill else X


def _hashing_of(estimator: Any) -> Schema | None:
    """How the columns of frames are hashed; None if this estimator has learned from numbers alone."""
    reading = getattr(estimator, "reading_", {})
    if "bits" not in reading or len(reading.get("columns", ())) != getattr(estimator, "n_features_in_", 0):
        return None
    return Schema.from_dict(reading)


def _schema_for(estimator: Any, frame: Any, known: Schema | None, *, reset: bool) -> Schema | None:
    """How a frame is hashed, by one that begins or by one that has learned; None if its columns are counted."""
    if known is not None:
        return known
    found = frame_schema(frame, estimator.hash_bits)
    if found is not None and not reset:
        raise InvalidDataError(
            f"column {shown(found.categorical[0])} of X holds text or categories, but this classifier has learned from "
            "numbers alone: give numbers, or start a new classifier"
        )
    return found


def _note_reading(estimator: Any, schema: Schema | None) -> None:
    """What a new model knows of its columns; what an earlier one knew of files is gone."""
    for name in ("reading_", "training_"):
        estimator.__dict__.pop(name, None)
    if schema is not None:
        given = schema.as_dict().items()
        estimator.reading_ = {name: list(value) if isinstance(value, tuple) else value for name, value in given}
        estimator.feature_names_in_ = np.array(schema.columns, dtype=object)
        estimator.n_features_in_ = estimator.feature_names_in_.size


def note_labels(estimator: Any) -> None:
    """What the two classes are called in files, beside how these are read; -1 or 0 and 1 need not be named."""
    reading, classes = getattr(estimator, "reading_", {}), estimator.classes_.tolist()
    if "labels" not in reading and "columns" in reading and len(classes) == 2 and set(classes) not in _USUAL:
        estimator.reading_ = reading | {"labels": [as_text(label) for label in classes]}


def _filled(X: Any) -> Any:
    """X with 0 for NaN, copied if there are any."""
    values = X.data if issparse(X) else X
    missing = np.isnan(values)
    if not missing.any():
        return X
    values = np.where(missing, values.dtype.type(0.0), values)
    return type(X)((values, X.indices, X.indptr), shape=X.shape) if issparse(X) else values


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
