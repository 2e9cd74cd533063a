"""What a bandit or ranker remembers between rounds, and the only calls of the kernels that change it.

A `RankingState` is made by `new_state` or `check_state` and by nothing else, so every state has these invariants:

    how       one per Setting         FLOOR in [0, 1]; LOWEST < HIGHEST, at most 1e50 in size, at least 1e-50 apart;
                                      HORIZON 0 (not known) or 1 to 1e15; RELATIVE and PAPER 0 or 1; with PAPER one
                                      expert, a horizon and no RELATIVE
    experts   a row per Expert        DELTA in (0, width], at least 1e-12 of it; GAMMA in [1e-12, 2]; SCALE above 0;
                                      FIRST at most CAP; KEPT at most ROUNDS; sums of squares, caps and bounds are not
                                      negative; none above its limit in _EXPERTS; with PAPER, NORM2 is 0 or 1e-60 to 1
    totals    one per Total           CHOICES and ROUNDS whole, at most 2^48, of a bandit ROUNDS <= CHOICES;
                                      of a bandit BASELINE in [LOWEST, HIGHEST]; LONGEST in [0, 1e50]; _TOTALS
    weights   (d, experts)            d > 0, or nothing has been chosen or learned; |w| = SCALE |T| at most 1e6

All numbers are finite and the state's own. Finite contexts and rewards keep it so: a step is at most about 1e82 long
(rewards 1e50, probabilities 1e-12 / k, |z| / m at most 2e12), its square 1e164, and 2^48 of them add up to 1e179.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.door import regular
from massart.kernels.learning import paper_ranking as paper
from massart.kernels.learning import ranking as kernel
from massart.kernels.learning import ranking_rounds as rounds
from massart.kernels.learning.ranking import Expert, Setting, Total
from massart.kernels.ranking_door import (
    LONGEST,
    MOST_CAP,
    CheckedArms,
    CheckedRound,
    check_arms,
    contexts_too_long,
    make_round,
)
from massart.options import LARGEST_REWARD, LEAST_MARGIN, LEAST_WIDTH, MOST_CHOICES, MOST_HORIZON

__all__ = ["RankingState", "check_state", "new_state", "require_arrays"]

_LONG: Final = 1e6  # of w = SCALE * T, which is at most about 1
_SQUARES: Final = 1e200
_MOST_WEIGHTS: Final = 1 << 37  # a terabyte
# Row of `experts`: its least and its largest value.
_EXPERTS: Final = {
    Expert.CAP: (0.0, MOST_CAP),
    Expert.SQUARES: (0.0, _SQUARES),
    Expert.NORM2: (0.0, _SQUARES),
    Expert.SCALE: (1e-101, 1e151),
    Expert.KEPT: (0.0, 1e15),
    Expert.LIFT: (-1e100, 1e100),
    Expert.LIFT2: (0.0, _SQUARES),
    Expert.DRIFT: (-_SQUARES, _SQUARES),
    Expert.FIRST: (0.0, MOST_CAP),
    Expert.VARIANCE: (0.0, 1e301),
    Expert.REACH: (0.0, 1e150),
}
_TOTALS: Final = {
    Total.CHOICES: (0.0, float(MOST_CHOICES)),
    Total.ROUNDS: (0.0, float(MOST_CHOICES)),
    Total.REWARD: (-1e66, 1e66),
    Total.BASELINE: (-LARGEST_REWARD, LARGEST_REWARD),
    Total.LONGEST: (0.0, LONGEST * (1 + 1e-9)),
    Total.SPREAD: (0.0, _SQUARES),
    Total.SEEN: (-1e100, 1e100),
    Total.SEEN2: (0.0, _SQUARES),
    Total.LARGEST: (0.0, 1e100),
}


class RankingState:
    """Made by `new_state` and `check_state` only."""

    __slots__ = ("experts", "highest", "how", "lowest", "margin", "totals", "weights")

    how: NDArray[np.float64]
    weights: NDArray[np.float64]
    experts: NDArray[np.float64]
    totals: NDArray[np.float64]
    lowest: float
    highest: float
    margin: float | None  # that was given, for contexts of norm at most 1

    def __init__(self) -> None:
        raise TypeError("RankingState is made by new_state and check_state, which check what is in it")

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Copies; `check_state` gives the state back."""
        return {
            "how": self.how.copy(),
            "weights": self.weights.copy(),
            "experts": self.experts.copy(),
            "totals": self.totals.copy(),
        }

    @property
    def is_paper(self) -> bool:
        """Whether the update is the paper's."""
        return bool(self.how[Setting.PAPER])

    @property
    def is_blend(self) -> bool:
        """Whether a block has more parts than that of one set of experts: kernels/blend_state.py."""
        return False

    def block_size(self, arms: int) -> int:
        """The numbers in the block of a choice among so many arms."""
        return rounds.block_size(arms, self.experts.shape[1])

    def allowed_part(self, arms: int) -> slice:
        """Where a block of so many arms says which of them may be played."""
        start = rounds.HEAD + 3 * self.experts.shape[1] + arms
        return slice(start, start + arms)

    @property
    def width(self) -> int | None:
        """The number of features, from the first contexts on."""
        return self.weights.shape[0] or None

    @property
    def chosen(self) -> int:
        """Choices made."""
        return int(self.totals[Total.CHOICES])

    @property
    def learned(self) -> int:
        """Rounds learned."""
        return int(self.totals[Total.ROUNDS])

    def first_weights(self, width: int) -> NDArray[np.float64]:
        """The weights, or those to begin with; with more rows of zeros where contexts have become wider."""
        rows = self.weights.shape[0]
        if rows >= width:
            return self.weights
        if rows:
            return self._wider(width)
        try:
            if width > _MOST_WEIGHTS // self.experts.shape[1]:  # some systems say yes to any size, and fail later
                raise MemoryError
            weights = np.zeros((width, self.experts.shape[1]))
        except MemoryError:
            raise InvalidDataError(
                f"contexts have {width:,} features, and weights for so many do not fit into memory: hash them to fewer"
            ) from None
        weights[:1] = self.how[Setting.PAPER]  # Algorithm 3 begins at e_1
        return weights

    def _wider(self, width: int) -> NDArray[np.float64]:
        """The weights with rows of zeros added; there is room for twice as many, so that growing costs little."""
        room, rows = self.weights.base, self.weights.shape[0]
        if not (isinstance(room, np.ndarray) and room.ndim == 2 and room.shape[0] >= width):
            room = np.zeros((2 * width, self.weights.shape[1]))
            room[:rows] = self.weights
        return room[:width]

    def score_weights(self) -> NDArray[np.float64]:
        """(d,) the weights of the linear score by which arms are ranked now: the experts' unit vectors, by share."""
        w, shares = self.weights * self.experts[Expert.SCALE], np.empty(self.experts.shape[1])
        kernel.share(self.experts, self.totals, shares)
        norms = np.linalg.norm(w, axis=0)
        return np.asarray((w / np.where(norms > 0, norms, 1.0) * shares).sum(axis=1))  # no BLAS: a fixed order

    def arms(self, contexts: Any, allowed: Any = None) -> CheckedArms:
        """Arms for this state."""
        return check_arms(contexts, allowed, self.weights.shape[0] or None)

    def decide(self, arms: CheckedArms, seed: Any, otherwise: str = "") -> tuple[int, CheckedRound]:
        """Choose one of the arms, by the coin of this seed."""
        return self._decide(arms, seed, self.totals, otherwise, keep=True)

    def foresee(self, arms: CheckedArms, otherwise: str = "") -> CheckedRound:
        """What `decide` would do but for the coin; nothing changes."""
        return self._decide(arms, np.uint64(0), self.totals.copy(), otherwise, keep=False)[1]

    def plan(self, arms: CheckedArms, otherwise: str = "") -> tuple[CheckedRound, tuple[float, float]]:
        """As `foresee`; and the longest contexts with this round, for `count`, by whoever learns it."""
        totals = self.totals.copy()
        made = self._decide(arms, np.uint64(0), totals, otherwise, keep=False)[1]
        return made, (float(totals[Total.LONGEST]), 0.0)

    def count(self, longest: tuple[float, float]) -> None:
        """Count a choice that a state with the same past has planned; what `decide` would have noted of it is noted."""
        self.totals[Total.CHOICES] += 1.0
        self.totals[Total.LONGEST] = max(self.totals[Total.LONGEST], longest[0])

    def _decide(
        self, arms: CheckedArms, seed: Any, totals: Any, otherwise: str, *, keep: bool
    ) -> tuple[int, CheckedRound]:
        self._fits(arms)
        experts = self.experts.shape[1]
        weights = self.weights if self.weights.shape[0] == arms.width else self.first_weights(arms.width)
        block = np.empty(self.block_size(arms.count))
        arm = rounds.decide(arms.rows, arms.allowed, seed, self.how, weights, self.experts, totals, block)
        if arm < 0:
            arms.refuse(-1 - arm, self.margin, otherwise)
        if keep:
            self.weights = weights
        return arm, make_round(arms, block, experts)

    def absorb(self, made: CheckedRound, reward: float) -> None:
        """Learn the reward of a round, a number within the range."""
        if made.experts != self.experts.shape[1] or not self.lowest <= reward <= self.highest:
            raise InvalidDataError(f"a choice of {made.experts} experts, reward {reward:g}: not for this bandit")
        self._fits(made.arms)
        if self.weights.shape[0] < made.arms.width:
            self.weights = self.first_weights(made.arms.width)
        rows, count = made.arms.rows, made.arms.count
        rounds.absorb(rows, reward, count, self.how, self.weights, self.experts, self.totals, made.block)

    def absorb_logged(self, arms: CheckedArms, arm: int, p: NDArray[np.float64], reward: float) -> None:
        """Learn the reward of a round in which another policy played `arm`; it counts as a choice of this one.

        `p` (k,) are the probabilities with which that policy played each arm, all above 0; those of other arms than the
        one played only bound how large the step could have been. What each expert would have done is planned as if the
        round were chosen now; then the reward stands for all arms by r_i' = b + 1{A = i} (r - b) / p_i, as in `absorb`.
        With the true p[arm] that is unbiased, so the step is that of Theorem 11 in expectation. Nothing is guaranteed
        of it: the theorem is about rounds that the bandit plays itself, and a p[arm] that was clipped is biased.
        """
        if self.is_paper:
            raise InvalidDataError("update='paper' is Algorithm 3, which learns from its own choices: leave update out")
        if not (0 <= arm < arms.count and arms.allowed[arm] and p.shape == (arms.count,) and p.min() >= 1e-9):
            raise InvalidDataError(f"arm {arm} of {arms.count} was not allowed, or a probability is below 1e-9")
        if not self.lowest <= reward <= self.highest:
            raise InvalidDataError(f"reward {reward:g} is outside of {self.lowest:g} to {self.highest:g}")
        _, made = self._decide(arms, np.uint64(0), self.totals, "", keep=True)
        chances = rounds.parts(made.block, arms.count, made.experts)[3]
        made.block[rounds.ARM], chances[:] = arm, p
        self.absorb(made, reward)

    def _fits(self, arms: CheckedArms) -> None:
        """Sparse contexts may have columns that are not there yet, or lack some that were not there then."""
        if arms.rows[2].size == 0 and self.weights.shape[0] not in (0, arms.width):
            raise InvalidDataError(f"contexts have {arms.width} features, but this policy has {self.weights.shape[0]}")

    def look(self, arms: CheckedArms, limit: float | None = None) -> tuple[Any, Any]:
        """The scores and squared norms of arms, if all are finite and no square is above the limit of this state."""
        limit = kernel.square_limit(self.how) if limit is None else limit
        self._fits(arms)
        scores, squares = np.empty((arms.count, self.experts.shape[1])), np.empty(arms.count)
        weights = self.first_weights(arms.width)
        bad = kernel.look(arms.rows, arms.count, weights, self.experts, limit, scores, squares)
        if bad >= 0:
            arms.refuse(bad, self.margin if limit < LONGEST else None)
        return scores, squares

    def learn_all(self, arms: CheckedArms, rewards: NDArray[np.float64]) -> None:
        """Learn the rewards of all arms, (k,) numbers within the range."""
        scores, squares = self.look(arms, kernel.UNIT_SQUARE)
        k, how, t = arms.count, self.how, self.totals
        self.weights = self.first_weights(arms.width)
        memo = (np.empty(1, np.int64), np.empty(1), np.empty((k, 1)), np.empty((k, 1)), np.empty(k))
        shares, scratch, board = np.ones(1), np.zeros(arms.width), np.zeros_like(self.weights)
        kernel.plan(arms.rows, arms.allowed, how, self.experts, t, shares, scores, squares, scratch, memo)
        memo[1][0] = 0.0  # nothing is explored: everything is seen
        width = self.highest - self.lowest
        kernel.teach(arms.rows, arms.allowed, rewards, memo, width, 1.0, self.weights, self.experts, board)
        t[Total.ROUNDS] += 1.0
        t[Total.REWARD] += rewards[memo[0][0]]
        t[Total.SEEN] += rewards[memo[0][0]] - rewards.mean()

    def play(self, contexts: Any, rewards: Any, seed: Any, otherwise: str) -> tuple[Any, Any]:
        """Choose and learn n rounds, contexts (n, k, d) and rewards (n, k) of all arms: arms and probabilities."""
        X, r = simulation(contexts, rewards, self)
        if X.size and self.margin is not None:
            squares = np.einsum("nkd,nkd->nk", X, X)
            if not squares.max() <= kernel.UNIT_SQUARE:
                row, arm = np.argwhere(squares > kernel.UNIT_SQUARE)[0]
                norm = math.sqrt(squares[row, arm])
                raise contexts_too_long(f"contexts[{row}, {arm}]", norm, self.margin, otherwise)
        arms, chances = np.empty(len(X), np.int64), np.empty(len(X))
        if len(X):
            self.weights = self.first_weights(X.shape[2])
            rounds.play(X, r, seed, self.how, self.weights, self.experts, self.totals, arms, chances)
        return arms, chances


def simulation(contexts: Any, rewards: Any, state: RankingState) -> tuple[Any, Any]:
    try:
        given = [np.asarray(contexts), np.asarray(rewards)]
        if any(array.dtype.kind not in "fiubO" for array in given):
            raise TypeError
        with np.errstate(over="ignore"):
            X, r = (regular(np.asarray(array, np.float64)) for array in given)
    except Exception:
        raise InvalidDataError("contexts and rewards must be arrays of real numbers") from None
    if X.ndim != 3 or r.shape != X.shape[:2] or X.shape[1] < 1 or X.shape[2] < 1:
        raise InvalidDataError(
            f"contexts {X.shape} and rewards {r.shape} must be (rounds, arms, features) and (rounds, arms), with at "
            "least one arm and one feature"
        )
    if not ((r >= state.lowest) & (r <= state.highest)).all():
        raise InvalidDataError(f"rewards leave reward_range ({state.lowest:g}, {state.highest:g}), or are not numbers")
    if not np.abs(X).max(initial=0.0) <= LONGEST / math.sqrt(X.shape[2]):
        raise InvalidDataError(f"contexts hold numbers that are not finite, or are longer than {LONGEST:g}")
    if state.width not in (None, X.shape[2]):
        raise InvalidDataError(f"contexts have {X.shape[2]} features, but this bandit has {state.width}")
    return X, r


def new_state(how: Any, grid: Any) -> RankingState:
    """The state of a policy with the settings `how` that tries these pairs of gap and margin."""
    how = np.array(how, dtype=np.float64)
    experts = np.zeros((len(Expert), len(grid)))
    experts[[Expert.DELTA, Expert.GAMMA]] = np.array(grid, dtype=np.float64).T
    experts[Expert.SCALE] = 1.0
    experts[Expert.NORM2] = float(how[Setting.PAPER])  # |e_1|, where Algorithm 3 begins
    totals = np.zeros(len(Total))
    totals[Total.BASELINE] = (how[Setting.LOWEST] + how[Setting.HIGHEST]) / 2
    return _state(how, np.zeros((0, len(grid))), experts, totals)


def _state(how: Any, weights: Any, experts: Any, totals: Any) -> RankingState:
    state = object.__new__(RankingState)
    state.how, state.weights, state.experts, state.totals = how, weights, experts, totals
    state.lowest, state.highest = float(how[Setting.LOWEST]), float(how[Setting.HIGHEST])
    state.margin = None if how[Setting.RELATIVE] else float(experts[Expert.GAMMA, 0])
    return state


@np.errstate(all="ignore")  # forged numbers overflow, and are then found to be too large
def check_state(arrays: dict[str, NDArray[Any]], *, ranker: int = 0) -> RankingState:
    """The state whose `arrays()` these are, from a file that may hold anything; a ModelFileError says what is wrong.

    `ranker` is how many experts a ranker has; 0 means that it is a bandit's state.
    """
    require_arrays(arrays, ("how", "experts", "totals", "weights"))
    experts = arrays["experts"].shape[1] if arrays["experts"].ndim == 2 else -1
    features = arrays["weights"].shape[0] if arrays["weights"].ndim == 2 else -1
    shapes = {"how": (len(Setting),), "experts": (len(Expert), experts), "totals": (len(Total),),
              "weights": (features, experts)}  # fmt: skip
    own = {}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.dtype != np.float64 or array.shape != shape or experts < 1 or (ranker and experts != ranker):
            raise ModelFileError(f"array {name!r} is {array.dtype} of shape {array.shape}, which no policy has")
        own[name] = np.array(array, dtype=np.float64, order="C")
        if not np.isfinite(own[name]).all():
            raise ModelFileError(f"array {name!r} holds numbers that are not finite")
    how, S, t, T = own["how"], own["experts"], own["totals"], own["weights"]
    lowest, highest = how[Setting.LOWEST], how[Setting.HIGHEST]
    paper_how = bool(how[Setting.PAPER])
    require(abs(lowest) <= LARGEST_REWARD and abs(highest) <= LARGEST_REWARD, "how", "reward_range")
    require(highest - lowest >= LEAST_WIDTH, "how", "reward_range")
    require(0.0 <= how[Setting.FLOOR] <= 1.0, "how", "exploration")
    require(how[Setting.HORIZON] == 0.0 or 1.0 <= how[Setting.HORIZON] <= MOST_HORIZON, "how", "horizon")
    require(how[Setting.RELATIVE] in (0.0, 1.0) and how[Setting.PAPER] in (0.0, 1.0), "how", "update")
    require(not paper_how or (experts == 1 and how[Setting.HORIZON] >= 1 and not how[Setting.RELATIVE]), "how",
             "update='paper', which has one expert, a margin and a horizon")  # fmt: skip
    if paper_how:
        norm2 = float(S[Expert.NORM2, 0])
        require(norm2 == 0.0 or 0.9 * paper.LEAST_NORM2 <= norm2 <= 1.0 + 1e-9, "experts", "NORM2")
    for place, (low, high) in _EXPERTS.items():
        require(bool(np.all((S[place] >= low) & (S[place] <= high))), "experts", place.name)
    for total, (low, high) in _TOTALS.items():
        require(bool(low <= t[total] <= high), "totals", total.name)
    width = highest - lowest
    require(bool(((S[Expert.DELTA] >= LEAST_MARGIN * width * 0.99) & (S[Expert.DELTA] <= width * 1.01)).all()),
             "experts", "gap")  # fmt: skip
    require(bool(((S[Expert.GAMMA] >= LEAST_MARGIN) & (S[Expert.GAMMA] <= 2.0)).all()), "experts", "margin")
    require(bool((S[Expert.FIRST] <= S[Expert.CAP]).all()), "experts", "FIRST above CAP")
    learned, chosen = float(t[Total.ROUNDS]), float(t[Total.CHOICES])
    require(bool((S[Expert.KEPT] <= learned * (1 + 1e-9)).all()), "experts", "KEPT above the number of rounds")
    require(learned == math.floor(learned) and chosen == math.floor(chosen), "totals", "counts that are not whole")
    if not ranker:
        require(learned <= chosen, "totals", "more rounds learned than chosen")
        require(bool(lowest <= t[Total.BASELINE] <= highest), "totals", "BASELINE")
    require(features > 0 or learned == chosen == 0.0, "weights", "no features, but rounds that were learned")
    lengths = np.sqrt(np.sum((T * S[Expert.SCALE]) ** 2, axis=0))
    require(bool((lengths <= _LONG).all()) and bool((np.abs(T) <= 1e100).all()), "weights", "a vector that is too long")
    return _state(how, T, S, t)


def require_arrays(arrays: Any, names: Any) -> None:
    """Refuse what is not a table with these arrays."""
    for name in names:
        if not isinstance(arrays, dict) or not isinstance(arrays.get(name), np.ndarray):
            raise ModelFileError(f"array {name!r} is missing, which every such policy has: save it again")


def require(good: Any, name: str, what: str) -> None:
    if not good:
        raise ModelFileError(f"array {name!r} holds what no policy has ({what}): the file is damaged or forged")
