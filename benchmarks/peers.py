"""massart, scikit-learn and river as contenders: for a whole batch, and for one row at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from measuring import Contender, Elapsed, stopwatch
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron, SGDClassifier
from workloads import NOISE_RATE, SEED, Sizes, row_dictionaries

from massart import Halfspace, MassartClassifier

MARGIN = 0.05
BATCH_BASELINE = "massart"
POOL, TOLD = "massart, default settings", "massart, noise rate and margin given"
SINGLE_BASELINE = "massart Halfspace"
SGD, SGD_IN_ORDER = "SGDClassifier", "SGDClassifier in order"
RIVER = "river"


def _classifier() -> MassartClassifier:
    return MassartClassifier(noise_rate=NOISE_RATE, margin=MARGIN)


def _of_batch(X: Any, y: NDArray[np.int64], name: str, measures: str, new: Callable[[], Any]) -> Contender:
    """Calls of partial_fit with all rows in memory, on an estimator that is new in every round."""

    def run() -> Elapsed:
        estimator = new()
        return stopwatch(lambda: estimator.partial_fit(X, y, classes=[-1, 1]))

    return Contender(name, measures, X.shape[0], run)


def _sgd(X: Any, y: NDArray[np.int64]) -> list[Contender]:
    return [
        _of_batch(
            X,
            y,
            SGD,
            "log loss, partial_fit (it shuffles the rows)",
            lambda: SGDClassifier(loss="log_loss", random_state=SEED),
        ),
        _of_batch(
            X, y, SGD_IN_ORDER, "the same with shuffle=False", lambda: SGDClassifier(loss="log_loss", shuffle=False)
        ),
    ]


def batch(X: Any, y: NDArray[np.int64]) -> list[Contender]:
    """One learner that knows noise rate and margin, and scikit-learn's."""
    return [
        _of_batch(X, y, BATCH_BASELINE, "MassartClassifier.partial_fit", _classifier),
        *_sgd(X, y),
        _of_batch(X, y, "Perceptron", "partial_fit (it shuffles the rows)", lambda: Perceptron(random_state=SEED)),
    ]


def pool(X: Any, y: NDArray[np.int64]) -> list[Contender]:
    """The dozen experts of MassartClassifier(), the one learner that was told everything, and scikit-learn's."""
    return [
        _of_batch(X, y, POOL, "MassartClassifier().partial_fit", lambda: MassartClassifier(random_state=SEED)),
        _of_batch(X, y, TOLD, "MassartClassifier(noise_rate, margin).partial_fit", _classifier),
        *_sgd(X, y),
    ]


def classes(X: Any, counts: Sequence[int]) -> list[Contender]:
    """MassartClassifier() on labels of so many classes, two of them first."""
    rng = np.random.default_rng(SEED)
    found = []
    for k in (2, *counts):
        y = rng.integers(0, k, X.shape[0])

        def run(k: int = k, y: NDArray[np.int64] = y) -> Elapsed:
            estimator = MassartClassifier(random_state=SEED)
            return stopwatch(lambda: estimator.partial_fit(X, y, classes=range(k)))

        found.append(Contender(f"{k} classes", "MassartClassifier().partial_fit", X.shape[0], run))
    return found


def products(X: Any, y: NDArray[np.int64]) -> list[Contender]:
    """MassartClassifier() with products of columns, and without."""
    return [
        _of_batch(X, y, POOL, "MassartClassifier().partial_fit", lambda: MassartClassifier(random_state=SEED)),
        _of_batch(X, y, "with products", "products=True", lambda: MassartClassifier(products=True, random_state=SEED)),
    ]


def river_batch(X: Any, y: NDArray[np.int64], sizes: Sizes) -> list[Contender]:
    """Few rows are enough: river learns row by row, each at the same pace."""
    measures = f"LogisticRegression: learn_one, ready dicts, {sizes.slow_rows:,} rows"
    return _river(X, y, sizes, measures, lambda model, row, label: model.learn_one(row, label))


def single(X: NDArray[np.float64], y: NDArray[np.int64], sizes: Sizes) -> list[Contender]:
    """Predict, then learn, one row after the other in a Python loop."""
    rows, labels = list(X), y.tolist()

    def halfspace() -> Elapsed:
        learner = Halfspace(X.shape[1], NOISE_RATE, MARGIN)

        def play() -> None:
            for row, label in zip(rows, labels, strict=True):
                learner.predict(row)
                learner.learn(row, label)

        return stopwatch(play)

    few = sizes.slow_rows // 5 or 1
    row_matrices, row_labels = [X[i : i + 1] for i in range(few)], [y[i : i + 1] for i in range(few)]

    def estimator(name: str, new: Callable[[], Any]) -> Contender:
        def run() -> Elapsed:
            model = new().partial_fit(row_matrices[0], row_labels[0], classes=[-1, 1])

            def play() -> None:
                for row, label in zip(row_matrices, row_labels, strict=True):
                    model.predict(row)
                    model.partial_fit(row, label)

            return stopwatch(play)

        return Contender(name, "predict + partial_fit of (1, d) arrays", few, run)

    return [
        Contender(SINGLE_BASELINE, "predict + learn of NumPy rows", len(rows), halfspace),
        estimator("MassartClassifier", _classifier),
        estimator("SGDClassifier", lambda: SGDClassifier(loss="log_loss")),
    ]


def river_single(X: NDArray[np.float64], y: NDArray[np.int64], sizes: Sizes) -> list[Contender]:
    """The loop of river's users, on dictionaries that are built beforehand."""

    def play(model: Any, row: dict[Any, float], label: bool) -> None:
        model.predict_one(row)
        model.learn_one(row, label)

    return _river(X, y, sizes, "predict_one + learn_one, ready dicts", play)


def _river(X: Any, y: NDArray[np.int64], sizes: Sizes, measures: str, step: Callable[..., None]) -> list[Contender]:
    from river.linear_model import LogisticRegression

    rows = row_dictionaries(X, sizes.slow_rows)
    labels = (y[: sizes.slow_rows] > 0).tolist()

    def run() -> Elapsed:
        model = LogisticRegression()

        def play() -> None:
            for row, label in zip(rows, labels, strict=True):
                step(model, row, label)

        return stopwatch(play)

    return [Contender(RIVER, measures, len(rows), run)]
