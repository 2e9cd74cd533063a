"""Means over runs: the error of each learner on each stream, its rank there, and its excess over the best.

A stream here is data with one kind of noise on its labels, in one order. A learner that failed on it comes last.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import accuracy_peers as peers
import accuracy_runs as runs
import accuracy_streams as streams
import numpy as np
from scipy.stats import rankdata

Name = tuple[str, str]  # data, noise


def _means(records: Iterable[runs.Record], what: str) -> dict[tuple[str, str, str], float]:
    """By data, noise and learner; infinite where a run failed."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        value = np.inf if record["error"] is None else record.get(what)
        if value is not None:
            values.setdefault((record["stream"], record["noise"], record["learner"]), []).append(value)
    return {key: float(np.mean(of_key)) for key, of_key in values.items()}


class Scores:
    """Errors on the streams of one order."""

    def __init__(self, records: Sequence[runs.Record], order: str) -> None:
        of_order = [record for record in records if record["order"] == order]
        self._means = {what: _means(of_order, what) for what in ("error", "true_error", "group_true_error")}
        present = {learner for _, _, learner in self._means["error"]}
        self.learners = [name for name in (*peers.NAMES, *peers.HORIZONS) if name in present]
        self._streams = {(stream, noise) for stream, noise, _ in self._means["error"]}

    def names(self, noise: str) -> list[str]:
        """The data that were run with this noise."""
        return [name for name in (*streams.NAMES, *streams.DRIFTING) if (name, noise) in self._streams]

    def error(self, stream: str, noise: str, learner: str) -> float:
        """Mean over shuffles; not a number without a run."""
        return self._means["error"].get((stream, noise, learner), np.nan)

    def best(self, stream: str, noise: str, among: Iterable[str] | None = None) -> float:
        """The least error of anybody, or of those named; not a number without any."""
        errors = [self.error(stream, noise, name) for name in (self.learners if among is None else among)]
        return min((error for error in errors if not np.isnan(error)), default=np.nan)

    def complete(self, noise: str | None = None) -> list[Name]:
        """Streams that all learners have run, with this noise or with any."""
        return [
            (name, kind)
            for kind in streams.NOISES
            if noise in (None, kind)
            for name in self.names(kind)
            if not any(np.isnan(self.error(name, kind, learner)) for learner in self.learners)
        ]

    def _matrix(self, noise: str | None) -> np.ndarray[Any, Any]:
        """(streams, learners) errors."""
        names = self.complete(noise)
        values = [[self.error(*name, learner) for learner in self.learners] for name in names]
        return np.array(values).reshape(len(names), len(self.learners))

    def _by_learner(self, values: np.ndarray[Any, Any]) -> dict[str, float]:
        means = values.mean(axis=0) if len(values) else np.full(len(self.learners), np.nan)
        return dict(zip(self.learners, means.tolist(), strict=True))

    def mean_ranks(self, noise: str | None = None) -> dict[str, float]:
        """1 is best; who is equal shares the mean of the ranks."""
        errors = self._matrix(noise)
        return self._by_learner(rankdata(errors, axis=1) if errors.size else errors)

    def mean_excess(self, noise: str | None = None) -> dict[str, float]:
        """Over the best on each stream."""
        errors = self._matrix(noise)
        return self._by_learner(errors - errors.min(axis=1, keepdims=True) if errors.size else errors)

    def firsts(self) -> dict[str, int]:
        """On how many streams nobody is better."""
        errors = self._matrix(None)
        first = (
            (errors == errors.min(axis=1, keepdims=True)).sum(axis=0) if errors.size else np.zeros(len(self.learners))
        )
        return dict(zip(self.learners, first.astype(int).tolist(), strict=True))

    def mean_of(self, noise: str, what: str) -> dict[str, float]:
        """Mean over data of another column of the runs, by learner, where everybody has run."""
        means, names = self._means[what], self.complete(noise)
        return {
            learner: float(np.mean([means.get((*name, learner), np.nan) for name in names])) if names else np.nan
            for learner in self.learners
        }

    def as_json(self) -> dict[str, Any]:
        """Every mean, ranks and excess."""
        return {
            "errors": {
                f"{name}, {noise}": {
                    learner: value
                    for learner in self.learners
                    if np.isfinite(value := self.error(name, noise, learner))
                }
                for noise in streams.NOISES
                for name in self.names(noise)
            },
            "ranked_on": [f"{name}, {noise}" for name, noise in self.complete()],
            "mean_rank": _finite(self.mean_ranks()),
            "mean_excess": _finite(self.mean_excess()),
            "times_first": self.firsts(),
        }


class Worlds:
    """Errors in the worlds of the race."""

    def __init__(self, records: Sequence[runs.Record]) -> None:
        of_worlds = [record for record in records if record["order"] == runs.WORLD]
        self._means = {(stream, learner): mean for (stream, _, learner), mean in _means(of_worlds, "error").items()}
        present = {learner for _, learner in self._means}
        self.learners = [name for name in runs.world_learners() if name in present] if present else []

    def names(self, adaptive: bool) -> list[str]:
        """Worlds that were run, of one of the two kinds."""
        from massart import worlds

        present = {world for world, _ in self._means}
        return [name for name in worlds.names() if name in present and worlds.make(name).adaptive == adaptive]

    def error(self, world: str, learner: str) -> float:
        """Mean over seeds; not a number without a run."""
        return self._means.get((world, learner), np.nan)

    def as_json(self) -> dict[str, dict[str, float]]:
        """Every mean."""
        found: dict[str, dict[str, float]] = {}
        for (world, learner), mean in self._means.items():
            if np.isfinite(mean):
                found.setdefault(world, {})[learner] = mean
        return found


def _finite(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if np.isfinite(value)}
