"""Policies whose state is a ridge regression and whose rounds are the kernels of `kernels.policies`."""

from functools import lru_cache
from math import inf
from typing import Any, ClassVar, Final, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from massart.errors import InvalidParameterError
from massart.kernels.learning import policies as kernel
from massart.learners.choice import Choice, Played
from massart.learners.reference.baselines.base import in_range
from massart.learners.reference.policies.base import BasePolicy, Drawn

_DRAWS: Final = 128  # of Thompson sampling, a power of 2: then the table is balanced
_EXPLORED: Final = "explored"
_NO_TABLE: Final = np.empty((0, 0))
_NO_TABLE.flags.writeable = False  # like the table of Thompson sampling, so that kernels are compiled once


def uniform_stream(seed: int) -> np.uint64:
    """Where the random numbers of a seed begin: neighbouring seeds lie far apart.

    >>> bool(uniform_stream(0) == uniform_stream(1))
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


class RidgeOptions(TypedDict, total=False):
    """The options that all these policies share: `ridge` is 1, `reward_range` (0, 1) and `seed` 0 by default."""

    ridge: float
    reward_range: tuple[float, float]
    seed: int


class LinearPolicy(BasePolicy):
    """Scores arms by w.x, where w is a ridge regression of the rewards seen, with an intercept.

    Rewards enter it as (reward - middle) / width, so every policy does the same whatever the unit of the reward. The
    intercept is a feature that is always 1; it is shrunk like the others.
    A subclass has a `_kind`; what differs between kinds is written in `kernels.policies`.
    """

    _kind: ClassVar[float]
    _learns: ClassVar[bool] = True

    def _start(
        self,
        dimension: int,
        parameter: float = 0.0,
        *,
        ridge: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._begin(dimension, reward_range)
        self._seed = uniform_stream(seed)
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


class Uniform(LinearPolicy):
    """Every allowed arm with the same probability, whatever it learns.

    >>> policy = Uniform(dimension=2)
    >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [0.5, 0.5]
    """

    _kind = kernel.UNIFORM
    _learns = False

    def __init__(self, dimension: int, *, reward_range: tuple[float, float] = (0.0, 1.0), seed: int = 0) -> None:
        self._start(dimension, reward_range=reward_range, seed=seed)


class _EpsilonGreedy(LinearPolicy):
    """The arm of the highest w.x, or with probability epsilon a random one."""

    def __init__(self, dimension: int, epsilon: float = 0.1, **options: Unpack[RidgeOptions]) -> None:
        share = 1.0 if epsilon == 1.0 else in_range("epsilon", epsilon, 0.0, 1.0, closed=True)
        self._start(dimension, share, **options)


class EpsilonGreedyRidge(_EpsilonGreedy):
    """The arm a of the highest w.x, or with probability epsilon a random one.

        p_i = epsilon / k + (1 - epsilon) [i = a],     (w, c) = argmin ridge (|w|^2 + c^2) + sum (y_t - c - w.x_A)^2

    y is the reward less the middle of its range, in units of the range. A model of the reward across rounds: where
    hard rounds show high scores, w points the wrong way (Simpson's paradox).

    >>> policy = EpsilonGreedyRidge(dimension=1, epsilon=0.2)
    >>> choice = policy.choose([[1.0]])
    >>> policy.learn(choice, 1.0)
    >>> policy.weights.tolist(), policy.probabilities([[1.0], [-1.0]]).round(9).tolist()
    ([0.16666666666666666], [0.9, 0.1])
    """

    _kind = kernel.GREEDY


class ActionCentredRidge(_EpsilonGreedy):
    """Epsilon-greedy on the regression of y on x_A - sum_i p_i x_i, the arm less what was expected of the round.

        w = argmin ridge |w|^2 + sum (y_t - w.(x_A - sum_i p_i x_i))^2

    Whatever all arms of a round share has mean zero given the round, so it cannot turn w (the semiparametric model:
    Greenewald et al. 2017 for two arms, Krishnamurthy et al. 2018 for k; they explore by Thompson sampling and by
    elimination, here it is a fixed share, which is what centring needs). Within the round rewards must be linear.
    With epsilon 0 the centred row of the only arm played is 0, and nothing is learned.

    >>> policy = ActionCentredRidge(dimension=1, epsilon=1.0)
    >>> choice = policy.choose([[1.0], [0.0]], allowed=[True, False])
    >>> policy.learn(choice, 1.0)
    >>> policy.weights.tolist()
    [0.0]
    """

    _kind = kernel.CENTRED


class LinUCB(LinearPolicy):
    """LinUCB with one model for all arms (Li, Chu, Langford, Schapire 2010).

        argmax_i  w.x_i + alpha sqrt(x_i' P x_i),     P = (ridge I + sum x_A x_A')^-1,  w = P sum y x_A

    where x ends in a 1. The arm is certain, so a log of it says nothing about other arms. The paper's alpha is
    1 + sqrt(ln(2/delta)/2), and it reports that smaller ones do better; 1 is the usual choice.

    >>> policy = LinUCB(dimension=2)
    >>> policy.probabilities([[0.5, 0.0], [0.0, 1.0]]).tolist()
    [0.0, 1.0]
    """

    _kind = kernel.UCB

    def __init__(self, dimension: int, alpha: float = 1.0, **options: Unpack[RidgeOptions]) -> None:
        self._start(dimension, in_range("alpha", alpha, 0.0, inf, closed=True), **options)


class LinearThompson(LinearPolicy):
    """Each arm as often as it is the best under the posterior N(w, scale^2 P) (Agrawal and Goyal 2013).

    The probability that an arm is the best among k has no closed form. It is the share of 128 fixed, evenly spread
    draws of the k scores that the arm wins; one more draw is uniform, so no allowed arm has probability 0. What is
    reported is what is played.

    scale = 1/2 is the largest standard deviation that a reward in an interval of length 1 can have, so this is the
    posterior of the Gaussian model. The constant of the paper's regret bound, sqrt(9 d ln(t/delta)), plays almost
    uniformly for a long time.

    >>> policy = LinearThompson(dimension=2)
    >>> policy.probabilities(np.eye(2)).round(1).tolist()
    [0.5, 0.5]
    """

    _kind = kernel.THOMPSON

    def __init__(self, dimension: int, scale: float = 0.5, **options: Unpack[RidgeOptions]) -> None:
        self._start(dimension, in_range("scale", scale, 0.0, inf, closed=True), **options)

    def _table(self, arms: int) -> NDArray[np.float64]:
        return normal_table(_DRAWS, arms)


class SquareCB(LinearPolicy):
    """SquareCB on ridge regression (Foster and Rakhlin 2020).

        p_i = 1 / (k + rate_t (w.x_a - w.x_i)) for i != a, the greedy arm a gets the rest,
        rate_t = trust sqrt(k t / (d' ln(1 + t/d') + ln(2/delta))),  d' = d + 1, delta = .05, t - 1 rewards learned

    The paper's rate is sqrt(k T / (R + ln(2/delta))) for a horizon T and the regret R of the regression, which is
    d' ln(1 + T/d') for ridge up to constants; here T is the present round.

    >>> policy = SquareCB(dimension=1)
    >>> policy.probabilities([[1.0], [0.0], [0.5]]).round(9).tolist()
    [0.333333333, 0.333333333, 0.333333333]
    """

    _kind = kernel.INVERSE_GAP

    def __init__(self, dimension: int, trust: float = 1.0, **options: Unpack[RidgeOptions]) -> None:
        self._start(dimension, in_range("trust", trust, 0.0, inf, closed=True), **options)


class EpochGreedy(LinearPolicy):
    """Epoch-greedy (Langford and Zhang 2007): a random arm, then greedy rounds, more in later epochs.

    The n-th epoch has floor(sqrt(n / (k (d + 1)))) greedy rounds, so about (k d)^(1/3) T^(2/3) of T rounds explore.
    Departures: the number of greedy rounds is the paper's for a finite class with the logarithm of its size set to
    the number of weights; and the best hypothesis on the exploration rounds, which is hard to
    find among linear ones, is their ridge regression. Epochs count choices, so late rewards do not stop them. Within an
    epoch the arm is certain: the log's greedy rounds say nothing about other arms.

    >>> policy = EpochGreedy(dimension=1)
    >>> [policy.choose([[1.0], [0.0]]).probability for _ in range(7)]
    [0.5, 0.5, 0.5, 0.5, 1.0, 0.5, 1.0]
    """

    _kind = kernel.EPOCH

    def __init__(self, dimension: int, **options: Unpack[RidgeOptions]) -> None:
        self._start(dimension, **options)
