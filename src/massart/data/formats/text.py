"""svmlight and VW text: blocks of whole lines, parsed by compiled code on all cores, handed out in order."""

import queue
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position, RowError
from massart.data.formats import Format
from massart.data.formats.labels import NEGATIVE, Labels, with_labels
from massart.data.io.blocks import Block, Spare, blocks
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.row_errors import sentence
from massart.data.schema import BITS, MOST_FEATURES, Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.svmlight import parse_svmlight
from massart.kernels.parsing.swar import count_between
from massart.kernels.parsing.vw import parse_vw

__all__ = ["TextFormat", "parse_block", "parse_codes"]

_BLOCK = 2_000_000  # bytes: smaller ones cost more of everything but memory
_WIDE = 1 << 20  # columns above which a model takes so much memory that blocks are smaller
_ALL_ONE = np.empty(0)
_BLANKS = np.uint8(0), np.uint8(32)  # and line ends
_LISTED = 4  # labels in a message
_HEADS = (1 << 16, 1 << 18, 1 << 20)  # bytes that are looked at for labels
_NUMBER = rb"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_SVMLIGHT_LABEL = re.compile(rb"^[ \t]*%b(?=[ \t\r#]|$)" % _NUMBER, re.MULTILINE)
# Text before a tab does not count, and what touches the bar is a tag.
_VW_LABEL = re.compile(rb"^(?:[^|\t\n]*\t)? *%b +[^|\n]*\|" % _NUMBER, re.MULTILINE)


class TextFormat(Format):
    """svmlight and VW text."""

    def complete(self, source: Source, schema: Schema) -> Schema:
        """VW text is always hashed; svmlight's columns are counted, unless bits are given; labels are in the head."""
        if schema.crossings and schema.format == "svmlight":
            raise InvalidParameterError("svmlight has no namespaces to cross: leave out `crossings`, or use VW text")
        _label_numbers(schema)
        _check_groups(schema, source.name)
        if self.labelled and schema.labels is None:
            schema = with_labels(schema, _labels_in_head(source, schema), source.name)
        if schema.format == "vw" and schema.bits is None:
            return schema.replace(bits=BITS, features=None)
        return schema

    def chunks(self, source: Source, schema: Schema, start: Position) -> Iterator[Chunk]:
        """The rows of a file from a position on, a block at a time."""
        spare: Spare = queue.SimpleQueue()

        def parse(block: Block) -> Chunk:
            chunk = _chunk(source.name, block, schema, tags=self.tags, labelled=self.labelled)
            spare.put(block.buffer)
            return chunk

        size = _BLOCK if (schema.width or 0) <= _WIDE else _BLOCK // 4
        return in_order(parse, blocks(source, start, size, spare=spare), self.workers)


def parse_block(text: bytes | NDArray[np.uint8], schema: Schema, *, labelled: bool = True) -> Chunk:
    r"""The rows of a text of whole lines.

    >>> chunk = parse_block(b"1 1:0.5 3:2\n-1 2:x\n", Schema(format="svmlight"))
    >>> chunk.y, [part.tolist() for part in chunk.rows], len(chunk.errors)
    (array([1], dtype=int8), [[0.5, 2.0], [0, 2], [0, 2]], 1)
    """
    bytes_ = np.frombuffer(text, np.uint8) if isinstance(text, bytes) else text
    block = Block(bytes_, 0, 0, Position(0, bytes_.size, int(np.count_nonzero(bytes_ == 10))), ())
    return _chunk("text", block, schema, tags=schema.format == "vw", labelled=labelled)


def parse_codes(
    text: NDArray[np.uint8], schema: Schema, *, tags: bool = False, labelled: bool = True, most_rows: int = -1
) -> Any:
    """(y, labels, weight, lines, (data, indices, indptr), spaces, tags, errors) as the kernels give them.

    `labels` are those of more than two classes, or empty. `lines` and the lines of `errors` (line, column, code) count
    from 1 within the text.
    """
    if text.size and text[-1] != 10:
        raise ValueError("the text must end with a newline")
    most_rows = int(np.count_nonzero(text == 10)) if most_rows < 0 else most_rows
    is_vw = schema.format == "vw"
    entries = int(count_between(text, *_BLANKS)) + 1  # every feature has a blank before it
    data, indices = np.empty(entries), np.empty(entries, np.uint32)
    spaces = np.empty(entries if is_vw and schema.crossings else 0, np.uint8)
    y, lines = np.empty(most_rows, np.int8), np.empty(most_rows, np.int64)
    values = np.empty(most_rows if schema.is_many else 0)
    indptr = np.empty(most_rows + 1, np.uint32)
    errors = np.empty((most_rows, 3), np.int64)
    weight, places = _ALL_ONE, np.empty((most_rows if tags and is_vw else 0, 2), np.int64)
    labels = _label_numbers(schema)
    mask = 0 if schema.bits is None else (1 << schema.bits) - 1
    if is_vw:
        weight = np.empty(most_rows)
        out: Any = (y, values, weight, lines, indptr, data, indices, spaces, places, errors)
        rows, used, _, wrong = parse_vw(text, (np.uint32(mask), labels, labelled), out)
        weight = weight[:rows]
    else:
        limit = np.uint64(2**32 - 1 if schema.bits is not None else schema.features or MOST_FEATURES)
        out = (y, values, lines, indptr, data, indices, errors)
        rows, used, _, wrong = parse_svmlight(text, (np.uint64(mask), limit, labels, labelled), out)
    csr = data[:used], indices[:used], indptr[: rows + 1]
    return y[:rows], values[:rows], weight, lines[:rows], csr, spaces[:used], places[:rows], errors[:wrong]


def _chunk(name: str, block: Block, schema: Schema, *, tags: bool, labelled: bool) -> Chunk:
    parsed = parse_codes(block.text, schema, tags=tags, labelled=labelled, most_rows=block.end.line - block.line)
    y, labels, weight, lines, csr, spaces, places, found = parsed
    if weight.size and bool((weight == 1.0).all()):
        weight = _ALL_ONE
    errors = block.errors
    if found.size:
        errors = tuple(sorted((*errors, *_errors(name, block, found, schema)), key=lambda one: one.line))
    width = schema.width
    if width is None:
        width = int(csr[1].max()) + 1 if csr[1].size else 1
    own = None
    if tags and schema.format == "vw":
        own = _tags(block.text, places)
    lines += block.line
    groups = _group_values(csr, y.size, schema)
    return Chunk(csr, width, y, weight, block.end, lines, errors, spaces, schema.crossings, own, name, groups, labels)


def _group_values(csr: Any, count: int, schema: Schema) -> NDArray[Any]:
    """The values of the columns of groups; a column that a row does not have is 0."""
    table = np.zeros((count, len(schema.groups)), object)
    data, indices, indptr = csr
    for place, number in enumerate(schema.groups):
        found = np.flatnonzero(indices == np.uint32(int(number) - 1))
        table[np.searchsorted(indptr, found, side="right") - 1, place] = data[found].tolist()
    return table


def _check_groups(schema: Schema, where: str) -> None:
    """Refuse groups that such text does not have: columns of svmlight that are counted, by number from 1."""
    if schema.groups and (schema.format == "vw" or schema.bits is not None):
        raise InvalidDataError(
            f"{where}: groups are columns of values, which hashed text does not have; give a table, or svmlight "
            "without `bits`"
        )
    for number in schema.groups:
        if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= MOST_FEATURES):
            raise InvalidDataError(f"{where}: columns of svmlight have no names; `groups` takes their numbers from 1")


def _tags(text: NDArray[np.uint8], places: NDArray[np.int64]) -> tuple[str, ...]:
    """The text[start:stop] of each row's place; most files have none."""
    if (places[:, 0] == places[:, 1]).all():
        return ("",) * len(places)
    whole = text.tobytes()
    return tuple(whole[start:stop].decode("utf-8", "replace") for start, stop in places.tolist())


def _errors(name: str, block: Block, found: NDArray[np.int64], schema: Schema) -> Iterator[RowError]:
    ends = np.flatnonzero(block.text == 10)
    for line, column, code in found.tolist():
        begin = 0 if line == 1 else int(ends[line - 2]) + 1
        rest = block.text[begin + column - 1 : min(int(ends[line - 1]), begin + column + 255)].tobytes()
        yield RowError(name, block.line + line, column, sentence(code, rest, schema), _unknown(code, rest))


def _unknown(code: int, rest: bytes) -> str | None:
    """The label that a row was left out for."""
    label = rest.split(maxsplit=1)[:1] if code in (codes.LABEL, codes.CLASS) else []
    return label[0].decode("utf-8", "replace") if label and b":" not in label[0] else None


def _labels_in_head(source: Source, schema: Schema) -> list[float]:
    """The labels in the first lines: in 64 kB, in more if that is but one of which nothing can be said."""
    pattern = _VW_LABEL if schema.format == "vw" else _SVMLIGHT_LABEL
    found: list[float] = []
    for size in _HEADS:
        text = source.head(size)
        whole = text if len(text) < size else text[: text.rfind(b"\n") + 1]
        found = [float(match[1]) for match in pattern.finditer(whole.removeprefix(b"\xef\xbb\xbf"))]
        if len(set(found)) > 1 or NEGATIVE.intersection(found) or len(text) < size:
            break
    return found


def _label_numbers(schema: Schema) -> tuple[float, float, float]:
    """Two numbers that mean -1 and one that means +1; NaN for more than two classes."""
    if schema.labels is None:
        return -1.0, 0.0, 1.0
    if not Labels(schema.labels).are_numbers:
        raise InvalidParameterError(
            f"`labels={schema.labels[:_LISTED]}`: labels are numbers in {schema.format} text; give numbers"
        )
    if schema.is_many:
        return np.nan, np.nan, np.nan
    negative, positive = map(float, schema.labels)
    return negative, negative, positive
