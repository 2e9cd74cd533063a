"""Personalizer's service configuration and learning settings, from and to the settings of a loop.

What has no counterpart in a loop is kept in `LoopSettings.extra["personalizer"]`, and given back as it came.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from massart.service.errors import RefusedError
from massart.service.personalizer_types import PolicySettings, ServiceConfiguration
from massart.service.types import LoopSettings

__all__ = [
    "DEFAULT_SETTINGS",
    "EXTRA",
    "configuration_of",
    "configured",
    "iso_duration",
    "iso_time",
    "microseconds_of",
    "policy_of",
    "seconds_of",
    "with_policy",
]

EXTRA: Final = "personalizer"
DEFAULT_SETTINGS: Final = LoopSettings(
    reward_range=(-1.0, 1.0), default_reward=0.0, exploration=0.2, crossing="features", clip_rewards=True
)
_MODES: Final = {"online": "Online", "apprentice": "Apprentice", "logging": "LoggingOnly"}
_AGGREGATIONS: Final = ("earliest", "sum", "average", "median", "min", "max")
_REQUIRED: Final = ("reward_wait_time", "default_reward", "reward_aggregation", "exploration_percentage",
                    "model_export_frequency", "log_retention_days")  # fmt: skip
_KEPT: Final = ("model_export_frequency", "model_retrain_days")
_FIRST: Final = {"model_export_frequency": "PT1M", "model_retrain_days": 0}
_NAME: Final = "massart"  # of the learning settings
_OPTIONS: Final = ("gap", "margin", "horizon")
_FOR_EVER, _MOST_DAYS = -1, 36_500  # of logRetentionDays
_LONGEST: Final = 3.2e8  # seconds
_CLOCK: Final = re.compile(r"(?:(\d{1,5})\.)?(\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,7})?")


def seconds_of(text: str, where: str, code: str = "InvalidServiceConfiguration") -> float:
    """Of a duration as ISO 8601 writes it, or as hours:minutes:seconds.

    >>> seconds_of("PT10M", "rewardWaitTime"), seconds_of("1.00:10:00", "rewardWaitTime")
    (600.0, 87000.0)
    """
    found = _CLOCK.fullmatch(text.strip())
    if found is not None:
        days, hours, minutes, seconds, fraction = found.groups()
        total = ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds) + float(fraction or 0.0)
    else:
        try:
            total = msgspec.convert(text.strip(), timedelta).total_seconds()
        except (msgspec.ValidationError, OverflowError):
            raise RefusedError(f"{where}: {text[:40]!r} is no duration; give one as in PT10M", code=code) from None
    if not 0.0 < total <= _LONGEST:
        raise RefusedError(f"{where}: {text[:40]!r} is not from above 0 seconds to ten years", code=code)
    return total


def iso_duration(seconds: float) -> str:
    """A duration as ISO 8601 writes it.

    >>> iso_duration(600), iso_duration(93784.5), iso_duration(172800), iso_duration(0.25)
    ('PT10M', 'P1DT2H3M4.5S', 'P2D', 'PT0.25S')
    """
    micro = round(seconds * 1_000_000)
    days, rest = divmod(micro, 86_400_000_000)
    hours, rest = divmod(rest, 3_600_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    whole, part = divmod(rest, 1_000_000)
    last = f"{whole}" + (f".{part:06d}".rstrip("0") if part else "")
    clock = "".join(f"{value}{unit}" for value, unit in ((hours, "H"), (minutes, "M")) if value)
    clock += f"{last}S" if rest else ""
    return f"P{days}D" * bool(days) + ("" if days else "P") + (f"T{clock}" if clock else "") if micro else "PT0S"


def iso_time(microseconds: int) -> str:
    """A time of the log.

    >>> iso_time(1_600_000_000_000_001)
    '2020-09-13T12:26:40.000001Z'
    """
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")


def microseconds_of(text: str, where: str) -> int:
    """A time of the log, from ISO 8601; without an offset it is UTC.

    >>> microseconds_of("2020-09-13T12:26:40Z", "startTime"), microseconds_of("2020-09-13 14:26:40+02:00", "startTime")
    (1600000000000000, 1600000000000000)
    """
    try:
        given = datetime.fromisoformat(text.strip())
        given = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        return (given - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise RefusedError(f"{where}: {text[:40]!r} is no time; give one as in 2026-01-31T12:00:00Z") from None


def configuration_of(settings: LoopSettings) -> ServiceConfiguration:
    """The configuration of a loop."""
    kept = _FIRST | settings.extra.get(EXTRA, {}).get("configuration", {})
    return ServiceConfiguration(
        reward_wait_time=iso_duration(settings.reward_window),
        default_reward=settings.default,
        reward_aggregation=settings.aggregation,
        exploration_percentage=settings.exploration or 0.0,
        log_retention_days=_FOR_EVER if settings.keep_days is None else math.ceil(settings.keep_days),
        learning_mode=_MODES[settings.mode],
        log_mirror_enabled=False,
        is_auto_optimization_enabled=False,
        last_configuration_edit_date=kept.get("edited"),
        **{name: kept[name] for name in _KEPT},
    )


def configured(given: ServiceConfiguration, settings: LoopSettings, now: int) -> LoopSettings:
    """The settings of a loop that was configured so; an error says what cannot be."""
    missing = [name for name in _REQUIRED if getattr(given, name) is None]
    if missing:
        raise _refused(f"{_camel(missing[0])} is missing: give it")
    assert given.reward_wait_time is not None and given.model_export_frequency is not None  # noqa: S101, PT018
    assert given.reward_aggregation is not None and given.exploration_percentage is not None  # noqa: S101, PT018
    assert given.default_reward is not None and given.log_retention_days is not None  # noqa: S101, PT018
    aggregation = given.reward_aggregation.strip().lower()
    if aggregation not in _AGGREGATIONS:
        raise _refused(f"rewardAggregation: give one of {', '.join(_AGGREGATIONS)}")
    if not 0.0 <= given.exploration_percentage <= 1.0:
        raise _refused("explorationPercentage: give a number from 0 to 1")
    low, high = settings.reward_range
    if not low <= given.default_reward <= high:
        raise _refused(f"defaultReward: give a number from {low:g} to {high:g}, the range of the loop's rewards")
    days = given.log_retention_days
    if not _FOR_EVER <= days <= _MOST_DAYS:
        raise RefusedError(
            f"logRetentionDays: give a number of days up to {_MOST_DAYS}, or {_FOR_EVER} for ever",
            code="InvalidLogRetentionDays",
        )
    if given.log_mirror_enabled or given.is_auto_optimization_enabled or given.is_inference_explainability_enabled:
        raise _refused("logMirrorEnabled, isAutoOptimizationEnabled and isInferenceExplainabilityEnabled are not "
                       "there: leave them out, or send false")  # fmt: skip
    mode = _mode(given.learning_mode, settings)
    seconds_of(given.model_export_frequency, "modelExportFrequency")
    changed = msgspec.structs.replace(
        settings,
        reward_window=seconds_of(given.reward_wait_time, "rewardWaitTime", "InvalidRewardWaitTime"),
        default_reward=_unless_same(given.default_reward, settings.default, settings.default_reward),
        aggregation=aggregation,
        exploration=_unless_same(given.exploration_percentage, settings.exploration or 0.0, settings.exploration),
    )
    if mode != settings.mode and changed != settings:
        raise RefusedError(
            "learningMode: it cannot be changed together with the settings of rewards and exploration; send two "
            "requests",
            code="InvalidLearningModeServiceConfiguration",
        )
    kept = {name: getattr(given, name) for name in _KEPT if getattr(given, name) is not None}
    own = settings.extra.get(EXTRA, {})
    configuration = own.get("configuration", {}) | kept | {"edited": iso_time(now)}
    extra = settings.extra | {EXTRA: own | {"configuration": configuration}}
    keep = None if days == _FOR_EVER else _unless_same(days, math.ceil(settings.keep_days or -1), settings.keep_days)
    return msgspec.structs.replace(changed, mode=mode, extra=extra, keep_days=keep)


def _unless_same(given: float, shown: float, there: float | None) -> float | None:
    """What is there if its value is given back: a setting that nobody chose stays one."""
    return there if given == shown else given


def _mode(given: str | None, settings: LoopSettings) -> Any:
    if given is None:
        return settings.mode
    for mode, name in _MODES.items():
        if name.lower() == given.strip().lower():
            return mode
    raise RefusedError(
        f"learningMode: give one of {', '.join(_MODES.values())}", code="InvalidLearningModeServiceConfiguration"
    )


def _refused(sentence: str) -> RefusedError:
    return RefusedError(sentence, code="InvalidServiceConfiguration")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def policy_of(settings: LoopSettings) -> PolicySettings:
    """The settings of the learner, written as options.

    >>> policy_of(LoopSettings(gap=0.1))
    PolicySettings(name='massart', arguments='--gap 0.1')
    """
    given = [(name, getattr(settings, name)) for name in _OPTIONS]
    return PolicySettings(_NAME, " ".join(f"--{name} {value:g}" for name, value in given if value is not None))


def with_policy(policy: PolicySettings | None, settings: LoopSettings) -> LoopSettings:
    """Settings with those of a learner, with the default ones if None.

    >>> with_policy(PolicySettings("mine", "--gap 0.1 --margin 0.05"), LoopSettings()).margin
    0.05
    """
    found: dict[str, float | None] = dict.fromkeys(_OPTIONS)
    words = [] if policy is None else policy.arguments.replace("=", " ").split()
    for option, value in zip(words[::2], words[1::2] + [""] * (len(words) % 2), strict=True):
        name = option.removeprefix("--")
        if name not in _OPTIONS or not option.startswith("--"):
            raise RefusedError(
                f"arguments: {option[:40]!r} is no option of this learner, which has gap, margin and horizon, each "
                "behind two hyphens; options of Vowpal Wabbit mean nothing to it",
                code="InvalidPolicyConfiguration",
            )
        try:
            found[name] = float(value)
        except ValueError:
            raise RefusedError(f"arguments: {option} has no number", code="InvalidPolicyConfiguration") from None
    return msgspec.structs.replace(settings, **found)
