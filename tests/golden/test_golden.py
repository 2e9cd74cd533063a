"""Golden files: what the commands and the public interface gave when the files were made, they give today.

`pytest tests/golden --update-golden` (or `make golden`) writes the files again; look at the difference before you
commit it. Models are compared byte for byte. Numbers of races come from `exp`, `log` and sums of NumPy, whose last
digit depends on the processor: see `golden_text.differences`.
"""

import hashlib
import json
import zipfile
from pathlib import Path

import golden_text
import numpy as np
import pytest
from golden_trainings import TRAININGS, write_data
from typer.main import get_command
from typer.testing import CliRunner

from massart import MonotoneBandit, MonotoneRanker, save
from massart.cli.app import app

HERE = Path(__file__).parent
RACES = {
    "labels": [
        "kink",
        "hunted-minority",
        "-l",
        "massart,massart-unknown,paper,perceptron,averaged-perceptron,logistic",
    ],
    "rewards": ["--bandit", "simpson", "hunted-pairs", "-l", "monotone,monotone-unknown,paper,linucb,uniform"],
}
ROUNDS = {"labels": "3000", "rewards": "1000"}
COMMANDS = ["", *get_command(app).commands]


def massart(*arguments):
    done = CliRunner().invoke(
        app, [str(argument) for argument in arguments], prog_name="massart", env={"COLUMNS": "100", "NO_COLOR": "1"}
    )
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def golden(request):
    """Compare with a golden file, or write it."""

    def check(name, found, differences):
        path = HERE / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(found, encoding="utf-8")
        wrong = differences(path.read_text(encoding="utf-8"), found)
        assert not wrong, f"{name}:\n" + "\n".join(wrong[:40])

    return check


def exact(golden, found):
    return [] if golden == found else golden_text.differences(golden, found) or ["in the last digits"]


def same_words(golden, found):
    return [] if golden_text.help_words(golden) == golden_text.help_words(found) else exact(golden, found)


def contents(path, *left_out):
    """A model file, so that a difference can be read: its header, and the digests of its arrays and of all bytes."""
    header = json.loads(zipfile.ZipFile(path).read("header.json"))
    arrays = {name: facts["sha256"][:16] for name, facts in header.pop("arrays").items() if name not in left_out}
    whole = {} if left_out else {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return json.dumps({**whole, "arrays": arrays, "header": header}, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", TRAININGS)
def test_models(name, golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    massart("train", *TRAININGS[name], "-f", "model.massart", "-p", "answers.txt", "--scores", "--quiet")
    golden(f"models/{name}.json", contents(tmp_path / "model.massart"), exact)
    data = TRAININGS[name][0]
    later = massart("predict", "model.massart", data, "--scores")
    answers = {"while training": Path("answers.txt").read_text(), "afterwards": later}
    digests = {which: hashlib.sha256(text.encode()).hexdigest() for which, text in answers.items()}
    golden(f"models/{name}.predictions.json", json.dumps(digests, indent=1) + "\n", exact)


def test_bandit(golden, tmp_path):
    bandit, random = MonotoneBandit(random_state=0), np.random.default_rng(3)
    for _ in range(200):
        contexts = random.integers(-1000, 1001, (4, 3)) / 2000.0
        choice = bandit.choose(contexts)
        bandit.learn(choice, float(random.integers(0, 1000) < 500 + 400 * contexts[choice.arm, 0]))
    save(bandit, tmp_path / "bandit.massart")
    golden("models/bandit.json", contents(tmp_path / "bandit.massart", "identity"), exact)


@pytest.mark.parametrize(("name", "options"), [("ranker", {"gap": 0.1, "margin": 0.1}), ("ranker-default", {})])
def test_ranker(name, options, golden, tmp_path):
    ranker, random = MonotoneRanker(random_state=0, **options), np.random.default_rng(4)
    for _ in range(200):
        contexts = random.integers(-1000, 1001, (4, 3)) / 2000.0
        ranker.learn(contexts, (contexts[:, 0] > 0).astype(float))
    save(ranker, tmp_path / "ranker.massart")
    golden(f"models/{name}.json", contents(tmp_path / "ranker.massart"), exact)


@pytest.mark.parametrize("kind", RACES)
def test_race(kind, golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = massart(
        "race",
        *RACES[kind],
        "--rounds",
        ROUNDS[kind],
        "--seeds",
        "2",
        "--rows",
        "rows.jsonl",
        "--report",
        "race.html",
        "--quiet",
    )
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["rounds"] in (1, 10, 100, 1000, int(ROUNDS[kind]))]
    for world in dict.fromkeys(row["world"] for row in rows):
        lines = "".join(json.dumps(row) + "\n" for row in rows if row["world"] == world)
        golden(f"races/{world}.jsonl", lines, golden_text.differences)
    golden(f"races/{kind}.table.txt", table, golden_text.differences)
    golden(f"pages/{kind}.txt", golden_text.page_text(Path("race.html").read_text("utf-8")), golden_text.differences)


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command, golden):
    golden(f"help/{command or 'massart'}.txt", massart(*filter(None, [command]), "--help"), same_words)


def test_interface(golden):
    golden("interface.txt", golden_text.interface(), exact)


def test_a_difference_is_seen():
    assert golden_text.differences("a 1.5 b\n", "a 1.5 b\n") == []
    assert golden_text.differences('{"x": 0.12345678912}\n', '{"x": 0.12345678913}\n') == []
    assert golden_text.differences('{"x": 0.12345678}\n', '{"x": 0.12345778}\n')
    assert golden_text.differences("13 mistakes, .290\n", "13 mistakes, .291\n") == []
    assert golden_text.differences("13 mistakes\n", "14 mistakes\n")
    assert golden_text.differences("a\n", "a\nb\n")[-1] == "+b"
    assert golden_text.differences("one 1.5\n", "two 1.5\n")
    assert golden_text.page_text("<h2>A</h2><script>1<2</script><tr><td>b<td>c</tr>") == "## A\n| b | c\n"
