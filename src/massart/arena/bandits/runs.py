"""Reward worlds x policies x seeds: races in one process or several, the same rows either way."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from massart import __version__
from massart.arena.bandits.contestants import BanditEntry, default_names, enter
from massart.arena.bandits.lane import BanditStanding
from massart.arena.bandits.rounds import reward_world, run
from massart.arena.checkpoints import Row
from massart.arena.journal import Journal
from massart.arena.race import Progress, RaceInterrupted, seeds_of, whole_number
from massart.arena.sweep import SweepInterrupted, _in_order, _processes, _Reporter, _results, _seeds
from massart.errors import InvalidParameterError
from massart.worlds.registry import make

__all__ = ["WORLDS", "sweep"]

WORLDS: Final = ("simpson", "hard-pairs", "hard-pairs-simpson")  # that are raced in if none is named


@dataclass(frozen=True)
class _Unit:
    """A race to run: all that a process needs to know."""

    world: Mapping[str, Any]  # the arguments of worlds.make, but for the seed
    place: int  # of the world in the sweep
    entries: tuple[BanditEntry, ...]
    rounds: int
    seed: int

    @property
    def key(self) -> str:
        return json.dumps([self.place, self.seed, [entry.name for entry in self.entries]])

    @property
    def work(self) -> int:
        return self.rounds * len(self.entries)

    def race(self, progress: Callable[[Progress], object] | None = None) -> list[Row]:
        world_seed, policy_seed = seeds_of(self.seed)
        world = reward_world(make(**self.world, seed=world_seed))
        return run(self.entries, world, self.rounds, self.seed, policy_seed, progress).rows


def sweep(
    worlds: Any = WORLDS,
    policies: Any = None,
    *,
    rounds: int = 20_000,
    seeds: int | Sequence[int] = 3,
    peer_seeds: int | None = 1,
    jobs: int = 1,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> list[Row]:
    """Race all policies in all worlds with all seeds; the rows of every race, whose columns `race` explains.

    Rows come sorted by world, seed, policy and round, the same for any number of jobs. Ctrl-C raises
    `massart.arena.SweepInterrupted`, which holds the rows of what was finished.

    Parameters
    ----------
    worlds : str, mapping, or several of them
        Names, or the arguments of `massart.worlds.make`, such as {"name": "simpson", "arms": 10, "gap": 0.02}.
    policies : as for `race`, optional
        None for ours and the usual ones.
    rounds : int
        Of each race.
    seeds : int or sequence of int
        How many, counted from 0, or which ones.
    peer_seeds : int, optional
        How many of the seeds other packages' policies get, which are slow. None: all.
    jobs : int
        Processes; -1 for one per core.
    resume : path, optional
        A file that every finished race is written to, and that is not run again what it holds.
    progress : callable, optional
        Called in this process with a `Progress`, at most ten times a second and at the end.

    Examples
    --------
    >>> rows = sweep("hard-pairs", ["monotone", "uniform"], rounds=100, seeds=2)
    >>> [(row["learner"], row["seed"]) for row in rows if row["rounds"] == 100]
    [('monotone', 0), ('uniform', 0), ('monotone', 1), ('uniform', 1)]
    """
    entries: list[Any] = enter(default_names() if policies is None else policies)
    rounds = whole_number("rounds", rounds, least=1)
    numbers = _seeds(seeds)
    processes = _processes(jobs)
    specifications = _specifications(worlds)
    for_peers = numbers if peer_seeds is None else numbers[: whole_number("peer_seeds", peer_seeds, least=1)]
    units = _plan(specifications, entries, rounds, numbers, for_peers)
    journal = None
    if resume is not None:
        parameters = {
            "version": __version__,
            "worlds": specifications,
            "policies": {entry.name: entry.identity() for entry in entries},
            "rounds": rounds,
            "seeds": numbers,
            "peer_seeds": for_peers,
        }
        journal = Journal(resume, parameters)
    finished = {} if journal is None else {unit.key: journal[unit.key] for unit in units if unit.key in journal}
    waiting: Any = [unit for unit in units if unit.key not in finished]
    reporter = _BanditReporter(progress, units, finished)
    try:
        with closing(_results(waiting, processes, reporter.during)) as results:
            for unit, rows in results:
                finished[unit.key] = rows
                if journal is not None:
                    journal.add(unit.key, rows)
                reporter.after(unit, rows)
    except KeyboardInterrupt as stop:
        partial = stop.result.rows if isinstance(stop, RaceInterrupted) else []
        raise SweepInterrupted(_in_order(units, finished, entries), partial, len(finished), len(units)) from None
    finally:
        if journal is not None:
            journal.close()
    reporter.end()
    return _in_order(units, finished, entries)


class _BanditReporter(_Reporter):
    """Tells `progress` how far the whole sweep is, with lifts where a race of labels has mistakes."""

    def after(self, unit: Any, rows: Sequence[Row]) -> None:
        """When a unit is finished."""
        self._done += unit.work
        standings: list[Any] = [
            BanditStanding(learner, row["rounds"], row["lift"], row["guaranteed_lift"], row["error"])
            for learner, row in {row["learner"]: row for row in rows}.items()
        ]
        self._tell(Progress(self._done, self._total, rows[-1]["world"], unit.seed, standings))


def _specifications(worlds: Any) -> list[dict[str, Any]]:
    """The arguments of `make` for each world; a world that cannot be, or has labels, is refused."""
    if isinstance(worlds, str | Mapping) or not isinstance(worlds, Iterable):
        worlds = [worlds]
    specifications: list[dict[str, Any]] = []
    for given in worlds:
        if not isinstance(given, str | Mapping) or (isinstance(given, Mapping) and "name" not in given):
            raise InvalidParameterError(
                f"a sweep makes its worlds anew for each seed, so give names or mappings such as "
                f"{{'name': 'simpson', 'arms': 3}}, not {given!r}; a world of your own can be given to race"
            )
        wanted: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
        if "seed" in wanted:
            raise InvalidParameterError(f"the seeds of a sweep are those of seeds=...: leave 'seed' out of {given!r}")
        reward_world(make(**wanted, seed=0))
        if wanted in specifications:
            raise InvalidParameterError(f"the world {wanted['name']!r} is there twice: name it once")
        specifications.append(wanted)
    if not specifications:
        raise InvalidParameterError("no world was given: name at least one, as in sweep(['simpson'])")
    return specifications


def _plan(
    specifications: Sequence[dict[str, Any]],
    entries: Sequence[BanditEntry],
    rounds: int,
    seeds: Sequence[int],
    for_peers: Sequence[int],
) -> list[Any]:
    """All units: on an oblivious world the compiled policies share a stream; everybody else races alone."""
    units = []
    for seed in seeds:
        for place, specification in enumerate(specifications):
            adaptive = make(**specification, seed=0).adaptive
            together = tuple(entry for entry in entries if entry.fast and not adaptive)
            alone = [(entry,) for entry in entries if entry not in together and (entry.fast or seed in for_peers)]
            groups = [together, *alone] if together else alone
            units += [_Unit(specification, place, group, rounds, seed) for group in groups]
    return units
