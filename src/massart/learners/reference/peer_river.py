"""river: its logistic regression, on rows as dictionaries from column to value, and the LinUCB of `river.bandit`."""

from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, InvalidParameterError, needs
from massart.learners.choice import Choice
from massart.learners.reference.peers import LinearPeer, PeerPolicy

_PARTS: Final = ("_ss_arr", "_ss_inv_arr", "_eta_arr")  # what river's regression is made of: it has no public names


class RiverLearner(LinearPeer):
    """`river.linear_model.LogisticRegression` with its own default settings (steps of .01), without intercept.

    river's own prediction is whether the probability exceeds 1/2; the score here is the log-odds, so that a
    row of score 0 is predicted +1 as everywhere else.

    Needs the package `river`, which is imported when the learner is made.
    """

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self._model = needs("river.linear_model", "bench", "by this learner").LogisticRegression(intercept_lr=0.0)

    def _learn_row(self, x: NDArray[np.float64], y: float) -> float:
        score = self._score_row(x)
        self._model.learn_one(dict(enumerate(x.tolist())), y > 0.0)
        # Every row holds every column, so river's dictionary has them all, in order.
        self._weights = np.fromiter(self._model.weights.values(), np.float64, x.size)
        return score

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that further learning needs."""
        return {"counts": self._counts, "weights": self._weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        learner = cls(arrays["weights"].size)
        learner._counts = arrays["counts"]
        learner._weights = arrays["weights"]
        # river has no public way to put weights back; its optimiser keeps nothing but the number of steps.
        learner._model._weights.update(dict(enumerate(learner._weights.tolist())))
        learner._model.optimizer.n_iterations = learner.rounds
        return learner


class RiverPolicy(PeerPolicy):
    """`river.bandit.LinUCBDisjoint` with its own settings: a regression per arm, all on the same context.

    river's arms are names and its context is one for all of them. So arm i is the i-th row, and the context is the
    rows of all arms side by side, k d features: an arm can still be scored by its own row. The number of arms
    is fixed; arms that are not allowed are 0 in the context and are not offered. Rewards are centred, as river
    fits no intercept. Ties are split evenly.
    Needs the package `river`, which is imported when the policy is made.
    """

    def __init__(
        self, dimension: int, arms: int, *, reward_range: tuple[float, float] = (0.0, 1.0), seed: int = 0
    ) -> None:
        self._begin(dimension, reward_range)
        if arms < 1:
            raise InvalidParameterError(f"arms={arms}: give the number of arms, which is fixed here, 1 or more")
        self._arms = arms
        self._policy = needs("river.bandit", "bench", "by this policy").LinUCBDisjoint(seed=seed)
        self._count(seed)

    def _context(self, X: NDArray[np.float64], arms: NDArray[np.intp]) -> dict[int, float]:
        if X.shape[0] != self._arms:
            raise InvalidDataError(
                f"contexts has {X.shape[0]} rows, but river's policy was made for {self._arms} arms: pass all of them, "
                "and `allowed` where some are not to be played"
            )
        offered = np.zeros_like(X)
        offered[arms] = X[arms]
        return dict(enumerate(offered.ravel().tolist()))

    def _package_probabilities(self, X: NDArray[np.float64], arms: NDArray[np.intp]) -> NDArray[np.float64]:
        # `pull` draws among ties by itself; its bounds, asked for directly, give the probabilities.
        context, models = self._context(X, arms), self._policy._bayes_lin_regs
        posteriors = [models[arm].predict_one(context, with_dist=True) for arm in arms.tolist()]
        bounds = np.array([float(posterior.mu) + float(posterior.sigma) for posterior in posteriors])
        best = bounds == bounds.max()
        return np.asarray(best / best.sum())

    def _package_learn(self, X: NDArray[np.float64], arms: NDArray[np.intp], choice: Choice, reward: float) -> None:
        self._policy.update(choice.arm, self._context(X, arms), reward - 0.5)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) what an arm's own row weighs more than in another arm's score, averaged over arms."""
        k, d = self._arms, self._dimension
        fits = np.zeros((k, k, d))
        for arm in range(k):
            model = self._policy._bayes_lin_regs[arm]
            if model._cap:
                fits[arm] = (model._ss_inv_arr @ model._eta_arr)[: k * d].reshape(k, d)
        own = np.einsum("iid->d", fits)
        others = fits.sum(axis=(0, 1)) - own
        return np.asarray(own / k - others / max(1, k * (k - 1)))

    def _package_arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"dimension": np.array([self._dimension]), "arms": np.array([self._arms])}
        for arm in range(self._arms):
            model = self._policy._bayes_lin_regs[arm]
            arrays |= {f"arm{arm}{part}": getattr(model, part) for part in _PARTS}
        return arrays

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        dimension, arms = int(arrays["dimension"][0]), int(arrays["arms"][0])
        policy = cls(dimension, arms, reward_range=reward_range)
        policy._begin(dimension, reward_range, identity)
        for arm in range(arms):
            if arrays[f"arm{arm}_eta_arr"].size:
                model = policy._policy._bayes_lin_regs[arm]
                model._ensure_features(range(arms * dimension))
                for part in _PARTS:
                    getattr(model, part)[:] = arrays[f"arm{arm}{part}"]  # in place: river's order in memory stays
                model._m_dirty = True
        return policy._count_on(arrays)


def build_learner(name: str, n_features: int) -> RiverLearner:
    """The only learner here."""
    del name
    return RiverLearner(n_features)


def build_policy(name: str, dimension: int, arms: int, reward_range: tuple[float, float], seed: int) -> RiverPolicy:
    """The only policy here."""
    del name
    return RiverPolicy(dimension, arms, reward_range=reward_range, seed=seed)
