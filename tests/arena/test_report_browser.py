"""The page in a browser: its script draws the charts, answers buttons and pointer, and reports no error."""

import json
import re
import shutil
import subprocess

import processes
import pytest
from report_rows import made_up

from massart import arena
from massart.arena import report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium, and run again")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
]
# Runs before the page's own script, collects errors, and afterwards uses the page as a person would.
SPY = """<script>
const seen = { errors: [] };
addEventListener("error", (event) => seen.errors.push(event.message));
addEventListener("securitypolicyviolation", (event) => seen.errors.push(event.violatedDirective));
addEventListener("load", () => {
  const place = document.getElementById("chart-0"), frame = place.getBoundingClientRect();
  const curves = () => place.querySelectorAll("path.curve").length;
  const labels = () => [...place.querySelectorAll(".axes text")].map((text) => text.textContent);
  const section = place.closest("section"), chips = [...section.querySelectorAll("button[data-learner]")];
  const at = (x, y) => place.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
  seen.width = place.clientWidth;
  seen.charts = document.querySelectorAll(".chart > svg").length;
  seen.bands = place.querySelectorAll("path.band").length;
  seen.curves = curves();
  seen.labels = labels();
  seen.colour = getComputedStyle(place.querySelector("path.curve")).stroke;
  chips[0].click();
  seen.fewer = [curves(), chips[0].getAttribute("aria-pressed")];
  chips[0].click();
  seen.again = [curves(), chips[0].getAttribute("aria-pressed")];
  const zoom = section.querySelector("button[data-zoom]");
  if (zoom) { zoom.click(); seen.whole = labels(); }
  const end = place.querySelector("path.curve:last-of-type").getPointAtLength(1e6);
  at(frame.left + end.x - 3, frame.top + end.y);
  const tip = place.querySelector(".tip");
  seen.tip = [...tip.children].map((line) => line.textContent);
  seen.tipInside = tip.offsetLeft >= 0 && tip.offsetLeft + tip.offsetWidth <= place.clientWidth;
  at(frame.left - 900, frame.top - 900);
  seen.hidden = tip.hidden;
  const tables = [...document.querySelectorAll(".scroll")];
  seen.hints = tables.map((one) => [one.scrollWidth > one.clientWidth + 1, one.parentElement.classList.contains("more"),
    getComputedStyle(one.parentElement.querySelector(".hint")).visibility]);
  seen.outside = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  document.body.dataset.seen = JSON.stringify(seen);
});
</script>"""


def opened(page, tmp_path, width=1200):
    """What a browser of this width sees in the page; a phone is a frame as wide as one."""
    (tmp_path / "page.html").write_text(page.replace("<head>", f"<head>{SPY}", 1), encoding="utf-8")
    frame = (
        f'<iframe id="page" src="page.html" style="width:{width}px;height:4000px"></iframe><script>'
        'addEventListener("load", () => { document.body.dataset.seen = '
        "document.getElementById('page').contentDocument.body.dataset.seen; });</script>"
    )
    (tmp_path / "frame.html").write_text(f"<!DOCTYPE html><body>{frame}", encoding="utf-8")
    command = [
        BROWSER,
        *OPTIONS,
        "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width + 40},4000",
        "--dump-dom",
        (tmp_path / "frame.html").as_uri(),
    ]
    done = processes.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    (found,) = re.findall(r'<body data-seen="(.*?)">', done.stdout, flags=re.S) or [done.stdout + done.stderr]
    return json.loads(found.replace("&quot;", '"').replace("&lt;", "<").replace("&amp;", "&"))


@pytest.fixture(scope="module")
def reward_rows():
    return arena.sweep(["simpson", "hunted-pairs"], ["monotone", "uniform", "linucb"], rounds=500, seeds=2)


@pytest.mark.parametrize("width", [1200, 390])
def test_labels(tmp_path, width):
    seen = opened(report.html(made_up()), tmp_path, width)
    assert seen["errors"] == []
    assert (seen["charts"], seen["bands"], seen["curves"]) == (2, 5, 6)  # kink: five learners and the bound
    assert {"rounds", "0"} <= set(seen["labels"])
    assert ("mistakes − noise rate × rounds" in seen["labels"]) == (width > 560)
    assert seen["fewer"] == [5, "false"]
    assert seen["again"] == [6, "true"]
    assert seen["tip"][:3] == ["the bound", "after 10,000 rounds", "+781 against noise rate × rounds"]
    assert seen["tip"][3] == "1,781 mistakes, 0.178 per round"
    assert seen["tipInside"]
    assert seen["hidden"]
    assert not seen["outside"], "the page itself does not scroll sideways"


@pytest.mark.parametrize("width", [1200, 390])
def test_rewards(tmp_path, width, reward_rows):
    seen = opened(report.html(reward_rows), tmp_path, width)
    assert seen["errors"] == []
    assert (seen["charts"], seen["bands"], seen["curves"]) == (2, 3, 4)
    assert seen["tip"] == ["guaranteed", "after 500 rounds", "+0.040 per round against a random arm"]
    assert seen["fewer"] == [3, "false"]
    assert not seen["outside"]


def test_a_table_that_does_not_fit_says_so(tmp_path):
    narrow = opened(report.html(made_up()), tmp_path, 390)["hints"]
    assert [True, True, "visible"] in narrow
    assert all(wide == more == (shown == "visible") for wide, more, shown in narrow)
    assert all(not wide for wide, *_ in opened(report.html(made_up()), tmp_path, 1300)["hints"])


def test_the_whole_height_shows_what_was_cut_off(tmp_path):
    rows = [{**row, "mistakes": 3 * row["mistakes"]} if row["learner"] == "perceptron" else row for row in made_up()]
    seen = opened(report.html(rows), tmp_path)
    assert seen["errors"] == []
    assert seen["labels"] != seen["whole"]
    assert "8K" in seen["whole"]
    assert "8K" not in seen["labels"]
