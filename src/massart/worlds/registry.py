"""Worlds by name."""

import difflib
import inspect
from typing import Any, Literal, overload

from massart.errors import InvalidParameterError
from massart.worlds.adaptive import HuntedMajority, HuntedMinority, NearMiss, WorstOfPool, WorstPoint
from massart.worlds.base import World
from massart.worlds.oblivious import OrthogonalCoins, RandomNoise, TurningTarget
from massart.worlds.plane import FixedPair, Kink, MaskedMargin, SacrificedMajority, SacrificedMinority, TwoPhases
from massart.worlds.rewards.base import RewardWorld
from massart.worlds.rewards.pairs import HardPairs, HardPairsSimpson, HuntedPairs
from massart.worlds.rewards.scored import Linear, Simpson, SortedRewards, StepMaps
from massart.worlds.stream import Seed

__all__ = ["RewardName", "make", "names", "reward_names"]

_WORLDS: tuple[type[World], ...] = (
    RandomNoise,
    MaskedMargin,
    SacrificedMinority,
    SacrificedMajority,
    Kink,
    TwoPhases,
    FixedPair,
    OrthogonalCoins,
    TurningTarget,
    WorstPoint,
    WorstOfPool,
    NearMiss,
    HuntedMinority,
    HuntedMajority,
)
_REWARD_WORLDS: tuple[type[RewardWorld], ...] = (
    Linear,
    SortedRewards,
    Simpson,
    StepMaps,
    HardPairs,
    HardPairsSimpson,
    HuntedPairs,
)
RewardName = Literal["linear", "sorted", "simpson", "step-maps", "hard-pairs", "hard-pairs-simpson", "hunted-pairs"]
_BY_NAME = {world.name: world for world in _WORLDS}
_REWARDS_BY_NAME = {world.name: world for world in _REWARD_WORLDS}
_BY_LETTER = {world.letter: world for world in _WORLDS if world.letter}
_COMMON = ("noise_rate", "margin", "dimension", "seed")
_REWARD_COMMON = ("arms", "gap", "margin", "dimension", "seed")


def names() -> list[str]:
    """List the worlds of labels `make` knows: the oblivious worlds first, then the adaptive ones.

    >>> "masked-margin" in names()
    True
    """
    return list(_BY_NAME)


def reward_names() -> list[str]:
    """List the worlds of rewards `make` knows: the oblivious worlds first, then the adaptive one.

    >>> "simpson" in reward_names(), "simpson" in names()
    (True, False)
    """
    return list(_REWARDS_BY_NAME)


@overload
def make(
    name: RewardName, *, arms: int | None = None, gap: float | None = None, seed: Seed = 0, **options: Any
) -> RewardWorld: ...
@overload
def make(name: str, *, noise_rate: float | None = None, seed: Seed = 0, **options: Any) -> World: ...
def make(
    name: str,
    *,
    noise_rate: float | None = None,
    margin: float | None = None,
    dimension: int | None = None,
    seed: Seed = 0,
    **options: Any,
) -> World | RewardWorld:
    """Make a world of labels or of rewards by its name, or by the letter of its docstring.

    A parameter left at None takes the world's own default; one out of range raises an error with
    the range. Worlds of rewards, those of `reward_names`, have arms and a gap instead of a noise rate.

    >>> world = make("masked-margin", noise_rate=0.1, margin=0.05, dimension=20, seed=0)
    >>> for chunk in world.chunks(rounds=1000, size=600):
    ...     print(chunk.X.shape, sorted(set(chunk.y.tolist())))
    (600, 20) [-1, 1]
    (400, 20) [-1, 1]
    >>> make("masked-margins")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: there is no world 'masked-margins'; did you mean 'masked-margin'...
    """
    given = {"noise_rate": noise_rate, "margin": margin, "dimension": dimension, "seed": seed, **options}
    if name in _REWARDS_BY_NAME:
        if noise_rate is None:
            del given["noise_rate"]
        rewarding: RewardWorld = _build(_REWARDS_BY_NAME[name], _REWARD_COMMON, given)
        return rewarding
    world = _BY_NAME.get(name) or _BY_LETTER.get(name)
    if world is None:
        raise InvalidParameterError(_unknown(name))
    labelled: World = _build(world, _COMMON, given)
    return labelled


def _build(world: Any, common: tuple[str, ...], given: dict[str, Any]) -> Any:
    accepted = [*common, *(key for key in inspect.signature(world).parameters if key not in common)]
    unknown = sorted(set(given) - set(accepted))
    if unknown:
        raise InvalidParameterError(
            f"the world {world.name!r} has no parameter {unknown[0]!r}; it has {', '.join(accepted)}"
        )
    return world(**given)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(str(name), [*_BY_NAME, *_REWARDS_BY_NAME], n=3, cutoff=0.4)
    every = f"the worlds are {', '.join(_BY_NAME)}; those with arms and rewards {', '.join(_REWARDS_BY_NAME)}"
    hint = f"did you mean {' or '.join(map(repr, near))}? Otherwise {every}" if near else every
    return f"there is no world {name!r}; {hint}"
