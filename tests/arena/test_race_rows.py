"""Rows: typed values that read like mappings; in files, what goes in comes out, completely or not at all."""

import json
import math
import os
import stat
import sys

import numpy as np
import pytest
from report_rows import made_up, row

from massart import arena
from massart.arena import report
from massart.arena import rows as row_files
from massart.arena.rows import LabelRow, RewardRow, rows_as_json, typed_rows
from massart.errors import InvalidDataError, InvalidParameterError, MassartError
from massart.files import check_place


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet", ".PARQUET"])
def test_rows_come_back_as_they_were(tmp_path, suffix):
    rows, path = made_up(), tmp_path / f"rows{suffix}"
    report.write_rows(rows, path)
    assert report.read_rows(path) == rows
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_parquet_columns_have_their_types_even_when_all_is_missing(tmp_path):
    import pyarrow.parquet

    report.write_rows(
        [row("massart", 0, 10, 1, angle=None, margin=None, certified=None, holds=None)], tmp_path / "r.parquet"
    )
    schema = pyarrow.parquet.read_schema(tmp_path / "r.parquet")
    strings, numbers = ("world", "learner", "error"), ("seed", "rounds", "mistakes", "clean_mistakes", "dimension")
    types = dict.fromkeys(strings, "string") | dict.fromkeys(numbers, "int64") | {"holds": "bool"}
    expected = {name: types.get(name, "double") for name in made_up()[0]}
    assert {name: str(schema.field(name).type) for name in schema.names} == expected


def test_numbers_that_json_does_not_know():
    rows = [row("massart", np.int64(3), 10, np.int64(1), angle=math.nan, bound=np.float64(math.inf))]
    (back,) = json.loads(rows_as_json(rows))
    assert (back["seed"], back["mistakes"], back["angle"], back["bound"]) == (3, 1, None, None)
    assert rows_as_json([]) == "[]"


def test_an_extra_column_is_kept(tmp_path):
    rows = [row("massart", 0, 10, 1) | {"place": "here"}, row("massart", 0, 20, 1) | {"place": None}]
    for suffix in (".json", ".parquet"):
        report.write_rows(rows, tmp_path / f"r{suffix}")
        assert report.read_rows(tmp_path / f"r{suffix}") == rows


@pytest.mark.parametrize("content", [b"{", b'{"world": 1}', b"[1, 2]"])
def test_a_file_that_holds_no_rows_is_refused(tmp_path, content):
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(InvalidDataError, match=r"r\.json does not hold the rows of a race"):
        report.read_rows(tmp_path / "r.json")


def test_a_parquet_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "r.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidDataError, match="does not hold the rows of a race"):
        report.read_rows(tmp_path / "r.parquet")


def test_an_unknown_suffix_names_those_there_are(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"ends in \.json, \.jsonl or \.parquet"):
        report.write_rows(made_up(), tmp_path / "rows.csv")


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InvalidParameterError, match="there is no folder"):
        check_place(tmp_path / "nowhere" / "race.html")
    with pytest.raises(InvalidParameterError, match="is a folder"):
        check_place(tmp_path)
    with pytest.raises(InvalidParameterError, match="cannot be written"):
        check_place("/proc/race.html")  # where nobody, not even root, can make a file
    check_place(tmp_path / "race.html")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "rows.json"
    path.write_text("old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(MassartError, match="No space left"):
        report.write_rows(made_up(), path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("rows.json", "old")]


def test_a_device_is_written_to_and_not_replaced():
    row_files.write_bytes(os.devnull, b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("matplotlib", lambda path: report.figure(made_up(), path / "race.png")),
        ("pyarrow", lambda path: report.write_rows(made_up(), path / "rows.parquet")),
        ("pyarrow", lambda path: report.read_rows(path / "rows.parquet")),
    ],
)
def test_a_missing_package_is_named_with_how_to_get_it(tmp_path, monkeypatch, package, use):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.parquet", None)
    with pytest.raises(report.MissingPackageError, match=rf'^{package} is needed .*: pip install "massart\[report\]"$'):
        use(tmp_path)


def test_table_page_and_json_need_none_of_them(tmp_path, monkeypatch):
    for package in ("matplotlib", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    report.table(made_up())
    report.html(made_up())
    report.write_rows(made_up(), tmp_path / "rows.json")


@pytest.mark.parametrize(("world", "kind"), [("kink", LabelRow), ("simpson", RewardRow)])
def test_a_row_reads_like_a_mapping(world, kind):
    (row, *_) = arena.race({"kink": "arow", "simpson": "uniform"}[world], world, 2)
    assert type(row) is kind
    assert (row["rounds"], row.rounds, row.get("nothing"), len(row)) == (1, 1, None, len(list(row)))
    assert dict(row) == row == kind.of(dict(row))
    assert dict(row) != {**row, "rounds": 2}
    with pytest.raises(KeyError):
        row["nothing"]
    with pytest.raises(AttributeError):
        row.rounds = 3


def test_rows_of_both_kinds_are_not_mixed_and_not_incomplete():
    reward = arena.race("uniform", "simpson", 1).rows
    with pytest.raises(InvalidDataError, match="report them separately"):
        report.summarise([*made_up(), *reward])
    with pytest.raises(InvalidDataError, match="a row without 'mistakes'"):
        typed_rows([{key: value for key, value in made_up()[0].items() if key != "mistakes"}])
