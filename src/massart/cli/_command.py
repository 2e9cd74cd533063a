"""What all commands share: errors become a sentence and an exit code, and standard streams may be closed or full."""

import ast
import contextlib
import errno
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from massart.cli.process import Outlet, leave
from massart.errors import MassartError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FAILED", "FAILURES", "escaped", "failure", "open_streams", "plain_console", "reporting", "with_flags"]

FAILURES = (MassartError, OSError, MemoryError)  # what a command reports in a sentence
FAILED = 2  # its exit code then
_PLAIN_WIDTH = 120  # of a table that goes to a file or a pipe
_OF_STREAMS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)  # what writing to one may end with
_FLAGS: Mapping[str, str] = {  # of the parameters that messages name, where they differ from --name
    "bits": "-b",
    "crossings": "-q",
    "log_format": "--format",
    "model": "-f",
    "numbers": "--number",
    "probabilities": "--proba",
    "weighted": "--importances",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("label", "labels", "weight", "ignore", "categorical", "decimal", "format", "features", "names"),
            *("strict", "passes", "follow", "resume", "strict_resume", "max_weight", "reward_range"),
        )
    },
}
_PARAMETER = re.compile(r"(?P<without>[Ww]ith )?`(?P<name>[a-z_]+)(?:=(?P<value>[^`]*))?`")
_NO_MEMORY = (
    "there is not enough memory: ask for less (fewer columns with -b, fewer seeds), or run it where there is more"
)


@contextmanager
def reporting(
    name: str,
    stop: Callable[[], int | None] = lambda: None,
    interrupted: str = "",
    flags: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """A command runs inside of it; an error is reported on standard error and becomes the exit code.

    2 is the exit code of an error, 128 and its number that of a signal. `flags` are those of this command that
    other commands spell otherwise. A closed pipe at standard output ends the command without a message.
    """
    words, code = "", 0
    try:
        yield
    except BrokenPipeError:
        Outlet(sys.stdout).silence()
    except FAILURES as error:
        words, code = failure(error, flags), FAILED
    except KeyboardInterrupt:
        words, code = interrupted, 128 + (stop() or 2)
    if words:
        Outlet(sys.stderr, careless=True).say(f"{name}: {words}")
    if code:
        leave(code)


def failure(error: BaseException, flags: Mapping[str, str] | None = None) -> str:
    r"""What went wrong, in a sentence, on one line, with flags for parameters; what a file says is printed as text.

    >>> failure(OSError(28, "No space left on device")), failure(OSError(2, "No such file or directory", "a.svm"))
    ('standard output could not be written: No space left on device', 'a.svm: No such file or directory')
    >>> failure(MassartError("there is no column \x1b[31m"))
    'there is no column \\x1b[31m'
    """
    return with_flags(escaped(_words(error)), flags)


def with_flags(message: str, flags: Mapping[str, str] | None = None) -> str:
    """A message of the library, which names parameters of Python in backticks, with the flags of the command instead.

    >>> with_flags("choose with `label`, or pass `ignore=['a b', 'c']`; with `strict=False` the row is left out")
    "choose with `--label`, or pass `--ignore 'a b,c'`; without `--strict` the row is left out"
    """
    known = {**_FLAGS, **(flags or {})}

    def flag(found: re.Match[str]) -> str:
        before, name, value = found["without"] or "", known.get(found["name"]), found["value"]
        if name is None:
            return found[0]
        if value in ("True", "False"):
            return f"{before.rstrip()}out `{name}`" if before and value == "False" else f"{before}`{name}`"
        return f"{before}`{name}`" if value is None else f"{before}`{name} {_typed(value)}`"

    return _PARAMETER.sub(flag, message)


def _typed(value: str) -> str:
    r"""A Python literal as it is typed after a flag; what is no literal as it is.

    >>> _typed(r"'\x1b[31m'")
    "'\\x1b[31m'"
    """
    try:
        given = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return escaped(shlex.quote(",".join(map(str, given)) if isinstance(given, list | tuple) else str(given)))


def escaped(words: str) -> str:
    """What a file says, for a terminal: control characters are shown, not obeyed."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in words)


def _words(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return _NO_MEMORY
    if not isinstance(error, OSError) or isinstance(error, MassartError):
        return str(error)
    words = error.strerror or str(error)
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {words}"
    return f"standard output could not be written: {words}" if error.errno in _OF_STREAMS else words


def plain_console() -> "Console":
    """For tables on standard output; names from files are printed as they are."""
    from rich.console import Console

    console = Console(file=sys.stdout, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PLAIN_WIDTH)
    return console


def open_streams() -> None:
    """Let the three standard streams be there, whatever the process was started with.

    Else a file that is opened would get the number of a closed one, and be written into by whoever prints. What is
    written to a closed standard output is an error, as it would be in any program; a closed standard error is silent.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # it gets the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  a number, not a path
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _encode_anything(stream)


def _encode_anything(stream: Any) -> None:
    """A name that is no UTF-8, or a sign that the terminal does not know, is no reason to end."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        if stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
