"""`massart train`: what is printed where, and a sentence for every mistake."""

import json
import re

import numpy as np
import pytest
from cli_cases import assert_refused, write_rows
from typer.testing import CliRunner

from massart import load
from massart.cli.app import app
from massart.cli.progress import HEADER, Pace
from massart.errors import InvalidParameterError

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(300, 5)), 3)
Y = np.where(RNG.random(300) < 0.1, -1, 1) * np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
NUMBER = r"[0-9]\.[0-9]{6}"
LINE = re.compile(
    rf"({NUMBER}) ({NUMBER}) ([ 0-9]{{12}}) ([ 0-9.]{{14}})(        [- ]1\.0000) (       [- ]1\.0000) ([ 0-9]{{8}})"
)


def massart(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, **options)


@pytest.fixture
def rows(tmp_path):
    return write_rows(tmp_path / "rows.svm", X, Y)


@pytest.fixture
def vw_rows(tmp_path):
    path = tmp_path / "rows.vw"
    weights = np.where(np.arange(300) % 4, "", "2.5 ")
    lines = (
        f"{y} {w}'r{k} |f " + " ".join(f"x{j}:{v}" for j, v in enumerate(x))
        for k, (x, y, w) in enumerate(zip(X.tolist(), Y, weights, strict=True))
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_progress_to_stderr_and_the_summary_to_stdout(rows, tmp_path):
    result = massart("train", rows, "-f", tmp_path / "m.massart")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert "\n".join(lines[:2]) == HEADER
    assert [int(LINE.fullmatch(line)[3]) for line in lines[2:]] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    facts = {line[:10].strip(): line[12:] for line in result.stdout.splitlines()}
    model = load(tmp_path / "m.massart")
    assert facts["learned"] == "300 rows, one pass"
    assert facts["error"].startswith(f"{model.mistakes_ / 300:.2%}: {model.mistakes_} mistakes")
    assert facts["bound"] == model.certificate().sentence
    assert facts["labels"] == f"negative -1 or 0 ({(Y < 0).sum()} rows), positive 1 ({(Y > 0).sum()} rows)"
    assert facts["error"].endswith(
        f"{min((Y > 0).mean(), (Y < 0).mean()):.2%} by always answering {Y.sum() // abs(Y.sum())}"
    )
    assert facts["model"] == str(tmp_path / "m.massart")


def test_the_columns_of_the_table_add_up(vw_rows):
    result = massart("train", vw_rows, "-P", "50", "--noise-rate", ".1", "--margin", ".05", "-p", "-", "--quiet")
    answers = np.array([int(line.split()[0]) for line in result.stdout.splitlines()])
    wrong, weights = answers != Y, np.where(np.arange(300) % 4, 1.0, 2.5)
    result = massart("train", vw_rows, "-P", "50", "--noise-rate", ".1", "--margin", ".05")
    found = [LINE.fullmatch(line) for line in result.stderr.splitlines()[2:]]
    assert len(found) == 8  # the importances add up to 412.5
    last = 0
    for line in found:
        counter = int(line[3])
        assert float(line[4]) == weights[:counter].sum() >= weights[:last].sum() + 50
        assert line[1] == f"{np.average(wrong[:counter], weights=weights[:counter]):.6f}"
        assert line[2] == f"{np.average(wrong[last:counter], weights=weights[last:counter]):.6f}"
        assert (int(float(line[5])), int(float(line[6]))) == (Y[counter - 1], answers[counter - 1])
        assert int(line[7]) == np.count_nonzero(X[counter - 1]) + 1
        last = counter


def test_the_layout_is_that_of_vowpal_wabbit(vw_rows, capfd):
    vw = pytest.importorskip("vowpalwabbit")
    for pace in ("2.0", "100"):
        ours = massart("train", vw_rows, "-P", pace).stderr.splitlines()
        capfd.readouterr()
        vw.Workspace(f"-d {vw_rows} --binary --loss_function logistic -P {pace}").finish()
        theirs = capfd.readouterr().err.splitlines()
        start = theirs.index(HEADER.splitlines()[0])
        theirs = theirs[start : start + len(ours)]
        assert ours[:2] == theirs[:2]
        # Losses and predictions are the learner's own; where columns begin, counters, weights and labels are not.
        for mine, its in zip(ours[2:], theirs[2:], strict=True):
            assert len(mine) == len(its)
            assert mine[17:61] == its[17:61]
            assert mine[76:] == its[76:]


def test_passes_and_holdout_are_told(rows, tmp_path):
    result = massart("train", rows, "-f", tmp_path / "m", "--passes", 3, "--holdout", 5)
    assert result.exit_code == 0
    assert re.findall(r"^pass . of 3$", result.stderr, re.M) == ["pass 2 of 3", "pass 3 of 3"]
    holdout = re.findall(r"^holdout after pass (.): (0\.[0-9]{6}) on 60 rows$", result.stderr, re.M)
    assert [number for number, _ in holdout] == ["1", "2", "3"]
    second = result.stderr[result.stderr.index("pass 2 of 3") :].splitlines()
    assert int(LINE.fullmatch(second[1])[3]) == 1  # every pass counts from 1
    assert "rows kept apart; after each pass" in result.stdout
    assert "learned     240 rows, 3 passes" in result.stdout


def test_json_is_the_summary_and_nothing_else(rows, tmp_path):
    result = massart("train", rows, "-f", tmp_path / "m", "--json", "--holdout", rows)
    found = json.loads(result.stdout)
    assert (found["rows"], found["complete"], found["model"]) == (300, True, str(tmp_path / "m"))
    assert found["certificate"]["verdict"] == "says nothing yet"
    assert found["certificate"]["sentence"] == load(tmp_path / "m").certificate().sentence
    assert found["holdout"][0][0] == 300
    assert found["peak_memory"] > 1


def test_quiet_is_quiet(rows, tmp_path):
    with rows.open("a") as file:
        file.write("what is this\n")
    result = massart("train", rows, "-f", tmp_path / "m", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_no_model_is_saved_where_none_is_asked_for(rows, tmp_path):
    result = massart("train", rows)
    assert "model       not saved: name a file with -f" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


def test_flaws_are_shown_a_few_times_counted_always(rows):
    with rows.open("a") as file:
        file.write("1 0:1\n" * 30 + "1 1:x\n")
    result = massart("train", rows)
    assert result.stderr.count("the row is left out") == 10
    assert "rows.svm, line 301, column 3: index 0; svmlight counts from 1; the row is left out" in result.stderr
    assert "further rows that are left out are only counted" in result.stderr
    assert "left out    30: index 0; 1: expected a number after ':', found ...\n" in result.stdout


def test_strict_stops_at_the_first_flaw_and_leaves_nothing(rows, tmp_path):
    with rows.open("a") as file:
        file.write("1 0:1\n")
    result = massart("train", rows, "-f", tmp_path / "m", "-p", tmp_path / "p", "--strict")
    assert result.exit_code == 2
    assert f"massart train: {rows}, line 301, column 3: index 0; svmlight counts from 1 (without" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


def test_predictions_before_learning(vw_rows, tmp_path):
    with vw_rows.open("a") as file:
        file.write("1 |f a:\n|f x1\n")
    result = massart("train", vw_rows, "-p", tmp_path / "p.txt")
    lines = (tmp_path / "p.txt").read_text().split("\n")
    assert len(lines) == 303
    assert lines[300:] == ["", "", ""]  # malformed, without a label; and the end
    assert all(re.fullmatch(rf"-?1 r{k}", line) for k, line in enumerate(lines[:300]))
    wrong = sum(int(line.split()[0]) != label for line, label in zip(lines, Y, strict=False))
    assert f": {wrong} mistakes" in result.stdout
    to_stdout = massart("train", vw_rows, "-p", "-")
    assert to_stdout.stdout == "\n".join(lines)
    assert "learned     300 rows" in to_stdout.stderr
    scores = massart("train", vw_rows, "-p", "-", "--scores", "--quiet").stdout.split("\n")
    assert all((float(s.split()[0]) >= 0) == (a[0] != "-") for s, a in zip(scores[:300], lines, strict=False))


def test_options_reach_the_reading(tmp_path):
    path = tmp_path / "rows.csv"
    lines = (f"{'yes' if y > 0 else 'no'},{x[0]},{x[1]},7,k{k % 3}" for k, (x, y) in enumerate(zip(X, Y, strict=True)))
    path.write_text("click,a,b,c,d\n" + "\n".join(lines) + "\n")
    options = ["--label", "click", "--labels", "no,yes", "--ignore", "c,d", "--format", "csv"]
    result = massart("train", path, "-f", tmp_path / "m", *options)
    assert result.exit_code == 0, result.stderr
    model = load(tmp_path / "m")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.reading_["columns"] == ["a", "b"]
    assert massart("predict", tmp_path / "m", path, "--quiet").stdout.split("\n")[0] in ("no", "yes")


def test_crossed_namespaces(tmp_path):
    # The label is a product of two signs: only with crossings can it be learned.
    path = tmp_path / "rows.vw"
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    path.write_text("".join(f"{1 if p == q else -1} |u a{p} |v b{q}\n" for p, q in zip(a, b, strict=True)))
    plain = json.loads(massart("train", path, "--json").stdout)
    crossed = json.loads(massart("train", path, "-q", "uv", "--json").stdout)
    assert crossed["error"] < 0.1
    assert plain["error"] > 0.3


def test_going_on_and_refusing_to_go_on(rows, tmp_path):
    model = tmp_path / "m"
    options = ["--noise-rate", "0.1", "--margin", "0.05"]
    assert massart("train", rows, "-f", model, *options).exit_code == 0
    before = model.read_bytes()
    again = massart("train", rows, "-f", model, *options, "--resume")
    assert (again.exit_code, again.stdout) == (0, "")
    assert f"{model} is complete, there is nothing to go on with" in again.stderr
    assert model.read_bytes() == before
    other = massart("train", rows, "-i", model, "-f", model, "--margin", "0.1")
    assert other.exit_code == 2
    assert "margin=0.1, but" in other.stderr
    assert massart("train", rows, "-i", model, "-f", model).exit_code == 0
    assert load(model).rounds_ == 600
    # Of a model that began with itself, --resume must not learn the rows a second time.
    assert massart("train", rows, "-i", model, "-f", model, "--resume").exit_code == 0
    assert load(model).rounds_ == 600


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--passes", "2", "--checkpoint-every", "5d", "-f", "m"], "a checkpoint every '5d': give rows as 1000000"),
        (["--checkpoint-every", "5m"], "--checkpoint-every needs -f MODEL"),
        (["--resume"], "--resume needs -f MODEL"),
        (["-f", "no/such/folder/m"], "there is no folder no/such/folder"),
        (["-f", "."], "is a folder"),
        (["-f", "/dev/null"], "/dev/null is not a file"),
        (["-p", "no/such/folder/p"], "the predictions cannot be written"),
        (["--scores"], "say where with --predictions"),
        (["--json", "-p", "-"], "both want standard output"),
        (["--labels", "yes"], "give two, the negative one first"),
        (["--labels", "no,yes"], "labels are numbers in svmlight"),
        (["-q", "a"], "give the first letters of 2 namespaces"),
        (["-q", "ab"], "svmlight has no namespaces"),
        (["--noise-rate", "0.6"], "noise_rate"),
        (["--update", "paper"], "knows noise_rate and margin"),
        (["--holdout", "1"], "holdout=1"),
        (["--holdout", "none.svm"], "none.svm does not exist"),
        (["-i", "none.massart"], "none.massart does not exist"),
        (["--format", "xml"], "`--format xml`: choose one of auto"),
        (["-b", "40"], "`-b 40`: give a whole number"),
        (["-P", "0"], "progress '0'"),
        (["-P", "1.0"], "progress '1.0'"),
        (["--seed", "-1"], "seed=-1"),
    ],
)
def test_a_mistake_gets_a_sentence_and_exit_code_2(rows, arguments, words):
    assert_refused(massart("train", rows, *arguments), "train", words)


def test_a_file_that_is_not_there(tmp_path):
    result = massart("train", tmp_path / "none.svm")
    assert result.exit_code == 2
    assert "none.svm does not exist" in result.stderr


def test_more_columns_than_memory(rows):
    result = massart("train", rows, "-b", "30", "--horizon", "10")
    if result.exit_code:  # a machine with so much memory may well do it
        assert result.exit_code == 2
        assert "there is not enough memory" in result.stderr


def test_pace():
    assert Pace.parse("1.5") == Pace(0.0, 1.5)
    for text in ("often", "nan", "-1", "inf", "0.5"):
        with pytest.raises(InvalidParameterError, match="give a whole number of rows"):
            Pace.parse(text)


def test_help_holds_examples_that_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = massart("train", "--help").stdout
    assert "printf '1 1:1 2:0.5\\n-1 1:-1\\n' | massart train - -f model.massart" in shown
    result = massart("train", "-", "-f", "model.massart", input="1 1:1 2:0.5\n-1 1:-1\n")
    assert result.exit_code == 0, result.stderr
    shown = massart("predict", "--help").stdout
    assert "| massart predict model.massart - --scores" in shown
    result = massart("predict", "model.massart", "-", "--scores", input="1 1:1 2:0.5\n-1 1:-1\n")
    assert len(result.stdout.splitlines()) == 2


# Labels.


def write_labels(path, labels):
    """svmlight rows: one feature that tells the labels apart, one that does not."""
    places = {label: k + 2 for k, label in enumerate(sorted(set(labels)))}
    path.write_text("".join(f"{label} 1:{i % 7 - 3} {places[label]}:1\n" for i, label in enumerate(labels)))
    return path


@pytest.mark.parametrize("pair", [(1, 2), (0, 1), (-1, 1), (2, 4), (0.5, 1.5)])
def test_two_labels_are_understood(pair, tmp_path):
    usual, own = tmp_path / "usual", tmp_path / "own"
    signs = [1 if i % 3 else -1 for i in range(300)]
    assert massart("train", write_labels(tmp_path / "a.svm", signs), "-f", usual).exit_code == 0
    path = write_labels(tmp_path / "b.svm", [pair[sign > 0] for sign in signs])
    trained = massart("train", path, "-f", own)
    assert trained.exit_code == 0
    np.testing.assert_array_equal(load(own).coef_, load(usual).coef_)
    answers = massart("predict", own, path)
    expected = pair if pair != (0, 1) else (-1, 1)
    assert set(map(float, answers.stdout.split())) == set(map(float, expected))
    assert "mistakes on 300 with a label" in answers.stderr
    if pair != (0, 1):
        assert load(own).classes_.tolist() == list(pair)
    by_pipe = massart("train", "-", "-f", tmp_path / "pipe", input=path.read_text())
    assert by_pipe.exit_code == 0
    np.testing.assert_array_equal(load(tmp_path / "pipe").coef_, load(usual).coef_)


def test_labels_found_are_kept_for_resuming_and_going_on(tmp_path):
    path, model = write_labels(tmp_path / "a.svm", [1, 2] * 100), tmp_path / "m"
    assert massart("train", path, "-f", model).exit_code == 0
    assert "is complete" in massart("train", path, "-f", model, "--resume").stderr
    # A day with one label, and rows of others, do not change what was learned.
    day = write_labels(tmp_path / "b.svm", [2] * 50)
    assert massart("train", day, "-i", model, "-f", model).exit_code == 0
    assert load(model).rounds_ == 250
    other = massart("train", write_labels(tmp_path / "c.svm", [0, 1, 0, 0]), "-i", model, "-f", model)
    assert other.exit_code == 2
    assert "3 of 4 rows with a label were left out for it" in other.stderr
    assert load(model).rounds_ == 250


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([-1, 1, 3, 4, 5], "600 of 1,000 rows with a label were left out for it"),
        ([1], "the 1,000 rows learned have only one: the labels are 1 (1,000 rows)"),
        ([0, -1], "the 1,000 rows learned have only one: the labels are -1 or 0 (1,000 rows)"),
        ([7], "there is nothing to learn"),
    ],
)
def test_what_does_not_tell_two_labels_apart_is_refused(labels, words, tmp_path):
    path = write_labels(tmp_path / "rows.svm", [list(labels)[i % len(labels)] for i in range(1000)])
    (tmp_path / "m").write_text("what was there before")
    options = ["-f", tmp_path / "m", "-p", tmp_path / "p", "--checkpoint-every", "1"]
    result = massart("train", path, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "--labels NEGATIVE,POSITIVE" in result.stderr
    assert (tmp_path / "m").read_text() == "what was there before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m", "rows.svm"]


def test_multiclass_vw_text_and_the_option_that_is_named(tmp_path):
    path = tmp_path / "multiclass.vw"
    path.write_text("".join(f"{k % 10 + 1} | c{k % 10} x:{k % 3}\n" for k in range(500)))
    every = massart("train", path, "-f", tmp_path / "m")
    assert every.exit_code == 0
    assert load(tmp_path / "m").classes_.tolist() == list(range(1, 11))
    assert "10 classes" in every.stdout
    asked = massart("train", path, "-f", tmp_path / "m", "--labels", "1,2", "--quiet")
    assert asked.exit_code == 0
    assert load(tmp_path / "m").classes_.tolist() == [1, 2]
    none = massart("train", path, "-f", tmp_path / "n", "--labels", "1,12")
    assert none.exit_code == 2
    assert "the 50 rows learned have only one: the labels are 1 (50 rows), 2 (50 rows)" in none.stderr


def test_half_of_the_rows_may_have_other_labels_but_not_more(tmp_path):
    labels = [1, -1] * 50 + [3] * 100
    assert massart("train", write_labels(tmp_path / "a.svm", labels)).exit_code == 0
    result = massart("train", write_labels(tmp_path / "b.svm", [*labels, 3]))
    assert result.exit_code == 2
    assert "101 of 201 rows with a label were left out for it" in result.stderr
    assert "the labels are -1 or 0 (50 rows), 1 (50 rows), 3 (101 rows)" in result.stderr


# What is said of the bound.


def test_coins_are_never_said_to_agree(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "coins.svm"
    rows = zip(rng.choice([-1, 1], 3000), rng.normal(size=(3000, 2)), strict=True)
    path.write_text("".join(f"{y} 1:{a:.3f} 2:{b:.3f}\n" for y, (a, b) in rows))
    for options in ([], ["--noise-rate", ".1", "--margin", ".1"]):
        said = massart("train", path, "-f", tmp_path / "m", *options).stdout
        said += massart("inspect", tmp_path / "m").stdout + load(tmp_path / "m").summary()
        assert not re.search(r"\bholds\b|\bagrees?\b|within the bound", said)
    assert "contradicts the declaration" in said


def test_six_rows_all_wrong_say_nothing(tmp_path):
    path, labels = tmp_path / "six.svm", []
    for _ in range(6):  # the answer that will be given does not depend on the label that comes with it
        path.write_text("".join(f"{label} 1:1\n" for label in [*labels, 1]))
        answers = massart("train", path, "-p", "-", "--noise-rate", ".1", "--margin", ".5", "--quiet").stdout.split()
        labels.append(-int(answers[-1]))
    path.write_text("".join(f"{label} 1:1\n" for label in labels))
    said = massart("train", path, "--noise-rate", ".1", "--margin", ".5").stdout
    assert "error       100.00%: 6 mistakes" in said
    assert "bound       says nothing yet: 6 mistakes in 6 rounds" in said


def test_a_model_that_always_says_no_is_seen_to_do_so(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rare.csv"
    labels = np.where(np.arange(3000) % 1000 < 38, "yes", "no")[rng.permutation(3000)]
    path.write_text(
        "y,a\n" + "".join(f"{label},{x:.3f}\n" for label, x in zip(labels, rng.normal(size=3000), strict=True))
    )
    said = massart("train", path).stdout
    assert "; 3.80% by always answering no" in said
    assert "labels      negative no (2,886 rows), positive yes (114 rows)" in said
    found = json.loads(massart("train", path, "--json").stdout)
    assert (found["constant"], found["constant_error"]) == ("no", 0.038)
    assert found["error"] < 0.06


def test_text_that_looks_like_numbers_is_warned_of(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,price\n" + "".join(f"{k % 2},${k % 50}.{k % 10}0\n" for k in range(200)))
    result = massart("train", path)
    words = "column 'price': 200 of the first 200 values look like numbers, as '$0.00' does"
    assert result.stderr.count(words) == 1
    assert "pass `--number price` to read numbers" in result.stderr
    assert words in json.loads(massart("train", path, "--json").stdout)["warnings"][0]
    assert massart("train", path, "--quiet").stderr == ""
    fixed = massart("train", path, "--number", "price", "-f", tmp_path / "m")
    assert "look like numbers" not in fixed.stderr
    assert "features    1 with a weight, in 1 column" in fixed.stdout
    assert massart("predict", tmp_path / "m", path, "--quiet").stdout.count("\n") == 200
    converted = massart("convert", path, tmp_path / "rows.svm")
    assert words in converted.stderr
