"""Who carries out tasks: processes here, any `concurrent.futures.Executor`, or a Dask cluster, here or elsewhere.

Dask is imported here and nowhere else, and only when it is asked for.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from typing import Any, Final

from massart.errors import InvalidParameterError, MassartError, needs
from massart.scale.processes import LocalWorkers

__all__ = ["ClusterError", "Engine", "connect", "local_cluster", "local_processes"]

_RETRIES: Final = 10  # of a task whose worker was lost
_SENT_ALONG: Final = 100_000  # bytes up to which a value is sent with each task
_GATHERED: Final = 8  # results that are fetched and added up here; more are added up by the workers
_LOST: Final = ("KilledWorker", "FutureCancelledError", "CancelledError")
_SECONDS: Final = 5.0  # until a scheduler must have answered
_PURPOSE: Final = "for a cluster of workers"


class ClusterError(MassartError, RuntimeError):
    """A cluster cannot be reached, or has lost its workers."""


class Engine:
    """Tasks on an executor; what many tasks share is sent once where the executor knows how to.

    Parameters
    ----------
    executor : a `concurrent.futures.Executor`, such as a process pool or Dask's `client.get_executor()`, or a Dask
        `Client`.
    """

    def __init__(self, executor: Any) -> None:
        client = getattr(executor, "_client", None)
        if client is None and hasattr(executor, "get_executor") and hasattr(executor, "scheduler_info"):
            client = executor
        if client is None and not isinstance(executor, Executor):
            raise InvalidParameterError(
                f"executor={type(executor).__name__}: give a concurrent.futures.Executor, such as a "
                "ProcessPoolExecutor, or a Dask client"
            )
        self._client, self._executor = client, executor

    def executor(self) -> Executor:
        """An executor of these workers, for whoever knows no other kind."""
        made: Executor = (
            self._executor if self._client is None else self._client.get_executor(pure=False, retries=_RETRIES)
        )
        return made

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """A future of a task."""
        if self._client is None:
            return self._executor.submit(task, *arguments)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(task, *arguments, pure=False, retries=_RETRIES)

    def share(self, value: Any) -> Any:
        """A value that many tasks take. On Dask it is a task that can run again, should the worker with it be lost.

        (What is scattered is lost with its worker.)
        """
        if getattr(value, "nbytes", 0) < _SENT_ALONG:
            return value
        if isinstance(self._executor, LocalWorkers):
            return self._executor.share(value)
        return value if self._client is None else self.submit(_itself, value)

    def result(self, future: Any) -> Any:
        """What a task has returned."""
        try:
            return future.result()
        except BrokenExecutor as error:
            if isinstance(self._executor, LocalWorkers):
                raise ClusterError(
                    f"the worker processes of this task have ended again and again ({error}): is there enough memory "
                    "for so many workers? Take fewer"
                ) from None
            raise ClusterError(
                f"a worker process has ended before its task was done, and this executor cannot start it again "
                f"({error}): use a Dask cluster, or `massart.scale.local_processes`, which do"
            ) from None
        except Exception as error:
            if type(error).__name__ in _LOST:
                raise ClusterError(f"the cluster has lost too many workers: {error}") from None
            raise

    def reduced(
        self,
        task: Callable[..., Any],
        common: tuple[Any, ...],
        calls: Sequence[tuple[Any, ...]],
        add: Callable[..., Any],
        base: Any,
    ) -> Any:
        """The results of task(*common, *call) for all calls, added up by add(base, first, second) in a tree.

        The tree has the shape of their order, whoever is done first. With many calls on Dask it grows on the workers.
        A single call is done here, if workers are processes of this machine: they may still be starting.
        """
        if len(calls) == 1 and isinstance(self._executor, LocalWorkers):
            return task(*common, *calls[0])
        shared = tuple(self.share(value) for value in common)
        level = [self.submit(task, *shared, *call) for call in calls]
        there = self._client is not None and len(level) > _GATHERED
        begin = next((own for own, value in zip(shared, common, strict=True) if value is base), base)
        if not there:
            level = [self.result(future) for future in level]
        while len(level) > 1:
            pairs = [level[start : start + 2] for start in range(0, len(level), 2)]
            level = [
                pair[0] if len(pair) == 1 else self.submit(add, begin, *pair) if there else add(base, *pair)
                for pair in pairs
            ]
        return self.result(level[0]) if there else level[0]

    def placed(self, values: Sequence[Any]) -> list[Any]:
        """Delayed values of Dask, computed on the cluster and kept there; others as they are."""
        if self._client is None:
            return list(values)
        return [self._client.compute(one, retries=_RETRIES) if hasattr(one, "dask") else one for one in values]

    def workers(self) -> int:
        """How many tasks can run at once, if that is known; else 1."""
        if self._client is not None:
            return max(1, int(sum(self._client.nthreads().values())))
        return max(1, int(getattr(self._executor, "_max_workers", 1)))


def _itself(value: Any) -> Any:
    return value


@contextmanager
def connect(address: str) -> Iterator[Engine]:
    """The workers of a Dask scheduler; an error within ten seconds if it does not answer."""
    distributed = needs("distributed", "dask", _PURPOSE)
    try:
        client = distributed.Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        words = str(error).strip() or type(error).__name__
        raise ClusterError(
            f"no scheduler answers at {address} (tried for {_SECONDS:g} seconds: {words}): start one with "
            "`dask scheduler`, and give its address, as in tcp://host:8786"
        ) from None
    try:
        if not client.nthreads():
            raise ClusterError(f"the scheduler at {address} has no workers: start some with `dask worker {address}`")
        yield Engine(client)
    finally:
        client.close()


@contextmanager
def local_processes(workers: int) -> Iterator[Engine]:
    """So many worker processes on this machine, without Dask. One that ends is replaced, and its tasks done again."""
    if workers < 1:
        raise InvalidParameterError(f"workers={workers}: give 1 or more")
    pool = LocalWorkers(workers)
    try:
        yield Engine(pool)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def local_cluster(workers: int) -> Iterator[Engine]:
    """A Dask cluster of so many worker processes on this machine, of one thread each."""
    distributed = needs("distributed", "dask", _PURPOSE)
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.ERROR,
    )
    try:
        client = distributed.Client(cluster, set_as_default=False)
        try:
            yield Engine(client)
        finally:
            client.close()
    finally:
        cluster.close()
