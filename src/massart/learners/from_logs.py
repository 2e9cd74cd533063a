"""Learning from logs: rounds that another policy played, weighted by one over the probability it gave to its arm.

Let a log say that arm A, of probability p_A, earned r. Then b + 1{A = i} (r - b) / p_i is an unbiased estimate of the
reward of every arm i that could have been played, and `RankingState.absorb_logged` takes one step on it. A decision of
weight u, which stands for u others, has p_A / u in place of p_A. The smaller p_A, the larger and rarer the step: below
LEAST_PROBABILITY it is taken to be that, which makes the estimate biased towards b, and is counted.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.offers import WIDTH
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError, counted, shown
from massart.learners.features import FeatureTable
from massart.learners.lift import LiftCertificate
from massart.options import MOST_CHOICES

if TYPE_CHECKING:
    from massart.data import Decision
    from massart.learners.bandit import MonotoneBandit

__all__ = ["LEAST_PROBABILITY", "MAX_BAD_LINES", "LearnedLog", "Logged", "learn_decisions", "logged_chances"]

LEAST_PROBABILITY: Final = 0.01
MAX_BAD_LINES: Final = 100


@dataclass
class LearnedLog:
    """What was learned from a log, and what was not."""

    rounds: int = 0
    reward: float = 0.0  # the sum of rewards learned
    clipped: int = 0  # rounds whose probability was below LEAST_PROBABILITY
    bad: int = 0  # lines that could not be learned from
    messages: list[str] = field(default_factory=list)  # about the first of them, with file and line
    skipped: dict[str, int] = field(default_factory=dict)  # what else was left out, by reason
    warnings: tuple[str, ...] = ()  # what is odd about the log as a whole
    complete: bool = True  # False if it was stopped

    def __str__(self) -> str:
        """One line for people."""
        parts = [f"{counted(self.rounds, 'round')} learned"]
        if self.rounds:
            parts.append(f"mean reward {self.reward / self.rounds:.4f}")
        if self.clipped:
            parts.append(f"{counted(self.clipped, 'probability')} below {LEAST_PROBABILITY:g} counted as that")
        if self.bad:
            parts.append(f"{counted(self.bad, 'bad line')} left out")
        return "; ".join([*parts, *(f"{count:,} {reason} left out" for reason, count in self.skipped.items())])


class Logged:
    """How many of a bandit's rounds come from logs, and of how many the probability was clipped."""

    def __init__(self, rounds: int = 0, clipped: int = 0) -> None:
        self.rounds, self.clipped = rounds, clipped

    def add(self, clipped: bool) -> None:
        """One more round."""
        self.rounds += 1
        self.clipped += clipped

    def without_guarantee(self, found: LiftCertificate) -> LiftCertificate:
        """The certificate of a bandit that has learned these rounds: the theorems are about rounds that it played."""
        if not self.rounds:
            return found
        return replace(found, guaranteed_lift=None, evidence=1.0, holds=True, logged=self.rounds)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For a file; nothing if no round comes from a log."""
        return {"logged": np.array([self.rounds, self.clipped], dtype=np.int64)} if self.rounds else {}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], learned: int) -> "Logged":
        """What `arrays` wrote, for a bandit that has learned so many rounds."""
        if "logged" not in arrays:
            return cls()
        given = arrays["logged"]
        if not isinstance(given, np.ndarray) or given.dtype != np.int64 or given.shape != (2,):
            raise ModelFileError("array 'logged' is not two whole numbers: save it again")
        rounds, clipped = given.tolist()
        if not 0 <= clipped <= rounds <= learned <= MOST_CHOICES:
            raise ModelFileError("array 'logged' tells of more rounds than were learned: the file is damaged or forged")
        return cls(rounds, clipped)


def learn_decisions(
    bandit: "MonotoneBandit",
    log: Any,
    reading: dict[str, Any],
    seen: Callable[[LearnedLog], bool] = lambda _: True,
) -> LearnedLog:
    """Learn the decisions of a log in their order; `seen` is called after each, and says whether to go on.

    A decision that cannot be learned is a bad line, which is left out, reported and counted, up to a limit; an error
    says if there are more. What came before is learned then.
    """
    from massart.data import DecisionLog  # noqa: PLC0415  SciPy's sparse matrices, and readers that choosing needs not
    from massart.data.decisions.decision import BadLines  # noqa: PLC0415

    if isinstance(log, (str, os.PathLike)) or (isinstance(log, (list, tuple)) and log and isinstance(log[0], str)):
        log = DecisionLog(log, **{"max_bad_lines": MAX_BAD_LINES, "crossed": True, **reading})
    elif reading:
        raise InvalidParameterError(f"{min(reading)} says how files are read: give paths, or leave it out")
    learned, bad = LearnedLog(), BadLines(MAX_BAD_LINES)
    is_log = isinstance(log, DecisionLog)
    for decision in log.decisions() if is_log else log:
        bad = log.bad if is_log else bad
        try:
            _learn(bandit, decision, learned)
        except InvalidDataError as error:
            source = log.source if is_log else "the log"
            bad.take(InvalidDataError(f"{source}, line {decision.line}: {error}"))
        if not seen(learned):
            learned.complete = False
            break
    learned.bad, learned.messages = bad.count, list(bad.messages)
    if is_log:
        learned.skipped, learned.warnings = dict(log.skipped), log.warnings
    if not learned.rounds and learned.complete:
        why = f", the first bad line: {learned.messages[0]}" if learned.messages else ""
        raise InvalidDataError(f"nothing could be learned from the log: it has no decision that fits{why}")
    return learned


def _learn(bandit: "MonotoneBandit", decision: "Decision", learned: LearnedLog) -> None:
    contexts = decision.contexts
    if contexts.shape[1] == 0:
        raise InvalidDataError("its arms have no features and no ids: log contexts, features or ids")
    if contexts.shape[1] == WIDTH:
        contexts = decision.offer if decision.offer is not None else FeatureTable.offer(contexts, None)
    chance = decision.probability / decision.weight
    every = decision.probabilities
    learned.clipped += bandit.learn_logged(contexts, decision.arm, chance, decision.reward, probabilities=every)
    learned.rounds += 1
    learned.reward += decision.reward


def logged_chances(arm: Any, probability: Any, every: Any) -> tuple[NDArray[np.float64], Any, bool]:
    """Probabilities to learn with, one or those of all arms; the arms that could be played, or None; whether clipped.

    >>> logged_chances(1, 0.25, None)
    (array([0.25]), None, False)
    >>> chances, allowed, clipped = logged_chances(1, 0.001, [0.999, 0.001, 0.0])
    >>> chances.tolist(), allowed.tolist(), clipped
    ([0.999, 0.01, 0.01], [True, True, False], True)
    """
    p = _float(probability)
    if p is None or not 0.0 < p < math.inf:
        raise InvalidDataError(f"probability={shown(probability)} is none: give that of the arm that was drawn")
    clipped = p < LEAST_PROBABILITY
    if every is None:
        return np.array([max(p, LEAST_PROBABILITY)]), None, clipped
    try:
        chances = np.array(every, dtype=np.float64)
        good = chances.ndim == 1 and type(arm) is int and 0 <= arm < chances.size and bool((chances >= 0.0).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InvalidDataError("probabilities must be one number of at least 0 per arm, and arm one of them")
    allowed = chances > 0.0  # an arm of probability 0 could not be played
    allowed[arm] = True
    chances = np.maximum(chances, LEAST_PROBABILITY)
    chances[arm] = max(p, LEAST_PROBABILITY)
    return chances, allowed, clipped


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
