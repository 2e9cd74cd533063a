"""Whoever enters a race: contestants by name, learners of the protocol, scikit-learn classifiers."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.base import World

__all__ = ["ClassifierLearner", "Contestant", "Entry", "enter"]


class Contestant(Protocol):
    """As much of `massart.learners.base.OnlineLearner` as a race asks for."""

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row; return the score it had before."""

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Learn each row in turn; return the scores they had just before."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear predictor."""

    @property
    def direction(self) -> NDArray[np.float64]:
        """(d,) the weights up to a positive factor."""

    def copy(self) -> Self:
        """An independent learner in the same state."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of the start list: a name for the rows, and where the learner comes from."""

    name: str
    source: Any  # a contestant's name, a learner or a classifier
    fast: bool  # learns many rows per call in compiled code

    @property
    def contestant(self) -> str | None:
        """The name in `massart.learners.contestants`, None for a learner brought along."""
        return self.source if isinstance(self.source, str) else None

    def learner(self, world: World, rounds: int, seed: int) -> Contestant:
        """A learner of its own for one race; the one that was brought along stays as it is."""
        if isinstance(self.source, str):
            from massart.learners import contestants  # noqa: PLC0415 - numba, when a race begins

            made: Contestant = contestants.make(
                self.source,
                dimension=world.dimension,
                noise_rate=world.noise_rate,
                margin=world.margin,
                horizon=rounds,
                seed=seed,
            )
            return made
        if _is_learner(self.source):
            own: Contestant = self.source.copy()
            return own
        return ClassifierLearner(copy.deepcopy(self.source), world.dimension, seed)

    def identity(self) -> str:
        """The same text for the same learner in the same state, in every process."""
        if isinstance(self.source, str):
            return self.source
        import joblib  # noqa: PLC0415 - only to resume a sweep with learners brought along

        kind = type(self.source)
        return f"{kind.__module__}.{kind.__qualname__}:{joblib.hash(self.source)}"


def enter(learners: Any) -> list[Entry]:
    """The start list: one learner or several, or a mapping from the name each shall have to the learner.

    A learner without a name of its own is called after its class; the second of a kind gets "-2".

    >>> from massart import Halfspace, MassartClassifier
    >>> both = [Halfspace(2, noise_rate=0.1, margin=0.1), Halfspace(2, noise_rate=0.2, margin=0.1)]
    >>> [entry.name for entry in enter([*both, MassartClassifier()])]
    ['Halfspace', 'Halfspace-2', 'MassartClassifier']
    >>> [entry.name for entry in enter({"careful": both[1]})]
    ['careful']
    """
    if isinstance(learners, Mapping):
        named = [(str(name), source) for name, source in learners.items()]
    else:
        several = isinstance(learners, Iterable) and not isinstance(learners, str)
        named = [
            (source if isinstance(source, str) else "", source) for source in (learners if several else [learners])
        ]
    if not named:
        raise InvalidParameterError("no learner was given: name at least one, as in race(['massart'], ...)")
    entries: list[Entry] = []
    for name, source in named:
        taken = {entry.name for entry in entries}
        if name in taken:
            raise InvalidParameterError(f"the learner {name!r} is there twice: name it once, or use other names")
        entries.append(Entry(name or _free_name(type(source).__name__, taken), source, _is_fast(source)))
    return entries


def _free_name(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(longer for number in range(2, len(taken) + 3) if (longer := f"{name}-{number}") not in taken)


def _is_learner(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("learn", "learn_many", "direction", "weights", "copy"))


def _is_fast(source: Any) -> bool:
    """Refuse what cannot race; say whether the rest is compiled."""
    if isinstance(source, str):
        from massart.learners import contestants  # noqa: PLC0415 - numba, when a race begins

        if source not in contestants.names():
            # Refused with the nearest names, or with how to install the package it belongs to.
            contestants.make(source, dimension=2, noise_rate=0.1, margin=0.1, horizon=10, seed=0)
        return source in contestants.names(peers=False)
    if isinstance(source, type):
        raise InvalidParameterError(f"{source.__name__} is a class: give a learner, as in {source.__name__}(...)")
    if _is_learner(source):
        return True
    if hasattr(source, "partial_fit") and hasattr(source, "predict"):
        return _is_massart(source)
    raise InvalidParameterError(
        f"{type(source).__name__} cannot race: give the name of a contestant, a learner with learn, learn_many, "
        "weights, direction and copy, or a classifier with partial_fit and predict"
    )


def _is_massart(classifier: Any) -> bool:
    from massart.learners.classifier import MassartClassifier  # noqa: PLC0415 - scikit-learn, when it is used

    return isinstance(classifier, MassartClassifier)


class ClassifierLearner:
    """A scikit-learn classifier with `partial_fit`, taught row by row, each predicted before it is learned.

    Scores are the predictions, -1 and +1; of a classifier's two classes the second is +1, and before its first row it
    says +1. `weights` are `coef_` without the intercept, and 0 for a classifier that has none: an adaptive world then
    looks at a learner that it takes to say +1 everywhere. A classifier without a seed gets one.

    >>> from sklearn.linear_model import SGDClassifier
    >>> learner = ClassifierLearner(SGDClassifier(), dimension=2, seed=0)
    >>> rows = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    >>> learner.learn_many(rows, [1, -1, 1, -1]).tolist()
    [1.0, -1.0, 1.0, -1.0]
    """

    def __init__(self, classifier: Any, dimension: int, seed: int) -> None:
        self.classifier = classifier
        self._zero = np.zeros(dimension)
        self._massart = _is_massart(classifier)
        if hasattr(classifier, "get_params") and classifier.get_params(deep=False).get("random_state", seed) is None:
            classifier.set_params(random_state=seed)
        if self._fitted and len(classifier.classes_) != 2:
            raise InvalidParameterError(
                f"{type(classifier).__name__} was fitted with {len(classifier.classes_)} classes: a race has two"
            )

    @property
    def _fitted(self) -> bool:
        return hasattr(self.classifier, "classes_")

    def score(self, x: NDArray[Any]) -> float:
        """-1 or +1: what the classifier predicts for one row."""
        if not self._fitted:
            return 1.0
        return 1.0 if self.classifier.predict(x[None, :])[0] == self.classifier.classes_[1] else -1.0

    def predict(self, x: NDArray[Any]) -> int:
        """The same as a whole number."""
        return int(self.score(x))

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row; return what was predicted for it."""
        return float(self.learn_many(x[None, :], [y])[0])

    def learn_many(self, X: NDArray[Any], y: Any) -> NDArray[np.float64]:
        """Learn each row in turn; return what was predicted for them."""
        scores = np.empty(len(X))
        begin = 0
        if len(X) and not self._ready:
            scores[0] = self._first(X[:1], int(y[0]))
            begin = 1
        if self._massart:
            # What partial_fit would do with these rows, but it tells the prediction of each.
            scores[begin:] = self.classifier._learner.learn_many(X[begin:], y[begin:])
            return scores
        from sklearn import config_context  # noqa: PLC0415 - there is a classifier, so it is loaded

        with config_context(assume_finite=True, skip_parameter_validation=True):
            for t in range(begin, len(X)):
                scores[t] = self.score(X[t])
                self.classifier.partial_fit(X[t : t + 1], self._label(int(y[t])))
        return scores

    @property
    def _ready(self) -> bool:
        """Whether the classifier has seen a row in `partial_fit`, so that its own checks can be passed by."""
        return self._fitted and not (self._massart and self.classifier._batch_weights is not None)

    def _first(self, row: NDArray[Any], y: int) -> float:
        """The first row of all, with all of the classifier's checks; return what was predicted for it."""
        score = self.score(row[0])
        before = self.classifier.mistakes_ if self._massart and self._fitted else 0
        if self._fitted:
            self.classifier.partial_fit(row, self._label(y))
        else:
            self.classifier.partial_fit(row, np.array([y]), classes=np.array([-1, 1]))
        if self._massart:  # after `fit` it predicts with other weights than those that go on learning
            return float(y if self.classifier.mistakes_ == before else -y)
        return score

    def _label(self, y: int) -> NDArray[Any]:
        label: NDArray[Any] = self.classifier.classes_[(y + 1) // 2 :][:1]
        return label

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) `coef_`, without the intercept; 0 when there is none."""
        weights = getattr(self.classifier, "coef_", None) if self._fitted else None
        if weights is None:
            return self._zero
        flat = np.asarray(weights, dtype=np.float64).reshape(-1)
        if flat.shape != self._zero.shape:
            raise InvalidDataError(f"coef_ has {flat.size} numbers, but the rows have {self._zero.size}")
        return flat

    @property
    def direction(self) -> NDArray[np.float64]:
        """The same, for an adversary."""
        return self.weights

    def certificate(self) -> Any:
        """The certificate of a MassartClassifier, None of any other."""
        return self.classifier.certificate() if self._massart else None

    def copy(self) -> Self:
        """An independent learner in the same state."""
        return copy.deepcopy(self)
