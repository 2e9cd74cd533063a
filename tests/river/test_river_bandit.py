"""The bandit in river's evaluation loops."""

import copy
import pickle
import random

import gymnasium
import pytest
from river import bandit

from massart.errors import InvalidDataError
from massart.river import MonotoneBandit

TOWNS, ARMS = ("Rome", "Paris"), ["news", "sport", "arts"]


def reward_of(arm, context, rng):
    best = ARMS[TOWNS.index(context["town"])]
    return float(rng.random() < (0.8 if arm == best else 0.2))


def test_contexts_are_followed():
    rng, policy, earned = random.Random(0), MonotoneBandit(seed=0), 0.0
    for _ in range(1500):
        context = {"town": rng.choice(TOWNS)}
        arm = policy.pull(ARMS, context=context)
        reward = reward_of(arm, context, rng)
        policy.update(arm, context, reward)
        earned += reward
    assert earned > 0.6 * 1500  # a random arm earns 0.4
    assert policy.bandit.rounds == policy._n == 1500
    assert policy.bandit.pending == 0
    assert set(policy.ranking) == set(ARMS)


def test_evaluation_in_an_environment():
    env = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=300)
    policies = [MonotoneBandit(seed=0, reward_range=(-6.0, 8.0), clip_rewards=True), bandit.RandomPolicy(seed=0)]
    trace = list(bandit.evaluate(policies, env, n_episodes=3, seed=1))
    assert len(trace) == 2 * 3 * 300
    own, random_ = (sum(step["reward"] for step in trace if step["policy_idx"] == k) for k in (0, 1))
    assert own > random_


def test_evaluation_of_a_log():
    rng = random.Random(0)
    history = []
    for _ in range(4000):
        context, arm = {"town": rng.choice(TOWNS)}, rng.choice(ARMS)
        history.append((ARMS, context, arm, reward_of(arm, context, rng)))
    total, used = bandit.evaluate_offline(policy=MonotoneBandit(seed=0), history=history)
    assert 1000 < used < 1700
    assert total.get() > 0.55 * used
    total, used = bandit.evaluate_offline(
        policy=MonotoneBandit(seed=0), history=[(arms, None, arm, reward) for arms, _, arm, reward in history]
    )
    assert used > 1000


def test_rewards_come_late_and_out_of_order():
    policy = MonotoneBandit(seed=0)
    contexts = [{"age": float(n)} for n in range(50)]
    pulls = [(policy.pull(ARMS, context), context) for context in contexts]
    for arm, context in reversed(pulls):
        policy.update(arm, context, 1.0)
    assert policy.bandit.rounds == 50
    assert policy.bandit.pending == 0


def test_pulls_without_rewards_are_forgotten():
    policy = MonotoneBandit(seed=0)
    for n in range(3000):
        policy.pull(ARMS, {"age": float(n)})
    assert policy.bandit.pending <= 1025
    assert len(policy._waiting) <= 1024


def test_updates_without_a_pull():
    policy = MonotoneBandit(seed=0)
    for _ in range(100):
        policy.update("news", {"town": "Rome"}, 1.0)
        policy.update("sport", {"town": "Rome"}, 0.0)
    assert policy.bandit.rounds == 200


def test_burn_in_and_arms_of_other_kinds():
    policy = MonotoneBandit(seed=0, burn_in=2)
    arms = [("a", 1), ("b", 2)]
    for _ in range(4):
        policy.update(policy.pull(arms), 0.5)
    assert policy._counts == {arms[0]: 2, arms[1]: 2}
    assert policy.pull(arms) in arms
    assert policy.pull(range(3)) in range(3)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_pull_alike(way):
    policy = MonotoneBandit(seed=0)
    for n in range(50):
        policy.update(policy.pull(ARMS, {"age": n / 50}), {"age": n / 50}, 0.5)
    other = way(policy)
    assert [policy.pull(ARMS, {"age": 0.1}) for _ in range(20)] == [other.pull(ARMS, {"age": 0.1}) for _ in range(20)]
    assert policy.clone().bandit.rounds == 0


def test_what_is_refused():
    policy = MonotoneBandit(seed=0)
    with pytest.raises(InvalidDataError, match="arm_ids is empty"):
        policy.pull([])
    arm = policy.pull(ARMS)
    with pytest.raises(InvalidDataError, match="there is no reward"):
        policy.update(arm)
    with pytest.raises(InvalidDataError, match="reward"):
        policy.update(arm, 7.0)
    policy.update(arm, 1.0)
    assert policy._n == 1
