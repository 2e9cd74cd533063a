"""Files that ask for much more memory than they have bytes, and files that are damaged: each the same every time."""

import bz2
import gzip
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

GOOD = {"contexts": [[1.0, 2.0], [3.0, 4.0]], "arm": 1, "probability": 0.5, "reward": 1.0}
CORPUS = Path(__file__).parents[1] / "corpus"
MEMBER = 1 << 24  # bytes of a piece that is compressed once and written many times


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """A .npy file with any header."""
    text = header.encode("latin1")
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def arrow_bytes(table: pa.Table, *, stream: bool = False, **options: object) -> bytes:
    """A table in one of Arrow's own formats."""
    sink = io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet_bytes(table: pa.Table, **options: object) -> bytes:
    """A table in Parquet."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def huge_lists(count: int = 2**31 - 1) -> pa.Table:
    """No row, but a column of lists of so many numbers."""
    lists = pa.list_(pa.int8(), count)
    return pa.table({"y": pa.array([], pa.int8()), "v": pa.array([], lists)})


def _zeros(rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int8(), rows, [None, pa.py_buffer(np.zeros(rows, np.int8))])


def _one_line(start: bytes, members: int, pack: Callable[[bytes], bytes]) -> bytes:
    """A line of gigabytes: the same piece again and again, each compressed by itself."""
    return pack(start) + pack(b"x" * MEMBER) * members


def _long_names(lines: int) -> bytes:
    start = '{"_label_cost":0,"_label_probability":1,"_labelIndex":0,"a":[1],"c":{"_multi":[{"'
    name, end = gzip.compress(b"x" * (MEMBER // 2), 1), gzip.compress(b'":1}]}}\n')
    return b"".join(gzip.compress(f"{start}{number}".encode(), 1) + name + end for number in range(lines))


def _many_arms() -> bytes:
    shared = "shared |u " + " ".join(f"n{i}" for i in range(20_000))
    return (shared + "\n0:1:0.5 |a b\n" + "|a b\n" * 20_000).encode()


def _crossed() -> bytes:
    row = "1 |a " + " ".join(f"a{i}" for i in range(2_000)) + " |b " + " ".join(f"b{i}" for i in range(2_000)) + "\n"
    return row.encode() * 80


def _long_text() -> pa.Table:
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(65_536, np.int32)), pa.array(["x" * 100_000]))
    return pa.table({"y": pa.array([0, 1] * 32_768, pa.int8()), "town": names})


def _long_dictionary() -> pa.Table:
    values = ["x" * 200_000, *map(str, range(70_000))]
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(65_536, np.int32)), pa.array(values))
    return pa.table({"y": pa.array([0, 1] * 32_768, pa.int8()), "town": names})


def _views() -> pa.Table:
    text = b"x" * 200_000
    view = struct.pack("<i4sii", len(text), text[:4], 0, 0)
    buffers = [None, pa.py_buffer(view * 65_536), pa.py_buffer(text)]
    names = pa.Array.from_buffers(pa.binary_view(), 65_536, buffers)
    return pa.table({"y": pa.array([0, 1] * 32_768, pa.int8()), "town": names})


def _many_rows() -> bytes:
    table = pa.table({"y": pa.array([0, 1] * 128, pa.int8()), "x": pa.nulls(256)})
    return arrow_bytes(table, stream=True).replace(struct.pack("<q", 256), struct.pack("<q", 1 << 60))


def _npy_gz() -> bytes:
    header = npy(f"{{'descr': '|i1', 'fortran_order': False, 'shape': (4, {1 << 30})}}\n")
    return gzip.compress(header) + gzip.compress(b"\0" * MEMBER, 1) * 64


LARGE: dict[str, Callable[[], bytes]] = {  # name of a file -> its bytes, far fewer than what it stands for
    "lists.arrow": lambda: arrow_bytes(huge_lists()),
    "lists.parquet": lambda: parquet_bytes(huge_lists()),
    "shape.npy": lambda: npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 100000000000)}\n", bytes(64)),
    "columns.npy": lambda: npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 100000000000)}\n", bytes(64)),
    "record.npy": lambda: npy(
        "{'descr': [('y','<i1'),('v','<f8',(100000000,))], 'fortran_order': False, 'shape': (9,)}"
    ),
    "wide.npy.gz": _npy_gz,
    "buffers.arrow": lambda: arrow_bytes(
        pa.table({"y": _zeros(1 << 30), "x": _zeros(1 << 30)}), compression=pa.Codec("zstd")
    ),
    "rows.arrow": _many_rows,
    "long_list.parquet": (CORPUS / "parquet" / "long_list.parquet").read_bytes,  # one list of 2^27 zeros
    "text.parquet": lambda: parquet_bytes(_long_text()),
    "text.arrow": lambda: arrow_bytes(_long_dictionary()),
    "views.arrow": lambda: arrow_bytes(_views()),
    "index.svm": lambda: b"1 99999999999:1\n-1 33554432:1\n" * 10,
    "line.svm.gz": lambda: _one_line(b"1 1:1\n-1 2:", 128, lambda data: gzip.compress(data, 1, mtime=0)),
    "line.svm.zst": lambda: _one_line(b"1 1:1\n-1 2:", 128, zstandard.ZstdCompressor().compress),
    "line.csv.gz": lambda: _one_line(b'y,a\n1,2\n0,"', 128, lambda data: gzip.compress(data, 1, mtime=0)),
    "fields.csv.gz": lambda: gzip.compress(b"y" + b",1" * (1 << 22) + b"\n" + b"1" + b",1" * (1 << 22) + b"\n", 1),
    "line.jsonl.gz": lambda: _one_line(
        b'{"y": 1, "a": 1}\n{"y": 0, "', 128, lambda data: gzip.compress(data, 1, mtime=0)
    ),
    "nested.jsonl": lambda: b'{"y": 1, "a": 1}\n{"y": 0, "a": ' + b"[" * 1_000_000 + b"\n",
    "lists.jsonl": lambda: b'{"y": 1, "a": 1}\n{"y": 0, "a": [' + b"[]," * (5 << 20) + b"[]]}\n",
    "crossed.vw": _crossed,
}
LOGS: dict[str, Callable[[], bytes]] = {
    "arms.jsonl": lambda: b'{"arms": 1000000000, "arm": 0, "probability": 0.5, "reward": 1}',
    "many_arms.jsonl": lambda: b'{"arms": 1000000, "arm": 0, "probability": 0.5, "reward": 1}\n' * 3000,
    "line.log.jsonl.gz": lambda: _one_line(
        b'{"arm": 0, "event_id": "', 128, lambda data: gzip.compress(data, 1, mtime=0)
    ),
    "line.vw.bz2": lambda: _one_line(b"0:1:0.5 |a ", 8, bz2.compress),
    "names.dsjson.gz": lambda: _long_names(250),
    "shared.vw": _many_arms,
    "width.jsonl": lambda: (
        b'{"contexts": {"starts": [0, 1, 2], "columns": [1, 7], "values": [1, 1], "width": 2147483647}, "arm": 0, '
        b'"probability": 0.5, "reward": 1}\n{"contexts": {"starts": [0, 1, 2], "columns": [1, 7], "values": [1, 1], '
        b'"width": 2147483647}, "arm": 1, "probability": 0.5, "reward": 0}\n'
    ),
    "nested.dsjson": lambda: b'{"_label_cost":0,"a":[1],"c":' + b'{"a":' * 100_000 + b"\n",
}


def log(*changes: dict) -> bytes:
    """Records of a log, each with its changes."""
    return "".join(json.dumps(GOOD | change) + "\n" for change in changes).encode()


def damaged_text_npy() -> bytes:
    """Text with a character that does not exist."""
    array = np.zeros(4, [("y", "<i4"), ("town", "<U2")])
    array["town"], array["y"] = ["a", "b", "c", "d"], [0, 1, 0, 1]
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue().replace("c".encode("utf-32-le"), struct.pack("<I", 0x7FFFFFFF))


def odd_names(*, parquet: bool) -> bytes:
    """A column whose name is not UTF-8."""
    table = pa.table({"y": [0, 1], "name": [1.0, 2.0]})
    return (parquet_bytes if parquet else arrow_bytes)(table).replace(b"name", b"n\xffme")


DAMAGED: dict[str, Callable[[], bytes]] = {
    "token.npy": lambda: npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3"),
    "quote.npy": lambda: npy("{'descr': '''<f8"),
    "nested.npy": lambda: npy("(" * 5000),
    "warned.npy": lambda: npy("{'descr': '<f8', 'fortran_order': 0or 1, 'shape': (2, 3)}"),
    "size.npy": lambda: npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3L)}"),
    "text.npy": damaged_text_npy,
    "objects.npy": lambda: npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", b"cos\nsystem\n(S'x'\ntR."),
    "nothing.npy": lambda: npy("{'descr': [('y','|S0'),('x','|V0')], 'fortran_order': False, 'shape': (10**18,)}"),
    "names.arrow": lambda: odd_names(parquet=False),
    "names.parquet": lambda: odd_names(parquet=True),
    "cut.parquet": lambda: parquet_bytes(pa.table({"y": [0, 1] * 100, "x": range(200)}))[:-9],
    "cut.arrow": lambda: arrow_bytes(pa.table({"y": [0, 1] * 100, "x": range(200)}))[:700],
    "cut.svm.gz": lambda: gzip.compress(b"1 1:1\n-1 2:1\n" * 1000)[:-9],
    "flipped.svm.gz": lambda: _flipped(gzip.compress(np.random.default_rng(0).bytes(3000)), 1500),
    "flipped.svm.bz2": lambda: _flipped(bz2.compress(b"1 1:1\n-1 2:1\n" * 1000), 60),
    "flipped.svm.zst": lambda: _flipped(
        zstandard.ZstdCompressor(write_checksum=True).compress(b"1 1:1\n-1 2:1\n" * 1000), 12
    ),
}
DAMAGED_LOGS: dict[str, Callable[[], bytes]] = {
    "flipped.jsonl.gz": lambda: _flipped(gzip.compress(log(*({"reward": row / 7} for row in range(500)))), 1500),
    "cut.jsonl.gz": lambda: gzip.compress(log(*({"reward": row / 7} for row in range(500))))[:-20],
    "probability.jsonl": lambda: log({}, {"probability": 1e-300}),
    "contexts.jsonl": lambda: log({}, {"contexts": [[1e200, 1.0], [1.0, 1.0]]}),
    "reward.jsonl": lambda: log({}, {"reward": 1e308}),
    "weight.jsonl": lambda: log({}, {"weight": 1e308}),
    "digits.jsonl": lambda: log({}) + b'{"arm": 0, "probability": 0.5, "reward": ' + b"9" * 5000 + b', "arms": 2}\n',
    "large.jsonl": lambda: log({}) + b'{"arm": 0, "probability": 0.5, "reward": ' + b"9" * 400 + b', "arms": 2}\n',
    "large_arm.jsonl": lambda: log({}) + b'{"arm": ' + b"9" * 400 + b', "probability": 0.5, "reward": 1, "arms": 2}\n',
    "large_list.jsonl": lambda: log({"probabilities": [10**400, 1]}),
    "event.dsjson": lambda: (
        b'{"_label_cost":0,"_label_probability":1,"_labelIndex":0,"EventId":[1],"a":[1],"c":{"_multi":[{}]}}\n'
    ),
    "p.dsjson": lambda: (
        b'{"_label_cost":0,"_label_probability":1,"_labelIndex":0,"a":[1],"p":[1'
        + b"0" * 400
        + b'],"c":{"_multi":[{}]}}\n'
    ),
    "digits.dsjson": lambda: b'{"_label_cost":' + b"9" * 5000 + b',"a":[1]}\n',
    "cut.parquet": DAMAGED["cut.parquet"],
    "no_log.parquet": lambda: parquet_bytes(pa.table({"a": [1]})),
    "start.parquet": lambda: b"PAR1" + b"\0" * 100,
    "names.parquet": lambda: odd_names(parquet=True),
}


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]


def written(folder: Path, name: str, make: Callable[[], bytes]) -> Path:
    """The file, written."""
    path = folder / name
    path.write_bytes(make())
    return path
