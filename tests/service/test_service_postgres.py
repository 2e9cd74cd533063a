"""PostgreSQL: any process decides, one learns, and another takes over."""

import asyncio
import signal
import threading

import httpx
from service_runs import Served, massart, request, reward, settled, with_engine

from massart.service.engine import Engine
from massart.service.postgres import PostgresStore
from massart.service.replay import replay
from massart.service.types import LoopSettings


def replayed(url):
    store = PostgresStore(url)
    try:
        return [replay(store, row) for row in store.loops()]
    finally:
        store.close()


def test_two_hosts_have_one_model(postgres):
    url = postgres.fresh()

    async def work(first):
        second = Engine(PostgresStore(url))
        second.start()
        try:
            await first.create_loop("shop", LoopSettings())
            while not any(loop.name == "shop" for loop in second.loops()):
                await asyncio.sleep(0.01)
            for number in range(30):
                here, there = (first, second) if number % 2 else (second, first)
                made = await here.decide("shop", request(f"e{number}"))
                again = await there.decide("shop", request(f"e{number}"))
                assert made == again
                await there.reward("shop", [reward(f"e{number}", float(made.action == "b"))])
            await settled(first, "shop", 31)
            await settled(second, "shop", 31)
            assert first.loop("shop").model.snapshot() == second.loop("shop").model.snapshot()
            await second.reset("shop")
            await settled(first, "shop", 32)
            await first.decide("shop", request("new"))
            await second.reward("shop", [reward("new", 1.0)])
            await settled(second, "shop", 33)
            assert sum(one.host.is_learner for one in (first, second)) == 1
        finally:
            await asyncio.to_thread(second.stop)

    with_engine(url, work, PostgresStore)
    (found,) = replayed(url)
    assert (found.decisions, found.version, found.different) == (31, 33, 0)


def test_the_learner_killed_another_takes_over(postgres, tmp_path):
    url = postgres.fresh()
    one = Served(url, tmp_path).wait()
    one.client.put("/v1/loops/shop", json={})
    two = Served(url, tmp_path).wait()
    while two.client.get("/v1/loops/shop").status_code != 200:
        pass
    made = one.client.put("/v1/keys/app", json={"scopes": ["read"]}).json()
    while httpx.get(f"{two.url}/v1/loops", headers={"x-api-key": made["key"]}).status_code != 200:
        pass
    for number in range(20):
        client = (one, two)[number % 2].client
        made = client.post("/v1/loops/shop/decide", json={"actions": ["a", "b"], "event_id": f"e{number}"})
        assert made.status_code == 200
    one.kill()
    for number in range(20):
        sent = two.client.post("/v1/loops/shop/reward", json={"event_id": f"e{number}", "reward": 1.0})
        assert sent.status_code == 200
    while two.client.get("/v1/loops/shop").json()["learned"] < 20:
        pass
    assert two.stop() == 0
    done = massart("replay", "--db", url)
    assert (done.returncode, done.stdout) == (
        0,
        "shop: 21 steps, 20 decisions, snapshot of version 21: all as in the log\n",
    )


def test_the_database_restarted_under_load(postgres, tmp_path):
    url = postgres.fresh()
    if postgres.given:
        return
    service = Served(url, tmp_path).wait()
    service.client.put("/v1/loops/shop", json={})
    known, refused, over = set(), [], threading.Event()

    def load(worker):
        with httpx.Client(base_url=service.url, headers=service.client.headers, timeout=60) as client:
            number = 0
            while not over.is_set():
                event = f"w{worker}-{number}"
                made = client.post("/v1/loops/shop/decide", json={"actions": ["a", "b"], "event_id": event})
                if made.status_code == 200:
                    sent = client.post("/v1/loops/shop/reward", json={"event_id": event, "reward": 1.0})
                    assert sent.status_code in (200, 503)
                    known.add(event)
                    number += 1
                else:
                    assert made.status_code == 503
                    refused.append(event)
                    over.wait(0.02)

    threads = [threading.Thread(target=load, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    while len(known) < 50:
        over.wait(0.01)
    postgres.stop(signal.SIGQUIT)
    postgres.start()
    before = len(known)
    while len(known) < before + 50:
        over.wait(0.01)
    over.set()
    for thread in threads:
        thread.join()
    assert service.stop() == 0
    store = PostgresStore(url)
    there = {row.event_id for row in store.events(1, None, 10**6)}
    store.close()
    assert known <= there
    assert replayed(url)[0].different == 0
