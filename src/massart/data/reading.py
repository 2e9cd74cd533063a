"""How the rows of a file become numbers: what was asked for, completed by a look at the file, kept in the model."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from massart.errors import InvalidParameterError

__all__ = ["BITS", "FORMATS", "MOST_BITS", "MOST_FEATURES", "Reading"]

FORMATS = ("svmlight", "vw", "csv", "jsonl", "parquet", "arrow", "npy")
BITS = 18  # as many as Vowpal Wabbit takes by default
MOST_BITS = 30
MOST_FEATURES = 1 << 25  # columns that are counted rather than hashed


@dataclass(frozen=True)
class Reading:
    """What decides the column, the value and the label of everything in a file.

    Features are either counted, column j of the file being column j of the matrix, or hashed to 2**bits columns.

    >>> Reading(format="vw", bits=20).width
    1048576
    """

    format: str = "auto"  # or one of FORMATS
    label: str | None = None  # the label's column: its name, or its number from 1; tables only
    labels: tuple[str, str] | None = None  # what means -1 and what means +1; None: -1 or 0, and 1
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

    def __post_init__(self) -> None:
        if self.format not in ("auto", *FORMATS):
            raise InvalidParameterError(f"format={self.format!r}: choose one of auto, {', '.join(FORMATS)}")
        if self.bits is not None and not 1 <= self.bits <= MOST_BITS:
            raise InvalidParameterError(f"bits={self.bits}: give a whole number from 1 to {MOST_BITS}")
        if self.features is not None and not 1 <= self.features <= MOST_FEATURES:
            raise InvalidParameterError(f"features={self.features}: give 1 to {MOST_FEATURES:,}, or hash with bits")
        if self.labels is not None and (len(self.labels) != 2 or self.labels[0] == self.labels[1]):
            raise InvalidParameterError(f"labels={self.labels}: give two different labels, the negative one first")

        if self.decimal not in (None, ".", ","):
            raise InvalidParameterError(f"decimal={self.decimal!r}: choose . or ,")
        both = [name for name in self.numbers if name in self.categorical]
        if both:
            raise InvalidParameterError(f"column {both[0]!r} cannot be both numbers and categorical: choose one")

    @property
    def width(self) -> int | None:
        """The number of columns, if it is known."""
        return 1 << self.bits if self.bits is not None else self.features

    def as_dict(self) -> dict[str, Any]:
        """For a JSON header; `from_dict` gives it back.

        >>> Reading.from_dict(Reading(labels=("no", "yes")).as_dict()) == Reading(labels=("no", "yes"))
        True
        """
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Reading":
        """The reading whose `as_dict()` this is."""
        known = {field.name for field in fields(cls)}
        own: dict[str, Any] = {}
        for name, value in given.items():
            if name in known:
                own[name] = tuple(value) if isinstance(value, list) else value
        return cls(**own)
