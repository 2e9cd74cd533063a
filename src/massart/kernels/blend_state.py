"""What the default bandit remembers between rounds: see kernels/learning/blend.py and regression.py.

A `BlendState` is a `RankingState`, that of the slow experts U, with what is below. It is made by `new_blend` and
`check_blend` and by nothing else, so every one has these invariants beside those of kernels/ranking_state.py:

    fast weights, experts, totals   as those of U, with LONGEST at least 1, as scaled rows are at most 6 sqrt(d) long
    mix        (len(Mixed), 2)      SQUARES, TAIL, FLOORS and EARNED2 not negative, all at most 1e60 in size
    behind     (experts,)           at most 1e100 in size
    columns    (d, len(Column))     GROUP a group in use or 0; sums of squares and counts not negative
    groups     (>= used, len(Group))   PARENT at most the group's own number, [0, 0] whole, shares not negative with
                                    the sum 1, LESSONS not negative; for groups with a full covariance
                                    SIZE = LAID = the columns that have it, START and FIRST within the pool
    members, pool                   as `groups` says; all at most 1e15 in size

All numbers are finite. Contexts of any size keep them so, because columns are divided by their own size and clipped.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, ModelFileError
from massart.kernels import ranking_state as base
from massart.kernels.blend_layout import lay_out, resolve
from massart.kernels.learning import blend, regression
from massart.kernels.learning import ranking as kernel
from massart.kernels.learning.blend import Mixed
from massart.kernels.learning.column_groups import FULL, SHARES, Column, Group, join
from massart.kernels.learning.ranking import Expert, Setting, Total
from massart.kernels.ranking_door import CheckedArms, CheckedRound, make_round
from massart.kernels.ranking_state import RankingState, check_state, new_state, require_arrays

__all__ = ["ARRAYS", "BlendState", "check_blend", "new_blend"]

ARRAYS: Final = ("fast_weights", "fast_experts", "fast_totals", "mix", "behind", "columns", "groups", "members", "pool")
_LARGE: Final = 1e15


class BlendState(RankingState):
    """Made by `new_blend` and `check_blend` only."""

    __slots__ = (*ARRAYS, "_places")

    fast_weights: NDArray[np.float64]
    fast_experts: NDArray[np.float64]
    fast_totals: NDArray[np.float64]
    mix: NDArray[np.float64]
    behind: NDArray[np.float64]
    columns: NDArray[np.float64]
    groups: NDArray[np.float64]
    members: NDArray[np.int64]
    pool: NDArray[np.float64]
    _places: NDArray[np.uint32]  # (d,) for the kernels, whatever is in it

    @property
    def is_blend(self) -> bool:
        """Whether a block has more parts than that of one set of experts."""
        return True

    def block_size(self, arms: int) -> int:
        """The numbers in the block of a choice among so many arms."""
        return blend.blend_size(arms, self.experts.shape[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies; `check_blend` gives the state back."""
        own: dict[str, NDArray[Any]] = {name: getattr(self, name).copy() for name in ARRAYS}
        own["groups"] = own["groups"][: int(own["groups"][0, 0])]
        for name in ("fast_weights", "columns"):
            own[name] = own[name][: self.weights.shape[0]]
        return {**super().arrays(), **own}

    def first_weights(self, width: int) -> NDArray[np.float64]:
        """The weights of U, and all else that has a row per column, for contexts so wide."""
        weights = super().first_weights(width)
        if self.columns.shape[0] < width:
            self.fast_weights = _taller(self.fast_weights, width)
            self.columns = _taller(self.columns, width)
        if self._places.size < width:
            self._places = np.zeros(self.columns.shape[0], np.uint32)
        return weights

    def plan(self, arms: CheckedArms, otherwise: str = "") -> tuple[CheckedRound, tuple[float, float]]:
        """As `foresee`; and the longest contexts with this round, for `count`, by whoever learns it."""
        totals, fast = self.totals.copy(), self.fast_totals.copy()
        _, made = self._decide(arms, np.uint64(0), totals, otherwise, keep=False, fast=fast)
        return made, (float(totals[Total.LONGEST]), float(fast[Total.LONGEST]))

    def count(self, longest: tuple[float, float]) -> None:
        """Count a choice that a state with the same past has planned; what `decide` would have noted of it is noted."""
        super().count(longest)
        self.fast_totals[Total.LONGEST] = max(self.fast_totals[Total.LONGEST], longest[1])

    def _decide(
        self, arms: CheckedArms, seed: Any, totals: Any, otherwise: str, *, keep: bool, fast: Any = None
    ) -> tuple[int, CheckedRound]:
        weights = self.weights
        if weights.shape[0] != arms.width:
            self._fits(arms)
            weights = self.first_weights(arms.width)
        if fast is None:
            fast = self.fast_totals if keep else self.fast_totals.copy()
        block = np.empty(self.block_size(arms.count))
        arm = blend.decide(
            arms.rows, arms.allowed, seed, self.how, (weights, self.experts, totals),
            (self.fast_weights, self.fast_experts, fast), self.mix,
            (self.columns, self.groups, self.members, self.pool), self._places, block,
        )  # fmt: skip
        if arm < 0:
            arms.refuse(-1 - arm, None, otherwise)
        if keep:
            self.weights = weights
        return arm, make_round(arms, block, self.experts.shape[1])

    def _model(self) -> Any:
        return self.columns, self.groups, self.members, self.pool

    def _slow(self) -> Any:
        return self.weights, self.experts, self.totals

    def _fast(self) -> Any:
        return self.fast_weights, self.fast_experts, self.fast_totals

    def absorb(self, made: CheckedRound, reward: float) -> None:
        """Learn the reward of a round, a number within the range."""
        if made.block.size != self.block_size(made.arms.count) or not self.lowest <= reward <= self.highest:
            raise InvalidDataError(f"a choice of {made.experts} experts, reward {reward:g}: not for this bandit")
        arms = made.arms
        if self.weights.shape[0] != arms.width:
            self._fits(arms)
            self.weights = self.first_weights(arms.width)
        learned = blend.learn(
            arms.rows, reward, arms.count, self.how, (self.weights, self.experts, self.totals),
            (self.fast_weights, self.fast_experts, self.fast_totals), self.mix, self.behind,
            (self.columns, self.groups, self.members, self.pool), self._places, made.block,
        )  # fmt: skip
        if not learned:
            self._learn_new_columns(arms.rows, reward, arms.count, made.block)

    def _learn_new_columns(self, rows: Any, reward: float, count: int, block: NDArray[np.float64]) -> None:
        """Learn a round whose columns have to be put into groups, or groups to be laid out anew."""
        used = int(self.groups[0, 0])
        if used + count > self.groups.shape[0]:
            self.groups = _taller(self.groups, 2 * (used + count))
        self.groups[0, 0], _ = join(rows, count, self.columns, self.groups, used)
        self.members, self.pool = lay_out(self.columns, self.groups, self.members, self.pool)
        blend.absorb(
            rows, reward, count, self.how, self._slow(), self._fast(), self.mix, self.behind, self._model(),
            self._places, block,
        )  # fmt: skip

    def play(self, contexts: Any, rewards: Any, seed: Any, otherwise: str) -> tuple[Any, Any]:
        """Choose and learn n rounds, contexts (n, k, d) and rewards (n, k) of all arms: arms and probabilities."""
        X, r = base.simulation(contexts, rewards, self)
        arms, chances, n = np.empty(len(X), np.int64), np.empty(len(X)), 0
        if len(X):
            self.weights = self.first_weights(X.shape[2])
            block = np.empty(self.block_size(X.shape[1]))
        while n < len(X):
            n = blend.play(
                X, r, n, seed, self.how, self._slow(), self._fast(), self.mix, self.behind, self._model(),
                self._places, block, arms, chances,
            )  # fmt: skip
            if n < len(X):
                every = np.arange(X.shape[2], dtype=np.uint64)
                self._learn_new_columns((X[n].reshape(-1), every, every[:0]), r[n, arms[n]], X.shape[1], block)
                n += 1
        return arms, chances

    def score_weights(self) -> NDArray[np.float64]:
        """(d,) weights of a linear score of an arm: of the regression within a round, and of the experts, by share."""
        sigma = [
            float(blend.portion(pi, *self.mix[[Mixed.LEAD, Mixed.SQUARES], c])) for c, pi in enumerate(blend.PRIORS)
        ]
        shares = ((1 - sigma[0]) * (1 - sigma[1]), sigma[0] * (1 - sigma[1]), sigma[1])
        units = self.unit_sizes()
        fast = _experts_weights(self.fast_weights, self.fast_experts, self.fast_totals)
        fast = np.divide(fast, units, out=np.zeros(units.size), where=units > 0)
        slow = _experts_weights(self.weights, self.experts, self.totals)
        total = np.zeros(self.weights.shape[0])
        for share, weights in zip(shares, (self.regression_weights(), fast[: total.size], slow), strict=True):
            total += share * weights / (np.sqrt(np.sum(weights * weights)) or 1.0)
        return total

    def unit_sizes(self) -> NDArray[np.float64]:
        """(d,) what entries are divided by for the fast experts; 0 for columns that are not known yet."""
        C = self.columns.T
        between, within = (
            C[Column.SQUARES] / np.maximum(C[Column.COUNT], 1),
            C[Column.SPREAD] / np.maximum(C[Column.PAIRS], 1),
        )
        square = np.where(C[Column.PAIRS] > 0, within, between)
        return np.asarray(np.maximum(np.sqrt(square), 1e-9 * np.abs(C[Column.MEAN])))

    def regression_weights(self) -> NDArray[np.float64]:
        """(d,) how the regression's prediction grows with the entries of one row, the others being as they are."""
        C = self.columns.T
        w, unit = C[Column.OWN].copy(), C[Column.SQUARES] / np.maximum(C[Column.COUNT], 1)
        spread = C[Column.SPREAD] / np.maximum(C[Column.PAIRS], 1)
        found, shares = resolve(self.groups), _shares(self.groups)
        for g in range(1, found.size):
            group = self.groups[g]
            m, n, start, first = (int(group[name]) for name in (Group.LAID, Group.SIDE, Group.START, Group.FIRST))
            own = self.members[first : first + m]
            if n:
                ahead = regression.lead(m) if n > regression.lead(m) else 0
                each = self.pool[start : start + shares.size * n].reshape(shares.size, n)[:, ahead : ahead + m]
                w[own] = (each * shares[:, None]).sum(axis=0)
                if ahead:
                    unit[own] = spread[own]
            elif group[Group.DIAGONAL] and not group[Group.PAIRED]:
                own = np.flatnonzero(found[C[Column.GROUP].astype(np.int64)] == g)
                w[own] = C[Column.WEIGHT, own]
        size = np.sqrt(unit)
        return np.asarray(np.divide(w, size, out=np.zeros(w.size), where=size > 1e-100))[: self.weights.shape[0]]


def _experts_weights(weights: Any, experts: Any, totals: Any) -> NDArray[np.float64]:
    w, shares = weights * experts[Expert.SCALE], np.empty(experts.shape[1])
    kernel.share(experts, totals, shares)
    norms = np.sqrt((w * w).sum(axis=0))
    return np.asarray((w / np.where(norms > 0, norms, 1.0) * shares).sum(axis=1))  # no BLAS: a fixed order


def _shares(groups: NDArray[Any]) -> NDArray[np.float64]:
    return groups[0, SHARES : SHARES + len(regression.PACES)]  # a view


def _taller(array: NDArray[Any], rows: int) -> NDArray[Any]:
    grown = np.zeros((rows, *array.shape[1:]), array.dtype)
    grown[: array.shape[0]] = array
    return grown


def _blended(slow: RankingState, arrays: dict[str, Any]) -> BlendState:
    state = object.__new__(BlendState)
    for name in RankingState.__slots__:
        setattr(state, name, getattr(slow, name))
    for name in ARRAYS:
        setattr(state, name, arrays[name])
    state._places = np.zeros(state.columns.shape[0], np.uint32)
    return state


def new_blend(how: Any, grid: Any) -> BlendState:
    """The state of a default bandit whose experts have these pairs of gap and margin."""
    slow, fast = new_state(how, grid), new_state(how, grid)
    count = len(grid)
    fast.totals[Total.LONGEST] = 1.0
    arrays = {
        "fast_weights": fast.weights, "fast_experts": fast.experts, "fast_totals": fast.totals,
        "mix": np.zeros((len(Mixed), 2)), "behind": np.zeros(count), "columns": np.zeros((0, len(Column))),
        "groups": np.zeros((1, len(Group))), "members": np.zeros(0, np.int64), "pool": np.zeros(0),
    }  # fmt: skip
    arrays["groups"][0, 0] = 1.0
    _shares(arrays["groups"])[:] = regression.START
    return _blended(slow, arrays)


@np.errstate(all="ignore")  # forged numbers overflow, and are then found to be too large
def check_blend(arrays: dict[str, NDArray[Any]]) -> BlendState:
    """The state whose `arrays()` these are, from a file that may hold anything; a ModelFileError says what is wrong."""
    slow = check_state(arrays)
    require_arrays(arrays, ARRAYS)
    width, experts = slow.weights.shape
    used = arrays["groups"].shape[0] if arrays["groups"].ndim == 2 else -1
    shapes = {
        "fast_weights": (width, experts), "fast_experts": slow.experts.shape, "fast_totals": slow.totals.shape,
        "mix": (len(Mixed), 2), "behind": (experts,), "columns": (width, len(Column)), "groups": (used, len(Group)),
        "members": (arrays["members"].size,), "pool": (arrays["pool"].size,),
    }  # fmt: skip
    own: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        array, dtype = arrays[name], np.int64 if name == "members" else np.float64
        if array.dtype != dtype or array.shape != shape:
            raise ModelFileError(f"array {name!r} is {array.dtype} of shape {array.shape}, which no policy has")
        own[name] = np.array(array, dtype=dtype, order="C")
        if dtype is np.float64 and not np.isfinite(own[name]).all():
            raise ModelFileError(f"array {name!r} holds numbers that are not finite")
    base.require(slow.how[Setting.RELATIVE] and not slow.how[Setting.PAPER], "how", "margin")
    parts = {"how": slow.how, "weights": own["fast_weights"], "experts": own["fast_experts"],
             "totals": own["fast_totals"].copy()}  # fmt: skip
    parts["totals"][Total.CHOICES] = parts["totals"][Total.ROUNDS]
    check_state(parts)
    base.require(own["fast_totals"][Total.LONGEST] >= 1.0, "fast_totals", "LONGEST")
    base.require(bool((np.abs(own["mix"]) <= 1e60).all()), "mix", "numbers that are too large")
    base.require(
        bool((own["mix"][[Mixed.SQUARES, Mixed.TAIL, Mixed.FLOORS, Mixed.EARNED2]] >= 0).all()), "mix", "negative sums"
    )
    base.require(bool((np.abs(own["behind"]) <= 1e100).all()), "behind", "numbers that are too large")
    _check_columns(own["columns"], used)
    _check_groups(own)
    return _blended(slow, own)


def _check_columns(columns: NDArray[np.float64], used: int) -> None:
    C = columns.T
    whole = bool((C[[Column.GROUP, Column.PLACE]] == np.floor(C[[Column.GROUP, Column.PLACE]])).all())
    base.require(whole and bool(((C[Column.GROUP] >= 0) & (C[Column.GROUP] < used)).all()), "columns", "GROUP")
    positive = [Column.COUNT, Column.SQUARES, Column.PAIRS, Column.SPREAD, Column.VARIANCE, Column.OWN_VARIANCE]
    base.require(bool((C[positive] >= 0).all() and (C <= 1e120).all()), "columns", "negative sums")
    small = [Column.VARIANCE, Column.OWN_VARIANCE]
    base.require(bool((C[small] <= 10).all()), "columns", "VARIANCE")
    base.require(bool((np.abs(C[[Column.WEIGHT, Column.OWN]]) <= _LARGE).all()), "columns", "WEIGHT")
    base.require(bool((np.abs(C[Column.MEAN]) <= 1e51).all()), "columns", "MEAN")


def _check_groups(own: dict[str, NDArray[Any]]) -> None:
    columns, groups, members, pool = (own[name] for name in ("columns", "groups", "members", "pool"))
    used = groups.shape[0]
    base.require(used >= 1 and groups[0, 0] == used and bool((np.abs(groups) <= _LARGE).all()), "groups", "count")
    shares = _shares(groups)
    base.require(bool((shares >= 0).all()) and abs(float(shares.sum()) - 1.0) <= 1e-9, "groups", "shares")
    base.require(bool(groups[0, Group.LESSONS] >= 0), "groups", "LESSONS")
    numbers = np.arange(1, used)
    whole = [name for name in Group if name not in (Group.WEIGHT, Group.VARIANCE)]
    base.require(bool((groups[1:, whole] == np.floor(groups[1:, whole])).all() and (groups[1:, whole] >= 0).all()),
                  "groups", "numbers that are not whole")  # fmt: skip
    base.require(bool((groups[1:, Group.PARENT] <= numbers).all() and (groups[1:, Group.PARENT] >= 1).all()),
                  "groups", "PARENT")  # fmt: skip
    variances = groups[1:, Group.VARIANCE]
    base.require(bool(((variances >= 0) & (variances <= 10)).all()), "groups", "VARIANCE")
    base.require(bool((np.abs(pool) <= _LARGE).all()), "pool", "numbers that are too large")
    found = resolve(groups)
    home = found[columns[:, Column.GROUP].astype(np.int64)]
    sizes = np.bincount(home, minlength=used)
    for g in range(1, used):
        m, n, start, first = (int(groups[g, name]) for name in (Group.LAID, Group.SIDE, Group.START, Group.FIRST))
        if found[g] != g or groups[g, Group.DIAGONAL]:
            base.require(n == 0, "groups", "SIDE")
            continue
        listed = members[first : first + m] if first + m <= members.size else members[:0]
        base.require(listed.size == m and 0 < m <= FULL, "groups", "LAID")
        base.require(n == regression.side(m, bool(groups[g, Group.PAIRED])), "groups", "SIDE")
        base.require(start + (len(regression.PACES) + n) * n <= pool.size, "groups", "START")
        inside = bool(((listed >= 0) & (listed < columns.shape[0])).all())
        base.require(inside and bool((home[listed] == g).all()), "members", "columns of another group")
        base.require(bool((columns[listed, Column.PLACE] == np.arange(m)).all()), "members", "PLACE")
        base.require(sizes[g] == m, "groups", "SIZE")
