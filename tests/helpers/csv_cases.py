"""What the tests of CSV files share."""

import itertools

import numpy as np

from massart.data.chunk import Position
from massart.data.formats.csv import CsvFormat
from massart.data.hashing import name_hash
from massart.data.io.sources import Source
from massart.data.schema import Schema


def settle(source, schema, **options):
    return CsvFormat(**options).complete(source, schema)


def chunks(source, schema, start, **options):
    return CsvFormat(**options).chunks(source, schema, start)


START = Position()


def file_maker(folder):
    """A function from the text of a file to the file."""
    numbers = itertools.count()

    def make(text):
        path = folder / f"{next(numbers)}.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Source(path)

    return make


def rows_of(given, schema=None, start=START, *, labelled=True, workers=0, **asked):
    """[(line, y, weight, {column: value})], [(line, column, words)] of all chunks."""
    schema = schema or settle(given, Schema(format="csv", **asked), labelled=labelled)
    rows, errors = [], []
    for chunk in chunks(given, schema, start, labelled=labelled, workers=workers):
        data, indices, indptr = chunk.rows
        assert (data.dtype, indices.dtype, indptr.dtype) == (np.float64, np.uint32, np.uint32)
        assert indptr.size == len(chunk) + 1 == chunk.lines.size + 1
        assert chunk.width == schema.width
        weight = chunk.weight if chunk.weight.size else np.ones(len(chunk))
        for r in range(len(chunk)):
            part = slice(indptr[r], indptr[r + 1])
            entries = dict(zip(indices[part].tolist(), data[part].tolist(), strict=True))
            rows.append((int(chunk.lines[r]), int(chunk.y[r]), float(weight[r]), entries))
        errors += [(error.line, error.column, error.message) for error in chunk.errors]
    return rows, errors


def hashed(name, value=None, bits=18):
    seed = name_hash(name)
    return (seed if value is None else name_hash(value, seed)) & (2**bits - 1)
