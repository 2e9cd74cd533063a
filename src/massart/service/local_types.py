"""What a decider in another process and the service send to each other; see `local`."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from massart.service.types import DecideRequest, LoopSettings, Mode

__all__ = ["Lease", "LeaseRequest", "LocalDecision", "NotTaken", "Taken"]

MOST_TICKETS: Final = 10_000


class LeaseRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What a decider needs: so many tickets, and the model if it has changed since this version."""

    tickets: Annotated[int, Meta(ge=0, le=MOST_TICKETS)] = 1000
    version: Annotated[int, Meta(ge=0, le=1 << 59)] | None = None


class Lease(msgspec.Struct):
    """The model (base64; None if it has not changed), the settings, and tickets: ids are `prefix` and a place."""

    version: int
    snapshot: bytes | None
    settings: LoopSettings
    prefix: str
    tosses: list[float]


class LocalDecision(msgspec.Struct, forbid_unknown_fields=True):
    """A decision that was made elsewhere."""

    event_id: Annotated[str, Meta(min_length=1, max_length=256)]
    model_version: Annotated[int, Meta(ge=0, le=1 << 59)]
    index: Annotated[int, Meta(ge=0)]  # of the action that was taken
    probability: float
    mode: Mode
    request: DecideRequest


class NotTaken(msgspec.Struct):
    """A decision that was not recorded."""

    event_id: str
    why: str


class Taken(msgspec.Struct):
    """How many decisions were recorded, now or before; the others with the reason."""

    recorded: int
    refused: list[NotTaken]
