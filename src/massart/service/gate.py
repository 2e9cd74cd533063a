"""A change is tried on the log first: a model with other settings, or another model, against what the loop earned.

Other settings: a new bandit learns the first half of the log and is evaluated on the second half. Another model is
evaluated on all of it, which it must not have learned from. The estimate is importance weighting, the interval that of
`massart.evaluation.differences`, which holds for every number of looks; a change passes if its low end is at least
minus the tolerance.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from massart.data.decisions import Decision, DecisionBatch
from massart.data.decisions.records import decision_of
from massart.errors import InvalidDataError
from massart.learners.bandit import MonotoneBandit
from massart.service.model import learn_lines, new_bandit
from massart.service.types import LoopSettings

__all__ = ["MOST_TRIED", "Trial", "try_model", "try_settings"]

MOST_TRIED: Final = 50_000  # the last decisions of the log
_LEAST: Final = 10  # decisions, below which nothing is estimated


class Trial(msgspec.Struct):
    """What a change would have earned per decision, less what was earned, with its interval."""

    decisions: int
    logged: float | None
    difference: float | None
    low: float | None
    high: float | None
    confidence: float
    tolerance: float
    passed: bool
    sentence: str


def try_settings(
    records: Sequence[dict[str, Any]], settings: LoopSettings, tolerance: float, confidence: float
) -> Trial:
    """Other settings of the model."""
    half = len(records) // 2
    bandit = new_bandit(settings)
    learn_lines(bandit, b"\n".join(map(msgspec.json.encode, records[:half])))
    return try_model(records[half:], bandit, settings, tolerance, confidence)


def try_model(
    records: Sequence[dict[str, Any]],
    bandit: MonotoneBandit,
    settings: LoopSettings,
    tolerance: float,
    confidence: float,
) -> Trial:
    """A model that has not learned these records, as it is."""
    from massart.evaluation import EvaluationOptions, compare  # noqa: PLC0415  SciPy's statistics

    decisions = [_decision(record, place) for place, record in enumerate(records, 1)]
    known = [one for one in decisions if one is not None]
    if len(known) < _LEAST or not bandit.rounds:
        words = f"there are {len(known)} decisions to try it on: too few to say anything"
        return Trial(len(known), None, None, None, None, confidence, tolerance, False, words)
    options = EvaluationOptions(
        estimators=["ips"], intervals=["sequence"], confidence=confidence, reward_range=settings.reward_range
    )
    found = compare(DecisionBatch.of(known), {"change": bandit}, options).evaluations[0]
    line = next(one for one in found.lines if one.estimator == "ips")
    span = None if line.difference is None else next((one for one in line.difference.intervals), None)
    if line.difference is None or span is None:
        words = "the log says nothing about it: its decisions explore too little"
        return Trial(len(known), found.logged_value, None, None, None, confidence, tolerance, False, words)
    passed = span.low >= -tolerance
    verdict = "passes" if passed else "does not pass"
    words = (
        f"{verdict}: {line.difference.value:+.4f} per decision against the log, at least {span.low:+.4f} at "
        f"{confidence:g} and any number of looks, on {len(known):,} decisions; {-tolerance:+.4f} is needed"
    )
    return Trial(
        len(known), found.logged_value, line.difference.value, span.low, span.high, confidence, tolerance, passed, words
    )


def _decision(record: dict[str, Any], place: int) -> Decision | None:
    try:
        return decision_of(record, "the log", place) if "reward" in record else None
    except InvalidDataError:
        return None
