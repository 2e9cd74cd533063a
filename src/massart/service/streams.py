"""Streams: classifiers that learn from rows with labels. They share the log, the writer and the learner with loops.

A stream is a row among the loops whose name begins with `streams/`. A row to learn is written as a decision is, once
for each event id, and is due at once: the learner makes a step of it, and the model learns it when that is durable.
"""

import asyncio
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import msgspec

from massart.service.errors import ConflictError, NotFoundError, RefusedError
from massart.service.store import LoopRow, NewDecision, Step, Store, Why
from massart.service.stream_model import StreamModel, check_stream
from massart.service.stream_types import LearnRequest, Predicted, StreamSettings

if TYPE_CHECKING:
    from massart.service.engine import Engine

__all__ = ["Stream", "Streams", "is_stream"]

_PREFIX: Final = "streams/"  # no loop has such a name
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ENCODE: Final = msgspec.json.Encoder().encode
_MODE: Final = "learn"


def is_stream(row: LoopRow) -> bool:
    """Whether a row of the loops is a stream."""
    return row.name.startswith(_PREFIX)


class Stream:
    """A stream in this process; `model` changes, nothing else does."""

    def __init__(self, row: LoopRow) -> None:
        self.id, self.name, self.created = row.id, row.name.removeprefix(_PREFIX), row.created
        self.settings = msgspec.json.decode(row.settings, type=StreamSettings)
        self.model = StreamModel(self.settings)


class Streams:
    """The streams of an engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.by_id: dict[int, Stream] = {}

    def all(self) -> list[Stream]:
        """By name."""
        return sorted(list(self.by_id.values()), key=lambda one: one.name)  # noqa: C414  others may change it

    def get(self, name: str) -> Stream:
        """A stream by its name."""
        for one in list(self.by_id.values()):
            if one.name == name:
                return one
        raise NotFoundError(f"there is no stream {name!r}: make it with PUT /v1/streams/{name}")

    def keep_only(self, rows: Sequence[LoopRow]) -> None:
        """Forget streams that were deleted, by whichever process."""
        there = {row.id for row in rows}
        for number in [one for one in self.by_id if one not in there]:
            del self.by_id[number]

    async def create(self, name: str, settings: StreamSettings) -> Stream:
        """A new stream; if it is there with the same settings, that one."""
        if not _NAME.fullmatch(name):
            raise RefusedError(
                f"name: {name[:80]!r} is not 1 to 64 letters, digits, _ . or -, of which the first is a letter or digit"
            )
        known = next((one for one in self.by_id.values() if one.name == name), None)
        if known is not None:
            if known.settings == settings:
                return known
            raise ConflictError(
                f"there is a stream {name!r} with other settings: delete it first, or take another name"
            )
        await asyncio.to_thread(check_stream, settings)  # scikit-learn is imported here
        time, encoded, whole = self._engine.clock.now(), _ENCODE(settings), _PREFIX + name

        def write(store: Store) -> LoopRow:
            self._engine.lock_steps(store)
            if any(row.name == whole for row in store.loops()):
                raise ConflictError(f"there is a stream {name!r} already")
            row = store.add_loop(whole, encoded, secrets.token_bytes(32), time)
            store.settle([], [], [], [Step(row.id, 1, Why.RESET, None, None, None, time, encoded)])
            return row

        row = await self._engine.changed(write)
        return self.by_id[row.id]

    async def reset(self, name: str) -> Stream:
        """Forget what the model has learned; the log stays."""
        stream = self.get(name)
        await self._engine.replaced(stream, Why.RESET, _ENCODE(stream.settings))
        return stream

    async def delete(self, name: str) -> None:
        """The stream, its log and its model are gone."""
        stream = self.get(name)

        def write(store: Store) -> None:
            self._engine.lock_steps(store)
            store.forget(stream.id)
            store.remove_loop(stream.id)
            if not store.shared:
                self._engine.learner.forget()

        await self._engine.changed(write)

    async def predict(self, name: str, rows: list[dict[str, Any]]) -> list[Predicted]:
        """The answers of the present model, computed in another thread."""
        stream = self.get(name)
        found = await asyncio.to_thread(stream.model.predict, rows)
        self._engine.counts["predictions", name, ""] += len(rows)
        return found

    async def learn(self, name: str, requests: Sequence[LearnRequest]) -> list[str]:
        """Record rows, all of them or none; their event ids. They are durable when this returns."""
        stream, now, shared = self.get(name), self._engine.clock.now(), self._engine.store.shared
        rows: list[NewDecision] = []
        for place, one in enumerate(requests):
            stream.model.check(one)
            body = _ENCODE(LearnRequest(one.features, one.label, one.weight))
            due = now + place if shared else now  # PostgreSQL numbers the rows of a transaction in another order
            rows.append(
                NewDecision(
                    stream.id, one.event_id or uuid4().hex, now, due, stream.model.version, 0, _MODE, True, body, b""
                )
            )
        if len({row.event_id for row in rows}) < len(rows):
            raise RefusedError("event_id: one stands there twice; give each row its own")
        known = await self._engine.writer.write(rows, []) if rows else {}
        for row in rows:
            there = known.get((stream.id, row.event_id))
            if there is not None and there.body != row.body:
                raise ConflictError(
                    f"event_id: {row.event_id!r} was learned with another row: give this one another event_id"
                )
        return [row.event_id for row in rows]
