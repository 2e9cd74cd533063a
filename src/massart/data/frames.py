"""Data frames with text among their columns as hashed rows, with the columns that a CSV file of them would have.

Frames come from pandas, Polars, PyArrow and whatever else Narwhals knows. Numbers and booleans are numbers, in the
column that their name is hashed to; a text, a category or a date is a feature of its own with value 1, hashed with the
hash of its column's name as seed. A missing or empty text is nothing.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.formats.labels import as_bytes
from massart.data.formats.table_chunks import Matrix, Table, converted, frozen
from massart.data.formats.table_columns import Column, Feature, Kind, Layout, completed
from massart.data.schema import MOST_COLUMNS, Schema
from massart.errors import InvalidDataError, shown
from massart.kernels.parsing.row_errors import LARGEST
from massart.kernels.parsing.tables import hash_texts
from massart.values import Value

__all__ = ["HashedRows", "as_frame", "frame_rows", "frame_schema"]

_LISTED: Final = 6  # names that a message lists
_MOST_ENTRIES: Final = 1 << 32  # of a batch
_NAMES: Final = (str, bytes, bool, Real, np.generic, Decimal, date)  # of which a category may be


class HashedRows(Value):
    """Rows as a reader of files gives them: columns of a row in the order of the frame's, each at most once."""

    parts: tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]  # CSR: values, columns, row pointers
    width: int  # columns that there could be

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.parts[2].size - 1, self.width

    @property
    def matrix(self) -> Any:
        """The same as a SciPy CSR matrix, the columns of each row in order."""
        from scipy import sparse  # noqa: PLC0415  training from files does without it

        data, indices, indptr = self.parts
        found = sparse.csr_matrix((data.copy(), indices.astype(np.int64), indptr.astype(np.int64)), shape=self.shape)
        found.sort_indices()  # in place, hence the copies
        return found


def as_frame(X: Any) -> Any:
    """A data frame as Narwhals' own, which has one interface for all; None if it is none.

    >>> as_frame(np.eye(2)) is None
    True
    """
    if not (hasattr(type(X), "columns") or hasattr(type(X), "column_names")):
        return None
    import narwhals as nw  # noqa: PLC0415  few calls need it

    try:
        found = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:  # columns of one name, which only arrays may have
        return None
    if isinstance(found, nw.LazyFrame):
        raise InvalidDataError("X is a lazy frame, whose rows are not there yet: collect it first")
    return found if isinstance(found, nw.DataFrame) else None


def frame_schema(frame: Any, bits: int) -> Schema | None:
    """How a frame's columns are hashed; None if all of them are numbers, which need not be.

    >>> import pandas as pd
    >>> found = frame_schema(as_frame(pd.DataFrame({"age": [31, 54], "town": ["Ulm", None]})), 18)
    >>> found.columns, found.categorical, found.width
    (('age', 'town'), ('town',), 262144)
    """
    columns = [Column(name, _kind(own, name), 1, str(own.dtype)) for name, own in _columns(frame).items()]
    if all(column.kind == "number" for column in columns):
        return None
    return completed(columns, _layout([column.kind for column in columns]), Schema(bits=bits))


def frame_rows(frame: Any, schema: Schema, *, fill: bool) -> HashedRows:
    """The rows of a frame that has the columns of a schema, in any order; with `fill`, a missing number is absent.

    >>> import pandas as pd
    >>> frame = as_frame(pd.DataFrame({"7": [0.5, 2.0], "town": ["Ulm", None]}))
    >>> rows = frame_rows(frame, frame_schema(frame, 4), fill=False)
    >>> rows.matrix.toarray()[1].tolist().index(2.0)
    7
    """
    named = _columns(frame)
    wanted = schema.columns or ()
    _check_names(list(named), wanted)
    if schema.crossings:
        raise InvalidDataError(
            f"this classifier crosses namespaces ({', '.join(schema.crossings)}), which is done for files alone: read "
            "them with massart.data.read, and give it those rows"
        )
    categories = set(schema.categorical)
    columns = [Column(name, "category" if name in categories else "number") for name in wanted]
    layout = _layout([column.kind for column in columns])
    table = Table(columns, layout, schema, "X", labelled=False)
    count = len(frame)
    if count == 0:
        raise InvalidDataError("X is a data frame with 0 sample(s): give at least one row")
    if count * len(wanted) >= _MOST_ENTRIES:
        raise InvalidDataError(f"X has {count:,} rows of {len(wanted):,} columns: give fewer rows at a time")
    matrix = Matrix(np.empty((count, len(wanted))), 0)
    for place, name in enumerate(wanted):
        if name in categories:
            hashes, present = _text_hashes(named[name], name, table.hashes[place])
            matrix.varying[place] = hashes
            matrix.put(place, [frozen(present.astype(np.float64))])
        else:
            matrix.put(place, [_numbers(named[name], name, fill=fill)])
    rows: Any = table.chunk(matrix, None, lambda row: None, None, 0).rows
    return HashedRows(rows, 1 << (schema.bits or 0))


def _layout(kinds: Sequence[Kind]) -> Layout:
    """All columns are features: the labels of a frame come apart from it."""
    return Layout(None, None, tuple(Feature(number, kind, number) for number, kind in enumerate(kinds)))


def _columns(frame: Any) -> dict[str, Any]:
    """The columns by name; names that are no text become text."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidDataError(f"several columns of X are called {shown(twice)}: give each a name of its own")
    if len(names) > MOST_COLUMNS:
        raise InvalidDataError(f"X has {len(names):,} columns, more than the {MOST_COLUMNS:,} a table may have")
    return dict(zip(names, frame.iter_columns(), strict=True))


def _check_names(given: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a frame whose columns are not those that were learned; their order does not matter."""
    for names, others, words in ((wanted, given, "lacks"), (given, wanted, "has, beyond those that were learned,")):
        known = set(others)
        odd = [name for name in names if name not in known]
        if odd:
            listed = ", ".join(map(shown, odd[:_LISTED])) + (" and others" if len(odd) > _LISTED else "")
            raise InvalidDataError(
                f"X {words} the column{'s' if len(odd) > 1 else ''} {listed}: give a frame with the columns "
                "of feature_names_in_, in any order"
            )


def _kind(column: Any, name: str) -> Kind:
    """What can be made of a column: of objects, numbers if all of them are."""
    import narwhals as nw  # noqa: PLC0415

    dtype = column.dtype
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Date, nw.Binary):
        return "category"
    if dtype == nw.Object:
        present = [value for value, missing in zip(column.to_list(), _missing(column), strict=True) if not missing]
        are_numbers = bool(present) and all(isinstance(value, Real | np.bool_ | Decimal) for value in present)
        return "number" if are_numbers else "category"
    if dtype in (nw.Datetime, nw.Duration, nw.Time, nw.List, nw.Array, nw.Struct):
        raise InvalidDataError(
            f"column {shown(name)} of X holds {dtype}, of which no features can be made: leave it out, or turn it into "
            "numbers or text"
        )
    return "number"


def _missing(column: Any) -> NDArray[np.bool_]:
    """Which values are not there."""
    return np.asarray(column.is_null().to_numpy(), dtype=bool)


def _numbers(column: Any, name: str, *, fill: bool) -> NDArray[np.float64]:
    """The values of a column, NaN for those that are missing, if that is allowed."""
    if _kind(column, name) != "number":
        raise InvalidDataError(
            f"column {shown(name)} of X holds {column.dtype}, but numbers were learned from it: give numbers"
        )
    try:
        values = converted(np.where(_missing(column), np.nan, column.to_numpy()), np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"column {shown(name)} of X cannot be read as numbers: {error}") from None
    refused = ~(np.abs(values) <= LARGEST)
    if fill:
        refused &= ~np.isnan(values)
    if refused.any():
        row = int(np.argmax(refused))
        what = "NaN" if np.isnan(values[row]) else "infinity" if np.isinf(values[row]) else f"{values[row]:g}"
        advice = "drop the row, fill the value, or have it count as absent with missing='zero'"
        raise InvalidDataError(
            f"Input X contains {what} at row {row} (counted from 0), column {shown(name)}: "
            f"{advice if what == 'NaN' else f'give numbers of at most {LARGEST:g} in size'}. "
            "Nothing was learned from this batch."
        )
    return values


def _text_hashes(column: Any, name: str, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The hashes of names, and which of them are there; each different name is hashed once."""
    missing = _missing(column)
    present = column.to_list()
    if missing.any():
        present = [value for value, absent in zip(present, missing.tolist(), strict=True) if not absent]
    if set(map(type, present)) - {str}:
        present = [_checked_name(value, name) for value in present]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(present))}
    texts = [as_bytes(value) for value in numbers]
    offsets = np.concatenate(([0], np.cumsum([len(text) for text in texts], dtype=np.int64))).astype(np.int64)
    hashes = np.empty(len(texts), np.uint32)
    hash_texts(frozen(np.frombuffer(b"".join(texts) or b"\0", np.uint8)), frozen(offsets), np.uint32(seed), hashes)
    found, there = np.zeros(missing.size, np.uint32), np.zeros(missing.size, np.bool_)
    places = np.fromiter(map(numbers.__getitem__, present), np.int64, len(present))
    found[~missing], there[~missing] = hashes[places], (np.diff(offsets) > 0)[places]
    return found, there


def _checked_name(value: Any, name: str) -> bytes:
    """The name that a value of an object column, or of one with categories of any kind, is hashed as."""
    if not isinstance(value, _NAMES) or isinstance(value, datetime):
        raise InvalidDataError(
            f"column {shown(name)} of X holds {type(value).__name__}, of which no features can be made: leave it out, "
            "or turn it into numbers or text"
        )
    return as_bytes(value)
