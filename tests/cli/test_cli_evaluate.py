"""`massart evaluate`: the table, the JSON, and a sentence for every mistake."""

import json
import re

import numpy as np
import pytest
from cli_cases import assert_refused
from typer.testing import CliRunner

from massart.cli.app import app
from massart.cli.evaluate import evaluate as evaluate_command
from massart.data import Decision, DecisionLog, LogColumns, write_decisions
from massart.evaluation import EvaluationOptions, compare, evaluate


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def cells(text):
    """The rows of tables."""
    return [re.split(r"\s*│\s*", line)[1:-1] for line in text.splitlines() if line.startswith("│")]


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
    first, *rows = cells(result.stdout)
    assert [row[0] for row in rows] == [
        *(["ips"] * 5 + ["snips"] * 3),
        *(name for name in ("dm", "dr", "switch-dr") for _ in "12"),
    ]
    assert all(len(row) == 9 and all(row[:7]) for row in rows)
    found = evaluate(log)
    assert rows[0][1] == f"{found['ips'].value:.4f}"
    normal = found["dr"].difference.intervals[0]
    assert first[0] == "dr, recommended"
    assert first[1] == f"{found['dr'].value:.4f}"
    assert first[6:] == [f"{number:.4f}" for number in (found["dr"].difference.value, normal.low, normal.high)]
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
        (["--reward-model", "sklearn.tree:DecisionTreeRegressor"], "there is no reward model 'sklearn.tree:Decision"),
        (["--reward", "click"], "--reward is for tables: name the column of the arm, --action"),
        (["--action", "offer"], "exactly one of `--reward` and `--cost`"),
        (["--action", "offer", "--reward", "bought"], "line 1, line: it does not name the columns offer, bought"),
        (["--action", "a", "--reward", "r", "--format", "vw"], "`--format vw`: columns are named for csv only"),
        (["--report", "page.txt"], "page.txt: a report is written to a file that ends in .html or .htm"),
        (["--max-bad-lines", "0", "--format", "dsjson"], "line 1, column 2: not JSON"),
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


def test_several_policies_are_compared_on_the_same_decisions(log):
    asked = ("evaluate", log, "--policy", "first", "--policy", "uniform", "--seed", 3)
    found = compare(log, ["first", "uniform"], EvaluationOptions(seed=3))
    assert json.loads(massart(*asked, "--json").stdout) == json.loads(json.dumps(found.as_dict()))
    rows = cells(massart(*asked).stdout)
    assert [row[0] for row in rows] == ["first", "uniform", "first", "first"]
    pair = found.difference("first", "uniform", "dr")
    ends = pair.intervals[0]
    texts = [f"{number:.4f}" for number in (pair.value, pair.standard_error, ends.low, ends.high)]
    assert rows[2] == ["first", "uniform", "dr", texts[0], texts[1], "normal", texts[2], texts[3]]


TABLE = "offer,bought,chance,age,screen,place\n" + "".join(
    f"{('red', 'blue')[row % 2]},{int(row % 3 == 0)},.5,{20 + row % 7},s{row // 2},{1 + row % 2}\n"
    for row in range(200)
)
NAMED = ("--action", "offer", "--reward", "bought", "--context", "age")


def test_a_table_with_columns_by_option(tmp_path):
    (tmp_path / "log.csv").write_text(TABLE)
    found = json.loads(massart("evaluate", tmp_path / "log.csv", *NAMED, "--probability", "chance", "--json").stdout)
    columns = LogColumns("offer", "bought", probability="chance", context=("age",))
    expected = evaluate(DecisionLog(tmp_path / "log.csv", columns=columns), "uniform")
    assert found == json.loads(json.dumps(expected.as_dict()))
    assert found["propensities"] == "logged"
    lists = ("--probability", "chance", "--position", "place", "--slate", "screen")
    done = massart("evaluate", tmp_path / "log.csv", *NAMED, *lists)
    assert "By position, 100 lists" in done.stdout
    assert "iips (per list)" in done.stdout
    assert "note: positions: a policy fills each position on its own" in done.stderr


def test_several_files_and_standard_input_are_one_log(tmp_path):
    (tmp_path / "log.csv").write_text(TABLE)
    head, *rows = TABLE.splitlines(keepends=True)
    (tmp_path / "one.csv").write_text("".join([head, *rows[:77]]))
    (tmp_path / "two.csv").write_text("".join([head, *rows[77:]]))
    asked = (*NAMED, "--probability", "chance", "--json")
    whole = massart("evaluate", tmp_path / "log.csv", *asked)
    assert massart("evaluate", tmp_path / "one.csv", tmp_path / "two.csv", *asked).stdout == whole.stdout
    piped = CliRunner().invoke(app, ["evaluate", "-", *asked], input=TABLE)
    assert piped.exit_code == 0
    assert piped.stdout == whole.stdout


def test_estimated_propensities_are_marked_in_every_output(tmp_path):
    random = np.random.default_rng(0)
    rows = "".join(f"{random.choice(['red', 'blue'])},{random.integers(2)},{row % 7}\n" for row in range(300))
    (tmp_path / "log.csv").write_text("offer,bought,age\n" + rows)
    done = massart("evaluate", tmp_path / "log.csv", *NAMED, "--report", tmp_path / "page.html", "--quiet")
    assert done.exit_code == 0
    assert "from 300 logged decisions with ESTIMATED propensities" in done.stdout
    assert "warning: no propensities were logged, and these are ESTIMATED" in done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "these are ESTIMATED from which arms were taken" in page
    assert page.count("with ESTIMATED propensities") == 3  # below the title, and above both tables
    plain = json.loads(massart("evaluate", tmp_path / "log.csv", *NAMED, "--json").stdout)
    assert plain["propensities"] == "estimated"


def test_a_log_without_exploration_and_propensities_says_nothing(tmp_path):
    (tmp_path / "log.csv").write_text("offer,bought,age\n" + "red,1,3\nblue,0,4\n" * 50)
    done = massart("evaluate", tmp_path / "log.csv", *NAMED)
    assert_refused(done, "evaluate", "such a log explores nothing, and nothing can be said about another policy")


def test_bad_lines_are_reported_and_counted_and_the_exit_code_says_so(tmp_path):
    rows = [json.dumps({"arms": 2, "arm": row % 2, "probability": 0.5, "reward": row % 3 / 2}) for row in range(30)]
    rows[4], rows[9], rows[20] = "{", '{"arm": 1}', rows[20].replace("0.5", "0", 1)
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(rows) + "\n")
    done = massart("evaluate", path, "--quiet")
    assert done.exit_code == 1
    assert "from 27 logged decisions" in done.stdout
    bad = [line for line in done.stderr.splitlines() if line.startswith("bad line: ")]
    assert [f"{path}, line {line}" in words for line, words in zip((5, 10, 21), bad, strict=True)] == [True] * 3
    assert "warning: 3 lines of the log are bad and were left out" in done.stderr
    assert json.loads(massart("evaluate", path, "--json").stdout)["bad_lines"] == 3
    assert_refused(massart("evaluate", path, "--max-bad-lines", "2"), "evaluate", "impossible propensity")
    assert_refused(massart("evaluate", path, "--max-bad-lines", "1"), "evaluate", "more than 1 line of the log are bad")
    many = [*rows, *["{"] * 6, *rows, *rows]
    path.write_text("\n".join(many) + "\n")
    assert "bad line: and 10 more lines" in massart("evaluate", path).stderr


def test_a_reward_model_by_name(log):
    found = json.loads(massart("evaluate", log, "--reward-model", "forest", "--estimator", "dr", "--json").stdout)
    assert found["lines"][0]["value"] == evaluate(log, estimators=["dr"], reward_model="forest")["dr"].value


def test_the_examples_of_the_help_run(log, monkeypatch):
    monkeypatch.chdir(log.parent)
    examples = [line.split()[1:] for line in evaluate_command.__doc__.splitlines() if "massart evaluate" in line]
    assert len(examples) == 2
    for words in examples:
        assert massart(*words).exit_code == 0
    assert (log.parent / "page.html").exists()
