"""What an administrator does over Personalizer's API: configuration, learning settings, evaluations, model and log."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import uuid4

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from massart.service.errors import ConflictError, NotFoundError, NotReadyError, RefusedError
from massart.service.http import Call, Reader, answer
from massart.service.loop import Loop
from massart.service.personalizer_evaluations import evaluated, imitation, old_result, result
from massart.service.personalizer_settings import (
    DEFAULT_SETTINGS,
    EXTRA,
    configuration_of,
    configured,
    iso_time,
    policy_of,
    with_policy,
)
from massart.service.personalizer_types import (
    Evaluation,
    EvaluationOrder,
    PolicyOrigin,
    PolicySettings,
    ServiceConfiguration,
)
from massart.service.types import LoopSettings

__all__ = [
    "LOOP",
    "apply",
    "delete_evaluation",
    "delete_log",
    "delete_model",
    "delete_policy",
    "get_configuration",
    "get_evaluation",
    "get_model",
    "get_old_evaluation",
    "get_policy",
    "list_evaluations",
    "list_old_evaluations",
    "log_properties",
    "loop_of",
    "model_properties",
    "post_evaluation",
    "put_configuration",
    "put_evaluation",
    "put_model",
    "put_policy",
]

LOOP: Final = "personalizer"
_MOST_EVALUATIONS: Final = 50
_CONFIGURATION: Final = Reader(ServiceConfiguration)
_POLICY: Final = Reader(PolicySettings)
_ORDER: Final = Reader(EvaluationOrder)
_ORIGIN: Final = Reader(PolicyOrigin)
_DONE: Final = 204
_TRIES: Final = 40


async def loop_of(call: Call) -> Loop:
    """The loop that a request is about."""
    name = call.request.path_params.get("loop")
    if name is not None:
        return call.engine.loop(name)
    with contextlib.suppress(NotFoundError):
        return call.engine.loop(LOOP)
    for _ in range(_TRIES):
        try:
            return await call.engine.create_loop(LOOP, DEFAULT_SETTINGS)
        except ConflictError:  # another request made it, or another process, which this one will hear of
            await asyncio.sleep(0.05)
        with contextlib.suppress(NotFoundError):
            return call.engine.loop(LOOP)
    raise NotReadyError(f"the loop {LOOP!r} is being made: send the request again")


async def get_configuration(call: Call) -> Response:
    """The settings of the loop."""
    loop = await loop_of(call)
    found = configuration_of(loop.settings)
    if loop.settings.mode == "apprentice":
        found.latest_apprentice_mode_metrics = await imitation(call.engine, loop)
    return answer(found)


async def put_configuration(call: Call) -> Response:
    """Change them."""
    loop, given = await loop_of(call), await _CONFIGURATION(call)
    await _change(call, loop, partial(configured, given, now=call.engine.clock.now()))
    return answer(configuration_of(loop.settings))


async def _change(call: Call, loop: Loop, change: Callable[[LoopSettings], LoopSettings]) -> None:
    if change(loop.settings) != loop.settings:
        await call.engine.change_settings(loop.name, change)


async def get_policy(call: Call) -> Response:
    """The settings of the learner."""
    return answer(policy_of((await loop_of(call)).settings))


async def put_policy(call: Call) -> Response:
    """Change them."""
    given, loop = await _POLICY(call), await loop_of(call)
    await _change(call, loop, partial(with_policy, given))
    return answer(policy_of(loop.settings))


async def delete_policy(call: Call) -> Response:
    """The default ones."""
    loop = await loop_of(call)
    await _change(call, loop, partial(with_policy, None))
    return answer(policy_of(loop.settings))


def _evaluations(settings: LoopSettings) -> dict[str, Evaluation]:
    kept = settings.extra.get(EXTRA, {}).get("evaluations", {})
    return {identity: msgspec.convert(one, Evaluation) for identity, one in kept.items()}


async def _keep(call: Call, loop: Loop, change: Callable[[dict[str, Evaluation]], dict[str, Evaluation]]) -> None:
    def changed(now: LoopSettings) -> LoopSettings:
        own = now.extra.get(EXTRA, {}) | {"evaluations": msgspec.to_builtins(change(_evaluations(now)))}
        return replace(now, extra=now.extra | {EXTRA: own})

    await _change(call, loop, changed)


async def _evaluate(call: Call, identity: str) -> Evaluation:
    order, loop = await _ORDER(call), await loop_of(call)
    there = _evaluations(loop.settings)
    if identity in there:
        raise RefusedError(f"there is an evaluation {identity[:80]!r}: give another id", code="EvaluationAlreadyExists")
    if len(there) >= _MOST_EVALUATIONS:
        raise RefusedError(
            f"there are {_MOST_EVALUATIONS} evaluations: delete one before", code="InvalidEvaluationContract"
        )
    found = await evaluated(call.engine, loop, order, identity)
    await _keep(call, loop, lambda there: there | {identity: found})
    return found


async def post_evaluation(call: Call) -> Response:
    """Evaluate policies, in the older URL family."""
    found = await _evaluate(call, str(uuid4()))
    answered = answer(old_result(found), 201)
    answered.headers["location"] = f"{call.request.url.path}/{found.id}"
    return answered


async def put_evaluation(call: Call) -> Response:
    """Evaluate policies, in the newer one."""
    return answer(result(await _evaluate(call, call.path("evaluation"))))


def _one(loop: Loop, identity: str) -> Evaluation:
    found = _evaluations(loop.settings).get(identity)
    if found is None:
        raise NotFoundError(f"there is no evaluation {identity[:80]!r}", code="EvaluationNotFound")
    return found


async def delete_evaluation(call: Call) -> Response:
    """Forget an evaluation."""
    loop, identity = await loop_of(call), call.path("evaluation")
    _one(loop, identity)
    await _keep(call, loop, lambda there: {name: one for name, one in there.items() if name != identity})
    return Response(status_code=_DONE)


async def get_old_evaluation(call: Call) -> Response:
    """An evaluation, as the older URL family has it."""
    return answer(old_result(_one(await loop_of(call), call.path("evaluation"))))


async def get_evaluation(call: Call) -> Response:
    """An evaluation, as the newer one has it."""
    return answer(result(_one(await loop_of(call), call.path("evaluation"))))


async def list_old_evaluations(call: Call) -> Response:
    """All of them, as the older URL family has them."""
    return answer([old_result(one) for one in _evaluations((await loop_of(call)).settings).values()])


async def list_evaluations(call: Call) -> Response:
    """All of them, as the newer one has them."""
    found = [result(one, whole=False) for one in _evaluations((await loop_of(call)).settings).values()]
    query = call.request.query_params
    skip, top = _whole(query.get("skip"), 0), _whole(query.get("top"), len(found))
    return answer({"value": found[skip : skip + top]})


def _whole(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else otherwise


async def apply(call: Call) -> Response:
    """Take over the settings of a policy that was evaluated."""
    given, loop = await _ORIGIN(call), await loop_of(call)
    rows = [row for row in _one(loop, given.evaluation_id).policies if row["name"] == given.policy_name]
    if not rows or rows[0]["policySource"] not in ("Online", "Custom"):
        raise RefusedError(
            f"policyName: {given.policy_name[:80]!r} is no policy of this evaluation that has settings",
            code="InvalidPolicyConfiguration",
        )
    policy = PolicySettings(given.policy_name, rows[0]["arguments"])
    await _change(call, loop, partial(with_policy, policy))
    return Response(status_code=_DONE)


async def get_model(call: Call) -> Response:
    """The model file."""
    loop = await loop_of(call)
    return Response(loop.model.snapshot()[1], media_type="application/octet-stream")


async def put_model(call: Call) -> Response:
    """Go on from a model file."""
    loop = await loop_of(call)
    await call.engine.replace_model(loop.name, await call.body("import"))
    return Response(status_code=_DONE)


async def delete_model(call: Call) -> Response:
    """Begin the model anew."""
    await call.engine.reset((await loop_of(call)).name)
    return Response(status_code=_DONE)


async def model_properties(call: Call) -> Response:
    """When the model began and when it last learned."""
    loop = await loop_of(call)
    return answer({"creationTime": iso_time(loop.created), "lastModifiedTime": iso_time(loop.model.updated)})


async def log_properties(call: Call) -> Response:
    """The times of the log."""
    loop = await loop_of(call)
    last = await call.engine.read(lambda store: store.events(loop.id, None, 1))
    if not last:
        raise NotFoundError("there are no decisions yet", code="LogsPropertiesNotFound")
    return answer({"dateRange": {"from": iso_time(loop.created), "to": iso_time(last[0].time)}})


async def delete_log(call: Call) -> Response:
    """Delete decisions and rewards; the model stays."""
    await call.engine.forget_log((await loop_of(call)).name)
    return Response(status_code=_DONE)
