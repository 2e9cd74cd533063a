"""The online halfspace: predict, then learn, one row or many; its state is two arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.errors import InvalidDataError, InvalidParameterError, shown
from massart.kernels.door import FiniteRows, Rows, check_labels, check_outputs, check_weights, regular, row_of
from massart.kernels.learning import halfspace as kernel
from massart.kernels.states import check_halfspace
from massart.learners.base import BinaryLearner, check_columns, check_narrower, check_wider, narrowed, widened
from massart.learners.certificate import Certificate
from massart.learners.certify import certify, lower_noise_rate
from massart.options import LARGEST, SMALLEST, LearnerOptions

_FLOAT64 = np.dtype(np.float64)
_KINDS = {"ftrl": kernel.FTRL, "fixed": kernel.FIXED, "adagrad-norm": kernel.ADAGRAD}
_MOST_WEIGHTED = 0.49  # the largest noise rate that class weights may make


def make_rule(options: LearnerOptions) -> NDArray[np.float64]:
    """The rule vector of one halfspace whose noise rate and margin are known.

    Class weights raise the noise rate (Theorem 13).

    >>> make_rule(LearnerOptions(0.1, 0.05)).tolist()
    [0.0, 0.1, 0.05, 0.0, 1.0, 1.0, 1.0, 1.0]
    >>> make_rule(LearnerOptions(0.2, 0.05, class_weight=(1.0, 2.0))).round(3).tolist()
    [0.0, 0.333, 0.05, 0.0, 1.0, 1.0, 1.0, 2.0]
    """
    noise_rate, margin, horizon = weighted_noise_rate(options), float(options.margin or 0.0), options.horizon
    kind, pace = kernel.PAPER, float(horizon or 0.0)
    if options.update != "paper":
        name = options.optimizer
        if name == "auto":
            name = "ftrl" if horizon is None else "fixed"
        kind = _KINDS[name]
        pace = theory.fixed_step(noise_rate, margin, float(horizon or 0.0)) if name == "fixed" else 0.0
    return np.array([kind, noise_rate, margin, pace, options.normalize, options.constant, *options.class_weight])


def weighted_noise_rate(options: LearnerOptions) -> float:
    """The noise rate of mistakes that weigh what their label does (Theorem 13).

    From one half on nothing is proved, see `is_proved`; the step then uses a rate just below it.

    >>> weighted_noise_rate(LearnerOptions(0.2, class_weight=(1.0, 100.0)))
    0.49
    """
    noise_rate, (negative, positive) = float(options.noise_rate or 0.0), options.class_weight
    if negative == positive:
        return noise_rate
    return max(noise_rate, min(_MOST_WEIGHTED, theory.class_weight_noise_rate(noise_rate, positive / negative)))


def is_proved(options: LearnerOptions) -> bool:
    """Whether weighted mistakes have a noise rate for which Theorem 13 says something."""
    noise_rate, (negative, positive) = float(options.noise_rate or 0.0), options.class_weight
    return negative == positive or theory.class_weight_noise_rate(noise_rate, positive / negative) <= _MOST_WEIGHTED


def expert_name(noise_rate: float, margin: float, constant: bool = True) -> str:
    """The name of a learner with a mistake bound among the experts.

    >>> expert_name(0.05, 1 / 16), expert_name(0.05, 1 / 128, constant=False)
    ('bounded, noise 0.05, margin 0.062', 'bounded, noise 0.05, margin 0.0078, no constant')
    """
    return f"bounded, noise {noise_rate:g}, margin {margin:.2g}{'' if constant else ', no constant'}"


def initial_state(rule: NDArray[np.float64]) -> NDArray[np.float64]:
    """The state of a halfspace with w = 0 that has learned no row."""
    s = np.zeros(len(kernel.State))
    s[kernel.State.SCALE] = 1.0
    noise_rate, margin = float(rule[kernel.Rule.ETA]), float(rule[kernel.Rule.GAMMA])
    if rule[kernel.Rule.KIND] == kernel.PAPER:
        slack = theory.paper_slack(noise_rate, margin, max(1.0, float(rule[kernel.Rule.PACE])))
        s[kernel.State.CAP] = theory.paper_gradient_cap(noise_rate, slack, theory.paper_floor(slack, margin))
    else:
        s[kernel.State.CAP] = theory.gradient_cap(noise_rate, margin)
    if rule[kernel.Rule.KIND] == kernel.FTRL:
        s[kernel.State.SCALE] = 1.0 / np.sqrt(2.0 * (s[kernel.State.CAP] * s[kernel.State.CAP]))
    if rule[kernel.Rule.KIND] == kernel.FIXED:
        s[kernel.State.SCALE] = rule[kernel.Rule.PACE]
    return s


class Halfspace(BinaryLearner):
    """Online linear classifier for known noise rate and margin: E[mistakes] <= noise_rate * T + O(sqrt(T) / margin).

    That is Theorem 1 of docs/theory.md, about the predictions made just before each row is learned: those that `learn`
    and `learn_many` return as scores. It holds if labels are flipped with probability at most `noise_rate`, each flip
    independent of the past, and the margin is at least `margin`. Labels are -1 and +1, sign(0) is +1. A row costs time
    linear in its non-zeros, whatever `n_features` is.

    Parameters
    ----------
    n_features : int
        Number of coordinates of a row.
    noise_rate : float
        Upper bound on the probability that a label is flipped, in [0, 1/2).
    margin : float
        Lower bound on |w*.z| for some unit vector w*, in (0, 1], where z is the row as it is learned: with its constant
        coordinate if there is an intercept, and scaled to norm 1 if `normalize`. Without an intercept this is
        |w*.x| / |x|. With one, a target w.x of margin |w.x| / |x| >= g has g |x| / sqrt(|x|^2 + intercept_scaling^2):
        little if rows are short (Theorem 15 of docs/theory.md, `theory.scaled_margin`).
    horizon : float, default=None
        Number of rounds to come; None if it is not known.
    update : {"inverse-margin", "paper"}, default="inverse-margin"
        The update with regret of order sqrt(T) / margin, or Algorithm 1 of the paper as printed.
    optimizer : {"auto", "ftrl", "fixed", "adagrad-norm"}, default="auto"
        "fixed" needs `horizon`; "auto" is "fixed" with a horizon and "ftrl" without.
    fit_intercept : bool, default=True
        Whether to add a constant coordinate.
    intercept_scaling : float, default=1.0
        Its value. Near the usual length of a row it costs the margin least.
    normalize : bool, default=True
        Whether to scale each row, with its constant coordinate, to norm 1. The sign of w.x does not change. If False,
        the margin is in the units of the rows, and the bound of Theorem 1 is for rows of norm at most 1.
    class_weight : tuple of two floats, default=(1.0, 1.0)
        Weights of the labels -1 and +1. Mistakes are then counted so weighted, and the noise rate that counts is
        `theory.class_weight_noise_rate` (Theorem 13 of docs/theory.md).

    Examples
    --------
    >>> learner = Halfspace(2, noise_rate=0.1, margin=0.3)
    >>> for x, y in [([1.0, 0.5], 1), ([-1.0, 0.2], -1), ([0.9, -0.3], 1), ([-0.8, -0.1], -1)]:
    ...     row = np.array(x)
    ...     print(learner.predict(row), end=" ")
    ...     score = learner.learn(row, y)
    1 1 1 -1
    >>> learner.mistakes, learner.rounds
    (1, 4)
    """

    _no_average = np.empty(0)

    def __init__(
        self,
        n_features: int,
        noise_rate: float,
        margin: float,
        horizon: float | None = None,
        *,
        update: str = "inverse-margin",
        optimizer: str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        normalize: bool = True,
        class_weight: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        options = LearnerOptions(
            noise_rate, margin, horizon, update, optimizer, "sample", fit_intercept, intercept_scaling, normalize,
            class_weight,
        )  # fmt: skip
        if not options.is_known:
            raise InvalidParameterError(f"noise_rate={noise_rate!r}, margin={margin!r}: Halfspace needs both numbers")
        self._begin(n_features, options)

    def _begin(self, n_features: int, options: LearnerOptions) -> None:
        check_columns(n_features)
        rule = make_rule(options)
        self._set(rule, np.zeros(n_features + 1), initial_state(rule))
        if not is_proved(options):
            self.mark_unproved()

    def _set(self, rule: NDArray[np.float64], v: NDArray[np.float64], s: NDArray[np.float64]) -> None:
        self._rule = rule  # (RULE_SIZE,) the options
        self._scaled = bool(rule[kernel.Rule.UNIT])
        self._class_weight = float(rule[kernel.Rule.NEGATIVE]), float(rule[kernel.Rule.POSITIVE])
        self._v = v  # (n_features + 1,) the last for the constant coordinate; w = scale * v
        self._s = np.append(s[: len(kernel.State)], 0.0)  # (STATE_SIZE + 1,) scale, norms, counts; TAKEN
        self._together()

    def _together(self) -> None:
        """Arrays and the shape of a row that fits them, to be taken at once: another thread may replace them."""
        self._state = ((self._v.size - 1,), self._rule, self._v, self._s)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_state"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._together()  # the very arrays, which joblib would have copied

    def score(self, x: NDArray[Any]) -> float:
        """w.x for one row, the row scaled: its sign is the prediction, its size the margin."""
        shape, rule, v, s = self._state
        x = _row(x, shape)
        score: float = kernel.score_row(x, rule, v, s)
        if not isfinite(score):
            if score == inf:
                with self._lock:  # another thread learns a batch
                    return self.score(x)
            Rows.of(x[None, :]).refuse(None, 0)  # the row is not finite, or too long
        return score

    def learn(self, x: NDArray[Any], y: float, weight: float = 1.0) -> float:
        """Learn one row with its label -1 or +1; return the score that was its prediction."""
        shape, rule, v, s = self._state
        x = _row(x, shape)
        try:
            if y not in (1, -1):
                raise InvalidDataError(
                    f"The label is {shown(y)}: Halfspace learns -1 and +1; MassartClassifier takes any labels"
                )
            if not SMALLEST <= weight <= LARGEST:
                if weight == 0.0:
                    return self.score(x)
                raise InvalidDataError(
                    f"The weight is {shown(weight)}: it must be 0 or between {SMALLEST:g} and {LARGEST:g}"
                )
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidDataError):
                raise
            raise InvalidDataError(
                f"The label is {shown(y)} and the weight {shown(weight)}: give -1 or +1, and a number"
            ) from None
        score: float = kernel.learn_row(x, float(y), float(weight), rule, v, s)
        if not isfinite(score):
            if score == inf:
                with self._lock:  # another thread learns a batch
                    return self.learn(x, y, weight)
            Rows.of(x[None, :]).refuse(None, 0)
        return score

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only the caller changes this learner, whatever other threads do.

        The kernel of a single row holds Python's lock from beginning to end, so it needs none of its own: it looks at
        TAKEN, and waits for the lock only if it must. A lock costs a fifth of what a row does.
        """
        with self._lock:
            s = self._s
            s[kernel.TAKEN] = 1.0
            try:
                yield
            finally:
                if self._s is s:  # else these arrays have been replaced, and are no longer used
                    s[kernel.TAKEN] = 0.0

    def learn_many(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray[np.float64]:
        """Predict, then learn, each row of an array or CSR matrix in turn; return the scores that were predictions."""
        rows = self._rows(X)
        labels, scores = check_labels(y, rows.count), np.empty(rows.count)
        if sample_weight is None:
            self.learn_rows(rows, labels, scores=scores)
            return scores
        rows = rows.check()
        weight = check_weights(sample_weight, rows.count)
        order = np.flatnonzero(weight).astype(np.uint64)
        self.learn_rows(rows, labels, weight, order, scores=scores[: order.size])
        return scores[: order.size]

    def _learn(self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any) -> None:
        sure = isinstance(rows, FiniteRows) or rows.count == 1  # a kernel refuses a row before it learns from it
        learn = kernel.learn_dense if rows.csr is None else kernel.learn_csr
        _, rule, v, s = self._state
        rows.check_width(v.size - 1)
        check_outputs(scores, rows.count if order is None else order.size, average, v)
        s[kernel.TAKEN] = 1.0
        before = None if sure else (v.copy(), s.copy(), average.copy())
        try:
            for data, batch, place in rows.parts(order, y, weight):
                own = scores[place] if scores.size else scores
                bad = learn(data, batch, rule, v, average, s, own)
                if bad >= 0:
                    if before is not None:
                        v[:], s[:], average[:] = before
                    rows.refuse(order, place.start + bad)
        finally:
            s[kernel.TAKEN] = 0.0

    @property
    def weights(self) -> NDArray[np.float64]:
        """The vector w, without the constant coordinate."""
        return np.asarray(self._s[kernel.State.SCALE] * self._v[:-1])

    @property
    def direction(self) -> NDArray[np.float64]:
        """The weights up to a positive factor, without a copy: what an adversary looks at."""
        return self._v[:-1]

    @property
    def intercept(self) -> float:
        """The weight of the constant coordinate."""
        return float(self._s[kernel.State.SCALE] * self._v[-1] * self._rule[kernel.Rule.BIAS])

    def _counts(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly just before."""
        return self._s[kernel.State.ROUNDS], self._s[kernel.State.MISTAKES]

    def certificate(self, confidence: float = 0.99) -> Certificate:
        """What is proved of the mistakes so far, and whether they contradict the declaration; valid at every round."""
        return certify(self._rule, self._s, confidence)

    def lower_noise_rate(self, confidence: float = 0.99) -> float:
        """A lower confidence limit for the noise rate, if the margin is as declared; valid at every round.

        0 while nothing can be said, and if rows had unequal sample weights.
        """
        return lower_noise_rate(self._rule, self._s, confidence)

    def mark_unproved(self) -> None:
        """Certify nothing from now on: what the theorem assumes is known not to hold."""
        self._s[kernel.State.UNPROVED] = 1.0

    @property
    def positive_weight(self) -> float:
        """The sum of the sample weights of rows labelled +1."""
        return float(self._s[kernel.State.POSITIVES] / self._class_weight[1])

    def shares(self) -> dict[str, float]:
        """Itself: it is its only expert."""
        return {expert_name(self._rule[kernel.Rule.ETA], self._rule[kernel.Rule.GAMMA]): 1.0}

    def columns(self) -> NDArray[np.float64]:
        """(1, 1, n_features + 1): w with its intercept, as one class with one expert."""
        return self._with_intercept(self._s[kernel.State.SCALE] * self._v)

    def _with_intercept(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The last weight belongs to the constant coordinate: times its value it is the intercept."""
        weights[-1] *= self._rule[kernel.Rule.BIAS]
        return weights[None, None, :]

    def summed(self, average: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """(1, 1, n_features + 1): the sum of weight * w over all rounds, and the sum of weights.

        `average` must have been given to `learn_rows` from the first round on.
        """
        total = self._with_intercept(self._s[kernel.State.SCALED] * self._v - average)
        return total, float(self._s[kernel.State.WEIGHT])

    def new_average(self) -> NDArray[np.float64]:
        """Zeros of the shape that `learn_rows(average=...)` takes."""
        return np.zeros_like(self._v)

    def leaders(self) -> NDArray[np.float64]:
        """(1, n_features + 1): the weights that predict now."""
        return np.asarray(self.columns()[0])

    @property
    def n_features(self) -> int:
        """The columns of a row."""
        return int(self._v.size - 1)

    def widen(self, n_features: int) -> None:
        """Make room for more columns: from now on as if there had been so many from the start, bit for bit."""
        with self.held():
            check_wider(n_features, self.n_features)
            if n_features > self.n_features:
                self._set(self._rule, widened(self._v, np.zeros(n_features + 1)), self._s)

    def narrow(self, n_features: int) -> None:
        """Drop columns at the end, which must all have weight 0: the inverse of `widen`."""
        with self.held():
            check_narrower(n_features, self._v)
            if n_features < self.n_features:
                self._set(self._rule, narrowed(self._v, n_features), self._s)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""
        return {"rule": self._rule, "weights": self._v, "state": self._s[: len(kernel.State)]}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        check_halfspace(arrays)
        learner = cls.__new__(cls)
        learner._set(arrays["rule"], arrays["weights"], arrays["state"])
        return learner


def _row(x: Any, shape: tuple[int]) -> NDArray[Any]:
    if type(x) is np.ndarray and x.dtype == _FLOAT64 and x.shape == shape:
        return regular(x)
    row = row_of(x, shape[0])
    return regular(np.asarray(row, None if row.dtype == np.float32 else np.float64))


def make_halfspace(n_features: int, options: LearnerOptions) -> Halfspace:
    """A new learner whose noise rate and margin are known."""
    learner = Halfspace.__new__(Halfspace)
    learner._begin(n_features, options)
    return learner
