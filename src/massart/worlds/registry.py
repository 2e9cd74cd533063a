"""Worlds by name."""

import difflib
import inspect
from typing import Any

from massart.errors import InvalidParameterError
from massart.worlds.base import Seed, World
from massart.worlds.fixed_pair import FixedPair
from massart.worlds.hunted import HuntedMajority, HuntedMinority
from massart.worlds.kink import Kink
from massart.worlds.masked_margin import MaskedMargin
from massart.worlds.near_miss import NearMiss
from massart.worlds.random_noise import RandomNoise
from massart.worlds.sacrificed import SacrificedMajority, SacrificedMinority
from massart.worlds.turning_target import TurningTarget
from massart.worlds.two_phases import TwoPhases
from massart.worlds.worst_of_pool import WorstOfPool
from massart.worlds.worst_point import WorstPoint

__all__ = ["make", "names"]

_WORLDS: tuple[type[World], ...] = (
    RandomNoise,
    MaskedMargin,
    SacrificedMinority,
    SacrificedMajority,
    Kink,
    TwoPhases,
    FixedPair,
    TurningTarget,
    WorstPoint,
    WorstOfPool,
    NearMiss,
    HuntedMinority,
    HuntedMajority,
)
_BY_NAME = {world.name: world for world in _WORLDS}
_BY_LETTER = {world.letter: world for world in _WORLDS if world.letter}
_COMMON = ("noise_rate", "margin", "dimension", "seed")


def names() -> list[str]:
    """List the names `make` knows: the oblivious worlds first, then the adaptive ones.

    >>> "masked-margin" in names()
    True
    """
    return list(_BY_NAME)


def make(
    name: str,
    *,
    noise_rate: float | None = None,
    margin: float | None = None,
    dimension: int | None = None,
    seed: Seed = 0,
    **options: Any,
) -> World:
    """Make a world by its name, or by the letter of its docstring.

    A parameter left at None takes the world's own default; one the world cannot have is refused with
    the range it can have.

    >>> world = make("masked-margin", noise_rate=0.1, margin=0.05, dimension=20, seed=0)
    >>> for chunk in world.chunks(rounds=1000, size=600):
    ...     print(chunk.X.shape, sorted(set(chunk.y.tolist())))
    (600, 20) [-1, 1]
    (400, 20) [-1, 1]
    >>> make("masked-margins")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: there is no world 'masked-margins'; did you mean 'masked-margin'...
    """
    world = _BY_NAME.get(name) or _BY_LETTER.get(name)
    if world is None:
        raise InvalidParameterError(_unknown(name))
    accepted = [key for key in inspect.signature(world).parameters if key not in _COMMON]
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        extra = f", {', '.join(accepted)}" if accepted else ""
        raise InvalidParameterError(
            f"the world {world.name!r} has no parameter {unknown[0]!r}; it has {', '.join(_COMMON)}{extra}"
        )
    common = {"noise_rate": noise_rate, "margin": margin, "dimension": dimension, "seed": seed}
    build: Any = world
    made: World = build(**common, **options)
    return made


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(str(name), _BY_NAME, n=3, cutoff=0.4)
    every = f"the worlds are {', '.join(_BY_NAME)}"
    hint = f"did you mean {' or '.join(map(repr, near))}? Otherwise {every}" if near else every
    return f"there is no world {name!r}; {hint}"
