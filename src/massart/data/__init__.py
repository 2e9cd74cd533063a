"""Formats in and out, chunked: labelled rows (`read`, `write_rows`) and logs of decisions (`DecisionLog`).

    for chunk in massart.data.read("train.svm.gz"):
        classifier.partial_fit(chunk.X, chunk.y, classes=[-1, 1])

Every name is loaded when it is first used: reading text needs neither SciPy nor PyArrow.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from massart.data.chunk import Chunk as Chunk
    from massart.data.chunk import Position as Position
    from massart.data.decisions import LOG_FORMATS as LOG_FORMATS
    from massart.data.decisions import Decision as Decision
    from massart.data.decisions import DecisionBatch as DecisionBatch
    from massart.data.decisions import DecisionLog as DecisionLog
    from massart.data.decisions import LogColumns as LogColumns
    from massart.data.decisions import write_decisions as write_decisions
    from massart.data.reader import Reader as Reader
    from massart.data.reader import read as read
    from massart.data.row_errors import RowError as RowError
    from massart.data.schema import FORMATS as FORMATS
    from massart.data.schema import Schema as Schema
    from massart.data.writers import write_rows as write_rows

_HOME = {
    "Chunk": "chunk",
    "Decision": "decisions",
    "DecisionBatch": "decisions",
    "DecisionLog": "decisions",
    "FORMATS": "schema",
    "LOG_FORMATS": "decisions",
    "LogColumns": "decisions",
    "Position": "chunk",
    "Reader": "reader",
    "RowError": "row_errors",
    "Schema": "schema",
    "read": "reader",
    "write_decisions": "decisions",
    "write_rows": "writers",
}

__all__ = [
    "FORMATS",
    "LOG_FORMATS",
    "Chunk",
    "Decision",
    "DecisionBatch",
    "DecisionLog",
    "LogColumns",
    "Position",
    "Reader",
    "RowError",
    "Schema",
    "read",
    "write_decisions",
    "write_rows",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"massart.data.{_HOME[name]}"), name)
    raise AttributeError(f"module 'massart.data' has no attribute {name!r}; its public names are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
