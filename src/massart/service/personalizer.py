"""Personalizer's API, for its clients as they are: routes of both URL families, and its errors.

`/personalizer/v1.0`, `/personalizer/v1.1-preview.1` to `.3`, and `/personalizer` with `?api-version=2022-09-01-preview`
are the loop `personalizer`, made when it is first used. The same below `/v1/loops/{loop}` are the other loops: a client
whose endpoint is `http://host:8080/v1/loops/news` talks to the loop `news`.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from massart.service import personalizer_admin as admin
from massart.service.api import within_limits
from massart.service.errors import NotFoundError, RefusedError, ServiceError, TooLargeError
from massart.service.http import Call, Reader, answer, endpoint
from massart.service.loop import entries_of
from massart.service.personalizer_admin import LOOP, loop_of
from massart.service.personalizer_features import checked_event_id, rank_of, slots_of
from massart.service.personalizer_slots import activate_slots, decide_slots, reward_slots
from massart.service.personalizer_types import (
    MultiSlotRankRequest,
    MultiSlotRewardRequest,
    RankedAction,
    RankRequest,
    RankResponse,
    RewardValue,
)
from massart.service.types import Decided, RewardRequest

__all__ = ["LOOP", "ROUTES"]

_RANK: Final = Reader(RankRequest)
_SLOTS: Final = Reader(MultiSlotRankRequest)
_REWARD: Final = Reader(RewardValue)
_SLOT_REWARDS: Final = Reader(MultiSlotRewardRequest)
_DONE: Final = 204


def ranking(found: Decided, excluded: set[str]) -> list[RankedAction]:
    """The action that was chosen, then the others by their probability; excluded ones stay in their places.

    >>> from massart.service.types import ActionProbability as P
    >>> actions = [P("A", 0.1), P("B", 0.0), P("C", 0.2), P("D", 0.7)]
    >>> found = Decided("e", "C", 2, 0.2, actions, 0, "online", "C")
    >>> [(one.id, one.probability) for one in ranking(found, {"B"})]
    [('C', 0.2), ('B', 0.0), ('D', 0.7), ('A', 0.1)]
    """
    others = [one for one in found.actions if one.id not in excluded]
    order = iter(sorted(others, key=lambda one: (one.id != found.action, -one.probability)))
    places = [one if one.id in excluded else next(order) for one in found.actions]
    return [RankedAction(one.id, one.probability) for one in places]


async def _rank(call: Call) -> Response:
    request = within_limits(call, rank_of(await _RANK(call)))
    loop = await loop_of(call)
    found = await call.engine.decide(loop.name, request)
    return answer(RankResponse(ranking(found, set(request.excluded)), found.event_id, found.action), 201)


def _event(call: Call) -> str:
    return checked_event_id(call.path("event")) or ""


def _reward_id(call: Call) -> str | None:
    """Clients name a request, and keep the name when they send it again."""
    given = call.request.headers.get("x-ms-client-request-id")
    return given[:256] if given else None


def _checked_reward(value: float) -> float:
    if not -1.0 <= value <= 1.0:
        raise RefusedError(f"value: {value:g} is not from -1 to 1")
    return value


async def _reward(call: Call) -> Response:
    given = await _REWARD(call)
    request = RewardRequest(_event(call), _checked_reward(given.value), _reward_id(call))
    await call.engine.reward((await loop_of(call)).name, [request])
    return Response(status_code=_DONE)


async def _activate(call: Call) -> Response:
    await call.engine.activate((await loop_of(call)).name, [_event(call)])
    return Response(status_code=_DONE)


async def _rank_slots(call: Call) -> Response:
    given = await _SLOTS(call)
    slots, event = slots_of(given), checked_event_id(given.event_id)
    entries = sum(entries_of(request) for _, request in slots)
    if entries > call.limits["features"]:
        raise TooLargeError(
            f"with the context and the slots multiplied in there are up to {entries:,} features, and "
            f"{call.limits['features']:,} are allowed: give fewer"
        )
    return answer(await decide_slots(call.engine, (await loop_of(call)).name, slots, event), 201)


async def _reward_slots(call: Call) -> Response:
    given = (await _SLOT_REWARDS(call)).reward
    for one in given:
        _checked_reward(one.value)
    await reward_slots(call.engine, (await loop_of(call)).name, _event(call), given, _reward_id(call))
    return Response(status_code=_DONE)


async def _activate_slots(call: Call) -> Response:
    await activate_slots(call.engine, (await loop_of(call)).name, _event(call))
    return Response(status_code=_DONE)


async def _nothing(call: Call) -> Response:
    raise NotFoundError(f"there is nothing at {call.request.url.path[:200]!r} for {call.request.method}")


_OLD_CODES: Final = {404: "ResourceNotFound", 500: "InternalServerError", 503: "InternalServerError"}
_CODES: Final = {401: "401", 403: "InvalidApiAccess", 404: "ResourceNotFound", 409: "ResourceConflict",
                 413: "PayloadSizeExceeded", 429: "429", 500: "InternalServerError",
                 503: "OperationNotAllowed"}  # fmt: skip


def _errors(code: str, *, old: bool) -> Callable[[ServiceError], Response]:
    """Errors as Personalizer tells them; `code` is that of a request which is not right."""

    def tell(error: ServiceError) -> Response:
        status = {413: 400, 422: 400}.get(error.status, error.status)
        if old:
            name = _OLD_CODES.get(status, "401" if status == 401 else "BadRequest")
        else:
            name = str(error.details.get("code") or _CODES.get(error.status, code))
        headers = {} if old else {"x-ms-error-code": name}
        if status in (429, 503):
            headers["retry-after"] = "1"
        answered = answer({"error": {"code": name, "message": str(error)}}, status)
        answered.headers.update(headers)
        return answered

    return tell


_Handler = Callable[[Call], Awaitable[Response]]
_EVENT: Final = "/events/{event:path}"
_RANKING: Final[list[tuple[str, str, _Handler, str, str]]] = [
    ("/rank", "POST", _rank, "decide", "InvalidRankRequest"),
    (f"{_EVENT}/reward", "POST", _reward, "reward", "InvalidRewardRequest"),
    (f"{_EVENT}/activate", "POST", _activate, "reward", "InvalidEventIdToActivate"),
    ("/multislot/rank", "POST", _rank_slots, "decide", "InvalidRankRequest"),
    (f"/multislot{_EVENT}/reward", "POST", _reward_slots, "reward", "InvalidRewardRequest"),
    (f"/multislot{_EVENT}/activate", "POST", _activate_slots, "reward", "InvalidEventIdToActivate"),
    ("/configurations/service", "GET", admin.get_configuration, "read", "InvalidServiceConfiguration"),
    ("/configurations/service", "PUT", admin.put_configuration, "admin", "InvalidServiceConfiguration"),
    ("/configurations/policy", "GET", admin.get_policy, "read", "InvalidPolicyConfiguration"),
    ("/configurations/policy", "PUT", admin.put_policy, "admin", "InvalidPolicyConfiguration"),
    ("/configurations/policy", "DELETE", admin.delete_policy, "admin", "InvalidPolicyConfiguration"),
    ("/configurations/applyFromEvaluation", "POST", admin.apply, "admin", "InvalidPolicyContract"),
    ("/evaluations/{evaluation}", "DELETE", admin.delete_evaluation, "admin", "InvalidEvaluationContract"),
    ("/model", "GET", admin.get_model, "read", "BadRequest"),
    ("/model", "PUT", admin.put_model, "admin", "InvalidModelImportFormat"),
    ("/model", "DELETE", admin.delete_model, "admin", "BadRequest"),
    ("/model/properties", "GET", admin.model_properties, "read", "BadRequest"),
    ("/logs", "DELETE", admin.delete_log, "admin", "BadRequest"),
    ("/logs/properties", "GET", admin.log_properties, "read", "BadRequest"),
]
_OLD_ONES: Final[list[tuple[str, str, _Handler, str, str]]] = [
    ("/evaluations", "POST", admin.post_evaluation, "admin", "InvalidEvaluationContract"),
    ("/evaluations", "GET", admin.list_old_evaluations, "read", "BadRequest"),
    ("/evaluations/{evaluation}", "GET", admin.get_old_evaluation, "read", "BadRequest"),
]
_NEW_ONES: Final[list[tuple[str, str, _Handler, str, str]]] = [
    ("/evaluations", "GET", admin.list_evaluations, "read", "BadRequest"),
    ("/evaluations/{evaluation}", "GET", admin.get_evaluation, "read", "BadRequest"),
    ("/evaluations/{evaluation}", "PUT", admin.put_evaluation, "admin", "InvalidEvaluationContract"),
]


def _routes(rows: list[tuple[str, str, _Handler, str, str]], *, old: bool) -> list[Route]:
    found = [endpoint(path, method, run, scope, _errors(code, old=old)) for path, method, run, scope, code in rows]
    last = [endpoint("/{rest:path}", method, _nothing, None, _errors("BadRequest", old=old))
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH")]  # fmt: skip
    return [*found, *last]


def _mounted(below: str) -> list[BaseRoute]:
    base = f"{below}/personalizer"
    previews = [f"{base}/v1.1-preview.{number}" for number in (1, 2, 3)]
    return [
        Mount(f"{base}/v1.0", routes=_routes(_RANKING + _OLD_ONES, old=True)),
        *(Mount(path, routes=_routes(_RANKING + _OLD_ONES, old=False)) for path in previews),
        Mount(base, routes=_routes(_RANKING + _NEW_ONES, old=False)),
    ]


ROUTES: Final[list[Any]] = [*_mounted(""), *_mounted("/v1/loops/{loop}")]
