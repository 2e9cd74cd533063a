"""OpenFeature's client with its OFREP provider, unchanged, against `massart serve`; and the protocol itself."""

import json
import time

import pytest
import service_runs
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

FLAGS = "/ofrep/v1/evaluate/flags"
COLOURS = {"actions": [{"id": "red"}, {"id": "green"}, {"id": "blue"}]}
SIZES = {
    "actions": [{"id": "small"}, {"id": "large"}],
    "extra": {"openfeature": {"values": {"small": 10, "large": 20}}},
}

WINDOW = 3.2e8  # seconds: ten years, so that no half of it ends while a test runs


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flags")
    with service_runs.served(f"sqlite:///{folder / 'massart.db'}", folder) as running:
        for name, settings in (("colour", COLOURS | {"exploration": 1.0}), ("size", SIZES), ("no-flag", {})):
            own = settings | {"reward_window": WINDOW}
            assert running.client.put(f"/v1/loops/{name}", json=own).status_code == 201
        yield running


@pytest.fixture
def flags(service):
    yield client_of(service)
    api.shutdown()


def client_of(service, key=service_runs.KEY):
    provider = OFREPProvider(service.url, headers_factory=lambda: {"X-API-Key": key})
    api.set_provider(provider, "tests")
    return api.get_client("tests")


def event(service, loop, event_id):
    while True:
        found = service.client.get(f"/v1/loops/{loop}/events/{event_id}").json()
        if found["settled"] is not None:
            return found
        time.sleep(0.02)


def rewarded(service, loop, event_id, reward):
    assert service.client.post(
        f"/v1/loops/{loop}/reward", json={"event_id": event_id, "reward": reward}
    ).is_success  # fmt: skip


def test_a_loop_is_a_flag(service, flags):
    found = flags.get_string_details("colour", "none", EvaluationContext("ann", {"town": "Rome"}))
    assert found.error_code is None
    assert found.value == found.variant in {"red", "green", "blue"}
    assert found.reason == "SPLIT"
    metadata = found.flag_metadata
    assert 0.0 < metadata["probability"] <= 1.0
    assert (metadata["modelVersion"], metadata["mode"]) == (1, "online")
    rewarded(service, "colour", metadata["eventId"], 1.0)
    logged = event(service, "colour", metadata["eventId"])
    assert (logged["decision"]["action"], logged["settled"]["reward"]) == (found.value, 1.0)
    assert flags.get_string_value("colour", "none") in {"red", "green", "blue"}


def test_actions_may_have_values_of_other_types(flags):
    found = flags.get_integer_details("size", 0, EvaluationContext("ann"))
    assert (found.value, found.variant) in {(10, "small"), (20, "large")}
    wrong = flags.get_boolean_details("size", False, EvaluationContext("ann"))
    assert (wrong.value, wrong.error_code) == (False, ErrorCode.TYPE_MISMATCH)


def test_a_targeting_key_has_one_decision_for_a_while(service, flags):
    names = [f"user-{number}" for number in range(30)]
    first = {name: flags.get_string_details("colour", "", EvaluationContext(name, {"town": "Rome"})) for name in names}
    again = {name: flags.get_string_details("colour", "", EvaluationContext(name, {"town": "Rome"})) for name in names}
    assert first == again
    assert len({one.flag_metadata["eventId"] for one in first.values()}) == 30
    assert len({one.value for one in first.values()}) > 1
    other = flags.get_string_details("colour", "", EvaluationContext(names[0], {"town": "Oslo"}))
    assert other.flag_metadata["eventId"] != first[names[0]].flag_metadata["eventId"]
    without = [flags.get_string_details("colour", "").flag_metadata["eventId"] for _ in range(2)]
    assert without[0] != without[1]
    body = service.client.get(f"/v1/loops/colour/events/{first[names[0]].flag_metadata['eventId']}").text
    assert names[0] not in body, "the targeting key is not a feature and not in the log"


def test_an_event_id_in_the_context_is_the_event(service, flags):
    context = {"town": "Rome", "eventId": "view-17"}
    first, again = (flags.get_string_details("colour", "", EvaluationContext("ann", dict(context))) for _ in range(2))
    assert first == again
    assert first.flag_metadata["eventId"] == "view-17"
    other = flags.get_string_details("colour", "", EvaluationContext("ann", context | {"town": "Oslo"}))
    assert (other.value, other.error_code) == ("", ErrorCode.INVALID_CONTEXT)
    rewarded(service, "colour", "view-17", 0.5)
    assert event(service, "colour", "view-17")["settled"]["reward"] == 0.5


def test_errors_reach_the_client(service, flags):
    for name in ("absent", "no-flag", "a/b"):
        found = flags.get_string_details(name, "default")
        assert (found.value, found.error_code) == ("default", ErrorCode.FLAG_NOT_FOUND)
    found = flags.get_string_details("colour", "default", EvaluationContext("ann", {"age": 1e300}))
    assert (found.value, found.error_code) == ("default", ErrorCode.INVALID_CONTEXT)
    found = client_of(service, "wrong").get_string_details("colour", "default")
    assert (found.value, found.error_code, found.error_message) == ("default", ErrorCode.GENERAL, "unauthorized")


def test_the_model_learns_and_its_log_can_be_replayed(tmp_path):
    """At random 33 of 100 evaluations are rewarded, with a standard deviation of 4.7."""
    db = f"sqlite:///{tmp_path / 'massart.db'}"
    with service_runs.served(db, tmp_path) as service:
        service.client.put("/v1/loops/colour", json=COLOURS)
        flags, earned = client_of(service), []
        for number in range(250):
            town, liked = (("Rome", "blue"), ("Oslo", "green"))[number % 2]
            found = flags.get_string_details("colour", "", EvaluationContext(f"user-{number}", {"town": town}))
            earned.append(float(found.value == liked))
            rewarded(service, "colour", found.flag_metadata["eventId"], earned[-1])
        api.shutdown()
    assert sum(earned[150:]) >= 60
    replayed = service_runs.massart("replay", "--db", db, "--json", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert json.loads(replayed.stdout)["different"] == 0


def test_all_flags_at_once(service):
    body = {"context": {"targetingKey": "bob", "town": "Rome"}}
    answer = service.client.post(FLAGS, json=body)
    assert answer.status_code == 200
    found = {one["key"]: one for one in answer.json()["flags"]}
    assert list(found) == ["colour", "size"]
    assert set(found["colour"]) == {"key", "reason", "variant", "value", "metadata"}
    tag = answer.headers["etag"]
    same = service.client.post(FLAGS, json=body, headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert service.client.post(FLAGS, json=body).json() == answer.json()
    other = service.client.post(FLAGS, json={"context": {"targetingKey": "eve"}}, headers={"If-None-Match": tag})
    assert (other.status_code, other.headers["etag"] != tag) == (200, True)
    name = found["colour"]["metadata"]["eventId"]
    rewarded(service, "colour", name, 1.0)
    time.sleep(0.3)
    assert service.client.get(f"/v1/loops/colour/events/{name}").json()["settled"] is None, "it was not shown yet"
    assert service.client.post("/v1/loops/colour/activate", json={"event_id": name}).is_success
    assert event(service, "colour", name)["settled"]["reward"] == 1.0
    assert "etag" not in service.client.post(FLAGS, json={}).headers
    assert service.client.post(FLAGS, json={}).json()["flags"][0]["metadata"]["eventId"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (f"{FLAGS}/colour", b"{", 400, "PARSE_ERROR"),
        (FLAGS, b"[]", 400, "INVALID_CONTEXT"),
        (f"{FLAGS}/colour", b'{"context": {"targetingKey": 7}}', 400, "INVALID_CONTEXT"),
        (f"{FLAGS}/colour", b'{"context": {"eventId": ""}}', 400, "INVALID_CONTEXT"),
        (f"{FLAGS}/absent", b"{}", 404, "FLAG_NOT_FOUND"),
    ],
)
def test_what_is_refused(service, path, body, status, code):
    answer = service.client.post(path, content=body)
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)
    assert answer.json()["errorDetails"]
