"""Probabilities from the scores of two classes: what kernels/learning/calibration.py learns, as arrays."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from massart.kernels.door import NO_WEIGHT
from massart.kernels.learning import calibration as kernel
from massart.kernels.learning.elementary import exp, log
from massart.kernels.states import check_calibration, check_heat

__all__ = ["CalibrationChange", "ClassCalibration", "ScoreCalibration"]

_FIRST_VARIANCE = 4.0
_MEMORY = 500.0  # rows that were looked at after which a curve has forgotten
_CURVE = 2  # rows of `logistic` before those of its uncertainty
_LEARNED, _WEIGHT, _SIZE, _HEAVIEST = (kernel.Calibration[name] for name in ("LEARNED", "WEIGHT", "SIZE", "HEAVIEST"))


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
        kernel.learn_calibration(
            np.ascontiguousarray(scores), np.ascontiguousarray(labels), weight, every, self._state()
        )

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

    def change_since(self, base: "ScoreCalibration") -> "CalibrationChange":
        """What was learned since, in numbers that add up."""
        (head, logistic, trust), (old, before, then) = self._state(), base._state()
        learned = head[_LEARNED] > old[_LEARNED]
        sizes = head[_SIZE] * head[_WEIGHT] - old[_SIZE] * old[_WEIGHT]
        odds = np.array([log(float(p)) - log(float(q)) for p, q in zip(trust, then, strict=True)])
        heaviest = float(head[_HEAVIEST])
        return CalibrationChange(head - old, float(sizes), logistic - before, odds, heaviest, 1 if learned else 0)

    def with_change(self, change: "CalibrationChange") -> "ScoreCalibration":
        """A calibration of all that was learned.

        Curves forget after some rows: up to so many, what they learned side by side adds up; beyond, it is averaged.
        """
        head, logistic, trust = (array.copy() for array in self._state())
        if change.learners:
            part = max(1.0 / change.learners, min(1.0, _MEMORY / change.head[_LEARNED]))
            size = head[_SIZE] * head[_WEIGHT] + change.sizes
            head += change.head
            head[_SIZE], head[_HEAVIEST] = max(0.0, size / max(head[_WEIGHT], 1e-300)), change.heaviest
            logistic[:_CURVE] += part * change.logistic[:_CURVE]
            logistic[_CURVE:] += change.logistic[_CURVE:] / change.learners
            logistic[kernel.Logistic.A] = np.maximum(logistic[kernel.Logistic.A], kernel.FLATTEST)
            odds = part * change.odds
            trust *= np.array([exp(max(-600.0, float(one))) for one in odds - odds.max()])
            least = 1.0 / (head[_LEARNED] + 1.0)
            trust = (1.0 - least) * trust / trust.sum() + least / kernel.EXPERTS
        return ScoreCalibration.from_arrays({"head": head, "logistic": logistic, "trust": trust})


class CalibrationChange(NamedTuple):
    """What calibrations that began with one state have learned."""

    head: NDArray[np.float64]
    sizes: float  # sum of the sizes of the scores
    logistic: NDArray[np.float64]
    odds: NDArray[np.float64]  # by what the logarithm of each calibration's weight has grown
    heaviest: float
    learners: int  # that have looked at a row

    def added(self, other: "CalibrationChange") -> "CalibrationChange":
        """Of both."""
        return CalibrationChange(
            self.head + other.head,
            self.sizes + other.sizes,
            self.logistic + other.logistic,
            self.odds + other.odds,
            max(self.heaviest, other.heaviest),
            self.learners + other.learners,
        )


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
