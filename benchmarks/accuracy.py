"""Errors of `MassartClassifier()` on ordinary streams and in hostile worlds, next to the learners of other packages.

Every row is predicted before it is learned; the error is the share of wrong predictions against the labels as they
come, false ones included. Everybody is at the defaults. Streams come in random order, several times,
and in the order in which they were published. Streams whose target moves come once, in their order, and there our
learner also runs with a `horizon`, at several values. Streams of more than two classes follow (accuracy_classes.py),
and probabilities of two (accuracy_calibration.py).

    python benchmarks/accuracy.py --data DIR --jobs 2       (DIR holds UCI Adult and Spambase: left out without it)
    python benchmarks/accuracy.py --data DIR --again massart --only massart    (the peers come from the journal)
    python benchmarks/accuracy.py --data DIR --streams classes                 (more than two classes only)
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import accuracy_calibration as calibration
import accuracy_classes as classes
import accuracy_peers as peers
import accuracy_report as report
import accuracy_runs as runs
import accuracy_streams as streams
from run_journal import Journal, results

EVERYBODY_ELSE = "peers"
EVERY_WORLD = "worlds"
CLASSES = "classes"
CALIBRATION = "calibration"
_CHECKED_ROWS = 300


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with adult.data, adult.test and spambase.data")
    parser.add_argument("--rows", type=Path, help="journal of all runs (results/accuracy.jsonl; none with --quick)")
    parser.add_argument("--json", type=Path, help="write every run, the tables and the checks here")
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1 for one per core")
    parser.add_argument("--quick", action="store_true", help="few rows: shows that everything runs, judges nothing")
    parser.add_argument("--only", help=f"run these only, with commas: learners, vw, sklearn, river, {EVERYBODY_ELSE}")
    parser.add_argument("--again", help="run these again, though the journal has them; named as for --only")
    parser.add_argument(
        "--streams",
        help=f"these streams and worlds only, with commas; drift, {EVERY_WORLD} for all of a kind, {CLASSES} for those "
        f"of more than two classes, {CALIBRATION} for the probabilities of two",
    )
    parser.add_argument("--more", type=Path, help="folder with .npz files, X and y, of more than two classes")
    options = parser.parse_args()
    if options.rows is None and not options.quick:
        options.rows = Path("results/accuracy.jsonl")
    if options.jobs == -1:
        options.jobs = os.cpu_count() or 1
    if options.jobs < 1:
        parser.error("--jobs must be at least 1, or -1 for one per core")
    return options


def _chosen(given: str | None, every: Iterable[str], groups: dict[str, Sequence[str]]) -> list[str]:
    """The names asked for: each itself, a group, or the first word of several (adult for adult-raw, adult-scaled)."""
    every = list(every)
    if given is None:
        return every
    found: set[str] = set()
    for word in filter(None, given.split(",")):
        named = [name for name in every if name == word or name.startswith(f"{word}-")]
        named += groups.get(word, ())
        if not named:
            raise SystemExit(f"there is no {word!r}; choose from {', '.join([*groups, *every])}")
        found.update(named)
    return [name for name in every if name in found]


def _learners(given: str | None) -> list[str]:
    every = dict.fromkeys([*peers.available()[0], *peers.HORIZONS, *runs.world_learners()])
    others = [name for name in every if name not in (peers.OURS, runs.UNTOLD, runs.TOLD, *peers.HORIZONS)]
    return _chosen(given, every, {EVERYBODY_ELSE: others})


def _learn_classes(options: argparse.Namespace) -> None:
    """The streams of more than two classes; learners are named as for the others."""
    words = None if options.only is None else options.only.split(",")
    chosen = [
        name
        for name in classes.LEARNERS
        if words is None or name.split()[0] in words or (EVERYBODY_ELSE in words and name != classes.OURS)
    ]
    path = options.json and options.json.with_name(f"{options.json.stem}-{CLASSES}.json")
    print("\nMore than two classes: error/log loss/calibration error")
    if options.quick:
        classes.run(options.data, options.more, chosen, 1, (0.0,), _CHECKED_ROWS, path)
    else:
        classes.run(options.data, options.more, chosen, path=path)


def _calibrate(options: argparse.Namespace) -> None:
    """The probabilities of two classes."""
    words = None if options.only is None else options.only.split(",")
    chosen = [
        name
        for name in calibration.LEARNERS
        if words is None or name.split()[0] in words or (EVERYBODY_ELSE in words and name != calibration.LEARNERS[0])
    ]
    path = options.json and options.json.with_name(f"{options.json.stem}-{CALIBRATION}.json")
    print("\nProbabilities of two classes: log loss, calibration error")
    calibration.run(options.data, learners=chosen, rows=_CHECKED_ROWS if options.quick else None, path=path)


def _work(waiting: Sequence[runs.Run], journal: Journal, jobs: int) -> bool:
    """Make the runs and write them down; whether all of them were made."""
    if not waiting:
        return True
    stream = streams.load("breast-cancer", None, False)
    peers.check(stream.X[:_CHECKED_ROWS], stream.y[:_CHECKED_ROWS], {run.learner for run in waiting})
    try:
        with report.progress(len(waiting)) as tick:
            for record in results(waiting, jobs):
                journal.add(record)
                tick(record)
    except KeyboardInterrupt:
        return False
    return True


def main() -> None:
    options = _parse()
    from massart import worlds

    names, absent = streams.available(options.data)
    absent += peers.available()[1]
    drifting = [name for name in streams.DRIFTING if name in names]
    kinds = {EVERY_WORLD: worlds.names(), "drift": drifting}
    chosen = _chosen(options.streams, [*names, *worlds.names(), CLASSES, CALIBRATION], kinds)
    only = _learners(options.only)
    again = _learners(options.again) if options.again else []
    in_worlds = [name for name in chosen if name not in (*names, CLASSES, CALIBRATION)]
    planned = runs.plan([name for name in chosen if name in names], in_worlds, options.data, options.quick)
    journal = Journal(options.rows, runs.KEY, "error")
    if journal.damaged:
        absent.append(f"{journal.damaged} lines of {options.rows} cannot be read; their runs were made again.")
    waiting = [run for run in planned if run.learner in only and (run.learner in again or not journal.has(run.key))]
    complete = _work(waiting, journal, options.jobs)
    records = [journal.records[run.key] for run in planned if run.key in journal.records]
    if planned:
        report.show(records, len(planned), absent, judged=not options.quick)
    if planned and options.json:
        report.write_json(options.json, records, absent, judged=not options.quick)
    if complete and CLASSES in chosen:
        _learn_classes(options)
    if complete and CALIBRATION in chosen:
        _calibrate(options)
    if not complete:
        where = f"; the same command goes on from {options.rows}" if options.rows else ""
        print(f"stopped before all runs were made{where}", file=sys.stderr)
        raise SystemExit(130)


if __name__ == "__main__":
    main()
