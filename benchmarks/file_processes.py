"""Commands as contenders: each runs in a process of its own, from its start to its end."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from measuring import Contender, Elapsed

LAUNCHER = Path(__file__).with_name("file_launcher.py")


class Finished(NamedTuple):
    """What is known of a process that came to its end."""

    wall: float  # seconds from start to end
    processor: float  # seconds of all its threads
    peak: float  # bytes of memory, at most at any time
    output: str  # what it wrote to standard output


@dataclass(frozen=True)
class Command:
    """A command by name; `pieces` gives its standard input, if it reads that."""

    name: str
    measures: str
    arguments: Sequence[str]
    rows: int
    pieces: Callable[[], Iterable[memoryview]] | None = None


@dataclass
class Recorder:
    """Runs a command, and keeps what is known of every run."""

    command: Command
    folder: Path
    seconds: Callable[[Finished], float] = lambda finished: finished.wall  # what counts as its time
    runs: list[Finished] = field(default_factory=list)

    def __call__(self) -> Elapsed:
        """Once more; the seconds of this run."""
        self.runs.append(run(self.command, self.folder))
        return Elapsed(self.seconds(self.runs[-1]), self.runs[-1].processor)

    def contender(self) -> Contender:
        """For `interleave`; its first run is thrown away there, but not here."""
        return Contender(self.command.name, self.command.measures, self.command.rows, self, threads=2)


class FailedError(RuntimeError):
    """A command that came to a bad end; the words are the last that it said."""


def share_bytecode(folder: Path) -> None:
    """One place for bytecode for all processes, whatever this one was told: no process compiles its sources anew."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def run(command: Command, folder: Path) -> Finished:
    """Run a command to its end, in a folder where no file can be imported by mistake."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        report = Path(place) / "report"
        launched = [sys.executable, "-I", "-S", str(LAUNCHER), str(report), *command.arguments]
        with (Path(place) / "words").open("w+b") as words:
            process = subprocess.Popen(
                launched,
                cwd=place,
                stdin=subprocess.DEVNULL if command.pieces is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
            )
            feeder = Thread(target=_feed, args=(process.stdin, command.pieces))
            feeder.start()
            output, _ = process.stdout.read(), process.wait()
            feeder.join()
            words.seek(0)
            if process.returncode != 0:
                raise FailedError(last_words(words.read().decode(errors="replace"), process.returncode))
        wall, processor, peak = map(float, report.read_text().split())
    return Finished(wall, processor, peak, output.decode())


def _feed(pipe: IO[bytes] | None, pieces: Callable[[], Iterable[memoryview]] | None) -> None:
    if pipe is None or pieces is None:
        return
    try:
        with pipe:
            for piece in pieces():
                pipe.write(piece)
    except BrokenPipeError:
        pass  # the command ended without reading all; its exit code tells whether that is an error


def last_words(words: str, status: int) -> str:
    """What a command said before it failed: the last line with letters, frames of an error message taken off."""
    lines = [line.strip("│╭╮╰╯─ \t") for line in words.splitlines()]
    said = [line for line in lines if any(letter.isalpha() for letter in line)]
    return said[-1] if said else f"it ends with status {status} and without a word"


def able(commands: Iterable[Command], folder: Path) -> tuple[list[Command], dict[str, str]]:
    """Those that run, and why the others do not. Kernels are compiled on the way, and left on disk."""
    present, absent = [], {}
    for command in commands:
        try:
            run(command, folder)
        except FailedError as error:
            absent[command.name] = str(error)
        else:
            present.append(command)
    return present, absent
