"""Named features to columns: the hashing trick, so that a stream needs no vocabulary."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import sparse

from massart.data.limits import MOST_ARMS, MOST_ENTRIES

__all__ = ["BITS", "Row", "column", "hashed_rows", "too_many"]

BITS = 18  # as many as Vowpal Wabbit takes by default
_KEPT = 1 << 18  # names whose columns are remembered
_LONG = 64  # characters of a name that is not

Row = dict[int, float]  # column -> value


def column(namespace: str, name: str) -> int:
    """The column of a feature, the same in every process.

    >>> column("user", "age") == column("user", "age") != column("item", "age")
    True
    >>> 0 <= column("user", "age") < 2**BITS
    True
    """
    return _new_column(namespace, name) if len(namespace) + len(name) > _LONG else _remembered(namespace, name)


def _new_column(namespace: str, name: str) -> int:
    digest = hashlib.blake2b(f"{namespace}\x1f{name}".encode(errors="surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") & ((1 << BITS) - 1)


_remembered = lru_cache(_KEPT)(_new_column)


def too_many(rows: Sequence[Row], shared: Row) -> str | None:
    """What is wrong with a decision that is too large; None if nothing is.

    >>> too_many([{}] * 5_000, {column: 1.0 for column in range(1000)})
    'the decision has up to 5,000,000 features in all its arms, more than 2,097,152'
    """
    if len(rows) > MOST_ARMS:
        return f"the decision has {len(rows):,} arms, more than {MOST_ARMS:,}"
    entries = len(rows) * len(shared) + sum(map(len, rows))
    if entries > MOST_ENTRIES:
        return f"the decision has up to {entries:,} features in all its arms, more than {MOST_ENTRIES:,}"
    return None


def hashed_rows(rows: Sequence[Row], shared: Row) -> "sparse.csr_array":
    """The contexts of one decision: each arm's features and the shared ones, as CSR.

    >>> hashed_rows([{3: 1.0}, {5: 2.0}], {7: 0.5}).toarray()[:, [3, 5, 7]].tolist()
    [[1.0, 0.0, 0.5], [0.0, 2.0, 0.5]]
    """
    starts: list[int] = [0]
    columns: list[int] = []
    values: list[float] = []
    for row in rows:
        whole = dict(shared)
        for index, value in row.items():
            whole[index] = whole.get(index, 0.0) + value
        ordered = sorted(whole)
        columns.extend(ordered)
        values.extend(whole[index] for index in ordered)
        starts.append(len(columns))
    parts = np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), np.array(starts, dtype=np.int32)
    return sparse.csr_array(parts, shape=(len(rows), 1 << BITS))
