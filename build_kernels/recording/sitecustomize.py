"""Writes down with which types Python calls kernels: in every process whose PYTHONPATH begins with this folder.

Numba's dispatchers cannot be asked that: they know what they were compiled for, whoever called. So each is replaced by
an object that writes the types down and calls it; Numba itself sees the dispatcher. build_kernels/record.py starts it.
"""

import atexit
import importlib.abc
import importlib.util
import os
import sys
import uuid
from pathlib import Path

_FOLDER = Path(os.environ["MASSART_RECORDED"])
_SEEN = set()


def _recording(njit):
    """`njit` of massart.kernels.compiling, whose kernels write down how they are called."""
    from numba.core import types

    class Recorded:
        def __init__(self, dispatcher, name):
            self._dispatcher, self._name = dispatcher, name
            self._numba_type_ = types.Dispatcher(dispatcher)

        def __getattr__(self, name):
            return getattr(self._dispatcher, name)

        def __call__(self, *args):
            line = f"{self._name}: {', '.join(map(_described, args))}"
            if line not in _SEEN:
                _SEEN.add(line)
                if os.getpid() != _PROCESS:  # forked: it may end without its end being noticed
                    _write()
            return self._dispatcher(*args)

    def decorator(**options):
        def decorate(function):
            kernel = njit(**options)(function)
            name = f"{function.__module__.removeprefix('massart.kernels.')}.{function.__name__}"
            return Recorded(kernel, name)

        return decorate

    return decorator


def _described(value):
    import numpy as np

    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            return f"strided {value.dtype}"
        kind = "bool" if value.dtype == bool else f"{value.dtype.kind}{value.dtype.itemsize * 8}"
        return f"{'mut ' * value.flags.writeable}{'[' * value.ndim}{kind}{']' * value.ndim}"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, int):
        return "i64" if value < 1 << 63 else "u64"
    if isinstance(value, np.generic):
        return f"{value.dtype.kind}{value.dtype.itemsize * 8}"
    return "f64" if isinstance(value, float) else f"? {type(value).__name__}"


class _Finder(importlib.abc.MetaPathFinder):
    """Puts `_recording` around njit as soon as massart.kernels.compiling is loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != "massart.kernels.compiling":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.njit = _recording(module.njit)

        spec.loader.exec_module = exec_module
        return spec


def _write():
    if _SEEN:
        (_FOLDER / f"{uuid.uuid4().hex}.txt").write_text("\n".join(sorted(_SEEN)))


_PROCESS = os.getpid()
sys.meta_path.insert(0, _Finder())
atexit.register(_write)
