"""What an evaluation gives back: lines of estimates with intervals, differences between policies, and what to heed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from massart.evaluation.intervals import Interval

__all__ = ["FEW", "Comparison", "Difference", "Evaluation", "Line", "PositionLine", "recommended"]

FEW: Final = 100.0  # effective decisions, below which intervals for large n mean little
_EXACT: Final = ("clopper-pearson", "bernstein", "sequence")  # they hold for every n


@dataclass(frozen=True, slots=True)
class Difference:
    """What one policy earns more than another by one estimator, from the same decisions."""

    policy: str
    other: str
    estimator: str
    value: float
    standard_error: float | None
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One estimate with its intervals, and its difference from what was earned in the log."""

    estimator: str
    value: float
    standard_error: float | None  # None for a single decision
    intervals: tuple[Interval, ...]
    difference: Difference | None = None  # None for the logged policy itself


@dataclass(frozen=True, slots=True)
class PositionLine:
    """What the policy earns at one position of a list."""

    position: int
    decisions: int
    logged: float  # mean reward in the log
    ips: float
    snips: float | None  # None if the policy never plays what was shown there
    standard_error: float | None  # of ips


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
    propensities: str = "logged"  # or "estimated"
    logged_value: float | None = None  # mean reward of the log
    recommended: tuple[str, str | None] | None = None  # estimator and kind of interval; None if the log says nothing
    positions: tuple[PositionLine, ...] = ()
    slates: int | None = None  # lists of several, where the log names them
    bad_lines: int = 0  # that were left out

    def __getitem__(self, estimator: str) -> Line:
        """The line of one estimator, by its name."""
        for line in self.lines:
            if line.estimator == estimator:
                return line
        raise KeyError(estimator)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        plain: dict[str, Any] = _plain(asdict(self), self)
        return plain


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several policies on one log: what each earns, and the differences between any two, paired by decision."""

    evaluations: tuple[Evaluation, ...]
    differences: tuple[Difference, ...]
    bad_lines: tuple[str, ...] = ()  # the first few, with file, line and what is wrong

    def __getitem__(self, policy: str) -> Evaluation:
        """The evaluation of one policy, by its name."""
        for found in self.evaluations:
            if found.policy == policy:
                return found
        raise KeyError(policy)

    def difference(self, policy: str, other: str, estimator: str) -> Difference:
        """What `policy` earns more than `other`, as they stand in the list of policies."""
        for found in self.differences:
            if (found.policy, found.other, found.estimator) == (policy, other, estimator):
                return found
        raise KeyError((policy, other, estimator))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        plain: dict[str, Any] = _plain(asdict(self), self)
        return plain


def _plain(plain: Any, given: Any) -> Any:
    """`asdict` leaves named tuples as they are; JSON should have their names."""
    if isinstance(given, Interval):
        return given._asdict()
    if isinstance(plain, dict) and not isinstance(given, dict):
        return {name: _plain(value, getattr(given, name)) for name, value in plain.items()}
    if isinstance(given, tuple):
        return [_plain(one, other) for one, other in zip(plain, given, strict=True)]
    return plain


def recommended(lines: Sequence[Line], effective: float, enough: bool = True) -> tuple[str, str | None] | None:
    """The estimator and the interval to look at first, by a rule that does not look at the values.

    With at least 100 effective decisions: dr, which is unbiased and has less variance the better its model; without a
    model snips. With fewer, or if these are not `enough` for another reason, ips with an interval that holds for every
    n. Without any weight there is none.

    >>> exact = Interval("bernstein", 0.1, 0.9, 0.95)
    >>> lines = [Line("ips", 0.5, 0.2, (exact,)), Line("dr", 0.5, 0.1, (Interval("normal", 0.3, 0.7, 0.95),))]
    >>> recommended(lines, 500.0), recommended(lines, 20.0), recommended(lines, 0.0)
    (('dr', 'normal'), ('ips', 'bernstein'), None)
    """
    kinds = {line.estimator: [interval.kind for interval in line.intervals] for line in lines}
    if not effective > 0.0 or not kinds:
        return None
    exact = next((kind for kind in _EXACT if kind in kinds.get("ips", [])), None)
    if (effective < FEW or not enough) and exact is not None:
        return "ips", exact
    name = next(name for name in ("dr", "snips", "ips", "switch-dr", "dm", "iips") if name in kinds)
    order = ("cressie-read", "normal", "bootstrap", *_EXACT)
    return name, next((kind for kind in order if kind in kinds[name]), None)
