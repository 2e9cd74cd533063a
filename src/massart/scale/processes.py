"""Worker processes on this machine: a process pool that replaces processes which end, and moves arrays through files.

The pool is `concurrent.futures.ProcessPoolExecutor`. It gives up when one of its processes ends; here a new one takes
its place and gets all tasks that were not done: they must be pure. Arrays of a model would go through a pipe; instead
they are written once to a folder of temporary files, which the other side maps into its memory.
"""

import io
import mmap
import os
import pickle
import signal
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection, forkserver, get_all_start_methods, get_context, parent_process
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["LocalWorkers", "start_loading"]

_LOSSES: Final = 3  # that a task may see before it is given up: it may be what ends its process
_SMALL: Final = 100_000  # bytes up to which a result goes through the pipe
_ALIGNED: Final = 64  # bytes, where an array begins in a file
_PRELOADED: Final = ("massart.scale.learning",)
_THREADS: Final = "OPENBLAS_NUM_THREADS"


class _Stored:
    """A value in a file of arrays: what is sent instead of it. Where it was made, the file ends with it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def load(self) -> Any:
        """The value; its arrays are read-only parts of the file."""
        with Path(self.path).open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        sizes: list[int] = pickle.loads(view[8 : 8 + int.from_bytes(view[:8], "little")])  # noqa: S301  written below
        at, parts = 8 + int.from_bytes(view[:8], "little"), []
        for size in sizes:
            at += -at % _ALIGNED
            parts.append(view[at : at + size])
            at += size
        return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301


def _stored(value: Any, folder: str, least: int = 0) -> Any:
    """A value as a file, or as it is if its arrays are smaller than so many bytes."""
    buffers: list[pickle.PickleBuffer] = []
    whole = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(whole), *(buffer.raw() for buffer in buffers)]
    if sum(part.nbytes for part in parts) < least:
        return value
    sizes = pickle.dumps([part.nbytes for part in parts])
    handle, path = tempfile.mkstemp(dir=folder)
    with io.FileIO(handle, "wb") as file, io.BufferedWriter(file) as out:
        out.write(len(sizes).to_bytes(8, "little") + sizes)
        for part in parts:
            out.write(bytes(-out.tell() % _ALIGNED))
            out.write(part)
    return _Stored(path)


def _run(folder: str, task: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """In a worker: a task, whose large values come and go as files."""
    return _stored(task(*(one.load() if isinstance(one, _Stored) else one for one in arguments)), folder, _SMALL)


def _begin() -> None:
    """In a new worker: Ctrl-C is for the process that asked, and when that has gone, the worker goes too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def start_loading() -> Any:
    """How processes begin: by a process that has loaded what learns, and does so while this one goes on."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    with _one_thread():
        forkserver.ensure_running()
    return context


class _Task(NamedTuple):
    future: Future[Any]
    task: Callable[..., Any]
    arguments: tuple[Any, ...]
    losses: int = 0


class LocalWorkers(Executor):
    """So many processes; tasks of those that end are done again by others, up to three times.

    >>> with LocalWorkers(1) as workers:
    ...     workers.submit(sum, [1, 2]).result()
    3
    """

    def __init__(self, workers: int) -> None:
        self._max_workers = workers
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="massart-", ignore_cleanup_errors=True)
        self._closed = False
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._max_workers, mp_context=start_loading(), initializer=_begin)

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """A future of a task, which may be done more than once."""
        if named:
            raise TypeError("tasks take arguments by their place")
        future: Future[Any] = Future()
        self._start(_Task(future, task, arguments))
        return future

    def share(self, value: Any) -> Any:
        """A value that many tasks take, written once; workers get it as it was."""
        stored = _stored(value, self._folder.name)
        weakref.finalize(stored, _remove, stored.path)
        return stored

    def pids(self) -> list[int]:
        """The processes that work at the moment."""
        return list(self._pool._processes or ())

    def _start(self, task: _Task) -> None:
        for _ in range(_LOSSES + 1):
            with self._lock:
                pool = self._pool
                if self._closed:
                    task.future.cancel()
                    return
            try:
                done = pool.submit(_run, self._folder.name, task.task, task.arguments)
            except BrokenProcessPool:
                self._replace(pool)
                continue
            done.add_done_callback(partial(self._ended, task, pool))
            return
        task.future.set_exception(BrokenProcessPool("new worker processes end at once"))

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is broken and not self._closed:
                self._pool = self._new_pool()

    def _ended(self, task: _Task, pool: ProcessPoolExecutor, inner: Future[Any]) -> None:
        if inner.cancelled():
            task.future.cancel()
            return
        error = inner.exception()
        if isinstance(error, BrokenProcessPool) and task.losses < _LOSSES:
            self._replace(pool)
            self._start(task._replace(losses=task.losses + 1))
            return
        if error is not None:
            task.future.set_exception(error)
            return
        value = inner.result()
        if isinstance(value, _Stored):
            path, value = value.path, value.load()
            _remove(path)
        task.future.set_result(value)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; what they are doing is lost unless it is waited for."""
        with self._lock:
            self._closed = True
        running = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        if not wait:
            for process in running:
                process.terminate()
        self._folder.cleanup()


def _remove(path: str) -> None:
    with suppress(OSError):  # Windows keeps files that are mapped; they end with their folder
        Path(path).unlink()


@contextmanager
def _one_thread() -> Iterator[None]:
    """There is a process for each core: threads of their own would be in the way."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
