"""Worlds x learners x seeds: races in one process or several, the same rows either way, and a journal to resume from.

A unit of work is one world with one seed and
    on an oblivious world    all compiled learners, for whom the stream is drawn once, or one slow learner,
    on an adaptive world     one learner, since each plays a game of its own.
Units come seed by seed, so that a sweep that is stopped early has compared everybody on some seeds.
"""

import json
import os
import signal
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from massart import __version__
from massart.arena.entries import Entry, enter
from massart.arena.journal import Journal
from massart.arena.race import Kind, Progress, RaceInterrupted, kind_of, run, seeds_of, whole_number
from massart.errors import InvalidParameterError, MassartError
from massart.worlds import DataSet, RewardWorld, World, make

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["SweepInterrupted", "sweep"]

_MOST_SEEDS = 1_000_000
_SECONDS = 0.1  # between two calls of `progress`, at least


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep.

    `rows` are those of the finished units, in the sweep's order; `partial` those of the unit that was running in this
    process, up to its last checkpoint; `done` and `total` count units.
    """

    def __init__(self, rows: list[Any], partial: list[Any], done: int, total: int) -> None:
        super().__init__(f"the sweep was interrupted after {done} of {total} units")
        self.rows = rows
        self.partial = partial
        self.done = done
        self.total = total

    def __reduce__(self) -> Any:
        """Pickles are made of what it was made of, not of its message."""
        return type(self), (self.rows, self.partial, self.done, self.total)


@dataclass(frozen=True)
class Unit:
    """A race to run: all that a process needs to know."""

    world: Mapping[str, Any] | DataSet  # the arguments of worlds.make, but for the seed
    place: int  # of the world in the sweep
    entries: tuple[Entry, ...]
    rounds: int
    seed: int

    @property
    def key(self) -> str:
        """What the journal calls it."""
        return json.dumps([self.place, self.seed, [entry.name for entry in self.entries]])

    @property
    def work(self) -> int:
        """Rounds times learners."""
        return self.rounds * len(self.entries)

    def race(self, progress: Callable[[Progress], object] | None = None) -> list[Any]:
        """Run it; the rows depend on nothing else than the unit."""
        world_seed, learner_seed = seeds_of(self.seed)
        world = _made(self.world, world_seed)
        return run(self.entries, world, self.rounds, self.seed, learner_seed, progress).rows


def sweep(
    worlds: Any,
    learners: Any = None,
    *,
    rounds: int = 20_000,
    seeds: int | Sequence[int] = 5,
    peer_seeds: int | None = None,
    jobs: int = 1,
    executor: "Executor | None" = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> list[Any]:
    """Race all learners in all worlds with all seeds; the rows of every race, whose keys `RaceResult` explains.

    Rows come sorted by world, seed, learner and round, byte for byte the same for any number of jobs. Ctrl-C raises
    `SweepInterrupted`, which holds the rows of what was finished.

    Parameters
    ----------
    worlds : str, mapping, DataSet, or several of them
        Names, the arguments of `massart.worlds.make`, such as {"name": "kink", "margin": 0.02}, or data sets
        (`massart.worlds.DataSet`). All of them with labels, or all of them with rewards.
    learners : as for `race`, optional
        None for the default learners, or in worlds with rewards the default policies.
    rounds : int
        Of each race.
    seeds : int or sequence of int
        How many, counted from 0, or which ones.
    peer_seeds : int, optional
        How many of the seeds learners get that are not compiled: other packages' may need half a millisecond for a row.
    jobs : int
        Processes; -1 for one per core.
    executor : concurrent.futures.Executor, optional
        Who runs the races instead, such as a process pool or Dask's `client.get_executor()` (docs/scale.md).
    resume : path, optional
        A file that every finished unit is written to. If it exists, what it holds is not run again; the file of
        another sweep is refused.
    progress : callable, optional
        Called in this process with a `Progress`, at most ten times a second and at the end; with more than one job
        whenever a unit is finished.

    Examples
    --------
    >>> from massart import MassartClassifier
    >>> rows = sweep(["kink"], {"ours": MassartClassifier(0.1, 0.05, fit_intercept=False)}, rounds=100, seeds=2)
    >>> [(row.seed, row.rounds) for row in rows if row.rounds in (50, 100)]
    [(0, 50), (0, 100), (1, 50), (1, 100)]
    >>> rows = sweep("hard-pairs", ["monotone", "uniform"], rounds=100, seeds=2)
    >>> [(row.learner, row.seed) for row in rows if row.rounds == 100]
    [('monotone', 0), ('uniform', 0), ('monotone', 1), ('uniform', 1)]
    """
    rounds = whole_number("rounds", rounds, least=1)
    numbers = _seeds(seeds)
    processes = _processes(jobs)
    specifications, kind = _specifications(worlds)
    registry = kind.entry.registry
    entries = enter(registry.default if learners is None else learners, kind.entry)
    for_peers = numbers if peer_seeds is None else numbers[: whole_number("peer_seeds", peer_seeds, least=1)]
    units = _plan(specifications, entries, rounds, numbers, for_peers)
    journal = None
    if resume is not None:
        parameters = {
            "version": __version__,
            "worlds": [given.identity() if isinstance(given, DataSet) else given for given in specifications],
            registry.nouns: {entry.name: entry.identity() for entry in entries},
            "rounds": rounds,
            "seeds": numbers,
            "peer_seeds": for_peers,
        }
        journal = Journal(resume, parameters)
    finished: dict[str, list[Any]] = {}
    if journal is not None:
        finished = {unit.key: list(map(kind.row.of, journal[unit.key])) for unit in units if unit.key in journal}
    waiting = [unit for unit in units if unit.key not in finished]
    reporter = _Reporter(progress, units, finished)
    try:
        with closing(_results(waiting, processes, executor, reporter.during)) as results:
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


def _made(given: Mapping[str, Any] | DataSet, seed: Any) -> World | RewardWorld:
    """The world of a specification with this seed."""
    return given.make(seed) if isinstance(given, DataSet) else make(**given, seed=seed)


def _specifications(worlds: Any) -> tuple[list[dict[str, Any] | DataSet], Kind]:
    """The arguments of `make` for each world, under its own name, or a data set, and the kind of all of them."""
    if isinstance(worlds, str | Mapping) or not isinstance(worlds, Iterable):
        worlds = [worlds]
    specifications: list[dict[str, Any] | DataSet] = []
    kinds: dict[Kind, str] = {}  # with the first world of each
    for given in worlds:
        if isinstance(given, DataSet):
            kinds.setdefault(kind_of(given.make(0)), given.world_name)
            if any(isinstance(one, DataSet) and one.world_name == given.world_name for one in specifications):
                raise InvalidParameterError(f"two data sets are called {given.world_name!r}: give each its own name")
            specifications.append(given)
            continue
        if not isinstance(given, str | Mapping) or (isinstance(given, Mapping) and "name" not in given):
            raise InvalidParameterError(
                f"a sweep makes its worlds anew for each seed, so give names or mappings such as "
                f"{{'name': 'kink', 'margin': 0.02}}, not {given!r}; a world of your own can be given to race"
            )
        wanted: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
        if "seed" in wanted:
            raise InvalidParameterError(f"the seeds of a sweep are those of seeds=...: leave 'seed' out of {given!r}")
        made: Any = make(**wanted, seed=0)
        wanted["name"] = made.name
        kinds.setdefault(kind_of(made), made.name)
        if wanted in specifications:
            raise InvalidParameterError(f"the world {wanted['name']!r} is there twice: name it once")
        specifications.append(wanted)
    if not specifications:
        raise InvalidParameterError("no world was given: name at least one, as in sweep(['masked-margin'])")
    if len(kinds) > 1:
        raise InvalidParameterError(
            f"{' and '.join(map(repr, kinds.values()))} are not of one kind, with labels or with rewards: race them in "
            "two sweeps"
        )
    return specifications, next(iter(kinds))


def _seeds(seeds: Any) -> list[int]:
    if not isinstance(seeds, Iterable):
        count = whole_number("seeds", seeds, least=1)
        if count > _MOST_SEEDS:
            raise InvalidParameterError(f"seeds={count}: give at most {_MOST_SEEDS:,}")
        return list(range(count))
    numbers = [whole_number("each of seeds", seed, least=0) for seed in seeds]
    if not numbers or len(set(numbers)) < len(numbers):
        raise InvalidParameterError(f"seeds must hold at least one number, and none twice, got {numbers}")
    return numbers


def _processes(jobs: Any) -> int:
    if jobs == -1:
        return os.cpu_count() or 1
    return whole_number("jobs (-1: one per core)", jobs, least=1)


def _plan(
    specifications: Sequence[dict[str, Any] | DataSet],
    entries: Sequence[Entry],
    rounds: int,
    seeds: Sequence[int],
    for_peers: Sequence[int],
) -> list[Unit]:
    """All units, in the order in which they are started."""
    groups: list[list[tuple[Entry, ...]]] = []
    for specification in specifications:
        adaptive = _made(specification, 0).adaptive
        together = tuple(entry for entry in entries if entry.fast and not adaptive)
        alone: list[tuple[Entry, ...]] = [(entry,) for entry in entries if entry not in together]
        groups.append([together, *alone] if together else alone)
    return [
        Unit(specification, place, group, rounds, seed)
        for seed in seeds
        for place, specification in enumerate(specifications)
        for group in groups[place]
        if group[0].fast or seed in for_peers
    ]


def _in_order(units: Sequence[Unit], finished: Mapping[str, list[Any]], entries: Sequence[Entry]) -> list[Any]:
    """The rows by world, seed, learner and round, whoever finished first."""
    turn = {seed: number for number, seed in enumerate(dict.fromkeys(unit.seed for unit in units))}
    lane = {entry.name: number for number, entry in enumerate(entries)}
    placed = [
        ((unit.place, turn[unit.seed], lane[row.learner], row.rounds), row)
        for unit in units
        for row in finished.get(unit.key, ())
    ]
    return [row for _, row in sorted(placed, key=lambda pair: pair[0])]


def _results(
    units: Sequence[Unit], processes: int, executor: "Executor | None", during: Callable[[Progress], None]
) -> Generator[tuple[Unit, list[Any]], None, None]:
    """Each unit with its rows as it is finished."""
    if executor is not None:
        yield from _executed(units, executor)
        return
    if processes == 1 or len(units) <= 1:
        for unit in units:
            yield unit, unit.race(during)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - a sweep in one process does without

    # One unit per message, so that each is in the journal as soon as it is done; learners are sent whole, for a
    # memory map of their arrays could not be learned into.
    pool = Parallel(min(processes, len(units)), return_as="generator_unordered", batch_size=1, max_nbytes=None)
    with _workers_ignore_interrupts():
        finished = pool(delayed(_numbered)(number, unit) for number, unit in enumerate(units))
    try:
        for number, rows in finished:
            yield units[number], rows
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns that units were given up, which the caller knows
            finished.close()


def _executed(units: Sequence[Unit], executor: "Executor") -> Generator[tuple[Unit, list[Any]], None, None]:
    from concurrent.futures import BrokenExecutor, as_completed  # noqa: PLC0415 - other sweeps do without

    tasks = [executor.submit(_numbered, number, unit) for number, unit in enumerate(units)]
    try:
        for task in as_completed(tasks):
            number, rows = task.result()
            yield units[number], rows
    except BrokenExecutor as error:
        raise MassartError(
            f"a worker process has ended before its race was over, and the executor has not started it again "
            f"({error}): run the sweep again; with `resume` what was finished is not run again"
        ) from None
    finally:
        for task in tasks:
            task.cancel()


def _numbered(number: int, unit: Unit) -> tuple[int, list[Any]]:
    return number, unit.race()


@contextmanager
def _workers_ignore_interrupts() -> Iterator[None]:
    """Processes started inside of it are not interrupted by Ctrl-C: this process is, and stops them.

    A blocked signal stays blocked in a new process; here it is only late, by the time it takes to start them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker  # noqa: PLC0415 - only with several processes

    resource_tracker.ensure_running()  # who starts it later unblocks the signal again (Python 3.11 and 3.12)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Reporter:
    """Calls `progress` with how far the whole sweep is."""

    def __init__(
        self, progress: Callable[[Progress], object] | None, units: Sequence[Unit], finished: Mapping[str, Any]
    ) -> None:
        self._progress = progress
        self._total = sum(unit.work for unit in units)
        self._done = sum(unit.work for unit in units if unit.key in finished)
        self._time = -float("inf")
        self._last: Progress | None = None

    def during(self, event: Progress) -> None:
        """In the middle of a unit that runs in this process."""
        self._report(event._replace(done=self._done + event.done, total=self._total))

    def after(self, unit: Unit, rows: Sequence[Any]) -> None:
        """When a unit is finished."""
        self._done += unit.work
        standings = [row.standing for row in {row.learner: row for row in rows}.values()]
        self._report(Progress(self._done, self._total, rows[-1].world, unit.seed, standings))

    def end(self) -> None:
        """When the sweep is: the last event comes even if the one before it was a moment ago."""
        if self._last is not None:
            self._time = -float("inf")
            self._report(self._last)

    def _report(self, event: Progress) -> None:
        self._last = event
        now = time.monotonic()
        if self._progress is not None and now - self._time >= _SECONDS:
            self._time = now
            self._last = None
            self._progress(event)
