"""The `massart` command: each subcommand is a thin function that parses, makes one call and prints.

The module of the command that is called is loaded, and of that only what it uses: a command's own imports wait inside
of it, and Typer waits until somebody asks for help or a command line is not ordinary.
"""

import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from massart.cli._command import FAILED, FAILURES, failure, open_streams
from massart.cli.parameters import understood
from massart.cli.process import Outlet, with_log

__all__ = ["COMMANDS", "call", "command_named", "run"]

# Each is a module of this package with a function of the same name; help lists them in this order.
COMMANDS = (
    "train",
    "predict",
    "inspect",
    "convert",
    "diagnose",
    "race",
    "worlds",
    "bound",
    "evaluate",
    "bandit",
    "serve",
    "replay",
    "loadtest",
    "doctor",
    "warmup",
)

_LIKE_VW = ("train",)  # commands that take its options where these mean the same


def command_named(name: str) -> Callable[..., None]:
    """The function of a command."""
    found: Callable[..., None] = getattr(import_module(f"massart.cli.{name}"), name)
    return found


def run() -> NoReturn:
    """Run a command and end the process at once: to take apart what was loaded takes as long as a small training.

    Not so if joblib was loaded, which has processes and folders to clear away.
    """
    open_streams()
    gc.set_threshold(100_000, 50, 100)  # imports make many objects, and none of them is garbage
    code: str | int | None = 0
    try:
        call(sys.argv[1:])
    except SystemExit as end:
        code = end.code
    except BrokenPipeError:
        Outlet(sys.stdout).silence()
        code = 1
    except FAILURES as error:
        Outlet(sys.stderr, careless=True).say(f"massart: {failure(error)}")
        code = FAILED
    except KeyboardInterrupt:
        code = 128 + 2
    code = _flushed(code)
    if isinstance(code, str) or "joblib" in sys.modules:
        sys.exit(code)
    os._exit(code or 0)


def call(words: Sequence[str]) -> None:
    """Call a command: at once if the command line is an ordinary one, else by Typer.

    On Windows Typer expands patterns, and shells that complete a line ask by a variable of the environment.
    """
    if words and words[0] in COMMANDS and os.name != "nt" and "_MASSART_COMPLETE" not in os.environ:
        command = command_named(words[0])
        options = understood(command, words[1:])
        if options is not None:
            return with_log(command)(**options)
        if words[0] in _LIKE_VW:
            _refuse_flags(words[0], words[1:])
    from massart.cli.app import app

    app()
    return None


def _refuse_flags(name: str, words: Sequence[str]) -> None:
    """End if an option is one of Vowpal Wabbit's that has no meaning here: Typer would only say that there is none."""
    from massart.cli._command import reporting
    from massart.cli.reading_options import refuse_flags

    with reporting(f"massart {name}"):
        refuse_flags(words)


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
