"""dsjson, the log of Vowpal Wabbit's decision service and of Personalizer: one JSON object per line.

`_label_cost`, `_label_probability` and `_labelIndex` (0-based) say what was taken and what it cost; reward = -cost.
`a` lists the actions 1-based with the one taken first, `p` their probabilities; `c` holds the features, those of
arm i in `c._multi[i]`, the rest shared; `pdrop` is the share of events dropped at random, which gives the
decision the weight 1 / (1 - pdrop).  Lines without `a` (rewards that came without a decision) and lines with
`_skipLearn` are counted and left out.  Decisions over several slots or continuous actions are refused.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from massart.data.decisions.checks import cut, refuse, shown
from massart.data.decisions.table import Decision, FloatArray
from massart.data.hashing import Row, column, hashed_rows, too_many
from massart.data.limits import LARGEST_IN_LOG
from massart.data.records import number, record

__all__ = ["decision_to_dsjson", "read_dsjson"]

_SEVERAL = ("_outcomes", "_slots", "pdf", "_label_ca")
_DEEPEST = 100  # objects inside one another
_Path = tuple[str, ...]  # names of objects inside one another; joined only where something is wrong


class _Line:
    """One line and where it stands, for the complaints."""

    def __init__(self, source: str, at: int, text: str) -> None:
        self.source, self.at = source, at
        self.fields: dict[str, Any] = record(text, source, at)

    def refuse(self, field: str, wrong: str, remedy: str) -> None:
        refuse(self.source, self.at, field, wrong, remedy)

    def number(self, field: str, default: float | None = None) -> float:
        return number(self.fields, field, self.source, self.at, default)

    def decision(self) -> Decision:
        fields = self.fields
        for field in _SEVERAL:
            if field in fields or field in (fields.get("c") or {}):
                self.refuse(field, "several slots or continuous actions", "give a log of single decisions")
        if not isinstance(fields.get("c"), dict) or not isinstance(fields["c"].get("_multi"), list):
            self.refuse("c._multi", "the list of arms is missing", "log one object of features per arm")
        contexts = self.contexts(fields["c"])
        arm = self.number("_labelIndex")
        if arm != int(arm):
            self.refuse("_labelIndex", f"{arm:g} is not a whole number", "write the 0-based arm")
        if fields.get("_label_Action", arm + 1) != arm + 1:
            told = shown(fields["_label_Action"])
            self.refuse(
                "_label_Action", f"it is {told}, but _labelIndex {arm:g}", "count the first from 1, the other from 0"
            )
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

    def contexts(self, features: dict[str, Any]) -> Any:
        shared: Row = {}
        self._flatten({key: value for key, value in features.items() if key != "_multi"}, "", shared, ("c",))
        rows = []
        for arm, given in enumerate(features["_multi"]):
            if not isinstance(given, dict):
                self.refuse(f"c._multi[{arm}]", "it is not an object", "log an object of features per arm")
            row: Row = {}
            self._flatten(given, "", row, (f"c._multi[{arm}]",))
            rows.append(row)
        wrong = too_many(rows, shared)
        if wrong is not None:
            self.refuse("c._multi", wrong, "log fewer arms or features")
        return hashed_rows(rows, shared)

    def _flatten(self, given: dict[str, Any], namespace: str, row: Row, path: _Path) -> None:
        if len(path) > _DEEPEST:
            self.refuse("c", f"features are nested more than {_DEEPEST} deep", "flatten them")
        for key, value in given.items():
            where = (*path, key)
            if key == "_text" and isinstance(value, str):
                for word in value.split():
                    _add(row, namespace, word, 1.0)
            elif key.startswith("_") or value is None:
                continue
            elif isinstance(value, dict):
                self._flatten(value, key, row, where)
            elif isinstance(value, list):
                self._list(value, key, row, where)
            elif isinstance(value, str):
                _add(row, namespace, key + value, 1.0)
            else:
                self._number(value, namespace, key, row, where)

    def _list(self, values: list[Any], key: str, row: Row, path: _Path) -> None:
        for index, value in enumerate(values):
            if isinstance(value, dict):
                self._flatten(value, key, row, path)
            elif isinstance(value, int | float):
                self._number(value, key, f"[{index}]", row, path)
            else:
                self.refuse(
                    _dotted(path), "only lists of numbers or objects are features", "log an object of names instead"
                )

    def _number(self, value: float, namespace: str, name: str, row: Row, path: _Path) -> None:
        if not -LARGEST_IN_LOG <= value <= LARGEST_IN_LOG:
            what = f"a finite number of at most {LARGEST_IN_LOG:g} in size"
            self.refuse(_dotted(path), f"{shown(value)} is not {what}", "write one")
        if value:  # false is no feature
            _add(row, namespace, name, float(value))


def _dotted(path: _Path) -> str:
    return cut(".".join(path))


def _add(row: Row, namespace: str, name: str, value: float) -> None:
    index = column(namespace, name)
    row[index] = row.get(index, 0.0) + value


def read_dsjson(lines: Iterable[tuple[int, str]], source: str, skipped: Counter[str]) -> Iterator[Decision]:
    """Decisions from numbered lines; what is left out is counted in `skipped`.

    >>> text = '''{"_label_cost": -1, "_label_probability": 0.8, "_labelIndex": 1, "a": [2, 1], "p": [0.8, 0.2],
    ...            "EventId": "e1", "c": {"u": {"age": 3}, "_multi": [{"i": {"id": "a"}}, {"i": {"id": "b"}}]}}'''
    >>> decision = next(read_dsjson([(1, text)], "log", Counter()))
    >>> decision.arm, decision.reward, decision.probabilities.tolist(), decision.contexts.nnz
    (1, 1.0, [0.2, 0.8], 4)
    """
    for at, text in lines:
        if not text.strip():
            continue
        line = _Line(source, at, text)
        if "a" not in line.fields and "_outcomes" not in line.fields:
            skipped["rewards without a decision"] += 1
        elif line.fields.get("_skipLearn"):
            skipped["decisions that were never activated"] += 1
        else:
            yield line.decision()


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
