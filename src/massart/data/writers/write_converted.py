"""Files of one format to a file of another, row by row."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from massart.data.chunk import Chunk, RowError
from massart.data.crossing import crossed
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.data.writers.write import LateImportanceError, format_to_write, write_rows
from massart.data.writers.write_columns import TABLES
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["Converted", "convert_rows"]


@dataclass(frozen=True)
class Converted:
    """What was written, and what was not."""

    rows: int
    flawed: int  # rows left out
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
    on_doubt: Callable[[str], None] = lambda words: None,
) -> Converted:
    r"""Write the rows of files, folders, patterns or standard input ("-") to one file; "-" is standard output.

    Without `labelled`, rows need no label. `weighted` is that of `write_rows`; by default, whatever is needed. With
    `strict`, a malformed row is an error, and nothing is written. `on_rows` is told how many rows there were so far,
    and which share of the input that is, if it is known; `on_doubt`, what is to be said of a column (`Reader.doubts`).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.vw").write_text("1 2 'x | 3:0.5\n-1 | 5\n1 | 3:\n")
    ...     found = convert_rows([f"{folder}/a.vw"], f"{folder}/b.vw", Schema(bits=4))
    ...     found.rows, found.flawed, Path(folder, "b.vw").read_text()
    (2, 1, "1 2 'x | 3:0.5\n-1 | 5:1\n")
    """
    sources = find_sources(list(paths))
    if os.fspath(out) != "-" and Path(out).is_file():
        for source in sources:
            if source.path is not None and Path(out).samefile(source.path):
                raise InvalidParameterError(f"{out} is what is to be read: give another name")
    chosen = format_to_write(out, to)
    reader = Reader(sources, schema, workers=workers, labelled=labelled, tags=chosen == "vw")
    for words in reader.doubts():
        on_doubt(words)
    if chosen in TABLES:
        reader.with_width()
    flawed = 0

    def rows(tell: Callable[[RowError], None]) -> Iterator[Chunk]:
        nonlocal flawed
        flawed = done = 0
        for chunk in reader.chunks():
            for part in crossed(chunk):
                for error in part.errors:
                    if strict:
                        raise InvalidDataError(f"{error} (without --strict the row would be left out)")
                    flawed += 1
                    tell(error)
                yield part
            done += len(chunk)
            on_rows(done, reader.fraction())

    try:
        written = write_rows(rows(on_error), out, reader.schema, chosen, weighted=weighted)
    except LateImportanceError:
        if os.fspath(out) == "-" or any(source.is_pipe for source in sources):
            raise
        written = write_rows(rows(lambda error: None), out, reader.schema, chosen, weighted=True)
    return Converted(written, flawed, reader.schema)
