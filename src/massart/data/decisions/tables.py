"""Logs as plain tables: one row per decision, and which column is what.

A table says which arm was taken and what the customer was like, not what the other arms are: `LogColumns` names the
columns, and the arms are those that occur in the log (or those that are listed). Each arm gets features: its own name,
the columns of the context, and each of these crossed with its name, all hashed into 2^18 columns, so that a feature has
the same column in every log. A column of the context is numbers if all its cells are, else names.

The Open Bandit Dataset (Saito, Aihara, Matsutani and Narita 2021) is known by the names of its columns: `item_id` the
arm, `click` the reward, `propensity_score`, `position`, `timestamp`, `user_feature_*` the context, and
`user-item_affinity_j` a feature of arm j alone.

The rows of a table are kept in memory until all are read, since only then its arms are known.
"""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from massart.data.decisions.decision import BadLines, Decision, cut, refuse, shown
from massart.data.hashing import name_hash
from massart.data.offers import Offer, offer_of
from massart.data.row_errors import MOST_ARMS, MOST_ENTRIES
from massart.data.schema import BITS
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["LogColumns", "csv_names", "csv_rows", "csv_separator", "is_open_bandit", "read_tables", "table_separator"]

_SEPARATORS: Final = (",", "\t", ";", "|")
_MASK: Final = np.uint64((1 << BITS) - 1)
_PRIME: Final = np.uint64(16777619)  # by which VW multiplies where it crosses two features
_OBD: Final = ("item_id", "click", "propensity_score")
_AFFINITY: Final = "user-item_affinity_"
_CELL: Final = 64  # bytes of memory of a cell, besides its characters

_Lines = Iterator[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class LogColumns:
    """Which column of a table is what; `action` and one of `reward` and `cost` are needed.

    `context` are names, or patterns with * and ?. `arms` is how many there are if they are called 0, 1, 2, ..., or
    their names; by default they are those that occur, numbers in the order of numbers.

    >>> LogColumns(action="offer", reward="bought", context=("age", "town_*")).action
    'offer'
    """

    action: str
    reward: str | None = None
    cost: str | None = None
    probability: str | None = None
    context: Sequence[str] = ()
    position: str | None = None
    slate: str | None = None
    event_id: str | None = None
    time: str | None = None
    weight: str | None = None
    arms: int | Sequence[str] | None = None
    own: str | None = None  # columns that begin with this end with the arm they describe

    def __post_init__(self) -> None:
        if (self.reward is None) == (self.cost is None):
            raise InvalidParameterError("columns: name exactly one of `reward` and `cost` (reward = -cost)")
        if isinstance(self.context, str):
            raise InvalidParameterError("columns: `context` is a list of names of columns")
        if isinstance(self.arms, int) and not 1 <= self.arms <= MOST_ARMS:
            raise InvalidParameterError(f"columns: `arms={self.arms}` is not from 1 to {MOST_ARMS:,}")

    @property
    def single(self) -> dict[str, str]:
        """What is one column: field -> name."""
        several = ("context", "arms", "own")
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in several}
        return {field: name for field, name in given.items() if name is not None}


def csv_separator(first: str) -> str | None:
    """The separator of a log of records whose first line this is; None if it does not name the fields of one.

    >>> csv_separator("arm;probability;reward"), csv_separator("arm,price")
    (';', None)
    """
    return _separator(first, lambda names: "arm" in names and bool(names & {"reward", "cost"}))


def table_separator(first: str, columns: LogColumns) -> str | None:
    """The separator of a table whose first line this is; None if it does not name the columns."""
    return _separator(first, lambda names: set(columns.single.values()) <= names)


def is_open_bandit(first: str) -> bool:
    """Whether a first line is one of the Open Bandit Dataset.

    >>> is_open_bandit(",timestamp,item_id,position,click,propensity_score,user_feature_0")
    True
    """
    return _separator(first, set(_OBD).issubset) is not None


def _separator(first: str, known: Any) -> str | None:
    for separator in _SEPARATORS:
        try:
            names = set(next(csv.reader([first], delimiter=separator), []))
        except csv.Error:  # a line of VW may be longer than a cell of CSV
            return None
        if known(names):
            return separator
    return None


def csv_names(first: str, separator: str, source: str) -> list[str]:
    """The names in the first line of CSV; each stands there once."""
    names = next(csv.reader([first], delimiter=separator), [])
    if len(set(names)) < len(names):
        refuse(source, 1, max(names, key=names.count), "two columns have this name", "keep one of them")
    return names


def csv_rows(lines: _Lines, width: int, separator: str, source: str, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV below its first line, each with the number of the line it begins in."""
    pulled: list[int] = []  # numbers of the lines of the row that is being read

    def texts() -> Iterator[str]:
        for number, text in lines:
            pulled.append(number)
            yield text + "\n"

    rows = csv.reader(texts(), delimiter=separator, strict=True)
    while True:
        pulled.clear()
        try:
            cells = next(rows, None)
        except csv.Error as error:
            wrong = f"{source}, line {pulled[-1]}, line: not CSV ({error}); write JSON lines instead"
            bad.take(InvalidDataError(wrong), len(pulled))
            continue
        if cells is None:
            return
        if len(cells) == width:
            yield pulled[0], cells
        elif cells:
            wrong = f"{source}, line {pulled[0]}, line: {len(cells)} cells for {width} columns; write a cell for each"
            bad.take(InvalidDataError(wrong))


@dataclass(frozen=True, slots=True)
class _Row:
    source: str
    line: int
    single: dict[str, str]  # field -> cell
    context: tuple[str, ...]
    own: tuple[str, ...]


def read_tables(
    files: Iterable[tuple[str, _Lines]], columns: LogColumns | None, bad: BadLines, room: int, *, crossed: bool = False
) -> Iterator[tuple[str, Decision]]:
    """Decisions of one log in one or several tables, each with the name of its file.

    `columns=None` takes those of the Open Bandit Dataset. `room` is the memory that the rows may take, in bytes. With
    `crossed` the columns are those of arms with ids and a shared context in `massart.data.offers`.

    >>> text = ["offer,bought,p,age", "red,1,.5,20", "blue,0,.5,30"]
    >>> columns = LogColumns("offer", "bought", probability="p", context=["age"])
    >>> for _, decision in read_tables([("log.csv", iter(enumerate(text, 1)))], columns, BadLines(), 1 << 20):
    ...     print(decision.arm, decision.arms, decision.probability, decision.reward, decision.contexts.nnz)
    1 2 0.5 1.0 6
    0 2 0.5 0.0 6
    """
    rows: list[_Row] = []
    table: _Table | None = None
    for source, lines in files:
        at, first = next(lines, (1, ""))
        if table is None:
            table = _Table.named(first, columns, source)
        elif csv_names(first, table.separator, source) != table.names:
            refuse(source, at, "line", "its columns are not those of the first file", "give files of one kind")
        for line, cells in csv_rows(lines, len(table.names), table.separator, source, bad):
            row = table.row(source, line, cells)
            room -= sum(map(len, cells)) + _CELL * (len(row.single) + len(row.context) + len(row.own))
            if room < 0:
                raise InvalidDataError(
                    f"{source}, line {line}: the rows take more than 1 GiB and 16 times the size of the log in memory; "
                    "name fewer columns, or split the log"
                )
            rows.append(row)
    if table is not None:
        yield from _Builder(table, rows, crossed=crossed).decisions(bad)


class _Table:
    """The names in the first line of a table, and where what is in it."""

    def __init__(self, names: list[str], separator: str, columns: LogColumns) -> None:
        self.names, self.separator, self.columns = names, separator, columns
        place = {name: number for number, name in enumerate(names)}
        self.single = {field: place[name] for field, name in columns.single.items()}
        self.own = [n for n, name in enumerate(names) if columns.own and name.startswith(columns.own)]
        self.own_arms = [names[n].removeprefix(columns.own or "") for n in self.own]
        taken = {*self.single.values(), *self.own}
        matches = (n for one in columns.context for n, name in enumerate(names) if fnmatchcase(name, one))
        self.context = [n for n in dict.fromkeys(matches) if n not in taken]

    @classmethod
    def named(cls, first: str, columns: LogColumns | None, source: str) -> "_Table":
        asked = columns if columns is not None else LogColumns(*_OBD[:2])
        separator = table_separator(first, asked)
        if separator is None:
            wanted = ", ".join(map(cut, asked.single.values()))
            refuse(source, 1, "line", f"it does not name the columns {wanted}", "begin with a line of names")
        names = csv_names(first, separator, source)
        if columns is None:
            optional = {"probability": "propensity_score", "position": "position", "time": "timestamp"}
            there = {field: name for field, name in optional.items() if name in names}
            asked = replace(asked, **there, context=("user_feature_*",), own=_AFFINITY)
        for one in asked.context:
            if not any(fnmatchcase(name, one) for name in names):
                refuse(
                    source, 1, "line", f"no column is called {shown(one)}", "name columns of the context as they are"
                )
        return cls(names, separator, asked)

    def row(self, source: str, line: int, cells: list[str]) -> _Row:
        single = {field: cells[place].strip() for field, place in self.single.items()}
        context = tuple(cells[place].strip() for place in self.context)
        return _Row(source, line, single, context, tuple(cells[place] for place in self.own))


class _Builder:
    """Makes decisions of rows, once all rows are there."""

    def __init__(self, table: _Table, rows: Sequence[_Row], *, crossed: bool) -> None:
        self.table, self.rows, self.crossed = table, rows, crossed
        self.names = self._arms()
        self.arm_of = {name: number for number, name in enumerate(self.names)}
        seed = name_hash(table.columns.action)
        self.arm_hashes = np.array([name_hash(name, seed) for name in self.names], dtype=np.uint64)
        heads = [table.names[place] for place in table.context]
        self.is_number = [all(_number(row.context[n]) is not None for row in rows) for n in range(len(heads))]
        self.heads = [(head, name_hash(head)) for head in heads]
        self.known: dict[tuple[int, str], int] = {}
        self.own_place = {name: place for place, name in enumerate(table.own_arms)}

    def _arms(self) -> list[str]:
        asked = self.table.columns.arms
        if asked is None and self.table.own:
            asked = self.table.own_arms
        if isinstance(asked, int):
            return [str(number) for number in range(asked)]
        names = list(asked) if asked is not None else list({row.single["action"] for row in self.rows} - {""})
        if asked is None:
            whole = all(name.isascii() and name.isdigit() and len(name) < 16 for name in names)
            names.sort(key=lambda name: (int(name), name) if whole else (0, name))
        if len(set(names)) < len(names):
            raise InvalidParameterError("columns: `arms` names one twice")
        return names

    def decisions(self, bad: BadLines) -> Iterator[tuple[str, Decision]]:
        for row in self.rows:
            try:
                decision = self._decision(row)
            except InvalidDataError as error:
                bad.take(error)
                continue
            yield row.source, decision

    def _decision(self, row: _Row) -> Decision:
        single, columns = row.single, self.table.columns
        action = single["action"]
        arm = self.arm_of.get(action)
        if arm is None:
            wrong = f"{shown(action)} is none of the {len(self.names)} arms" if action else "it is missing"
            refuse(row.source, row.line, columns.action, wrong, "correct it, or leave the decision out")
        reward = self._cell(row, "reward") if columns.reward is not None else 0.0 - self._cell(row, "cost")
        position = self._cell(row, "position") if single.get("position") else None
        if position is not None and position != int(position):
            refuse(row.source, row.line, columns.position or "", f"{position:g} is not a whole number", "count from 1")
        offer = self._offer(row) if self.crossed else None
        return Decision(
            contexts=self._contexts(row) if offer is None else offer.matrix(),
            arm=arm,
            probability=self._cell(row, "probability") if single.get("probability") else math.nan,
            reward=reward,
            event_id=single.get("event_id") or None,
            time=single.get("time") or None,
            weight=self._cell(row, "weight") if columns.weight is not None else 1.0,
            line=row.line,
            position=None if position is None else int(position),
            slate=single.get("slate") or None,
            offer=offer,
        )

    def _offer(self, row: _Row) -> Offer:
        """The arms as ids, with the columns of the context by name, and what each has of its own."""
        context: dict[str, str | float] = {}
        for (head, _), is_number, cell in zip(self.heads, self.is_number, row.context, strict=True):
            if cell:
                context[head] = (_number(cell) or 0.0) if is_number else cell
        own = self.table.columns.own or ""
        arms = dict(zip(self.names, self._owned(row).tolist(), strict=True)) if self.table.own else {}
        try:
            given = {name: {own: value} for name, value in arms.items()} if arms else self.names
            return offer_of(given, context or None)
        except InvalidDataError as error:
            raise InvalidDataError(f"{row.source}, line {row.line}, {error}") from None

    def _cell(self, row: _Row, field: str) -> float:
        text = row.single[field]
        value = _number(text) if text else None
        if value is None:
            wrong = f"{shown(text)} is not a finite number" if text else "it is missing"
            refuse(row.source, row.line, self.table.columns.single[field], wrong, "write one")
        return value

    def _contexts(self, row: _Row) -> Any:
        """Of each arm: its name, the context, the context crossed with the name, and what it has of its own."""
        arms = len(self.names)
        if not self.heads and not self.table.own:
            return np.zeros((arms, 0))
        hashes, values = self._shared(row)
        if arms * (2 * len(hashes) + 2) > MOST_ENTRIES:
            wrong = f"{arms} arms with {len(hashes)} features are more than {MOST_ENTRIES:,} crossed ones"
            refuse(row.source, row.line, "line", wrong, "name fewer columns of the context")
        own = self.arm_hashes[:, None]
        crossed = (np.asarray(hashes, dtype=np.uint64)[None, :] * _PRIME) ^ own
        shared = np.broadcast_to(np.asarray(hashes, dtype=np.uint64), (arms, len(hashes)))
        parts, numbers = [own, shared, crossed], [1.0, *values, *values]
        filled = np.broadcast_to(np.asarray(numbers), (arms, len(numbers)))
        if self.table.own:
            parts.append(np.full((arms, 1), name_hash(self.table.columns.own or ""), dtype=np.uint64))
            filled = np.hstack([filled, self._owned(row)[:, None]])
        places = (np.hstack(parts) & _MASK).astype(np.int32)
        starts = np.arange(arms + 1, dtype=np.int32) * places.shape[1]
        made = sparse.csr_array((filled.ravel().copy(), places.ravel(), starts), shape=(arms, 1 << BITS))
        made.sum_duplicates()
        return made

    def _shared(self, row: _Row) -> tuple[list[int], list[float]]:
        hashes, values = [], []
        for (head, seed), is_number, cell in zip(self.heads, self.is_number, row.context, strict=True):
            if not cell:
                continue
            value = _number(cell) if is_number else 1.0
            if value:
                hashes.append(self._hash(head, seed) if is_number else self._hash(cell, seed, is_name=True))
                values.append(value)
        return hashes, values

    def _hash(self, name: str, seed: int, *, is_name: bool = False) -> int:
        if not is_name:
            return seed
        key = seed, name
        if key not in self.known:
            if len(self.known) > MOST_ARMS:
                self.known.clear()
            self.known[key] = name_hash(name, seed)
        return self.known[key]

    def _owned(self, row: _Row) -> npt.NDArray[np.float64]:
        found = np.zeros(len(self.names))
        for arm, name in enumerate(self.names):
            place = self.own_place.get(name)
            text = row.own[place].strip() if place is not None else ""
            value = _number(text) if text else 0.0
            if value is None:
                column = self.table.names[self.table.own[place or 0]]
                refuse(row.source, row.line, column, f"{shown(text)} is not a finite number", "write one")
            found[arm] = value
        return found


def _number(text: str) -> float | None:
    """A finite number; 0 for an empty cell, None for what is none."""
    if not text:
        return 0.0
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
