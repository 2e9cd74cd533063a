"""Schema ahead in a thread, so that whoever learns never waits for a pipe without hearing that it should stop."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["Ahead"]

_Item = TypeVar("_Item")
_WAIT = 0.1  # seconds between two looks at whether to stop


class Ahead(Generic[_Item]):
    """The items of an iterator, in order, taken from it by a thread; ends early once `stopped()`.

    An exception of the iterator comes at its place.

    >>> list(Ahead(iter(range(5))))
    [0, 1, 2, 3, 4]
    """

    def __init__(self, items: Iterator[_Item], stopped: Callable[[], bool] = lambda: False, depth: int = 1) -> None:
        self._items = items
        self._stopped = stopped
        self._waiting: queue.Queue[tuple[_Item | None, BaseException | None]] = queue.Queue(depth)
        self._left = threading.Event()
        # A daemon: it may be waiting for a pipe on which nothing comes when all else is done.
        self._thread = threading.Thread(target=self._fetch, name="massart-ahead", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[_Item]:
        try:
            while not self._stopped():
                try:
                    item, error = self._waiting.get(timeout=_WAIT)
                except queue.Empty:
                    continue
                if error is not None:
                    raise error
                if item is None:
                    return
                yield item
        finally:
            self._left.set()

    def _fetch(self) -> None:
        try:
            for item in self._items:
                if not self._hand_over(item, None):
                    break
            else:
                self._hand_over(None, None)
        except BaseException as error:  # it is raised again where the item was wanted
            self._hand_over(None, error)
        close = getattr(self._items, "close", None)
        if close is not None:
            close()

    def _hand_over(self, item: _Item | None, error: BaseException | None) -> bool:
        """Whether somebody still wanted it."""
        while not self._left.is_set():
            try:
                self._waiting.put((item, error), timeout=_WAIT)
            except queue.Full:
                continue
            return True
        return False
