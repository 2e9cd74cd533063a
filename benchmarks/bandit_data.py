"""Labelled files as tables of numbers: CSV files, their label last, and hashed rows of Vowpal Wabbit's text.

Every file of the folder that is named `*.csv` or `*.data` is a data set, with a header line or without. A column whose
entries are all numbers stays one column (what is missing gets the median); any other becomes a column per category, of
which the `CATEGORIES` most frequent are kept. `*.vw` has its features added up, with signs, in `HASHED` columns.
"""

import csv
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CATEGORIES, HASHED = 30, 64
MISSING = ("", "?", "NA", "nan")


@dataclass(frozen=True)
class Table:
    """Rows as they are in the file, and the class of each, numbered in the order of the labels."""

    name: str
    X: NDArray[np.float64]  # (n, d), no constant columns
    y: NDArray[np.int64]  # (n,), 0 .. classes - 1

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.y.max()) + 1

    def standardised(self) -> NDArray[np.float64]:
        """Columns of mean 0 and standard deviation 1."""
        return np.asarray((self.X - self.X.mean(axis=0)) / self.X.std(axis=0))


def names(folder: Path) -> list[str]:
    """The data sets of a folder, in the order of their names."""
    found = sorted({path.stem for pattern in ("*.csv", "*.data", "*.vw") for path in folder.glob(pattern)})
    if not found:
        raise SystemExit(f"{folder} has no *.csv, *.data or *.vw: --data must name a folder of labelled files")
    return found


def load(name: str, folder: Path) -> Table:
    """A data set by its name."""
    for ending, read in ((".csv", _csv), (".data", _csv), (".vw", _vw)):
        path = folder / f"{name}{ending}"
        if path.is_file():
            X, labels = read(path)
            varied = X.max(axis=0) > X.min(axis=0)
            return Table(name, np.ascontiguousarray(X[:, varied]), _classes(labels))
    raise SystemExit(f"{folder} has no data set {name!r}; it has {', '.join(names(folder))}")


def _classes(labels: list[str]) -> NDArray[np.int64]:
    """Numbers in the order of the labels, which is that of their values if all are numbers."""
    numbers = [_number(label) for label in labels]
    keys: Any = labels if any(number is None for number in numbers) else numbers
    return np.unique(np.array(keys), return_inverse=True)[1].astype(np.int64)


def _number(entry: str) -> float | None:
    try:
        value = float(entry)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _csv(path: Path) -> tuple[NDArray[np.float64], list[str]]:
    with path.open(newline="") as file:
        rows = [[entry.strip() for entry in row] for row in csv.reader(file, skipinitialspace=True) if len(row) > 1]
    if all(_number(entry) is None for entry in rows[0][:-1]):  # names of columns
        rows = rows[1:]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return np.column_stack([part for column in columns[:-1] for part in _column(column)]), columns[-1]


def _column(entries: list[str]) -> Iterator[NDArray[np.float64]]:
    numbers = [_number(entry) for entry in entries]
    if all(number is not None or entry in MISSING for number, entry in zip(numbers, entries, strict=True)):
        values = np.array([np.nan if number is None else number for number in numbers])
        yield np.where(np.isnan(values), np.nanmedian(values), values)
        return
    frequent = sorted(category for category, _ in Counter(entries).most_common(CATEGORIES))
    table = np.array(entries)
    for category in frequent:
        yield (table == category).astype(float)


def _vw(path: Path) -> tuple[NDArray[np.float64], list[str]]:
    labels, rows = [], []
    for line in path.read_text().splitlines():
        head, _, body = line.partition("|")
        if not body:
            continue
        labels.append(head.split()[0])
        row = np.zeros(HASHED)
        for feature in body.split()[1:]:
            name, _, value = feature.partition(":")
            key = zlib.crc32(name.encode())
            row[key % HASHED] += (1.0 if key & (1 << 20) else -1.0) * float(value or 1.0)
        rows.append(row)
    return np.array(rows), labels
