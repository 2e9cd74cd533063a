"""The learner for so many classes; with one learner per class against the rest, the highest score answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.door import NO_WEIGHT, Rows
from massart.kernels.states import check_arrays
from massart.learners.base import Learner
from massart.learners.certificate import Certificate
from massart.learners.certify import certify_classes
from massart.learners.class_pool import ClassPool
from massart.learners.drift import Drifting
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace, is_proved, make_halfspace, weighted_noise_rate
from massart.learners.locking import locked
from massart.learners.pool import Pool, expert_grid
from massart.learners.products import Products, check_few
from massart.options import LearnerOptions

__all__ = ["Binary", "Classes", "OneVsRest", "make_grouped", "make_learner", "new_learner", "targets_of", "with_groups"]

Binary = Halfspace | Pool | Drifting | Products | Grouped  # the learners of two classes
_ROUNDS, _MISTAKES, _WRONG, _WEIGHT, _SIZE = range(5)


def make_learner(n_features: int, options: LearnerOptions) -> Binary:
    """One halfspace if noise rate and margin are known, else a pool; two if it may forget, or has products.

    >>> type(make_learner(5, LearnerOptions(noise_rate=0.1, margin=0.05))).__name__
    'Halfspace'
    >>> type(make_learner(5, LearnerOptions())).__name__, type(make_learner(5, LearnerOptions(horizon=1000))).__name__
    ('Pool', 'Drifting')
    """
    if options.is_known:
        return make_halfspace(n_features, options)
    known = None if options.noise_rate is None else weighted_noise_rate(options)
    grid = expert_grid(known, options.margin, fit_intercept=options.fit_intercept)
    learner: Pool | Drifting | Products
    if options.products:
        learner = Products(n_features, options, grid=grid)
    elif options.horizon is None:
        learner = Pool(n_features, options, grid=grid)
    else:
        learner = Drifting(n_features, options.horizon, options, grid=grid)
    if options.noise_rate is not None and not is_proved(options):
        learner.mark_unproved()
    return learner


def make_grouped(n_features: int, options: LearnerOptions) -> Grouped:
    """A learner of groups: pools, of one expert with a mistake bound if noise rate and margin are known.

    >>> make_grouped(5, LearnerOptions(horizon=1000))
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: groups are for learners that keep all rounds: leave horizon=1000 out
    """
    usual_options = {"horizon": None, "update": "inverse-margin", "optimizer": "auto", "products": False}
    for name, usual in usual_options.items():
        if getattr(options, name) != usual:
            only = {"horizon": "keep all rounds", "products": "are linear"}.get(name, "mix experts")
            raise InvalidParameterError(
                f"groups are for learners that {only}: leave {name}={getattr(options, name)!r} out"
            )
    known = None if options.noise_rate is None else weighted_noise_rate(options)
    if known is not None and options.margin is not None:
        learner = Grouped(n_features, options, grid=[(known, options.margin, options.fit_intercept)])
    else:
        grid = expert_grid(known, options.margin, fit_intercept=options.fit_intercept)
        learner = Grouped(n_features, options, grid=grid)
    if options.noise_rate is not None and not is_proved(options):
        learner.mark_unproved()
    return learner


class OneVsRest(Learner):
    """`members[k]` separates class k from the others; `learn_rows` takes numbers of classes.

    >>> learner = OneVsRest([Halfspace(2, 0.1, 0.1) for _ in range(3)])
    >>> X = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]] * 20)
    >>> answers = learner.learn_rows(Rows.of(X), np.array([0, 1, 2] * 20))
    >>> learner.rounds, learner.mistakes < 20
    (60, True)
    """

    def __init__(self, members: Sequence[Any]) -> None:
        self.members: list[Any] = list(members)
        self._t = np.zeros(_SIZE)  # rounds, mistakes, sums of sample weights over mistakes and over all rows

    @locked
    def learn_rows(
        self,
        rows: Rows,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64] = NO_WEIGHT,
        order: NDArray[np.uint64] | None = None,
        average: Sequence[Any] | None = None,
        scores_of: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int64]:
        """Predict, then learn, rows in the given order, all or none: every member refuses the same rows.

        Returns the predictions, numbers of classes; `scores_of` receives the scores, (rows, classes).
        """
        count = rows.count if order is None else order.size
        highest, answers = np.full(count, -np.inf), np.zeros(count, np.int64)
        scores = np.empty(count)
        for k, member in enumerate(self.members):
            own: dict[str, Any] = {} if average is None else {"average": average[k]}
            y = np.where(labels == k, 1, -1).astype(np.int8)
            member.learn_rows(rows, y, weight, order, scores=scores, **own)
            answers[scores > highest] = k
            np.maximum(highest, scores, out=highest)
            if scores_of is not None:
                scores_of[:, k] = scores
        taken: Any = slice(None) if order is None else order.astype(np.int64)
        wrong = answers != labels[taken]
        self._t[_ROUNDS] += count
        self._t[_MISTAKES] += np.count_nonzero(wrong)
        self._t[_WRONG] += weight[taken][wrong].sum() if weight.size else np.count_nonzero(wrong)
        self._t[_WEIGHT] += weight[taken].sum() if weight.size else count
        return answers

    def _counts(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly just before."""
        return self._t[_ROUNDS], self._t[_MISTAKES]

    def certificate(self, confidence: float = 0.99) -> Certificate:
        """What is proved of the wrong answers so far: the bounds of the members add up. Valid at every round."""
        theory.check_confidence(confidence)
        each = 1 - (1 - confidence) / len(self.members)
        return certify_classes(
            [member.certificate(each) for member in self.members],
            [min(member.class_weight) for member in self.members],
            (float(self._t[_WEIGHT]), float(self._t[_WRONG]), max(member.positive_weight for member in self.members)),
            confidence,
        )

    def lower_noise_rate(self, confidence: float = 0.99) -> float:
        """The largest of its members', each at its share of the doubt: some member's labels are flipped so often."""
        each = 1 - (1 - confidence) / len(self.members)
        return max(float(member.lower_noise_rate(each)) for member in self.members)

    def mark_unproved(self) -> None:
        """Certify nothing from now on: what the theorem assumes is known not to hold."""
        for member in self.members:
            member.mark_unproved()

    @locked
    def columns(self) -> NDArray[np.float64]:
        """(classes, experts, n_features + 1): the weights of every expert, intercept last."""
        return np.concatenate([member.columns() for member in self.members])

    @locked
    def leaders(self) -> NDArray[np.float64]:
        """(classes, n_features + 1): the weights that predict now."""
        return np.concatenate([member.leaders() for member in self.members])

    @locked
    def summed(self, average: Sequence[Any]) -> tuple[NDArray[np.float64], float]:
        """(classes, columns, n_features + 1): the sum of weight * w over all rounds, and the sum of weights."""
        sums = [member.summed(own) for member, own in zip(self.members, average, strict=True)]
        return np.concatenate([total for total, _ in sums]), sums[0][1]

    def new_average(self) -> list[Any]:
        """What `learn_rows(average=...)` takes."""
        return [member.new_average() for member in self.members]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""
        own = {f"{k}.{name}": a for k, member in enumerate(self.members) for name, a in member.arrays().items()}
        return own | {"totals": self._t}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], kind: type[Any]) -> "OneVsRest":
        """The learner whose `arrays()` these are, with members of this kind."""
        parts: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            number, dot, part = name.partition(".")
            if dot:
                parts.setdefault(int(number), {})[part] = array
        if sorted(parts) != list(range(len(parts))) or len(parts) < 2:
            raise ModelFileError("the arrays are not those of one learner per class")
        learner = cls([kind.from_arrays(parts[k]) for k in range(len(parts))])
        totals = arrays["totals"]
        check_arrays({"totals": totals}, {"totals": (_SIZE,)})
        if not (0 <= totals[_MISTAKES] <= totals[_ROUNDS] and totals.min() >= 0):
            raise ModelFileError(f"array 'totals' holds {totals[_MISTAKES]:g} mistakes in {totals[_ROUNDS]:g} rounds")
        learner._t = totals
        return learner

    @locked
    def copy(self) -> "OneVsRest":
        """An independent learner in the same state."""
        twin = OneVsRest([member.copy() for member in self.members])
        twin._t = self._t.copy()
        return twin


Classes = Binary | OneVsRest | ClassPool


def new_learner(
    options: LearnerOptions,
    class_weight: NDArray[np.float64],
    width: int,
    seed: int,
    *,
    grouped: bool = False,
    is_open: bool = False,
) -> Classes:
    """The learner of so many classes; with `is_open`, more of them may come."""
    if grouped and class_weight.size > 2:
        raise InvalidParameterError(f"groups are for two classes, and these are {class_weight.size}: leave them out")
    if is_open and (grouped or options.is_known or options.horizon is not None):
        raise InvalidDataError(
            "classes must be passed on the first call to partial_fit if noise_rate and margin, horizon or groups "
            "are given: name all labels that may ever occur, as in partial_fit(X, y, classes=[0, 1])"
        )
    if class_weight.size == 2 and not is_open:
        make = make_grouped if grouped else make_learner
        return make(width, options.replace(class_weight=tuple(class_weight.tolist()), seed=seed))
    if options.products:
        check_few(width)
    if not options.is_known and options.horizon is None:
        return ClassPool.with_options(width, class_weight, options.replace(seed=seed))
    seeds = np.random.SeedSequence(seed).generate_state(class_weight.size, np.uint64).tolist()
    pairs = zip(class_weight.tolist(), seeds, strict=True)
    return OneVsRest([make_learner(width, options.replace(class_weight=(1.0, w), seed=s)) for w, s in pairs])


def with_groups(learner: Classes) -> Grouped:
    """A learner that has seen no groups, with groups from now on."""
    if not isinstance(learner, Pool):
        raise InvalidParameterError(
            "groups come too late: with more than two classes, products or a horizon there are none, and with "
            "noise_rate and margin given they must come with the first call"
        )
    return Grouped.of(learner.copy())


def targets_of(learner: Classes, labels: NDArray[np.int64]) -> NDArray[Any]:
    """Numbers of classes as a learner takes them: -1 and +1, if it is one of two."""
    return labels if isinstance(learner, OneVsRest) else (2 * labels - 1).astype(np.int8)
