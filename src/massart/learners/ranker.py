"""MonotoneRanker: the same pairwise step when the rewards of all arms are seen; a linear learner to rank."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from massart.errors import InvalidDataError
from massart.kernels.door import checked_csr
from massart.kernels.forms import check_form
from massart.kernels.learning import ranking as kernel
from massart.kernels.query_state import QueryState, check_queries, new_queries
from massart.kernels.ranking_state import RankingState, check_state, new_state
from massart.learners.base import seed_of
from massart.learners.choice import Contexts
from massart.learners.lift import learned_lift, mixed_lift
from massart.learners.locking import Guarded
from massart.options import check_gap, check_pair_margin, check_reward_range

# What the default tries, the gaps in units of the reward range and the margins in units of the longest context.
GAPS, MARGINS = (0.02, 0.1), (0.1, 0.02)
GAP, MARGIN = 0.1, 0.05  # of a ranker that knows only the other one


class MonotoneRanker(Guarded):
    """Online linear learner to rank, for rounds ("queries") in which the rewards of all arms ("documents") are seen.

    With default settings it needs no parameter. It learns a linear score in one pass over the queries: four monotone
    experts with a guarantee, least squares and pairwise logistic regression on differences within a query, weighted by
    what their first choices have lost so far. Columns may be of any size, contexts of any length. Rewards are grades,
    clicks (0 and 1), or two arms with rewards 1 and 0 for a pair of which the first is preferred.

    If in every round any two arms with different contexts differ by `gap` in expected reward and by `margin` in score,
    in the same direction, and arms with equal contexts have equal expected rewards, then the expected lift of `choose`
    over a random arm is at least the expectation of `guaranteed_lift`: with default settings for a gap of .1 of the
    reward range and a margin of .1 of the longest context so far (Theorem 20 of docs/theory.md), with gap and margin
    given for those (Theorems 9(b) and 17), where after T rounds of k arms with different contexts it is at least
    (k-1)/k (gap T - 2 sqrt(2) (gap + M) sqrt(T + 1) / margin), M the width of `reward_range`. The rewards of one round
    may depend on each other in any way.

    Parameters
    ----------
    gap : float or None, default=None
        Lower bound on the difference of expected rewards of two arms of a round. With `gap` or `margin` given, the
        ranker is the one monotone expert of Theorem 9(b), and what is not given is 0.1 and 0.05.
    margin : float or None, default=None
        Lower bound on the difference of their scores, for contexts of norm at most 1; `learn` then refuses longer ones.
    reward_range : tuple of two floats, default=(0.0, 1.0)
        Lowest and highest reward. For grades from 0 to 4 give (0, 4).
    random_state : int or None, default=None
        Seed of the draws by which `choose` may follow one expert. Nothing else depends on it but the lift. None: a new
        one.

    Notes
    -----
    Several threads may use one ranker.

    With default settings `score`, `predict_ranking` and `weights` are those of the vote of all experts. `choose` is its
    first choice, too, unless draws of a single expert, by chance, have done better so far: that is what can be
    guaranteed. Asked again before the next `learn`, it gives the same answer.

    Time is linear in the entries of a query, and up to 256 columns, where least squares and logistic regression use the
    full matrix of products as well, of order documents * columns^2 + columns^3.

    Massart classification is the case of two arms, x and -x, with rewards (1 + y) / 2 and (1 - y) / 2:
    gap = 1 - 2 noise_rate and twice the margin give the decisions of `Halfspace`.

    Examples
    --------
    >>> ranker = MonotoneRanker(random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(300):
    ...     contexts = rng.uniform(-0.5, 0.5, size=(4, 3))
    ...     ranker.learn(contexts, (contexts[:, 0] > np.median(contexts[:, 0])).astype(float))
    >>> ranker.predict_ranking([[0.1, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, 0.0, 0.0]]).tolist()
    [1, 2, 0]
    >>> ranker.learn([[0.2, 0.1, 0.0], [0.1, 0.3, 0.0]], [1, 0])  # a pair: the first is preferred
    """

    _state: RankingState

    def __init__(
        self,
        gap: float | None = None,
        margin: float | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: int | None = None,
    ) -> None:
        lowest, highest = check_reward_range(reward_range)
        seed = seed_of(random_state)
        if gap is None and margin is None:
            grid = [(g * (highest - lowest), m) for g in GAPS for m in MARGINS]
            self._state = new_queries(lowest, highest, grid, seed)
            return
        pair = (
            check_gap(GAP if gap is None else gap, highest - lowest),
            check_pair_margin(MARGIN if margin is None else margin),
        )
        self._state = new_state([0.0, lowest, highest, 0.0, 0.0, 0.0], [pair])

    def score(self, contexts: Contexts) -> NDArray[np.float64]:
        """(k,) scores w.x of the arms."""
        with self._lock:
            state = self._state
            arms = state.arms(contexts)
            if isinstance(state, QueryState):
                return state.vote(arms)
            scores, _ = state.look(arms, kernel.MOST_SQUARE)
        return np.asarray(scores[:, 0])

    def choose(self, contexts: Contexts) -> int:
        """The arm with the highest score, the first of equals; with default settings perhaps that of one expert."""
        with self._lock:
            if isinstance(self._state, QueryState):
                return self._state.answer(self._state.arms(contexts))
        return int(self.score(contexts).argmax())

    def predict_ranking(self, contexts: Contexts) -> NDArray[np.int64]:
        """Numbers of the arms from the best to the worst; equals in their order."""
        return np.asarray(np.argsort(-self.score(contexts), kind="stable"))

    def learn(self, contexts: Contexts, rewards: ArrayLike) -> None:
        """Learn the rewards of all arms of a round."""
        with self._lock:
            state = self._state
            arms = state.arms(contexts)
            state.learn_all(arms, _rewards(rewards, arms.count, state.lowest, state.highest))

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike) -> Self:
        """Learn one round per query: rows of X with the same `qid`, y their relevance."""
        try:
            rows = checked_csr(X) if check_form(X) else np.asarray(X)
            queries, relevance = np.asarray(qid), np.asarray(y)
            same = queries.shape == relevance.shape == (rows.shape[0],)
            _, first, number = np.unique(queries, return_index=True, return_inverse=True)
        except InvalidDataError:
            raise
        except Exception as error:  # ragged lists, or objects that do not sort
            raise InvalidDataError(f"X, y and qid must be arrays with the same number of rows ({error})") from None
        if not same:
            raise InvalidDataError("X, y and qid must have the same number of rows")
        order = np.argsort(number, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(number))[:-1]) if number.size else []
        with self._lock:
            for place in np.argsort(first):
                self.learn(rows[groups[place]], relevance[groups[place]])
        return self

    def predict(self, X: Contexts) -> NDArray[np.float64]:
        """Scores of rows, as a learner to rank gives them."""
        return self.score(X)

    @property
    def rounds(self) -> int:
        """Rounds learned."""
        return self._state.learned

    @property
    def lift(self) -> float:
        """What its first choices earned above a random arm, summed over the rounds learned."""
        return float(self._state.totals[kernel.Total.SEEN])

    @property
    def guaranteed_lift(self) -> float:
        """The expected lift is at least the expectation of this: Theorems 9(b), 17 and 20, from what was learned.

        A number of 0 or less guarantees nothing yet.
        """
        with self._lock:
            if isinstance(self._state, QueryState):
                return mixed_lift(self._state)
            return learned_lift(self._state.experts[:, 0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear score."""
        with self._lock:
            if isinstance(self._state, QueryState):
                return self._state.score_weights()
            return np.asarray(self._state.weights[:, 0] * self._state.experts[kernel.Expert.SCALE, 0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""
        with self._lock:
            return dict(self._state.arrays())

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "MonotoneRanker":
        """The ranker whose `arrays()` these are."""
        ranker = cls.__new__(cls)
        ranker._state = _checked(arrays)
        return ranker

    def copy(self) -> "MonotoneRanker":
        """An independent ranker in the same state."""
        return type(self).from_arrays(self.arrays())

    def __getstate__(self) -> dict[str, Any]:
        own = {name: value for name, value in super().__getstate__().items() if name != "_state"}
        return own | {"arrays": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._state = _checked(state.pop("arrays"))
        super().__setstate__(state)


def _checked(arrays: dict[str, NDArray[Any]]) -> RankingState:
    is_default = isinstance(arrays, dict) and "members" in arrays
    return check_queries(arrays) if is_default else check_state(arrays, ranker=1)


def _rewards(rewards: Any, arms: int, lowest: float, highest: float) -> NDArray[np.float64]:
    try:
        given = np.asarray(rewards)
        if given.dtype.kind not in "fiubO":
            raise TypeError
        seen = np.array(given, dtype=np.float64)
    except Exception:  # whatever an object says when it is asked for its number
        raise InvalidDataError("rewards must be numbers, one per arm") from None
    if seen.shape != (arms,):
        raise InvalidDataError(f"rewards have shape {seen.shape}, but there are {arms} arms: give one each")
    if not ((seen >= lowest) & (seen <= highest)).all():
        raise InvalidDataError(f"rewards leave reward_range ({lowest:g}, {highest:g}), or are not numbers")
    return seen
