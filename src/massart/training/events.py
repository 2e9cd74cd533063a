"""What a training tells whoever watches it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, RowError

if TYPE_CHECKING:
    from massart.training.run import Training

__all__ = ["Step", "Watcher"]


@dataclass(frozen=True)
class Step:
    """Some rows that were just learned, in order; `weight` is empty where all importances are 1."""

    part: Chunk
    order: NDArray[np.uint64] | None  # which of its rows were learned; None: all
    scores: NDArray[np.float64]  # of the answers before learning
    wrong: NDArray[np.bool_]
    weight: NDArray[np.float64]

    def row(self, place: int) -> int:
        """Where the row at a place of the order stands in the part."""
        return place if self.order is None else int(self.order[place])

    def features(self, place: int) -> int:
        """Its values other than 0."""
        row = self.row(place)
        if self.part.is_sparse:
            indptr = self.part.rows[2]
            return int(indptr[row + 1]) - int(indptr[row])
        return int(np.count_nonzero(self.part.rows[row]))


class Watcher:
    """Somebody who looks away; a view overrides what it shows."""

    def begin(self, training: "Training") -> None:
        """The first row is about to be learned, of this or of a later pass."""

    def step(self, step: Step) -> None:
        """Rows were learned and counted in the training's progress."""

    def advanced(self, rows: int, fraction: float | None) -> None:
        """So many rows were predicted or converted, and this share of the input was read, if that is known."""

    def flaw(self, flaw: RowError) -> None:
        """A row was left out."""

    def measured(self, passed: int, rows: int, wrong: int) -> None:
        """The error on rows kept apart, after a pass."""

    def note(self, words: str) -> None:
        """Something worth saying."""
