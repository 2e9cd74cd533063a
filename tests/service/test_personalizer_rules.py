"""Personalizer's rules over HTTP: windows, aggregation, modes, what is refused and how."""

import itertools
import json
import time

import msgspec
import numpy as np
import pytest
import service_runs

from massart.service.keys import digest_of
from massart.service.personalizer_features import slots_of
from massart.service.personalizer_slots import Filling
from massart.service.personalizer_types import MultiSlotRankRequest
from massart.service.sqlite import SqliteStore
from massart.service.types import Action, DecideRequest

NEW, OLD = "/personalizer", "/personalizer/v1.0"
A, B, C = ({"id": one, "features": [{"kind": one}]} for one in "ABC")
SLOTS = [{"id": "s", "baselineAction": "C"}, {"id": "t", "baselineAction": "A"}]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    store = SqliteStore(str(folder / "massart.db"))
    store.begin()
    store.add_key("few", digest_of("few"), "decide", 0)
    store.commit()
    store.close()
    with service_runs.served(f"sqlite:///{folder / 'massart.db'}", folder) as service:
        service.client.headers = {"Ocp-Apim-Subscription-Key": service_runs.KEY}
        yield service.client


def loop(client, name, **settings):
    """The address of a loop with these settings."""
    settings = {"reward_range": [-1, 1], "default_reward": 0.0, "crossing": "features", "clip_rewards": True} | settings
    assert client.put(f"/v1/loops/{name}", json=settings).status_code == 201
    return f"/v1/loops/{name}/personalizer"


def ranked(client, base, **more):
    answer = client.post(f"{base}/rank", json={"actions": [A, B, C]} | more)
    assert answer.status_code == 201, answer.text
    return answer.json()


def settled(client, name, event_id):
    while True:
        found = client.get(f"/v1/loops/{name}/events/{event_id}").json()
        if found["settled"] is not None:
            return found["settled"]
        time.sleep(0.02)


def test_several_rewards_become_one(client):
    """All six kinds at once, because each waits for the end of its window."""
    rewards = [0.5, -0.25, 1.0, 0.5, -1.0]
    wanted = {"earliest": 0.5, "sum": 0.75, "average": 0.15, "median": 0.5, "min": -1.0, "max": 1.0}
    for how in wanted:
        base = loop(client, how)
        configuration = client.get(f"{base}/configurations/service").json()
        configuration |= {"rewardAggregation": how, "rewardWaitTime": "00:00:01", "defaultReward": 0.125}
        answer = client.put(f"{base}/v1.0/configurations/service", json=configuration)
        assert answer.json()["rewardWaitTime"] == "PT1S"
        ranked(client, base, eventId="many")
        ranked(client, base, eventId="none")
        ranked(client, base, eventId="deferred", deferActivation=True)
        for value in (*rewards, 1.0):
            client.post(f"{base}/events/deferred/reward", json={"value": value})
        for value in rewards:
            assert client.post(f"{base}/events/many/reward", json={"value": value}).status_code == 204
    for how, value in wanted.items():
        assert settled(client, how, "many")["reward"] == pytest.approx(value), how
        none = settled(client, how, "none")
        assert (none["why"], none["reward"]) == ("default", 0.125)
        assert settled(client, how, "deferred")["why"] == "inactive", "a reward does not activate"


def test_a_request_that_is_sent_again_is_one_reward(client):
    base = loop(client, "again", aggregation="sum", reward_window=1.0)
    ranked(client, base, eventId="e")
    for name in ("x", "x", "y"):
        client.post(f"{base}/events/e/reward", json={"value": 0.25}, headers={"x-ms-client-request-id": name})
    assert settled(client, "again", "e")["reward"] == 0.5


@pytest.mark.parametrize("mode", ["Apprentice", "LoggingOnly"])
def test_the_baseline_is_returned(client, mode):
    base = loop(client, mode)
    configuration = client.get(f"{base}/configurations/service").json() | {"learningMode": mode}
    assert client.put(f"{base}/configurations/service", json=configuration).json()["learningMode"] == mode
    for number in range(12):
        found = ranked(client, base, eventId=f"e{number}", excludedActions=["A"] if number % 2 else [])
        assert found["rewardActionId"] == ("B" if number % 2 else "A")
        client.post(f"{base}/events/e{number}/reward", json={"value": 0.5})
    answer = client.post(f"{base}/multislot/rank", json={"actions": [A, B, C], "slots": SLOTS, "eventId": "m"})
    assert [one["rewardActionId"] for one in answer.json()["slots"]] == ["C", "A"]
    last = settled(client, mode, "e11")
    learned = client.get(f"/v1/loops/{mode}").json()["learned"]
    if mode == "LoggingOnly":
        assert (last["why"], learned) == ("logged", 0)
        return
    assert (last["why"], last["reward"], learned) == ("reward", 0.5, 12)
    found = client.get(f"{base}/configurations/service").json()["latestApprenticeModeMetrics"]
    agreed = sum(
        one["decision"]["preferred"] == one["decision"]["action"]
        for one in (client.get(f"/v1/loops/{mode}/events/e{number}").json() for number in range(12))
    )
    assert (found["numberOfEvents"], found["numberOfImitatedEvents"]) == (12, agreed)
    assert (found["sumOfRewards"], found["sumOfImitatedRewards"]) == (6.0, agreed * 0.5)


def test_the_ranking_begins_with_what_was_chosen(client):
    for number in range(20):
        found = ranked(client, NEW, excludedActions=["B"], eventId=f"ranking-{number}")
        names = [one["id"] for one in found["ranking"]]
        assert names == [found["rewardActionId"], "B", "A" if found["rewardActionId"] == "C" else "C"]
        assert [one["probability"] for one in found["ranking"]][1] == 0.0


RANK = "/rank", "InvalidRankRequest"
MULTI = "/multislot/rank", "InvalidRankRequest"
REWARD = "/events/e/reward", "InvalidRewardRequest"
BOTH = {"actions": [A, B]}
BAD = [
    (*RANK, b"{", "JSON"),
    (*RANK, {}, "actions"),
    (*RANK, {"actions": None}, "actions"),
    (*RANK, {"actions": [None]}, "actions[0] is null"),
    (*RANK, {"actions": [A] * 51}, "51"),
    (*RANK, {"actions": [A, A]}, "its own"),
    (*RANK, {"actions": [{"id": "", "features": [{"a": 1}]}]}, "actions[0].id is empty"),
    (*RANK, {"actions": [{"id": "x" * 257, "features": [{"a": 1}]}]}, "257"),
    (*RANK, {"actions": [{"id": "x"}]}, "actions[0].features"),
    (*RANK, {"actions": [{"id": "x", "features": [{"a": None}]}]}, "not null"),
    (*RANK, {"actions": [{"id": "x", "features": ["a"]}]}, "not an object"),
    (*RANK, {"actions": [{"id": "x", "features": {"a": 1}}]}, "not a list"),
    (*RANK, {"actions": [{"id": "x", "features": [{"": 1}]}]}, "empty"),
    (*RANK, {"actions": [{"id": "x", "features": [{"a": [1, "b"]}]}]}, "numbers only"),
    (*RANK, {"actions": [{"id": "x", "features": [{"a": 1e300}]}]}, "actions[0]"),
    (*RANK, BOTH | {"contextFeatures": [None]}, "contextFeatures[0]"),
    (*RANK, BOTH | {"excludedActions": ["A", "B"]}, "excludedActions"),
    (*RANK, BOTH | {"eventId": ""}, "eventId is empty"),
    (*RANK, BOTH | {"eventId": "x" * 257}, "eventId"),
    (*RANK, BOTH | {"eventId": "x\0"}, "NUL"),
    (*RANK, BOTH | {"eventId": 7}, "eventId"),
    (*MULTI, BOTH, "slots"),
    (*MULTI, BOTH | {"slots": [None]}, "slots[0]"),
    (*MULTI, BOTH | {"slots": [{"id": "s"}]}, "baselineAction"),
    (*MULTI, BOTH | {"slots": [{"id": "s", "baselineAction": "Z"}]}, "baselineAction"),
    (*MULTI, BOTH | {"slots": [{"id": "s", "baselineAction": "A", "excludedActions": ["A"]}]}, "baselineAction"),
    (*MULTI, BOTH | {"slots": [{"id": "s", "baselineAction": "A"}] * 2}, "same id"),
    (*MULTI, BOTH | {"slots": [{"id": one, "baselineAction": "A"} for one in "st"]}, "same baselineAction"),
    (*MULTI, BOTH | {"slots": [{"id": one, "baselineAction": one} for one in "ABC"]}, "slots: there are 3"),
    (*REWARD, {}, "value"),
    (*REWARD, {"value": 1.01}, "-1 to 1"),
    (*REWARD, {"value": "1"}, "value"),
    ("/multislot/events/e/reward", "InvalidRewardRequest", {"reward": [{"slotId": "s", "value": 2}]}, "-1 to 1"),
    ("/events/" + "x" * 257 + "/activate", "InvalidEventIdToActivate", b"", "eventId"),
]


@pytest.mark.parametrize(("path", "code", "body", "words"), BAD, ids=[f"{n}{one[0][:20]}" for n, one in enumerate(BAD)])
def test_what_is_refused(client, path, code, body, words):
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    for base, wanted in ((NEW, code), (f"{NEW}/v1.1-preview.3", code), (OLD, "BadRequest")):
        answer = client.post(base + path, content=sent)
        assert answer.status_code == 400, answer.text
        error = answer.json()["error"]
        assert (set(error), error["code"]) == ({"code", "message"}, wanted)
        assert words in error["message"]
        assert answer.headers.get("x-ms-error-code") == (None if base == OLD else wanted)


CONFIGURATIONS = [
    ({"rewardWaitTime": "soon"}, "InvalidRewardWaitTime"),
    ({"rewardWaitTime": "PT0S"}, "InvalidRewardWaitTime"),
    ({"rewardWaitTime": None}, "InvalidServiceConfiguration"),
    ({"defaultReward": 2}, "InvalidServiceConfiguration"),
    ({"rewardAggregation": "best"}, "InvalidServiceConfiguration"),
    ({"explorationPercentage": 1.1}, "InvalidServiceConfiguration"),
    ({"logRetentionDays": -2}, "InvalidLogRetentionDays"),
    ({"learningMode": "Offline"}, "InvalidLearningModeServiceConfiguration"),
    ({"logMirrorEnabled": True}, "InvalidServiceConfiguration"),
    ({"isAutoOptimizationEnabled": True}, "InvalidServiceConfiguration"),
    ({"modelExportFrequency": "x"}, "InvalidServiceConfiguration"),
]


@pytest.mark.parametrize(("change", "code"), CONFIGURATIONS, ids=[next(iter(one)) for one, _ in CONFIGURATIONS])
def test_what_no_configuration_can_be(client, change, code):
    there = client.get(f"{NEW}/configurations/service").json()
    answer = client.put(f"{NEW}/configurations/service", json=there | change)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert client.get(f"{NEW}/configurations/service").json() == there


def test_a_configuration_given_back_changes_no_model(client):
    base = loop(client, "back", default_reward=None)
    ranked(client, base, eventId="e")
    client.post(f"{base}/events/e/reward", json={"value": 1.0})
    version = settled(client, "back", "e")["version"]
    there = client.get(f"{base}/configurations/service").json()
    assert client.put(f"{base}/configurations/service", json=there).status_code == 200
    assert client.get("/v1/loops/back").json()["model_version"] == version
    assert client.put(f"{base}/configurations/service", json=there | {"explorationPercentage": 0.5}).status_code == 200
    found = client.get("/v1/loops/back").json()
    assert (found["model_version"], found["learned"]) == (version + 1, 1), "the model goes on with another exploration"
    assert client.put(f"{base}/configurations/service", json=there | {"logRetentionDays": 30}).status_code == 200
    assert client.get(f"{base}/configurations/service").json()["logRetentionDays"] == 30
    assert client.get("/v1/loops/back").json()["settings"]["keep_days"] == 30.0
    assert client.put(f"{base}/configurations/service", json=there).json()["logRetentionDays"] == -1
    assert client.get("/v1/loops/back").json()["settings"]["keep_days"] is None


def test_what_it_keeps_is_changed_by_it_alone(client):
    """Else a value that it does not expect would be an error of the service in each later request."""
    base = loop(client, "own")
    there = client.get(f"{base}/configurations/service").json()
    assert (
        client.put(f"{base}/configurations/service", json=there | {"modelExportFrequency": "PT2M"}).status_code == 200
    )
    kept = client.get("/v1/loops/own").json()["settings"]["extra"]
    for extra in ({}, {"personalizer": 5}, {"personalizer": {"configuration": 7, "evaluations": 5}}):
        refused = client.patch("/v1/loops/own", json={"extra": extra})
        assert (refused.status_code, "extra.personalizer" in refused.json()["detail"]) == (422, True)
        if extra:
            assert client.put("/v1/loops/fresh", json={"extra": extra}).status_code == 422
    assert client.patch("/v1/loops/own", json={"extra": kept | {"mine": 1}}).status_code == 200
    assert client.get(f"{base}/configurations/service").json()["modelExportFrequency"] == "PT2M"


def test_errors_have_their_envelope(client):
    for method, path, status, code in (
        ("GET", f"{NEW}/nothing", 404, "ResourceNotFound"),
        ("GET", f"{OLD}/nothing", 404, "ResourceNotFound"),
        ("PATCH", f"{NEW}/rank", 404, "ResourceNotFound"),
        ("GET", "/v1/loops/absent/personalizer/model", 404, "ResourceNotFound"),
        ("GET", f"{NEW}/evaluations/absent", 404, "EvaluationNotFound"),
        ("GET", f"{OLD}/evaluations/absent", 404, "ResourceNotFound"),
        ("GET", "/v1/loops/min/personalizer/evaluations/absent", 404, "EvaluationNotFound"),
    ):
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), path
    few = {"Ocp-Apim-Subscription-Key": "few"}
    assert client.post(f"{NEW}/rank", json=BOTH, headers=few).status_code == 201
    for headers, status in ((few, 403), ({"Ocp-Apim-Subscription-Key": "wrong"}, 401)):
        answer = client.post(f"{NEW}/events/e/reward", json={"value": 1}, headers=headers)
        assert (answer.status_code, set(answer.json())) == (status, {"error"})
    wide = [{f"f{number}": number for number in range(1500)}]
    many = {"contextFeatures": wide, "slots": [{"id": "s", "baselineAction": "A"}]}
    many |= {"actions": [{"id": one, "features": [{f"{one}{n}": n for n in range(20)}]} for one in "ABC"]}
    for path in ("/rank", "/multislot/rank"):
        large = client.post(NEW + path, json=many)
        assert (large.status_code, large.json()["error"]["code"]) == (400, "PayloadSizeExceeded"), path
    long = client.post(f"{NEW}/rank", content=b" " * (1 << 21))
    assert (long.status_code, long.json()["error"]["code"]) == (400, "PayloadSizeExceeded")


def test_an_evaluation_of_the_older_family(client):
    base = loop(client, "older")
    order = {"name": "n", "startTime": "2020-01-01T00:00:00Z", "endTime": "2100-01-01T00:00:00Z", "policies": []}
    answer = client.post(f"{base}/v1.1-preview.1/evaluations", json=order)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "NoLogsExistInDateRange")
    for number in range(30):
        ranked(client, base, eventId=f"e{number}")
        client.post(f"{base}/events/e{number}/reward", json={"value": number % 2})
    settled(client, "older", "e29")
    answer = client.post(f"{base}/v1.0/evaluations", json=order)
    assert answer.status_code == 201
    found = client.get(f"{base}/v1.0/evaluations/{answer.json()['id']}").json()
    assert found == answer.json()
    assert client.get(answer.headers["location"]).json() == found
    assert client.get(f"{base}/v1.0/evaluations").json() == [found]
    online, baseline, uniform = (one["totalSummary"] for one in found["policyResults"])
    assert (online["ipsEstimatorNumerator"], online["ipsEstimatorDenominator"]) == (15.0, 30.0)
    assert (online["averageReward"], online["nonZeroProbability"], online["sumOfSquares"]) == (0.5, 30.0, 15.0)
    assert uniform["nonZeroProbability"] == 30.0
    assert baseline["nonZeroProbability"] == sum(
        client.get(f"/v1/loops/older/events/e{number}").json()["decision"]["action"] == "A" for number in range(30)
    )


def test_features_are_one_object():
    given = json.loads(
        '{"actions": [{"id": "A", "features": [{"x": {"n": 1, "_hidden": 2}}, {"x": {"n": 2, "t": "a"}}, {"t": "a"},'
        ' {"t": "b", "v": [1, 2], "none": null, "b": true}]}], "slots": [{"id": "s", "baselineAction": "A"}]}'
    )
    ((name, request),) = slots_of(msgspec.convert(given, MultiSlotRankRequest))
    assert name == "s"
    assert request.actions[0].features == {"x": {"n": 3, "t": "a"}, "t": ["a", "b"], "v": [1, 2], "b": True}
    assert request.context == {"slot_of_event": {"id": "s", "features": {}}}


def test_every_slot_is_filled():
    """Against all assignments: what is excluded is exactly what no assignment of the later slots allows."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        names = "ABCDE"[: rng.integers(1, 6)]
        count = int(rng.integers(1, len(names) + 1))
        baselines = rng.permutation(list(names)).tolist()[:count]
        out = [[one for one in names if one != first and rng.random() < 0.6] for first in baselines]
        slots = [
            (str(place), DecideRequest([Action(first), *(Action(one) for one in names if one != first)], excluded=own))
            for place, (first, own) in enumerate(zip(baselines, out, strict=True))
        ]
        every = [one for one in itertools.permutations(names, count)
                 if all(action not in own for action, own in zip(one, out, strict=True))]  # fmt: skip
        filling, taken = Filling(slots), ()
        for place in range(count):
            free = set(names) - set(filling.excluded(place))
            assert free == {one[place] for one in every if one[:place] == taken}
            taken += (str(rng.choice(sorted(free))),)
            filling.take(taken[-1])


PIECES = ["null", "true", "-1", "1e999", "1e300", '""', '"A"', '"\\ud800"', '"\\u0000"', "[]", "{}", "[1, 2]", '["a"]',
          '{"": 1}', '{"a": {"b": null}}', "[[[[]]]]", '"PT1M"', '"P99999999999D"', '"9999-12-31T23:59:59Z"',
          '"0001-01-01T00:00:00+23:59"', '"--gap nan"', "123456789012345678901234567890",
          '[{"id": "A", "features": [{"k": 1}], "baselineAction": "A"}]']  # fmt: skip
MEMBERS = ["eventId", "actions", "contextFeatures", "excludedActions", "deferActivation", "slots", "value", "reward",
           "rewardWaitTime", "defaultReward", "rewardAggregation", "explorationPercentage", "modelExportFrequency",
           "logRetentionDays", "learningMode", "name", "arguments", "startTime", "endTime", "policies", "evaluationId",
           "policyName"]  # fmt: skip
ENDS = [("POST", "/rank"), ("POST", "/events/e/reward"), ("POST", "/events/%00/activate"),
        ("POST", "/events/%ff/reward"), ("POST", "/multislot/rank"), ("POST", "/multislot/events/e/reward"),
        ("PUT", "/configurations/service"), ("PUT", "/configurations/policy"), ("PUT", "/evaluations/e"),
        ("POST", "/configurations/applyFromEvaluation"), ("PUT", "/model"),
        ("GET", "/evaluations?top=99999999999999&skip=-1")]  # fmt: skip


def test_whatever_is_sent_is_answered(client):
    rng = np.random.default_rng(0)
    base = loop(client, "whatever")
    for _ in range(40):
        for method, path in ENDS:
            names = rng.choice(MEMBERS, rng.integers(0, 9), replace=False)
            body = ", ".join(f'"{name}": {PIECES[rng.integers(len(PIECES))]}' for name in names)
            sent = f"{{{body}}}".encode() if rng.random() < 0.9 else rng.bytes(20)
            answer = client.request(method, base + path, content=sent)
            assert answer.status_code < 500, (method, path, sent)
            assert answer.status_code < 400 or set(answer.json()) == {"error"}
    assert client.get("/ready").status_code == 200
