"""Bad lines of a log: left out, reported with file and line, counted, up to a limit."""

import json

import numpy as np
import pytest

from massart.data import Decision, DecisionLog, LogColumns, write_decisions
from massart.errors import InvalidDataError, InvalidParameterError

GOOD = [Decision(np.array([[1.0, 0.5], [0.0, 1.0 + row]]), row % 2, 0.5, float(row)) for row in range(6)]


def spoil(path, line, text):
    """Replace a line of a file, from 1."""
    lines = path.read_bytes().split(b"\n")
    lines[line - 1] = text
    path.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize(
    ("name", "line", "text", "words"),
    [
        ("log.jsonl", 3, b'{"arm": 1', "line 3, column 10: not JSON"),
        ("log.jsonl", 3, b'{"arm": 1, "probability": 0.5}', "line 3, reward: exactly one of reward and cost"),
        ("log.jsonl", 3, b"\xff\xfe", "line 3, line: it is not UTF-8"),
        ("log.jsonl", 3, b'{"arm": 7, "arms": 2, "probability": 0.5, "reward": 1}', "line 3, arm: 7 is none of"),
        ("log.jsonl", 3, json.dumps({"arm": 0, "arms": 2, "probability": 0.5, "reward": 1}).encode(), "use one shape"),
        ("log.csv", 4, b"1,2", "line 4, line: 2 cells for "),
        ("log.csv", 4, b'"[[1.0, 0.5], [0.0, 3.0]]",,x,0.5,2.0,,,,,,,', "line 4, arm: not JSON"),
        ("log.dsjson", 3, b'{"a": [1], "c": {}}', "line 3, c._multi: the list of arms is missing"),
        ("log.vw", 7, b"0:much:0.5 |x x0:1.0", "line 7, cost: 'much' is not a finite number"),
        ("log.vw", 8, b"\xff |x", "line 8, line: it is not UTF-8"),
        ("log.vw", 8, b"no bar", "line 8, line: there is no |"),
        ("log.vw", 7, b"0:-2:0.5 |x x0:1.0 x1:nan", "line 7, column "),
    ],
)
def test_one_bad_line_leaves_out_one_decision(tmp_path, name, line, text, words):
    path = tmp_path / name
    write_decisions(GOOD, path)
    spoil(path, line, text)
    with pytest.raises(InvalidDataError) as refused:
        DecisionLog(path).read()
    assert words in str(refused.value)
    log = DecisionLog(path, max_bad_lines=2)
    assert log.read().rewards.tolist() == [0.0, 1.0, 3.0, 4.0, 5.0]
    assert log.bad.count == 1
    assert len(log.bad.messages) == 1
    assert f"{path}" in log.bad.messages[0]
    assert words in log.bad.messages[0]


def test_bad_rows_of_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as arrow

    rows = [{"arms": 2, "arm": row % 2, "probability": 0.5, "reward": 1.0} for row in range(6)]
    rows[2]["arm"] = None
    pyarrow.write_table(arrow.Table.from_pylist(rows), tmp_path / "log.parquet")
    log = DecisionLog(tmp_path / "log.parquet", max_bad_lines=1)
    assert len(log.read()) == 5
    assert "line 3, arm: it is missing" in log.bad.messages[0]


def test_impossible_propensities_are_bad_lines_too(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"arms": 2, "arm": 0, "probability": p, "reward": 1.0} for p in (0.5, 0, 0.5, 1.5, 0.5, 0.5, 0.5)]
    rows.append({"arms": 2, "arm": 0, "reward": 1.0})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for may_miss in (False, True):
        log = DecisionLog(path, max_bad_lines=3, propensities_may_miss=may_miss)
        assert len(log.read()) == 5
        assert log.bad.count == 3
        assert log.bad.messages == [
            f"{path}, line 2: probability 0, which is no possible propensity",
            f"{path}, line 4: probability 1.5, which is no possible propensity",
            f"{path}, line 8: probability missing, which is no possible propensity",
        ]
    with pytest.raises(InvalidDataError, match="3 of 8 decisions have an impossible propensity"):
        DecisionLog(path, max_bad_lines=2).read()


def test_the_count_is_of_one_reading(tmp_path):
    path = tmp_path / "log.jsonl"
    write_decisions(GOOD, path)
    spoil(path, 3, b"{}")
    log = DecisionLog(path, max_bad_lines=1)
    assert [len(log.read()), len(log.read()), log.bad.count] == [5, 5, 1]


def test_one_more_than_the_limit_ends_the_reading(tmp_path):
    path = tmp_path / "log.jsonl"
    write_decisions(GOOD, path)
    spoil(path, 3, b"{")
    spoil(path, 5, b"{")
    assert DecisionLog(path, max_bad_lines=2).read().rewards.size == 4
    with pytest.raises(InvalidDataError, match=r"more than 1 line of the log are bad, the first: .*line 3, "):
        DecisionLog(path, max_bad_lines=1).read()
    with pytest.raises(InvalidParameterError, match="max_bad_lines"):
        DecisionLog(path, max_bad_lines=-1)


def test_a_file_that_is_mostly_bad_is_refused_whatever_the_limit(tmp_path):
    path = tmp_path / "log.jsonl"
    write_decisions(GOOD, path)
    for line in (1, 2, 3, 5):
        spoil(path, line, b"{")
    with pytest.raises(InvalidDataError, match=r"4 lines of the log are bad, more than are not, the first: .*line 1, "):
        DecisionLog(path, max_bad_lines=1000).read()


def test_a_quote_that_never_ends_counts_every_line_that_it_swallows(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("a,r,p\n" + "0,1,.5\n" * 6 + '1,"1,.5\n' + "1,1,.5\n" * 3)
    columns = LogColumns("a", "r", probability="p")
    log = DecisionLog(path, columns=columns, max_bad_lines=100)
    assert len(log.read()) == 6
    assert log.bad.count == 4
    with pytest.raises(InvalidDataError, match="more than 3 lines"):
        DecisionLog(path, columns=columns, max_bad_lines=3).read()


def test_a_truncated_file_is_not_a_bad_line(tmp_path):
    """A gzip file that breaks off ends the reading whatever the limit, in every format."""
    import gzip

    for name in ("log.jsonl", "log.csv", "log.vw", "log.dsjson"):
        write_decisions(GOOD * 50, tmp_path / name)
        whole = gzip.compress((tmp_path / name).read_bytes())
        (tmp_path / f"{name}.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InvalidDataError, match="log"):
            DecisionLog(tmp_path / f"{name}.gz", max_bad_lines=1000).read()


def test_what_positions_and_slates_are_written_comes_back(tmp_path):
    rows = [Decision(np.eye(2), 0, 0.5, 1.0, position=1 + row % 3, slate=f"list {row // 3}") for row in range(9)]
    for name in ("log.jsonl", "log.csv", "log.parquet"):
        write_decisions(rows, tmp_path / name)
        batch = DecisionLog(tmp_path / name).read()
        assert list(batch.positions) == [one.position for one in rows]
        assert list(batch.slates) == [one.slate for one in rows]
        assert batch.decision(4).slate == "list 1"
    (tmp_path / "bad.jsonl").write_text('{"arms": 2, "arm": 0, "probability": 0.5, "reward": 1, "position": 0}\n')
    with pytest.raises(InvalidDataError, match="position: 0 is not 1 or more"):
        DecisionLog(tmp_path / "bad.jsonl").read()
