"""Peak memory of a whole process that learns from text, for a file and for one four times as long."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from file_contenders import ONE, POOL, VW, check_learned, train, vowpal
from file_processes import Command, able, run
from file_rows import FEW, MEGABYTE, Block
from measuring import Finding, Section, Wanted, quotients
from report import Tick

BITS = "22"
TIMES = 4  # as long
SMALL_ENOUGH = Wanted(at_most=300.0)  # megabytes
NO_GROWTH = Wanted(at_most=1.05)
ROUNDS = 3  # at most: peaks differ little from run to run
_FILE, _PIPE = "file", "pipe"


class Reader(NamedTuple):
    """Who reads, and from where."""

    kind: str
    way: str

    @property
    def name(self) -> str:
        """Both, as the table shows them."""
        return f"{self.kind}, {self.way}"

    def command(self, block: Block, data: Path, rows: int, folder: Path) -> Command:
        """Learn that many rows of the block, from the file that holds them or from standard input."""
        if self.kind == VW:
            return vowpal(data, folder, rows, "-b", BITS)
        if self.way == _FILE:
            return train(self.kind, data, folder, rows, "-b", BITS)
        pieces = partial(block.copies, rows)
        return train(self.kind, "-", folder, rows, "-b", BITS, "--format", "vw", pieces=pieces)


READERS = (*(Reader(kind, way) for kind in (ONE, POOL) for way in (_FILE, _PIPE)), Reader(VW, _FILE))


def memory_section(block: Block, megabytes: float, folder: Path, rounds: int, tick: Tick) -> Section:
    """Peaks of both sizes, and their quotient."""
    sizes = (megabytes, TIMES * megabytes)
    files = {size: (folder / f"rows_{size:g}.vw", block.rows_in(size)) for size in sizes}
    for path, rows in files.values():
        block.write(path, rows)
    absent = _absent(block, folder)
    readers = [reader for reader in READERS if reader.name not in absent]
    peaks: dict[tuple[Reader, float], list[float]] = {(reader, size): [] for reader in readers for size in sizes}
    for _ in range(min(rounds, ROUNDS)):
        for (reader, size), seen in peaks.items():
            seen.append(run(reader.command(block, *files[size], folder), folder).peak / MEGABYTE)
            if reader.kind != VW:
                check_learned(reader.kind, folder, files[size][1])
            tick(f"{reader.name}, {size:,g} MB")
    findings = []
    for reader in readers:
        judged = reader.kind != VW
        for size in sizes:
            wanted = SMALL_ENOUGH if judged else None
            findings.append(Finding(reader.name, f"peak, {size:,g} MB of text", peaks[reader, size], wanted))
        small, large = (peaks[reader, size] for size in sizes)
        grown = quotients(large, small)
        findings.append(Finding(reader.name, "  the larger over the smaller", grown, NO_GROWTH if judged else None))
    about = (
        f"Vowpal Wabbit's text, -b {BITS}. Numbers: megabytes of memory that a process held at most (resident set, all "
        "of it: Python, libraries, weights), and how many times as much it is for a text four times as long."
    )
    return Section("Peak memory", about, "MB or times", [], {}, findings, absent)


def _absent(block: Block, folder: Path) -> dict[str, str]:
    """Why a reader does not take part. The others have compiled their kernels on the way, which needs memory too."""
    few = block.write(folder / "few.vw", FEW)
    absent = {}
    for reader in READERS:
        _, reasons = able([reader.command(block, few, FEW, folder)], folder)
        for why in reasons.values():
            absent[reader.name] = why
    return absent
