"""More than two classes from files: what is learned is what partial_fit learns, in any format, interrupted or not."""

import json

import numpy as np
import pytest
from command_cases import massart, run
from sklearn.datasets import load_iris

from massart import MassartClassifier, load
from massart.training import Every, Settings, open_training

NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def write_csv(path, X, labels):
    path.write_text(
        "label,a,b,c,d\n"
        + "".join(f"{t}," + ",".join(f"{v:g}" for v in x) + "\n" for x, t in zip(X, labels, strict=True))
    )
    return path


def test_the_model_is_that_of_partial_fit(tmp_path, flowers):
    X, y = flowers
    path = write_csv(tmp_path / "a.csv", X, NAMES[y])
    result = massart("train", path, "-f", tmp_path / "m")
    assert result.exit_code == 0, result.stderr
    found = load(tmp_path / "m")
    expected = MassartClassifier(random_state=0).partial_fit(X, NAMES[y])
    assert found.classes_.tolist() == NAMES.tolist()
    assert (found.rounds_, found.mistakes_) == (expected.rounds_, expected.mistakes_)
    assert np.array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert "3 classes" in result.stdout
    assert "precision" in result.stdout


def test_classes_join_and_are_put_in_order(tmp_path, flowers):
    X, y = flowers
    late = np.array(["m", "z", "a"])[y]
    order = np.concatenate([np.flatnonzero(late != "a"), np.flatnonzero(late == "a")])
    rows = np.tile(order[late[order] != "a"], 800)  # more than what is looked at first
    rows = np.concatenate([rows, order[late[order] == "a"]])
    labels = np.where(np.arange(rows.size) % 3 == 0, "n", late[rows])
    path = write_csv(tmp_path / "a.csv", X[rows], labels)
    assert "\na," not in path.read_text()[: 1 << 20]
    result = massart("train", path, "-f", tmp_path / "m", "--json", "--quiet")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert list(summary["classes"]) == ["a", "m", "n", "z"]
    assert [summary["classes"][name]["rows"] for name in summary["classes"]] == [
        int(np.count_nonzero(labels == name)) for name in ("a", "m", "n", "z")
    ]
    table = np.array(summary["table"])
    assert int(table.sum() - np.trace(table)) == summary["mistakes"]
    assert load(tmp_path / "m").classes_.tolist() == ["a", "m", "n", "z"]


def test_labels_that_are_named_are_all(tmp_path, flowers):
    X, y = flowers
    path = write_csv(tmp_path / "a.csv", X, np.where(np.arange(150) % 10 == 0, "other", NAMES[y]))
    result = massart("train", path, "-f", tmp_path / "m", "--labels", ",".join(NAMES))
    assert result.exit_code == 0, result.stderr
    assert load(tmp_path / "m").rounds_ == 135
    assert "label 'other' is not one of 3: 'setosa', 'versicolor', 'virginica'; name all of them with `--labels`" in (
        result.stderr
    )
    strict = massart("train", path, "--labels", ",".join(NAMES), "--strict")
    assert strict.exit_code == 2
    numbered = write_csv(tmp_path / "b.csv", X, y + 1)
    assert massart("train", numbered, "-f", tmp_path / "n", "--oaa", "3").exit_code == 0
    assert load(tmp_path / "n").classes_.tolist() == [1, 2, 3]


def test_predictions_and_probabilities(tmp_path, flowers):
    X, y = flowers
    path = write_csv(tmp_path / "a.csv", X, NAMES[y])
    assert massart("train", path, "-f", tmp_path / "m", "--quiet").exit_code == 0
    clf = load(tmp_path / "m")
    labels = massart("predict", tmp_path / "m", path)
    assert labels.stdout.split("\n")[:-1] == clf.predict(X).tolist()
    errors = int(np.count_nonzero(clf.predict(X) != NAMES[y]))
    assert f"{errors} mistakes on 150 with a label" in labels.stderr
    lines = massart("predict", tmp_path / "m", path, "--proba").stdout.split("\n")[:-1]
    found = np.array([[float(pair.split(":")[1]) for pair in line.split(" ")] for line in lines])
    assert [pair.split(":")[0] for pair in lines[0].split(" ")] == NAMES.tolist()
    assert np.allclose(found, clf.predict_proba(X), atol=1e-5)
    assert massart("predict", tmp_path / "m", path, "--scores").exit_code == 2


def test_probabilities_of_two_classes(tmp_path, flowers):
    X, y = flowers
    path = write_csv(tmp_path / "a.csv", X, np.where(y == 1, "yes", "no"))
    assert massart("train", path, "-f", tmp_path / "m", "--quiet").exit_code == 0
    clf = load(tmp_path / "m")
    lines = massart("predict", tmp_path / "m", path, "--proba").stdout.split("\n")[:-1]
    found = np.array([float(line.split("yes:")[1]) for line in lines])
    assert np.allclose(found, clf.predict_proba(X)[:, 1], atol=1e-5)
    assert massart("train", path, "-f", tmp_path / "n", "--quiet", "--passes", "2").exit_code == 0
    refused = massart("predict", tmp_path / "n", path, "--proba")
    assert refused.exit_code == 2
    assert "leave `--proba` out" in refused.stderr


def test_a_training_that_was_stopped_goes_on_to_the_same_bytes(tmp_path, flowers):
    X, y = flowers
    rows = np.tile(np.arange(150), 300)
    path = write_csv(tmp_path / "a.csv", X[rows], NAMES[y[rows]])
    options = ["--passes", "2", "--holdout", "7", "--quiet"]
    assert massart("train", path, "-f", tmp_path / "whole", *options).exit_code == 0
    stops = iter([None] * 3)
    settings = Settings(passes=2, holdout=7, checkpoint=Every())
    first = open_training([str(path)], settings, model=tmp_path / "m", stopped=lambda: next(stops, 2))
    assert first.run().stopped == 2
    assert massart("train", path, "-f", tmp_path / "m", *options, "--resume").exit_code == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_going_on_from_a_model(tmp_path, flowers):
    X, y = flowers
    path = write_csv(tmp_path / "a.csv", X, NAMES[y])
    assert massart("train", path, "-f", tmp_path / "m", "--quiet").exit_code == 0
    more = write_csv(tmp_path / "b.csv", X[:20], np.where(np.arange(20) < 5, "new", NAMES[y[:20]]))
    result = massart("train", more, "-i", tmp_path / "m", "-f", tmp_path / "n", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert load(tmp_path / "n").classes_.tolist() == ["new", *NAMES]
    assert load(tmp_path / "n").rounds_ == 170


@pytest.mark.parametrize("option", [["--noise-rate", ".1"], ["--horizon", "100"], ["--predictions", "-", "--scores"]])
def test_what_several_classes_do_not_take_is_refused(tmp_path, flowers, option):
    X, y = flowers
    result = massart("train", write_csv(tmp_path / "a.csv", X, NAMES[y]), *option)
    assert result.exit_code == 2
    assert "two labels" in result.stderr


@pytest.mark.parametrize(
    ("flag", "words"), [("-l", "learning rate"), ("--ngram=2", "n-grams"), ("-t", "massart predict")]
)
def test_options_of_vowpal_wabbit_are_refused_with_the_reason(tmp_path, flag, words):
    result = run("train", "a.vw", flag)
    assert result.returncode == 2
    assert "is an option of Vowpal Wabbit; " in result.stderr
    assert words in result.stderr


def test_options_of_vowpal_wabbit_that_mean_the_same(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{k % 2 * 2 - 1} |u x{k % 5} |v y{k % 3}\n" for k in range(200)))
    for name, options in (("a", [path, "-q", "uv"]), ("b", ["-d", path, "--interactions", "uv"])):
        assert massart("train", *options, "-f", tmp_path / name, "--quiet").exit_code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
