"""Scores of rows by a model: one halfspace for all, or that of the group whose learner has the most weight."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk
from massart.kernels.door import Rows
from massart.learners.group_columns import read_groups
from massart.learners.groups import Grouped
from massart.learners.products import Products

__all__ = ["Scorer", "known_columns", "scores_of"]


def scores_of(part: Chunk, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """w.x + c of every row."""
    return Rows.read(part.rows).score(weights)


class Scorer:
    """Predicts the rows of chunks.

    Parameters
    ----------
    weights : (columns + 1,) those of everybody, the constant last.
    learner : the model's; its groups are followed if it has any.
    groups : the names of the columns that hold them, empty for none.
    """

    def __init__(self, weights: NDArray[np.float64], learner: Any = None, groups: Sequence[str] = ()) -> None:
        self._weights, self._groups = weights, tuple(groups)
        self._learner = learner if isinstance(learner, Grouped) and groups else None
        self._products = learner.copy() if isinstance(learner, Products) else None
        self._own: dict[int, NDArray[np.float64]] = {}  # weights of groups that were needed

    def scores(self, part: Chunk) -> NDArray[np.float64]:
        """The score of every row."""
        if self._products is not None:
            return self._products.scores(Rows.of(known_columns(part, self._products.n_features)))
        scores = scores_of(part, self._weights)
        if self._learner is None:
            return scores
        followed = self._learner.followed(read_groups(self._groups, part.groups))
        for group in np.unique(followed[followed >= 0]).tolist():
            if group not in self._own:
                self._own[group] = np.ascontiguousarray(self._learner.leaders_of(group)[0])
            inside = np.flatnonzero(followed == group)
            scores[inside] = Rows.read(_taken(part.rows, inside)).score(self._own[group])
        return scores


def known_columns(part: Chunk, width: int) -> Any:
    """The rows of a chunk with the columns that a model has."""
    X = part.X
    if part.is_sparse and part.width != width:
        X = X.copy()
        X.resize((len(part), width))
    return X


def _taken(rows: Any, inside: NDArray[np.int64]) -> Any:
    """Some of the rows of a chunk.

    >>> rows = np.array([1.0, 2.0, 3.0]), np.array([0, 4, 1], np.uint32), np.array([0, 2, 2, 3], np.uint32)
    >>> [part.tolist() for part in _taken(rows, np.array([0, 2]))]
    [[1.0, 2.0, 3.0], [0, 4, 1], [0, 2, 3]]
    """
    if not isinstance(rows, tuple):
        return np.ascontiguousarray(rows[inside])
    data, indices, indptr = rows
    lengths = (indptr[inside + 1] - indptr[inside]).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(ends[-1]) + np.repeat(indptr[inside].astype(np.int64) - ends[:-1], lengths)
    return data[places], indices[places], ends.astype(indptr.dtype)
