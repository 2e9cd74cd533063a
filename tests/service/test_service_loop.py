"""The loop done right: durable, idempotent, joined once, the same again from its log."""

import asyncio

import pytest
from service_runs import request, reward, settled, with_engine

from massart.service.errors import ConflictError, RefusedError
from massart.service.loop import aggregated
from massart.service.replay import replay
from massart.service.sqlite import SqliteStore
from massart.service.types import LoopSettings


def replayed(path, **options):
    store = SqliteStore(str(path))
    try:
        return [replay(store, row, **options) for row in store.loops()]
    finally:
        store.close()


async def play(engine, loop, first, count):
    for number in range(first, first + count):
        town = "Rome" if number % 2 else "Oslo"
        made = await engine.decide(loop, request(f"e{number}", context={"town": town}))
        await engine.reward(loop, [reward(made.event_id, float(made.action == ("a" if number % 2 else "b")))])


def test_restart_goes_on_to_the_bit(tmp_path):
    """In one process, and in three with a restart between: the same log, the same model."""

    async def first(engine):
        await engine.create_loop("shop", LoopSettings())
        await play(engine, "shop", 0, 40)

    async def other(engine):
        start = engine.loop("shop").model.bandit.rounds
        await play(engine, "shop", start, 40)
        return engine.loop("shop").model.snapshot()

    with_engine(tmp_path / "a.db", first)
    with_engine(tmp_path / "a.db", other)
    version, snapshot = with_engine(tmp_path / "a.db", other)
    assert version == 121
    (found,) = replayed(tmp_path / "a.db")
    assert (found.steps, found.decisions, found.version, found.snapshot, found.different) == (121, 120, 121, 121, 0)

    async def forget_snapshots(engine):
        await engine.read(lambda store: store._run("DELETE FROM snapshots"))

    async def again(engine):
        return engine.loop("shop").model.snapshot()

    with_engine(tmp_path / "a.db", forget_snapshots)
    assert with_engine(tmp_path / "a.db", again) == (version, snapshot)


def test_replay_finds_what_was_changed(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        await play(engine, "shop", 0, 20)

    with_engine(tmp_path / "a.db", work)
    store = SqliteStore(str(tmp_path / "a.db"))
    store._run("UPDATE decisions SET arm = (arm + 1) % 3 WHERE event_id = 'e7'")
    store._run("UPDATE steps SET taught = 1 - taught WHERE version = 12")
    store.close()
    (found,) = replayed(tmp_path / "a.db")
    assert found.different > 2  # the decision, the snapshot, and decisions of versions after the step
    assert "decision 'e7'" in found.differences[0]


def test_the_event_id_is_the_idempotency_key(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        first = await engine.decide("shop", request("e"))
        await engine.reward("shop", [reward("e")])
        await settled(engine, "shop", 2)
        both = await asyncio.gather(*(engine.decide("shop", request("e")) for _ in range(5)))
        assert all(one == first for one in both)
        with pytest.raises(ConflictError, match="another request"):
            await engine.decide("shop", request("e", ids=("a", "b")))
        twice = await asyncio.gather(*(engine.decide("shop", request("f")) for _ in range(5)))
        assert len({repr(one) for one in twice}) == 1
        return await engine.read(lambda store: store.counts(engine.loop("shop").id))

    assert with_engine(tmp_path / "a.db", work) == {"decisions": 2, "waiting": 1, "joined": 1}


def test_rewards_are_learned_once(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        await engine.decide("shop", request("e"))
        await engine.reward("shop", [reward("e", 1.0), reward("e", 0.5), reward("nothing", 1.0)])
        await engine.reward("shop", [reward("e", 1.0)])
        await settled(engine, "shop", 2)
        with pytest.raises(RefusedError, match="outside of the range"):
            await engine.reward("shop", [reward("e", 2.0)])
        counts = await engine.read(lambda store: store.counts(engine.loop("shop").id))
        return counts, engine.loop("shop").model.sums["rewards"]

    counts, total = with_engine(tmp_path / "a.db", work)
    assert counts == {"decisions": 1, "waiting": 0, "joined": 1, "duplicate": 2, "unknown": 1}
    assert total == 1.0


def test_rewards_that_come_before_their_decision(tmp_path):
    """They are joined when it comes, the first one first; one that came more than a window before it stays unknown."""

    async def work(engine):
        await engine.create_loop("shop", LoopSettings(reward_window=1.0))
        await engine.reward("shop", [reward("old"), reward("e", 0.25), reward("never")])
        await engine.activate("shop", ["deferred"])
        counts = await engine.read(lambda store: store.counts(1))
        assert counts == {"decisions": 0, "waiting": 0, "unknown": 3}
        await engine.read(lambda store: store._run("UPDATE rewards SET time=time-2000000 WHERE event_id='old'"))
        await engine.decide("shop", request("e"))
        await engine.reward("shop", [reward("e", 0.5)])
        await engine.decide("shop", request("old"))
        await engine.decide("shop", request("deferred", deferred=True))
        await engine.reward("shop", [reward("deferred", 0.75)])
        await settled(engine, "shop", 4)
        steps = await engine.read(lambda store: store.steps(1, 1, 9))
        return steps, await engine.read(lambda store: store.counts(1))

    steps, counts = with_engine(tmp_path / "a.db", work)
    assert [(step.why, step.decision, step.taught) for step in steps] == [(1, 1, 0.25), (1, 3, 0.75), (2, 2, 0.0)]
    assert counts == {"decisions": 3, "waiting": 0, "joined": 2, "duplicate": 1, "unknown": 2}
    assert replayed(tmp_path / "a.db")[0].different == 0


@pytest.mark.parametrize("how", ["earliest", "sum", "average", "median", "min", "max"])
def test_aggregation_at_the_end_of_the_window(tmp_path, how):
    values = [0.25, -0.5, 1.0, 0.0]

    async def work(engine):
        settings = LoopSettings(reward_range=(-1, 1), aggregation=how, hold_rewards=True, reward_window=0.3)
        await engine.create_loop("shop", settings)
        await engine.decide("shop", request("e"))
        await engine.reward("shop", [reward("e", value, f"r{i}") for i, value in enumerate(values)])
        await engine.reward("shop", [reward("e", values[0], "r0")])
        await settled(engine, "shop", 2)
        await engine.reward("shop", [reward("e", 1.0, "late")])
        (step,) = await engine.read(lambda store: store.steps(engine.loop("shop").id, 1, 9))
        counts = await engine.read(lambda store: store.counts(engine.loop("shop").id))
        return step, counts

    step, counts = with_engine(tmp_path / "a.db", work)
    assert step.reward == step.taught == aggregated(values, how)
    joined = 1 if how == "earliest" else 4
    assert counts == {"decisions": 1, "waiting": 0, "joined": joined, "duplicate": 5 - joined, "late": 1}


def test_no_reward_is_the_default_reward(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings(default_reward=0.25, reward_window=0.01))
        for number in range(5):
            await engine.decide("shop", request(f"e{number}"))
        await settled(engine, "shop", 6)
        return await engine.read(lambda store: store.steps(engine.loop("shop").id, 1, 9)), engine.loop(
            "shop"
        ).model.sums

    steps, sums = with_engine(tmp_path / "a.db", work)
    assert [(step.why, step.taught) for step in steps] == [(2, 0.25)] * 5
    assert sums["defaults"] == 5


def test_deferred_events_are_learned_if_activated(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings(reward_window=0.2))
        for name in ("never", "then", "before", "unpaid"):
            await engine.decide("shop", request(name, deferred=True))
        await engine.reward("shop", [reward("never"), reward("then")])
        await engine.activate("shop", ["then", "before", "unpaid", "nothing"])
        await engine.reward("shop", [reward("before", 0.5)])
        await settled(engine, "shop", 5)

        def outcome(store):
            found = {}
            for name in ("never", "then", "before", "unpaid"):
                row = store.decision(engine.loop("shop").id, name)
                found[name] = store.rewards_of([row.seq])[row.seq]
            return {name: (step.why, step.taught) for name, step in found.items()}

        return await engine.read(outcome)

    assert with_engine(tmp_path / "a.db", work) == {
        "never": (3, None), "then": (1, 1.0), "before": (1, 0.5), "unpaid": (2, 0.0)
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["apprentice", "logging"])
def test_other_modes_take_the_first_action(tmp_path, mode):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings(mode=mode))
        made = []
        for number in range(40):
            made.append(await engine.decide("shop", request(f"e{number}", excluded=["a"])))
            await engine.reward("shop", [reward(f"e{number}", 0.5)])
        await settled(engine, "shop", 41)
        return made, await engine.read(lambda store: store.steps(engine.loop("shop").id, 1, 99))

    made, steps = with_engine(tmp_path / "a.db", work)
    assert {one.action for one in made} == {"b"}
    assert {one.probability for one in made} == {1.0}
    assert all(one.actions[0].probability == 0.0 for one in made)
    if mode == "logging":
        assert {(step.why, step.taught) for step in steps} == {(4, None)}
    else:
        agreed = [1.0 if one.preferred == "b" else 0.0 for one in made]
        assert [step.taught for step in steps] == agreed
        assert {step.reward for step in steps} == {0.5}
    assert replayed(tmp_path / "a.db")[0].different == 0


def test_the_declaration_is_tested_only_in_order(tmp_path):
    """Rewards that contradict gap and margin: said so if they were learned in the order of deciding."""

    async def work(engine, backwards):
        await engine.create_loop("shop", LoopSettings(gap=1.0, margin=1.0, crossing="features", exploration=1.0))
        names = [f"e{number}" for number in range(600)]
        made = await engine.decide_all("shop", [request(name, ids=("a", "b"), context=None) for name in names])
        paid = [reward(name, float(int(name[1:]) % 2)) for name in names]
        await engine.reward("shop", paid[::-1] if backwards else paid)
        await settled(engine, "shop", 601)
        assert len({one.action for one in made}) == 2
        model = engine.loop("shop").model
        return model.ordered, model.certificate(0).holds, model.bandit.certificate().holds

    ordered, holds, own = with_engine(tmp_path / "a.db", lambda engine: work(engine, False))
    assert (ordered, holds) == (True, own)
    ordered, holds, _ = with_engine(tmp_path / "b.db", lambda engine: work(engine, True))
    assert (ordered, holds) == (False, True)


def test_a_paused_loop_learns_when_it_goes_on(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        await engine.change_settings("shop", lambda _: LoopSettings(paused=True))
        await play(engine, "shop", 0, 10)
        assert engine.loop("shop").model.version == 1
        await engine.change_settings("shop", lambda _: LoopSettings())
        await settled(engine, "shop", 11)

    with_engine(tmp_path / "a.db", work)
    assert replayed(tmp_path / "a.db")[0].different == 0


def test_a_new_model_learns_nothing_of_the_old_ones_decisions(tmp_path):
    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        await play(engine, "shop", 0, 10)
        await engine.decide("shop", request("old"))
        await engine.change_settings("shop", lambda _: LoopSettings(gap=0.2, crossing="features"))
        await engine.reward("shop", [reward("old")])
        await play(engine, "shop", 10, 10)
        await settled(engine, "shop", 23)
        await engine.reset("shop")
        await play(engine, "shop", 20, 10)
        await settled(engine, "shop", 34)
        return [step.why for step in await engine.read(lambda store: store.steps(engine.loop("shop").id, 11, 99))]

    whys = with_engine(tmp_path / "a.db", work)
    assert whys == [11, 5, *[1] * 10, 11, *[1] * 10]
    assert replayed(tmp_path / "a.db")[0].different == 0


def test_a_clock_that_steps_back(tmp_path, monkeypatch):
    import time

    async def work(engine):
        await engine.create_loop("shop", LoopSettings(reward_window=0.05))
        await play(engine, "shop", 0, 3)
        wall = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: wall() - 10**13)
        await play(engine, "shop", 3, 3)
        await engine.decide("shop", request("unpaid"))
        await settled(engine, "shop", 8)
        return [row.time for row in await engine.read(lambda store: store.events(engine.loop("shop").id, None, 99))]

    times = with_engine(tmp_path / "a.db", work)
    assert times == sorted(times, reverse=True)
    assert times[0] - times[-1] < 60 * 10**6
    assert replayed(tmp_path / "a.db")[0].different == 0
