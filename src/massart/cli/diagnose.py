"""`massart diagnose`: which labels of a file are probably wrong, and where, in one pass."""

import json as json_format
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from massart.cli import reading_options as options
from massart.cli._command import escaped, plain_console, reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, quick_start
from massart.errors import InvalidParameterError

if TYPE_CHECKING:
    from massart.label_errors import Diagnosis

_NAME: Final = "massart diagnose"
_SHOWN: Final = 10  # rows and places on a terminal


def diagnose(
    data: Annotated[
        list[str] | None,
        Argument(
            help="Files, folders, patterns, or - for standard input, which is also taken when rows are piped in. "
            "Plain, gzip, zstd or bz2.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, Option(min=0, help="How many rows to keep, the least probable labels first.")] = 100,
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="ROWS", help="Write these rows to a .csv or .parquet file.", show_default=False),
    ] = None,
    scores: Annotated[
        Path | None,
        Option(metavar="ROWS", help="Write the scores of all rows to a .csv or .parquet file.", show_default=False),
    ] = None,
    report: Annotated[
        Path | None, Option(metavar="PAGE", help="Write an HTML page with plots.", show_default=False)
    ] = None,
    delay: Annotated[
        int,
        Option(
            min=0,
            help="Hold so many rows in memory and score each once so many others were learned; 0: score rows before "
            "they are learned.",
        ),
    ] = 65_536,
    confidence: Annotated[float, Option(help="Of the limits, and of all places together.")] = 0.99,
    label: options.Label = None,
    labels: options.Labels = None,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    number: options.Number = None,
    decimal: options.Decimal = None,
    groups: Annotated[
        list[str] | None,
        Option(metavar="COL", help="A column whose values are places of their own; several with commas."),
    ] = None,
    data_format: Annotated[str, Option("--format", help=f"auto, {options.FORMATS}.")] = "auto",
    bits: options.Bits = None,
    features: options.Features = None,
    noise_rate: Annotated[
        float | None,
        Option(help="Largest probability that a label is flipped, below 0.5. Not given: several are tried."),
    ] = None,
    margin: Annotated[
        float | None, Option(help="As in massart train. Not given: several are tried.", show_default=False)
    ] = None,
    seed: Annotated[int, Option(min=0, help="Random seed.")] = 0,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed row.")] = False,
    threads: Annotated[int, Option(min=1, help="That read and parse.")] = 2,
    json: Annotated[bool, Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    r"""Find rows whose label is probably wrong, and where labels are wrong most often, in one pass.

    Each row is predicted before it is learned: labels that contradict predictions are counted, with limits that hold.

    [bold]Example[/bold]

    printf '1 1:1\n-1 1:-1\n1 1:1\n-1 1:-1\n' | massart diagnose - --features 1

    massart diagnose clicks.csv --label click --out again.csv --report page.html
    """
    with reporting(_NAME, flags={"scores": "--scores", "top": "--top", "delay": "--delay", "groups": "--groups"}):
        if not data:
            if sys.stdin is None or sys.stdin.isatty():
                raise InvalidParameterError("name a file with labels, or pipe rows in")
            data = ["-"]
        reading = options.asked_reading(
            data_format, labels, ignore, categorical, number, None, None,
            label=label, weight=weight, decimal=decimal, bits=bits, features=features,
        )  # fmt: skip
        reading = {name: value for name, value in reading.items() if value is not None and name != "groups"}
        places = [name for one in groups or () for name in one.split(",") if name]
        _check_places(data, {"the rows": out, "the scores": scores, "the page": report})
        quick_start()
        from massart.label_errors import diagnose as run

        found = run(
            data, groups=places or None, top=top, delay=delay, confidence=confidence, scores=scores,
            noise_rate=noise_rate, margin=margin, random_state=seed, strict=strict, workers=threads, **reading,
        )  # fmt: skip
        if out is not None:
            found.write(out)
        if report is not None:
            found.report(report, shlex.join(["massart", *sys.argv[1:]]))
        if json:
            Outlet(sys.stdout).say(json_format.dumps(as_json(found), indent=2, ensure_ascii=False, default=str))
        elif not quiet:
            _draw(found)


def _check_places(data: list[str], written: dict[str, Path | None]) -> None:
    """Refuse before an hour's work what could not be written after it."""
    from massart.files import check_place
    from massart.label_errors.suspects import check_table

    asked = {what: path for what, path in written.items() if path is not None}
    if len(set(asked.values())) < len(asked):
        raise InvalidParameterError("two outputs have the same name: give each its own")
    for what, path in asked.items():
        if what != "the page":
            check_table(path, what)
        check_place(path, what, devices=what != "the page")
        if path.is_file() and any(Path(one).exists() and path.samefile(one) for one in data if one != "-"):
            raise InvalidParameterError(f"{path} is what is to be read: give another name for {what}")


def as_json(found: "Diagnosis") -> dict[str, Any]:
    """All numbers, but for the learner."""
    return {
        "what": found.what,
        "rows": found.rows,
        "left_out": found.left_out,
        "labels": {str(label): rows for label, rows in found.labels.items()},
        "compared": found.compared,
        "disagreements": found.disagreements,
        "rate": found.rate,
        "limits": list(found.limits),
        "confidence": found.confidence,
        "noise_rate": found.noise_rate,
        "suspected": found.suspected,
        "certificate": found.certificate.sentence,
        "places": [{**one._asdict(), "rate": one.rate, "verdict": one.verdict} for one in found.places],
        "suspects": [one._asdict() for one in found.suspects],
    }


def _draw(found: "Diagnosis") -> None:
    """Facts and two tables; what a file says is shown as text."""
    from rich.table import Table
    from rich.text import Text

    console = plain_console()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column()
    for name, words in found.facts():
        facts.add_row(Text(name), Text(escaped(words)))
    console.print(facts)
    marked = [one for one in found.places if one.verdict]
    shown = [one for one in marked if one.verdict == "more"][:_SHOWN] or marked[:_SHOWN]
    if shown:
        table = Table(header_style="bold", title="Where labels and predictions disagree", title_justify="left")
        table.add_column("place")
        for head in ("than elsewhere", "rows", "rate", "interval", "elsewhere"):
            table.add_column(head, justify="right", no_wrap=True)
        for one in shown:
            spans = f"{one.low:.1%} - {one.high:.1%}", f"{one.rest_low:.1%} - {one.rest_high:.1%}"
            row = escaped(one.name), f"{one.verdict} often", f"{one.rows:,}", f"{one.rate:.1%}", *spans
            table.add_row(*map(Text, row))
        console.print(table)
    if found.suspects:
        table = Table(header_style="bold", title="Rows to look at again", title_justify="left")
        table.add_column("row")
        for head in ("label", "most probable", "probability of the label"):
            table.add_column(head, justify="right")
        for suspect in found.suspects[:_SHOWN]:
            where = f"{suspect.source}, line {suspect.line:,}" if suspect.source else f"{suspect.row:,}"
            cells = where, str(suspect.label), str(suspect.suggested), f"{suspect.probability:.4f}"
            table.add_row(*(Text(escaped(cell)) for cell in cells))
        console.print(table)
        if len(found.suspects) > _SHOWN:
            console.print(f"and {len(found.suspects) - _SHOWN:,} more: --out rows.csv writes them")
