"""A bandit or ranker used from several threads loses nothing: identities are distinct, every reward is learned."""

from functools import partial

import numpy as np
import pytest
from threads import at_once, eager_switching

from massart import MonotoneBandit, MonotoneRanker
from massart.errors import InvalidDataError

THREADS, ROUNDS, D = 8, 500, 4
KINDS = {
    "known": {"gap": 0.1, "margin": 0.2},
    "default": {},
    "paper": {"gap": 0.5, "margin": 0.5, "horizon": 10**4, "update": "paper"},
    "expiring": {"expire_after": 10_000},
}


@pytest.fixture(autouse=True)
def _eager_switching():
    with eager_switching():
        yield


def together(work):
    """Run `work(n)` in every thread; what one of them raises is raised here."""
    at_once(*(partial(work, n) for n in range(THREADS)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_identity_is_distinct_and_every_reward_is_learned(kind):
    bandit, made = MonotoneBandit(random_state=0, **KINDS[kind]), [[] for _ in range(THREADS)]

    def work(n):
        rng = np.random.default_rng(n)
        for t in range(ROUNDS):
            choice = bandit.choose(rng.normal(size=(3, D)) / 8)
            made[n].append(choice.identity)
            bandit.expire(choice) if t % 5 == 0 else bandit.learn(choice, rng.random())
            if t % 50 == 0:
                bandit.probabilities(np.eye(3, D) / 2)
                bandit.certificate()
                MonotoneBandit.from_arrays(bandit.arrays())

    together(work)
    identities = [identity for some in made for identity in some]
    assert len(set(identities)) == THREADS * ROUNDS
    assert (bandit.rounds, bandit.pending) == (THREADS * ROUNDS, 0)
    assert sorted(int(identity[-12:], 16) for identity in identities) == list(range(THREADS * ROUNDS))


def test_a_choice_is_learned_by_one_thread_only():
    bandit = MonotoneBandit(random_state=0)
    choices, learned = [bandit.choose(np.eye(3, D)) for _ in range(ROUNDS)], [0] * THREADS

    def work(n):
        for choice in choices:
            try:
                bandit.learn(choice, 1.0)
                learned[n] += 1
            except InvalidDataError:
                continue

    together(work)
    assert sum(learned) == bandit.rounds == ROUNDS


def test_a_simulation_is_one_step_for_other_threads():
    bandit, rng = MonotoneBandit(random_state=0), np.random.default_rng(0)
    contexts, rewards = rng.normal(size=(50, 3, D)), rng.random((50, 3))

    def work(n):
        for _ in range(20):
            if n % 2:
                bandit.play(contexts, rewards)
            else:
                bandit.learn(bandit.choose(contexts[0]), 1.0)

    together(work)
    assert bandit.rounds == THREADS // 2 * 20 * 51
    assert bandit.pending == 0


def test_a_ranker_loses_no_round():
    ranker = MonotoneRanker()

    def work(n):
        rng = np.random.default_rng(n)
        for _ in range(ROUNDS):
            ranker.learn(rng.normal(size=(3, D)) / 8, rng.random(3))
            ranker.predict_ranking(np.eye(3, D))

    together(work)
    assert ranker.rounds == THREADS * ROUNDS
