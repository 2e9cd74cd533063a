"""Logs as Parquet: the records of `massart.data.records` as columns.  PyArrow is imported when it is needed.

`contexts` is a column of lists of lists (dense) or of structs {starts, columns, values, width} (CSR).  In error
messages the line of a Parquet file is the row, counted from 1.
"""

import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from massart.data.decisions.table import Decision
from massart.data.formats.arrow_files import MissingPyArrowError, batches, fields, rows_of
from massart.data.io.sources import Source
from massart.data.records import decision_of, record_of
from massart.errors import InvalidDataError

__all__ = ["MissingPyArrowError", "read_parquet", "write_parquet"]

_GROUP = 8192  # rows of one row group that is written
_ROWS = 256  # rows that are read at once, and
_BYTES, _SOME = 1 << 22, 64  # bytes and rows of which Python objects are made at once


def read_parquet(path: Path) -> Iterator[Decision]:
    """Decisions from a Parquet file, some rows at a time."""
    source = Source(path)
    names = [name for name, _ in fields(source) if not name.startswith("_")]
    if not names:
        raise InvalidDataError(f"{source.name} has no columns: give a log of decisions")
    for first, batch in batches(source, names, 0, _ROWS):
        step = max(1, min(_SOME, _BYTES * batch.num_rows // max(1, batch.nbytes)))
        for begin in range(0, batch.num_rows, step):
            for row, record in enumerate(rows_of(source, batch.slice(begin, step), first), first + begin + 1):
                given = {name: value for name, value in record.items() if value is not None}
                yield decision_of(given, source.name, row)


def write_parquet(decisions: Iterable[Decision], path: Path) -> None:
    """Write decisions to a Parquet file, in row groups."""
    pyarrow, parquet = _pyarrow()
    writer: Any = None
    waiting: list[dict[str, Any]] = []

    def flush() -> None:
        nonlocal writer
        if waiting:
            if writer is None:
                writer = parquet.ParquetWriter(path, _schema(pyarrow, waiting[0]))
            writer.write_table(pyarrow.Table.from_pylist(waiting, schema=writer.schema))
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


def _schema(pyarrow: Any, first: dict[str, Any]) -> Any:
    number, whole, text = pyarrow.float64(), pyarrow.int64(), pyarrow.string()
    contexts = pyarrow.list_(pyarrow.list_(number))
    if isinstance(first.get("contexts"), dict):
        lists = {"starts": whole, "columns": whole, "values": number}
        contexts = pyarrow.struct({name: pyarrow.list_(kind) for name, kind in lists.items()} | {"width": whole})
    columns = {
        "contexts": contexts,
        "arms": whole,
        "arm": whole,
        "probability": number,
        "reward": number,
        "probabilities": pyarrow.list_(number),
        "target": pyarrow.list_(number),
        "event_id": text,
        "time": text,
        "weight": number,
    }
    return pyarrow.schema(list(columns.items()))


def _pyarrow() -> tuple[Any, Any]:
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingPyArrowError('pyarrow is needed to read and write Parquet: pip install "massart[files]"')
    return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
