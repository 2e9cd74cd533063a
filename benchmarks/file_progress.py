"""How long it takes from the start of `massart train` to its first line of progress, with kernels on disk."""

import subprocess
import sys
import time
from pathlib import Path

from file_contenders import TOLD
from file_processes import FailedError, last_words
from file_rows import Block
from measuring import Contender, Elapsed, Finding, Section, Wanted, interleave
from report import Tick

WANTED = Wanted(at_most=1.5)
_NUMBERS = 3  # a line of progress has more numbers than any line about settings


def is_progress(line: str) -> bool:
    """Whether a line reports how learning goes: it holds several numbers that stand alone.

    >>> is_progress("0.250000 0.500000            4            4.0         1.0000        -1.0000       33")
    True
    >>> is_progress("Num weight bits = 18")
    False
    """
    return sum(_is_number(word.replace(",", "")) for word in line.split()) >= _NUMBERS


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def first_line(arguments: list[str], folder: Path) -> tuple[float | None, str]:
    """Seconds to the first line of progress, if there was one, and all that was said; the run goes on to its end."""
    start, seconds, said = time.perf_counter(), None, []
    with subprocess.Popen(
        arguments,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr:
            if seconds is None and is_progress(line):
                seconds = time.perf_counter() - start
            said.append(line)
    return seconds if process.returncode == 0 else None, "".join(said)


def progress_section(block: Block, megabytes: float, folder: Path, rounds: int, tick: Tick) -> Section:
    """Seconds on the wall, as they who wait count them."""
    data = block.write(folder / "rows.vw", block.rows_in(megabytes))
    contenders, absent = [], {}
    for kind, told in TOLD.items():
        arguments = [sys.executable, "-m", "massart", "train", str(data), "-f", str(folder / "model"), *told]
        seconds, said = first_line(arguments, folder)
        if seconds is None:
            absent[kind] = f"no line of progress: {last_words(said, 0)}"
            continue

        def run(arguments: list[str] = arguments) -> Elapsed:
            seconds, said = first_line(arguments, folder)
            if seconds is None:
                raise FailedError(f"there was a line of progress before, and there is none now: {last_words(said, 0)}")
            return Elapsed(seconds, seconds)

        contenders.append(Contender(kind, f"start to first line, {megabytes:g} MB of text", 1, run, threads=2))
    times = interleave(contenders, rounds, tick) if contenders else {}
    findings = [Finding(c.name, c.measures, times[c.name].wall, WANTED) for c in contenders]
    about = "massart train FILE -f MODEL on Vowpal Wabbit's text; kernels are on disk from an earlier process."
    return Section("First line of progress", about, "seconds", contenders, times, findings, absent)
