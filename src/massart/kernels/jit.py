"""Kernels compiled by Numba when they are first used, and kept: where there are none that were compiled beforehand.

Numba could keep them itself, but then it fails where nothing can be written, takes damaged files for code, does not
notice an edit in a file that a kernel takes functions from, nor a change of NUMBA_BOUNDSCHECK. Here each kernel is a
file with a digest; whatever is wrong with it, the kernel is compiled again. What there is to say, the logger "massart"
says: that compiling begins (INFO), and that nothing can be kept (WARNING), once per process.
"""

import hashlib
import logging
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from massart.errors import MassartError
from massart.kernels.cache_folders import Folder, Kept, folders

__all__ = ["COST", "NotCompiledError", "compiled", "is_current", "keeping", "njit", "only_kept", "stamp_of"]

COST = "1 to 60 s"  # of a first use: 22 to 38 s for a training on the machines where it was measured
_LOG = logging.getLogger("massart")
# from A import B, C  |  from A import (B, C)  |  import A.B, A.C as D: wherever they stand in a module
_IMPORTS = re.compile(r"^[ \t]*(?:from[ ]+([.\w]+)[ ]+import[ ]+(\([^)]*\)|[^#\n]*)|import[ ]+([^#\n]*))", re.MULTILINE)
_ROOT = Path(__file__).resolve().parents[2]
_KERNELS = "massart.kernels."
_COMPILERS = {_KERNELS + "compiling", _KERNELS + "jit"}  # they have no part in what is compiled


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's decorator; with cache=True compiled code is kept for other processes."""
    keep = options.pop("cache", False)
    decorator: Callable[[Callable[..., Any]], Any] = numba.njit(**options)

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = decorator(function)
        if keep and hasattr(kernel, "_cache"):  # under NUMBA_DISABLE_JIT it is the function itself
            kernel._cache = _KernelCache(function)
        return kernel

    return decorate


class NotCompiledError(MassartError):
    """A kernel would have to be compiled where that was not wanted."""


def compiled() -> tuple[int, float]:
    """How many kernels this process compiled so far, and how many seconds that took."""
    return _WATCH.kernels, _WATCH.seconds


@contextmanager
def only_kept() -> Iterator[list[str]]:
    """Run kept kernels only: others raise `NotCompiledError`, and their names are in the list."""
    missing: list[str] = []
    _WATCH.missing = missing
    try:
        yield missing
    finally:
        _WATCH.missing = None


def keeping() -> tuple[Folder | None, str]:
    """The folder where compiled kernels are kept; if there is none, why."""
    if _SAYING.failed:
        return None, _SAYING.failed
    reasons = []
    for folder in folders():
        if not (why := folder.unwritable()):
            return folder, ""
        reasons.append(why)
    return None, "; ".join(reasons)


@cache
def stamp_of(module: str) -> bytes:
    """A digest of the sources that a module of kernels is compiled from, and of who compiles them."""
    digest = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, np.__version__, config.OPT)).encode())
    for name in sorted(_sources_of(module)):
        digest.update(name.encode() + _source(name))
    return digest.digest()


def is_current(kept: Kept) -> bool:
    """Whether a kept kernel is of the sources as they are."""
    try:
        return kept.stamp == stamp_of(kept.name.rpartition(".")[0])
    except OSError:  # there is no such module any more
        return False


def _sources_of(module: str) -> set[str]:
    """A module of kernels and the modules of this package that it imports, in any form, and so on."""
    found, left = set(_COMPILERS), [_KERNELS + module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _imports_of(name)
    return found - _COMPILERS


def _imports_of(module: str) -> Iterator[str]:
    """Whatever may be a module among the names that a module imports, if there is such a file."""
    package = module if _file_of(module).name == "__init__.py" else module.rpartition(".")[0]
    for source, names, whole in _IMPORTS.findall(_source(module).decode(errors="replace")):
        candidates = re.findall(r"[.\w]+", whole)
        if source:
            dots = len(source) - len(source.lstrip("."))
            above = package.split(".")[: len(package.split(".")) - dots + 1] if dots else []
            base = ".".join([*above, *filter(None, [source.lstrip(".")])])
            candidates = [base, *(f"{base}.{name}" for name in re.findall(r"\w+", names))]
        yield from (name for name in candidates if name.startswith("massart.") and _file_of(name).is_file())


def _file_of(module: str) -> Path:
    place = _ROOT.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


@cache
def _source(module: str) -> bytes:
    return _file_of(module).read_bytes()


def _module_of(function: Callable[..., Any]) -> str:
    """The module of a kernel, without the name of this package: learning.halfspace."""
    return function.__module__.removeprefix(_KERNELS)


class _KernelCache(NullCache):  # type: ignore[misc]  # Numba has no types
    """Loads and saves the compiled forms of one kernel, one for each types of arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        module = _module_of(function)
        self._name = f"{module}.{function.__name__}"
        try:
            self._stamp: bytes | None = stamp_of(module)
        except OSError:  # without sources nobody could tell whether a kept kernel is up to date
            self._stamp = None

    @property
    def cache_path(self) -> str | None:
        """For Numba's statistics."""
        return next((str(folder.path) for folder in folders() if folder.readable), None)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for these types, None if it has to be compiled."""
        target_context.refresh()
        if self._stamp is None:
            return None
        for folder in filter(lambda one: one.readable, folders()):
            try:
                body = folder.read(self._file(sig, target_context.codegen()), self._stamp)
                if body is not None:
                    return CompileResult._rebuild(target_context, *pickle.loads(body))  # noqa: S301 - see cache_folders
            except Exception as error:
                _SAYING.unreadable(folder, error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if there is a place for it."""
        folder, _ = keeping()
        if folder is None or self._stamp is None or data.library.has_dynamic_globals:
            return
        try:
            folder.write(self._file(sig, data.codegen), self._stamp, _WATCH.last, dumps(data._reduce()))
        except OSError as error:
            _SAYING.not_kept(f"{folder.path}: {error.strerror or error}")

    def _file(self, sig: Any, codegen: Any) -> str:
        python = (sys.implementation.cache_tag, getattr(sys, "abiflags", ""))
        key = repr((sig, codegen.magic_tuple(), python, config.BOUNDSCHECK))
        return f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"


class _Saying:
    """Each thing is said once per process, and not by the processes that it starts."""

    def __init__(self) -> None:
        self.failed = ""  # why nothing is kept any more
        self._said: set[str] = set()

    def compiling(self) -> None:
        """Before the first kernel is compiled."""
        folder, why = keeping()
        if folder is None:
            self.not_kept(why)
        else:
            self._say("compiling", logging.INFO, f"compiling, once per machine (usually {COST})")

    def not_kept(self, why: str) -> None:
        self.failed = why
        self._say(
            "not kept",
            logging.WARNING,
            f"there is no place to keep compiled kernels ({why}): each process compiles those it uses, usually "
            f"{COST}; set NUMBA_CACHE_DIR to a folder that you can write and nobody else can",
        )

    def unreadable(self, folder: Folder, error: Exception) -> None:
        why = str(error) or type(error).__name__
        words = f"a kernel kept in {folder.path} cannot be used ({why}): it is compiled again"
        self._say("unreadable", logging.WARNING, words)

    def _say(self, kind: str, level: int, words: str) -> None:
        from multiprocessing import parent_process  # noqa: PLC0415 - only if there is something to say

        if kind not in self._said and parent_process() is None:
            _LOG.log(level, words)
        self._said.add(kind)


class _Watch(event.Listener):  # type: ignore[misc]
    """Hears of each compilation of a kernel of this package; Numba runs one at a time."""

    def __init__(self) -> None:
        self.kernels = 0
        self.seconds = 0.0
        self.last = 0.0  # seconds of processor time for the kernel compiled last, without the kernels that it calls
        self.missing: list[str] | None = None  # where nothing may be compiled: what would have been
        self._begun = 0.0  # when the outermost of those running began
        self._running: list[list[float]] = []  # processor time at the begin, and that of the kernels that it calls

    @staticmethod
    def _is_kernel(event: Any) -> bool:
        """Not what stands for an operator in kernels (kernels/learning/simd.py), which is compiled into them."""
        return isinstance(event.data["dispatcher"]._cache, _KernelCache)

    def on_start(self, event: Any) -> None:
        """Before a kernel is compiled, which may need others."""
        if not self._is_kernel(event):
            return
        function = event.data["dispatcher"].py_func
        if self.missing is not None:
            self.missing.append(f"{_module_of(function)}.{function.__name__}")
            raise NotCompiledError(f"the kernel {self.missing[-1]} is not compiled yet: run massart warmup")
        if not self._running:
            _SAYING.compiling()
            self._begun = time.perf_counter()
        self._running.append([time.thread_time(), 0.0])

    def on_end(self, event: Any) -> None:
        """After that, or when it failed."""
        if not self._running or not self._is_kernel(event):
            return
        begun, others = self._running.pop()
        worked = time.thread_time() - begun
        self.last = worked - others
        self.kernels += 1
        if self._running:
            self._running[-1][1] += worked
        else:
            self.seconds += time.perf_counter() - self._begun


_SAYING, _WATCH = _Saying(), _Watch()
event.register("numba:compile", _WATCH)
