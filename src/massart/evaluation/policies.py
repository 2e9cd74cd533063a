"""The policy to be evaluated: what probability it gives to every arm of a logged decision."""

from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np

from massart.data.decisions.decision import TOLERANCE, DecisionBatch, FloatArray
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["POLICIES", "Policy", "TargetPolicy", "name_of", "target_probabilities"]

POLICIES = {
    "uniform": "every arm with the same probability",
    "first": "always arm 0",
    "logged": "the policy that wrote the log",
    "target": "the probabilities in the log's own field `target`",
}


class Policy(Protocol):
    """Anything with this method can be evaluated; so can a plain function contexts -> probabilities."""

    def probabilities(self, contexts: Any) -> Any:
        """The probability of each row of `contexts` (k, d)."""


TargetPolicy = str | Policy | Callable[[Any], Any]


def name_of(policy: TargetPolicy) -> str:
    """What to call it in a table.

    >>> name_of("uniform"), name_of(len)
    ('uniform', 'len')
    """
    if isinstance(policy, str):
        if policy not in POLICIES:
            raise InvalidParameterError(f"policy {policy!r} is none of {', '.join(POLICIES)}")
        return policy
    return str(getattr(policy, "__name__", type(policy).__name__))


def target_probabilities(policy: TargetPolicy, batch: DecisionBatch) -> FloatArray:
    """What the policy gives to every arm of a batch, flat like `batch.contexts`.

    For "logged" the entries are NaN where the log names the probability of the arm taken only.

    >>> from massart.data import Decision
    >>> batch = DecisionBatch.of([Decision(np.eye(2), 0, 0.5, 1.0), Decision(np.ones((4, 2)), 2, 0.1, 0.0)])
    >>> target_probabilities("uniform", batch).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    """
    name = name_of(policy)
    counts = np.diff(batch.starts)
    if policy == "uniform":
        return np.repeat(1.0 / counts, counts)
    if policy == "first":
        first = np.zeros(int(batch.starts[-1]))
        first[batch.starts[:-1]] = 1.0
        return first
    if policy == "logged":
        return batch.logged
    given = batch.target if policy == "target" else _asked(policy, batch)
    _check(name, given, batch)
    return given


def _asked(policy: TargetPolicy, batch: DecisionBatch) -> FloatArray:
    ask = cast("Callable[[Any], Any]", getattr(policy, "probabilities", policy))
    if not callable(ask):
        raise InvalidParameterError(f"policy {policy!r} is neither a function nor has a method probabilities(contexts)")
    answers = []
    for row, (first, last) in enumerate(zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True)):
        answer = np.asarray(ask(batch.contexts[first:last]), dtype=np.float64)
        if answer.shape != (last - first,):
            raise InvalidDataError(
                f"policy {name_of(policy)} gave an answer of shape {answer.shape} for the {last - first} arms of "
                f"line {batch.lines[row]}: return one probability per row of the contexts"
            )
        answers.append(answer)
    return np.concatenate(answers)


def _check(name: str, given: FloatArray, batch: DecisionBatch) -> None:
    starts = batch.starts[:-1]
    least, totals = np.minimum.reduceat(given, starts), np.add.reduceat(given, starts)
    wrong = np.flatnonzero(~((least >= 0.0) & (np.abs(totals - 1.0) <= TOLERANCE)))
    if wrong.size:
        shown = ", ".join(
            f"line {batch.lines[row]} ({'missing' if np.isnan(totals[row]) else f'sum {totals[row]:.6g}'})"
            for row in wrong[:5]
        )
        raise InvalidDataError(
            f"policy {name} has probabilities that cannot be, for {wrong.size} of the {len(batch)} decisions "
            f"from line {batch.lines[0]} on: {shown}; each must be at least 0 and those of one decision sum to 1"
        )
