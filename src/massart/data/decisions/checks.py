"""What a log must be before anything is computed from it.

An importance weight is a probability divided by a propensity, so a propensity that is missing, zero or impossible
spoils every estimate.  Such rows are collected over the whole log and refused together; any other error is refused
where it stands.
"""

import math
from typing import Any, NoReturn

from scipy import sparse

from massart.data.decisions.table import Decision, FloatArray
from massart.data.limits import SMALLEST_IN_LOG
from massart.errors import InvalidDataError

__all__ = ["TOLERANCE", "LogChecker", "cut", "refuse", "shown"]

TOLERANCE = 1e-4  # logs print probabilities with six digits and hold them in single precision
_SHOWN = 5
_LONGEST = 40  # characters of a value in a message


def refuse(source: str, line: int, field: str, wrong: str, remedy: str) -> NoReturn:
    """Raise the one error of every reader: file, line, field, what is wrong, what to do.

    >>> refuse("log.jsonl", 3, "reward", "it is missing", "add it")
    Traceback (most recent call last):
    massart.errors.InvalidDataError: log.jsonl, line 3, reward: it is missing; add it
    """
    raise InvalidDataError(f"{source}, line {line}, {cut(field)}: {wrong}; {remedy}") from None


def cut(text: str) -> str:
    """A text in a message, cut where it is long."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def shown(value: Any) -> str:
    """A value in a message.

    >>> shown(10**50)
    '1000000000000000000000000000000000000000...'
    """
    return cut(repr(value))


class LogChecker:
    """Looks at every decision of one log.

    >>> import numpy as np
    >>> checker = LogChecker("log.jsonl")
    >>> for line, propensity in enumerate([0.5, 0.0, 1.5], start=1):
    ...     _ = checker.sound(Decision(np.eye(2), 0, propensity, 1.0, line=line))
    >>> checker.finish()
    Traceback (most recent call last):
    massart.errors.InvalidDataError: log.jsonl: 2 of 3 decisions have a propensity that cannot be:
    line 2 (probability 0), line 3 (probability 1.5); ...
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.seen = 0
        self._shape: tuple[bool, int] | None = None
        self._wrong: list[str] = []
        self._wrong_count = 0

    def sound(self, decision: Decision) -> bool:
        """Whether its propensities can be; refuses at once what else is wrong with it."""
        problem = decision.problem()
        if problem is not None:
            refuse(self.source, decision.line, *problem, "mend the line or leave the decision out")
        shape = (bool(sparse.issparse(decision.contexts)), int(decision.contexts.shape[1]))
        if self._shape is None:
            self._shape = shape
        if shape != self._shape:
            now, before = (f"{width} {'sparse' if thin else 'dense'} features" for thin, width in (shape, self._shape))
            refuse(self.source, decision.line, "contexts", f"{now} where earlier lines have {before}", "use one shape")
        self.seen += 1
        complaint = _complaint(decision)
        if complaint is None:
            return True
        self._wrong_count += 1
        if len(self._wrong) < _SHOWN:
            self._wrong.append(f"line {decision.line} ({complaint})")
        return False

    def finish(self) -> None:
        """Refuse the log if any propensity was impossible, or if it was empty."""
        if self._wrong_count:
            more = self._wrong_count - len(self._wrong)
            rest = f", and {more} more" if more else ""
            raise InvalidDataError(
                f"{self.source}: {self._wrong_count} of {self.seen} decisions have a propensity that cannot be: "
                f"{', '.join(self._wrong)}{rest}; log the probability, from {SMALLEST_IN_LOG:g} to 1, with which "
                "the arm was drawn, or leave these decisions out if that does not depend on what was drawn or earned"
            )
        if not self.seen:
            raise InvalidDataError(f"{self.source}: there is no decision with a reward in it; give another log")


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
