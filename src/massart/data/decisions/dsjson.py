"""dsjson, the log of VW's decision service and of Personalizer, is one JSON object per line. `_label_cost`,
`_label_probability` and `_labelIndex` (0-based) say what was taken and what it cost. `a` lists the actions 1-based
with the one taken first, `p` their probabilities; `c` holds the features, those of arm i in `c._multi[i]`, the rest
shared; `pdrop` is the share of events dropped at random, which gives the decision the weight 1 / (1 - pdrop). Lines
without `a` (rewards that came without a decision) and lines with `_skipLearn` are counted and left out. Decisions
over several slots or continuous actions are refused.

The reward is -cost, and features are hashed as those of training files in JSON lines. Shared features are copied into
every arm, or multiplied with those of each arm if they are to be crossed.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

import numpy as np

from massart.data.decisions.decision import BadLines, Decision, FloatArray, cut, refuse, shown
from massart.data.decisions.records import number, record
from massart.data.decisions.vw import SCHEMA, WIDER, stacked, too_many
from massart.data.hashing import TOO_DEEP, FeatureError, FeatureHasher
from massart.errors import InvalidDataError

__all__ = ["decision_to_dsjson", "read_dsjson"]

_SEVERAL: Final = ("_outcomes", "_slots", "pdf", "_label_ca")
_DEEPEST: Final = 100  # objects and arrays inside one another


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
        wrong = too_many(len(rows), own * (1 + len(shared)) if crossed else len(rows) * len(shared) + own)
        if wrong is not None:
            self.refuse("c._multi", wrong, "log fewer arms or features")
        return stacked(rows, shared, crossed=crossed)

    def _row(self, given: dict[str, Any], where: str, hasher: FeatureHasher) -> dict[int, float]:
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
    hasher = FeatureHasher(WIDER if crossed else SCHEMA)
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
