"""Read damaged files one after the other and stop at the first that ends in anything but rows or a MassartError.

A program of its own, so that a crash or a hang is an answer like any other: `python reader_fuzz.py --help`.
"""

import argparse
import json
import resource
import sys
import warnings
from pathlib import Path

import numpy as np
from bounds import require_bounds_checking
from reader_corpus import SUFFIXES, inputs

from massart.data import DecisionLog, Reader, Schema
from massart.data.io.sources import Source
from massart.errors import MassartError

LONGEST = 2000  # characters of a message
ROOM = 1 << 30  # bytes of memory beyond what the program has once it has read whole files


def rows(path: Path) -> int:
    """Rows of a file, read as `massart.data.read` does, without threads."""
    reader = Reader([Source(path)], Schema(), workers=0).with_width()
    count = 0
    for chunk in reader:
        columns = chunk.rows[1] if chunk.is_sparse else np.zeros(0, np.uint32)
        assert columns.size == 0 or int(columns.max()) < chunk.width
        assert bool(np.isfinite(chunk.rows[0] if chunk.is_sparse else chunk.rows).all())
        count += len(chunk)
    return count


def decisions(path: Path) -> int:
    """Decisions of a log."""
    return sum(len(batch) for batch in DecisionLog(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=SUFFIXES, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--folder", required=True, help="where the file in hand is written; it stays there")
    parser.add_argument("--bounds", action="store_true", help="refuse to run without NUMBA_BOUNDSCHECK=1")
    asked = parser.parse_args()
    if asked.bounds:
        require_bounds_checking()
    warnings.simplefilter("error")
    path = Path(asked.folder, f"in_hand{SUFFIXES[asked.kind]}")
    read = decisions if "log" in asked.kind else rows
    done = read_whole = peak = 0
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, data in enumerate(inputs(asked.kind, asked.seed, asked.count)):
        path.write_bytes(data)
        try:
            read(path)
            read_whole += 1
        except MassartError as error:
            if "\n" in str(error) or len(str(error)) > LONGEST:
                sys.exit(f"input {number}, {path}: not a sentence: {error}")
        except Exception as error:
            sys.exit(f"input {number}, {path}: {type(error).__name__}: {error}")
        done += 1
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) * 1024
        if peak > ROOM:
            sys.exit(f"input {number}, {path}: {peak:,} bytes of memory for a file of {len(data):,}")
    print(json.dumps({"inputs": done, "read": read_whole, "peak": peak}))


if __name__ == "__main__":
    main()
