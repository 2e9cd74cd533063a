"""The series behind the dashboard's charts: estimates without bias, intervals for every look, bounded memory."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from service_runs import request, settled, with_engine

from massart import MonotoneBandit
from massart.learners.rounds import plan_round
from massart.service import series as module
from massart.service.model import offer_of_request
from massart.service.series import LoopSeries, anytime_width
from massart.service.store import DecisionRow, Step, Why
from massart.service.types import DecideRequest, LoopSettings, RewardRequest

MEANS = np.array([0.3, 0.5, 0.9])
SETTINGS = LoopSettings()
BODY = b'{"actions":["a","b","c"]}'


@cache
def plan():
    """What a bandit that has learned a little would do: the same in every round, since it learns no more."""
    bandit = MonotoneBandit(exploration=0.4, random_state=0)
    for _ in range(20):
        choice = bandit.choose(["a", "b", "c"])
        bandit.learn(choice, float(choice.arm == 2))
    return plan_round(bandit, offer_of_request(DecideRequest(["a", "b", "c"]), SETTINGS))


def fed(count, seed=0, mode="online"):
    """A series of so many decisions that were rewarded, each a second after the one before."""
    rng, found, p = np.random.default_rng(seed), LoopSeries(), plan().probabilities
    for number in range(1, count + 1):
        arm = int(rng.choice(3, p=p))
        reward = float(rng.random() < MEANS[arm])
        decision = DecisionRow(number, 1, f"e{number}", 0, 0, 0, arm, mode, BODY, plan().pack(arm))
        step = Step(1, number, Why.REWARD, number, reward, reward, 1_000_000 * number)
        found.add([step], {number: decision}, SETTINGS)
    return found.series()


def test_lift_is_estimated_without_bias():
    """Means over 10 seeds are within 5 standard errors of the truth, and each of the intervals holds it."""
    p = plan().probabilities
    assert p.min() > 0.1
    assert p.max() - p.min() > 0.05
    earned = p @ MEANS
    truth = np.array([earned - MEANS.mean(), earned - MEANS[0]])
    lifts = []
    for seed in range(10):
        found = fed(500, seed)
        lifts.append((found.lift_over_random.value, found.lift_over_baseline.value))
        for one, value in zip(
            (found.lift_over_random, found.lift_over_baseline, found.reward), (*truth, earned), strict=True
        ):
            assert one.low < value < one.high
    error = np.std(lifts, axis=0, ddof=1) / np.sqrt(10)
    assert (np.abs(np.mean(lifts, axis=0) - truth) < 5 * error).all()


def test_memory_is_bounded_and_sums_are_kept():
    found = fed(1500)
    assert len(found.round) <= module._MOST
    assert found.rounds == found.round[-1] == 1500
    assert found.round == sorted(set(found.round))
    sizes = np.diff([0, *found.round])
    assert np.dot(sizes, found.rewards) / 1500 == pytest.approx(found.reward.value)
    assert [one.id for one in found.actions] == ["a", "b", "c"]
    assert np.sum([one.shares for one in found.actions], axis=0) == pytest.approx(np.ones(len(found.round)))
    assert found.random[-1] == found.lift_over_random
    assert found.exploration == pytest.approx(1.0 - plan().probabilities.max())
    assert sum(found.delays.counts) == 1500
    assert found.delays.median == pytest.approx(1000.5)


def test_decisions_that_took_the_baseline_say_nothing_of_lift():
    found = fed(50, mode="apprentice")
    assert found.rounds == 50
    assert found.lift_over_random.value is None
    assert found.lift_over_baseline.low is None


def test_rare_actions_are_counted_together():
    stretch = module._Stretch()
    for number in range(1000):
        stretch.actions[f"a{number}"] += 1 + (number < 3) * 100
        stretch.trim()
    assert len(stretch.actions) <= 2 * module._KEPT + 1
    assert sum(stretch.actions.values()) == 1300
    stretch.rounds = 1300
    shares = module._shares([stretch], Counter(stretch.actions))
    assert len(shares) == 9
    assert shares[-1].id == module.OTHERS
    assert sum(one.shares[0] for one in shares) == pytest.approx(1.0)


def test_intervals_hold_at_every_look():
    """200 paths of 2,000 values of mean 0: at most 5% may ever leave; 21 of 200 has probability below 1e-3."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 2000))
    means = values.cumsum(axis=1) / np.arange(1, 2001)
    widths = np.array([anytime_width(count) for count in range(1, 2001)])
    left = (np.abs(means) > widths)[:, 20:].any(axis=1)
    assert left.sum() < 21


def test_a_new_model_begins_a_new_series(tmp_path):
    """Through the engine: after a reset only what came later is counted."""

    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        found = LoopSeries()

        async def follow():
            loop = engine.loop("shop")
            steps = await engine.read(lambda store: store.steps(loop.id, found.version, 100))
            numbers = [step.decision for step in steps if step.decision is not None]
            found.add(steps, await engine.read(lambda store: store.decisions_by_seq(numbers)), loop.settings)
            return found.series()

        for number in range(6):
            await engine.decide("shop", request(f"e{number}"))
            await engine.reward("shop", [RewardRequest(f"e{number}", 1.0)])
        await settled(engine, "shop", 7)
        before = await follow()
        await engine.reset("shop")
        return before, await follow()

    before, after = with_engine(tmp_path / "shop.db", work)
    assert (before.rounds, before.reward.value, before.first_version) == (6, 1.0, 1)
    assert (after.rounds, after.reward.value, after.first_version) == (0, None, 8)
