"""One call from a log to a table: every estimate beside its name, its intervals, and whether it means anything."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from massart.data import DecisionBatch, DecisionLog
from massart.errors import InvalidDataError
from massart.evaluation import estimators as formulas
from massart.evaluation.checks import is_enough, log_notes, warnings_of
from massart.evaluation.differences import EXACT, exact_differences
from massart.evaluation.estimators import Estimate
from massart.evaluation.intervals import (
    Interval,
    confidence_sequence,
    empirical_bernstein_interval,
    normal_interval,
    percentile_interval,
    resampled,
    scaled_rewards,
)
from massart.evaluation.likelihood import clopper_pearson_interval, cressie_read_interval
from massart.evaluation.log import TargetPolicy, WeightedLog, weigh_all
from massart.evaluation.options import ESTIMATORS, INTERVALS, EvaluationOptions
from massart.evaluation.results import Comparison, Difference, Evaluation, Line, PositionLine, recommended
from massart.evaluation.reward_model import cross_fitted_rewards

__all__ = ["compare", "compare_weighed", "evaluate", "needs_contexts"]

_NEED_A_MODEL = ("dm", "dr", "switch-dr")
_NEED_A_RANGE = INTERVALS[2:]
_SHOWN: Final = 100  # positions
_FEW_FOR_DIFFERENCES: Final = (
    "differences: these weights are too uneven, or too few, for normal and bootstrap intervals; those of ips hold for "
    "every n, where they are known"
)

Log = str | os.PathLike[str] | DecisionLog | DecisionBatch | Iterable[DecisionBatch]


def evaluate(
    log: Log,
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
    reward_model: Any = "ridge",
) -> Evaluation:
    """Estimate what `policy` earns per decision, from a log that another policy wrote.

    `reward_range` is needed by the intervals cressie-read (which belongs to snips), clopper-pearson, bernstein and
    sequence (which belong to ips); None takes (0, 1) if all rewards fit and leaves these intervals out otherwise.
    `max_weight` see `empirical_bernstein_interval`, `reward_model` see `massart.evaluation.regressor`.

    >>> from massart.data import Decision
    >>> rows = [Decision(np.eye(2), i % 2, 0.5, float(i % 2)) for i in range(400)]
    >>> found = evaluate(DecisionBatch.of(rows), "first", estimators=["ips", "snips"], intervals=["normal"])
    >>> found["snips"].value, found["snips"].difference.value, found.effective_sample_size
    (0.0, -0.5, 200.0)
    """
    options = EvaluationOptions(
        estimators=estimators,
        intervals=intervals,
        confidence=confidence,
        reward_range=reward_range,
        max_weight=max_weight,
        switch_threshold=switch_threshold,
        folds=folds,
        resamples=resamples,
        seed=seed,
        reward_model=reward_model,
    )
    return compare(log, [policy], options).evaluations[0]


def compare(
    log: Log,
    policies: Sequence[TargetPolicy] | Mapping[str, TargetPolicy],
    options: EvaluationOptions | None = None,
) -> Comparison:
    """Evaluate several policies on one log, which is read once, with the differences between any two of them.

    Differences are paired: both policies are weighed on the same decisions, so what they have in common cancels.

    >>> from massart.data import Decision
    >>> rows = [Decision(np.eye(2), i % 2, 0.5, float(i % 2)) for i in range(400)]
    >>> options = EvaluationOptions(estimators=["snips"], intervals=["normal"])
    >>> found = compare(DecisionBatch.of(rows), ["first", "uniform"], options)
    >>> found.difference("first", "uniform", "snips").value
    -0.5
    """
    asked = options if options is not None else EvaluationOptions()
    opened = DecisionLog(log, propensities_may_miss=True) if isinstance(log, str | os.PathLike) else log
    every = weigh_all(opened, policies, keep_contexts=needs_contexts(asked), folds=asked.folds, seed=asked.seed)
    return compare_weighed(every, asked)


def needs_contexts(options: EvaluationOptions) -> bool:
    """Whether an estimator has a model of the rewards."""
    return any(name in _NEED_A_MODEL for name in options.estimators)


def compare_weighed(every: Sequence[WeightedLog], asked: EvaluationOptions) -> Comparison:
    """The same from a log that was read, seen through each of the policies."""
    if asked.reward_range is not None:
        scaled_rewards(every[0].rewards, asked.reward_range)  # checked even where no interval uses it
    run = _Run(asked, every)
    return Comparison(
        evaluations=tuple(run.evaluation(number) for number in range(len(every))),
        differences=tuple(run.differences()),
        bad_lines=every[0].bad_messages,
    )


class _Run:
    """The estimates of several policies on one log, and the resamples that all of them share."""

    def __init__(self, options: EvaluationOptions, every: Sequence[WeightedLog]) -> None:
        self.options, self.every = options, every
        self.notes: list[list[str]] = [log_notes(seen) for seen in every]
        self.enough = [is_enough(seen) for seen in every]  # decisions for intervals that hold for large n
        self.predicted = self._predicted()
        self.estimates = [self._estimates(number) for number in range(len(every))]
        first = every[0]
        logged = Estimate("logged", first.row_weights * first.rewards, first.row_weights)
        self.logged = logged.grouped(first.slates)
        self.logged_by_slate = self._by_slate(logged) if first.slates is not None else None
        self.is_one = self.logged.numerators.size < 2
        self.drawn: dict[int, Any] = {}  # resampled values by the identity of an estimate
        if "bootstrap" in options.intervals and not self.is_one:
            flat = [self.logged, *(one for estimates in self.estimates for one in estimates)]
            flat += [self.logged_by_slate] if self.logged_by_slate is not None else []
            values = resampled(flat, options.resamples, options.seed)
            self.drawn = {id(one): values[:, place] for place, one in enumerate(flat)}

    def _by_slate(self, estimate: Estimate) -> Estimate:
        """The reward of a whole list instead of one of its positions."""
        whole = estimate.grouped(self.every[0].slates)
        sizes = np.bincount(self.every[0].slates)  # type: ignore[arg-type]
        return Estimate("iips", whole.numerators, whole.denominators / sizes)

    def _predicted(self) -> Any:
        """The reward of every arm by a model, or why there is none."""
        seen, options = self.every[0], self.options
        if not any(name in _NEED_A_MODEL for name in options.estimators):
            return ""
        units = len(seen) if seen.slates is None else int(seen.slates.max()) + 1
        if not seen.contexts.shape[1]:
            return "the log has no features to model rewards with"
        if units < 2:
            return "one decision is not enough for a model"
        model = None if options.reward_model == "ridge" else options.reward_model
        how: dict[str, Any] = {"folds": min(options.folds, units), "seed": options.seed, "groups": seen.slates}
        return cross_fitted_rewards(
            seen.contexts, seen.starts, seen.taken, seen.rewards, seen.row_weights, model=model, **how
        )

    def _estimates(self, number: int) -> list[Estimate]:
        """Those that can be had, in the order of `ESTIMATORS`; for the others a note says why not."""
        seen, notes, asked = self.every[number], self.notes[number], self.options.estimators
        rewards, weights, share = seen.rewards, seen.weights, seen.row_weights
        made: list[Estimate] = []
        if "ips" in asked:
            made.append(formulas.ips(rewards, weights, share))
        if "snips" in asked:
            try:
                made.append(formulas.snips(rewards, weights, share))
            except InvalidDataError as error:
                notes.append(str(error))
        made += self._modelled(number)
        by_slate = [self._by_slate(made[0])] if seen.slates is not None and "ips" in asked else []
        return [*(estimate.grouped(seen.slates) for estimate in made), *by_slate]

    def _modelled(self, number: int) -> list[Estimate]:
        seen, notes, options = self.every[number], self.notes[number], self.options
        modelled = [name for name in _NEED_A_MODEL if name in options.estimators]
        if not modelled:
            return []
        missing = self.predicted if isinstance(self.predicted, str) else ""
        if np.isnan(seen.target).any():
            missing = "the log does not name the probabilities of all arms, which this policy needs here"
        if missing:
            notes.append(f"{', '.join(modelled)}: {missing}")
            return []
        policy_rewards = np.add.reduceat(seen.target * self.predicted, seen.starts[:-1])
        parts = seen.rewards, seen.weights, self.predicted[seen.taken], policy_rewards, seen.row_weights
        made = []
        if "dm" in modelled:
            made.append(formulas.direct_method(policy_rewards, seen.row_weights))
        if "dr" in modelled:
            made.append(formulas.doubly_robust(*parts))
        if "switch-dr" in modelled:
            made.append(formulas.switch_doubly_robust(*parts, threshold=options.switch_threshold))
            notes.append(f"switch-dr: it uses the reward model where weights exceed {options.switch_threshold:g}")
        return made

    def evaluation(self, number: int) -> Evaluation:
        """What the log says about one of the policies."""
        seen, notes = self.every[number], self.notes[number]
        found = {one.estimator: self._large_sample(one) for one in self.estimates[number]}
        if self.is_one:
            notes.append("intervals: one decision has none")
        else:
            for estimator, interval in self._bounded(seen, notes, [one for one in ("ips", "snips") if one in found]):
                found[estimator].append(interval)
        if not self.enough[number] and not seen.is_logged and not self.is_one:
            notes.append(_FEW_FOR_DIFFERENCES)
        if found.get("dm"):
            notes.append("dm: its intervals do not include the bias of the reward model")
        if "iips" in found:
            notes.append("iips: the reward of a whole list, the sum over its positions")
        lines = tuple(self._line(number, one, found[one.estimator]) for one in self.estimates[number])
        return Evaluation(
            policy=seen.policy,
            decisions=len(seen),
            effective_sample_size=seen.effective_sample_size,
            largest_weight=float(seen.weights.max()),
            largest_share=seen.largest_share,
            mean_weight=float(np.average(seen.weights, weights=seen.row_weights)),
            lines=lines,
            warnings=tuple(warnings_of(seen)),
            notes=tuple(notes),
            skipped=seen.skipped,
            propensities="estimated" if seen.estimated else "logged",
            logged_value=self.logged.value,
            recommended=recommended(lines, seen.effective_sample_size, self.enough[number]),
            positions=_by_position(seen),
            slates=None if seen.slates is None else int(seen.slates.max()) + 1,
            bad_lines=seen.bad_lines,
        )

    def _large_sample(self, estimate: Estimate, other: Estimate | None = None) -> list[Interval]:
        """The intervals normal and bootstrap, of an estimate or of its difference from another."""
        if self.is_one:
            return []
        whole = estimate if other is None else formulas.difference(estimate, other)
        made = [normal_interval(whole, self.options.confidence)] if "normal" in self.options.intervals else []
        if self.drawn:
            drawn = self.drawn[id(estimate)] - (0.0 if other is None else self.drawn[id(other)])
            made.append(percentile_interval(drawn, self.options.confidence))
        return made

    def _line(self, number: int, estimate: Estimate, intervals: list[Interval]) -> Line:
        logged = self.logged_by_slate if estimate.estimator == "iips" else self.logged
        same = logged is None or self.every[number].is_logged
        return Line(
            estimate.estimator,
            estimate.value,
            _or_none(estimate.standard_error),
            tuple(intervals),
            None if same or logged is None else self._difference(number, None, estimate, logged),
        )

    def _difference(self, number: int, later: int | None, estimate: Estimate, reference: Estimate) -> Difference:
        """Of a policy from a later one, or from the log."""
        whole = formulas.difference(estimate, reference)
        name = reference.estimator if self.every[number].is_logged else estimate.estimator
        large = all(self.enough[one] for one in (number, later) if one is not None)
        return Difference(
            self.every[number].policy,
            "logged" if later is None else self.every[later].policy,
            name,
            estimate.value - reference.value,
            _or_none(whole.standard_error),
            (
                *(self._large_sample(estimate, reference) if large else ()),
                *(self._exact_differences(number, later) if name == "ips" else ()),
            ),
        )

    def _exact_differences(self, number: int, later: int | None) -> list[Interval]:
        """The intervals of a difference that hold for every n."""
        options = self.options
        kinds, span, _ = self._ranged([kind for kind in EXACT if kind in options.intervals])
        other = None if later is None else self.every[later]
        return exact_differences(kinds, self.every[number], other, span, options.confidence, options.max_weight)

    def differences(self) -> Iterable[Difference]:
        """Of any two policies, by every estimator that both have."""
        for number, estimates in enumerate(self.estimates):
            for later in range(number + 1, len(self.estimates)):
                names = {one.estimator: None for one in (*estimates, *self.estimates[later])}
                for name in names:
                    first, second = self._estimate(number, name), self._estimate(later, name)
                    if first is not None and second is not None:
                        yield self._difference(number, later, first, second)

    def _estimate(self, number: int, name: str) -> Estimate | None:
        """An estimate of a policy; what the logged policy earned is known without any estimator."""
        if self.every[number].is_logged:
            return self.logged_by_slate if name == "iips" else self.logged
        return next((one for one in self.estimates[number] if one.estimator == name), None)

    def _ranged(self, kinds: list[str]) -> tuple[list[str], tuple[float, float], str]:
        """Which of the intervals that need the range of the rewards there are, this range, and why the others not."""
        seen, given = self.every[0], self.options.reward_range
        span = (0.0, 1.0) if given is None else given
        least, most = float(seen.rewards.min()), float(seen.rewards.max())
        if seen.estimated:
            return [], span, "not known for estimated propensities"
        if seen.slates is not None:
            return [], span, "not known for lists of several"
        if (seen.row_weights != 1.0).any():
            return [], span, "not known for decisions that stand for several"
        if given is None and (least < 0.0 or most > 1.0):
            return [], span, f"rewards reach from {least:g} to {most:g}; give the range they can have"
        return ([], span, "") if self.is_one else (kinds, span, "")

    def _bounded(self, seen: WeightedLog, notes: list[str], names: list[str]) -> list[tuple[str, Interval]]:
        """The intervals that need the range of the rewards, each with its estimator."""
        options = self.options
        owner = dict.fromkeys(_NEED_A_RANGE, "ips") | {"cressie-read": "snips"}
        asked = [kind for kind in _NEED_A_RANGE if kind in options.intervals and owner[kind] in names]
        kinds, span, why = self._ranged(asked)
        if asked and why:
            notes.append(f"{', '.join(asked)}: {why}")
        parts = seen.rewards, seen.weights, span, options.confidence
        made: list[Interval] = []
        if "cressie-read" in kinds:
            made.append(cressie_read_interval(*parts))
        if "clopper-pearson" in kinds:
            made.append(clopper_pearson_interval(*parts, max_weight=options.max_weight))
        if "bernstein" in kinds:
            made.append(empirical_bernstein_interval(*parts, max_weight=options.max_weight))
        if "sequence" in kinds:
            made += confidence_sequence(*parts)
        for interval in made:
            if interval.low > interval.high:
                drifts = "the value drifts or that " if interval.kind == "sequence" else ""
                notes.append(
                    f"{interval.kind}: it is empty, which says with confidence {options.confidence:g} that {drifts}"
                    "propensities are wrong"
                )
        value = float((seen.weights * seen.rewards).mean())
        outside = [one.kind for one in made if owner[one.kind] == "ips" and not one.low <= value <= one.high]
        if outside:
            notes.append(
                f"ips: the estimate lies outside of {', '.join(outside)}, which clip weights or know the range of the "
                "rewards: look at the interval"
            )
        return [(owner[interval.kind], interval) for interval in made if interval.low <= interval.high]


def _or_none(error: float) -> float | None:
    return None if math.isnan(error) else error


def _by_position(seen: WeightedLog) -> tuple[PositionLine, ...]:
    """What the policy earns at each position."""
    if seen.positions is None:
        return ()
    lines = []
    for position in np.unique(seen.positions)[:_SHOWN].tolist():
        here = seen.positions == position
        rewards, weights, share = seen.rewards[here], seen.weights[here], seen.row_weights[here]
        whole = formulas.ips(rewards, weights, share)
        lines.append(
            PositionLine(
                position=position,
                decisions=int(here.sum()),
                logged=float(np.average(rewards, weights=share)),
                ips=whole.value,
                snips=formulas.snips(rewards, weights, share).value if weights.any() else None,
                standard_error=_or_none(whole.standard_error),
            )
        )
    return tuple(lines)
