"""Rows to files, in every format that is read: the way back from `massart.data.read`."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from massart.data.chunk import Chunk
from massart.data.crossing import crossed
from massart.data.formats.detect import format_of_name, suffix_of
from massart.data.schema import FORMATS, Schema
from massart.data.writers.write_columns import Heading
from massart.data.writers.write_file import Target, writing
from massart.data.writers.write_text import TEXT_WRITERS, csv_first_line
from massart.errors import InvalidDataError, InvalidParameterError
from massart.files import check_place

__all__ = ["LateImportanceError", "format_to_write", "write_rows"]

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

    `reading` says how the rows were read (`Reader.reading`). What the file is, and how it is compressed, is told by
    suffixes, as in x.csv.gz, unless a format is given. Numbers read back bit for bit. Labels are the reading's two, or
    -1 and 1; svmlight, VW text and .npy have numbers only, so that texts become -1 and 1 there. Importances have a
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
        raise InvalidParameterError(f"format={asked!r}: choose one of auto, {', '.join(FORMATS)}")
    chosen = format_of_name(name) if asked == "auto" else asked
    if chosen is None:
        what = "standard output" if name == "-" else name
        raise InvalidParameterError(
            f"{what}: its name tells no format; give one of {', '.join(FORMATS)}, or a name such as {_SUFFIXES}"
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
            raise LateImportanceError(
                f"{where} is the first other than 1, too late for a column: ask for --importances"
            )
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
    from massart.data.writers.write_tables import ArrowRows, NpyRows  # noqa: PLC0415  text needs no PyArrow

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
