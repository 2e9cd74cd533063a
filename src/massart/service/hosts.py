"""Several processes on one store: one of them learns, the others follow its steps, and take over when it is gone.

Each process has this thread with a connection of its own. Whoever holds the learner's lock joins rewards and writes
steps; everybody applies the steps of the log, in order, so that all models of one version are the same, to the bit.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from massart.service.clock import SECOND, Clock
from massart.service.learner import Learner, Settled
from massart.service.store import StoreError

__all__ = ["Host"]

_GRACE = SECOND  # a reward of another process may be on its way when its window ends
_TICK = 0.1
_log = logging.getLogger("massart.service")


class Host(threading.Thread):
    """`follow(store)` brings loops, settings and models up to the log; `settled` is told what this process learned."""

    def __init__(
        self, store: Any, clock: Clock, learner: Learner, follow: Callable[[Any], None],
        settled: Callable[[Settled, Any], None],
    ) -> None:  # fmt: skip
        super().__init__(name="massart-host", daemon=True)
        self._store, self._clock, self._learner = store, clock, learner
        self._follow, self._settled = follow, settled
        self._over = threading.Event()
        self.is_learner = False
        self.failure: str | None = None

    def run(self) -> None:
        """Until it is stopped."""
        listening = False
        while not self._over.is_set():
            try:
                self.is_learner = self._turn()
                if not listening:
                    self._store.listen()
                    listening = True
                self.failure = None
                self._store.wait(_TICK)
            except StoreError as error:
                self.is_learner, self.failure, listening = False, str(error), False
                self._learner.forget()
                _log.warning("the store cannot be reached: %s", error)
                time.sleep(_TICK)
                with contextlib.suppress(StoreError):
                    self._store.begin()  # connects again
                    self._store.rollback()
            except Exception:  # whatever it is, another turn may do better, and other processes go on
                _log.exception("learning failed")
                self._store.rollback()
                self._learner.forget()
                time.sleep(1.0)

    def _turn(self) -> bool:
        learns = bool(self._store.become_learner())
        while True:
            self._follow(self._store)
            if not learns:
                return False
            self._store.begin()
            self._store.lock_steps()
            self._follow(self._store)  # a step of another process, such as a reset, comes first
            self._learner.forget()
            settled = self._learner.settle(self._clock.now() - _GRACE)
            if settled.steps:
                self._store.tell()
            self._store.commit()
            self._settled(settled, self._store)
            if not settled.more or self._over.is_set():
                return True

    def end(self) -> None:
        """Stop, and let another process learn."""
        self._over.set()
        if self.is_alive():
            self.join()
        self._store.close()
