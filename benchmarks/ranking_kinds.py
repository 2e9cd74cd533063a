"""`MonotoneRanker()` next to other linear rankers on other kinds of query: NDCG@10 of new queries.

    python benchmarks/ranking_kinds.py --json results/ranking_kinds.json

Six simulated kinds, 400 queries to learn from and 500 to test on, other weights for every seed:

    heavy      20 columns and noise of Student's t with 2.5 and 2 degrees of freedom, five grades
    correlated 40 columns, seen through 3 factors and a little noise, five grades
    binary     12 columns, mostly 0 or 1, 1 to 3 good documents of 4 to 24
    scales     30 columns of units from 1/1000 to 1000, and each query in a unit of its own, five grades
    sparse     150 columns, one of five not 0, five grades
    clicks     25 columns with levels of queries; documents are clicked by chance, one of ten clicks is turned round

and three data sets of scikit-learn as rounds of items: each query has 10 rows, 1 to 3 of them of the class that is
looked for (breast cancer: malignant; digits: eight; wine: the first), rows of the second half of the data in the test.

The other rankers are those of benchmarks/ranking_accuracy.py, and one pass of scikit-learn's `SGDClassifier` with the
logistic loss over the pairs of `pairwise logistic`. The simulated kinds were looked at, with two seeds, when the
members of the ranker were chosen, the three data sets were not.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ranking_accuracy import Floats, Queries, _logistic, _pairs, _ridge, _svm, ndcg

from massart import MonotoneRanker

SIMULATED = {"heavy": 20, "correlated": 40, "binary": 12, "scales": 30, "sparse": 150, "clicks": 25}  # columns
ITEMS = ("breast cancer", "digits", "wine")
LEARNED, TESTED = 400, 500


class _World:
    """What the queries of one kind and seed have in common."""

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng([77, seed, list(SIMULATED).index(kind)])
        self._kind, self._columns = kind, SIMULATED[kind]
        self._weights = rng.standard_normal(self._columns) * (rng.random(self._columns) < 0.5)
        self._mixing = rng.standard_normal((self._columns, self._columns)) / np.sqrt(self._columns)
        self._factors = rng.standard_normal((3, self._columns))
        self._units = 10.0 ** rng.uniform(-3, 3, self._columns)

    def draw(self, rng: np.random.Generator, count: int) -> Queries:
        """So many queries."""
        kind, few = self._kind, self._kind in ("binary", "clicks")
        sizes = rng.integers(4, 25, count) if few else rng.integers(8, 100, count)
        query = np.repeat(np.arange(count), sizes)
        X = self._rows(rng, query)
        truth = X @ self._weights
        truth /= truth.std()
        if kind == "heavy":
            truth = np.sign(truth) * np.log1p(np.abs(truth))
        score = truth + rng.uniform(0.2, 1.2, count)[query] * rng.standard_normal(len(query))
        if kind == "heavy":
            score += 0.5 * rng.standard_t(2, len(query))
        if kind == "scales":
            X = X * np.exp(rng.standard_normal(count))[query][:, None] * self._units
        return Queries(X, self._grades(rng, score, truth, query), truth, query)

    def _rows(self, rng: np.random.Generator, query: np.ndarray) -> Floats:
        n, d = len(query), self._columns
        if self._kind == "heavy":
            return rng.standard_t(2.5, (n, d))
        if self._kind == "correlated":
            return 2.0 * rng.standard_normal((n, 3)) @ self._factors + 0.4 * rng.standard_normal((n, d))
        if self._kind == "binary":
            return (rng.random((n, d)) < 0.3) + 0.2 * rng.standard_normal((n, d))
        if self._kind == "sparse":
            return rng.exponential(1.0, (n, d)) * (rng.random((n, d)) < 0.2)
        level = rng.standard_normal((query[-1] + 1, d))[query] if self._kind == "clicks" else 0.0
        return np.asarray(rng.standard_normal((n, d)) @ self._mixing + level)

    def _grades(self, rng: np.random.Generator, score: Floats, truth: Floats, query: np.ndarray) -> np.ndarray:
        if self._kind == "clicks":
            clicked = rng.random(len(query)) < 1.0 / (1.0 + np.exp(-3.0 * (truth - 1.2)))
            return (clicked ^ (rng.random(len(query)) < 0.1)).astype(np.int64)
        if self._kind != "binary":
            return np.searchsorted(np.quantile(score, (0.5, 0.75, 0.9, 0.97)), score)
        grades = np.zeros(len(query), np.int64)
        for number in range(query[-1] + 1):
            own = np.flatnonzero(query == number)
            grades[own[np.argsort(-score[own])[: rng.integers(1, 4)]]] = 1
        return grades


def _items(name: str, seed: int) -> tuple[Queries, Queries]:
    """Rounds of rows of a data set: those of one half to learn from, those of the other to test."""
    from sklearn import datasets

    found = {"breast cancer": (datasets.load_breast_cancer, 0), "digits": (datasets.load_digits, 8),
             "wine": (datasets.load_wine, 0)}  # fmt: skip
    load, wanted = found[name]
    X, labels = load(return_X_y=True)
    rng = np.random.default_rng([78, seed])
    order = rng.permutation(len(X))
    halves = order[: len(X) // 2], order[len(X) // 2 :]
    made = []
    for half, count in zip(halves, (LEARNED // 4, TESTED), strict=True):
        good, other = half[labels[half] == wanted], half[labels[half] != wanted]
        rows = []
        for _ in range(count):
            some = rng.integers(1, 4)
            rows.append(rng.permutation(np.concatenate([rng.choice(good, some), rng.choice(other, 10 - some)])))
        rows = np.concatenate(rows)
        grade = (labels[rows] == wanted).astype(np.int64)
        made.append(Queries(X[rows], grade, grade.astype(float), np.repeat(np.arange(count), 10)))
    return made[0], made[1]


def _ours(queries: Queries, seed: int) -> Floats:
    """One pass, rows as they are; all that is told is the highest grade."""
    ranker = MonotoneRanker(reward_range=(0.0, float(queries.grade.max())), random_state=seed)
    for group in queries.groups:
        ranker.learn(queries.X[group], queries.grade[group])
    return ranker.weights


def _sgd(queries: Queries, seed: int) -> Floats:
    from sklearn.linear_model import SGDClassifier

    rows, sign = _pairs(queries, seed)
    model = SGDClassifier(loss="log_loss", fit_intercept=False, max_iter=1, tol=None, random_state=0)
    return np.asarray(model.fit(rows, sign).coef_[0])


RANKERS: dict[str, Callable[[Queries, int], Floats]] = {
    "MonotoneRanker()": _ours,
    "pairwise logistic": _logistic,
    "RankSVM": _svm,
    "ridge": _ridge,
    "SGD on pairs, one pass": _sgd,
}


def measure(kind: str, seed: int) -> dict[str, float]:
    """NDCG@10 of every ranker, and of a random order."""
    rng = np.random.default_rng([5, seed])
    if kind in SIMULATED:
        world = _World(kind, seed)
        train, test = world.draw(rng, LEARNED), world.draw(rng, TESTED)
    else:
        train, test = _items(kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers that have not converged
        found = {name: ndcg(test, test.X @ learn(train, seed)) for name, learn in RANKERS.items()}
    return {**found, "random": ndcg(test, rng.random(len(test.query)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write all numbers here")
    options = parser.parse_args()
    kinds = (*SIMULATED, *ITEMS)
    rows = {kind: [measure(kind, seed) for seed in range(options.seeds)] for kind in kinds}
    print("| ranker | " + " | ".join(kinds) + " |")
    print("| --- |" + " --- |" * len(kinds))
    for name in [*RANKERS, "random"]:
        means = [np.mean([row[name] for row in rows[kind]]) for kind in kinds]
        print(f"| {name} | " + " | ".join(f"{mean:.3f}".replace("0.", ".") for mean in means) + " |")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
