"""Probabilities of `MassartClassifier()` on streams of two classes, next to logistic regressions of other packages.

    python benchmarks/accuracy_calibration.py [--data DIR] [--streams NAMES] [--without LEARNERS] [--json FILE]
    python benchmarks/accuracy.py --streams calibration [--data DIR]      (the same, as a part of that run)

Every row is predicted before it is learned; log losses and calibration errors are against the labels as they come,
false ones included, as they are, with 30% flipped at random, and with 30% flipped outside one group. Rows come in
random order; everybody is at the defaults.

The expected calibration error of n rows is above 0 even if every probability is right: in each bin the share of right
answers differs from the mean probability by chance. `by chance` is what a forecaster would have whose probabilities are
those that were given and are true, the mean of 200 draws of labels.
"""

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_streams import NONE, Noise, available, load
from numpy.typing import NDArray

BINS = 15
NAMES = ("breast-cancer", "phishing", "digits", "spambase-raw", "spambase-log", "bananas")
NOISES = (NONE, Noise("random", 0.3), Noise("group", 0.3))
LEARNERS = ("massart", "river", "sklearn sgd", "sklearn sgd scaled")
_DRAWS = 200
Labels = NDArray[np.int64]
Probabilities = NDArray[np.float64]


def log_loss(y: Labels, p: Probabilities) -> float:
    """The mean of -ln of the label's probability; one below 1e-9 counts as that."""
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-9)).mean())


def calibration_error(y: Labels, p: Probabilities, draws: int = 0) -> tuple[float, float]:
    """The expected calibration error in 15 bins of the highest probability, and what it would be by chance."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    expected = np.bincount(bins, sure, BINS)

    def error(hits: NDArray[Any]) -> float:
        return float(np.abs(np.bincount(bins, hits, BINS) - expected).sum() / len(y))

    rng = np.random.default_rng(0)
    by_chance = [error(rng.random(len(y)) < sure) for _ in range(draws)]
    return error(right), float(np.mean(by_chance)) if draws else np.nan


def _ours(X: NDArray[np.float64], y: Labels) -> Probabilities:
    from massart import MassartClassifier

    model, p = MassartClassifier(random_state=0), np.full((len(y), 2), 0.5)
    for i in range(len(y)):
        if i:
            p[i] = model.predict_proba(X[i : i + 1])[0]
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    return p


def _river(X: NDArray[np.float64], y: Labels) -> Probabilities:
    from river import linear_model, preprocessing

    model: Any = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    p = np.full((len(y), 2), 0.5)
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        p[i, 1] = model.predict_proba_one(x).get(True, 0.5)
        p[i, 0] = 1.0 - p[i, 1]
        model.learn_one(x, bool(label))
    return p


def _sgd(X: NDArray[np.float64], y: Labels, is_scaled: bool) -> Probabilities:
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    model, scaler, p = SGDClassifier(loss="log_loss", random_state=0), StandardScaler(), np.full((len(y), 2), 0.5)
    for i in range(len(y)):
        row = X[i : i + 1]
        if is_scaled:
            row = scaler.partial_fit(row).transform(row)
        if i:
            p[i] = model.predict_proba(row)[0]
        model.partial_fit(row, y[i : i + 1], classes=[0, 1])
    return p


def play(learner: str, X: NDArray[np.float64], y: Labels) -> Probabilities:
    """The probabilities that a learner gives to the labels of each row before it sees the label."""
    if learner == LEARNERS[0]:
        return _ours(X, y)
    return _river(X, y) if learner == "river" else _sgd(X, y, learner == "sklearn sgd scaled")


def run(
    data: Path | None,
    streams: Sequence[str] = NAMES,
    learners: Sequence[str] = LEARNERS,
    rows: int | None = None,
    path: Path | None = None,
) -> None:
    """Run learners over streams, or over so many rows of each, and print a table; all numbers go to a path."""
    warnings.filterwarnings("ignore")
    found: dict[str, dict[str, list[float]]] = {}
    for name in (name for name in streams if name in available(data)[0]):
        stream = load(name, data, False)
        order = stream.order("random", 0)[:rows]
        X = np.ascontiguousarray(stream.X[order], dtype=float)
        for noise in NOISES:
            y = stream.labels(noise, 0)[order].astype(np.int64)
            own = {}
            for learner in learners:
                p = play(learner, X, y)
                own[learner] = [log_loss(y, p), *calibration_error(y, p, _DRAWS)]
            found[f"{name}, {noise.name}"] = own
            parts = (f"{n} {a:.3f} {b:.3f} ({c:.3f} by chance)" for n, (a, b, c) in own.items())
            print(f"{name}, {noise.name}, {len(y)} rows:", "; ".join(parts), flush=True)
            if path:
                path.write_text(json.dumps(found, indent=1))


def main() -> None:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with adult.data, adult.test and spambase.data")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    parser.add_argument("--streams", default=",".join(NAMES), help="these streams only, with commas")
    parser.add_argument("--without", default="", help="leave these learners out, with commas")
    options = parser.parse_args()
    learners = [learner for learner in LEARNERS if learner not in options.without.split(",")]
    run(options.data, options.streams.split(","), learners, path=options.json)


if __name__ == "__main__":
    main()
