"""MonotoneBandit as a policy of river's bandits, with a context or without."""

from collections.abc import Iterator
from typing import Any, Final

from river.bandit.base import ContextualPolicy

from massart.errors import InvalidDataError
from massart.learners.bandit import MonotoneBandit as Bandit
from massart.learners.choice import Choice

__all__ = ["MonotoneBandit"]

_WAITING: Final = 1024  # pulls that wait for their reward, at most


class MonotoneBandit(ContextualPolicy):
    """Contextual bandit that needs no model of the rewards: `massart.MonotoneBandit` for river.

    Arms are known by their ids, contexts are dicts whose texts are categories; the context is crossed with the arm.
    Without a context it is a policy for arms alone. Arms may come and go.

    `update` learns the reward of the last pull of this arm with an equal context, also if other pulls came in between:
    up to 1,024 pulls wait for their reward. An update without such a pull is learned as a round of a policy that played
    each arm of the last pull, and this one, with equal probability.

    Parameters
    ----------
    gap
        As in `massart.MonotoneBandit`, and so are `margin`, `horizon`, `exploration` and `clip_rewards`.
    margin
        See `gap`.
    reward_range
        Lowest and highest reward.
    horizon
        See `gap`.
    exploration
        See `gap`.
    clip_rewards
        See `gap`.
    reward_obj
        What river keeps of the rewards of each arm, for `ranking`: its mean by default. It has no part in decisions.
    burn_in
        The number of pulls of each arm before the policy decides.
    seed
        Random seed.

    Examples
    --------
    >>> import random
    >>> from massart.river import MonotoneBandit
    >>> rng, policy, earned = random.Random(0), MonotoneBandit(seed=0), 0.0
    >>> for _ in range(1000):
    ...     context = {"town": rng.choice(["Rome", "Paris"])}
    ...     arm = policy.pull(["news", "sport"], context)
    ...     reward = float(rng.random() < (0.8 if (arm == "news") == (context["town"] == "Rome") else 0.2))
    ...     policy.update(arm, context, reward)
    ...     earned += reward
    >>> earned > 650
    True
    """

    def __init__(
        self,
        gap: float | None = None,
        margin: float | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: float | None = None,
        exploration: float | None = None,
        clip_rewards: bool = False,
        reward_obj: Any = None,
        burn_in: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(reward_obj=reward_obj, burn_in=burn_in)
        self.gap = gap
        self.margin = margin
        self.reward_range = reward_range
        self.horizon = horizon
        self.exploration = exploration
        self.clip_rewards = clip_rewards
        self.seed = seed
        self._bandit = Bandit(gap, margin, reward_range, horizon, exploration, seed, clip_rewards=clip_rewards)
        self._waiting: dict[Any, Choice] = {}
        self._offered: list[Any] = []  # arms of the last pull

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}

    def _pull(self, arm_ids: Any, context: dict[Any, Any] | None = None) -> Any:
        arms = list(arm_ids)
        if not arms:
            raise InvalidDataError("arm_ids is empty: give the arms that can be pulled")
        choice = self._bandit.choose([_name(arm) for arm in arms], _named(context))
        if len(self._waiting) >= _WAITING:
            self._forget()
            choice = self._bandit.choose([_name(arm) for arm in arms], _named(context))
        self._offered, arm = arms, arms[choice.arm]
        self._waiting[_key(arm, context)] = choice
        return arm

    def _forget(self) -> None:
        """Wait for none of the pulls so far."""
        self._bandit.forget_pending()
        self._waiting.clear()

    def pull(self, arm_ids: Any, context: dict[Any, Any] | None = None) -> Any:
        """One of the arms, for a context or for none."""
        arms = list(arm_ids)
        return super().pull(arms, context)

    def update(self, arm_id: Any, *context_and_reward: Any, **reward_kwargs: Any) -> None:
        """Learn a reward: `update(arm_id, context, reward)`, or `update(arm_id, reward)` without a context."""
        given = list(context_and_reward)
        is_alone = len(given) == 1 and not isinstance(given[0], dict) and "reward" not in reward_kwargs
        context = reward_kwargs.pop("context", None) if is_alone or not given else given.pop(0)
        if "reward" in reward_kwargs:
            given.insert(0, reward_kwargs.pop("reward"))
        if not given:
            raise InvalidDataError("there is no reward: give update(arm_id, context, reward)")
        reward = given[0]
        choice = self._waiting.get(_key(arm_id, context))
        if choice is not None:
            self._bandit.learn(choice, reward)
            del self._waiting[_key(arm_id, context)]
        else:
            arms = self._offered if arm_id in self._offered else [*self._offered, arm_id]
            names = [_name(arm) for arm in arms]
            self._bandit.learn_logged(names, arms.index(arm_id), 1.0 / len(arms), reward, _named(context))
        super().update(arm_id, context, *given, **reward_kwargs)  # type: ignore[no-untyped-call]

    @property
    def bandit(self) -> Bandit:
        """The bandit that decides: for `certificate`, `explain` and `massart.save`."""
        return self._bandit


def _name(arm: Any) -> Any:
    """An arm's id as a text or a whole number."""
    return arm if type(arm) in (str, int) else str(arm)


def _named(context: Any) -> Any:
    """A context without what is not there."""
    if not context:
        return None
    return {name if isinstance(name, str) else str(name): value for name, value in context.items() if value is not None}


def _key(arm: Any, context: Any) -> Any:
    return arm, frozenset(context.items()) if context else None
