"""A thousand users of the service on Simpson's paradox: the lift is that of the bandit in one process; VW has none."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from service_runs import KEY, massart, served

from massart import MonotoneBandit, worlds
from massart.arena.registry import POLICIES
from massart.client import Client

USERS, VISITS = 1000, 4
ROUNDS = USERS * VISITS
AT_ONCE = 8  # users who are there at the same time
SEEDS = 30


@pytest.fixture(scope="module")
def chunk():
    return worlds.make("simpson", seed=7).take(ROUNDS)


def lift(chunk, arms):
    """Expected reward per round above that of a random arm: the world knows it."""
    return float((chunk.means[np.arange(ROUNDS), arms] - chunk.means.mean(axis=1)).mean())


@pytest.fixture(scope="module")
def least(chunk):
    """What a run of the same bandit reaches, but for chance and for rewards that come late.

    Chance: lifts of the bandit in one process, with 30 seeds, have a mean and a standard deviation s; a further run is
    below the mean less 5 s sqrt(1 + 1/30) with probability 2e-5, by Student's distribution with 29 degrees of freedom.
    Late: a decision knows all rewards but those of the users who are there, so learning is at most AT_ONCE rounds
    behind; each of so many rounds costs at most the difference between the best and the worst arm.
    """
    lifts = [
        lift(chunk, MonotoneBandit(random_state=seed).play(chunk.contexts, chunk.rewards).arms) for seed in range(SEEDS)
    ]
    spread = float(np.ptp(chunk.means, axis=1).max())
    late = AT_ONCE * spread / ROUNDS
    return np.mean(lifts) - 5.0 * np.std(lifts, ddof=1) * np.sqrt(1.0 + 1.0 / SEEDS) - late


def visits(client, user, chunk, arms):
    """A user comes, sees what was decided, and the reward is sent; four times."""
    for number in range(user * VISITS, (user + 1) * VISITS):
        actions = {f"arm {place}": row.tolist() for place, row in enumerate(chunk.contexts[number])}
        decided = client.decide("simpson", actions)
        arms[number] = decided.index
        client.reward("simpson", decided.event_id, float(chunk.rewards[number, decided.index]))


@pytest.fixture(scope="module")
def arms(chunk, tmp_path_factory):
    """The arms that `massart serve` chose for the users."""
    folder = tmp_path_factory.mktemp("simpson")
    db = f"sqlite:///{folder / 'simpson.db'}"
    found = np.full(ROUNDS, -1)

    with served(db, folder) as service, Client(service.url, KEY, seed=0) as client:
        client.create_loop("simpson")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda user: visits(client, user, chunk, found), range(USERS)))
        assert client.state("simpson")["loop"]["learned"] == ROUNDS
    done = massart("replay", "--db", db)
    assert done.returncode == 0, done.stdout + done.stderr
    return found


def test_the_service_reaches_the_lift_of_the_bandit(chunk, arms, least):
    assert arms.min() >= 0
    assert least > 0.03  # the bound says something: a random arm has 0, the best one 0.1
    assert lift(chunk, arms) >= least


@pytest.mark.parametrize("name", [name for name in POLICIES.names() if name == "vw-squarecb"])
def test_vowpal_wabbit_does_not(chunk, least, name):
    policy = POLICIES.make(name, dimension=chunk.contexts.shape[2], arms=chunk.contexts.shape[1], seed=0)
    assert lift(chunk, policy.play(chunk.contexts, chunk.rewards).arms) < 0.0 < least
