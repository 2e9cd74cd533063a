"""What is odd about a log as a whole: decisions that stand in it twice, times that go back.

A decision whose event id came before and that is the same in everything else is left out; one that differs stays, and
is reported. Where there are no event ids, repeats are found by counting. Let a decision have the contexts of an earlier
one, whose arm had the probability p. If arms are drawn independently, the two agree in arm and probability with
probability at most p. So over all such decisions the number that agree is at most S + 4 sqrt(V) + 8, S = sum of p and
V = sum of p (1 - p), but for a chance below 1e-3 by Bernstein's inequality: exp(-t^2 / (2 V + 2 t / 3)) at
t = 4 sqrt(V) + 8. A log that has more is reported.
"""

import math
from array import array
from collections import Counter
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from massart.data.decisions.decision import Decision

__all__ = ["REPEATED", "LogSurvey"]

REPEATED: Final = "decisions that repeat an earlier one with the same event id"
_SHOWN: Final = 3  # lines that a message names
_HASH: Final = 8  # bytes


class LogSurvey:
    """Looks at the decisions of one log, in order; memory is 200 bytes for each.

    >>> survey = LogSurvey()
    >>> [survey.is_repeat(Decision(np.eye(2), 0, 0.5, 1.0, event_id="a", line=line)) for line in (1, 2)]
    [False, True]
    >>> survey.warnings()
    ['1 decision repeats an earlier one with the same event id (line 2 repeats line 1): left out, ...']
    """

    def __init__(self) -> None:
        self.repeated: Counter[str] = Counter()
        self._ids: dict[int, int] = {}  # event id -> number of the first decision that has it
        self._contexts, self._content = array("Q"), array("Q")  # hashes
        self._probability, self._line = array("d"), array("q")
        self._same: list[str] = []
        self._other: list[str] = []
        self._others = 0
        self._seconds = array("d")  # times, NaN where there is none

    def is_repeat(self, decision: Decision) -> bool:
        """Whether it is to be left out, since it came before."""
        contexts, content = _hashes(decision)
        earlier = None
        if decision.event_id is not None:
            name = _number(decision.event_id.encode(errors="surrogatepass"))
            earlier = self._ids.setdefault(name, len(self._line))
            if earlier == len(self._line):
                earlier = None
        if earlier is not None:
            pair = f"line {decision.line} repeats line {self._line[earlier]}"
            if content == self._content[earlier]:
                self.repeated[REPEATED] += 1
                _note(self._same, pair)
                return True
            self._others += 1
            _note(self._other, pair)
        self._contexts.append(contexts)
        self._content.append(content)
        self._probability.append(decision.probability)
        self._line.append(decision.line)
        self._seconds.append(_seconds(decision.time))
        return False

    def ids(self) -> npt.NDArray[np.uint64]:
        """Hashes of the event ids that have come."""
        return np.fromiter(self._ids, np.uint64, len(self._ids))

    def add(self, later: "LogSurvey") -> None:
        """Go on with what was found in a later part, none of whose event ids has come before."""
        self._ids |= {name: number + len(self._line) for name, number in later._ids.items()}
        for name in ("_contexts", "_content", "_probability", "_line", "_seconds"):
            getattr(self, name).extend(getattr(later, name))
        self.repeated.update(later.repeated)
        self._same, self._other = (self._same + later._same)[:_SHOWN], (self._other + later._other)[:_SHOWN]
        self._others += later._others

    def warnings(self) -> list[str]:
        """Sentences about what was found."""
        found = []
        if self._same:
            count = self.repeated[REPEATED]
            verb = "decision repeats" if count == 1 else "decisions repeat"
            found.append(
                f"{count:,} {verb} an earlier one with the same event id ({_listed(self._same, count)}): left out, as "
                "one that is counted twice makes every interval too narrow"
            )
        if self._others:
            verb = "decision has" if self._others == 1 else "decisions have"
            found.append(
                f"{self._others:,} {verb} the event id of an earlier one but differ from it "
                f"({_listed(self._other, self._others)}): counted as decisions of their own; give each its own event "
                "id, or leave those out that are not"
            )
        found += self._without_ids()
        seconds = np.frombuffer(self._seconds, np.float64)
        back = np.flatnonzero(seconds[1:] < np.fmax.accumulate(seconds)[:-1]) + 1 if seconds.size else np.empty(0, int)
        if back.size:
            lines = [f"line {self._line[row]}" for row in back[:_SHOWN].tolist()]
            found.append(
                f"times go back in {back.size:,} of {len(self._line):,} decisions ({_listed(lines, back.size)}): "
                "the interval `sequence` takes a log to be in the order in which it was made; sort it by time"
            )
        return found

    def _without_ids(self) -> list[str]:
        if not self._line:
            return []
        contexts, content = np.frombuffer(self._contexts, np.uint64), np.frombuffer(self._content, np.uint64)
        _, firsts, places = np.unique(contexts, return_index=True, return_inverse=True)
        first = firsts[places]
        again = np.flatnonzero(first != np.arange(first.size))
        same = again[content[again] == content[first[again]]]
        p = np.frombuffer(self._probability, np.float64)[first[again]]
        if np.isnan(p).any():  # without propensities chance has no bound
            return []
        expected, spread = float(p.sum()), math.sqrt(float((p * (1.0 - p)).sum()))
        if same.size <= expected + 4.0 * spread + 8.0:
            return []
        lines = [f"line {self._line[one]} repeats line {self._line[int(first[one])]}" for one in same[:_SHOWN].tolist()]
        return [
            f"{same.size:,} decisions repeat an earlier one in every number ({_listed(lines, same.size)}), where "
            f"chance gives about {expected:,.0f} at most: is a part of the log in it twice? Then every interval is too "
            "narrow; give decisions event ids"
        ]


def _seconds(time: str | None) -> float:
    """Since 1970; NaN if it is not known."""
    try:
        moment = datetime.fromisoformat(time or "")
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def _hashes(decision: Decision) -> tuple[int, int]:
    """Of the contexts, and of all that was offered, taken and earned."""
    contexts = decision.contexts
    parts = (contexts.indptr, contexts.indices, contexts.data) if sparse.issparse(contexts) else (contexts,)
    digest = blake2b(repr(contexts.shape).encode(), digest_size=_HASH)
    for part in parts:
        digest.update(np.ascontiguousarray(part).data if part.size else b"")
    own = int.from_bytes(digest.digest(), "little")
    digest.update(np.array([decision.arm, decision.probability, decision.reward, decision.weight]).data)
    return own, int.from_bytes(digest.digest(), "little")


def _number(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=_HASH).digest(), "little")


def _note(lines: list[str], line: str) -> None:
    if len(lines) < _SHOWN:
        lines.append(line)


def _listed(lines: list[str], count: int) -> str:
    more = count - len(lines)
    return ", ".join(lines) + (f", and {more:,} more" if more > 0 else "")
