"""Vowpal Wabbit's text format for contextual bandits with action-dependent features (`--cb_adf`).

One line per arm, an empty line after each decision:

    shared |User age:0.3 plan=pro
    |Item id=a price:1.0
    0:-1:0.25 |Item id=b price:2.0

The label action:cost:probability stands at the arm that was taken; its action number is ignored, the position
counts.  A log's reward is -cost.  Features are hashed (`massart.data.hashing`), shared ones copied into every arm.
Where this reader is stricter than VW: a feature or label that is no finite number, a second label in one
decision, a late `shared` line are refused, where VW warns, takes zero or goes on.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from massart.data.decisions.checks import cut, refuse, shown
from massart.data.decisions.table import Decision
from massart.data.hashing import Row, column, hashed_rows, too_many
from massart.data.limits import MOST_ARMS, MOST_ENTRIES
from massart.errors import InvalidDataError

__all__ = ["decision_to_text", "read_text"]


class _Event:
    """The lines of one decision while they come in."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.shared: Row = {}
        self.rows: list[Row] = []
        self.entries = 0
        self.arm = -1
        self.cost = self.probability = math.nan
        self.line = 0
        self.tag: str | None = None
        self.has_shared = False

    def add(self, number: int, text: str) -> None:
        self.line = self.line or number
        head, bar, body = text.partition("|")
        if not bar:
            refuse(self.source, number, "line", "there is no |", "write the features after a |")
        tokens, tag = self._head(number, head)
        features = self._features(number, body)
        if tokens[:1] == ["ccb"] or tokens[:1] == ["slates"]:
            refuse(self.source, number, "label", f"{tokens[0]} decisions have several slots", "log one slot per line")
        if tokens[:1] == ["shared"]:
            if self.has_shared or self.rows:
                refuse(self.source, number, "shared", "it is not the first line", "end each decision by an empty line")
            self.shared, self.has_shared = features, True
            self.tag = tag or self.tag
            return
        if tokens:
            self._label(number, tokens)
            self.tag = tag or self.tag
        self.rows.append(features)
        self.entries += len(features)
        if len(self.rows) > MOST_ARMS or self.entries > MOST_ENTRIES:
            self._check_size(number)

    def _check_size(self, number: int) -> None:
        wrong = too_many(self.rows, self.shared)
        if wrong is not None:
            refuse(self.source, number, "line", wrong, "end each decision by an empty line, or log fewer features")

    def _head(self, number: int, head: str) -> tuple[list[str], str | None]:
        """Label tokens and tag: the last word is a tag if it begins with ' or touches the |."""
        head = head.rpartition("\t")[2]
        tokens = head.split()
        if not tokens or not (tokens[-1].startswith("'") or not head[-1].isspace()):
            return tokens, None
        *tokens, tag = tokens
        if tag == "shared" or ":" in tag:
            refuse(
                self.source, number, "label", f"{shown(tag)} touches the | and so would be a tag", "put a space between"
            )
        return tokens, tag.removeprefix("'")

    def _label(self, number: int, tokens: list[str]) -> None:
        if len(tokens) > 1:
            refuse(
                self.source, number, "label", f"{shown(' '.join(tokens))} is more than one", "log the arm drawn only"
            )
        if self.arm >= 0:
            refuse(
                self.source,
                number,
                "label",
                "a second arm of this decision has one",
                "end each decision by an empty line",
            )
        parts = tokens[0].split(":")
        if not 2 <= len(parts) <= 3:
            refuse(self.source, number, "label", f"{shown(tokens[0])} is not action:cost:probability", "write it so")
        self.arm = len(self.rows)
        self.cost = self._number(number, "cost", parts[1])
        if len(parts) == 3:
            self.probability = self._number(number, "probability", parts[2])

    def _number(self, number: int, field: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            refuse(self.source, number, field, f"{shown(text)} is not a finite number", "write one")
        return value

    def _features(self, number: int, body: str) -> Row:
        row: Row = {}
        for part in body.split("|"):
            words = part.split()
            namespace, scale = "", 1.0
            if part[:1] not in ("", " ", "\t") and words:
                namespace, colon, factor = words.pop(0).partition(":")
                scale = self._number(number, f"namespace {cut(namespace)}", factor) if colon else 1.0
            for word in words:
                name, colon, text = word.partition(":")
                value = 1.0
                if colon:
                    try:
                        value = float(text)
                    except ValueError:
                        name = f"{name}^{text}"  # color:red is the feature color^red
                if not math.isfinite(value):
                    wrong = f"{shown(text)} is not a finite number"
                    refuse(self.source, number, f"feature {cut(name)}", wrong, "write one")
                index = column(namespace, name)
                row[index] = row.get(index, 0.0) + scale * value
        return row

    def decision(self, skipped: Counter[str]) -> Decision | None:
        if not self.rows:
            refuse(self.source, self.line, "shared", "no arm follows it", "write a line for every arm")
        if self.arm < 0:
            skipped["decisions without a label"] += 1
            return None
        self._check_size(self.line)
        contexts = hashed_rows(self.rows, self.shared)
        return Decision(contexts, self.arm, self.probability, 0.0 - self.cost, event_id=self.tag, line=self.line)


def read_text(lines: Iterable[tuple[int, str]], source: str, skipped: Counter[str]) -> Iterator[Decision]:
    r"""Decisions from numbered lines; decisions without a label are counted in `skipped`.

    >>> log = "shared |u age:3\n|i a\n0:-1:0.25 |i b\n\n|i a\n|i b\n"
    >>> skipped = Counter()
    >>> [(d.arms, d.arm, d.reward, d.probability) for d in read_text(enumerate(log.split("\n"), 1), "log", skipped)]
    [(2, 1, 1.0, 0.25)]
    >>> skipped
    Counter({'decisions without a label': 1})
    """
    event: _Event | None = None
    for number, text in lines:
        if text.strip():
            event = event or _Event(source)
            event.add(number, text)
            continue
        if event is not None and (decision := event.decision(skipped)) is not None:
            yield decision
        event = None
    if event is not None and (decision := event.decision(skipped)) is not None:
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
