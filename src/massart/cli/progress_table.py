"""Progress as Vowpal Wabbit shows it: a line whenever the number of rows has doubled, or every so many rows."""

from dataclasses import dataclass

import numpy as np

from massart.cli._command import with_flags
from massart.cli.outlets import Outlet
from massart.data.chunk import RowError
from massart.errors import InvalidParameterError
from massart.training.events import Step, Watcher
from massart.training.run import Training

__all__ = ["HEADER", "Pace", "ProgressTable", "Teller"]

HEADER = (
    "average  since         example        example        current        current  current\n"
    "loss     last          counter         weight          label        predict features"
)
_SHOWN = 10  # flaws that are shown one by one


@dataclass(frozen=True)
class Pace:
    """When a line is due: each time the sum of importances has grown by `step`, or `factor` times.

    >>> Pace.parse("1000"), Pace.parse("1.5")
    (Pace(step=1000.0, factor=1.0), Pace(step=0.0, factor=1.5))
    """

    step: float = 0.0
    factor: float = 2.0

    @classmethod
    def parse(cls, text: str) -> "Pace":
        """From a whole number or, with a point, a factor."""
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if "." in text and 1.0 < number < np.inf:
            return cls(0.0, number)
        if "." not in text and 1.0 <= number < np.inf:
            return cls(number, 1.0)
        raise InvalidParameterError(
            f"progress {text!r}: give a whole number of rows, as 10000, or a factor above 1 with a point, as 2.0"
        )


class Teller(Watcher):
    """Says what goes wrong with rows, the first few times, and what else is worth saying."""

    def __init__(self, out: Outlet, name: str) -> None:
        self._out, self._name = out, name
        self._flaws = 0

    def say(self, words: str) -> None:
        """A line of its own."""
        self._out.say(f"{self._name}: {words}")

    def flaw(self, flaw: RowError) -> None:
        """The first ones only: a file may be nothing but flaws."""
        self._flaws += 1
        if self._flaws <= _SHOWN:
            self.say(f"{with_flags(str(flaw))}; the row is left out")
        if self._flaws == _SHOWN:
            self.say("further rows that are left out are only counted")

    def note(self, words: str) -> None:
        """With flags for parameters."""
        self.say(with_flags(words))


class ProgressTable(Teller):
    """The lines of Vowpal Wabbit; labels and answers are -1 and +1, and the constant counts as a feature."""

    def __init__(self, out: Outlet, name: str, pace: Pace) -> None:
        super().__init__(out, name)
        self._pace = pace
        self._training: Training | None = None
        self._due = 0.0  # the sum of importances at which the next line is due
        self._last = (0.0, 0.0)  # sums of importances, of all rows and of mistakes, at the last line

    def begin(self, training: Training) -> None:
        """Print the header, once; of a later pass, its number."""
        progress = training.progress
        if self._training is None:
            self._out.say(HEADER)
        elif progress.passed > 1:
            self._out.say(f"pass {progress.passed} of {training.settings.passes}")
        self._training = training
        self._last = progress.weight, progress.wrong
        self._due = progress.weight + 1.0 if self._pace.factor > 1.0 else progress.weight + self._pace.step

    def step(self, step: Step) -> None:
        """Print the lines that have become due."""
        assert self._training is not None  # noqa: S101  it has begun
        progress = self._training.progress
        if progress.weight < self._due:
            return
        own = step.weight if step.weight.size else np.ones(step.scores.size)
        weights, wrongs = np.cumsum(own), np.cumsum(own * step.wrong)
        weights += progress.weight - weights[-1]
        wrongs += progress.wrong - wrongs[-1]
        lines = []
        while (place := int(np.searchsorted(weights, self._due))) < weights.size:
            weight, wrong = float(weights[place]), float(wrongs[place])
            lines.append(self._line(step, place, weight, wrong))
            self._last = weight, wrong
            self._due = weight * self._pace.factor + self._pace.step
        self._out.say("\n".join(lines))

    def measured(self, passed: int, rows: int, wrong: int) -> None:
        """One line."""
        self._out.say(f"holdout after pass {passed}: {wrong / max(1, rows):.6f} on {rows:,} rows")

    def _line(self, step: Step, place: int, weight: float, wrong: float) -> str:
        assert self._training is not None  # noqa: S101  it has begun
        before, wrong_before = self._last
        late = (wrong - wrong_before) / (weight - before) if weight > before else 0.0
        counter = self._training.progress.rounds - step.scores.size + place + 1
        answer = 1 if step.scores[place] >= 0.0 else -1
        label = answer * (-1 if step.wrong[place] else 1)
        return (
            f"{wrong / weight:<8.6f} {late:<8.6f} {counter:>12} {weight:>14.1f} {label:>14.4f} {answer:>14.4f} "
            f"{step.features(place) + 1:>8}"
        )
