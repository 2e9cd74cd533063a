"""The streams of the accuracy benchmark: rows, labels, a group whose labels are never touched, and noise on the rest.

Noise is drawn per row and seed, before the rows are put into an order: whoever learns a stream with a seed sees the
same false labels, and those of a smaller rate are among those of a larger one.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import adult
import drift_streams
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

SEED = 405_12958
ZIPF_ROWS, ZIPF_COLUMNS = 200_000, 30_000
QUICK_ROWS = 200
_QUICK_ZIPF_ROWS = 1_000  # drawn, of which QUICK_ROWS are kept: fewer would have no column that half of the rows have


@dataclass(frozen=True)
class Noise:
    """Labels flipped with probability `rate`: everywhere, or outside of the stream's group only."""

    kind: str
    rate: float

    @property
    def name(self) -> str:
        """As it is written in tables and in the journal.

        >>> Noise("group", 0.1).name, NONE.name
        ('group 10%', 'none')
        """
        return f"{self.kind} {self.rate:.0%}" if self.rate else self.kind


NONE = Noise("none", 0.0)
NOISES = {
    noise.name: noise
    for noise in (NONE, Noise("random", 0.1), Noise("random", 0.3), Noise("group", 0.1), Noise("group", 0.3))
}


@dataclass(frozen=True, eq=False)
class Stream:
    """Labelled rows in the order in which they were published; equal to itself alone, so that it can be a key."""

    name: str
    X: Any  # (rows, columns) float64, or CSR
    y: NDArray[np.bool_]
    group: NDArray[np.bool_]  # rows whose labels group noise leaves alone

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.y)

    @cached_property
    def checksum(self) -> int:
        """Of shape, values, labels and group: a run on other data is not taken for one on these."""
        values = self.X.data if issparse(self.X) else self.X
        arrays = (np.array(self.X.shape), np.ascontiguousarray(values), self.y, self.group)
        total = 0
        for array in arrays:
            total = zlib.crc32(array.tobytes(), total)
        return total

    def labels(self, noise: Noise, seed: int) -> NDArray[np.bool_]:
        """The labels as a learner is told them, in the published order."""
        flipped = np.random.default_rng([SEED, seed]).random(self.rows) < noise.rate
        return self.y ^ (flipped & ~self.group if noise.kind == "group" else flipped)

    def order(self, order: str, seed: int) -> NDArray[np.int64]:
        """Row numbers in the order of presentation."""
        if order != "random":
            return np.arange(self.rows)
        return np.random.default_rng([SEED, seed, 1]).permutation(self.rows)

    def cut(self, rows: int) -> "Stream":
        """Rows spread evenly over the stream, for a quick look: the first ones might all be of one class."""
        kept = np.linspace(0, self.rows - 1, min(rows, self.rows)).astype(int)
        return Stream(self.name, self.X[kept], self.y[kept], self.group[kept])


def _half(X: Any) -> NDArray[np.bool_]:
    """Rows above the median in the column whose median splits them most evenly; the first of several such columns."""
    above = (X > 0).toarray() if issparse(X) else np.median(X, axis=0) < X
    return np.asarray(above[:, np.abs(above.mean(axis=0) - 0.5).argmin()])


def _stream(name: str, X: Any, y: NDArray[Any]) -> Stream:
    # Only the first columns of the sparse rows are in about half of them: the median of any other is zero.
    return Stream(name, X, y > 0, _half(X[:, :500] if issparse(X) else X))


def _adult(name: str, folder: Path) -> Stream:
    parts = adult.load(folder, standardise=name == "adult-scaled")
    group = np.concatenate([part.text["race"] == "Black" for part in parts])
    return Stream(name, np.vstack([part.X for part in parts]), np.concatenate([part.y for part in parts]), group)


def _spambase(name: str, folder: Path) -> Stream:
    path = folder / "spambase.data"
    with path.open() as file:
        header = file.readline().strip().split(",")
    numbers = all(entry.replace(".", "", 1).isdigit() for entry in header)
    table = np.loadtxt(path, delimiter=",", skiprows=0 if numbers else 1)
    X, y = table[:, :-1], table[:, -1]
    return _stream(name, np.log1p(10 * X) if name == "spambase-log" else X, y)


def _breast_cancer(name: str) -> Stream:
    from sklearn.datasets import load_breast_cancer

    return _stream(name, *load_breast_cancer(return_X_y=True))


def _digits(name: str) -> Stream:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return _stream(name, X, y % 2)


def _river(name: str) -> Stream:
    from river import datasets

    data = [(list(x.values()), y) for x, y in getattr(datasets, name.capitalize())()]
    return _stream(name, np.array([x for x, _ in data], dtype=float), np.array([y for _, y in data]))


def zipf(rows: int) -> Stream:
    """Rows like short texts: word j has frequency 1 / (j + 10), a value is 1 + log(times it occurs), lengths vary.

    A label is that of a halfspace, drawn with the log-odds of the score: rows near its boundary are labelled either
    way, so that no halfspace labels all. Its weights are alike for rare and frequent words, and the score is
    measured from its median, so that both classes are equally large.
    """
    rng = np.random.default_rng(SEED)
    frequencies = 1.0 / (np.arange(ZIPF_COLUMNS) + 10.0)
    upto = np.cumsum(frequencies / frequencies.sum())
    lengths = np.maximum(rng.lognormal(np.log(47.0), 0.5, rows).astype(np.int64), 3)
    words = np.minimum(np.searchsorted(upto, rng.random(lengths.sum())), ZIPF_COLUMNS - 1)
    places, counts = np.unique(np.repeat(np.arange(rows), lengths) * ZIPF_COLUMNS + words, return_counts=True)
    indptr = np.searchsorted(places, np.arange(rows + 1) * ZIPF_COLUMNS).astype(np.int32)
    X = csr_matrix((1.0 + np.log(counts), (places % ZIPF_COLUMNS).astype(np.int32), indptr), shape=(rows, ZIPF_COLUMNS))
    scores = X @ rng.standard_normal(ZIPF_COLUMNS)
    scores -= np.median(scores)
    y = rng.random(rows) < 1.0 / (1.0 + np.exp(-scores))
    return _stream("zipf", X, y)


# Small streams first: a run that is stopped early has compared everybody on some of them.
_BUNDLED: dict[str, Callable[[str], Stream]] = {"breast-cancer": _breast_cancer, "digits": _digits}
_OF_RIVER: dict[str, Callable[[str], Stream]] = {"phishing": _river, "bananas": _river}
_FROM_FILES: dict[str, Callable[[str, Path], Stream]] = {
    "spambase-raw": _spambase,
    "spambase-log": _spambase,
    "adult-raw": _adult,
    "adult-scaled": _adult,
}
DRIFTING = drift_streams.NAMES
_DRIFT_SEED = 0
NAMES = ("breast-cancer", "phishing", "digits", "spambase-raw", "spambase-log", "bananas", "adult-raw", "adult-scaled",
         "zipf")  # fmt: skip


def available(folder: Path | None) -> tuple[list[str], list[str]]:
    """The names of the streams there are, and a sentence on each kind that is not."""
    absent: set[str] = set()
    why = []
    if folder is None:
        absent |= _FROM_FILES.keys()
        why.append("Adult and Spambase are left out: --data DIR names the folder of adult.data and spambase.data.")
    elif missing := [name for name in ("adult.data", "adult.test", "spambase.data") if not (folder / name).is_file()]:
        raise SystemExit(f"{folder} has no {', '.join(missing)}: --data must name a folder with UCI Adult and Spambase")
    try:
        import river  # noqa: F401
    except ImportError:
        absent |= _OF_RIVER.keys() | set(DRIFTING)
        why.append("Phishing, Bananas and streams that drift are left out: river brings them (pip install river).")
    return [name for name in (*NAMES, *DRIFTING) if name not in absent], why


@lru_cache(maxsize=2)
def load(name: str, folder: Path | None, quick: bool) -> Stream:
    """A stream by its name; the last two are kept, since runs on a stream follow each other."""
    if name == "zipf":
        stream = zipf(_QUICK_ZIPF_ROWS if quick else ZIPF_ROWS)
    elif name in DRIFTING:
        X, y = drift_streams.rows_of(name, _DRIFT_SEED)
        stream = _stream(name, X, y)
    elif name in _FROM_FILES:
        if folder is None:
            raise SystemExit(f"the stream {name} needs --data")
        stream = _FROM_FILES[name](name, folder)
    else:
        stream = (_BUNDLED | _OF_RIVER)[name](name)
    return stream.cut(QUICK_ROWS) if quick else stream
