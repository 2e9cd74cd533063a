"""The process that a command runs in: standard streams, signals, and a quick start of compiled code."""

import contextlib
import ctypes
import functools
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TextIO

from massart.errors import MassartError

if TYPE_CHECKING:
    import logging

__all__ = ["Outlet", "Stop", "leave", "quick_start", "with_log"]

_SIGNALS = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
_LOOKED_FOR = ("scipy.linalg.cython_blas", "coverage")
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt's parameters in glibc


class Outlet:
    """Standard output or standard error; once the reader of a pipe has gone, what is written is dropped.

    `careless`: for messages, so that no other error is a reason to stop either.
    """

    def __init__(self, stream: TextIO, *, careless: bool = False) -> None:
        self._stream = stream
        self._careless = careless
        self.broken = False

    def write(self, text: bytes, /) -> None:
        """Write bytes and flush them."""
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
    raise SystemExit(code)


class Stop:
    """Inside of `with`, called, it gives the number of the signal that has come, or None.

    Once `patient`, the first signal asks to stop in good order and the second ends the process at once; before that, a
    signal interrupts, as Ctrl-C always does.

    >>> with Stop() as stop:
    ...     stop.patient = True
    ...     before = stop()
    ...     stop.handle(signal.SIGTERM, None)  # as the system calls it when the signal comes
    ...     before, stop() == signal.SIGTERM
    (None, True)
    """

    def __init__(self) -> None:
        self.patient = False
        self._came: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            try:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and shells set it
                    self._before[number] = signal.signal(number, self.handle)
            except ValueError:  # not the main thread, which is the only one that gets signals
                return self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> int | None:
        """The signal that has come."""
        return self._came

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Keep the first signal; end the process at the second."""
        if self._came is not None:
            _leave_now(number)
        self._came = number
        if not self.patient:
            raise KeyboardInterrupt


def _leave_now(number: int) -> NoReturn:
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h\n")  # a live view hides the cursor
    os._exit(128 + number)


def quick_start() -> None:
    """Load NumPy and the kernels, without what they need not load; to be called before anything else loads them.

    >>> quick_start()
    >>> [sys.modules.get(name, "not there") is not None for name in _LOOKED_FOR]
    [True, True]
    """
    _keep_freed_memory()
    _import_numpy_with_one_thread()
    _import_kernels_alone()


def _import_numpy_with_one_thread() -> None:
    """Load NumPy without the threads of OpenBLAS: new ones wait for work in a loop, on the cores that parse rows.

    No command that calls this multiplies matrices. Processes that it may start find the environment as it was.
    """
    if "numpy" not in sys.modules and _BLAS_THREADS not in os.environ:
        os.environ[_BLAS_THREADS] = "1"
        try:
            importlib.import_module("numpy")
        finally:
            del os.environ[_BLAS_THREADS]


def _import_kernels_alone() -> None:
    """Load what runs kernels; if that is Numba, without SciPy's linear algebra and coverage.py.

    Numba looks for them without need. No kernel here uses them, and to import them takes as long as a small training.
    """
    absent = [name for name in _LOOKED_FOR if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # what is None cannot be imported
    try:
        importlib.import_module("massart.kernels.compiling")
        if sys.modules.get("numba") is not None:
            importlib.import_module("numba.np.arraymath")
    finally:
        for name in absent:
            del sys.modules[name]


def _keep_freed_memory() -> None:
    """Ask glibc not to hand memory back between two blocks of a file: to get it again takes a tenth of the time."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, 1 << 26)
        mallopt(_MMAP_THRESHOLD, 1 << 25)


def with_log(command: Callable[..., None]) -> Callable[..., None]:
    """A command that writes to stderr what the logger "massart" gets: with --quiet only warnings."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        import logging

        log = logging.getLogger("massart")
        level, propagates = log.level, log.propagate
        handler = _handler(f"massart {command.__name__}")
        log.addHandler(handler)
        log.setLevel(logging.WARNING if options.get("quiet") else logging.INFO)
        log.propagate = False
        try:
            command(**options)
        finally:
            log.removeHandler(handler)
            log.setLevel(level)
            log.propagate = propagates

    return run


def _handler(name: str) -> "logging.Handler":
    import logging

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with contextlib.suppress(OSError, ValueError, AttributeError):  # only messages
                sys.stderr.write(f"{name}: {record.getMessage()}\n")
                sys.stderr.flush()

    return Handler()
