"""`massart convert`: data from one format to another, or a model for other programs."""

import sys
from typing import Annotated, Any

from massart.cli import reading_options as options
from massart.cli._command import reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, Stop
from massart.errors import InvalidParameterError, counted

_NAME = "massart convert"


def convert(
    paths: Annotated[
        list[str],
        Argument(
            metavar="IN... OUT",
            help="Files, folders, patterns, or - for standard input; last, the file to write, or - for standard "
            "output. Or a model file, and a .json, .npz or .onnx file.",
        ),
    ],
    read_as: Annotated[str, Option("--from", help=f"What is read: auto, {options.FORMATS}.")] = "auto",
    to: Annotated[
        str,
        Option("--to", help=f"What is written: auto (by the name), {options.FORMATS}; a model: json, npz or onnx."),
    ] = "auto",
    label: options.Label = None,
    labels: options.Labels = None,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    number: options.Number = None,
    decimal: options.Decimal = None,
    bits: options.Bits = None,
    features: options.Features = None,
    quadratic: options.Quadratic = None,
    cubic: options.Cubic = None,
    unlabelled: Annotated[bool, Option("--unlabelled", help="Rows need no label.")] = False,
    importances: Annotated[
        bool, Option("--importances", help="Write a column of importances even if the first rows have none.")
    ] = False,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed row and write nothing.")] = False,
    threads: Annotated[int, Option(min=1, help="That read and parse.")] = 2,
    quiet: Annotated[bool, Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    r"""Write data in another format, or a model as JSON, scikit-learn coefficients (.npz) or ONNX.

    Malformed rows are left out and counted. The file is there when it is whole, or not at all. Columns of numbers
    keep their names; if a table has columns of text, their values are hashed, and written as numbers.

    [bold]Example[/bold]

    massart convert clicks.csv.gz clicks.vw --label click

    massart convert model.massart model.onnx
    """
    with Stop() as stop, reporting(_NAME, stop, flags={"format": "--from"}):
        if len(paths) < 2:
            raise InvalidParameterError("name what to read, then what to write: massart convert a.csv a.svm")
        asked = options.asked_reading(
            read_as,
            labels,
            ignore,
            categorical,
            number,
            quadratic,
            cubic,
            label=label,
            weight=weight,
            decimal=decimal,
            bits=bits,
            features=features,
        )
        how = {"labelled": not unlabelled, "weighted": importances or None, "strict": strict, "workers": threads}
        _convert(paths[:-1], paths[-1], to, asked, how, quiet=quiet)


def _convert(given: list[str], out: str, to: str, asked: dict[str, Any], how: dict[str, Any], *, quiet: bool) -> None:
    from massart.models.opening import is_model_file

    err = Outlet(sys.stderr, careless=True)
    if any(map(is_model_file, given)):
        if len(given) > 1:
            raise InvalidParameterError(f"{given[0]} and others: convert one model at a time")
        from massart.models.export import export_model

        weights = export_model(given[0], out, to)
        if not quiet:
            err.say(f"{_NAME}: {weights:,} weights that are not 0 written to {out}")
        return
    from massart.cli.progress import row_progress
    from massart.data.schema import Schema
    from massart.data.writers import convert_rows

    schema = Schema(**{name: value for name, value in asked.items() if value is not None})
    with row_progress(err, _NAME, quiet=quiet, to_stdout=out == "-") as callbacks:
        found = convert_rows(
            given,
            out,
            schema,
            to=to,
            on_error=callbacks.row_error,
            on_rows=callbacks.advanced,
            on_warning=callbacks.note,
            **how,
        )
    if not quiet:
        words = [f"{counted(found.rows, 'row')} written to {'standard output' if out == '-' else out}"]
        if found.left_out:
            words.append(f"{found.left_out:,} left out")
        err.say(f"{_NAME}: {'; '.join(words)}")
