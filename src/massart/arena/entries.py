"""Who enters a race: learners and policies by name, objects that learn, scikit-learn classifiers."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from massart.arena.registry import LEARNERS, POLICIES, Registry
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["ClassifierLearner", "Entry", "LabelEntry", "RewardEntry", "enter"]

_LEARNER: Final = ("learn", "learn_many", "direction", "weights", "copy")
_POLICY: Final = ("choose", "learn", "probabilities", "play", "weights", "copy")


@dataclass(frozen=True, eq=False)
class Entry(ABC):
    """One line of the start list: a name for the rows, and where the learner comes from."""

    name: str
    source: Any  # a name of the registry, or the object itself
    fast: bool  # learns many rounds per call in compiled code

    registry: ClassVar[Registry]

    @property
    def registered(self) -> str | None:
        """The name in the registry, None for an object."""
        return self.source if isinstance(self.source, str) else None

    def learner(self, world: Any, rounds: int, seed: int) -> Any:
        """A learner of its own for one race; an object that was given is copied."""
        if not isinstance(self.source, str):
            return self._copied(world, seed)
        known = {name: getattr(world, name) for name in self._declared}
        return self.registry.make(self.source, horizon=rounds, seed=seed, **known)

    _declared: ClassVar[tuple[str, ...]]  # by the world, to learners that are made by name

    @abstractmethod
    def _copied(self, world: Any, seed: int) -> Any:
        """A copy of the object that was given."""

    @classmethod
    @abstractmethod
    def is_compiled(cls, source: Any) -> bool:
        """Whether an object learns in compiled code; one that cannot race is refused."""

    def identity(self) -> str:
        """The same text for the same learner in the same state, in every process."""
        if isinstance(self.source, str):
            return self.source
        import joblib  # noqa: PLC0415 - only to resume a sweep of objects

        kind = type(self.source)
        return f"{kind.__module__}.{kind.__qualname__}:{joblib.hash(self.source)}"


class LabelEntry(Entry):
    """A learner for worlds with labels."""

    registry = LEARNERS
    _declared = ("dimension", "noise_rate", "margin")

    def _copied(self, world: Any, seed: int) -> Any:
        if _has(self.source, _LEARNER):
            return self.source.copy()
        return ClassifierLearner(copy.deepcopy(self.source), world.dimension, seed)

    @classmethod
    def is_compiled(cls, source: Any) -> bool:
        """Whether an object learns in compiled code; one that cannot race is refused."""
        if isinstance(source, type):
            raise InvalidParameterError(f"{source.__name__} is a class: give a learner, as in {source.__name__}(...)")
        if _has(source, _LEARNER):
            return True
        if hasattr(source, "partial_fit") and hasattr(source, "predict"):
            return _is_massart(source)
        raise InvalidParameterError(
            f"{type(source).__name__} cannot race: give the name of a learner, a learner with learn, learn_many, "
            "weights, direction and copy, or a classifier with partial_fit and predict"
        )


class RewardEntry(Entry):
    """A policy for worlds with rewards."""

    registry = POLICIES
    _declared = ("dimension", "arms", "reward_range", "gap", "margin")

    def _copied(self, world: Any, seed: int) -> Any:
        return self.source.copy()

    @classmethod
    def is_compiled(cls, source: Any) -> bool:
        """True: nothing is known of an object's speed; one that cannot race is refused."""
        if isinstance(source, type) or not _has(source, _POLICY):
            raise InvalidParameterError(
                f"{source!r} cannot race: give the name of a policy, or an object with {', '.join(_POLICY)}"
            )
        return True


def enter(learners: Any, kind: type[Entry] = LabelEntry) -> list[Entry]:
    """The start list: one learner or several, or a mapping from the name each shall have to the learner.

    A learner without a name of its own is called after its class; the second of a kind gets "-2".

    >>> from massart import Halfspace, MassartClassifier
    >>> both = [Halfspace(2, noise_rate=0.1, margin=0.1), Halfspace(2, noise_rate=0.2, margin=0.1)]
    >>> [entry.name for entry in enter([*both, MassartClassifier()])]
    ['Halfspace', 'Halfspace-2', 'MassartClassifier']
    >>> [entry.name for entry in enter({"careful": both[1]})]
    ['careful']
    """
    noun, example = kind.registry.noun, kind.registry.default[0]
    if isinstance(learners, Mapping):
        named = [(str(name), source) for name, source in learners.items()]
    else:
        several = isinstance(learners, Iterable) and not isinstance(learners, str)
        sources = learners if several else [learners]
        named = [(source if isinstance(source, str) else "", source) for source in sources]
    if not named:
        raise InvalidParameterError(f"no {noun} was given: name at least one, as in race(['{example}'], ...)")
    entries: list[Entry] = []
    for given, source in named:
        taken = {entry.name for entry in entries}
        if isinstance(source, str):
            name = kind.registry.find(source)
            entry = kind(name if given == source else given, name, not kind.registry.is_peer(name))
        else:
            entry = kind(given or _free_name(type(source).__name__, taken), source, kind.is_compiled(source))
        if entry.name in taken:
            raise InvalidParameterError(f"the {noun} {entry.name!r} is there twice: name it once, or use other names")
        entries.append(entry)
    return entries


def _free_name(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(longer for number in range(2, len(taken) + 3) if (longer := f"{name}-{number}") not in taken)


def _has(source: Any, names: tuple[str, ...]) -> bool:
    return all(hasattr(source, name) for name in names)


def _is_massart(classifier: Any) -> bool:
    from massart.learners.classifier import MassartClassifier  # noqa: PLC0415 - scikit-learn, when it is used

    return isinstance(classifier, MassartClassifier)


class ClassifierLearner:
    """A scikit-learn classifier with `partial_fit`, trained row by row, each predicted before it is learned.

    Scores are the predictions, -1 and +1; of a classifier's two classes the second is +1, and before its first row it
    predicts +1. `weights` are `coef_` without the intercept, and 0 for a classifier that has none: an adaptive world
    then takes it for a learner that predicts +1 everywhere. A classifier without a seed gets one.

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
            # What partial_fit would do with these rows, but with the prediction of each.
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
