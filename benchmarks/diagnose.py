"""Label errors: who finds planted ones? `massart.diagnose` and cleanlab with cross-validated logistic regression.

Labels are changed in a known set of rows, everybody ranks the rows, and of the first k, k being the number of changed
labels, the share that was really changed is counted (precision at k). In `adult`, `spambase`, `segment` and so on
labels are wrong in a part of the rows only: outside of a group (race is not Black), or where the first column is above
its median; "everywhere" has no such part. Features are the same matrix for everybody: numbers standardised, a column
for each category. Seconds are wall-clock, one thread, of all that leads to the ranking; diagnose also finds the places
and the limits. The order of the rows is random, but for Adult, which comes as it is.

    python benchmarks/diagnose.py --data DIR            (DIR holds adult.data and adult.test; others if they are there)
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import adult
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import massart

RATE = 0.2
FOLDS = 5
CLEANLAB = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
OTHERS = (
    *("spambase.data", "optdigits.csv", "segment.csv", "mfeat-zernike.csv", "vehicle.csv", "winequality-white.csv"),
    "cmc.csv",
)


class Noisy(NamedTuple):
    """Rows with true labels, numbered from 0, and where labels are wrong."""

    name: str
    X: Any
    y: Any
    inside: Any


def data_sets(folder: Path, others: bool) -> Iterator[Noisy]:
    train, _ = adult.load(folder)
    yield Noisy("adult", train.X, train.y.astype(np.int64), train.text["race"] != "Black")
    if not others:
        return
    yield Noisy("adult, men only", train.X, train.y.astype(np.int64), train.text["sex"] == "Male")
    for file in OTHERS:
        if not (folder / file).is_file():
            continue
        lines = (folder / file).read_text().splitlines()
        table = [line.split(",") for line in (lines if "wine" in file else lines[1:]) if line]
        order = np.random.default_rng(1).permutation(len(table))
        X = StandardScaler().fit_transform(np.array([row[:-1] for row in table], float)[order])
        y = np.unique([row[-1] for row in table], return_inverse=True)[1][order]
        column = int(np.argmax(X.std(axis=0) > 0))
        name = file.partition(".")[0]
        yield Noisy(name, X, y, X[:, column] > np.median(X[:, column]))
        yield Noisy(f"{name}, everywhere", X, y, np.ones(y.size, bool))
    if (folder / "rcv1_small.vw").is_file():
        from scipy import sparse

        chunks = list(massart.data.read(folder / "rcv1_small.vw"))
        X = sparse.vstack([chunk.X for chunk in chunks]).tocsr()
        y = (np.concatenate([chunk.y for chunk in chunks]) > 0).astype(np.int64)
        yield Noisy("rcv1, everywhere", X[:, np.unique(X.indices)], y, np.ones(y.size, bool))


def by_cleanlab(X: Any, given: Any) -> dict[str, tuple[Any, float]]:
    """The quality of each label by each of its methods, and the seconds."""
    from cleanlab.rank import get_label_quality_scores

    start = time.perf_counter()
    model = LogisticRegression(max_iter=2000)
    chances = cross_val_predict(model, X, given, cv=FOLDS, method="predict_proba")
    fitted = time.perf_counter() - start
    found = {}
    for method in CLEANLAB:
        start = time.perf_counter()
        found[f"cleanlab, {method.replace('_', ' ')}"] = (
            np.argsort(get_label_quality_scores(given, chances, method=method), kind="stable"),
            fitted + time.perf_counter() - start,
        )
    return found


def by_massart(X: Any, given: Any, most: int) -> dict[str, tuple[Any, float]]:
    """The rows in the order of suspicion, and the seconds."""
    found = {}
    for name, options in (("massart", {}), ("massart, scored before learning", {"delay": 0})):
        start = time.perf_counter()
        diagnosis = massart.diagnose(X, given, top=most, **options)
        rows = np.array([one.row for one in diagnosis.suspects])
        found[name] = rows, time.perf_counter() - start
    return found


def run(folder: Path, seeds: int, others: bool) -> list[dict[str, Any]]:
    rows = []
    for own in data_sets(folder, others):
        massart.diagnose(own.X[:300], own.y[:300] % 2)  # everything is loaded before the clock starts
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            classes = int(own.y.max()) + 1
            changed = own.inside & (rng.random(own.y.size) < RATE)
            given = np.where(changed, (own.y + rng.integers(1, classes, own.y.size)) % classes, own.y)
            k = int(changed.sum())
            for name, (order, seconds) in {**by_cleanlab(own.X, given), **by_massart(own.X, given, k)}.items():
                precision = float(changed[order[:k]].mean())
                rows.append(
                    {"data": own.name, "seed": seed, "method": name, "precision": precision, "seconds": seconds, "k": k}
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.data and adult.test")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--others", action="store_true", help="the other sets, too")
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()
    with threadpool_limits(1):
        rows = run(options.data, options.seeds, options.others)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    table = Table("data", "wrong labels", *methods, "time of cleanlab / massart", title="Precision at k")
    for data in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == data]
        means = {m: float(np.mean([row["precision"] for row in own if row["method"] == m])) for m in methods}
        times = {m: float(np.median([row["seconds"] for row in own if row["method"] == m])) for m in methods}
        cells = [f"{means[m]:.3f}" for m in methods]
        wrong = f"{np.mean([row['k'] for row in own]):,.0f}"
        table.add_row(data, wrong, *cells, f"{times[methods[0]] / times['massart']:.1f}")
    Console(width=160).print(table)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
