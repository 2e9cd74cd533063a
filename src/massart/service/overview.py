"""What the dashboard shows of a loop, by one request: state, guarantee, series, and the last decisions."""

import asyncio
import time
from typing import Any, Final, Literal

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from massart.service.http import Call, Operation, answer
from massart.service.loop import Loop, answer_again
from massart.service.series import LoopSeries, Series
from massart.service.store import DecisionRow, Step, Store, Why
from massart.service.types import Decided, LoopSettings

__all__ = ["OVERVIEW_OPERATIONS", "Ended", "Guarantee", "Overview", "Recent"]

_FIRST: Final = 100_000  # steps that are read when a loop is looked at for the first time
_AT_ONCE: Final = 1000  # steps that are read together: meanwhile nothing is written
_TURNS: Final = 10  # readings of one request
_EVENTS: Final = (20, 200)  # decisions that are shown: unless asked for otherwise, and at most
_REST: Final = 20.0  # times as long as counting took, it is not done again


class Guarantee(msgspec.Struct):
    """The certificate of the model: what is guaranteed per decision over a random action, None if nothing is."""

    rounds: int
    per_decision: float | None
    holds: bool
    sentence: str


class Ended(msgspec.Struct):
    """How a decision was settled."""

    why: Literal["reward", "default", "inactive", "logged", "superseded"]
    reward: float | None
    version: int


class Recent(msgspec.Struct):
    """A decision; `settled` is None while it waits."""

    time: float  # seconds
    decision: Decided
    settled: Ended | None


class Overview(msgspec.Struct):
    """All of it."""

    name: str
    settings: LoopSettings
    model_version: int
    model_age: float | None  # seconds since it learned
    counts: dict[str, int]  # decisions, those waiting, and rewards by what became of them
    guarantee: Guarantee
    recent: list[Recent]
    series: Series


class _Followed:
    """What is remembered of a loop between two requests, with the lock under which it changes."""

    def __init__(self, first_version: int) -> None:
        self.series, self.lock = LoopSeries(first_version), asyncio.Lock()
        self._counts: dict[str, int] = {}
        self._again = 0.0  # when to count again

    def counts(self, store: Store, loop: int) -> dict[str, int]:
        """Counted anew, unless that was done a moment ago."""
        now = time.monotonic()
        if now >= self._again:
            self._counts = store.counts(loop)
            self._again = time.monotonic() + _REST * (time.monotonic() - now)
        return self._counts


def _followed(call: Call, loop: Loop) -> _Followed:
    state = call.request.app.state
    if not hasattr(state, "followed"):
        state.followed = {}
    if loop.id not in state.followed:
        state.followed[loop.id] = _Followed(max(0, loop.model.version - _FIRST))
    found: _Followed = state.followed[loop.id]
    return found


async def _series(call: Call, loop: Loop) -> Series:
    """The series with the steps since the last request, or some of them if there are many."""
    followed = _followed(call, loop)

    def read(store: Store) -> tuple[list[Step], dict[int, DecisionRow]]:
        steps = store.steps(loop.id, followed.series.version, _AT_ONCE)
        return steps, store.decisions_by_seq([step.decision for step in steps if step.decision is not None])

    async with followed.lock:
        for _ in range(_TURNS):
            steps, decisions = await call.engine.read(read)
            await run_in_threadpool(followed.series.add, steps, decisions, loop.settings)
            if len(steps) < _AT_ONCE:
                break
        return await run_in_threadpool(followed.series.series, len(steps) < _AT_ONCE)


def _guarantee(loop: Loop, waiting: int) -> Guarantee:
    found = loop.model.certificate(waiting)
    lift = found.guaranteed_lift
    per_decision = lift / found.rounds if lift is not None and lift > 0.0 and found.rounds else None
    return Guarantee(found.rounds, per_decision, found.holds, found.sentence)


def _recent(rows: list[DecisionRow], steps: dict[int, Step]) -> list[Recent]:
    found = []
    for row in rows:
        step = steps.get(row.seq)
        ended: Any = None if step is None else Ended(Why(step.why).name.lower(), step.reward, step.version)  # type: ignore[arg-type]
        found.append(Recent(row.time / 1e6, answer_again(row), ended))
    return found


async def get_series(call: Call) -> Response:
    """The series of a loop."""
    return answer(await _series(call, call.engine.loop(call.path("loop"))))


async def get_overview(call: Call) -> Response:
    """What there is to see of a loop; `?events=` says how many of the last decisions."""
    loop = call.engine.loop(call.path("loop"))
    limit = call.number("events", _EVENTS[0], 1, _EVENTS[1])
    series, followed = await _series(call, loop), _followed(call, loop)

    def read(store: Store) -> tuple[list[DecisionRow], dict[int, Step], dict[str, int]]:
        rows = store.events(loop.id, None, limit)
        return rows, store.rewards_of([row.seq for row in rows]), followed.counts(store, loop.id)

    rows, steps, counts = await call.engine.read(read)
    recent, guarantee = _recent(rows, steps), await run_in_threadpool(_guarantee, loop, counts["waiting"])
    model = loop.model
    age = max(0.0, (call.engine.clock.now() - model.updated) / 1e6) if model.bandit.rounds else None
    return answer(Overview(loop.name, loop.settings, model.version, age, counts, guarantee, recent, series))


OVERVIEW_OPERATIONS: Final = [
    Operation("GET", "/v1/loops/{loop}/series", get_series, "read", None, Series),
    Operation(
        "GET", "/v1/loops/{loop}/overview", get_overview, "read", None, Overview,
        query={"events": {"type": "integer", "minimum": 1, "maximum": _EVENTS[1]}},
    ),
]  # fmt: skip
