"""The pages of `massart diagnose` and `massart train` in a browser, as wide as a screen and as a phone."""

import browser
import numpy as np
import pytest
from typer.testing import CliRunner

import massart
from massart.cli.app import app

pytestmark = browser.needed
SPY = """<script>
const seen = { errors: [] };
addEventListener("error", (event) => seen.errors.push(event.message));
addEventListener("load", () => {
  const root = document.documentElement;
  seen.outside = root.scrollWidth > root.clientWidth;
  seen.sections = [...document.querySelectorAll("main section h2")].map((head) => head.textContent);
  const plots = [...document.querySelectorAll("svg.plot")];
  seen.plots = plots.map((plot) => [plot.clientWidth, plot.clientHeight]);
  seen.cut = plots.flatMap((plot) => [...plot.querySelectorAll("text")].filter((text) => {
    const own = text.getBBox(), box = plot.viewBox.baseVal;
    return own.x < -1 || own.y < -1 || own.x + own.width > box.width + 1 || own.y + own.height > box.height + 1;
  }).map((text) => text.textContent));
  seen.colours = plots.flatMap((plot) => [...plot.querySelectorAll("polyline, circle")].map((mark) =>
    getComputedStyle(mark)[mark.tagName === "circle" ? "fill" : "stroke"]));
  document.body.dataset.seen = JSON.stringify(seen);
});
</script>"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("pages"), np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    y = (X[:, 0] > 0) ^ ((X[:, 1] > 0) & (rng.random(2000) < 0.3))
    towns = np.where(X[:, 1] > 0, "a town with a name that is longer than others have", "Ulm")
    diagnosed = massart.diagnose(X, y, groups=towns).page()
    rows = "".join(f"{int(label)} " + " ".join(f"{k + 1}:{value}" for k, value in enumerate(row)) + "\n"
                   for label, row in zip(y, X.tolist(), strict=True))  # fmt: skip
    (folder / "rows.svm").write_text(rows)
    done = CliRunner().invoke(app, ["train", f"{folder}/rows.svm", "--report", f"{folder}/train.html", "--quiet"])
    assert done.exit_code == 0, done.output
    trained = (folder / "train.html").read_text()
    shown = {f"{name} {width}": page for name, page in (("diagnose", diagnosed), ("train", trained))
             for width in (1280, 390)}  # fmt: skip
    allowed = {name: page.replace("style-src 'unsafe-inline'", "style-src 'unsafe-inline'; script-src 'unsafe-inline'")
               for name, page in shown.items()}  # fmt: skip
    return browser.seen(folder, allowed, SPY)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(("page", "plots"), [("diagnose", 3), ("train", 4)])
def test_pages(seen, page, plots, width):
    found = seen[f"{page} {width}"]
    assert found["errors"] == []
    assert not found["outside"], "the page itself does not scroll sideways"
    assert len(found["plots"]) == plots
    assert all(wide >= 300 and high >= 40 for wide, high in found["plots"])
    assert found["cut"] == [], "every text is inside of its picture"
    assert "none" not in found["colours"]
    assert len(found["colours"]) > 5
    assert found["sections"][-2:] == ["How to read this page", "Make this page again"]
