"""Streams: what is learned over HTTP is what a classifier in this process learns, and the log makes it again."""

import asyncio
import json
import random
import threading

import httpx
import numpy as np
import pytest
from service_runs import Served, massart, served, with_engine

from massart import MassartClassifier, data, load
from massart.service.errors import ConflictError, RefusedError
from massart.service.replay import replay
from massart.service.sqlite import SqliteStore
from massart.service.stream_types import LearnRequest, StreamSettings


def rows(count, labels=("no", "yes"), seed=5):
    """Rows with labels of which some are wrong; each third one has a weight."""
    rng = random.Random(seed)  # noqa: S311
    found = []
    for number in range(count):
        x, town = rng.uniform(-1, 1), rng.choice(["Rome", "Oslo"])
        label = labels[int((x > 0) ^ (rng.random() < 0.1 * (town == "Oslo")))]
        if len(labels) > 2 and rng.random() < 0.2:
            label = labels[2]
        features = {"x": x, "user": {"town": town, "age": rng.randint(1, 9)}, "tags": ["a", "b"], "new": x > 0.5}
        row = {"features": features, "label": label, "event_id": f"e{number}"}
        found.append(row | {"weight": rng.uniform(0.5, 2.0)} if number % 3 == 2 else row)
    return found


def in_process(given, tmp_path, classes, **settings):
    """A classifier that learns the same rows out of a file of JSON lines, one at a time."""
    path = tmp_path / "rows.jsonl"
    clf = MassartClassifier(**settings, random_state=0)
    lines = [json.dumps({"target": one["label"], **one["features"]}) for one in given]
    path.write_text("\n".join(lines))
    labels = classes or sorted({one["label"] for one in given})
    (chunk,) = data.read(str(path), label="target", labels=tuple(labels), bits=18)
    for number, one in enumerate(given):
        weight = [one["weight"]] if "weight" in one else None
        clf.partial_fit(chunk.X[number], [one["label"]], classes if number == 0 else None, weight)
    return clf, chunk.X


def same(path, clf):
    """Whether the model in a file has learned what a classifier has, to the bit."""
    own, other = load(path)._learner.arrays(), clf._learner.arrays()
    return own.keys() == other.keys() and all(np.array_equal(np.asarray(own[name]), other[name]) for name in own)


@pytest.mark.parametrize(
    ("classes", "settings"),
    [(["no", "yes"], {}), (["no", "yes"], {"noise_rate": 0.2, "margin": 0.1}), (None, {})],
    ids=["default", "known", "open"],
)
def test_it_is_the_classifier_to_the_bit(classes, settings, tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    given = rows(60, ("no", "yes") if classes else ("no", "yes", "perhaps"))
    clf, X = in_process(given, tmp_path, classes, **settings)
    with served(url, tmp_path) as service:
        client = service.client
        whole = settings | ({"classes": classes} if classes else {})
        assert client.put("/v1/streams/mail", json=whole).status_code == 201
        assert client.put("/v1/streams/mail", json=whole).status_code == 201
        assert client.put("/v1/streams/mail", json={"hash_bits": 5}).status_code == 409
        assert client.post("/v1/streams/mail/predict", json={"features": {}}).status_code == 409
        for one in given[:10]:
            assert client.post("/v1/streams/mail/learn", json=one).json() == {
                "event_id": one["event_id"], "status": "recorded"
            }  # fmt: skip
        assert len(client.post("/v1/streams/mail/learn/batch", json=given[10:]).json()) == 50
        state = client.get("/v1/streams/mail/state").json()
        assert (state["recorded"], state["waiting"], state["refused"]) == (60, 0, 0)
        assert state["mistakes"] == clf.mistakes_
        assert client.get("/v1/streams").json()["streams"] == [state["stream"]]
        assert client.get("/v1/loops").json()["loops"] == []
        certificate = client.get("/v1/streams/mail/certificate").json()
        assert certificate["sentence"] == clf.certificate().sentence
        asked = [{"features": one["features"]} for one in given]
        found = client.post("/v1/streams/mail/predict/batch", json=asked).json()
        assert client.post("/v1/streams/mail/predict", json=asked[3]).json() == found[3]
        assert [one["label"] for one in found] == clf.predict(X).tolist()
        assert [list(one["probabilities"].values()) for one in found] == clf.predict_proba(X).tolist()
        if classes:
            assert [one["score"] for one in found] == clf.decision_function(X).tolist()
        assert {one["model_version"] for one in found} == {61}
        model = client.get("/v1/streams/mail/model")
        assert model.headers["massart-model-version"] == "61"
    path = tmp_path / "m.massart"
    path.write_bytes(model.content)
    assert same(path, clf)
    if settings:
        assert massart("inspect", str(path)).returncode == 0
        return
    lines = tmp_path / "new.jsonl"
    lines.write_text("\n".join(json.dumps(one["features"]) for one in given))
    done = massart("predict", str(path), str(lines))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [one["label"] for one in found]
    done = massart("replay", "--db", url)
    assert (done.returncode, "streams/mail: 61 steps" in done.stdout) == (0, True), done.stdout + done.stderr


def learned(given):
    return [LearnRequest(**one) for one in given]


def snapshot_of(path):
    async def work(engine):
        return engine.streams.get("mail").model.snapshot()

    return with_engine(path, work)


def test_the_event_id_is_the_idempotency_key(tmp_path):
    given = learned(rows(5))

    async def work(engine):
        streams = engine.streams
        await streams.create("mail", StreamSettings(classes=["no", "yes"]))
        assert await streams.learn("mail", given) == [f"e{n}" for n in range(5)]
        await asyncio.gather(*(streams.learn("mail", [given[2]]) for _ in range(5)))
        assert await streams.learn("mail", given[1:]) == [f"e{n}" for n in range(1, 5)]
        with pytest.raises(ConflictError, match="another row"):
            await streams.learn("mail", [LearnRequest({}, "no", event_id="e1")])
        with pytest.raises(RefusedError, match="none of the classes"):
            await streams.learn("mail", [LearnRequest({}, "perhaps")])
        with pytest.raises(RefusedError, match="twice"):
            await streams.learn("mail", [given[0], given[0]])
        return streams.get("mail").model.learned, await engine.read(lambda store: store.counts(1))

    assert with_engine(tmp_path / "a.db", work) == (5, {"decisions": 5, "waiting": 0})


@pytest.mark.parametrize("classes", [["no", "yes"], ["no", "perhaps", "yes"]])
def test_rows_that_are_learned_together(classes, tmp_path):
    """A batch without weights, and the same rows one after the other: the same model."""
    given = learned([one | {"weight": 1.0} for one in rows(200, classes)])

    def work(size):
        async def run(engine):
            await engine.streams.create("mail", StreamSettings(classes=classes))
            for first in range(0, len(given), size):
                await engine.streams.learn("mail", given[first : first + size])

        return run

    found = []
    for size in (1, 7, 200):
        with_engine(tmp_path / f"{size}.db", work(size))
        (tmp_path / f"{size}.massart").write_bytes(snapshot_of(tmp_path / f"{size}.db")[1])
        store = SqliteStore(str(tmp_path / f"{size}.db"))
        found.append(replay(store, store.loops()[0]))
        store.close()
        assert same(tmp_path / f"{size}.massart", load(tmp_path / "1.massart"))
    assert [(one.steps, one.snapshot, one.different) for one in found] == [(201, 201, 0)] * 3


def test_restart_reset_and_delete(tmp_path):
    """In one process and in three: the same model; and without snapshots."""
    given = learned(rows(40))

    async def all_of_it(engine):
        await engine.streams.create("mail", StreamSettings(classes=["no", "yes"]))
        await engine.streams.learn("mail", given)

    def part(first, last):
        async def work(engine):
            if not first:
                await engine.streams.create("mail", StreamSettings(classes=["no", "yes"]))
            await engine.streams.learn("mail", given[first:last])

        return work

    with_engine(tmp_path / "a.db", all_of_it)
    for first in (0, 15, 30):
        with_engine(tmp_path / "b.db", part(first, first + 15))
    (version, own), (other_version, other) = snapshot_of(tmp_path / "a.db"), snapshot_of(tmp_path / "b.db")
    assert version == other_version == 41
    (tmp_path / "a.massart").write_bytes(own)
    (tmp_path / "b.massart").write_bytes(other)
    assert same(tmp_path / "b.massart", load(tmp_path / "a.massart"))

    async def without_snapshots(engine):
        await engine.read(lambda store: store._run("DELETE FROM snapshots"))

    with_engine(tmp_path / "b.db", without_snapshots)
    assert snapshot_of(tmp_path / "b.db") == (version, other)

    async def changed(engine):
        await engine.streams.reset("mail")
        assert engine.streams.get("mail").model.learned == 0
        await engine.streams.learn("mail", [LearnRequest({"x": 1}, "yes", event_id="new")])
        return engine.streams.get("mail").model.version, engine.streams.get("mail").model.learned

    assert with_engine(tmp_path / "b.db", changed) == (43, 1)
    store = SqliteStore(str(tmp_path / "b.db"))
    (found,) = [replay(store, row) for row in store.loops()]
    assert (found.steps, found.snapshot, found.different) == (43, 43, 0)
    store.begin()
    store._run("UPDATE decisions SET body=? WHERE event_id='new'", (b'{"features":{"x":2},"label":"no"}',))
    store.commit()
    assert replay(store, store.loops()[0]).different == 1
    store.close()

    async def deleted(engine):
        await engine.streams.delete("mail")
        assert engine.streams.all() == []
        await engine.streams.create("mail", StreamSettings())
        await engine.streams.learn("mail", given)
        return engine.streams.get("mail").model.learned

    assert with_engine(tmp_path / "b.db", deleted) == 40


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_under_load(kind, tmp_path, request):
    url = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres").fresh()
    service = Served(url, tmp_path).wait()
    assert service.client.put("/v1/streams/mail", json={"classes": ["no", "yes"]}).status_code == 201
    known, given, enough = set(), rows(10**4), threading.Event()

    def work(first):
        with httpx.Client(base_url=service.url, headers=service.client.headers, timeout=60) as client:
            for place in range(first, len(given), 3):
                try:
                    sent = client.post("/v1/streams/mail/learn", json=given[place])
                    assert sent.status_code == 200, sent.text
                except httpx.TransportError:
                    return
                known.add(given[place]["event_id"])
                if len(known) >= 60:
                    enough.set()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    service.kill()
    for thread in threads:
        thread.join()
    with served(url, tmp_path) as service:
        place = next(n for n, one in enumerate(given) if one["event_id"] in known)
        assert service.client.post("/v1/streams/mail/learn", json=given[place]).status_code == 200
        while True:
            state = service.client.get("/v1/streams/mail/state").json()
            if not state["waiting"] and state["stream"]["learned"] == state["recorded"]:
                break
    assert state["recorded"] >= len(known)
    assert state["recorded"] <= len(known) + 3  # those that were not answered may be there
    done = massart("replay", "--db", url)
    assert done.returncode == 0, done.stdout


def test_what_cannot_be_meant_is_refused(tmp_path):
    deep = {}
    for _ in range(150):
        deep = {"a": deep}
    with served(f"sqlite:///{tmp_path}/a.db", tmp_path) as service:
        client = service.client
        for settings in ({"classes": ["a"]}, {"classes": ["1", 1]}, {"noise_rate": 0.7, "margin": 0.1},
                         {"noise_rate": 0.1, "margin": 0.1}, {"hash_bits": 23}, {"hash_bits": 22, "classes": [1, 2, 3]},
                         {"nothing": 1}):  # fmt: skip
            assert client.put("/v1/streams/mail", json=settings).status_code == 422, settings
        assert client.put("/v1/streams/a%2Fb", json={}).status_code in (404, 422)
        assert client.post("/v1/streams/mail/learn", json={"features": {}, "label": 1}).status_code == 404
        assert client.put("/v1/streams/mail", json={"hash_bits": 21}).status_code == 201
        for features in ({"x": 1e200}, deep, {str(n): n for n in range(50_001)}):
            sent = client.post("/v1/streams/mail/learn", json={"features": features, "label": "a"})
            assert sent.status_code in (413, 422), sent.text
            assert sent.headers["content-type"] == "application/problem+json"
        for weight in (0, -1, 1e60):
            body = {"features": {}, "label": "a", "weight": weight}
            assert client.post("/v1/streams/mail/learn", json=body).status_code == 422
        for label in ("a", "b", "c"):
            sent = client.post("/v1/streams/mail/learn", json={"features": {"x": 1}, "label": label})
            assert sent.status_code == (200 if label != "c" else 422)  # two classes fit with 21 bits
        assert client.put("/v1/keys/reader", json={"scopes": ["decide"]}).status_code == 201
        assert client.delete("/v1/streams/mail").status_code == 204
        assert client.get("/v1/streams/mail").status_code == 404
        assert any(one["action"].startswith("DELETE /v1/streams") for one in client.get("/v1/audit").json()["entries"])


def test_scopes(tmp_path):
    with served(f"sqlite:///{tmp_path}/a.db", tmp_path) as service:
        service.client.put("/v1/streams/mail", json={"classes": ["no", "yes"]})
        service.client.post("/v1/streams/mail/learn", json=rows(1)[0])
        allowed = {"decide": "predict", "reward": "learn"}
        for scope, path in allowed.items():
            key = service.client.put(f"/v1/keys/{scope}", json={"scopes": [scope]}).json()["key"]
            with httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {key}"}) as client:
                for other in allowed.values():
                    body = {"features": {}} if other == "predict" else {"features": {}, "label": "no"}
                    sent = client.post(f"/v1/streams/mail/{other}", json=body)
                    assert sent.status_code == (200 if other == path else 403)
