"""Old events are deleted after a snapshot that has learned them, and nothing else is."""

import asyncio
import time

import pytest
from service_runs import massart, reward, settled
from service_runs import request as ask

from massart.cli.serve import opened
from massart.service.engine import Engine
from massart.service.replay import replay
from massart.service.stream_types import LearnRequest, StreamSettings
from massart.service.types import LoopSettings

DAY = 86400 * 10**6


def life(url, work, keep=None):
    """An engine from start to stop, which writes a snapshot."""

    async def run():
        engine = Engine(opened(url), keep)
        engine.start()
        try:
            return await work(engine)
        finally:
            await asyncio.to_thread(engine.stop)

    return asyncio.run(run())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_old_events_are_deleted(kind, tmp_path, request, monkeypatch):
    wall = time.time_ns
    url = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres").fresh()

    def part(number):
        async def work(engine):
            if not number:
                await engine.create_loop("shop", LoopSettings(reward_window=1e7))
                await engine.streams.create("mail", StreamSettings(hash_bits=8))
                await engine.decide("shop", ask("waits"))
                await engine.reward("shop", [reward("unknown")])
            for place in range(5):
                event = f"e{number}-{place}"
                await engine.decide("shop", ask(event))
                await engine.reward("shop", [reward(event, place % 2)])
                await engine.streams.learn("mail", [LearnRequest({"x": place}, place % 2, event_id=event)])
            await settled(engine, "shop", 5 * number + 6)
            while engine.streams.get("mail").model.version < 5 * number + 6:
                await asyncio.sleep(0.01)
            shop, mail = engine.loop("shop").model.snapshot(), engine.streams.get("mail").model.snapshot()
            return shop, mail

        return work

    for number in range(6):
        monkeypatch.setattr(time, "time_ns", lambda days=4 * number: wall() + days * DAY * 1000)
        before = life(url, part(number), 10 * DAY)
    # What is older than 10 days and learned by the oldest of four snapshots, which is that after part 2, is gone.
    store = opened(url)
    shop, mail = (next(row for row in store.loops() if row.name == name) for name in ("shop", "streams/mail"))
    events = [row.event_id for row in store.events(shop.id, None, 99)][::-1]
    assert events == ["waits", *(f"e{part}-{place}" for part in (3, 4, 5) for place in range(5))]
    assert store.steps(shop.id, 0, 1)[0].version == 17
    assert store.counts(shop.id) == {"decisions": 16, "waiting": 1, "joined": 15}
    assert store.counts(mail.id) == {"decisions": 15, "waiting": 0}
    found = [replay(store, row) for row in (shop, mail)]
    assert [(one.steps, one.version, one.different) for one in found] == [(15, 31, 0), (15, 31, 0)]
    store.close()
    assert massart("replay", "--db", url).returncode == 0

    async def nothing(engine):
        return engine.loop("shop").model.snapshot(), engine.streams.get("mail").model.snapshot()

    assert life(url, nothing) == before


def test_a_loop_with_days_of_its_own(tmp_path, monkeypatch):
    wall, url = time.time_ns, f"sqlite:///{tmp_path}/a.db"

    def part(number):
        async def work(engine):
            if not number:
                await engine.create_loop("short", LoopSettings(keep_days=10.0))
                await engine.create_loop("long", LoopSettings(keep_days=1000.0))
            for name in ("short", "long"):
                await engine.decide(name, ask(f"e{number}"))
                await engine.reward(name, [reward(f"e{number}")])
                await settled(engine, name, number + 2)

        return work

    for number in range(7):
        monkeypatch.setattr(time, "time_ns", lambda days=4 * number: wall() + days * DAY * 1000)
        life(url, part(number), 20 * DAY)
    store = opened(url)
    kept = {row.name: [one.event_id for one in store.events(row.id, None, 9)] for row in store.loops()}
    assert kept["short"] == ["e6", "e5", "e4"]  # the oldest of four snapshots is that after e3
    assert kept["long"] == ["e6", "e5", "e4", "e3", "e2"]  # by the service, which keeps 20 days
    assert all(replay(store, row).different == 0 for row in store.loops())
    store.close()
