"""Vowpal Wabbit's text for contextual bandits (`--cb_adf`).

It has one line per arm, and an empty line after each decision:

    shared |User age:0.3 plan=pro
    |Item id=a price:1.0
    0:-1:0.25 |Item id=b price:2.0

The label action:cost:probability stands at the arm that was taken; its action number is ignored, the position
counts. Where this reader is stricter than VW: a feature or label that is no finite number, a second label in one
decision, a late `shared` line are refused, where VW warns, takes zero or goes on.

The reward is -cost, and features are hashed as those of training files, by the same parser. Shared features are copied
into every arm, or multiplied with those of each arm if they are to be crossed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np
from scipy import sparse

from massart.data import offers
from massart.data.decisions.decision import BadLines, Decision, refuse, shown
from massart.data.formats.text import parse_block
from massart.data.row_errors import MOST_ARMS, MOST_ENTRIES
from massart.data.schema import BITS, Schema
from massart.errors import InvalidDataError

__all__ = ["SCHEMA", "UNREADABLE", "WIDER", "Event", "decision_to_text", "read_text", "stacked", "too_many"]

SCHEMA: Final = Schema("vw", bits=BITS)
WIDER: Final = Schema("vw", bits=offers.BITS)  # for features that are crossed

UNREADABLE: Final = "a line that was counted as bad before it came here"  # compared by `is`

_Row = dict[int, float]  # column -> value


class Event:
    """The lines of one decision while they come in; `crossed` features are hashed to more columns."""

    def __init__(self, source: str, *, crossed: bool = False) -> None:
        self.source, self.crossed = source, crossed
        self.numbers: list[int] = []  # of the lines
        self.lines: list[bytes] = []  # their features
        self.blanks = 0  # before features
        self.arm = -1
        self.cost = self.probability = math.nan
        self.action = ""  # the number in the label
        self.tag: str | None = None
        self.has_shared = False

    def add(self, line: int, text: str) -> None:
        """Take the next line."""
        head, bar, body = text.partition("|")
        if not bar:
            refuse(self.source, line, "line", "there is no |", "write the features after a |")
        tokens, tag = self._head(line, head)
        if tokens[:1] == ["ccb"] or tokens[:1] == ["slates"]:
            refuse(self.source, line, "label", f"{tokens[0]} decisions have several slots", "log one slot per line")
        if tokens[:1] == ["shared"]:
            if self.lines:
                refuse(self.source, line, "shared", "it is not the first line", "end each decision by an empty line")
            self.has_shared = True
        elif tokens:
            self._label(line, tokens)
        if tokens:
            self.tag = tag or self.tag
        self.numbers.append(line)
        self.lines.append(b" " * len(head.encode()) + b"|" + body.encode())
        self.blanks += sum(map(body.count, " \t|"))
        if len(self.lines) > MOST_ARMS or self.blanks > MOST_ENTRIES:
            self._check_size(line, self.blanks)

    def _check_size(self, line: int, entries: int) -> None:
        wrong = too_many(len(self.lines) - self.has_shared, entries)
        if wrong is not None:
            refuse(self.source, line, "line", wrong, "end each decision by an empty line, or log fewer features")

    def _head(self, line: int, head: str) -> tuple[list[str], str | None]:
        """Label tokens and tag: the last word is a tag if it begins with ' or touches the |."""
        head = head.rpartition("\t")[2]
        tokens = head.split()
        if not tokens or not (tokens[-1].startswith("'") or not head[-1].isspace()):
            return tokens, None
        *tokens, tag = tokens
        if tag == "shared" or ":" in tag:
            wrong = f"{shown(tag)} touches the | and so would be a tag"
            refuse(self.source, line, "label", wrong, "put a space between")
        return tokens, tag.removeprefix("'")

    def _label(self, line: int, tokens: list[str]) -> None:
        if len(tokens) > 1:
            refuse(self.source, line, "label", f"{shown(' '.join(tokens))} is more than one", "log the arm drawn only")
        if self.arm >= 0:
            wrong = "a second arm of this decision has one"
            refuse(self.source, line, "label", wrong, "end each decision by an empty line")
        parts = tokens[0].split(":")
        if not 2 <= len(parts) <= 3:
            refuse(self.source, line, "label", f"{shown(tokens[0])} is not action:cost:probability", "write it so")
        self.arm = len(self.lines) - self.has_shared
        self.action = parts[0]
        self.cost = self._number(line, "cost", parts[1])
        if len(parts) == 3:
            self.probability = self._number(line, "probability", parts[2])

    def _number(self, line: int, field: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            refuse(self.source, line, field, f"{shown(text)} is not a finite number", "write one")
        return value

    def features(self) -> list[_Row]:
        """The features of each line, read as those of training files."""
        schema = WIDER if self.crossed else SCHEMA
        chunk = parse_block(b"\n".join((*self.lines, b"")), schema, labelled=False)
        if chunk.errors:
            first = chunk.errors[0]
            raise InvalidDataError(str(first._replace(source=self.source, line=self.numbers[first.line - 1])))
        data, indices, starts = (part.tolist() for part in chunk.rows)
        return [dict(zip(indices[begin:end], data[begin:end], strict=True)) for begin, end in pairwise(starts)]

    def decision(self, skipped: Counter[str]) -> Decision | None:
        """The decision of all lines; None if none of them has a label."""
        line = self.numbers[0]
        rows = self.features()
        shared = rows.pop(0) if self.has_shared else {}
        if not rows:
            refuse(self.source, line, "shared", "no arm follows it", "write a line for every arm")
        if self.arm < 0:
            skipped["decisions without a label"] += 1
            return None
        own = sum(map(len, rows))
        self._check_size(line, own * (1 + len(shared)) if self.crossed else len(rows) * len(shared) + own)
        contexts = stacked(rows, shared, crossed=self.crossed)
        return Decision(contexts, self.arm, self.probability, 0.0 - self.cost, event_id=self.tag, line=line)


def read_text(
    lines: Iterable[tuple[int, str]],
    source: str,
    skipped: Counter[str],
    bad: BadLines | None = None,
    *,
    crossed: bool = False,
) -> Iterator[Decision]:
    r"""Decisions from numbered lines; decisions without a label are counted in `skipped`.

    A decision with a bad line is left out whole, and counted in `bad`.

    >>> log = "shared |u age:3\n|i a\n0:-1:0.25 |i b\n\n|i a\n|i b\n"
    >>> skipped = Counter()
    >>> [(d.arms, d.arm, d.reward, d.probability) for d in read_text(enumerate(log.split("\n"), 1), "log", skipped)]
    [(2, 1, 1.0, 0.25)]
    >>> skipped
    Counter({'decisions without a label': 1})
    """
    bad = bad if bad is not None else BadLines()
    event: Event | None = None
    is_bad = False  # the decision that is being read
    for line, text in chain(lines, [(0, "")]):  # an empty line ends the last decision
        decision = None
        try:
            if not text.strip():
                decision = event.decision(skipped) if event is not None and not is_bad else None
            elif text is UNREADABLE:
                is_bad = True
            elif not is_bad:
                event = event or Event(source, crossed=crossed)
                event.add(line, text)
        except InvalidDataError as error:
            bad.take(error)
            is_bad = bool(text.strip())
        if not text.strip():
            event, is_bad = None, False
        if decision is not None:
            yield decision


def decision_to_text(decision: Decision) -> str:
    """One decision as VW reads it; column j of the contexts becomes the feature `xj`.

    >>> import numpy as np
    >>> print(decision_to_text(Decision(np.array([[0.5, 0.0], [0.0, 2.0]]), 1, 0.25, 1.0, event_id="e1")), end="")
    |x x0:0.5
    0:-1.0:0.25 'e1 |x x1:2.0
    <BLANKLINE>
    """
    if decision.weight != 1.0:
        raise InvalidDataError("VW's text format has no weights for decisions: write dsjson, JSON lines or Parquet")
    lines = []
    for arm in range(decision.arms):
        words = "".join(f" x{index}:{value!r}" for index, value in decision.features(arm))
        head = ""
        if arm == decision.arm:
            tag = f"'{'_'.join(decision.event_id.replace('|', '_').split())} " if decision.event_id else ""
            head = f"0:{0.0 - decision.reward!r}:{decision.probability!r} {tag}"
        lines.append(f"{head}|x{words}")
    return "\n".join(lines) + "\n\n"


def too_many(arms: int, entries: int) -> str | None:
    """What is wrong with a decision that is too large; None if nothing is."""
    if arms > MOST_ARMS:
        return f"the decision has {arms:,} arms, more than {MOST_ARMS:,}"
    if entries > MOST_ENTRIES:
        return f"the decision has up to {entries:,} features in all its arms, more than {MOST_ENTRIES:,}"
    return None


def stacked(rows: Sequence[_Row], shared: _Row, *, crossed: bool) -> "sparse.csr_array":
    """The contexts of one decision: each arm's features and the shared ones, or its products with these, as CSR."""
    starts: list[int] = [0]
    columns: list[int] = []
    values: list[float] = []
    for row in rows:
        whole = offers.crossed(row, shared) if crossed else dict(shared)
        for index, value in () if crossed else row.items():
            whole[index] = whole.get(index, 0.0) + value
        ordered = sorted(whole)
        columns.extend(ordered)
        values.extend(whole[index] for index in ordered)
        starts.append(len(columns))
    parts = np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), np.array(starts, dtype=np.int32)
    return sparse.csr_array(parts, shape=(len(rows), 1 << (offers.BITS if crossed else BITS)))
