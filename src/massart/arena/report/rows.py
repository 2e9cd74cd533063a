"""The rows of a race in a file: JSON, JSON lines or Parquet, by the suffix.

A row is one checkpoint of one run: (world, learner, seed, rounds) and what was counted until then. `FIELDS` says
what each entry is; a value that does not exist (an angle to zero weights, a bound without a margin) is None.
"""

import importlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from massart.arena.report.files import needs, suffix_of, write_bytes
from massart.errors import InvalidDataError

__all__ = ["FIELDS", "SUFFIXES", "Row", "read_rows", "rows_as_json", "write_rows"]

Row = Mapping[str, Any]

SUFFIXES = (".json", ".jsonl", ".parquet")
FIELDS = {
    "world": "string",
    "learner": "string",
    "seed": "int64",
    "rounds": "int64",
    "mistakes": "int64",  # against the label told
    "clean_mistakes": "int64",  # against the true label
    "noise_rate": "float64",
    "margin": "float64",
    "dimension": "int64",
    "angle": "float64",  # degrees between weights and target
    "bound": "float64",  # on the expected mistakes until this checkpoint
    "certified": "float64",  # the learner's own certificate, from the gradients it has seen
    "holds": "bool",
    "error": "string",
}


def _storable(value: Any) -> Any:
    """None for NaN and infinities, which JSON cannot say; plain Python numbers for NumPy's."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [{key: _storable(value) for key, value in row.items()} for row in rows]


def rows_as_json(rows: Iterable[Row]) -> str:
    """One JSON array, one row per line.

    >>> print(rows_as_json([{"world": "kink", "rounds": 1}, {"world": "kink", "rounds": 2}]))
    [
    {"world": "kink", "rounds": 1},
    {"world": "kink", "rounds": 2}
    ]
    """
    lines = [json.dumps(row, allow_nan=False) for row in _plain(rows)]
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def write_rows(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write rows to a .json, .jsonl or .parquet file, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows([{"world": "kink", "mistakes": 3, "angle": None}], f"{folder}/rows.jsonl")
    ...     read_rows(f"{folder}/rows.jsonl")
    [{'world': 'kink', 'mistakes': 3, 'angle': None}]
    """
    suffix = suffix_of(path, SUFFIXES, "rows")
    if suffix == ".json":
        content = (rows_as_json(rows) + "\n").encode()
    elif suffix == ".jsonl":
        content = "".join(json.dumps(row, allow_nan=False) + "\n" for row in _plain(rows)).encode()
    else:
        content = _parquet(_plain(rows))
    write_bytes(path, content)


def read_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read what `write_rows` wrote."""
    suffix = suffix_of(path, SUFFIXES, "rows")
    try:
        if suffix == ".parquet":
            needs("pyarrow", "to read Parquet files")
            return list(importlib.import_module("pyarrow.parquet").read_table(path).to_pylist())
        text = Path(path).read_text(encoding="utf-8")
        rows = json.loads(text) if suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    except OSError:
        raise
    except ValueError as error:  # JSON's and Arrow's own complaints are ValueErrors
        raise InvalidDataError(
            f"{os.fspath(path)} does not hold the rows of a race ({error}): write it again"
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidDataError(f"{os.fspath(path)} does not hold the rows of a race: give a file made by write_rows")
    return rows


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    needs("pyarrow", "to write Parquet files")
    pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    types = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "float64": pyarrow.float64(),
        "bool": pyarrow.bool_(),
    }
    columns = dict.fromkeys([*FIELDS, *(key for row in rows for key in row)])
    arrays = {
        key: pyarrow.array([row.get(key) for row in rows], types[FIELDS[key]] if key in FIELDS else None)
        for key in columns
    }
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(arrays), sink)
    return bytes(sink.getvalue().to_pybytes())
