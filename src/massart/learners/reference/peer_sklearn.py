"""scikit-learn's stochastic gradient classifiers, one row per `partial_fit`.

`partial_fit` on a batch would be much faster but cannot return what it would have predicted for each row. So
each row is scored with `coef_`, then given to `partial_fit` alone, with the validation of what was
checked already switched off.
"""

from typing import Any, Final, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron, SGDClassifier

from massart.learners.reference.peers import ROUNDS, LinearPeer

_CLASSES: Final = np.array([-1.0, 1.0])
_VARIANTS: Final = ("sklearn-log", "sklearn-hinge", "sklearn-perceptron", "sklearn-pa", "sklearn-log-averaged")
_UNCHECKED: Final = {"assume_finite": True, "skip_parameter_validation": True}
# What SGDClassifier(average=True) keeps apart from `coef_`, which is one of the two.
_STANDARD, _AVERAGE = "_standard_coef", "_average_coef"


def _estimator(variant: str) -> Any:
    # Rows come one at a time, so there is nothing to shuffle. The generator is still asked for a seed at every call:
    # given as an object it need not be built anew, which would cost a good part of the round.
    common = {"fit_intercept": False, "shuffle": False, "random_state": np.random.RandomState(0)}
    if variant == "sklearn-perceptron":
        return Perceptron(**common)
    if variant == "sklearn-pa":
        if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8):
            return SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, **common)
        from sklearn.linear_model import PassiveAggressiveClassifier  # noqa: PLC0415 - deprecated from 1.8 on

        return PassiveAggressiveClassifier(C=1.0, **common)
    loss = "hinge" if variant == "sklearn-hinge" else "log_loss"
    return SGDClassifier(loss=loss, average=variant == "sklearn-log-averaged", **common)


class SklearnPeer(LinearPeer):
    """One of scikit-learn's linear classifiers with its own default settings, without intercept.

    >>> learner = SklearnPeer(2, "sklearn-perceptron")
    >>> learner.learn_many([[0.6, 0.8], [0.6, 0.8]], [-1, -1]).round(9).tolist()
    [0.0, -1.0]
    >>> learner.weights.tolist(), learner.mistakes
    ([-0.6, -0.8], 1)
    """

    def __init__(self, n_features: int, variant: str) -> None:
        super().__init__(n_features)
        self._variant = variant
        self._estimator = _estimator(variant)

    def _learn_row(self, x: NDArray[np.float64], y: float) -> float:
        score = self._score_row(x)
        # The classes are given once: given again, they are compared again, at a third of the cost of the round.
        classes = _CLASSES if self._counts[ROUNDS] == 0 else None
        self._estimator.partial_fit(x[None, :], np.array([y]), classes=classes)
        self._weights = self._estimator.coef_[0]  # an array that each call may replace
        return score

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row with its label -1 or +1; return the score that was its prediction."""
        with sklearn.config_context(**_UNCHECKED):
            return super().learn(x, y)

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict, then learn, each row in turn; return the scores that were predictions."""
        with sklearn.config_context(**_UNCHECKED):
            return super().learn_many(X, y)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that further learning needs: the weights, the number that sets the step, and averages if any."""
        kept = {
            "variant": np.array([_VARIANTS.index(self._variant)]),
            "counts": self._counts,
            "time": np.array([getattr(self._estimator, "t_", 1.0)]),
            "weights": self._weights,
        }
        if hasattr(self._estimator, _AVERAGE):
            kept["standard"] = getattr(self._estimator, _STANDARD)
            kept["average"] = getattr(self._estimator, _AVERAGE)
        return kept

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        learner = cls(arrays["weights"].size, _VARIANTS[int(arrays["variant"][0])])
        learner._counts = arrays["counts"]
        if learner.rounds > 0:
            estimator = learner._estimator
            # One row of zeros makes the estimator allocate what it needs; then everything learned is replaced.
            estimator.partial_fit(np.zeros((1, arrays["weights"].size)), _CLASSES[:1], classes=_CLASSES)
            estimator.t_ = float(arrays["time"][0])
            estimator.coef_ = arrays["weights"][None, :]
            if "average" in arrays:
                setattr(estimator, _STANDARD, arrays["standard"])
                setattr(estimator, _AVERAGE, arrays["average"])
            learner._weights = estimator.coef_[0]
        return learner


def build_learner(name: str, n_features: int) -> SklearnPeer:
    """The peer of this name."""
    return SklearnPeer(n_features, name)
