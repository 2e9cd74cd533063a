"""Requests as values: what is sent, what is expected back, and what an answer means; nothing here sends anything."""

import json
import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from massart.errors import InvalidParameterError, MassartError, needs

msgspec = needs("msgspec", "client", "to speak with the service")

__all__ = ["Call", "CallError", "Retries", "UnavailableError", "answer_of", "call_at", "call_to", "decide_body",
           "reward_body"]  # fmt: skip

RETRIED: Final = (429, 502, 503, 504)  # nothing was recorded, or the same request is answered the same way again
T = TypeVar("T")


class CallError(MassartError):
    """The service refused a request. The message is its own sentence; `status` and `problem` are the HTTP status and
    the problem document (RFC 9457), as far as there is one.
    """

    def __init__(self, sentence: str, status: int | None = None, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.problem = status, dict(problem or {})


class UnavailableError(CallError):
    """No attempt was answered, or all were answered that it is not the time. What was sent may be sent again."""


class Call(NamedTuple):
    """One request."""

    method: str
    path: str
    body: bytes | None
    answer: Any  # the type that is expected back
    safe: bool = True  # whether it may be sent again if it is not known what became of it


class Retries:
    """How often a request is sent again, and when: doubling pauses, each multiplied by a number from 0.5 to 1.

    >>> waits = list(Retries(3, first=0.1, most=0.3, seed=0).pauses())
    >>> len(waits), all(0.05 <= wait <= 0.3 for wait in waits)
    (3, True)
    """

    def __init__(self, attempts: int = 4, first: float = 0.1, most: float = 2.0, seed: int | None = None) -> None:
        if attempts < 0 or not 0.0 <= first <= most:
            raise InvalidParameterError("`retries` is a whole number of at least 0, and pauses are not negative")
        self.attempts, self.first, self.most = attempts, first, most
        self._random = random.Random(seed)  # noqa: S311  it only spreads requests over time

    def pauses(self) -> Any:
        """Seconds to wait before each further attempt."""
        for number in range(self.attempts):
            yield min(self.most, self.first * 2.0**number) * (0.5 + 0.5 * self._random.random())


def call_to(method: str, loop: str | None, rest: str, body: Any, answer: Any, *, safe: bool = True) -> Call:
    """A request to API v1; a body that is a mapping is sent as JSON.

    >>> call_to("GET", "a/b", "/state", None, dict).path
    '/v1/loops/a%2Fb/state'
    """
    return call_at(method, "loops", loop, rest, body, answer, safe=safe)


def call_at(method: str, room: str, name: str | None, rest: str, body: Any, answer: Any, *, safe: bool = True) -> Call:
    """A request to API v1 about a loop or a stream, or about all of them if there is no name."""
    path = f"/v1/{room}" if name is None else f"/v1/{room}/{quote(name, safe='')}{rest}"
    sent = body if body is None or isinstance(body, bytes) else _encoded(body)
    return Call(method, path, sent, answer, safe)


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"the request cannot be written as JSON ({error}): give numbers that are finite, texts, true, false, None, "
            "and lists and mappings of these"
        ) from None


def decide_body(
    actions: Sequence[Any] | Mapping[str, Any] | None,
    context: Any,
    excluded: Sequence[str],
    event_id: str | None,
    *,
    deferred: bool,
) -> dict[str, Any]:
    """The body of a decision: actions are ids, {id: features}, or {"id": ..., "features": ...} each.

    >>> decide_body({"a": {"x": 1}}, None, (), "e", deferred=False)
    {'event_id': 'e', 'actions': [{'id': 'a', 'features': {'x': 1}}]}
    """
    body: dict[str, Any] = {"event_id": event_id or uuid.uuid4().hex}
    if isinstance(actions, Mapping):
        body["actions"] = [{"id": name, "features": given} for name, given in actions.items()]
    elif actions is not None:
        body["actions"] = list(actions)
    if context is not None:
        body["context"] = context
    if excluded:
        body["excluded"] = list(excluded)
    if deferred:
        body["deferred"] = True
    return body


def reward_body(event_id: str, reward: float, reward_id: str | None) -> dict[str, Any]:
    """The body of a reward; its id, made before the first attempt, lets the service know a repeated request."""
    return {"event_id": event_id, "reward": float(reward), "reward_id": reward_id or uuid.uuid4().hex}


def answer_of(call: Call, status: int, content: bytes) -> Any:
    """The value of an answer; a `CallError` says what the service said."""
    if 200 <= status < 300:
        if call.answer is bytes:
            return content
        try:
            return msgspec.json.decode(content, type=call.answer) if content else None
        except msgspec.DecodeError as error:
            raise CallError(
                f"{call.method} {call.path}: the answer is not what API v1 answers ({error}): is this the address of "
                "massart serve, of this version?", status,
            ) from None  # fmt: skip
    raise (UnavailableError if status in RETRIED else CallError)(*_problem(call, status, content))


def _problem(call: Call, status: int, content: bytes) -> tuple[str, int, dict[str, Any]]:
    try:
        problem = json.loads(content)
        sentence = problem["detail"] or problem["title"]
    except (ValueError, KeyError, TypeError):
        return f"{call.method} {call.path}: the answer has the status {status} and no explanation", status, {}
    return str(sentence), status, problem
