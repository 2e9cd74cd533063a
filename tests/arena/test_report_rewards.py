"""The bandit report: every world and policy is in the table, on the page and in the figure; verdicts by hand."""

import io
import json
import re

import pytest
from rich.console import Console

from massart import arena
from massart.arena import report
from massart.arena.registry import POLICIES
from massart.arena.report.rewards import REWARD_REPORT
from massart.arena.report.summary import command_of
from massart.errors import InvalidDataError

FIELD = ["monotone", "paper", "uniform", "linucb"]
ROW = {
    "world": "simpson",
    "learner": "monotone",
    "seed": 0,
    "rounds": 1000,
    "reward": 0.55,
    "lift": 0.05,
    "guaranteed_lift": 0.04,
    "best_lift": 0.1,
    "share": 0.5,
    "chance": 0.002,
    "favourite": 0.9,
    "arms": 5,
    "gap": 0.05,
    "margin": 0.1,
    "dimension": 10,
    "error": None,
}


@pytest.fixture(scope="module")
def rows():
    return arena.sweep(["simpson", "hard-pairs", "hunted-pairs"], FIELD, rounds=2000, seeds=2)


def printed(rows, width=120):
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(report.table(rows))
    return console.export_text()


def test_the_table_holds_every_world_and_policy(rows):
    text = printed(rows)
    for name in ("simpson", "hard-pairs", "hunted-pairs", *map(POLICIES.title, FIELD)):
        assert name in text
    (guaranteed,) = re.findall(r"guaranteed .*", text)
    assert re.findall(r"\+\.\d+", guaranteed) == ["+.040", "+.150", "+.150"]
    (linucb,) = re.findall(r"linucb .*", text)
    assert "▼ −." in linucb


def test_the_page_holds_every_world_and_policy(rows):
    page = report.html(rows)
    body = page[page.index("<body>") :]
    for name in ("simpson", "hard-pairs", "hunted-pairs"):
        assert f"<h2>{name}</h2>" in body
    for name in FIELD:
        assert body.count(f'data-learner="{name}"') == 3
    data = json.loads(re.search(r'id="race-data">(.*?)</script>', page, flags=re.S)[1])
    assert [world["reference"]["mean"][-1] for world in data["worlds"]] == pytest.approx([0.04, 0.15, 0.15])
    assert all(world["curves"][0]["x"][-1] == 2000 for world in data["worlds"])
    assert "{{" not in body[: body.index("<script ")]
    assert not re.search(r'(src|href)="http', body[: body.index("<script ")])


def test_names_cannot_write_into_the_page():
    page = report.html([ROW | {"learner": "<b>x</b>", "world": "</script><i>"}], note="<u>")
    assert "<b>x</b>" not in page[: page.index("<script ")]
    assert "</script><i>" not in page
    assert "<u>" not in page[: page.index("<script ")]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_figure(rows, tmp_path, suffix):
    path = tmp_path / f"race{suffix}"
    report.figure(rows, path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_rows_come_back(rows, tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    report.write_rows(rows, path)
    assert report.read_rows(path) == rows


def test_verdicts():
    # 3 chance / sqrt(2 seeds) = .0042
    lifts = {"a": 0.0401, "b": 0.039, "c": 0.0041, "d": -0.0041, "e": -0.0044}
    rows = [ROW | {"learner": name, "lift": lift, "seed": seed} for name, lift in lifts.items() for seed in (0, 1)]
    rows += [ROW | {"learner": "f", "rounds": 500}, ROW | {"learner": "g", "rounds": 500, "error": "X: y"}]
    (world,) = report.summarise(rows).worlds
    verdicts = {standing.learner: str(standing.verdict) for standing in world.standings}
    assert verdicts == {
        "a": "the guarantee or more",
        "b": "above random",
        "c": "like random",
        "d": "like random",
        "e": "below random",
        "f": "stopped early",
        "g": "failed",
    }
    assert [REWARD_REPORT.marked(world.of(name)) for name in "aceg"] == ["✓ +.040", "+.004", "▼ −.004", "! +.050"]
    assert "g failed at round 500 of simpson: X: y" in printed(rows)
    assert "f, g: 1 seed only." in printed(rows)


def test_the_headline():
    rows = [ROW, ROW | {"learner": "linucb", "lift": -0.09}]
    said = REWARD_REPORT.headline(report.summarise(rows))
    ours = "monotone (gap and margin known)"
    assert said == f"{ours} earned more than a random arm in simpson. linucb earned less in simpson."
    both = [{**row, "world": world} for row in rows[:1] for world in ("simpson", "hard-pairs")]
    said = REWARD_REPORT.headline(report.summarise(both))
    assert said == f"{ours} earned more than a random arm in both worlds. None earned less."
    nobody = REWARD_REPORT.headline(report.summarise([ROW | {"lift": 0.0}]))
    assert nobody == "No policy beat a random arm in simpson. None earned less."


def test_the_command_gives_the_rows_again(rows):
    assert command_of(rows).startswith("massart race --bandit simpson hard-pairs hunted-pairs --learner monotone")
    assert command_of([ROW | {"learner": "mine"}]) is None
    assert command_of([ROW, ROW | {"learner": "linucb", "seed": 1}]) is None
    assert command_of([ROW | {"world": "mine"}]) is None


def test_worlds_of_one_name_are_told_apart():
    names = [world.name for world in report.summarise([ROW, ROW | {"arms": 3}]).worlds]
    assert names[1] == "simpson, 3 arms, gap 0.05, margin 0.1, 10 features"


def test_no_rows():
    with pytest.raises(InvalidDataError, match="no rows"):
        report.summarise([])
