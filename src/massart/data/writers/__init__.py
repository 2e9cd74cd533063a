"""Rows to files, in every format that is read: the way back from `massart.data.read`, and from format to format."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from massart.data.chunk import Chunk, RowError, crossed
from massart.data.formats import format_of_name, suffix_of
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.data.schema import FORMATS, Schema
from massart.data.writers.file import Target, writing
from massart.data.writers.lines import TABLES, TEXT_WRITERS, Heading, csv_first_line
from massart.errors import InvalidDataError, InvalidParameterError
from massart.files import check_place
from massart.values import Value

__all__ = ["Converted", "LateImportanceError", "convert_rows", "format_to_write", "write_rows"]

_WITHOUT_WEIGHTS = ("svmlight", "npy")
_SUFFIXES = "x.svm, x.vw, x.csv, x.jsonl, x.parquet, x.arrow or x.npy"


class LateImportanceError(InvalidDataError):
    """The first importance other than 1 comes when rows without a column of importances are written already."""


def write_rows(
    chunks: Iterable[Chunk],
    path: str | os.PathLike[str],
    schema: Schema,
    format: str = "auto",  # noqa: A002  what `read` calls it
    *,
    weighted: bool | None = None,
) -> int:
    r"""Write rows to a file, or to standard output ("-"); return how many. The file is there when it is whole.

    `schema` says how the rows were read (`Reader.schema`). The format, and how the file is compressed, follow from
    suffixes, as in x.csv.gz, unless a format is given. Numbers read back bit for bit. Labels are those of the schema,
    or -1 and 1; svmlight, VW text and .npy have numbers only, so that texts become -1 and 1 there. Importances have a
    column of their own in CSV, JSON lines and tables, if `weighted`; by default, if the first rows have any. Crossed
    features are written out.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from massart.data import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.svm").write_text("1 1:0.5\n-1 1:0.25 2:3\n")
    ...     reader = read(f"{folder}/a.svm")
    ...     write_rows(reader, f"{folder}/a.csv", reader.schema), Path(folder, "a.csv").read_text()
    (2, '1,0.5,0\n-1,0.25,3\n')
    """
    to = format_to_write(path, format)
    if os.fspath(path) != "-":
        check_place(path)
    parts = _crossed(chunks)
    first = next(parts, None)
    if weighted is None:
        weighted = schema.weight is not None or (first is not None and first.weight.size > 0)
    heading = Heading.of(schema, to, weighted=weighted)
    with writing(path) as target:
        every = iter(()) if first is None else _checked(first, parts, heading)
        write = _write_text if to in TEXT_WRITERS else _write_table
        return write(every, target, heading, path)


def format_to_write(path: str | os.PathLike[str], asked: str = "auto") -> str:
    """Which format a file gets.

    >>> format_to_write("clicks.csv.gz"), format_to_write("-", "vw")
    ('csv', 'vw')
    """
    name = os.fspath(path)
    if asked not in ("auto", *FORMATS):
        raise InvalidParameterError(f"{asked!r} is no format to write: choose one of auto, {', '.join(FORMATS)}")
    chosen = format_of_name(name) if asked == "auto" else asked
    if chosen is None:
        what = "standard output" if name == "-" else name
        raise InvalidParameterError(
            f"{what}: its name shows no format; pass one of {', '.join(FORMATS)}, or a name such as {_SUFFIXES}"
        )
    return chosen


def _crossed(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    for chunk in chunks:
        for part in crossed(chunk):
            if len(part):
                yield part


def _checked(first: Chunk, others: Iterator[Chunk], heading: Heading) -> Iterator[Chunk]:
    """The chunks, as long as their importances can be written."""
    chunk: Chunk | None = first
    while chunk is not None:
        without = heading.format in _WITHOUT_WEIGHTS
        if chunk.weight.size and (without or not (heading.weighted or heading.format == "vw")):
            row = int((chunk.weight != 1.0).argmax())
            where = f"{chunk.source}, line {int(chunk.lines[row])}: an importance of {chunk.weight[row]:g}"
            if without:
                raise InvalidParameterError(
                    f"{where}, which {heading.format} cannot hold: write VW text, CSV, JSON lines, Parquet or Arrow"
                )
            raise LateImportanceError(f"{where} is the first other than 1, too late for a column: pass `weighted=True`")
        yield chunk
        chunk = next(others, None)


def _write_text(chunks: Iterator[Chunk], target: Target, heading: Heading, path: str | os.PathLike[str]) -> int:
    separator = {"separator": "\t"} if heading.format == "csv" and suffix_of(os.fspath(path)) == ".tsv" else {}
    lines = TEXT_WRITERS[heading.format](heading, **separator)
    if heading.format == "csv":
        target.write(csv_first_line(heading, **separator).encode(errors="surrogatepass"))
    rows = 0
    for chunk in chunks:
        target.write("\n".join([*lines(chunk), ""]).encode(errors="surrogatepass"))
        rows += len(chunk)
    return rows


def _write_table(chunks: Iterator[Chunk], target: Target, heading: Heading, path: str | os.PathLike[str]) -> int:
    from massart.data.writers.tables import ArrowRows, NpyRows  # noqa: PLC0415  text needs no PyArrow

    rows = 0
    with ExitStack() as stack:
        writer = (
            stack.enter_context(NpyRows(target, heading, path))
            if heading.format == "npy"
            else ArrowRows(target, heading)
        )
        for chunk in chunks:
            writer.add(chunk)
            rows += len(chunk)
        writer.finish()
    return rows


class Converted(Value):
    """What was written, and what was not."""

    rows: int
    left_out: int  # rows with an error
    schema: Schema  # how the rows were read


def convert_rows(
    paths: Sequence[str],
    out: str | os.PathLike[str],
    schema: Schema,
    *,
    to: str = "auto",
    labelled: bool = True,
    weighted: bool | None = None,
    strict: bool = False,
    workers: int = 2,
    on_error: Callable[[RowError], None] = lambda error: None,
    on_rows: Callable[[int, float | None], None] = lambda rows, fraction: None,
    on_warning: Callable[[str], None] = lambda message: None,
) -> Converted:
    r"""Write the rows of files, folders, patterns or standard input ("-") to one file; "-" is standard output.

    Without `labelled`, rows need no label. `weighted` is that of `write_rows`; by default, whatever is needed. With
    `strict`, a malformed row is an error, and nothing is written. `on_rows` gets how many rows there were so far,
    and which share of the input that is, if it is known; `on_warning`, messages about columns
    (`Reader.column_warnings`).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.vw").write_text("1 2 'x | 3:0.5\n-1 | 5\n1 | 3:\n")
    ...     found = convert_rows([f"{folder}/a.vw"], f"{folder}/b.vw", Schema(bits=4))
    ...     found.rows, found.left_out, Path(folder, "b.vw").read_text()
    (2, 1, "1 2 'x | 3:0.5\n-1 | 5:1\n")
    """
    sources = find_sources(list(paths))
    if os.fspath(out) != "-" and Path(out).is_file():
        for source in sources:
            if source.path is not None and Path(out).samefile(source.path):
                raise InvalidParameterError(f"{out} is also an input: give another name")
    chosen = format_to_write(out, to)
    reader = Reader(sources, schema, workers=workers, labelled=labelled, tags=chosen == "vw")
    for message in reader.column_warnings():
        on_warning(message)
    if chosen in TABLES:
        reader.with_width()
    left_out = 0

    def rows(report: Callable[[RowError], None]) -> Iterator[Chunk]:
        nonlocal left_out
        left_out = done = 0
        for chunk in reader.chunks():
            for part in crossed(chunk):
                for error in part.errors:
                    if strict:
                        raise InvalidDataError(f"{error} (with `strict=False` the row is left out)")
                    left_out += 1
                    report(error)
                yield part
            done += len(chunk)
            on_rows(done, reader.fraction())

    try:
        written = write_rows(rows(on_error), out, reader.schema, chosen, weighted=weighted)
    except LateImportanceError:
        if os.fspath(out) == "-" or any(source.is_pipe for source in sources):
            raise
        written = write_rows(rows(lambda error: None), out, reader.schema, chosen, weighted=True)
    return Converted(written, left_out, reader.schema)
