"""Work done ahead of its consumer: a thread takes items from an iterator, others work on them, results in order."""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

__all__ = ["ahead", "in_order"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_WAIT = 0.1  # seconds between two checks whether to stop
_JOIN = 1.0  # seconds to wait for the thread, which may wait for a pipe that delivers nothing


def ahead(items: Iterator[_Item], stopped: Callable[[], bool] | None = None, depth: int = 1) -> Iterator[_Item]:
    """The items of an iterator, in order, taken from it by a thread; ends early once `stopped()`.

    An exception of the iterator is raised at its place. At most `depth` items wait. Closing the generator stops the
    thread.

    >>> list(ahead(iter(range(5))))
    [0, 1, 2, 3, 4]
    """
    waiting: queue.Queue[tuple[_Item | None, BaseException | None, bool]] = queue.Queue(depth)
    left = threading.Event()

    def hand_over(item: _Item | None, error: BaseException | None, last: bool) -> bool:
        """Whether it was taken."""
        while not left.is_set():
            try:
                waiting.put((item, error, last), timeout=_WAIT)
            except queue.Full:
                continue
            return True
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not hand_over(item, None, False):
                    break
            else:
                hand_over(None, None, True)
        except BaseException as error:  # raised again where the item is wanted
            hand_over(None, error, True)
        close = getattr(items, "close", None)
        if close is not None:
            close()

    # A daemon: it may wait for a pipe that delivers nothing when all else is done.
    thread = threading.Thread(target=fetch, name="massart-read", daemon=True)
    thread.start()
    try:
        while stopped is None or not stopped():
            try:
                item, error, last = waiting.get(timeout=None if stopped is None else _WAIT)
            except queue.Empty:
                continue
            if error is not None:
                raise error
            if last:
                return
            yield item  # type: ignore[misc]
    finally:
        left.set()
        if stopped is None:
            thread.join(_JOIN)


def in_order(work: Callable[[_Item], _Result], items: Iterator[_Item], workers: int) -> Iterator[_Result]:
    """work(item) for every item, in order, with at most a few results waiting; without workers, no threads.

    An exception of the iterator or of the work is raised at its place, after all results before it. Closing the
    generator stops the threads.

    >>> list(in_order(lambda n: n * n, iter(range(5)), workers=2))
    [0, 1, 4, 9, 16]
    """
    if workers < 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="massart-parse") as pool:
        futures = ahead((pool.submit(work, item) for item in items), depth=workers)
        with closing(futures):  # type: ignore[type-var]
            for future in futures:
                yield future.result()
