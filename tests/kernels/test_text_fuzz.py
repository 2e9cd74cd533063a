"""The text kernels on 100,000 texts nobody would write, or as many as MASSART_FUZZ says: no crash, no hang, nothing
read or written out of bounds, and the rows and flaws of the reference, bit for bit.
"""

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import processes
import pytest
import tiers
from fuzz_check import shrunk
from fuzz_corpus import Input, inputs

PARTS = 8  # so that several processes share the work
COUNT = max(100_000, 2 * tiers.FUZZ) // PARTS  # of two kinds, svmlight and VW
SECONDS = 60.0 / PARTS
CHECKED = max(3_000, COUNT // 10)  # inputs of each part that are run again with bounds checking
PATIENCE = 2.0 / 3.0 * processes.TEST_LIMIT  # seconds, compiling included, before a run counts as hanging
PROGRAM = processes.HELPERS / "fuzz_check.py"


def run(progress: Path, *arguments: object, **environment: str) -> dict[str, float]:
    """What the program says of itself."""
    command = [sys.executable, str(PROGRAM), "--progress", str(progress), *map(str, arguments)]
    return processes.run_program(command, PATIENCE, lambda: in_hand(progress), **environment)


def in_hand(progress: Path) -> str:
    """The input at which a program stopped."""
    seed, i = np.fromfile(progress, np.int64, 2).tolist() if progress.exists() else (0, 0)
    return f"seed {seed}, input {i}: {next(islice(inputs(seed, i + 1), i, None))}"


@pytest.mark.parametrize("part", range(PARTS))
def test_the_kernels_read_what_the_reference_reads(part, tmp_path):
    done = run(tmp_path / "progress", "--parts", part, "--step", PARTS, "--count", COUNT, "--seconds", SECONDS)
    assert done["inputs"] >= COUNT
    assert done["seconds"] >= SECONDS


def test_nothing_is_out_of_bounds(tmp_path):
    done = run(
        tmp_path / "progress",
        *("--parts", *range(PARTS), "--count", CHECKED, "--bounds"),
        MASSART_JIT="1",
        NUMBA_BOUNDSCHECK="1",
    )
    assert done["inputs"] == PARTS * CHECKED


def test_a_seed_gives_the_same_inputs_each_time():
    first = list(inputs(5, 50))
    assert first == list(inputs(5, 50))
    assert first != list(inputs(6, 50))
    assert all(given.text.endswith(b"\n") for given in first)
    assert {given.format for given in first} == {"svmlight", "vw"}


def test_a_failing_text_is_made_shorter():
    given = Input(b"1 2:3\n" * 50 + b"-1 3:nan 4:5\n" + b"1 |f a\n" * 20, "vw", 18, None, None, True, True)
    assert shrunk(given, lambda one: b"nan" in one.text).text == b"nan\n"
