"""LinUCB with a regression for each arm: the arm is its place in the list."""

from math import inf
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import policies as kernel
from massart.learners.choice import Choice, Played
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.base import Drawn
from massart.learners.reference.policies.linear import LinearPolicy, RidgeOptions


class LinUCBDisjoint(LinearPolicy):
    """LinUCB with disjoint models (Li, Chu, Langford, Schapire 2010): each arm has a ridge regression of its own.

        argmax_i  w_i.x_i + alpha sqrt(x_i' P_i x_i),     P_i = (ridge I + sum over rounds that played i of x x')^-1

    where x ends in a 1. Arm i is the i-th row, and all rows may be the same: arms must keep their places from choice to
    choice. Where they come in any order, each regression learns the same from fewer rounds. A place that
    was never played has w = 0 and P = I / ridge. The arm is certain, so a log of it says nothing about other arms.

    >>> policy = LinUCBDisjoint(dimension=1, alpha=0.1)
    >>> for _ in range(20):
    ...     choice = policy.choose([[1.0], [1.0]])
    ...     policy.learn(choice, float(choice.arm == 1))
    >>> policy.probabilities([[1.0], [1.0]]).tolist()
    [0.0, 1.0]
    """

    _kind = kernel.UCB
    _weights: NDArray[np.float64]  # (m, d + 1), of each place; the last is that of all places not yet played
    _inverse: NDArray[np.float64]  # (m, d + 1, d + 1)

    def __init__(self, dimension: int, alpha: float = 1.0, **options: Unpack[RidgeOptions]) -> None:
        self._start(dimension, in_range("alpha", alpha, 0.0, inf, closed=True), **options)
        self._weights, self._inverse = self._weights[None, :], self._inverse[None, :, :]

    def _grow(self, places: int) -> None:
        """Have a regression for each of so many places, and one more."""
        more = places + 1 - len(self._weights)
        if more > 0:
            self._weights = np.concatenate([self._weights, np.repeat(self._weights[-1:], more, axis=0)])
            self._inverse = np.concatenate([self._inverse, np.repeat(self._inverse[-1:], more, axis=0)])

    def _fill(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> int:
        return int(kernel.chances_apart(self._state, self._weights, self._inverse, X, allowed, p))

    def _draw(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> Drawn:
        greedy = self._fill(X, allowed, p)
        self._state[kernel.State.CHOICES] += 1.0
        return Drawn(int(p.argmax()), greedy, {})

    def _absorb(self, choice: Choice, reward: float) -> None:
        X = np.array(choice.contexts, dtype=np.float64, order="C")
        X.flags.writeable = False  # kernels are compiled for rows like those of `choose`
        self._grow(choice.arm + 1)
        memory = (self._state, self._weights[choice.arm], self._inverse[choice.arm])
        kernel.learn(*memory, X, choice.probabilities, choice.arm, reward, True)

    def _play(self, contexts: NDArray[np.float64], rewards: NDArray[np.float64], played: Played) -> None:
        before = len(self._weights)
        self._grow(contexts.shape[1])
        kernel.play_apart(self._state, self._weights, self._inverse, contexts, rewards, played.arms)
        played.probabilities[:] = 1.0
        # Places that were not played go again: what is kept does not depend on whether rounds came one by one.
        kept = max(before, int(played.arms.max(initial=-1)) + 2)
        self._weights, self._inverse = self._weights[:kept].copy(), self._inverse[:kept].copy()

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        weights, inverse = (np.array(arrays[name], order="C") for name in ("weights", "inverse"))
        if weights.ndim != 2 or 0 in weights.shape or inverse.shape != (*weights.shape, weights.shape[1]):
            raise ValueError(f"weights of shape {weights.shape} and inverses of shape {inverse.shape}")
        for array in (weights, inverse):
            if array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"an array of {array.dtype}, or numbers that are not finite")
        # The state is checked as that of a policy with one regression.
        first = {**arrays, "weights": weights[0], "inverse": inverse[0]}
        policy = super()._restore(first, reward_range, identity)
        policy._weights, policy._inverse = weights, inverse
        return policy

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the mean of the places' weights, without the intercepts; a copy."""
        if len(self._weights) == 1:
            return self._weights[0, :-1].copy()
        return np.asarray(self._weights[:-1, :-1].mean(axis=0))
