"""MassartClassifier: the online halfspace learner in scikit-learn's contract."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from massart.data.frames import HashedRows
from massart.data.schema import BITS, MOST_BITS
from massart.errors import InvalidParameterError, shown
from massart.kernels.door import NO_WEIGHT, Rows, check_weights
from massart.kernels.forms import check_mask
from massart.learners.class_pool import ClassPool
from massart.learners.class_weights import balanced_weights, class_weights, joined_counts
from massart.learners.fit import calibrated, canonical_order, fit_again, fit_batch, new_calibration
from massart.learners.fitted import FittedClassifier
from massart.learners.group_columns import group_columns
from massart.learners.groups import Grouped
from massart.learners.inputs import (
    check_labels,
    check_rows,
    draw_seed,
    joined_classes,
    label_numbers,
    labels_present,
    note_labels,
    unchanged_on_error,
)
from massart.learners.multiclass import Binary, OneVsRest, new_learner, targets_of, with_groups
from massart.learners.products import Products
from massart.options import LearnerOptions, one_of


class MassartClassifier(FittedClassifier):
    """Linear classifier for data streams with label noise that may differ from point to point.

    Each label may be flipped with any probability up to `noise_rate`, and the points may be chosen by an adversary who
    knows the weights. With `noise_rate` and `margin` given, after T rounds

        E[mistakes] <= noise_rate * T + O(sqrt(T) / margin)                        (Theorem 1 of docs/theory.md)

    By default neither needs to be known, and rows need not be scaled. More than two classes are then learned together,
    by experts of which some are not linear (docs/experts.md). With two classes the bound is that of Theorem 7(e): it
    starts from the next noise rate of a grid (0.05, 0.15, 0.3, 0.45), says nothing above 0.45 or below margin 1/128,
    and may say nothing for the first hundred thousand rounds; see `certificate`. The bounds are about the predictions
    made inside `partial_fit`, each before its row is learned: `learn_predict` returns them, `mistakes_` counts the
    wrong ones. `predict` uses the weights as they are afterwards; nothing is proved for it.

    Parameters
    ----------
    noise_rate : float, default=None
        Upper bound on the probability that a label is flipped, in [0, 1/2). If None, several values are tried.
    margin : float, default=None
        Lower bound on |w*.z| for some unit vector w*, in (0, 1], where z is the row as it is learned: with its constant
        coordinate, and scaled to norm 1. Without an intercept this is |w*.x| / |x|; with one, a target of that margin g
        has g |x| / sqrt(|x|^2 + intercept_scaling^2) (Theorem 15). If None, several values are tried, half of them
        without the constant, so that |w*.x| / |x| >= 1/128 is enough whatever the length of rows.
    horizon : float, default=None
        With `noise_rate` and `margin` given, the number of rounds to come; if None, the bound holds at every one of
        them. Otherwise it is not needed for a target that moves, which the vote follows (docs/experts.md); if given, it
        is the number of rounds after which a second pool forgets the past, for the bounds of Theorem 7(f) and 7(g).
    update : {"inverse-margin", "paper"}, default="inverse-margin"
        Update of a learner with `noise_rate` and `margin` given: the one with regret sqrt(T) / margin, or Algorithm 1
        of the paper as printed.
    optimizer : {"auto", "ftrl", "fixed", "adagrad-norm"}, default="auto"
        Optimizer of a learner with `noise_rate` and `margin` given. "fixed" needs `horizon`; "auto" is "fixed" with a
        horizon and "ftrl" without.
    voting : {"sample", "majority"}, default="sample"
        How several experts make one prediction. "sample" sometimes draws one of them at random, which keeps the bound
        of Theorem 7(e) against an adversary who knows everything but the next random number; "majority" draws nothing
        and has no such bound.
    fit_intercept : bool, default=True
        Whether to learn a constant term.
    intercept_scaling : float, default=1.0
        The value of the constant coordinate, see `margin`.
    normalize : bool, default=True
        Whether to scale rows to norm 1. If False, `margin` is in the units of the rows.
    products : bool, default=False
        Whether, with two classes and at most 64 columns, a second pool learns columns and their products by pairs,
        mixed with the one without, for data that is not linear (docs/experts.md). Then there is no `coef_`, and time
        grows with the square of the columns. More classes with default settings have products anyway. Not with
        `noise_rate` and `margin` both given, `horizon` or groups.
    class_weight : dict or "balanced", default=None
        Weights by label: a mistake then costs the weight of its label, and the noise rate that counts is
        `theory.class_weight_noise_rate` (Theorem 13); with more than two classes, each is weighed against the rest,
        which weigh 1. "balanced" computes the weights from the labels, and nothing is certified: in `fit` from all of
        them, n / (k n_c) for n rows of k classes, n_c of them of this one, rows counting what they weigh; in
        `partial_fit` from those before the row, with one more of each class.
    missing : {"error", "zero"}, default="error"
        What NaN, None and NA among numbers are: refused, or 0, which is what a feature that is absent counts. A missing
        text is absent with either.
    hash_bits : int, default=18
        Data frames with text, categories or dates are hashed to 2**hash_bits columns, as `massart train` hashes files.
    passes : int, default=5
        Passes over the data in `fit`; `partial_fit` makes one.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows in `fit` and of the draws of `voting="sample"`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_features)
    intercept_ : ndarray of shape (1 or n_classes,)
        Of scores that are linear: not with `products`, nor of several classes with default settings.
    n_features_in_, feature_names_in_ : as in scikit-learn; of a frame that is hashed, its columns.
    reading_ : dict
        How a frame with text was hashed; of a model file of `massart train`, how its files were read.
    rounds_, mistakes_ : int
        Rows learned, and how many of them had been predicted wrongly just before. After `fit`, those of its first pass:
        in later passes the labels have been seen.
    n_iter_ : int
        Passes made.
    noise_rate_ : float
        A lower confidence limit (99%, valid at every round) for the noise rate, if the margin is as declared, or at
        least the smallest one tried; 0 while nothing can be said.
    expert_weights_ : dict
        The weight of each expert; with groups, of those of everybody.
    group_rounds_, group_mistakes_ : dict
        `rounds_` and `mistakes_` of each group, by its name, in the order in which they came; empty without groups.

    Notes
    -----
    Without `noise_rate` or `margin`, a dozen experts learn side by side: some for every noise rate and margin, with a
    mistake bound, and conventional ones, which scale features on their own. `mistakes_` counts the predictions they
    made together, random draws included; `predict` uses their vote, which is one halfspace: `coef_` and `intercept_`.
    Rows are scaled inside; `coef_` and `intercept_` apply to rows as they are.

    More than two classes with default settings, or classes that join, have other experts, which are of all classes
    each, and one halfspace per class among them, on which the certificate rests (Theorem 23). `predict` answers with
    the class of highest `predict_proba`.

    `sample_weight` multiplies the cost of a row. The bounds hold for weights that are fixed before the label is seen,
    also if they depend on the past (Theorem 12). They need not hold for weights that depend on the label, which cannot
    be detected: with unequal sample weights the certificate never says that the declaration is contradicted. For
    weights by class use `class_weight`.

    `groups` (two classes) names the groups that rows belong to: an array with one name per row, or a table of columns,
    whose values are then groups called COLUMN=VALUE; None, NaN and "" mean none. Every group has learners of its own
    beside those of everybody, and a bound of its own from the noise of its own labels, whatever the other rows are
    (Theorem 21): `certificate(group=...)`. With a column of groups, learning took 3 to 4 times as long as without where
    it was measured. Sample weights may be 1 at most. `predict` follows, for each row, the learner with the largest
    weight.

    `fit` takes the rows in an order that depends on the rows and on `random_state` alone, and predicts with the best on
    these rows among averaged, last and randomly drawn weights, after an exact line search on the mistakes along each
    coordinate (two classes only). Nothing is proved for that predictor.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 20))
    >>> truth = X[:, 0] > X[:, 1]
    >>> y = truth ^ (rng.random(5000) < 0.2 * (X[:, 2] > 0))  # labels are flipped, but only on one side
    >>> clf = MassartClassifier(noise_rate=0.2, margin=0.05).partial_fit(X, y, classes=[False, True])
    >>> clf.rounds_, clf.mistakes_ < 0.2 * clf.rounds_, clf.certificate().holds
    (5000, True, True)
    >>> bool(MassartClassifier(random_state=0).fit(X, y).score(X, truth) > 0.95)
    True
    """

    _labels_seen: NDArray[np.float64] | None = None  # (n_classes + 1,) for weights, if partial_fit balances classes
    _is_open: bool = False  # whether classes may join

    def __init__(
        self,
        noise_rate: float | None = None,
        margin: float | None = None,
        horizon: float | None = None,
        *,
        update: str = "inverse-margin",
        optimizer: str = "auto",
        voting: str = "sample",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        normalize: bool = True,
        products: bool = False,
        class_weight: Any = None,
        missing: str = "error",
        hash_bits: int = BITS,
        passes: int = 5,
        random_state: Any = None,
    ) -> None:
        self.noise_rate = noise_rate
        self.margin = margin
        self.horizon = horizon
        self.update = update
        self.optimizer = optimizer
        self.voting = voting
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.normalize = normalize
        self.products = products
        self.class_weight = class_weight
        self.missing = missing
        self.hash_bits = hash_bits
        self.passes = passes
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "zero"
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Any = None) -> Self:
        """Learn from scratch with several passes; return the classifier with the online-to-batch predictor.

        With `groups` it makes one pass, in a random order, and `predict` is that of `partial_fit`.
        """
        with unchanged_on_error(self):
            options = self._options()
            check_mask(y, "y")
            X, y = check_rows(self, X, y, reset=True)
            check_classification_targets(y)
            X = X.matrix if isinstance(X, HashedRows) else X
            rows = self._rows(X).check()
            weight = check_weights(sample_weight, rows.count)
            classes, labels = labels_present(np.asarray(y), weight)
            seed, passes = draw_seed(self.random_state), int(self.passes)
            class_weight = class_weights(self.class_weight, classes, labels, weight)
            learner = new_learner(options, class_weight, rows.width, seed, grouped=groups is not None)
            if isinstance(self.class_weight, str):  # computed from the labels, so known only with them
                learner.mark_unproved()
            self._batch_weights, self._batch_learner = None, None
            if isinstance(learner, ClassPool):
                self._batch_learner = fit_again(learner, rows, labels, labels, weight, passes, seed)
            elif isinstance(learner, Products):
                targets = targets_of(learner, labels)
                self._batch_learner = fit_again(learner, rows, targets, labels, weight, passes, seed)
            elif isinstance(learner, Grouped):
                order, weight = canonical_order(rows, labels, weight, seed)
                if order.size > np.count_nonzero(weight):
                    learner.mark_unproved()
                targets = targets_of(learner, labels)
                learner.learn_rows(rows, targets, weight, order, groups=group_columns(groups, rows.count))
                passes = 1
            else:
                targets = targets_of(learner, labels)
                self._batch_weights = fit_batch(
                    learner, X, rows, targets, labels, weight, passes, seed, options.constant, class_weight
                )
            self.classes_, self._learner, self.n_iter_, self._is_open = classes, learner, passes, False
            self._calibration, self._labels_seen = None, None
            note_labels(self)
            if not isinstance(learner, ClassPool | Grouped):
                self._calibration = calibrated(rows, self._own_scores(rows), labels, weight, seed)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> Self:
        """Predict each row, then learn it.

        `classes` are all labels that may ever occur. Without them, with default settings, a class joins when it first
        comes, which learns the same, bit for bit, as if it had been known among three or more from the start. The first
        row counts as a mistake then: no class has come that could be answered.

        `groups` names the groups of each row, see the class; new ones may come at any call.
        """
        self._predict_and_learn(X, y, classes, sample_weight, groups)
        return self

    def learn_predict(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> NDArray[Any]:
        """`partial_fit` that returns its predictions, one per row, each made before the row was learned.

        The mistake bound is about these predictions. Rows of weight 0 are not learned; theirs is that of `predict`
        after the others.

        >>> clf = MassartClassifier(random_state=0)
        >>> clf.learn_predict([[1.0], [-1.0], [1.0], [-1.0]], [1, 0, 1, 0], classes=[0, 1]).tolist()
        [1, 1, 1, 0]
        >>> clf.mistakes_
        1
        """
        predicted, learned = self._predict_and_learn(X, y, classes, sample_weight, groups)
        if learned is None:
            return np.asarray(self.classes_[predicted])
        every = self.predict(X, groups)
        every[learned] = self.classes_[predicted]
        return every

    def _predict_and_learn(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None, groups: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """The numbers of the predicted classes, and the rows they belong to, None for all."""
        with unchanged_on_error(self):
            options = self._options()
            learner = getattr(self, "_learner", None)
            y = check_labels(y)
            before = None if learner is None else self.classes_
            known = joined_classes(classes, before, y, is_open=learner is None or self._is_open)
            rows = self._rows(check_rows(self, X, reset=learner is None))
            labels = label_numbers(y, known, rows.count)
            weight, order, seen = NO_WEIGHT, None, self._labels_seen
            if sample_weight is not None:
                rows = rows.check()  # those of weight 0, too
                weight = check_weights(sample_weight, rows.count)
                order = np.flatnonzero(weight).astype(np.uint64)
            is_open = classes is None if learner is None else self._is_open
            if learner is None:
                learner = new_learner(
                    options,
                    self._weights_by_class(known),
                    rows.width,
                    draw_seed(self.random_state),
                    grouped=groups is not None,
                    is_open=is_open,
                )
                if isinstance(self.class_weight, str):
                    learner.mark_unproved()
                    seen = np.zeros(known.size + 1)
            elif groups is not None and not isinstance(learner, Grouped):
                learner = with_groups(learner)
            places = None if before is None or before.size == known.size else np.searchsorted(known, before)
            if seen is not None:
                if places is not None:
                    seen = np.append(joined_counts(seen[:-1], places, known.size), seen[-1])
                weight = weight if weight.size else np.ones(rows.count)
                learned: Any = slice(None) if order is None else order.astype(np.int64)
                weight[learned], seen = balanced_weights(labels[learned], seen, weight[learned])
            if isinstance(learner, ClassPool):
                self._calibration = None
                rows = rows.check()
                if places is not None:
                    learner.join(places, self._weights_by_class(known))
                predicted = learner.learn_rows(rows, labels, weight, order)
            else:
                predicted = self._learn_and_calibrate(learner, rows, labels, weight, order, groups)
            self.classes_, self._learner, self.n_iter_, self._is_open = known, learner, 1, is_open
            self._batch_weights, self._batch_learner, self._labels_seen = None, None, seen
            note_labels(self)
        return predicted, None if order is None else order.astype(np.int64)

    def _weights_by_class(self, known: NDArray[Any]) -> NDArray[np.float64]:
        """The weights of classes in a stream; 1 each if they are balanced row by row."""
        return class_weights(self.class_weight, known, np.arange(known.size), np.ones(known.size))

    def _learn_and_calibrate(
        self,
        learner: Binary | OneVsRest,
        rows: Rows,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        order: NDArray[np.uint64] | None,
        groups: Any,
    ) -> NDArray[np.int64]:
        """Learn rows, and with the scores of the answers how to make probabilities of scores."""
        count = rows.count if order is None else order.size
        targets = targets_of(learner, labels)
        scores = np.empty((count, len(learner.members))) if isinstance(learner, OneVsRest) else np.empty(count)
        if isinstance(learner, OneVsRest):
            predicted = learner.learn_rows(rows, labels, weight, order, scores_of=scores)
        else:
            if isinstance(learner, Grouped) and groups is not None:
                own = group_columns(groups, rows.count)
                learner.learn_rows(rows, targets, weight, order, scores=scores, groups=own)
            else:
                learner.learn_rows(rows, targets, weight, order, scores=scores)
            predicted = (scores >= 0.0).astype(np.int64)
        if (
            self._calibration is None or self._batch_weights is not None or self._batch_learner is not None
        ):  # what `fit` found has another
            self._calibration = new_calibration(learner)
        taken: Any = slice(None) if order is None else order.astype(np.int64)
        self._calibration.learn(scores, targets[taken], weight[taken] if weight.size else weight)
        return predicted

    def _options(self) -> LearnerOptions:
        """The learner's options, validated; class weights and the seed follow."""
        passes: object = self.passes
        if not isinstance(passes, Integral) or int(passes) < 1:
            raise InvalidParameterError(f"passes={shown(passes)}: give a whole number, 1 or more")
        bits: object = self.hash_bits
        if not isinstance(bits, Integral) or not 1 <= int(bits) <= MOST_BITS:
            raise InvalidParameterError(f"hash_bits={shown(bits)}: give a whole number from 1 to {MOST_BITS}")
        one_of("missing", self.missing, ("error", "zero"))
        return LearnerOptions(
            self.noise_rate, self.margin, self.horizon, self.update, self.optimizer, self.voting,
            bool(self.fit_intercept), self.intercept_scaling, bool(self.normalize), products=self.products,
        )  # fmt: skip
