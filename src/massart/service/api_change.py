"""API v1: changes that are tried on the log first, and what may be wrong with a loop."""

import asyncio
from functools import partial
from typing import Any, Final

import msgspec
from starlette.responses import Response

from massart.service.api import loop_facts, merged
from massart.service.diagnosis import LOOKED_AT, Diagnosis, diagnose_loop
from massart.service.engine import Begin
from massart.service.errors import ConflictError, RefusedError
from massart.service.exporting import record_of_decision
from massart.service.gate import MOST_TRIED, Trial, try_model, try_settings
from massart.service.http import Call, Operation, Reader, answer
from massart.service.loop import Loop, check_settings
from massart.service.model import bandit_of
from massart.service.store import Store
from massart.service.types import LoopSettings
from massart.service.types_read import LoopFacts

__all__ = ["CHANGE_OPERATIONS"]


class ChangeRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Settings to change, and how much less than now may be earned."""

    settings: dict[str, Any]
    tolerance: float = 0.0
    confidence: float = 0.95
    apply: bool = True  # False: only say what the log says


class Changed(msgspec.Struct):
    """What was found, and the loop, changed or not."""

    trial: Trial
    applied: bool
    loop: LoopFacts


_CHANGE: Final = Reader(ChangeRequest)


async def _records(call: Call, loop: Loop) -> list[dict[str, Any]]:
    """The last records of the log with a reward, in the order of decisions."""

    def page(before: int | None, store: Store) -> tuple[list[dict[str, Any]], int | None]:
        rows = store.events(loop.id, before, LOOKED_AT)
        steps = store.rewards_of([row.seq for row in rows])
        found = [record_of_decision(row, steps[row.seq], loop.settings) for row in rows if row.seq in steps]
        return [one for one in found if "reward" in one], rows[-1].seq if len(rows) == LOOKED_AT else None

    records: list[dict[str, Any]] = []
    before: int | None = None
    while len(records) < MOST_TRIED:
        found, before = await call.engine.read(partial(page, before))
        records += found
        if before is None:
            break
    return records[::-1]


async def change_loop(call: Call) -> Response:
    """Other settings of the model, if the log says that they would have earned enough; else 409 with the report."""
    loop, given = call.engine.loop(call.path("loop")), await _CHANGE(call)
    if not 0.0 < given.confidence < 1.0 or not given.tolerance >= 0.0:
        raise RefusedError("confidence must be between 0 and 1, tolerance at least 0")
    before = loop.settings
    settings = check_settings(merged(given.settings)(before))
    if settings.crossing != before.crossing:
        raise RefusedError(
            'crossing: the log cannot try another one, whose features are other ones; use PATCH with "reset": true'
        )

    def change(now: LoopSettings) -> LoopSettings:
        if now != before:
            raise ConflictError("the settings were changed while this change was tried: send it again")
        return settings

    records = await _records(call, loop)
    trial = await asyncio.to_thread(try_settings, records, settings, given.tolerance, given.confidence)
    if given.apply:
        if not trial.passed:
            raise ConflictError(trial.sentence, trial=msgspec.to_builtins(trial))
        lines = b"\n".join(msgspec.json.encode(one) for one in records)
        await call.engine.change_settings(loop.name, change, Begin.ANEW)
        await call.engine.learn_log(loop.name, lines)
    return answer(Changed(trial, given.apply, loop_facts(loop)))


async def change_model(call: Call) -> Response:
    """Go on from the bandit in a model file, if the log says that it would have earned enough; else 409."""
    loop = call.engine.loop(call.path("loop"))
    data = await call.body("import")
    bandit, records = bandit_of(data), await _records(call, loop)
    trial = await asyncio.to_thread(try_model, records, bandit, loop.settings, 0.0, 0.95)
    if not trial.passed:
        raise ConflictError(trial.sentence, trial=msgspec.to_builtins(trial))
    await call.engine.replace_model(loop.name, data)
    return answer(Changed(trial, True, loop_facts(loop)))


async def loop_health(call: Call) -> Response:
    """What may be wrong with the loop, with the likely cause and what to do."""
    loop = call.engine.loop(call.path("loop"))

    def read(store: Store) -> Any:
        rows = store.events(loop.id, None, LOOKED_AT)
        return rows, store.rewards_of([row.seq for row in rows]), store.counts(loop.id)

    rows, steps, counts = await call.engine.read(read)
    return answer(await asyncio.to_thread(diagnose_loop, loop, rows, steps, counts))


CHANGE_OPERATIONS: Final = [
    Operation("POST", "/v1/loops/{loop}/change", change_loop, "admin", ChangeRequest, Changed),
    Operation("POST", "/v1/loops/{loop}/change/model", change_model, "admin", "application/octet-stream", Changed),
    Operation("GET", "/v1/loops/{loop}/health", loop_health, "read", None, Diagnosis),
]
