"""Runs of the accuracy benchmark: what there is to do, cheap things first.

A run is one learner on one stream with one kind of noise, in one order, with one seed; or one learner in one world with
one seed.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import accuracy_peers as peers
import accuracy_streams as streams
from run_journal import Key, Record

KEY = ("stream", "noise", "order", "seed", "learner", "rows", "checksum")
ORDERS = ("random", "original")
WORLD = "world"  # instead of noise and order
DRIFT = "drift"  # the order of a stream whose target moves

LONG = 20_000  # rows; beyond them a stream gets fewer shuffles
SHUFFLES, SHUFFLES_OF_LONG, SHUFFLES_OF_RIVER = 10, 2, 1  # river is slow, and so gets one shuffle of long streams
NOISY_ORIGINALS = 3  # draws of the noise on a short stream in its own order
WORLD_ROUNDS, WORLD_SEEDS, WORLD_SEEDS_OF_SLOW = 20_000, 5, 2
QUICK_ROUNDS = 200

TOLD, UNTOLD = "massart", "massart-unknown"  # the names of the race
# Learners of the race that are not compared: variants of ours, and one for at most three features.
_NOT_COMPARED = ("massart-fixed", "massart-adagrad", "exponential-net")


@dataclass(frozen=True)
class Run:
    """All that a process needs to know."""

    stream: str
    noise: str
    order: str
    seed: int
    learner: str
    rows: int
    checksum: int
    folder: Path | None
    quick: bool

    @property
    def key(self) -> Key:
        """What tells it apart from all others."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def cost(self) -> float:
        """About how long it takes, in arbitrary units."""
        slow = self.learner in (_world_peers() if self.noise == WORLD else peers.RIVER)
        return self.rows * (20.0 if slow else 1.0)

    def record(self) -> Record:
        """Make the run; a learner that raises leaves its message instead of an error rate."""
        start = time.perf_counter()
        try:
            result = self._in_world() if self.noise == WORLD else self._on_stream()
        except Exception as failure:  # whatever somebody's package raises, the others go on
            result = {"error": None, "failure": f"{type(failure).__name__}: {failure}"}
        named = dict(zip(KEY, self.key, strict=True))
        seconds = round(time.perf_counter() - start, 3)
        return {**named, **result, "seconds": seconds, "when": time.strftime("%Y-%m-%dT%H:%M:%S%z")}

    def _on_stream(self) -> Record:
        stream = streams.load(self.stream, self.folder, self.quick)
        labels = stream.labels(streams.NOISES[self.noise], self.seed)
        order = stream.order(self.order, self.seed)
        said = peers.answers(self.learner, stream, labels, order, self.seed)
        untrue = said != stream.y[order]
        return {
            "error": float((said != labels[order]).mean()),
            "true_error": float(untrue.mean()),
            "group_true_error": float(untrue[stream.group[order]].mean()),
        }

    def _in_world(self) -> Record:
        from massart import arena

        last = arena.race([self.learner], self.stream, self.rows, seed=self.seed).final[self.learner]
        if last["error"]:
            return {"error": None, "failure": last["error"]}
        return {"error": last["mistakes"] / self.rows, "true_error": last["clean_mistakes"] / self.rows}


def _world_peers() -> Sequence[str]:
    from massart.arena.registry import LEARNERS

    return [name for name in LEARNERS.names() if LEARNERS.is_peer(name)]


def world_learners() -> list[str]:
    """The learners of the worlds, by their names in the race."""
    from massart.arena.registry import LEARNERS

    return [name for name in LEARNERS.names() if name not in _NOT_COMPARED]


def plan(names: Iterable[str], worlds: Iterable[str], folder: Path | None, quick: bool) -> list[Run]:
    """Every run, cheap ones first: whoever stops early has compared everybody on most streams."""
    runs = []
    learners, _ = peers.available()
    for name in names:
        stream = streams.load(name, folder, quick)
        if name in streams.DRIFTING:
            runs += [
                Run(name, streams.NONE.name, DRIFT, 0, learner, stream.rows, stream.checksum, folder, quick)
                for learner in (*learners, *peers.HORIZONS)
            ]
            continue
        for noise, order, learner in product(streams.NOISES, ORDERS, learners):
            seeds = 1 if quick else _seeds(stream.rows, noise, order, learner)
            runs += [
                Run(name, noise, order, seed, learner, stream.rows, stream.checksum, folder, quick)
                for seed in range(seeds)
            ]
    rounds = QUICK_ROUNDS if quick else WORLD_ROUNDS
    for name, learner in product(worlds, world_learners()):
        seeds = 1 if quick else WORLD_SEEDS_OF_SLOW if learner in _world_peers() else WORLD_SEEDS
        runs += [Run(name, WORLD, WORLD, seed, learner, rounds, 0, None, quick) for seed in range(seeds)]
    return sorted(runs, key=lambda run: run.cost)


def _seeds(rows: int, noise: str, order: str, learner: str) -> int:
    if order == "original":
        return NOISY_ORIGINALS if rows <= LONG and noise != streams.NONE.name else 1
    if rows <= LONG:
        return SHUFFLES
    return SHUFFLES_OF_RIVER if learner in peers.RIVER else SHUFFLES_OF_LONG
