"""The ranges in which the theorems are true: one check per quantity, one sentence per error.

Every check returns its argument as a `float` (or `int` where a count is needed), so that a
formula can be written on the line after it.  NaN and infinities fail every check.
"""

import math
from collections.abc import Callable

from massart.errors import InvalidParameterError
from massart.options import check_margin, check_noise_rate, check_number

__all__ = [
    "check_arm_slack",
    "check_arms",
    "check_bandit",
    "check_confidence",
    "check_experts",
    "check_margin",
    "check_mistakes",
    "check_noise_rate",
    "check_nonnegative",
    "check_positive",
    "check_probability",
    "check_rounds",
    "check_slack",
]


def _require(name: str, value: float, holds: Callable[[float], bool], condition: str, advice: str = "") -> float:
    """Return `value` as a float if the condition holds, which the message quotes."""
    number = check_number(name, value)
    if not holds(number):
        raise InvalidParameterError(f"{name} must satisfy {condition}; got {value!r}{advice}")
    return number


def check_slack(slack: float, noise_rate: float) -> float:
    """0 <= slack <= 1 - 2 noise_rate: beyond it the leaky-ReLU loss is no longer convex.

    >>> check_slack(0.2, noise_rate=0.1)
    0.2
    """
    largest = 1.0 - 2.0 * check_noise_rate(noise_rate)
    condition = f"0 <= slack <= 1 - 2 noise_rate = {largest:g}"
    advice = ". A larger slack makes the loss concave: take a smaller one."
    return _require("slack", slack, lambda number: 0.0 <= number <= largest, condition, advice)


def check_rounds(rounds: float, name: str = "rounds", smallest: float = 0.0) -> float:
    """Accept a number of rounds, at least `smallest`.

    >>> check_rounds(1000)
    1000.0
    """
    return _require(name, rounds, lambda number: number >= smallest, f"{name} >= {smallest:g}")


def check_mistakes(mistakes: float, rounds: float) -> float:
    """0 <= mistakes <= rounds.

    >>> check_mistakes(3, rounds=10)
    3.0
    """
    condition = f"0 <= mistakes <= rounds = {rounds:g}"
    return _require("mistakes", mistakes, lambda number: 0.0 <= number <= rounds, condition)


def check_confidence(confidence: float) -> float:
    """0 < confidence < 1.

    >>> check_confidence(0.99)
    0.99
    """
    advice = ". It is the probability with which the bound holds, for example 0.99."
    return _require("confidence", confidence, lambda number: 0.0 < number < 1.0, "0 < confidence < 1", advice)


def check_probability(name: str, probability: float) -> float:
    """0 <= probability <= 1.

    >>> check_probability("flip_rate", 0.7)
    0.7
    """
    return _require(name, probability, lambda number: 0.0 <= number <= 1.0, f"0 <= {name} <= 1")


def check_nonnegative(name: str, value: float) -> float:
    """Accept a finite number of at least zero.

    >>> check_nonnegative("regret", 12.5)
    12.5
    """
    return _require(name, value, lambda number: number >= 0.0, f"{name} >= 0")


def check_positive(name: str, value: float) -> float:
    """Accept a finite number above zero.

    >>> check_positive("step", 0.5)
    0.5
    """
    return _require(name, value, lambda number: number > 0.0, f"{name} > 0")


def _count(name: str, value: float, smallest: int, advice: str) -> int:
    number = check_number(name, value)
    if number != math.floor(number) or number < smallest:
        raise InvalidParameterError(f"{name} must be a whole number with {name} >= {smallest}; got {value!r}. {advice}")
    return int(number)


def check_experts(experts: float) -> int:
    """Accept a whole number of experts, at least one.

    >>> check_experts(40)
    40
    """
    return _count("experts", experts, 1, "A pool needs at least one expert.")


def check_arms(arms: float) -> int:
    """Accept a whole number of arms, at least two.

    >>> check_arms(5)
    5
    """
    return _count("arms", arms, 2, "With one arm there is nothing to choose.")


def check_arm_slack(slack: float, gap: float) -> float:
    """0 <= slack <= gap: the k-arm form of `check_slack`.

    >>> check_arm_slack(0.05, gap=0.1)
    0.05
    """
    largest = check_positive("gap", gap)
    return _require("slack", slack, lambda number: 0.0 <= number <= largest, f"0 <= slack <= gap = {gap:g}")


def check_bandit(arms: float, gap: float, margin: float, reward_width: float) -> int:
    """Ask of k arms only what Definition 1.4 and the margin can hold: a chain of k - 1 gaps has to fit.

    (k-1) gap <= reward_width, because rewards live in an interval of that width, and
    (k-1) margin <= 2, because scores of contexts in the unit ball live in [-1, 1].

    >>> check_bandit(arms=5, gap=0.1, margin=0.1, reward_width=1.0)
    5
    """
    count = check_arms(arms)
    check_positive("gap", gap)
    check_positive("margin", margin)
    check_positive("reward_width", reward_width)
    if not (count - 1) * gap <= reward_width * (1.0 + 1e-12):
        raise InvalidParameterError(
            f"(arms - 1) * gap <= reward_width is needed; got ({count} - 1) * {gap!r} > {reward_width!r}. "
            "The worst and the best arm differ by that many gaps: lower gap or widen the reward range."
        )
    if not (count - 1) * margin <= 2.0 * (1.0 + 1e-12):
        raise InvalidParameterError(
            f"(arms - 1) * margin <= 2 is needed; got ({count} - 1) * {margin!r} > 2. "
            "The scores of contexts in the unit ball span at most 2: lower margin."
        )
    return count
