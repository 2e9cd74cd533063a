"""Rounds per second of a race: world, learner and bookkeeping together, in dimension 20.

    python benchmarks/race_speed.py

Worlds written beforehand are drawn in chunks and learned in chunks; adaptive ones look at the learner's weights before
every round. By the clock, alone on the machine, with one thread for BLAS and OpenMP; the best of three tries.
"""

import argparse
import json
import time
from pathlib import Path

from report import add_threads, begin, console
from rich.table import Table

from massart import arena, worlds
from massart.arena import registry

WANTED = {False: 1_000_000, True: 200_000}  # adaptive or not
ROUNDS = {False: 400_000, True: 40_000}
NAMES = ("masked-margin", "sacrificed-minority", "random-noise", "worst-point", "hunted-minority")
LEARNERS = (
    "massart",
    "massart-fixed",
    "massart-adagrad",
    "paper",
    "perceptron",
    "logistic",
    "adaptive-logistic",
    "arow",
)


def rounds_per_second(world: str, learner: str, tries: int, part: int) -> float:
    """The best of a few tries, after one short race that compiles what is needed."""
    made = worlds.make(world, seed=0)
    rounds = ROUNDS[made.adaptive] // part
    arena.race([learner], made, 100)
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        arena.race([learner], made, rounds)
        best = min(best, time.perf_counter() - start)
    return rounds / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs, nothing is judged")
    parser.add_argument("--all", action="store_true", help="every compiled learner, the pool included")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    add_threads(parser)
    options = parser.parse_args()
    out = console()
    known = begin(out, options.threads, options.tries, quick=options.quick)
    judged, part = known["alone"] and not options.quick, 100 if options.quick else 1
    learners = registry.LEARNERS.names(peers=False) if options.all else LEARNERS
    table = Table("learner", *NAMES, title="Thousand rounds per second; 1,000 wanted, 200 in adaptive worlds")
    found: dict[str, dict[str, float]] = {}
    for learner in learners:
        if learner == "exponential-net":  # only in three dimensions
            continue
        found[learner] = {name: rounds_per_second(name, learner, options.tries, part) for name in NAMES}
        cells = []
        for name, speed in found[learner].items():
            enough = not judged or speed >= WANTED[worlds.make(name).adaptive]
            cells.append(f"{speed / 1000:,.0f}{'' if enough else ' (miss)'}")
        table.add_row(learner, *cells)
    out.print(table)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
