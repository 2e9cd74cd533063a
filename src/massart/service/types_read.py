"""The values that API v1 answers when it is asked about loops, events and models."""

from typing import Any, Literal

import msgspec

from massart.service.types import Decided, LoopSettings

__all__ = [
    "AuditEntry",
    "AuditList",
    "CertificateFacts",
    "Event",
    "EventList",
    "EventReward",
    "Imported",
    "KeyFacts",
    "KeyList",
    "KeyRequest",
    "LoopFacts",
    "LoopList",
    "LoopState",
    "NewKey",
    "Settlement",
    "Status",
]  # fmt: skip


class Status(msgspec.Struct):
    """How the service is."""

    status: Literal["ok", "ready"]


class LoopFacts(msgspec.Struct):
    """A loop."""

    name: str
    settings: LoopSettings
    created: int  # microseconds since 1970, as all times
    model_version: int
    learned: int  # rounds that the model has learned


class LoopList(msgspec.Struct):
    """All loops."""

    loops: list[LoopFacts]


class LoopState(msgspec.Struct):
    """Counts since the beginning, and means over what the model has learned since it began."""

    loop: LoopFacts
    decisions: int
    waiting: int
    rewards: dict[str, int]  # by outcome
    default_rewards: int
    mean_reward: float | None
    mean_reward_interval: tuple[float, float] | None  # normal, 95%, for one look
    mean_baseline: float | None  # what the first action would have earned, by importance weighting
    mean_baseline_interval: tuple[float, float] | None
    mean_random: float | None
    mean_random_interval: tuple[float, float] | None
    match: float | None  # how often the model took the first action
    updated: int | None  # time of the last step
    is_learner: bool


class CertificateFacts(msgspec.Struct):
    """What is guaranteed of the lift over a random action: see docs/policies.md."""

    verdict: str
    sentence: str
    rounds: int
    pending: int
    guaranteed_lift: float | None
    observed_lift: float
    low: float
    high: float
    confidence: float
    holds: bool
    gap: float | None
    margin: float | None


class EventReward(msgspec.Struct):
    """A reward or, without a value, an activation that came."""

    time: int
    reward: float | None
    outcome: str


class Settlement(msgspec.Struct):
    """How an event was settled: the reward that counts, and the version of the model that has learned it."""

    version: int
    why: str
    reward: float | None
    taught: float | None
    time: int


class Event(msgspec.Struct):
    """An event."""

    decision: Decided
    time: int
    due: int
    request: dict[str, Any]
    rewards: list[EventReward]
    settled: Settlement | None


class EventList(msgspec.Struct):
    """Events, newest first; `next` is the value of `before` for the next page."""

    events: list[Event]
    next: int | None


class Imported(msgspec.Struct):
    """What was learned from a log."""

    rounds: int
    model_version: int


class KeyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A key to be made."""

    scopes: list[Literal["decide", "reward", "read", "admin"]]


class NewKey(msgspec.Struct):
    """A key, which is shown once."""

    name: str
    key: str
    scopes: list[str]


class KeyFacts(msgspec.Struct):
    """A key that is known."""

    name: str
    scopes: list[str]


class KeyList(msgspec.Struct):
    """All keys."""

    keys: list[KeyFacts]


class AuditEntry(msgspec.Struct):
    """What an administrator did."""

    time: int
    key: str
    action: str
    loop: str
    detail: str


class AuditList(msgspec.Struct):
    """The last entries, newest first."""

    entries: list[AuditEntry]
