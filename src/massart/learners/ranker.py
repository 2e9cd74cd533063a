"""MonotoneRanker: the same pairwise step when the rewards of all arms are seen; a linear learner to rank."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from massart.errors import InvalidDataError
from massart.kernels.door import checked_csr
from massart.kernels.forms import check_form
from massart.kernels.learning import ranking as kernel
from massart.kernels.ranking_state import RankingState, check_state, new_state
from massart.learners.choice import Contexts
from massart.learners.lift import learned_lift
from massart.learners.locking import Guarded
from massart.options import check_gap, check_pair_margin, check_reward_range


class MonotoneRanker(Guarded):
    """Online linear learner to rank, for rounds in which the rewards of all arms are seen.

    If in every round any two arms with different contexts differ by `gap` in expected reward and by `margin` in score,
    and arms with equal contexts have equal expected rewards, the expected lift of its first choice over a random arm
    after T rounds of k arms with different contexts is at least
    (k-1)/k (gap T - 2 sqrt(2) (gap + M) sqrt(T + 1) / margin), M the width of `reward_range` (Theorem 9(b) of
    docs/theory.md). Where k grows from round to round, the weights of a round were made with the gradient cap of fewer
    arms: `guaranteed_lift` pays for that, and counts pairs of equal contexts as nothing (Theorem 17).

    Parameters
    ----------
    gap : float, default=0.1
        Lower bound on the difference of expected rewards of two arms of a round.
    margin : float, default=0.05
        Lower bound on the difference of their scores, for contexts of norm at most 1; `learn` refuses longer ones.
    reward_range : tuple of two floats, default=(0.0, 1.0)
        Lowest and highest reward.

    Notes
    -----
    Several threads may use one ranker.

    Massart classification is the case of two arms, x and -x, with rewards (1 + y) / 2 and (1 - y) / 2:
    gap = 1 - 2 noise_rate and twice the margin give the decisions of `Halfspace`.

    Examples
    --------
    >>> ranker = MonotoneRanker(gap=0.1, margin=0.1)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(300):
    ...     contexts = rng.uniform(-0.5, 0.5, size=(4, 3))
    ...     ranker.learn(contexts, (contexts[:, 0] > np.median(contexts[:, 0])).astype(float))
    >>> ranker.predict_ranking([[0.1, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, 0.0, 0.0]]).tolist()
    [1, 2, 0]
    """

    _state: RankingState

    def __init__(self, gap: float = 0.1, margin: float = 0.05, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        lowest, highest = check_reward_range(reward_range)
        pair = check_gap(gap, highest - lowest), check_pair_margin(margin)
        self._state = new_state([0.0, lowest, highest, 0.0, 0.0, 0.0], [pair])

    def score(self, contexts: Contexts) -> NDArray[np.float64]:
        """(k,) scores w.x of the arms."""
        with self._lock:
            scores, _ = self._state.look(self._state.arms(contexts), kernel.MOST_SQUARE)
        return np.asarray(scores[:, 0])

    def choose(self, contexts: Contexts) -> int:
        """The arm with the highest score, the first of equals."""
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
            _, first = np.unique(queries, return_index=True)
        except InvalidDataError:
            raise
        except Exception as error:  # ragged lists, or objects that do not sort
            raise InvalidDataError(f"X, y and qid must be arrays with the same number of rows ({error})") from None
        if not same:
            raise InvalidDataError("X, y and qid must have the same number of rows")
        with self._lock:
            for start in np.sort(first):
                found = np.flatnonzero(queries == queries[start])
                self.learn(rows[found], relevance[found])
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
        """The expected lift is at least the expectation of this: Theorems 9(b) and 17, from the gradients really seen.

        A number of 0 or less guarantees nothing yet.
        """
        return learned_lift(self._state.experts[:, 0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear score."""
        with self._lock:
            return np.asarray(self._state.weights[:, 0] * self._state.experts[kernel.Expert.SCALE, 0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""
        with self._lock:
            return dict(self._state.arrays())

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "MonotoneRanker":
        """The ranker whose `arrays()` these are."""
        ranker = cls.__new__(cls)
        ranker._state = check_state(arrays, ranker=True)
        return ranker

    def copy(self) -> "MonotoneRanker":
        """An independent ranker in the same state."""
        return type(self).from_arrays(self.arrays())

    def __getstate__(self) -> dict[str, Any]:
        own = {name: value for name, value in super().__getstate__().items() if name != "_state"}
        return own | {"arrays": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._state = check_state(state.pop("arrays"), ranker=True)
        super().__setstate__(state)


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
