"""What a classifier says once it has learned: answers, probabilities, counts, and what is proved of its mistakes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from massart.data.frames import HashedRows
from massart.errors import InvalidDataError, InvalidParameterError, shown
from massart.kernels.door import FiniteRows, Rows
from massart.learners.calibration import ClassCalibration, ScoreCalibration
from massart.learners.certificate import Certificate, as_html, as_text
from massart.learners.class_pool import ClassPool
from massart.learners.group_columns import group_columns
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.inputs import check_rows, own_errors
from massart.learners.multiclass import Classes, OneVsRest
from massart.learners.products import Products


class FittedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The half of `MassartClassifier` that does not learn: it reads what the other half leaves here."""

    intercept_scaling: float
    fit_intercept: bool
    normalize: bool

    classes_: NDArray[Any]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _learner: Classes
    _batch_weights: NDArray[np.float64] | None  # (1 or n_classes, n_features + 1) after fit, None after partial_fit
    _batch_learner: ClassPool | Products | None = None  # what predicts after fit, if that is not linear
    _calibration: ScoreCalibration | ClassCalibration | None = None  # of the scores, if they are linear

    def _rows(self, X: Any) -> Rows:
        if isinstance(X, HashedRows):
            return Rows.read(X.parts, X.width, scaled=bool(self.normalize))
        names = getattr(self, "feature_names_in_", ())
        return Rows.of(X, names if len(names) == X.shape[1] else None, scaled=bool(self.normalize))

    def _weights(self) -> NDArray[np.float64]:
        check_is_fitted(self, "_learner")
        if isinstance(self._learner, ClassPool):
            raise AttributeError(  # noqa: TRY004 - so that there is none
                "several classes that are learned together are not one linear score each, so there is no coef_ and no "
                "intercept_: use predict_proba, or give noise_rate and margin"
            )
        if isinstance(self._learner, Products):
            raise AttributeError(  # noqa: TRY004 - so that there is none
                "with products=True the score is not linear in the columns, so there is no coef_ and no intercept_: "
                "use decision_function"
            )
        return self._learner.leaders() if self._batch_weights is None else self._batch_weights

    @property
    def coef_(self) -> NDArray[np.float64]:
        """(1 or n_classes, n_features) weights that `predict` uses."""
        return self._weights()[:, :-1]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """(1 or n_classes,) constant terms; 0 without an intercept."""
        return self._weights()[:, -1]

    @property
    def rounds_(self) -> int:
        """Rows learned (in `fit`: in its first pass)."""
        check_is_fitted(self, "_learner")
        return int(self._learner.rounds)

    @property
    def mistakes_(self) -> int:
        """Rows that were predicted wrongly just before they were learned."""
        check_is_fitted(self, "_learner")
        return int(self._learner.mistakes)

    @property
    def group_rounds_(self) -> dict[str, int]:
        """Rows learned, by group; empty without groups."""
        check_is_fitted(self, "_learner")
        own = self._learner
        return {name: own.group_rounds(name) for name in own.names} if isinstance(own, Grouped) else {}

    @property
    def group_mistakes_(self) -> dict[str, int]:
        """Rows that were predicted wrongly just before they were learned, by group; empty without groups."""
        check_is_fitted(self, "_learner")
        own = self._learner
        return {name: own.group_mistakes(name) for name in own.names} if isinstance(own, Grouped) else {}

    def decision_function(self, X: Any, groups: Any = None) -> NDArray[np.float64]:
        """X @ coef_.T + intercept_: (n,) for two classes, else (n, n_classes).

        With default settings and more than two classes, or classes that may still join, it is `predict_log_proba`, or
        the difference of its two columns. With `products` it is the score of the vote of both pools. With `groups`,
        rows whose group has a learner with more weight than that of everybody have its scores instead.
        """
        check_is_fitted(self, "_learner")
        with own_errors():
            X = check_rows(self, X, reset=False)
        rows = self._rows(X).check()
        if isinstance(self._learner, ClassPool):
            logs = np.log(self._probabilities(rows))
            return np.asarray(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs)
        if isinstance(self._learner, Products):
            return self._own_scores(rows).ravel()
        weights = self._weights()
        if groups is None or not isinstance(self._learner, Grouped):
            return self._scores(X, rows, weights)
        with own_errors():
            followed = self._learner.followed(group_columns(groups, rows.count))
        scores = self._scores(X, rows, weights)
        for group in np.unique(followed[followed >= 0]).tolist():
            inside = followed == group
            scores[inside] = self._scores(X, rows, self._learner.leaders_of(group))[inside]
        return scores

    def _own_scores(self, rows: FiniteRows) -> NDArray[np.float64]:
        """(rows, 1 or classes): the scores of what predicts now."""
        if isinstance(self._learner, Products):
            learner: Any = self._learner if self._batch_learner is None else self._batch_learner
            return np.asarray(learner.scores(rows)[:, None])
        return np.stack([rows.score(np.ascontiguousarray(own)) for own in self._weights()], axis=1)

    @staticmethod
    def _scores(X: Any, rows: FiniteRows, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(X, HashedRows):
            scores = np.stack([rows.score(np.ascontiguousarray(own)) for own in weights], axis=1)
            return scores.ravel() if scores.shape[1] == 1 else scores
        # Not `@`, whose sums come in an order that depends on the processor: a score of 0 is a cliff.
        products = X @ weights[:, :-1].T if issparse(X) else np.einsum("ij,kj->ik", X, weights[:, :-1])
        scores = np.asarray(products) + weights[:, -1]
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _probabilities(self, rows: FiniteRows) -> NDArray[np.float64]:
        learner: Any = self._learner if self._batch_learner is None else self._batch_learner
        return np.asarray(learner.probabilities(rows))

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """The predicted label of each row; `groups` as in `partial_fit`, None: the rows are in no group."""
        scores = self.decision_function(X, groups)
        chosen = (scores >= 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Any = None) -> float:
        """The accuracy of `predict`."""
        return float(accuracy_score(y, self.predict(X, groups), sample_weight=sample_weight))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, n_classes): the probability of each class to be the label, as labels come, false ones included.

        With default settings and more than two classes it is the mixture that `predict` takes the highest of (Theorem
        22 of docs/theory.md). Otherwise it is a calibration of the scores: learned from those that answers had inside
        `partial_fit`, each before its label was seen, or after `fit` from those of the rows learned. A higher score is
        a higher probability, and the most probable class is that of `predict` without groups. Nothing is proved for it.
        """
        check_is_fitted(self, "_learner")
        with own_errors():
            checked = check_rows(self, X, reset=False)
        rows = self._rows(checked).check()
        if isinstance(self._learner, ClassPool):
            return self._probabilities(rows)
        if self._calibration is None:
            raise InvalidDataError("this classifier has learned no probabilities: partial_fit some rows")
        scores = self._own_scores(rows)
        first = self._learner.members[0] if isinstance(self._learner, OneVsRest) else self._learner
        if isinstance(first, Halfspace) and self._batch_weights is None and self.normalize:
            # Its scores are those of rows scaled to norm 1.
            constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
            plain = checked.matrix if isinstance(checked, HashedRows) else checked
            squares = plain.multiply(plain).sum(axis=1) if issparse(plain) else np.square(plain).sum(axis=1)
            length = np.sqrt(np.asarray(squares, dtype=np.float64).reshape(-1, 1) + constant * constant)
            scores = np.divide(scores, length, out=np.zeros(scores.shape), where=length > 0.0)
        return self._calibration.probabilities(scores.ravel() if scores.shape[1] == 1 else scores)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))

    def certificate(self, confidence: float = 0.99, group: str | None = None) -> Certificate:
        """What is proved of `mistakes_`, and whether they contradict what was declared; valid at every round.

        With `group`, the name of a group, of the mistakes on its rows (Theorem 21). The confidence is that of this one
        certificate: for n groups at once, ask each with 1 - (1 - confidence) / n.
        """
        check_is_fitted(self, "_learner")
        if group is None:
            return self._learner.certificate(confidence)
        if not isinstance(self._learner, Grouped):
            raise InvalidParameterError(f"group={shown(group)}: no row came with groups; give groups to partial_fit")
        return self._learner.certificate(confidence, group)

    @property
    def noise_rate_(self) -> float:
        """A lower confidence limit (99%, valid at every round) for the noise rate: see the class."""
        check_is_fitted(self, "_learner")
        return self._learner.lower_noise_rate()

    @property
    def expert_weights_(self) -> dict[Any, Any]:
        """The weights of the experts, the largest first; with one learner per class, a dict of these by class."""
        check_is_fitted(self, "_learner")
        if isinstance(self._learner, OneVsRest):
            members = zip(self.classes_.tolist(), self._learner.members, strict=True)
            return {label: member.shares() for label, member in members}
        return self._learner.shares()

    def summary(self) -> str:
        """A few lines of text: rows learned, what is proved of the mistakes, and the weights of the experts."""
        check_is_fitted(self, "_learner")
        return as_text(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "_learner"):
            bundle["text/html"] += as_html(self)
        return bundle
