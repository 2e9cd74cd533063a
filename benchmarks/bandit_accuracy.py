"""`MonotoneBandit()` next to other bandit policies: labelled data as rounds, item tasks, and reward worlds, in one run.

    python benchmarks/bandit_accuracy.py --data DIR --json results/bandit_accuracy.json
    python benchmarks/bandit_accuracy.py --data DIR --only clean,raw --seeds 1 --rounds 2000
    python benchmarks/bandit_accuracy.py --data DIR --policies monotone-unknown --again monotone-unknown

DIR holds labelled files (benchmarks/bandit_data.py says of which form), benchmarks/bandit_tasks.py explains the tasks.
The score is the share of rounds in which the right class was played; of items, the lift over a random arm as a share
of the best one. Everybody is at its defaults. Each finished run is a line of the journal, and the same command goes on
from there; `--again` makes runs of these policies anew. Tables are printed as Markdown.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import bandit_data as data
import bandit_report as report
import bandit_runs as runs
import bandit_tasks as tasks
from run_journal import Journal, Record, results

WORLDS = "worlds"


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled files")
    parser.add_argument("--only", help=f"with commas, some of {', '.join(tasks.KINDS)}, {WORLDS}, or worlds by name")
    parser.add_argument("--sets", help="these data sets only, with commas")
    parser.add_argument("--policies", help="run these only, with commas; tables show all that the journal has")
    parser.add_argument("--again", help="run these policies again, though the journal has them")
    parser.add_argument("--seeds", type=int, default=2, help="of tasks")
    parser.add_argument("--world-seeds", type=int, default=10, help="of worlds; policies of other packages get one")
    parser.add_argument("--rounds", type=int, default=5000, help="of a task, at most")
    parser.add_argument("--rows", type=Path, default=Path("results/bandit_accuracy.jsonl"), help="journal of all runs")
    parser.add_argument("--json", type=Path, help="write every run, the tables and the checks here")
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1 for one per core")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after this long")
    options = parser.parse_args()
    if min(options.seeds, options.world_seeds, options.rounds) < 1:
        parser.error("--seeds, --world-seeds and --rounds must be at least 1")
    options.jobs = os.cpu_count() or 1 if options.jobs == -1 else options.jobs
    return options


def _chosen(given: str | None, every: Sequence[str]) -> list[str]:
    if given is None:
        return list(every)
    words = [word.strip().replace("-", " ") for word in given.split(",") if word.strip()]
    known = {name.replace("-", " "): name for name in every}
    for word in words:
        if word not in known:
            raise SystemExit(f"there is no {word!r}; choose from {', '.join(every)}")
    return [name for plain, name in known.items() if plain in words]


def _work(waiting: Sequence[runs.Run], journal: Journal, jobs: int, seconds: float) -> bool:
    """Make the runs and write them down, saying how far it is; whether all of them were made."""
    start = shown = time.monotonic()
    try:
        for count, record in enumerate(results(waiting, jobs), 1):
            journal.add(record)
            now = time.monotonic()
            if record["score"] is None:
                print(f"{record['policy']} on {record['data']}: {record['failure']}", file=sys.stderr)
            if now - shown > 10.0 or count == len(waiting):
                shown = now
                last = f"{record['kind']}, {record['data']}, {record['policy']}"
                print(f"{count} of {len(waiting)} runs, {now - start:.0f} s; last: {last}", file=sys.stderr, flush=True)
            if now - start > seconds:
                return count == len(waiting)
    except KeyboardInterrupt:
        return False
    return True


def _write_json(path: Path, records: Sequence[Record], found: dict[str, object], made: object) -> None:
    worlds = found["worlds"]
    assert isinstance(worlds, dict)
    named = {f"{name}, {rounds} rounds": by for (name, rounds), by in worlds.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"kinds": found["kinds"], "worlds": named, "checks": made, "runs": list(records)}, indent=1)
    path.write_text(text + "\n")


def main() -> None:
    options = _parse()
    every = [*tasks.KINDS, WORLDS, *runs.world_names()]
    only = _chosen(options.only, every)
    kinds = [kind for kind in tasks.KINDS if kind in only]
    worlds = [world for world in runs.world_names() if WORLDS in only or world in only]
    asked = _chosen(options.policies, runs.policies())
    again = _chosen(options.again, runs.policies()) if options.again else []
    planned = runs.plan(options.data, kinds, worlds, options.seeds, options.world_seeds, options.rounds)
    if options.sets:
        sets = _chosen(options.sets, data.names(options.data))
        planned = [run for run in planned if run.kind == runs.WORLD or run.data in sets]
    journal = Journal(options.rows, runs.KEY, "score")
    waiting = [run for run in planned if run.policy in asked and (run.policy in again or not journal.has(run.key))]
    complete = not waiting or _work(waiting, journal, options.jobs, options.seconds)
    records = [journal.records[run.key] for run in planned if run.key in journal.records]
    found = report.tables(records)
    made = report.checks(found, records)
    print(report.markdown(found))
    for name, reached, numbers in made:
        print(f"{'reached' if reached else 'missed '}  {name}: {numbers}")
    if options.json:
        _write_json(options.json, records, found, made)
    if not complete:
        print(f"stopped before all runs were made; the same command goes on from {options.rows}", file=sys.stderr)
        raise SystemExit(130)


if __name__ == "__main__":
    main()
