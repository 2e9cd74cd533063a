"""API v1: streams, which predict labels and learn from rows with labels."""

import asyncio
import math
from typing import Any, Final

from starlette.responses import Response

from massart.service.api import within
from massart.service.clock import SECOND
from massart.service.errors import TooLargeError
from massart.service.http import Call, Operation, Reader, answer
from massart.service.loop import leaves_of
from massart.service.store import Store
from massart.service.stream_types import (
    Learned,
    LearnRequest,
    Predicted,
    PredictRequest,
    StreamCertificate,
    StreamFacts,
    StreamList,
    StreamOverview,
    StreamSettings,
    StreamState,
)
from massart.service.streams import Stream

__all__ = ["STREAM_OPERATIONS"]

_SETTINGS: Final = Reader(StreamSettings)
_PREDICT: Final = Reader(PredictRequest)
_PREDICTIONS: Final = Reader(list[PredictRequest])
_LEARN: Final = Reader(LearnRequest)
_ROWS: Final = Reader(list[LearnRequest])
_MODEL: Final = "application/octet-stream"
_LEAST_RECENT: Final = 20  # rows of which a recent error is shown


def _limited(call: Call, rows: Any) -> Any:
    most = call.limits["features"]
    for one in rows:
        count = leaves_of(one.features)
        if count > most:
            raise TooLargeError(f"features: there are {count:,}, and {most:,} are allowed: give fewer")
    return rows


async def predict(call: Call) -> Response:
    """The label of one row."""
    (given,) = _limited(call, [await _PREDICT(call)])
    found = await call.engine.streams.predict(call.path("stream"), [given.features])
    return answer(found[0])


async def predict_batch(call: Call) -> Response:
    """The labels of several rows, by one version of the model."""
    given = _limited(call, within(call, await _PREDICTIONS(call)))
    rows = [one.features for one in given]
    return answer(await call.engine.streams.predict(call.path("stream"), rows))


async def learn(call: Call) -> Response:
    """Learn one row with its label."""
    given = _limited(call, [await _LEARN(call)])
    (event_id,) = await call.engine.streams.learn(call.path("stream"), given)
    return answer(Learned(event_id))


async def learn_batch(call: Call) -> Response:
    """Learn several rows in their order, all of them or none."""
    given = _limited(call, within(call, await _ROWS(call)))
    return answer([Learned(one) for one in await call.engine.streams.learn(call.path("stream"), given)])


def _facts(stream: Stream) -> StreamFacts:
    model = stream.model
    return StreamFacts(stream.name, stream.settings, stream.created, model.version, model.learned, model.classes)


async def list_streams(call: Call) -> Response:
    """All streams."""
    return answer(StreamList([_facts(one) for one in call.engine.streams.all()]))


async def get_stream(call: Call) -> Response:
    """One stream."""
    return answer(_facts(call.engine.streams.get(call.path("stream"))))


async def put_stream(call: Call) -> Response:
    """Make a stream."""
    given = await _SETTINGS(call)
    return answer(_facts(await call.engine.streams.create(call.path("stream"), given)), 201)


async def reset_stream(call: Call) -> Response:
    """Begin the model anew; the log stays."""
    return answer(_facts(await call.engine.streams.reset(call.path("stream"))))


async def delete_stream(call: Call) -> Response:
    """Delete a stream with its log."""
    await call.engine.streams.delete(call.path("stream"))
    return Response(status_code=204)


async def _state(call: Call, stream: Stream) -> StreamState:
    def read(store: Store) -> dict[str, int]:
        return store.counts(stream.id)

    counts, model = await call.engine.read(read), stream.model
    return StreamState(
        _facts(stream), counts["decisions"], counts["waiting"], model.refused, model.mistakes, model.updated or None
    )


async def stream_state(call: Call) -> Response:
    """What was recorded, learned and refused, and how many mistakes were made."""
    return answer(await _state(call, call.engine.streams.get(call.path("stream"))))


def _certificate(stream: Stream) -> StreamCertificate:
    found = stream.model.certificate()

    def finite(number: float) -> float | None:
        return number if math.isfinite(number) else None

    return StreamCertificate(
        found.verdict, found.sentence, found.rounds, found.mistakes, found.noise_rate, found.margin,
        finite(found.mistake_bound), finite(found.confident_mistake_bound), found.confidence, found.holds,
    )  # fmt: skip


async def stream_certificate(call: Call) -> Response:
    """What is proved of the mistakes so far."""
    stream = call.engine.streams.get(call.path("stream"))
    return answer(await asyncio.to_thread(_certificate, stream))


async def stream_overview(call: Call) -> Response:
    """What there is to see of a stream: state, progressive error, certificate."""
    stream = call.engine.streams.get(call.path("stream"))
    state, model = await _state(call, stream), stream.model
    points = model.trail.points()
    rows = max(_LEAST_RECENT, points[-1][0] // 20) if points else _LEAST_RECENT
    learned = model.learned
    certificate = await asyncio.to_thread(_certificate, stream) if learned else None
    age = max(0.0, (call.engine.clock.now() - model.updated) / SECOND) if learned else None
    errors = [mistakes / rounds for rounds, mistakes in points]
    error = state.mistakes / state.stream.learned if state.stream.learned else None
    rounds = [rounds for rounds, _ in points]
    return answer(StreamOverview(state, age, error, rounds, errors, rows, _recent(points, rows), certificate))


def _recent(points: list[tuple[int, int]], rows: int) -> list[float | None]:
    """Mistakes per row up to each point, since the last point that is at least so many rows before it.

    >>> _recent([(1, 1), (11, 3), (21, 3), (40, 3)], 20)
    [None, None, 0.1, 0.0]
    """
    found: list[float | None] = []
    start = 0
    for rounds, mistakes in points:
        while start + 1 < len(points) and rounds - points[start + 1][0] >= rows:
            start += 1
        first, wrong = points[start]
        found.append((mistakes - wrong) / (rounds - first) if rounds - first >= rows else None)
    return found


async def stream_model(call: Call) -> Response:
    """The classifier as a file that `massart` opens; the header massart-model-version says which version it is."""
    stream = call.engine.streams.get(call.path("stream"))
    version, data = await asyncio.to_thread(stream.model.snapshot)
    return Response(data, headers={"massart-model-version": str(version)}, media_type=_MODEL)


STREAM_OPERATIONS: Final = [
    Operation("POST", "/v1/streams/{stream}/predict", predict, "decide", PredictRequest, Predicted),
    Operation(
        "POST", "/v1/streams/{stream}/predict/batch", predict_batch, "decide", list[PredictRequest], list[Predicted]
    ),
    Operation("POST", "/v1/streams/{stream}/learn", learn, "reward", LearnRequest, Learned),
    Operation("POST", "/v1/streams/{stream}/learn/batch", learn_batch, "reward", list[LearnRequest], list[Learned]),
    Operation("GET", "/v1/streams", list_streams, "read", None, StreamList),
    Operation("GET", "/v1/streams/{stream}", get_stream, "read", None, StreamFacts),
    Operation("PUT", "/v1/streams/{stream}", put_stream, "admin", StreamSettings, StreamFacts, 201),
    Operation("DELETE", "/v1/streams/{stream}", delete_stream, "admin", None, None, 204),
    Operation("POST", "/v1/streams/{stream}/reset", reset_stream, "admin", None, StreamFacts),
    Operation("GET", "/v1/streams/{stream}/state", stream_state, "read", None, StreamState),
    Operation("GET", "/v1/streams/{stream}/certificate", stream_certificate, "read", None, StreamCertificate),
    Operation("GET", "/v1/streams/{stream}/overview", stream_overview, "read", None, StreamOverview),
    Operation(
        "GET", "/v1/streams/{stream}/model", stream_model, "read", None, _MODEL, headers=("massart-model-version",)
    ),
]
