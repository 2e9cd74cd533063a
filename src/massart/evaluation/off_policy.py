"""One call from a log to a table: every estimate beside its name, its intervals, and whether it means anything."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from massart.data import DecisionBatch, DecisionLog
from massart.errors import InvalidDataError, InvalidParameterError, shown
from massart.evaluation import estimators as formulas
from massart.evaluation.estimators import Estimate
from massart.evaluation.intervals import (
    Interval,
    bootstrap_intervals,
    confidence_sequence,
    empirical_bernstein_interval,
    normal_interval,
    scaled_rewards,
)
from massart.evaluation.log import TargetPolicy, WeightedLog, weigh
from massart.evaluation.reward_model import cross_fitted_rewards
from massart.options import strict_number, whole_number
from massart.theory import check_confidence

__all__ = ["ESTIMATORS", "INTERVALS", "Evaluation", "Line", "evaluate"]

ESTIMATORS = ("ips", "snips", "dm", "dr", "switch-dr")
INTERVALS = ("normal", "bootstrap", "bernstein", "sequence")
_NEED_A_MODEL = ("dm", "dr", "switch-dr")
_FEW = 100.0  # effective decisions, below which an estimate means little
_LARGE_SHARE = 0.1  # of the weight, for one decision
_FAR = 4.0  # standard errors between the mean weight and 1


@dataclass(frozen=True, slots=True)
class Line:
    """One estimate with its intervals."""

    estimator: str
    value: float
    standard_error: float | None  # None for a single decision
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a log says about a policy."""

    policy: str
    decisions: int
    effective_sample_size: float
    largest_weight: float
    largest_share: float  # of the whole weight, carried by one decision
    mean_weight: float  # 1 up to chance, if propensities are true and no arm the policy plays was never logged
    lines: tuple[Line, ...]
    warnings: tuple[str, ...]  # the answer means little
    notes: tuple[str, ...]  # what was left out and why
    skipped: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, estimator: str) -> Line:
        """The line of one estimator, by its name."""
        for line in self.lines:
            if line.estimator == estimator:
                return line
        raise KeyError(estimator)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        plain = asdict(self)
        for given, line in zip(self.lines, plain["lines"], strict=True):
            line["intervals"] = [interval._asdict() for interval in given.intervals]
        return plain


def evaluate(
    log: str | os.PathLike[str] | DecisionLog | DecisionBatch | Iterable[DecisionBatch],
    policy: TargetPolicy = "uniform",
    *,
    estimators: Sequence[str] = ESTIMATORS,
    intervals: Sequence[str] = INTERVALS,
    confidence: float = 0.95,
    reward_range: tuple[float, float] | None = None,
    max_weight: float | None = None,
    switch_threshold: float = 10.0,
    folds: int = 5,
    resamples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Estimate what `policy` earns per decision, from a log that another policy wrote.

    `reward_range` is needed by the intervals bernstein and sequence (which belong to ips); None takes (0, 1) if all
    rewards fit and leaves these intervals out otherwise.  `max_weight` see `empirical_bernstein_interval`.

    >>> from massart.data import Decision
    >>> rows = [Decision(np.eye(2), i % 2, 0.5, float(i % 2)) for i in range(400)]
    >>> found = evaluate(DecisionBatch.of(rows), "first", estimators=["ips", "snips"], intervals=["normal"])
    >>> found["snips"].value, found.effective_sample_size
    (0.0, 200.0)
    """
    strict_number("confidence", confidence, 5e-324, 1.0, "give a number between 0 and 1; .95 is usual")
    check_confidence(confidence)
    if max_weight is not None:
        strict_number("max_weight", max_weight, 5e-324, 1.8e308, "give a finite number above 0, or None")
    if reward_range is not None and not (isinstance(reward_range, Sequence) and len(reward_range) == 2):
        raise InvalidParameterError(f"reward_range={shown(reward_range)}: give the least and the largest reward")
    for end in reward_range or ():
        strict_number("reward_range", end, -1.8e308, 1.8e308, "give the least and the largest reward, as numbers")
    strict_number("switch_threshold", switch_threshold, 0.0, math.inf, "give a number of at least 0")
    whole_number("folds", folds, 2, 1 << 53, "give a whole number, 2 or more")
    whole_number("resamples", resamples, 2, 1 << 31, "give a whole number, 2 or more")
    whole_number("seed", seed, 0, 1 << 64, "give a whole number, 0 or more")
    _known("estimator", estimators, ESTIMATORS)
    _known("interval", intervals, INTERVALS)
    opened = DecisionLog(log) if isinstance(log, str | os.PathLike) else log
    seen = weigh(opened, policy, keep_contexts=any(name in _NEED_A_MODEL for name in estimators))
    notes = [f"{count} {reason} were left out" for reason, count in sorted(seen.skipped.items())]
    estimates = _estimates(seen, estimators, switch_threshold, folds, seed, notes)
    found: dict[str, list[Interval]] = {estimate.estimator: [] for estimate in estimates}
    if len(seen) < 2:
        notes.append("intervals: one decision has none")
    else:
        if "normal" in intervals:
            for estimate in estimates:
                found[estimate.estimator].append(normal_interval(estimate, confidence))
        if "bootstrap" in intervals and estimates:
            drawn = bootstrap_intervals(estimates, confidence, resamples=resamples, seed=seed)
            for estimate, interval in zip(estimates, drawn, strict=True):
                found[estimate.estimator].append(interval)
        if "ips" in found:
            found["ips"] += _bounded(seen, intervals, confidence, reward_range, max_weight, notes)
    if reward_range is not None:
        scaled_rewards(seen.rewards, reward_range)  # checked even where no interval uses it
    if found.get("dm"):
        notes.append("dm: its intervals do not include the bias of the reward model")
    return Evaluation(
        policy=seen.policy,
        decisions=len(seen),
        effective_sample_size=seen.effective_sample_size,
        largest_weight=float(seen.weights.max()),
        largest_share=seen.largest_share,
        mean_weight=float(np.average(seen.weights, weights=seen.row_weights)),
        lines=tuple(_line(estimate, found[estimate.estimator]) for estimate in estimates),
        warnings=tuple(_warnings(seen)),
        notes=tuple(notes),
        skipped=seen.skipped,
    )


def _known(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        raise InvalidParameterError(f"{what}s must be a list of names; take some of {', '.join(known)}")
    if not asked:
        raise InvalidParameterError(f"no {what} is named; take some of {', '.join(known)}")
    for name in asked:
        if name not in known:
            raise InvalidParameterError(f"{what} {name!r} is none of {', '.join(known)}")


def _line(estimate: Estimate, intervals: list[Interval]) -> Line:
    error = estimate.standard_error
    return Line(estimate.estimator, estimate.value, None if math.isnan(error) else error, tuple(intervals))


def _estimates(
    seen: WeightedLog, asked: Sequence[str], threshold: float, folds: int, seed: int, notes: list[str]
) -> list[Estimate]:
    """Those that can be had, in the order of `ESTIMATORS`; for the others a note says why not."""
    rewards, weights, share = seen.rewards, seen.weights, seen.row_weights
    made: list[Estimate] = []
    if "ips" in asked:
        made.append(formulas.ips(rewards, weights, share))
    if "snips" in asked:
        try:
            made.append(formulas.snips(rewards, weights, share))
        except InvalidDataError as error:
            notes.append(str(error))
    modelled = [name for name in _NEED_A_MODEL if name in asked]
    if not modelled:
        return made
    missing = _why_no_model(seen)
    if missing:
        notes.append(f"{', '.join(modelled)}: {missing}")
        return made
    cuts = min(folds, len(seen))
    predicted = cross_fitted_rewards(seen.contexts, seen.starts, seen.taken, rewards, share, folds=cuts, seed=seed)
    policy_rewards = np.add.reduceat(seen.target * predicted, seen.starts[:-1])
    taken_rewards = predicted[seen.taken]
    if "dm" in asked:
        made.append(formulas.direct_method(policy_rewards, share))
    if "dr" in asked:
        made.append(formulas.doubly_robust(rewards, weights, taken_rewards, policy_rewards, share))
    if "switch-dr" in asked:
        parts = rewards, weights, taken_rewards, policy_rewards, share
        made.append(formulas.switch_doubly_robust(*parts, threshold=threshold))
        notes.append(f"switch-dr: it uses the reward model where weights exceed {threshold:g}")
    return made


def _why_no_model(seen: WeightedLog) -> str:
    if np.isnan(seen.target).any():
        return "the log does not name the probabilities of all arms, which this policy needs here"
    if not seen.contexts.shape[1]:
        return "the log has no features to model rewards with"
    return "" if len(seen) > 1 else "one decision is not enough for a model"


def _bounded(
    seen: WeightedLog,
    asked: Sequence[str],
    confidence: float,
    reward_range: tuple[float, float] | None,
    max_weight: float | None,
    notes: list[str],
) -> list[Interval]:
    kinds = [kind for kind in ("bernstein", "sequence") if kind in asked]
    if not kinds:
        return []
    if (seen.row_weights != 1.0).any():
        notes.append(f"{', '.join(kinds)}: not known for decisions that stand for several")
        return []
    least, most = float(seen.rewards.min()), float(seen.rewards.max())
    if reward_range is None and (least < 0.0 or most > 1.0):
        notes.append(f"{', '.join(kinds)}: rewards reach from {least:g} to {most:g}; give the range they can have")
        return []
    span = (0.0, 1.0) if reward_range is None else reward_range
    made = []
    if "bernstein" in kinds:
        made.append(empirical_bernstein_interval(seen.rewards, seen.weights, span, confidence, max_weight=max_weight))
    if "sequence" in kinds:
        [last] = confidence_sequence(seen.rewards, seen.weights, span, confidence)
        if last.low > last.high:
            notes.append(
                f"sequence: it is empty, which says with confidence {confidence:g} that the value drifts or "
                "that propensities are wrong"
            )
        else:
            made.append(last)
    return made


def _warnings(seen: WeightedLog) -> list[str]:
    found = list(seen.warnings)
    effective, share = seen.effective_sample_size, seen.largest_share
    unseen = np.flatnonzero(seen.weights == 0.0)
    if unseen.size == len(seen):
        found.append(
            f"the policy gives probability 0 to the arm taken in all {len(seen):,} decisions: the log says nothing "
            "about what it earns"
        )
    elif effective < _FEW:
        found.append(
            f"these {len(seen)} decisions are worth {effective:.1f} drawn by the policy itself (effective sample "
            f"size below {_FEW:g}): the estimates mean little"
        )
    if share > _LARGE_SHARE and unseen.size < len(seen):
        line = seen.lines[int(np.argmax(seen.weights * seen.row_weights))]
        which = f", in line {line}," if line else ""
        found.append(f"one decision{which} carries {share:.0%} of the weight: the estimates depend on it")
    check = Estimate("mean weight", seen.row_weights * seen.weights, seen.row_weights)
    if len(seen) > 1 and abs(check.value - 1.0) > _FAR * check.standard_error + 1e-6:
        found.append(
            f"the mean weight is {check.value:.3g} where it should be 1: the propensities are not the ones played, or "
            "the policy prefers arms that were never logged"
        )
    if len(seen) > 1 and bool((seen.rewards == seen.rewards[0]).all()):
        found.append(
            f"all {len(seen):,} rewards are {seen.rewards[0]:g}: is the reward logged as it came? It cannot "
            "distinguish policies"
        )
    return found
