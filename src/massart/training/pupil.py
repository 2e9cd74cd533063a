"""Who learns: the learner of the first pass, the copy of it that goes on, and the weights worth keeping."""

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.errors import InvalidDataError
from massart.kernels.door import NO_WEIGHT, Rows
from massart.training.settings import Learner, Settings

__all__ = ["Pupil", "check_width", "fitted", "scores_of"]

_BLOCK = 1 << 16  # columns


class Pupil:
    """A learner that grows with the columns it meets.

    Only the first pass meets rows whose labels are news, so the counts and the certificate are those of `first`; a
    copy, `again`, goes on learning in later passes.

    >>> pupil = Pupil(Settings(noise_rate=0.1, margin=0.05))
    >>> pupil.make_room(3, grows=True)
    >>> pupil.make_room(9, grows=True)
    >>> pupil.width
    16
    """

    def __init__(self, settings: Settings, first: Learner | None = None, width: int = 0) -> None:
        self._settings = settings
        self.first = first
        self.again: Learner | None = None
        self.kept: NDArray[np.float64] | None = None  # (columns + 1,) weights of the best pass, or the last
        self.width = width

    @property
    def learner(self) -> Learner:
        """Who learns at present."""
        found = self.again or self.first
        if found is None:
            raise InvalidDataError("nothing was learned, so there is no model")
        return found

    def make_room(self, width: int, *, grows: bool) -> None:
        """Have at least `width` columns; where more may come, room is doubled, which costs least in the end."""
        if self.first is None:
            self.width, self.first = width, self._settings.learner(width)
        elif not grows:
            check_width(width, self.width)
        elif width > self.width:
            self._widen(1 << (width - 1).bit_length())

    def _widen(self, width: int) -> None:
        for learner in (self.first, self.again):
            if learner is not None:
                learner.widen(width)
        self.width = width

    def learn(self, part: Chunk, order: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Answer, then learn, the rows of the order, or all; return the scores of the answers."""
        rows = Rows.read(part.rows, self.width, scaled=self._settings.normalize)
        scores = np.empty(len(part) if order is None else order.size)
        if scores.size:
            y = part.y if part.y.flags.writeable else part.y.copy()  # kernels are compiled for arrays that may change
            weight = part.weight if part.weight.size else NO_WEIGHT
            self.learner.learn_rows(rows, y, weight, order, scores=scores)
        return scores

    def weights(self) -> NDArray[np.float64]:
        """(columns + 1,) the weights that predict now, the constant last."""
        return np.ascontiguousarray(self.learner.leaders()[0])

    def features(self) -> int:
        """Columns that have a weight: in the weights kept, or with any expert of the learner."""
        if self.kept is not None:
            return int(np.count_nonzero(self.kept[:-1]))
        if self.first is None:
            return 0
        # In blocks and without the weights of now, which would be one more array of that many columns.
        own = [array for name, array in self.first.arrays().items() if name.rpartition(".")[2] == "weights"]
        starts = range(0, self.width, _BLOCK)
        return sum(
            int(np.count_nonzero(np.any([_any_row(array[k : min(k + _BLOCK, self.width)]) for array in own], axis=0)))
            for k in starts
        )

    def begin_again(self) -> None:
        """Go on with a copy."""
        if self.again is None and self.first is not None:
            self.again = self.first.copy()

    def keep(self) -> None:
        """Remember the weights of now."""
        self.kept = self.weights()

    def trim(self, width: int) -> None:
        """End with exactly so many columns."""
        if width > self.width:
            self._widen(width)
        for learner in (self.first, self.again):
            if learner is not None:
                learner.narrow(width)
        self.width = width


def fitted(weights: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The same weights for another number of columns.

    >>> fitted(np.array([1.0, 2.0, 9.0]), 3)
    array([1., 2., 0., 9.])
    """
    found = np.zeros(width + 1)
    common = min(width, weights.size - 1)
    found[:common], found[-1] = weights[:common], weights[-1]
    return found


def check_width(rows: int, model: int) -> None:
    """Refuse rows whose columns are not those of the model."""
    if rows != model:
        raise InvalidDataError(f"the rows have {rows:,} columns, but the model was trained on {model:,}")


def scores_of(part: Chunk, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """w.x + c of every row."""
    return Rows.read(part.rows).score(weights)


def _any_row(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows are not all 0."""
    return np.asarray((rows != 0.0).reshape(rows.shape[0], -1).any(axis=1))
