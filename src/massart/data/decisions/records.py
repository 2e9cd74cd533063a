"""Decisions as plain records, the format of massart's own JSON lines, CSV and Parquet files.

| field | |
|---|---|
| `contexts` | k rows of d numbers, or `{"starts", "columns", "values", "width"}` (CSR), or absent |
| `ids`, `features`, `context` | instead of `contexts`: names, see `massart.data.offers` |
| `arms` | k, where there are neither `contexts` nor `probabilities` |
| `arm` | the one taken, 0-based |
| `probability` | that it had; may be absent where `probabilities` is given |
| `reward` or `cost` | exactly one; reward = -cost |
| `probabilities` | optional, of all arms |
| `target` | optional, what a policy to be evaluated gives to every arm |
| `event_id`, `time`, `weight` | optional |
| `position`, `slate` | optional: where in a list of several the arm was shown, from 1, and the name of the list |

`ids` are what the arms are called, `features` an object of features by name, a row, or null for each, and `context` an
object or a row that they share. In JSON lines a decision with an `event_id` may lack its reward, which comes later in a
line of its own, with the same `event_id`, `reward` or `cost`, and perhaps `time`.

A field that begins with `_` is ignored; any other is refused, since it may be a misspelt one. In CSV the first line
names the fields, an empty cell is an absent field, and lists and objects are JSON inside a quoted cell. In Parquet
`contexts` is a column of lists of lists (dense) or of structs (CSR), and the line of a message is the row, from 1.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from scipy import sparse

from massart.data.decisions.decision import BadLines, Decision, FloatArray, refuse, shown
from massart.data.decisions.tables import csv_names, csv_rows, csv_separator
from massart.data.io.sources import Source
from massart.data.offers import Offer, offer_of_record
from massart.data.row_errors import LARGEST_IN_LOG, MOST_ARMS
from massart.errors import InvalidDataError

__all__ = [
    "csv_header",
    "decision_of",
    "decision_to_csv",
    "decision_to_json",
    "number",
    "read_csv",
    "read_parquet",
    "record",
    "record_of",
    "write_parquet",
]

_FIELDS: Final = (
    *("contexts", "arms", "arm", "probability", "reward", "cost"),
    *("probabilities", "target", "event_id", "time", "weight", "position", "slate"),
)
_WRITTEN: Final = tuple(field for field in _FIELDS if field != "cost")
_NAMED: Final = ("ids", "features", "context")
_TEXTS: Final = ("event_id", "time", "slate")
_SPARSE: Final = ("starts", "columns", "values", "width")
_GROUP: Final = 8192  # rows of one row group that is written
_ROWS: Final = 256  # rows of Parquet that are read at once, and
_BYTES, _SOME = 1 << 22, 64  # bytes and rows of which Python objects are made at once

_Lines = Iterable[tuple[int, str]]


def decision_to_json(decision: Decision) -> str:
    """One decision as a line of JSON."""
    return json.dumps(record_of(decision), allow_nan=False) + "\n"


def read_csv(lines: _Lines, source: str, bad: BadLines | None = None) -> Iterator[Decision]:
    r"""Decisions from numbered lines of CSV; `bad` counts rows that are left out.

    >>> lines = ["arm,probabilities,reward", '1,"[0.75, 0.25]",1']
    >>> next(read_csv(enumerate(lines, 1), "log.csv")).probability
    0.25
    """
    bad = bad if bad is not None else BadLines()
    numbered = iter(lines)
    at, first = next(numbered, (1, ""))
    separator = csv_separator(first)
    if separator is None:
        refuse(source, at, "line", "it does not name the fields arm and reward or cost", "begin with a line of names")
    names = csv_names(first, separator, source)
    for line, cells in csv_rows(numbered, len(names), separator, source, bad):
        try:
            given = {name: cell for name, cell in zip(names, cells, strict=True) if cell and not name.startswith("_")}
            fields = {
                name: cell if name in _TEXTS else _parsed(cell, source, line, name) for name, cell in given.items()
            }
            decision = decision_of(fields, source, line)
        except InvalidDataError as error:
            bad.take(error)
            continue
        yield decision


def csv_header() -> str:
    """The first line of a log in CSV."""
    return ",".join(_WRITTEN) + "\n"


def decision_to_csv(decision: Decision) -> str:
    """One decision as a line of CSV, under `csv_header`."""
    fields = record_of(decision)
    texts = {name: value if name in _TEXTS else json.dumps(value) for name, value in fields.items()}
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([texts.get(name, "") for name in _WRITTEN])
    return buffer.getvalue()


def read_parquet(source: Source, bad: BadLines | None = None) -> Iterator[Decision]:
    """Decisions from a Parquet file, some rows at a time; `bad` counts rows that are left out."""
    from massart.data.formats.arrow_files import arrow_schema, batches, rows_of  # noqa: PLC0415  PyArrow

    bad = bad if bad is not None else BadLines()
    names = [name for name in arrow_schema(source).names if not name.startswith("_")]
    if not names:
        raise InvalidDataError(f"{source.name} has no columns: give a log of decisions")
    for first, batch in batches(source, names, 0, _ROWS):
        step = max(1, min(_SOME, _BYTES * batch.num_rows // max(1, batch.nbytes)))
        for begin in range(0, batch.num_rows, step):
            for row, fields in enumerate(rows_of(source, batch.slice(begin, step), first), first + begin + 1):
                given = {name: value for name, value in fields.items() if value is not None}
                try:
                    decision = decision_of(given, source.name, row)
                except InvalidDataError as error:
                    bad.take(error)
                    continue
                yield decision


def write_parquet(decisions: Iterable[Decision], target: Any) -> None:
    """Write decisions to an open file as Parquet, in row groups."""
    from massart.data.formats.arrow_files import pyarrow  # noqa: PLC0415  PyArrow

    arrow, parquet = pyarrow(), pyarrow("parquet")
    writer: Any = None
    waiting: list[dict[str, Any]] = []

    def flush() -> None:
        nonlocal writer
        if waiting:
            if writer is None:
                writer = parquet.ParquetWriter(arrow.PythonFile(target, mode="w"), _parquet_schema(arrow, waiting[0]))
            writer.write_table(arrow.Table.from_pylist(waiting, schema=writer.schema))
            waiting.clear()

    try:
        for decision in decisions:
            waiting.append(record_of(decision))
            if len(waiting) == _GROUP:
                flush()
        flush()
    finally:
        if writer is not None:
            writer.close()


def _parquet_schema(arrow: Any, first: dict[str, Any]) -> Any:
    real, whole, text = arrow.float64(), arrow.int64(), arrow.string()
    contexts = arrow.list_(arrow.list_(real))
    if isinstance(first.get("contexts"), dict):
        lists = {"starts": whole, "columns": whole, "values": real}
        contexts = arrow.struct({name: arrow.list_(kind) for name, kind in lists.items()} | {"width": whole})
    kinds = {"contexts": contexts, "arms": whole, "arm": whole, "probability": real, "reward": real, "weight": real}
    kinds |= {"probabilities": arrow.list_(real), "target": arrow.list_(real), "event_id": text, "time": text}
    kinds |= {"position": whole, "slate": text}
    return arrow.schema([(name, kinds[name]) for name in _WRITTEN])


def record(text: str, source: str, line: int) -> dict[str, Any]:
    """A JSON object from one line; a name that stands twice in it is refused.

    >>> record('{"arm": 1}', "log", 1)
    {'arm': 1}
    """
    found = _parsed(text, source, line, "line")
    if not isinstance(found, dict):
        refuse(source, line, "line", "it is not a JSON object", "write one JSON object per line")
    return found


def _parsed(text: str, source: str, line: int, field: str) -> Any:
    """A value of JSON."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            refuse(source, line, max(names, key=names.count), "it stands there twice", "keep one of them")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except RecursionError:
        refuse(source, line, field, "it is nested too deeply", "flatten the features")
    except json.JSONDecodeError as error:
        whole = field == "line"
        place = f"column {error.colno}" if whole else field
        remedy = "write one JSON object per line" if whole else "write a number, or a list in JSON"
        refuse(source, line, place, f"not JSON ({error.msg})", remedy)
    except InvalidDataError:
        raise
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        refuse(source, line, field, f"a number is above {LARGEST_IN_LOG:g} in size", "write a smaller one")


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
    unknown = sorted(field for field in set(fields) - {*_FIELDS, *_NAMED} if not field.startswith("_"))
    if unknown:
        names = ", ".join((*_FIELDS, *_NAMED))
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
    offer = _offer(fields, source, line)
    return Decision(
        contexts=_contexts(fields, every, source, line) if offer is None else offer.matrix(),
        arm=arm,
        probability=number(fields, "probability", source, line, known),
        reward=reward,
        probabilities=every,
        target=_vector(fields, "target", source, line),
        event_id=_text(fields, "event_id", source, line),
        time=_text(fields, "time", source, line),
        weight=number(fields, "weight", source, line, 1.0),
        line=line,
        position=None if fields.get("position") is None else _whole(fields, "position", source, line),
        slate=_text(fields, "slate", source, line),
        offer=offer,
    )


def _offer(fields: Mapping[str, Any], source: str, line: int) -> Offer | None:
    """The arms of a record that has names."""
    if all(fields.get(name) is None for name in _NAMED):
        return None
    if fields.get("contexts") is not None:
        if fields.get("features") is None and fields.get("context") is None:
            return None  # ids beside rows that were hashed
        refuse(source, line, "contexts", "there are features, too", "write one of them")
    try:
        return offer_of_record(fields)
    except InvalidDataError as error:
        raise InvalidDataError(f"{source}, line {line}, {error}") from None


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
        "position": decision.position,
        "slate": decision.slate,
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
