"""Checks every decision of a log, and the log as a whole: which propensities are possible, and how many are not."""

import math

from scipy import sparse

from massart.data.decisions.decision import TOLERANCE, BadLines, Decision, FloatArray, refuse
from massart.data.row_errors import SMALLEST_IN_LOG
from massart.errors import InvalidDataError, counted

__all__ = ["LogChecker"]

_SHOWN = 5  # decisions that a message lists


class LogChecker:
    """Checks every decision of one log; `source` is the file that the next one comes from.

    A log in which no decision has a propensity is valid if `propensities_may_miss`; one in which some have is not, and
    those that have none are bad lines if the first decision has one.

    >>> import numpy as np
    >>> checker = LogChecker("log.jsonl")
    >>> for line, propensity in enumerate([0.5, 0.0, 1.5], start=1):
    ...     _ = checker.is_valid(Decision(np.eye(2), 0, propensity, 1.0, line=line))
    >>> checker.finish()
    Traceback (most recent call last):
    massart.errors.InvalidDataError: log.jsonl: 2 of 3 decisions have an impossible propensity:
    line 2 (probability 0), line 3 (probability 1.5); ...
    """

    def __init__(self, name: str, *, propensities_may_miss: bool = False, bad: BadLines | None = None) -> None:
        self.name = self.source = name
        self.seen = 0
        self.missing = 0  # decisions that are valid but for a propensity
        self._may_miss = propensities_may_miss
        self._bad = bad if bad is not None else BadLines()
        self._shape: tuple[bool, int] | None = None
        self._wrong: list[tuple[str, str]] = []  # the first places, and what is wrong there
        self._wrong_count = 0
        self._first_missing: list[tuple[str, str]] = []

    def is_valid(self, decision: Decision) -> bool:
        """Whether its propensities are possible; any other error is raised at once, or counted as a bad line."""
        try:
            self._check(decision)
        except InvalidDataError as error:
            self._bad.take(error)
            return False
        self.seen += 1
        complaint = _complaint(decision)
        if complaint is None:
            return True
        where = "" if self.source == self.name else f"{self.source}, "
        place = f"{where}line {decision.line}", complaint
        if self._may_miss and math.isnan(decision.probability) and self.missing == self.seen - 1 - self._wrong_count:
            self.missing += 1
            self._first_missing = [*self._first_missing, place][:_SHOWN]
            return True
        self._wrong_count += 1
        self._wrong = [*self._wrong, place][:_SHOWN]
        return False

    def _check(self, decision: Decision) -> None:
        problem = decision.problem()
        if problem is not None:
            refuse(self.source, decision.line, *problem, "correct the line or leave the decision out")
        shape = (bool(sparse.issparse(decision.contexts)), int(decision.contexts.shape[1]))
        if self._shape is None:
            self._shape = shape
        if shape != self._shape:
            now, before = (_shape_words(one) for one in (shape, self._shape))
            refuse(self.source, decision.line, "contexts", f"{now} where earlier lines have {before}", "use one shape")

    def add(self, later: "LogChecker") -> None:
        """Go on with what was found in a later part of the log."""
        if None not in (self._shape, later._shape) and self._shape != later._shape:
            now, before = (_shape_words(shape) for shape in (later._shape, self._shape))
            raise InvalidDataError(f"{later.source} has {now} where earlier files have {before}: use one shape")
        self.source, self._shape = later.source, self._shape or later._shape
        self.seen, self.missing = self.seen + later.seen, self.missing + later.missing
        self._wrong_count += later._wrong_count
        self._wrong = [*self._wrong, *later._wrong][:_SHOWN]
        self._first_missing = [*self._first_missing, *later._first_missing][:_SHOWN]

    def finish(self) -> None:
        """Refuse the log if it was empty, or had more impossible propensities than bad lines are allowed.

        It is refused as well if most of its lines are bad: then it is another kind of file.
        """
        allowed = max(0, min(self._bad.limit - self._bad.count, self.seen // 2))
        if 0 < self.missing < self.seen - self._wrong_count:  # the first have none, and others have
            self._wrong = [*self._first_missing, *self._wrong][:_SHOWN]
            self._wrong_count += self.missing
            allowed = 0
        if self._wrong_count > allowed:
            shown = ", ".join(f"{place} ({wrong})" for place, wrong in self._wrong)
            more = self._wrong_count - len(self._wrong)
            rest = f", and {more} more" if more else ""
            noun = "decision has" if self.seen == 1 else "decisions have"
            raise InvalidDataError(
                f"{self.name}: {self._wrong_count} of {self.seen} {noun} an impossible propensity: "
                f"{shown}{rest}; log the probability, from {SMALLEST_IN_LOG:g} to 1, with which "
                "the arm was drawn, or leave these decisions out if that does not depend on what was drawn or earned"
            )
        for number, (place, wrong) in enumerate(self._wrong):
            where = place if self.source != self.name else f"{self.name}, {place}"
            lines = 1 if number else self._wrong_count - len(self._wrong) + 1
            self._bad.take(InvalidDataError(f"{where}: {wrong}, which is no possible propensity"), lines)
        if self._bad.count > self.seen - self._wrong_count and self._bad.messages:
            raise InvalidDataError(
                f"{self.name}: {counted(self._bad.count, 'line')} of the log {'is' if self._bad.count == 1 else 'are'} "
                "bad, more than are not, the first: "
                f"{self._bad.messages[0]}"
            )
        if not self.seen:
            raise InvalidDataError(f"{self.name}: there is no decision with a reward in it; give another log")


def _shape_words(shape: tuple[bool, int] | None) -> str:
    thin, width = shape or (False, 0)
    return f"{width} {'sparse' if thin else 'dense'} features"


def _complaint(decision: Decision) -> str | None:
    given, every = decision.probability, decision.probabilities
    if math.isnan(given):
        return "probability missing"
    if not SMALLEST_IN_LOG <= given <= 1.0:
        return f"probability {given:g}"
    return None if every is None else _complaint_of_all(given, every, decision.arm)


def _complaint_of_all(given: float, every: FloatArray, arm: int) -> str | None:
    if not (every >= 0.0).all():
        return "a negative or missing probability among the arms"
    total = float(every.sum())
    if abs(total - 1.0) > TOLERANCE:
        return f"the arms' probabilities sum to {total:.6g}"
    if abs(float(every[arm]) - given) > 1e-6 + 1e-3 * given:  # as far as printing may take them apart
        return f"probability {given:g}, but {every[arm]:g} among all arms"
    return None
