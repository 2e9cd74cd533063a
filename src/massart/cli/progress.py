"""Progress as lines: the table of Vowpal Wabbit for training, and a count of rows for what reads them once.

A line of the table comes whenever the number of rows has doubled, or every so many rows.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from massart.cli._command import escaped, with_flags
from massart.cli.process import Outlet
from massart.data.chunk import RowError
from massart.errors import InvalidParameterError
from massart.training.progress import Callbacks, Measured, Step
from massart.training.run import Training

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["HEADER", "Messages", "Pace", "ProgressTable", "Sums", "row_progress"]

HEADER = (
    "average  since         example        example        current        current  current\n"
    "loss     last          counter         weight          label        predict features"
)
_SHOWN = 10  # row errors that are shown one by one
_WIDE = 14  # characters of a label


class Pace(NamedTuple):
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


class Sums(NamedTuple):
    """Sums of importances: of all rows, and of those predicted wrongly."""

    weight: float = 0.0
    wrong: float = 0.0

    def error_since(self, before: "Sums") -> float | None:
        """Of the rows in between; None if there are none."""
        weight = self.weight - before.weight
        return (self.wrong - before.wrong) / weight if weight > 0.0 else None


class Messages(Callbacks):
    """Shows the errors of rows, the first few one by one, and notes."""

    def __init__(self, out: Outlet, name: str) -> None:
        self._out, self._name = out, name
        self._errors = 0

    def say(self, words: str) -> None:
        """A line of its own."""
        self._out.say(f"{self._name}: {words}")

    def row_error(self, error: RowError) -> None:
        """The first ones only: every row of a file may be malformed."""
        self._errors += 1
        if self._errors <= _SHOWN:
            self.say(f"{with_flags(str(error))}; the row is left out")
        if self._errors == _SHOWN:
            self.say("further rows that are left out are only counted")

    def note(self, words: str) -> None:
        """With flags for parameters."""
        self.say(with_flags(words))


class ProgressTable(Messages):
    """The lines of Vowpal Wabbit; two labels are shown as -1 and +1, and the constant counts as a feature."""

    def __init__(self, out: Outlet, name: str, pace: Pace) -> None:
        super().__init__(out, name)
        self._pace = pace
        self._training: Training | None = None
        self._due = 0.0  # the sum of importances at which the next line is due
        self._last = Sums()  # at the last line

    def begin(self, training: Training) -> None:
        """Print the header, once; of a later pass, its number."""
        progress = training.progress
        if self._training is None:
            self._out.say(HEADER)
        elif progress.passed > 1:
            self._out.say(f"pass {progress.passed} of {training.settings.passes}")
        self._training = training
        self._last = Sums(progress.weight, progress.wrong)
        self._due = progress.weight + 1.0 if self._pace.factor > 1.0 else progress.weight + self._pace.step

    def step(self, step: Step) -> None:
        """Print the lines that have become due."""
        assert self._training is not None  # noqa: S101  it has begun
        progress = self._training.progress
        if progress.weight < self._due:
            return
        own = step.weight if step.weight.size else np.ones(step.size)
        weights, wrongs = np.cumsum(own), np.cumsum(own * step.wrong)
        weights += progress.weight - weights[-1]
        wrongs += progress.wrong - wrongs[-1]
        lines = []
        while (place := int(np.searchsorted(weights, self._due))) < weights.size:
            sums = Sums(float(weights[place]), float(wrongs[place]))
            lines.append(self._line(step, place, sums))
            self._last = sums
            self._due = sums.weight * self._pace.factor + self._pace.step
        self._out.say("\n".join(lines))

    def measured(self, passed: int, measured: Measured) -> None:
        """One line."""
        self._out.say(f"holdout after pass {passed}: {measured.error:.6f} on {measured.rows:,} rows")

    def _line(self, step: Step, place: int, sums: Sums) -> str:
        assert self._training is not None  # noqa: S101  it has begun
        weight, wrong = sums
        recent = sums.error_since(self._last) or 0.0
        counter = self._training.progress.rounds - step.size + place + 1
        shown = ("-1.0000", "1.0000") if len(step.names) == 2 else [escaped(name)[:_WIDE] for name in step.names]
        label, predicted = (shown[int(number)] for number in (step.classes[place], step.answers[place]))
        return (
            f"{wrong / weight:<8.6f} {recent:<8.6f} {counter:>12} {weight:>14.1f} {label:>14} {predicted:>14} "
            f"{step.features(place) + 1:>8}"
        )


@contextmanager
def row_progress(err: Outlet, name: str, *, quiet: bool, to_stdout: bool) -> Iterator[Callbacks]:
    """Callbacks that show rows: none if quiet, a bar on a terminal, unless the rows go to that terminal themselves."""
    if quiet or not sys.stderr.isatty() or (to_stdout and sys.stdout.isatty()):
        yield Callbacks() if quiet else Messages(err, name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    parts = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(err, name, bar)


class _Bar(Messages):
    def __init__(self, out: Outlet, name: str, bar: "Progress") -> None:
        super().__init__(out, name)
        self._bar, self._task = bar, bar.add_task("0 rows", total=None)

    def say(self, words: str) -> None:
        self._bar.console.print(f"{self._name}: {words}", markup=False, highlight=False, soft_wrap=True)

    def advanced(self, rows: int, fraction: float | None) -> None:
        known: dict[str, Any] = {} if fraction is None else {"total": 1.0, "completed": fraction}
        self._bar.update(self._task, description=f"{rows:,} rows", **known)
