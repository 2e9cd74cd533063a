"""What the default ranker remembers between queries: see kernels/learning/query_mixture.py and within_queries.py.

A `QueryState` is a `RankingState`, that of the monotone experts, with what is below. It is made by `new_queries` and
`check_queries` and by nothing else, so every one has these invariants beside those of kernels/ranking_state.py:

    members    (len(Member), MOST)       not negative; losses at most the rounds, shares 1, voices 1e100, powers 1e300
    mixed      (len(mixture.Total),)     not negative; ROUNDS those of `totals`, which no sum of losses exceeds; TOTAL
                                         that of the shares, RATE that of GAP; all 0 before the first round
    columns    (d, len(Column))          counts and sums of squares from 0 to 1e130; weights at most 1e115 in size
    products   (d + 1, d) or (0, 0)      its diagonal from 0 to 1e130, other products at most what Cauchy and Schwarz
                                         allow; empty with more than FULL columns
    seed       (1,) uint64               of the coins

All numbers are finite. Contexts of any size keep them so, because weights are bounded in units of their columns.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, ModelFileError
from massart.kernels import ranking_state as base
from massart.kernels.learning import mixture
from massart.kernels.learning import query_mixture as kernel
from massart.kernels.learning.mixture import Member
from massart.kernels.learning.ranking import Expert, Setting
from massart.kernels.learning.within_queries import FULL, LEAST, MEMBERS, Column
from massart.kernels.ranking_door import CheckedArms
from massart.kernels.ranking_state import RankingState, check_state, new_state, require_arrays

__all__ = ["ARRAYS", "QueryState", "check_queries", "new_queries"]

ARRAYS: Final = ("members", "mixed", "columns", "products", "seed")
_POSITIVE: Final = [Column.COUNT, Column.SPREAD, Column.SQUARES]
_SUMS: Final = ("WRONG", "EXPECTED", "DRAWN", "VOTED", "DRAWN_THEN", "BEST_THEN", "GAP", "SPLIT")
_LOSSES: Final = [mixture.Total[name] for name in _SUMS]  # none exceeds the number of rounds
_ROUNDING: Final = 1e-6


class QueryState(RankingState):
    """Made by `new_queries` and `check_queries` only."""

    __slots__ = (*ARRAYS, "_board", "_scratch")

    members: NDArray[np.float64]
    mixed: NDArray[np.float64]
    columns: NDArray[np.float64]
    products: NDArray[np.float64]
    seed: NDArray[np.uint64]
    _scratch: NDArray[np.float64]  # zeros, for the kernels
    _board: NDArray[np.float64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies; `check_queries` gives the state back."""
        return {**super().arrays(), **{name: getattr(self, name).copy() for name in ARRAYS}}

    def _tables(self, width: int) -> tuple[Any, Any, Any]:
        """Weights, columns and products for contexts so wide; zeros before the first round."""
        weights = self.first_weights(width)
        if self.columns.shape[0] == width:
            return weights, self.columns, self.products
        try:
            columns = np.zeros((width, len(Column)))
        except MemoryError:
            raise InvalidDataError(
                f"contexts have {width:,} features, and weights for so many do not fit into memory: hash them to fewer"
            ) from None
        return weights, columns, np.zeros((width + 1, width) if width <= FULL else (0, 0))

    def _look(self, arms: CheckedArms) -> tuple[Any, Any, Any]:
        """Scores of all experts and of the vote."""
        self._fits(arms)
        weights, columns, products = self._tables(arms.width)
        k = arms.count
        scores, squares = np.empty((k, kernel.EXPERTS)), np.empty(k)
        own, votes = np.empty((k, MEMBERS)), np.empty(k)
        rows = arms.rows
        bad = kernel.look_at_query(rows, k, weights, self.experts, columns, products, scores, squares, own)
        if bad >= 0:
            arms.refuse(bad)
        kernel.vote(self.members, scores, own, votes)
        return scores, own, votes

    def vote(self, arms: CheckedArms) -> NDArray[np.float64]:
        """(k,) the scores of the vote."""
        return np.asarray(self._look(arms)[2] / self._total)

    @property
    def _total(self) -> float:
        return float(self.mixed[mixture.Total.TOTAL]) or 1.0

    def answer(self, arms: CheckedArms) -> int:
        """The first choice in the next round, by its coin."""
        scores, own, votes = self._look(arms)
        products = self._tables(arms.width)[2]
        return int(kernel.answer_query(self.seed[0], self.members, self.mixed, products, scores, own, votes))

    def learn_all(self, arms: CheckedArms, rewards: NDArray[np.float64]) -> None:
        """Learn the rewards of all arms, (k,) numbers within the range."""
        self._fits(arms)
        weights, columns, products = self._tables(arms.width)
        if self._scratch.size != arms.width:
            self._scratch, self._board = np.zeros(arms.width), np.zeros((arms.width, kernel.EXPERTS))
        state = weights, self.experts, self.totals, self.members, self.mixed, columns, products
        bad = kernel.learn_query(
            arms.rows, arms.allowed, rewards, self.seed[0], self.how, state, self._scratch, self._board
        )
        if bad >= 0:
            arms.refuse(bad)
        self.weights, self.columns, self.products = weights, columns, products

    def score_weights(self) -> NDArray[np.float64]:
        """(d,) the weights of the vote."""
        voice, total = self.members[Member.VOICE], np.zeros(self.weights.shape[0])
        for e in range(kernel.EXPERTS):
            total += voice[e] * self.experts[Expert.SCALE, e] * self.weights[:, e]
        for e in range(MEMBERS):
            total += voice[kernel.EXPERTS + e] * self.columns[:, Column.LEAST_SQUARES + e]
        return total / self._total

    def price(self, expert: int) -> float:
        """How much more it was expected to lose than a monotone expert, in units of the reward range."""
        return float(self.mixed[mixture.Total.EXPECTED] - self.members[Member.LOSS, expert])


def _with(slow: RankingState, arrays: dict[str, Any]) -> QueryState:
    state = object.__new__(QueryState)
    for name in RankingState.__slots__:
        setattr(state, name, getattr(slow, name))
    for name in ARRAYS:
        setattr(state, name, arrays[name])
    state._scratch, state._board = np.zeros(0), np.zeros((0, kernel.EXPERTS))
    return state


def new_queries(lowest: float, highest: float, grid: Any, seed: np.uint64) -> QueryState:
    """The state of a default ranker whose monotone experts have these pairs of gap and margin."""
    arrays = {
        "members": np.zeros((len(Member), kernel.MOST)), "mixed": np.zeros(len(mixture.Total)),
        "columns": np.zeros((0, len(Column))), "products": np.zeros((0, 0)), "seed": np.array([seed], np.uint64),
    }  # fmt: skip
    return _with(new_state([0.0, lowest, highest, 0.0, 1.0, 0.0], grid), arrays)


@np.errstate(all="ignore")  # forged numbers overflow, and are then found to be too large
def check_queries(arrays: dict[str, NDArray[Any]]) -> QueryState:
    """The state whose `arrays()` these are, from a file that may hold anything; a ModelFileError says what is wrong."""
    slow = check_state(arrays, ranker=kernel.EXPERTS)
    require_arrays(arrays, ARRAYS)
    width = slow.weights.shape[0]
    shapes = {
        "members": (len(Member), kernel.MOST), "mixed": (len(mixture.Total),), "columns": (width, len(Column)),
        "products": (width + 1, width) if 0 < width <= FULL else (0, 0), "seed": (1,),
    }  # fmt: skip
    own: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        array, dtype = arrays[name], np.uint64 if name == "seed" else np.float64
        if array.dtype != dtype or array.shape != shape:
            raise ModelFileError(f"array {name!r} is {array.dtype} of shape {array.shape}, which no ranker has")
        own[name] = np.array(array, dtype=dtype, order="C")
        if not np.isfinite(own[name]).all():
            raise ModelFileError(f"array {name!r} holds numbers that are not finite")
    base.require(slow.how[Setting.RELATIVE] and not slow.how[Setting.PAPER], "how", "margin")
    _check_mixture(own["members"], own["mixed"], slow.learned, kernel.MOST if own["products"].size else kernel.FEWEST)
    C = own["columns"].T
    base.require(bool((C[_POSITIVE] >= 0).all() and (C[_POSITIVE] <= 1e130).all()), "columns", "sums of squares")
    base.require(bool((np.abs(C[Column.LEAST_SQUARES :]) <= 1e115).all()), "columns", "weights that are too large")
    _check_products(own["products"])
    return _with(slow, own)


def _check_products(A: NDArray[np.float64]) -> None:
    diagonal = np.diagonal(A)
    base.require(bool(((diagonal >= 0) & (diagonal <= 1e130)).all()), "products", "sums of squares")
    root = np.sqrt(diagonal)  # Cauchy and Schwarz
    inside = np.abs(A[:-1]) <= np.outer(root, root) * (1 + _ROUNDING) + LEAST
    base.require(bool(inside.all() and (np.abs(A[-1:]) <= 1e15 * root + LEAST).all()), "products", "large products")


def _check_mixture(M: NDArray[np.float64], t: NDArray[np.float64], rounds: int, experts: int) -> None:
    """Of a mixture of losses in [0, 1], after so many rounds."""
    places, near = mixture.Total, 1 + _ROUNDING
    if not rounds:
        base.require(not (M.any() or t.any()), "mixed", "numbers before the first round")
        return
    most = {Member.LOSS: rounds * near, Member.SHARE: near, Member.VOICE: 1e100 * near, Member.POWER: 1e300}
    for row, largest in most.items():
        base.require(bool(((M[row] >= 0) & (M[row] <= largest)).all()), "members", row.name)
    base.require(not M[:, experts:].any(), "members", "more experts than there are")
    base.require(bool((t >= 0).all() and (t <= 1e300).all()), "mixed", "negative sums")
    base.require(t[places.ROUNDS] == t[places.HEARD] == rounds, "mixed", "another number of rounds")
    base.require(bool((t[_LOSSES] <= rounds * near).all()), "mixed", "losses above the number of rounds")
    total, gap = float(M[Member.SHARE].sum()), float(t[places.GAP])
    base.require(t[places.TOTAL] > 0 and abs(t[places.TOTAL] - total) <= _ROUNDING * total, "mixed", "TOTAL")
    base.require(1 - _ROUNDING <= t[places.TOTAL_THEN] <= experts * near, "mixed", "TOTAL_THEN")
    rate = np.log(experts) / gap if gap else 0.0
    base.require((gap == 0 or gap >= LEAST) and abs(t[places.RATE] - rate) <= _ROUNDING * rate, "mixed", "RATE")
    base.require(max(t[places.KEEP], t[places.CHANCE]) <= 1, "mixed", "CHANCE")
    base.require(t[places.HEAVIEST] == 1 and 0 < t[places.PRIOR] <= 0.5, "mixed", "PRIOR")
    base.require(1e-281 <= t[places.FAVOUR] <= 1e281, "mixed", "FAVOUR")
