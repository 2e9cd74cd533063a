"""Logs of decisions in every format: what is written comes back, what is flawed is refused where it stands."""

import gzip
import json
import os
import re
import sys
import threading

import numpy as np
import pytest
from scipy import sparse

from massart.data import LOG_FORMATS, Decision, DecisionBatch, DecisionLog, write_decisions
from massart.errors import InvalidDataError, InvalidParameterError


def decisions(count=30, kind="dense"):
    random = np.random.default_rng(0)
    for row in range(count):
        k = int(random.integers(1, 5))
        p = random.dirichlet(np.ones(k))
        arm = int(random.choice(k, p=p))
        contexts = random.normal(size=(k, 0 if kind == "bare" else 3)) * (random.random((k, 1)) < 0.7)
        yield Decision(
            sparse.csr_array(contexts) if kind == "sparse" else contexts,
            arm,
            float(p[arm]),
            float(random.normal()),
            probabilities=p if row % 2 else None,
            target=np.eye(k)[0] if row % 3 else None,
            event_id=f"event {row}" if row % 4 else None,
            time="2026-01-02T03:04:05Z" if row % 5 else None,
            weight=1.0 + row % 2,
        )


def same(mine, other):
    """Equal in every field, to the last bit."""
    for name in ("arm", "probability", "reward", "event_id", "time", "weight"):
        assert getattr(mine, name) == getattr(other, name), name
    for name in ("probabilities", "target"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))
    assert sparse.issparse(mine.contexts) == sparse.issparse(other.contexts)
    rows = [one.contexts.toarray() if sparse.issparse(one.contexts) else one.contexts for one in (mine, other)]
    np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize("kind", ["dense", "sparse", "bare"])
@pytest.mark.parametrize(
    "name", ["log.jsonl", "log.parquet", "log.csv", "log.jsonl.gz", "log.csv.zst", "log.parquet.bz2"]
)
def test_our_own_formats_give_back_exactly_what_was_written(tmp_path, kind, name):
    written = list(decisions(kind=kind))
    assert write_decisions(written, tmp_path / name) == 30
    log = DecisionLog(tmp_path / name, batch_size=7)
    read = [decision for batch in log for decision in batch]
    first = 2 if ".csv" in name else 1
    assert [decision.line for decision in read] == list(range(first, first + 30))
    for mine, other in zip(read, written, strict=True):
        same(mine, other)
    assert [len(batch) for batch in log] == [7, 7, 7, 7, 2]  # and a log can be read again


@pytest.mark.parametrize("name", ["log.vw", "log.dsjson", "log.vw.gz", "log.dsjson.bz2", "log.vw.zst"])
def test_the_formats_of_others_keep_what_they_can_hold(tmp_path, name):
    written = [
        Decision(d.contexts, d.arm, d.probability, d.reward, event_id=f"a b|c{i}") for i, d in enumerate(decisions())
    ]
    write_decisions(written, tmp_path / name)
    for i, (mine, other) in enumerate(zip(DecisionLog(tmp_path / name).read(), written, strict=True)):
        assert (mine.arm, mine.arms, mine.reward) == (other.arm, other.arms, other.reward)
        assert mine.probability == other.probability
        for row, values in zip(mine.contexts.toarray(), other.contexts, strict=True):
            assert sorted(row[row != 0]) == sorted(values[values != 0])  # columns are hashed, values stay
        assert mine.event_id == (f"a_b_c{i}" if "vw" in name else f"a b|c{i}")


def test_the_format_is_found_without_its_suffix(tmp_path):
    for log_format in LOG_FORMATS:
        plain = [Decision(np.eye(2), 0, 0.5, 1.0)]
        write_decisions(plain, tmp_path / "log", log_format)
        assert DecisionLog(tmp_path / "log").format == log_format
    (tmp_path / "log").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(InvalidDataError, match="its first line does not show its format; pass `log_format`, one of vw"):
        DecisionLog(tmp_path / "log")
    with pytest.raises(InvalidParameterError, match="`log_format='svmlight'`: choose one of auto, vw"):
        DecisionLog(tmp_path / "log", "svmlight")
    with pytest.raises(InvalidDataError, match="log, line 1, line: it does not name the fields arm"):
        DecisionLog(tmp_path / "log", "csv").read()


GOOD = {"contexts": [[1.0, 2.0], [3.0, 4.0]], "arm": 1, "probability": 0.5, "reward": 1.0}
SPARSE = {"starts": [0, 1, 2], "columns": [0, 1], "values": [1.0, 1.0], "width": 2}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"arm": 2}, "arm"),
        ({"arm": -1}, "arm"),
        ({"arm": 0.5}, "arm"),
        ({"arm": None}, "arm"),
        ({"arm": True}, "arm"),
        ({"reward": None}, "reward"),
        ({"reward": "1"}, "reward"),
        ({"cost": 1.0}, "reward"),
        ({"probability": "half"}, "probability"),
        ({"contexts": []}, "contexts"),
        ({"contexts": [[1.0], [1.0, 2.0]]}, "contexts"),
        ({"contexts": [["a", "b"]]}, "contexts"),
        ({"contexts": [[1.0], [2.0]]}, "contexts"),  # one feature where the first line has two
        ({"contexts": SPARSE}, "contexts"),  # sparse where the first line is dense
        ({"contexts": SPARSE | {"columns": [0, 2]}}, "contexts"),
        ({"contexts": SPARSE | {"starts": [0, 2, 1]}}, "contexts"),
        ({"contexts": {"starts": [0]}}, "contexts"),
        ({"contexts": None}, "contexts"),
        ({"arms": 3}, "arms"),
        ({"probabilities": [0.2, 0.3, 0.5]}, "probabilities"),
        ({"probabilities": "all"}, "probabilities"),
        ({"target": [1.0]}, "target"),
        ({"event_id": 7}, "event_id"),
        ({"weight": 0}, "weight"),
        ({"wieght": 2.0}, "wieght"),
    ],
)
def test_a_flawed_record_is_refused_with_line_and_field(tmp_path, change, field):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(GOOD) + "\n\n" + json.dumps(GOOD | change) + "\n")
    with pytest.raises(InvalidDataError, match=rf"{re.escape(str(path))}, line 3, {field}\S*: .*; "):
        DecisionLog(path).read()


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"arm": NaN}', '{"arm": 1, "arm": 0}', "[" * 100_000, '{"reward": Infinity}']
)
def test_a_line_that_is_no_record_is_refused(tmp_path, text):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + text + "\n")
    with pytest.raises(InvalidDataError, match="line 2, "):
        DecisionLog(path, "jsonl").read()


def test_impossible_propensities_are_counted_over_the_whole_file_and_nothing_is_used(tmp_path):
    path = tmp_path / "log.jsonl"
    wrong = {2: {"probability": 0}, 5: {"probability": None}, 6: {"probability": 1.5}, 8: {"probability": -0.25}}
    more = {9: {"probabilities": [0.5, 0.6]}, 11: {"probabilities": [0.9, 0.1]}}
    changes = wrong | more
    path.write_text("".join(json.dumps(GOOD | changes.get(line, {})) + "\n" for line in range(1, 21)))
    with pytest.raises(InvalidDataError) as refusal:
        list(DecisionLog(path, batch_size=3))
    words = str(refusal.value)
    assert "6 of 20 decisions have an impossible propensity" in words
    for complaint in ("line 2 (probability 0)", "line 5 (probability missing)", "line 8 (probability -0.25)"):
        assert complaint in words
    assert "line 9 (the arms' probabilities sum to 1.1), and 1 more; log the probability" in words


def test_cost_and_the_probability_among_all_arms_are_understood(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"arm": 0, "cost": 2, "probabilities": [0.25, 0.75], "_mine": 1}\n'
        '{"arm": 1, "cost": 0, "arms": 2, "probability": 1}'
    )
    first, second = DecisionLog(path).read()
    assert (first.reward, first.probability, first.arms) == (-2.0, 0.25, 2)
    assert str(second.reward) == "0.0"
    assert second.contexts.shape == (2, 0)


def test_an_empty_log_an_empty_folder_and_a_missing_file_are_refused(tmp_path):
    (tmp_path / "none.d").mkdir()
    (tmp_path / "log.jsonl").write_text("\n\n")
    with pytest.raises(InvalidDataError, match="no decision"):
        DecisionLog(tmp_path / "log.jsonl").read()
    with pytest.raises(InvalidDataError, match="is a folder without data files"):
        DecisionLog(tmp_path / "none.d")
    with pytest.raises(InvalidDataError, match="does not exist"):
        DecisionLog(tmp_path / "none")
    with pytest.raises(InvalidDataError, match="cannot be empty"):
        DecisionBatch.of([])


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"event_id": "\xff"}\n')
    with pytest.raises(InvalidDataError, match="line 2, line: it is not UTF-8"):
        DecisionLog(path).read()
    whole = gzip.compress(b"".join(json.dumps(GOOD | {"reward": row / 7}).encode() + b"\n" for row in range(500)))
    path.write_bytes(whole[:-30])
    with pytest.raises(InvalidDataError, match="cut off"):
        DecisionLog(path).read()
    write_decisions(decisions(), tmp_path / "log.parquet")
    content = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "log.parquet").write_bytes(content[:-20])
    with pytest.raises(InvalidDataError, match="not a Parquet or Arrow file"):
        DecisionLog(tmp_path / "log.parquet").read()


def test_a_byte_order_mark_and_windows_line_ends_are_not_seen(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n" + json.dumps(GOOD).encode() + b"\r\n")
    assert len(DecisionLog(path).read()) == 2


def test_a_log_is_written_whole_or_not_at_all(tmp_path):
    good = Decision(np.eye(2), 0, 0.5, 1.0)
    for name in ("log.jsonl", "log.parquet", "log.vw", "log.dsjson", "log.csv"):
        for bad in (Decision(np.eye(2), 0, 0.0, 1.0), Decision(np.eye(2), 5, 0.5, 1.0)):
            with pytest.raises(InvalidDataError):
                write_decisions([good, bad], tmp_path / name)
    with pytest.raises(InvalidDataError, match="no weights"):
        write_decisions([Decision(np.eye(2), 0, 0.5, 1.0, weight=2.0)], tmp_path / "log.vw")
    with pytest.raises(InvalidParameterError, match="pass `log_format`, one of"):
        write_decisions([good], tmp_path / "log.xyz")
    assert not list(tmp_path.iterdir())


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install"):
        write_decisions(decisions(), tmp_path / "log.parquet")
    assert not list(tmp_path.iterdir())


def test_several_files_a_pattern_a_folder_and_a_pipe_are_one_log(tmp_path):
    written = list(decisions(40))
    (tmp_path / "logs").mkdir()
    for part, name in enumerate(("a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "d.jsonl.bz2")):
        write_decisions(written[10 * part : 10 * part + 10], tmp_path / "logs" / name)
    files = sorted((tmp_path / "logs").iterdir())
    for paths in (files, tmp_path / "logs", str(tmp_path / "logs" / "*.jsonl*")):
        log = DecisionLog(paths, batch_size=100)
        assert log.size == sum(file.stat().st_size for file in files)
        (batch,) = log
        assert batch.lines.tolist() == [*range(1, 11)] * 4
        for mine, other in zip(batch, written, strict=True):
            same(mine, other)
    os.mkfifo(tmp_path / "pipe")
    content = files[1].read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    log = DecisionLog(tmp_path / "pipe")
    assert (log.format, log.size, len(log.read())) == ("jsonl", None, 10)
    writer.join()


def test_the_file_of_a_malformed_line_is_named(tmp_path):
    write_decisions(decisions(5), tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text('{"contexts": [[1, 2, 3]], "arm": 0, "probability": 7, "reward": 1}\n')
    log = DecisionLog([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    with pytest.raises(
        InvalidDataError, match=r"a\.jsonl and 1 more: 1 of 6 .*: \S*b\.jsonl, line 1 \(probability 7\)"
    ):
        log.read()
    (tmp_path / "b.jsonl").write_text('{"contexts": [[1, 2]], "arm": 0, "probability": 1, "reward": 1}\n')
    with pytest.raises(InvalidDataError, match=r"b\.jsonl, line 1, contexts: 2 dense features where"):
        DecisionLog([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]).read()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0,x,1,", "line 4, probability: not JSON"),
        ("0,0.5,,", "line 4, reward: exactly one of reward and cost"),
        ("0,0.5,1", "line 4, line: 3 cells for 4 columns"),
        ('0,0.5,1,"[[1', "line 4, line: not CSV"),
        ('0,0.5,1,"[[1,[2"', "line 4, contexts: not JSON"),
        ("7,0.5,1,", "line 4, contexts: nothing says how many arms"),
    ],
)
def test_a_malformed_line_of_csv_is_refused_with_line_and_field(tmp_path, line, words):
    path = tmp_path / "log.csv"
    path.write_text(f'arm;probability;reward;contexts\n0;0.5;1;"[[1, 2],\n[3, 4]]"\n{line}\n'.replace(";", ","))
    with pytest.raises(InvalidDataError) as refusal:
        DecisionLog(path).read()
    assert str(refusal.value).startswith(f"{path}, {words}")


def test_csv_with_other_separators_costs_and_own_columns(tmp_path):
    for separator in ",;\t|":
        rows = [["_note", "arm", "cost", "probabilities", "event_id"], ["x", "1", "-2", "[0.75  0.25]", "007"], []]
        text = "".join(separator.join(row) + "\n" for row in rows).replace("  ", ", ")
        quoted = text.replace("[0.75, 0.25]", '"[0.75, 0.25]"')
        (tmp_path / "log.txt").write_text(quoted)
        log = DecisionLog(tmp_path / "log.txt")
        (decision,) = log.read()
        assert (log.format, decision.reward, decision.probability, decision.event_id) == ("csv", 2.0, 0.25, "007")
