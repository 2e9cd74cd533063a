"""A quick start, and a steady pace, for commands that run compiled code over large files."""

import contextlib
import ctypes
import importlib
import sys

__all__ = ["quick_start"]

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
