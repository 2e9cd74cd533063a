"""The engine: loops, decisions, rewards, whichever API they come by. Coroutines return when their work is durable."""

import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

import msgspec

from massart.service.clock import SECOND, Clock
from massart.service.errors import ConflictError, NotFoundError, NotReadyError, RefusedError
from massart.service.hosts import Host
from massart.service.keys import Keyring
from massart.service.learner import Learner, Settled
from massart.service.loop import Loop, answer_again, check_settings
from massart.service.model import LoopModel, bandit_of, learn_lines
from massart.service.store import LoopRow, NewReward, Outcome, Step, Store, Why
from massart.service.streams import Stream, Streams, is_stream
from massart.service.types import Decided, DecideRequest, LoopSettings, RewardRequest
from massart.service.writer import Writer

__all__ = ["Begin", "Engine", "catch_up"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SNAPSHOT_STEPS, _SNAPSHOT_SECONDS = 5000, 60
_PRUNED = 2 * _SNAPSHOT_STEPS  # steps that are deleted after a snapshot, at most
_AT_ONCE = 2000  # steps that are read together
_L = TypeVar("_L", Loop, Stream)


class Begin(Enum):
    """Whether the model of a loop begins anew when its settings change."""

    NEVER = 0  # a change that needs it is refused, once something was learned
    IF_NEEDED = 1
    ANEW = 2


def _forgets(name: str, rounds: int, settings: LoopSettings, now: LoopSettings) -> str:
    names = ("reward_range", "gap", "margin", "horizon", "crossing")
    other = ", ".join(one for one in names if getattr(settings, one) != getattr(now, one))
    way = "" if "crossing" in other else f"use POST /v1/loops/{name}/change, which learns the log again, or "
    return (
        f"{other}: with this change the model would begin anew and forget {rounds:,} rounds; {way}add "
        '"reset": true to the request to begin anew'
    )


class Engine:
    """Everything but HTTP. Make it, `start` it inside of an event loop, `stop` it at the end."""

    def __init__(self, store: Store, keep: int | None = None) -> None:
        self.store, self._keep_time = store, keep  # microseconds that settled events are kept; None for ever
        self.clock = Clock(store.last_time())
        self._by_name: dict[str, Loop] = {}
        self._by_id: dict[int, Loop] = {}
        self._changing = threading.Lock()
        self.streams = Streams(self)
        self.learner = Learner(store, self._of, self._paused)
        self.keyring: Keyring | None = None  # None: everybody may do everything
        self.host: Host | None = None  # where several processes share the store
        if store.shared:
            own: Any = store.again()  # type: ignore[attr-defined]
            self.learner = Learner(own, self._of, self._paused)
            self.host = Host(own, self.clock, self.learner, self._follow, self._learned)
        self.writer = Writer(store, self.clock, None if store.shared else self.learner, self._settled)
        self.counts: Counter[tuple[str, str, str]] = Counter()  # (what, loop, label), since the start
        self._kept: dict[int, tuple[int, int]] = {}  # version and time of the last snapshot
        self.delays: Counter[str] = Counter()
        for row in store.loops():
            self._add(row)

    def start(self) -> None:
        """Begin to write and to learn."""
        self.writer.start()
        if self.host is not None:
            self.host.start()

    def stop(self) -> None:
        """Write what waits, keep snapshots, let go of the store."""
        self.writer.stop()
        if self.host is not None:
            self.host.end()
        if self.host is None or self.host.is_learner:
            self._keep(self.store, everything=True)
        self.store.close()

    def _follow(self, store: Store) -> None:
        """Bring loops, their settings and their models up to what is in the log."""
        if self.keyring is not None and store.shared:  # keys that another process made or removed
            self.keyring = self.keyring.of(store.keys())
        with self._changing:
            rows = store.loops()
            self.streams.keep_only(rows)
            for row in rows:
                loop = self._of(row.id)
                if loop is None:
                    self._add(row, store)
                    continue
                if isinstance(loop, Loop) and row.settings != loop.encoded:
                    loop.settings, loop.encoded = msgspec.json.decode(row.settings, type=LoopSettings), row.settings
                catch_up(store, loop)

    def _learned(self, settled: Settled, store: Store) -> None:
        """In the host's thread, after a transaction of the learner."""
        with self._changing:
            self.learner.apply(settled.steps)
        self._settled(settled, store)

    def _of(self, number: int) -> Any:
        """A loop or a stream by its number."""
        return self._by_id.get(number) or self.streams.by_id.get(number)

    def _add(self, row: LoopRow, store: Store | None = None) -> None:
        if is_stream(row):
            stream = Stream(row)
            catch_up(store or self.store, stream)
            self.streams.by_id[row.id] = stream
            self._kept[row.id] = stream.model.version, self.clock.now()
            return
        settings = msgspec.json.decode(row.settings, type=LoopSettings)
        loop = Loop(row, settings, LoopModel(settings))
        catch_up(store or self.store, loop)
        self._by_name[row.name] = self._by_id[row.id] = loop
        self._kept[row.id] = loop.model.version, self.clock.now()

    def _paused(self) -> list[int]:
        return [loop.id for loop in list(self._by_id.values()) if loop.settings.paused]

    # Loops

    def loop(self, name: str) -> Loop:
        """A loop by its name."""
        found = self._by_name.get(name)
        if found is None:
            raise NotFoundError(f"there is no loop {name!r}: make it with PUT /v1/loops/{name}")
        return found

    def loops(self) -> list[Loop]:
        """All of them, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    async def create_loop(self, name: str, settings: LoopSettings) -> Loop:
        """A new loop; if it is there with the same settings, that one."""
        if not _NAME.fullmatch(name):
            raise RefusedError(
                f"name: {name[:80]!r} is not 1 to 64 letters, digits, _ . or -, of which the first is a letter or digit"
            )
        check_settings(settings)
        known = self._by_name.get(name)
        if known is not None:
            if known.settings == settings:
                return known
            raise ConflictError(
                f"there is a loop {name!r} with other settings: change them with PATCH /v1/loops/{name}"
            )
        time, key, encoded = self.clock.now(), secrets.token_bytes(32), msgspec.json.encode(settings)

        def write(store: Store) -> LoopRow:
            self.lock_steps(store)
            if any(row.name == name for row in store.loops()):
                raise ConflictError(f"there is a loop {name!r} already")
            row = store.add_loop(name, encoded, key, time)
            store.settle([], [], [], [Step(row.id, 1, Why.RESET, None, None, None, time, encoded)])
            return row

        row = await self.writer.run(write, lambda row: self._changed(None))
        return self._by_id[row.id]

    async def change_settings(
        self, name: str, change: Callable[[LoopSettings], LoopSettings], begin: Begin = Begin.IF_NEEDED
    ) -> Loop:
        """Other settings, a function of those at the moment of writing, so that no other change is lost.

        With another `exploration` the model goes on; with other settings of the model it has to begin anew.
        """
        loop = self.loop(name)

        def write(store: Store) -> None:
            self.lock_steps(store)
            row = next(row for row in store.loops() if row.id == loop.id)
            now = msgspec.json.decode(row.settings, type=LoopSettings)
            settings = check_settings(change(now))
            encoded = msgspec.json.encode(settings)
            store.set_loop(loop.id, encoded)
            rounds, anew = loop.model.bandit.rounds, settings.model_settings != now.model_settings
            if anew and rounds and begin == Begin.NEVER:
                raise ConflictError(_forgets(name, rounds, settings, now))
            if anew or begin == Begin.ANEW:
                self._step(store, loop, Why.RESET, encoded)
            elif settings.exploration != now.exploration:
                self._step(store, loop, Why.SETTINGS, encoded)

        await self.writer.run(write, self._changed)
        return loop

    async def reset(self, name: str) -> Loop:
        """Forget what the model has learned; the log stays."""
        loop = self.loop(name)
        encoded = msgspec.json.encode(loop.settings)
        return await self.replaced(loop, Why.RESET, encoded)

    async def replace_model(self, name: str, data: bytes) -> Loop:
        """Go on from the bandit in a model file."""
        loop = self.loop(name)
        found, wanted = bandit_of(data).reward_range, loop.settings.reward_range
        if found != wanted:
            raise RefusedError(
                f"the model has rewards from {found[0]:g} to {found[1]:g}, the loop from {wanted[0]:g} to "
                f"{wanted[1]:g}: give one of the same range"
            )
        return await self.replaced(loop, Why.MODEL, data)

    async def forget_log(self, name: str) -> Loop:
        """Delete decisions, rewards and steps; the model stays, and the log begins with it."""
        loop = self.loop(name)

        def write(store: Store) -> None:
            self.lock_steps(store)
            self._follow(store)
            version, data = loop.model.snapshot()
            store.forget(loop.id)
            first = Step(loop.id, version + 1, Why.RESET, None, None, None, self.clock.now(), loop.encoded)
            store.settle([], [], [], [first, first._replace(version=version + 2, why=Why.MODEL, data=data)])
            if not store.shared:
                self.learner.forget()

        await self.writer.run(write, self._changed)
        return loop

    async def learn_log(self, name: str, lines: bytes) -> int:
        """Learn decisions of another policy, given as JSON lines; how many rounds these are."""
        loop = self.loop(name)
        try:
            rounds = learn_lines(loop.model.bandit.copy(), lines)
        except UnicodeDecodeError:
            raise RefusedError("the log is not UTF-8") from None
        if not rounds:
            raise RefusedError("nothing can be learned from the log: it has no decision with a reward that fits")
        await self.replaced(loop, Why.IMPORT, lines)
        return rounds

    async def replaced(self, loop: _L, why: Why, data: bytes) -> _L:
        """Write a step without a decision, such as a reset."""

        def write(store: Store) -> None:
            self.lock_steps(store)
            self._step(store, loop, why, data)

        await self.writer.run(write, self._changed)
        return loop

    async def changed(self, write: Callable[[Store], Any]) -> Any:
        """Write a change of loops or streams, and follow it."""
        return await self.writer.run(write, self._changed)

    def _changed(self, _: Any) -> None:
        """In the writer's thread, once a change is durable and before anything else is written."""
        self._follow(self.store)

    @staticmethod
    def lock_steps(store: Any) -> None:
        """Until the end of the transaction, no other process writes steps; then it is told of these."""
        if store.shared:
            store.lock_steps()
            store.tell()

    def _step(self, store: Store, loop: Loop | Stream, why: Why, data: bytes) -> None:
        """Write a step without a decision, which the model applies once it is durable."""
        version = store.last_version(loop.id) + 1
        store.settle([], [], [], [Step(loop.id, version, why, None, None, None, self.clock.now(), data)])
        if not store.shared:
            self.learner.forget()

    # Decisions and rewards

    async def decide(self, name: str, request: DecideRequest) -> Decided:
        """Choose an action; the decision is durable when this returns."""
        return (await self.decide_all(name, [request]))[0]

    async def decide_all(self, name: str, requests: Sequence[DecideRequest]) -> list[Decided]:
        """Several decisions, all of them written or none."""
        loop, now = self.loop(name), self.clock.now()
        prepared = [loop.prepare(request, now) for request in requests]
        if len({one.row.event_id for one in prepared}) < len(prepared):
            raise RefusedError("event_id: one stands there twice; give each decision its own")
        known = await self.writer.write([one.row for one in prepared], [])
        self.counts["decisions", name, loop.settings.mode] += len(prepared)
        if not known:
            return [one.answer for one in prepared]
        answers = []
        for one in prepared:
            row = known.get((loop.id, one.row.event_id))
            if row is not None and row.body != one.row.body:
                raise ConflictError(
                    f"event_id: {one.row.event_id!r} was decided with another request: give this one another event_id"
                )
            answers.append(one.answer if row is None else answer_again(row))
        return answers

    async def reward(self, name: str, rewards: Sequence[RewardRequest]) -> None:
        """Record rewards; the learner joins them to their decisions."""
        loop, now = self.loop(name), self.clock.now()
        for one in rewards:
            loop.check_reward(one.reward)
        await self.writer.write(
            [], [NewReward(loop.id, one.event_id, now, one.reward, one.reward_id) for one in rewards]
        )

    async def activate(self, name: str, event_ids: Sequence[str]) -> None:
        """Record that deferred events took place."""
        loop, now = self.loop(name), self.clock.now()
        await self.writer.write([], [NewReward(loop.id, one, now, None) for one in event_ids])

    async def read(self, job: Callable[[Store], Any]) -> Any:
        """Call a function with the store, when the writer has time for it."""
        return await self.writer.run(job)

    # After a transaction, in the writer's thread

    def _settled(self, settled: Settled, store: Store | None = None) -> None:
        for step, _ in settled.steps:
            loop = self._by_id.get(step.loop)
            if loop is not None:
                self.counts["steps", loop.name, Why(step.why).name.lower()] += 1
            elif step.why == Why.ROW and step.loop in self.streams.by_id:
                self.counts["rows", self.streams.by_id[step.loop].name, ""] += 1
        for _, outcome, row in settled.outcomes:
            loop = self._by_id.get(row.loop)
            if loop is not None:
                what = "activations" if row.value is None else "rewards"
                self.counts[what, loop.name, Outcome(outcome).name.lower()] += 1
        self._keep(store or self.store, everything=False)

    def _keep(self, store: Store, *, everything: bool) -> None:
        """Snapshots of models that have changed much, or some time ago."""
        now = self.clock.now()
        every: list[Loop | Stream] = [*self._by_id.values(), *self.streams.by_id.values()]
        for loop in every:
            version, when = self._kept.get(loop.id, (0, 0))
            behind = loop.model.version - version
            if behind >= (1 if everything or now - when > _SNAPSHOT_SECONDS * SECOND else _SNAPSHOT_STEPS):
                at, data = loop.model.snapshot()
                try:
                    store.begin()
                    store.add_snapshot(loop.id, at, now, data)
                    keep = self._kept_for(loop)
                    if keep is not None:
                        store.prune(loop.id, now - keep, _PRUNED)
                    store.commit()
                except Exception:  # the log has all of it: the next start takes longer
                    store.rollback()
                self._kept[loop.id] = at, now

    def _kept_for(self, loop: Loop | Stream) -> int | None:
        """Microseconds that settled events are kept, by the service or, if that is shorter, by the loop."""
        days = loop.settings.keep_days if isinstance(loop, Loop) else None
        own = [] if days is None else [round(days * 86400 * SECOND)]
        return min([*own, *([] if self._keep_time is None else [self._keep_time])], default=None)

    @property
    def is_ready(self) -> bool:
        """Whether the last transaction succeeded."""
        return self.failure is None

    @property
    def failure(self) -> str | None:
        """Why the last transaction failed; None if it did not."""
        return self.writer.failure or (None if self.host is None else self.host.failure)

    def check_ready(self) -> None:
        """Raise an error if it is not."""
        if self.failure is not None:
            raise NotReadyError(f"the last transaction failed: {self.failure}")


def catch_up(store: Store, loop: Loop | Stream) -> int:
    """Bring a model to the last step of the log, from a snapshot if that is ahead of it; returns its version."""
    if loop.model.version == 0:
        found = store.snapshot(loop.id)
        if found is not None:
            loop.model = type(loop.model).of_snapshot(found[1])
    while True:
        steps = store.steps(loop.id, loop.model.version, _AT_ONCE)
        rows = store.decisions_by_seq([step.decision for step in steps if step.decision is not None])
        for step in steps:
            loop.model.apply(step, rows.get(step.decision or 0))
        if len(steps) < _AT_ONCE:
            return loop.model.version
