"""Law 11, readers: only MassartError leaves the package for a damaged file, and no command ends in a traceback."""

import json
import re

import numpy as np
import pytest
import reader_attacks as attacks
from typer.testing import CliRunner

from massart.cli.app import app
from massart.data import DecisionLog, Schema, read
from massart.data.feature_names import named_rows
from massart.data.io.sources import Source
from massart.errors import InvalidDataError, InvalidParameterError, MassartError
from massart.evaluation import evaluate

ONE_BAD_OF_TWO = (  # whose bad line is left out: not more lines are bad than are not, and the exit code is 1
    *("probability.jsonl", "contexts.jsonl", "reward.jsonl", "weight.jsonl", "digits.jsonl", "large.jsonl"),
    "large_arm.jsonl",
)


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def check_refused(result, path):
    assert result.exit_code == 2, (result.exit_code, result.exception)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.stderr
    assert path.name in result.stderr
    assert not result.stdout


@pytest.mark.parametrize("name", attacks.DAMAGED)
def test_a_damaged_file_is_refused_in_python(name, tmp_path):
    path = attacks.written(tmp_path, name, attacks.DAMAGED[name])
    with pytest.raises(InvalidDataError, match=re.escape(name)):
        list(read(path))


@pytest.mark.parametrize("name", attacks.DAMAGED)
def test_a_damaged_file_ends_a_command_with_a_sentence(name, tmp_path):
    path = attacks.written(tmp_path, name, attacks.DAMAGED[name])
    check_refused(massart("train", path, "-f", tmp_path / "m.massart", "--quiet"), path)
    check_refused(massart("convert", path, tmp_path / "out.vw", "--quiet"), path)
    assert {one.name for one in tmp_path.iterdir()} <= {name, "m.massart.checkpoint"}


@pytest.mark.parametrize("name", attacks.DAMAGED_LOGS)
def test_a_damaged_log_is_refused(name, tmp_path):
    path = attacks.written(tmp_path, name, attacks.DAMAGED_LOGS[name])
    with pytest.raises(InvalidDataError, match=re.escape(name)):
        evaluate(path, "first")
    check_refused(massart("evaluate", path, "--quiet", "--max-bad-lines", 0), path)
    result = massart("evaluate", path, "--quiet")
    if name not in ONE_BAD_OF_TWO:
        check_refused(result, path)
        return
    assert result.exit_code == 1, (result.exit_code, result.exception)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("bad line: ")
    assert path.name in result.stderr
    assert "from 1 logged decision" in " ".join(result.stdout.split())


@pytest.mark.parametrize("field", ["probability", "contexts", "reward", "weight", "digits"])
def test_a_number_that_is_too_large_is_named_with_its_line(field, tmp_path):
    name = f"{field}.jsonl"
    path = attacks.written(tmp_path, name, attacks.DAMAGED_LOGS[name])
    with pytest.raises(InvalidDataError, match=r"line 2\b.*1e[-+]?\d+"):
        DecisionLog(path).read()


def test_predictions_of_damaged_files_end_with_a_sentence(tmp_path):
    good = {"good.svm": b"1 1:0.5 2:1\n-1 1:1\n" * 20, "good.csv": b"y,x\n" + b"0,1\n1,2\n" * 20}
    damaged = {"good.svm": ("cut.svm.gz", "flipped.svm.gz"), "good.csv": ("names.arrow", "cut.parquet", "text.npy")}
    for trained, text in good.items():
        (tmp_path / trained).write_bytes(text)
        assert massart("train", tmp_path / trained, "-b", 10, "-f", tmp_path / "m.massart", "--quiet").exit_code == 0
        for name in damaged[trained]:
            path = attacks.written(tmp_path, name, attacks.DAMAGED[name])
            result = massart("predict", tmp_path / "m.massart", path)
            assert result.exit_code == 2, (name, result.stdout)
            assert isinstance(result.exception, SystemExit), repr(result.exception)
            assert name in result.stderr


def test_names_are_looked_for_in_any_file(tmp_path):
    for name in ("line.svm.gz", "line.jsonl.gz", "nested.jsonl", "index.svm"):
        path = attacks.written(tmp_path, name, attacks.LARGE[name])
        assert len(list(named_rows(Source(path), Schema(columns=("a",), features=1)))) >= 1
    digits = tmp_path / "digits.svm"
    digits.write_text("1 " + "9" * 5000 + ":1 3:1\n")
    assert [[one.name for one in row] for row in named_rows(Source(digits), Schema())] == [["index 3"]]
    long_field = tmp_path / "long.csv"
    long_field.write_text("y,a\n1,b\n0," + "c" * 200_000 + "\n")  # more than Python's csv takes
    assert len(list(named_rows(Source(long_field), Schema(columns=("a",), features=1, header=True)))) == 1


FORGED = [
    ({"bits": "18"}, "bits"),
    ({"bits": True}, "bits"),
    ({"bits": 31}, "bits"),
    ({"bits": -1}, "bits"),
    ({"features": 10**18}, "features"),
    ({"features": -5}, "features"),
    ({"features": 2.0}, "features"),
    ({"format": "pickle"}, "format"),
    ({"format": ["svmlight"]}, "format"),
    ({"columns": ["a", "b"], "features": 1}, "names 2 columns, but counts 1"),
    ({"columns": ["a", "b"]}, "names 2 columns, but counts None"),
    ({"columns": ["a", "a"], "features": 2}, "same name"),
    ({"columns": ["a", 7], "features": 2}, "columns"),
    ({"columns": ["a", "\ud800"], "features": 2}, "columns"),
    ({"columns": "ab", "features": 2}, "columns"),
    ({"columns": {"a": 1}, "features": 1}, "columns"),
    ({"columns": ["a"] * 10, "bits": 18}, "same name"),
    ({"bits": 18, "features": 4}, "both bits and features"),
    ({"labels": ["no"]}, "labels"),
    ({"labels": ["no", 1]}, "labels"),
    ({"label": 3}, "label"),
    ({"header": "yes"}, "header"),
    ({"separator": "\n"}, "separator"),
    ({"separator": ",,"}, "separator"),
    ({"crossings": ["ab"]}, "crossings, but no bits"),
    ({"crossings": ["abcd"], "bits": 18}, "crossings"),
    ({"crossings": ["\u00e9a"], "bits": 18}, "crossings"),
    ({"ignore": [["a"]]}, "ignore"),
    ({"decimal": ";"}, "decimal"),
]


@pytest.mark.parametrize(("change", "words"), FORGED)
def test_a_forged_reading_is_refused(change, words):
    with pytest.raises(InvalidParameterError, match=words):
        Schema.from_dict({"format": "csv"} | change)


def test_a_reading_belongs_to_weights_of_its_width():
    given = {"format": "csv", "columns": ["a", "b"], "features": 2}
    assert Schema.from_dict(given, width=2).columns == ("a", "b")
    with pytest.raises(InvalidParameterError, match="2 columns, but the weights have 1"):
        Schema.from_dict(given, width=1)
    assert Schema.from_dict({"format": "svmlight"}, width=5).width is None  # the weights alone say how many there are
    for nothing in (None, [], "csv", 7):
        with pytest.raises(InvalidParameterError, match="object with named fields"):
            Schema.from_dict(nothing)


def test_a_reading_of_any_json_is_a_reading_or_refused():
    random = np.random.default_rng(0)
    values = [None, True, 0, 1, -1, 3, 18, 2**40, 0.5, "", "a", ",", "csv", "vw", [], ["a"], ["a", "b"], [1], {}]
    names = [*Schema._fields, "unknown"]
    kept = 0
    for _ in range(20_000):
        given = {name: values[random.integers(len(values))] for name in random.choice(names, random.integers(1, 6))}
        try:
            reading = Schema.from_dict(json.loads(json.dumps(given)))
        except MassartError:
            continue
        kept += 1
        assert reading.columns is None or reading.bits is not None or reading.features == len(reading.columns)
        assert Schema.from_dict(reading.as_dict()) == reading
    assert kept > 100
