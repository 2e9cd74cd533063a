"""A quick start for commands that run compiled code."""

import contextlib
import importlib
import sys

_LOOKED_FOR = ("scipy.linalg.cython_blas", "coverage")


def without_luggage() -> None:
    """Load Numba without SciPy's linear algebra and coverage.py, which it looks for without need.

    No kernel here uses them, and to import them takes a third of the time that a small training takes in all.

    >>> without_luggage()
    >>> [sys.modules.get(name, "not there") is not None for name in _LOOKED_FOR]
    [True, True]
    """
    if "numba" in sys.modules:
        return
    absent = [name for name in _LOOKED_FOR if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # what is None cannot be imported
    try:
        with contextlib.suppress(ImportError):
            importlib.import_module("numba.np.arraymath")
    finally:
        for name in absent:
            del sys.modules[name]
