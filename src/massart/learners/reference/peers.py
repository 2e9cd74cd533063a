"""What adapters to other packages share, for labels and for rewards: one row or one round after the other."""

from abc import abstractmethod
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from massart.kernels.door import Rows
from massart.kernels.learning.elementary import coin
from massart.learners.choice import Choice, Played
from massart.learners.reference.baselines.base import RowLearner, check_width, checked_label, checked_row, checked_rows
from massart.learners.reference.policies.base import BasePolicy, Drawn
from massart.learners.reference.policies.linear import uniform_stream

__all__ = ["ROUNDS", "LinearPeer", "PeerLearner", "PeerPolicy"]

ROUNDS, MISTAKES, COUNTS_SIZE = range(3)
_ALLOWED: Final = "allowed"


class PeerLearner(RowLearner):
    """A learner of another package, with our protocol around it: each row is predicted before it is learned."""

    _counts: NDArray[np.int64]
    _shape: tuple[int]

    def __init__(self, n_features: int) -> None:
        check_width(n_features)
        self._shape = (n_features,)
        self._counts = np.zeros(COUNTS_SIZE, np.int64)

    @abstractmethod
    def _learn_row(self, x: NDArray[np.float64], y: float) -> float:
        """Score a checked row, then learn it; return the score."""

    @abstractmethod
    def _score_row(self, x: NDArray[np.float64]) -> float:
        """Score a checked row; nothing changes."""

    def _counted(self) -> tuple[float, float]:
        return self._counts[ROUNDS], self._counts[MISTAKES]

    def _learn_counted(self, x: NDArray[np.float64], y: float) -> float:
        score = self._learn_row(x, y)
        self._counts[ROUNDS] += 1
        self._counts[MISTAKES] += (score >= 0.0) != (y > 0.0)
        return score

    def _checked(self, x: Any) -> NDArray[np.float64]:
        row = checked_row(x, self._shape)
        Rows.of(row[None, :]).check()
        return row

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row with its label -1 or +1; return the score that was its prediction."""
        return self._learn_counted(self._checked(x), checked_label(y))

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict, then learn, each row in turn; return the scores that were predictions."""
        rows, labels = checked_rows(X, y, self._shape[0])
        return np.array([self._learn_counted(x, label) for x, label in zip(rows, labels.tolist(), strict=True)])

    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing is learned."""
        return self._score_row(self._checked(x))


class LinearPeer(PeerLearner):
    """A peer whose weights are read back after every row."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self._weights = np.zeros(n_features)

    def _score_row(self, x: NDArray[np.float64]) -> float:
        return float(self._weights @ x)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the weights of the package; zeros before the first row."""
        return self._weights


class PeerPolicy(BasePolicy):
    """A policy of another package, with our protocol around it.

    The package says how probable each arm is; the draw is ours, so that a seed gives the same choices everywhere.
    The greedy arm is the most probable one, of several the one with the highest weights.
    """

    def _count(self, seed: int) -> None:
        self._counts = np.zeros(1, np.int64)
        self._seed = uniform_stream(seed)

    def _count_on(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Continue with the counts of these arrays."""
        self._counts = np.require(arrays["counts"], requirements="W")
        self._seed = np.uint64(arrays["seed"][0])
        return self

    @abstractmethod
    def _package_probabilities(self, X: NDArray[np.float64], arms: NDArray[np.intp]) -> NDArray[np.float64]:
        """Of the allowed `arms`, rows of X, in their order; they add up to 1. Nothing changes."""

    @abstractmethod
    def _package_learn(self, X: NDArray[np.float64], arms: NDArray[np.intp], choice: Choice, reward: float) -> None:
        """Learn the reward of choice.arm, which is among `arms`; the reward is in [0, 1]."""

    def _fill(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> int:
        arms = np.flatnonzero(allowed)
        p[:] = 0.0
        p[arms] = self._package_probabilities(X, arms)
        likely = np.flatnonzero(p == p.max())
        return int(likely[0] if likely.size == 1 else likely[(X[likely] @ self.weights).argmax()])

    def _draw(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> Drawn:
        greedy = self._fill(X, allowed, p)
        playable = np.flatnonzero(p)
        uniform = coin(self._seed, float(self._counts[0]))
        place = int(np.searchsorted(np.cumsum(p[playable]), uniform, side="right"))
        self._counts[0] += 1
        memo = {} if allowed.all() else {_ALLOWED: np.flatnonzero(allowed).tolist()}
        return Drawn(int(playable[min(place, playable.size - 1)]), greedy, memo)

    def _absorb(self, choice: Choice, reward: float) -> None:
        X = np.asarray(choice.contexts)
        low, high = self._range
        arms = np.array(choice.memo.get(_ALLOWED, range(X.shape[0])), np.intp)
        self._package_learn(X, arms, choice, (reward - low) / (high - low))

    def _play(self, contexts: NDArray[np.float64], rewards: NDArray[np.float64], played: Played) -> None:
        for t in range(contexts.shape[0]):
            choice = self.choose(contexts[t])
            self.learn(choice, rewards[t, choice.arm])
            played.arms[t], played.probabilities[t] = choice.arm, choice.probability

    def _memory(self) -> dict[str, NDArray[Any]]:
        return {"counts": self._counts, "seed": np.array([self._seed]), **self._package_arrays()}

    @abstractmethod
    def _package_arrays(self) -> dict[str, NDArray[Any]]:
        """The state of the package."""

    @property
    def choices(self) -> int:
        """Choices made."""
        return int(self._counts[0])
