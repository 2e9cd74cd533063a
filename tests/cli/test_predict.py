"""`massart predict`: a line for every row, the error where labels are known."""

import select
import subprocess
import sys

import numpy as np
import pandas as pd
import processes
import pytest
from cli_cases import write_rows
from typer.testing import CliRunner

from massart import MassartClassifier, load, save
from massart.cli.app import app

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(200, 4)), 3)
Y = np.where(X[:, 0] > 0.2, 1, -1)


def massart(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, **options)


@pytest.fixture
def model(tmp_path):
    path = write_rows(tmp_path / "rows.svm", X, Y)
    assert massart("train", path, "-f", tmp_path / "m", "--quiet").exit_code == 0
    return tmp_path / "m"


def test_labels_and_scores_are_those_of_the_model(model, tmp_path):
    loaded, rows = load(model), tmp_path / "rows.svm"
    labels = massart("predict", model, rows)
    np.testing.assert_array_equal(np.array(labels.stdout.split(), int), loaded.predict(X))
    wrong = int((loaded.predict(X) != Y).sum())
    assert f"200 rows predicted; error {wrong / 200:.2%}: {wrong} mistakes on 200 with a label" in labels.stderr
    scores = massart("predict", model, rows, "--scores", "--quiet")
    np.testing.assert_allclose(np.array(scores.stdout.split(), float), loaded.decision_function(X), atol=1e-12)
    assert scores.stderr == ""


def test_to_a_file(model, tmp_path):
    result = massart("predict", model, tmp_path / "rows.svm", "-o", tmp_path / "out.txt")
    assert (result.exit_code, result.stdout) == (0, "")
    assert len((tmp_path / "out.txt").read_text().split()) == 200
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "out.txt", "rows.svm"]


def test_rows_that_cannot_be_read(model, tmp_path):
    path = tmp_path / "new.svm"
    path.write_text("1 1:1\n1 0:1\n2:5 77:1\n")
    result = massart("predict", model, path)
    lines = result.stdout.split("\n")
    assert [bool(line) for line in lines] == [True, False, True, False]
    assert "new.svm, line 2, column 3: index 0; svmlight counts from 1; the row is left out" in result.stderr
    assert "2 rows predicted; error" in result.stderr
    assert "1 left out" in result.stderr
    strict = massart("predict", model, path, "--strict", "-o", tmp_path / "out.txt")
    assert strict.exit_code == 2
    assert not list(tmp_path.glob("out*"))


def test_a_model_from_python(tmp_path):
    words = np.array(["ham", "spam"])[(Y > 0).astype(int)]
    classifier = MassartClassifier(random_state=0).fit(X, words)
    save(classifier, tmp_path / "m")
    path = tmp_path / "rows.svm"
    path.write_text("".join(" ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) + "\n" for x in X.tolist()))
    found = massart("predict", tmp_path / "m", path)
    assert found.stdout.split() == classifier.predict(X).tolist()
    assert found.stderr == "massart predict: 200 rows predicted\n"
    table = tmp_path / "rows.csv"
    table.write_text("label,a,b,c\n" + "".join(f"spam,{x[0]},{x[1]},{x[2]}\n" for x in X.tolist()))
    narrow = massart("predict", tmp_path / "m", table)
    assert narrow.exit_code == 2
    assert "the rows have 3 columns, but the model was trained on 4" in narrow.stderr


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_bytes(b""), "it is empty"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "not a valid massart model file"),
        (lambda path: path.unlink(), "does not exist"),
        (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
    ],
)
def test_a_model_that_is_not_whole(model, tmp_path, damage, words):
    damage(model)
    result = massart("predict", model, tmp_path / "rows.svm")
    assert result.exit_code == 2
    assert result.stderr.startswith("massart predict: ")
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_places_that_cannot_be_written(model, tmp_path):
    result = massart("predict", model, tmp_path / "rows.svm", "-o", tmp_path / "no" / "out")
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


WAYS = {
    "svm": ("1 1:1\n-1 1:-1\n", "", ["1:1\n", "1:-1\n", "3:1 1:2\n"]),
    "vw": ("1 |f a\n-1 |f b\n", "", ["|f a\n", "|f b\n", "|f a:2\n"]),
    "csv": ("1,5\n-1,-5\n", "label,x\n", ["1,5\n", "-1,-5\n", "1,6\n"]),
    "jsonl": ('{"label": 1, "x": 5}\n{"label": -1, "x": -5}\n', "", ['{"x": 5}\n', '{"x": -5}\n', '{"x": 6}\n']),
}


@pytest.mark.parametrize("suffix", WAYS)
def test_each_row_of_a_pipe_is_answered_before_the_next_comes(tmp_path, suffix):
    rows, header, new = WAYS[suffix]
    (tmp_path / f"a.{suffix}").write_text(header + rows * 20)
    assert massart("train", tmp_path / f"a.{suffix}", "-f", tmp_path / "m", "--quiet").exit_code == 0
    command = [sys.executable, "-m", "massart", "predict", str(tmp_path / "m"), "-", "--quiet"]
    process = processes.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    answers = []
    process.stdin.write(header)
    for row in new:
        process.stdin.write(row)
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 120.0)
        if not ready:
            process.kill()
        answers.append(process.stdout.readline())
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 0
    assert answers == ["1\n", "-1\n", "1\n"]


def test_data_of_another_format_is_named_as_such(tmp_path):
    (tmp_path / "a.csv").write_text("label,x\n" + "1,5\n-1,-5\n" * 20)
    (tmp_path / "b.txt").write_text("1 |f a\n-1 |f b\n" * 20)
    assert massart("train", tmp_path / "a.csv", "-f", tmp_path / "m", "--quiet").exit_code == 0
    result = massart("predict", tmp_path / "m", tmp_path / "b.txt")
    assert result.exit_code == 2
    assert "b.txt is vw, but the model was trained on csv: give rows with its columns" in result.stderr
    assert "|f" not in result.stderr


def test_a_broken_pipe_is_no_traceback(model, tmp_path):
    rows = tmp_path / "rows.svm"
    rows.write_text(rows.read_text() * 400)  # more than a pipe holds
    command = f"({sys.executable} -m massart predict {model} {rows} --scores; echo code $? >&2) | head -1"
    found = processes.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    assert len(found.stdout.splitlines()) == 1
    assert "Traceback" not in found.stderr
    assert found.stderr.strip().endswith("code 0")


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_model_of_parquet_predicts_csv(tmp_path, separator):
    """Columns are found by name, whatever their order; the label may be there or not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "town": rng.choice(["Rome", "Oslo"], 200)})
    labelled = frame.assign(y=(frame.town == "Rome").astype(int))
    labelled.to_parquet(tmp_path / "rows.parquet")
    assert massart("train", tmp_path / "rows.parquet", "-f", tmp_path / "m.massart", "--quiet").exit_code == 0
    expected = load(tmp_path / "m.massart").decision_function(frame).tolist()
    for table in (frame, labelled, labelled[["y", "town", "size"]]):
        table.to_csv(tmp_path / "rows.csv", index=False, sep=separator)
        done = massart(
            "predict", tmp_path / "m.massart", tmp_path / "rows.csv", "--format", "csv", "--scores", "--quiet"
        )
        assert [float(line) for line in done.stdout.split()] == expected
