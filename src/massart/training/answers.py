"""Which classes were answered for which, each row before it was learned: precision, recall, area under the curve.

All counts are kept in a few numbers per class, so that they take no more memory the longer a training lasts.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.values import Record

__all__ = ["MOST_IN_TABLE", "Answers"]

MOST_IN_TABLE: Final = 12  # classes up to which all pairs are counted
_LOWEST: Final = 24  # scores below 2**-24 in size count as 0,
_HIGHEST: Final = 8  # those above 2**8 as equal,
_STEPS: Final = 8  # and there are so many bins to a power of 2
_SIDE: Final = (_LOWEST + _HIGHEST) * _STEPS
_BINS: Final = 2 * _SIDE + 1
_LEAST: Final = 1e-15  # what a probability counts as in the log loss, at least


class Answers(Record):
    """Counts of answers.

    >>> answers = Answers()
    >>> answers.count(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0]), 3)
    >>> answers.table, answers.recall(1), answers.precision(1)
    ([[1, 1, 0], [0, 2, 0], [1, 0, 0]], 1.0, 0.6666666666666666)
    """

    rows: list[int] = []  # of each class
    answered: list[int] = []  # rows for which the class was the answer
    right: list[int] = []  # rows of the class for which it was
    table: list[list[int]] = []  # [class][answer], of few classes
    bins: list[list[int]] = []  # two classes: rows of each by their score, in bins
    loss: float = 0.0  # the sum of -ln p of the labels, where probabilities were given
    given: int = 0  # rows whose probabilities were given

    def count(self, classes: NDArray[np.int64], answers: NDArray[np.int64], known: int) -> None:
        """Add rows of these classes, numbered from 0, of which so many are known."""
        self.move(np.arange(len(self.rows)), known)
        for counts, what in ((self.rows, classes), (self.answered, answers), (self.right, classes[classes == answers])):
            counts[:] = (np.array(counts, np.int64) + np.bincount(what, minlength=known)).tolist()
        if known <= MOST_IN_TABLE:
            pairs = np.bincount(classes * known + answers, minlength=known * known).reshape(known, known)
            self.table = (np.array(self.table, np.int64) + pairs).tolist()

    def move(self, places: NDArray[np.int64], known: int) -> None:
        """There are more classes: what was class n is places[n]."""
        if known == len(self.rows):
            return
        for counts in (self.rows, self.answered, self.right):
            more = np.zeros(known, np.int64)
            more[places] = counts
            counts[:] = more.tolist()
        table = np.zeros((known, known) if known <= MOST_IN_TABLE else (0, 0), np.int64)
        if table.size and places.size:
            table[np.ix_(places, places)] = self.table
        self.table = table.tolist()

    def with_counts(self, other: "Answers") -> "Answers":
        """The counts of both, of the same two classes.

        >>> one = Answers()
        >>> one.count(np.array([0, 1]), np.array([0, 0]), 2)
        >>> one.with_counts(one).table, one.with_counts(Answers()) == one
        ([[2, 0], [2, 0]], True)
        """
        given = [one for one in (self, other) if one.rows]
        names = ("rows", "answered", "right", "table", "bins")
        lists = {name: [np.array(getattr(one, name), np.int64) for one in given] for name in names}
        sums = {name: np.sum([one for one in found if one.size], axis=0) for name, found in lists.items()}
        sums = {name: found.tolist() if isinstance(found, np.ndarray) else [] for name, found in sums.items()}
        return Answers(**sums, loss=self.loss + other.loss, given=self.given + other.given)

    def count_scores(self, positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> None:
        """Add the scores of rows of two classes."""
        scores = np.nan_to_num(scores)
        parts, powers = np.frexp(scores)  # no logarithm: its last digit is not the same on every machine
        steps = (powers + _LOWEST) * _STEPS + np.floor((np.abs(parts) - 0.5) * (2 * _STEPS)).astype(np.int64)
        steps = np.clip(np.where(scores == 0.0, 0, steps), 0, _SIDE)
        bins = _SIDE + np.where(scores < 0.0, -steps, steps)
        old = np.array(self.bins or np.zeros((2, _BINS)), np.int64)
        for side in (0, 1):
            old[side] += np.bincount(bins[positive == bool(side)], minlength=_BINS)
        self.bins = old.tolist()

    @staticmethod
    def bin_scores() -> NDArray[np.float64]:
        """A score of each bin, from its middle.

        >>> answers = Answers()
        >>> answers.count_scores(np.array([True, False]), np.array([-0.3, 5.0]))
        >>> [round(float(Answers.bin_scores()[np.argmax(own)]), 2) for own in answers.bins]
        [5.25, -0.3]
        """
        steps = np.arange(1, _SIDE + 1)
        sizes = np.ldexp(0.5 + (steps % _STEPS + 0.5) / (2 * _STEPS), steps // _STEPS - _LOWEST)
        return np.concatenate((-sizes[::-1], [0.0], sizes))

    def count_probabilities(self, chances: NDArray[np.float64]) -> None:
        """Add the probabilities that the labels of rows had."""
        self.loss -= float(np.log(np.maximum(chances, _LEAST)).sum())
        self.given += chances.size

    @property
    def log_loss(self) -> float | None:
        """The mean of -ln p, p the probability that the label had; None where there were none."""
        return self.loss / self.given if self.given else None

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve of the scores of all rows, those in a bin counting as equal; None if not known.

        >>> answers = Answers()
        >>> answers.count_scores(np.array([False, True, False, True]), np.array([-1.0, 0.5, 0.4, 2.0]))
        >>> answers.auc
        1.0
        """
        if not self.bins:
            return None
        negative, positive = np.array(self.bins, np.float64)
        pairs = negative.sum() * positive.sum()
        below = np.cumsum(negative) - 0.5 * negative
        return float((positive * below).sum() / pairs) if pairs else None

    def recall(self, number: int) -> float | None:
        """The share of the rows of a class for which it was the answer; None if it has none."""
        return self.right[number] / self.rows[number] if self.rows[number] else None

    def precision(self, number: int) -> float | None:
        """The share of right answers among those of a class; None if it was never the answer."""
        return self.right[number] / self.answered[number] if self.answered[number] else None

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Answers":
        """Those whose `asdict()` this is, out of a file."""
        found = cls(**given)
        known = len(found.rows)
        shapes: list[tuple[Any, tuple[int, ...]]] = [(found.answered, (known,)), (found.right, (known,))]
        shapes += [(found.table, (known, known))] if known and known <= MOST_IN_TABLE else []
        shapes += [(found.bins, (2, _BINS))] if found.bins else []
        if any(np.shape(part) != shape for part, shape in shapes):
            raise ModelFileError("the counts of answers in the checkpoint do not fit together")
        return found
