"""river's logistic regression, on rows as dictionaries from column to value."""

import importlib
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.learners.reference.baselines.peer_base import Peer


class RiverPeer(Peer):
    """`river.linear_model.LogisticRegression` with its own default settings (steps of .01), without intercept.

    river's own prediction is whether the probability exceeds 1/2; the score here is the log-odds, so that a
    row of score 0 is predicted +1 as everywhere else.

    Needs the package `river`, which is imported when the learner is made.
    """

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self._model = importlib.import_module("river.linear_model").LogisticRegression(intercept_lr=0.0)
        self._weights = np.zeros(n_features)

    def _learn_row(self, x: NDArray[np.float64], y: float) -> float:
        score = float(self._weights @ x)
        self._model.learn_one(dict(enumerate(x.tolist())), y > 0.0)
        # Every row holds every column, so river's dictionary has them all, in order.
        self._weights = np.fromiter(self._model.weights.values(), np.float64, x.size)
        return score

    def _score_row(self, x: NDArray[np.float64]) -> float:
        return float(self._weights @ x)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) river's weights; zeros before the first row."""
        return self._weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that learning on needs."""
        return {"counts": self._counts, "weights": self._weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        learner = cls(arrays["weights"].size)
        learner._counts = arrays["counts"]
        learner._weights = arrays["weights"]
        # river has no public way to put weights back; its optimiser remembers nothing but the number of steps.
        learner._model._weights.update(dict(enumerate(learner._weights.tolist())))
        learner._model.optimizer.n_iterations = learner.rounds
        return learner


def build(name: str, n_features: int, seed: int) -> RiverPeer:
    """The only peer here; nothing in it is random."""
    del name, seed
    return RiverPeer(n_features)
