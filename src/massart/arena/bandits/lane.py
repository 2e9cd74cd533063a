"""One policy in one bandit race: it plays rounds, its sums are kept, and its rows written at the checkpoints."""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from massart.arena.bandits.contestants import BanditEntry
from massart.arena.checkpoints import Row, checkpoints
from massart.errors import InvalidDataError
from massart.worlds.rewards.base import RewardChunk, RewardStream, RewardWorld

__all__ = ["SLOW_CHUNK", "BanditLane", "BanditStanding"]

SLOW_CHUNK: Final = 256  # rounds between two looks at the clock when a round takes a fraction of a millisecond
_LOOKED_AT = 16  # rounds before a checkpoint whose probabilities are averaged


class BanditStanding(NamedTuple):
    """A policy on its way."""

    learner: str
    rounds: int
    lift: float  # per round, so far
    guaranteed_lift: float | None
    error: str | None


class BanditLane:
    """One policy in one race: its sums, its rows, its error."""

    policy: Any = None
    error: str | None = None
    rounds = 0
    reward = lift = best = variance = 0.0  # sums over the rounds played

    def __init__(self, entry: BanditEntry, world: RewardWorld, rounds: int, seed: int) -> None:
        self.entry = entry
        self.world = world
        self.horizon = rounds
        self.seed = seed
        self.rows: list[Row] = []
        self._marks = checkpoints(rounds)
        self._game: RewardStream

    @property
    def running(self) -> bool:
        """Whether rounds are left to play."""
        return self.error is None and self.rounds < self.horizon

    def attempt(self, action: Callable[..., None], *arguments: Any) -> None:
        """Do it unless the policy is out; if it raises, it is out."""
        if self.error is not None:
            return
        try:
            action(*arguments)
        except Exception as error:  # whatever somebody's policy raises, the others go on
            self.error = f"{type(error).__name__}: {error}"
            if self.rows and self.rows[-1]["rounds"] == self.rounds:
                self.rows[-1]["error"] = self.error
            else:
                self.rows.append(self._row(None))

    def start(self, seed: int) -> None:
        """Make the policy."""
        self.policy = self.entry.policy(self.world, self.horizon, seed)

    def _next_mark(self) -> int:
        return self._marks[bisect_left(self._marks, self.rounds + 1)]

    def walk(self, chunk: RewardChunk) -> None:
        """Play a chunk, stopping at the checkpoints inside of it."""
        begin, size = 0, len(chunk.means)
        while begin < size:
            mark = self._next_mark()
            end = min(size, begin + mark - self.rounds)
            part = RewardChunk._make(column[begin:end] for column in chunk)
            arms = np.asarray(self.policy.play(part.contexts, part.rewards).arms)
            if arms.shape != (end - begin,) or not ((arms >= 0) & (arms < part.means.shape[1])).all():
                raise InvalidDataError(f"play gave arms of shape {arms.shape}, or none that there are: one per round")
            self._count(part, arms)
            if self.rounds == mark:
                self._record(part.contexts[-_LOOKED_AT:])
            begin = end

    def _count(self, part: RewardChunk, arms: Any) -> None:
        played = np.arange(len(arms)), arms
        level = part.means.mean(axis=1)
        self.reward += float(part.rewards[played].sum())
        self.lift += float((part.means[played] - level).sum())
        self.best += float((part.means.max(axis=1) - level).sum())
        self.variance += float(part.means.var(axis=1).sum())
        self.rounds += len(arms)

    def begin_game(self) -> None:
        """Start a game of its own against an adaptive world."""
        self._game = self.world.play(self.horizon)

    def play_on(self) -> None:
        """Play until the next checkpoint, or until it is time to look at the clock."""
        policy, mark = self.policy, self._next_mark()
        shown, arms = [], []
        try:
            for _ in range(min(SLOW_CHUNK, mark - self.rounds)):
                weights = policy.weights
                # A policy that has not seen a context yet may not know how many weights it will have.
                one = self._game.next(weights if weights.size else np.zeros(self.world.dimension))
                choice = policy.choose(one.contexts)
                policy.learn(choice, float(one.rewards[choice.arm]))
                shown.append(one)
                arms.append(choice.arm)
        finally:
            if shown:
                self._count(RewardChunk._make(np.array(column) for column in zip(*shown, strict=True)), np.array(arms))
        if self.rounds == mark:
            self._record([one.contexts for one in shown[-_LOOKED_AT:]])

    def standing(self) -> BanditStanding:
        """Where it is now."""
        lift = self.lift / max(1, self.rounds)
        return BanditStanding(self.entry.name, self.rounds, lift, self.world.guaranteed_lift, self.error)

    def _record(self, contexts: Any) -> None:
        self.rows.append(self._row(float(np.mean([np.max(self.policy.probabilities(one)) for one in contexts]))))

    def _row(self, favourite: float | None) -> Row:
        rounds, world = max(1, self.rounds), self.world
        return {
            "world": world.name,
            "learner": self.entry.name,
            "seed": self.seed,
            "rounds": self.rounds,
            "reward": self.reward / rounds,
            "lift": self.lift / rounds,
            "guaranteed_lift": world.guaranteed_lift,
            "best_lift": self.best / rounds,
            "share": self.lift / self.best if self.best > 0.0 else None,
            "chance": math.sqrt(self.variance) / rounds,
            "favourite": favourite,
            "arms": world.arms,
            "gap": world.gap,
            "margin": world.margin,
            "dimension": world.dimension,
            "error": self.error,
        }
