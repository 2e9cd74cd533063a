"""Noise on everybody outside a group: who still gets the group right? (Chen, Koehler, Moitra and Yau 2020.)

The labels of everybody outside the group are flipped with the given probability in the training rows; the group's own
labels stay true. Accuracy is measured on the test rows' true labels: of all, of the group, and of the group's members
who earn more than 50K. "rate known" was told the noise rate; nobody else was told anything.

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


def contenders(rate: float, seed: int) -> dict[str, Callable[[], Any]]:
    return {
        "logistic regression": lambda: LogisticRegression(max_iter=2000),
        "random forest": lambda: RandomForestClassifier(100, n_jobs=-1, random_state=seed),
        "FilterTron, rate known": lambda: FilterTron(noise_rate=rate, random_state=seed),
        "massart, 1 pass": lambda: MassartClassifier(passes=1, random_state=seed),
        "massart, 5 passes": lambda: MassartClassifier(passes=5, random_state=seed),
        "massart, rate known, 1 pass": lambda: MassartClassifier(rate, MARGIN, passes=1, random_state=seed),
        "massart, rate known, 5 passes": lambda: MassartClassifier(rate, MARGIN, passes=5, random_state=seed),
    }


def run(folder: Path, column: str, value: str, seeds: int) -> list[dict[str, Any]]:
    train, test = adult.load(folder)
    group, test_group = train.text[column] == value, test.text[column] == value
    if not group.any():
        raise SystemExit(f"no row has {column} = {value!r}; it has {', '.join(np.unique(train.text[column]))}")
    found: dict[tuple[float, str], list[tuple[float, float, float]]] = {}
    for rate in RATES:
        for seed in range(seeds):
            world = worlds.from_data(
                train.X, train.y, noise="outside-group", noise_rate=rate, group=group, target=np.ones(train.X.shape[1]),
                seed=seed,
            )  # fmt: skip
            rows = world.take(len(train.y))
            X = rows.X * np.linalg.norm(train.X, axis=1).max()  # the world divides by the largest norm
            for name, make in contenders(rate, seed).items():
                if sys.stderr.isatty():
                    print(f"\r\033[Knoise {rate}, seed {seed}: {name}", end="", file=sys.stderr)
                right = (make().fit(X, rows.y).predict(test.X) > 0) == test.y
                high = right[test_group & test.y]
                found.setdefault((rate, name), []).append((right.mean(), right[test_group].mean(), high.mean()))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    keys = ("accuracy", "group_accuracy", "group_high_earners")
    return [
        {"noise_rate": rate, "learner": name, **dict(zip(keys, np.mean(values, axis=0).tolist(), strict=True))}
        for (rate, name), values in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.data and adult.test")
    parser.add_argument("--column", default="race")
    parser.add_argument("--value", default="Black")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()
    rows = run(options.data, options.column, options.value, options.seeds)
    shown = (
        ("accuracy", "Accuracy of all"),
        ("group_accuracy", f"Accuracy on {options.value}"),
        ("group_high_earners", f"Accuracy on {options.value}, above 50K"),
    )
    for key, title in shown:
        table = Table("noise outside the group", *(f"{rate:g}" for rate in RATES), title=title)
        for name in contenders(0.0, 0):
            values = {row["noise_rate"]: row[key] for row in rows if row["learner"] == name}
            table.add_row(name, *(f"{values[rate]:.3f}" for rate in RATES))
        Console(width=100).print(table)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
