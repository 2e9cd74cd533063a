"""The dashboard in a browser: log in, watch the lift move, change a setting; on a phone, in light and in dark."""

import shutil

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright
from service_runs import KEY, served

from massart import worlds
from massart.client import Client
from massart.service.dashboard import POLICY

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium, and run again")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
           "--disable-component-update", "--disable-sync"]  # fmt: skip
SPY = """window.seen = [];
addEventListener("securitypolicyviolation", (event) => seen.push(`${event.violatedDirective} ${event.blockedURI}`));
addEventListener("error", (event) => seen.push(event.message));
addEventListener("unhandledrejection", (event) => seen.push(String(event.reason)));"""
EVIL = "<img src=x onerror=seen.push(1)>"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dashboard")
    with served(f"sqlite:///{folder / 'dashboard.db'}", folder) as found:
        yield found


@pytest.fixture(scope="module")
def client(service):
    with Client(service.url, KEY, seed=0) as found:
        found.create_loop("simpson", exploration=0.2)
        play(found, 0, 60)
        found.create_stream("mail", classes=["no", EVIL], hash_bits=8)
        teach(found, 0, 120)
        yield found


@pytest.fixture(scope="module")
def reader(service, client):
    """A key that may only look."""
    return service.client.put("/v1/keys/reader", json={"scopes": ["read"]}).json()["key"]


def play(client, first, last):
    """Rounds of the Simpson world; one id is not what a page should show as it is."""
    chunk = worlds.make("simpson", seed=3).take(last)
    for number in range(first, last):
        actions = {f"arm {place}": row.tolist() for place, row in enumerate(chunk.contexts[number])}
        actions[EVIL] = actions.pop("arm 4")
        decided = client.decide("simpson", actions)
        client.reward("simpson", decided.event_id, float(chunk.rewards[number, decided.index]))


def teach(client, first, last):
    """Rows of which each tenth has a wrong label."""
    draws = np.random.default_rng(4).normal(size=(last, 2))
    rows = [
        {"features": {"a": a, "b": b}, "label": ("no", EVIL)[int(a > 0) ^ int(number % 10 == 9)]}
        for number, (a, b) in enumerate(draws.tolist())
    ]
    for start in range(first, last, 20):
        client.learn_all("mail", rows[start : min(last, start + 20)])


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        yield found
        found.close()


@pytest.fixture
def open_page(service, browser):
    """A function that opens the dashboard; at the end no page has seen an error, and none asked another host."""
    contexts, elsewhere = [], []

    def opened(width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        context.add_init_script(SPY)
        page = context.new_page()
        page.on(
            "request", lambda one: elsewhere.append(one.url) if not one.url.startswith((service.url, "data:")) else None
        )
        page.goto(service.url)
        return page

    yield opened
    for context in contexts:
        assert context.pages[0].evaluate("seen") == []
        context.close()
    assert elsewhere == []


def log_in(page, key=KEY):
    page.fill("#key", key)
    page.click("#login-form button")


@in_browser
def test_a_wrong_key_is_refused(open_page):
    page = open_page()
    log_in(page, "a key that nobody knows, of many characters")
    expect(page.locator("#login-error")).to_contain_text("not known")
    expect(page.locator("#page")).to_be_hidden()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0
    log_in(page)
    expect(page.locator("#page")).to_be_visible()
    expect(page.locator("#login")).to_be_hidden()
    page.click("#leave")
    expect(page.locator("#login")).to_be_visible()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0


@in_browser
def test_the_lift_moves(open_page, client):
    page = open_page()
    log_in(page)
    lift, decisions = page.locator("#tile-lift dd"), page.locator("#tiles")
    expect(page.locator("#chart-lift .main-svg").first).to_be_visible()
    before = lift.inner_text()
    shown = client.overview("simpson")["series"]
    assert before == f"{shown['lift_over_random']['value']:+.3f}"
    page.hover("#chart-lift .nsewdrag", position={"x": 300, "y": 60})
    expect(page.locator("#chart-lift .hoverlayer")).to_contain_text("over a random action")
    play(client, 60, 100)
    after = f"{client.overview('simpson')['series']['lift_over_random']['value']:+.3f}"
    assert after != before
    expect(lift).to_have_text(after)
    expect(decisions).to_contain_text("100 settled")
    rows = page.locator("#events tr")
    assert rows.count() == 20
    assert page.evaluate("document.querySelectorAll('#events img').length") == 0
    for chart in ("reward", "actions", "exploration", "delay"):
        assert page.locator(f"#chart-{chart} .main-svg").count() > 0


@in_browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_stream(open_page, client, width, scheme):
    page = open_page(width, scheme)
    log_in(page)
    page.select_option("#loops", "stream=mail")
    expect(page.locator("#stream-name")).to_have_text("mail")
    expect(page.locator("#loop")).to_be_hidden()
    expect(page.locator("#chart-error .main-svg").first).to_be_visible()
    before = client.stream_state("mail")
    error = page.locator("#tile-error dd")
    expect(error).to_have_text(f"{before['mistakes'] / before['stream']['learned']:.1%}")
    expect(page.locator("#stream-tiles")).to_contain_text(f"{before['mistakes']} mistakes")
    said = client.stream_certificate("mail")["sentence"]
    expect(page.locator("#certificate")).to_contain_text(said[1:])
    assert page.evaluate("document.querySelectorAll('#stream img').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page does not scroll sideways"
    teach(client, before["recorded"], before["recorded"] + 40)
    after = client.stream_state("mail")
    expect(error).to_have_text(f"{after['mistakes'] / after['stream']['learned']:.1%}")
    expect(page.locator("#stream-tiles")).to_contain_text(f"{after['stream']['learned']}")
    page.reload()
    expect(page.locator("#stream-name")).to_be_visible()
    page.select_option("#loops", "loop=simpson")
    expect(page.locator("#name")).to_have_text("simpson")
    expect(page.locator("#stream")).to_be_hidden()


@in_browser
def test_settings_are_changed_after_a_confirmation(open_page, service, client, reader):
    page = open_page()
    log_in(page)
    field, change = page.locator("#setting-reward_window"), page.locator("#settings-change")
    expect(field).to_have_value("600")
    expect(change).to_be_disabled()
    field.fill("120")
    change.click()
    expect(page.locator("#changes")).to_contain_text("Reward window (seconds)")
    assert page.locator("#changes td").all_inner_texts()[1:] == ["600", "120"]
    page.click("#confirm-no")
    assert client.state("simpson")["loop"]["settings"]["reward_window"] == 600.0
    expect(field).to_have_value("120")
    change.click()
    page.click("#confirm-yes")
    expect(page.locator("#confirm")).to_be_hidden()
    expect(change).to_be_disabled()
    assert client.state("simpson")["loop"]["settings"]["reward_window"] == 120.0
    field.fill("-1")
    change.click()
    page.click("#confirm-yes")
    expect(page.locator("#confirm-error")).to_contain_text("reward_window")
    page.click("#confirm-no")
    page.click("#settings-undo")
    expect(field).to_have_value("120")

    page.fill("#setting-exploration", "0.9")
    change.click()
    expect(page.locator("#confirm-model")).to_be_visible()
    learned = client.state("simpson")["loop"]["learned"]
    page.click("#confirm-yes")
    expect(page.locator("#confirm")).to_be_hidden()
    state = client.state("simpson")["loop"]
    assert (state["settings"]["exploration"], state["learned"]) == (0.9, learned)
    expect(page.locator("#guarantee")).to_contain_text("exploration was changed")

    other = open_page()
    log_in(other, reader)
    other.locator("#setting-paused").check()
    other.click("#settings-change")
    other.click("#confirm-yes")
    expect(other.locator("#confirm-error")).to_contain_text("scope admin")
    assert not client.state("simpson")["loop"]["settings"]["paused"]


@in_browser
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_phone_and_colours(open_page, client, scheme, dark):
    page = open_page(390, scheme)
    log_in(page)
    expect(page.locator("#chart-lift .main-svg").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page does not scroll sideways"
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, colour[4:-1].split(","))) < 200) == dark


@in_browser
def test_a_service_that_goes_away(open_page, service, client):
    page = open_page()
    log_in(page)
    expect(page.locator("#live")).to_contain_text("live")
    page.route("**/v1/**", lambda route: route.abort())
    expect(page.locator("#notice")).to_contain_text("does not answer")
    page.unroute("**/v1/**")
    expect(page.locator("#notice")).to_be_hidden()


def test_files_of_the_page(service):
    page = httpx.get(service.url)
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "<style" not in page.text
    assert " style=" not in page.text
    plotly = httpx.get(f"{service.url}/dashboard/plotly.js")
    assert plotly.text.startswith("/**\n* plotly.js v")
    assert plotly.headers["content-type"].startswith("text/javascript")
    again = httpx.get(f"{service.url}/dashboard/plotly.js", headers={"if-none-match": plotly.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = httpx.get(f"{service.url}/dashboard/app.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == httpx.get(f"{service.url}/dashboard/app.js").content
    for name in ("nothing.js", "__init__.py", "..%2Fkeys.py", "%2e%2e%2fkeys.py"):
        assert httpx.get(f"{service.url}/dashboard/{name}").status_code == 404
    assert httpx.get(f"{service.url}/v1/loops").status_code == 401
