"""From file to model: massart and its peers, whole processes side by side in one run; ratios out.

    python benchmarks/files.py --json results/files.json

Text of 1 GB and less, CSV, Parquet, Kafka, peak memory, and the wait for the first line of progress. All files are
generated from a seed; a round starts every contender once, and a ratio is formed within a round before the median is
taken. By the clock, alone on the machine, with one thread for BLAS and OpenMP; the threads that read files are as many
as ever.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from file_csv import csv_section
from file_kafka import kafka_section
from file_memory import memory_section
from file_parquet import parquet_section
from file_processes import FailedError, share_bytecode
from file_progress import progress_section
from file_rows import COLUMNS, Block, counted_blocks, named_block
from file_text import LARGE, WANTED, WIDE_WANTED, Text, text_section
from measuring import Section
from report import Tick, add_threads, begin, console, print_section, progress, write_json
from workloads import SEED

SMALL = (1, 10, 100)  # megabytes
QUICK = 2


@dataclass
class Run:
    """What one run of the benchmark was asked for, and the rows that its sections share."""

    megabytes: float
    rounds: int

    @cached_property
    def counted(self) -> tuple[Block, Block]:
        """svmlight, and its rows as Vowpal Wabbit's text."""
        return counted_blocks(self.megabytes)

    @cached_property
    def named(self) -> Block:
        """Vowpal Wabbit's text with names."""
        return named_block(self.megabytes)

    @property
    def sizes(self) -> list[float]:
        """The small files that are smaller than the largest, and that."""
        return [*(size for size in SMALL if size < self.megabytes), self.megabytes]


def svmlight_section(run: Run, folder: Path, tick: Tick) -> Section:
    mine, theirs = run.counted
    about = f"About 30 of {COLUMNS:,} columns in a row. VW does not read svmlight: it gets the same rows as its text."
    text = Text("svmlight to model", about, mine, theirs, "svm", WANTED)
    return text_section(text, run.sizes, folder, run.rounds, tick)


def vw_section(run: Run, folder: Path, tick: Tick, *, bits: int) -> Section:
    about = "About 30 features in a row, in 3 namespaces, all with names, a third without a number."
    wanted = WANTED if bits < 20 else WIDE_WANTED
    text = Text(f"VW text to model, -b {bits}", about, run.named, run.named, "vw", wanted, ("-b", str(bits)))
    return text_section(text, run.sizes, folder, run.rounds, tick)


SECTIONS: dict[str, Callable[[Run, Path, Tick], Section]] = {
    "svmlight": svmlight_section,
    "vw-18": lambda run, folder, tick: vw_section(run, folder, tick, bits=18),
    "vw-22": lambda run, folder, tick: vw_section(run, folder, tick, bits=22),
    "csv": lambda run, folder, tick: csv_section(run.megabytes, folder, run.rounds, tick),
    "parquet": lambda run, folder, tick: parquet_section(run.megabytes, folder, run.rounds, tick),
    "kafka": lambda run, folder, tick: kafka_section(run.megabytes, folder, run.rounds, tick),
    "memory": lambda run, folder, tick: memory_section(run.named, run.megabytes, folder, run.rounds, tick),
    "progress": lambda run, folder, tick: progress_section(run.named, min(10, run.megabytes), folder, run.rounds, tick),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} MB, 1 round: shows that it runs")
    parser.add_argument("--size", type=float, default=None, metavar="MB", help=f"largest file (default: {LARGE} MB)")
    parser.add_argument("--rounds", type=int, default=None, help="rounds (default: 5, with --quick 1)")
    parser.add_argument("--folder", type=Path, default=None, help="where files are generated, and removed again")
    parser.add_argument("--json", type=Path, default=None, metavar="OUT", help="write every sample to this file")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="some sections only")
    add_threads(parser)
    options = parser.parse_args(arguments)
    megabytes = options.size if options.size is not None else (QUICK if options.quick else LARGE)
    rounds = options.rounds if options.rounds is not None else (1 if options.quick else 5)
    if rounds < 1 or megabytes <= 0:
        parser.error(f"--rounds {rounds} --size {megabytes:g}: give at least 1 round and more than 0 MB")

    out = console()
    known = begin(out, options.threads, rounds, quick=options.quick)
    run, large = Run(megabytes, rounds), not options.quick and megabytes >= LARGE
    judged = known["alone"] and large
    facts = {"benchmark": "files", "megabytes": megabytes, "rounds": rounds, "seed": SEED, "machine": known}
    if not large:
        out.print(f"Nothing is judged: that needs files of {LARGE:,} MB.")
    sections, failed = [], []
    with tempfile.TemporaryDirectory(prefix="massart-files-", dir=options.folder) as place:
        share_bytecode(Path(place) / "bytecode")
        for name in options.only:
            # Each section cleans up after itself: together they would need 8 GB where one needs 5.
            with tempfile.TemporaryDirectory(dir=place) as folder, progress(name) as tick:
                try:
                    section = SECTIONS[name](run, Path(folder), tick)
                except FailedError as error:  # what the other sections measured is not lost
                    section = Section(name, "A command that ran before has failed.", "", [], {}, [], {name: str(error)})
                    failed.append(name)
            sections.append(section)
            print_section(out, section, judged)
    if options.json is not None:
        write_json(options.json, facts, sections, judged)
    if failed:
        parser.exit(1, f"failed: {', '.join(failed)}\n")


if __name__ == "__main__":
    main()
