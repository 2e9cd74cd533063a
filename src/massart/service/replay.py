"""Replay: the model of a loop again from its log, and every decision again from the model that made it."""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

from massart.errors import InvalidDataError
from massart.service.loop import first_allowed
from massart.service.model import LoopModel, draw, offer_of_request, request_of, toss_of
from massart.service.store import DecisionRow, LoopRow, Store, Why
from massart.service.stream_model import StreamModel
from massart.service.streams import Stream, is_stream
from massart.service.types import LoopSettings

__all__ = ["Replayed", "decide_again", "replay"]

_AT_ONCE = 1000
_SHOWN = 20  # differences that are listed
_M = TypeVar("_M", LoopModel, StreamModel)


class Replayed(NamedTuple):
    """What a replay found; `differences` are sentences, the first of them."""

    loop: str
    steps: int
    decisions: int
    version: int
    snapshot: int | None  # the version of the snapshot that was compared, None if there is none
    different: int
    differences: list[str]


def replay(store: Store, row: LoopRow, *, decisions: bool = True) -> Replayed:
    """Make the model again from the steps of the log; compare it with the last snapshot, and decisions with the log."""
    if is_stream(row):
        return _replay_stream(store, row)
    model = _begun(store, row, LoopModel(msgspec.json.decode(row.settings, type=LoopSettings)))
    kept = store.snapshot(row.id)
    last = store.last_version(row.id)
    found: list[str] = []
    checked = count = different = 0
    made: Iterator[DecisionRow] = store.decided(row.id, model.version, last) if decisions else iter(())
    waiting = next(made, None)
    while model.version < last:
        steps = store.steps(row.id, model.version, _AT_ONCE)
        while model.version == 0 and waiting is not None and waiting.version < steps[0].version:
            waiting = next(made, None)  # decided by a model whose log was deleted
        rows = store.decisions_by_seq([step.decision for step in steps if step.decision is not None])
        for step in steps:
            while waiting is not None and waiting.version == model.version:
                checked += 1
                if decide_again(model, waiting, row.key) != (waiting.round, waiting.arm):
                    different += 1
                    found.append(f"decision {waiting.event_id!r} is not what version {model.version} decides")
                waiting = next(made, None)
            try:
                model.apply(step, rows.get(step.decision or 0))
            except InvalidDataError as error:
                raise InvalidDataError(f"loop {row.name!r}, step {step.version}: {error}") from None
            count += 1
            if kept is not None and kept[0] == model.version and model.snapshot()[1] != kept[1]:
                different += 1
                found.append(f"the snapshot of version {kept[0]} is not the model of the steps before it")
    while waiting is not None and waiting.version == model.version:
        checked += 1
        if decide_again(model, waiting, row.key) != (waiting.round, waiting.arm):
            different += 1
            found.append(f"decision {waiting.event_id!r} is not what version {model.version} decides")
        waiting = next(made, None)
    if waiting is not None:
        different += 1
        found.append(f"decision {waiting.event_id!r} names version {waiting.version}, after the last step {last}")
    return Replayed(
        row.name, count, checked, model.version, None if kept is None else kept[0], different, found[:_SHOWN]
    )


def _begun(store: Store, row: LoopRow, model: _M) -> _M:
    """A new model or, where the beginning of the log was deleted, that of the oldest snapshot."""
    first = store.steps(row.id, 0, 1)
    kept = store.first_snapshot(row.id)
    if not first or first[0].why == Why.RESET or kept is None:
        return model
    return type(model).of_snapshot(kept[1])


def _replay_stream(store: Store, row: LoopRow) -> Replayed:
    """Make the classifier again from the rows of the log, in the order of the steps; compare it with the snapshot."""
    model = _begun(store, row, Stream(row).model)
    kept, last = store.snapshot(row.id), store.last_version(row.id)
    found: list[str] = []
    learned = count = 0
    while model.version < last:
        steps = store.steps(row.id, model.version, _AT_ONCE)
        rows = store.decisions_by_seq([step.decision for step in steps if step.decision is not None])
        for step in steps:
            if step.decision is not None and step.decision not in rows:
                raise InvalidDataError(f"{row.name!r}, step {step.version}: its row is not in the log")
            model.apply(step, rows.get(step.decision or 0))
            learned += step.decision is not None
            count += 1
            if kept is not None and kept[0] == model.version and model.snapshot()[1] != kept[1]:
                found.append(f"the snapshot of version {kept[0]} is not the model of the steps before it")
    return Replayed(
        row.name, count, learned, model.version, None if kept is None else kept[0], len(found), found[:_SHOWN]
    )


def decide_again(model: LoopModel, row: DecisionRow, key: bytes) -> tuple[bytes, int]:
    """The round and the arm that a model decides for the request of a row."""
    request = request_of(row)
    out = set(request.excluded)
    ids = [one if isinstance(one, str) else one.id for one in request.actions or ()]
    allowed = [one not in out for one in ids] if out else None
    plan, _ = model.plan(offer_of_request(request, model.settings), allowed)
    p = plan.probabilities.tolist()
    own = draw(p, toss_of(key, row.event_id))
    return plan.pack(own), own if row.mode == "online" else first_allowed(p)
