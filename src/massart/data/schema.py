"""How the rows of a file become numbers: options, completed by a look at the file, kept in the model."""

import re
from collections.abc import Callable
from typing import Any, Final

from massart.errors import InvalidParameterError
from massart.values import Value

__all__ = ["BITS", "FORMATS", "MOST_BITS", "MOST_CLASSES", "MOST_COLUMNS", "MOST_FEATURES", "TEXTS", "Schema"]

TEXTS = ("svmlight", "vw", "csv", "jsonl")  # formats whose positions count bytes
FORMATS = (*TEXTS, "parquet", "arrow", "npy")
BITS = 18  # as many as Vowpal Wabbit takes by default
MOST_BITS = 30
MOST_FEATURES = 1 << 25  # columns that are counted rather than hashed
MOST_CLASSES: Final = 1 << 16
MOST_COLUMNS: Final = 1 << 20  # of a table, the elements of lists included
_LONGEST = 60  # characters of a value in a message


class Schema(Value):
    """What decides the column, the value and the label of everything in a file.

    Features are either counted, column j of the file being column j of the matrix, or hashed to 2**bits columns.

    >>> Schema(format="vw", bits=20).width
    1048576
    """

    format: str = "auto"  # or one of FORMATS
    label: str | None = None  # the label's column: its name, or its number from 1; tables only
    labels: tuple[str, ...] | None = None  # what means -1 and what means +1, or all classes; None: -1 or 0, and 1
    new_labels: bool = False  # whether other labels than these are classes, too: only where there are more than two
    weight: str | None = None  # the column of importances; tables only
    ignore: tuple[str, ...] = ()  # columns to leave out
    categorical: tuple[str, ...] = ()  # columns whose numbers are names
    numbers: tuple[str, ...] = ()  # CSV: columns of numbers with currencies, thousands or percent signs
    decimal: str | None = None  # CSV: the decimal sign, if it is not the point
    header: bool | None = None  # CSV: whether the first line names the columns
    separator: str | None = None  # CSV: between fields
    bits: int | None = None  # hash features to 2**bits columns
    features: int | None = None  # how many columns are counted, if that is known
    columns: tuple[str, ...] | None = None  # names of the feature columns of a table, in order
    crossings: tuple[str, ...] = ()  # namespaces whose features are multiplied: "ab", "abc"
    groups: tuple[str, ...] = ()  # columns whose values say which groups a row belongs to

    def __post_init__(self) -> None:
        if self.format not in ("auto", *FORMATS):
            raise InvalidParameterError(f"`format={self.format!r}`: choose one of auto, {', '.join(FORMATS)}")
        if self.bits is not None and not 1 <= self.bits <= MOST_BITS:
            raise InvalidParameterError(f"`bits={self.bits}`: give a whole number from 1 to {MOST_BITS}")
        if self.features is not None and not 1 <= self.features <= MOST_FEATURES:
            raise InvalidParameterError(f"`features={self.features}`: give 1 to {MOST_FEATURES:,}, or hash with `bits`")
        if self.labels is not None and (len(self.labels) < 2 or len(set(self.labels)) < len(self.labels)):
            raise InvalidParameterError(
                f"`labels={_shown(self.labels)}`: give two different labels, the negative one first, or all of several"
            )
        if self.new_labels and not self.is_many:
            raise InvalidParameterError("`new_labels=True`: classes can only join where there are more than two")
        if self.labels is not None and len(self.labels) > MOST_CLASSES:
            raise InvalidParameterError(f"`labels` are {len(self.labels):,}: there can be {MOST_CLASSES:,} classes")
        if self.decimal not in (None, ".", ","):
            raise InvalidParameterError(f"`decimal={self.decimal!r}`: choose . or ,")
        if len(set(self.groups)) < len(self.groups):
            raise InvalidParameterError(f"`groups={list(self.groups)}`: name each column once")
        both = [name for name in self.numbers if name in self.categorical]
        if both:
            raise InvalidParameterError(f"column {both[0]!r} cannot be in both `numbers` and `categorical`: choose one")

    @property
    def is_many(self) -> bool:
        """Whether there are more than two classes."""
        return self.labels is not None and len(self.labels) > 2

    @property
    def width(self) -> int | None:
        """The number of columns, if it is known."""
        return 1 << self.bits if self.bits is not None else self.features

    def as_dict(self) -> dict[str, Any]:
        """For a JSON header; `from_dict` gives it back.

        >>> Schema.from_dict(Schema(labels=("no", "yes")).as_dict()) == Schema(labels=("no", "yes"))
        True
        """
        given = {name: value for name, value in self.asdict().items() if value not in (None, ())}
        if not self.new_labels:
            del given["new_labels"]
        return given

    @classmethod
    def from_dict(cls, given: Any, *, width: int | None = None) -> "Schema":
        """The schema whose `as_dict()` this is, checked; `width` is that of the weights it belongs to.

        It may come from an untrusted file, and compiled code follows its columns into the weights. What holds for
        every schema that is returned: each field has its type; texts can be written as UTF-8; columns have different
        names; columns that are counted are as many as `features`; there are not both `features` and `bits`; crossings
        are of hashed columns; `width`, where it is known on both sides, is that of the weights. Fields of later
        versions are ignored.
        """
        if not isinstance(given, dict):
            raise InvalidParameterError("a schema must be an object with named fields")
        own: dict[str, Any] = {}
        for name, (is_right, what) in _TYPES.items():
            value = given.get(name)
            if value is None:
                continue
            value = tuple(value) if isinstance(value, list) else value
            if not is_right(value):
                raise InvalidParameterError(f"{name} of a schema must be {what}, not {_shown(value)}")
            own[name] = value
        made = cls(**own)
        made._check_fit(width)
        return made

    def _check_fit(self, width: int | None) -> None:
        columns = self.columns
        if columns is not None and len(set(columns)) < len(columns):
            raise InvalidParameterError("two columns of a schema have the same name")
        if columns is not None and len(columns) > MOST_COLUMNS:
            raise InvalidParameterError(f"a schema has {len(columns):,} columns, more than {MOST_COLUMNS:,}")
        if self.bits is not None and self.features is not None:
            raise InvalidParameterError("a schema has both bits and features: columns are hashed or counted")
        if columns is not None and self.bits is None and self.features != len(columns):
            raise InvalidParameterError(f"a schema names {len(columns):,} columns, but counts {self.features}")
        if self.crossings and self.bits is None:
            raise InvalidParameterError("a schema has crossings, but no bits: only hashed columns are crossed")
        if width is not None and self.width not in (None, width):
            raise InvalidParameterError(f"a schema has {self.width:,} columns, but the weights have {width:,}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any(0xD800 <= ord(one) < 0xE000 for one in value if one > "\ud7ff")


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


_CROSSING: Final = re.compile(r"[!-{}~]{2,3}")
_TYPES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "format": (_is_text, "a text"),
    "label": (_is_text, "a text"),
    "labels": (lambda value: _are_texts(value) and len(value) >= 2, "two texts or more"),
    "new_labels": (lambda value: isinstance(value, bool), "true or false"),
    "weight": (_is_text, "a text"),
    "ignore": (_are_texts, "a list of texts"),
    "categorical": (_are_texts, "a list of texts"),
    "numbers": (_are_texts, "a list of texts"),
    "decimal": (_is_text, "a text"),
    "header": (lambda value: isinstance(value, bool), "true or false"),
    "separator": (lambda value: value in (",", "\t", ";", "|"), "a comma, tab, semicolon or bar"),
    "bits": (_is_whole, "a whole number"),
    "features": (_is_whole, "a whole number"),
    "columns": (lambda value: _are_texts(value) and len(value) > 0, "a list of texts"),
    "groups": (_are_texts, "a list of texts"),
    "crossings": (
        lambda value: _are_texts(value) and all(map(_CROSSING.fullmatch, value)),
        "two or three letters each",
    ),
}
