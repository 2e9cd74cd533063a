"""Policies whose memory is a ridge regression and whose rounds are the kernels of `kernels.policies`."""

from functools import lru_cache
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from massart.errors import InvalidParameterError
from massart.kernels.learning import policies as kernel
from massart.learners.choice import Choice, Played
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.base import BasePolicy, Drawn

_EXPLORED: Final = "explored"
_NO_TABLE: Final = np.empty((0, 0))
_NO_TABLE.flags.writeable = False  # like the table of Thompson sampling, so that kernels are compiled once


def coin_stream(seed: int) -> np.uint64:
    """Where the coins of a seed begin: neighbouring seeds lie far apart.

    >>> bool(coin_stream(0) == coin_stream(1))
    False
    """
    if seed < 0:
        raise InvalidParameterError(f"seed={seed}: give 0 or a positive whole number")
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


@lru_cache(maxsize=32)
def normal_table(draws: int, arms: int) -> NDArray[np.float64]:
    """(draws, arms) points that fill the standard normal distribution evenly, the same ones always.

    >>> bool(abs(normal_table(128, 3).mean()) < 0.01)
    True
    """
    exponent = draws.bit_length() - 1
    points = qmc.Sobol(arms, seed=np.random.default_rng(0)).random_base2(exponent)
    table = np.ascontiguousarray(ndtri(np.clip(points, 1e-9, 1.0 - 1e-9)))
    table.flags.writeable = False
    return table


class LinearPolicy(BasePolicy):
    """Scores arms by w.x, where w is a ridge regression of the rewards seen, with an intercept.

    Rewards enter it as (reward - middle) / width, so every policy does the same whatever the unit of the reward. The
    intercept is a feature that is always 1; it is shrunk like the others.
    A subclass has a `_kind`; what differs between kinds is written in `kernels.policies`.
    """

    _kind: ClassVar[float]
    _learns: ClassVar[bool] = True

    def _start(
        self, dimension: int, reward_range: tuple[float, float], seed: int, parameter: float = 0.0, ridge: float = 1.0
    ) -> None:
        self._begin(dimension, reward_range)
        self._seed = coin_stream(seed)
        low, high = self._range
        self._state = np.zeros(len(kernel.State))
        self._state[kernel.State.KIND] = self._kind
        self._state[kernel.State.PARAMETER] = parameter
        self._state[kernel.State.MIDDLE] = low + 0.5 * (high - low)
        self._state[kernel.State.WIDTH] = high - low
        self._weights = np.zeros(dimension + 1)
        self._inverse = np.eye(dimension + 1 if self._learns else 0) / in_range("ridge", ridge, 0.0, np.inf)

    def _table(self, arms: int) -> NDArray[np.float64]:
        del arms
        return _NO_TABLE

    def _fill(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> int:
        table = self._table(X.shape[0])
        return int(kernel.chances(self._state, self._weights, self._inverse, table, X, allowed, p))

    def _draw(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> Drawn:
        memory = (self._state, self._weights, self._inverse, self._table(X.shape[0]))
        arm, greedy, explored = kernel.choose(*memory, self._seed, X, allowed, p)
        memo = {_EXPLORED: bool(explored)} if self._kind == kernel.EPOCH else {}
        return Drawn(int(arm), int(greedy), memo)

    def _absorb(self, choice: Choice, reward: float) -> None:
        X = np.array(choice.contexts, dtype=np.float64, order="C")
        X.flags.writeable = False  # kernels are compiled for rows like those of `choose`
        explored = bool(choice.memo.get(_EXPLORED, True))
        memory = (self._state, self._weights, self._inverse)
        kernel.learn(*memory, X, choice.probabilities, choice.arm, reward, explored)

    def _play(self, contexts: NDArray[np.float64], rewards: NDArray[np.float64], played: Played) -> None:
        memory = (self._state, self._weights, self._inverse, self._table(contexts.shape[1]))
        greedy = np.empty(len(contexts), np.int64)  # the kernel writes down the greedy arms too
        kernel.play(*memory, self._seed, contexts, rewards, *played, greedy)

    def _memory(self) -> dict[str, NDArray[Any]]:
        seed = np.array([self._seed])
        return {"state": self._state, "weights": self._weights, "inverse": self._inverse, "seed": seed}

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        policy: Self = cls.__new__(cls)
        memory = [np.array(arrays[name], order="C") for name in ("state", "weights", "inverse")]
        width = memory[1].size
        square = (width, width) if cls._learns else (0, 0)
        shapes = ((len(kernel.State),), (max(width, 2),), square)
        for array, shape in zip(memory, shapes, strict=True):
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"an array of {array.dtype} of shape {array.shape}, or numbers that are not finite")
        if memory[0][kernel.State.KIND] != cls._kind or not 0.0 <= memory[0][kernel.State.CHOICES] <= 2.0**48:
            raise ValueError("the state of another policy")
        policy._state, policy._weights, policy._inverse = memory
        policy._begin(policy._weights.size - 1, reward_range, identity)
        policy._seed = np.uint64(arrays["seed"][0])
        return policy

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the ridge weights without the intercept, which all arms share; a copy."""
        return self._weights[:-1].copy()

    @property
    def choices(self) -> int:
        """Choices made."""
        return int(self._state[kernel.State.CHOICES])

    @property
    def rounds(self) -> int:
        """Rewards learned."""
        return int(self._state[kernel.State.LEARNED])
