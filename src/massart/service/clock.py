"""Time as the log has it: whole microseconds that never go back."""

import threading
import time

__all__ = ["SECOND", "Clock"]

SECOND = 1_000_000  # microseconds


class Clock:
    """The time of the system where it goes forward; else it goes on from the last one at the pace of a monotone clock.

    >>> clock = Clock(last=2**61)       # of a log that was written when the system's clock was wrong
    >>> clock.now() >= 2**61
    True
    """

    def __init__(self, last: int = 0) -> None:
        self._lock = threading.Lock()
        self._last, self._at = last, time.monotonic_ns()

    def now(self) -> int:
        """The time of what happens now."""
        with self._lock:
            at = time.monotonic_ns()
            self._last = max(time.time_ns() // 1000, self._last + (at - self._at) // 1000)
            self._at = at
            return self._last
