"""CSV to rows: the project's own parser against `pyarrow.csv` and the conversion that Arrow files go through.

Both give the same chunks, in one process, with two threads. What PyArrow does not give is the line and column of a
malformed cell, so this is a measure of what that costs.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from file_rows import LIES
from measuring import Contender, Elapsed, Finding, Section, Wanted, interleave, quotients
from report import Tick
from workloads import SEED

OWN, ARROW = "massart's parser", "pyarrow.csv"
WANTED = Wanted(at_least=2.0)  # below it, and without messages with line and column, PyArrow's would do
COLUMNS = 20
MOST = 100  # megabytes
TOWNS = 1_000
_BLOCK = 1 << 20
_ROWS_AT_ONCE = 1 << 16


def write(path: Path, megabytes: float, names: int) -> int:
    """Columns of numbers with up to 6 digits, the first `names` of them words instead; returns how many rows."""
    import pyarrow
    import pyarrow.csv

    rng, rows = np.random.default_rng([SEED, names]), 0
    words = np.array([f"town {number}" for number in range(TOWNS)])
    with path.open("wb") as file:
        while file.tell() < megabytes * 1e6:
            numbers = np.round(rng.standard_normal((_ROWS_AT_ONCE, COLUMNS)), 5)
            label = (numbers.sum(axis=1) > 0) ^ (rng.random(_ROWS_AT_ONCE) < LIES)
            columns = {"label": label.astype(int)}
            for j in range(COLUMNS):
                columns[f"x{j + 1}"] = words[rng.integers(0, TOWNS, _ROWS_AT_ONCE)] if j < names else numbers[:, j]
            options = pyarrow.csv.WriteOptions(include_header=rows == 0, quoting_style="none")
            pyarrow.csv.write_csv(pyarrow.table(columns), file, options)
            rows += _ROWS_AT_ONCE
    return rows


def read_own(path: Path) -> tuple[int, float]:
    """Rows, and the sum of all values, as massart reads them."""
    from massart.data import read

    return _sums(read(path, bits=18, labels=("0", "1")))


def read_arrow(path: Path) -> tuple[int, float]:
    """The same through PyArrow's parser."""
    import pyarrow.csv

    from massart.data.formats.arrow import Converter
    from massart.data.formats.arrow_files import Batch
    from massart.data.io.prefetch import in_order
    from massart.data.io.sources import Source
    from massart.data.reader import read

    schema = read(path, bits=18, labels=("0", "1")).schema
    reader = pyarrow.csv.open_csv(path, pyarrow.csv.ReadOptions(block_size=_BLOCK))
    convert = Converter(Source(path), reader.schema, schema, 0, labelled=True)

    def batches() -> Iterator[Batch]:
        first = 0
        for batch in reader:
            yield Batch(first, batch)
            first += batch.num_rows

    return _sums(in_order(convert, batches(), 2))


def _sums(chunks: Iterable[Any]) -> tuple[int, float]:
    rows, total = 0, 0.0
    for chunk in chunks:
        rows += len(chunk)
        total += float(chunk.rows[0].sum())
    return rows, total


def csv_section(megabytes: float, folder: Path, rounds: int, tick: Tick) -> Section:
    """Numbers only, and half of the columns words."""
    size = min(MOST, megabytes)
    title = "CSV to rows"
    about = (
        f"{size:g} MB, {COLUMNS} columns. Numbers: rows per second of the own parser, in times of PyArrow's; 2 threads."
    )
    contenders: list[Contender] = []
    try:
        for names, what in ((0, "numbers"), (COLUMNS // 2, "words and numbers")):
            path = folder / f"{names}.csv"
            rows = write(path, size, names)
            mine, theirs = read_own(path), read_arrow(path)  # compiles, fills the cache, and must be the same
            if mine[0] != theirs[0] or not np.isclose(mine[1], theirs[1]):
                raise AssertionError(f"{what}: {mine} and {theirs}")
            for name, reads in ((OWN, read_own), (ARROW, read_arrow)):
                contenders.append(Contender(f"{name}, {what}", what, rows, _timed(reads, path), threads=2))
    except ImportError as error:
        return Section(title, about, "times", [], {}, [], {"pyarrow": f"not installed ({error})"})
    seconds = interleave(contenders, rounds, tick)
    findings = [
        Finding(
            f"{OWN}, {what}",
            "over pyarrow.csv with the same conversion",
            quotients(seconds[f"{ARROW}, {what}"].wall, seconds[f"{OWN}, {what}"].wall),
            WANTED,
        )
        for what in ("numbers", "words and numbers")
    ]
    return Section(title, about, "times", contenders, seconds, findings, {})


def _timed(reads: Callable[[Path], Any], path: Path) -> Callable[[], Elapsed]:
    def run() -> Elapsed:
        wall, processor = time.perf_counter(), time.process_time()
        reads(path)
        return Elapsed(time.perf_counter() - wall, time.process_time() - processor)

    return run
