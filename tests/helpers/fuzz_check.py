"""Run the parsing kernels over the corpus and stop at the first difference from the reference.

A program of its own, so that a crash or a hang is an answer like any other: `python fuzz_check.py --help`.
"""

import argparse
import ctypes
import json
import mmap
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import text_reference
from bounds import require_bounds_checking
from fuzz_corpus import Input, inputs

from massart.data.formats.text import parse_block, parse_codes
from massart.data.schema import Schema

ROOM = 1 << 20  # bytes between the fences
SHRINKING = 20.0  # seconds


class Fences:
    """Memory between two pages that must not be touched: a read or write beside the text ends the process."""

    def __init__(self) -> None:
        page = mmap.PAGESIZE
        self._map = mmap.mmap(-1, ROOM + 2 * page)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for fence in (first, first + page + ROOM):
            if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        self._room = np.frombuffer(self._map, np.uint8, ROOM, page)

    def hold(self, text: bytes, *, left: bool) -> np.ndarray:
        """The text, right beside one of the fences; what was there before is still around it on the other side."""
        held = self._room[: len(text)] if left else self._room[ROOM - len(text) :]
        held[:] = np.frombuffer(text, np.uint8)
        return held


def expected(given: Input) -> dict[str, object]:
    """What the reference reads."""
    classes = text_reference.CLASSES
    if given.labels is not None:
        classes = ((float(given.labels[0]),), (float(given.labels[1]),))
    if given.format == "vw":
        rows, flaws = text_reference.read_vw(given.text, bits=given.bits, classes=classes, labelled=given.labelled)
    else:
        rows, flaws = text_reference.read_svmlight(
            given.text, bits=given.bits, features=given.features, classes=classes, labelled=given.labelled
        )
    return {
        "flaws": [list(flaw) for flaw in flaws],
        "lines": [row.line for row in rows],
        "y": [row.y for row in rows],
        "weight": [row.weight.hex() for row in rows if given.format == "vw"],
        "lengths": [len(row.entries) for row in rows],
        "columns": [column for row in rows for column in row.entries],
        "values": [value.hex() for row in rows for value in row.entries.values()],
        "spaces": [slot for row in rows for slot in row.spaces if given.crossed],
        "tags": [row.tag for row in rows if given.format == "vw"],
    }


def compiled(given: Input, text: np.ndarray) -> dict[str, object]:
    """What the kernels read, in the same words."""
    reading = _reading(given)
    y, _, weight, lines, rows, spaces, tags, flaws = parse_codes(
        text, reading, tags=given.format == "vw", labelled=given.labelled
    )
    data, indices, indptr = rows
    assert (data.dtype, indices.dtype, indptr.dtype, y.dtype) == (np.float64, np.uint32, np.uint32, np.int8)
    return {
        "flaws": flaws.tolist(),
        "lines": lines.tolist(),
        "y": y.tolist(),
        "weight": [value.hex() for value in weight.tolist()],
        "lengths": np.diff(indptr.astype(np.int64)).tolist(),
        "columns": indices.tolist(),
        "values": [value.hex() for value in data.tolist()],
        "spaces": spaces.tolist(),
        "tags": [text[start:stop].tobytes() for start, stop in tags],
    }


def _reading(given: Input) -> Schema:
    crossings = ("fa",) if given.crossed else ()
    return Schema(given.format, bits=given.bits, features=given.features, labels=given.labels, crossings=crossings)


def _check_chunk(given: Input, text: np.ndarray, wanted: dict) -> None:
    """The same through the door that the readers use."""
    chunk = parse_block(text, _reading(given), labelled=given.labelled)
    assert [[flaw.line, flaw.column] for flaw in chunk.errors] == [flaw[:2] for flaw in wanted["flaws"]]
    assert all(one.message and one.message.isprintable() for one in chunk.errors), [
        flaw.message for flaw in chunk.errors
    ]
    assert chunk.lines.tolist() == wanted["lines"]
    assert chunk.rows[1].tolist() == wanted["columns"]
    assert all(column < chunk.width for column in wanted["columns"])
    assert chunk.weight.size in (0, len(chunk))
    if given.format == "vw":
        assert chunk.tags == tuple(tag.decode("utf-8", "replace") for tag in wanted["tags"])


def difference(given: Input, fences: Fences, *, whole: bool) -> str | None:
    """Where the kernels and the reference part; None if they do not. `whole`: the chunk is looked at, too."""
    text = fences.hold(given.text, left=len(given.text) % 2 == 0)
    wanted = expected(given)
    try:
        found = compiled(given, text)
        if text.tobytes() != given.text:
            return "the text was written to"
        for part, value in wanted.items():
            if found[part] != value:
                return f"{part}: expected {value}, found {found[part]}"
        if whole:
            _check_chunk(given, text, wanted)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(given: Input, differs: Callable[[Input], bool]) -> Input:
    """A shorter text that still differs: pieces of it are left out, halves first, single bytes last."""
    end, size = time.monotonic() + SHRINKING, len(given.text) // 2
    while size and time.monotonic() < end:
        i, shorter = 0, False
        while i < len(given.text) and time.monotonic() < end:
            text = given.text[:i] + given.text[i + size :]
            candidate = given._replace(text=text if text.endswith(b"\n") else text + b"\n")
            if len(candidate.text) < len(given.text) and differs(candidate):
                given, shorter = candidate, True
            else:
                i += size
        size = size if shorter and size == 1 else size // 2
    return given


def _corpus(parts: Iterable[int], count: int, step: int, go_on: Callable[[], bool]) -> Iterator[tuple[int, int, Input]]:
    """The first inputs of each part; then, as long as wanted, of seeds that no other part has."""
    parts = list(parts)
    while True:
        for seed in parts:
            yield from ((seed, i, given) for i, given in enumerate(inputs(seed, count)))
        parts = [seed + step for seed in parts]
        if not go_on():
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, nargs="+", required=True, help="seeds of the corpus")
    parser.add_argument("--step", type=int, default=1000, help="from a part's seed to its next one")
    parser.add_argument("--count", type=int, required=True, help="inputs of each part")
    parser.add_argument("--seconds", type=float, default=0.0, help="to go on with further seeds")
    parser.add_argument("--progress", required=True, help="file for the seed and the number of the input in hand")
    parser.add_argument("--bounds", action="store_true", help="refuse to run without NUMBA_BOUNDSCHECK=1")
    asked = parser.parse_args()
    if asked.bounds:
        require_bounds_checking()
    fences, progress = Fences(), np.memmap(asked.progress, np.int64, "w+", shape=2)
    for form, bits in (("svmlight", None), ("vw", 18)):  # compile before the clock starts
        difference(Input(b"\n", form, bits, None, None, True, False), fences, whole=True)
    start, done, fewest = time.monotonic(), 0, asked.count * len(asked.parts)
    for seed, i, given in _corpus(
        asked.parts, asked.count, asked.step, lambda: time.monotonic() - start < asked.seconds
    ):
        progress[:] = seed, i
        if difference(given, fences, whole=i % 4 == 0):
            less = shrunk(given, lambda one: difference(one, fences, whole=True) is not None)
            sys.exit(f"seed {seed}, input {i}, shrunk to\n{less}\n{difference(less, fences, whole=True)}")
        done += 1
        if done >= fewest and time.monotonic() - start >= asked.seconds:
            break
    print(json.dumps({"inputs": done, "seconds": time.monotonic() - start}))


if __name__ == "__main__":
    main()
