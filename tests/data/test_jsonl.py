"""JSON lines: fields to hashed features, errors with line and column, positions, and the same rows as in Parquet."""

import gzip
import json
import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import hashed, mixed_rows, mixed_table, read_all, write_lines, write_table

from massart.data.chunk import Position
from massart.data.formats import jsonl as jsonl_format
from massart.data.formats.arrow import ArrowFormat
from massart.data.formats.jsonl import JsonlFormat
from massart.data.hashing import name_hash
from massart.data.io.blocks import Block
from massart.data.io.sources import Source
from massart.data.schema import Schema
from massart.errors import InvalidDataError


def settle(source, schema, **options):
    return JsonlFormat(**options).complete(source, schema)


def chunks(source, schema, start, **options):
    return JsonlFormat(**options).chunks(source, schema, start)


def column(name, space=None, value=None):
    found = name_hash(name, 0 if space is None else name_hash(space))
    return (found if value is None else name_hash(value, found)) % 2**18


def features(tmp_path, text, **how):
    """The row of one object, given as JSON without its label."""
    (tmp_path / "a.jsonl").write_text('{"label": 1, ' + text + "}\n")
    source = Source(tmp_path / "a.jsonl")
    schema = settle(source, Schema(**how))
    (chunk,) = chunks(source, schema, Position())
    assert not chunk.errors, chunk.errors
    return dict(zip(chunk.rows[1].tolist(), chunk.rows[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"a": 2, "b": -0.5', {column("a"): 2.0, column("b"): -0.5}),
        ('"13": 4', {13: 4.0}),
        ('"a": true, "b": false, "c": null, "d": 0, "e": -0.0, "f": ""', {column("a"): 1.0}),
        ('"town": "Rome"', {column("town", value="Rome"): 1.0}),
        ('"zip": "123"', {(name_hash("zip") + 123) % 2**18: 1.0}),
        ('"user": {"age": 3, "town": "Łódź"}', {column("age", "user"): 3.0, column("town", "user", "Łódź"): 1.0}),
        ('"user": {"home": {"age": 3}}', {column("age", "user.home"): 3.0}),
        ('"v": [5, 0, null, true]', {column("[0]", "v"): 5.0, column("[3]", "v"): 1.0}),
        ('"user": {"v": [5]}', {column("[0]", "user.v"): 5.0}),
        ('"tags": ["x", "y", "x"]', {column("tags", value="x"): 2.0, column("tags", value="y"): 1.0}),
        ('"user": {"tags": ["x"]}', {column("tags", "user", "x"): 1.0}),
        ('"m": [[1, 2], [3]]', {column("[0]", "m[0]"): 1.0, column("[1]", "m[0]"): 2.0, column("[0]", "m[1]"): 3.0}),
        ('"j": [{"a": 1}, {"b": 2}]', {column("a", "j"): 1.0, column("b", "j"): 2.0}),
        ('"a": 1, "a": 2.5', {column("a"): 3.5}),
        ('"a": 1.5, "b": 1, "a": -1.5', {column("b"): 1.0}),
        ('"a": 0.0, "b": 1.0, "a": 2.0', {column("b"): 1.0, column("a"): 2.0}),
        ('"": 5, "u": {"": 6}, "": {"x": 7}', {0: 5.0, name_hash("u") % 2**18: 6.0, column("x"): 7.0}),
        ('"a": 12345678901234567890', {column("a"): 12345678901234567890.0}),
        (r'"\ud800": 1', {name_hash(b"\xed\xa0\x80") % 2**18: 1.0}),
    ],
)
def test_what_becomes_of_a_field(tmp_path, text, wanted):
    assert list(features(tmp_path, text).items()) == list(wanted.items())


def test_fields_can_be_left_out_or_be_names(tmp_path):
    found = features(
        tmp_path,
        '"id": 7, "code": 3, "flag": false, "u": {"id": 8, "a": 2, "code": 4.0}, "v": [1, 2]',
        ignore=("id", "u.a"),
        categorical=("code", "flag", "u.code", "v"),
    )
    assert found == {
        column("code", value="3"): 1.0,
        column("flag", value="false"): 1.0,
        column("id", "u"): 8.0,
        column("code", "u", "4"): 1.0,
        column("v", value="1"): 1.0,
        column("v", value="2"): 1.0,
    }


def test_what_is_remembered_of_names_is_right_in_every_place(tmp_path):
    row = {"u": {"id": 0.5, "y": 1.5, "code": 2.5, "a": 3.5}, "id": 7.5, "y": 1.0, "code": 3.0, "a": 0.0, "b": 1.0}
    text = json.dumps(row)[:-1] + ', "a": 2.0}\n'
    (tmp_path / "a.jsonl").write_text(3 * text)
    source = Source(tmp_path / "a.jsonl")
    schema = settle(source, Schema(ignore=("id",), categorical=("code",)))
    rows, y, *_ = read_all(JsonlFormat, source, schema)
    wanted = {column(name, "u"): value for name, value in row["u"].items()}
    wanted |= {column("code", value="3"): 1.0, column("b"): 1.0, column("a"): 2.0}
    assert [list(row.items()) for row in rows] == 3 * [list(wanted.items())]
    assert y == [1, 1, 1]


def test_the_same_rows_as_in_parquet(tmp_path):
    rows = mixed_rows(300)
    mine, theirs = write_lines(rows, tmp_path / "a.jsonl"), write_table(mixed_table(rows), tmp_path / "a.parquet")
    schema = settle(mine, Schema())
    found = read_all(JsonlFormat, mine, schema)
    other = read_all(ArrowFormat, theirs, ArrowFormat().complete(theirs, Schema()))
    assert [list(row.items()) for row in found[0]] == [list(row.items()) for row in other[0]]
    assert found[1:4] == other[1:4]
    wanted = [hashed({name: value for name, value in row.items() if name != "y"}) for row in rows]
    assert found[0] == wanted


def test_namespaces_are_told_for_crossings(tmp_path):
    rows = [{"y": 1, "a": 1, "user": {"b": 2}, "v": [3], "tags": ["t"], "été": {"c": 4}}]
    source = write_lines(rows, tmp_path / "a.jsonl")
    (chunk,) = chunks(source, settle(source, Schema(crossings=("uv",))), Position())
    assert (chunk.spaces.tobytes(), chunk.crossings) == (b" uv \xc3", ("uv",))
    (chunk,) = chunks(source, settle(source, Schema()), Position())
    assert chunk.spaces.size == 0
    source = write_lines([{"y": 1, "a": 0.5, "b": {"c": 1.5}}] * 2, tmp_path / "a.jsonl")
    (chunk,) = chunks(source, settle(source, Schema(crossings=("ab",))), Position())
    assert chunk.spaces.tobytes() == b" b b"
    source = write_lines([{"y": 1} | {name: {"x": 1, "y": 1} for name in "abcdef"}], tmp_path / "a.jsonl")
    (chunk,) = chunks(source, settle(source, Schema(crossings=("ab",), bits=1)), Position())
    first = {}
    for name in "abcdef":
        for inner in "xy":
            first.setdefault(name_hash(inner, name_hash(name)) % 2, name)
    assert dict(zip(chunk.rows[1].tolist(), chunk.spaces.tobytes().decode(), strict=True)) == first


FLAWED = [
    (b'{"y": 1, "a": }', 15, "not JSON: Expecting value"),
    ('{"y": 1, "é": }'.encode(), 16, "not JSON: Expecting value"),
    (b'{"y": 1', 8, "not JSON: Expecting ',' delimiter"),
    (b'{"y": 1} {"y": 0}', 10, "not JSON: Extra data"),
    (b"[1, 2]", 1, "expected an object, {...}, found an array"),
    (b"3", 1, "expected an object, {...}, found a number"),
    (b'"x"', 1, "expected an object, {...}, found a text"),
    (b"null", 1, "expected an object, {...}, found null"),
    (b'{"y": 1, "a": NaN}', 0, "'NaN' is not finite"),
    (b'{"y": 1, "a": -Infinity}', 0, "'-Infinity' is not finite"),
    (b'{"y": 1, "a": 1e999}', "a", "'inf' is not finite"),
    (b'{"y": 1, "u": {"a": -1e101}}', "u.a", "'-1e+101' is above 1e+100"),
    (b'{"y": 1, "v": [1, 1e101]}', "v.[1]", "'1e+101' is above 1e+100"),
    (b'{"y": 1, "a": 1' + b"0" * 200 + b"}", "a", "'1000"),
    (b'{"y": 1, "a": ' + b"9" * 5000 + b"}", 0, "a number is above 1e+100"),
    (b'{"y": 2}', "y", "label '2' is not one of two"),
    (b'{"y": "yes"}', "y", "label 'yes' is not one of two"),
    (b'{"a": 2}', "y", "the label is missing"),
    (b'{"y": null}', "y", "the label is missing"),
    (b'{"y": [1]}', "y", "the label must be a number or a text"),
    (b'{"y": {"a": 1}}', "y", "the label must be a number or a text"),
    (b'{"y": 1, "a": "\xff"}', 16, "not UTF-8"),
    (b'{"y": 1, "a": "\x00"}', 16, "not JSON: Invalid control character"),
    (b"[" * 100_000, 0, "objects and arrays are nested more than 100 deep"),
    (b'{"y": 1, "a": ' + b"[" * 101 + b"]" * 101 + b"}", 0, "objects and arrays are nested more than 100 deep"),
    (b'{"y": 1, "a": ' + b'{"a": ' * 101 + b"1" + b"}" * 102, 0, "objects and arrays are nested more than 100"),
    (b'{"y": 1, "w": -1}', "w", "expected an importance"),
    (b'{"y": 1, "w": 1e60}', "w", "expected an importance"),
    (b'{"y": 1, "w": 1' + b"0" * 400 + b"}", "w", "expected an importance"),
    (b'{"y": 1, "w": "2"}', "w", "expected an importance"),
    (b'{"y": 1, "w": true}', "w", "expected an importance"),
    (b'{"y": 1, "w": null}', "w", "expected an importance, 0 or a number from 1e-50 to 1e50, found nothing"),
]


def test_flaws(tmp_path):
    good = b'{"y": 1, "w": 2.5, "a": 1}'
    lines = [good]
    for line, *_ in FLAWED:
        lines += [line[:-1] + b', "w": 1}' if line[-1:] == b"}" and b'"w"' not in line else line, b" ", good]
    (tmp_path / "a.jsonl").write_bytes(b"\r\n".join(lines))
    source = Source(tmp_path / "a.jsonl")
    rows, y, weight, numbers, errors, ends = read_all(JsonlFormat, source, Schema(label="y", weight="w", bits=18))
    assert numbers == list(range(1, len(lines) + 1, 3))
    assert (rows, y, weight) == ([{column("a"): 1.0}] * len(rows), [1] * len(rows), [2.5] * len(rows))
    assert [error.line for error in errors] == list(range(2, len(lines) + 1, 3))
    for error, (line, place, words) in zip(errors, FLAWED, strict=True):
        assert error.message.startswith(words), line
        assert error.source == source.name
        if b'"w"' in line or not line.endswith(b"}"):
            assert error.column == place, line
    assert ends[-1] == Position(0, source.size, len(lines))


def test_columns_of_flaws_are_bytes_of_the_line():
    for line, place, _ in FLAWED:
        block = Block(np.frombuffer(line + b"\n", np.uint8), 0, 0, Position(0, 1, 1))
        schema = Schema(label="y", weight="w" if b'"w"' in line else None, bits=18)
        (error,) = jsonl_format._Parser("x", schema, labelled=True).chunk(block).errors
        assert error.column == place, line


def test_prediction_needs_no_label(tmp_path):
    rows = [{"y": 1, "a": 1}, {"a": 2}, {"y": "other", "a": 3}, {"y": [1], "a": 4}]
    source = write_lines(rows, tmp_path / "a.jsonl")
    schema = Schema(label="y", bits=18)
    assert settle(source, schema, labelled=False) == schema
    found, y, *_, errors, _ = read_all(JsonlFormat, source, schema, labelled=False)
    assert y == [1, 0, 0, 0]
    assert [row[column("a")] for row in found] == [1, 2, 3, 4]
    assert errors == []


@pytest.mark.parametrize(
    ("labels", "asked", "wanted"),
    [
        ([0, 1, -1, 1.0, True, False, "1", "0"], None, [-1, 1, -1, 1, 1, -1, 1, -1]),
        (["no", "yes", "no"], None, [-1, 1, -1]),
        (["b", "a"], ("b", "a"), [-1, 1]),
        ([1, 2, "2"], ("1", "2"), [-1, 1, 1]),
        ([True, False], ("true", "false"), [-1, 1]),
    ],
)
def test_labels(tmp_path, labels, asked, wanted):
    source = write_lines([{"Target": label, "a": 1} for label in labels], tmp_path / "a.jsonl")
    schema = settle(source, Schema(labels=asked))
    assert schema.label == "Target"
    assert read_all(JsonlFormat, source, schema)[1] == wanted


def test_settling(tmp_path):
    source = write_lines([{"a": 1}, {"b": 2, "y": 1}, {"label": 1}], tmp_path / "a.jsonl")
    schema = settle(source, Schema())
    assert (schema.label, schema.bits) == ("label", 18)
    assert settle(source, Schema(label="b", bits=5)).bits == 5
    with pytest.raises(InvalidDataError, match=r"no column 'labels' .*did you mean 'label'"):
        settle(source, Schema(label="labels"))
    with pytest.raises(InvalidDataError, match=r"which field is the label.*'a'.*`label="):
        settle(write_lines([{"a": 1}], tmp_path / "b.jsonl"), Schema())
    (tmp_path / "b.jsonl").write_text("x,y\n1,2\n")
    with pytest.raises(InvalidDataError, match=r"which field is the label.*none that could be read"):
        settle(Source(tmp_path / "b.jsonl"), Schema())
    found = settle(write_lines([{"y": one} for one in "abc"], tmp_path / "b.jsonl"), Schema())
    assert (found.labels, found.new_labels) == (("a", "b", "c"), True)
    with pytest.raises(InvalidDataError, match="columns were counted"):
        settle(source, Schema(columns=("a",), features=1), labelled=False)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    empty = Source(tmp_path / "empty.jsonl")
    assert read_all(JsonlFormat, empty, settle(empty, Schema()))[0] == []


def test_labels_are_found_in_a_file_that_is_sorted(tmp_path):
    count = 3 * jsonl_format._HEAD_LINES
    source = write_lines([{"y": "a"}] * count + [{"y": "b"}], tmp_path / "a.jsonl")
    assert settle(source, Schema()).labels == ("a", "b")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_reading_goes_on_from_the_end_of_any_chunk(tmp_path, monkeypatch, name):
    monkeypatch.setattr(jsonl_format, "_BLOCK", 1000)
    lines = [json.dumps(row) for row in mixed_rows(100, seed=5)]
    lines[30] = '{"y": 3}'
    lines[60] = "{" + " " * 3000
    text = "\n".join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    source = Source(tmp_path / name)
    schema = settle(source, Schema())
    whole = read_all(JsonlFormat, source, schema, Position(4), workers=0)
    assert len(whole[0]) == 98
    assert len(whole[-1]) > 5
    for end in whole[-1]:
        assert end.source == 4
        rest = read_all(JsonlFormat, source, schema, end)
        for mine, other in zip(rest[:4], whole[:4], strict=True):
            assert mine == other[len(other) - len(mine) :]
        assert rest[3] == [line for line in whole[3] if line > end.line]
        assert rest[4] == [error for error in whole[4] if error.line > end.line]
        assert rest[5] == [one for one in whole[5] if one.line > end.line]


def test_a_pipe_can_be_looked_at_and_then_read(tmp_path):
    rows = mixed_rows(50)
    content = write_lines(rows, tmp_path / "a.jsonl").path.read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    source = Source(tmp_path / "pipe")
    assert len(read_all(JsonlFormat, source, settle(source, Schema()))[0]) == 50
    writer.join()


SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


def walk(value, name, path, found):
    """Every feature of a value: (namespace, name, text or None, number), written apart from the reader."""
    whole = f"{path}.{name}" if path else name
    if isinstance(value, dict):
        for key, inner in value.items():
            walk(inner, key, whole, found)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            if isinstance(inner, str):
                found.append((path, name, inner, 1.0))
            elif isinstance(inner, dict):
                for key, deeper in inner.items():
                    walk(deeper, key, whole, found)
            elif isinstance(inner, list):
                # "v" in "u" has the namespace "u.v", and its lists have "u.v[0]".
                nested = []
                walk_list(inner, whole, i, nested)
                found += nested
            else:
                found.append((whole, f"[{i}]", None, inner))
    elif isinstance(value, str):
        found.append((path, name, value, 1.0))
    else:
        found.append((path, name, None, value))


def walk_list(values, path, number, found):
    space = f"{path}[{number}]"
    for i, inner in enumerate(values):
        if isinstance(inner, str):
            found.append((path, f"[{number}]", inner, 1.0))
        elif isinstance(inner, dict):
            for key, deeper in inner.items():
                walk(deeper, key, space, found)
        elif isinstance(inner, list):
            walk_list(inner, space, i, found)
        else:
            found.append((space, f"[{i}]", None, inner))


@given(
    st.dictionaries(st.text(max_size=3).filter(lambda name: name != "y"), VALUES, max_size=6), st.sampled_from([2, 18])
)
@settings(max_examples=150, deadline=None)
def test_any_object_agrees_with_a_slow_reference(row, bits):
    found = []
    for name, value in row.items():
        walk(value, name, "", found)
    wanted = {}
    for space, name, text, number in found:
        if not number or text == "":
            continue
        place = name_hash(name.encode(), name_hash(space) if space else 0)
        place = place if text is None else name_hash(text.encode(), place)
        wanted[place % 2**bits] = wanted.get(place % 2**bits, 0.0) + float(number)
    wanted = {place: number for place, number in wanted.items() if number != 0}
    twice = (json.dumps({"y": 1} | row).encode() + b"\n") * 2  # names are remembered from the first row on
    block = Block(np.frombuffer(twice, np.uint8), 0, 0, Position(0, 1, 2))
    chunk = jsonl_format._Parser("x", Schema(label="y", bits=bits), labelled=True).chunk(block)
    assert not chunk.errors
    assert list(zip(chunk.rows[1].tolist(), chunk.rows[0].tolist(), strict=True)) == 2 * list(wanted.items())
    assert chunk.rows[2].tolist() == [0, len(wanted), 2 * len(wanted)]


@given(st.binary(max_size=60) | st.text('{}[]":,0123456789eE+-.tfnul \\y', max_size=40).map(str.encode))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_a_row_a_flaw_or_blank(line):
    text = line.replace(b"\n", b" ") + b"\n"
    block = Block(np.frombuffer(text, np.uint8), 0, 0, Position(0, 1, 1))
    chunk = jsonl_format._Parser("x", Schema(label="y", bits=18), labelled=False).chunk(block)
    assert len(chunk) + len(chunk.errors) == (0 if text.isspace() else 1)
