"""Time of one row through river's face, beside river's own LogisticRegression: microseconds, and their ratio.

    python benchmarks/river_speed.py

Loops of `learn_one`, of `predict_one`, of `predict_proba_one`, and of prediction and learning in turn, as
`progressive_val_score` has them, over dicts of 50 and of 10 numbers. Rows that massart has left to be learned are
learned inside the measured time. Loops of both models over the same 1,000 rows take turns; the ratio is that of the
best times.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from river import linear_model

from massart.river import MassartClassifier

ROWS, LOOP, REPEATS = 20_000, 1_000, 60


def learn(model: Any, rows: list[Any], labels: list[bool]) -> None:
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    model.predict_one(rows[0])  # whatever waits is learned


def predict(model: Any, rows: list[Any], labels: list[bool]) -> None:
    for x in rows:
        model.predict_one(x)


def predict_proba(model: Any, rows: list[Any], labels: list[bool]) -> None:
    for x in rows:
        model.predict_proba_one(x)


def both(model: Any, rows: list[Any], labels: list[bool]) -> None:
    for x, y in zip(rows, labels, strict=True):
        model.predict_one(x)
        model.learn_one(x, y)


def main() -> None:
    print("| features | loop | river, us | massart, us | ratio |\n|---|---|---|---|---|")
    for features in (50, 10):
        X = np.random.default_rng(0).normal(size=(ROWS, features))
        rows = [{f"f{j}": float(v) for j, v in enumerate(row)} for row in X]
        labels = [bool(v > 0) for v in X[:, 0]]
        loops: tuple[Callable[..., None], ...] = (learn, predict, predict_proba, both)
        for loop in loops:
            models, best = (linear_model.LogisticRegression(), MassartClassifier(seed=0)), [np.inf, np.inf]
            for model in models:
                learn(model, rows[:LOOP], labels[:LOOP])
            for repeat in range(REPEATS):
                part = slice(LOOP * repeat % ROWS, LOOP * repeat % ROWS + LOOP)
                for k, model in enumerate(models):
                    start = time.perf_counter()
                    loop(model, rows[part], labels[part])
                    best[k] = min(best[k], (time.perf_counter() - start) / LOOP * 1e6)
            print(f"| {features} | {loop.__name__} | {best[0]:.2f} | {best[1]:.2f} | {best[0] / best[1]:.2f} |")


if __name__ == "__main__":
    main()
