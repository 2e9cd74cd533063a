"""Files to chunks of rows, whatever the format, for the command line and for Python.

for chunk in massart.data.read("train.svm.gz"):
    classifier.partial_fit(chunk.X, chunk.y, classes=[-1, 1])
"""

from collections.abc import Iterator, Sequence
from typing import Any

from massart.data.chunk import Chunk, Position, check_crossings, crossed_whole
from massart.data.formats import detect_format, find_format, refuse_decisions
from massart.data.io.sources import Paths, Source, find_sources
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["Reader", "read"]

_ANY_TWO = ("-1", "1")  # where two labels are given, none are looked for


def read(paths: Paths, *, workers: int = 2, labelled: bool = True, strict: bool = True, **options: Any) -> "Reader":
    r"""Chunks of rows from files, folders, patterns, or standard input ("-"), in the order given.

    `options` are the fields of `Schema`: format, label, labels, bits, features, crossings and so on; what is not given
    is found out from the files. Every chunk has the same columns: where svmlight does not say how many there are,
    the files are read once more for that. With `strict`, a malformed row is an error; otherwise it is left out and
    listed in `chunk.errors`. `chunk.y` is -1 and +1 or, where there are more than two labels, the labels themselves.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".svm") as file:
    ...     _ = file.write(b"1 1:5\n-1 2:1 3:0.5\n"), file.flush()
    ...     for chunk in read(file.name):
    ...         print(chunk.X.toarray().tolist(), chunk.y.tolist())
    [[5.0, 0.0, 0.0], [0.0, 1.0, 0.5]] [1, -1]
    """
    reader = Reader(
        find_sources(paths), Schema(**options), workers=workers, labelled=labelled, strict=strict, cross=True
    )
    return reader.with_width()


def _with_labels(chunk: Chunk) -> Chunk:
    """A chunk of more than two classes whose y are the labels themselves."""
    return chunk.replace(y=chunk.labels)


class Reader:
    """Sources that are read one after the other with one `Schema`; iterating begins at the beginning.

    `cross` writes crossed features out; without it `massart.data.chunk.crossed` does, a bufferful at a time.
    Without `find_labels` the schema says what the labels are, whatever the first rows have.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        schema: Schema,
        *,
        workers: int = 2,
        labelled: bool = True,
        strict: bool = False,
        tags: bool = False,
        cross: bool = False,
        find_labels: bool = True,
    ) -> None:
        self.sources = tuple(sources)
        self._strict, self._cross = strict, cross
        self._current = 0
        check_crossings(schema.crossings)
        first = self.sources[0]
        if labelled:
            refuse_decisions(first)
        chosen = schema if schema.format != "auto" else schema.replace(format=detect_format(first))
        for source in self.sources:
            source.prepare(chosen.format)
        self._format = find_format(chosen.format)(workers, labelled, tags)
        if chosen.columns is None and (chosen.numbers or chosen.decimal) and chosen.format != "csv":
            raise InvalidParameterError(
                f"`numbers` and `decimal` say how CSV writes numbers, but {first.name} is {chosen.format}"
            )
        self._asked = chosen
        asked = chosen if find_labels or chosen.labels is not None else chosen.replace(labels=_ANY_TWO)
        found = self._format.complete(first, asked)
        self.schema = found if asked is chosen else found.replace(labels=chosen.labels)

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, start: Position = Position()) -> Iterator[Chunk]:  # noqa: B008  an immutable default
        """The rows from a position on, which is the `end` of an earlier chunk."""
        for number in range(start.source, len(self.sources)):
            self._current = number
            begin = start if number == start.source else Position(number)
            source = self.sources[number]
            for chunk in map(source.placed, self._format.chunks(source, self.schema, begin)):
                if self._strict and chunk.errors:
                    raise InvalidDataError(str(chunk.errors[0]))
                parts = self._crossed(chunk, begin) if self._cross and chunk.crossings else (chunk,)
                yield from (_with_labels(part) for part in parts) if self._cross and self.schema.is_many else parts
                begin = chunk.end

    def _crossed(self, chunk: Chunk, begin: Position) -> Iterator[Chunk]:
        """Parts of a chunk with the products in them; all but the last `end` where the chunk begins."""
        waiting: Chunk | None = None
        for part in crossed_whole(chunk):
            if self._strict and part.errors:
                raise InvalidDataError(str(part.errors[0]))
            if waiting is not None:
                yield waiting.replace(end=begin)
            waiting = part
        if waiting is not None:
            yield waiting

    def label_files(self) -> list[Source]:
        """The files with the labels, where these are not among the columns."""
        found = (self._format.label_file(source, self.schema) for source in self.sources)
        return [source for source in found if source is not None]

    def column_warnings(self) -> list[str]:
        """Messages about columns of text whose values look like numbers, unless `categorical` names them."""
        if self._asked.columns is not None:
            return []
        return self._format.column_warnings(self.sources[0], self.schema, self._asked.categorical)

    def fraction(self) -> float | None:
        """How much of the input has been read, from 0 to 1; None where a pipe hides its length."""
        sizes = [source.size for source in self.sources]
        if any(size is None for size in sizes):
            return None
        total = sum(size or 0 for size in sizes)
        part = (sizes[self._current] or 0) * (self.sources[self._current].fraction() or 0.0)
        return (sum(size or 0 for size in sizes[: self._current]) + part) / total if total else 1.0

    def with_width(self) -> "Reader":
        """The reader itself, with the number of columns known: if the schema does not have it, all rows are read."""
        if self.schema.width is None:
            if any(source.is_pipe for source in self.sources):
                raise InvalidDataError(
                    "the number of columns of a pipe is not known beforehand: pass `features`, or hash with `bits=18`"
                )
            widest = max((chunk.width for chunk in self.chunks()), default=1)
            self.schema = self.schema.replace(features=widest)
        return self
