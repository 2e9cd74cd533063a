"""`massart inspect`: a page about a model file."""

import json as json_format
import sys
from pathlib import Path
from typing import Annotated, Any

from massart.cli._command import plain_console, reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet


def inspect(
    model: Annotated[Path, Argument(help="The model file, or a checkpoint.")],
    top: Annotated[int, Option(min=0, help="So many of the heaviest features.")] = 10,
    names: Annotated[
        list[str] | None,
        Option(
            metavar="DATA",
            help="Where names were hashed: look through this data, at most 200,000 rows, for names of the heaviest.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Show what a model is, how it was trained, its mistake bound and its heaviest features.

    [bold]Example[/bold]

    massart inspect model.massart --top 20 --names train.vw
    """
    with reporting("massart inspect"):
        from massart.cli.inspect_page import inspect_model

        found = inspect_model(model, top, names or ())
        out = Outlet(sys.stdout)
        if json:
            out.say(json_format.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
        elif sys.stdout.isatty():
            _draw(found)
        else:
            out.say("\n".join(_lines(found)))


def _lines(found: dict[str, Any]) -> list[str]:
    """The page as plain text."""
    from massart.cli.inspect_page import fact_lines, feature_heads, feature_rows

    facts = fact_lines(found)
    width = max(12, *(len(name) for name, _ in facts))
    lines = [f"{name:<{width}}  {words}" for name, words in facts]
    rows = feature_rows(found)
    if rows:
        rows = [feature_heads(found), *rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        left = 2 if isinstance(found["features"], dict) else 1  # columns of text, before those of numbers
        lines += [
            "  ".join([*map(str.ljust, row[:left], widths), *map(str.rjust, row[left:], widths[left:])]) for row in rows
        ]
    return lines


def _draw(found: dict[str, Any]) -> None:
    """The page on a terminal."""
    from rich.table import Table
    from rich.text import Text

    from massart.cli.inspect_page import fact_lines, feature_heads, feature_rows

    console = plain_console()
    page = Table.grid(padding=(0, 2))
    page.add_column(style="bold", no_wrap=True)
    page.add_column()
    for name, words in fact_lines(found):
        page.add_row(Text(name), Text(words))
    console.print(page)
    rows = feature_rows(found)
    if rows:
        table = Table(header_style="bold")
        for head in feature_heads(found):
            number = "weight" in head
            table.add_column(head, justify="right" if number else "left", no_wrap=number)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
