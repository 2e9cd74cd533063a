"""`massart train --report`: a page with what was learned, and the same model as without it."""

import re
import xml.dom.minidom

import numpy as np
import pytest
from golden_text import page_text
from typer.testing import CliRunner

from massart.cli.app import app


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def rows(tmp_path):
    """A file of some labels."""

    def make(labels):
        rng, path = np.random.default_rng(0), tmp_path / f"{len(labels)}.csv"
        numbers = rng.normal(size=(1500, 3))
        kinds = np.argmax(numbers[:, : len(labels)], axis=1)
        kinds = np.where(rng.random(1500) < 0.1, rng.integers(0, len(labels), 1500), kinds)
        lines = [
            f"{labels[kind]},{a},{b},{c},{'xyz'[kind]}{n % 7}"
            for n, (kind, (a, b, c)) in enumerate(zip(kinds, numbers.tolist(), strict=True))
        ]
        path.write_text("label,p,q,r,<i>town\n" + "\n".join(lines) + "\n")
        return path

    return make


@pytest.mark.parametrize("labels", [("no", "yes"), ("a<b>", "b", "c")])
def test_the_page_and_the_same_model(rows, labels, tmp_path):
    path, with_page, without = rows(labels), tmp_path / "a.massart", tmp_path / "b.massart"
    run("train", path, "--label", "label", "-f", with_page, "--report", tmp_path / "page.html", "--quiet")
    run("train", path, "--label", "label", "-f", without, "--quiet")
    assert with_page.read_bytes() == without.read_bytes()
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.findall(r"https?://|src=|@import|url\(", page)
    assert not re.findall(r"<b>|<i>", page)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    for picture in pictures:
        xml.dom.minidom.parseString(picture)  # noqa: S318  the page is ours
    assert len(pictures) == (4 if len(labels) == 2 else 2)  # weights and reliability are of two labels
    text = page_text(page)
    assert "learned: 1,500 rows, one pass" in text
    heads = ["Error and bound over rounds", "Experts", *(["Weights"] if len(labels) == 2 else []), "Answers"]
    assert [head for head in heads if head not in text] == []
    points = re.search(r'<polyline class="line"[^>]* points="([^"]*)"', page)[1].split()
    assert len(points) > 50  # moments inside of the only chunk


def test_what_does_not_go_with_it(rows, tmp_path):
    path = rows(("no", "yes"))
    done = run("train", path, "--label", "label", "--report", tmp_path / "page.txt", code=2)
    assert ".html" in done.stderr
    done = run("train", path, "--label", "label", "--report", tmp_path / "page.html", "--workers", 1, code=2)
    assert "--report does not go with workers" in done.stderr
