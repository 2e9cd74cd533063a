"""The application: API v1 over an engine. Other APIs add their routes by `extra`."""

import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from massart import __version__
from massart.service.api import OPERATIONS
from massart.service.api_change import CHANGE_OPERATIONS
from massart.service.api_read import READ_OPERATIONS
from massart.service.api_streams import STREAM_OPERATIONS
from massart.service.dashboard import ROUTES as DASHBOARD
from massart.service.engine import Engine
from massart.service.errors import ServiceError
from massart.service.http import MOST_BODY, SECURITY_HEADERS, Call, Limiter, Operation, answer, endpoint, problem
from massart.service.keys import Keyring
from massart.service.local import LOCAL_OPERATIONS
from massart.service.metrics import Durations
from massart.service.openapi import document
from massart.service.overview import OVERVIEW_OPERATIONS

__all__ = ["LIMITS", "V1", "make_app"]

# Bytes of a body, and of one that is a log or a model; actions; features with the context multiplied in; entries of a
# batch; requests per second of a key, 0 for any number.
LIMITS = {"body": MOST_BODY, "import": 64 * MOST_BODY, "actions": 1000, "features": 50_000, "batch": 1000, "rate": 0}


class _HttpError(ServiceError):
    """What the router says: no such path, no such method."""

    def __init__(self, error: HTTPException) -> None:
        super().__init__(f"{error.detail}: see /openapi.json for what there is")
        self.status, self.title = error.status_code, str(error.detail)


async def _http_error(_: Request, error: Any) -> Response:
    return problem(_HttpError(error))


async def _crashed(_: Request, error: Exception) -> Response:
    del error  # it is in the log of the server, and for nobody outside
    return problem(ServiceError("an error that should not happen; the log of the service has it"))


class _Headers:
    """Adds the security headers to every answer that has not its own."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in SECURITY_HEADERS if pair[0] not in own)]
            await send(message)

        await self._app(scope, receive, with_headers)


async def openapi(_: Call) -> Response:
    """The document that describes this API."""
    return answer(document(V1, __version__))


V1 = [
    *OPERATIONS,
    *READ_OPERATIONS,
    *CHANGE_OPERATIONS,
    *LOCAL_OPERATIONS,
    *OVERVIEW_OPERATIONS,
    *STREAM_OPERATIONS,
    Operation("GET", "/openapi.json", openapi, None, None, dict[str, Any]),
]


class _Logged:
    """Writes one line of JSON per request to standard error: no bodies, no event ids, no feature values."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def noted(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = scope.get("route")
            line = {"time": time.time(), "method": scope["method"], "route": getattr(route, "path", None),
                    "status": status, "ms": round(1e3 * (time.perf_counter() - began), 3)}  # fmt: skip
            sys.stderr.write(json.dumps(line) + "\n")


def make_app(
    engine: Engine,
    keyring: Keyring | None,
    *,
    limits: dict[str, int] | None = None,
    extra: Sequence[BaseRoute] = (),
    access_log: bool = False,
) -> Any:
    """The ASGI application; it starts and stops the engine. Without a keyring everybody may do everything."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        engine.start()
        try:
            yield
        finally:
            engine.stop()

    app = Starlette(
        routes=[*(endpoint(one.path, one.method, one.handler, one.scope) for one in V1), *DASHBOARD, *extra],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _crashed},
    )
    app.router.redirect_slashes = False
    app.state.engine, engine.keyring, app.state.limits = engine, keyring, LIMITS | (limits or {})
    app.state.durations = Durations()
    app.state.limiter = Limiter(app.state.limits["rate"])
    return _Headers(_Logged(app) if access_log else app)
