"""A reader whose rows come from arrays: what a training needs of one, and nothing of files."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from massart.data.chunk import Chunk, Position, RowError
from massart.data.schema import Schema


class FakeReader:
    """Rows in chunks of `size`; `flaws` are (row before which it stands, words)."""

    def __init__(self, X, y, *, weight=None, size=64, dense=False, schema=None, flaws=(), tags=None, pipe=False):
        self.X, self.y = np.asarray(X, float), np.asarray(y, np.int8)
        self.weight = np.empty(0) if weight is None else np.asarray(weight, float)
        self.size, self.dense, self.flaws, self.tags = size, dense, flaws, tags
        self.schema = schema or Schema("svmlight", features=self.X.shape[1] if dense else None)
        about = {"is_pipe": pipe, "is_resumable": not pipe, "stop": lambda: None, "commit": lambda position: None}
        self.sources = (SimpleNamespace(name="rows.svm", size=len(self.y), path=Path(__file__), **about),)
        self.opened = []

    def label_files(self):
        return []

    def fraction(self):
        return 0.5

    def chunks(self, start=Position()):  # noqa: B008
        self.opened.append(start)
        for first in range(start.offset, len(self.y), self.size):
            yield self.chunk(first, min(first + self.size, len(self.y)))

    def chunk(self, first, last):
        rows, width = self.X[first:last], self.X.shape[1]
        flaws = tuple(RowError("rows.svm", 2 * row + 1, 3, words) for row, words in self.flaws if first <= row < last)
        if not self.dense:
            places = rows != 0
            indptr = np.concatenate([[0], np.cumsum(places.sum(axis=1))]).astype(np.uint32)
            indices = np.nonzero(places)[1].astype(np.uint32)
            width = int(indices.max(initial=0)) + 1 if self.schema.width is None else self.schema.width
            rows = (rows[places], indices, indptr)
        return Chunk(
            rows,
            width,
            self.y[first:last].copy(),
            self.weight[first:last],
            Position(0, last, 2 * last),
            np.arange(2 * first + 2, 2 * last + 2, 2),  # every row has the line of a flaw before it
            flaws,
            tags=None if self.tags is None else tuple(self.tags[first:last]),
        )


def halfspace_rows(rows=600, columns=8, *, noise=0.1, density=1.0, seed=0):
    """(X, y) of a halfspace whose labels lie now and then."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rows, columns)), 3) * (rng.random((rows, columns)) < density)
    y = np.where(X @ rng.normal(size=columns) > 0, 1, -1)
    return X, np.where(rng.random(rows) < noise, -y, y).astype(np.int8)


def write_svmlight(path, X, y):
    """The same rows as a file."""
    lines = []
    for row, label in zip(X, y, strict=True):
        features = " ".join(f"{j + 1}:{row[j]!r}" for j in np.flatnonzero(row).tolist())
        lines.append(f"{label} {features}\n".replace("np.float64(", "").replace(")", ""))
    path.write_text("".join(lines))
    return path
