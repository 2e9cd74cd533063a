"""What all APIs share over HTTP: bodies within limits, keys, errors as documents, answers, headers.

`endpoint` turns a coroutine that takes a `Call` into a route. Another API (Personalizer, OFREP) passes `errors`, which
makes its own document of a `ServiceError`.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.service.engine import Engine
from massart.service.errors import NotFoundError, NotReadyError, RefusedError, ServiceError, TooLargeError, TooManyError
from massart.service.keys import KeyHolder, Keyring

__all__ = ["MOST_BODY", "SECURITY_HEADERS", "Call", "Limiter", "Operation", "Problem", "Reader", "answer", "endpoint",
           "problem"]  # fmt: skip

SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
MOST_BODY: Final = 1 << 20
_T = TypeVar("_T")
_ENCODE: Final = msgspec.json.Encoder().encode


class Limiter:
    """So many requests per second for each key, as many at once at most; 0: any number."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count a request, or refuse it."""
        if self._rate <= 0:
            return
        now = time.monotonic()
        left, at = self._left.get(name, (self._rate, now))
        left = min(self._rate, left + (now - at) * self._rate) - 1.0
        if left < 0.0:
            raise TooManyError(f"the key {name!r} may send {self._rate:g} requests per second: wait a little")
        self._left[name] = left, now


class Problem(msgspec.Struct, omit_defaults=True):
    """An error as RFC 9457 has it; `details` is what a program may want to know."""

    type: str
    title: str
    status: int
    detail: str
    details: dict[str, Any] = {}


class Call:
    """One request, with the engine."""

    __slots__ = ("engine", "holder", "keyring", "limiter", "limits", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        state = request.app.state
        self.engine: Engine = state.engine
        self.keyring: Keyring | None = self.engine.keyring
        self.limits: dict[str, int] = state.limits
        self.limiter: Limiter = state.limiter
        self.holder = KeyHolder("nobody", frozenset())

    @property
    def key(self) -> str | None:
        """The key that was sent: as a bearer, or as Personalizer's clients send theirs."""
        headers = self.request.headers
        given = headers.get("authorization")
        if given is not None and given[:7].lower() == "bearer ":
            return given[7:].strip()
        return headers.get("ocp-apim-subscription-key") or headers.get("x-api-key")

    def require(self, scope: str) -> KeyHolder:
        """The holder of the key, if it has this scope; a service without keys lets everybody in."""
        if self.keyring is None:
            return KeyHolder("nobody", frozenset((scope,)))
        return self.keyring.check(self.key, scope)

    def path(self, name: str) -> str:
        """A part of the path."""
        found = str(self.request.path_params[name])
        if "\0" in found or not found.isprintable():
            raise NotFoundError(f"{name}: there is nothing with such a name")
        return found

    async def note(self, method: str, path: str) -> None:
        """Write what an administrator did to the audit."""
        where, now = self.request.path_params, self.engine.clock.now()
        loop, key = str(where.get("loop", where.get("stream", ""))), self.holder.name
        detail = str(where.get("key", ""))
        await self.engine.read(lambda store: store.audit(now, key, f"{method} {path}", loop, detail))

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number of the query."""
        given = self.request.query_params.get(name)
        if given is None:
            return default
        if not given.isascii() or not given.isdigit() or len(given) > 18 or not low <= int(given) <= high:
            raise RefusedError(f"{name}: {given[:40]!r} is not a whole number from {low} to {high}")
        return int(given)

    async def body(self, limit: str = "body") -> bytes:
        """The body, if it is not too long."""
        most = self.limits[limit]
        declared = self.request.headers.get("content-length")
        if declared is not None and declared.isdigit() and int(declared) > most:
            raise TooLargeError(f"the body has {declared} bytes, and {most} are allowed")
        parts, size = [], 0
        async for part in self.request.stream():
            size += len(part)
            if size > most:
                raise TooLargeError(f"the body has more than the {most} bytes that are allowed")
            parts.append(part)
        return b"".join(parts)


class Reader(Generic[_T]):
    """Reads bodies of one type."""

    def __init__(self, kind: type[_T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    async def __call__(self, call: Call) -> _T:
        """The body of a call."""
        given = await call.body()
        try:
            return self._decode(given)
        except msgspec.ValidationError as error:
            raise RefusedError(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise BadJsonError(f"the body is not JSON: {error}") from None


class BadJsonError(ServiceError):
    """A body that is not JSON."""

    status, title = 400, "The request was not understood"


def answer(value: Any, status: int = 200) -> Response:
    """A value as JSON."""
    return Response(_ENCODE(value), status, media_type="application/json")


def problem(error: ServiceError) -> Response:
    """An error of API v1."""
    document = Problem(f"/problems/{error.kind}", error.title, error.status, str(error), error.details)
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else {}
    if error.status in (429, 503):
        headers["retry-after"] = "1"
    return Response(_ENCODE(document), error.status, headers, "application/problem+json")


Handler = Callable[[Call], Awaitable[Response]]


class Operation(NamedTuple):
    """A route of API v1 and what its document says of it; the summary is the handler's docstring."""

    method: str
    path: str
    handler: Handler
    scope: str | None
    body: Any = None  # a type, or a media type if it is not JSON
    answer: Any = None  # likewise
    status: int = 200
    query: dict[str, Any] = {}  # name -> schema
    headers: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        """The path as OpenAPI has it."""
        return self.path.replace(":path}", "}")


def endpoint(
    path: str, method: str, handler: Handler, scope: str | None, errors: Callable[[ServiceError], Response] = problem
) -> Route:
    """A route; `scope` is what its key must allow, None if it needs none."""

    async def run(request: Request) -> Response:
        began = time.perf_counter()
        answered = await respond(request)
        if scope is not None:
            request.app.state.durations.note(scope, time.perf_counter() - began)
        return answered

    async def respond(request: Request) -> Response:
        try:
            call = Call(request)
            if scope is not None:
                call.holder = call.require(scope)
                call.limiter.take(call.holder.name)
            answered = await handler(call)
            if scope == "admin" and method != "GET":
                await call.note(method, path)
            return answered  # noqa: TRY300
        except ServiceError as error:
            return errors(error)
        except (InvalidDataError, InvalidParameterError, ModelFileError) as error:
            return errors(RefusedError(str(error)))
        except ClientDisconnect:
            return errors(NotReadyError("the client has gone"))

    return Route(path, run, methods=[method])
