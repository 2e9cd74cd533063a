"""Rows as lines of svmlight, VW text, CSV and JSON lines."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.data.writers.write_columns import LABEL, WEIGHT, Heading, dense_blocks, number_texts, sparse

__all__ = ["TEXT_WRITERS", "csv_first_line"]

_SIMPLE: Final = re.compile(r"[\w.+-]+")  # a cell of CSV that needs no quotes
_ENTRIES: Final = 1 << 17  # that become text at once


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


def _signs(chunk: Chunk, part: slice, negative: str, none: str, positive: str) -> list[str]:
    """What stands for the label of each row."""
    words = (negative, none, positive)
    return [words[sign] for sign in (chunk.y[part] + 1).tolist()]


def svmlight_lines(heading: Heading) -> Callable[[Chunk], Iterator[str]]:
    """Indices in increasing order, as other programs want them."""
    negative, positive = heading.labels

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, values, columns, starts in _parts(chunk):
            numbers = heading.numbers(columns)
            keys = np.repeat(np.arange(starts.size - 1), np.diff(starts)) << 32 | numbers
            if (keys[1:] < keys[:-1]).any():
                order = np.argsort(keys)
                values, numbers = values[order], numbers[order]  # noqa: PLW2901
            texts = list(map(" %d:".__mod__, numbers.tolist()))
            signs = _signs(chunk, part, negative, "", positive)
            for sign, row in zip(signs, _joined(values, texts, starts), strict=True):
                # Without a label a line begins with a feature; if there is none, with one that is 0.
                yield sign + row if sign else row[1:] or "1:0"

    return lines


def vw_lines(heading: Heading) -> Callable[[Chunk], Iterator[str]]:
    """One namespace without a name; importances other than 1, and tags, stand before it."""
    negative, positive = heading.labels
    known = None if heading.names is None else [f" {name}:" for name in heading.names]

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, values, columns, starts in _parts(chunk):
            texts = list(map(" %d:".__mod__, heading.numbers(columns).tolist()))
            if known is not None:
                texts = [known[column] for column in columns.tolist()]
            heads = _signs(chunk, part, f"{negative} ", "", f"{positive} ")
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
    texts = heading.labels if not heading.numeric else number_texts(np.array(heading.label_numbers))
    label = json.dumps(LABEL)
    signs = [f"{label}: {text if heading.numeric else json.dumps(text)}" for text in texts]
    known = None if heading.names is None else [f"{json.dumps(name)}: " for name in heading.names]

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, values, columns, starts in _parts(chunk):
            keys = list(map('"%d": '.__mod__, heading.numbers(columns).tolist()))
            if known is not None:
                keys = [known[column] for column in columns.tolist()]
            heads = [[one] if one else [] for one in _signs(chunk, part, signs[0], "", signs[1])]
            if heading.weighted:
                for head, text in zip(heads, _weights(chunk, part), strict=True):
                    head.append(f"{json.dumps(WEIGHT)}: {text}")
            for head, row in zip(heads, _joined(values, keys, starts, ", "), strict=True):
                yield f"{{{', '.join([*head, row] if row else head)}}}"

    return lines


def csv_lines(heading: Heading, separator: str = ",") -> Callable[[Chunk], Iterator[str]]:
    """The label, the importance if any row has one, a cell for every column."""
    negative, positive = (_cell(text) for text in heading.labels)

    def lines(chunk: Chunk) -> Iterator[str]:
        for part, cells in dense_blocks(chunk, heading):
            texts, width = _cells(cells), cells.shape[1]
            heads = _signs(chunk, part, negative, "", positive)
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

    A file with importances needs it even so: whoever asks for the column of importances names it.
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
