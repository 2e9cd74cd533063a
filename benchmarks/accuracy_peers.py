"""The learners of the accuracy benchmark: each is given a stream in order and says what it predicted before each label.

Everybody is at the defaults of the package, but for what the name says. Nobody is told anything about the stream.
A score of exactly zero is class 1 for us and class 0 for scikit-learn, river and Vowpal Wabbit, as they have it
themselves; so before its first row a peer predicts class 0.
"""

import tempfile
from collections.abc import Collection
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import accuracy_sgd
import numpy as np
from accuracy_streams import Stream
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

OURS = "massart"
HORIZONS = {f"massart-horizon-{h}": h for h in (100, 300, 1000, 3000, 10_000, 30_000, 100_000)}  # where targets move
_VW_OPTIONS = {
    "vw-logistic": "--loss_function logistic",
    "vw-hinge": "--loss_function hinge",
    "vw-squared": "--loss_function squared",
    "vw-coin": "--loss_function logistic --coin",
    "vw-ftrl": "--loss_function logistic --ftrl",
    "vw-l5": "--loss_function logistic -l 5",
}
VW = tuple(_VW_OPTIONS)
RIVER = ("river-log", "river-alma", "river-pa", "river-log-scaled", "river-alma-scaled", "river-pa-scaled")
_PACKAGES = {"massart": (OURS,), "vowpalwabbit": VW, "sklearn": accuracy_sgd.NAMES, "river": RIVER}
NAMES = tuple(name for names in _PACKAGES.values() for name in names)
Answers = NDArray[np.bool_]


def available() -> tuple[list[str], list[str]]:
    """The learners whose packages are installed, and a sentence on each package that is not."""
    learners: list[str] = []
    why = []
    for package, names in _PACKAGES.items():
        if find_spec(package) is None:
            why.append(f"{', '.join(names)} are left out: {package} is not installed (pip install {package}).")
        else:
            learners += names
    return learners, why


def answers(name: str, stream: Stream, y: NDArray[np.bool_], order: NDArray[np.int64], seed: int) -> Answers:
    """What a learner predicts for the rows of a stream in this order, each before it is told the label in y."""
    if name in VW:
        return _vowpal(name, stream, y, order)
    X, y = stream.X[order], y[order]
    if name == OURS or name in HORIZONS:
        return _ours(X, y, seed, HORIZONS.get(name))
    if name in RIVER:
        import accuracy_river  # river may not be installed

        return accuracy_river.answers(name, X, y)
    return accuracy_sgd.answers(name, X, y)


def _ours(X: Any, y: NDArray[np.bool_], seed: int, horizon: float | None = None) -> Answers:
    """What MassartClassifier(random_state=seed).partial_fit predicts on its way, and counts in `mistakes_`."""
    from massart.learners.drift import Drifting
    from massart.learners.pool import Pool

    learner = Pool(X.shape[1], seed=seed) if horizon is None else Drifting(X.shape[1], horizon, seed=seed)
    return np.asarray(learner.learn_many(X, np.where(y, 1, -1)) >= 0.0)


def check(X: NDArray[np.float64], y: NDArray[np.bool_], names: Collection[str]) -> None:
    """Stop if predictions that were written down differ from what the estimators say of themselves."""
    if OURS in names:
        from massart import MassartClassifier

        counted = MassartClassifier(random_state=0).partial_fit(X, y, classes=[False, True]).mistakes_
        found = int((_ours(X, y, 0) != y).sum())
        if counted != found:
            raise SystemExit(f"MassartClassifier counts {counted} mistakes on {len(y)} rows, this benchmark {found}")
    if {"river-alma", "river-alma-scaled"} & set(names):
        import accuracy_river

        if not accuracy_river.same_as_river(csr_matrix(X / np.abs(X).max(axis=0)), y):
            raise SystemExit("river's ALMAClassifier does not predict what accuracy_river.SparseAlma does")
    # Between calls scikit-learn 1.9 forgets the intercept whose average it takes: row by row its averaged SGD is
    # another learner than in one call, worse on some streams. The one of one call is meant, so it is not compared here.
    for name in (name for name in accuracy_sgd.NAMES if name in names and name != "sklearn-averaged"):
        learner = accuracy_sgd.estimator(name)
        said = accuracy_sgd.answers(name, X, y)
        for i in range(min(len(y), 60)):
            if i > 0 and learner.predict(X[i : i + 1])[0] != said[i]:
                raise SystemExit(f"{name} predicts another class for row {i} than was written down for it")
            learner.partial_fit(X[i : i + 1], y[i : i + 1], classes=[False, True])


@lru_cache(maxsize=1)
def _texts(stream: Stream) -> list[str]:
    """Rows as Vowpal Wabbit reads them, without labels; kept for the next order and the next noise."""
    X = stream.X
    if issparse(X):
        cuts, columns, values = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
        entries = [f"{column}:{value:.9g}" for column, value in zip(columns, values, strict=True)]
        return [" ".join(entries[a:b]) for a, b in pairwise(cuts)]
    return [" ".join(f"{j}:{v:.9g}" for j, v in enumerate(row) if v != 0.0) for row in X.tolist()]


def _vowpal(name: str, stream: Stream, y: NDArray[np.bool_], order: NDArray[np.int64]) -> Answers:
    """One pass of its own driver over a file, which writes down each prediction before it learns the row."""
    import vowpalwabbit

    texts, told = _texts(stream), y.tolist()
    with tempfile.TemporaryDirectory() as folder:
        data, said = Path(folder) / "rows", Path(folder) / "answers"
        with data.open("w") as file:
            file.writelines(f"{'1' if told[i] else '-1'} | {texts[i]}\n" for i in order.tolist())
        options = [*_VW_OPTIONS[name].split(), "--quiet", "--binary", "-d", str(data), "-p", str(said)]
        vowpalwabbit.Workspace(arg_list=options).finish()
        found: Answers = np.loadtxt(said, usecols=0, ndmin=1) > 0.0
    if found.size != order.size:
        raise RuntimeError(f"Vowpal Wabbit answered {found.size} of {order.size} rows")
    return found
