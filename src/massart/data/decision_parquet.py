"""Logs as Parquet: the records of `massart.data.records` as columns.  PyArrow is imported when it is needed.

`contexts` is a column of lists of lists (dense) or of structs {starts, columns, values, width} (CSR).  In error
messages the line of a Parquet file is the row, counted from 1.
"""

import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from massart.data.arrow_files import MissingPyArrowError
from massart.data.decisions import Decision
from massart.data.records import decision_of, record_of
from massart.errors import InvalidDataError

__all__ = ["MissingPyArrowError", "read_parquet", "write_parquet"]

_GROUP = 8192  # rows of one row group


def read_parquet(path: Path, batch_size: int) -> Iterator[Decision]:
    """Decisions from a Parquet file, row group by row group."""
    pyarrow, parquet = _pyarrow()
    row = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size):
                for fields in batch.to_pylist():
                    row += 1
                    given = {name: value for name, value in fields.items() if value is not None}
                    yield decision_of(given, str(path), row)
    except pyarrow.ArrowException as error:
        words = str(error).splitlines()[0]
        raise InvalidDataError(
            f"{path}: not a Parquet file, or damaged after row {row} ({words}); copy it again"
        ) from None


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
