"""The page: whole in itself, complete, and right on made-up rows. How it looks is checked by eye in a browser."""

import json
from html.parser import HTMLParser

import pytest
from report_rows import KINK, KINK_BOUND, made_up, row, run

from massart import theory, worlds
from massart.arena import report

COMMAND = "massart race kink turning-target --rounds 10000 --seeds 2 --report 'my race.html'"
OURS = "massart (noise and margin known)"
VOID = {"meta", "link", "img", "br", "hr", "input", "line", "wbr"}


class Page(HTMLParser):
    """All that the tests ask about: elements with their attributes, scripts, table cells by section, text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.styles, self.open = [], [], [], []
        self.rows, self.section, self.text = {}, None, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = attributes["id"]
        if tag == "script":
            self.scripts.append((attributes, ""))
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        where = self.open[-1] if self.open else None
        if where == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif where == "style":
            self.styles.append(data)
        else:
            self.text += data
            if "td" in self.open or "th" in self.open:
                self.rows[self.section][-1][-1] += data

    def table(self, section):
        """The rows of a section's table by their first cell, as dicts by column."""
        head, *body = self.rows[section]
        return {line[0]: dict(zip(head, line, strict=True)) for line in body}

    def data(self):
        return next(json.loads(text) for attributes, text in self.scripts if attributes.get("id") == "race-data")


@pytest.fixture(scope="module")
def text():
    return report.html(made_up(), command=COMMAND)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_well_formed(page):
    assert page.open == []


def test_nothing_is_fetched(page):
    assert not {tag for tag, _ in page.elements} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "audio",
        "video",
    }
    loading = ("src", "srcset", "href", "xlink:href", "action", "data", "poster", "background", "ping", "formaction")
    addresses = [attributes[name] for _, attributes in page.elements for name in loading if name in attributes]
    assert addresses  # the overview links to the sections
    assert all(address.startswith("#") for address in addresses)
    assert all("url(" not in style and "@import" not in style for style in page.styles)
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "'self'" not in policy


def test_the_page_is_small(text, page):
    assert len(text.encode()) < 100_000
    assert [attributes.get("type") for attributes, _ in page.scripts] == ["application/json", None]


def test_links_lead_somewhere(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for tag, a in page.elements if tag == "a"} <= set(ids)


def test_every_world_has_its_sentence(page):
    for name in ("kink", "turning-target"):
        assert name in page.text
        assert worlds.make(name).description in page.text


def test_the_command_is_shown_as_given(page):
    assert COMMAND in page.text
    assert "massart race kink turning-target --learner massart" not in page.text


def test_without_a_command_the_page_works_it_out():
    assert "massart race kink --learner arow --rounds 10000 --seeds 1" in Page(report.html(run("arow", 0, 10))).text
    assert "massart.arena.report.html(rows)" in Page(report.html(run("my-learner", 0, 10))).text


def test_a_note_is_shown(page):
    assert "This race was stopped" in Page(report.html(run("arow", 0, 10), note="This race was stopped.")).text
    assert not [a for _, a in page.elements if a.get("role") == "note"]


def test_verdicts_and_numbers_of_the_standings(page):
    table = page.table("world-0")
    verdicts = {name: line["the bound"] for name, line in table.items()}
    assert list(verdicts) == [OURS, "hinge", "the bound", "arow", "perceptron", "leaky-relu"]
    assert verdicts == {
        OURS: "kept",
        "hinge": "kept (1 of 2 above)",
        "the bound": "",
        "arow": "broke (1 of 2 above)",
        "perceptron": "broke",
        "leaky-relu": "failed at round 1,000",
    }
    assert table["perceptron"] == {
        "learner": "perceptron",
        "the bound": "broke",
        "mistakes": "3,050",
        "min – max": "3,000 – 3,100",
        "per round": ".305",
        "over noise": "+2,050",
        "untrue rate": ".152",
        "angle": "10°",
        "own bound": "–",
    }
    assert table[OURS]["own bound"] == f"{theory.ftrl_mistake_bound(0.1, 0.05, 10_000):,.0f}"
    assert table[OURS]["over noise"] == "−75"
    assert table["the bound"]["mistakes"] == f"{KINK_BOUND:,.0f}"
    assert "leaky-relu failed at round 1,000 of kink: ValueError: it fell over <here>" in page.text


def test_a_world_without_a_bound_has_no_line(page):
    assert {name: line["the bound"] for name, line in page.table("world-1").items()} == {
        OURS: "no bound",
        "perceptron": "no bound",
    }


def test_the_overview_marks_who_kept_and_who_broke(page):
    table = page.table("overview")
    assert table[OURS]["kink"] == ".092 ✓"
    assert table["perceptron"]["kink"] == ".305 ✗"
    assert table["perceptron"]["turning-target"].strip() == ".210"
    assert table["hinge"]["turning-target"] == "–"
    assert table["the bound"] == {"learner": "the bound", "kink": f"{KINK_BOUND / 1e4:.3f}"[1:], "turning-target": "–"}


def test_one_world_needs_no_overview():
    assert "overview" not in Page(report.html(run("arow", 0, 10))).rows


def test_the_charts_get_the_curves(page):
    kink, turning = page.data()["worlds"]
    curves = {curve["learner"]: curve for curve in kink["curves"]}
    assert set(curves) == {*KINK, "leaky-relu"}
    assert curves["perceptron"]["x"] == [100, 1000, 10_000]
    assert curves["perceptron"]["mean"] == [20.5, 205.0, 2050.0]
    assert curves["perceptron"]["low"] == [20.0, 200.0, 2000.0]
    assert curves["perceptron"]["high"] == [21.0, 210.0, 2100.0]
    assert kink["reference"]["mean"][-1] == pytest.approx(KINK_BOUND - 1000, abs=0.05)
    assert kink["curves"][-1]["learner"] == "massart"  # on top
    assert turning["reference"] is None


def test_a_curve_far_above_the_bound_does_not_flatten_the_rest():
    # kink's bound ends 781 above the noise; the first view ends at 4 times that unless everything fits nearly anyway
    near, far = (Page(report.html([*run("massart", 0, 900), *run("arow", 0, end)])) for end in (3000, 9000))
    assert near.data()["worlds"][0]["ceiling"] is None
    assert far.data()["worlds"][0]["ceiling"] == pytest.approx(4 * (KINK_BOUND - 1000))
    assert [sum("data-zoom" in a for _, a in page.elements) for page in (near, far)] == [0, 1]


def test_people_who_do_not_see_the_charts(page):
    charts = [a for _, a in page.elements if a.get("class") == "chart"]
    assert len(charts) == 2
    assert all(chart["role"] == "img" for chart in charts)
    assert "perceptron ends at +2,050 (broke)" in charts[0]["aria-label"]
    tags = [tag for tag, _ in page.elements]
    assert tags.count("caption") == tags.count("table") == 4
    assert all("scope" in a for tag, a in page.elements if tag == "th")
    assert all("aria-pressed" in a for tag, a in page.elements if tag == "button" and "data-learner" in a)
    assert ("html", {"lang": "en"}) in page.elements


def test_both_colour_schemes_are_there(page):
    assert any("prefers-color-scheme: dark" in style for style in page.styles)
    assert all({"light", "dark"} <= set(style) for style in page.data()["styles"].values())


def test_names_stay_text():
    evil = "</script><script>alert(1)</script>{{data}}"
    text = report.html([row(evil, 0, 10_000, 5000, world=evil)], command=evil)
    page = Page(text)
    assert len(page.scripts) == 2
    assert page.data()["worlds"][0]["curves"][0]["learner"] == evil
    assert "<script>alert" not in text


def test_same_rows_same_page(text):
    assert report.html(made_up(), command=COMMAND) == text
