"""The loop over rounds of a bandit race: policies play a reward world, looked at after log-spaced rounds."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from massart.arena.bandits.contestants import BanditEntry, enter
from massart.arena.bandits.lane import SLOW_CHUNK, BanditLane
from massart.arena.race import Progress, RaceInterrupted, RaceResult, seeds_of, whole_number
from massart.errors import InvalidParameterError
from massart.worlds.registry import make, reward_names
from massart.worlds.rewards.base import RewardWorld

__all__ = ["race", "reward_world", "run"]

_CHUNK = 4096  # rounds between two looks at the clock; policies give the same whatever it is
_SECONDS = 0.1  # between two calls of `progress`, at least


def race(
    policies: Any,
    world: RewardWorld | str,
    rounds: int,
    *,
    seed: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> RaceResult:
    """Let policies play the same reward world.

    On an oblivious world all of them are given the same stream. On an adaptive one each plays its own game, with
    the same random numbers. A policy that raises is out, and marked in its last row; the others go on.

    The lift of a round is the expected reward of the arm played less the mean of that of all arms of the round. Each
    row is a dict: world, learner, seed, rounds, and, per round until then, reward (as drawn), lift, best_lift (of the
    best arm of each round), share (lift / best_lift) and chance (the standard deviation of the lift of random arms);
    guaranteed_lift (of the world, in the limit), favourite (the probability of the most probable arm, averaged over
    the last rounds); arms, gap, margin, dimension, error.

    Parameters
    ----------
    policies : str, policy, or several of them
        Names, policies of `learners.reference.policies.Policy`, or a mapping from names to any of these. They are
        copied, not changed.
    world : RewardWorld or str
        A reward world or the name of one.
    rounds : int
        How long the race is.
    seed : int
        Of the policies made by name, and of the world if it is made by name.
    progress : callable, optional
        Called with a `Progress` of `BanditStanding`s, at most ten times a second and at the end.

    Examples
    --------
    >>> result = race(["monotone", "linucb"], "simpson", rounds=5000)
    >>> {name: row["lift"] > 0 for name, row in result.final.items()}
    {'monotone': True, 'linucb': False}
    """
    entries = enter(policies)
    rounds = whole_number("rounds", rounds, least=1)
    seed = whole_number("seed", seed, least=0)
    world_seed, policy_seed = seeds_of(seed)
    made: Any = make(world, seed=world_seed) if isinstance(world, str) else world
    return run(entries, reward_world(made), rounds, seed, policy_seed, progress)


def reward_world(world: Any) -> RewardWorld:
    """The world itself, if it has arms and rewards.

    >>> from massart import worlds
    >>> reward_world(worlds.make("kink"))
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: the world 'kink' has labels and no arms: race it without --bandit...
    """
    if isinstance(world, RewardWorld):
        return world
    if hasattr(world, "noise_rate"):
        raise InvalidParameterError(
            f"the world {world.name!r} has labels and no arms: race it without --bandit (arena.race), or name one of "
            f"{', '.join(reward_names())}"
        )
    raise InvalidParameterError(f"world must be a reward world or the name of one, got {world!r}")


def run(
    entries: Sequence[BanditEntry],
    world: RewardWorld,
    rounds: int,
    seed: int,
    policy_seed: int,
    progress: Callable[[Progress], object] | None,
) -> RaceResult:
    """The race itself, after its arguments have been checked."""
    lanes = [BanditLane(entry, world, rounds, seed) for entry in entries]
    for lane in lanes:
        lane.attempt(lane.start, policy_seed)
    look = _watch(lanes, progress)
    try:
        if world.adaptive:
            for lane in lanes:
                lane.attempt(lane.begin_game)
                while lane.running:
                    lane.attempt(lane.play_on)
                    look()
        else:
            size = _CHUNK if all(entry.fast for entry in entries) else SLOW_CHUNK
            for chunk in world.chunks(rounds, size):
                for lane in lanes:
                    lane.attempt(lane.walk, chunk)
                    look()
                if not any(lane.running for lane in lanes):
                    break
        look(True)
    except KeyboardInterrupt:
        raise RaceInterrupted(_result(lanes)) from None
    return _result(lanes)


def _result(lanes: Sequence[BanditLane]) -> RaceResult:
    policies = {lane.entry.name: lane.policy for lane in lanes if lane.policy is not None}
    return RaceResult([row for lane in lanes for row in lane.rows], policies)


def _watch(lanes: Sequence[BanditLane], progress: Callable[[Progress], object] | None) -> Callable[..., None]:
    """A function that tells `progress` how far it is, if it has not done so just before."""
    last = -math.inf

    def look(at_the_end: bool = False) -> None:
        nonlocal last
        now = time.monotonic()
        if progress is not None and (at_the_end or now - last >= _SECONDS):
            last = now
            first = lanes[0]
            done = sum(lane.rounds if lane.error is None else lane.horizon for lane in lanes)
            standings: list[Any] = [lane.standing() for lane in lanes]
            progress(Progress(done, len(lanes) * first.horizon, first.world.name, first.seed, standings))

    return look
