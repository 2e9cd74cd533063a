"""Streams from Python: the methods of `Client` and of `AsyncClient` that predict labels and learn rows."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from massart.client.calls import Call, call_at
from massart.service.stream_types import Learned, Predicted

__all__ = ["AsyncStreamMethods", "StreamMethods"]

_Json = dict[str, Any]


def _learn(stream: str, features: Mapping[str, Any], label: str | int, weight: float, event_id: str | None) -> Call:
    return call_at("POST", "streams", stream, "/learn", _row(features, label, weight, event_id), Learned)


def _row(features: Mapping[str, Any], label: str | int, weight: float = 1.0, event_id: str | None = None) -> _Json:
    """A row to learn; its id, made before the first attempt, lets the service know a repeated request."""
    row = {"event_id": event_id or uuid.uuid4().hex, "features": features, "label": label}
    return row if weight == 1.0 else row | {"weight": weight}


def _learn_all(stream: str, rows: Sequence[Mapping[str, Any]]) -> Call:
    sent = [{"event_id": uuid.uuid4().hex} | {k: v for k, v in one.items() if v is not None} for one in rows]
    return call_at("POST", "streams", stream, "/learn/batch", sent, list[Learned])


def _predict(stream: str, features: Mapping[str, Any]) -> Call:
    return call_at("POST", "streams", stream, "/predict", {"features": features}, Predicted)


def _predict_all(stream: str, rows: Sequence[Mapping[str, Any]]) -> Call:
    return call_at("POST", "streams", stream, "/predict/batch", [{"features": one} for one in rows], list[Predicted])


def _create(stream: str, settings: _Json) -> Call:
    return call_at("PUT", "streams", stream, "", settings, _Json)


def _get(stream: str | None, rest: str = "") -> Call:
    return call_at("GET", "streams", stream, rest, None, _Json)


class StreamMethods:
    """Those of `Client`."""

    def call(self, call: Call) -> Any:
        """Send a request, and return its answer."""
        raise NotImplementedError

    def create_stream(self, stream: str, **settings: Any) -> _Json:
        """Create a stream with these settings; if it is there with the same ones, nothing changes."""
        return self.call(_create(stream, settings))  # type: ignore[no-any-return]

    def streams(self) -> list[_Json]:
        """All streams."""
        return self.call(_get(None))["streams"]  # type: ignore[no-any-return]

    def learn(
        self,
        stream: str,
        features: Mapping[str, Any],
        label: str | int,
        *,
        weight: float = 1.0,
        event_id: str | None = None,
    ) -> Learned:
        """Learn a row with its label; when this returns, the row is on the service's disk."""
        return self.call(_learn(stream, features, label, weight, event_id))  # type: ignore[no-any-return]

    def learn_all(self, stream: str, rows: Sequence[Mapping[str, Any]]) -> list[Learned]:
        """Learn rows in their order, all or none; each has "features" and "label", perhaps "weight", "event_id"."""
        return self.call(_learn_all(stream, rows))  # type: ignore[no-any-return]

    def predict(self, stream: str, features: Mapping[str, Any]) -> Predicted:
        """The label of a row, with the probabilities of all classes that are known."""
        return self.call(_predict(stream, features))  # type: ignore[no-any-return]

    def predict_all(self, stream: str, rows: Sequence[Mapping[str, Any]]) -> list[Predicted]:
        """The labels of several rows of features, by one version of the model."""
        return self.call(_predict_all(stream, rows))  # type: ignore[no-any-return]

    def stream_state(self, stream: str) -> _Json:
        """Settings, counts, mistakes and version of a stream."""
        return self.call(_get(stream, "/state"))  # type: ignore[no-any-return]

    def stream_certificate(self, stream: str) -> _Json:
        """What is proved of the mistakes so far."""
        return self.call(_get(stream, "/certificate"))  # type: ignore[no-any-return]


class AsyncStreamMethods:
    """Those of `AsyncClient`."""

    async def call(self, call: Call) -> Any:
        """Send a request, and return its answer."""
        raise NotImplementedError

    async def create_stream(self, stream: str, **settings: Any) -> _Json:
        """Create a stream with these settings; if it is there with the same ones, nothing changes."""
        return await self.call(_create(stream, settings))  # type: ignore[no-any-return]

    async def streams(self) -> list[_Json]:
        """All streams."""
        return (await self.call(_get(None)))["streams"]  # type: ignore[no-any-return]

    async def learn(
        self,
        stream: str,
        features: Mapping[str, Any],
        label: str | int,
        *,
        weight: float = 1.0,
        event_id: str | None = None,
    ) -> Learned:
        """Learn a row with its label; when this returns, the row is on the service's disk."""
        return await self.call(_learn(stream, features, label, weight, event_id))  # type: ignore[no-any-return]

    async def learn_all(self, stream: str, rows: Sequence[Mapping[str, Any]]) -> list[Learned]:
        """Learn rows in their order, all or none; they are as in `Client.learn_all`."""
        return await self.call(_learn_all(stream, rows))  # type: ignore[no-any-return]

    async def predict(self, stream: str, features: Mapping[str, Any]) -> Predicted:
        """The label of a row, with the probabilities of all classes that are known."""
        return await self.call(_predict(stream, features))  # type: ignore[no-any-return]

    async def predict_all(self, stream: str, rows: Sequence[Mapping[str, Any]]) -> list[Predicted]:
        """The labels of several rows of features, by one version of the model."""
        return await self.call(_predict_all(stream, rows))  # type: ignore[no-any-return]

    async def stream_state(self, stream: str) -> _Json:
        """Settings, counts, mistakes and version of a stream."""
        return await self.call(_get(stream, "/state"))  # type: ignore[no-any-return]

    async def stream_certificate(self, stream: str) -> _Json:
        """What is proved of the mistakes so far."""
        return await self.call(_get(stream, "/certificate"))  # type: ignore[no-any-return]
