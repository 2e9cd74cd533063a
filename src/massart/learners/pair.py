"""Two pools side by side, and one answer out of theirs.

One of them, the first, is a pool on the rows as they are, and what is proved rests on it: the other adds to its
certificate the price of the mixture, as it was paid.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.kernels.learning import mixture
from massart.learners.base import BinaryLearner
from massart.learners.certificate import Certificate
from massart.learners.certify import Prod
from massart.learners.locking import locked
from massart.learners.pool import Pool

__all__ = ["PoolPair", "new_totals", "second_seed"]


def new_totals() -> NDArray[np.float64]:
    """What a mixture of two remembers before the first round."""
    totals = np.zeros(len(mixture.Total))
    totals[[mixture.Total.PRIOR, mixture.Total.CHANCE]] = 0.5
    totals[mixture.Total.FAVOUR] = 1.0
    return totals


def second_seed(seed: int) -> int:
    """The seed of the second pool's draws."""
    return (seed ^ 0x5851F42D4C957F2D) % 2**64


class PoolPair(BinaryLearner):
    """What learners of two pools share."""

    _no_average = np.empty((0, 0))
    _parts: ClassVar[tuple[str, str]]  # what the names of the arrays of the pools begin with
    _first: Pool
    _second: Pool
    _t: NDArray[np.float64]  # counts, and the state of the mixture

    def _set_pools(self, first: Pool, second: Pool, totals: NDArray[np.float64]) -> None:
        self._first, self._second, self._t = first, second, totals
        self._scaled, self._class_weight = first._scaled, first._class_weight

    def _seed(self) -> np.uint64:
        """Of the draws between the pools, which are not those of either."""
        return np.uint64(~self._first._seed[0])

    def _counts(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly just before."""
        return self._t[mixture.Total.ROUNDS], self._t[mixture.Total.MISTAKES]

    def certificate(self, confidence: float = 0.99) -> Certificate:
        """What is proved: that of the first pool, plus what the mixture costs."""
        keys = (mixture.Total.WRONG, mixture.Total.EXPECTED, mixture.Total.COINS, mixture.Total.HEAVIEST)
        return self._first.certificate_with(Prod(*(float(self._t[key]) for key in keys)), confidence)

    def lower_noise_rate(self, confidence: float = 0.99) -> float:
        """That of the first pool."""
        return self._first.lower_noise_rate(confidence)

    def mark_unproved(self) -> None:
        """Certify nothing from now on: what the theorem assumes is known not to hold."""
        self._first.mark_unproved()

    @property
    def positive_weight(self) -> float:
        """The sum of the sample weights of rows labelled +1."""
        return self._first.positive_weight

    @property
    def n_features(self) -> int:
        """The columns of a row."""
        return self._first.n_features

    def summed(self, average: Any) -> tuple[NDArray[np.float64], float]:
        """Of the first pool: see `Pool.summed`."""
        return self._first.summed(average)

    def new_average(self) -> Any:
        """Zeros as `learn_rows(average=...)` takes them: see `Pool.new_average`."""
        return self._first.new_average()

    def _own_arrays(self) -> dict[str, Any]:
        """Those that are not the pools'."""
        return {"totals": self._t}

    @locked
    def arrays(self) -> dict[str, Any]:
        """All of its state; `from_arrays` restores it bit for bit."""
        own = self._own_arrays()
        for name, pool in zip(self._parts, (self._first, self._second), strict=True):
            own |= {f"{name}.{part}": array for part, array in pool.arrays().items()}
        return own

    @classmethod
    def _pools_of(cls, arrays: dict[str, Any]) -> tuple[Pool, Pool]:
        first, second = (
            Pool.from_arrays(
                {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
            )
            for name in cls._parts
        )
        if first._how.tolist() != second._how.tolist():
            raise ModelFileError("the two pools are not alike: how they learn differs")
        return first, second

    def copy(self) -> Self:
        """An independent learner in the same state."""
        with self.held():
            twin = type(self).__new__(type(self))
            self._copy_to(twin)
            twin._set_pools(self._first.copy(), self._second.copy(), self._t.copy())
            return twin

    def _copy_to(self, twin: Self) -> None:
        """Copy what is neither the pools' nor the totals."""
