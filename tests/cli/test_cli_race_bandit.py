"""`massart race --bandit` and the reward worlds of `massart worlds`: output, files, refusals and exit codes."""

import json

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
