"""One logged decision, many of them side by side, and what a log must be before anything is computed from it.

A decision is made among the rows of `contexts` (k, d): `arm` was taken, which had probability `probability`, and
it earned `reward`. Rewards are to be large; formats that log costs are read with reward = -cost.

An importance weight is a probability divided by a propensity, so a propensity that is missing, zero or impossible
spoils every estimate. Such rows are collected over the whole log and refused together; any other error is refused
where it stands. Whoever reads a log may allow some lines to be bad (`BadLines`): these are left out and counted.

A decision may fill one position of a list of several (a slate). Then `probability` is that of the arm at this position,
and the decisions of one list have the same `slate`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from massart.data.offers import Offer
from massart.data.row_errors import LARGEST_IN_LOG, MOST_ARMS, SMALLEST_IN_LOG
from massart.errors import InvalidDataError, counted
from massart.kernels.door import checked_csr
from massart.kernels.forms import check_form

__all__ = ["TOLERANCE", "BadLines", "Decision", "DecisionBatch", "FloatArray", "cut", "refuse", "shown"]

FloatArray = npt.NDArray[np.float64]
TOLERANCE = 1e-4  # logs print probabilities with six digits and hold them in single precision
_SHOWN = 5  # decisions that a message lists
_LONGEST = 40  # characters of a value in a message


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What was offered, taken and earned.

    >>> decision = Decision(np.eye(3), arm=1, probability=0.5, reward=1.0)
    >>> decision.arms
    3
    """

    contexts: Any  # (k, d) float array or scipy CSR; d = 0 if the log has no features
    arm: int  # 0-based
    probability: float  # that the logging policy gave `arm`; NaN if the log does not say
    reward: float
    probabilities: FloatArray | None = None  # (k,) that the logging policy gave to every arm
    target: FloatArray | None = None  # (k,) that a policy to be evaluated would have given
    event_id: str | None = None
    time: str | None = None
    weight: float = 1.0  # decisions this one stands for, where others were dropped at random
    line: int = 0  # of its file, 1-based; 0 if it comes from no file
    position: int | None = None  # that the arm was shown at, from 1
    slate: str | None = None  # what the list is called that it was a part of
    offer: Offer | None = None  # the arms with the names of their features, if the log has names

    @property
    def arms(self) -> int:
        """How many arms there were to choose from."""
        return int(self.contexts.shape[0])

    def features(self, arm: int) -> list[tuple[int, float]]:
        """Columns and values of an arm's features, zeros left out.

        >>> Decision(np.array([[0.0, 2.0]]), arm=0, probability=1.0, reward=1.0).features(0)
        [(1, 2.0)]
        """
        if sparse.issparse(self.contexts):
            first, last = self.contexts.indptr[arm], self.contexts.indptr[arm + 1]
            columns, values = self.contexts.indices[first:last], self.contexts.data[first:last]
        else:
            columns = np.flatnonzero(self.contexts[arm])
            values = self.contexts[arm][columns]
        return [pair for pair in zip(columns.tolist(), values.tolist(), strict=True) if pair[1]]

    @property
    def nbytes(self) -> int:
        """About how much memory it takes in a batch."""
        contexts = self.contexts
        size = contexts.data.nbytes + contexts.indices.nbytes if sparse.issparse(contexts) else contexts.nbytes
        return int(size) + 32 * self.arms + 256

    def problem(self) -> tuple[str, str] | None:
        """The first field that no decision could have, and what is wrong with it; propensities are not checked here.

        >>> Decision(np.eye(2), arm=2, probability=0.5, reward=1.0).problem()
        ('arm', '2 is none of the 2 arms 0 to 1')
        """
        values = self.contexts.data if sparse.issparse(self.contexts) else self.contexts
        most, least = LARGEST_IN_LOG, SMALLEST_IN_LOG
        tests = (
            (self.arms > 0, "contexts", "there is no arm"),
            (self.arms <= MOST_ARMS, "contexts", f"there are {self.arms:,} arms, more than {MOST_ARMS:,}"),
            (0 <= self.arm < self.arms, "arm", f"{self.arm} is none of the {self.arms} arms 0 to {self.arms - 1}"),
            (math.isfinite(self.reward), "reward", f"{self.reward} is not a finite number"),
            (abs(self.reward) <= most, "reward", f"{self.reward:g} is above {most:g} in size"),
            (least <= self.weight <= most, "weight", f"{self.weight:g} is not from {least:g} to {most:g}"),
            (self.position is None or 1 <= self.position <= MOST_ARMS, "position", f"{self.position} is not 1 or more"),
            (bool(np.isfinite(values).all()), "contexts", "a feature is not a finite number"),
            (bool((np.abs(values) <= most).all()), "contexts", f"a feature is above {most:g} in size"),
        )
        for passed, field, wrong in tests:
            if not passed:
                return field, wrong
        for field, given in (("probabilities", self.probabilities), ("target", self.target)):
            if given is not None and given.shape != (self.arms,):
                return field, f"there are {given.size} of them for {self.arms} arms"
        return None


@dataclass(frozen=True, slots=True, eq=False)
class DecisionBatch:
    """Many decisions, the arms of all of them below each other.

    >>> batch = DecisionBatch.of([Decision(np.eye(2), 0, 0.5, 1.0), Decision(np.ones((3, 2)), 2, 0.1, 0.0)])
    >>> len(batch), batch.starts.tolist(), batch.contexts.shape
    (2, [0, 2, 5], (5, 2))
    """

    contexts: Any  # (sum of k, d) float array or scipy CSR
    starts: npt.NDArray[np.int64]  # (n + 1,): the arms of decision i are the rows starts[i] to starts[i + 1]
    arms: npt.NDArray[np.int64]  # (n,) taken, 0-based within the decision
    propensities: FloatArray  # (n,) probability of the arm taken
    rewards: FloatArray  # (n,)
    weights: FloatArray  # (n,)
    logged: FloatArray  # (sum of k,) probabilities of all arms, NaN where the log does not say
    target: FloatArray  # (sum of k,) likewise of the policy to be evaluated
    event_ids: Sequence[str | None]
    times: Sequence[str | None]
    lines: npt.NDArray[np.int64]  # (n,)
    positions: Sequence[int | None] = ()  # of each, or empty if none has one; likewise
    slates: Sequence[str | None] = ()

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> "DecisionBatch":
        """Put decisions together; all must have contexts of one width, all dense or all sparse."""
        if not decisions:
            raise InvalidDataError("a batch of decisions cannot be empty: give at least one decision")
        try:
            return cls._stacked(decisions)
        except InvalidDataError:
            raise
        except (TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
            raise InvalidDataError(
                f"the fields of the decisions are not of their types, or of different shapes: {error}"
            ) from None

    @classmethod
    def _stacked(cls, decisions: Sequence[Decision]) -> "DecisionBatch":
        contexts = [decision.contexts for decision in decisions]
        for other in contexts:
            check_form(other)
        if sparse.issparse(contexts[0]):
            stack = checked_csr(sparse.vstack(contexts, format="csr"))
        else:
            stack = np.vstack(contexts)
        made = cls(
            contexts=stack,
            starts=np.concatenate([[0], np.cumsum([decision.arms for decision in decisions])]).astype(np.int64),
            arms=np.array([decision.arm for decision in decisions], dtype=np.int64),
            propensities=np.array([decision.probability for decision in decisions], dtype=np.float64),
            rewards=np.array([decision.reward for decision in decisions], dtype=np.float64),
            weights=np.array([decision.weight for decision in decisions], dtype=np.float64),
            logged=np.concatenate([_or_nan(decision.probabilities, decision.arms) for decision in decisions]),
            target=np.concatenate([_or_nan(decision.target, decision.arms) for decision in decisions]),
            event_ids=[decision.event_id for decision in decisions],
            times=[decision.time for decision in decisions],
            lines=np.array([decision.line for decision in decisions], dtype=np.int64),
            positions=_all_or_nothing([decision.position for decision in decisions]),
            slates=_all_or_nothing([decision.slate for decision in decisions]),
        )
        flat = made.arms, made.propensities, made.rewards, made.weights, made.logged, made.target, made.lines
        if stack.ndim != 2 or any(part.ndim != 1 for part in flat):
            raise ValueError("contexts have rows and columns, and the other fields are numbers")
        return made

    def __len__(self) -> int:
        return int(self.arms.size)

    def __iter__(self) -> Iterator[Decision]:
        for row in range(len(self)):
            yield self.decision(row)

    def decision(self, row: int) -> Decision:
        """One of them, as it was put in."""
        first, last = int(self.starts[row]), int(self.starts[row + 1])
        return Decision(
            contexts=self.contexts[first:last],
            arm=int(self.arms[row]),
            probability=float(self.propensities[row]),
            reward=float(self.rewards[row]),
            probabilities=_or_none(self.logged[first:last]),
            target=_or_none(self.target[first:last]),
            event_id=self.event_ids[row],
            time=self.times[row],
            weight=float(self.weights[row]),
            line=int(self.lines[row]),
            position=self.positions[row] if self.positions else None,
            slate=self.slates[row] if self.slates else None,
        )

    @property
    def taken(self) -> npt.NDArray[np.int64]:
        """The rows of `contexts` that were taken, (n,)."""
        return self.starts[:-1] + self.arms


def _or_nan(given: FloatArray | None, arms: int) -> FloatArray:
    return np.full(arms, np.nan) if given is None else np.asarray(given, dtype=np.float64)


def _all_or_nothing(given: list[Any]) -> Sequence[Any]:
    return () if all(one is None for one in given) else given


def _or_none(given: FloatArray) -> FloatArray | None:
    return None if np.isnan(given).any() else given


def refuse(source: str, line: int, field: str, wrong: str, remedy: str) -> NoReturn:
    """Raise the error of every reader of logs: file, line, field, what is wrong, what to do.

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


class BadLines:
    """Lines of a log that were left out, up to a limit; one more ends the reading, as the first does at a limit of 0.

    >>> bad = BadLines(1)
    >>> bad.take(InvalidDataError("log.jsonl, line 3, reward: it is missing; add it"))
    >>> bad.count, bad.messages
    (1, ['log.jsonl, line 3, reward: it is missing; add it'])
    """

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.count = 0
        self.messages: list[str] = []  # of the first few

    def take(self, error: InvalidDataError, lines: int = 1) -> None:
        """Count a line that is left out, or raise its error."""
        self.count += lines
        if len(self.messages) < _SHOWN:
            self.messages.append(str(error))
        if self.count > self.limit:
            raise error if not self.limit else self._too_many()

    def _too_many(self) -> InvalidDataError:
        lines = counted(self.limit, "line")
        return InvalidDataError(f"more than {lines} of the log are bad, the first: {self.messages[0]}")

    def add(self, later: "BadLines") -> None:
        """Count those of a later part of the log as well."""
        self.count, self.messages = self.count + later.count, [*self.messages, *later.messages][:_SHOWN]
        if self.count > self.limit:
            raise self._too_many()
