"""MABWiser: its contextual policies with a ridge regression per arm."""

from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import needs
from massart.learners.choice import Choice
from massart.learners.reference.peers import PeerPolicy
from massart.learners.reference.policies.linear import normal_table

_PARTS: Final = ("A", "A_inv", "Xty", "beta")  # what MABWiser's regression is made of: it has no public names
_DRAWS: Final = 128  # of Thompson sampling, as in `policies.linear`


class _How(NamedTuple):
    policy: str  # of mabwiser.mab.LearningPolicy, with its own settings
    explore: float = 0.0  # how often a random arm is played


EXPLORERS: Final[dict[str, _How]] = {
    "mabwiser-linucb": _How("LinUCB"),
    "mabwiser-lints": _How("LinTS"),
    "mabwiser-lingreedy": _How("LinGreedy", explore=0.1),
}


class MabwiserPolicy(PeerPolicy):
    """`mabwiser.mab.MAB` with `LinUCB`, `LinTS` or `LinGreedy` and their default settings: a regression per arm.

    MABWiser's arms are names: arm i is the i-th row, as in `LinUCBDisjoint`. It learns by `partial_fit`; its models are
    asked for their predictions one by one, so that each arm is scored by its own row. A random arm is played until the
    first reward, since MABWiser predicts nothing before. There is no intercept.

    For LinTS the probabilities are the shares of 128 evenly spread draws of its Gaussian posterior that an arm wins,
    with one uniform draw more. Arms are drawn independently; in MABWiser 2.7 they share their random numbers, since
    each model has a copy of one generator.

    Needs the package `mabwiser`, which is imported when the policy is made.
    """

    def __init__(
        self,
        dimension: int,
        explorer: str = "mabwiser-linucb",
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._begin(dimension, reward_range)
        self._count(seed)
        self._make(explorer, 1)

    def _make(self, explorer: str, arms: int) -> None:
        module = needs("mabwiser.mab", "bench", "by this policy")
        self._explorer, self._how = explorer, EXPLORERS[explorer]
        policy = getattr(module.LearningPolicy, self._how.policy)()
        self._bandit = module.MAB(list(range(arms)), policy)

    def _model(self, arm: int) -> Any:
        """The regression of an arm; one that MABWiser does not know yet is new."""
        models = self._bandit._imp.arm_to_model
        if arm in models:
            return models[arm]
        model = type(models[0])(None, models[0].alpha, models[0].l2_lambda, models[0].scale)
        model.init(self._dimension)
        return model

    @property
    def _fitted(self) -> bool:
        return bool(self._bandit._is_initial_fit)

    def _package_probabilities(self, X: NDArray[np.float64], arms: NDArray[np.intp]) -> NDArray[np.float64]:
        k = arms.size
        if not self._fitted:
            return np.full(k, 1.0 / k)
        models = [self._model(arm) for arm in arms.tolist()]
        if self._how.policy == "LinTS":
            return _often_best(models, X[arms])
        scores = np.array([model.predict(x[None, :])[0] for model, x in zip(models, X[arms], strict=True)])
        best = scores == scores.max()
        return np.asarray(self._how.explore / k + (1.0 - self._how.explore) * best / best.sum())

    def _package_learn(self, X: NDArray[np.float64], arms: NDArray[np.intp], choice: Choice, reward: float) -> None:
        for arm in range(len(self._bandit.arms), choice.arm + 1):
            self._bandit.add_arm(arm)
        self._bandit.partial_fit([choice.arm], [reward], X[choice.arm : choice.arm + 1])

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the mean of the arms' weights."""
        if not self._fitted:
            return np.zeros(self._dimension)
        return np.asarray(np.mean([self._model(arm).beta for arm in self._bandit.arms], axis=0))

    def _package_arrays(self) -> dict[str, NDArray[Any]]:
        models = [self._model(arm) for arm in self._bandit.arms] if self._fitted else []
        return {
            "dimension": np.array([self._dimension]),
            "explorer": np.frombuffer(self._explorer.encode(), np.uint8),
            **{part: np.array([getattr(model, part) for model in models]) for part in _PARTS},
        }

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        policy: Self = cls.__new__(cls)
        policy._begin(int(arrays["dimension"][0]), reward_range, identity)
        fitted = len(arrays["beta"])
        policy._make(arrays["explorer"].tobytes().decode(), max(1, fitted))
        if fitted:
            bandit, d = policy._bandit, policy._dimension
            bandit.fit([0], [0.0], np.zeros((1, d)))  # there is no public way to put models back
            for arm in bandit.arms:
                for part in _PARTS:
                    setattr(policy._model(arm), part, arrays[part][arm].copy())
        return policy._count_on(arrays)


def _often_best(models: list[Any], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often each arm has the highest of independent Gaussian scores."""
    centre = np.array([x @ model.beta for model, x in zip(models, X, strict=True)])
    spread = np.array(
        [model.alpha * np.sqrt(max(0.0, x @ model.A_inv @ x)) for model, x in zip(models, X, strict=True)]
    )
    won = (centre + spread * normal_table(_DRAWS, len(models))).argmax(axis=1)
    return np.asarray((np.bincount(won, minlength=len(models)) + 1.0 / len(models)) / (_DRAWS + 1.0))


def build_policy(name: str, dimension: int, arms: int, reward_range: tuple[float, float], seed: int) -> MabwiserPolicy:
    """One of EXPLORERS; arms are added as they come."""
    del arms
    return MabwiserPolicy(dimension, name, reward_range=reward_range, seed=seed)
