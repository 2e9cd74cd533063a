"""`massart evaluate`: the table, the JSON, and a sentence for every mistake."""

import json
import re

import numpy as np
import pytest
from cli_cases import assert_refused
from typer.testing import CliRunner

from massart.cli.app import app
from massart.data import Decision, write_decisions
from massart.evaluation import evaluate


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def log(tmp_path):
    random = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        arm = int(random.random() < 0.4)
        rows.append(Decision(np.eye(2), arm, (0.6, 0.4)[arm], float(random.random() < (0.3, 0.7)[arm])))
    write_decisions(rows, tmp_path / "log.vw")
    return tmp_path / "log.vw"


def test_json_is_what_python_computes(log):
    result = massart("evaluate", log, "--policy", "first", "--confidence", ".9", "--json", "--seed", 3)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(json.dumps(evaluate(log, "first", confidence=0.9, seed=3).as_dict()))


def test_every_row_of_the_table_names_its_estimator(log):
    result = massart("evaluate", log)
    assert result.exit_code == 0
    rows = [re.split(r"\s*│\s*", line)[1:-1] for line in result.stdout.splitlines() if line.startswith("│")]
    assert [row[0] for row in rows] == ["ips"] * 4 + [name for name in ("snips", "dm", "dr", "switch-dr") for _ in "12"]
    assert all(len(row) == 7 and all(row) for row in rows)
    found = evaluate(log)
    assert rows[0][1] == f"{found['ips'].value:.4f}"
    assert f"Effective sample size {found.effective_sample_size:,.1f} of 300" in result.stdout
    assert "note: dm: " in result.stderr


def test_quiet_says_only_warnings(log, tmp_path):
    assert massart("evaluate", log, "--quiet").stderr == ""
    write_decisions([Decision(np.eye(2), 0, 0.5, 1.0)] * 5, tmp_path / "few.jsonl")
    result = massart("evaluate", tmp_path / "few.jsonl", "--quiet")
    assert result.exit_code == 0
    assert "warning: these 5 decisions are worth 5.0" in result.stderr


def test_some_estimators_and_intervals_with_a_range(log):
    asked = ("--estimator", "ips, dr", "--interval", "sequence", "--reward-range", "-1", "1")
    lines = json.loads(massart("evaluate", log, *asked, "--json").stdout)["lines"]
    assert [(line["estimator"], [i["kind"] for i in line["intervals"]]) for line in lines] == [
        ("ips", ["sequence"]),
        ("dr", []),
    ]
    assert "none" in massart("evaluate", log, *asked).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "best"], "there is no policy and no file 'best'; there are uniform: "),
        (["--estimator", "magic"], "estimator 'magic' is none of"),
        (["--estimator", ","], "no estimator is named"),
        (["--interval", "magic"], "interval 'magic' is none of"),
        (["--confidence", "95"], "confidence=95.0: give a number between 0 and 1"),
        (["--format", "xml"], "`--format xml`: choose one of auto, vw"),
        (["--format", "csv"], "line 1, line: it does not name the fields arm"),
        (["--format", "jsonl"], "line 1, column 2: not JSON"),
        (
            ["--policy", "target"],
            "invalid probabilities for 300 of the 300 decisions from line 1 on: line 1 (missing), line 4 (missing)",
        ),
        (["--reward-range", "0", "0.5"], "rewards lie outside the range 0 to 0.5"),
        (["--max-weight", "0"], "max_weight"),
        (["--switch-threshold", "nan"], "threshold"),
    ],
)
def test_a_mistake_gets_a_sentence_and_exit_code_2(log, arguments, words):
    assert_refused(massart("evaluate", log, *arguments), "evaluate", words)


def test_impossible_propensities_are_named(tmp_path):
    path = tmp_path / "log.vw"
    path.write_text("0:1:0.5 | a\n| b\n\n0:1:0 | a\n| b\n\n0:1 | a\n| b\n")
    result = massart("evaluate", path)
    assert result.exit_code == 2
    assert (
        "2 of 3 decisions have an impossible propensity: line 4 (probability 0), line 7 (probability missing)"
        in result.stderr
    )


def test_a_log_that_is_not_there(tmp_path):
    result = massart("evaluate", tmp_path / "none.vw")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
