"""Standard output and standard error, either of which may lead into a pipe that nobody reads any more."""

import contextlib
import os
import sys
import threading
from typing import NoReturn, TextIO

import typer

from massart.errors import MassartError

__all__ = ["Outlet", "leave"]


class Outlet:
    """Write to a stream; once its reader has gone, what is written vanishes.

    `careless`: it is only talk, so any other trouble is no reason to stop either.
    """

    def __init__(self, stream: TextIO, *, careless: bool = False) -> None:
        self._stream = stream
        self._careless = careless
        self.broken = False

    def write(self, text: bytes, /) -> None:
        """Write bytes, and let them go at once."""
        if self.broken:
            return
        try:
            self._stream.flush()
            self._stream.buffer.write(text)
            self._stream.buffer.flush()
        except BrokenPipeError:
            self.silence()
        except OSError as error:
            if not self._careless:
                raise MassartError(f"standard output could not be written: {error.strerror}") from None
            self.silence()

    def say(self, words: str) -> None:
        """Write a line."""
        self.write(f"{words}\n".encode(errors="replace"))

    def silence(self) -> None:
        """Have nothing more written, not even by the interpreter when it ends."""
        self.broken = True
        with contextlib.suppress(OSError, ValueError):  # a stream may have no number
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)


def leave(code: int) -> NoReturn:
    """End with this exit code, even if a thread still waits for a pipe on which nothing comes."""
    waiting = any(thread.name.startswith("massart") for thread in threading.enumerate())
    if waiting and sys.stdout is sys.__stdout__:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)
    raise typer.Exit(code)
