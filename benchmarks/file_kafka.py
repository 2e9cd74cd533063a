"""Rows of a topic against the same rows of a file: whole processes, one partition, a mock cluster on this machine.

The mock cluster of librdkafka keeps 5 MB of a partition, so that a few rows come again and again, and are compressed.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from file_contenders import ONE, POOL, check_learned, train
from file_processes import Command, FailedError, Recorder, able
from file_rows import MEGABYTE
from measuring import Finding, Section, Wanted, interleave, quotients
from report import Tick
from workloads import SEED

BROKER = Path(__file__).parents[1] / "tests" / "helpers" / "kafka_broker.py"
MOST = 120  # megabytes: what the mock cluster can keep of such rows
TIMES = 4  # as long, for memory
DISTINCT, COLUMNS, ENTRIES = 300, 1_000, 30
WANTED = Wanted(at_least=0.6)
NO_GROWTH = Wanted(at_most=1.05)
_FILE, _TOPIC = "file", "topic"
_OPTIONS = ("--features", str(COLUMNS))


def kafka_section(megabytes: float, folder: Path, rounds: int, tick: Tick) -> Section:
    """Rows per second of the topic over those of the file, and peak memory for a topic four times as long."""
    block = _block()
    large = min(MOST, megabytes)
    sizes = (large / TIMES, large)
    files, topics = {}, {}
    with _broker() as ask:
        for size in sizes:
            path = folder / f"rows_{size:g}.svm"
            copies = max(1, round(size * MEGABYTE / len(block)))
            path.write_bytes(block * copies)
            files[size] = path, copies * DISTINCT
            topics[size] = ask(f"rows{size:g}".replace(".", "-"), path, copies * DISTINCT)
        commands = {(kind, way, size): _command(kind, way, size, files, topics, folder)
                    for kind in (ONE, POOL) for way in (_FILE, _TOPIC) for size in sizes}  # fmt: skip
        _, absent = able([commands[ONE, _TOPIC, sizes[0]]], folder)
        if absent:
            return Section("Kafka to model", "", "", [], {}, [], absent)
        recorders = {key: Recorder(command, folder) for key, command in commands.items() if key[2] == large}
        seconds = interleave([recorder.contender() for recorder in recorders.values()], rounds, tick)
        small = Recorder(commands[POOL, _TOPIC, sizes[0]], folder)
        small()
        for kind in (ONE, POOL):
            check_learned(kind, folder, files[large if kind == ONE else sizes[0]][1])
    findings = []
    for kind in (ONE, POOL):
        ratios = quotients(seconds[f"{kind}, {_FILE}"].wall, seconds[f"{kind}, {_TOPIC}"].wall)
        findings.append(Finding(kind, "rows per second, topic over file", ratios, WANTED))
    peaks = [run.peak / MEGABYTE for run in recorders[POOL, _TOPIC, large].runs]
    findings.append(Finding(f"{POOL}, {_TOPIC}", f"peak memory (MB), {large:g} MB of text", peaks))
    grown = [peak / (small.runs[0].peak / MEGABYTE) for peak in peaks]
    findings.append(Finding(f"{POOL}, {_TOPIC}", f"  over that of {sizes[0]:g} MB", grown, NO_GROWTH))
    about = (
        f"svmlight, {ENTRIES} of {COLUMNS:,} columns in a row, one row in a record, {large:g} MB, one partition, zstd. "
        "Whole processes; the mock cluster runs beside them."
    )
    contenders = [recorder.contender() for recorder in recorders.values()]
    return Section("Kafka to model", about, "times", contenders, seconds, findings, {})


def _command(kind: str, way: str, size: float, files: dict, topics: dict, folder: Path) -> Command:
    path, rows = files[size]
    found = train(kind, path if way == _FILE else topics[size], folder, rows, *_OPTIONS)
    return Command(f"{kind}, {way}", found.measures, found.arguments, rows)


def _block() -> bytes:
    rng = np.random.default_rng(SEED)
    truth, lines = rng.normal(size=COLUMNS), []
    for _ in range(DISTINCT):
        places = np.sort(rng.choice(COLUMNS, ENTRIES, replace=False))
        values = np.round(rng.normal(size=ENTRIES), 4)
        label = 1 if (truth[places] @ values > 0) != (rng.random() < 0.1) else -1
        entries = " ".join(
            f"{place + 1}:{value}" for place, value in zip(places.tolist(), values.tolist(), strict=True)
        )
        lines.append(f"{label} {entries}\n")
    return "".join(lines).encode()


@contextmanager
def _broker() -> Iterator:
    """A mock cluster in another process; called with a topic and a file it produces its lines and gives the address."""
    with subprocess.Popen(
        [sys.executable, str(BROKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        address = process.stdout.readline().strip()
        if not address:
            raise FailedError("the mock cluster does not start: is confluent-kafka installed?")

        def ask(topic: str, path: Path, rows: int) -> str:
            process.stdin.write(json.dumps({"topic": topic, "file": str(path)}) + "\n")
            process.stdin.flush()
            if process.stdout.readline().split() != ["0", str(rows)]:
                raise FailedError("the mock cluster has not kept all rows")
            return f"kafka://{address}/{topic}"

        yield ask
        process.stdin.close()
