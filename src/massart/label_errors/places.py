"""Where labels contradict predictions: counts for values of columns, categories and groups, in constant memory.

A place is a set of rows that is known before their labels are: a group, a category, a value or a quarter of a column's
values, or the rows in which a column is not 0. At most 4,096 places are counted, those that come first, and each takes
1/4096 of the doubt, so that all intervals hold at once (Theorem 24 of docs/theory.md).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from massart.learners.group_columns import GroupColumns
from massart.theory import lower_disagreement_limit, upper_disagreement_limit

__all__ = ["FIRST_ROWS", "MOST_PLACES", "Place", "Places"]

FIRST_ROWS: Final = 256  # at least, that say how columns are cut; they are not counted themselves
MOST_PLACES: Final = 4096
_FEW: Final = 6  # values other than 0 up to which each is a place of its own
_CUTS: Final = (0.25, 0.5, 0.75)
_PRESENT, _VALUES, _CUT = range(3)  # a column's places: where it is not 0; each of few values; quarters
_LEAST_ROWS: Final = 20  # of a place that is listed


class Place(NamedTuple):
    """Rows and how often their labels contradicted predictions that were made before the labels were seen.

    `low` and `high` limit the mean chance of that over the rows of the place, `rest_low` and `rest_high` over all other
    rows. If the true label of each row is the most probable one to be shown, `high` also limits the mean chance that a
    label of the place is wrong.
    """

    name: str
    rows: int
    disagreements: int
    low: float
    high: float
    rest_low: float
    rest_high: float

    @property
    def rate(self) -> float:
        """Disagreements per row."""
        return self.disagreements / self.rows

    @property
    def verdict(self) -> str:
        """`more` or `less` often than in the other rows, or nothing where intervals overlap."""
        return "more" if self.low > self.rest_high else "less" if self.high < self.rest_low else ""


class Places:
    """Counts the rows of each place, and those on which predictions were wrong.

    >>> X = np.column_stack([np.arange(1000.0) % 2, np.arange(1000.0)])
    >>> places = Places(X[:256], confidence=0.99)
    >>> places.count(X[256:], X[256:, 0] == 1.0)
    >>> worst = places.found(lambda column: f"column {column}")[0]
    >>> worst.name, worst.rows, worst.disagreements, worst.verdict
    ('column 0 is not 0', 372, 372, 'more')
    """

    def __init__(self, first: Any, confidence: float) -> None:
        self._doubt = (1.0 - confidence) / (2.0 * MOST_PLACES)  # half for a place, half for the rest
        self._rows = self._wrong = 0
        self._counts = np.zeros((2, MOST_PLACES), np.int64)  # rows, of them wrong
        self._used = 0
        self._columns = np.empty(0, np.int64)  # rising
        self._kind = np.empty(0, np.int64)
        self._base = np.empty(0, np.int64)  # the first place of each column
        self._zero = np.empty(0, np.int64)  # the place of the value 0 within the column; -1: none
        self._marks = np.empty((0, _FEW + 1))  # values or cuts, then NaN
        self._named: dict[str, int] = {}  # groups and categories
        self._look(first)

    def _look(self, first: Any) -> None:
        """Decide how the columns of the first rows are cut."""
        entries = csr_matrix(first)
        rows, columns, values = entries.shape[0], entries.indices.astype(np.int64), entries.data
        order = np.lexsort((values, columns))
        columns, values = columns[order], values[order]
        seen, starts = np.unique(columns, return_index=True)
        plans = []
        for column, stored in zip(seen.tolist(), np.split(values, starts[1:]), strict=True):
            own = stored[stored != 0.0]
            distinct = np.unique(own)
            if distinct.size <= 1:
                plans.append((column, _PRESENT, distinct[:0]))
            elif distinct.size <= _FEW:
                plans.append((column, _VALUES, distinct))
            else:
                every = np.concatenate((np.zeros(rows - own.size), own))
                cuts = np.quantile(every, _CUTS, method="lower")
                plans.append((column, _CUT, np.unique(cuts[cuts < every.max()])))
        self._add_columns(plans)

    def _add_columns(self, plans: Sequence[tuple[int, int, NDArray[np.float64]]]) -> None:
        """Give columns their places, as long as there are any: (column, kind, values or cuts) of each."""
        numbers, padded = [], []
        for column, kind, marks in plans:
            own = np.sort(np.append(marks, 0.0)) if kind == _VALUES else marks
            size = 1 if kind == _PRESENT else own.size if kind == _VALUES else own.size + 1
            if self._used + size > MOST_PLACES:
                break
            zero = -1 if kind == _PRESENT else int(np.count_nonzero(own < 0.0))
            numbers.append((column, kind, self._used, zero))
            padded.append(np.concatenate((own, np.full(_FEW + 1 - own.size, np.nan))))
            self._used += size
        if not numbers:
            return
        known = np.column_stack([self._columns, self._kind, self._base, self._zero])
        every = np.concatenate((known, np.array(numbers, np.int64)))
        order = np.argsort(every[:, 0])
        self._columns, self._kind, self._base, self._zero = every[order].T.copy()
        self._marks = np.concatenate((self._marks, np.array(padded)))[order]

    def count(self, X: Any, wrong: NDArray[np.bool_], groups: GroupColumns | None = None) -> None:
        """Add rows, dense or CSR, and which of them were predicted wrongly; `groups` are groups or categories."""
        self._rows += wrong.size
        self._wrong += int(np.count_nonzero(wrong))
        if groups is not None:
            self._count_named(groups, wrong)
        if issparse(X):
            lines = np.repeat(np.arange(wrong.size), np.diff(X.indptr))
            columns, values = X.indices.astype(np.int64), X.data
            there = values != 0.0
            if not there.all():
                lines, columns, values = lines[there], columns[there], values[there]
        else:
            left = self._count_present(X, wrong)
            others = X[:, left]
            lines, columns = np.nonzero(others)
            columns, values = left[columns], others[lines, columns]
        at = self._found_at(columns)
        if self._used < MOST_PLACES and (at < 0).any():
            new = np.unique(columns[at < 0]).tolist()  # all 0 in the rows before
            self._add_columns([(column, _PRESENT, np.empty(0)) for column in new])
            at = self._found_at(columns)
        if (at < 0).any():
            known = at >= 0
            at, lines, values = at[known], lines[known], values[known]
        of_wrong = wrong[lines]
        self._count_entries(at, values, of_wrong)
        self._count_zeros(wrong, at, of_wrong)

    def _count_present(self, X: NDArray[Any], wrong: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the columns that have one place each, all rows at once; the columns that are left."""
        one = self._kind == _PRESENT
        there = X[:, self._columns[one]] != 0.0
        places = self._base[one]
        self._counts[0][places] += np.count_nonzero(there, axis=0)
        self._counts[1][places] += np.count_nonzero(there[wrong], axis=0)
        return np.delete(np.arange(X.shape[1]), self._columns[one])

    def _found_at(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where columns stand in `_columns`; -1: nowhere."""
        size = self._columns.size
        if not size:
            return np.full(columns.size, -1)
        if size - 1 == self._columns[-1]:  # all columns from 0 on, so each stands at its own place
            at = np.minimum(columns, size - 1)
        else:
            at = np.minimum(np.searchsorted(self._columns, columns), size - 1)
        return np.where(self._columns[at] == columns, at, -1)

    def _count_entries(self, at: NDArray[np.int64], values: NDArray[np.float64], wrong: NDArray[np.bool_]) -> None:
        """Values other than 0, of the columns at these places of `_columns`."""
        within, kind = np.zeros(at.size, np.int64), self._kind[at]
        cut = np.flatnonzero(kind == _CUT)
        within[cut] = np.count_nonzero(self._marks[at[cut]] < values[cut, None], axis=1)
        few = np.flatnonzero(kind == _VALUES)
        equal = self._marks[at[few]] == values[few, None]
        within[few] = np.where(equal.any(axis=1), np.argmax(equal, axis=1), -1)  # -1: the first rows did not have it
        places = self._base[at] + within
        if few.size:
            there = within >= 0
            places, wrong = places[there], wrong[there]
        self._counts[0] += np.bincount(places, minlength=MOST_PLACES)
        self._counts[1] += np.bincount(places[wrong], minlength=MOST_PLACES)

    def _count_zeros(self, wrong: NDArray[np.bool_], at: NDArray[np.int64], of_wrong: NDArray[np.bool_]) -> None:
        """Rows in which a column is 0: all without those in which it is not."""
        size = self._columns.size
        zeros = wrong.size - np.bincount(at, minlength=size)
        wrong_zeros = int(np.count_nonzero(wrong)) - np.bincount(at[of_wrong], minlength=size)
        own = self._zero >= 0
        places = (self._base + self._zero)[own]
        self._counts[0][places] += zeros[own]
        self._counts[1][places] += wrong_zeros[own]

    def _count_named(self, groups: GroupColumns, wrong: NDArray[np.bool_]) -> None:
        for name in groups.in_order():
            if name not in self._named and self._used < MOST_PLACES:
                self._named[name] = self._used
                self._used += 1
        numbers = groups.numbered(self._named)
        for own in numbers.T:
            there = own >= 0
            self._counts[0] += np.bincount(own[there], minlength=MOST_PLACES)
            self._counts[1] += np.bincount(own[there & wrong], minlength=MOST_PLACES)

    def columns(self) -> list[int]:
        """The columns that have places."""
        return [int(column) for column in self._columns]

    def found(self, name_of: Any) -> list[Place]:
        """All places of 20 rows or more, those that stand out most first; a category that is a group, too, once."""
        named = list(self._named.items())
        for number, column in enumerate(self._columns.tolist()):
            marks = self._marks[number][~np.isnan(self._marks[number])]
            base, name = int(self._base[number]), str(name_of(column))
            words = _words(name, int(self._kind[number]), marks)
            named += [(own, base + place) for place, own in enumerate(words)]
        rows = self._counts[0]
        listed = {self._place(name, place) for name, place in named if _LEAST_ROWS <= rows[place] < self._rows}
        return sorted(listed, key=lambda one: (one.rest_high - one.low, -one.rows, one.name))

    def _place(self, name: str, place: int) -> Place:
        rows, wrong = int(self._counts[0, place]), int(self._counts[1, place])
        confidence, ends = 1.0 - self._doubt, list[float]()
        for bad, every in ((wrong, rows), (self._wrong - wrong, self._rows - rows)):
            ends += [limit(bad, every, confidence) for limit in (lower_disagreement_limit, upper_disagreement_limit)]
        return Place(name, rows, wrong, *ends)


def _words(name: str, kind: int, marks: NDArray[np.float64]) -> list[str]:
    """The names of a column's places."""
    if kind == _PRESENT:
        return [name if "=" in name else f"{name} is not 0"]
    if kind == _VALUES:
        return [f"{name} = {value:g}" for value in marks.tolist()]
    if not marks.size:
        return [name]
    ends = [f"{value:g}" for value in marks.tolist()]
    middle = [f"{low} < {name} <= {high}" for low, high in pairwise(ends)]
    return [f"{name} <= {ends[0]}", *middle, f"{name} > {ends[-1]}"]
