"""One pass over rows with labels: predict, compare, learn; and a second look at each row when others were learned."""

import contextlib
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, InvalidParameterError, shown
from massart.label_errors.diagnosis import BINS, Diagnosis, Reliability
from massart.label_errors.feeds import Block, Feed, array_feed, file_feed, is_path, stacked
from massart.label_errors.places import FIRST_ROWS, Place, Places
from massart.label_errors.suspects import Scored, Suspects, check_table, writing_table
from massart.learners.classifier import MassartClassifier
from massart.options import one_of, whole_number
from massart.theory import check_confidence, lower_disagreement_limit, upper_disagreement_limit

__all__ = ["diagnose"]

_LARGEST: Final = 2048  # rows that are predicted before any of them is learned, at most,
_SHARE: Final = 4  # and at most one in so many of those learned
_MOST: Final = 10**7  # rows that are listed, or held back
_PAIRS: Final = 4096  # of a label and a suggested one that are counted
_GROWTH: Final = 1.1  # of the rows between two points of the curve
_Chances = tuple[NDArray[np.float64], NDArray[Any]]  # (n, k) probabilities, and the k classes


def diagnose(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    top: int = 100,
    delay: int = 65_536,
    confidence: float = 0.99,
    scores: Any = None,
    missing: str = "error",
    noise_rate: float | None = None,
    margin: float | None = None,
    random_state: int = 0,
    strict: bool = False,
    workers: int = 2,
    **reading: Any,
) -> Diagnosis:
    """Which labels are probably wrong, and where: one pass over the rows, in constant memory.

    Each row is predicted before it is learned, so that no row vouches for its own label in the counts of
    disagreements, in the limits and in the places. For the ranking a row is held back and scored again once `delay`
    other rows were learned after it, or all: the learner knows more by then. It has seen the row's label, too, which
    makes labels look a little more probable than they are, most where columns are more than rows.

    Parameters
    ----------
    X : array, CSR matrix, data frame, or names of files
        Files are those of `massart.data.read`, and take its options, such as `label="click"`.
    y : array of shape (n,)
        Labels of two or more classes; not with files, which have their own.
    groups : array or table, default=None
        Groups of rows that have a place each, as in `MassartClassifier.partial_fit`; of files, names of columns.
    sample_weight : array of shape (n,), default=None
        Importances for the learner; rows of weight 0 are left out.
    top : int, default=100
        How many rows are listed.
    delay : int, default=65536
        Rows that are held in memory, each until so many others were learned; 0: score rows before they are learned.
    confidence : float, default=0.99
        Of the upper limit of the noise rate, and of all places together.
    scores : path, default=None
        A .csv or .parquet file for the scores of all rows, in their order.
    missing : {"error", "zero"}, default="error"
        What NaN means in X.
    noise_rate, margin, random_state
        As in `MassartClassifier`.
    strict, workers
        Of files: whether a malformed row is an error, and how many threads read.
    **reading
        Of files: how they are read, the fields of `massart.data.Schema`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 5))
    >>> y = X[:, 0] > 0
    >>> wrong = (X[:, 1] > 0) & (rng.random(4000) < 0.2)    # one label in five is wrong where column 1 is positive
    >>> found = diagnose(X, y ^ wrong, top=int(wrong.sum()))
    >>> bool(np.mean(wrong[[one.row for one in found.suspects]]) > 0.9)
    True
    >>> found.places[0].name.partition(" >")[0], found.places[0].verdict
    ('column 1', 'more')
    """
    advice = f"give a whole number from 0 to {_MOST:,}"
    top, delay = whole_number("top", top, 0, _MOST, advice), whole_number("delay", delay, 0, _MOST, advice)
    one_of("missing", missing, ("error", "zero"))
    confidence = check_confidence(confidence)
    if scores is not None:
        check_table(scores, "the scores")
    feed = _feed(X, y, groups, sample_weight, missing, strict, workers, reading)
    if feed.classes is not None and len(feed.classes) < 2:
        only = shown(feed.classes[0]) if feed.classes else "none"
        raise InvalidDataError(f"two labels are needed, but the rows have only one, {only}: give rows of both")
    run = _Run(feed, MassartClassifier(noise_rate, margin, random_state=random_state), top, delay, confidence)
    with contextlib.ExitStack() as stack:
        table = None if scores is None else stack.enter_context(writing_table(scores, "the scores"))
        for rows in run.scored():
            if table is not None:
                table.add([part.tolist() if isinstance(part, np.ndarray) else part for part in rows])
    return run.result()


def _feed(
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    missing: str,
    strict: bool,
    workers: int,
    reading: dict[str, Any],
) -> Feed:
    if is_path(X):
        if y is not None or sample_weight is not None:
            raise InvalidParameterError("files have labels and weights of their own: leave `y` and `sample_weight` out")
        own = () if groups is None else (groups,) if isinstance(groups, str) else tuple(groups)
        return file_feed(X, strict, workers, {**reading, "groups": own})
    if reading:
        raise InvalidParameterError(
            f"{next(iter(reading))} says how files are read, and X is none: leave it out, or name a file"
        )
    if y is None:
        raise InvalidParameterError("y is missing: give one label per row, or the names of files instead of X")
    return array_feed(X, y, groups, sample_weight, missing)


class _Run:
    """What is counted on the way."""

    def __init__(self, feed: Feed, learner: MassartClassifier, top: int, delay: int, confidence: float) -> None:
        self._feed, self._learner, self._delay, self._confidence = feed, learner, delay, confidence
        self._suspects, self._curve = Suspects(top), list[tuple[int, int]]()
        self._places: Places | None = None
        self._first: list[Block] = []
        self._rows = self._compared = self._wrong = self._suspected = 0
        self._labels: Counter[Any] = Counter()
        self._pairs: Counter[tuple[Any, Any]] = Counter()
        self._reliability = np.zeros((3, BINS))  # rows, sum of probabilities, right answers

    def scored(self) -> Iterator[Scored]:
        """Go through the rows; give them back with their scores, in order."""
        waiting: deque[Block] = deque()
        held = 0
        while (block := self._feed.take(min(_LARGEST, max(1, self._rows // _SHARE)))) is not None:
            before = self._before(block)
            weight = block.weight if block.weight.size else None
            self._learner.partial_fit(block.X, block.y, classes=self._feed.classes, sample_weight=weight)
            self._rows += len(block)
            came, times = np.unique(block.y, return_counts=True)
            self._labels.update(dict(zip(came.tolist(), times.tolist(), strict=True)))
            if self._compared and (not self._curve or self._compared >= _GROWTH * self._curve[-1][0]):
                self._curve.append((self._compared, self._wrong))
            if not self._delay:
                yield self._looked_at(block, before)
                continue
            waiting.append(block)
            held += len(block)
            while held - len(waiting[0]) >= self._delay:
                held -= len(waiting[0])
                yield self._looked_at(waiting.popleft())
        while waiting:
            some = [waiting.popleft()]
            while waiting and sum(map(len, some)) < _LARGEST:
                some.append(waiting.popleft())
            yield self._looked_at(some[0] if len(some) == 1 else stacked(some))

    def _before(self, block: Block) -> _Chances | None:
        """Predict rows before they are learned and count how that agrees with the labels."""
        if not self._rows or len(self._learner.classes_) < 2:
            self._first.append(block)
            return None
        chances, known = self._learner.predict_proba(block.X), self._learner.classes_
        answers = chances.argmax(axis=1)
        wrong = np.asarray(known[answers] != block.y)
        self._compared += len(block)
        self._wrong += int(np.count_nonzero(wrong))
        best = chances[np.arange(len(block)), answers]
        bins = np.minimum((best * BINS).astype(np.int64), BINS - 1)
        for place, weights in enumerate((None, best, (~wrong).astype(np.float64))):
            self._reliability[place] += np.bincount(bins, weights, BINS)
        if self._places is None:
            self._first.append(block)
            if sum(map(len, self._first)) >= FIRST_ROWS:
                self._places = Places(stacked(self._first).cells, self._confidence)
                self._first = []
        else:
            self._places.count(block.cells, wrong, block.groups)
        return chances, known

    def _looked_at(self, block: Block, before: _Chances | None = None) -> Scored:
        """Rows with the probabilities of their labels, as they were before or are now."""
        count = len(block)
        if before is not None:
            chances, known = before
        else:
            known = self._learner.classes_
            unknown = self._delay == 0 or len(known) < 2  # the first rows
            chances = (
                np.full((count, len(known)), 1.0 / len(known)) if unknown else self._learner.predict_proba(block.X)
            )
        places = np.minimum(np.searchsorted(known, block.y), len(known) - 1)
        own = np.where(known[places] == block.y, chances[np.arange(count), places], 0.0)
        answers = chances.argmax(axis=1)
        answers = np.where(chances[np.arange(count), answers] <= own, places, answers)  # of equals, the label
        rows = Scored(
            block.row, block.source, block.line, block.y, known[answers], own, chances[np.arange(count), answers]
        )
        self._suspects.add(rows)
        other = rows.suggested != block.y
        self._suspected += int(np.count_nonzero(other))
        for pair, times in Counter(zip(block.y[other].tolist(), rows.suggested[other].tolist(), strict=True)).items():
            if pair in self._pairs or len(self._pairs) < _PAIRS:
                self._pairs[pair] += times
        return rows

    def result(self) -> Diagnosis:
        """What was found."""
        if not self._rows:
            raise InvalidDataError(f"{self._feed.what} holds no row with a label: give rows with labels")
        if len(self._labels) < 2:
            only = shown(next(iter(self._labels)))
            raise InvalidDataError(f"two labels are needed, but the rows have only one, {only}: give rows of both")
        if self._curve and self._curve[-1][0] < self._compared:
            self._curve.append((self._compared, self._wrong))
        places: tuple[Place, ...] = ()
        if self._places is not None:
            names = self._feed.names(self._places.columns())
            places = tuple(self._places.found(names.__getitem__))
        counts = self._wrong, self._compared, self._confidence
        return Diagnosis(
            what=self._feed.what,
            rows=self._rows,
            left_out=dict(self._feed.left_out()),
            labels={label: self._labels[label] for label in self._learner.classes_.tolist()},
            compared=self._compared,
            disagreements=self._wrong,
            limits=(lower_disagreement_limit(*counts), upper_disagreement_limit(*counts)),
            confidence=self._confidence,
            suspected=self._suspected,
            suspects=self._suspects.rows(),
            pairs=dict(self._pairs.most_common()),
            places=places,
            reliability=Reliability(*self._reliability.tolist()),
            curve=tuple(self._curve),
            classifier=self._learner,
        )
