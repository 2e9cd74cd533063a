"""Parquet and Arrow files as record batches, from any row on.  PyArrow is imported when it is needed.

Parquet is read page by page, so memory does not grow with its row groups. The Arrow formats, file (Feather) and
stream, are both read from front to back, which works on pipes; memory holds one record batch of the file. Files that do
not begin with a message, as Polars writes them, are read by their footer. What a file says of its sizes is checked
before PyArrow takes memory for it (`arrow_messages`, `parquet_pages`).
"""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from massart.data.formats.arrow_messages import BlockWalker, CheckedMessages, MessageWalker, is_message
from massart.data.formats.parquet_pages import Group, check_footer, check_group, groups_of, leaves
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Seekable, Source, seekable
from massart.data.row_errors import TooLarge, most_unpacked
from massart.errors import InvalidDataError, MassartError, needs

__all__ = ["Batch", "arrow_schema", "batches", "error_messages", "pyarrow", "rows_of"]

_BUFFERS: Final = 1 << 25  # bytes of Parquet pages that are held for all columns together
_LARGEST_BUFFER, _SMALLEST_BUFFER = 1 << 16, 1 << 14  # and for one of them: in the processor's cache, it is faster
_LANE: Final = 4  # columns that are worth a thread
_LOOK: Final = 1 << 20  # bytes of a pipe within which its schema must end
_SAID: Final = 300  # characters of what PyArrow says
_LEAST_COLUMN: Final = 16  # bytes that the description of a column takes, at the least


class Batch(NamedTuple):
    """Some rows of a file."""

    first: int  # rows of the file before these
    columns: Any  # pyarrow.RecordBatch


def pyarrow(part: str = "") -> Any:
    """PyArrow, or a module of it."""
    return needs(f"pyarrow.{part}" if part else "pyarrow", "files", "for Parquet and Arrow files")


def arrow_schema(source: Source) -> Any:
    """The names and types of the columns.

    >>> import tempfile
    >>> table = pyarrow().table({"y": [0, 1], "x": [0.5, None]})
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pyarrow("parquet").write_table(table, file.name)
    ...     names = arrow_schema(Source(file.name)).names
    ...     rest = list(batches(Source(file.name), ["x"], start=1, rows=10))
    >>> names, [(batch.first, batch.columns.num_rows) for batch in rest]
    (['y', 'x'], [(1, 1)])
    """
    with error_messages(source, 0):
        if _is_parquet(source):
            with _parquet(source, None) as (file, _, _):
                found = file.schema_arrow
        else:
            with _stream(source, None, looking=True) as (reader, _, _):
                found = reader.schema
        for entry in found:  # names need not be UTF-8, which shows when they are looked at
            str(entry.type), entry.name.encode()
        return found


def rows_of(source: Source, batch: Any, row: int) -> list[dict[str, Any]]:
    """The rows of a batch as Python objects."""
    with error_messages(source, row):
        found: list[dict[str, Any]] = batch.to_pylist()
        return found


def batches(
    source: Source, names: list[str], start: int, rows: int, *, lanes: int = 1, looking: bool = False
) -> Iterator[Batch]:
    """Rows from `start` on, at most `rows` at a time, of the columns called `names`.

    Parquet is decoded in `lanes`, threads with their own share of the columns: this takes less time in all than
    PyArrow's own threads, which wait for each other at every batch.
    `looking`: rows at the beginning of a pipe, which can be read afterwards.
    """
    found = _parquet_batches if _is_parquet(source) else _stream_batches
    with error_messages(source, start) as place:
        for first, batch in found(source, names, start, rows, lanes=lanes, looking=looking):
            if first + batch.num_rows > start:
                skipped = max(0, start - first)
                for begin in range(skipped, batch.num_rows, rows):
                    yield Batch(first + begin, batch.slice(begin, rows))
            place[0] = first + batch.num_rows


def _is_parquet(source: Source) -> bool:
    return source.head(4) == b"PAR1"


@contextmanager
def error_messages(source: Source, row: int) -> Iterator[list[int]]:
    """Errors of PyArrow as messages about the file; the list that is given holds the last row before the error."""
    arrow = pyarrow()
    place = [row]
    try:
        yield place
    except MassartError:
        raise
    except TooLarge as error:
        raise InvalidDataError(f"{source.name}: {error}") from None
    except (arrow.ArrowException, OSError, EOFError, ValueError, LookupError, TypeError, OverflowError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:_SAID]
        raise InvalidDataError(
            f"{source.name}: not a Parquet or Arrow file, or damaged after row {place[0]:,} ({said}); copy it again"
        ) from None


@contextmanager
def _parquet(source: Source, wanted: int | None, texts: list[str] | None = None) -> Iterator[Any]:
    """(ParquetFile, Seekable, footer), buffers for the `wanted` number of columns; `texts` come as dictionaries."""
    with seekable(source) as opened:
        arrow, parquet = pyarrow(), pyarrow("parquet")
        buffer = max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, _BUFFERS // max(1, wanted or 1)))
        footer = check_footer(opened.file, opened.size)
        # Not mapped: a file that is cut while it is read must be an error, not the end of the process.
        raw = arrow.OSFile(str(opened.path)) if opened.path is not None else arrow.PythonFile(opened.file, "r")
        options: dict[str, Any] = {
            "buffer_size": buffer,
            "pre_buffer": False,
            "page_checksum_verification": True,
            "read_dictionary": texts,
            "thrift_string_size_limit": max(1 << 10, min(1 << 27, opened.size)),
            "thrift_container_size_limit": max(1 << 10, min(1 << 24, opened.size // _LEAST_COLUMN)),
        }
        with parquet.ParquetFile(raw, **options) as file:
            yield file, opened, footer


def _parquet_batches(
    source: Source, names: list[str], start: int, rows: int, *, lanes: int, looking: bool
) -> Iterator[tuple[int, Any]]:
    lanes = max(1, min(lanes, len(names) // _LANE))
    with ExitStack() as open_files:
        file, opened, footer = open_files.enter_context(_parquet(source, len(names)))
        groups, texts = groups_of(footer), _texts(file.schema_arrow, names)
        if texts:
            file, opened, _ = open_files.enter_context(_parquet(source, len(names), texts))
        if len(groups) != file.num_row_groups:
            raise ValueError("its row groups cannot be counted")
        group = first = 0
        total = max(1, sum(one.rows for one in groups))
        while group < len(groups) and first + groups[group].rows <= start:
            first += groups[group].rows
            group += 1
        if first < start and group == len(groups):
            raise _too_short(source, first, start)
        if lanes == 1 or opened.path is None:
            found = _decoded(file, opened, groups, group, names, rows)
        else:
            shares = [names[lane::lanes] for lane in range(lanes)]
            found = _side_by_side([_own_file(source, groups, group, share, texts, rows) for share in shares])
        for batch in found:
            yield first, batch
            first += batch.num_rows
            opened.report(first / total)


def _decoded(
    file: Any, opened: Seekable, groups: list[Group], group: int, names: list[str], rows: int
) -> Iterator[Any]:
    """The rows from a row group on; each group is checked before PyArrow comes to it."""
    columns = leaves(file.schema, names)
    made = file.iter_batches(rows, row_groups=list(range(group, len(groups))), columns=names, use_threads=False)
    reached = done = 0
    for about in groups[group:]:
        check_group(opened.file, opened.size, about, columns)
        reached += about.rows
        while done + rows <= reached and (batch := next(made, None)) is not None:
            yield _valid(batch, decoded=True)
            done += batch.num_rows
    for batch in made:
        yield _valid(batch, decoded=True)


def _valid(batch: Any, *, decoded: bool = False) -> Any:
    """The batch itself: offsets and places in dictionaries are followed by compiled code, which does not look.

    Numbers that PyArrow decoded have neither.
    """
    if not decoded or not all(map(pyarrow("types").is_primitive, batch.schema.types)):
        batch.validate(full=True)
    return batch


def _texts(of: Any, names: list[str]) -> list[str]:
    """Which of the columns are text: a few long values that come again and again are to stay a few."""
    types, wanted = pyarrow("types"), set(names)
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return [entry.name for entry in of if entry.name in wanted and any(test(entry.type) for test in tests)]


def _own_file(
    source: Source, groups: list[Group], group: int, names: list[str], texts: list[str], rows: int
) -> Iterator[Any]:
    with _parquet(source, len(names), [name for name in texts if name in names]) as (file, opened, _):
        yield from _decoded(file, opened, groups, group, names, rows)


def _side_by_side(shares: list[Iterator[Any]]) -> Iterator[Any]:
    arrow = pyarrow()
    for parts in zip(*(in_order(lambda batch: batch, share, 1) for share in shares), strict=True):
        names = [name for part in parts for name in part.schema.names]
        yield arrow.record_batch([column for part in parts for column in part.columns], names=names)


@contextmanager
def _stream(source: Source, wanted: list[int] | None, *, looking: bool) -> Iterator[Any]:
    """(RecordBatchReader, report, look): the file format is the stream format between two marks.

    `look` is to be called before each batch is read.
    """
    arrow, ipc = pyarrow(), pyarrow("ipc")
    start = source.head(12)
    if not start:
        raise InvalidDataError(f"{source.name} is empty: an Arrow file has at least a schema")
    if start[:4] == b"FEA1":
        raise InvalidDataError(f"{source.name} is Feather version 1: write it again with pyarrow.feather")
    offset = 8 if start[:6] == b"ARROW1" else 0
    options = ipc.IpcReadOptions(included_fields=wanted)
    limit = most_unpacked(source.size)
    if offset and not is_message(start[offset:]):
        with _by_footer(source, options, limit) as found:
            yield found
        return
    if looking and source.is_pipe:
        seen = CheckedMessages(io.BytesIO(source.head(_LOOK)[offset:]), limit)
        yield ipc.open_stream(arrow.PythonFile(seen, "r"), options=options), lambda: None, lambda: None
        return
    with source.stream(offset) as stream:
        stored = stream.stored
        if stream.compression is None and stored.size is not None and source.path is not None:
            with arrow.OSFile(str(source.path)) as file, source.path.open("rb") as beside:
                file.seek(offset)
                look = MessageWalker(beside, offset, stored.size, limit).to_next_batch
                look()  # a schema comes before the first batch
                again = iter((None,))  # which was looked at already

                def once() -> None:
                    if next(again, look) is look:
                        look()

                yield ipc.open_stream(file, options=options), lambda: setattr(stored, "taken", file.tell()), once
        else:
            with io.BufferedReader(stream, 1 << 16) as buffered:
                checked = arrow.PythonFile(CheckedMessages(buffered, limit), "r")
                yield ipc.open_stream(checked, options=options), lambda: None, lambda: None


class _Batches:
    """The record batches of a file with a footer, one after the other."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.schema, self.count, self.taken = file.schema, file.num_record_batches, 0

    def read_next_batch(self) -> Any:
        """The next one."""
        if self.taken == self.count:
            raise StopIteration
        self.taken += 1
        return self._file.get_batch(self.taken - 1)


@contextmanager
def _by_footer(source: Source, options: Any, limit: int) -> Iterator[Any]:
    """`_stream` for a file whose messages are found by its footer."""
    arrow, ipc = pyarrow(), pyarrow("ipc")
    with seekable(source) as opened:
        look = BlockWalker(opened.file, opened.size, limit).to_next_batch
        # Another descriptor: PyArrow reads where it likes.
        raw = arrow.OSFile(str(opened.path)) if opened.path is not None else arrow.PythonFile(opened.file, "r")
        reader = _Batches(ipc.open_file(raw, options=options))
        yield reader, lambda: opened.report(reader.taken / max(1, reader.count)), look


def _stream_batches(
    source: Source, names: list[str], start: int, rows: int, *, lanes: int, looking: bool
) -> Iterator[tuple[int, Any]]:
    whole = arrow_schema(source).names
    wanted = [whole.index(name) for name in names]
    with _stream(source, wanted, looking=looking) as (reader, report, look):
        first = 0
        while (batch := _next(reader, look)) is not None:
            if first + batch.num_rows > start:
                _valid(batch)
            yield first, batch
            first += batch.num_rows
            report()
        if first < start:
            raise _too_short(source, first, start)


def _too_short(source: Source, rows: int, start: int) -> InvalidDataError:
    return InvalidDataError(
        f"{source.name} ends after {rows:,} rows, but reading was to continue at row {start + 1:,}: "
        "is it still the same file?"
    )


def _next(reader: Any, look: Callable[[], None]) -> Any:
    try:
        look()
        return reader.read_next_batch()
    except StopIteration:
        return None
