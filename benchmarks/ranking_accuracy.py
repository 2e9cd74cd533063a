"""`MonotoneRanker` next to other linear rankers on simulated queries with graded relevance: NDCG@10 of new queries.

    python benchmarks/ranking_accuracy.py --json results/ranking_accuracy.json

A query has 10 to 60 documents with 46 features, as in LETOR 4.0: eight latent qualities, seen through correlated
columns of very different spread, each column brought to [0, 1] within its query. The grade is 0, 1 or 2 (about 80, 13
and 7 of 100 documents) by a latent score: linear in the qualities, plus a term that is not, plus noise that differs
from query to query. In `levels` columns are as they are, and queries of high columns have few good documents. In
`noisy` three of ten queries of the training set have grades that are shuffled among a third of their documents.

Everybody sees the same training queries. Pairwise logistic regression and RankSVM are scikit-learn's
`LogisticRegression` and `LinearSVC` with default settings on differences of documents of other grade in a query, at
most 100,000 pairs; ridge is pointwise. The oracle, no ranker, is least squares within queries on the score without
noise. The grades differ by half of their range: `MonotoneRanker(gap=0.5)` knows that.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart import MonotoneRanker

FEATURES, QUALITIES, GRADES, CUT = 46, 8, 3, 10
KINDS = ("plain", "levels", "noisy")
PAIRS = 100_000
OURS = "MonotoneRanker()"

Floats = NDArray[np.float64]


class Queries(NamedTuple):
    """Documents of all queries: rows, grades, the score without noise, and the number of the query."""

    X: Floats
    grade: NDArray[np.int64]
    truth: Floats
    query: NDArray[np.int64]

    @property
    def groups(self) -> list[NDArray[np.intp]]:
        """The documents of each query."""
        starts = np.flatnonzero(np.diff(self.query)) + 1
        return list(np.split(np.arange(len(self.query)), starts))


class _World:
    """What queries have in common: how columns show qualities, and what makes a document good."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([46, seed])
        self._mixing = rng.standard_normal((QUALITIES, FEATURES)) * rng.lognormal(0.0, 1.0, FEATURES)
        self._own = rng.lognormal(0.0, 0.5, FEATURES)  # of a column, beside what it shows
        self._weights = rng.standard_normal(QUALITIES) / np.sqrt(QUALITIES)
        self._cuts = (0.8, 0.93)

    def draw(self, rng: np.random.Generator, count: int, kind: str, *, spoil: bool) -> Queries:
        """So many queries; with `spoil`, the grades of the noisy kind are shuffled."""
        sizes = rng.integers(10, 61, count)
        query = np.repeat(np.arange(count), sizes)
        quality = rng.standard_normal((len(query), QUALITIES))
        level = rng.standard_normal(count)[query] if kind == "levels" else np.zeros(len(query))
        shown = quality + level[:, None] * np.sign(self._weights)
        columns = shown @ self._mixing + self._own * rng.standard_normal((len(query), FEATURES))
        truth = quality @ self._weights + 0.3 * (quality[:, 0] * quality[:, 1])
        noise = rng.uniform(0.2, 1.0, count)[query] * rng.standard_normal(len(query))
        score = truth + noise - level
        grade = np.searchsorted(np.quantile(truth + noise, self._cuts), score)
        found = Queries(columns, grade, truth, query)
        for group in found.groups:
            low, high = columns[group].min(axis=0), columns[group].max(axis=0)
            if kind != "levels":  # brought to [0, 1], levels of queries would be gone
                columns[group] = (columns[group] - low) / (high - low)
            if spoil and kind == "noisy" and rng.random() < 0.3:
                some = group[rng.random(len(group)) < 1.0 / 3.0]
                grade[some] = rng.permutation(grade[some])
        return found


def ndcg(queries: Queries, scores: Floats) -> float:
    """Mean over queries with a good document of DCG@10 / best DCG@10, gains 2^grade - 1."""
    found = []
    for group in queries.groups:
        gains = 2.0 ** queries.grade[group] - 1.0
        discount = 1.0 / np.log2(np.arange(2, CUT + 2))[: len(group)]
        best = np.sort(gains)[::-1][:CUT] @ discount
        if best > 0.0:
            found.append(gains[np.argsort(-scores[group], kind="stable")][:CUT] @ discount / best)
    return float(np.mean(found))


def _pairs(queries: Queries, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Differences of documents of other grade, and which is the better: half of them turned round."""
    rng = np.random.default_rng(seed)
    better, worse = [], []
    for group in queries.groups:
        grades = queries.grade[group]
        i, j = np.nonzero(grades[:, None] > grades[None, :])
        better.append(group[i])
        worse.append(group[j])
    first, second = np.concatenate(better), np.concatenate(worse)
    chosen = rng.permutation(len(first))[:PAIRS]
    sign = np.where(rng.random(len(chosen)) < 0.5, 1, -1)
    return (queries.X[first[chosen]] - queries.X[second[chosen]]) * sign[:, None], sign


def _ours(queries: Queries, seed: int, passes: int = 1, **known: float) -> Floats:
    """In a random order of queries; rows are divided by the largest norm, grades by the highest."""
    ranker = MonotoneRanker(random_state=seed, **known)
    scale = np.linalg.norm(queries.X, axis=1).max()
    groups, rng = queries.groups, np.random.default_rng(seed)
    for _ in range(passes):
        for place in rng.permutation(len(groups)):
            group = groups[place]
            ranker.learn(queries.X[group] / scale, queries.grade[group] / (GRADES - 1.0))
    return np.asarray(ranker.weights)


def _logistic(queries: Queries, seed: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    rows, sign = _pairs(queries, seed)
    return np.asarray(LogisticRegression(fit_intercept=False, max_iter=1000).fit(rows, sign).coef_[0])


def _svm(queries: Queries, seed: int) -> Floats:
    from sklearn.svm import LinearSVC

    rows, sign = _pairs(queries, seed)
    return np.asarray(LinearSVC(fit_intercept=False, random_state=0).fit(rows, sign).coef_[0])


def _ridge(queries: Queries, seed: int) -> Floats:
    from sklearn.linear_model import Ridge

    del seed
    return np.asarray(Ridge().fit(queries.X, queries.grade).coef_)


def _oracle(queries: Queries, seed: int) -> Floats:
    from sklearn.linear_model import Ridge

    del seed
    X, truth = queries.X.copy(), queries.truth.copy()
    for group in queries.groups:
        X[group] -= X[group].mean(axis=0)
        truth[group] -= truth[group].mean()
    return np.asarray(Ridge(fit_intercept=False).fit(X, truth).coef_)


RANKERS: dict[str, Callable[[Queries, int], Floats]] = {
    OURS: _ours,
    f"{OURS}, 10 passes": lambda queries, seed: _ours(queries, seed, passes=10),
    "MonotoneRanker(gap=0.5)": lambda queries, seed: _ours(queries, seed, gap=0.5),
    "pairwise logistic": _logistic,
    "RankSVM": _svm,
    "ridge": _ridge,
    "oracle": _oracle,
}


def measure(kind: str, seed: int, count: int, tested: int) -> dict[str, float]:
    """NDCG@10 of every ranker, and of a random order."""
    world, rng = _World(seed), np.random.default_rng([seed, KINDS.index(kind)])
    train = world.draw(rng, count, kind, spoil=True)
    test = world.draw(rng, tested, kind, spoil=False)
    found = {name: ndcg(test, test.X @ learn(train, seed)) for name, learn in RANKERS.items()}
    return {**found, "random": ndcg(test, rng.random(len(test.query)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=500, help="of the training set")
    parser.add_argument("--tested", type=int, default=1000, help="new queries")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write all numbers here")
    options = parser.parse_args()
    rows = {kind: [measure(kind, seed, options.queries, options.tested) for seed in range(options.seeds)]
            for kind in KINDS}  # fmt: skip
    print("| ranker | " + " | ".join(KINDS) + " |")
    print("| --- |" + " --- |" * len(KINDS))
    for name in [*RANKERS, "random"]:
        means = [np.mean([row[name] for row in rows[kind]]) for kind in KINDS]
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
