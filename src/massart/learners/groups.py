"""A mistake bound for every group of rows at once: a pool for everybody, one for each group, mixed by specialists.

A bound on all mistakes is not one on the mistakes of a group, whose labels may have less noise than others. So each
group has a pool of its own, taught its rows alone, and the answer to a row is drawn among the pool of everybody and
those of its groups, with weights that follow their mistakes (kernels/learning/specialists.py). Every group, overlapping
or not, then makes hardly more mistakes than its own pool would, and than the pool of everybody would make on it
(Theorem 21 of docs/theory.md). Groups may join at any time.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.door import NO_WEIGHT, Rows, check_labels, check_outputs
from massart.kernels.learning import pool as kernel
from massart.kernels.learning import specialists
from massart.kernels.learning.mixture import SAMPLE, Total
from massart.kernels.learning.specialists import RATES, Count
from massart.kernels.states import check_specialists
from massart.learners.base import NO_SCORES, BinaryLearner
from massart.learners.certificate import Certificate, certificate_facts
from massart.learners.certify import Prod
from massart.learners.group_columns import MOST_GROUPS, GroupColumns, check_group_names, group_columns
from massart.learners.locking import locked
from massart.learners.pool import Grid, Pool
from massart.options import LearnerOptions

__all__ = ["Grouped"]

_EVERYBODY = "everybody."  # begins the names of its arrays


class Grouped(BinaryLearner):
    """A pool for everybody and a pool per group; `learn_rows` and `learn_many` take the groups of the rows.

    >>> learner = Grouped(2)
    >>> X = np.random.default_rng(0).normal(size=(4000, 2))
    >>> group = np.where(np.arange(4000) % 4 == 0, "few", "many")
    >>> y = np.where(X[:, 0] > 0, 1, -1) * np.where(group == "few", -1, 1)  # few are labelled the other way round
    >>> scores = learner.learn_many(X, y, group)
    >>> learner.names, learner.group_rounds("few"), learner.group_mistakes("few") < 50
    (['few', 'many'], 1000, True)
    """

    _no_average = np.empty((0, 0))

    def __init__(
        self,
        n_features: int,
        options: LearnerOptions = LearnerOptions(),  # noqa: B008 - frozen
        *,
        grid: Grid | None = None,
        **changes: Any,
    ) -> None:
        self._begin(Pool(n_features, options, grid=grid, **changes))

    @classmethod
    def of(cls, pool: Pool) -> Self:
        """A learner of groups that goes on from a pool: what it has learned is everybody's."""
        learner = cls.__new__(cls)
        learner._begin(pool)
        return learner

    def _begin(self, pool: Pool) -> None:
        counts, t = np.zeros((1, len(Count))), pool._t
        counts[0, [Count.ROUNDS, Count.MISTAKES]] = t[Total.ROUNDS], t[Total.MISTAKES]
        counts[0, [Count.WRONG, Count.EXPECTED, Count.COMMON]] = t[Total.WRONG]
        self._set(pool, [], [], np.full((1, RATES), theory.everybody_prior() / RATES), counts)

    def _set(
        self, everybody: Pool, pools: list[Pool], names: list[str], omega: NDArray[Any], counts: NDArray[Any]
    ) -> None:
        self.everybody, self.pools, self.names = everybody, pools, names
        self._number = {name: number for number, name in enumerate(names)}
        self._omega, self._counted = omega, counts
        self._scaled, self._class_weight = everybody._scaled, everybody._class_weight

    def learn_rows(
        self,
        rows: Rows,
        y: NDArray[np.int8],
        weight: NDArray[np.float64] = NO_WEIGHT,
        order: NDArray[np.uint64] | None = None,
        average: NDArray[np.float64] = NO_SCORES,
        scores: NDArray[np.float64] = NO_SCORES,
        groups: GroupColumns | None = None,
    ) -> None:
        """`BinaryLearner.learn_rows`; None: the rows are in no group. Weights are at most 1."""
        with self._lock:
            average = average if average.size else self._no_average
            self._learn_groups(rows, y, weight, order, average, scores, groups)

    def learn_many(self, X: Any, y: Any, groups: Any = None) -> NDArray[np.float64]:
        """Predict, then learn, each row with its label -1 or +1; return the scores of the predictions."""
        rows = self._rows(X)
        scores, labels = np.empty(rows.count), check_labels(y, rows.count)
        own = None if groups is None else group_columns(groups, rows.count)
        self.learn_rows(rows, labels, scores=scores, groups=own)
        return scores

    def _learn(self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any) -> None:
        self._learn_groups(rows, y, weight, order, average, scores, None)

    def _learn_groups(
        self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any, groups: GroupColumns | None
    ) -> None:
        rows.check_width(self.n_features)
        rows.check_batch(order, y, weight)
        if groups is not None and groups.n_rows != rows.count:
            raise InvalidDataError(
                f"there are {rows.count} rows, but groups of {groups.n_rows}: give those of each row"
            )
        taken = np.arange(rows.count, dtype=np.uint64) if order is None else order
        check_outputs(scores, taken.size, self._no_average, self._no_average)  # everybody's pool checks the average
        if weight.size and taken.size and weight[taken.astype(np.int64)].max() > 1.0:
            raise InvalidDataError(
                f"sample_weight is {weight.max():g}, but with groups weights may be 1 at most: divide all of them by "
                "the largest that may ever come"
            )
        rows = rows.check() if groups is not None else rows  # a pool copies its state before rows that may be invalid
        own = None if groups is None else groups.taken(order)
        joining = [] if own is None else [name for name in own.in_order() if name not in self._number]
        check_group_names(joining)
        if len(self.names) + len(joining) > MOST_GROUPS:
            raise InvalidDataError(
                f"groups has more than {MOST_GROUPS:,} different groups, and each has learners of its own: give "
                "columns with fewer values"
            )
        common = np.empty(taken.size)
        self.everybody.learn_rows(rows, y, weight, order, average, common)  # refuses what is not valid
        for name in joining:
            self._join(name)
        starts, numbers, places = self._members(own, taken.size)
        said = np.empty(numbers.size)
        for number, where in places:
            found = np.empty(where.size)
            self.pools[number].learn_rows(rows, y, weight, taken[self._rows_of(starts, where)], scores=found)
            said[where] = found
        answers = scores if scores.size else np.empty(taken.size)
        batch, classes = (taken.size, taken, y, weight), np.array(self.class_weight)
        how = float(self.everybody._how[kernel.Setting.VOTING]), np.uint64(~self.everybody._seed[0])
        specialists.mix_specialists(
            common, said, (starts, numbers), batch, classes, how, self._omega, self._counted, answers
        )

    def _members(self, groups: GroupColumns | None, count: int) -> tuple[Any, Any, list[tuple[int, NDArray[np.int64]]]]:
        """(starts, numbers): the groups of each round, one after the other; and where each group is among these."""
        if groups is None or not self.names:
            return np.zeros(count + 1, np.uint32), np.empty(0, np.uint32), []
        table = groups.numbered(self._number)
        inside = table >= 0
        starts = np.concatenate(([0], np.cumsum(inside.sum(axis=1)))).astype(np.uint32)
        numbers = table[inside].astype(np.uint32)
        by_group = np.argsort(numbers, kind="stable")
        present, first = np.unique(numbers[by_group], return_index=True)
        return starts, numbers, list(zip(present.tolist(), np.split(by_group, first[1:]), strict=True))

    @staticmethod
    def _rows_of(starts: NDArray[np.uint32], where: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rounds to which places among the groups of all rounds belong."""
        return np.asarray(np.searchsorted(starts, where, side="right") - 1)

    def _join(self, name: str) -> None:
        """A group that was not met before: a pool that knows nothing, and two specialists."""
        group, own = len(self.names), self.everybody
        columns = own._S[:, kernel.DIAGONAL : kernel.DIAGONAL + own._plain]
        grid = columns[[kernel.Column.ETA, kernel.Column.GAMMA, kernel.Column.CONSTANT]].T
        how = own._how
        options = LearnerOptions(
            normalize=bool(how[kernel.Setting.UNIT]),
            voting="sample" if how[kernel.Setting.VOTING] == SAMPLE else "majority",
            fit_intercept=bool(how[kernel.Setting.BIAS]),
            intercept_scaling=float(how[kernel.Setting.BIAS]) or 1.0,
            class_weight=own._class_weight,
            seed=int(np.random.SeedSequence(int(own._seed[0]), spawn_key=(group,)).generate_state(1, np.uint64)[0]),
        )
        pool = Pool(own.n_features, options, grid=[(float(p), float(g), bool(c)) for p, g, c in grid])
        if own._t[Total.UNPROVED]:
            pool.mark_unproved()
        self.pools.append(pool)
        self.names.append(name)
        self._number[name] = group
        self._omega = np.concatenate([self._omega, np.full((2, RATES), theory.group_prior(group + 1) / RATES)])
        self._counted = np.concatenate([self._counted, np.zeros((1, len(Count)))])

    @locked
    def followed(self, groups: GroupColumns) -> NDArray[np.int64]:
        """(n,) whose vote predicts each row, the pool with the largest weight: -1, everybody's, or that of a group."""
        shares = np.empty(len(self._omega))
        specialists.shares_of(self._omega, shares)
        found, most = np.full(groups.n_rows, -1, np.int64), np.zeros(groups.n_rows)
        alike = np.full(groups.n_rows, shares[0])  # of the pool of everybody
        for numbers in groups.numbered(self._number).T:
            inside = numbers >= 0
            alike[inside] += shares[2 + 2 * numbers[inside]]
            own = np.where(inside, shares[1 + 2 * np.maximum(numbers, 0)] if self.names else 0.0, -1.0)
            found[own > most] = numbers[own > most]
            most = np.maximum(most, own)
        found[alike >= most] = -1
        return found

    def leaders_of(self, group: int) -> NDArray[np.float64]:
        """(1, n_features + 1): the weights of the vote of a group's pool, by its number; -1: of everybody's."""
        return (self.everybody if group < 0 else self.pools[group]).leaders()

    def score(self, x: NDArray[Any]) -> float:
        """The score of the vote of everybody's pool."""
        return self.everybody.score(x)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of everybody's vote, without the constant coordinate."""
        return self.everybody.weights

    def _counts(self) -> tuple[float, float]:
        return self._counted[0, Count.ROUNDS], self._counted[0, Count.MISTAKES]

    def group_rounds(self, name: str) -> int:
        """Rows of a group learned."""
        return int(self._counted[1 + self._of(name), Count.ROUNDS])

    def group_mistakes(self, name: str) -> int:
        """Rows of a group that were predicted wrongly just before they were learned."""
        return int(self._counted[1 + self._of(name), Count.MISTAKES])

    def _of(self, name: Any) -> int:
        if not isinstance(name, str) or name not in self._number:
            known = ", ".join(map(repr, self.names[:5])) + (", ..." if len(self.names) > 5 else "")
            raise InvalidParameterError(f"group={name!r} was not met; the groups are {known or 'none yet'}")
        return self._number[name]

    def certificate(self, confidence: float = 0.99, group: str | None = None) -> Certificate:
        """What is proved of all mistakes so far, or of those on a group's rows; valid at every round."""
        own = self.everybody if group is None else self.pools[self._of(group)]
        counted = self._counted[0 if group is None else 1 + self._of(group)]
        wrong, expected, coins = (float(counted[key]) for key in (Count.WRONG, Count.EXPECTED, Count.COINS))
        return own.certificate_with(Prod(wrong, expected, coins, float(own._t[Total.HEAVIEST])), confidence)

    @locked
    def facts(self) -> dict[str, dict[str, Any]]:
        """Rows, mistakes, error and certificate of each group, by its name, for JSON."""
        return {
            name: {
                "rows": self.group_rounds(name),
                "mistakes": self.group_mistakes(name),
                "error": self.group_mistakes(name) / self.group_rounds(name),
                "certificate": certificate_facts(self.certificate(group=name)),
            }
            for name in self.names
        }

    def lower_noise_rate(self, confidence: float = 0.99) -> float:
        """That of everybody's pool."""
        return self.everybody.lower_noise_rate(confidence)

    def mark_unproved(self) -> None:
        """Certify nothing from now on: what the theorem assumes is known not to hold."""
        for pool in (self.everybody, *self.pools):
            pool.mark_unproved()

    @property
    def positive_weight(self) -> float:
        """The sum of the sample weights of rows labelled +1."""
        return self.everybody.positive_weight

    def shares(self) -> dict[str, float]:
        """The weight of each expert of everybody's pool."""
        return self.everybody.shares()

    @locked
    def columns(self) -> NDArray[np.float64]:
        """(1, experts, n_features + 1): the weights of every expert of all pools."""
        return np.concatenate([pool.columns() for pool in (self.everybody, *self.pools)], axis=1)

    def summed(self, average: Any) -> tuple[NDArray[np.float64], float]:
        """Of everybody's pool: see `Pool.summed`."""
        return self.everybody.summed(average)

    def new_average(self) -> Any:
        """Zeros as `learn_rows(average=...)` takes them: see `Pool.new_average`."""
        return self.everybody.new_average()

    @locked
    def leaders(self) -> NDArray[np.float64]:
        """(1, n_features + 1): the weights of everybody's vote, which predict rows in no group."""
        return self.everybody.leaders()

    @property
    def n_features(self) -> int:
        """The columns of a row."""
        return self.everybody.n_features

    @locked
    def widen(self, n_features: int) -> None:
        """Make room for more columns, in all pools: see `Pool.widen`."""
        for pool in (self.everybody, *self.pools):
            pool.widen(n_features)

    @locked
    def narrow(self, n_features: int) -> None:
        """Drop columns at the end, of which no pool must know anything: the inverse of `widen`."""
        for pool in (self.everybody, *self.pools):
            pool.check_narrower(n_features)
        for pool in (self.everybody, *self.pools):
            pool.narrow(n_features)

    @locked
    def arrays(self) -> dict[str, Any]:
        """All of its state; `from_arrays` restores it bit for bit."""
        own: dict[str, Any] = {"groups": np.array(self.names, np.str_), "specialists": self._omega}
        own["counts"] = self._counted
        for prefix, pool in ((_EVERYBODY, self.everybody), *((f"{k}.", pool) for k, pool in enumerate(self.pools))):
            own |= {f"{prefix}{part}": array for part, array in pool.arrays().items()}
        return own

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The learner whose `arrays()` these are."""
        given = np.asarray(arrays["groups"])
        if given.ndim != 1 or given.dtype.kind != "U" or given.size > MOST_GROUPS:
            raise ModelFileError(f"array 'groups' is not a list of at most {MOST_GROUPS} names")
        names = [str(name) for name in given.tolist()]
        check_group_names(names)
        if len(set(names)) < len(names):
            raise ModelFileError("array 'groups' holds a name twice")
        check_specialists(arrays, len(names))
        parts: dict[str, dict[str, Any]] = {}
        for name, array in arrays.items():
            whose, dot, part = name.partition(".")
            if dot:
                parts.setdefault(f"{whose}.", {})[part] = array
        everybody, *pools = (
            Pool.from_arrays(parts[key]) for key in (_EVERYBODY, *(f"{k}." for k in range(len(names))))
        )
        like = everybody._how.tolist()
        if any(pool.n_features != everybody.n_features or pool._how.tolist() != like for pool in pools):
            raise ModelFileError(
                "the pools of groups are not like that of everybody: columns, or how they learn, differ"
            )
        rounds = [pool._t[Total.ROUNDS] for pool in (everybody, *pools)]
        if arrays["counts"][:, Count.ROUNDS].tolist() != rounds:
            raise ModelFileError("array 'counts' does not hold the rounds of the pools")
        learner = cls.__new__(cls)
        learner._set(everybody, pools, names, arrays["specialists"], arrays["counts"])
        return learner

    @locked
    def copy(self) -> Self:
        """An independent learner in the same state."""
        twin = type(self).__new__(type(self))
        pools = [pool.copy() for pool in self.pools]
        twin._set(self.everybody.copy(), pools, list(self.names), self._omega.copy(), self._counted.copy())
        return twin
