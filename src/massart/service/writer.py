"""The writer: one thread that writes what requests hand to it, as much as there is at a time, and then answers them.

While one transaction goes to the disk, requests gather for the next one (group commit). On a store of one process the
same transaction holds what the learner makes of new rewards; where several processes share a store, learning has a
thread of its own, and needs the store's lock.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from massart.service.clock import Clock
from massart.service.errors import NotReadyError
from massart.service.learner import Learner, Settled
from massart.service.store import Batch, NewDecision, NewReward, Store, StoreError

__all__ = ["Writer"]

_MOST = 1000  # requests of one transaction
_TICK = 0.2  # seconds between two looks at windows that end
_GATHER = 0.003  # seconds in which requests gather, if there were many in the last transaction
_MANY = 8


class _Request(NamedTuple):
    """What a request wants written, or a job on the store; and who waits for it."""

    decisions: list[NewDecision]
    rewards: list[NewReward]
    job: Callable[[Store], Any] | None
    after: Callable[[Any], None] | None
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"


class Writer:
    """A thread with the store in its hands. `settled` is called with what the learner wrote, after it was applied."""

    def __init__(self, store: Store, clock: Clock, learner: Learner | None, settled: Callable[[Settled], None]) -> None:
        self._store, self._clock, self._learner, self._settled = store, clock, learner, settled
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="massart-writer", daemon=True)
        self.failure: str | None = None  # why the last transaction failed, None if it did not
        self.batches = self.written = 0
        self._stopping = False
        self._more = self._busy = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, and end."""
        self._stopping = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def write(self, decisions: list[NewDecision], rewards: list[NewReward]) -> "asyncio.Future[Any]":
        """Decisions and rewards; the future has what `Store.ingest` returned, once all is on the disk."""
        return self._put(decisions, rewards, None, None)

    def run(self, job: Callable[[Store], Any], after: Callable[[Any], None] | None = None) -> "asyncio.Future[Any]":
        """Call a function with the store in a transaction of its own; the future has what it returned.

        `after` is called with that once it is durable, before anything else is written or learned.
        """
        return self._put([], [], job, after)

    def _put(
        self,
        decisions: list[NewDecision],
        rewards: list[NewReward],
        job: Callable[[Store], Any] | None,
        after: Callable[[Any], None] | None,
    ) -> "asyncio.Future[Any]":
        if self._stopping:
            raise NotReadyError("the service is stopping: send the request again, to another one or later")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        self._queue.put(_Request(decisions, rewards, job, after, loop, done))
        return done

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            requests = self._take(max(0.0, due - time.monotonic()))
            if requests is None:
                return
            jobs = [one for one in requests if one.job is not None]
            plain = [one for one in requests if one.job is None]
            looks = self._learner is not None and (
                time.monotonic() >= due or any(one.rewards or _is_due(one) for one in plain)
            )
            if plain or looks or self._more:
                self._write(plain, learn=looks or self._more)
            for one in jobs:
                self._do(one)
            if time.monotonic() >= due:
                due = time.monotonic() + _TICK

    def _take(self, seconds: float) -> list[_Request] | None:
        """What waits; None if it is time to end."""
        found: list[_Request] = []
        with contextlib.suppress(queue.Empty):
            one = self._queue.get(timeout=0.0 if self._more else seconds)
            if self._busy and not self._stopping:
                time.sleep(_GATHER)
            while True:
                if one is None:
                    return found or None
                found.append(one)
                if len(found) >= _MOST:
                    break
                one = self._queue.get_nowait()
        if self._stopping and not found:
            return None
        return found

    def _write(self, requests: list[_Request], *, learn: bool) -> None:
        batch = Batch([d for one in requests for d in one.decisions], [r for one in requests for r in one.rewards])
        settled = Settled([], False, [])
        try:
            self._store.begin()
            known = self._store.ingest(batch)
            if learn and self._learner is not None:
                settled = self._learner.settle(self._clock.now())
            self._store.commit()
        except StoreError as error:
            self._failed(error, requests)
            return
        self.failure, self._more, self._busy = None, settled.more, len(requests) >= _MANY
        self.batches += 1
        self.written += len(batch.decisions) + len(batch.rewards)
        if self._learner is not None and settled.steps:
            self._learner.apply(settled.steps)
        _answer(requests, lambda _: known)
        if settled.steps or settled.outcomes:
            self._settled(settled)

    def _do(self, request: _Request) -> None:
        assert request.job is not None  # noqa: S101
        try:
            self._store.begin()
            found = request.job(self._store)
            self._store.commit()
            if request.after is not None:
                request.after(found)
        except StoreError as error:
            self._failed(error, [request])
        except Exception as error:  # a refusal, which is for whoever asked
            self._store.rollback()
            if self._learner is not None:
                self._learner.forget()
            _fail([request], error)
        else:
            _answer([request], lambda _: found)

    def _failed(self, error: StoreError, requests: list[_Request]) -> None:
        with contextlib.suppress(StoreError, Exception):
            self._store.rollback()
        if self._learner is not None:
            self._learner.forget()
        self.failure, self._more = str(error), False
        _fail(requests, NotReadyError(f"nothing was recorded: {error}. Send the same request again later"))


def _is_due(request: _Request) -> bool:
    """Whether its decisions wait for nothing, as rows of streams do."""
    return bool(request.decisions) and request.decisions[0].due <= request.decisions[0].time


def _answer(requests: list[_Request], result: Callable[[_Request], Any]) -> None:
    def tell() -> None:
        for one in requests:
            if not one.done.done():
                one.done.set_result(result(one))

    _call(requests, tell)


def _fail(requests: list[_Request], error: Exception) -> None:
    def tell() -> None:
        for one in requests:
            if not one.done.done():
                one.done.set_exception(error)

    _call(requests, tell)


def _call(requests: list[_Request], tell: Callable[[], None]) -> None:
    """Once for all of them: to wake the other thread takes longer than to answer a request."""
    if requests:
        with contextlib.suppress(RuntimeError):  # its event loop is closed: nobody waits any more
            requests[0].loop.call_soon_threadsafe(tell)
