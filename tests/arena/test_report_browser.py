"""The page in a browser: its script draws the charts, answers buttons and pointer, and reports no error."""

import browser
import pytest
from report_rows import made_up

from massart import arena
from massart.arena import report

pytestmark = browser.needed
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


def pages():
    labels = report.html(made_up())
    rewards = report.html(
        arena.sweep(["simpson", "hunted-pairs"], ["monotone", "uniform", "linucb"], rounds=500, seeds=2)
    )
    rows = [{**row, "mistakes": 3 * row["mistakes"]} if row["learner"] == "perceptron" else row for row in made_up()]
    return {
        "labels 1200": labels,
        "labels 1300": labels,
        "labels 390": labels,
        "rewards 1200": rewards,
        "rewards 390": rewards,
        "high 1200": report.html(rows),
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a browser sees in the pages, by their names, which end in their widths."""
    return browser.seen(tmp_path_factory.mktemp("pages"), pages(), SPY)


@pytest.mark.parametrize("width", [1200, 390])
def test_labels(seen, width):
    page = seen[f"labels {width}"]
    assert page["errors"] == []
    assert (page["charts"], page["bands"], page["curves"]) == (2, 5, 6)  # kink: five learners and the bound
    assert {"rounds", "0"} <= set(page["labels"])
    assert ("mistakes − noise rate × rounds" in page["labels"]) == (width > 560)
    assert page["fewer"] == [5, "false"]
    assert page["again"] == [6, "true"]
    assert page["tip"][:3] == ["the bound", "after 10,000 rounds", "+781 against noise rate × rounds"]
    assert page["tip"][3] == "1,781 mistakes, 0.178 per round"
    assert page["tipInside"]
    assert page["hidden"]
    assert not page["outside"], "the page itself does not scroll sideways"


@pytest.mark.parametrize("width", [1200, 390])
def test_rewards(seen, width):
    page = seen[f"rewards {width}"]
    assert page["errors"] == []
    assert (page["charts"], page["bands"], page["curves"]) == (2, 3, 4)
    assert page["tip"] == ["guaranteed", "after 500 rounds", "+0.040 per round against a random arm"]
    assert page["fewer"] == [3, "false"]
    assert not page["outside"]


def test_a_table_that_does_not_fit_says_so(seen):
    narrow = seen["labels 390"]["hints"]
    assert [True, True, "visible"] in narrow
    assert all(wide == more == (shown == "visible") for wide, more, shown in narrow)
    assert all(not wide for wide, *_ in seen["labels 1300"]["hints"])


def test_the_whole_height_shows_what_was_cut_off(seen):
    page = seen["high 1200"]
    assert page["errors"] == []
    assert page["labels"] != page["whole"]
    assert "8K" in page["whole"]
    assert "8K" not in page["labels"]
