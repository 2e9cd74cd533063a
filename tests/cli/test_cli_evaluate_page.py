"""`massart evaluate --report`: one file that needs no network, and every number of the table in it."""

import re
import xml.dom.minidom

import numpy as np
import pytest
from golden_text import page_text
from typer.testing import CliRunner

from massart.cli.app import app
from massart.data import Decision, write_decisions
from massart.evaluation import compare


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def log(tmp_path):
    random = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        arm = int(random.random() < 0.4)
        rows.append(Decision(np.eye(2), arm, (0.6, 0.4)[arm], float(random.random() < (0.3, 0.7)[arm])))
    write_decisions(rows, tmp_path / "log <b>.vw")
    return tmp_path / "log <b>.vw"


@pytest.fixture
def page(log, tmp_path):
    done = massart("evaluate", log, "--policy", "uniform", "--policy", "first", "--report", tmp_path / "page.html")
    assert done.exit_code == 0
    return (tmp_path / "page.html").read_text("utf-8")


def test_it_loads_nothing_and_runs_nothing(page):
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.findall(r"https?://|src=|@import|url\(", page)


def test_every_number_of_the_evaluation_is_in_it(page, log):
    text = page_text(page)
    found = compare(log, ["uniform", "first"])
    for one in found.evaluations:
        for line in one.lines:
            assert f"{line.value:.4f}" in text
            for interval in line.intervals:
                assert f"| {interval.kind} | {interval.low:.4f} | {interval.high:.4f}" in text
    for pair in found.differences:
        assert f"{pair.value:.4f}" in text
    assert f"uniform: {found['uniform']['dr'].value:.4f} per decision by dr" in text


def test_names_from_outside_are_text(page):
    assert "log &lt;b&gt;.vw" in page
    assert "<b>" not in page


def test_the_pictures_are_valid_and_have_a_bar_for_each_interval(page, log):
    drawn = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    pictures = [xml.dom.minidom.parseString(one) for one in drawn]  # noqa: S318  the page is ours
    found = compare(log, ["uniform", "first"])
    bars = [sum(line.getAttribute("class") == "bar" for line in one.getElementsByTagName("line")) for one in pictures]
    assert bars == [2, 1, *(sum(len(line.intervals) for line in one.lines) for one in found.evaluations)]
    for one in pictures:
        for bar in one.getElementsByTagName("line"):
            assert 250 <= float(bar.getAttribute("x1")) <= float(bar.getAttribute("x2")) <= 1000


def test_the_command_makes_the_same_page_again(page, tmp_path, monkeypatch):
    import shlex
    from html import unescape

    command = shlex.split(unescape(re.search(r"<code>(.*?)</code>", page)[1]))
    assert command[:2] == ["massart", "evaluate"]
    (tmp_path / "page.html").unlink()
    assert massart(*command[1:]).exit_code == 0
    assert (tmp_path / "page.html").read_text("utf-8") == page


def test_a_policy_of_which_the_log_says_nothing(tmp_path):
    write_decisions([Decision(np.eye(2), 1, 0.5, float(i % 2)) for i in range(50)], tmp_path / "log.jsonl")
    done = massart("evaluate", tmp_path / "log.jsonl", "--policy", "first", "--report", tmp_path / "page.html")
    assert done.exit_code == 0
    assert "The log says nothing about first." in (tmp_path / "page.html").read_text()
