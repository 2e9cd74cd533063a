"""API v1 on what a loop has done: its state, certificate and events; export, import, models; keys and the audit."""

import asyncio
import math
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import IO, Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from massart.service.api import loop_facts
from massart.service.errors import ConflictError, NotFoundError, RefusedError
from massart.service.exporting import FORMATS, exported
from massart.service.http import Call, Operation, Reader, answer
from massart.service.keys import Keyring, digest_of, new_key
from massart.service.loop import answer_again
from massart.service.metrics import METRICS_TYPE, metrics_text
from massart.service.store import DecisionRow, Outcome, Store, Why
from massart.service.types_read import (
    AuditEntry,
    AuditList,
    CertificateFacts,
    Event,
    EventList,
    EventReward,
    Imported,
    KeyFacts,
    KeyList,
    KeyRequest,
    LoopFacts,
    LoopState,
    NewKey,
    Settlement,
)

__all__ = ["READ_OPERATIONS"]

_KEY: Final = Reader(KeyRequest)
_MODEL: Final = "application/octet-stream"
_LINES: Final = "application/x-ndjson"
_BLOCK: Final = 1 << 18
_Z: Final = 1.959964  # of a normal interval at 95%


def _mean(sums: dict[str, float], name: str, squares: str) -> tuple[float | None, tuple[float, float] | None]:
    n = sums["rounds"]
    if n < 1:
        return None, None
    mean = sums[name] / n
    if n < 2:
        return mean, None
    spread = _Z * math.sqrt(max(0.0, sums[squares] / n - mean * mean) / n)
    return mean, (mean - spread, mean + spread)


async def loop_state(call: Call) -> Response:
    """Counts, and what was earned: also what the first action and a random one would have, estimated."""
    loop = call.engine.loop(call.path("loop"))
    counts: dict[str, int] = await call.engine.read(lambda store: store.counts(loop.id))
    sums = dict(loop.model.sums)
    host = call.engine.host
    state = LoopState(
        loop_facts(loop),
        counts.pop("decisions"),
        counts.pop("waiting"),
        counts,
        int(sums["defaults"]),
        *_mean(sums, "rewards", "squares"),
        *_mean(sums, "baseline", "baseline_squares"),
        *_mean(sums, "random", "random_squares"),
        sums["matches"] / sums["rounds"] if sums["rounds"] else None,
        loop.model.updated or None,
        host is None or host.is_learner,
    )
    return answer(state)


async def certificate(call: Call) -> Response:
    """What is guaranteed of the lift over a random action, and what was seen."""
    loop = call.engine.loop(call.path("loop"))
    waiting: int = (await call.engine.read(lambda store: store.counts(loop.id)))["waiting"]
    found = loop.model.certificate(waiting)
    facts = CertificateFacts(
        found.verdict, found.sentence, found.rounds, waiting, found.guaranteed_lift, found.observed_lift, found.low,
        found.high, found.confidence, found.holds, found.gap, found.margin,
    )  # fmt: skip
    return answer(facts)


def _event(store: Store, row: DecisionRow) -> Event:
    rewards, step = store.event_log(row.seq, row.loop, row.event_id)
    settled = None
    if step is not None:
        settled = Settlement(step.version, Why(step.why).name.lower(), step.reward, step.taught, step.time)
    came = [EventReward(time, value, Outcome(outcome).name.lower()) for time, value, outcome in rewards]
    return Event(answer_again(row), row.time, row.due, msgspec.json.decode(row.body), came, settled)


async def get_event(call: Call) -> Response:
    """One event: what was asked and decided, the rewards that came, and what was learned."""
    loop, name = call.engine.loop(call.path("loop")), call.path("event")

    def read(store: Store) -> Event | None:
        row = store.decision(loop.id, name)
        return None if row is None else _event(store, row)

    found = await call.engine.read(read)
    if found is None:
        raise NotFoundError(f"there is no event {name[:80]!r} in the loop {loop.name!r}")
    return answer(found)


async def list_events(call: Call) -> Response:
    """The last events, newest first."""
    loop = call.engine.loop(call.path("loop"))
    limit, before = call.number("limit", 50, 1, 500), call.number("before", 1 << 59, 1, 1 << 59)

    def read(store: Store) -> EventList:
        rows = store.events(loop.id, before, limit)
        return EventList([_event(store, row) for row in rows], rows[-1].seq if len(rows) == limit else None)

    return answer(await call.engine.read(read))


async def export(call: Call) -> Response:
    """The log: JSON lines (of all events), dsjson or Parquet (of those that are settled with a reward)."""
    loop = call.engine.loop(call.path("loop"))
    name = call.request.query_params.get("format", "jsonl")
    if name not in FORMATS:
        raise RefusedError(f"format: {name[:40]!r} is none of {', '.join(FORMATS)}")
    media, write = FORMATS[name]
    file = tempfile.TemporaryFile()  # noqa: SIM115  the answer closes it
    try:
        last = await call.engine.read(lambda store: next((row.seq for row in store.events(loop.id, None, 1)), 0))
        events = asyncio.get_running_loop()

        def read(job: Callable[[Store], Any]) -> Any:  # in the writer's thread, when it has time for it
            return asyncio.run_coroutine_threadsafe(call.engine.read(job), events).result()

        await asyncio.to_thread(write, exported(read, loop.id, loop.settings, last), file)
    except BaseException:
        file.close()
        raise
    headers = {"content-disposition": f'attachment; filename="{loop.name}.{name}"'}
    return StreamingResponse(_blocks(file), headers=headers, media_type=media)


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        file.seek(0)
        while block := file.read(_BLOCK):
            yield block


async def import_log(call: Call) -> Response:
    """Learn decisions of another policy from JSON lines with probabilities and rewards; nothing is guaranteed then."""
    name = call.path("loop")
    call.engine.loop(name)
    rounds = await call.engine.learn_log(name, await call.body("import"))
    return answer(Imported(rounds, call.engine.loop(name).model.version))


async def get_model(call: Call) -> Response:
    """The model as a file that `massart` opens; the header massart-model-version says which version it is."""
    loop = call.engine.loop(call.path("loop"))
    version, data = await asyncio.to_thread(loop.model.snapshot)
    return Response(data, headers={"massart-model-version": str(version)}, media_type=_MODEL)


async def put_model(call: Call) -> Response:
    """Go on from the bandit in a model file, which must know features by name and have the range of the loop."""
    loop = call.engine.loop(call.path("loop"))
    return answer(loop_facts(await call.engine.replace_model(loop.name, await call.body("import"))))


async def list_keys(call: Call) -> Response:
    """All keys by name; the keys themselves are not kept."""
    rows = await call.engine.read(lambda store: store.keys())
    return answer(KeyList([KeyFacts(name, scopes.split(",")) for name, _, scopes in rows]))


async def put_key(call: Call) -> Response:
    """Make a key, which is answered once; one of the same name is replaced."""
    scopes: list[str] = list(dict.fromkeys((await _KEY(call)).scopes))
    name, key, now = call.path("key"), new_key(), call.engine.clock.now()
    if not scopes or not name.isascii() or not name.isprintable() or not 0 < len(name) <= 64:
        raise RefusedError("give at least one scope, and a name of 1 to 64 printable characters")
    await call.engine.read(lambda store: store.add_key(name, digest_of(key), ",".join(scopes), now))
    await _read_keys(call)
    return answer(NewKey(name, key, scopes), 201)


async def delete_key(call: Call) -> Response:
    """Let a key be unknown."""
    name = call.path("key")
    if name == call.holder.name:
        raise ConflictError("a key cannot remove itself: use another one")
    if not await call.engine.read(lambda store: store.remove_key(name)):
        raise NotFoundError(f"there is no key {name[:80]!r}")
    await _read_keys(call)
    return Response(status_code=204)


async def _read_keys(call: Call) -> None:
    if call.keyring is not None:
        call.engine.keyring = Keyring(await call.engine.read(lambda store: store.keys()))


async def audit(call: Call) -> Response:
    """What administrators did, newest first."""
    limit = call.number("limit", 100, 1, 1000)
    rows = await call.engine.read(lambda store: store.audited(limit))
    return answer(AuditList([AuditEntry(*row) for row in rows]))


async def metrics(call: Call) -> Response:
    """Counters and gauges for Prometheus."""
    engine = call.engine

    def read(store: Store) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
        waiting = {one.name: store.counts(one.id)["waiting"] for one in engine.streams.all()}
        return {loop.name: store.counts(loop.id) for loop in engine.loops()}, waiting

    counts, waiting = await engine.read(read)
    text = metrics_text(engine, counts, waiting, call.request.app.state.durations)
    return Response(text, media_type=METRICS_TYPE)


_WHOLE: Final = {"type": "integer", "minimum": 1}
READ_OPERATIONS: Final = [
    Operation("GET", "/v1/loops/{loop}/state", loop_state, "read", None, LoopState),
    Operation("GET", "/v1/loops/{loop}/certificate", certificate, "read", None, CertificateFacts),
    Operation(
        "GET", "/v1/loops/{loop}/events", list_events, "read", None, EventList,
        query={"limit": {**_WHOLE, "maximum": 500}, "before": _WHOLE},
    ),
    Operation("GET", "/v1/loops/{loop}/events/{event:path}", get_event, "read", None, Event),
    Operation(
        "GET", "/v1/loops/{loop}/export", export, "read", None, _LINES,
        query={"format": {"type": "string", "enum": list(FORMATS)}},
    ),
    Operation("POST", "/v1/loops/{loop}/import", import_log, "admin", _LINES, Imported),
    Operation("GET", "/v1/loops/{loop}/model", get_model, "read", None, _MODEL, headers=("massart-model-version",)),
    Operation("PUT", "/v1/loops/{loop}/model", put_model, "admin", _MODEL, LoopFacts),
    Operation("GET", "/v1/keys", list_keys, "admin", None, KeyList),
    Operation("PUT", "/v1/keys/{key}", put_key, "admin", KeyRequest, NewKey, 201),
    Operation("DELETE", "/v1/keys/{key}", delete_key, "admin", None, None, 204),
    Operation("GET", "/v1/audit", audit, "admin", None, AuditList, query={"limit": {**_WHOLE, "maximum": 1000}}),
    Operation("GET", "/metrics", metrics, "read", None, METRICS_TYPE),
]  # fmt: skip
