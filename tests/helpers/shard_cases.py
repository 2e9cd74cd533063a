"""Rows, files and executors for tests of shards."""

from concurrent.futures import Executor, Future

import numpy as np

from massart import save

CLASSES = [False, True]


def rows(count=6000, columns=6, seed=0):
    """Labels of a halfspace, 10% of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, columns))
    return X, (X[:, 0] > X[:, 1]) ^ (rng.random(count) < 0.1)


def cut(X, y, shards):
    return [(X[k::shards], y[k::shards]) for k in range(shards)]


def write_svm(path, X, y):
    """A file of rows."""
    with path.open("w") as file:
        for x, label in zip(X, y, strict=True):
            values = " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(x))
            file.write(f"{1 if label else -1} {values}\n")
    return str(path)


def write_wide(path, count=20_000, columns=3000, seed=0):
    """A file of rows with few of many columns: a model of some hundred kilobytes."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=columns)
    with path.open("w") as file:
        for _ in range(count):
            own = np.unique(rng.integers(0, columns, 8))
            label = (weights[own].sum() > 0) ^ (rng.random() < 0.1)
            file.write(f"{1 if label else -1} {' '.join(f'{j + 1}:1' for j in own)}\n")
    return str(path)


def model_bytes(model, folder):
    """What `save` writes."""
    path = folder / "saved.massart"
    save(model, path)
    return path.read_bytes()


class Backwards(Executor):
    """Runs tasks when a result is asked for, the last one first."""

    def __init__(self):
        self._waiting = []
        self.done = 0

    def submit(self, task, /, *arguments, **named):
        future = _Late(self)
        self._waiting.append((future, task, arguments, named))
        return future

    def run(self):
        while self._waiting:
            future, task, arguments, named = self._waiting.pop()
            self.done += 1
            try:
                future.set_result(task(*arguments, **named))
            except Exception as error:
                future.set_exception(error)


class _Late(Future):
    def __init__(self, owner):
        super().__init__()
        self._owner = owner

    def result(self, timeout=None):
        self._owner.run()
        return super().result(timeout)
