"""Labelled files as one matrix, with any number of classes: what worlds are made of.

The readers know two labels. So a file is read once to see which labels there are, and once more for every two of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.formats.labels import as_text, is_number
from massart.data.io.sources import Paths, Source, find_sources
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidDataError, counted

__all__ = ["LabelledRows", "read_labelled"]

MOST_CLASSES: Final = 100
MOST_COLUMNS: Final = 1000  # that are not 0 in every row
MOST_NUMBERS: Final = 1 << 27
_FIRST: Final = ("-1", "1")
_BITS: Final = 24  # of a hash: of 1,000 values two share a column with probability .03


class LabelledRows(NamedTuple):
    """Rows and the class of each; classes are numbers if all of them are, else texts."""

    X: NDArray[np.float64]  # (n, d), columns that are 0 in every row left out
    y: NDArray[Any]  # (n,)


class _Part(NamedTuple):
    """The rows of some classes."""

    place: NDArray[np.int64]  # (n, 2): number of the file, line
    rows: Any  # (n, width) dense, or CSR
    labels: list[float | str]  # (n,)


def read_labelled(paths: Paths, *, workers: int = 2, **options: Any) -> LabelledRows:
    r"""The rows of files in memory; a row that cannot be read is an error.

    `options` are the fields of `Schema`, but for `labels`. Missing values count as 0, and each value of a column of
    text has a column of its own, as in `read`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"size,colour,class\n1,red,low\n2,blue,high\n3,red,middle\n"), file.flush()
    ...     X, y = read_labelled(file.name)
    >>> X.shape, y.tolist()
    ((3, 3), ['low', 'high', 'middle'])
    """
    sources = find_sources(paths)
    if any(source.is_pipe for source in sources):
        raise InvalidDataError("the rows are read several times, and a pipe can be read once: write them to a file")
    name = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
    reader = Reader(sources, _schema(sources, Schema(**options, labels=_FIRST), workers), workers=workers)
    first, unknown = _read(reader, (float(_FIRST[0]), float(_FIRST[1])))
    classes = sorted({_value(label) for label in unknown}, key=lambda one: (isinstance(one, str), one))
    if len(classes) > MOST_CLASSES:
        raise InvalidDataError(
            f"{name} has more than {MOST_CLASSES} labels, such as {as_text(classes[0])!r} and {as_text(classes[1])!r}: "
            "name the column of the classes with `label`"
        )
    parts = [first, *(_again(sources, reader.schema, two, workers) for two in _pairs(classes))]
    if sum(len(part.labels) for part in parts) < len(first.labels) + len(unknown):
        raise InvalidDataError(f"{name} has labels that are too long to be told apart: use shorter ones")
    return _joined([part for part in parts if part.labels], name)


def _schema(sources: Sequence[Source], asked: Schema, workers: int) -> Schema:
    """The schema with all columns of all rows; where features are hashed, to columns that hardly ever collide."""
    # Rows of other labels are left out, with the columns that only they have: so labels are not looked at here.
    found = Reader(sources, asked, workers=workers, labelled=False)
    if asked.bits is None and found.schema.bits is not None:
        return asked.replace(bits=_BITS)
    return asked if found.schema.width is not None else asked.replace(features=found.with_width().schema.features)


def _value(label: str) -> float | str:
    return float(label) if is_number(label) else label


def _pairs(classes: Sequence[float | str]) -> Iterator[tuple[float | str, float | str | None]]:
    """Classes two by two, numbers with numbers and texts with texts, as labels are compared."""
    for kind in (float, str):
        alike = [one for one in classes if isinstance(one, kind)]
        for place in range(0, len(alike), 2):
            yield alike[place], alike[place + 1] if place + 1 < len(alike) else None


def _again(
    sources: Sequence[Source], schema: Schema, two: tuple[float | str, float | str | None], workers: int
) -> _Part:
    one, other = two
    # A class that is alone is read beside a label that is not its own, whose rows are not taken.
    beside = other if other is not None else f"{one}_" if isinstance(one, str) else 1.0 if one == 0.0 else 0.0
    labels = (_typed(one), _typed(beside))
    return _read(Reader(sources, schema.replace(labels=labels), workers=workers), (one, other))[0]


def _typed(label: float | str) -> str:
    return label if isinstance(label, str) else repr(label)


def _read(reader: Reader, two: tuple[float | str, float | str | None]) -> tuple[_Part, list[str]]:
    """The rows with one of two labels, and the labels of the others."""
    places, rows, labels, unknown = [], [], [], []
    for chunk in reader:
        for error in chunk.errors:
            if error.label is None:
                raise InvalidDataError(str(error))
            unknown.append(error.label)
        taken = (chunk.y < 0) | ((chunk.y > 0) & (two[1] is not None))
        if taken.any():
            places.append(np.column_stack([np.full(int(taken.sum()), chunk.end.source), chunk.lines[taken]]))
            rows.append(chunk.X[taken])
            labels += [two[0] if sign < 0 else two[1] for sign in chunk.y[taken].tolist()]
    place = np.concatenate(places) if places else np.empty((0, 2), np.int64)
    return _Part(place, _stacked(rows) if rows else None, labels), unknown  # type: ignore[arg-type]


def _stacked(rows: Sequence[Any]) -> Any:
    if hasattr(rows[0], "toarray"):
        from scipy import sparse  # noqa: PLC0415  tables of numbers do without it

        return sparse.vstack(rows, format="csr")
    return np.vstack(rows)


def _joined(parts: Sequence[_Part], name: str) -> LabelledRows:
    if not parts:
        raise InvalidDataError(f"{name} has no row with a label")
    place = np.concatenate([part.place for part in parts])
    order = np.lexsort((place[:, 1], place[:, 0]))
    rows = _stacked([part.rows for part in parts])
    used = np.unique(rows.indices) if hasattr(rows, "indices") else np.flatnonzero((rows != 0.0).any(axis=0))
    if used.size > MOST_COLUMNS or used.size * len(order) > MOST_NUMBERS:
        raise InvalidDataError(
            f"{name} has {counted(used.size, 'column')} in {counted(len(order), 'row')}, each value of a column of "
            f"text a column of its own; at most {MOST_COLUMNS:,} and {MOST_NUMBERS:,} numbers are taken: leave columns "
            "out with `ignore`, or hash them to fewer with `bits=8`"
        )
    kept = rows[order][:, used]
    labels = [label for part in parts for label in part.labels]
    mixed = any(isinstance(label, str) for label in labels)
    every = np.array([as_text(label) if mixed else label for label in labels])
    X = np.asarray(kept.toarray() if hasattr(kept, "toarray") else kept, dtype=np.float64)
    return LabelledRows(np.ascontiguousarray(X), every[order])
