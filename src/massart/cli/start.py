"""A quick start, and a steady pace, for commands that run compiled code over large files."""

import contextlib
import ctypes
import functools
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

__all__ = ["quick_start", "speaking"]

_LOOKED_FOR = ("scipy.linalg.cython_blas", "coverage")
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt's parameters in glibc


def quick_start() -> None:
    """Make ready for kernels; to be called before Numba is imported.

    >>> quick_start()
    >>> [sys.modules.get(name, "not there") is not None for name in _LOOKED_FOR]
    [True, True]
    """
    _keep_freed_memory()
    if "numba" not in sys.modules:
        _import_numba_alone()


def _import_numba_alone() -> None:
    """Load Numba without SciPy's linear algebra and coverage.py, which it looks for without need.

    No kernel here uses them, and to import them takes a third of the time that a small training takes in all.
    """
    absent = [name for name in _LOOKED_FOR if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # what is None cannot be imported
    try:
        with contextlib.suppress(ImportError):
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


def speaking(command: Callable[..., None]) -> Callable[..., None]:
    """A command that passes on to stderr what the logger "massart" says: with --quiet only warnings."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        import logging

        log = logging.getLogger("massart")
        level, propagates = log.level, log.propagate
        ear = _ear(f"massart {command.__name__}")
        log.addHandler(ear)
        log.setLevel(logging.WARNING if options.get("quiet") else logging.INFO)
        log.propagate = False
        try:
            command(**options)
        finally:
            log.removeHandler(ear)
            log.setLevel(level)
            log.propagate = propagates

    return run


def _ear(name: str) -> "logging.Handler":
    import logging

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with contextlib.suppress(OSError, ValueError, AttributeError):  # it is only talk
                sys.stderr.write(f"{name}: {record.getMessage()}\n")
                sys.stderr.flush()

    return Ear()
