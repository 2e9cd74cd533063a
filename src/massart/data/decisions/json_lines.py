"""Decisions from lines of JSON, and rewards that come in lines of their own.

A line is a record of `massart.data.decisions.records`. A decision with an `event_id` may lack its reward; then it waits
for a later line with the same `event_id` and a `reward` or a `cost`, in the same file or in a later one of the log. It
is returned when its reward has come, with the time of that line if it has one. Memory grows with what waits.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from massart.data.decisions.decision import BadLines, Decision
from massart.data.decisions.records import decision_of, record
from massart.errors import InvalidDataError

__all__ = ["Waiting", "read_jsonl"]


def read_jsonl(
    lines: Iterable[tuple[int, str]], source: str, bad: BadLines | None = None, waiting: "Waiting | None" = None
) -> Iterator[Decision]:
    """Decisions from numbered lines of JSON; `bad` counts lines that are left out.

    `waiting` keeps decisions whose reward is in a later line, perhaps of another file.
    """
    bad = bad if bad is not None else BadLines()
    waiting = waiting if waiting is not None else Waiting(Counter())
    for line, text in lines:
        if not text.strip():
            continue
        try:
            decision = waiting.joined(record(text, source, line), source, line)
        except InvalidDataError as error:
            bad.take(error)
            continue
        if decision is not None:
            yield decision


class Waiting:
    """Decisions of a log that wait for a reward in a line of its own, by event id; `skipped` counts what never fits.

    >>> waiting = Waiting(Counter())
    >>> waiting.joined({"event_id": "e", "arm": 0, "arms": 2, "probability": 0.5}, "log", 1)
    >>> waiting.joined({"event_id": "e", "reward": 1}, "log", 2).reward
    1.0
    """

    def __init__(self, skipped: Counter[str]) -> None:
        self._skipped = skipped
        self._decisions: dict[str, Decision | None] = {}
        self._ids: set[str] = set()  # that have waited, or that nobody waited with

    def joined(self, fields: Mapping[str, Any], source: str, line: int) -> Decision | None:
        """The decision of this line, or of the one whose reward it brings; None if that is not there (yet)."""
        paid = fields.get("reward") is not None or fields.get("cost") is not None
        if fields.get("event_id") is None or paid == (fields.get("arm") is not None):
            return decision_of(fields, source, line)
        if not paid:
            decision = decision_of({**fields, "reward": 0.0}, source, line)
            self._decisions[str(decision.event_id)] = decision
            self._ids.add(str(decision.event_id))
            return None
        paying = decision_of({"arm": 0, "arms": 1, "probability": 1.0, **fields}, source, line)
        known = self._decisions.pop(str(paying.event_id), None)
        if known is None:
            self._ids.add(str(paying.event_id))
            self._skipped["rewards without a decision that waits for one"] += 1
            return None
        return replace(known, reward=paying.reward, time=paying.time or known.time)

    def is_missed_by(self, later: "Waiting") -> bool:
        """Whether a decision still waits here whose event id came in a later part."""
        return not self._decisions.keys().isdisjoint(later._ids)

    def add(self, later: "Waiting") -> None:
        """Keep what waits in a later part as well."""
        self._decisions |= later._decisions
        self._ids |= later._ids

    def end_of_part(self) -> None:
        """Keep of the decisions that wait only their names: no other part has their rewards."""
        self._decisions = dict.fromkeys(self._decisions)

    def finish(self) -> None:
        """Count the decisions whose reward never came."""
        if self._decisions:
            self._skipped["decisions that never got a reward"] += len(self._decisions)
