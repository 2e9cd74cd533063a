"""Parquet and Arrow files as record batches, from any row on.  PyArrow is imported when it is needed.

Parquet is read page by page, so memory does not grow with its row groups. The Arrow formats, file (Feather) and
stream, are both read from front to back, which works on pipes; memory holds one record batch of the file.
"""

import importlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from massart.data.pipeline import in_order
from massart.data.seekable import seekable
from massart.data.sources import Source
from massart.errors import InvalidDataError, MassartError

__all__ = ["Batch", "MissingPyArrowError", "batches", "pyarrow", "schema"]

_BUFFERS: Final = 1 << 25  # bytes of Parquet pages that are held for all columns together
_LARGEST_BUFFER, _SMALLEST_BUFFER = 1 << 16, 1 << 14  # and for one of them: in the processor's cache, it is faster
_LANE: Final = 4  # columns that are worth a thread
_LOOK: Final = 1 << 20  # bytes of a pipe within which its schema must end


class MissingPyArrowError(MassartError, ImportError):
    """PyArrow is not installed."""


class Batch(NamedTuple):
    """Some rows of a file."""

    first: int  # rows of the file before these
    columns: Any  # pyarrow.RecordBatch


def pyarrow(part: str = "") -> Any:
    """PyArrow, or a module of it."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise MissingPyArrowError(
            'pyarrow is needed for Parquet and Arrow files: pip install "massart[files]"'
        ) from None


def schema(source: Source) -> Any:
    """The names and types of the columns.

    >>> import tempfile
    >>> table = pyarrow().table({"y": [0, 1], "x": [0.5, None]})
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pyarrow("parquet").write_table(table, file.name)
    ...     names = schema(Source(file.name)).names
    ...     rest = list(batches(Source(file.name), ["x"], start=1, rows=10))
    >>> names, [(batch.first, batch.columns.num_rows) for batch in rest]
    (['y', 'x'], [(1, 1)])
    """
    with _words(source, 0):
        if _is_parquet(source):
            with _parquet(source, None) as (file, _):
                return file.schema_arrow
        with _stream(source, None, looking=True) as (reader, _):
            return reader.schema


def batches(
    source: Source, names: list[str], start: int, rows: int, *, lanes: int = 1, looking: bool = False
) -> Iterator[Batch]:
    """Rows from `start` on, at most `rows` at a time, of the columns called `names`.

    Parquet is decoded in `lanes`, threads with their own share of the columns: this takes less time in all than
    PyArrow's own threads, which wait for each other at every batch.
    `looking`: rows at the beginning of a pipe, which can be read afterwards.
    """
    found = _parquet_batches if _is_parquet(source) else _stream_batches
    with _words(source, start) as place:
        for first, batch in found(source, names, start, rows, lanes=lanes, looking=looking):
            if first + batch.num_rows > start:
                skipped = max(0, start - first)
                for begin in range(skipped, batch.num_rows, rows):
                    yield Batch(first + begin, batch.slice(begin, rows))
            place[0] = first + batch.num_rows


def _is_parquet(source: Source) -> bool:
    return source.head(4) == b"PAR1"


@contextmanager
def _words(source: Source, row: int) -> Iterator[list[int]]:
    """What PyArrow says of a file, in a sentence."""
    arrow = pyarrow()
    place = [row]
    try:
        yield place
    except MassartError:
        raise
    except (arrow.ArrowException, OSError, EOFError, ValueError, LookupError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InvalidDataError(
            f"{source.name}: not a Parquet or Arrow file, or damaged after row {place[0]:,} ({said}); copy it again"
        ) from None


@contextmanager
def _parquet(source: Source, wanted: int | None) -> Iterator[Any]:
    """(ParquetFile, Seekable), with buffers for the `wanted` number of columns."""
    with seekable(source) as opened:
        arrow, parquet = pyarrow(), pyarrow("parquet")
        size = max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, _BUFFERS // max(1, wanted or 1)))
        # Not mapped: a file that is cut while it is read must be an error, not the end of the process.
        raw = arrow.OSFile(str(opened.path)) if opened.path is not None else arrow.PythonFile(opened.file, "r")
        with parquet.ParquetFile(raw, buffer_size=size, pre_buffer=False, page_checksum_verification=True) as file:
            yield file, opened


def _parquet_batches(
    source: Source, names: list[str], start: int, rows: int, *, lanes: int, looking: bool
) -> Iterator[tuple[int, Any]]:
    lanes = max(1, min(lanes, len(names) // _LANE))
    with _parquet(source, len(names)) as (file, opened):
        group = first = 0
        total = file.metadata.num_rows
        while group < file.num_row_groups and first + file.metadata.row_group(group).num_rows <= start:
            first += file.metadata.row_group(group).num_rows
            group += 1
        if first < start and group == file.num_row_groups:
            raise _too_short(source, first, start)
        groups = list(range(group, file.num_row_groups))
        if lanes == 1 or opened.path is None:
            found = _decoded(file, groups, names, rows)
        else:
            shares = [names[lane::lanes] for lane in range(lanes)]
            found = _side_by_side([_own_file(source, groups, share, rows) for share in shares])
        for batch in found:
            yield first, batch
            first += batch.num_rows
            opened.report(first / total)


def _decoded(file: Any, groups: list[int], names: list[str], rows: int) -> Iterator[Any]:
    yield from file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False)


def _own_file(source: Source, groups: list[int], names: list[str], rows: int) -> Iterator[Any]:
    with _parquet(source, len(names)) as (file, _):
        yield from _decoded(file, groups, names, rows)


def _side_by_side(shares: list[Iterator[Any]]) -> Iterator[Any]:
    arrow = pyarrow()
    for parts in zip(*(in_order(lambda batch: batch, share, 1) for share in shares), strict=True):
        names = [name for part in parts for name in part.schema.names]
        yield arrow.record_batch([column for part in parts for column in part.columns], names=names)


@contextmanager
def _stream(source: Source, fields: list[int] | None, *, looking: bool) -> Iterator[Any]:
    """(RecordBatchReader, report): the file format is the stream format between two marks."""
    arrow, ipc = pyarrow(), pyarrow("ipc")
    start = source.head(8)
    if not start:
        raise InvalidDataError(f"{source.name} is empty: an Arrow file has at least a schema")
    if start[:4] == b"FEA1":
        raise InvalidDataError(f"{source.name} is Feather version 1: write it again with pyarrow.feather")
    offset = 8 if start[:6] == b"ARROW1" else 0
    options = ipc.IpcReadOptions(included_fields=fields)
    if looking and source.is_pipe:
        yield ipc.open_stream(arrow.BufferReader(source.head(_LOOK)[offset:]), options=options), lambda: None
        return
    with source.stream(offset) as stream:
        stored = stream.stored
        if stream.compression is None and stored.size is not None and source.path is not None:
            with arrow.OSFile(str(source.path)) as file:
                file.seek(offset)
                yield ipc.open_stream(file, options=options), lambda: setattr(stored, "taken", file.tell())
        else:
            with io.BufferedReader(stream, 1 << 16) as buffered:
                yield ipc.open_stream(arrow.PythonFile(buffered, "r"), options=options), lambda: None


def _stream_batches(
    source: Source, names: list[str], start: int, rows: int, *, lanes: int, looking: bool
) -> Iterator[tuple[int, Any]]:
    whole = schema(source).names
    fields = [whole.index(name) for name in names]
    with _stream(source, fields, looking=looking) as (reader, report):
        first = 0
        while (batch := _next(reader)) is not None:
            if first + batch.num_rows > start:
                batch.validate(full=True)  # offsets are followed by compiled code, which does not look
            yield first, batch
            first += batch.num_rows
            report()
        if first < start:
            raise _too_short(source, first, start)


def _too_short(source: Source, rows: int, start: int) -> InvalidDataError:
    return InvalidDataError(
        f"{source.name} ends after {rows:,} rows, but reading was to go on at row {start + 1:,}: "
        "is it still the same file?"
    )


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
