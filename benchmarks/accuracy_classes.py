"""Errors and probabilities of `MassartClassifier()` on streams of more than two classes, next to other online learners.

    python benchmarks/accuracy_classes.py [--data DIR] [--more DIR] [--seeds 3] [--json FILE]
    python benchmarks/accuracy.py --streams classes [--data DIR] [--more DIR]      (the same, as a part of that run)

Every row is predicted before it is learned; errors, log losses and calibration errors are against the labels as they
come, false ones included. Everybody is at the defaults. Rows come in random order; each stream as it is, and with 10%
and 30% of the labels, or as --noise says, replaced by another class, drawn evenly. DIR of --data holds CSV files whose
last column is the class; DIR of --more holds .npz files with X and y. Without either there are the data sets of
scikit-learn and river. Folders may hold other files, too.

A stream is missed where the error is above that of the best peer by more than one point and by more than 5% of it, or
above that of the most frequent class of the whole stream by more than one point.
"""

import argparse
import csv
import json
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_calibration import calibration_error, log_loss
from accuracy_streams import SEED
from numpy.typing import NDArray

OURS, CONSTANT = "massart", "most frequent"
_VW = {
    "vw oaa squared": "--oaa {k} --loss_function squared",
    "vw oaa logistic": "--oaa {k} --loss_function logistic",
    "vw oaa hinge": "--oaa {k} --loss_function hinge",
    "vw csoaa": "--csoaa {k}",
}
_RIVER = ("river softmax", "river one-vs-rest")
_SGD = ("sklearn sgd", "sklearn sgd scaled")
LEARNERS = (OURS, *_VW, *_RIVER, *_SGD, CONSTANT)
NOISES = (0.0, 0.1, 0.3)
_LONG = 5000  # rows from which on one order is enough
Labels = NDArray[np.int64]
Probabilities = NDArray[np.float64] | None


def _table(path: Path) -> tuple[NDArray[np.float64], Labels]:
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    if not all(entry.replace(".", "", 1).lstrip("-").isdigit() for entry in rows[0][:-1]):
        rows = rows[1:]
    X = np.array([[float(entry) for entry in row[:-1]] for row in rows])
    return X, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def streams(data: Path | None, more: Path | None) -> Iterator[tuple[str, NDArray[np.float64], Labels]]:
    """(name, rows, numbers of classes from 0) of each."""
    from sklearn import datasets

    for name in ("iris", "wine", "digits"):
        yield (name, *getattr(datasets, f"load_{name}")(return_X_y=True))
    try:
        from river.datasets import ImageSegments
    except ImportError:
        print("Image segments are left out: river brings them.")
    else:
        rows = [(list(x.values()), str(label)) for x, label in ImageSegments()]
        y = np.unique([label for _, label in rows], return_inverse=True)[1]
        yield "image segments", np.array([x for x, _ in rows], dtype=float), y
    for path in sorted(data.glob("*.csv")) if data else ():
        yield (path.stem, *_table(path))
    for path in sorted(more.glob("*.npz")) if more else ():
        with np.load(path) as parts:
            yield path.stem, np.asarray(parts["X"], dtype=float), np.asarray(parts["y"], dtype=np.int64)


def _ours(X: NDArray[np.float64], y: Labels, k: int, seed: int) -> tuple[Labels, Probabilities]:
    from massart import MassartClassifier

    clf = MassartClassifier(random_state=seed)
    said = clf.learn_predict(X, y, classes=range(k))
    row_by_row = MassartClassifier(random_state=seed)
    p = np.full((len(y), k), 1.0 / k)
    for i in range(len(y)):
        if i:
            p[i] = row_by_row.predict_proba(X[i : i + 1])[0]
        row_by_row.partial_fit(X[i : i + 1], y[i : i + 1], classes=range(k))
    return said, p


def _constant(X: NDArray[np.float64], y: Labels, k: int, seed: int) -> tuple[Labels, Probabilities]:
    """The most frequent class of the whole stream, which nobody knows beforehand."""
    counts = np.bincount(y, minlength=k)
    return np.full(len(y), counts.argmax()), np.tile(counts / counts.sum(), (len(y), 1))


def _vowpal(name: str, X: NDArray[np.float64], y: Labels, k: int) -> tuple[Labels, Probabilities]:
    import vowpalwabbit

    with tempfile.TemporaryDirectory() as folder:
        data, said = Path(folder) / "rows", Path(folder) / "answers"
        with data.open("w") as file:
            for row, label in zip(X.tolist(), y.tolist(), strict=True):
                costs = " ".join(f"{c + 1}:{float(c != label):g}" for c in range(k)) if "csoaa" in name else label + 1
                file.write(f"{costs} | " + " ".join(f"{j}:{v:.9g}" for j, v in enumerate(row) if v != 0.0) + "\n")
        options = [*_VW[name].format(k=k).split(), "--quiet", "-d", str(data), "-p", str(said)]
        vowpalwabbit.Workspace(arg_list=options).finish()
        return np.loadtxt(said, usecols=0, ndmin=1).astype(np.int64) - 1, None


def _river(name: str, X: NDArray[np.float64], y: Labels, k: int) -> tuple[Labels, Probabilities]:
    from river import linear_model, multiclass, preprocessing

    model: Any = linear_model.SoftmaxRegression()
    if name == "river one-vs-rest":
        model = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    model = preprocessing.StandardScaler() | model
    said, p = np.zeros(len(y), np.int64), np.full((len(y), k), 1.0 / k)
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        found = model.predict_proba_one(x)
        if found:
            own = np.array([found.get(c, 0.0) for c in range(k)])
            p[i] = own / own.sum() if own.sum() > 0.0 else p[i]
            said[i] = p[i].argmax()
        model.learn_one(x, label)
    return said, p


def _sgd(name: str, X: NDArray[np.float64], y: Labels, k: int) -> tuple[Labels, Probabilities]:
    """Row by row; scaled: with the means and deviations of the rows so far."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    model, scaler = SGDClassifier(loss="log_loss", random_state=0), StandardScaler()
    said, p = np.zeros(len(y), np.int64), np.full((len(y), k), 1.0 / k)
    for i in range(len(y)):
        row = X[i : i + 1]
        if name == "sklearn sgd scaled":
            row = scaler.partial_fit(row).transform(row)
        if i:
            p[i] = model.predict_proba(row)[0]
            said[i] = model.predict(row)[0]
        model.partial_fit(row, y[i : i + 1], classes=range(k))
    return said, p


def play(name: str, X: NDArray[np.float64], y: Labels, k: int, seed: int) -> tuple[Labels, Probabilities]:
    """What a learner answers to each row before its label, and its probabilities, None if it has none."""
    if name in (OURS, CONSTANT):
        return (_ours if name == OURS else _constant)(X, y, k, seed)
    if name in _VW:
        return _vowpal(name, X, y, k)
    return (_river if name in _RIVER else _sgd)(name, X, y, k)


def scores(y: Labels, said: Labels, p: Probabilities) -> tuple[float, float, float]:
    """Error, log loss, and expected calibration error."""
    error = float(np.mean(said != y))
    return (error, np.nan, np.nan) if p is None else (error, log_loss(y, p), calibration_error(y, p)[0])


def run(
    data: Path | None,
    more: Path | None,
    learners: Sequence[str],
    seeds: int = 3,
    noises: Sequence[float] = NOISES,
    rows: int | None = None,
    path: Path | None = None,
) -> None:
    """Run learners over all streams, or over so many rows of each, and print tables; all numbers go to a path."""
    warnings.filterwarnings("ignore")
    names = [name for name in LEARNERS if name in (*learners, CONSTANT)]
    found: dict[str, dict[str, list[float]]] = {}
    for name, X, y in streams(data, more):
        k = int(y.max()) + 1
        for noise in noises:
            runs: dict[str, list[tuple[float, ...]]] = defaultdict(list)
            for seed in range(seeds if len(y) < _LONG else 1):
                rng = np.random.default_rng([SEED, seed])
                order = rng.permutation(len(y))
                shuffled, labels = np.ascontiguousarray(X[order], dtype=float), y[order].copy()
                false = rng.random(len(y)) < noise
                labels[false] = (labels[false] + rng.integers(1, k, np.count_nonzero(false))) % k
                for learner in names:
                    runs[learner].append(scores(labels[:rows], *play(learner, shuffled[:rows], labels[:rows], k, seed)))
            means = {learner: np.mean(own, axis=0).tolist() for learner, own in runs.items()}
            found[f"{name} {noise:.0%}"] = means
            print(f"{name} {noise:.0%}:", ", ".join(f"{n} {m[0]:.3f}/{m[1]:.3f}/{m[2]:.3f}" for n, m in means.items()),
                  flush=True)  # fmt: skip
            if path:
                path.write_text(json.dumps(found, indent=1))
    if OURS in names and len(names) > len((OURS, CONSTANT)):
        report(found)


def main() -> None:
    """Run everything and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with CSV files whose last column is the class")
    parser.add_argument("--more", type=Path, help="folder with .npz files that hold X and y")
    parser.add_argument("--seeds", type=int, default=3, help="orders of each stream; 1 from 5,000 rows on")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    parser.add_argument("--noise", default="0,0.1,0.3", help="shares of labels that are replaced, with commas")
    parser.add_argument("--without", default="", help="leave these learners out, with commas")
    options = parser.parse_args()
    noises = [float(noise) for noise in options.noise.split(",")]
    learners = [name for name in LEARNERS if name not in options.without.split(",")]
    run(options.data, options.more, learners, options.seeds, noises, path=options.json)


def report(found: dict[str, dict[str, list[float]]]) -> None:
    """Means, mean ranks by error among all but the constant, and the streams that are missed."""
    learners = list(next(iter(found.values())))
    ranked = [learner for learner in learners if learner != CONSTANT]
    table = np.array([[found[stream][learner] for learner in learners] for stream in found])
    errors = table[:, [learners.index(learner) for learner in ranked], 0]
    ranks = (errors[:, :, None] > errors[:, None, :]).sum(axis=2) + 1.0
    ranks += ((errors[:, :, None] == errors[:, None, :]).sum(axis=2) - 1.0) / 2
    print(f"\n{'':22}{'error':>8}{'log loss':>10}{'calibration':>13}{'mean rank':>11}   over {len(found)} streams")
    for n, learner in enumerate(learners):
        rank = f"{ranks[:, ranked.index(learner)].mean():11.2f}" if learner in ranked else ""
        print(
            f"{learner:22}{table[:, n, 0].mean():8.3f}{table[:, n, 1].mean():10.3f}{table[:, n, 2].mean():13.3f}{rank}"
        )
    best = np.delete(errors, ranked.index(OURS), axis=1).min(axis=1)
    ours, constant = errors[:, ranked.index(OURS)], table[:, learners.index(CONSTANT), 0]
    behind = ((ours > best + 0.01) & (ours > 1.05 * best)) | (ours > constant + 0.01)
    losses = np.nanmin(np.delete(table[:, :, 1], [learners.index(OURS), learners.index(CONSTANT)], axis=1), axis=1)
    print(f"first on {np.count_nonzero(ours <= best)} streams; lower log loss than every peer on "
          f"{np.count_nonzero(table[:, learners.index(OURS), 1] <= losses)}")  # fmt: skip
    for n, stream in enumerate(found):
        if behind[n]:
            print(f"missed: {stream}: {ours[n]:.3f}, best peer {best[n]:.3f}, most frequent {constant[n]:.3f}")


if __name__ == "__main__":
    main()
