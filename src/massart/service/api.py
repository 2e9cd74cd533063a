"""API v1: the routes, and what each does with a request."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from starlette.responses import Response

from massart.service.engine import Begin
from massart.service.errors import RefusedError, TooLargeError
from massart.service.http import Call, Operation, Reader, answer
from massart.service.loop import Loop, entries_of
from massart.service.types import (
    Activated,
    ActivateRequest,
    Decided,
    DecideRequest,
    LoopSettings,
    Rewarded,
    RewardRequest,
)
from massart.service.types_read import LoopFacts, LoopList, Status

__all__ = ["OPERATIONS", "loop_facts", "merged", "within", "within_limits"]

_DECIDE: Final = Reader(DecideRequest)
_REWARD: Final = Reader(RewardRequest)
_ACTIVATE: Final = Reader(ActivateRequest)
_DECISIONS: Final = Reader(list[DecideRequest])
_REWARDS: Final = Reader(list[RewardRequest])
_ACTIVATIONS: Final = Reader(list[ActivateRequest])
_SETTINGS: Final = Reader(LoopSettings)
_CHANGES: Final = Reader(dict[str, Any])
_PERSONALIZER: Final = "personalizer"  # the entry of `extra` that is no user's


def within(call: Call, given: list[Any]) -> list[Any]:
    """A list that is not too long."""
    most = call.limits["batch"]
    if len(given) > most:
        raise TooLargeError(f"the list has {len(given)} entries, and {most} are allowed")
    return given


def within_limits(call: Call, request: DecideRequest) -> DecideRequest:
    """A request that is not too large."""
    most = call.limits["actions"]
    if len(request.actions or ()) > most:
        raise TooLargeError(f"actions: there are {len(request.actions or ())}, and {most} are allowed")
    entries = entries_of(request)
    if entries > call.limits["features"]:
        raise TooLargeError(
            f"with the context multiplied in there are up to {entries:,} features, and {call.limits['features']:,} are "
            "allowed: give fewer"
        )
    return request


async def decide(call: Call) -> Response:
    """One decision."""
    return answer(await call.engine.decide(call.path("loop"), within_limits(call, await _DECIDE(call))))


async def decide_batch(call: Call) -> Response:
    """Several decisions, all of them or none."""
    given = [within_limits(call, one) for one in within(call, await _DECISIONS(call))]
    found: list[Decided] = await call.engine.decide_all(call.path("loop"), given)
    return answer(found)


async def reward(call: Call) -> Response:
    """One reward."""
    given = await _REWARD(call)
    await call.engine.reward(call.path("loop"), [given])
    return answer(Rewarded(given.event_id))


async def reward_batch(call: Call) -> Response:
    """Several rewards, all of them or none."""
    given = within(call, await _REWARDS(call))
    await call.engine.reward(call.path("loop"), given)
    return answer([Rewarded(one.event_id) for one in given])


async def activate(call: Call) -> Response:
    """One activation."""
    given = await _ACTIVATE(call)
    await call.engine.activate(call.path("loop"), [given.event_id])
    return answer(Activated(given.event_id))


async def activate_batch(call: Call) -> Response:
    """Several activations, all of them or none."""
    given = within(call, await _ACTIVATIONS(call))
    await call.engine.activate(call.path("loop"), [one.event_id for one in given])
    return answer([Activated(one.event_id) for one in given])


def loop_facts(loop: Loop) -> LoopFacts:
    """A loop for JSON."""
    return LoopFacts(loop.name, loop.settings, loop.created, loop.model.version, loop.model.bandit.rounds)


async def list_loops(call: Call) -> Response:
    """All loops."""
    return answer(LoopList([loop_facts(loop) for loop in call.engine.loops()]))


async def get_loop(call: Call) -> Response:
    """One loop."""
    return answer(loop_facts(call.engine.loop(call.path("loop"))))


async def put_loop(call: Call) -> Response:
    """Make a loop."""
    given, name = await _SETTINGS(call), call.path("loop")
    there = next((loop.settings for loop in call.engine.loops() if loop.name == name), LoopSettings())
    return answer(loop_facts(await call.engine.create_loop(name, _with_its_own(given, there))), 201)


def merged(changes: dict[str, Any]) -> Callable[[LoopSettings], LoopSettings]:
    """What takes settings to those with some changed."""

    def change(now: LoopSettings) -> LoopSettings:
        try:
            found = msgspec.convert(msgspec.to_builtins(now) | changes, LoopSettings)
        except msgspec.ValidationError as error:
            raise RefusedError(str(error)) from None
        return _with_its_own(found, now)

    return change


def _with_its_own(settings: LoopSettings, now: LoopSettings) -> LoopSettings:
    """Settings in which what Personalizer's API keeps is as it was: that trusts what it has written."""
    if settings.extra.get(_PERSONALIZER) != now.extra.get(_PERSONALIZER):
        raise RefusedError(f"extra.{_PERSONALIZER}: Personalizer's API keeps this: leave it as it is")
    return settings


async def patch_loop(call: Call) -> Response:
    """Change some settings; if the model would begin anew, and forget rounds, only with `"reset": true`."""
    changes, name = await _CHANGES(call), call.path("loop")
    reset = changes.pop("reset", False)
    if not isinstance(reset, bool):
        raise RefusedError("reset: give true or false")
    begin = Begin.ANEW if reset else Begin.NEVER
    return answer(loop_facts(await call.engine.change_settings(name, merged(changes), begin)))


async def reset_loop(call: Call) -> Response:
    """Begin the model anew."""
    return answer(loop_facts(await call.engine.reset(call.path("loop"))))


async def pause_loop(call: Call) -> Response:
    """Learn nothing until the loop is resumed; decisions go on, and rewards are recorded."""
    return await _paused(call, paused=True)


async def resume_loop(call: Call) -> Response:
    """Learn again, first what came meanwhile."""
    return await _paused(call, paused=False)


async def _paused(call: Call, *, paused: bool) -> Response:
    return answer(loop_facts(await call.engine.change_settings(call.path("loop"), merged({"paused": paused}))))


async def health(_: Call) -> Response:
    """Whether the process answers."""
    return answer(Status("ok"))


async def ready(call: Call) -> Response:
    """Whether it can record what it is asked."""
    call.engine.check_ready()
    return answer(Status("ready"))


OPERATIONS: Final = [
    Operation("POST", "/v1/loops/{loop}/decide", decide, "decide", DecideRequest, Decided),
    Operation("POST", "/v1/loops/{loop}/reward", reward, "reward", RewardRequest, Rewarded),
    Operation("POST", "/v1/loops/{loop}/activate", activate, "reward", ActivateRequest, Activated),
    Operation("POST", "/v1/loops/{loop}/decide/batch", decide_batch, "decide", list[DecideRequest], list[Decided]),
    Operation("POST", "/v1/loops/{loop}/reward/batch", reward_batch, "reward", list[RewardRequest], list[Rewarded]),
    Operation(
        "POST", "/v1/loops/{loop}/activate/batch", activate_batch, "reward", list[ActivateRequest], list[Activated]
    ),
    Operation("GET", "/v1/loops", list_loops, "read", None, LoopList),
    Operation("GET", "/v1/loops/{loop}", get_loop, "read", None, LoopFacts),
    Operation("PUT", "/v1/loops/{loop}", put_loop, "admin", LoopSettings, LoopFacts, 201),
    Operation("PATCH", "/v1/loops/{loop}", patch_loop, "admin", dict[str, Any], LoopFacts),
    Operation("POST", "/v1/loops/{loop}/reset", reset_loop, "admin", None, LoopFacts),
    Operation("POST", "/v1/loops/{loop}/pause", pause_loop, "admin", None, LoopFacts),
    Operation("POST", "/v1/loops/{loop}/resume", resume_loop, "admin", None, LoopFacts),
    Operation("GET", "/health", health, None, None, Status),
    Operation("GET", "/ready", ready, None, None, Status),
]
