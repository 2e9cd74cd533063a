"""Noise on everybody outside a group: who still gets the group right? (Chen, Koehler, Moitra and Yau 2020.)

The labels of everybody outside the group are flipped with the given probability in the training rows; the group's own
labels stay true. Accuracy is measured on the test rows' true labels: of all, of the group, and of the group's members
who earn more than 50K. "rate known" was told the noise rate; "groups known" which group each row is in, of all groups
that the column has; nobody else was told anything. "online" rows are taken once, in the order in which they come; of
these the error before learning is printed, too, of all and of the group, on the labels as they came.

    python benchmarks/group_noise.py --data DIR            (DIR holds UCI Adult: adult.data and adult.test)
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adult
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from massart import MassartClassifier, worlds
from massart.learners.reference.offline import FilterTron

RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
MARGIN = 0.01
ONLINE, GROUPED = "massart, online", "massart, online, groups known"


class Online:
    """MassartClassifier in one pass over rows as they come, with the groups of rows or without."""

    def __init__(self, columns: Any, *, grouped: bool, seed: int) -> None:
        self._columns, self._grouped = columns, grouped
        self._own = MassartClassifier(random_state=seed)

    def _groups(self, X: Any) -> Any:
        """The number of the group of each row, from the columns that say which it is."""
        return X[:, self._columns].argmax(axis=1) if self._grouped else None

    def fit(self, X: Any, y: Any) -> "Online":
        """Predict and learn each row; with groups, check that each is within its bound."""
        self.answers = self._own.learn_predict(X, y, classes=[-1, 1], groups=self._groups(X))
        if self._grouped:
            for name in self._own.group_rounds_:
                bound = self._own.certificate(group=name)
                assert bound.mistakes <= bound.confident_mistake_bound
        return self

    def predict(self, X: Any) -> Any:
        """The labels of rows."""
        return self._own.predict(X, self._groups(X))


def group_columns(train: Any, column: str) -> Any:
    """The columns of X that say which value a row has in this column of text."""
    return [
        next(j for j in range(train.X.shape[1]) if np.array_equal(train.X[:, j], train.text[column] == value))
        for value in np.unique(train.text[column])
    ]


def contenders(rate: float, seed: int, columns: Any = ()) -> dict[str, Callable[[], Any]]:
    return {
        "logistic regression": lambda: LogisticRegression(max_iter=2000),
        "random forest": lambda: RandomForestClassifier(100, n_jobs=-1, random_state=seed),
        "FilterTron, rate known": lambda: FilterTron(noise_rate=rate, random_state=seed),
        "massart, 1 pass": lambda: MassartClassifier(passes=1, random_state=seed),
        "massart, 5 passes": lambda: MassartClassifier(passes=5, random_state=seed),
        "massart, rate known, 1 pass": lambda: MassartClassifier(rate, MARGIN, passes=1, random_state=seed),
        "massart, rate known, 5 passes": lambda: MassartClassifier(rate, MARGIN, passes=5, random_state=seed),
        ONLINE: lambda: Online(columns, grouped=False, seed=seed),
        GROUPED: lambda: Online(columns, grouped=True, seed=seed),
    }


def run(folder: Path, column: str, value: str, seeds: int, only: str) -> list[dict[str, Any]]:
    train, test = adult.load(folder)
    group, test_group = train.text[column] == value, test.text[column] == value
    if not group.any():
        raise SystemExit(f"no row has {column} = {value!r}; it has {', '.join(np.unique(train.text[column]))}")
    columns = group_columns(train, column)
    own = columns[np.unique(train.text[column]).tolist().index(value)]
    found: dict[tuple[float, str], list[tuple[float, ...]]] = {}
    for rate in RATES:
        for seed in range(seeds):
            world = worlds.from_data(
                train.X, train.y, noise="outside-group", noise_rate=rate, group=group, target=np.ones(train.X.shape[1]),
                seed=seed,
            )  # fmt: skip
            rows = world.take(len(train.y))
            X = rows.X * np.linalg.norm(train.X, axis=1).max()  # the world divides by the largest norm
            inside = rows.X[:, own] != 0
            for name, make in contenders(rate, seed, columns).items():
                if only not in name:
                    continue
                if sys.stderr.isatty():
                    print(f"\r\033[Knoise {rate}, seed {seed}: {name}", end="", file=sys.stderr)
                made = make().fit(X, rows.y)
                right = (made.predict(test.X) > 0) == test.y
                values = [right.mean(), right[test_group].mean(), right[test_group & test.y].mean()]
                if isinstance(made, Online):
                    wrong = made.answers != rows.y
                    values += [wrong.mean(), wrong[inside].mean()]
                found.setdefault((rate, name), []).append(tuple(values))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    keys = ("accuracy", "group_accuracy", "group_high_earners", "online_error", "group_online_error")
    return [
        {"noise_rate": rate, "learner": name, **dict(zip(keys, np.mean(values, axis=0).tolist(), strict=False))}
        for (rate, name), values in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.data and adult.test")
    parser.add_argument("--column", default="race")
    parser.add_argument("--value", default="Black")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="learners whose name contains this")
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()
    rows = run(options.data, options.column, options.value, options.seeds, options.only)
    shown = (
        ("accuracy", "Accuracy of all"),
        ("group_accuracy", f"Accuracy on {options.value}"),
        ("group_high_earners", f"Accuracy on {options.value}, above 50K"),
        ("online_error", "Error before learning, of all"),
        ("group_online_error", f"Error before learning, on {options.value}"),
    )
    for key, title in shown:
        table = Table("noise outside the group", *(f"{rate:g}" for rate in RATES), title=title)
        for name in contenders(0.0, 0):
            values = {row["noise_rate"]: row[key] for row in rows if row["learner"] == name and key in row}
            if not values:
                continue
            table.add_row(name, *(f"{values[rate]:.3f}" for rate in RATES))
        Console(width=100).print(table)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
