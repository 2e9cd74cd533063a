"""Small uses of everything that needs compiled kernels, by family, with rows of all kinds of numbers.

Running a family compiles its kernels and keeps them: what commands and public classes do later compiles nothing more.
"""

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["FAMILIES", "run"]

_ROWS = 24
_KNOWN: Final[dict[str, Any]] = {"noise_rate": 0.1, "margin": 0.05}
_PAPER: Final[dict[str, Any]] = {**_KNOWN, "update": "paper", "horizon": 100.0}


def _labels() -> Any:
    return np.where(np.arange(_ROWS) % 3 == 0, 1, -1)


def _dense(width: int, kind: Any = np.float64) -> Any:
    X = np.random.default_rng(0).normal(size=(_ROWS, width))
    X[:, 0] = _labels() * np.abs(X[:, 0])
    return X.astype(kind)


def _arrays(width: int) -> Iterator[Any]:
    """Rows as arrays have them: dense and sparse, in single and double precision, with indices of both sizes."""
    from scipy import sparse

    for kind in (np.float32, np.float64):
        yield _dense(width, kind)
        rows = sparse.csr_array(_dense(width, kind))
        for size in (np.int32, np.int64):
            rows.indices, rows.indptr = rows.indices.astype(size), rows.indptr.astype(size)
            yield rows.copy()


def learn_arrays(folder: Path) -> None:
    """MassartClassifier with default settings, few, many and millions of features, two classes and three."""
    from scipy import sparse

    from massart.learners.classifier import MassartClassifier
    from massart.learners.columns import MANY_COLUMNS
    from massart.models.opening import load
    from massart.models.saving import save

    for width in (4, 70):
        for X in _arrays(width):
            MassartClassifier(random_state=0).fit(X, _labels()).predict(X)
            classifier = MassartClassifier(random_state=0).partial_fit(X, _labels(), classes=[-1, 1])
            classifier.learn_predict(X, _labels())
            classifier.certificate()
            classifier.predict_proba(X)
            several = MassartClassifier(random_state=0).partial_fit(X, np.arange(_ROWS) % 3)
            several.partial_fit(X, np.arange(_ROWS) % 3, sample_weight=np.ones(_ROWS)).predict_proba(X)
            if sparse.issparse(X):
                X.resize(_ROWS, MANY_COLUMNS + 1)
                wide = MassartClassifier(random_state=0).partial_fit(X, _labels(), classes=[-1, 1])
                wide.partial_fit(X, _labels(), sample_weight=np.ones(_ROWS))
    X = _dense(4)
    MassartClassifier(random_state=0).fit(X, np.arange(_ROWS) % 3).predict(X)
    for options in (_KNOWN, {"horizon": 10.0}):
        one_each = MassartClassifier(**options, random_state=0).partial_fit(X, np.arange(_ROWS) % 3, classes=range(3))
        one_each.partial_fit(X, np.arange(_ROWS) % 3, sample_weight=np.ones(_ROWS)).predict_proba(X)
    MassartClassifier(horizon=10.0, random_state=0).fit(X, _labels()).predict(X)
    MassartClassifier(products=True, random_state=0).fit(X, _labels()).predict(X)
    groups = np.arange(_ROWS) % 3
    for rows in _arrays(4):
        MassartClassifier(random_state=0).fit(rows, _labels(), groups=groups).predict(rows, groups)
    save(classifier, folder / "arrays.massart")
    load(folder / "arrays.massart").predict(_dense(70))


def learn_known_noise(folder: Path) -> None:
    """MassartClassifier and Halfspace with noise rate and margin known."""
    del folder
    from massart.learners.classifier import MassartClassifier
    from massart.learners.halfspace import Halfspace

    for X in _arrays(4):
        for options in (_KNOWN, _PAPER):
            MassartClassifier(**options, random_state=0).fit(X, _labels()).predict(X)
            MassartClassifier(**options, random_state=0).partial_fit(X, _labels(), classes=[-1, 1])
        learner = Halfspace(4, **_KNOWN)
        learner.learn_many(X, _labels())
    for kind in (np.float32, np.float64):
        for x, y in zip(_dense(4, kind), _labels(), strict=True):
            learner.predict(x)
            learner.learn(x, y)


def read_text(folder: Path) -> None:
    """Train and predict on svmlight, VW text, CSV and JSON lines."""
    y, numbers = _labels(), range(_ROWS)
    values = [f"{value:.17g}" for value in _dense(1)[:, 0]]
    texts = {
        "rows.svm": [f"{y[i]} 1:{values[i]} 3:{i}e-2" for i in numbers],
        "rows.vw": [f"{y[i]} 2 tag|a x:{values[i]} word{i} |b z:.5 'q" for i in numbers],
        "rows.csv": ["y,u,v,w", *(f'{y[i]},{values[i]},"a ""{i % 3}""",{i}' for i in numbers)],
        "rows.jsonl": [f'{{"y": {y[i]}, "u": {values[i]}, "v": "a{i % 3}", "w": [1, {i}]}}' for i in numbers],
    }
    for name, lines in texts.items():
        path = folder / name
        path.write_text("\n".join(lines) + "\n")
        table = {"label": "y"} if name.endswith(("csv", "jsonl")) else {}
        _train(path, folder, **table)
        _train(path, folder, bits=10, crossings=("ab",) if name == "rows.vw" else (), **table)


def read_tables(folder: Path) -> None:
    """Train and predict on .npy files, and on Parquet files where PyArrow is installed."""
    for kind in (np.float32, np.float64):
        for width in (4, 12):
            rows = np.column_stack([_labels(), _dense(width, kind)]).astype(kind)
            path = folder / f"rows{width}.npy"
            np.save(path, rows)
            _train(path, folder, label="1")
            if importlib.util.find_spec("pyarrow") is not None:
                _train(_parquet(rows, folder / f"rows{width}.parquet"), folder, label="y")
                words = _parquet(rows, folder / f"words{width}.parquet", words=True)
                _train(words, folder, label="y", bits=10)


def _parquet(rows: Any, path: Path, *, words: bool = False) -> Path:
    pa, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))

    columns = {"y" if j == 0 else f"x{j}": rows[:, j] for j in range(rows.shape[1])}
    if words:
        columns["word"] = [f"word{i % 3}" for i in range(len(rows))]
    parquet.write_table(pa.table(columns), path)
    return path


def _train(path: Path, folder: Path, **reading: Any) -> None:
    """Learn a file with default settings and with known ones; predict it."""
    from massart.data.schema import Schema
    from massart.training import Settings, open_training, predict_file

    model, answers = folder / "model.massart", folder / "answers.txt"
    for settings in (Settings(), Settings(**_KNOWN, passes=2, holdout=5, given=frozenset(_KNOWN))):
        open_training([str(path)], settings, Schema(**reading), model=model, predictions=answers, workers=1).run()
        predict_file(model, [str(path)], answers, scores=True, workers=1)


def choose_arms(folder: Path) -> None:
    """MonotoneBandit, MonotoneRanker, and a log of decisions evaluated."""
    from scipy import sparse

    from massart.learners.bandit import MonotoneBandit
    from massart.learners.ranker import MonotoneRanker
    from massart.models.opening import load
    from massart.models.saving import save

    dense = _dense(3)[:4] / 10.0
    for options in ({}, {"gap": 0.1, "margin": 0.1}, {"gap": 0.1, "margin": 0.1, "horizon": 100, "update": "paper"}):
        bandit, ranker = MonotoneBandit(**options), MonotoneRanker(0.1 if options else None)
        for contexts in (dense, dense.astype(np.float32), sparse.csr_array(dense)):
            choice = bandit.choose(contexts)
            bandit.learn(choice, 1.0)
            bandit.probabilities(contexts)
            ranker.choose(contexts)
            ranker.learn(contexts, [0.0, 1.0, 0.0, 1.0])
            ranker.predict_ranking(contexts)
        bandit.play(np.stack([dense, dense]), np.ones((2, 4)))
        save(bandit, folder / "bandit.massart")
        save(ranker, folder / "ranker.massart")
    load(folder / "bandit.massart").choose(dense)
    load(folder / "ranker.massart").choose(dense)
    _evaluate(folder)


def _evaluate(folder: Path) -> None:
    from massart.data import DecisionLog
    from massart.evaluation import evaluate

    log = folder / "log.jsonl"
    line = '{"arm": %d, "reward": %g, "probability": 0.5, "contexts": [[1, 0], [0, %d]]}\n'
    log.write_text("".join(line % (i % 2, i % 3 / 2, i) for i in range(20)))
    evaluate(DecisionLog(log), "uniform")


def race_labels(folder: Path) -> None:
    """All compiled learners in the worlds with labels, and one by one; Perspectron."""
    del folder
    from massart import arena, worlds
    from massart.arena.registry import LEARNERS
    from massart.learners.reference.offline import Perspectron

    X = _dense(2) / 10.0
    for name in LEARNERS.names(peers=False):
        learner = LEARNERS.make(name, dimension=2, noise_rate=0.1, margin=0.3, horizon=100)
        learner.score(X[0])
        learner.learn(X[0], 1.0)
        learner.learn_many(X, _labels())
    Perspectron(**_KNOWN).fit(X, _labels())
    arena.sweep(worlds.names(), rounds=40, seeds=1)


def race_arms(folder: Path) -> None:
    """All compiled policies in the worlds with arms, and one by one."""
    del folder
    from massart import arena, worlds
    from massart.arena.registry import POLICIES

    for name in POLICIES.names(peers=False):
        policy = POLICIES.make(name, dimension=3, arms=4, gap=0.1, margin=0.1, horizon=100)
        policy.learn(policy.choose(_dense(3)[:4] / 10.0), 1.0)
    arena.sweep(worlds.reward_names(), POLICIES.names(peers=False), rounds=40, seeds=1)


FAMILIES: Final[dict[str, Callable[[Path], None]]] = {  # the longest first
    "arrays": learn_arrays,
    "arms": choose_arms,
    "text": read_text,
    "tables": read_tables,
    "known-noise": learn_known_noise,
    "race": race_labels,
    "race-arms": race_arms,
}


def run(family: str, folder: Path) -> None:
    """Use a family's kernels, in a folder for its files; what its data is warned of is of no interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FAMILIES[family](folder)
