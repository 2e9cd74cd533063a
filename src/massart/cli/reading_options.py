"""The options that say how rows are read, for every command that reads them."""

from collections.abc import Sequence
from pathlib import Path
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
        metavar="A,B,...",
        help="The labels: two, the negative one first, or all of several.  \\[default: -1 or 0, and 1; or those in the "
        "first rows]",
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
Interactions = Annotated[
    list[str] | None,
    Option("--interactions", metavar="AB|ABC", help="The same with two or three, as Vowpal Wabbit has it."),
]
Data = Annotated[
    list[str] | None,
    Option("--data", "-d", metavar="FILE", help="A file, as Vowpal Wabbit has it: as if named without -d."),
]
Report = Annotated[
    Path | None,
    Option(
        metavar="PAGE",
        help="Write an HTML page: error and bound over rounds, experts, weights, reliability, answers.",
        show_default=False,
    ),
]
Classes = Annotated[
    int | None, Option("--oaa", metavar="K", min=2, help="The labels are 1 to K, as Vowpal Wabbit has it.")
]
# Flags of Vowpal Wabbit that mean nothing here, and what to do instead.
REFUSED = {
    "-l": "there is no learning rate to set: experts at several paces learn side by side",
    "--learning_rate": "there is no learning rate to set: experts at several paces learn side by side",
    "--power_t": "there is no learning rate to set: experts at several paces learn side by side",
    "--initial_t": "there is no learning rate to set: experts at several paces learn side by side",
    "--loss_function": "there is no loss to choose: what is bounded is the number of mistakes",
    "--ngram": "n-grams are not made here: write them into the rows as features",
    "--skips": "n-grams are not made here: write them into the rows as features",
    "--l1": "there is no regularisation to set",
    "--l2": "there is no regularisation to set",
    "-c": "there is no cache: rows are parsed as they are read, in every pass",
    "--cache_file": "there is no cache: rows are parsed as they are read, in every pass",
    "-t": "`massart predict MODEL DATA` predicts without learning",
    "--testonly": "`massart predict MODEL DATA` predicts without learning",
    "--csoaa": "costs of classes are not learned: give each row its label, with --oaa K",
    "--cb": "`massart bandit LOG -f MODEL` learns from logs of decisions",
    "--cb_adf": "`massart bandit LOG -f MODEL` learns from logs of decisions",
    "--cb_explore": "`massart bandit LOG -f MODEL` learns from logs of decisions",
    "--cb_explore_adf": "`massart bandit LOG -f MODEL` learns from logs of decisions",
}


def refuse_flags(words: Sequence[str]) -> None:
    """Raise if a flag is one of Vowpal Wabbit's that has no meaning here.

    >>> refuse_flags(["a.vw", "--ngram=2"])
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: --ngram is an option of Vowpal Wabbit; n-grams are not made here: ...
    """
    for word in words:
        flag = word.partition("=")[0]
        if flag in REFUSED:
            raise InvalidParameterError(f"{flag} is an option of Vowpal Wabbit; {REFUSED[flag]}")


def asked_reading(
    data_format: str,
    labels: str | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
    number: Sequence[str] | None,
    quadratic: Sequence[str] | None,
    cubic: Sequence[str] | None,
    interactions: Sequence[str] | None = None,
    decimal: str | None = None,
    groups: Sequence[str] | None = None,
    classes: int | None = None,
    **rest: Any,
) -> dict[str, Any]:
    """The fields of a `Schema` from what was typed.

    >>> asked_reading("auto", "no,yes", ["id,day"], None, None, ["ab"], None)["ignore"]
    ('id', 'day')
    """
    return {
        "format": data_format,
        "labels": _labels(labels, classes),
        "ignore": _names(ignore),
        "categorical": _names(categorical),
        "numbers": _names(number),
        "groups": _names(groups),
        "decimal": None if decimal == "." else decimal,
        "crossings": (
            *_crossings(quadratic, 2, "-q"),
            *_crossings(cubic, 3, "--cubic"),
            *(one for named in interactions or () for one in _crossings([named], len(named), "--interactions")),
        ),
        **rest,
    }


def _labels(labels: str | None, classes: int | None) -> tuple[str, ...] | None:
    if labels is not None and classes is not None:
        raise InvalidParameterError("--labels and --oaa both name the labels: give one of them")
    if labels is None:
        return None if classes is None else tuple(str(number + 1) for number in range(classes))
    found = [label.strip() for label in labels.split(",")]
    if len(found) < 2 or not all(found):
        raise InvalidParameterError(
            f"--labels {labels}: give two, the negative one first, as in --labels no,yes, or all of several"
        )
    return tuple(found)


def _names(given: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name for one in given or () for name in one.split(",") if name)


def _crossings(given: Sequence[str] | None, letters: int, option: str) -> tuple[str, ...]:
    for one in given or ():
        if len(one) != letters:
            raise InvalidParameterError(f"{option} {one}: give the first letters of {letters} namespaces")
    return tuple(given or ())
