"""Rows as lines of svmlight, VW text, CSV and JSON lines; what columns and labels are called in every format."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.data.formats.labels import ClassNumbers, as_text, is_number
from massart.data.schema import Schema
from massart.errors import InvalidParameterError
from massart.values import Value

__all__ = ["LABEL", "TABLES", "TEXT_WRITERS", "WEIGHT", "Heading", "csv_first_line", "dense_blocks"]

LABEL, WEIGHT = "label", "weight"  # what the columns of labels and importances are called
TABLES: Final = ("csv", "parquet", "arrow", "npy")  # formats in which every row has a cell in every column
_MOST_COLUMNS: Final = 4096  # of a table
_CELLS: Final = 1 << 19  # of dense rows that are made at once
_ELEMENT: Final = re.compile(r".*\[\d+\]", re.DOTALL)  # of a vector, which is hashed otherwise
_NOT_IN_VW: Final = re.compile(r"[\s:|\x00-\x1f]")
_SIMPLE: Final = re.compile(r"[\w.+-]+")  # a cell of CSV that needs no quotes
_ENTRIES: Final = 1 << 17  # that become text at once


class Heading(Value):
    """How columns, labels and importances are written.

    Columns that were counted go by their names, or their numbers from 1. Of columns that were hashed, columns of
    numbers keep their names in VW text and JSON lines; of all others the names are gone: column c is written as the
    number c, and column 0 as 2**bits. Hashing to as many columns gives back both.
    """

    format: str
    labels: tuple[str, ...]
    numeric: bool  # whether all labels are numbers
    names: tuple[str, ...] | None
    bits: int | None
    width: int | None
    weighted: bool
    hashed_names: Mapping[int, str] = {}  # column -> name, where the name is hashed to it
    classes: ClassNumbers | None = None  # by whose numbers from 1 more than two labels that are text are written

    @classmethod
    def of(cls, schema: Schema, to: str, *, weighted: bool) -> "Heading":
        """What rows that were read so are called in another format.

        >>> Heading.of(Schema("csv", features=2, columns=("age", "old town")), "vw", weighted=False).names
        ('age', 'old_town')
        """
        labels = schema.labels or ("-1", "1")
        numeric, classes = all(map(is_number, labels)), None
        if not numeric and to in ("svmlight", "vw", "npy"):
            if schema.is_many:
                classes = ClassNumbers(labels, grows=True)
            else:
                labels = ("-1", "1")
            numeric = True
        names = None if schema.bits is not None else schema.columns
        width = schema.width
        if names is not None:
            width = len(names)
            if names == tuple(map(str, range(1, width + 1))):
                names = None
        if to in TABLES:
            _check_width(width, to, hashed=schema.bits is not None)
        if names is not None and to != "svmlight":
            names = _checked(names, to, weighted=weighted)
        return cls(to, labels, numeric, names, schema.bits, width, weighted, _hashed_names(schema, to), classes)

    def keys(self, form: str, quoted: Callable[[str], str] = str) -> Callable[[NDArray[np.uint32]], list[str]]:
        """A function from columns to what stands before their values; `form` has a %s for a name, or a number."""
        number = (form % quoted("%d")).__mod__
        if self.names is not None:
            every = [form % quoted(name) for name in self.names]
            return lambda columns: [every[column] for column in columns.tolist()]
        own = {column: form % quoted(name) for column, name in self.hashed_names.items()}
        if not own:
            return lambda columns: list(map(number, self.numbers(columns).tolist()))
        return lambda columns: list(map(own.get, columns.tolist(), map(number, self.numbers(columns).tolist())))

    @property
    def are_whole(self) -> bool:
        """Whether labels are whole numbers, as far as known; others may join those of more than two classes."""
        return self.numeric and all(float(text).is_integer() and abs(float(text)) < 2**53 for text in self.labels)

    def label_texts(self, chunk: Chunk, part: slice, form: Callable[[str], str] = str) -> list[str]:
        """What stands for the label of each row, "" for none; `form` makes it of the label."""
        if len(self.labels) == 2:
            words = (form(self.labels[0]), "", form(self.labels[1]))
            return [words[sign] for sign in (chunk.y[part] + 1).tolist()]
        labels = chunk.labels[part]
        if self.classes is not None:
            return [form(str(number + 1)) if number >= 0 else "" for number in self.classes.of(labels).tolist()]
        if labels.dtype == object:
            every = {label: "" if label is None else form(label) for label in set(labels.tolist())}
            return [every[label] for label in labels.tolist()]
        values, places = np.unique(labels, return_inverse=True)
        texts = ["" if np.isnan(value) else form(as_text(value)) for value in values.tolist()]
        return [texts[place] for place in places.tolist()]

    def label_numbers(self, chunk: Chunk, part: slice) -> NDArray[np.float64]:
        """The label of each row as a number, NaN for none."""
        return np.array([float(text or "nan") for text in self.label_texts(chunk, part)])

    def numbers(self, columns: NDArray[np.uint32]) -> NDArray[np.int64]:
        """What stands for columns of a chunk where they have no names."""
        if self.bits is None:
            return columns.astype(np.int64) + 1
        return np.where(columns == 0, 1 << self.bits, columns.astype(np.int64))

    def feature_names(self) -> tuple[str, ...]:
        """One for each column of a table."""
        return self.names or tuple(map(str, range(1, (self.width or 0) + 1)))


def _hashed_names(schema: Schema, to: str) -> dict[int, str]:
    """Names of columns of numbers that are read back into the same columns."""
    if schema.bits is None or to not in ("vw", "jsonl"):
        return {}
    from massart.data.hashing import name_hash  # noqa: PLC0415  compiled code

    names = (name for name in schema.columns or () if name not in (*schema.categorical, LABEL, WEIGHT))
    kept = [name for name in names if name and not name.isdigit() and not (to == "vw" and _NOT_IN_VW.search(name))]
    return {name_hash(name) & ((1 << schema.bits) - 1): name for name in kept if _ELEMENT.fullmatch(name) is None}


def number_texts(values: NDArray[Any]) -> list[str]:
    """Numbers as the shortest texts from which the same float64 is read, bit for bit.

    >>> number_texts(np.array([1.0, 0.1, -2.5e-7, 1e16]))
    ['1', '0.1', '-2.5e-07', '1e+16']
    """
    return [text.removesuffix(".0") for text in map(repr, values.astype(np.float64).ravel().tolist())]


def sparse(chunk: Chunk) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]]:
    """(values, columns, starts) of the entries that are not 0."""
    if chunk.is_sparse:
        data, indices, indptr = chunk.rows
        return data, indices, indptr.astype(np.int64)
    rows, columns = np.nonzero(chunk.rows)
    starts = np.searchsorted(rows, np.arange(len(chunk) + 1))
    return chunk.rows[rows, columns].astype(np.float64), columns.astype(np.uint32), starts


def dense_blocks(chunk: Chunk, heading: Heading) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Some rows of the chunk after the other, with a cell for every column, in the order of `feature_names`."""
    width = heading.width or 0
    if chunk.width > width:
        raise InvalidParameterError(
            f"{chunk.source}: rows have {chunk.width:,} columns, more than the {width:,} announced: pass `features`"
        )
    step = max(1, _CELLS // max(1, width))
    for first in range(0, len(chunk), step):
        part = slice(first, min(len(chunk), first + step))
        if chunk.is_sparse:
            data, indices, indptr = chunk.rows
            begin, end = int(indptr[part.start]), int(indptr[part.stop])
            rows = np.repeat(np.arange(part.stop - first), np.diff(indptr[part.start : part.stop + 1]))
            cells = np.zeros((part.stop - first, width))
            cells[rows, indices[begin:end]] = data[begin:end]
        else:
            cells = np.zeros((part.stop - first, width))
            cells[:, : chunk.rows.shape[1]] = chunk.rows[part]
        if heading.bits is not None:
            cells = np.roll(cells, -1, axis=1)  # column 0 goes by the largest number
        yield part, cells


def _check_width(width: int | None, to: str, *, hashed: bool) -> None:
    if width is None:
        raise InvalidParameterError(f"{to} has a cell for every column, so their number must be known: pass `features`")
    if width > _MOST_COLUMNS:
        less = " (or hash to fewer, with `bits=12` or less)" if hashed else ""
        raise InvalidParameterError(
            f"{to} would have {width:,} columns, nearly all of them 0: write svmlight instead{less}"
        )


def _checked(names: Sequence[str], to: str, *, weighted: bool) -> tuple[str, ...]:
    """The names as a format can hold them, if all of them stay different."""
    written = tuple(_NOT_IN_VW.sub("_", name) for name in names) if to == "vw" else tuple(names)
    if len(set(written)) < len(written):
        first = next(name for name in written if written.count(name) > 1)
        which = " and ".join(repr(name) for name, own in zip(names, written, strict=True) if own == first)
        raise InvalidParameterError(f"columns {which} would both be called {first!r} in {to}: rename one")
    for taken, what in ((LABEL, "the label"), (WEIGHT, "the importance")):
        if to in ("csv", "jsonl", "parquet", "arrow") and taken in written and (taken == LABEL or weighted):
            raise InvalidParameterError(
                f"a feature is called {taken!r}, as {what} will be: rename it, or drop it with `ignore=[{taken!r}]`"
            )
    return written


def _parts(chunk: Chunk) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]]]:
    """The rows of a chunk, some after the other: their numbers, values, columns and starts."""
    data, indices, starts = sparse(chunk)
    first = 0
    while first < len(chunk):
        last = int(np.searchsorted(starts, starts[first] + _ENTRIES, side="right")) - 1
        last = min(len(chunk), max(first + 1, last))
        begin, end = starts[first], starts[last]
        yield slice(first, last), data[begin:end], indices[begin:end], starts[first : last + 1] - begin
        first = last


def _joined(
    values: NDArray[np.float64], keys: list[str], starts: NDArray[np.int64], between: str = ""
) -> Iterator[str]:
    """The features of each row: key and value, key and value."""
    pieces = [key + value for key, value in zip(keys, number_texts(values), strict=True)]
    for begin, end in pairwise(starts.tolist()):
        yield between.join(pieces[begin:end])


def svmlight_lines(heading: Heading) -> Callable[[Chunk], Iterator[str]]:
    """Indices in increasing order, as other programs want them."""

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, values, columns, starts in _parts(chunk):
            numbers = heading.numbers(columns)
            keys = np.repeat(np.arange(starts.size - 1), np.diff(starts)) << 32 | numbers
            if (keys[1:] < keys[:-1]).any():
                order = np.argsort(keys)
                values, numbers = values[order], numbers[order]  # noqa: PLW2901
            texts = list(map(" %d:".__mod__, numbers.tolist()))
            signs = heading.label_texts(chunk, part)
            for sign, row in zip(signs, _joined(values, texts, starts), strict=True):
                # Without a label a line begins with a feature; if there is none, with one that is 0.
                yield sign + row if sign else row[1:] or "1:0"

    return lines


def vw_lines(heading: Heading) -> Callable[[Chunk], Iterator[str]]:
    """One namespace without a name; importances other than 1, and tags, stand before it."""
    keys = heading.keys(" %s:")

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, values, columns, starts in _parts(chunk):
            texts = keys(columns)
            heads = heading.label_texts(chunk, part, "{} ".format)
            if chunk.weight.size:
                weights = ["" if text == "1" else f"{text} " for text in number_texts(chunk.weight[part])]
                heads = [head and head + weight for head, weight in zip(heads, weights, strict=True)]
            if chunk.tags is not None and any(chunk.tags[part]):
                heads = [f"{head}'{tag} " if tag else head for head, tag in zip(heads, chunk.tags[part], strict=True)]
                # Whatever is before the first tab does not count: a tab in a tag must not be the first.
                heads = [f"\t{head}" if "\t" in head else head for head in heads]
            for head, row in zip(heads, _joined(values, texts, starts), strict=True):
                yield f"{head}|{row}"

    return lines


def jsonl_lines(heading: Heading) -> Callable[[Chunk], Iterator[str]]:
    """An object for each row: the label if there is one, the importance if any row has one, the features."""
    label = json.dumps(LABEL)

    def field(text: str) -> str:
        return f"{label}: {number_texts(np.array([float(text)]))[0] if heading.numeric else json.dumps(text)}"

    keys = heading.keys("%s: ", json.dumps)

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, values, columns, starts in _parts(chunk):
            names = keys(columns)
            heads = [[one] if one else [] for one in heading.label_texts(chunk, part, field)]
            if heading.weighted:
                for head, text in zip(heads, _weights(chunk, part), strict=True):
                    head.append(f"{json.dumps(WEIGHT)}: {text}")
            for head, row in zip(heads, _joined(values, names, starts, ", "), strict=True):
                yield f"{{{', '.join([*head, row] if row else head)}}}"

    return lines


def csv_lines(heading: Heading, separator: str = ",") -> Callable[[Chunk], Iterator[str]]:
    """The label, the importance if any row has one, a cell for every column."""

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, cells in dense_blocks(chunk, heading):
            texts, width = _cells(cells), cells.shape[1]
            heads = heading.label_texts(chunk, part, _cell)
            if heading.weighted:
                heads = [f"{head}{separator}{one}" for head, one in zip(heads, _weights(chunk, part), strict=True)]
            for row, head in enumerate(heads):
                yield separator.join((head, *texts[row * width : (row + 1) * width]))

    return lines


def _cells(values: NDArray[np.float64]) -> list[str]:
    """Texts of numbers, most of which may be 0."""
    texts = np.full(values.size, "0", object)
    places = np.flatnonzero(values)
    texts[places] = number_texts(values.ravel()[places])
    return list(texts.tolist())


def csv_first_line(heading: Heading, separator: str = ",") -> str:
    """The names of the columns; nothing if features have none, as numbers in a first line would look like values.

    A file with importances needs it even so: the option `weight` names it.
    """
    if heading.names is None and not heading.weighted:
        return ""
    names = (LABEL, *([WEIGHT] if heading.weighted else []), *heading.feature_names())
    return separator.join(map(_cell, names)) + "\n"


def _weights(chunk: Chunk, part: slice) -> list[str]:
    size = part.stop - part.start
    return number_texts(chunk.weight[part]) if chunk.weight.size else ["1"] * size


def _cell(text: str) -> str:
    if _SIMPLE.fullmatch(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


TEXT_WRITERS: Final[dict[str, Callable[..., Any]]] = {
    "svmlight": svmlight_lines,
    "vw": vw_lines,
    "csv": csv_lines,
    "jsonl": jsonl_lines,
}
