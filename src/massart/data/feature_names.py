"""Which features of some data are hashed to given columns: names are read again, in plain Python."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np

from massart.data.feature_rows import Named, named_rows, of_column
from massart.data.io.sources import find_sources
from massart.data.schema import Schema

__all__ = ["MOST_ROWS", "column_names", "find_names"]

MOST_ROWS: Final = 200_000  # that are looked at
_MOST_NAMES: Final = 5  # of one column
_FNV: Final = np.uint32(16777619)  # as in kernels/parsing/hashing.py


def find_names(paths: Sequence[str], schema: Schema, wanted: Collection[int]) -> dict[int, list[str]]:
    r"""The names of features, and of their products, that the data has in the wanted columns.

    At most 200,000 rows are looked at, and none once every column has a name.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from massart.data.names import name_hash
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.vw").write_text("1 |user town:Rome 7:2\n")
    ...     column = name_hash("Rome", name_hash("town", name_hash("user"))) % 2**18
    ...     find_names([f"{folder}/a.vw"], Schema("vw", bits=18), [column]) == {column: ["user^town=Rome"]}
    True
    """
    mask = (1 << (schema.bits or 0)) - 1
    found: dict[int, list[str]] = {}
    left = set(wanted)
    looking = np.array(sorted(wanted), np.uint32)
    rows = (row for source in find_sources(list(paths)) for row in named_rows(source, schema))
    for row in islice(rows, MOST_ROWS):
        for column, name in _hits(row, schema.crossings, looking, mask):
            names = found.setdefault(column, [])
            if name not in names and len(names) < _MOST_NAMES:
                names.append(name)
            left.discard(column)
        if not left:
            break
    return found


def column_names(schema: Schema, wanted: Collection[int]) -> dict[int, list[str]]:
    """The names of columns of numbers, which a reading of tables tells by itself.

    >>> from massart.data.names import name_hash
    >>> schema = Schema("csv", bits=18, columns=("age", "town"), categorical=("town",))
    >>> column_names(schema, [name_hash("age") % 2**18, 5]) == {name_hash("age") % 2**18: ["age"]}
    True
    """
    mask, found = (1 << (schema.bits or 0)) - 1, dict[int, list[str]]()
    for name in schema.columns or ():
        for own in of_column(name) if name not in schema.categorical else ():
            if own.hash & mask in wanted:
                found.setdefault(own.hash & mask, []).append(name)
    return found


def _hits(row: list[Named], crossings: Sequence[str], wanted: Any, mask: int) -> Iterator[tuple[int, str]]:
    columns = np.array([feature.hash & mask for feature in row], np.uint32)
    for place in np.flatnonzero(np.isin(columns, wanted)).tolist():
        yield int(columns[place]), row[place].name
    spaces = np.array([feature.space for feature in row], np.uint8)
    for letters in crossings:
        places = [np.flatnonzero((spaces == ord(one)) | (one == ":")) for one in letters]
        for column, factors in _products(columns, places, letters, wanted, np.uint32(mask)):
            yield column, "*".join(row[place].name for place in factors)


def _products(
    columns: Any, places: list[Any], letters: str, wanted: Any, mask: np.uint32
) -> Iterator[tuple[int, list[int]]]:
    """Columns and places of products, one factor from each list of places; of a namespace twice, each pair once."""
    *before, second, last = places
    for first in before[0].tolist() if before else [-1]:
        halves = columns[second] if first < 0 else (columns[first : first + 1] * _FNV) ^ columns[second]
        hashes = ((halves * _FNV)[:, None] ^ columns[last][None, :]) & mask
        for i, j in np.argwhere(np.isin(hashes, wanted)).tolist():
            factors = [*([] if first < 0 else [first]), int(second[i]), int(last[j])]
            named = sorted(range(len(letters)), key=lambda k: (letters[k], k))
            if all(factors[a] <= factors[b] for a, b in pairwise(named) if letters[a] == letters[b]):
                yield int(hashes[i, j]), factors
