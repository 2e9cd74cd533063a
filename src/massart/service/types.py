"""The values of API v1: what is sent and answered, as msgspec structs, from which the OpenAPI document is made."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "Action",
    "ActionProbability",
    "ActivateRequest",
    "Activated",
    "Aggregation",
    "DecideRequest",
    "Decided",
    "LoopSettings",
    "Mode",
    "RewardRequest",
    "Rewarded",
]

Aggregation = Literal["earliest", "sum", "average", "median", "min", "max"]
Mode = Literal["online", "apprentice", "logging"]
EventId = Annotated[str, Meta(min_length=1, max_length=256, pattern="^[^\\x00]*$")]  # no NUL, which databases refuse
ActionId = Annotated[str, Meta(min_length=1, max_length=256)]
Features = dict[str, Any] | list[float] | None


class Action(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One of the actions to choose from: an id, and features by name or a row of numbers."""

    id: ActionId
    features: Features = None


class DecideRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be decided. Without `actions`, those that the loop declares."""

    actions: list[ActionId | Action] | None = None
    context: Features = None
    excluded: list[ActionId] = []
    event_id: EventId | None = None
    deferred: bool = False  # nothing is learned unless the event is activated


class ActionProbability(msgspec.Struct):
    """An action with the probability with which it could have been chosen."""

    id: str
    probability: float


class Decided(msgspec.Struct):
    """What was decided; it is on the disk."""

    event_id: str
    action: str  # the id of the action to take
    index: int  # its place in the list of actions
    probability: float
    actions: list[ActionProbability]  # all of them, in the order in which they were given
    model_version: int
    mode: Mode
    preferred: str  # what the model would take: another one than `action` in the modes apprentice and logging


class RewardRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What an event earned. `reward_id` makes a repeated request harmless where several rewards are added up."""

    event_id: EventId
    reward: float
    reward_id: EventId | None = None


class Rewarded(msgspec.Struct):
    """A reward was recorded; it is on the disk. What became of it is a part of the event."""

    event_id: str
    status: Literal["recorded"] = "recorded"


class ActivateRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An event that was decided with `deferred` took place."""

    event_id: EventId


class Activated(msgspec.Struct):
    """An activation was recorded; it is on the disk."""

    event_id: str
    status: Literal["recorded"] = "recorded"


class LoopSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The settings of a loop; those from `reward_range` to `crossing` are of its model."""

    reward_range: tuple[float, float] = (0.0, 1.0)
    gap: float | None = None
    margin: float | None = None
    horizon: float | None = None
    exploration: float | None = None
    crossing: Literal["ids", "features"] = "ids"  # what the context is multiplied with
    actions: list[Action] | None = None  # declared ones, for requests without actions
    reward_window: Annotated[float, Meta(gt=0.0, le=3.2e8)] = 600.0  # seconds
    default_reward: float | None = None  # learned if no reward comes; the lowest one if None
    aggregation: Aggregation = "earliest"
    hold_rewards: bool = False  # learn nothing before the window is over, in the order of decisions
    clip_rewards: bool = False
    mode: Mode = "online"
    paused: bool = False  # decisions go on, nothing is learned
    keep_days: Annotated[float, Meta(ge=0.0, le=36500.0)] | None = None  # settled events are deleted then; None: kept
    extra: dict[str, Any] = {}  # for other APIs, which keep their own settings here

    @property
    def default(self) -> float:
        """The reward of an event for which none came."""
        return self.reward_range[0] if self.default_reward is None else self.default_reward

    @property
    def model_settings(self) -> tuple[Any, ...]:
        """What the model depends on: with other values it is another model. With other `exploration` it goes on."""
        return self.reward_range, self.gap, self.margin, self.horizon, self.crossing
