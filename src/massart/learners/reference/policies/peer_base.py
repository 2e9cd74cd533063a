"""What adapters to other packages share: their probabilities, our coins, one round after the other."""

from abc import abstractmethod
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning.elementary import coin
from massart.learners.choice import Choice, Played
from massart.learners.reference.policies.base import BasePolicy, Drawn
from massart.learners.reference.policies.linear import coin_stream

_ALLOWED: Final = "allowed"


class PeerPolicy(BasePolicy):
    """A policy that is somebody else's object, with our protocol around it.

    The package says how probable each arm is; the draw is ours, so that a seed gives the same choices everywhere.
    The greedy arm is the most probable one, of several the one with the highest weights.
    """

    _needs: ClassVar[str]  # the package

    def _count(self, seed: int) -> None:
        self._counts = np.zeros(1, np.int64)
        self._seed = coin_stream(seed)

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
        toss = coin(self._seed, float(self._counts[0]))
        place = int(np.searchsorted(np.cumsum(p[playable]), toss, side="right"))
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
        """All that the package remembers."""

    @property
    def choices(self) -> int:
        """Choices made."""
        return int(self._counts[0])
