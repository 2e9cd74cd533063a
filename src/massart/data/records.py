"""Decisions as plain records, the format of massart's own JSON lines and Parquet files.

| field | |
|---|---|
| `contexts` | k rows of d numbers, or `{"starts", "columns", "values", "width"}` (CSR), or absent |
| `arms` | k, where there are neither `contexts` nor `probabilities` |
| `arm` | the one taken, 0-based |
| `probability` | that it had; may be absent where `probabilities` is given |
| `reward` or `cost` | exactly one; reward = -cost |
| `probabilities` | optional, of all arms |
| `target` | optional, what a policy to be evaluated gives to every arm |
| `event_id`, `time`, `weight` | optional |

A field that begins with `_` is somebody else's and is ignored; any other is refused, since it may be a misspelt one.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from massart.data.decisions.checks import refuse, shown
from massart.data.decisions.table import Decision, FloatArray
from massart.data.limits import LARGEST_IN_LOG, MOST_ARMS
from massart.errors import InvalidDataError

__all__ = ["decision_of", "number", "record", "record_of"]

_FIELDS = (
    *("contexts", "arms", "arm", "probability", "reward", "cost"),
    *("probabilities", "target", "event_id", "time", "weight"),
)
_SPARSE = ("starts", "columns", "values", "width")


def record(text: str, source: str, line: int) -> dict[str, Any]:
    """A JSON object from one line; a name that stands twice in it is refused.

    >>> record('{"arm": 1}', "log", 1)
    {'arm': 1}
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            refuse(source, line, max(names, key=names.count), "it stands there twice", "keep one of them")
        return found

    try:
        found = json.loads(text, object_pairs_hook=once)
    except RecursionError:
        refuse(source, line, "line", "it is nested too deeply", "flatten the features")
    except json.JSONDecodeError as error:
        refuse(source, line, f"column {error.colno}", f"not JSON ({error.msg})", "write one JSON object per line")
    except InvalidDataError:
        raise
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        refuse(source, line, "line", f"a number is above {LARGEST_IN_LOG:g} in size", "write a smaller one")
    if not isinstance(found, dict):
        refuse(source, line, "line", "it is not a JSON object", "write one JSON object per line")
    return found


def number(fields: Mapping[str, Any], field: str, source: str, line: int, default: float | None = None) -> float:
    """A finite number from a field; `default` if there is none, refused if there is no default either."""
    value = fields.get(field)
    if value is None:
        if default is None:
            refuse(source, line, field, "it is missing", "add it")
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
        refuse(source, line, field, f"{shown(value)} is not a finite number", "write one")
    if abs(value) > LARGEST_IN_LOG:
        refuse(source, line, field, f"{shown(value)} is above {LARGEST_IN_LOG:g} in size", "write a smaller number")
    return float(value)


def decision_of(fields: Mapping[str, Any], source: str, line: int) -> Decision:
    """A decision from a record.

    >>> decision_of({"arm": 1, "probabilities": [0.75, 0.25], "cost": -1}, "log", 1).probability
    0.25
    """
    unknown = sorted(field for field in set(fields) - set(_FIELDS) if not field.startswith("_"))
    if unknown:
        names = ", ".join(_FIELDS)
        refuse(
            source,
            line,
            unknown[0],
            "no such field",
            f"the fields are {names}; begin others with _ to have them ignored",
        )
    if (fields.get("reward") is None) == (fields.get("cost") is None):
        refuse(source, line, "reward", "exactly one of reward and cost is needed", "give one of them (reward = -cost)")
    paid = fields.get("reward") is not None
    reward = number(fields, "reward", source, line) if paid else 0.0 - number(fields, "cost", source, line)
    every = _vector(fields, "probabilities", source, line)
    arm = _whole(fields, "arm", source, line)
    known = float(every[arm]) if every is not None and 0 <= arm < every.size else math.nan
    return Decision(
        contexts=_contexts(fields, every, source, line),
        arm=arm,
        probability=number(fields, "probability", source, line, known),
        reward=reward,
        probabilities=every,
        target=_vector(fields, "target", source, line),
        event_id=_text(fields, "event_id", source, line),
        time=_text(fields, "time", source, line),
        weight=number(fields, "weight", source, line, 1.0),
        line=line,
    )


def record_of(decision: Decision) -> dict[str, Any]:
    """The record of a decision, without fields that say nothing.

    >>> record_of(Decision(np.eye(2), 1, 0.25, 1.0))
    {'contexts': [[1.0, 0.0], [0.0, 1.0]], 'arm': 1, 'probability': 0.25, 'reward': 1.0}
    """
    contexts: Any = None
    if sparse.issparse(decision.contexts):
        rows = decision.contexts.tocsr()
        contexts = {"starts": rows.indptr.tolist(), "columns": rows.indices.tolist(), "values": rows.data.tolist()}
        contexts["width"] = int(rows.shape[1])
    elif decision.contexts.shape[1]:
        contexts = decision.contexts.tolist()
    fields = {
        "contexts": contexts,
        "arms": decision.arms if contexts is None else None,
        "arm": decision.arm,
        "probability": decision.probability,
        "reward": decision.reward,
        "probabilities": None if decision.probabilities is None else decision.probabilities.tolist(),
        "target": None if decision.target is None else decision.target.tolist(),
        "event_id": decision.event_id,
        "time": decision.time,
        "weight": None if decision.weight == 1.0 else decision.weight,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _whole(fields: Mapping[str, Any], field: str, source: str, line: int) -> int:
    value = number(fields, field, source, line)
    if value != int(value):
        refuse(source, line, field, f"{value:g} is not a whole number", "write one")
    return int(value)


def _text(fields: Mapping[str, Any], field: str, source: str, line: int) -> str | None:
    value = fields.get(field)
    if value is not None and not isinstance(value, str):
        refuse(source, line, field, f"{shown(value)} is not a text", "put it in quotes")
    return value


def _vector(fields: Mapping[str, Any], field: str, source: str, line: int) -> FloatArray | None:
    return None if fields.get(field) is None else _numbers(fields[field], field, source, line, 1)


def _numbers(values: Any, field: str, source: str, line: int, dimensions: int) -> FloatArray:
    try:
        array = np.array(values, dtype=object if values is None else None)
    except (ValueError, OverflowError, RecursionError):  # rows of different length, whole numbers that are too large
        array = np.array(None)
    if array.ndim != dimensions or (array.size and array.dtype.kind not in "if"):
        shape = "a list of numbers" if dimensions == 1 else "rows of numbers, all of one length"
        refuse(source, line, field, f"it is not {shape}", "write it so")
    return array.astype(np.float64)


def _contexts(fields: Mapping[str, Any], every: FloatArray | None, source: str, line: int) -> Any:
    given = fields.get("contexts")
    if given is None:
        if fields.get("arms") is not None:
            arms = _whole(fields, "arms", source, line)
            if not 1 <= arms <= MOST_ARMS:
                refuse(source, line, "arms", f"{arms} is not from 1 to {MOST_ARMS:,}", "write how many arms there were")
            return np.zeros((arms, 0))
        if every is None:
            remedy = "add contexts, probabilities or arms"
            refuse(source, line, "contexts", "nothing says how many arms there were", remedy)
        return np.zeros((every.size, 0))
    if not isinstance(given, Mapping):
        rows = _numbers(given, "contexts", source, line, 2)
    elif set(given) == set(_SPARSE):
        rows = _csr(given, source, line)
    else:
        refuse(source, line, "contexts", "neither rows nor CSR", f"a CSR object has the fields {', '.join(_SPARSE)}")
    if fields.get("arms") not in (None, rows.shape[0]):
        words = f"{shown(fields['arms'])}, but contexts has {rows.shape[0]} rows"
        refuse(source, line, "arms", words, "leave it out")
    return rows


def _csr(given: Mapping[str, Any], source: str, line: int) -> Any:
    starts = _numbers(given["starts"], "contexts.starts", source, line, 1)
    columns = _numbers(given["columns"], "contexts.columns", source, line, 1)
    values = _numbers(given["values"], "contexts.values", source, line, 1)
    width = _whole(given, "width", source, line)
    whole = all((part == np.floor(part)).all() for part in (starts, columns))
    ends = starts.size > 1 and starts[0] == 0 and starts[-1] == columns.size == values.size
    inside = 0 < width < 2**31 and bool(((columns >= 0) & (columns < width)).all())
    if not (whole and ends and inside and (np.diff(starts) >= 0).all()):
        refuse(source, line, "contexts", "starts, columns, values and width do not fit together", "write CSR rows")
    parts = values, columns.astype(np.int32), starts.astype(np.int32)
    return sparse.csr_array(parts, shape=(starts.size - 1, width))
