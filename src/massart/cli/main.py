"""The `massart` command: each subcommand is a thin function that parses, makes one call and prints.

Only Typer is imported here. A command's own imports wait inside the command, so `massart --help` stays instant.
"""

import errno
import gc
import os
import sys
from typing import Annotated, NoReturn

import typer
from typer.core import TyperArgument

from massart import __version__
from massart.cli._command import FAILED, FAILURES, failure, open_streams
from massart.cli.bound import bound
from massart.cli.convert import convert
from massart.cli.doctor import doctor
from massart.cli.evaluate import evaluate
from massart.cli.inspect import inspect
from massart.cli.predict import predict
from massart.cli.process import Outlet, with_log
from massart.cli.race import race
from massart.cli.train import train
from massart.cli.warmup import warmup
from massart.cli.worlds import worlds

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
for command in (train, predict, inspect, convert, race, worlds, bound, evaluate, doctor, warmup):
    app.command()(with_log(command))


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


def run() -> NoReturn:
    """Run a command and end the process at once: to take Numba and LLVM apart takes longer than a small training.

    Not so if joblib was loaded, which has processes and folders to clear away.
    """
    open_streams()
    gc.set_threshold(100_000, 50, 100)  # Numba makes many objects when it is imported, and none of them is garbage
    try:
        app()
        code: str | int | None = 0
    except SystemExit as end:
        code = end.code
    except FAILURES as error:
        Outlet(sys.stderr, careless=True).say(f"massart: {failure(error)}")
        code = FAILED
    code = _flushed(code)
    if isinstance(code, str) or "joblib" in sys.modules:
        sys.exit(code)
    os._exit(code or 0)


def _flushed(code: str | int | None) -> str | int | None:
    """The exit code once all is written, which is another if that fails."""
    out, err = Outlet(sys.stdout), Outlet(sys.stderr, careless=True)
    try:
        sys.stdout.flush()
    except OSError as error:
        out.silence()
        if not code and error.errno != errno.EPIPE:
            err.say(f"massart: {failure(error)}")
            code = FAILED
    err.write(b"")
    return code
