"""The clients: retries record nothing twice, errors are the service's sentences; deciders elsewhere are checked."""

import asyncio
import time

import msgspec
import numpy as np
import processes
import pytest
from flaky_proxy import flaky
from service_runs import KEY, massart, served

from massart import client as clients
from massart.client import AsyncClient, CallError, Client, LocalDecider, UnavailableError
from massart.client.calls import Retries, call_to
from massart.errors import InvalidParameterError
from massart.service.local_types import LocalDecision, Taken

ACTIONS = {"a": {"x": 1.0}, "b": {"x": -0.5}, "c": {"x": 0.25}}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service for all tests; at the end every decision is made again from the log, those of deciders, too."""
    folder = tmp_path_factory.mktemp("client")
    db = f"sqlite:///{folder / 'client.db'}"
    with served(db, folder) as found:
        yield found
    done = massart("replay", "--db", db)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def client(service):
    with Client(service.url, KEY, seed=0) as found:
        yield found


def learned(client, loop, rounds):
    """Wait until so many rewards were learned; the state then."""
    end = time.monotonic() + 20
    while client.state(loop)["loop"]["learned"] < rounds and time.monotonic() < end:
        time.sleep(0.01)
    return client.state(loop)


def test_decide_and_reward(client):
    client.create_loop("plain")
    decided = client.decide("plain", ACTIONS, {"hour": 9}, excluded=["c"])
    assert decided.action in ("a", "b")
    assert [one.id for one in decided.actions] == ["a", "b", "c"]
    assert decided.actions[2].probability == 0.0
    assert sum(one.probability for one in decided.actions) == pytest.approx(1.0)
    assert client.reward("plain", decided.event_id, 1).event_id == decided.event_id
    assert learned(client, "plain", 1)["loop"]["learned"] == 1
    assert "plain" in [one["name"] for one in client.loops()]
    assert client.change_loop("plain", reward_window=5.0)["settings"]["reward_window"] == 5.0
    assert client.overview("plain")["recent"][0]["decision"]["event_id"] == decided.event_id


def test_the_same_event_twice(client):
    client.create_loop("twice")
    first = client.decide("twice", ["a", "b"], event_id="mine")
    assert client.decide("twice", ["a", "b"], event_id="mine") == first
    with pytest.raises(CallError, match="mine") as error:
        client.decide("twice", ["a", "b", "c"], event_id="mine")
    assert error.value.status == 409
    assert error.value.problem["status"] == 409


def test_deferred(client):
    client.create_loop("deferred")
    decided = client.decide("deferred", ["a", "b"], deferred=True)
    client.reward("deferred", decided.event_id, 1.0)
    assert client.state("deferred")["loop"]["learned"] == 0
    client.activate("deferred", decided.event_id)
    assert learned(client, "deferred", 1)["loop"]["learned"] == 1


@pytest.mark.parametrize("plan", [("lost", "503", "pass"), ("503", "lost", "lost"), ("lost",) * 4])
def test_retries_record_once(service, client, plan):
    loop = f"retries-{'-'.join(plan)}"
    client.create_loop(loop, aggregation="sum")
    with flaky(service.url, *plan) as way, Client(way.url, KEY, seed=1) as through:
        decided = through.decide(loop, ACTIONS)
        assert [what for what, _ in way.seen][: len(plan)] == list(plan)
        way.plan = list(plan)
        through.reward(loop, decided.event_id, 0.25)
    assert client.state(loop)["decisions"] == 1
    event = service.client.get(f"/v1/loops/{loop}/events/{decided.event_id}").json()
    outcomes = [one["outcome"] for one in event["rewards"]]
    arrived = plan.count("lost") + 1  # and the attempt that was answered
    assert outcomes == ["joined"] + ["duplicate"] * (arrived - 1)


ROWS = [{"features": {"x": (-1.0) ** number * (1 + number)}, "label": ("no", "yes")[number % 2]} for number in range(8)]


def test_streams(service, client):
    client.create_stream("mail", classes=["no", "yes"], hash_bits=8)
    client.create_stream("mail", classes=["no", "yes"], hash_bits=8)
    assert client.learn("mail", {"x": 1.0}, "no", weight=2.0, event_id="mine").event_id == "mine"
    learned = client.learn_all("mail", [*ROWS, {"features": {}, "label": "no", "weight": 0.5, "event_id": "last"}])
    assert [one.status for one in learned] == ["recorded"] * 9
    assert learned[-1].event_id == "last"
    assert len({one.event_id for one in learned}) == 9
    found = client.predict("mail", {"x": 2.0})
    assert found.label in ("no", "yes")
    assert sum(found.probabilities.values()) == pytest.approx(1.0)
    assert [one.label for one in client.predict_all("mail", [{"x": 2.0}, {"x": 2.0}])] == [found.label] * 2
    assert client.predict_all("mail", []) == client.learn_all("mail", []) == []
    state = client.stream_state("mail")
    assert (state["recorded"], state["stream"]["learned"]) == (10, 10)
    assert client.stream_certificate("mail")["rounds"] == pytest.approx(8 + 2.5)
    assert [one["name"] for one in client.streams()] == ["mail"]
    with pytest.raises(CallError, match="another row") as error:
        client.learn("mail", {"x": 1.0}, "yes", event_id="mine")
    assert error.value.status == 409
    with pytest.raises(CallError, match="no stream 'nowhere'"):
        client.predict("nowhere", {})
    with pytest.raises(InvalidParameterError, match="finite"):
        client.learn("mail", {"x": float("nan")}, "no")
    text = service.client.get("/metrics").text
    for line in ('predictions_total{stream="mail"} 3', 'rows_total{stream="mail"} 10', 'rounds{stream="mail"} 10',
                 f'mistakes{{stream="mail"}} {state["mistakes"]}', 'refused{stream="mail"} 0',
                 'rows_pending{stream="mail"} 0', 'model_version{stream="mail"} 11'):  # fmt: skip
        assert f"massart_stream_{line}\n" in text


@pytest.mark.parametrize("plan", [("lost", "503", "pass"), ("lost",) * 4])
def test_retries_learn_once(service, client, plan):
    stream = f"rows-{'-'.join(plan)}"
    client.create_stream(stream, hash_bits=8)
    with flaky(service.url, *plan) as way, Client(way.url, KEY, seed=1) as through:
        through.learn(stream, {"x": 1.0}, 0)
        assert [what for what, _ in way.seen][: len(plan)] == list(plan)
        way.plan = list(plan)
        through.learn_all(stream, ROWS)
    state = client.stream_state(stream)
    assert (state["recorded"], state["stream"]["learned"], state["waiting"]) == (9, 9, 0)


def test_streams_from_asyncio(service, client):
    async def work():
        async with AsyncClient(service.url, KEY, seed=0) as own:
            await own.create_stream("async", classes=["no", "yes"], hash_bits=8)
            await asyncio.gather(*(own.learn("async", one["features"], one["label"]) for one in ROWS))
            await own.learn_all("async", ROWS)
            found = await own.predict("async", {"x": 2.0})
            assert found == (await own.predict_all("async", [{"x": 2.0}]))[0]
            assert (await own.stream_certificate("async"))["rounds"] == 16
            assert "async" in [one["name"] for one in await own.streams()]
            return await own.stream_state("async")

    assert asyncio.run(work())["stream"]["learned"] == 16


def test_giving_up(service):
    with flaky(service.url, *["503"] * 9) as way:
        with Client(way.url, KEY, retries=2, seed=0) as through, pytest.raises(UnavailableError, match="disk is full"):
            through.loops()
        assert len(way.seen) == 3
        url = way.url
    with Client(url, KEY, retries=1, seed=0) as through, pytest.raises(UnavailableError, match="does not answer"):
        through.loops()


def test_pauses_are_reproducible_and_bounded():
    first, again = ([*Retries(12, seed=5).pauses()] for _ in range(2))
    assert first == again != [*Retries(12, seed=6).pauses()]
    assert max(first) <= 2.0
    assert all(pause >= 0.05 * 2.0**number for number, pause in enumerate(first[:5]))
    with pytest.raises(InvalidParameterError, match="retries"):
        Retries(-1)


def test_errors_are_sentences(service, client):
    with Client(service.url, "another key, of many characters", seed=0) as stranger, pytest.raises(CallError) as error:
        stranger.loops()
    assert error.value.status == 401
    with pytest.raises(CallError, match="no loop 'nowhere'"):
        client.decide("nowhere", ["a"])
    with pytest.raises(InvalidParameterError, match="JSON"):
        client.decide("nowhere", {"a": {"x": float("nan")}})
    with pytest.raises(AttributeError, match="LocalDecider"):
        clients.LocalDecidr  # noqa: B018


def test_asynchronous(service):
    async def run():
        async with AsyncClient(service.url, KEY, seed=0) as client:
            await client.create_loop("async")
            every = await asyncio.gather(*(client.decide("async", ACTIONS, event_id=f"e{n}") for n in range(20)))
            await asyncio.gather(*(client.reward("async", one.event_id, 1.0) for one in every))
            deferred = await client.decide("async", ACTIONS, deferred=True)
            await client.activate("async", deferred.event_id)
            with pytest.raises(CallError, match="no loop"):
                await client.state("nowhere")
            await client.change_loop("async", paused=True)
            assert (await client.overview("async"))["settings"]["paused"]
            return await client.state("async"), await client.loops()

    state, loops = asyncio.run(run())
    assert state["decisions"] == 21
    assert "async" in [one["name"] for one in loops]


def test_asynchronous_retries(service):
    async def run(url):
        async with AsyncClient(url, KEY, retries=3, seed=0) as client:
            return await client.decide("async-retries", ACTIONS)

    with Client(service.url, KEY) as client, flaky(service.url, "lost", "503") as way:
        client.create_loop("async-retries")
        asyncio.run(run(way.url))
        assert client.state("async-retries")["decisions"] == 1


def test_clients_do_without_the_service():
    code = "from massart.client import AsyncClient, Client, LocalDecider"
    assert processes.loaded_by(code, "starlette", "uvicorn", "psycopg", "plotly", "sqlite3") == []


def rewarded(decided):
    return float(decided.action == "a")


def test_local_decisions_are_those_of_the_service(client):
    """Sent with its ticket as event id, the service decides the same: the same model, and the same draw."""
    client.create_loop("same", exploration=0.5)
    local = LocalDecider(client, "same", background=False, tickets=50)
    decided = [local.decide(ACTIONS, {"hour": n % 3}) for n in range(40)]
    assert len({one.action for one in decided}) == 3
    for n, one in enumerate(decided):
        assert client.decide("same", ACTIONS, {"hour": n % 3}, event_id=one.event_id) == one
    assert local.flush() == 40
    assert (local.refused, client.state("same")["decisions"]) == (0, 40)


def test_local_decider_learns_with_the_service(client):
    client.create_loop("local")
    rng = np.random.default_rng(0)
    with LocalDecider(client, "local", background=False, tickets=100) as local:
        for n in range(300):
            decided = local.decide(
                {name: {"x": float(rng.normal())} for name in "ab"}, excluded=["b"] if n % 50 == 0 else []
            )
            local.reward(decided.event_id, rewarded(decided))
            if n % 60 == 59:
                assert local.flush() == 120
                local.refresh()
        assert local.version == client.state("local")["loop"]["model_version"] == 301
    state = client.state("local")
    assert (state["loop"]["learned"], state["decisions"], local.refused) == (300, 300, 0)


def test_local_decider_in_the_background(client):
    client.create_loop("background")
    with LocalDecider(client, "background", refresh=0.02, tickets=40) as local:
        for _ in range(100):
            decided = local.decide(ACTIONS)
            local.reward(decided.event_id, rewarded(decided))
    assert local.waiting == local.refused == 0
    assert client.state("background")["decisions"] == 100


def upload(client, loop, *decisions):
    return client.call(call_to("POST", loop, "/local/decisions", msgspec.json.encode(decisions), Taken))


def test_what_a_decider_cannot_do(client):
    client.create_loop("forged", exploration=0.5)
    local = LocalDecider(client, "forged", background=False, tickets=20)
    decided = local.decide(ACTIONS)
    (right,) = local._decisions
    change = msgspec.structs.replace
    other = next(one for one in decided.actions if one.id != decided.action)
    place = [one.id for one in decided.actions].index(other.id)
    wrong = {
        "takes action": change(right, index=place, probability=other.probability),
        "with probability": change(right, probability=decided.probability / 2),
        "not a ticket": change(right, event_id="chosen by me"),
        "not a ticket of this": change(right, event_id=right.event_id[:-1] + "99"),
        "not reached": change(right, model_version=10**15),
        "mode": change(right, mode="logging"),
        "none": change(right, request=change(right.request, actions=[])),
    }
    for words, one in wrong.items():
        taken = upload(client, "forged", one)
        assert taken.recorded == 0, words
        assert words in taken.refused[0].why
    assert client.state("forged")["decisions"] == 0
    assert upload(client, "forged", right, right).recorded == 1, "twice in one request"
    assert upload(client, "forged", right) == Taken(1, []), "sent again, as after a lost answer"
    assert client.state("forged")["decisions"] == 1
    assert isinstance(right, LocalDecision)


def test_versions_from_before_are_made_again(client):
    """The service has learned since: the model of the decision is made from the log."""
    client.create_loop("earlier")
    one = LocalDecider(client, "earlier", background=False, tickets=10)
    old = [one.decide(ACTIONS) for _ in range(5)]
    for _ in range(30):
        decided = client.decide("earlier", ACTIONS)
        client.reward("earlier", decided.event_id, rewarded(decided))
    LocalDecider(client, "earlier", background=False, tickets=1)  # another version is published
    assert (one.flush(), one.refused) == (5, 0)
    one.reward(old[0].event_id, 5.0)
    one.reward(old[1].event_id, 1.0)
    assert one.flush() == 2
    assert one.refused == 1
    assert "outside of the range" in one.refusals[0].why
    assert learned(client, "earlier", 31)["loop"]["learned"] == 31


def test_nothing_is_lost_while_the_service_is_away(service, client):
    client.create_loop("away")
    with flaky(service.url) as way, Client(way.url, KEY, retries=0, seed=0) as through:
        local = LocalDecider(through, "away", background=False, tickets=10, most_waiting=4)
        way.plan = ["503"] * 3
        for _ in range(4):
            local.decide(ACTIONS)
        with pytest.raises(UnavailableError, match="disk is full"):
            local.flush()
        with pytest.raises(UnavailableError):
            local.decide(ACTIONS)
        assert local.waiting == 4
        way.plan = ["lost"]
        with pytest.raises(UnavailableError):
            local.flush()
        assert (local.flush(), local.waiting, local.refused) == (4, 0, 0)
    assert client.state("away")["decisions"] == 4


def test_bad_parameters_of_a_decider(client):
    client.create_loop("parameters")
    with pytest.raises(InvalidParameterError, match="tickets"):
        LocalDecider(client, "parameters", tickets=0)
    local = LocalDecider(client, "parameters", background=False, tickets=2)
    for bad in ([], ["a", "a"], [{"id": "a", "features": {"x": 1e300}}]):
        with pytest.raises(CallError):
            local.decide(bad)
    with pytest.raises(InvalidParameterError):
        local.decide([{"id": 7}])
    assert [local.decide(["a", "b"]).event_id[-1] for _ in range(3)] == ["0", "1", "0"], "no ticket was lost"
    assert local.flush() == 3


def test_a_decider_with_several_hosts(postgres, tmp_path):
    """The model comes from one host, decisions go to another, which may not have that version yet."""
    db = postgres.fresh()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with (
        served(db, tmp_path / "one") as one,
        served(db, tmp_path / "two") as two,
        Client(one.url, KEY, seed=0) as first,
        Client(two.url, KEY, seed=0) as second,
    ):
        first.create_loop("hosts", exploration=0.2)
        local = LocalDecider(first, "hosts", background=False, tickets=200)
        for turn in range(4):
            for _ in range(25):
                decided = local.decide(ACTIONS)
                local.reward(decided.event_id, rewarded(decided))
            local._client = second
            assert local.flush() == 50
            local._client = first
            learned(first, "hosts", 25 * (turn + 1))
            local.refresh()
        assert (local.refused, local.version) == (0, 101)
        assert learned(second, "hosts", 100)["decisions"] == 100
        assert second.overview("hosts")["series"]["rounds"] == 100
    done = massart("replay", "--db", db)
    assert done.returncode == 0, done.stdout + done.stderr
