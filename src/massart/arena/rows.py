"""The rows of a race: typed values, one for each checkpoint of each run, and the files they are written to.

A row reads like a mapping too: `row["mistakes"]` is `row.mistakes`, and `dict(row)` is what a file holds. A value
that does not exist (an angle to zero weights, a bound without a margin) is None.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Self, get_args

from massart.errors import InvalidDataError, InvalidParameterError, needs
from massart.files import check_place, is_special, replacing

__all__ = [
    "SUFFIXES",
    "LabelRow",
    "RewardRow",
    "RewardStanding",
    "Row",
    "Standing",
    "read_rows",
    "rows_as_json",
    "suffix_of",
    "typed_rows",
    "write_bytes",
    "write_rows",
]

SUFFIXES = (".json", ".jsonl", ".parquet")


class Standing(NamedTuple):
    """A learner during a race in a world with labels."""

    learner: str
    rounds: int
    mistakes: int
    bound: float | None  # on the expected mistakes after these rounds
    error: str | None


class RewardStanding(NamedTuple):
    """A policy during a race in a world with rewards."""

    learner: str
    rounds: int
    lift: float  # per round, so far
    guaranteed_lift: float | None
    error: str | None


@dataclass(frozen=True, eq=False)
class Row(Mapping[str, Any]):
    """What every row begins with: which run it belongs to, and after how many rounds it was written."""

    world: str
    learner: str
    seed: int
    rounds: int

    def __getitem__(self, key: str) -> Any:
        if key in self.__dict__:
            return self.__dict__[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """The typed row of a mapping that has at least its keys."""
        try:
            return cls(**{field.name: row[field.name] for field in fields(cls)})
        except KeyError as error:
            raise InvalidDataError(f"a row without {error}: give the rows of a race, complete") from None


@dataclass(frozen=True, eq=False)
class LabelRow(Row):
    """One checkpoint of a run in a world with labels."""

    mistakes: int  # against the label shown
    clean_mistakes: int  # against the true label
    noise_rate: float
    margin: float | None
    dimension: int
    angle: float | None  # degrees between weights and target
    bound: float | None  # on the expected mistakes until this checkpoint
    certified: float | None  # the mistake bound of the learner's own certificate
    holds: bool | None  # its verdict
    error: str | None

    @property
    def standing(self) -> Standing:
        """The same in short, for `progress`."""
        return Standing(self.learner, self.rounds, self.mistakes, self.bound, self.error)


@dataclass(frozen=True, eq=False)
class RewardRow(Row):
    """One checkpoint of a run in a world with rewards; rewards and lifts are per round until then."""

    reward: float  # as drawn
    lift: float  # expected reward of the arm played less the mean over the arms of the round
    guaranteed_lift: float | None  # in the limit
    best_lift: float  # of the best arm of every round
    share: float | None  # lift / best_lift
    chance: float  # standard deviation of the lift of random arms
    favourite: float | None  # probability of the most probable arm, averaged over the last rounds
    arms: int
    gap: float | None
    margin: float | None
    dimension: int
    error: str | None

    @property
    def standing(self) -> RewardStanding:
        """The same in short, for `progress`."""
        return RewardStanding(self.learner, self.rounds, self.lift, self.guaranteed_lift, self.error)


def _class_of(row: Mapping[str, Any]) -> type[LabelRow] | type[RewardRow]:
    return RewardRow if "arms" in row else LabelRow


def typed_rows(rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The rows of one race, of one kind of world; dictionaries, as a file holds them, become typed rows.

    >>> typed_rows([{"world": "kink", "learner": "arow"}])
    Traceback (most recent call last):
    massart.errors.InvalidDataError: a row without 'seed': give the rows of a race, complete
    """
    given = list(rows)
    if not given:
        raise InvalidDataError("there are no rows to report: let the race finish at least one run")
    kind: Any = _class_of(given[0])
    if any(_class_of(row) is not kind for row in given):
        raise InvalidDataError(
            "these rows are of worlds with labels and of worlds with rewards: report them separately"
        )
    return [row if isinstance(row, Row) else kind.of(row) for row in given]


def suffix_of(path: str | os.PathLike[str], suffixes: tuple[str, ...], what: str) -> str:
    """The suffix of a path, one of `suffixes`.

    >>> suffix_of("race.PNG", (".png", ".svg"), "a figure")
    '.png'
    >>> suffix_of("race.gif", (".png", ".svg"), "a figure")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: race.gif: a figure is written to a file that ends in .png or .svg
    """
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        choice = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]]) if len(suffixes) > 1 else suffixes[0]
        raise InvalidParameterError(f"{os.fspath(path)}: {what} is written to a file that ends in {choice}")
    return suffix


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there when complete; a device or a pipe is written to directly."""
    check_place(path)
    if is_special(Path(path)):
        Path(path).write_bytes(content)
        return
    with replacing(path, InvalidDataError) as file:
        file.write(content)


def _storable(value: Any) -> Any:
    """None for NaN and infinities, which JSON does not have; plain Python numbers for NumPy's."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: _storable(value) for key, value in row.items()} for row in rows]


def rows_as_json(rows: Iterable[Mapping[str, Any]]) -> str:
    """One JSON array, one row per line.

    >>> print(rows_as_json([{"world": "kink", "rounds": 1}, {"world": "kink", "rounds": 2}]))
    [
    {"world": "kink", "rounds": 1},
    {"world": "kink", "rounds": 2}
    ]
    """
    lines = [json.dumps(row, allow_nan=False) for row in _plain(rows)]
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def write_rows(rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write rows to a .json, .jsonl or .parquet file, completely or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows([{"world": "kink", "mistakes": 3, "angle": None}], f"{folder}/rows.jsonl")
    ...     read_rows(f"{folder}/rows.jsonl")
    [{'world': 'kink', 'mistakes': 3, 'angle': None}]
    """
    suffix = suffix_of(path, SUFFIXES, "rows")
    if suffix == ".json":
        content = (rows_as_json(rows) + "\n").encode()
    elif suffix == ".jsonl":
        content = "".join(json.dumps(row, allow_nan=False) + "\n" for row in _plain(rows)).encode()
    else:
        content = _parquet(_plain(rows))
    write_bytes(path, content)


def read_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read what `write_rows` wrote."""
    suffix = suffix_of(path, SUFFIXES, "rows")
    try:
        if suffix == ".parquet":
            return list(needs("pyarrow.parquet", "report", "to read Parquet files").read_table(path).to_pylist())
        text = Path(path).read_text(encoding="utf-8")
        rows = json.loads(text) if suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    except OSError:
        raise
    except ValueError as error:  # JSON's and Arrow's own errors are ValueErrors
        raise InvalidDataError(
            f"{os.fspath(path)} does not hold the rows of a race ({error}): write it again"
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidDataError(f"{os.fspath(path)} does not hold the rows of a race: give a file made by write_rows")
    return rows


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    pyarrow, parquet = (needs(name, "report", "to write Parquet files") for name in ("pyarrow", "pyarrow.parquet"))
    arrow = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    kind = _class_of(rows[0]) if rows else LabelRow
    types: dict[str, Any] = {field.name: field.type for field in fields(kind)}
    known = {name: arrow[next(iter(get_args(type_)), type_)] for name, type_ in types.items()}
    columns = dict.fromkeys([*known, *(key for row in rows for key in row)])
    arrays = {key: pyarrow.array([row.get(key) for row in rows], known.get(key)) for key in columns}
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(arrays), sink)
    return bytes(sink.getvalue().to_pybytes())
