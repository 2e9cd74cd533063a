"""OpenFeature's remote evaluation protocol (OFREP 0.3): a loop with declared actions is a flag.

The variant is the id of the action; the value is that of `extra["openfeature"]["values"]` of the loop's settings, else
the id. The context without `targetingKey` and `eventId` has the features. Which decision an evaluation is:

- `eventId` in the context: that event. Sent again with the same context, the answer is the same.
- else `targetingKey`: one decision for the same key, context and actions in each half of the reward window. So a flag
  that is evaluated several times while a page is made has one variant, one event and one reward, of which at least half
  of the window is left. The event id is a keyed hash: the log does not tell the targeting key.
- else every evaluation is a decision of its own.

Whoever evaluates all flags shows only some of them: those decisions are deferred, and nothing is learned of one that is
not activated.

With OpenTelemetry installed (`massart[telemetry]`) each evaluation is a span `feature_flag.evaluation` with the
attributes of its semantic conventions. The targeting key, which they call `feature_flag.context.id`, is left out: like
the features, it may name a person.
"""

import asyncio
import hashlib
from functools import lru_cache
from typing import Any, Final

import msgspec
from starlette.responses import Response

from massart import __version__
from massart.service.api import within_limits
from massart.service.clock import SECOND
from massart.service.errors import ConflictError, NotFoundError, RefusedError, ServiceError, TooLargeError
from massart.service.http import Call, Reader, answer, endpoint
from massart.service.loop import Loop
from massart.service.types import Decided, DecideRequest

__all__ = ["ROUTES"]

EXTRA: Final = "openfeature"
_ENCODE: Final = msgspec.json.Encoder(order="sorted")


class EvaluationRequest(msgspec.Struct):
    """A flag, or all of them, for a context."""

    context: dict[str, Any] | None = None


class FlagAnswer(msgspec.Struct):
    """A flag that was evaluated; `metadata` has what a reward needs: the event id."""

    key: str
    reason: str
    variant: str
    value: Any
    metadata: dict[str, str | int | float]


class FlagFailure(msgspec.Struct, rename="camel", omit_defaults=True):
    """A flag that was not."""

    error_code: str
    error_details: str
    key: str | None = None


_REQUEST: Final = Reader(EvaluationRequest)


class _Asked:
    """What is asked of one flag."""

    def __init__(self, loop: Loop, context: dict[str, Any], now: int, *, deferred: bool) -> None:
        given = dict(context)
        key, event = given.pop("targetingKey", None), given.pop("eventId", None)
        for name, one in (("targetingKey", key), ("eventId", event)):
            if one is not None and not isinstance(one, str):
                raise RefusedError(f"context.{name} is not a text: give one")
        if event is not None and (not 1 <= len(event) <= 256 or "\0" in event):
            raise RefusedError("context.eventId: give a text of 1 to 256 characters, without NUL")
        self.loop = loop
        self.is_repeatable = bool(key) or event is not None
        if event is None and key:
            event = _event_id(loop, [key, given, loop.settings.actions, deferred], now)
        self.request = DecideRequest(context=given or None, event_id=event, deferred=deferred)

    async def answer(self, call: Call) -> FlagAnswer:
        """Decide; the decision is durable when this returns."""
        within_limits(call, msgspec.structs.replace(self.request, actions=list(self.loop.settings.actions or ())))
        return _answer(self.loop, await call.engine.decide(self.loop.name, self.request))


def _event_id(loop: Loop, parts: list[Any], now: int) -> str:
    """The event of a targeting key and a context in this half of the reward window."""
    half = max(1, round(loop.settings.reward_window * SECOND / 2))
    text = _ENCODE.encode([now // half, *parts])
    return f"flag-{hashlib.blake2b(text, digest_size=16, key=loop.key).hexdigest()}"


def _answer(loop: Loop, found: Decided) -> FlagAnswer:
    values = _values(loop)
    reason = "SPLIT" if found.mode == "online" else "STATIC"
    metadata: dict[str, str | int | float] = {
        "eventId": found.event_id,
        "probability": found.probability,
        "modelVersion": found.model_version,
        "mode": found.mode,
    }
    _note_evaluation(loop.name, reason, found.action, str(found.model_version))
    return FlagAnswer(loop.name, reason, found.action, values.get(found.action, found.action), metadata)


def _values(loop: Loop) -> dict[str, Any]:
    """The values of the actions that have one beside their id."""
    own = loop.settings.extra.get(EXTRA)
    values = own.get("values") if isinstance(own, dict) else None
    return values if isinstance(values, dict) else {}


async def _evaluate(call: Call) -> Response:
    """One flag."""
    name = call.path("key")
    context = (await _REQUEST(call)).context or {}
    try:
        loop = call.engine.loop(name)
    except NotFoundError:
        raise NotFoundError(f"there is no loop {name[:80]!r}: make it with PUT /v1/loops/NAME", key=name) from None
    if not loop.settings.actions:
        raise NotFoundError(f"the loop {name!r} declares no actions: only with these it is a flag", key=name)
    try:
        return answer(await _Asked(loop, context, call.engine.clock.now(), deferred=False).answer(call))
    except ServiceError as error:
        error.details["key"] = name
        raise


async def _evaluate_all(call: Call) -> Response:
    """All flags."""
    context, now = (await _REQUEST(call)).context or {}, call.engine.clock.now()
    loops = [loop for loop in call.engine.loops() if loop.settings.actions]
    asked = [_Asked(loop, context, now, deferred=True) for loop in loops]
    tag = _tag(asked, context) if all(one.is_repeatable for one in asked) else None
    if tag is not None and tag in call.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"etag": tag})
    flags = await asyncio.gather(*(_answer_or_failure(call, one) for one in asked))
    answered = answer({"flags": flags})
    if tag is not None:
        answered.headers["etag"] = tag
    return answered


async def _answer_or_failure(call: Call, asked: _Asked) -> FlagAnswer | FlagFailure:
    try:
        return await asked.answer(call)
    except (ConflictError, RefusedError, TooLargeError) as error:
        return _failure("INVALID_CONTEXT", error, asked.loop.name)


def _tag(asked: list[_Asked], context: dict[str, Any]) -> str:
    """Of an answer: the same decisions with the same values."""
    flags = [[one.loop.name, one.request.event_id, _values(one.loop), one.loop.settings.actions] for one in asked]
    return f'"{hashlib.blake2b(_ENCODE.encode([flags, context]), digest_size=16).hexdigest()}"'


@lru_cache(1)
def _tracer() -> Any:
    try:
        from opentelemetry import trace  # noqa: PLC0415  optional
    except ImportError:
        return None
    return trace.get_tracer("massart.service", __version__)


def _note_evaluation(key: str, reason: str, variant: str | None, version: str | None, error: str | None = None) -> None:
    """A span for an evaluation; `error` is the code of one that failed. Nothing without OpenTelemetry."""
    tracer = _tracer()
    if tracer is None:
        return
    attributes = {"feature_flag.key": key, "feature_flag.provider.name": "massart"}
    attributes["feature_flag.result.reason"] = reason.lower()
    if variant is not None:
        attributes["feature_flag.result.variant"] = variant
    if version is not None:
        attributes["feature_flag.version"] = version
    if error is not None:
        attributes["error.type"] = error.lower()
    tracer.start_span("feature_flag.evaluation", attributes=attributes).end()


def _failure(code: str, error: ServiceError, key: str | None) -> FlagFailure:
    if key is not None:
        _note_evaluation(key, "error", None, None, code)
    return FlagFailure(code, str(error), key)


def _failed(error: ServiceError) -> Response:
    """An error as the protocol has it."""
    key = error.details.get("key")
    if error.status in (400, 409, 413, 422):
        code = "PARSE_ERROR" if error.status == 400 else "INVALID_CONTEXT"
        return answer(_failure(code, error, key), 400)
    code = "FLAG_NOT_FOUND" if error.status == 404 else "GENERAL"
    answered = answer(_failure(code, error, key), error.status)
    if error.status in (429, 503):
        answered.headers["retry-after"] = "1"
    return answered


ROUTES: Final = [
    endpoint("/ofrep/v1/evaluate/flags", "POST", _evaluate_all, "decide", _failed),
    endpoint("/ofrep/v1/evaluate/flags/{key:path}", "POST", _evaluate, "decide", _failed),
]
