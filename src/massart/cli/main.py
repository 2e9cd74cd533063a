"""The `massart` command: each subcommand is a thin function that parses, makes one call and prints.

Only Typer is imported here. A command's own imports wait inside the command, so `massart --help` stays instant.
"""

from typing import Annotated

import typer

from massart import __version__
from massart.cli.bound import bound
from massart.cli.evaluate import evaluate
from massart.cli.race import race
from massart.cli.worlds import worlds

app = typer.Typer(
    name="massart",
    help="Online linear learning that keeps its promise when labels lie.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(race)
app.command()(worlds)
app.command()(bound)
app.command()(evaluate)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"massart {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Online linear learning that keeps its promise when labels lie."""
