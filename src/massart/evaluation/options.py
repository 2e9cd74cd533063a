"""How policies are evaluated: one value, checked once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from massart.errors import InvalidParameterError, shown
from massart.evaluation.reward_model import regressor
from massart.options import strict_number, whole_number
from massart.theory import check_confidence

__all__ = ["ESTIMATORS", "INTERVALS", "EvaluationOptions"]

ESTIMATORS = ("ips", "snips", "dm", "dr", "switch-dr")
INTERVALS = ("normal", "bootstrap", "cressie-read", "clopper-pearson", "bernstein", "sequence")


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """How policies are evaluated; the fields are the parameters of `evaluate`.

    >>> EvaluationOptions(confidence=0.99).confidence
    0.99
    """

    estimators: Sequence[str] = ESTIMATORS
    intervals: Sequence[str] = INTERVALS
    confidence: float = 0.95
    reward_range: tuple[float, float] | None = None
    max_weight: float | None = None
    switch_threshold: float = 10.0
    folds: int = 5
    resamples: int = 1000
    seed: int = 0
    reward_model: Any = "ridge"

    def __post_init__(self) -> None:
        strict_number("confidence", self.confidence, 5e-324, 1.0, "give a number between 0 and 1; .95 is usual")
        check_confidence(self.confidence)
        if self.max_weight is not None:
            strict_number("max_weight", self.max_weight, 5e-324, 1.8e308, "give a finite number above 0, or None")
        span = self.reward_range
        if span is not None and not (isinstance(span, Sequence) and len(span) == 2):
            raise InvalidParameterError(f"reward_range={shown(span)}: give the least and the largest reward")
        for end in span or ():
            strict_number("reward_range", end, -1.8e308, 1.8e308, "give the least and the largest reward, as numbers")
        strict_number("switch_threshold", self.switch_threshold, 0.0, math.inf, "give a number of at least 0")
        whole_number("folds", self.folds, 2, 1 << 53, "give a whole number, 2 or more")
        whole_number("resamples", self.resamples, 2, 1 << 31, "give a whole number, 2 or more")
        whole_number("seed", self.seed, 0, 1 << 64, "give a whole number, 0 or more")
        _known("estimator", self.estimators, ESTIMATORS)
        _known("interval", self.intervals, INTERVALS)
        regressor(self.reward_model)


def _known(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        raise InvalidParameterError(f"{what}s must be a list of names; take some of {', '.join(known)}")
    if not asked:
        raise InvalidParameterError(f"no {what} is named; take some of {', '.join(known)}")
    for name in asked:
        if name not in known:
            raise InvalidParameterError(f"{what} {name!r} is none of {', '.join(known)}")
