"""Crossed namespaces: every product once, in Vowpal Wabbit's own columns, whatever the size of the buffer."""

import itertools
import re

import numpy as np
import pytest

from massart.data import chunk as chunks
from massart.data.chunk import Chunk, check_crossings, crossed
from massart.data.chunk import crossed_whole as crossed_parts
from massart.data.formats.text import parse_block
from massart.data.schema import Schema
from massart.errors import InvalidParameterError

FNV = 16777619


def crossed_whole(chunk: Chunk) -> Chunk:
    (whole,) = crossed_parts(chunk)
    return whole


def rows_of(chunk: Chunk) -> list[dict[int, float]]:
    data, indices, indptr = chunk.rows
    pairs = [(indices[a:b].tolist(), data[a:b].tolist()) for a, b in itertools.pairwise(indptr.tolist())]
    assert all(len(set(columns)) == len(columns) for columns, _ in pairs)
    return [dict(zip(columns, values, strict=True)) for columns, values in pairs]


def random_text(rng: np.random.Generator, rows: int, names: int = 40) -> bytes:
    lines = []
    for _ in range(rows):
        parts = []
        for space in ("alpha", "beta", "gamma"):
            chosen = rng.choice(names, size=rng.integers(0, 6), replace=False)
            parts.append(
                f"|{space} " + " ".join(f"n{k}:{v:.3f}" for k, v in zip(chosen, rng.normal(size=6), strict=False))
            )
        lines.append(f"{rng.choice([-1, 1])} " + " ".join(parts))
    return ("\n".join(lines) + "\n").encode()


def expected(chunk: Chunk, crossings: tuple[str, ...], mask: int) -> list[dict[int, float]]:
    """Products by plain loops over combinations of places."""
    data, indices, indptr = chunk.rows
    found = []
    for a, b in itertools.pairwise(indptr.tolist()):
        row: dict[int, float] = {}

        def add(column: int, value: float, row: dict[int, float] = row) -> None:
            row[column] = row.get(column, 0.0) + value

        for p in range(a, b):
            add(int(indices[p]), float(data[p]))
        for letters in crossings:
            for places in itertools.product(range(a, b), repeat=len(letters)):
                fits = all(chr(chunk.spaces[p]) == letter for p, letter in zip(places, letters, strict=True))
                # A namespace that comes twice gives its features in one order only.
                ordered = all(
                    places[i] <= places[j]
                    for i, j in itertools.combinations(range(len(letters)), 2)
                    if letters[i] == letters[j]
                )
                if fits and ordered:
                    h, value = int(indices[places[0]]), float(data[places[0]])
                    for p in places[1:]:
                        h, value = ((h * FNV) ^ int(indices[p])) & 0xFFFFFFFF, value * float(data[p])
                    add(h & mask, value)
        found.append({column: value for column, value in row.items() if value != 0.0})
    return found


@pytest.mark.parametrize("crossings", [("ab",), ("aa",), ("ab", "bg", "aab"), ("abg", "aaa", "aba")])
@pytest.mark.parametrize("bits", [6, 18])
def test_products_are_those_of_plain_loops(crossings, bits):
    text = random_text(np.random.default_rng(3), 60)
    chunk = parse_block(text, Schema(format="vw", bits=bits, crossings=crossings))
    wanted = expected(chunk, crossings, (1 << bits) - 1)
    for got, row in zip(rows_of(crossed_whole(chunk)), wanted, strict=True):
        assert got.keys() == row.keys()
        assert all(got[column] == pytest.approx(row[column], rel=1e-12, abs=1e-15) for column in row)


def test_a_colon_crosses_every_namespace():
    chunk = parse_block(b"1 |a x |b y |c z\n", Schema(format="vw", bits=18, crossings=("a:",)))
    assert len(rows_of(crossed_whole(chunk))[0]) == 3 + 3


def test_columns_are_those_of_vowpal_wabbit(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    data, inverted = tmp_path / "rows.vw", tmp_path / "inverted"
    data.write_bytes(b"1 |alpha x y:2 13:4 |beta u v:0.5 c:red\n-1 |alpha x z:3 |beta u w :7\n")
    options = "-q ab -q aa --cubic aab -b 18 --noconstant --quiet"
    vowpalwabbit.Workspace(f"-d {data} --invert_hash {inverted} {options}").finish()
    theirs = {int(one) for one in re.findall(r"^\w+\^[^:]*:(\d+):", inverted.read_text(), re.M)}
    chunk = parse_block(data.read_bytes(), Schema(format="vw", bits=18, crossings=("ab", "aa", "aab")))
    ours = {column for row in rows_of(crossed_whole(chunk)) for column in row}
    assert len(theirs) > 30
    assert ours == theirs


def test_parts_are_the_whole_however_small_the_buffer(monkeypatch):
    text = random_text(np.random.default_rng(5), 50)
    chunk = parse_block(text, Schema(format="vw", bits=18, crossings=("ab", "abg")))
    whole = rows_of(crossed_whole(chunk))
    monkeypatch.setattr(chunks, "_BUFFER", 40)
    parts = [(rows_of(part), part.y.tolist(), part.lines.tolist(), part.tags) for part in crossed(chunk)]
    assert len(parts) > 5
    assert [row for rows, *_ in parts for row in rows] == whole
    assert [y for _, ys, *_ in parts for y in ys] == chunk.y.tolist()
    assert [line for _, _, lines, _ in parts for line in lines] == chunk.lines.tolist()


def test_a_row_with_too_many_products_is_a_flaw_and_the_others_stay(monkeypatch):
    monkeypatch.setattr(chunks, "_BUFFER", 16)
    monkeypatch.setattr(chunks, "_LARGEST", 64)
    many = " ".join(f"n{k}" for k in range(40))
    text = f"1 |a x |b y\n1 |a {many} |b {many}\n-1 |a x |b z\n".encode()
    chunk = parse_block(text, Schema(format="vw", bits=18, crossings=("ab",)))
    whole = crossed_whole(chunk)
    assert whole.y.tolist() == [1, -1]
    assert [(error.line, "more than 64 features" in error.message) for error in whole.errors] == [(2, True)]


def test_a_product_too_large_is_a_flaw():
    text = b"1 |a x:1e60 |b y:1e60\n1 |a x |b y\n"
    whole = crossed_whole(parse_block(text, Schema(format="vw", bits=18, crossings=("ab",))))
    assert whole.lines.tolist() == [2]
    assert [error.line for error in whole.errors] == [1]


def test_nothing_to_cross_is_the_chunk_itself():
    chunk = parse_block(b"1 |a x\n", Schema(format="vw", bits=18))
    assert list(crossed(chunk)) == [chunk]
    assert crossed_whole(chunk) is chunk


@pytest.mark.parametrize("letters", ["a", "abcd", "a|", "a b", "aé", ""])
def test_what_is_no_crossing_is_refused(letters):
    with pytest.raises(InvalidParameterError, match="crossing"):
        check_crossings([letters])
