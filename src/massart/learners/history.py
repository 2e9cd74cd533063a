"""How a learner came to where it is: mistakes, bound and expert weights, at rounds that grow by a factor."""

from collections.abc import Iterator
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.values import Value

__all__ = ["History", "Moment"]

_DENSEST: Final = 1.01  # factor between two rounds


class Moment(Value):
    """A learner at one time."""

    rounds: int
    mistakes: int
    bound: float  # on the mistakes, at the history's confidence; the number of rounds where nothing is proved
    weights: dict[str, float]  # of the experts; empty with one learner per class


class History:
    """Moments of a learner, the rounds of each about `factor` times those of the one before.

    `learn` feeds a classifier and records on the way; `record` adds what a learner is now. Learning in pieces gives the
    same learner, bit for bit. A moment takes a certificate, which costs about as much as some hundred rounds.

    >>> import numpy as np
    >>> from massart import MassartClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> history = History()
    >>> _ = history.learn(MassartClassifier(random_state=0), X, X[:, 0] > 0, classes=[False, True])
    >>> history.moments[-1].rounds, len(history.moments) < 60
    (500, True)
    """

    def __init__(self, factor: float = 1.1, confidence: float = 0.99) -> None:
        if not _DENSEST <= factor < float("inf"):
            raise InvalidParameterError(f"factor={factor}: give a number of at least {_DENSEST}")
        self.factor, self.confidence = float(factor), confidence
        self.moments: list[Moment] = []

    @property
    def next_round(self) -> int:
        """After how many rounds the next moment is due."""
        rounds = self.moments[-1].rounds if self.moments else 0
        return max(rounds + 1, int(self.factor * rounds))

    def record(self, learner: Any) -> None:
        """Add a classifier, or a learner of `massart train`, as it is now; if it learned nothing since, nothing."""
        is_classifier = hasattr(learner, "mistakes_")
        rounds = int(learner.rounds_ if is_classifier else learner.rounds)
        if self.moments and self.moments[-1].rounds >= rounds:
            return
        certificate = learner.certificate(self.confidence)
        mistakes = int(learner.mistakes_ if is_classifier else learner.mistakes)
        shares = learner.expert_weights_ if is_classifier else learner.shares()
        named = {str(name): share for name, share in shares.items() if isinstance(share, float)}
        self.moments.append(Moment(rounds, mistakes, certificate.confident_mistake_bound, named))

    def pieces(
        self, learner: Any, order: NDArray[np.uint64] | None, count: int
    ) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """The rows of an order, or so many, in parts to be learned one after the other; the learner is recorded."""
        done, rows = 0, np.arange(count, dtype=np.uint64) if order is None else order
        while done < count:
            own = slice(done, min(count, done + max(1, self.next_round - int(learner.rounds))))
            yield own, rows[own]
            self.record(learner)
            done = own.stop

    def learn(self, classifier: Any, X: Any, y: Any, classes: Any = None) -> Self:
        """`classifier.partial_fit` on the rows, in order, with a moment wherever one is due, and one at the end."""
        count, done = int(X.shape[0]), 0
        learned = int(classifier.rounds_) if hasattr(classifier, "classes_") else 0
        while done < count:
            end = min(count, done + max(1, self.next_round - learned))
            rows = X.iloc[done:end] if hasattr(X, "iloc") else X[done:end]
            labels = y.iloc[done:end] if hasattr(y, "iloc") else y[done:end]
            classifier.partial_fit(rows, labels, classes=classes)
            learned, done = learned + end - done, end
            self.record(classifier)
        return self
