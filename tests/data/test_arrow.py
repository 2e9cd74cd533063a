"""Parquet and Arrow: the same rows whatever the container, errors named, reading from any row, nothing mapped."""

import contextlib
import datetime
import decimal
import importlib
import os
import threading

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest
from table_files import ARROW, hashed, mixed_rows, mixed_table, read_all, rows_of, write_table

from massart.data.chunk import Position
from massart.data.formats import arrow as arrow_format
from massart.data.formats import arrow_files, detect_format
from massart.data.formats.arrow import ArrowFormat
from massart.data.hashing import name_hash
from massart.data.io.sources import Source
from massart.data.schema import Schema
from massart.errors import InvalidDataError, MissingPackageError


def settle(source, schema, **options):
    return ArrowFormat(**options).complete(source, schema)


def chunks(source, schema, start, **options):
    return ArrowFormat(**options).chunks(source, schema, start)


ONE = "a.parquet"


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(arrow_format, "rows_of_a_chunk", lambda width: 5)


def table_of(tmp_path, name=ONE, **columns):
    return write_table(pa.table(columns), tmp_path / name)


@pytest.mark.parametrize("name", ARROW)
def test_numbers_are_dense_and_counted_and_the_same_in_every_container(tmp_path, few_rows, name):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 11)), random.integers(0, 2, 50)
    X[random.random(X.shape) < 0.1] = np.nan
    table = pa.table({f"x{j}": X[:, j] for j in range(5)} | {"label": y} | {f"x{j}": X[:, j] for j in range(5, 11)})
    source = write_table(table, tmp_path / name)
    schema = settle(source, Schema())
    assert (schema.features, schema.bits, schema.label, schema.labels) == (11, None, "label", None)
    assert schema.columns == tuple(f"x{j}" for j in range(11))
    for workers in (0, 1, 3):
        found = list(chunks(source, schema, Position(), workers=workers))
        np.testing.assert_array_equal(np.concatenate([chunk.rows for chunk in found]), np.nan_to_num(X))
        np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in found]), 2 * y - 1)
        assert all(chunk.rows.dtype == np.float64 and chunk.width == 11 for chunk in found)
        assert all(len(chunk) <= 5 and chunk.source == source.name for chunk in found)
        assert found[-1].end == Position(0, 50, 50)
    assert source.fraction() is not None


@pytest.mark.parametrize("name", ARROW)
def test_text_makes_the_rows_hashed(tmp_path, few_rows, name):
    rows = mixed_rows(40)
    source = write_table(mixed_table(rows), tmp_path / name)
    schema = settle(source, Schema())
    assert (schema.bits, schema.features, schema.categorical) == (18, None, ("town",))
    assert schema.columns == ("age", "town", "count", "new", "v[0]", "v[1]", "v[2]")
    found, y, *_ = read_all(ArrowFormat, source, schema)
    features = [{key: value for key, value in row.items() if key != "y"} for row in rows]
    assert [list(row.items()) for row in found] == [list(hashed(row).items()) for row in features]
    assert y == [2 * row["y"] - 1 for row in rows]


def test_columns_that_collide_are_added_up(tmp_path):
    rows = mixed_rows(200, seed=1)
    source = write_table(mixed_table(rows), tmp_path / ONE)
    for bits in (1, 2, 3, 4):
        found, *_ = read_all(ArrowFormat, source, settle(source, Schema(bits=bits)))
        for mine, row in zip(found, rows, strict=True):
            wanted = hashed({key: value for key, value in row.items() if key != "y"}, bits)
            assert list(mine) == list(wanted)
            assert list(mine.values()) == pytest.approx(list(wanted.values()), abs=1e-15)


def test_every_type_of_number(tmp_path):
    types = [getattr(pa, name)() for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
    types += [pa.float16(), pa.float32(), pa.float64()]
    columns = {str(kind): pa.array([0, 1, None, 7], kind) for kind in types}
    columns |= {"bool": pa.array([False, True, None, True]), "null": pa.nulls(4), "y": pa.array([0, 1, 0, 1])}
    columns["decimal"] = pa.array([decimal.Decimal("0.00"), decimal.Decimal("1.00"), None, decimal.Decimal("7.25")])
    source = table_of(tmp_path, "a.arrow", **columns)
    schema = settle(source, Schema())
    (chunk,) = chunks(source, schema, Position())
    wanted = np.array([[0.0], [1.0], [0.0], [7.0]]) * np.ones(len(types))
    np.testing.assert_array_equal(chunk.rows[:, :-3], wanted)
    np.testing.assert_array_equal(chunk.rows[:, -3:], [[0, 0, 0], [1, 0, 1], [0, 0, 0], [1, 0, 7.25]])


def test_float32_stays_so_only_if_all_columns_are(tmp_path):
    narrow = pa.array([0.1, None], pa.float32())
    vector = pa.array([[1.5, 2.5], None], pa.list_(pa.float32(), 2))
    for columns, dtype in (
        ({"a": narrow, "v": vector}, np.float32),
        ({"a": narrow, "b": pa.array([1, 2], pa.int8())}, np.float64),
        ({"a": narrow, "b": pa.array([1.0, 2.0])}, np.float64),
    ):
        source = table_of(tmp_path, y=pa.array([0, 1]), **columns)
        (chunk,) = chunks(source, settle(source, Schema()), Position())
        assert chunk.rows.dtype == dtype
        assert chunk.rows[0, 0] == np.float32(0.1)
    source = table_of(tmp_path, y=pa.array([0, 1, 0]), a=pa.array([np.inf, np.nan, 3e38], pa.float32()))
    (chunk,) = chunks(source, settle(source, Schema()), Position())
    assert chunk.rows.tolist() == [[0.0], [float(np.float32(3e38))]]
    assert [(error.line, error.column) for error in chunk.errors] == [(1, "a")]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), "dictionary"])
def test_every_type_of_text(tmp_path, kind):
    words = ["a", "bb", None, "", "123", "bb"]
    array = pa.array(words).dictionary_encode() if kind == "dictionary" else pa.array(words, kind)
    source = table_of(tmp_path, "a.arrow", y=pa.array([0, 1] * 3), word=array)
    found, *_ = read_all(ArrowFormat, source, settle(source, Schema(bits=20)))
    assert found == [hashed({"word": word}, 20) for word in words]


def test_numbers_dates_and_flags_can_be_names(tmp_path):
    day = datetime.date(2026, 1, 2)
    columns = {"whole": [3, None], "float": [3.0, 0.5], "flag": [True, False], "day": [day, None], "same": [1, 2]}
    source = table_of(tmp_path, y=[0, 1], **columns)
    schema = settle(source, Schema(categorical=("whole", "float", "flag")))
    assert schema.categorical == ("whole", "float", "flag", "day")
    found, *_ = read_all(ArrowFormat, source, schema)
    assert found == [
        hashed({"whole": "3", "float": "3", "flag": "true", "day": "2026-01-02", "same": 1}),
        hashed({"float": "0.5", "flag": "false", "same": 2}),
    ]


def test_a_large_dictionary_is_not_looked_through_for_every_few_rows(tmp_path, few_rows):
    words = [f"word {i}" for i in range(1000)]
    column = pa.DictionaryArray.from_arrays(pa.array([1, 999, None, 5] * 5), pa.array(words))
    source = table_of(tmp_path, "a.arrow", y=pa.array([0, 1] * 10), w=column)
    found, *_ = read_all(ArrowFormat, source, settle(source, Schema()))
    assert found == [hashed({"w": word}) for word in ["word 1", "word 999", None, "word 5"] * 5]


def test_vectors(tmp_path):
    given = [[1.0, 2.0], None, [3.0, None], [4.0], [5.0, 6.0, 7.0], [8.0, 9.0]]
    source = table_of(tmp_path, y=pa.array([0, 1] * 3), v=pa.array(given), b=pa.array(range(6)))
    schema = settle(source, Schema())
    assert (schema.columns, schema.features) == (("v[0]", "v[1]", "b"), 3)
    (chunk,) = chunks(source, schema, Position())
    assert chunk.rows.tolist() == [[1, 2, 0], [0, 0, 1], [3, 0, 2], [8, 9, 5]]
    assert [(error.line, error.column, error.message) for error in chunk.errors] == [
        (4, "v", "expected 2 numbers, found 1"),
        (5, "v", "expected 2 numbers, found 3"),
    ]
    assert chunk.lines.tolist() == [1, 2, 3, 6]
    # The first row of another file may be any, and what was learned counts.
    later = table_of(tmp_path, "b.parquet", v=pa.array([None, [1.0], [1.0, 2.0]]), b=pa.array([1, 2, 3]))
    assert settle(later, schema, labelled=False) == schema
    (chunk,) = chunks(later, schema, Position(), labelled=False)
    assert chunk.rows.tolist() == [[0, 0, 1], [1, 2, 3]]
    source = table_of(tmp_path, y=pa.array([0, 1]), v=pa.array([None, None], pa.list_(pa.float64())))
    with pytest.raises(InvalidDataError, match=r"column 'v' holds list.*`ignore=\['v'\]`"):
        settle(source, Schema())


def test_flaws_leave_a_row_out_and_name_its_column(tmp_path, few_rows):
    columns = {
        "y": [0, 1, 7, None, 1, 1, 1, 1, 1, 0],
        "w": [1, 1, 1, 1, -1, None, 1, 1, 0, 2.5],
        "a": [1, 2, 3, 4, 5, 6, np.inf, 8, 9, 10],
        "b": [1, 2, 3, 4, np.inf, 6, -1e200, -1e101, 1e100, None],
        "town": ["x"] * 10,
    }
    for ignored in ((), ("town",)):
        source = write_table(pa.table(columns), tmp_path / "groups.parquet")
        schema = settle(source, Schema(weight="w", ignore=ignored))
        rows, y, weight, lines, errors, _ = read_all(ArrowFormat, source, schema)
        assert (lines, y, weight) == ([1, 2, 9, 10], [-1, 1, 1, -1], [1.0, 1.0, 0.0, 2.5])
        assert sorted(rows[2].values())[-1] == 1e100
        assert len(rows[3]) == 2 - len(ignored)
        assert [(error.line, error.column) for error in errors] == [
            (3, "y"),
            (4, "y"),
            (5, "w"),
            (6, "w"),
            (7, "a"),
            (8, "b"),
        ]
        words = [error.message for error in errors]
        assert words[0].startswith("label '7' is not one of two")
        assert words[1] == "the label is missing"
        assert "found '-1'" in words[2]
        assert "found nothing" in words[3]
        assert words[4].startswith("'inf' is not finite")
        assert words[5] == "'-1e+101' is above 1e+100 in size"
        # To predict, a label is not needed.
        rows, y, _, lines, errors, _ = read_all(ArrowFormat, source, schema, labelled=False)
        assert lines == [1, 2, 3, 4, 9, 10]
        assert y == [-1, 1, 0, 0, 1, -1]


@pytest.mark.parametrize(
    ("given", "labels", "wanted"),
    [
        (["no", "yes", "no"], None, [-1, 1, -1]),
        (["0", "1.0", "+1"], None, [-1, 1, 1]),
        ([False, True, True], None, [-1, 1, 1]),
        ([-1.0, 1.0, 0.0], None, [-1, 1, -1]),
        ([2, 1, 1], ("1", "2"), [1, -1, -1]),
        ([2.0, 1.0, 1.0], ("1", "2.0"), [1, -1, -1]),
        (["1", "2.0", "2"], ("1", "2"), [-1, 1, 1]),
        (["b", "a", "b"], ("b", "a"), [-1, 1, -1]),
        ([True, False, True], ("true", "false"), [-1, 1, -1]),
        ([10, 2, 2], ("2", "ten"), [2, -1, -1]),
        (pa.array(["u", "v", "u"]).dictionary_encode(), None, [-1, 1, -1]),
        (pa.array([0, 1, 1]).dictionary_encode(), None, [-1, 1, 1]),
        (pa.array([b"n", b"p", b"p"]), None, [-1, 1, 1]),
    ],
)
def test_labels(tmp_path, given, labels, wanted):
    source = table_of(tmp_path, "a.arrow", y=pa.array(given), x=pa.array([1, 2, 3]))
    schema = settle(source, Schema(labels=labels))
    _, y, _, _, errors, _ = read_all(ArrowFormat, source, schema)
    assert y == [one for one in wanted if one != 2]
    assert [error.line for error in errors] == [row for row, one in enumerate(wanted, 1) if one == 2]


def test_text_labels_must_be_two_or_more(tmp_path):
    source = table_of(tmp_path, y=["a", "b", "c"], x=[1, 2, 3])
    assert settle(source, Schema()).labels == ("a", "b", "c")
    with pytest.raises(InvalidDataError, match=r"only one label \('a'\).*`labels="):
        settle(table_of(tmp_path, y=["a", "a", None], x=[1, 2, 3]), Schema())
    count = arrow_format._HEAD + 10  # sorted by label, as files often are
    source = table_of(tmp_path, y=["a"] * count + ["b"], x=np.ones(count + 1))
    assert settle(source, Schema()).labels == ("a", "b")


def test_which_column_is_what(tmp_path):
    source = table_of(tmp_path, id=[7, 8], Target=[0, 1], x=[1.0, 2.0], Y=[1, 0], z=[3, 4])
    assert settle(source, Schema()).label == "Y"  # y comes before target
    assert settle(table_of(tmp_path, "b.arrow", x=[1], LABEL=[1], label=[1]), Schema()).label == "LABEL"  # the first
    assert settle(source, Schema(label="z")).columns == ("id", "Target", "x", "Y")
    assert settle(source, Schema(label="2")).label == "Target"
    assert settle(source, Schema(label="-1")).label == "z"
    schema = settle(source, Schema(label="Y", ignore=("id", "2"), weight="z"))
    assert (schema.columns, schema.weight) == (("x",), "z")
    with pytest.raises(InvalidDataError, match=r"no column 'targets' \(the label\); did you mean 'Target'\?.*`label"):
        settle(source, Schema(label="targets"))
    with pytest.raises(InvalidDataError, match=r"no column '9'.*`label"):
        settle(source, Schema(label="9"))
    with pytest.raises(InvalidDataError, match=r"no column 'ids'.*did you mean 'id'"):
        settle(source, Schema(ignore=("ids",)))
    with pytest.raises(InvalidDataError, match="no column 'weight'"):
        settle(source, Schema(weight="weight"))
    with pytest.raises(InvalidDataError, match=r"which column is the label.*'a', 'b'.*`label"):
        settle(table_of(tmp_path, a=[1], b=[2]), Schema())
    with pytest.raises(InvalidDataError, match="no column is left"):
        settle(table_of(tmp_path, y=[1], b=[2]), Schema(ignore=("b",)))
    with pytest.raises(InvalidDataError, match="several columns are called 'x'"):
        settle(write_table(pa.table([[1], [2]], names=["x", "x"]), tmp_path / "twice.arrow"), Schema())


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 1], pa.timestamp("ms")),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([["a"], ["b"]]),
        pa.array([[[1]], [[2]]]),
        pa.array([1, 2], pa.time32("s")),
    ],
)
def test_what_no_feature_can_be_made_of(tmp_path, values):
    source = table_of(tmp_path, y=pa.array([0, 1]), x=pa.array([1, 2]), odd=values)
    with pytest.raises(InvalidDataError, match=r"a\.parquet: column 'odd' holds .*`ignore=\['odd'\]`"):
        settle(source, Schema())
    assert settle(source, Schema(ignore=("odd",))).columns == ("x",)
    with pytest.raises(InvalidDataError, match="the label's column 'odd'"):
        settle(source, Schema(label="odd"))
    with pytest.raises(InvalidDataError, match="the weight's column 'odd'"):
        settle(source, Schema(weight="odd"))


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("text", [False, True])
def test_reading_goes_on_from_the_end_of_any_chunk(tmp_path, few_rows, name, text):
    rows = mixed_rows(40, seed=3)
    rows[17]["y"] = 5
    table = mixed_table(rows)
    source = write_table(table if text else table.drop_columns("town"), tmp_path / name)
    schema = settle(source, Schema())
    whole = read_all(ArrowFormat, source, schema, Position(3))
    assert len(whole[0]) == 39
    for end in whole[-1]:
        assert end.source == 3
        assert end.offset == end.line
        rest = read_all(ArrowFormat, source, schema, end, workers=1)
        for mine, other in zip(rest[:-2], whole[:-2], strict=True):
            assert mine == other[len(other) - len(mine) :]
        assert rest[3] == [line for line in whole[3] if line > end.line]
        assert rest[4] == [error for error in whole[4] if error.line > end.line]
    with pytest.raises(InvalidDataError, match="ends after 40 rows, but reading was to continue at row 50"):
        read_all(ArrowFormat, source, schema, Position(0, 49, 49))


def test_whole_row_groups_are_skipped_without_being_decoded(tmp_path, monkeypatch):
    source = write_table(pa.table({"y": [0, 1] * 50, "x": range(100)}), tmp_path / "groups.parquet")
    schema = settle(source, Schema())
    asked = []
    decoded = arrow_files._decoded
    monkeypatch.setattr(
        arrow_files,
        "_decoded",
        lambda file, opened, groups, group, *rest: asked.append(group) or decoded(file, opened, groups, group, *rest),
    )
    for start in (73, 77):
        rows, *_ = read_all(ArrowFormat, source, schema, Position(0, start, start))
        assert [row[0] for row in rows] == list(range(start, 100))
        assert asked[-1] == start // 7


def test_prediction_matches_columns_by_name(tmp_path):
    learned = table_of(tmp_path, y=[0, 1], a=[1, 2], town=["x", "y"], v=[[1.0, 2.0], [3.0, 4.0]])
    schema = settle(learned, Schema())
    rows, *_ = read_all(ArrowFormat, learned, schema)
    other = table_of(tmp_path, "b.arrow", v=[[1.0, 2.0], [3.0, 4.0]], more=[1, 2], town=["x", "y"], a=[1, 2])
    assert settle(other, schema, labelled=False) == schema
    again, y, *_ = read_all(ArrowFormat, other, schema, labelled=False)
    assert [list(row.items()) for row in again] == [list(row.items()) for row in rows]
    assert y == [0, 0]
    with pytest.raises(InvalidDataError, match=r"has no column 'a' \(a feature\)"):
        settle(table_of(tmp_path, "c.parquet", town=["x"], v=[[1.0, 2.0]]), schema, labelled=False)
    with pytest.raises(InvalidDataError, match="'a' holds string, but a number was learned"):
        settle(table_of(tmp_path, "c.parquet", a=["p"], town=["x"], v=[[1.0, 2.0]]), schema, labelled=False)
    with pytest.raises(InvalidDataError, match="has no column 'y'"):
        settle(other, schema)
    named = settle(table_of(tmp_path, "c.parquet", **{"a": [1.0], "2": [1]}), Schema(label="2"))
    assert (named.label, named.columns) == ("2", ("a",))
    without = table_of(tmp_path, "c.parquet", a=[1.0], b=[1.0])  # its second column is not the one called 2
    assert read_all(ArrowFormat, without, named, labelled=False)[1] == [0]
    numbers = table_of(tmp_path, "d.parquet", town=[3], a=[1.0], v=[[1.0, 2.0]])  # numbers can be names
    rows, *_ = read_all(ArrowFormat, numbers, schema, labelled=False)
    assert rows == [hashed({"a": 1.0, "town": "3", "v": [1.0, 2.0]})]


def test_crossings_need_the_first_letters_of_columns(tmp_path):
    source = table_of(tmp_path, y=[0, 1], age=[1, 0], zip=[2, 3], été=[5, 6])
    schema = settle(source, Schema(crossings=("az",)))
    assert schema.bits == 18
    (chunk,) = chunks(source, schema, Position())
    assert chunk.crossings == ("az",)
    assert chunk.spaces.tobytes() == b"az\xc3z\xc3"
    (chunk,) = chunks(source, settle(source, Schema(bits=18)), Position())
    assert chunk.spaces.size == 0


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "footer.arrow", "a.arrows", "a.feather"])
def test_damage_is_an_error_with_a_name_whatever_is_missing(tmp_path, name):
    source = write_table(mixed_table(mixed_rows(60)), tmp_path / name)
    whole = source.path.read_bytes()
    for share in range(20):
        source.path.write_bytes(whole[: len(whole) * share // 20])
        said, rows = None, []
        try:
            rows, *_ = read_all(ArrowFormat, source, settle(source, Schema()))
        except InvalidDataError as error:
            said = str(error)
        if said is not None:
            assert name in said
        else:  # all batches are there, only the end mark or the footer is not
            assert name not in ("a.parquet", "footer.arrow")
            assert len(rows) == 60


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
@pytest.mark.parametrize("stream", [False, True])
def test_files_of_polars(tmp_path, compression, stream):
    rows = mixed_rows(60)
    frame = polars.from_arrow(mixed_table(rows))
    source, same = Source(tmp_path / "polars"), write_table(mixed_table(rows), tmp_path / "a.arrow")
    (frame.write_ipc_stream if stream else frame.write_ipc)(source.path, compression=compression)
    assert detect_format(source) == "arrow"
    schema = settle(source, Schema())
    assert schema.columns == settle(same, Schema()).columns
    assert read_all(ArrowFormat, source, schema)[:3] == read_all(ArrowFormat, same, settle(same, Schema()))[:3]


def test_flipped_bytes_never_end_the_process(tmp_path):
    random = np.random.default_rng(0)
    for name in ("a.parquet", "a.arrow", "footer.arrow"):
        source = write_table(mixed_table(mixed_rows(30)), tmp_path / name)
        whole = source.path.read_bytes()
        for _ in range(60):
            bent = bytearray(whole)
            bent[int(random.integers(8, len(bent)))] ^= 1 << int(random.integers(0, 8))
            source.path.write_bytes(bytes(bent))
            with contextlib.suppress(InvalidDataError):
                read_all(ArrowFormat, source, settle(source, Schema()))


def test_offsets_that_lead_out_of_the_text_are_not_followed(tmp_path):
    words = ["a" * (i % 7) for i in range(50)]
    source = table_of(tmp_path, "a.arrows", y=pa.array([0, 1] * 25), word=pa.array(words))
    whole = source.path.read_bytes()
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int32)
    schema = settle(source, Schema())
    for bad in (1 << 30, -5):
        bent = offsets.copy()
        assert whole.count(offsets[:14].tobytes()) == 1  # a record batch has 13 rows
        bent[1:13] = bad
        source.path.write_bytes(whole.replace(offsets[:14].tobytes(), bent[:14].tobytes()))
        with pytest.raises(InvalidDataError, match="damaged after row 0"):
            read_all(ArrowFormat, source, schema)


def test_other_files(tmp_path):
    for content, words in (
        (b"", "is empty"),
        (b"FEA1....", "Feather version 1"),
        (b"a,b\n1,2\n" * 100, "not a Parquet or Arrow file"),
        (b"PAR1" + bytes(100), "not a Parquet or Arrow file"),
    ):
        (tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(InvalidDataError, match=words):
            settle(Source(tmp_path / "a.parquet"), Schema())


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "footer.arrow"])
def test_a_file_that_is_cut_while_it_is_read_is_an_error_and_no_more(tmp_path, name):
    table = pa.table({"y": np.arange(400_000) % 2, "x": np.random.default_rng(0).normal(size=400_000)})
    source = write_table(table, tmp_path / name)
    schema = settle(source, Schema())
    found = chunks(source, schema, Position(), workers=1)
    assert len(next(found)) > 0
    os.truncate(source.path, 100_000)
    with pytest.raises(InvalidDataError, match="damaged after row"):
        rows_of(found)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "footer.arrow", "a.arrows"])
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_a_pipe_can_be_looked_at_and_then_read(tmp_path, name, labels):
    written = write_table(pa.table({"y": labels * 100, "x": range(200)}), tmp_path / name)
    content = written.path.read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    source = Source(tmp_path / "pipe")
    rows, y, *_ = read_all(ArrowFormat, source, settle(source, Schema()))
    writer.join()
    assert [row.get(0, 0) for row in rows] == list(range(200))
    assert y == [-1, 1] * 100


def test_memory_does_not_grow_with_the_row_group(tmp_path):
    random = np.random.default_rng(0)
    peaks = []
    for count in (200_000, 600_000):
        table = pa.table({"y": np.arange(count) % 2} | {f"x{j}": random.normal(size=count) for j in range(6)})
        pa.parquet.write_table(table, tmp_path / ONE, row_group_size=count)
        del table
        source = Source(tmp_path / ONE)
        before = pa.total_allocated_bytes()
        found = chunks(source, settle(source, Schema()), Position(), workers=0)
        peaks.append(max(pa.total_allocated_bytes() - before for _ in found))
    assert peaks[1] < 1.05 * peaks[0]


def test_progress_is_seen_by_the_source(tmp_path, few_rows):
    for name in ("groups.parquet", "a.arrow"):
        source = write_table(pa.table({"y": [0, 1] * 50, "x": range(100)}), tmp_path / name)
        schema = settle(source, Schema())
        seen = [source.fraction() for _ in chunks(source, schema, Position(), workers=0)]
        assert seen == sorted(seen)
        assert 0 <= seen[0] < 0.5
        assert 0.8 < seen[-1] <= 1


def test_leaving_early_leaves_no_thread(tmp_path, few_rows):
    source = write_table(pa.table({"y": [0, 1] * 500} | {f"x{j}": range(1000) for j in range(9)}), tmp_path / ONE)
    schema = settle(source, Schema())
    before = threading.active_count()
    for _ in range(3):
        found = chunks(source, schema, Position(), workers=2)
        next(found)
        found.close()
        del found
    assert threading.active_count() <= before


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    source = table_of(tmp_path, y=[0, 1], x=[1, 2])
    real = importlib.import_module

    def absent(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingPackageError, match=r'pip install "massart\[files\]"'):
        settle(source, Schema())


def test_the_hash_of_an_unnamed_number_is_the_number(tmp_path):
    source = table_of(tmp_path, **{"y": [0, 1], "1": [5, 6], "2": [7, 0]})
    rows, *_ = read_all(ArrowFormat, source, settle(source, Schema(label="y", bits=8)))
    assert rows == [{1: 5.0, 2: 7.0}, {1: 6.0}]
    assert name_hash("1") == 1
