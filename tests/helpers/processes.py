"""Processes that tests start: with a time limit each, and with signals as a terminal gives them, whoever started us."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

HELPERS = Path(__file__).parent  # programs for tests to start are there, too
TEST_LIMIT = float(os.environ.get("MASSART_TEST_SECONDS", "600"))  # for a test, and for each of its fixtures
PROCESS_LIMIT = TEST_LIMIT / 2  # for a process that is run to its end: compiling, on a busy machine, included


def run(command: list[str], *, timeout: float = PROCESS_LIMIT, **options: Any) -> subprocess.CompletedProcess:
    """`subprocess.run`, which kills the process when its time is over."""
    return subprocess.run(command, timeout=timeout, **options)  # noqa: PLW1510, TID251


def loaded_by(code: str, *modules: str, cwd: Path | None = None) -> list[str]:
    """Which of the modules a new process has loaded when the code has run, whatever that prints."""
    ended = f"{code}\nimport sys; print(); print(*(name for name in {modules!r} if name in sys.modules))"
    done = run([sys.executable, "-c", ended], capture_output=True, text=True, check=True, cwd=cwd)
    return done.stdout.splitlines()[-1].split()


def run_program(command: list[str], timeout: float, in_hand: Callable[[], str], **environment: str) -> Any:
    """What a program prints as JSON; a test failure with the input in hand if it does not come to its end."""
    options = {"env": os.environ | environment, "capture_output": True, "text": True, "check": False}
    try:
        ended = run(command, timeout=timeout, **options)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs at {in_hand()}")
    if ended.returncode < 0:
        pytest.fail(f"killed by signal {-ended.returncode} at {in_hand()}\n{ended.stderr}")
    if ended.returncode > 0:
        pytest.fail(f"{ended.stderr}\n{in_hand()}")
    return json.loads(ended.stdout)


class start(subprocess.Popen):  # noqa: N801, TID251 - a verb at the places where it is called
    """A process; an error inside of its `with` ends it, where `subprocess.Popen` would wait for it."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Close its pipes; wait for it."""
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, trace)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Fail what waits for longer, for a process, a pipe, a lock or a thread, in the main thread, where tests run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        pytest.fail(f"not finished after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, over)
    # Again and again: what cleans up after the first alarm may wait as well.
    outer = signal.setitimer(signal.ITIMER_REAL, seconds, 10.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *outer)
        signal.signal(signal.SIGALRM, before)


def default_signals_for_children() -> None:
    """Let processes started from here receive the signals that this one ignores.

    A background job of a shell, and what nohup starts, finds SIGINT or SIGHUP ignored, and passes that on to all that
    it starts. A handler that does nothing ignores them as well, but is not passed on. A mask is passed on, too; and
    where SIGCHLD is ignored, no exit code of a child is ever known.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
