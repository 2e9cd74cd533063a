"""Labels: numbers or text to -1 and +1, a missing one to 0; or, of more than two classes, to their numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.row_errors import label_error
from massart.data.schema import MOST_CLASSES, Schema
from massart.errors import InvalidDataError

__all__ = ["NEGATIVE", "UNKNOWN", "ClassNumbers", "Labels", "as_bytes", "as_text", "is_number", "with_labels"]

UNKNOWN: Final = 2  # what `Labels` answers for a label that is neither of the two

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE: Final = 2.0**53  # below it every whole number is a float64
_SHOWN: Final = 40  # characters of a label in a message
_LISTED: Final = 12  # labels that a message lists
_USUAL: Final = frozenset((-1.0, 0.0, 1.0))
_RARE: Final = 0.05  # share of the first rows below which labels other than two are taken for errors
_FEW: Final = 5  # the same in rows, where two of the labels are 0 and 1
_MEASURED: Final = 20  # different numbers, not all of them whole, that look like measurements

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

    Of more than two classes every label means +1 that is a number, if theirs are, or any text.

    >>> Labels(("no", "yes")).of_values(["yes", "no", "maybe", None, ""]).tolist()
    [1, -1, 2, 0, 0]
    >>> Labels(None).of_numbers(np.array([0.0, -1.0, 1.0, 3.0, np.nan])).tolist()
    [-1, -1, 1, 2, 0]
    >>> Labels(("1", "2", "3")).of_values([2, 7.5, "x", None]).tolist()
    [1, 1, 2, 0]
    """

    def __init__(self, labels: tuple[str, ...] | None) -> None:
        self._texts = labels
        self._numbers: tuple[float, float, float] | None = (-1.0, 0.0, 1.0)
        self.are_many = labels is not None and len(labels) > 2
        self.are_numbers = labels is None or all(map(is_number, labels))
        if labels is not None and not self.are_many:
            negative, positive = labels
            self._numbers = (float(negative), float(negative), float(positive)) if self.are_numbers else None

    def of_value(self, value: Any) -> int:
        """-1, +1, 0 for None, NaN and empty text, or UNKNOWN."""
        if value is None or value != value or value in ("", b""):  # noqa: PLR0124 - NaN is not itself
            return 0
        text = as_text(value)
        if self.are_many:
            return 1 if not self.are_numbers or is_number(text) else UNKNOWN
        if self._numbers is None:
            return -1 if text == self._texts[0] else 1 if text == self._texts[1] else UNKNOWN  # type: ignore[index]
        number = float(value) if isinstance(value, bool) else float(text) if is_number(text) else None
        return -1 if number in self._numbers[:2] else 1 if number == self._numbers[2] else UNKNOWN

    def of_values(self, values: Sequence[Any]) -> NDArray[np.int8]:
        """The same for each of them."""
        return np.array([self.of_value(value) for value in values], np.int8)

    def of_numbers(self, values: NDArray[np.float64]) -> NDArray[np.int8]:
        """The same for an array of numbers."""
        if self._numbers is None or self.are_many:
            different, places = np.unique(values, return_inverse=True)
            return self.of_values(different.tolist())[places]
        other, negative, positive = self._numbers
        is_negative = (values == negative) | (values == other)
        y: NDArray[np.int8] = (values == positive).view(np.int8) - is_negative.view(np.int8)
        if np.count_nonzero(y) < y.size:
            rest = y == 0
            y[rest] = np.where(np.isnan(values[rest]), 0, UNKNOWN)
        return y

    def names(self, values: Sequence[Any]) -> NDArray[Any]:
        """Labels of more than two classes as a chunk has them: numbers, if theirs are, or texts; None if missing.

        >>> Labels(("1", "2", "3")).names([2, "3", None]), Labels(("a", "b", "c")).names(["a", 7.0, ""])
        (array([ 2.,  3., nan]), array(['a', '7', None], dtype=object))
        """
        known = [self.of_value(value) == 1 for value in values]
        if self.are_numbers:
            return np.array([float(as_text(v)) if ok else np.nan for v, ok in zip(values, known, strict=True)])
        texts = np.empty(len(known), object)
        texts[:] = [as_text(v) if ok else None for v, ok in zip(values, known, strict=True)]
        return texts

    def message(self, value: Any) -> str:
        """What is wrong with a label that is UNKNOWN or missing."""
        if self.of_value(value) == 0:
            return "the label is missing"
        text = as_text(value)
        shown = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
        return label_error(shown, self._texts)


class ClassNumbers:
    """The numbers of the classes of labels: their places in the order of numbers, or in alphabetical order.

    With `grows`, a label that comes for the first time is a new class.

    >>> numbers = ClassNumbers(["1", "2", "10"], grows=True)
    >>> numbers.of(np.array([2.0, np.nan, 7.0, 1.0])).tolist(), numbers.names
    ([1, -1, 2, 0], ['1', '2', '7', '10'])
    >>> ClassNumbers(["a", "b", "c"], grows=False).of(np.array(["c", None, "x"], object)).tolist()
    [2, -1, -1]
    """

    def __init__(self, names: Sequence[str], *, grows: bool) -> None:
        self.grows = grows
        self._are_numbers = all(map(is_number, names))
        self._set({as_text(float(name)) if self._are_numbers else name for name in names})

    def _set(self, names: set[str]) -> None:
        self.names = sorted(names, key=float) if self._are_numbers else sorted(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def of(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """The number of each label's class, -1 for none, with the classes there are after these labels."""
        if labels.dtype == object:
            texts: list[str | None] = labels.tolist()
            different, places = list(dict.fromkeys(texts)), None
        else:
            values, places = np.unique(labels, return_inverse=True)
            different = [None if value != value else as_text(value) for value in values.tolist()]  # noqa: PLR0124 - NaN
        new = {name for name in different if name is not None} - self._numbers.keys()
        if new and self.grows:
            if len(self.names) + len(new) > MOST_CLASSES:
                raise InvalidDataError(f"there are more than {MOST_CLASSES:,} different labels: are they classes?")
            self._set({*self.names, *new})
        numbers = {name: -1 if name is None else self._numbers.get(name, -1) for name in different}
        if places is None:
            return np.array([numbers[text] for text in texts], np.int64)
        return np.array([numbers[name] for name in different], np.int64)[places]


def with_labels(schema: Schema, found: Iterable[Any], where: str) -> Schema:
    """The schema with the labels that were `found` in the head of a file, as often as they were.

    The labels -1 or 0, and 1 need not be named. Of two words the first in alphabetical order is the negative one, of
    two numbers the smaller. More than two labels are classes, and others may join them; but where two of them are 0 and
    1, or make up all but one in twenty rows, the others may be errors. Then words are refused, and of numbers it takes
    five rows with others than 0 and 1; beside -1 and 1, there are never other classes.

    >>> with_labels(Schema(), ["spam", "ham", "spam"], "mail.parquet").labels
    ('ham', 'spam')
    >>> with_labels(Schema(), [2.0, 1.0, 2.0], "mail.svm").labels
    ('1', '2')
    >>> with_labels(Schema(), ["0", "1"], "mail.parquet").labels
    >>> many = with_labels(Schema(), [3.0, 1.0, 2.0], "mail.vw")
    >>> many.labels, many.new_labels
    (('1', '2', '3'), True)
    """
    if schema.labels is not None:
        return schema
    usual = Labels(None)
    # With their types: True equals 1, but as a word it is another label.
    times = Counter((type(value), value) for value in found)
    values = [(value, count) for (_, value), count in times.items() if usual.of_value(value) != 0]
    if any(isinstance(value, str | bytes) and not is_number(as_text(value)) for value, _ in values):
        words: Counter[str] = Counter()
        for value, count in values:
            words[as_text(value)] += count
        if len(words) < 2 or (len(words) > 2 and _are_rare(words, [word for word, _ in words.most_common(2)])):
            raise _not_two(sorted(words), where)
        return _classes(schema, sorted(words))
    every: Counter[float] = Counter()
    for value, count in values:
        every[float(value) if isinstance(value, bool | np.bool_) else float(as_text(value))] += count
    numbers = sorted(number for number in every if np.isfinite(number))
    texts = [as_text(number) for number in numbers]
    if len(numbers) < 2 or _USUAL.issuperset(numbers):
        return schema
    meant = set(Labels(None).of_numbers(np.array(numbers)).tolist()) - {UNKNOWN}
    if len(numbers) > 2 and len(meant) == 2 and (-1.0 in every or _are_rare(every, _USUAL, _FEW)):
        return schema
    if len(numbers) > _MEASURED and not all(number.is_integer() for number in numbers):
        raise InvalidDataError(
            f"{where}: its first rows have {len(numbers):,} different labels, which look like measurements rather than "
            f"classes ({_listed(texts)}): name the labels with `labels`, or another column with `label`"
        )
    return _classes(schema, texts)


def _are_rare(counts: Counter[Any], usual: Iterable[Any], few: int = 0) -> bool:
    """Whether labels other than the usual ones are so rare, or so few, that they are rather errors than classes."""
    return counts.total() - sum(counts[label] for label in usual) < max(few, _RARE * counts.total())


def _classes(schema: Schema, labels: Sequence[str]) -> Schema:
    return schema.replace(labels=tuple(labels), new_labels=len(labels) > 2)


def _not_two(texts: Sequence[str], where: str) -> InvalidDataError:
    which = "only one label" if len(texts) == 1 else f"{len(texts)} different labels, some of them rare"
    return InvalidDataError(
        f"{where}: its first rows have {which} ({_listed(texts)}): "
        "name two with `labels=('NEGATIVE', 'POSITIVE')`, or all of several; rows with others are left out"
    )


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(repr(text[:_SHOWN]) for text in texts[:_LISTED]) + (", ..." if len(texts) > _LISTED else "")
