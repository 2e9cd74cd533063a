"""Work done ahead of who needs it: one thread takes items from an iterator, others work on them, results in order."""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_order"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_order(work: Callable[[_Item], _Result], items: Iterator[_Item], workers: int) -> Iterator[_Result]:
    """work(item) for every item, in order, with at most a few results waiting.

    An exception of the iterator or of the work comes at its place, after all results before it. Leaving early
    stops the threads.

    >>> list(in_order(lambda n: n * n, iter(range(5)), workers=2))
    [0, 1, 4, 9, 16]
    """
    if workers < 1:
        yield from map(work, items)
        return
    waiting: queue.Queue[Future[_Result] | BaseException | None] = queue.Queue(workers)
    left = threading.Event()

    def hand_over(what: "Future[_Result] | BaseException | None") -> None:
        while not left.is_set():
            try:
                waiting.put(what, timeout=0.1)
            except queue.Full:
                continue
            return

    def feed(pool: ThreadPoolExecutor) -> None:
        try:
            for item in items:
                if left.is_set():
                    return
                hand_over(pool.submit(work, item))
        except BaseException as error:
            hand_over(error)
            return
        hand_over(None)

    with ThreadPoolExecutor(workers, thread_name_prefix="massart-parse") as pool:
        feeder = threading.Thread(target=feed, args=(pool,), name="massart-read", daemon=True)
        feeder.start()
        try:
            while (result := waiting.get()) is not None:
                if isinstance(result, BaseException):
                    raise result
                yield result.result()
        finally:
            left.set()
            feeder.join(timeout=1.0)  # it may be waiting for a pipe on which nothing comes
