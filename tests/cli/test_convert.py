"""`massart convert`: from the command line and through pipes."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import processes
import pytest
from typer.testing import CliRunner

from massart import MassartClassifier, save
from massart.cli.app import app
from massart.data import read

ROWS = "1 1:0.5 3:2\n-1 2:1\n1 1:0.25\n-1 3:1e-7\n"


def run(*arguments):
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


def process(*arguments, **options):
    command = [sys.executable, "-m", "massart", "convert", *map(str, arguments)]
    return processes.run(command, capture_output=True, check=False, **options)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "a.svm").write_text(ROWS)
    return tmp_path / "a.svm"


def dense(path, **how):
    return np.concatenate([c.X if isinstance(c.X, np.ndarray) else c.X.toarray() for c in read(path, **how)])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.npy", "b.svm.gz"])
def test_data_to_data(data, name):
    out = data.with_name(name)
    result = run(data, out)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert result.stderr == f"massart convert: 4 rows written to {out}\n"
    assert np.array_equal(dense(out), dense(data))


def test_round_trip_through_every_format(data):
    """svmlight to CSV to Parquet to npy to Arrow to svmlight: the very same text."""
    steps = [data, *(data.with_name(name) for name in ("b.csv", "c.parquet", "d.npy.gz", "e.arrow", "f.svm"))]
    for given, out in pairwise(steps):
        assert run(given, out, "--quiet").output == ""
    assert steps[-1].read_text() == ROWS.replace("1e-7", "1e-07")


def test_hashed_round_trip(data):
    for name in ("b.vw", "c.jsonl", "d.vw.zst", "e.svm"):
        assert run(data, data.with_name(name), "-b", "10", "--quiet").exit_code == 0
        data = data.with_name(name)
    assert data.read_text() == ROWS.replace("1e-7", "1e-07")


def test_several_inputs_and_reading_options(tmp_path):
    (tmp_path / "1.csv").write_text("who,age,click\nx,1,no\ny,2,yes\n")
    (tmp_path / "2.csv").write_text("click,age,who\nno,3,z\n")
    result = run(tmp_path / "*.csv", tmp_path / "out.vw", "--label", "click", "--ignore", "who", "--labels", "no,yes")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out.vw").read_text() == "-1 | age:1\n1 | age:2\n-1 | age:3\n"
    result = run(tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "out.jsonl", "--label", "click", "--ignore", "who")
    assert [json.loads(line)["label"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        "no",
        "yes",
        "no",
    ]


def test_rows_need_no_label_if_one_says_so(tmp_path):
    (tmp_path / "a.csv").write_text("age,size\n1,2\n3,4\n")
    assert run(tmp_path / "a.csv", tmp_path / "a.vw").exit_code == 2
    assert run(tmp_path / "a.csv", tmp_path / "a.vw", "--unlabelled").exit_code == 0
    assert (tmp_path / "a.vw").read_text() == "| age:1 size:2\n| age:3 size:4\n"


def test_flawed_rows_are_left_out_and_told(data):
    data.write_text(ROWS + "1 0:1\n1 1:x\n")
    out = data.with_name("b.csv")
    result = run(data, out)
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"massart convert: {data}, line 5, column 3: ")
    assert lines[-1] == f"massart convert: 4 rows written to {out}; 2 left out"
    assert len(out.read_text().splitlines()) == 4


def test_strict_writes_nothing(data):
    data.write_text(ROWS + "1 0:1\n")
    out = data.with_name("b.csv")
    out.write_text("old")
    result = run(data, out, "--strict")
    assert result.exit_code == 2
    assert "line 5, column 3" in result.stderr
    assert out.read_text() == "old"
    assert len(list(data.parent.iterdir())) == 2


def test_importances_and_crossings(tmp_path):
    (tmp_path / "a.vw").write_text("1 2.5 |a 1:2 |b 2:3\n-1 |a 1\n")
    result = run(tmp_path / "a.vw", tmp_path / "a.csv", "-b", "2")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "label,weight,1,2,3,4"
    result = run(tmp_path / "a.vw", tmp_path / "a.svm")
    assert result.exit_code == 2
    assert "an importance of 2.5, which svmlight cannot hold" in result.stderr
    result = run(tmp_path / "a.vw", tmp_path / "b.vw", "-q", "ab", "-b", "18")
    assert (tmp_path / "b.vw").read_text().splitlines()[0].count(":") == 3
    (tmp_path / "c.vw").write_text("1 | 1\n")
    assert run(tmp_path / "c.vw", tmp_path / "c.csv", "-b", "1", "--importances").exit_code == 0
    assert (tmp_path / "c.csv").read_text() == "label,weight,1,2\n1,1,1,0\n"


def test_refusals(data):
    for arguments, words in (
        ((data,), "name what to read, then what to write"),
        ((data, data.with_name("b.xyz")), "its name shows no format"),
        ((data, "-"), "standard output: its name shows no format"),
        ((data, data), "is also an input"),
        ((data.with_name("none.svm"), data.with_name("b.csv")), "does not exist"),
        ((data, data.parent / "none" / "b.csv"), "there is no folder"),
        ((data, data.with_name("b.csv"), "-b", "18"), "write svmlight instead"),
        ((data, data.with_name("b.npz")), "its name shows no format"),
        ((data, data.with_name("b.csv"), "--labels", "1"), "--labels 1: give two"),
        ((data, data.with_name("b.csv"), "--from", "xml"), "`--from xml`: choose one of auto"),
        ((data, data.with_name("b.csv"), "--to", "xml"), "'xml' is no format to write: choose one of auto"),
        ((data, data.with_name("b.csv"), "--bits", "99"), "`-b 99`: give a whole number"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.startswith("massart convert: ")
        assert words in result.stderr
        assert "Traceback" not in result.output
    assert [path.name for path in data.parent.iterdir()] == ["a.svm"]


@pytest.fixture
def model(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3))
    save(MassartClassifier(0.1, 0.1).partial_fit(X, X[:, 0] > 0, classes=[False, True]), tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("name", ["m.json", "m.npz", "m.onnx", "m.json.gz"])
def test_model_to_something(model, name):
    out = model.with_name(name)
    result = run(model, out)
    assert result.exit_code == 0, result.output
    assert result.stderr == f"massart convert: 3 weights that are not 0 written to {out}\n"
    assert out.stat().st_size > 100


def test_model_to_standard_output(model):
    done = process(model, "-", "--to", "json", "--quiet")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["classes"] == [False, True]


def test_model_refusals(model, data):
    for arguments, words in (
        ((model, model.with_name("m.csv")), "a model is written to a .json, .npz or .onnx file"),
        ((model, data, model.with_name("m.json")), "convert one model at a time"),
        ((model, model.with_name("m.json"), "--to", "csv"), "a model is written as json, npz, onnx"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert words in result.stderr
    model.write_bytes(model.read_bytes()[:-40])
    result = run(model, model.with_name("m.json"))
    assert result.exit_code == 2
    assert str(model) in result.stderr
    assert not model.with_name("m.json").exists()


def test_pipes(data):
    text = gzip.compress(ROWS.encode())
    done = process("-", "-", "--from", "svmlight", "--to", "csv", "--features", "3", input=text)
    assert (done.returncode, done.stdout.decode()) == (0, "1,0.5,0,2\n-1,0,1,0\n1,0.25,0,0\n-1,0,0,1e-07\n")
    assert done.stderr == b"massart convert: 4 rows written to standard output\n"
    done = process("-", "-", "--to", "csv", input=text)
    assert done.returncode == 2
    assert b"number of columns of a pipe is not known" in done.stderr


def test_a_reader_that_leaves_is_no_trouble(data):
    data.write_text(ROWS * 100_000)
    command = f"{sys.executable} -m massart convert {data} - --to vw | head -1"
    known = {**os.environ, "LC_ALL": "C"}  # bash complains about a locale that is not installed
    done = processes.run(
        ["/bin/bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False, env=known
    )
    assert done.stdout == "1 | 1:0.5 3:2\n"
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing(data, number):
    data.write_text(ROWS * 300_000)
    command = [sys.executable, "-m", "massart", "convert", str(data), str(data.with_name("b.vw"))]
    child = processes.start(command, stderr=subprocess.PIPE)
    while len(list(data.parent.iterdir())) == 1 and child.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    child.send_signal(number)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 128 + number
    assert b"Traceback" not in told
    assert [path.name for path in data.parent.iterdir()] == ["a.svm"]
