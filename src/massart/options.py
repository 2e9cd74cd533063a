"""Options of learners and bandits: frozen values, validated once when they are made, and passed whole.

Limits and ranges are here, too, so that kernels, theory and learners share them.
"""

import math
from numbers import Integral, Real
from typing import Any, Final

from massart.errors import InvalidDataError, InvalidParameterError, shown
from massart.values import Value

__all__ = ["BanditOptions", "LearnerOptions", "check_gap", "check_margin", "check_noise_rate", "check_number",
           "check_pair_margin", "check_reward", "check_reward_range", "one_of", "strict_number"]  # fmt: skip

# Squares and fourth powers of what a learner is given must stay finite and above zero.
SMALLEST: Final = 1e-50
LARGEST: Final = 1e50
LONGEST_HORIZON: Final = 2.0**53  # rounds, the most that can be counted
UPDATES: Final = ("inverse-margin", "paper")
OPTIMIZERS: Final = ("auto", "ftrl", "fixed", "adagrad-norm")
VOTINGS: Final = ("sample", "majority")

LARGEST_REWARD: Final = 1e50
LEAST_WIDTH: Final = 1e-50  # of a reward range
LEAST_MARGIN: Final = 1e-12  # of a bandit
MOST_HORIZON: Final = 1e15  # of a bandit
MOST_CHOICES: Final = 1 << 48


class LearnerOptions(Value):
    """The parameters of a linear learner of two classes, as in `MassartClassifier`.

    `class_weight` are the weights of the labels -1 and +1. `seed` is the random seed of a pool of experts.

    >>> LearnerOptions(noise_rate=0.1, margin=0.05).is_known, LearnerOptions(horizon=1000).is_known
    (True, False)
    >>> LearnerOptions(margin=0.1, update="paper")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: update='paper' is for a learner that knows noise_rate and margin: ...
    """

    noise_rate: float | None = None
    margin: float | None = None
    horizon: float | None = None
    update: str = "inverse-margin"
    optimizer: str = "auto"
    voting: str = "sample"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    normalize: bool = True
    class_weight: tuple[float, float] = (1.0, 1.0)
    seed: int = 0
    products: bool = False  # of few columns

    def __post_init__(self) -> None:
        for name in ("noise_rate", "margin", "horizon", "intercept_scaling"):
            value: object = getattr(self, name)
            if not isinstance(value, Real) and (value is not None or name == "intercept_scaling"):
                advice = "give a number" if name == "intercept_scaling" else "give a number or None"
                raise InvalidParameterError(f"{name}={shown(value)}: {advice}")
        if self.noise_rate is not None:
            check_noise_rate(self.noise_rate)
        if self.margin is not None:
            check_margin(self.margin)
        self._check_scales()
        self._check_update()
        one_of("voting", self.voting, VOTINGS)
        self._check_products()
        if not 0 <= self.seed < 2**64:
            raise InvalidParameterError(f"seed={shown(self.seed)}: give a whole number from 0 to 2**64 - 1")

    def _check_scales(self) -> None:
        if not SMALLEST <= self.intercept_scaling <= LARGEST:
            raise InvalidParameterError(
                f"intercept_scaling={self.intercept_scaling!r}: give the value of the constant coordinate, a number "
                f"between {SMALLEST:g} and {LARGEST:g}; 1 is usual"
            )
        try:
            negative, positive = map(float, self.class_weight)
        except (TypeError, ValueError, OverflowError):
            negative = positive = math.nan
        if not (SMALLEST <= negative <= LARGEST and SMALLEST <= positive <= LARGEST):
            raise InvalidParameterError(
                f"class_weight={shown(self.class_weight)}: give two weights between {SMALLEST:g} and {LARGEST:g}, "
                "of -1 and of +1"
            )
        if self.horizon is not None and not 1 <= self.horizon <= LONGEST_HORIZON:
            raise InvalidParameterError(
                f"horizon={self.horizon!r}: give the number of rounds (1 to 2**53), or None when it is not known"
            )
        if self.margin is not None and self.margin < SMALLEST:
            raise InvalidParameterError(
                f"margin={self.margin!r}: the gradients, of order 1 / margin, must stay finite; take a larger one"
            )

    def _check_update(self) -> None:
        one_of("update", self.update, UPDATES)
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        if self.update == "paper" and self.optimizer != "auto":
            raise InvalidParameterError(
                f"optimizer={self.optimizer!r}: update='paper' brings its own gradient descent; leave optimizer='auto'"
            )
        if self.optimizer == "fixed" and self.horizon is None:
            raise InvalidParameterError(
                "optimizer='fixed' needs horizon, the number of rounds to come: its step depends on it. "
                "When it is not known, use optimizer='ftrl'"
            )
        for name, value, only in (("update", self.update, UPDATES[0]), ("optimizer", self.optimizer, "auto")):
            if value != only and not self.is_known:
                raise InvalidParameterError(
                    f"{name}={value!r} is for a learner that knows noise_rate and margin: give both, "
                    f"or leave {name}={only!r}"
                )

    def _check_products(self) -> None:
        if type(self.products).__name__ not in ("bool", "bool_"):  # Python's or NumPy's
            raise InvalidParameterError(f"products={shown(self.products)}: give True or False")
        if self.products and self.is_known:
            raise InvalidParameterError(
                "`products=True` is for learners that mix experts: leave it out, or one of noise_rate and margin"
            )
        if self.products and self.horizon is not None:
            raise InvalidParameterError(
                f"`products=True` is for learners that keep all rounds: leave it out, or horizon={self.horizon!r}"
            )

    @property
    def is_known(self) -> bool:
        """Whether noise rate and margin are both given."""
        return self.noise_rate is not None and self.margin is not None

    @property
    def constant(self) -> float:
        """The value of the constant coordinate; 0 without an intercept."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0


class BanditOptions(Value):
    """The parameters of `MonotoneBandit`, as numbers of their own type once they are validated.

    >>> BanditOptions(gap=0.1, reward_range=(0, 2)).default_reward
    0.0
    """

    gap: float | None = None
    margin: float | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    horizon: float | None = None
    exploration: float | None = None
    default_reward: float | None = None
    clip_rewards: bool = False
    update: str = "inverse-margin"
    expire_after: int | None = None

    def __post_init__(self) -> None:
        lowest, highest = check_reward_range(self.reward_range)
        found: dict[str, Any] = {"reward_range": (lowest, highest)}
        if self.gap is not None:
            found["gap"] = check_gap(self.gap, highest - lowest, ", or None")
        if self.margin is not None:
            found["margin"] = check_pair_margin(self.margin, ", or None")
        if self.horizon is not None:
            advice = f"give the number of rounds to come, 1 or more and at most {MOST_HORIZON:g}, or None"
            found["horizon"] = strict_number("horizon", self.horizon, 1.0, MOST_HORIZON, advice)
        if self.exploration is not None:
            advice = "give a probability, or None"
            found["exploration"] = strict_number("exploration", self.exploration, 0.0, 1.0, advice)
        one_of("update", self.update, UPDATES)
        if self.update == "paper" and (self.gap is None or self.margin is None or self.horizon is None):
            raise InvalidParameterError("update='paper' needs gap, margin and horizon: its steps depend on them")
        default = lowest if self.default_reward is None else self.default_reward
        advice = f"it must be a number in reward_range=({lowest:g}, {highest:g})"
        found["default_reward"] = strict_number("default_reward", default, lowest, highest, advice)
        if type(self.clip_rewards).__name__ not in ("bool", "bool_"):  # Python's or NumPy's
            raise InvalidParameterError(f"clip_rewards={shown(self.clip_rewards)}: give True or False")
        found["expire_after"] = _check_expiry(self.expire_after)
        for name, value in found.items():
            object.__setattr__(self, name, value)


def _check_expiry(expire_after: Any) -> int | None:
    if expire_after is None:
        return None
    whole = type(expire_after) is not bool and isinstance(expire_after, Integral)
    if not whole or not 1 <= int(expire_after) <= MOST_CHOICES:
        raise InvalidParameterError(f"expire_after={shown(expire_after)}: give a number of choices, 1 or more, or None")
    return int(expire_after)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of these words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameterError(f"{name}={shown(value)}: choose one of {', '.join(map(repr, choices))}")


def check_number(name: str, value: float) -> float:
    """Refuse what is not one finite number; everything else is left to the caller's condition."""
    try:
        number = float(value)
    except OverflowError:
        raise InvalidParameterError(f"{name} must be a finite number; got one of more than 1e308") from None
    except (TypeError, ValueError):
        raise InvalidParameterError(f"{name} must be a number; got {value!r}") from None
    if not math.isfinite(number):
        raise InvalidParameterError(f"{name} must be a finite number; got {value!r}")
    return number


def check_noise_rate(noise_rate: float) -> float:
    """0 <= noise_rate < 1/2: at one half a label says nothing about the point it sits on.

    >>> check_noise_rate(0.1)
    0.1
    """
    number = check_number("noise_rate", noise_rate)
    if not 0.0 <= number < 0.5:
        raise InvalidParameterError(
            f"noise_rate must satisfy 0 <= noise_rate < 1/2; got {noise_rate!r}. "
            "It is the largest probability with which a label is flipped, not the error you hope for."
        )
    return number


def check_margin(margin: float) -> float:
    """0 < margin <= 1: the distance |w*.x| of points in the unit ball to the target's hyperplane.

    >>> check_margin(1)
    1.0
    """
    number = check_number("margin", margin)
    if not 0.0 < number <= 1.0:
        raise InvalidParameterError(
            f"margin must satisfy 0 < margin <= 1; got {margin!r}. "
            "Scale every row to length at most one first; any margin below the true one is safe."
        )
    return number


def _float(value: Any) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes, bytearray)):
        return None
    try:
        return float(value)
    except Exception:  # whatever an object says when it is asked for its number
        return None


def strict_number(name: str, value: Any, low: float, high: float, advice: str) -> float:
    """A parameter between two numbers, both included; text is not a number, and `advice` ends the message.

    >>> strict_number("margin", 0.5, 1e-12, 2, "give a number of at least 1e-12 and at most 2, or None")
    0.5
    >>> strict_number("margin", "wide", 1e-12, 2, "give a number of at least 1e-12 and at most 2, or None")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: margin='wide': give a number of at least 1e-12 and at most 2, or None
    """
    number = _float(value)
    if number is None or not low <= number <= high:
        raise InvalidParameterError(f"{name}={shown(value)}: {advice}")
    return number


def whole_number(name: str, value: Any, low: int, high: int, advice: str) -> int:
    """A parameter that is a whole number between two others, both included; `advice` ends the message.

    >>> whole_number("folds", 2.5, 2, 100, "give a whole number, 2 or more")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: folds=2.5: give a whole number, 2 or more
    """
    if not isinstance(value, Integral) or not low <= int(value) <= high:
        raise InvalidParameterError(f"{name}={shown(value)}: {advice}")
    return int(value)


def check_gap(gap: Any, width: float, otherwise: str = "") -> float:
    """The gap of a bandit whose reward range is so wide."""
    advice = f"give a number above 0, at most the reward range and at least {LEAST_MARGIN:g} of it{otherwise}"
    return strict_number("gap", gap, LEAST_MARGIN * width, width, advice)


def check_pair_margin(margin: Any, otherwise: str = "") -> float:
    """The margin of a bandit: a difference of two scores."""
    advice = f"give a number above 0 (at least {LEAST_MARGIN:g}) and at most 2{otherwise}"
    return strict_number("margin", margin, LEAST_MARGIN, 2.0, advice)


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


def check_reward(reward: Any, lowest: float, highest: float, *, clip: bool) -> float:
    """A reward within the range.

    >>> check_reward(0.5, 0.0, 1.0, clip=False), check_reward(7, 0.0, 1.0, clip=True)
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
