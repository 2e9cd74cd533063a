"""Why an arm: its linear score by the weights of now, feature by feature."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError
from massart.kernels.ranking_door import check_arms
from massart.learners.choice import Choice
from massart.learners.features import FeatureTable

__all__ = ["Contribution", "Explanation", "explain_choice"]

_SHOWN = 20  # contributions that are printed


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one feature adds to a score."""

    name: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        """Weight times value."""
        return self.weight * self.value


@dataclass(frozen=True, slots=True)
class Explanation:
    """The score of an arm and its parts, the largest first; they add up to the score, left to right, to the last bit.

    The score is by the weights of now, which may have moved since the choice. Within a round only differences of scores
    count; they rank the arms, and predict no reward.
    """

    arm: int
    arm_id: str | int | None
    probability: float  # with which the arm was chosen
    contributions: tuple[Contribution, ...]

    @property
    def score(self) -> float:
        """The sum of the contributions."""
        return sum((one.contribution for one in self.contributions), 0.0)

    def __str__(self) -> str:
        """A line for the arm, and one for each of the largest contributions."""
        name = f"arm {self.arm}" if self.arm_id is None else f"arm {self.arm} ({_printable(str(self.arm_id))})"
        lines = [f"{name}, chosen with probability {self.probability:.4g}: score {self.score:+.6g}"]
        lines += [
            f"{one.contribution:+12.6g}  {_printable(one.name)} ({one.value:g} x {one.weight:+.6g})"
            for one in self.contributions[:_SHOWN]
        ]
        more = len(self.contributions) - _SHOWN
        return "\n".join([*lines, f"and {more:,} smaller ones"] if more > 0 else lines)


def explain_choice(choice: Any, weights: NDArray[np.float64], table: FeatureTable) -> Explanation:
    """The explanation of a choice by these weights (d,); places of rows are called [0], [1], ..."""
    if not isinstance(choice, Choice):
        raise InvalidDataError(f"choice is a {type(choice).__name__}: pass what choose returned")
    contexts = choice.contexts
    if not len(table):
        arms = check_arms(contexts, None, weights.size or None)
    else:
        arms = table.arms(choice.offer or table.offer(contexts, None), None, keep=False)
    if not 0 <= choice.arm < arms.count:
        raise InvalidDataError(
            f"choice.arm is {choice.arm}, but there are {arms.count} arms: pass what choose returned"
        )
    data, indices, indptr = arms.rows
    if indptr.size:
        row = slice(int(indptr[choice.arm]), int(indptr[choice.arm + 1]))
        columns, values = indices[row].tolist(), data[row].tolist()
    else:
        columns, values = list(range(arms.width)), data[choice.arm * arms.width :][: arms.width].tolist()
    found = []
    for column, value in zip(columns, values, strict=True):
        if value != 0.0:
            name = f"[{column}]" if column >= len(table) else table.name(column)
            found.append(Contribution(name, value, float(weights[column]) if column < weights.size else 0.0))
    found.sort(key=lambda one: (-abs(one.contribution), one.name))
    return Explanation(choice.arm, choice.arm_id, choice.probability, tuple(found))


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)
