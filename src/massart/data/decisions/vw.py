"""The two log formats of Vowpal Wabbit: text for contextual bandits (`--cb_adf`), and dsjson.

Text has one line per arm, and an empty line after each decision:

    shared |User age:0.3 plan=pro
    |Item id=a price:1.0
    0:-1:0.25 |Item id=b price:2.0

The label action:cost:probability stands at the arm that was taken; its action number is ignored, the position
counts. Where this reader is stricter than VW: a feature or label that is no finite number, a second label in one
decision, a late `shared` line are refused, where VW warns, takes zero or goes on.

dsjson, the log of VW's decision service and of Personalizer, is one JSON object per line. `_label_cost`,
`_label_probability` and `_labelIndex` (0-based) say what was taken and what it cost. `a` lists the actions 1-based
with the one taken first, `p` their probabilities; `c` holds the features, those of arm i in `c._multi[i]`, the rest
shared; `pdrop` is the share of events dropped at random, which gives the decision the weight 1 / (1 - pdrop). Lines
without `a` (rewards that came without a decision) and lines with `_skipLearn` are counted and left out. Decisions
over several slots or continuous actions are refused.

In both, reward = -cost, and features are hashed as those of training files: VW text by the same parser, JSON by
`massart.data.hashing.FeatureHasher`. Shared features are copied into every arm, or multiplied with those of each arm if
they are to be crossed.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Final, NoReturn

import numpy as np
from scipy import sparse

from massart.data.decisions import offers
from massart.data.decisions.decision import BadLines, Decision, FloatArray, cut, refuse, shown
from massart.data.decisions.records import number, record
from massart.data.formats.text import parse_block
from massart.data.hashing import TOO_DEEP, FeatureError, FeatureHasher
from massart.data.row_errors import MOST_ARMS, MOST_ENTRIES
from massart.data.schema import BITS, Schema
from massart.errors import InvalidDataError

__all__ = ["UNREADABLE", "Event", "decision_to_dsjson", "decision_to_text", "read_dsjson", "read_text"]

_SCHEMA: Final = Schema("vw", bits=BITS)
_WIDER: Final = Schema("vw", bits=offers.BITS)  # for features that are crossed
_SEVERAL: Final = ("_outcomes", "_slots", "pdf", "_label_ca")
_DEEPEST: Final = 100  # objects and arrays inside one another

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
        wrong = _too_many(len(self.lines) - self.has_shared, entries)
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
        schema = _WIDER if self.crossed else _SCHEMA
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
        contexts = _contexts(rows, shared, crossed=self.crossed)
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


class _Line:
    """One line of dsjson and where it stands, for messages."""

    def __init__(self, source: str, at: int, text: str) -> None:
        self.source, self.at = source, at
        self.fields: dict[str, Any] = record(text, source, at)

    def refuse(self, field: str, wrong: str, remedy: str) -> NoReturn:
        refuse(self.source, self.at, field, wrong, remedy)

    def number(self, field: str, default: float | None = None) -> float:
        return number(self.fields, field, self.source, self.at, default)

    def why_left_out(self) -> str | None:
        if "a" not in self.fields and "_outcomes" not in self.fields:
            return "rewards without a decision"
        return "decisions that were never activated" if self.fields.get("_skipLearn") else None

    def decision(self, hasher: FeatureHasher, *, crossed: bool = False) -> Decision:
        fields = self.fields
        for field in _SEVERAL:
            if field in fields or field in (fields.get("c") or {}):
                self.refuse(field, "several slots or continuous actions", "give a log of single decisions")
        if not isinstance(fields.get("c"), dict) or not isinstance(fields["c"].get("_multi"), list):
            self.refuse("c._multi", "the list of arms is missing", "log one object of features per arm")
        contexts = self.contexts(fields["c"], hasher, crossed=crossed)
        arm = self.number("_labelIndex")
        if arm != int(arm):
            self.refuse("_labelIndex", f"{arm:g} is not a whole number", "write the 0-based arm")
        if fields.get("_label_Action", arm + 1) != arm + 1:
            wrong = f"it is {shown(fields['_label_Action'])}, but _labelIndex {arm:g}"
            self.refuse("_label_Action", wrong, "count the first from 1, the other from 0")
        dropped = self.number("pdrop", 0.0)
        if not 0.0 <= dropped < 1.0:
            self.refuse("pdrop", f"{dropped:g} is not in [0, 1)", "write the share of events that were dropped")
        return Decision(
            contexts=contexts,
            arm=int(arm),
            probability=self.number("_label_probability", math.nan),
            reward=0.0 - self.number("_label_cost"),
            probabilities=self.probabilities(contexts.shape[0], int(arm)),
            event_id=self.text("EventId"),
            time=self.text("Timestamp"),
            weight=1.0 / (1.0 - dropped),
            line=self.at,
        )

    def text(self, field: str) -> str | None:
        value = self.fields.get(field)
        if value is not None and not isinstance(value, str):
            self.refuse(field, f"{shown(value)} is not a text", "put it in quotes")
        return value

    def probabilities(self, arms: int, taken: int) -> FloatArray | None:
        order, listed = self.fields["a"], self.fields.get("p")
        whole = isinstance(order, list) and all(type(action) is int for action in order)
        if not whole or sorted(order) != list(range(1, arms + 1)):
            self.refuse("a", f"{shown(order)} are not the {arms} arms counted from 1", "list every arm once")
        if order[0] != taken + 1:
            self.refuse("a", f"{order[0]} stands first, but _labelIndex is {taken}", "list the arm taken first")
        if listed is None:
            return None
        numeric = isinstance(listed, list) and all(type(share) in (int, float) and share <= 2 for share in listed)
        if not numeric or len(listed) != arms:
            self.refuse("p", f"{shown(listed)} are not {arms} probabilities", "list one per entry of a")
        every = np.empty(arms)
        every[np.array(order) - 1] = listed
        return every

    def contexts(self, features: dict[str, Any], hasher: FeatureHasher, *, crossed: bool) -> Any:
        arms = features["_multi"]
        shared = self._row({key: value for key, value in features.items() if key != "_multi"}, "c", hasher)
        rows = []
        for arm, given in enumerate(arms):
            if not isinstance(given, dict):
                self.refuse(f"c._multi[{arm}]", "it is not an object", "log an object of features per arm")
            rows.append(self._row(given, f"c._multi[{arm}]", hasher))
        own = sum(map(len, rows))
        wrong = _too_many(len(rows), own * (1 + len(shared)) if crossed else len(rows) * len(shared) + own)
        if wrong is not None:
            self.refuse("c._multi", wrong, "log fewer arms or features")
        return _contexts(rows, shared, crossed=crossed)

    def _row(self, given: dict[str, Any], where: str, hasher: FeatureHasher) -> _Row:
        try:
            return hasher.row(_features(given, 0), frozenset()).values
        except FeatureError as error:
            field, message = error.args
            place = cut(f"{where}.{field}" if field else where)
            raise InvalidDataError(f"{self.source}, line {self.at}, {place}: {message}") from None


def _features(given: Any, depth: int) -> Any:
    """Objects as pairs, without fields that begin with _: these are no features, but for the words of `_text`."""
    if depth > _DEEPEST:
        raise FeatureError(0, TOO_DEEP)
    if isinstance(given, list):
        return [_features(value, depth + 1) for value in given]
    if not isinstance(given, dict):
        return given
    words = given.get("_text")
    pairs = [(name, _features(value, depth + 1)) for name, value in given.items() if not name.startswith("_")]
    return (*pairs, *((word, 1.0) for word in (words.split() if isinstance(words, str) else ())))


def read_dsjson(
    lines: Iterable[tuple[int, str]],
    source: str,
    skipped: Counter[str],
    bad: BadLines | None = None,
    *,
    crossed: bool = False,
) -> Iterator[Decision]:
    """Decisions from numbered lines; what is left out is counted in `skipped`, bad lines in `bad`.

    >>> text = '''{"_label_cost": -1, "_label_probability": 0.8, "_labelIndex": 1, "a": [2, 1], "p": [0.8, 0.2],
    ...            "EventId": "e1", "c": {"u": {"age": 3}, "_multi": [{"i": {"id": "a"}}, {"i": {"id": "b"}}]}}'''
    >>> decision = next(read_dsjson([(1, text)], "log", Counter()))
    >>> decision.arm, decision.reward, decision.probabilities.tolist(), decision.contexts.nnz
    (1, 1.0, [0.2, 0.8], 4)
    """
    bad = bad if bad is not None else BadLines()
    hasher = FeatureHasher(_WIDER if crossed else _SCHEMA)
    for at, text in lines:
        if not text.strip():
            continue
        try:
            line = _Line(source, at, text)
            why = line.why_left_out()
            decision = line.decision(hasher, crossed=crossed) if why is None else None
        except InvalidDataError as error:
            bad.take(error)
            continue
        if why is not None:
            skipped[why] += 1
        if decision is not None:
            yield decision


def decision_to_dsjson(decision: Decision) -> str:
    """One decision as a line of dsjson; column j of the contexts becomes the feature `xj` of the namespace `x`.

    >>> line = json.loads(decision_to_dsjson(Decision(np.eye(2), 1, 0.25, 1.0)))
    >>> line["_label_cost"], line["_labelIndex"], line["a"], line["c"]["_multi"][1]
    (-1.0, 1, [2, 1], {'x': {'x1': 1.0}})
    """
    order = [decision.arm, *(arm for arm in range(decision.arms) if arm != decision.arm)]
    arms = [{"x": {f"x{index}": value for index, value in decision.features(arm)}} for arm in range(decision.arms)]
    fields: dict[str, Any] = {
        "_label_cost": 0.0 - decision.reward,
        "_label_probability": decision.probability,
        "_label_Action": decision.arm + 1,
        "_labelIndex": decision.arm,
        "Timestamp": decision.time,
        "Version": "1",
        "EventId": decision.event_id,
        "a": [arm + 1 for arm in order],
        "c": {"_multi": arms},
    }
    if decision.probabilities is not None:
        fields["p"] = decision.probabilities[order].tolist()
    if decision.weight != 1.0:
        fields["pdrop"] = 1.0 - 1.0 / decision.weight
    return json.dumps({key: value for key, value in fields.items() if value is not None}, allow_nan=False) + "\n"


def _too_many(arms: int, entries: int) -> str | None:
    """What is wrong with a decision that is too large; None if nothing is."""
    if arms > MOST_ARMS:
        return f"the decision has {arms:,} arms, more than {MOST_ARMS:,}"
    if entries > MOST_ENTRIES:
        return f"the decision has up to {entries:,} features in all its arms, more than {MOST_ENTRIES:,}"
    return None


def _contexts(rows: Sequence[_Row], shared: _Row, *, crossed: bool) -> "sparse.csr_array":
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
