"""The same rows in every format of tables, and what must come out: slow, and written apart from the readers."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from massart.data.chunk import Position
from massart.data.hashing import name_hash
from massart.data.io.sources import Source

BEGIN = Position()
ARROW = (
    *("a.parquet", "groups.parquet", "a.feather", "a.arrow", "footer.arrow", "a.arrows"),
    *("a.parquet.gz", "a.arrow.gz", "footer.arrow.gz", "a.arrows.gz"),
)


def write_table(table, path):
    """A PyArrow table in the format that the name says; `groups`: in row groups of 7 rows.

    `footer`: in an Arrow file that does not begin with a message, as Polars writes them.
    """
    name = path.name.removesuffix(".gz")
    plain = path.with_name(name)
    if name.endswith(".parquet"):
        pa.parquet.write_table(table, plain, row_group_size=7 if "groups" in name else None)
    elif name.endswith(".feather"):
        pa.feather.write_feather(table, plain, chunksize=11)
    else:
        new = pa.ipc.new_file if name.endswith(".arrow") else pa.ipc.new_stream
        with pa.OSFile(str(plain), "w") as file, new(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=13)
        if name.startswith("footer"):
            whole = plain.read_bytes()
            plain.write_bytes(whole[:8] + b"\4\0\0\0" + whole[12:])
    if path != plain:
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    return Source(path)


def write_lines(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Source(path)


def rows_of(chunks):
    """Of all chunks together: rows as dicts from column to value in order, labels, weights, lines, errors, ends."""
    rows, y, weight, lines, errors, ends = [], [], [], [], [], []
    for chunk in chunks:
        if chunk.is_sparse:
            data, indices, indptr = chunk.rows
            assert (data.dtype, indices.dtype, indptr.dtype) == (np.float64, np.uint32, np.uint32)
            assert indptr[0] == 0
            assert indptr[-1] == data.size == indices.size
            for begin, end in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
                row = dict(zip(indices[begin:end].tolist(), data[begin:end].tolist(), strict=True))
                assert len(row) == end - begin  # columns are distinct
                assert all(value != 0 for value in row.values())
                assert all(0 <= column < chunk.width for column in row)
                rows.append(row)
        else:
            assert chunk.rows.flags.c_contiguous
            assert chunk.rows.shape == (len(chunk), chunk.width)
            rows += [{j: v for j, v in enumerate(row) if v != 0} for row in chunk.rows.tolist()]
        assert chunk.y.dtype == np.int8
        assert chunk.weight.size in (0, len(chunk))
        y += chunk.y.tolist()
        weight += chunk.weight.tolist() or [1.0] * len(chunk)
        lines += chunk.lines.tolist()
        errors += chunk.errors
        ends.append(chunk.end)
    assert lines == sorted(lines)
    return rows, y, weight, lines, errors, ends


def read_all(form, source, schema, start=BEGIN, **options):
    return rows_of(form(**options).chunks(source, schema, start))


def hashed(row, bits=18):
    """The columns of a flat object: numbers by name, text on top of the name, lists of numbers as a namespace."""
    columns = {}
    for name, value in row.items():
        pairs = [(name_hash(name), value)]
        if isinstance(value, list):
            pairs = [(name_hash(f"[{i}]", name_hash(name)), one) for i, one in enumerate(value)]
        elif isinstance(value, str):
            pairs = [(name_hash(value, name_hash(name)), 1.0)] if value else []
        for number, one in pairs:
            if one is not None and one != 0 and not np.isnan(one):
                column = number % 2**bits
                columns[column] = columns.get(column, 0.0) + one
    return {column: value for column, value in columns.items() if value != 0}


def mixed_rows(count, seed=0, missing=0.2):
    """Rows with numbers, flags, text and vectors, some of them missing."""
    random = np.random.default_rng(seed)

    def maybe(value):
        return None if random.random() < missing else value

    return [
        {
            "y": int(random.integers(0, 2)),
            "age": maybe(float(random.normal())),
            "town": maybe(str(random.choice(["Rome", "Oslo", "", "Łódź", "7"]))),
            "count": maybe(int(random.integers(-3, 4))),
            "new": maybe(bool(random.integers(0, 2))),
            "v": [maybe(float(random.normal())) for _ in range(3)],
        }
        for _ in range(count)
    ]


def mixed_table(rows):
    types = {"y": pa.int8(), "age": pa.float64(), "town": pa.string(), "count": pa.int64(), "new": pa.bool_()}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()}
    return pa.table(columns | {"v": pa.array([row["v"] for row in rows], pa.list_(pa.float64()))})
