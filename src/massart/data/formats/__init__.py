"""The formats of rows: one class each behind `Format`, and which of them a file has.

A format is recognised by magic bytes where it has them, then by the name (`x.svm`, `x.csv.gz`), then by the first
lines.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from massart.data.schema import FORMATS, Schema
from massart.errors import InvalidDataError
from massart.values import Value

if TYPE_CHECKING:
    from massart.data.chunk import Chunk, Position
    from massart.data.io.sources import Source

__all__ = ["Format", "detect_format", "find_format", "format_of_name", "refuse_decisions", "suffix_of"]

_CLASSES: Final = {
    "svmlight": ("text", "TextFormat"),
    "vw": ("text", "TextFormat"),
    "csv": ("csv", "CsvFormat"),
    "jsonl": ("jsonl", "JsonlFormat"),
    "parquet": ("arrow", "ArrowFormat"),
    "arrow": ("arrow", "ArrowFormat"),
    "npy": ("npy", "NpyFormat"),
}

_SUFFIXES: Final = {
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "vw": (".vw",),
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npy": (".npy",),
}
_FORMAT_OF_SUFFIX: Final = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes}
_COMPRESSED: Final = (".gz", ".gzip", ".bgz", ".zst", ".zstd", ".bz2")
_MAGIC: Final = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"\x93NUMPY": "npy"}
_FOREIGN: Final = {
    b"\xfd7zXZ\0": "xz-compressed: decompress it, as in `xz -dc FILE | massart train -`",
    b"\x04\x22\x4d\x18": "lz4-compressed: decompress it, as in `lz4 -dc FILE | massart train -`",
    b"PK\x03\x04": "a zip archive: unpack it",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}
_NUMBER: Final = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# Patterns, compiled when a file has to be looked into:
_NUMBERS_BY_BARS: Final = rb"%b(?:\|%b)+\s*" % (_NUMBER, _NUMBER)
# label, importance and base, then 'tag, or a tag that touches the bar; text before a tab does not count
_VW: Final = rb"(?:[^|\t]*\t)? *(?:(?:%b +){0,3}(?:%b|'[^ |]*)? *|(?:%b +){1,3}[^ |]*)\|" % (_NUMBER, _NUMBER, _NUMBER)
_SVMLIGHT: Final = rb"(?:%b\s+)?(?:qid:\S+\s+)*\d+:%b(?=\s|#|$)" % (_NUMBER, _NUMBER)
_LABEL_ONLY: Final = rb"%b\s*(?:#.*)?" % _NUMBER
# Vowpal Wabbit's logs of decisions: a shared line or an action:cost:probability before the bar, or fields of JSON.
_DECISIONS: Final = rb"^(?:shared *(?:'[^|]*)?\||\d+:%b:%b(?: +[^|]*)?\|)" % (_NUMBER, _NUMBER)
_JSON_DECISIONS: Final = rb'^\{.*"(?:_label_cost|_labelIndex|_multi)"'
_LOOKED_AT: Final = 1 << 16  # bytes of the beginning, and
_LINES: Final = 20


class Format(Value):
    """How the rows of a file of one format are read."""

    workers: int = 2  # threads that read ahead
    labelled: bool = True  # whether a row without a label is an error
    tags: bool = False  # whether the names of rows are wanted

    def complete(self, source: "Source", schema: Schema) -> Schema:
        """The schema, completed by a look at the file; one that is complete is checked against it."""
        raise NotImplementedError

    def chunks(self, source: "Source", schema: Schema, start: "Position") -> Iterator["Chunk"]:
        """The rows of a file from a position on, for a completed schema."""
        raise NotImplementedError

    def column_warnings(self, source: "Source", schema: Schema, asked: Sequence[str]) -> list[str]:
        """Messages about columns of text, other than those asked for, whose values look like numbers."""
        return []

    def label_file(self, source: "Source", schema: Schema) -> "Source | None":
        """The file with the labels, where these are not among the columns."""
        return None


def find_format(name: str) -> type[Format]:
    """The class that reads a format; its module is imported now."""
    module, cls = _CLASSES[name]
    found: type[Format] = getattr(importlib.import_module(f"{__name__}.{module}"), cls)
    return found


def detect_format(source: "Source") -> str:
    r"""One of `massart.data.schema.FORMATS`.

    >>> import tempfile
    >>> from massart.data.io.sources import Source
    >>> with tempfile.NamedTemporaryFile(suffix=".txt") as file:
    ...     _ = file.write(b"# two rows\n1 2 'first |x a b:3\n-1 |x c\n"), file.flush()
    ...     detect_format(Source(file.name))
    'vw'
    """
    start = source.head(_LOOKED_AT)
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            return name
    for magic, words in _FOREIGN.items():
        if start.startswith(magic):
            raise InvalidDataError(f"{source.name} is {words}")
    by_name = format_of_name(source.path.name) if source.path is not None else None
    found = by_name or _format_of_lines(start.removeprefix(b"\xef\xbb\xbf"))
    if found is None:
        why = "its first lines do not show its format" if start else "it is empty, so its format is not known"
        raise InvalidDataError(f"{source.name}: {why}; pass `format`, one of {', '.join(FORMATS)}")
    return found


def refuse_decisions(source: "Source") -> None:
    r"""Raise if a file is a log of decisions, which other commands learn from.

    >>> import tempfile
    >>> from massart.data.io.sources import Source
    >>> with tempfile.NamedTemporaryFile(suffix=".vw") as file:
    ...     _ = file.write(b"shared |user age:3\n0:-1:0.5 |item a\n|item b\n\n"), file.flush()
    ...     refuse_decisions(Source(file.name))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    massart.errors.InvalidDataError: ... is a log of decisions, not rows with labels: `massart bandit` ...
    """
    start = source.head(_LOOKED_AT).removeprefix(b"\xef\xbb\xbf")
    lines = b"\n".join(line for line in start.split(b"\n", _LINES)[:_LINES])
    if re.search(_DECISIONS, lines, re.MULTILINE) or re.search(_JSON_DECISIONS, lines, re.MULTILINE):
        raise InvalidDataError(
            f"{source.name} is a log of decisions, not rows with labels: `massart bandit` learns from it, "
            "`massart evaluate` estimates what a policy would have earned"
        )


def format_of_name(name: str) -> str | None:
    """What a file's suffix says, under that of a compression; None if it says nothing.

    >>> format_of_name("clicks.CSV.gz"), format_of_name("clicks.txt")
    ('csv', None)
    """
    return _FORMAT_OF_SUFFIX.get(suffix_of(name))


def suffix_of(name: str) -> str:
    """The suffix of a name, in small letters, under that of a compression.

    >>> suffix_of("part-0.TXT.gz"), suffix_of("part-0.gz")
    ('.txt', '')
    """
    path = PurePath(name.lower())
    return path.with_suffix("").suffix if path.suffix in _COMPRESSED else path.suffix


def _format_of_lines(start: bytes) -> str | None:
    if b"\0" in start:
        return None
    lines = [line.strip() for line in start.split(b"\n", 4 * _LINES)]
    useful = [line for line in lines if line and not line.startswith(b"#")][:_LINES]
    for line in useful:
        if line.startswith(b"{"):
            return "jsonl"
        if re.match(_VW, line) and not re.fullmatch(_NUMBERS_BY_BARS, line):
            return "vw"
        if re.match(_SVMLIGHT, line):
            return "svmlight"
        if any(separator in line for separator in (b",", b"\t", b";")):
            return "csv"
    return "svmlight" if useful and all(re.fullmatch(_LABEL_ONLY, line) for line in useful) else None
