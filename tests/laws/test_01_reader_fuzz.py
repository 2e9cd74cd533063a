"""Laws 1 and 11, readers: whatever the bytes of a file or a log, reading it gives rows or a MassartError.

Every kind (.npy, Arrow, Parquet, compressed text, JSON lines, logs) is tried MASSART_FUZZ times (20,000 unless that is
set), its forms taking equal parts, and some forms again with bounds checking in all compiled code. PyArrow decodes
Parquet and Arrow files: a crash of it would end the process and fail the test.
"""

import sys
from collections import Counter
from pathlib import Path

import processes
import pytest
import tiers
from reader_corpus import SUFFIXES, inputs, whole

COUNT = tiers.FUZZ
KINDS = {form: form for form in SUFFIXES}  # forms of one kind
KINDS |= {
    "arrow-footer": "arrow",
    "arrow-stream": "arrow",
    "gzip": "compressed",
    "zstd": "compressed",
    "bz2": "compressed",
}
KINDS |= {form: "log" for form in SUFFIXES if form.startswith("log")}
FORMS = Counter(KINDS.values())
CHECKED = max(2_000, COUNT // 10)
PATIENCE = 560.0 + COUNT / 20  # seconds before a run counts as hanging
PROGRAM = processes.HELPERS / "reader_fuzz.py"


def run(folder: Path, kind: str, count: int, *more: str, **environment: str) -> dict:
    """What the program says of itself."""
    command = [sys.executable, str(PROGRAM), "--kind", kind, "--count", str(count), "--folder", str(folder), *more]
    return processes.run_program(command, PATIENCE, lambda: in_hand(folder), **environment)


def in_hand(folder: Path) -> str:
    """The file at which a program stopped, in hexadecimal digits, for tests/corpus."""
    return "\n".join(f"{path.name}: {path.read_bytes().hex()[:20_000]}" for path in folder.glob("in_hand*"))


@pytest.mark.parametrize("kind", SUFFIXES)
def test_damaged_files_give_rows_or_are_refused(kind, tmp_path):
    count = -(-COUNT // FORMS[KINDS[kind]])
    done = run(tmp_path, kind, count)
    assert done["inputs"] == count
    assert done["read"] > count // 100  # some are still readable: what is tried is not just noise


@pytest.mark.parametrize("kind", ["npy", "arrow", "parquet", "zstd", "bz2", "gzip"])
def test_nothing_is_out_of_bounds(kind, tmp_path):
    (tmp_path / "files").mkdir()
    done = run(
        tmp_path / "files",
        *(kind, CHECKED, "--seed", "1000", "--bounds"),
        MASSART_JIT="1",
        NUMBA_BOUNDSCHECK="1",
    )
    assert done["inputs"] == CHECKED


@pytest.mark.parametrize("kind", SUFFIXES)
def test_a_seed_gives_the_same_files_each_time(kind):
    assert len(whole(kind)[0]) > 40
    first = list(inputs(kind, 5, 20))
    if kind not in ("gzip", "log-parquet"):  # whose bytes hold the time
        assert first == list(inputs(kind, 5, 20))
    assert first != list(inputs(kind, 6, 20))
