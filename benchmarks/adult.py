"""UCI Adult from its two files: one column per category, numbers standardised (or raw), labels and groups."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
LABEL = "classification"


@dataclass(frozen=True)
class Adult:
    """Rows, whether the person earns more than 50K, and the columns as text for choosing groups."""

    X: NDArray[np.float64]
    y: NDArray[np.bool_]
    text: dict[str, NDArray[Any]]


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) > 1]
    names, body = rows[0], rows[1:]
    return {name: np.array([row[i].strip() for row in body]) for i, name in enumerate(names)}


def load(folder: Path, *, standardise: bool = True) -> tuple[Adult, Adult]:
    """(train, test). Categories and scales are those of the training rows."""
    files = [folder / "adult.data", folder / "adult.test"]
    for path in files:
        if not path.is_file():
            raise SystemExit(f"{path} is missing: --data must name a folder with UCI Adult's adult.data and adult.test")
    train, test = (_read(path) for path in files)
    categories = [name for name in train if name not in (*NUMBERS, LABEL)]
    known = {name: np.unique(train[name]) for name in categories}

    def matrix(table: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
        numbers = np.column_stack([table[name].astype(float) for name in NUMBERS])
        if standardise:
            reference = np.column_stack([train[name].astype(float) for name in NUMBERS])
            numbers = (numbers - reference.mean(axis=0)) / reference.std(axis=0)
        one_hot = [table[name][:, None] == known[name] for name in categories]
        return np.hstack([numbers, *one_hot]).astype(float)

    made = [Adult(matrix(table), np.char.startswith(table[LABEL], ">50K"), table) for table in (train, test)]
    return made[0], made[1]
