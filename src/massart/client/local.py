"""`LocalDecider`: decisions in this process, by the service's model, without a request."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from massart.client.calls import CallError, UnavailableError, call_to, decide_body, msgspec, reward_body
from massart.client.clients import Client
from massart.errors import InvalidParameterError
from massart.service.errors import ServiceError
from massart.service.local_types import Lease, LocalDecision, Taken
from massart.service.loop import Loop, answer_of, first_allowed
from massart.service.model import LoopModel, draw
from massart.service.store import LoopRow
from massart.service.types import Action, Decided, DecideRequest, Rewarded

__all__ = ["LocalDecider", "Refusal"]

_BATCH: Final = 200  # decisions or rewards of one request
_BYTES: Final = 800_000  # at most, of one request; the service takes a megabyte
_REFUSALS: Final = 100  # that are remembered


class Refusal(NamedTuple):
    """A decision that the service did not record."""

    event_id: str
    why: str


class LocalDecider:
    """Decide from the last published model of a loop, and send decisions and rewards in the background.

    A decision takes no request. It is durable when it has been sent: `flush` sends everything and returns when it is
    on the service's disk; a process that is killed loses what it has not sent. The model is as old as `refresh`
    allows. Several threads may use one decider.

    Parameters
    ----------
    client : Client
        With a key that has the scopes decide and reward.
    loop : str
        The name of the loop.
    refresh : float, default=2.0
        Seconds between two requests for a newer model; decisions and rewards are sent at the same times.
    tickets : int, default=1000
        Event ids that are asked for at once, at most 10,000. If they run out, `decide` asks for more and waits.
    most_waiting : int, default=10_000
        If so many decisions and rewards wait to be sent, `decide` and `reward` send them first and raise an
        `UnavailableError` if that fails: memory is bounded.
    background : bool, default=True
        Whether a thread sends and refreshes. If False, `flush` and `refresh` do, when you call them.
    """

    def __init__(
        self,
        client: Client,
        loop: str,
        *,
        refresh: float = 2.0,
        tickets: int = 1000,
        most_waiting: int = 10_000,
        background: bool = True,
    ) -> None:
        if not (refresh > 0.0 and 1 <= tickets <= 10_000 and most_waiting >= 1):
            raise InvalidParameterError("`refresh` is positive, `tickets` 1 to 10,000, `most_waiting` at least 1")
        self.loop, self._client = loop, client
        self._wanted, self._most, self._every = tickets, most_waiting, refresh
        self._tickets: deque[tuple[str, float]] = deque()
        self._decisions: deque[LocalDecision] = deque()  # that were not sent yet
        self._rewards: deque[dict[str, Any]] = deque()
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._own: Loop | None = None
        self._stop = threading.Event()
        self.refusals: deque[Refusal] = deque(maxlen=_REFUSALS)
        self.refused = 0
        self.failure: str | None = None  # why the thread could not send or refresh the last time
        self.refresh()
        self._thread = threading.Thread(target=self._run, name="massart-local", daemon=True) if background else None
        if self._thread is not None:
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def version(self) -> int:
        """The version of the model that decides."""
        return self._loop.model.version

    @property
    def waiting(self) -> int:
        """Decisions and rewards that have not been sent."""
        return len(self._decisions) + len(self._rewards)

    @property
    def _loop(self) -> Loop:
        assert self._own is not None  # noqa: S101  `refresh` was called
        return self._own

    def decide(
        self,
        actions: Sequence[Any] | Mapping[str, Any] | None = None,
        context: Any = None,
        *,
        excluded: Sequence[str] = (),
        deferred: bool = False,
    ) -> Decided:
        """Decide now; the event id is one that the service gave."""
        if self.waiting >= self._most:
            self.flush()
        body = decide_body(actions, context, excluded, "-", deferred=deferred)
        try:
            request = msgspec.convert(body, DecideRequest)
        except msgspec.ValidationError as error:
            raise InvalidParameterError(str(error)) from None
        event_id, toss = self._ticket()
        loop = self._loop
        try:
            made = loop.prepare(msgspec.structs.replace(request, event_id=event_id), 0)
        except ServiceError as error:
            with self._lock:
                self._tickets.appendleft((event_id, toss))
            raise CallError(str(error), error.status) from None
        p = [one.probability for one in made.answer.actions]
        own, mode = draw(p, toss), made.answer.mode
        taken = own if mode == "online" else first_allowed(p)
        ids = [Action(one.id) for one in made.answer.actions]
        decided = answer_of(event_id, ids, p, own, taken, made.answer.model_version, mode)
        sent = LocalDecision(event_id, decided.model_version, taken, decided.probability, mode,
                             msgspec.structs.replace(request, event_id=None))  # fmt: skip
        with self._lock:
            self._decisions.append(sent)
        return decided

    def reward(self, event_id: str, reward: float, *, reward_id: str | None = None) -> Rewarded:
        """Note what an event earned; it is sent after the decision, and recorded when `flush` returns."""
        if self.waiting >= self._most:
            self.flush()
        with self._lock:
            self._rewards.append(reward_body(event_id, reward, reward_id))
        return Rewarded(event_id)

    def _ticket(self) -> tuple[str, float]:
        while True:
            with self._lock:
                if self._tickets:
                    return self._tickets.popleft()
            self.refresh()

    def refresh(self) -> int:
        """Ask for the model and, if few are left, for tickets; returns the version of the model."""
        with self._sending:
            few = len(self._tickets) <= self._wanted // 2
            known = None if self._own is None else self._own.model.version
            wanted = {"tickets": self._wanted if few else 0, "version": known}
            lease: Lease = self._client.call(call_to("POST", self.loop, "/local", wanted, Lease))
            model = (
                self._own.model
                if lease.snapshot is None and self._own
                else LoopModel.of_snapshot(lease.snapshot or b"")
            )
            row = LoopRow(0, self.loop, b"", bytes(32), 0)
            with self._lock:
                self._own = Loop(row, lease.settings, model)
                self._tickets.extend((f"{lease.prefix}{place}", toss) for place, toss in enumerate(lease.tosses))
        return self.version

    def flush(self) -> int:
        """Send all that waits, decisions first; returns how many were sent. What cannot be sent waits on."""
        with self._sending:
            rewards = len(self._rewards)  # whose decisions wait as well or were sent
            sent = self._send(self._decisions, len(self._decisions), self._send_decisions)
            return sent + self._send(self._rewards, rewards, self._send_rewards)

    def _send(self, queue: deque[Any], count: int, send: Callable[[list[Any]], None]) -> int:
        """The first so many of a queue, by several requests."""
        left = count
        while left:
            batch: list[Any] = []
            size = 0
            with self._lock:
                for one in islice(queue, min(left, _BATCH)):
                    size += len(msgspec.json.encode(one))
                    if batch and size > _BYTES:
                        break
                    batch.append(one)
            send(batch)
            with self._lock:
                for _ in batch:
                    queue.popleft()
            left -= len(batch)
        return count

    def _send_decisions(self, batch: list[Any]) -> None:
        call = call_to("POST", self.loop, "/local/decisions", msgspec.json.encode(batch), Taken)
        taken: Taken = self._client.call(call)
        for one in taken.refused:
            self._refuse(one.event_id, one.why)

    def _send_rewards(self, batch: list[Any]) -> None:
        """All at once; if one of them is refused, each alone."""
        try:
            self._client.call(call_to("POST", self.loop, "/reward/batch", batch, list[Rewarded]))
        except UnavailableError:
            raise
        except CallError as error:
            if len(batch) == 1:
                self._refuse(batch[0]["event_id"], str(error))
                return
            for one in batch:
                self._send_rewards([one])

    def _refuse(self, event_id: str, why: str) -> None:
        self.refused += 1
        self.refusals.append(Refusal(event_id, why))

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.flush()
                self.refresh()
            except Exception as error:  # it is tried again; whoever asks finds the reason
                self.failure = str(error)
            else:
                self.failure = None

    def close(self) -> None:
        """Send all that waits, and end; an `UnavailableError` says that something could not be sent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()
