"""CSV: records cut and parsed by compiled code on all cores, handed out in order."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position, RowError
from massart.data.formats import Format
from massart.data.formats.csv_columns import (
    Head,
    Plan,
    choose_columns,
    column_warnings,
    group_cells,
    look,
    plan_for,
)
from massart.data.formats.labels import Labels
from massart.data.formats.table_chunks import group_table
from massart.data.formats.table_columns import label_name, number_style
from massart.data.io.blocks import Block, blocks
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.row_errors import sentence
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.csv import parse_csv
from massart.kernels.parsing.csv_fields import cut_records, has_byte, is_missing

__all__ = ["CsvFormat", "parse_records"]

_BLOCK: Final = 1 << 20  # bytes: small enough for the cache, large enough to be worth a thread's while
_SHOWN: Final = 24  # characters of a field that a message shows
_EMPTY: Final = np.empty(0, np.uint8)
_NO_LABELS: Final = np.empty(0)


class CsvFormat(Format):
    """CSV, with or without a line of names."""

    def complete(self, source: Source, schema: Schema) -> Schema:
        """The schema, completed by a look at the beginning of the file; one that is complete is kept as it is.

        One with columns that does not say how CSV has them is that of a model that has learned from other tables.

        A column is one of numbers if all of its values in the first megabyte are; otherwise its values are names. The
        label is the column asked for, or called label, y, target or class, or the first of a file without names.
        """
        head = look(source, schema.separator, schema.decimal)
        if schema.columns is not None:
            if head is not None:
                if schema.header is None:
                    schema = _as_csv(head, schema)
                plan_for(head, schema, source.name, labelled=self.labelled)
            return schema
        if head is None:
            raise InvalidDataError(f"{source.name} is empty: there are no columns to choose from")
        return choose_columns(head, schema, source.name, labelled=self.labelled)

    def chunks(self, source: Source, schema: Schema, start: Position) -> Iterator[Chunk]:
        """The rows of a file from a position on, about a megabyte at a time.

        A row has no tag. Columns of a file with a line of names are found by name, in whatever order they are.
        """
        head = look(source, schema.separator, schema.decimal)
        if head is None:
            return iter(())
        plan = plan_for(head, schema, source.name, labelled=self.labelled)
        if schema.header and start.offset == 0:
            start = Position(start.source, *head.first_end())

        def parse(block: Block) -> Chunk:
            return _chunk(source.name, block, plan, schema, labelled=self.labelled)

        return in_order(parse, _whole_records(source, start, schema.separator or ","), self.workers)

    def column_warnings(self, source: Source, schema: Schema, asked: Sequence[str]) -> list[str]:
        """Messages about columns of names, other than those asked for, whose values look like numbers."""
        head = look(source, schema.separator, schema.decimal)
        return [] if head is None else column_warnings(head, schema, asked, source.name)


def _as_csv(head: Head, schema: Schema) -> Schema:
    """A schema that other tables completed, for a file of CSV; its label is found by name if it has none."""
    known = set(schema.columns or ())
    header = head.has_header(known)
    others = [name for name in head.first() if name not in known] if header else []
    return schema.replace(header=header, separator=head.separator, label=schema.label or label_name(others))


def _whole_records(
    source: Source, start: Position, separator: str, *, size: int = _BLOCK, longest: int = codes.LONGEST_LINE
) -> Iterator[Block]:
    """Blocks that end where a record ends, although quoted fields may hold line ends."""
    left: Block | None = None  # a record that goes on
    for block in blocks(source, start, size, longest=longest):
        if left is not None and block.offset != left.end.offset:  # a line that was too long is gone
            yield left
            left = None
        if left is not None:
            text = np.concatenate((left.text, block.text))
            block = left.replace(text=text, end=block.end)  # noqa: PLW2901
        elif not has_byte(block.text, np.uint8(ord('"'))):
            yield block
            continue
        left = yield from _cut(block, source.name, np.uint8(ord(separator)), longest)
    if left is not None:
        yield left


def _cut(block: Block, name: str, separator: np.uint8, longest: int) -> Generator[Block, None, Block | None]:
    """The whole records of a block, without those that are too long; return what is left if it goes on."""
    while True:
        text = block.text
        end, after = (int(place) for place in cut_records(text, separator, longest + 1))
        if end == text.size:
            yield block
            return None
        place = Position(block.end.source, block.offset + end, block.line + int(np.count_nonzero(text[:end] == 10)))
        if end:
            yield block.replace(text=text[:end], end=place)
            block = block.replace(errors=())
        if after == end:
            return block.replace(text=text[end:].copy(), offset=place.offset, line=place.line)
        size = f"{longest >> 20} MiB" if longest >= 1 << 20 else f"{longest} bytes"
        words = f"the record is longer than {size}"
        block = Block(
            text[after:],
            block.offset + after,
            place.line + int(np.count_nonzero(text[end:after] == 10)),
            block.end,
            (*block.errors, RowError(name, place.line + 1, 0, words)),
        )


def parse_records(text: NDArray[np.uint8], plan: Plan, schema: Schema, *, labelled: bool = True) -> Any:
    """(CSR, spaces, y, labels, weight, lines, errors) of a text of whole records; lines count from 1 within it.

    `labels` are those of more than two classes, or empty.
    """
    if text.size and text[-1] != 10:
        raise ValueError("the text must end with a newline")
    most = int(np.count_nonzero(text == 10))
    room = min(most * plan.features, text.size // 2)
    out = (
        np.empty(most, np.int8),
        np.empty((most if schema.is_many else 0, 2), np.int64),
        np.empty(most if plan.has_weight else 0),
        np.empty(most, np.int64),
        np.empty(most + 1, np.uint32),
        np.empty(room),
        np.empty(room, np.uint32),
        np.empty(room if schema.crossings else 0, np.uint8),
        np.empty((most, 5), np.int64),
    )
    mask = np.uint32((1 << schema.bits) - 1) if schema.bits is not None else np.uint32(0)
    how = (mask, *_labels(schema.labels), labelled)
    separator = np.uint8(ord(schema.separator or ","))
    rows, used, wrong = parse_csv(text, separator, (plan.kinds, plan.targets, plan.slots), how, out)
    y, places, weight, lines, indptr, data, indices, spaces, errors = out
    csr = data[:used], indices[:used], indptr[: rows + 1]
    found = _names(text, y[:rows], places[:rows], schema) if schema.is_many else _NO_LABELS
    return csr, spaces[:used], y[:rows], found, weight[:rows], lines[:rows], errors[:wrong]


def _names(text: NDArray[np.uint8], y: NDArray[np.int8], places: NDArray[np.int64], schema: Schema) -> NDArray[Any]:
    """The labels of more than two classes, which stand at these places of a text."""
    whole = text.tobytes()
    cells: list[str | None] = []
    for sign, (begin, end) in zip(y.tolist(), places.tolist(), strict=True):
        cell = whole[begin:end]
        if whole[begin - 1 : begin] == b'"':
            cell = cell.replace(b'""', b'"')
        cells.append(cell.decode("utf-8", "replace").strip("\r") if sign else None)
    return Labels(schema.labels).names(cells)


def _labels(labels: tuple[str, ...] | None) -> tuple[tuple[float, float, float], tuple[Any, Any]]:
    """Two numbers that mean -1 and one that means +1, and two texts instead of them, or empty ones.

    For more than two classes, NaN if all of their labels are numbers, infinity if not.
    """
    if labels is None:
        return (-1.0, 0.0, 1.0), (_EMPTY, _EMPTY)
    known = Labels(labels)
    if known.are_many:
        any_label = np.nan if known.are_numbers else np.inf
        return (any_label, any_label, np.nan), (_EMPTY, _EMPTY)
    if known.are_numbers:
        negative, positive = map(float, labels)
        return (negative, negative, positive), (_EMPTY, _EMPTY)
    first, second = (np.array(np.frombuffer(label.encode(), np.uint8)) for label in labels)
    return (0.0, 0.0, 0.0), (first, second)


def _chunk(name: str, block: Block, plan: Plan, schema: Schema, *, labelled: bool) -> Chunk:
    csr, spaces, y, labels, weight, lines, found = parse_records(block.text, plan, schema, labelled=labelled)
    if weight.size and bool((weight == 1.0).all()):
        weight = np.empty(0)
    groups = group_cells(block.text, schema.separator or ",", plan, lines) if plan.groups else []
    lines += block.line
    errors = block.errors
    if found.size:
        errors += tuple(_row_error(name, block, plan, schema, *row) for row in found.tolist())
    width = schema.width or plan.features
    named = group_table(groups, y.size)
    return Chunk(
        csr,
        width,
        y,
        weight,
        block.end,
        lines,
        errors,
        spaces,
        schema.crossings,
        source=name,
        groups=named,
        labels=labels,
    )


def _row_error(
    name: str, block: Block, plan: Plan, schema: Schema, line: int, code: int, field: int, begin: int, end: int
) -> RowError:
    line += block.line
    if code == codes.NUL:
        return RowError(name, line, 0, sentence(code, b"", schema))
    if code == codes.FIELDS:
        return RowError(name, line, 0, f"{begin} fields where {len(plan.names)} columns are expected")
    column = plan.names[field] if field < len(plan.names) else 0
    cell = block.text[begin : min(end, begin + 4 * _SHOWN)].tobytes()
    text = cell.decode("utf-8", "replace")
    shown = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
    if code == codes.QUOTE:
        words = f"a quote that is not closed, or is followed by text after it was closed: {shown}"
    elif code == codes.NUMBER:
        words = f"expected a number, found {shown}; for a column of names pass `categorical=[{column!r}]`"
        style = None if schema.decimal == "," else number_style(text)
        if style == "comma" or (style == "point" and column not in schema.numbers):
            needs = "`decimal=','`" if style == "comma" else f"`numbers=[{column!r}]`"
            words = f"expected a number, found {shown}; such numbers are read with {needs}"
    elif code in (codes.LABEL, codes.CLASS):
        words = Labels(schema.labels).message(text) if code == codes.CLASS else f"expected a label, found {shown}"
    else:
        words = sentence(code, cell, schema)
    unknown = code in (codes.LABEL, codes.CLASS) and not is_missing(block.text, np.uint64(begin), np.uint64(end))
    return RowError(name, line, column, words, text if unknown else None)
