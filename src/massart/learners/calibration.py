"""Probabilities from the scores of two classes: what kernels/learning/calibration.py learns, as arrays."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.kernels.door import NO_WEIGHT
from massart.kernels.learning import calibration as kernel
from massart.kernels.states import check_calibration, check_heat

__all__ = ["ClassCalibration", "ScoreCalibration"]

_FIRST_VARIANCE = 4.0


class ScoreCalibration:
    """Learns how often a score comes with the label +1.

    >>> calibration, scores = ScoreCalibration(), np.linspace(-2.0, 2.0, 400)
    >>> calibration.learn(scores, np.where(scores > 0, 1, -1).astype(np.int8))
    >>> low, high = calibration.probabilities(np.array([-1.5, 1.5]))[:, 1]
    >>> bool(low < 0.1), bool(high > 0.9)
    (True, True)
    """

    def __init__(self) -> None:
        logistic = np.zeros((len(kernel.Logistic), kernel.EXPERTS))
        logistic[kernel.Logistic.A] = 1.0
        logistic[[kernel.Logistic.P_AA, kernel.Logistic.P_BB]] = _FIRST_VARIANCE
        self._arrays = {
            "head": np.zeros(len(kernel.Calibration)),
            "logistic": logistic,
            "trust": np.full(kernel.EXPERTS, 1.0 / kernel.EXPERTS),
        }

    def _state(self) -> tuple[NDArray[np.float64], ...]:
        return tuple(self._arrays[name] for name in ("head", "logistic", "trust"))

    def learn(
        self,
        scores: NDArray[np.float64],
        labels: NDArray[np.int8],
        weight: NDArray[np.float64] = NO_WEIGHT,
        every: int = 1,
    ) -> None:
        """Learn scores with their labels, -1 or +1, in turn; scores are those of answers made before the labels.

        `every` says that these are one of so many rows that came.
        """
        kernel.learn_calibration(scores, labels, weight, every, self._state())

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 2): the probabilities of -1 and +1 for each score; that of its sign is always above 1/2."""
        found = np.empty(scores.size)
        kernel.calibrate(np.ascontiguousarray(scores), self._state(), found)
        return np.column_stack([1.0 - found, found])

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """All of its state."""
        return dict(self._arrays)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The calibration whose `arrays()` these are."""
        check_calibration(arrays)
        made = cls.__new__(cls)
        made._arrays = {name: arrays[name] for name in ("head", "logistic", "trust")}
        return made


class ClassCalibration:
    """Learns how sharp the scores of several classes are: probabilities are a softmax of them, times a factor.

    >>> calibration, labels = ClassCalibration(), np.arange(300) % 3
    >>> calibration.learn(np.eye(3)[labels], labels)
    >>> bool(calibration.probabilities(np.eye(3)).min(axis=0).max() < 0.1)
    True
    """

    def __init__(self) -> None:
        self._heat = np.zeros(len(kernel.Heat))
        self._heat[kernel.Heat.HEAT] = 1.0

    def learn(
        self, scores: NDArray[np.float64], labels: NDArray[np.int64], weight: NDArray[np.float64] = NO_WEIGHT
    ) -> None:
        """Learn rows of scores, one per class, with the numbers of their classes, in turn."""
        kernel.learn_heat(scores, labels, weight, self._heat)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, classes): the probabilities of the classes for each row of scores."""
        found = np.empty(scores.shape)
        kernel.heat_up(np.ascontiguousarray(scores), self._heat, found)
        return found

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """All of its state."""
        return {"heat": self._heat}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The calibration whose `arrays()` these are."""
        check_heat(arrays)
        made = cls.__new__(cls)
        made._heat = arrays["heat"]
        return made
