"""The values of streams in API v1: rows of features with labels that are learned, and predictions."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from massart.service.types import EventId

__all__ = [
    "LearnRequest",
    "Learned",
    "PredictRequest",
    "Predicted",
    "StreamCertificate",
    "StreamFacts",
    "StreamList",
    "StreamOverview",
    "StreamSettings",
    "StreamState",
]

_Text = Annotated[str, Meta(min_length=1, max_length=256, pattern="^[^\\x00]*$")]
_Whole = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Label = _Text | _Whole  # a number is the label that it is written as


class StreamSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The settings of a stream: those of its classifier. Without `classes`, labels join as they come."""

    noise_rate: float | None = None
    margin: float | None = None
    horizon: float | None = None
    classes: list[Label] | None = None
    hash_bits: Annotated[int, Meta(ge=1, le=22)] = 18  # features are hashed to 2**hash_bits columns


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A row to predict: features by name, as JSON has them."""

    features: dict[str, Any]


class Predicted(msgspec.Struct):
    """The answer for a row, and the version of the model that gave it."""

    label: str
    score: float | None  # of two classes: above 0 for the second of `classes` of the stream; None of more
    probabilities: dict[str, float]  # of all classes that are known
    model_version: int


class LearnRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A row to learn. The event id is the idempotency key; without one the service makes it."""

    features: dict[str, Any]
    label: Label
    weight: Annotated[float, Meta(ge=1e-50, le=1e50)] = 1.0
    event_id: EventId | None = None


class Learned(msgspec.Struct):
    """A row was recorded; it is on the disk, and is learned in the order of the log."""

    event_id: str
    status: Literal["recorded"] = "recorded"


class StreamFacts(msgspec.Struct):
    """A stream."""

    name: str
    settings: StreamSettings
    created: int  # microseconds since 1970
    model_version: int
    learned: int  # rows
    classes: list[str]  # that are known


class StreamList(msgspec.Struct):
    """All streams."""

    streams: list[StreamFacts]


class StreamState(msgspec.Struct):
    """What a stream has done."""

    stream: StreamFacts
    recorded: int  # rows in the log
    waiting: int  # of which not yet learned
    refused: int  # of which could not be learned, such as a label beyond the number of classes that fit
    mistakes: int  # rows that were predicted wrongly just before they were learned
    updated: int | None  # time of the last step


class StreamCertificate(msgspec.Struct):
    """What is proved of the mistakes so far; a bound that is not finite is null."""

    verdict: str
    sentence: str
    rounds: float
    mistakes: float
    noise_rate: float
    margin: float
    mistake_bound: float | None
    confident_mistake_bound: float | None
    confidence: float
    holds: bool


class StreamOverview(msgspec.Struct):
    """What the dashboard shows of a stream. The columns begin where this process did, or with the last reset."""

    state: StreamState
    model_age: float | None  # seconds since it learned
    error: float | None  # progressive: mistakes per row learned, each row predicted before it was learned
    rounds: list[int]  # rows learned, at points on the way
    errors: list[float]  # the progressive error up to each
    recent_rows: int
    recent: list[float | None]  # mistakes per row of the last so many rows, or a few more; None where there are fewer
    certificate: StreamCertificate | None  # None before the first row
