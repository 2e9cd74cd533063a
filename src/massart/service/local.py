"""Deciders in other processes: they get the model and tickets, decide without a request, and send what they decided.

A ticket is the id of an event to come, with its uniform draw (`model.toss_of`). The service makes the ids, each with an
authentication code, and the key of the loop never leaves it. So a decider cannot look for an id whose draw gives the
action that it wants, and nobody else can know the draws; what it can do is choose which of its tickets to use, and keep
decisions to itself. `massart.client.LocalDecider` uses tickets in their order.

A decision that is sent is made again here, by the model of the version that it names: if the action, the probability
and the mode are the same, the row is written that the service itself would have written. So replay(log) covers it.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from massart.service.errors import RefusedError, ServiceError, TooLargeError
from massart.service.http import Call, Operation, Reader, answer
from massart.service.local_types import Lease, LeaseRequest, LocalDecision, NotTaken, Taken
from massart.service.loop import Loop, Prepared, entries_of
from massart.service.model import LoopModel, toss_of
from massart.service.store import DecisionRow, LoopRow, Step, Store

__all__ = ["LOCAL_OPERATIONS", "is_ticket"]

_TICKET: Final = re.compile(r"t-([0-9a-f]{16})-([0-9]{1,5})-([0-9a-f]{20})-([0-9]{1,5})")
_MODELS: Final = 4  # of earlier versions, kept for a loop
_STEPS: Final = 10_000  # from a snapshot to the version of a decision; snapshots are made every 5,000
_AT_ONCE: Final = 1000  # steps that are read together: meanwhile nothing is written


class _Models:
    """Models of one loop by version: the one that was published last, and some that decisions were checked with."""

    def __init__(self) -> None:
        self.published: tuple[int, bytes] = (-1, b"")
        self.known: OrderedDict[int, LoopModel] = OrderedDict()
        self.lock = asyncio.Lock()

    def keep(self, model: LoopModel) -> LoopModel:
        """Remember a model instead of the one that was not used for longest."""
        self.known[model.version] = model
        self.known.move_to_end(model.version)
        while len(self.known) > _MODELS:
            self.known.popitem(last=False)
        return model


def _models(call: Call, loop: Loop) -> _Models:
    state = call.request.app.state
    if not hasattr(state, "local_models"):
        state.local_models = {}
    found: _Models = state.local_models.setdefault(loop.id, _Models())
    return found


def _code(key: bytes, batch: str, count: int) -> str:
    text = f"{batch} {count}".encode()
    return hashlib.blake2b(text, digest_size=10, key=key, person=b"massart tickets").hexdigest()


def is_ticket(key: bytes, event_id: str) -> bool:
    """Whether this service made the id.

    >>> is_ticket(bytes(32), f"t-{'0' * 16}-5-{_code(bytes(32), '0' * 16, 5)}-4"), is_ticket(bytes(32), "mine")
    (True, False)
    >>> is_ticket(bytes(32), f"t-{'0' * 16}-5-{_code(bytes(32), '0' * 16, 5)}-5")
    False
    """
    found = _TICKET.fullmatch(event_id)
    if found is None:
        return False
    batch, count, code, place = found.groups()
    right = hmac.compare_digest(_code(key, batch, int(count)), code)
    return right and int(place) < int(count) and str(int(place)) == place


async def lease(call: Call) -> Response:
    """A model and tickets."""
    loop, wanted = call.engine.loop(call.path("loop")), await _LEASE(call)
    models = _models(call, loop)
    async with models.lock:
        if models.published[0] != loop.model.version:
            models.published = await run_in_threadpool(loop.model.snapshot)
        version, data = models.published
    batch = secrets.token_hex(8)
    prefix = f"t-{batch}-{wanted.tickets}-{_code(loop.key, batch, wanted.tickets)}-"
    tosses = [toss_of(loop.key, f"{prefix}{place}") for place in range(wanted.tickets)]
    return answer(Lease(version, None if version == wanted.version else data, loop.settings, prefix, tosses))


async def take(call: Call) -> Response:
    """Check decisions that were made elsewhere, and record those that are right, in one transaction."""
    loop, given = call.engine.loop(call.path("loop")), await _DECISIONS(call)
    if len(given) > call.limits["batch"]:
        raise TooLargeError(f"the list has {len(given)} entries, and {call.limits['batch']} are allowed")
    models, now = _models(call, loop), call.engine.clock.now()
    refused: list[NotTaken] = []
    rows: dict[str, Prepared] = {}
    for one in given:
        try:
            if one.event_id in rows:
                raise RefusedError("event_id: it stands there twice")
            rows[one.event_id] = await _made_again(call, loop, models, one, now)
        except ServiceError as error:
            refused.append(NotTaken(one.event_id, str(error)))
    known = await call.engine.writer.write([one.row for one in rows.values()], [])
    for (_, event_id), row in known.items():
        if not _same(row, rows[event_id]):
            refused.append(NotTaken(event_id, "event_id: it was decided before, with another request"))
            del rows[event_id]
    call.engine.counts["decisions", loop.name, loop.settings.mode] += len(rows)
    return answer(Taken(len(rows), refused))


def _same(row: DecisionRow, made: Prepared) -> bool:
    return (row.body, row.arm, row.version) == (made.row.body, made.row.arm, made.row.version)


async def _made_again(call: Call, loop: Loop, models: _Models, given: LocalDecision, now: int) -> Prepared:
    if not is_ticket(loop.key, given.event_id):
        raise RefusedError("event_id: it is not a ticket of this loop; use those that POST .../local gives")
    request = msgspec.structs.replace(given.request, event_id=given.event_id)
    if len(request.actions or ()) > call.limits["actions"] or entries_of(request) > call.limits["features"]:
        raise TooLargeError("request: it has more actions or features than are allowed")
    if given.mode != loop.settings.mode:
        raise RefusedError(f"mode: it was decided in the mode {given.mode}, and the loop has {loop.settings.mode} now")
    model = models.known.get(given.model_version) or await _model_at(call, loop, models, given.model_version)
    own = Loop(LoopRow(loop.id, loop.name, loop.encoded, loop.key, loop.created), loop.settings, model)
    made = await run_in_threadpool(own.prepare, request, now)
    if made.row.arm != given.index or made.answer.probability != given.probability:
        raise RefusedError(
            f"index: version {given.model_version} takes action {made.row.arm} with probability "
            f"{made.answer.probability!r}, not {given.index} with {given.probability!r}: were the settings others?"
        )
    return made


async def _model_at(call: Call, loop: Loop, models: _Models, version: int) -> LoopModel:
    """The model of an earlier version, from the last snapshot before it and the steps since."""
    async with models.lock:
        if version in models.known:
            return models.known[version]
        if models.published[0] == version:
            return models.keep(await run_in_threadpool(LoopModel.of_snapshot, models.published[1]))
        last, start = await call.engine.read(
            lambda store: (store.last_version(loop.id), store.snapshot(loop.id, version))
        )
        if version > last:
            raise RefusedError(f"model_version: {version} is not reached yet")
        model = LoopModel(loop.settings) if start is None else await run_in_threadpool(LoopModel.of_snapshot, start[1])
        if version - model.version > _STEPS:
            raise RefusedError(
                f"model_version: {version} is too old to be made again: ask for the model once in {_STEPS:,} steps"
            )
        while model.version < version:
            await run_in_threadpool(_learn, model, *await call.engine.read(_reader(loop.id, model.version, version)))
        return models.keep(model)


def _reader(loop: int, after: int, last: int) -> Callable[[Store], tuple[list[Step], dict[int, DecisionRow]]]:
    def read(store: Store) -> tuple[list[Step], dict[int, DecisionRow]]:
        steps = store.steps(loop, after, min(_AT_ONCE, last - after))
        return steps, store.decisions_by_seq([step.decision for step in steps if step.decision is not None])

    return read


def _learn(model: LoopModel, steps: Sequence[Step], rows: dict[int, DecisionRow]) -> None:
    for step in steps:
        model.apply(step, rows.get(step.decision or 0))


_LEASE: Final = Reader(LeaseRequest)
_DECISIONS: Final = Reader(list[LocalDecision])
LOCAL_OPERATIONS: Final = [
    Operation("POST", "/v1/loops/{loop}/local", lease, "decide", LeaseRequest, Lease),
    Operation("POST", "/v1/loops/{loop}/local/decisions", take, "decide", list[LocalDecision], Taken),
]
