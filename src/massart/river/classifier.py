"""MassartClassifier in river's contract: dicts of features, one at a time."""

from collections.abc import Hashable, Iterator
from math import isfinite
from typing import Any

import numpy as np
from river import base

from massart.errors import InvalidDataError, needs, shown
from massart.learners.base import seed_of
from massart.learners.certificate import Certificate
from massart.options import LARGEST, SMALLEST, LearnerOptions
from massart.river.growing import GrowingLearner

__all__ = ["MassartClassifier"]


class MassartClassifier(base.MiniBatchClassifier):
    """Online linear classifier for labels that are wrong in some places more often than in others.

    It is `massart.MassartClassifier` for river: features are a dict, which may have other names every time, and classes
    are those that come. Texts are categories; None and what is not there count 0. Rows need no scaling.

    Up to 20 features, and several classes, are learned by a pool of experts of all classes, some of which know the
    products of features (Theorem 23 of docs/theory.md), which classes may join; two classes with more features by the
    pool of Theorem 7(e), which is faster; with `noise_rate` and `margin` given, two classes by one halfspace, with the
    bound of Theorem 1. When features or classes that come need another of these, it takes the place of the first and
    learns the last rows again, 512 of them if so many came and they have no more than 32,768 entries; nothing is
    certified from then on.

    Parameters
    ----------
    noise_rate
        Upper bound on the probability that a label is flipped, in [0, 1/2). If None, several values are tried.
    margin
        Lower bound on the margin, in (0, 1], as in `massart.MassartClassifier`. If None, several values are tried.
    fit_intercept
        Whether to learn a constant term.
    voting
        How several experts answer while they learn: "sample", with the bound, or "majority". Predictions are those of
        the majority.
    seed
        Random seed of the draws of `voting="sample"`.

    Notes
    -----
    `learn_one` may leave a row to be learned with the next ones: up to 256 rows wait until something is asked. What is
    learned is the same, bit for bit. One thread at a time may use a model, as in river.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from massart.river import MassartClassifier
    >>> model = MassartClassifier(seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.88
    True
    """

    def __init__(
        self,
        noise_rate: float | None = None,
        margin: float | None = None,
        fit_intercept: bool = True,
        voting: str = "sample",
        seed: int | None = None,
    ) -> None:
        self.noise_rate = noise_rate
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.voting = voting
        self.seed = seed
        options = LearnerOptions(noise_rate, margin, voting=voting, fit_intercept=bool(fit_intercept))
        self._own = GrowingLearner(options.replace(seed=int(seed_of(seed))))
        self._numbers: dict[Any, int] = {}  # of classes
        self._classes: list[Any] = []  # by number

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"noise_rate": 0.1, "margin": 0.05}

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a dict of features with its label; `w` is the weight of the row, 0 to leave it out."""
        own = self._own
        try:  # what almost every row is: known names, a known label, numbers
            if w == 1.0 and own.add(x, self._numbers[y]):
                return
        except (KeyError, TypeError):
            pass
        if w != 1.0:
            w = _weight(w)
            if w == 0.0:
                return
        try:
            number = self._numbers[y]
        except (KeyError, TypeError):
            self._learn_new(x, y, w)
            return
        own.learn(x, number, w)

    def _learn_new(self, x: dict[Any, Any], y: Any, w: float) -> None:
        """`learn_one` with a label that comes for the first time."""
        label = y.item() if isinstance(y, np.generic) else y
        if not isinstance(label, Hashable) or label is None or (isinstance(label, float) and not isfinite(label)):
            raise InvalidDataError(f"the label is {shown(y)}: give a truth value, a text or a number")
        is_first = not self._numbers and isinstance(label, bool)
        numbers: dict[Any, int] = {False: 0, True: 1} if is_first else self._numbers | {label: len(self._numbers)}
        self._own.learn(x, numbers[label], w)
        self._numbers, self._classes = numbers, list(numbers)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> Any:
        """The most probable label; None before any came."""
        number = self._own.answer(x)
        return self._classes[number] if number >= 0 else None

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        """The probability of each label that has come; empty before any came."""
        classes = self._classes
        if not classes:
            return {}
        found = self._own.probabilities(x)
        if len(found) < len(classes):  # of the truth values, one has come
            found += [0.0] * (len(classes) - len(found))
        if len(found) == 2:  # in half the time
            return {classes[0]: found[0], classes[1]: found[1]}
        return dict(zip(classes, found, strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a data frame with their labels; the same, bit for bit, as `learn_one` for each."""
        weights = [1.0] * len(X) if w is None else [w] * len(X) if np.ndim(w) == 0 else list(w)
        labels = _labels(y)
        if len(labels) != len(X) or len(weights) != len(X):
            raise InvalidDataError(
                f"X has {len(X)} rows, y {len(labels)} labels and w {len(weights)} weights: give one each per row"
            )
        for row, label, weight in zip(_dicts(X), labels, weights, strict=True):
            self.learn_one(row, label, weight)

    def predict_many(self, X: Any) -> Any:
        """The most probable label of each row of a data frame."""
        pd = needs("pandas", "river", "for predict_many")
        answers = [self.predict_one(row) for row in _dicts(X)]
        return pd.Series(answers, index=getattr(X, "index", None), dtype=None if answers else "object")

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of labels for each row of a data frame, a column for each label."""
        pd = needs("pandas", "river", "for predict_proba_many")
        found = [self.predict_proba_one(row) for row in _dicts(X)]
        index = getattr(X, "index", None)
        return pd.DataFrame(found, index=index, columns=list(self._numbers), dtype="float64")

    @property
    def weights(self) -> dict[Any, float]:
        """The weight of each feature in the score of two classes, that of the second; empty for several classes."""
        return self._own.weights()

    def certificate(self, confidence: float = 0.99) -> Certificate | None:
        """What is proved of the mistakes made in learning, as in `massart.MassartClassifier`; None before any row."""
        return self._own.certificate(confidence)

    def __getstate__(self) -> dict[str, Any]:
        self._own.catch_up()
        return self.__dict__.copy()


def _weight(w: Any) -> float:
    try:
        weight = float(w)
    except (TypeError, ValueError):
        weight = -1.0
    if weight != 0.0 and not SMALLEST <= weight <= LARGEST:
        raise InvalidDataError(f"w is {shown(w)}: give 0, or a number from {SMALLEST:g} to {LARGEST:g}")
    return weight


def _labels(y: Any) -> list[Any]:
    return list(y.tolist() if hasattr(y, "tolist") else y)


def _dicts(X: Any) -> Iterator[dict[Any, Any]]:
    """The rows of a data frame of pandas or polars as dicts."""
    if not hasattr(X, "columns"):
        raise InvalidDataError(f"X is a {type(X).__name__}: give a data frame")
    names = list(X.columns)
    values = [X[name].to_list() for name in names]
    for row in zip(*values, strict=True) if names else (() for _ in range(len(X))):
        yield dict(zip(names, row, strict=True))
