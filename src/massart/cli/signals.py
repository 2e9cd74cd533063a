"""Ctrl-C and its like: the first asks to stop in good order, the second ends the process at once."""

import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

__all__ = ["Stop"]

_HEARD = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]


class Stop:
    """Inside of `with`, called, it gives the number of the signal that has come, or None.

    As long as it is not `patient`, a signal interrupts whatever is going on, as Ctrl-C always does.

    >>> with Stop() as stop:
    ...     stop.patient = True
    ...     before = stop()
    ...     stop.hear(signal.SIGTERM, None)  # as the system calls it when the signal comes
    ...     before, stop() == signal.SIGTERM
    (None, True)
    """

    def __init__(self) -> None:
        self.patient = False
        self._came: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in _HEARD:
            try:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and shells ask of what they started
                    self._before[number] = signal.signal(number, self.hear)
            except ValueError:  # not the main thread, which is the only one that hears signals
                return self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> int | None:
        """The signal that has come."""
        return self._came

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Note a signal, the first; end the process at the second."""
        if self._came is not None:
            _leave_now(number)
        self._came = number
        if not self.patient:
            raise KeyboardInterrupt


def _leave_now(number: int) -> NoReturn:
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h\n")  # a live view hides the cursor
    os._exit(128 + number)
