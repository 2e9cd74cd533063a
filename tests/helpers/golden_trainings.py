"""Trainings whose model files are golden: small data of whole numbers, written as files, and `massart train`'s options.

Nothing here calls the C library's mathematics: the rows are the same on every machine.
"""

import json
from pathlib import Path

import numpy as np

ROWS, COLUMNS = 600, 6
REGIONS = ("north", "south", "east", "west")

TRAININGS = {
    "svmlight": ["rows.svm"],
    "vw-hashed": ["rows.vw", "-b", "18", "-q", "ab"],
    "csv-categories": ["rows.csv", "--label", "click", "--categorical", "code", "--ignore", "note", "--holdout", "10"],
    "jsonl": ["rows.jsonl", "--label", "label", "--weight", "weight", "--passes", "2"],
    "noise-and-margin-known": ["rows.svm", "--noise-rate", "0.1", "--margin", "0.05"],
    "forgetting-horizon": ["rows.svm", "--horizon", "100", "--seed", "7"],
    "products": ["rows.svm", "--products", "--seed", "7"],
}


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Features in thousandths and labels, one in ten flipped."""
    random = np.random.default_rng(20)
    X = random.integers(-1000, 1001, (ROWS, COLUMNS)) * (random.integers(0, 10, (ROWS, COLUMNS)) < 7)
    flipped = random.integers(0, 10, ROWS) == 0
    return X, np.where((2 * X[:, 0] + X[:, 1] - X[:, 2] > 100) != flipped, 1, -1)


def write_data(folder: Path) -> None:
    """The same rows as svmlight, VW text, CSV and JSON lines."""
    X, y = numbers()
    rows = [[f"{value / 1000:.3f}" for value in row] for row in X.tolist()]
    kept = [[j for j in range(COLUMNS) if row[j]] for row in X.tolist()]
    files: dict[str, list[str]] = {"rows.svm": [], "rows.vw": [], "rows.csv": [], "rows.jsonl": []}
    files["rows.csv"].append("click,price,size,region,code,note")
    for k, (row, columns, label) in enumerate(zip(rows, kept, y.tolist(), strict=True)):
        region, code = REGIONS[k % 7 % 4], k % 5
        files["rows.svm"].append(f"{label} " + " ".join(f"{j + 1}:{row[j]}" for j in columns))
        first = " ".join(f"x{j}:{row[j]}" for j in columns if j < 3)
        second = " ".join(f"x{j}:{row[j]}" for j in columns if j >= 3)
        files["rows.vw"].append(f"{label} {1 + k % 3} 'r{k} |a {first} |b {second} {region}")
        files["rows.csv"].append(f"{'yes' if label > 0 else 'no'},{row[0]},{row[1]},{region},{code},{k}")
        features = {f"x{j}": float(row[j]) for j in columns}
        line = {"label": label, "weight": 1 + k % 2, "place": {"region": region}, **features}
        files["rows.jsonl"].append(json.dumps(line))
    for name, lines in files.items():
        (folder / name).write_bytes(("\n".join(lines) + "\n").encode())
