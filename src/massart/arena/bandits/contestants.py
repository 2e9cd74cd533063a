"""Whoever enters a bandit race: ours by name, the usual policies, other packages', and objects brought along."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from massart.errors import InvalidParameterError
from massart.learners.bandit import MonotoneBandit
from massart.learners.reference.policies import registry
from massart.worlds.rewards.base import RewardWorld

__all__ = ["BanditEntry", "default_names", "describe", "enter", "is_ours", "names", "opened"]

_ASKED: Final = ("choose", "learn", "probabilities", "play", "weights", "copy")


class _Ours(NamedTuple):
    build: Callable[[RewardWorld, int, int], MonotoneBandit]  # of the world, the rounds to come and a seed
    description: str


def _told(world: RewardWorld, rounds: int, seed: int) -> MonotoneBandit:
    del rounds
    return MonotoneBandit(world.gap, world.margin, world.reward_range, random_state=seed)


def _untold(world: RewardWorld, rounds: int, seed: int) -> MonotoneBandit:
    del rounds
    return MonotoneBandit(reward_range=world.reward_range, random_state=seed)


def _printed(world: RewardWorld, rounds: int, seed: int) -> MonotoneBandit:
    return MonotoneBandit(
        world.gap, world.margin, world.reward_range, horizon=rounds, random_state=seed, update="paper"
    )


_OURS: Final[dict[str, _Ours]] = {
    "monotone": _Ours(_told, "MonotoneBandit, told the gap and the margin of the world"),
    "monotone-unknown": _Ours(_untold, "MonotoneBandit, told nothing"),
    "paper": _Ours(_printed, "Algorithm 3 of the paper as printed, told the gap, the margin and the number of rounds"),
}


@dataclass(frozen=True, eq=False)
class BanditEntry:
    """One line of the start list: a name for the rows, and where the policy comes from."""

    name: str
    source: Any  # the name of a policy, or a policy

    @property
    def fast(self) -> bool:
        """Whether it plays many rounds per call in compiled code, as all but other packages' do."""
        return not isinstance(self.source, str) or self.source in default_names()

    def policy(self, world: RewardWorld, rounds: int, seed: int) -> Any:
        """A policy of its own for one race; the one that was brought along stays as it is."""
        if not isinstance(self.source, str):
            return self.source.copy()
        if self.source in _OURS:
            return _OURS[self.source].build(world, rounds, seed)
        return registry.make(
            self.source,
            dimension=world.dimension,
            arms=world.arms,
            reward_range=world.reward_range,
            seed=seed,
            gap=world.gap,
            margin=world.margin,
            horizon=rounds,
        )

    def identity(self) -> str:
        """The same text for the same policy in the same state, in every process."""
        if isinstance(self.source, str):
            return self.source
        import joblib  # noqa: PLC0415 - only to resume a sweep with policies brought along

        kind = type(self.source)
        return f"{kind.__module__}.{kind.__qualname__}:{joblib.hash(self.source)}"


def default_names() -> list[str]:
    """Who races if nobody is named: ours and the usual policies, all of them compiled.

    >>> default_names()[:4]
    ['monotone', 'monotone-unknown', 'paper', 'uniform']
    """
    return list(dict.fromkeys([*_OURS, *registry.names(peers=False)]))


def names() -> list[str]:
    """All there are: the default ones, then those of other packages that are installed.

    >>> "linucb" in names()
    True
    """
    return list(dict.fromkeys([*_OURS, *registry.names()]))


def opened(given: Sequence[str]) -> list[str]:
    """The policies named, each once; with commas, and the groups default, peers and all.

    >>> opened(["linucb,uniform", "uniform"])
    ['linucb', 'uniform']
    """
    usual, every = default_names(), names()
    groups = {"default": usual, "peers": [name for name in every if name not in usual], "all": every}
    found = [name for words in given for word in words.split(",") if word for name in groups.get(word, [word])]
    return list(dict.fromkeys(found))


def is_ours(name: str) -> bool:
    """Whether a policy is one of massart's own.

    >>> is_ours("monotone"), is_ours("linucb"), is_ours("somebody's")
    (True, False, False)
    """
    try:
        return name in _OURS or registry.is_ours(name)
    except InvalidParameterError:
        return False


def describe(name: str) -> str:
    """One line on what a policy is.

    >>> describe("uniform"), describe("somebody's")
    ('a random arm', 'A policy of your own.')
    """
    try:
        return _OURS[name].description if name in _OURS else registry.describe(name)
    except InvalidParameterError:
        return "A policy of your own."


def enter(policies: Any) -> list[BanditEntry]:
    """The start list: one policy or several, or a mapping from the name each shall have to the policy.

    >>> [entry.name for entry in enter({"careful": MonotoneBandit(exploration=0.5), "linucb": "linucb"})]
    ['careful', 'linucb']
    >>> enter("linusb")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: there is no policy 'linusb'; did you mean 'linucb'...
    """
    if isinstance(policies, Mapping):
        named = [(str(name), source) for name, source in policies.items()]
    else:
        several = isinstance(policies, Iterable) and not isinstance(policies, str)
        named = [
            (source if isinstance(source, str) else type(source).__name__, source)
            for source in (policies if several else [policies])
        ]
    if not named:
        raise InvalidParameterError("no policy was given: name at least one, as in race(['monotone'], ...)")
    entries: list[BanditEntry] = []
    for name, source in named:
        if any(entry.name == name for entry in entries):
            raise InvalidParameterError(f"the policy {name!r} is there twice: name it once, or give {{name: policy}}")
        _check(source)
        entries.append(BanditEntry(name, source))
    return entries


def _check(source: Any) -> None:
    if isinstance(source, str):
        if source not in names():
            near = difflib.get_close_matches(source, _OURS, n=1, cutoff=0.7)
            if near:
                raise InvalidParameterError(f"there is no policy {source!r}; did you mean {near[0]!r}?")
            # Refused with the nearest names, or with how to install the package it belongs to.
            registry.make(source, dimension=2, arms=2)
    elif isinstance(source, type) or not all(hasattr(source, name) for name in _ASKED):
        raise InvalidParameterError(
            f"{source!r} cannot race: give the name of a policy, or an object with {', '.join(_ASKED)}"
        )
