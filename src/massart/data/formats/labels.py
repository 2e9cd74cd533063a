"""Labels of a table: numbers or text to -1 and +1, a missing one to 0."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.row_errors import label_error
from massart.data.schema import Schema
from massart.errors import InvalidDataError

__all__ = ["NEGATIVE", "UNKNOWN", "Labels", "as_bytes", "as_text", "is_number", "with_labels"]

UNKNOWN: Final = 2  # what `Labels` answers for a label that is neither of the two

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE: Final = 2.0**53  # below it every whole number is a float64
_SHOWN: Final = 40  # characters of a label in a message
_LISTED: Final = 12  # labels that a message lists
_USUAL: Final = frozenset((-1.0, 0.0, 1.0))

NEGATIVE: Final = frozenset((-1.0, 0.0))  # where one of them is met, the other label is 1


def as_text(value: Any) -> str:
    """A value as a name: what it would look like in a CSV file; whole numbers without a point.

    >>> [as_text(value) for value in ("red", 3, 3.0, 0.25, True, b"blue")]
    ['red', '3', '3', '0.25', 'true', 'blue']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if abs(number) < _WHOLE and number.is_integer() else repr(number)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def as_bytes(value: Any) -> bytes:
    r"""A value as the name that is hashed: `as_text` in UTF-8; bytes stay as they are.

    >>> as_bytes("é"), as_bytes(7.0)
    (b'\xc3\xa9', b'7')
    """
    return value if isinstance(value, bytes) else as_text(value).encode(errors="surrogatepass")


def is_number(text: str) -> bool:
    """Whether a text is a decimal number.

    >>> [is_number(text) for text in ("+1", "-.5e3", "1_000", "nan", "")]
    [True, True, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None


class Labels:
    """Which labels mean -1 and +1: two texts, compared as numbers if both are; None for -1 or 0, and 1.

    >>> Labels(("no", "yes")).of_values(["yes", "no", "maybe", None, ""]).tolist()
    [1, -1, 2, 0, 0]
    >>> Labels(None).of_numbers(np.array([0.0, -1.0, 1.0, 3.0, np.nan])).tolist()
    [-1, -1, 1, 2, 0]
    """

    def __init__(self, labels: tuple[str, str] | None) -> None:
        self._texts = labels
        self._numbers: tuple[float, float, float] | None = (-1.0, 0.0, 1.0)
        if labels is not None:
            numeric = is_number(labels[0]) and is_number(labels[1])
            self._numbers = (float(labels[0]), float(labels[0]), float(labels[1])) if numeric else None

    def of_value(self, value: Any) -> int:
        """-1, +1, 0 for None, NaN and empty text, or UNKNOWN."""
        if value is None or value != value or value in ("", b""):  # noqa: PLR0124 - NaN is not itself
            return 0
        if self._numbers is None:
            text = as_text(value)
            return -1 if text == self._texts[0] else 1 if text == self._texts[1] else UNKNOWN  # type: ignore[index]
        text = as_text(value)
        number = float(value) if isinstance(value, bool) else float(text) if is_number(text) else None
        return -1 if number in self._numbers[:2] else 1 if number == self._numbers[2] else UNKNOWN

    def of_values(self, values: Sequence[Any]) -> NDArray[np.int8]:
        """The same for each of them."""
        return np.array([self.of_value(value) for value in values], np.int8)

    def of_numbers(self, values: NDArray[np.float64]) -> NDArray[np.int8]:
        """The same for an array of numbers."""
        if self._numbers is None:
            different, places = np.unique(values, return_inverse=True)
            return self.of_values(different.tolist())[places]
        other, negative, positive = self._numbers
        is_negative = (values == negative) | (values == other)
        y: NDArray[np.int8] = (values == positive).view(np.int8) - is_negative.view(np.int8)
        if np.count_nonzero(y) < y.size:
            rest = y == 0
            y[rest] = np.where(np.isnan(values[rest]), 0, UNKNOWN)
        return y

    def message(self, value: Any) -> str:
        """What is wrong with a label that is UNKNOWN or missing."""
        if self.of_value(value) == 0:
            return "the label is missing"
        text = as_text(value)
        shown = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
        return label_error(shown, self._texts)


def with_labels(schema: Schema, found: Iterable[Any], where: str) -> Schema:
    """The schema with the two labels that were `found` in the head of a file; -1 or 0, and 1 need not be named.

    Of two words the first in alphabetical order is the negative one, of two numbers the smaller.

    >>> with_labels(Schema(), ["spam", "ham", "spam"], "mail.parquet").labels
    ('ham', 'spam')
    >>> with_labels(Schema(), [2.0, 1.0, 2.0], "mail.svm").labels
    ('1', '2')
    >>> with_labels(Schema(), ["0", "1"], "mail.parquet").labels
    """
    if schema.labels is not None:
        return schema
    values = [value for value in found if Labels(None).of_value(value) != 0]
    if any(isinstance(value, str | bytes) and not is_number(as_text(value)) for value in values):
        texts = sorted({as_text(value) for value in values})
        if len(texts) != 2:
            raise _not_two(texts, where)
        return schema.replace(labels=(texts[0], texts[1]))
    every = {float(value) if isinstance(value, bool | np.bool_) else float(as_text(value)) for value in values}
    numbers = sorted(number for number in every if np.isfinite(number))
    if len(numbers) == 2 and not _USUAL.issuperset(numbers):
        return schema.replace(labels=(as_text(numbers[0]), as_text(numbers[1])))
    if len(numbers) > 2 and len(set(Labels(None).of_numbers(np.array(numbers)).tolist()) - {UNKNOWN}) < 2:
        raise _not_two([as_text(number) for number in numbers], where)
    return schema


def _not_two(texts: Sequence[str], where: str) -> InvalidDataError:
    shown = ", ".join(repr(text[:_SHOWN]) for text in texts[:_LISTED]) + (", ..." if len(texts) > _LISTED else "")
    return InvalidDataError(
        f"{where}: the labels must be two, but its first rows have {len(texts)} ({shown}): "
        "say which mean -1 and +1 with `labels=('NEGATIVE', 'POSITIVE')`; rows with others are left out"
    )
