"""The rows of a bandit race in a file: JSON, JSON lines or Parquet, by the suffix."""

import importlib
import os
from collections.abc import Sequence

from massart.arena.report import rows as labels
from massart.arena.report.files import needs, suffix_of, write_bytes
from massart.arena.report.rows import Row

__all__ = ["FIELDS", "write_rows"]

FIELDS = {
    "world": "string",
    "learner": "string",
    "seed": "int64",
    "rounds": "int64",
    "reward": "float64",  # per round, as drawn
    "lift": "float64",  # per round: expected reward of the arm played less the mean over the arms of the round
    "guaranteed_lift": "float64",  # per round, in the limit
    "best_lift": "float64",  # per round, of the best arm of every round
    "share": "float64",  # lift / best_lift
    "chance": "float64",  # standard deviation of the lift per round of random arms
    "favourite": "float64",  # probability of the most probable arm, averaged over the last rounds
    "arms": "int64",
    "gap": "float64",
    "margin": "float64",
    "dimension": "int64",
    "error": "string",
}


def write_rows(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write rows to a .json, .jsonl or .parquet file, whole or not at all; `report.read_rows` reads them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows([{"world": "simpson", "lift": 0.05}], f"{folder}/rows.jsonl")
    ...     labels.read_rows(f"{folder}/rows.jsonl")
    [{'world': 'simpson', 'lift': 0.05}]
    """
    if suffix_of(path, labels.SUFFIXES, "rows") != ".parquet":
        labels.write_rows(rows, path)
        return
    needs("pyarrow", "to write Parquet files")
    pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in FIELDS.items()])
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows], schema=schema), sink)
    write_bytes(path, bytes(sink.getvalue().to_pybytes()))
