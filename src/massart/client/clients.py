"""`Client` and `AsyncClient`: API v1 from Python, with retries that cannot record anything twice."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from massart.client.calls import RETRIED, Call, Retries, UnavailableError, answer_of, call_to, decide_body, reward_body
from massart.client.streams import AsyncStreamMethods, StreamMethods
from massart.errors import needs
from massart.service.types import Activated, Decided, Rewarded

if TYPE_CHECKING:
    import httpx
else:
    httpx = needs("httpx", "client", "to speak with the service")

__all__ = ["AsyncClient", "Client"]

_MOST = 100  # connections
_Actions = Sequence[Any] | Mapping[str, Any] | None


class _Options:
    """What both clients are made of."""

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 10.0, retries: int = 4, seed: int | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._retries = Retries(retries, seed=seed)
        headers = {"accept": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        limits = httpx.Limits(max_connections=_MOST, max_keepalive_connections=_MOST)
        self._http: dict[str, Any] = {"base_url": self.url, "headers": headers, "timeout": timeout, "limits": limits}

    @staticmethod
    def _given_up(call: Call, error: Exception) -> UnavailableError:
        return UnavailableError(
            f"{call.method} {call.path}: the service does not answer ({type(error).__name__}: {error})"
        )

    @staticmethod
    def _request(call: Call) -> dict[str, Any]:
        kind = "application/json" if call.body is None or call.body[:1] in (b"{", b"[") else "application/octet-stream"
        headers = {"content-type": kind} if call.body is not None else None
        return {"method": call.method, "url": call.path, "content": call.body, "headers": headers}


def _decide(
    loop: str, actions: _Actions, context: Any, excluded: Sequence[str], event_id: str | None, deferred: bool
) -> Call:
    return call_to(
        "POST", loop, "/decide", decide_body(actions, context, excluded, event_id, deferred=deferred), Decided
    )


def _reward(loop: str, event_id: str, reward: float, reward_id: str | None) -> Call:
    return call_to("POST", loop, "/reward", reward_body(event_id, reward, reward_id), Rewarded)


class Client(_Options, StreamMethods):
    """The service from one or several threads.

    Parameters
    ----------
    url : str
        Where the service is, such as "http://127.0.0.1:8080".
    key : str, default=None
        A key with the scopes that are needed.
    timeout : float, default=10.0
        Seconds for each attempt to connect, to send, and to receive.
    retries : int, default=4
        How often a request is sent again if the service does not answer, or answers 429, 502, 503 or 504. Event ids and
        reward ids are made before the first attempt, so that the service recognises a request that it has seen.
    seed : int, default=None
        Of the random part of the pauses between attempts.
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 10.0, retries: int = 4, seed: int | None = None
    ) -> None:
        super().__init__(url, key, timeout=timeout, retries=retries, seed=seed)
        self._client = httpx.Client(**self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def call(self, call: Call) -> Any:
        """Send a request, again if need be, and return its answer."""
        pauses = self._retries.pauses()
        while True:
            try:
                found = self._client.request(**self._request(call))
            except httpx.TransportError as error:
                pause = next(pauses, None) if call.safe or isinstance(error, httpx.ConnectError) else None
                if pause is None:
                    raise self._given_up(call, error) from None
            else:
                pause = next(pauses, None) if found.status_code in RETRIED else None
                if pause is None:
                    return answer_of(call, found.status_code, found.content)
            time.sleep(pause)

    def create_loop(self, loop: str, **settings: Any) -> dict[str, Any]:
        """Create a loop with these settings; if it is there with the same ones, nothing changes."""
        return self.call(call_to("PUT", loop, "", settings, dict[str, Any]))  # type: ignore[no-any-return]

    def change_loop(self, loop: str, **settings: Any) -> dict[str, Any]:
        """Change some settings of a loop."""
        return self.call(call_to("PATCH", loop, "", settings, dict[str, Any]))  # type: ignore[no-any-return]

    def loops(self) -> list[dict[str, Any]]:
        """All loops."""
        return self.call(call_to("GET", None, "", None, dict[str, Any]))["loops"]  # type: ignore[no-any-return]

    def decide(
        self,
        loop: str,
        actions: _Actions = None,
        context: Any = None,
        *,
        excluded: Sequence[str] = (),
        event_id: str | None = None,
        deferred: bool = False,
    ) -> Decided:
        """Decide; when this returns, the decision is on the service's disk.

        Actions are ids, {id: features}, or objects with "id" and "features"; None means those that the loop declares.
        """
        return self.call(_decide(loop, actions, context, excluded, event_id, deferred))  # type: ignore[no-any-return]

    def reward(self, loop: str, event_id: str, reward: float, *, reward_id: str | None = None) -> Rewarded:
        """Record what an event earned."""
        return self.call(_reward(loop, event_id, reward, reward_id))  # type: ignore[no-any-return]

    def activate(self, loop: str, event_id: str) -> Activated:
        """An event that was decided with `deferred` took place."""
        return self.call(call_to("POST", loop, "/activate", {"event_id": event_id}, Activated))  # type: ignore[no-any-return]

    def state(self, loop: str) -> dict[str, Any]:
        """Settings, counts and version of a loop."""
        return self.call(call_to("GET", loop, "/state", None, dict[str, Any]))  # type: ignore[no-any-return]

    def overview(self, loop: str) -> dict[str, Any]:
        """What the dashboard shows: state, guarantee, series, and the last decisions."""
        return self.call(call_to("GET", loop, "/overview", None, dict[str, Any]))  # type: ignore[no-any-return]


class AsyncClient(_Options, AsyncStreamMethods):
    """The service from asyncio; as `Client`, with `await`."""

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 10.0, retries: int = 4, seed: int | None = None
    ) -> None:
        super().__init__(url, key, timeout=timeout, retries=retries, seed=seed)
        self._client = httpx.AsyncClient(**self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def call(self, call: Call) -> Any:
        """Send a request, again if need be, and return its answer."""
        pauses = self._retries.pauses()
        while True:
            try:
                found = await self._client.request(**self._request(call))
            except httpx.TransportError as error:
                pause = next(pauses, None) if call.safe or isinstance(error, httpx.ConnectError) else None
                if pause is None:
                    raise self._given_up(call, error) from None
            else:
                pause = next(pauses, None) if found.status_code in RETRIED else None
                if pause is None:
                    return answer_of(call, found.status_code, found.content)
            await asyncio.sleep(pause)

    async def create_loop(self, loop: str, **settings: Any) -> dict[str, Any]:
        """Create a loop with these settings; if it is there with the same ones, nothing changes."""
        return await self.call(call_to("PUT", loop, "", settings, dict[str, Any]))  # type: ignore[no-any-return]

    async def change_loop(self, loop: str, **settings: Any) -> dict[str, Any]:
        """Change some settings of a loop."""
        return await self.call(call_to("PATCH", loop, "", settings, dict[str, Any]))  # type: ignore[no-any-return]

    async def loops(self) -> list[dict[str, Any]]:
        """All loops."""
        return (await self.call(call_to("GET", None, "", None, dict[str, Any])))["loops"]  # type: ignore[no-any-return]

    async def decide(
        self,
        loop: str,
        actions: _Actions = None,
        context: Any = None,
        *,
        excluded: Sequence[str] = (),
        event_id: str | None = None,
        deferred: bool = False,
    ) -> Decided:
        """Decide; when this returns, the decision is on the service's disk. Actions are as in `Client.decide`."""
        return await self.call(_decide(loop, actions, context, excluded, event_id, deferred))  # type: ignore[no-any-return]

    async def reward(self, loop: str, event_id: str, reward: float, *, reward_id: str | None = None) -> Rewarded:
        """Record what an event earned."""
        return await self.call(_reward(loop, event_id, reward, reward_id))  # type: ignore[no-any-return]

    async def activate(self, loop: str, event_id: str) -> Activated:
        """An event that was decided with `deferred` took place."""
        return await self.call(call_to("POST", loop, "/activate", {"event_id": event_id}, Activated))  # type: ignore[no-any-return]

    async def state(self, loop: str) -> dict[str, Any]:
        """Settings, counts and version of a loop."""
        return await self.call(call_to("GET", loop, "/state", None, dict[str, Any]))  # type: ignore[no-any-return]

    async def overview(self, loop: str) -> dict[str, Any]:
        """What the dashboard shows: state, guarantee, series, and the last decisions."""
        return await self.call(call_to("GET", loop, "/overview", None, dict[str, Any]))  # type: ignore[no-any-return]
