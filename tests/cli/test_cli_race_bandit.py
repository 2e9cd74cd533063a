"""`massart race --bandit` and the reward worlds of `massart worlds`: output, files, refusals and exit codes."""

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from massart import arena, worlds
from massart.arena.registry import POLICIES
from massart.cli.app import app

SMALL = ["race", "--bandit", "simpson", "-l", "monotone,uniform", "--rounds", "300", "--seeds", "2"]


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_table_and_files(tmp_path):
    files = [tmp_path / name for name in ("r.html", "r.svg", "rows.jsonl")]
    result = massart(*SMALL, "--report", files[0], "--figure", files[1], "--rows", files[2])
    assert result.exit_code == 0
    assert "guaranteed" in result.stdout
    assert "monotone" in result.stdout
    assert result.stderr.splitlines() == [f"wrote {path}" for path in files]
    assert "massart race --bandit simpson --learner monotone" in files[0].read_text()
    rows = [json.loads(line) for line in files[2].read_text().splitlines()]
    assert rows == arena.sweep("simpson", ["monotone", "uniform"], rounds=300, seeds=2)


def test_quiet_and_json():
    result = massart(*SMALL, "--quiet", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {row["learner"] for row in json.loads(result.stdout)} == {"monotone", "uniform"}


def test_defaults():
    result = massart("race", "--bandit", "--rounds", 20, "--json")
    rows = json.loads(result.stdout)
    assert list(dict.fromkeys(row["world"] for row in rows)) == ["simpson", "hard-pairs", "hard-pairs-simpson"]
    assert list(dict.fromkeys(row["learner"] for row in rows)) == list(POLICIES.default)
    assert {row["seed"] for row in rows} == {0, 1, 2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bandit", "kink"], "has labels and no arms"),
        (["simpson"], "has arms and rewards, not labels: race policies in it with `massart race --bandit simpson`"),
        (["--bandit", "simpson", "-l", "linusb"], "did you mean 'linucb'"),
        (["--bandit", "simpson", "--rounds", "0"], "rounds must be a whole number"),
        (["--bandit", "simpson", "--figure", "race.gif"], "a figure is written to"),
    ],
)
def test_refusals(arguments, words):
    result = massart("race", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("massart race: ")
    assert words in result.stderr


def test_a_policy_that_fails_is_an_exit_code_of_1(monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("no")

    monkeypatch.setattr(POLICIES, "make", broken)
    result = massart("race", "--bandit", "simpson", "-l", "monotone,uniform", "--rounds", "50", "--seeds", "1")
    assert result.exit_code == 1
    assert "uniform failed at round 0 of simpson: RuntimeError: no" in " ".join(result.stdout.split())


def test_reward_worlds_are_listed():
    listed = massart("worlds", "--bandit")
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in worlds.reward_names())
    assert "massart race --bandit: linear, sorted, simpson" in massart("worlds").stdout
    facts = json.loads(massart("worlds", "simpson", "kink", "--json").stdout)
    assert [fact["name"] for fact in facts] == ["simpson", "kink"]
    assert facts[0]["guaranteed_lift"] == pytest.approx(0.04)
    both = massart("worlds", "simpson", "kink").stdout
    assert "harder customers" in both
    assert "noise" in both


@pytest.fixture
def flowers(tmp_path):
    """Three classes of 40 rows each; the file of the example in the help."""
    random = np.random.default_rng(0)
    lines = ["long,wide,colour,species"]
    for number in range(120):
        kind = number % 3
        colour = ("red", "blue")[int(random.integers(2))]
        lines.append(f"{random.normal(kind):.3f},{random.normal():.3f},{colour},{('rose', 'iris', 'lily')[kind]}")
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def of_data(flowers, *more):
    return massart("race", "--bandit", "--data", flowers, "--label", "species", *more)


def test_data_becomes_rounds(flowers, tmp_path):
    files = [tmp_path / name for name in ("r.html", "r.svg", "rows.jsonl")]
    written = ["--report", files[0], "--figure", files[1], "--rows", files[2]]
    how = ["-l", "monotone-unknown,linucb,uniform", "--conversion", "noisy,items", "--seeds", "2"]
    result = of_data(flowers, *how, *written)
    assert (result.exit_code, result.stderr.splitlines()) == (0, [f"wrote {path}" for path in files])
    assert "flowers:noisy" in result.stdout
    assert "guaranteed" not in result.stdout
    rows = [json.loads(line) for line in files[2].read_text().splitlines()]
    ends = {row["world"]: row for row in rows}
    assert list(ends) == ["flowers:noisy", "flowers:items"]
    assert [(row["rounds"], row["arms"], row["dimension"], row["gap"]) for row in ends.values()] == [
        (120, 3, 15, None),  # four columns, one of them for each colour, and a constant, for each of three classes
        (120, 5, 4, None),
    ]
    page = files[0].read_text()
    assert "A world of your own" not in page
    assert "Each arm is a row of a data file" in page
    [again] = [line for line in page.splitlines() if 'id="command"' in line]
    typed = shlex.split(again.partition('id="command">')[2].partition("<")[0])[1:]
    assert typed[:6] == ["race", "--bandit", "--data", str(flowers), "--conversion", "noisy,items"]
    copy = tmp_path / "again.jsonl"
    assert massart(*typed[:-1], tmp_path / "again.html", "--rows", copy, "--jobs", "2").exit_code == 0
    assert copy.read_bytes() == files[2].read_bytes()
    assert (tmp_path / "again.html").read_text().count("flowers:noisy") == page.count("flowers:noisy")


def test_the_example_of_the_help_runs(flowers, monkeypatch):
    monkeypatch.chdir(flowers.parent)
    shown = massart("race", "--help").stdout
    [line] = [line for line in shown.splitlines() if "flowers.csv" in line]
    result = massart(*line.split()[1:])
    assert result.exit_code == 0
    assert "flowers:noisy" in result.stdout


def test_policies_that_need_a_gap_are_left_out_and_peers_race_by_default(flowers):
    result = of_data(flowers, "--rounds", "20", "--seeds", "1", "--json")
    raced = list(dict.fromkeys(row["learner"] for row in json.loads(result.stdout)))
    assert raced == [name for name in POLICIES.names() if name not in ("monotone", "paper")]
    assert {row["world"] for row in json.loads(result.stdout)} == {"flowers:clean"}


def test_a_race_on_data_is_resumed(flowers, tmp_path):
    how = ["-l", "monotone-unknown,uniform", "--seeds", "2", "--resume", tmp_path / "journal", "--json"]
    first = of_data(flowers, *how)
    assert of_data(flowers, *how).stdout == first.stdout
    flowers.write_text(flowers.read_text().replace("rose", "lily", 1))
    changed = of_data(flowers, *how)
    assert changed.exit_code == 2
    assert "belongs to a sweep with worlds=" in changed.stderr


def test_data_and_worlds_race_together(flowers):
    result = massart("race", "--bandit", "simpson", "--data", flowers, "--label", "4", "-l", "uniform", "--seeds", "1")
    assert result.exit_code == 0
    assert "simpson" in result.stdout
    assert "flowers:clean" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bandit", "--conversion", "noisy"], "--conversion says how a data file is raced on: name one with --data"),
        (["--bandit", "--data", "FLOWERS", "--conversion", "dirty"], "there is no conversion 'dirty': choose of clean"),
        (["--bandit", "--data", "FLOWERS", "--noise-rate", ".1"], "--noise-rate is about labels"),
        (["--data", "FLOWERS", "--arms", "3"], "--arms is about rounds with arms: race policies, with --bandit"),
        (["--data", "FLOWERS", "--label", "species"], "flowers has 3 classes, and these learners know two"),
        (["--bandit", "--data", "FLOWERS", "-l", "monotone"], "'monotone' needs gap and margin"),
        (["--bandit", "--data", "FLOWERS", "--label", "kind"], "kind"),
        (["--bandit", "--data", "FLOWERS", "--data", "FLOWERS"], "two data sets are called 'flowers:clean'"),
        (["--bandit", "--data", "FLOWERS", "--raw", "--conversion", "items"], "standardised always"),
        (["--bandit", "--data", "nowhere.csv"], "nowhere.csv"),
        (["--bandit", "--data", "-"], "a pipe can be read once: write them to a file"),
    ],
)
def test_refusals_about_data(flowers, arguments, words):
    typed = [str(flowers) if word == "FLOWERS" else word for word in arguments]
    label = [] if "--label" in typed or "--data" not in typed else ["--label", "species"]
    result = massart("race", *typed, *label)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("massart race: ")
    assert len(result.stderr.splitlines()) == 1
    assert words in result.stderr


def test_learners_race_on_rows_of_two_classes(tmp_path):
    random = np.random.default_rng(0)
    rows = random.standard_normal((300, 3)).round(3)
    signs = rows[:, 0] + 0.5 * random.standard_normal(300) > 0
    lines = [",".join([*map(str, row), "yes" if sign else "no"]) for row, sign in zip(rows, signs, strict=True)]
    path = tmp_path / "answers.csv"
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    typed = ["race", "--data", path, "--noise-rate", ".1", "--noise", "near-boundary", "--seeds", "2"]
    shown = massart(*typed)
    assert shown.exit_code == 0
    assert "There is no margin, so no bound." in " ".join(shown.stdout.split())
    rows = json.loads(massart(*typed, "--json").stdout)
    assert {row["world"] for row in rows} == {"answers:labels"}
    assert {row["rounds"] for row in rows if row["rounds"] > 282} == {300}
    assert {row["noise_rate"] for row in rows} == {0.1}
    assert "massart-unknown" in {row["learner"] for row in rows}
    assert "paper" not in {row["learner"] for row in rows}
    assert all(row["error"] is None for row in rows)
