"""Personalizer's own clients, unchanged, against `massart serve`: rank, reward, activate, slots, administration."""

import datetime
import json
import time

import pytest
import service_runs
from azure.ai.personalizer import PersonalizerAdministrationClient
from azure.ai.personalizer import PersonalizerClient as NewClient
from azure.cognitiveservices.personalizer import PersonalizerClient as OldClient
from azure.cognitiveservices.personalizer.models import ErrorResponseException, RankableAction, RankRequest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from msrest.authentication import CognitiveServicesCredentials

KINDS = {"N": "news", "S": "sport", "F": "film"}
ACTIONS = [{"id": one, "features": [{"kind": kind}, {"long": kind == "film"}]} for one, kind in KINDS.items()]
USER = [{"user": {"plan": "pro", "visits": 3}}, {"device": {"mobile": True}}]
SLOTS = [
    {"id": "hero", "baselineAction": "N", "features": [{"size": "large"}]},
    {"id": "side", "baselineAction": "S", "positionFeatures": [{"size": "small"}], "excludedActions": ["F"]},
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("personalizer")
    with service_runs.served(f"sqlite:///{folder / 'massart.db'}", folder) as running:
        yield running


@pytest.fixture
def new(service):
    with NewClient(service.url, AzureKeyCredential(service_runs.KEY)) as client:
        yield client


@pytest.fixture
def admin(service):
    client = PersonalizerAdministrationClient(service.url, AzureKeyCredential(service_runs.KEY))
    yield client
    client.close()


@pytest.fixture
def old(service):
    with OldClient(service.url, CognitiveServicesCredentials(service_runs.KEY)) as client:
        yield client


def event(service, event_id, loop="personalizer", *, settled=True):
    """What the service knows of an event, once it is settled."""
    while True:
        found = service.client.get(f"/v1/loops/{loop}/events/{event_id}").json()
        if found["settled"] is not None or not settled:
            return found
        time.sleep(0.02)


def old_request(**more):
    actions = [RankableAction(id=one["id"], features=one["features"]) for one in ACTIONS]
    return RankRequest(actions=actions, context_features=USER, **more)


def test_the_older_client_ranks_and_rewards(service, old):
    answer = old.rank(old_request(event_id="old-1", excluded_actions=["S"]))
    assert answer.event_id == "old-1"
    assert answer.reward_action_id in {"N", "F"}
    assert [one.id for one in answer.ranking][1] == "S", "an excluded action stays in its place"
    chances = {one.id: one.probability for one in answer.ranking}
    assert chances["S"] == 0.0
    assert sum(chances.values()) == pytest.approx(1.0)
    old.events.reward("old-1", value=0.75)
    found = event(service, "old-1")
    assert (found["settled"]["why"], found["settled"]["reward"]) == ("reward", 0.75)
    assert found["decision"]["action"] == answer.reward_action_id
    assert old.rank(old_request()).event_id != old.rank(old_request()).event_id


def test_the_older_client_activates(service, old):
    old.rank(old_request(event_id="old-2", defer_activation=True))
    old.events.reward("old-2", value=1.0)
    time.sleep(0.3)
    assert event(service, "old-2", settled=False)["settled"] is None, "it was not activated"
    old.events.activate("old-2")
    assert event(service, "old-2")["settled"]["reward"] == 1.0


def test_errors_reach_the_older_client(service, old):
    with pytest.raises(ErrorResponseException) as caught:
        old.rank(RankRequest(actions=[RankableAction(id="A", features=[])]))
    assert caught.value.response.status_code == 400
    assert caught.value.error.error.code == "BadRequest"
    assert "actions[0].features" in caught.value.error.error.message
    with (
        OldClient(service.url, CognitiveServicesCredentials("wrong")) as stranger,
        pytest.raises(ErrorResponseException) as caught,
    ):
        stranger.rank(old_request())
    assert caught.value.response.status_code == 401
    old.events.reward("never ranked", value=1.0)  # not an error: rewards are joined later


def test_the_newer_client_ranks_and_rewards(service, new):
    request = {"eventId": "new-1", "actions": ACTIONS, "contextFeatures": USER}
    answer = new.rank(request)
    assert set(answer) == {"ranking", "eventId", "rewardActionId"}
    assert answer["ranking"][0]["id"] == answer["rewardActionId"]
    assert new.rank(request) == answer, "the event id is the idempotency key"
    with pytest.raises(ResourceExistsError):
        new.rank(request | {"contextFeatures": []})
    new.reward("new-1", {"value": -1.0})
    assert event(service, "new-1")["settled"]["reward"] == -1.0
    new.rank(request | {"eventId": "new-2", "deferActivation": True})
    new.activate("new-2")
    new.reward("new-2", {"value": 0.5})
    assert event(service, "new-2")["settled"]["reward"] == 0.5


def test_the_newer_client_fills_slots(service, new):
    request = {"eventId": "slots-1", "actions": ACTIONS, "contextFeatures": USER, "slots": SLOTS}
    answer = new.rank_multi_slot(request)
    taken = {one["id"]: one["rewardActionId"] for one in answer["slots"]}
    assert answer["eventId"] == "slots-1"
    assert list(taken) == ["hero", "side"]
    assert taken["side"] != "F"
    assert taken["hero"] != taken["side"]
    assert new.rank_multi_slot(request) == answer
    with pytest.raises(ResourceExistsError):
        new.rank_multi_slot(request | {"slots": SLOTS[:1]})
    with pytest.raises(ResourceExistsError):
        new.rank_multi_slot(request | {"contextFeatures": []})
    new.reward_multi_slot("slots-1", {"reward": [{"slotId": "side", "value": 1.0}, {"slotId": "none", "value": 1.0}]})
    assert event(service, "slots-1/slot/1")["settled"]["reward"] == 1.0
    new.reward_multi_slot("slots-1", {"reward": [{"slotId": "hero", "value": 0.25}]})
    assert event(service, "slots-1/slot/0")["settled"]["reward"] == 0.25
    assert event(service, "slots-1/slot/0")["decision"]["action"] == taken["hero"]


def test_deferred_slots_are_activated_together(service, new):
    request = {"actions": ACTIONS, "slots": SLOTS, "deferActivation": True}
    name = new.rank_multi_slot(request)["eventId"]
    new.reward_multi_slot(name, {"reward": [{"slotId": "hero", "value": 1.0}, {"slotId": "side", "value": 0.5}]})
    time.sleep(0.3)
    assert event(service, f"{name}/slot/0", settled=False)["settled"] is None
    new.activate_multi_slot(name)
    assert [event(service, f"{name}/slot/{place}")["settled"]["reward"] for place in (0, 1)] == [1.0, 0.5]


def test_errors_reach_the_newer_client(service, new):
    with pytest.raises(HttpResponseError) as caught:
        new.rank({"actions": []})
    assert (caught.value.status_code, caught.value.error.code) == (400, "InvalidRankRequest")
    assert caught.value.response.headers["x-ms-error-code"] == "InvalidRankRequest"
    with pytest.raises(HttpResponseError) as caught:
        new.reward("new-1", {"value": 1.5})
    assert (caught.value.status_code, caught.value.error.code) == (400, "InvalidRewardRequest")
    stranger = NewClient(service.url, AzureKeyCredential("wrong"))
    with stranger, pytest.raises(ClientAuthenticationError):
        stranger.rank({"actions": ACTIONS})


def test_a_client_reaches_other_loops_by_its_endpoint(service):
    service.client.put("/v1/loops/news", json={"reward_range": [-1, 1], "crossing": "features"})
    endpoint = f"{service.url}/v1/loops/news"
    with NewClient(endpoint, AzureKeyCredential(service_runs.KEY)) as client:
        client.rank({"eventId": "e", "actions": ACTIONS})
    with OldClient(endpoint, CognitiveServicesCredentials(service_runs.KEY)) as client:
        client.events.reward("e", value=1.0)
    assert event(service, "e", "news")["settled"]["reward"] == 1.0


def test_the_administrator_sees_and_changes_the_configuration(service, admin):
    found = admin.get_service_configuration()
    assert (found["rewardWaitTime"], found["learningMode"], found["rewardAggregation"]) == (
        "PT10M",
        "Online",
        "earliest",
    )
    changed = admin.update_service_configuration(found | {"rewardWaitTime": "PT4H", "rewardAggregation": "sum"})
    assert changed["rewardWaitTime"] == "PT4H"
    assert admin.get_service_configuration()["rewardAggregation"] == "sum"
    with pytest.raises(HttpResponseError) as caught:
        admin.update_service_configuration(found | {"learningMode": "Apprentice"})
    assert caught.value.error.code == "InvalidLearningModeServiceConfiguration"
    admin.update_service_configuration(found)
    assert admin.get_policy() == {"name": "massart", "arguments": ""}
    assert admin.update_policy({"name": "mine", "arguments": "--gap 0.1"})["arguments"] == "--gap 0.1"
    with pytest.raises(HttpResponseError) as caught:
        admin.update_policy({"name": "vw", "arguments": "--cb_explore_adf --epsilon 0.2"})
    assert caught.value.error.code == "InvalidPolicyConfiguration"
    assert admin.reset_policy() == {"name": "massart", "arguments": ""}


def simulated(client, rounds):
    """Rewards of rounds in which users of two kinds like one kind of action each."""
    earned = []
    for number in range(rounds):
        plan, liked = (("free", "N"), ("pro", "F"))[number % 2]
        answer = client.rank({"actions": ACTIONS, "contextFeatures": [{"user": {"plan": plan}}]})
        earned.append(float(answer["rewardActionId"] == liked))
        client.reward(answer["eventId"], {"value": earned[-1]})
    return earned


def test_the_model_learns_and_its_log_can_be_replayed(tmp_path):
    """At random 33 of 100 rounds are rewarded, with a standard deviation of 4.7; who knows all has 87."""
    db = f"sqlite:///{tmp_path / 'massart.db'}"
    key = AzureKeyCredential(service_runs.KEY)
    with service_runs.served(db, tmp_path) as service, NewClient(service.url, key) as client:
        assert sum(simulated(client, 200)[100:]) >= 60
        admin = PersonalizerAdministrationClient(service.url, key)
        check_evaluation(admin)
        model = b"".join(admin.export_model(signed=True))
        admin.reset_model()
        assert service.client.get("/v1/loops/personalizer").json()["learned"] == 0
        admin.import_model(model)
        assert service.client.get("/v1/loops/personalizer").json()["learned"] == 200
        for number in range(5):
            name = client.rank_multi_slot({"actions": ACTIONS, "slots": SLOTS})["eventId"]
            client.reward_multi_slot(name, {"reward": [{"slotId": "hero", "value": number / 5.0}]})
            client.rank({"actions": ACTIONS, "deferActivation": True, "eventId": f"later-{number}"})
            client.activate(f"later-{number}")
        with pytest.raises(HttpResponseError) as caught:
            admin.import_model(b"no model")
        assert caught.value.error.code == "InvalidModelImportFormat"
        properties = admin.get_model_properties()
        assert properties["creationTime"] < properties["lastModifiedTime"]
        assert set(admin.get_log_properties()["dateRange"]) == {"from", "to"}
        admin.close()
    found = replayed(db, tmp_path)
    assert (found["different"], found["decisions"]) == (0, 215)


def test_the_log_is_deleted_and_the_model_stays(tmp_path):
    db = f"sqlite:///{tmp_path / 'massart.db'}"
    key = AzureKeyCredential(service_runs.KEY)
    with service_runs.served(db, tmp_path) as service, NewClient(service.url, key) as client:
        admin = PersonalizerAdministrationClient(service.url, key)
        simulated(client, 30)
        request = {"eventId": "before", "actions": ACTIONS, "contextFeatures": USER, "deferActivation": True}
        before = client.rank(request)
        admin.delete_logs()
        with pytest.raises(ResourceNotFoundError):
            admin.get_log_properties()
        assert service.client.get("/v1/loops/personalizer/events/before").status_code == 404
        assert client.rank(request) == before, "the same event of the same model"
        simulated(client, 10)
        assert service.client.get("/v1/loops/personalizer").json()["learned"] == 40
        admin.close()
    found = replayed(db, tmp_path)
    assert (found["different"], found["decisions"], found["steps"]) == (0, 11, 12)
    with service_runs.served(db, tmp_path) as service:
        assert service.client.get("/v1/loops/personalizer").json()["learned"] == 40


def replayed(db, folder):
    """What `massart replay` found."""
    done = service_runs.massart("replay", "--db", db, "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_slots_on_two_hosts(postgres, tmp_path):
    """One event, sent to both: one decision, and the reward may come to either."""
    db = postgres.fresh()
    request = {"eventId": "both", "actions": ACTIONS, "contextFeatures": USER, "slots": SLOTS}
    key = AzureKeyCredential(service_runs.KEY)
    for name in "ab":
        (tmp_path / name).mkdir()
    with (
        service_runs.served(db, tmp_path / "a") as one,
        service_runs.served(db, tmp_path / "b") as two,
        NewClient(one.url, key) as first,
        NewClient(two.url, key) as second,
    ):
        answer = first.rank_multi_slot(request)
        assert second.rank_multi_slot(request) == answer
        second.reward_multi_slot("both", {"reward": [{"slotId": "side", "value": 0.5}]})
        assert event(one, "both/slot/1")["settled"]["reward"] == 0.5
        PersonalizerAdministrationClient(two.url, key).delete_logs()
        assert first.rank_multi_slot(request)["eventId"] == "both"
    assert replayed(db, tmp_path)["different"] == 0


def check_evaluation(admin):
    """The policy that learned is better than both others, and its reward is that of the log."""
    order = {"name": "first", "startTime": "2020-01-01T00:00:00Z", "endTime": "2100-01-01T00:00:00Z"}
    admin.create_evaluation("one", order | {"policies": [{"name": "same", "arguments": ""}]})
    with pytest.raises(HttpResponseError) as caught:
        admin.create_evaluation("one", order)
    assert caught.value.error.code == "EvaluationAlreadyExists"
    now = datetime.datetime.now(datetime.UTC)
    found = admin.get_evaluation("one", start_time=now, end_time=now)
    assert found["status"] == "Succeeded"
    value = {one["name"]: one["summary"] for one in found["content"]["value"]}
    assert list(value) == ["Online", "Baseline", "Random", "same"]
    online = value["Online"]["expectedReward"]
    assert online >= 0.5
    for other in ("Baseline", "Random"):
        assert value[other]["expectedReward"] < online
    for one in value.values():
        low, high = one["confidenceInterval"]
        assert low <= one["expectedReward"] <= high
    assert [one["id"] for one in admin.list_evaluations()] == ["one"]
    admin.apply_from_evaluation({"evaluationId": "one", "policyName": "same"})
    admin.delete_evaluation("one")
    assert list(admin.list_evaluations()) == []
