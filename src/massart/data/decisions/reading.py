"""What is known of a log beside its decisions: bad lines, what was left out, what is odd. Of parts of a log it adds up.

A part is one of the files, read by itself. Its reading is not finished: only the whole log can be too bad, or odd. What
one part holds must not depend on another: `LogReading.add` refuses parts of which one has the reward of a decision in
another, or an event id that another has, as these would be joined, or left out, if the log were read at once.
"""

from collections import Counter

import numpy as np

from massart.data.decisions.checker import LogChecker
from massart.data.decisions.decision import BadLines
from massart.data.decisions.json_lines import Waiting
from massart.data.decisions.survey import LogSurvey
from massart.errors import InvalidDataError

__all__ = ["LogReading"]

_ALONE = "read the log with one process, or put what belongs together into one file"


class LogReading:
    """One reading of a log, or of a part of it; `source` is the file that is read."""

    def __init__(self, name: str, *, max_bad_lines: int = 0, propensities_may_miss: bool = False) -> None:
        self.skipped: Counter[str] = Counter()
        self.bad = BadLines(max_bad_lines)
        self.waiting = Waiting(self.skipped)
        self.checker = LogChecker(name, propensities_may_miss=propensities_may_miss, bad=self.bad)
        self.survey = LogSurvey()

    def add(self, later: "LogReading") -> None:
        """Go on with what was read of the next part."""
        source = later.checker.source
        if self.waiting.is_missed_by(later.waiting):
            raise InvalidDataError(
                f"{source} has the event id of a decision in an earlier file that waits for its reward: workers read "
                f"each file by itself; {_ALONE}"
            )
        if np.isin(later.survey.ids(), self.survey.ids()).any():
            raise InvalidDataError(
                f"{source} has the event id of a decision in an earlier file: workers read each file by itself, and "
                f"would count a decision twice; {_ALONE}"
            )
        self.bad.add(later.bad)
        self.checker.add(later.checker)
        self.waiting.add(later.waiting)
        self.survey.add(later.survey)
        self.skipped.update(later.skipped)

    def finish(self) -> tuple[str, ...]:
        """Count what has no reward, and refuse a log that is too bad; sentences about what is odd."""
        self.waiting.finish()
        self.checker.finish()
        self.skipped.update(self.survey.repeated)
        return tuple(self.survey.warnings())
