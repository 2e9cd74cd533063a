"""Rows by the probability of their label, the least probable first: the first ones of any number, and all to a file."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.writers.file import Target, writing
from massart.errors import InvalidParameterError, needs

__all__ = ["HEADS", "Scored", "Suspect", "Suspects", "check_table", "writing_table"]

HEADS: Final = ("row", "source", "line", "label", "suggested", "probability", "suggested_probability")
_SUFFIXES: Final = (".csv", ".parquet")
_PACKED: Final = (".gz", ".zst", ".bz2")


class Scored(NamedTuple):
    """Rows with their scores, side by side."""

    row: NDArray[np.int64]  # number of the row, from 0
    source: Sequence[str]  # the file, or ""
    line: NDArray[np.int64]  # in the file, from 1; 0 without a file
    label: NDArray[Any]
    suggested: NDArray[Any]  # the most probable label
    probability: NDArray[np.float64]  # of the label
    suggested_probability: NDArray[np.float64]

    def taken(self, rows: NDArray[np.int64]) -> "Scored":
        """Some of the rows."""
        return Scored(
            self.row[rows],
            [self.source[row] for row in rows.tolist()],
            self.line[rows],
            self.label[rows],
            self.suggested[rows],
            self.probability[rows],
            self.suggested_probability[rows],
        )


class Suspect(NamedTuple):
    """A row whose label may be wrong.

    `probability` is that of its label, as far as the learner knows, `suggested` the most probable label. Rows of arrays
    and frames have no source, and line 0.
    """

    row: int
    source: str
    line: int
    label: Any
    suggested: Any
    probability: float
    suggested_probability: float


class Suspects:
    """Keeps the rows of least probability, of equals the first, and forgets the others.

    >>> suspects = Suspects(1)
    >>> n = np.arange(3)
    >>> suspects.add(Scored(n, [""] * 3, n, n % 2, n % 2, np.array([0.9, 0.1, 0.3]), np.array([0.9, 0.9, 0.7])))
    >>> [(one.row, one.probability) for one in suspects.rows()]
    [(1, 0.1)]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[Scored] = []
        self._waiting = 0

    def add(self, rows: Scored) -> None:
        """Look at more rows."""
        if self._most == 0 or not rows.row.size:
            return
        if rows.row.size > self._most:
            rows = rows.taken(self._first(rows))
        self._parts.append(rows)
        self._waiting += rows.row.size
        if self._waiting > 4 * self._most + 4096:
            self._cut()

    def _first(self, rows: Scored) -> NDArray[np.int64]:
        return np.lexsort((rows.row, rows.probability))[: self._most]

    def _cut(self) -> None:
        if not self._parts:
            return
        columns = zip(*self._parts, strict=True)
        joined = Scored(*(_joined(part) for part in columns))
        self._parts = [joined.taken(self._first(joined))]
        self._waiting = self._parts[0].row.size

    def rows(self) -> tuple[Suspect, ...]:
        """The rows of least probability, in order."""
        self._cut()
        if not self._parts:
            return ()
        columns = [part.tolist() if isinstance(part, np.ndarray) else part for part in self._parts[0]]
        return tuple(Suspect(*row) for row in zip(*columns, strict=True))


def _joined(parts: tuple[Any, ...]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [one for part in parts for one in part]


def check_table(path: Any, what: str) -> str:
    """The kind of a table, by the end of its name; others are refused."""
    name = Path(path).name.lower()
    plain = next((name.removesuffix(end) for end in _PACKED if name.endswith(end)), name)
    for suffix in _SUFFIXES:
        if plain.endswith(suffix) and (suffix == ".csv" or plain == name):
            return suffix
    raise InvalidParameterError(f"{path}: give a name that ends in .csv or .parquet for {what}")


class _Csv:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._write([HEADS])

    def _write(self, rows: Iterable[Sequence[Any]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._target.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def add(self, columns: Sequence[list[Any]]) -> None:
        self._write(zip(*columns, strict=True))

    def close(self) -> None:
        """There is nothing to complete."""


class _Parquet:
    def __init__(self, target: Target) -> None:
        self._arrow = needs("pyarrow", "files", "to write Parquet")
        self._parquet = needs("pyarrow.parquet", "files", "to write Parquet")
        kinds = (*("int64", "string", "int64", "string", "string", "float64", "float64"),)
        self._schema = self._arrow.schema(
            [(name, getattr(self._arrow, kind)()) for name, kind in zip(HEADS, kinds, strict=True)]
        )
        self._writer = self._parquet.ParquetWriter(target, self._schema)

    def add(self, columns: Sequence[list[Any]]) -> None:
        texts = [
            [str(one) for one in column] if name in ("label", "suggested") else column
            for name, column in zip(HEADS, columns, strict=True)
        ]
        self._writer.write_table(self._arrow.table(dict(zip(HEADS, texts, strict=True)), schema=self._schema))

    def close(self) -> None:
        self._writer.close()


@contextmanager
def writing_table(path: Any, what: str = "the rows") -> Iterator[Any]:
    """A table of rows to add to, CSV or Parquet; if anything goes wrong, what was there before stays as it was."""
    kind = check_table(path, what)
    with writing(path) as target:
        table = (_Csv if kind == ".csv" else _Parquet)(target)
        yield table
        table.close()
