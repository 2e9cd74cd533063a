"""Where kernels come from: compiled when the package was built, or by Numba when they are first used.

Every kernel takes `njit` from here. Where the package has the extension `built`, the decorator returns the function of
that name in it, and Numba is not even imported. Where it has none, as in a source tree, or with MASSART_JIT=1, Numba
compiles (kernels/jit.py). With neither, a kernel says at its first call what to install. docs/building.md tells more.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError, MissingPackageError

__all__ = ["BUILT", "MISSING", "WHY_NOT_BUILT", "Compiled", "compiled", "intrinsic", "ir", "level", "levels", "models",
           "njit", "nothing_compiled", "overload", "prepare", "register_model", "types"]  # fmt: skip

# What kernels take. Values of rows are float32 or float64; indices are unsigned, of 32 or 64 bits.
Floats = NDArray[np.float64]
Values = NDArray[np.floating[Any]]
Indices = NDArray[np.unsignedinteger[Any]]
Integers = NDArray[np.int64]
Labels = NDArray[np.int8]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Csr = tuple[Values, Indices, Indices]  # data, indices, indptr
Batch = tuple[int, NDArray[np.uint64], Labels, Floats]  # count, order, labels, weights

_KERNELS = "massart.kernels."


class Compiled(NamedTuple):
    """What this process compiled so far."""

    kernels: int = 0
    seconds: float = 0.0


def compiled() -> Compiled:
    """What this process compiled so far, and how long that took."""
    if MISSING or BUILT is not None:
        return Compiled()
    return Compiled(*jit.compiled())


@contextmanager
def nothing_compiled() -> Iterator[list[str]]:
    """Run kernels that are compiled already: any other raises an error, and its name is in the list."""
    if MISSING or BUILT is not None:
        yield []
        return
    with jit.only_kept() as missing:
        yield missing


def level() -> str | None:
    """The kind of processor whose kernels are in use, if they were compiled when the package was built."""
    return None if BUILT is None else str(BUILT.level())


def levels() -> tuple[str, ...]:
    """The kinds of processors that kernels were compiled for when the package was built and that this one is."""
    return () if BUILT is None else tuple(BUILT.levels())


def _extension() -> tuple[Any, str]:
    """The kernels compiled when the package was built, or None and why there are none."""
    if os.environ.get("MASSART_JIT", "0") not in ("", "0"):
        return None, "MASSART_JIT is set"
    try:
        built = import_module(f"{_KERNELS}built")
    except ModuleNotFoundError:
        return None, "there are no compiled kernels in the package"
    except ImportError as error:  # not for this processor or system
        return None, str(error)
    if wanted := os.environ.get("MASSART_LEVEL"):
        try:
            built.choose(wanted)
        except ValueError as error:
            raise InvalidParameterError(f"MASSART_LEVEL={wanted}: {error}") from None
    return built, ""


def prepare(kernel: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """A function without arguments that calls a kernel with these, which are taken apart and checked once.

    It uses arrays as they lie in memory now: who replaces one of them by another prepares anew.
    """
    if BUILT is None:
        return partial(kernel, *arguments)
    prepared: Callable[[], Any] = BUILT.prepare(kernel.__name__, *arguments)
    return prepared


class _Base:
    """Stands for the classes of Numba that kernels extend."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class _Nothing:
    """Stands for llvmlite and Numba's types, of which intrinsics are written, where nothing is compiled."""

    Type = PrimitiveModel = _Base

    def __getattr__(self, name: str) -> "_Nothing":
        return self

    def __call__(self, *_: Any) -> "_Nothing":
        return self


def _unavailable(why: Callable[[], Exception]) -> Callable[..., Any]:
    """A kernel that cannot be run."""

    def kernel(*_: Any) -> Any:
        raise why()

    return kernel


BUILT, WHY_NOT_BUILT = _extension()
MISSING = False

if BUILT is None:
    try:
        from llvmlite import ir
        from numba import types
        from numba.core.datamodel import models
        from numba.extending import intrinsic, overload, register_model

        from massart.kernels import jit

        njit = jit.njit
    except ImportError as error:
        if error.name and error.name.startswith("massart"):
            raise
        MISSING = True

if BUILT is not None or MISSING:
    ir = models = overload = register_model = types = _Nothing()

    def intrinsic(function: Any) -> Any:
        """Intrinsics are part of the kernels that were compiled."""
        return function

    def njit(**_: Any) -> Callable[[Callable[..., Any]], Any]:
        """The compiled kernel of a function's name; `Numba.njit`'s options were used when it was compiled."""

        def decorate(function: Callable[..., Any]) -> Any:
            name = f"{function.__module__.removeprefix(_KERNELS)}.{function.__name__}"
            if BUILT is None:
                return _unavailable(lambda: _not_installed(name))
            found = getattr(BUILT, name.replace(".", "_"), None)
            return found or _unavailable(lambda: SystemError(f"the kernel {name} has no signature in signatures.txt"))

        return decorate


def _not_installed(name: str) -> MissingPackageError:
    return MissingPackageError(
        f"the kernel {name} was not compiled when this massart was built ({WHY_NOT_BUILT}), and Numba, which would do "
        'it now, is not installed: pip install "massart[jit]"'
    )
