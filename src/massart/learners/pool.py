"""A pool of learners of one halfspace, trained side by side and combined: no parameter to choose.

With noise rate and margin unknown, pairs of a grid are experts: one whose noise rate is not below the true one and
whose margin is not above it keeps its mistake bound. Half of them do without the constant coordinate, which costs short
rows their margin. Conventional experts come on top, so that benign noise costs nothing. The answer makes, in
expectation, hardly more mistakes than the best of them (Theorem 7 of docs/theory.md): labels teach all experts alike,
so nothing is explored. kernels/learning/pool.py is the whole algorithm.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.kernels.door import FiniteRows, Rows, check_outputs, read_only, row_of
from massart.kernels.learning import mixture, recent_vote
from massart.kernels.learning import pool as kernel
from massart.kernels.learning.row_blocks import Block, read_rows
from massart.kernels.learning.rows import mixed
from massart.kernels.learning.simd import LANES
from massart.learners.base import check_columns
from massart.learners.certificate import Certificate
from massart.learners.certify import PoolState, Prod, certify_mixture, lower_pool_noise_rate
from massart.learners.columns import ColumnMap, are_many
from massart.learners.halfspace import expert_name
from massart.learners.locking import locked
from massart.learners.pool_arrays import PoolArrays
from massart.learners.sparse_rows import aligned
from massart.options import LearnerOptions

# A rate too high by a factor of 2 or a margin too small by one of 8 costs an expert little: a coarse grid is enough.
NOISE_RATES = (0.05, 0.15, 0.3, 0.45)
MARGINS = (1 / 16, 1 / 128)
# What is tried of one of them when the other is known.
FINE_NOISE_RATES = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.48)
FINE_MARGINS = tuple(2.0**-k for k in range(1, 9))

Grid = Sequence[tuple[float, float, bool]]  # noise rate, margin, whether it has the constant coordinate


def expert_grid(noise_rate: float | None = None, margin: float | None = None, *, fit_intercept: bool = True) -> Grid:
    """The experts with a mistake bound, of what is known: eight triples (noise rate, margin, constant coordinate).

    With an intercept half of them do without the constant, so that a target through the origin keeps its margin
    however short rows are.

    >>> [pair[:2] for pair in expert_grid(fit_intercept=False)][:3]
    [(0.05, 0.0625), (0.05, 0.0078125), (0.15, 0.0625)]
    >>> expert_grid()[0], expert_grid()[4]
    ((0.05, 0.0625, True), (0.05, 0.0078125, False))
    """
    if not fit_intercept:
        rates = (noise_rate,) if noise_rate is not None else NOISE_RATES if margin is None else FINE_NOISE_RATES
        margins = (margin,) if margin is not None else MARGINS if noise_rate is None else FINE_MARGINS
        return [(rate, gamma, False) for rate in rates for gamma in margins]
    if noise_rate is not None:
        return [(noise_rate, gamma, constant) for constant in (True, False) for gamma in FINE_MARGINS[1::2]]
    small = MARGINS if margin is None else (margin, margin)
    return [
        (rate, gamma, constant) for gamma, constant in zip(small, (True, False), strict=True) for rate in NOISE_RATES
    ]


MOST_EXPERTS = kernel.COLUMNS + kernel.RECENT + 1 + kernel.CENTRED  # in a pool, with few features

_VOTINGS = {"sample": mixture.SAMPLE, "majority": mixture.MAJORITY}
_DIAGONAL_NAMES = ("AROW", "AROW, a quarter", "logistic, fast", "logistic")
_LATE_NAME = "recent labels"
_FEW_NAMES = ("AROW, full matrix", "logistic, centred, fast", "logistic, centred", "logistic, centred, slow")
_FORGETTING_NAMES = ("logistic, forgets fast", "logistic, forgets", "passive-aggressive")


_ENTRIES = 1 << 16  # of a block of rows: values that stay in the second cache until they are learned
_ROWS = 1 << 12  # of a block, at most
_NO_ORDER = np.empty(0, np.uint64)
_MOST_ROWS = 1 << 32  # of the weights: the kernel has 32 bits for the number of a column


def _new_block(entries: int, rows: int) -> Block:
    """Room for copies of rows (kernels/learning/row_blocks.py)."""
    places = entries + LANES
    return np.empty(places), np.empty(places, np.uint32), np.empty(rows + 1, np.uint32)


_NO_BLOCK = _new_block(0, 0)


def _filled(block: Block, columns: Any) -> Any:
    """A block as rows for the kernel; columns are those of dense rows, if it holds such."""
    values, own, starts = block
    rows = (values, own, starts) if columns is None else (values, columns, starts[:0])
    return tuple(read_only(part) for part in rows)


def _row_length(entries: Any, row: int) -> int:
    """How many entries a row has."""
    _, indices, indptr = entries
    return int(indptr[row + 1]) - int(indptr[row]) if indptr.size else int(indices.size)


def _is_ready(entries: Any) -> bool:
    """Whether the kernel takes rows where they lie, if they have no zeros."""
    data, indices, _ = entries
    return bool(data.dtype == np.float64 and indices.dtype == np.uint32)


class Pool(PoolArrays):
    """One halfspace, learned by a dozen experts at once. Labels are -1 and +1; a score >= 0 means +1.

    Parameters
    ----------
    n_features : number of coordinates of a row.
    options : `fit_intercept`, `intercept_scaling`, `class_weight` as in `Halfspace`; `normalize` applies to the experts
        with a mistake bound, the others scale features on their own. `voting` "sample" keeps the bound of Theorem 7(e)
        whatever the adversary knows; "majority" draws nothing at random. With class weights the noise rates of the grid
        are those of weighted mistakes.
    grid : the experts with a mistake bound, 1 to 8 triples (noise rate, margin, whether it has the constant
        coordinate); None: `expert_grid`.
    forgetting : whether the vote may be one by recent mistakes, for targets that move.
    changes : options by name.

    Examples
    --------
    >>> pool = Pool(2)
    >>> X = np.array([[1.0, 0.5], [-1.0, 0.2], [0.9, -0.3], [-0.8, -0.1]])
    >>> scores = pool.learn_many(X, [1, -1, 1, -1])
    >>> pool.rounds, pool.mistakes, [pool.predict(x) for x in X]
    (4, 1, [1, -1, 1, -1])
    """

    def __init__(
        self,
        n_features: int,
        options: LearnerOptions = LearnerOptions(),  # noqa: B008 - frozen
        *,
        grid: Grid | None = None,
        forgetting: bool = True,
        **changes: Any,
    ) -> None:
        options = options.replace(**changes) if changes else options
        grid = expert_grid(fit_intercept=options.fit_intercept) if grid is None else grid
        if not 1 <= len(grid) <= kernel.PLAIN:
            raise InvalidParameterError(f"grid has {len(grid)} experts: a pool holds 1 to {kernel.PLAIN} of them")
        for noise_rate, margin, _ in grid:
            LearnerOptions(noise_rate, margin)  # refuses values outside the theorem's range
        few = check_columns(n_features) <= kernel.FEW
        columns = np.zeros((len(kernel.Column), kernel.COLUMNS))
        columns[kernel.Column.SCALE] = columns[kernel.Column.GAMMA] = columns[kernel.Column.CAP] = 1.0
        own = slice(kernel.DIAGONAL, kernel.DIAGONAL + len(grid))
        given = [kernel.Column.ETA, kernel.Column.GAMMA, kernel.Column.CONSTANT]
        columns[given, own] = np.array(grid, dtype=np.float64).T
        columns[kernel.Column.CAP, own] = (1.0 - columns[kernel.Column.ETA, own]) / columns[kernel.Column.GAMMA, own]
        columns[kernel.Column.SCALE, own] = 1.0 / np.sqrt(2.0 * np.square(columns[kernel.Column.CAP, own]))
        experts = kernel.DIAGONAL + len(grid) + kernel.RECENT + (1 + kernel.CENTRED if few else 0)
        members = np.zeros((len(mixture.Member), experts))
        members[[mixture.Member.SHARE, mixture.Member.VOICE]] = 1.0
        totals = np.zeros(len(mixture.Total))
        totals[[mixture.Total.TOTAL, mixture.Total.TOTAL_THEN]] = members.shape[1]
        totals[[mixture.Total.PRIOR, mixture.Total.CHANCE]] = 0.5
        totals[mixture.Total.FAVOUR] = 1.0
        known = ColumnMap(n_features) if are_many(n_features) else None
        rows = (n_features if known is None else known.room_after(0, 1)) + 1
        arrays: dict[str, NDArray[Any]] = {
            "how": np.array([options.normalize, options.constant, _VOTINGS[options.voting], *options.class_weight]),
            "weights": aligned(rows, kernel.COLUMNS),
            "variances": np.zeros(rows),
            "columns": columns,
            "members": members,
            "totals": totals,
            "seed": np.array([options.seed], dtype=np.uint64),
        }
        if few:
            arrays["full"] = np.zeros((n_features + 2, n_features + 1))
            arrays["centred"] = np.zeros((kernel.CENTRED_SIZE, n_features + 1))
        if forgetting:
            every = experts + (kernel.FORGETTING if few else 0)
            arrays["recent"] = np.zeros((len(recent_vote.Recent), every))
            arrays["recent"][recent_vote.Recent.VOICE] = 1.0
            arrays["lead"] = np.zeros(len(recent_vote.Lead))
            arrays["lead"][recent_vote.Lead.TOTAL] = every
            if few:
                arrays["forgetting"] = np.zeros((kernel.FORGETTING, kernel.padded(n_features)))
        self._set(arrays, known)

    def _learn(self, rows: Rows, y: Any, weight: Any, order: Any, average: Any, scores: Any) -> None:
        sure = isinstance(rows, FiniteRows) or rows.count == 1  # a kernel refuses a row before it learns from it
        count = rows.count if order is None else order.size
        rows.check_width(self.n_features)
        if rows.csr is None:
            self._keep_all_columns()
        check_outputs(scores, count, self._sums(average), self._W)
        if len(self._W) > _MOST_ROWS:
            raise MemoryError(f"{len(self._W):,} columns with weights do not fit into one pool")
        before = None if sure else [array.copy() for array in (*self._state(), self._sums(average))]
        answers = scores if scores.size else np.empty(count)
        for entries, batch, place in self._parts(rows, order, y, weight):
            bad = self._learn_part(entries, batch, self._sums(average), answers[place])
            if bad >= 0:
                for array, old in zip((*self._state(), self._sums(average)), before or (), strict=before is not None):
                    array[...] = old
                rows.refuse(order, place.start + bad)

    def _learn_part(self, entries: Any, batch: Any, sums: NDArray[np.float64], answers: NDArray[np.float64]) -> int:
        """Learn from rows; return -1, or the place of the first row that is not valid."""
        count, order, _, _ = batch
        block = _NO_BLOCK
        ready, done = _is_ready(entries), 0
        while done < count:
            if ready:  # up to a row with a zero
                done += self._learn_rounds(entries, False, batch, done, count - done, sums, answers)
            if done == count:
                break
            taken, whole = read_rows(entries, count, order, done, block)
            if taken == 0:
                row = int(order[done]) if order.size else done
                block = _new_block(max(_row_length(entries, row), min(_ENTRIES, entries[0].size)), min(_ROWS, count))
                continue
            copies = _filled(block, entries[1] if whole else None)
            learned = self._learn_rounds(copies, True, batch, done, taken, sums, answers)
            done += learned
            if learned < taken:
                return done
        return -1

    def _learn_rounds(
        self, rows: Any, are_copies: bool, batch: Any, first: int, rounds: int, sums: Any, answers: Any
    ) -> int:
        """So many rounds of a batch, up to a row with a zero or one that is not valid; return how many were learned."""
        state, seed = self._state(), self._seed[0]
        return int(
            kernel.learn_pool(rows, are_copies, batch, first, rounds, seed, self._how, state, sums, answers[first:])
        )

    @property
    def is_plain(self) -> bool:
        """Whether weights have a row for each column, so that kernels take columns as they are."""
        return self._map is None

    def learn_packed(self, rows: Any, y: NDArray[np.int8], weight: NDArray[np.float64], scores: Any) -> None:
        """`learn_rows` for rows that were made to be learned here: nothing is looked at, where `is_plain`.

        `rows` is (values, columns, row pointers) of 64 and 32 bits: finite, none of them 0, each column once, in order,
        and below `n_features`. kernels/parsing/features.py makes such rows.
        """
        with self._lock:
            count, taken = y.size, tuple(read_only(part) for part in rows)
            state, seed, batch = self._state(), self._seed[0], (count, _NO_ORDER, y, weight)
            kernel.learn_pool(taken, False, batch, 0, count, seed, self._how, state, self._no_average, scores)

    def score(self, x: NDArray[Any]) -> float:
        """The score of the vote, which `predict` uses; `learn` may predict with an expert drawn at random."""
        row, weights = row_of(x, self.n_features), self.leaders()[0]
        score = float(np.einsum("j,j->", weights[:-1], row) + weights[-1])
        if not isfinite(score):
            Rows.of(row[None, :]).check()  # says what is wrong with the row
        return score

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the vote, without the constant coordinate."""
        return self.leaders()[0, :-1]

    def _counts(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly just before."""
        return self._t[mixture.Total.ROUNDS], self._t[mixture.Total.MISTAKES]

    def certificate(self, confidence: float = 0.99) -> Certificate:
        """What is proved of the mistakes so far, and whether they contradict the grid; valid at every round."""
        return self.certificate_with(None, confidence)

    def certificate_with(self, prod: Prod | None, confidence: float) -> Certificate:
        """The certificate of a mixture by Prod whose default is this pool."""
        return certify_mixture(self._counted(), confidence, prod)

    def _counted(self) -> PoolState:
        return PoolState(self._how, self._S, self._M, self._t, self._plain)

    def lower_noise_rate(self, confidence: float = 0.99) -> float:
        """A lower confidence limit for the noise rate, if the margin is one of the grid's at least; for every round.

        0 while nothing can be said, and if rows had unequal sample weights.
        """
        return lower_pool_noise_rate(self._counted(), confidence)

    def mark_unproved(self) -> None:
        """Certify nothing from now on: what the theorem assumes is known not to hold."""
        self._t[mixture.Total.UNPROVED] = 1.0

    @property
    def positive_weight(self) -> float:
        """The sum of the sample weights of rows labelled +1."""
        return float(self._t[mixture.Total.POSITIVES] / self._class_weight[1])

    @property
    def _follows_recent(self) -> bool:
        """Whether the vote is that by recent mistakes."""
        return bool(self._u.size and self._u[recent_vote.Lead.FOLLOWED])

    def _recent_shares(self) -> NDArray[np.float64]:
        """The weights of all experts in the vote by recent mistakes: voices, less the size of their scores."""
        power = self._R[recent_vote.Recent.POWER].copy()
        power[: self._M.shape[1]] = self._M[mixture.Member.POWER]
        power[power <= 0.0] = power.max()
        size = np.sqrt(np.maximum(power, mixture.LEAST)) if power[0] > 0.0 else np.ones(power.size)
        return np.asarray(self._R[recent_vote.Recent.VOICE] * size)

    def shares(self) -> dict[str, float]:
        """The weight of each expert in the vote, the largest first; they add up to 1."""
        columns = self._S[:, kernel.DIAGONAL : kernel.DIAGONAL + self._plain]
        grid = columns[[kernel.Column.ETA, kernel.Column.GAMMA, kernel.Column.CONSTANT]].T
        plain = not self._how[kernel.Setting.BIAS]  # no expert has the constant, so names need not say it
        bounded = (expert_name(p, m, constant=plain or bool(own)) for p, m, own in grid)
        names = [*_DIAGONAL_NAMES, *bounded, _LATE_NAME]
        names += [*_FEW_NAMES, *(_FORGETTING_NAMES if self._D.size else ())] if self._F.size else []
        shares = np.zeros(len(names))
        shares[: self._M.shape[1]] = self._M[mixture.Member.SHARE]
        if self._follows_recent:
            shares = self._recent_shares()
        named = zip(names, shares / shares.sum(), strict=True)
        return {name: float(share) for name, share in sorted(named, key=lambda pair: -pair[1])}

    @locked
    def columns(self) -> NDArray[np.float64]:
        """(1, experts, n_features + 1): the weights of every expert that may be drawn, intercept last."""
        late = np.zeros((1, self.n_features + 1))
        late[0, -1] = self._late
        own = self._in_columns((self._W * self._S[kernel.Column.SCALE]).T[: kernel.DIAGONAL + self._plain])
        own[:, -1] *= self._how[kernel.Setting.BIAS]
        linear = np.concatenate([own, late])
        if self._F.size:
            few = self._few_columns()[: 1 + kernel.CENTRED]
            known = min(few.shape[1] - 1, self.n_features)
            wide = np.zeros((len(few), self.n_features + 1))
            wide[:, :known], wide[:, -1] = few[:, :known], few[:, -1]
            linear = np.concatenate([linear, wide])
        return np.asarray(linear[None])

    @property
    def _late(self) -> float:
        """The intercept of the expert for recent labels; 0 without an intercept."""
        return float(self._t[mixture.Total.TREND]) if self._how[kernel.Setting.BIAS] else 0.0

    def _few_columns(self) -> NDArray[np.float64]:
        """(1 + CENTRED + FORGETTING, columns at first + 1): the weights of the experts for few features."""
        d = self._F.shape[1] - 1
        parts = [self._F[-1:], self._C[kernel.CENTRED_SIZE - kernel.CENTRED :]]
        few = np.concatenate([*parts, self._D[:, : d + 1]] if self._D.size else parts)
        few[0, d] *= self._how[kernel.Setting.BIAS]
        deviation = self._deviations()
        centred = few[1:]
        centred[:, :d] /= np.where(deviation > 1e-200, deviation, np.inf)
        centred[:, d] -= mixed(np.ascontiguousarray(centred[:, :d]), self._C[kernel.MEAN, :d])  # no BLAS: a fixed order
        return few

    def _deviations(self) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(self._C[kernel.DEVIATION, :-1] / max(self._t[mixture.Total.WEIGHT], 1e-300)))

    @locked
    def deviations(self) -> NDArray[np.float64] | None:
        """(n_features,) the standard deviation of each column so far; None where columns are many, or have come late.

        >>> learner = Pool(2)
        >>> _ = learner.learn_many([[1.0, 5.0], [3.0, 5.0]], [-1, 1])
        >>> learner.deviations()
        array([1., 0.])
        """
        return self._deviations() if self._C.size and self._C.shape[1] - 1 == self.n_features else None

    @locked
    def summed(self, average: Any) -> tuple[NDArray[np.float64], float]:
        """(1, columns, n_features + 1): the sum of weight * w over all rounds, and the sum of weights.

        `average` must have been given to `learn_rows` from the first round on.
        """
        sums = self._sums(average)
        total = self._in_columns((self._W * self._S[kernel.Column.SCALED] - sums).T[: kernel.DIAGONAL + self._plain])
        total[:, -1] *= self._how[kernel.Setting.BIAS]
        return total[None], float(self._t[mixture.Total.WEIGHT])

    @locked
    def leaders(self) -> NDArray[np.float64]:
        """(1, n_features + 1): the weights of the vote."""
        voice, late = self._M[mixture.Member.VOICE], kernel.DIAGONAL + self._plain
        unit = self._t[mixture.Total.TOTAL]
        if self._follows_recent:
            voice, unit = self._R[recent_vote.Recent.VOICE], self._u[recent_vote.Lead.TOTAL]
        factors = np.zeros(kernel.COLUMNS)
        factors[:late] = voice[:late] * self._S[kernel.Column.SCALE, :late]
        # Neither columns() nor a copy of the weights, which may be hundreds of megabytes; and not `@` or einsum, which
        # add up in an order that depends on the processor and the number of threads.
        vote = self._in_columns(mixed(self._W, factors))
        vote[-1] = vote[-1] * self._how[kernel.Setting.BIAS] + voice[late] * self._late
        if self._F.size:
            own = voice[late + kernel.RECENT :]
            few = mixed(np.ascontiguousarray(self._few_columns()[: own.size].T), own)
            known = min(few.size - 1, self.n_features)
            vote[:known] += few[:known]
            vote[-1] += few[-1]
        vote /= unit
        return np.asarray(vote)[None]
