"""`massart diagnose`: tables, files and a page, and sentences for what cannot be done."""

import csv
import json
import re
import xml.dom.minidom

import numpy as np
import pytest
from golden_text import page_text
from typer.testing import CliRunner

import massart
from massart.cli.app import app


def run(*arguments, code=0, **options):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, **options)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    wrong = (X[:, 1] > 0) & (rng.random(3000) < 0.25)
    path = tmp_path / "rows <b>.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["click", "price", "town"])
        for x, flip in zip(X, wrong, strict=True):
            writer.writerow(["yes" if (x[0] > 0) != flip else "no", x[0], "<i>Ulm" if x[1] > 0 else "Rome"])
    return path


def test_tables_and_files(rows, tmp_path):
    done = run("diagnose", rows, "--label", "click", "--top", 20, "-o", tmp_path / "again.csv")
    assert "Rows to look at again" in done.stdout
    assert re.search(r"town=<i>Ulm +│ +more often", done.stdout)
    found = massart.diagnose(rows, label="click", top=20)
    with (tmp_path / "again.csv").open() as file:
        lines = [int(row["line"]) for row in csv.DictReader(file)]
    assert lines == [one.line for one in found.suspects]


def test_json_has_the_numbers_of_the_library(rows):
    told = json.loads(run("diagnose", rows, "--label", "click", "--json").stdout)
    found = massart.diagnose(rows, label="click")
    assert told["disagreements"] == found.disagreements
    assert told["limits"] == list(found.limits)
    assert [one["row"] for one in told["suspects"]] == [one.row for one in found.suspects]
    assert told["places"][0]["name"] == found.places[0].name


def test_the_page_loads_nothing_and_holds_the_numbers(rows, tmp_path):
    run("diagnose", rows, "--label", "click", "--report", tmp_path / "page.html", "--quiet")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.findall(r"https?://|src=|@import|url\(", page)
    assert "<b>" not in page
    assert "<i>" not in page
    assert "town=&lt;i&gt;Ulm" in page
    text, found = page_text(page), massart.diagnose(rows, label="click")
    assert f"{found.suspected:,} rows have a label that is not the most probable one" in text
    assert f"| {found.places[0].rows:,} | {found.places[0].disagreements:,} |" in text
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        xml.dom.minidom.parseString(picture)  # noqa: S318  the page is ours
    assert page.count("<svg") == 3


def test_a_pipe():
    lines = b"".join(b"1 1:1\n-1 1:-1\n" for _ in range(50))
    told = json.loads(run("diagnose", "-", "--features", 1, "--json", input=lines).stdout)
    assert told["rows"] == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv"], "missing.csv"),
        (["ROWS", "--label", "nothing"], "nothing"),
        (["ROWS", "--label", "click", "-o", "rows.txt"], "ends in .csv or .parquet"),
        (["ROWS", "--label", "click", "--report", "no/such/page.html"], "there is no folder"),
        (["ROWS", "--label", "click", "-o", "ROWS"], "is what is to be read"),
        (["ROWS", "--label", "click", "-o", "a.csv", "--scores", "a.csv"], "the same name"),
        (["ROWS", "--label", "click", "--confidence", "2"], "confidence"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(rows, arguments, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run("diagnose", *(str(rows) if one == "ROWS" else one for one in arguments), code=2)
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == before
