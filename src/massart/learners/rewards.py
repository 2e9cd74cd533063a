"""Rewards and parameters as numbers: what is none, or is out of its range, is refused by name."""

import math
from typing import Any

from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.ranking_state import LARGEST_REWARD, LEAST_WIDTH

__all__ = ["check_number", "check_reward_range", "reward_number", "shown"]


def shown(value: Any) -> str:
    """A value for a message, whatever it is.

    >>> shown(0.5), shown(10**5000), len(shown("x" * 1000))
    ('0.5', '<int>', 60)
    """
    try:
        return repr(value)[:60]
    except Exception:  # Python refuses to print whole numbers of more than 4300 digits; an object may do anything
        return f"<{type(value).__name__}>"


def _float(value: Any) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes, bytearray)):
        return None
    try:
        return float(value)
    except Exception:  # whatever an object says when it is asked for its number
        return None


def check_number(name: str, value: Any, low: float, high: float, advice: str) -> float:
    """A parameter between two numbers, both included; `advice` ends the message.

    >>> check_number("margin", 0.5, 1e-12, 2, "give a number of at least 1e-12 and at most 2, or None")
    0.5
    >>> check_number("margin", "wide", 1e-12, 2, "give a number of at least 1e-12 and at most 2, or None")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: margin='wide': give a number of at least 1e-12 and at most 2, or None
    """
    number = _float(value)
    if number is None or not low <= number <= high:
        raise InvalidParameterError(f"{name}={shown(value)}: {advice}")
    return number


def check_reward_range(reward_range: Any) -> tuple[float, float]:
    """Lowest and highest reward.

    >>> check_reward_range((0, 1))
    (0.0, 1.0)
    """
    try:
        lowest, highest = (_float(end) for end in reward_range)
    except Exception:
        lowest = highest = None
    if lowest is None or highest is None:
        raise InvalidParameterError(f"reward_range={shown(reward_range)}: give the lowest and the highest reward")
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise InvalidParameterError(f"reward_range={shown(reward_range)}: the lowest reward must be below the highest")
    if max(-lowest, highest) > LARGEST_REWARD or highest - lowest < LEAST_WIDTH:
        raise InvalidParameterError(
            f"reward_range={shown(reward_range)}: rewards may be {LARGEST_REWARD:g} in size at most, and the range "
            f"{LEAST_WIDTH:g} wide at least: measure them in another unit"
        )
    return lowest, highest


def reward_number(reward: Any, lowest: float, highest: float, *, clip: bool) -> float:
    """A reward within the range.

    >>> reward_number(0.5, 0.0, 1.0, clip=False), reward_number(7, 0.0, 1.0, clip=True)
    (0.5, 1.0)
    """
    value = _float(reward)
    if value is None:
        raise InvalidDataError(f"reward={shown(reward)} is not a number, or larger than any float")
    if lowest <= value <= highest:
        return value
    if math.isnan(value):
        raise InvalidDataError("reward is NaN: give a number, or let the choice expire")
    if clip:
        return min(max(value, lowest), highest)
    raise InvalidDataError(
        f"reward={value:g} is outside reward_range ({lowest:g}, {highest:g}): widen the range, or set clip_rewards=True"
    )
