"""Runs of a benchmark: made in one process or several, and a journal of those that are done.

The journal has a line of JSON for each run, appended in one write as soon as it is done. It is read when the benchmark
starts, and a run in it is not made again; of two lines on the same run the later one counts.
"""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

Record = dict[str, Any]
Key = tuple[Any, ...]


class Run(Protocol):
    """All that a process needs to know."""

    def record(self) -> Record:
        """Make the run."""


def _record(run: Run) -> Record:
    return run.record()


def results(runs: Sequence[Run], jobs: int) -> Iterator[Record]:
    """The record of each run as it is finished; it does not depend on the number of jobs."""
    if jobs == 1:
        for run in runs:
            yield run.record()
        return
    # Spawned rather than forked: Vowpal Wabbit and numba have threads. On Ctrl-C this process stops the others.
    with get_context("spawn").Pool(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.imap_unordered(_record, runs)


class Journal:
    """Records by key, as a file and in memory. Several benchmarks may append to the same file at the same time."""

    def __init__(self, path: Path | None, key: Sequence[str], result: str) -> None:
        self._path, self._key, self._result = path, key, result
        self.records: dict[Key, Record] = {}
        self.damaged = 0
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_bytes() if path.exists() else b""
        for line in text.splitlines():
            try:
                record = json.loads(line)
                self.records[tuple(record[name] for name in self._key)] = record
            except (ValueError, TypeError, KeyError):
                self.damaged += 1
        if text and not text.endswith(b"\n"):
            self._append(b"\n")  # the end of a line that a kill has torn

    def add(self, record: Record) -> None:
        """Write down what is finished."""
        self.records[tuple(record[name] for name in self._key)] = record
        self._append(json.dumps(record).encode() + b"\n")

    def has(self, key: Key) -> bool:
        """Whether the run was made; one that failed is worth another try."""
        return key in self.records and self.records[key][self._result] is not None

    def _append(self, line: bytes) -> None:
        if self._path is None:
            return
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
