"""Runs of the bandit benchmark: one policy on one task with one seed, or in one world.

Policies are those of `massart.arena.registry`, with no parameter but the seed.
"""

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import bandit_adversary as adversary
import bandit_data as data
import bandit_tasks as tasks
import numpy as np
from run_journal import Key, Record

from massart.arena.registry import POLICIES

OURS, RANDOM, CENTRED = "monotone-unknown", "uniform", "action-centred-ridge"
COMPARED = (
    OURS, "linucb-disjoint-small", "linucb-disjoint", "linucb-small", "linucb", CENTRED, "epsilon-greedy-ridge",
    "vw-regcbopt", "vw-regcbopt-small", "vw-squarecb", "vw-softmax",
    "mabwiser-linucb", "mabwiser-lints", "mabwiser-lingreedy", RANDOM,
)  # fmt: skip
APART = ("linucb-disjoint", "mabwiser")  # how the names of policies begin that have a model of each arm
WORLD, ADVERSARY = "world", "against-regression"
HORIZONS = (2_000, 20_000)
KEY = ("data", "kind", "seed", "policy", "rounds")
_NUMBERS = 2**20  # of contexts made at once


@dataclass(frozen=True)
class Run:
    """All that a process needs to know."""

    data: str  # a data set, or a world
    kind: str  # of task, or WORLD
    seed: int
    policy: str
    rounds: int  # at most
    folder: Path | None

    @property
    def key(self) -> Key:
        """What tells it apart from all others."""
        return tuple(getattr(self, name) for name in KEY)

    def record(self) -> Record:
        """Make the run; a policy that raises leaves its message instead of a score."""
        start = time.perf_counter()
        try:
            result: Record = {"score": self._in_world() if self.kind == WORLD else self._on_task()}
        except Exception as failure:  # whatever somebody's package raises, the others go on
            result = {"score": None, "failure": f"{type(failure).__name__}: {failure}"}
        named = dict(zip(KEY, self.key, strict=True))
        return {**named, **result, "seconds": round(time.perf_counter() - start, 3)}

    def _on_task(self) -> float:
        task = _task(self.data, self.kind, self.seed, self.rounds, self.folder)
        apart = self.policy.startswith(APART)
        give = task.plain if apart else task.contexts
        dimension = task.rows.shape[-1] if apart else task.dimension
        policy = POLICIES.make(self.policy, dimension=dimension, arms=task.arms, seed=self.seed)
        step = max(1, _NUMBERS // (task.arms * dimension))
        arms = [
            policy.play(give(begin, begin + step), task.rewards[begin : begin + step]).arms
            for begin in range(0, task.rounds, step)
        ]
        return task.score(np.concatenate(arms))

    def _in_world(self) -> float:
        from massart import arena

        if self.data == ADVERSARY:
            policy = POLICIES.make(self.policy, dimension=10, arms=5, seed=self.seed)
            return adversary.lift(policy, self.rounds, self.seed)
        last: Any = arena.race([self.policy], self.data, self.rounds, seed=self.seed).final[self.policy]
        if last["error"]:
            raise RuntimeError(last["error"])
        return float(last["lift"])


@lru_cache(maxsize=4)
def _table(name: str, folder: Path) -> data.Table:
    return data.load(name, folder)


@lru_cache(maxsize=2)
def _task(name: str, kind: str, seed: int, rounds: int, folder: Path | None) -> tasks.Task:
    """The last tasks are kept, since runs on a task follow each other."""
    if folder is None:
        raise ValueError("a task needs the folder of its data")
    return tasks.make(_table(name, folder), kind, seed, rounds)


def policies() -> list[str]:
    """Those that are compared and installed."""
    installed = POLICIES.names()
    return [name for name in COMPARED if name in installed]


def world_names() -> list[str]:
    """The reward worlds, and the adversary's."""
    from massart import worlds

    return [*worlds.reward_names(), ADVERSARY]


def plan(folder: Path, kinds: list[str], worlds: list[str], seeds: int, world_seeds: int, rounds: int) -> list[Run]:
    """Every run, seed by seed: whoever stops early has compared everybody on all tasks."""
    names = data.names(folder) if kinds else []
    on_tasks = [
        Run(name, kind, seed, policy, rounds, folder)
        for seed in range(seeds)
        for kind in kinds
        for name in names
        for policy in policies()
    ]
    in_worlds = [
        Run(world, WORLD, seed, policy, horizon, None)
        for seed in range(world_seeds)
        for world in worlds
        for horizon in HORIZONS
        for policy in policies()
        if seed == 0 or not POLICIES.is_peer(policy) or world == ADVERSARY
    ]
    return on_tasks + in_worlds
