"""Files to try on a reader: whole ones, and damaged or forged ones made of them, the same for the same seed."""

import bz2
import gzip
import io
import json
import struct
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import reader_attacks as attacks
import zstandard

from massart.data import Decision, write_decisions

# What each kind of file is called; logs of decisions have "log" in their kind.
SUFFIXES = {
    "npy": ".npy",
    "arrow": ".arrow",
    "arrow-footer": ".arrow",
    "arrow-stream": ".arrow",
    "parquet": ".parquet",
    "gzip": ".svm.gz",
    "zstd": ".csv.zst",
    "bz2": ".vw.bz2",
    "jsonl": ".jsonl",
    "log-dsjson": ".dsjson",
    "log-vw": ".vw",
    "log-jsonl": ".jsonl",
    "log-parquet": ".parquet",
}
_NUMBERS = [0, 1, 2, 7, 127, 128, 255, 256, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]
_WORDS = [
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e400",
    b"9" * 60,
    b"9" * 5000,
    b'"',
    b"[",
    b"{",
    b"\xff",
    b"\0",
    b"\n\n",
    b":",
    b"|",
]
_PACK = {
    "gzip": lambda data: gzip.compress(data, 1, mtime=0),
    "zstd": zstandard.compress,
    "bz2": lambda data: bz2.compress(data, 1),
}
_UNPACK = {"gzip": gzip.decompress, "zstd": zstandard.decompress, "bz2": bz2.decompress}


def _table(rng: np.random.Generator, rows: int = 40) -> pa.Table:
    town = pa.array(rng.choice(["Rome", "Oslo", "é", ""], rows).tolist())
    return pa.table(
        {
            "y": pa.array(rng.integers(0, 2, rows), pa.int8()),
            "x": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.2),
            "flag": pa.array(rng.random(rows) < 0.5),
            "town": town,
            "kind": town.dictionary_encode(),
            "v": pa.array(rng.normal(size=(rows, 3)).tolist(), pa.list_(pa.float32(), 3)),
            "w": pa.array([[1.0, 2.0]] * rows, pa.list_(pa.float64())),
        }
    )


def _npy(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def _decisions(rng: np.random.Generator, form: str) -> bytes:
    made = []
    for row in range(12):
        p = rng.dirichlet(np.ones(3))
        arm = int(rng.integers(3))
        made.append(
            Decision(rng.normal(size=(3, 2)), arm, float(p[arm]), 1.0, p if row % 2 else None, event_id=f"e{row}")
        )
    with tempfile.TemporaryDirectory() as folder:
        write_decisions(made, Path(folder, "log"), form)
        return Path(folder, "log").read_bytes()


@cache
def whole(kind: str) -> tuple[bytes, ...]:  # noqa: PLR0911  one for each kind
    """Files of a kind with which nothing is wrong, or everything that once was."""
    rng = np.random.default_rng(5)
    table = _table(rng)
    numbers = table.select(["y", "x", "flag"])
    if kind == "npy":
        records = np.zeros(9, [("y", "<i4"), ("town", "<U3"), ("name", "S4"), ("v", "<f4", (2,))])
        records["y"], records["town"], records["name"] = [0, 1, 1] * 3, "ab", b"cd"
        plain = np.column_stack((np.arange(12) % 2, rng.normal(size=(12, 3))))
        return _npy(plain), _npy(np.asfortranarray(plain)), _npy(plain.astype("<f4")), _npy(records)
    if kind.startswith("arrow"):
        ways = [{}, {"compression": pa.Codec("zstd")}, {"compression": pa.Codec("lz4")}]
        stream = kind == "arrow-stream"
        made = [attacks.arrow_bytes(one, stream=stream, **way) for one in (table, numbers) for way in ways]
        if kind == "arrow-footer":  # files that do not begin with a message
            made = [one[:8] + b"\4\0\0\0" + one[12:] for one in made]
        return tuple(made)
    if kind == "parquet":
        ways = [{}, {"compression": "zstd"}, {"compression": "none", "use_dictionary": False}, {"row_group_size": 10}]
        extra = {"data_page_version": "2.0", "compression": "gzip", "write_page_checksum": True}
        return tuple(attacks.parquet_bytes(one, **way) for one in (table, numbers) for way in [*ways, extra])
    if kind == "gzip":
        return (_PACK[kind](b"1 1:0.5 3:2\n-1 2:1\n" * 30), _PACK[kind](b"1 1:1\n-1 1:2\n") * 3)
    if kind == "zstd":
        return (_PACK[kind](b"y,age,town\n" + b'1,3,"Rome"\n0,,Oslo\n' * 20),)
    if kind == "bz2":
        return (_PACK[kind](b"1 2 'a |user age:3 town=Rome |b c:2\n-1 |user x\n" * 20),)
    if kind == "jsonl":
        row = {"y": 1, "age": 3.5, "town": "Rome", "user": {"id": "a", "v": [1, 2, "x"]}}
        return ("".join(json.dumps(row | {"y": i % 2}) + "\n" for i in range(12)).encode(),)
    return (_decisions(rng, kind.removeprefix("log-")),)


def _forged(rng: Random, data: bytes, other: bytes) -> bytes:
    """A file after a few accidents, or in the hands of someone who knows the format."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        i = rng.randrange(len(data) + 1)
        j = min(len(data), i + rng.randrange(1, 40))
        kind = rng.randrange(9)
        if kind == 0:
            data = data[:i] + bytes(c ^ 1 << rng.randrange(8) for c in data[i : i + 1]) + data[i + 1 :]
        elif kind in (1, 2):  # a number of four or eight bytes
            number, form = rng.choice(_NUMBERS), rng.choice(("<I", "<Q", "<H", "<B"))
            raw = struct.pack(form, number & (1 << 8 * struct.calcsize(form)) - 1)
            data = data[:i] + raw + data[i + len(raw) :]
        elif kind == 3:
            data = data[:i] + rng.randbytes(rng.randrange(1, 9)) + data[i + rng.randrange(9) :]
        elif kind == 4:
            data = data[:i] + rng.choice(_WORDS) + data[i:]
        elif kind == 5:
            data = data[:i] + data[j:]
        elif kind == 6:
            data = data[:j] + data[i:j] * rng.choice((1, 1, 3)) + data[j:]
        elif kind == 7:
            data = data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data[:i] + data[i:j][::-1] + data[j:]
        else:
            data = data[:i] + other[i:j] + data[j:]
    return data


def inputs(kind: str, seed: int, count: int) -> Iterator[bytes]:
    """So many files of a kind."""
    rng = Random(f"{kind} {seed}")  # noqa: S311
    base = whole(kind)
    for _ in range(count):
        data, other = rng.choice(base), rng.choice(base)
        if kind in _PACK and rng.random() < 0.6:  # what is inside is damaged, the wrapping is not
            inner = _UNPACK[kind](base[0])
            yield _PACK[kind](_forged(rng, inner, inner))
        else:
            yield _forged(rng, data, other)
