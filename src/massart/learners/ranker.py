"""MonotoneRanker: the same pairwise step when the rewards of all arms are seen; a linear learner to rank."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels import ranking as kernel
from massart.kernels.states import check_arrays
from massart.learners.arms import Arms, check_reward_range
from massart.learners.choice import Contexts
from massart.learners.lift import grown, learned_lift


class MonotoneRanker:
    """Rank by a linear score; the lift of its first choice is bounded from below (Theorem 9(b) of docs/theory.md).

    If in every round any two arms with different contexts differ by `gap` in expected reward and by `margin` in score,
    and arms with equal contexts have equal expected rewards, the expected lift over a random arm after T rounds of k
    arms with different contexts is at least (k-1)/k (gap T - 2 sqrt(2) (gap + M) sqrt(T + 1) / margin). Where k grows
    from round to round, the weights of a round were made with the gradient cap of fewer arms: `guaranteed_lift` pays
    for that, and counts pairs of equal contexts as nothing (Theorem 17).

    Parameters
    ----------
    gap : lower bound on the difference of expected rewards of two arms of a round.
    margin : lower bound on the difference of their scores, for contexts of norm at most 1; `learn` refuses longer ones.
    reward_range : lowest and highest reward; M is its width.

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

    def __init__(self, gap: float = 0.1, margin: float = 0.05, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        lowest, highest = check_reward_range(reward_range)
        if not 0 < gap <= highest - lowest:
            raise InvalidParameterError(f"gap={gap!r}: give a number above 0, at most the reward range")
        if not 0 < margin <= 2:
            raise InvalidParameterError(f"margin={margin!r}: give a number above 0 and at most 2")
        experts = np.zeros((kernel.EXPERT_SIZE, 1))
        experts[[kernel.DELTA, kernel.GAMMA, kernel.SCALE], 0] = gap, margin, 1.0
        totals = np.zeros(kernel.TOTAL_SIZE)
        self._set(
            {
                "how": np.array([0.0, lowest, highest, 0.0, 0.0, 0.0]),
                "weights": np.zeros((0, 1)),
                "experts": experts,
                "totals": totals,
            }
        )

    def _set(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._how = arrays["how"]
        self._T = arrays["weights"]  # (n_features, 1), no rows before the first contexts
        self._S = arrays["experts"]
        self._t = arrays["totals"]

    def _arms(self, contexts: Contexts, limit: float) -> tuple[Arms, NDArray[np.float64], NDArray[np.float64]]:
        known = self._t[kernel.ROUNDS] > 0
        arms = Arms.of(contexts, None, self._T.shape[0] if known else None)
        weights = self._T if known else np.zeros((arms.width, 1))
        scores, squares = np.empty((arms.count, 1)), np.empty(arms.count)
        bad = kernel.look(arms.rows, arms.count, weights, self._S, limit, scores, squares)
        if bad >= 0:
            raise arms.refusal(bad, float(self._S[kernel.GAMMA, 0]))
        return arms, scores, squares

    def score(self, contexts: Contexts) -> NDArray[np.float64]:
        """(k,) scores w.x of the arms."""
        return self._arms(contexts, kernel.MOST_SQUARE)[1][:, 0]

    def choose(self, contexts: Contexts) -> int:
        """The arm with the highest score, the first of equals."""
        return int(self.score(contexts).argmax())

    def predict_ranking(self, contexts: Contexts) -> NDArray[np.int64]:
        """Numbers of the arms from the best to the worst; equals in their order."""
        return np.asarray(np.argsort(-self.score(contexts), kind="stable"))

    def learn(self, contexts: Contexts, rewards: ArrayLike) -> None:
        """Learn the rewards of all arms of a round."""
        arms, scores, squares = self._arms(contexts, kernel.UNIT_SQUARE)
        try:
            seen = np.asarray(rewards, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidDataError("rewards must be numbers, one per arm") from None
        lowest, highest = self._how[kernel.LOWEST], self._how[kernel.HIGHEST]
        if seen.shape != (arms.count,):
            raise InvalidDataError(f"rewards have shape {seen.shape}, but there are {arms.count} arms: give one each")
        if not ((seen >= lowest) & (seen <= highest)).all():
            raise InvalidDataError(f"rewards leave reward_range ({lowest:g}, {highest:g}), or are not numbers")
        if self._t[kernel.ROUNDS] == 0:
            self._T = np.zeros((arms.width, 1))
        count = arms.count
        memo = (np.empty(1, np.int64), np.empty(1), np.empty((count, 1)), np.empty((count, 1)), np.empty(count))
        scratch = np.zeros(arms.width)
        kernel.plan(arms.rows, arms.allowed, self._how, self._S, self._t, np.ones(1), scores, squares, scratch, memo)
        memo[1][0] = 0.0  # nothing is explored: everything is seen
        kernel.teach(
            arms.rows, arms.allowed, seen, memo, highest - lowest, True, self._T, self._S, np.zeros_like(self._T)
        )
        self._t[kernel.ROUNDS] += 1.0
        self._t[kernel.REWARD] += seen[memo[0][0]]
        self._t[kernel.SEEN] += seen[memo[0][0]] - seen.mean()

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike) -> Self:
        """Learn one round per query: rows of X with the same `qid`, y their relevance."""
        queries, relevance = np.asarray(qid), np.asarray(y, dtype=np.float64)
        if queries.shape != relevance.shape or queries.shape != (X.shape[0],):
            raise InvalidDataError("X, y and qid must have the same number of rows")
        _, first = np.unique(queries, return_index=True)
        for start in np.sort(first):
            rows = np.flatnonzero(queries == queries[start])
            self.learn(X[rows], relevance[rows])
        return self

    def predict(self, X: Contexts) -> NDArray[np.float64]:
        """Scores of rows, as a learner to rank gives them."""
        return self.score(X)

    @property
    def rounds(self) -> int:
        """Rounds learned."""
        return int(self._t[kernel.ROUNDS])

    @property
    def lift(self) -> float:
        """What its first choices earned above a random arm, summed over the rounds learned."""
        return float(self._t[kernel.SEEN])

    @property
    def guaranteed_lift(self) -> float:
        """The expected lift is at least the expectation of this: Theorems 9(b) and 17, from the gradients really seen.

        A number of 0 or less guarantees nothing yet.
        """
        return learned_lift(self._S[:, 0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear score."""
        return np.asarray(self._T[:, 0] * self._S[kernel.SCALE, 0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it remembers; `from_arrays` gives it back bit for bit."""
        return {"how": self._how, "weights": self._T, "experts": self._S, "totals": self._t}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "MonotoneRanker":
        """The ranker whose `arrays()` these are; those of older files are completed."""
        rounds = float(arrays["totals"].flat[kernel.ROUNDS]) if arrays["totals"].size > kernel.ROUNDS else 0.0
        arrays = dict(arrays, experts=grown(arrays["experts"], rounds, np.zeros(arrays["experts"].shape[-1])))
        shapes: dict[str, tuple[int, ...]] = {
            "how": (kernel.HOW_SIZE,),
            "experts": (kernel.EXPERT_SIZE, 1),
            "totals": (kernel.TOTAL_SIZE,),
        }
        if arrays["weights"].size:
            shapes["weights"] = (arrays["weights"].shape[0], 1)
        check_arrays(arrays, shapes)
        ranker = cls.__new__(cls)
        ranker._set(arrays)
        return ranker

    def copy(self) -> "MonotoneRanker":
        """An independent ranker in the same state."""
        return MonotoneRanker.from_arrays({name: array.copy() for name, array in self.arrays().items()})
