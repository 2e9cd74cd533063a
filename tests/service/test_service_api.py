"""API v1 over HTTP: keys, limits, errors, export and import, models, and the document that describes it."""

import itertools
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from service_runs import massart, served

from massart import MonotoneBandit, load, save
from massart.service.app import V1

NUMBERS = itertools.count()
DECIDE = {"actions": ["a", {"id": "b", "features": {"x": 1.5}}, "c"], "context": {"town": "Rome"}}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with served(f"sqlite:///{folder}/a.db", folder) as found:
        yield found


@pytest.fixture
def client(service, request):
    name = f"{request.node.originalname}-{next(NUMBERS)}"
    assert service.client.put(f"/v1/loops/{name}", json={}).status_code == 201
    client = httpx.Client(base_url=f"{service.url}/v1/loops/{name}", headers=service.client.headers, timeout=30)
    with client:
        yield client


def play(client, rounds):
    for number in range(rounds):
        made = client.post("/decide", json=DECIDE | {"event_id": f"e{number}"}).json()
        sent = client.post("/reward", json={"event_id": f"e{number}", "reward": float(made["action"] == "b")})
        assert sent.status_code == 200


def test_batches(client):
    made = client.post("/decide/batch", json=[DECIDE | {"event_id": "x"}, DECIDE | {"event_id": "y", "deferred": True}])
    assert [one["event_id"] for one in made.json()] == ["x", "y"]
    assert client.post("/reward/batch", json=[{"event_id": "x", "reward": 1}]).status_code == 200
    assert client.post("/activate/batch", json=[{"event_id": "y"}]).status_code == 200
    assert client.post("/activate", json={"event_id": "y"}).status_code == 200
    twice = client.post("/decide/batch", json=[DECIDE | {"event_id": "z"}] * 2)
    assert (twice.status_code, twice.headers["content-type"]) == (422, "application/problem+json")
    assert client.get("/events/z").status_code == 404
    event = client.get("/events/y").json()
    assert [one["outcome"] for one in event["rewards"]] == ["joined", "duplicate"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("{", 400, "not JSON"),
        ('{"actions": []}', 422, "there are none"),
        ('{"actions": ["a", "a"]}', 422, "twice"),
        ('{"actions": ["a"], "excluded": ["a"]}', 422, "all actions are excluded"),
        ('{"actions": ["a"], "unknown": 1}', 422, "unknown"),
        ('{"actions": ["a"], "event_id": ""}', 422, "length >= 1"),
        ('{"actions": ["a"], "context": {"x": 1e300}}', 422, "context.x"),
        ('{"actions": [{"id": "a", "features": {"x": ["y", {"z": [[[[1]]]]}]}}]}', 200, ""),
        (json.dumps({"actions": [f"a{i}" for i in range(1001)]}), 413, "1000 are allowed"),
        (json.dumps({"actions": ["a"] * 2, "context": {f"f{i}": 1 for i in range(25_000)}}), 413, "features"),
        ("x" * (1 << 20) + "x", 413, "bytes"),
        ('{"actions": ["a"], "context": ' + "[" * 3000 + "]" * 3000 + "}", 422, ""),
    ],
)
def test_bad_requests(client, body, status, words):
    found = client.post("/decide", content=body)
    assert found.status_code == status, found.text
    if status != 200:
        assert words in found.json()["detail"]
        assert found.json().keys() >= {"type", "title", "status", "detail"}


def test_keys_and_scopes(service, client):
    made = service.client.put("/v1/keys/app", json={"scopes": ["decide"]}).json()
    with httpx.Client(base_url=client.base_url, headers={"x-api-key": made["key"]}) as app:
        assert app.post("/decide", json=DECIDE).status_code == 200
        for answer in (app.post("/reward", json={"event_id": "e", "reward": 1}), app.get("/state"), app.post("/reset")):
            assert answer.status_code == 403
        assert service.client.delete("/v1/keys/app").status_code == 204
        refused = app.post("/decide", json=DECIDE)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert httpx.get(f"{service.url}/v1/loops").status_code == 401
    assert httpx.get(f"{service.url}/metrics").status_code == 401
    actions = [entry["action"] for entry in service.client.get("/v1/audit").json()["entries"]]
    assert actions[:2] == ["DELETE /v1/keys/{key}", "PUT /v1/keys/{key}"]
    assert made["key"] not in service.client.get("/v1/keys").text


@pytest.mark.parametrize(
    ("log_format", "crossing"), [("jsonl", "ids"), ("jsonl", "features"), ("dsjson", "features"), ("parquet", "ids")]
)
def test_export_is_what_evaluate_reads(client, tmp_path, log_format, crossing):
    assert (
        client.patch(str(client.base_url).rstrip("/"), json={"crossing": crossing, "exploration": 0.3}).status_code
        == 200
    )
    play(client, 120)
    path = tmp_path / f"log.{log_format}"
    path.write_bytes(client.get("/export", params={"format": log_format}).content)
    done = massart("evaluate", str(path), "--json", "--policy", "uniform")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["decisions"] == 120
    assert client.get("/state").json()["mean_reward"] == pytest.approx(found["logged_value"])


def test_import_of_the_exported_log(client, service):
    play(client, 50)
    log = client.get("/export").content
    assert service.client.put("/v1/loops/copy", json={}).status_code == 201
    found = service.client.post("/v1/loops/copy/import", content=log)
    assert found.json() == {"rounds": 50, "model_version": 2}
    assert "played by another policy" in service.client.get("/v1/loops/copy/certificate").json()["sentence"]
    assert service.client.post("/v1/loops/copy/import", content=b"{}").status_code == 422


def test_models_are_files(client, tmp_path):
    play(client, 60)
    found = client.get("/model")
    assert int(found.headers["massart-model-version"]) >= 60
    path = tmp_path / "shop.massart"
    path.write_bytes(found.content)
    bandit = load(path)
    assert isinstance(bandit, MonotoneBandit)
    assert bandit.rounds == int(found.headers["massart-model-version"]) - 1
    bandit.learn(bandit.choose(["a", "b"], {"town": "Oslo"}), 1.0)
    save(bandit, path)
    assert client.put("/model", content=path.read_bytes()).json()["learned"] == bandit.rounds
    play_again = client.post("/decide", json=DECIDE).json()
    assert play_again["model_version"] == int(found.headers["massart-model-version"]) + 1
    save(MonotoneBandit(reward_range=(0, 2)), path)
    assert client.put("/model", content=path.read_bytes()).status_code == 422
    assert client.put("/model", content=b"PK\3\4 nothing").status_code == 422


def test_pause_reset_state_and_metrics(client, service):
    assert client.post("/pause").json()["settings"]["paused"]
    play(client, 5)
    assert client.get("/state").json()["rewards"] == {"new": 5}
    assert not client.post("/resume").json()["settings"]["paused"]
    while client.get("/state").json()["rewards"] != {"joined": 5}:
        pass
    assert client.post("/reset").json()["learned"] == 0
    text, name = service.client.get("/metrics").text, str(client.base_url).rstrip("/").rpartition("/")[2]
    assert f'massart_rewards_total{{loop="{name}",outcome="joined"}} 5' in text
    events = client.get("/events", params={"limit": 2}).json()
    assert [one["decision"]["event_id"] for one in events["events"]] == ["e4", "e3"]
    assert len(client.get("/events", params={"before": events["next"]}).json()["events"]) == 3


def test_the_document_is_what_is_served(service):
    found = service.client.get("/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert described == {(one.method, one.template) for one in V1}
    for method, path in described:
        answered = service.client.request(method, path.replace("{", "").replace("}", ""))
        assert answered.status_code != 405, (method, path)
        assert b"see /openapi.json" not in answered.content, (method, path)


def test_security_headers(service):
    for path in ("/health", "/nothing", "/v1/loops"):
        headers = httpx.get(f"{service.url}{path}").headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in headers


def test_a_change_is_tried_on_the_log(client):
    """Rewards are equal to begin with, and no change can be shown to be better; later one clearly is."""
    assert client.post("/change", json={"settings": {"exploration": 0.1}}).status_code == 409
    assert client.patch(str(client.base_url).rstrip("/"), json={"exploration": 1.0}).status_code == 200
    for first in range(0, 3000, 500):
        names = [f"e{number}" for number in range(first, first + 500)]
        made = client.post("/decide/batch", json=[DECIDE | {"event_id": name} for name in names]).json()
        paid = [{"event_id": one["event_id"], "reward": float(one["action"] == "b")} for one in made]
        assert client.post("/reward/batch", json=paid).status_code == 200
    tried = client.post("/change", json={"settings": {"exploration": 0.1}, "apply": False}).json()
    assert tried["trial"]["passed"]
    assert tried["trial"]["low"] > 0.2  # a random action earns 1/3, the right one 1
    worse = client.post("/change", json={"settings": {"exploration": 1.0}})
    assert worse.status_code == 409
    assert worse.json()["details"]["trial"]["low"] < 0
    changed = client.post("/change", json={"settings": {"exploration": 0.1}}).json()
    assert changed["applied"]
    assert changed["loop"]["learned"] == 3000
    best = max(client.post("/decide", json=DECIDE).json()["actions"], key=lambda one: one["probability"])
    assert best["id"] == "b"


def test_exploration_changes_and_the_model_goes_on(client, service):
    url = str(client.base_url).rstrip("/")
    play(client, 40)
    before, waits = client.get("/state").json()["loop"], client.post("/decide", json=DECIDE).json()
    changed = client.patch(url, json={"exploration": 0.6})
    assert changed.status_code == 200
    assert (changed.json()["learned"], changed.json()["model_version"]) == (40, before["model_version"] + 1)
    found = client.post("/decide", json=DECIDE).json()
    assert min(one["probability"] for one in found["actions"]) >= 0.6 / 3 - 1e-12
    assert min(one["probability"] for one in waits["actions"]) < 0.6 / 3 - 1e-3
    assert "exploration was changed" in client.get("/certificate").json()["sentence"]
    assert client.get("/certificate").json()["guaranteed_lift"] is None
    for one in (waits, found):
        client.post("/reward", json={"event_id": one["event_id"], "reward": 1.0})
    while client.get("/state").json()["loop"]["learned"] < 42:
        pass
    for settings in ({"gap": 0.1}, {"exploration": 0.1, "reward_range": [0, 2]}, {"crossing": "features"}):
        refused = client.patch(url, json=settings)
        assert refused.status_code == 409
        assert "forget 42 rounds" in refused.json()["detail"]
        assert ("/change" in refused.json()["detail"]) == ("crossing" not in settings)
    assert client.get("/state").json()["loop"]["settings"]["exploration"] == 0.6
    assert client.patch(url, json={"gap": 0.1, "reset": 1}).status_code == 422
    anew = client.patch(url, json={"gap": 0.1, "reset": True}).json()
    assert (anew["learned"], anew["settings"]["gap"]) == (0, 0.1)
    assert "reset" not in anew["settings"]
    assert client.patch(url, json={"margin": 0.1}).json()["settings"]["margin"] == 0.1  # nothing is forgotten


def test_a_known_gap_and_margin_stay_guaranteed(client):
    """Theorem 17 holds for any exploration of each round."""
    url = str(client.base_url).rstrip("/")
    client.patch(url, json={"gap": 0.1, "margin": 0.1})
    body = {"actions": [{"id": i, "features": {i: 0.5}} for i in "ab"], "event_id": "e"}
    client.post("/decide", json=body)
    client.post("/reward", json={"event_id": "e", "reward": 1.0})
    client.patch(url, json={"exploration": 0.5})
    found = client.get("/certificate").json()
    assert (found["rounds"], found["guaranteed_lift"] is None) == (1, False)


def test_changes_at_once_are_all_made(client):
    """Each changes one setting, and none is lost."""
    url, settings = str(client.base_url).rstrip("/"), {
        "reward_window": 5.0, "default_reward": 0.5, "aggregation": "max", "hold_rewards": True, "clip_rewards": True,
        "mode": "apprentice", "exploration": 0.3, "keep_days": 7.0, "actions": [{"id": "a"}],
    }  # fmt: skip
    with ThreadPoolExecutor(len(settings)) as threads:
        found = list(threads.map(lambda one: client.patch(url, json=dict([one])).status_code, settings.items()))
    assert set(found) == {200}
    after = client.get("/state").json()["loop"]["settings"]
    assert {name: after[name] for name in settings} == settings


def test_health_names_causes(client):
    for first in range(0, 200, 100):
        names = [f"e{number}" for number in range(first, first + 100)]
        body = {"actions": [{"id": i, "features": {"same": 1, i: 1}} for i in "ab"], "context": {"constant": 1}}
        client.post("/decide/batch", json=[body | {"event_id": name} for name in names])
        client.post("/reward/batch", json=[{"event_id": name, "reward": 0.5} for name in names])
        client.post("/reward/batch", json=[{"event_id": f"no-{name}", "reward": 0.5} for name in names])
    found = client.get("/health").json()
    assert not found["healthy"]
    names = {one["name"] for one in found["findings"]}
    assert {"rewards-equal", "rewards-unknown", "context-constant", "features-shared"} <= names
    assert all(one["cause"] and one["advice"] for one in found["findings"])


def test_settings_from_a_file(tmp_path, capfd):
    """Limits, and a line of JSON per request that has no values in it."""
    (tmp_path / "massart.toml").write_text("access_log = true\n[limits]\nrate = 5\nactions = 2\n")
    with served(f"sqlite:///{tmp_path}/a.db", tmp_path, "--config", str(tmp_path / "massart.toml")) as service:
        service.client.put("/v1/loops/shop", json={})
        assert service.client.post("/v1/loops/shop/decide", json=DECIDE).status_code == 413
        found = [service.client.get("/v1/loops") for _ in range(20)]
        assert {one.status_code for one in found} == {200, 429}
        assert found[-1].headers["retry-after"] == "1"
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert {"/v1/loops", "/v1/loops/{loop}/decide"} <= {line["route"] for line in lines}
    assert set(lines[0]) == {"time", "method", "route", "status", "ms"}
    (tmp_path / "wrong.toml").write_text("ports = 1\n")
    done = massart("serve", "--db", f"sqlite:///{tmp_path}/b.db", "--config", str(tmp_path / "wrong.toml"))
    assert done.returncode == 2
    assert "there is no setting 'ports'" in done.stderr


def test_a_port_that_is_in_use(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = massart("serve", "--db", f"sqlite:///{tmp_path / 'a.db'}", "--port", str(port))
    assert done.returncode == 2
    assert done.stderr.startswith(f"massart serve: cannot listen at 127.0.0.1, port {port} (")
    assert not list(tmp_path.iterdir())


def test_a_database_that_is_not_there_is_not_made_to_be_replayed(tmp_path):
    done = massart("replay", "--db", f"sqlite:///{tmp_path / 'a.db'}")
    assert (done.returncode, done.stderr) == (2, f"massart replay: {tmp_path / 'a.db'} does not exist\n")
    assert not list(tmp_path.iterdir())
