"""Rows as Parquet, Arrow and NumPy files, some at a time."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, Self

import numpy as np

from massart.data.chunk import Chunk
from massart.data.formats.arrow_files import pyarrow
from massart.data.writers.file import Target
from massart.data.writers.lines import LABEL, WEIGHT, Heading, dense_blocks

__all__ = ["ArrowRows", "NpyRows"]

_GROUP: Final = 1 << 25  # bytes of a row group
_HEADER: Final = 128  # bytes of the header of a .npy file
_PIECE: Final = 1 << 20


class ArrowRows:
    """A Parquet file or an Arrow file: the label, the importance if any row has one, a float64 for every column."""

    def __init__(self, target: Target, heading: Heading) -> None:
        arrow = pyarrow()
        self._heading = heading
        whole = heading.are_whole and len(heading.labels) == 2  # of more than two classes, others may join
        kind = arrow.int64() if whole else arrow.float64() if heading.numeric else arrow.string()
        self._label: Callable[[str], Any] = (
            (lambda text: int(float(text))) if whole else float if heading.numeric else str
        )
        columns = [(LABEL, kind), *([(WEIGHT, arrow.float64())] if heading.weighted else [])]
        columns += [(name, arrow.float64()) for name in heading.feature_names()]
        self._schema = arrow.schema(columns)
        file = arrow.PythonFile(target, mode="w")
        if heading.format == "parquet":
            self._writer = pyarrow("parquet").ParquetWriter(file, self._schema)
        else:
            self._writer = pyarrow("ipc").new_file(file, self._schema)
        self._waiting: list[Any] = []
        self._size = 0

    def add(self, chunk: Chunk) -> None:
        """Write these rows, or let them wait for others."""
        arrow = pyarrow()
        for part, cells in dense_blocks(chunk, self._heading):
            labels = [self._label(text) if text else None for text in self._heading.label_texts(chunk, part)]
            columns = [arrow.array(labels, self._schema.field(LABEL).type)]
            if self._heading.weighted:
                columns.append(arrow.array(chunk.weight[part] if chunk.weight.size else np.ones(len(labels))))
            columns += [arrow.array(column) for column in np.ascontiguousarray(cells.T)]
            batch = arrow.record_batch(columns, schema=self._schema)
            self._waiting.append(batch)
            self._size += batch.nbytes
            if self._size >= _GROUP:
                self._flush()

    def finish(self) -> None:
        """Write what waits, and the end of the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            table = pyarrow().Table.from_batches(self._waiting, self._schema).combine_chunks()
            self._writer.write_table(table)
            self._waiting, self._size = [], 0


class NpyRows:
    """An array of float64, the label first; NaN for a row without one.

    The header tells how many rows there are, which is known at the end: where it cannot be written over then, rows
    wait in a temporary file.
    """

    def __init__(self, target: Target, heading: Heading, path: str | os.PathLike[str]) -> None:
        self._target, self._heading = target, heading
        self._rows = 0
        self._body: IO[bytes] | None = None
        place = Path(path)
        if os.fspath(path) == "-" or place.suffix.lower() != ".npy" or (place.exists() and not place.is_file()):
            beside = place.parent if os.fspath(path) != "-" and place.parent.is_dir() else None
            self._body = tempfile.TemporaryFile(dir=beside)  # noqa: SIM115  it is closed with this object
        else:
            target.write(bytes(_HEADER))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._body is not None:
            self._body.close()

    def add(self, chunk: Chunk) -> None:
        """Write these rows."""
        for part, cells in dense_blocks(chunk, self._heading):
            labels = self._heading.label_numbers(chunk, part)
            block = np.column_stack((labels, cells)).astype("<f8", copy=False)
            if self._body is None:
                self._target.write(np.ascontiguousarray(block))
            else:
                with self._target.sentence():
                    self._body.write(np.ascontiguousarray(block).data)
            self._rows += len(block)

    def finish(self) -> None:
        """Write the header."""
        shape = f"({self._rows}, {(self._heading.width or 0) + 1})"
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        start = b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little")
        header = start + text.ljust(_HEADER - 11).encode() + b"\n"
        if self._body is None:
            self._target.overwrite(header)
            return
        self._target.write(header)
        with self._target.sentence():
            self._body.seek(0)
        shutil.copyfileobj(self._body, self._target, _PIECE)
