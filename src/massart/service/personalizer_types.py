"""The values of Personalizer's API, as both of its URL families send and answer them; members not known are ignored."""

from typing import Any

import msgspec

__all__ = [
    "Evaluation",
    "EvaluationOrder",
    "MultiSlotRankRequest",
    "MultiSlotRankResponse",
    "MultiSlotRewardRequest",
    "PolicyOrigin",
    "PolicySettings",
    "RankRequest",
    "RankResponse",
    "RankableAction",
    "RankedAction",
    "RewardValue",
    "ServiceConfiguration",
    "Slot",
    "SlotAnswer",
    "SlotReward",
]


class _Value(msgspec.Struct, rename="camel", omit_defaults=True):
    """Members are written as in `rewardActionId`."""


class RankableAction(_Value):
    """An action to choose from."""

    id: str | None = None
    features: Any = None


class RankRequest(_Value):
    """What is to be ranked."""

    actions: list[RankableAction | None] | None = None
    context_features: Any = None
    excluded_actions: list[str] | None = None
    event_id: str | None = None
    defer_activation: bool | None = None


class RankedAction(_Value):
    """An action with its probability."""

    id: str
    probability: float


class RankResponse(_Value, omit_defaults=False):
    """What was chosen; the ranking has all actions, the excluded ones in their places."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RewardValue(_Value):
    """What an event earned."""

    value: float


class Slot(_Value):
    """A place to fill with one of the actions; `position_features` is what some clients call its features."""

    id: str | None = None
    baseline_action: str | None = None
    features: Any = None
    position_features: Any = None
    excluded_actions: list[str] | None = None


class MultiSlotRankRequest(_Value):
    """Several places to fill from one list of actions."""

    actions: list[RankableAction | None] | None = None
    slots: list[Slot | None] | None = None
    context_features: Any = None
    event_id: str | None = None
    defer_activation: bool | None = None


class SlotAnswer(_Value):
    """The action of one slot."""

    id: str
    reward_action_id: str


class MultiSlotRankResponse(_Value, omit_defaults=False):
    """The actions of all slots."""

    slots: list[SlotAnswer]
    event_id: str


class SlotReward(_Value):
    """What one slot earned."""

    slot_id: str
    value: float


class MultiSlotRewardRequest(_Value):
    """What some of the slots earned."""

    reward: list[SlotReward]


class ServiceConfiguration(_Value):
    """The settings of a loop; the first seven are required of an update, but for `model_retrain_days` in v1."""

    reward_wait_time: str | None = None
    default_reward: float | None = None
    reward_aggregation: str | None = None
    exploration_percentage: float | None = None
    model_export_frequency: str | None = None
    log_retention_days: int | None = None
    model_retrain_days: int | None = None
    log_mirror_enabled: bool | None = None
    log_mirror_sas_uri: str | None = None
    last_configuration_edit_date: str | None = None
    learning_mode: str | None = None
    latest_apprentice_mode_metrics: Any = None
    is_auto_optimization_enabled: bool | None = None
    auto_optimization_frequency: str | None = None
    auto_optimization_start_date: str | None = None
    is_inference_explainability_enabled: bool | None = None


class PolicySettings(_Value, omit_defaults=False):
    """The settings of the learner, written as options."""

    name: str
    arguments: str


class EvaluationOrder(_Value):
    """An evaluation to make: of the decisions in a range of time, of policies beside those that are always there."""

    name: str
    start_time: str
    end_time: str
    policies: list[PolicySettings] = []
    enable_offline_experimentation: bool | None = None
    enable_policy_optimization: bool | None = None


class Evaluation(_Value, omit_defaults=False):
    """An evaluation that was made, as it is kept."""

    id: str
    name: str
    start_time: str
    end_time: str
    creation_time: str
    policies: list[dict[str, Any]]  # of each: name, arguments, source, and its sums
    evaluation_type: str = "Manual"
    status: str = "Succeeded"
    optimal_policy: str | None = None


class PolicyOrigin(_Value):
    """A policy of an evaluation that is to be applied."""

    evaluation_id: str
    policy_name: str
