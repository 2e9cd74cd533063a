"""The Typer application: help, completion, messages about mistakes, and command lines that are not ordinary."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperArgument

from massart import __version__
from massart.cli.main import COMMANDS, command_named
from massart.cli.parameters import Command, Declared
from massart.cli.process import with_log


def for_typer(command: Command) -> Command:
    """A command, perhaps wrapped, with its declarations as Typer reads them."""
    signature = inspect.signature(command)
    parameters = [one.replace(annotation=_translated(one.annotation)) for one in signature.parameters.values()]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _translated(annotation: Any) -> Any:
    kind, *about = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    for one in about:
        if isinstance(one, Declared):
            made: Callable[..., Any] = typer.Option if one.is_option else typer.Argument
            return Annotated[kind, made(*one.flags, **one.settings)]
    return annotation


# Typer shows the Python type of an argument, as in <list[str]>; its name and its text say enough.
TyperArgument.display_type_rich = lambda self, ctx: None  # type: ignore[method-assign]
app = typer.Typer(
    name="massart",
    help="Online linear classification with a mistake bound when labels are wrong unevenly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name in COMMANDS:
    app.command()(for_typer(with_log(command_named(name))))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"massart {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Online linear classification with a mistake bound when labels are wrong unevenly."""
