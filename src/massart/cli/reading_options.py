"""The options that say how rows are read, for every command that reads them."""

from collections.abc import Sequence
from typing import Annotated, Any

from massart.cli.parameters import Option
from massart.errors import InvalidParameterError

FORMATS = "svmlight, vw, csv, jsonl, parquet, arrow or npy"

Label = Annotated[
    str | None,
    Option(help="The label's column of a table: a name, or a number from 1 (-1: the last).", metavar="COL"),
]
Labels = Annotated[
    str | None,
    Option(
        metavar="NEG,POS",
        help="The two labels, the negative one first.  \\[default: -1 or 0, and 1; or the two in the first rows]",
        show_default=False,
    ),
]
Weight = Annotated[str | None, Option(metavar="COL", help="The column of importances of a table.")]
Ignore = Annotated[
    list[str] | None, Option(metavar="COL", help="A column of a table to leave out; several with commas.")
]
Categorical = Annotated[
    list[str] | None, Option(metavar="COL", help="A column whose numbers are names; several with commas.")
]
Number = Annotated[
    list[str] | None,
    Option(
        metavar="COL",
        help="A column of CSV that holds numbers with a currency, thousands or percent sign; several with commas.",
    ),
]
Decimal = Annotated[str | None, Option(metavar=".|,", help="The decimal sign of CSV.  \\[default: .]")]
Bits = Annotated[
    int | None, Option("--bits", "-b", help="Hash features to 2**BITS columns; 18 where hashing is needed.")
]
Groups = Annotated[
    list[str] | None,
    Option(
        metavar="COL",
        help="A column, by name or number from 1, whose values are groups, each with a mistake bound of its own; "
        "several with commas.",
    ),
]
Features = Annotated[int | None, Option(help="How many columns there are, if svmlight should not have to find out.")]
Quadratic = Annotated[
    list[str] | None,
    Option("--quadratic", "-q", metavar="AB", help="Multiply the features of namespaces A... and B..."),
]
Cubic = Annotated[list[str] | None, Option("--cubic", metavar="ABC", help="The same with three namespaces.")]


def asked_reading(
    data_format: str,
    labels: str | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
    number: Sequence[str] | None,
    quadratic: Sequence[str] | None,
    cubic: Sequence[str] | None,
    decimal: str | None = None,
    groups: Sequence[str] | None = None,
    **rest: Any,
) -> dict[str, Any]:
    """The fields of a `Schema` from what was typed.

    >>> asked_reading("auto", "no,yes", ["id,day"], None, None, ["ab"], None)["ignore"]
    ('id', 'day')
    """
    return {
        "format": data_format,
        "labels": _two(labels),
        "ignore": _names(ignore),
        "categorical": _names(categorical),
        "numbers": _names(number),
        "groups": _names(groups),
        "decimal": None if decimal == "." else decimal,
        "crossings": (*_crossings(quadratic, 2, "-q"), *_crossings(cubic, 3, "--cubic")),
        **rest,
    }


def _two(labels: str | None) -> tuple[str, str] | None:
    if labels is None:
        return None
    found = [label.strip() for label in labels.split(",")]
    if len(found) != 2 or not all(found):
        raise InvalidParameterError(f"--labels {labels}: give two, the negative one first, as in --labels no,yes")
    return found[0], found[1]


def _names(given: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name for one in given or () for name in one.split(",") if name)


def _crossings(given: Sequence[str] | None, letters: int, option: str) -> tuple[str, ...]:
    for one in given or ():
        if len(one) != letters:
            raise InvalidParameterError(f"{option} {one}: give the first letters of {letters} namespaces")
    return tuple(given or ())
