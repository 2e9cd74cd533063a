"""Rows with labels from arrays, data frames and files, in blocks of any size asked for, each row once."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from massart.data.chunk import crossed_whole
from massart.data.feature_names import column_names, find_names
from massart.data.formats.labels import as_text
from massart.data.frames import as_frame, frame_rows, frame_schema
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.data.schema import BITS, Schema
from massart.errors import InvalidDataError, InvalidParameterError, counted
from massart.kernels.door import Rows, check_weights
from massart.learners.group_columns import GroupColumns, group_columns, read_groups
from massart.learners.inputs import check_labels, own_errors

__all__ = ["Block", "Feed", "array_feed", "file_feed"]

_HASHED = "#{}"


class Block(NamedTuple):
    """Some rows in a row."""

    X: Any  # dense or CSR, as it is learned
    y: NDArray[Any]
    weight: NDArray[np.float64]  # or empty: all 1
    cells: Any  # dense or CSR: the columns of numbers that have places
    groups: GroupColumns | None  # groups, and categories of data frames
    row: NDArray[np.int64]  # numbers, from 0
    source: list[str]
    line: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.y.size)


class Feed:
    """Blocks of rows, and what is known of them beforehand."""

    def __init__(
        self,
        parts: Iterator[Block],
        classes: Sequence[Any] | None,
        names: Callable[[Sequence[int]], dict[int, str]],
        what: str,
        left_out: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self._parts = parts
        self.classes = classes  # None: they come as they come
        self.names = names  # of columns
        self.what = what  # in words
        self.left_out = left_out  # rows that were not taken, by the reason
        self._waiting: list[Block] = []

    def take(self, count: int) -> Block | None:
        """The next rows, so many of them unless there are fewer; None at the end."""
        held = sum(map(len, self._waiting))
        while held < count and (part := next(self._parts, None)) is not None:
            if len(part):
                self._waiting.append(part)
                held += len(part)
        if not held:
            return None
        taken: list[Block] = []
        wanted = min(count, held)
        while wanted:
            first = self._waiting.pop(0)
            if len(first) > wanted:
                self._waiting.insert(0, _cut(first, wanted, len(first)))
                first = _cut(first, 0, wanted)
            taken.append(first)
            wanted -= len(first)
        return taken[0] if len(taken) == 1 else stacked(taken)


def _cut(block: Block, begin: int, end: int) -> Block:
    own = slice(begin, end)
    same = block.cells is block.X
    X = block.X[own]
    groups = None
    if block.groups is not None:
        groups = block.groups.taken(np.arange(begin, end, dtype=np.uint64))
    cells = X if same else block.cells[own]
    return Block(X, block.y[own], block.weight[own], cells, groups, block.row[own], block.source[own], block.line[own])


def stacked(blocks: Sequence[Block]) -> Block:
    """Blocks as one."""
    X = _stack([one.X for one in blocks])
    cells = X if blocks[0].cells is blocks[0].X else _stack([one.cells for one in blocks])
    groups = None
    if blocks[0].groups is not None:
        groups = _stack_groups([one.groups for one in blocks if one.groups is not None])
    return Block(
        X,
        np.concatenate([one.y for one in blocks]),
        np.concatenate([one.weight for one in blocks]),
        cells,
        groups,
        np.concatenate([one.row for one in blocks]),
        [name for one in blocks for name in one.source],
        np.concatenate([one.line for one in blocks]),
    )


def _stack(parts: Sequence[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _stack_groups(parts: Sequence[GroupColumns]) -> GroupColumns:
    columns = []
    for same in zip(*(part.columns for part in parts), strict=True):
        known: dict[str, int] = {}
        codes = []
        for own in same:
            table = np.array([*(known.setdefault(name, len(known)) for name in own.names), -1], np.int64)
            codes.append(table[own.codes])
        columns.append(type(same[0])(np.concatenate(codes), tuple(known)))
    return GroupColumns(sum(part.n_rows for part in parts), tuple(columns))


def array_feed(X: Any, y: Any, groups: Any, sample_weight: Any, missing: str) -> Feed:
    """Rows in memory: an array, a CSR matrix or a data frame."""
    with own_errors():
        frame = as_frame(X)
        schema = None if frame is None else frame_schema(frame, BITS)
        names, cells, categories = _column_names(X, frame), None, None
        if schema is not None:
            learned = frame_rows(frame, schema, fill=missing == "zero").matrix
            text = set(schema.categorical)
            numbers = [name for name in frame.columns if str(name) not in text]
            cells = np.column_stack([_numbers(frame[name]) for name in numbers] or [np.empty((len(frame), 0))])
            named = frame.select([name for name in frame.columns if str(name) in text]).to_native()
            categories = group_columns(_as_table(named), len(frame))
            names = [str(name) for name in numbers]
        else:
            learned = check_array(
                X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_2d=True
            )
            learned = _without_nan(learned) if missing == "zero" else learned
            Rows.of(learned, names or None, scaled=True).check()
        labels = check_labels(y)
        check_classification_targets(labels)
        count = int(learned.shape[0])
        if labels.shape[0] != count:
            raise InvalidDataError(f"X has {count} rows, but y has {labels.shape[0]} labels: give one label per row")
        weight = np.empty(0) if sample_weight is None else check_weights(sample_weight, count)
        classes = np.unique(labels[weight > 0.0] if weight.size else labels).tolist()
    own = None if groups is None else group_columns(groups, count)
    every = [one for one in (own, categories) if one is not None]
    joined = GroupColumns(count, tuple(column for one in every for column in one.columns)) if every else None
    rows = np.arange(count)
    whole = Block(
        learned,
        labels,
        weight,
        learned if cells is None else cells,
        joined,
        rows,
        [""] * count,
        np.zeros(count, np.int64),
    )
    skipped = int(np.count_nonzero(weight == 0.0)) if weight.size else 0
    if skipped:
        whole = _rows_of(whole, np.flatnonzero(weight))
    reasons = {"of weight 0": skipped} if skipped else {}

    def called(columns: Sequence[int]) -> dict[int, str]:
        return {column: names[column] if names else f"column {column}" for column in columns}

    columns = learned.shape[1] if schema is None else len(schema.columns or ())
    what = f"{counted(count, 'row')} of {counted(columns, 'column')}"
    return Feed(iter([whole]), classes, called, what, lambda: reasons)


def _rows_of(block: Block, rows: NDArray[np.int64]) -> Block:
    groups = None if block.groups is None else block.groups.taken(rows.astype(np.uint64))
    X = block.X[rows]
    cells = X if block.cells is block.X else block.cells[rows]
    source = [block.source[row] for row in rows.tolist()]
    weight = block.weight[rows] if block.weight.size else block.weight
    return Block(X, block.y[rows], weight, cells, groups, block.row[rows], source, block.line[rows])


def _column_names(X: Any, frame: Any) -> list[str]:
    if frame is None:
        return []
    return [str(name) for name in frame.columns]


def _numbers(column: Any) -> NDArray[np.float64]:
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    return np.where(np.isnan(values), 0.0, values)


def _as_table(frame: Any) -> Any:
    """A frame whose columns are asked for by their names."""
    return frame if hasattr(frame, "columns") and not hasattr(frame, "column_names") else frame.to_pandas()


def _without_nan(X: Any) -> Any:
    if sparse.issparse(X):
        return type(X)((np.nan_to_num(X.data, nan=0.0, posinf=np.inf, neginf=-np.inf), X.indices, X.indptr), X.shape)
    return np.where(np.isnan(X), X.dtype.type(0.0), X)


def file_feed(paths: Any, strict: bool, workers: int, reading: dict[str, Any]) -> Feed:
    """Rows of files, as `massart.data.read` reads them; malformed ones are left out unless `strict`."""
    try:
        asked = Schema(**reading)
    except TypeError:
        known = ", ".join(Schema._fields)
        odd = next(iter(set(reading) - set(Schema._fields)), "")
        raise InvalidParameterError(f"{odd!r} is not an option of reading: these are {known}") from None
    sources = find_sources(paths)
    reader = Reader(sources, asked, workers=workers, strict=strict)
    reader.with_width()
    schema, left_out = reader.schema, dict[str, int]()
    labels = None if schema.is_many else (schema.labels or ("-1", "1"))

    def skip(reason: str, rows: int) -> None:
        if rows:
            left_out[reason] = left_out.get(reason, 0) + rows

    def parts() -> Iterator[Block]:
        row = 0
        for chunk in (part for whole in reader for part in crossed_whole(whole)):
            skip("malformed", len(chunk.errors))
            taken = chunk.y != 0
            skip("without a label", len(chunk) - int(np.count_nonzero(taken)))
            if chunk.weight.size:
                skip("of importance 0", int(np.count_nonzero(taken & (chunk.weight == 0.0))))
                taken &= chunk.weight > 0.0
            numbers = np.arange(row, row + len(chunk))
            row += len(chunk)
            if labels is None:
                y = np.array([as_text(label) for label in chunk.labels.tolist()], dtype=object)
                y = np.asarray(y.tolist(), dtype=np.str_)
            else:
                y = np.array(labels)[(chunk.y > 0).astype(np.int64)]
            groups = read_groups(schema.groups, chunk.groups) if schema.groups else None
            X = chunk.X.copy()
            whole = Block(X, y, chunk.weight, X, groups, numbers, [chunk.source] * len(chunk), chunk.lines)
            yield whole if taken.all() else _rows_of(whole, np.flatnonzero(taken))

    def called(columns: Sequence[int]) -> dict[int, str]:
        if schema.bits is None:
            own = schema.columns
            first = 1 if schema.format == "svmlight" else 0
            return {column: own[column] if own else f"index {column + first}" for column in columns}
        found = {column: [*names] for column, names in column_names(schema, columns).items()}
        left = [column for column in columns if column not in found]
        if left and not any(source.is_pipe for source in sources):
            found |= find_names([source.name for source in sources], schema, left)
        return {column: " | ".join(found[column]) if column in found else _HASHED.format(column) for column in columns}

    names = [source.name for source in sources]
    what = names[0] if len(names) == 1 else f"{names[0]} and {counted(len(names) - 1, 'other file')}"
    return Feed(parts(), labels, called, what, lambda: left_out)


def is_path(X: Any) -> bool:
    """Whether the data is named rather than given."""
    return isinstance(X, str | os.PathLike) or (
        isinstance(X, list | tuple) and bool(X) and all(isinstance(one, str | os.PathLike) for one in X)
    )
