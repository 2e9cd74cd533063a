"""`massart evaluate --policy FILE`: what a saved bandit would have earned."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from massart import Halfspace, MonotoneBandit, save
from massart.cli.app import app
from massart.data import Decision, write_decisions

ROUNDS = 4000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A log of random choices, and a bandit that was trained on other rounds of the same kind.

    The reward of an arm is 1 with probability 1/2 + its first feature, which is between -0.4 and 0.4.
    """
    folder = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(0)
    contexts = rng.uniform(-0.4, 0.4, size=(2 * ROUNDS, 3, 4))
    rewards = (rng.random(contexts.shape[:2]) < 0.5 + contexts[:, :, 0]).astype(float)
    bandit = MonotoneBandit(random_state=0)
    bandit.play(contexts[:ROUNDS], rewards[:ROUNDS])
    save(bandit, folder / "bandit.massart")
    save(Halfspace(4, 0.1, 0.1), folder / "halfspace.massart")
    arms = rng.integers(3, size=ROUNDS)
    logged = zip(contexts[ROUNDS:], arms, rewards[ROUNDS:], strict=True)
    write_decisions([Decision(x, int(a), 1 / 3, float(r[a])) for x, a, r in logged], folder / "log.jsonl")
    chances = [bandit.probabilities(x) for x in contexts[ROUNDS:]]
    truth = np.mean([p @ (0.5 + x[:, 0]) for p, x in zip(chances, contexts[ROUNDS:], strict=True)])
    return folder, float(truth)


def evaluate(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


def test_a_saved_bandit_is_evaluated(files):
    """The value, given the contexts, is known; IPS may miss it by 4 standard errors, each at most sqrt(3 / ROUNDS)."""
    folder, truth = files
    done = evaluate(
        folder / "log.jsonl", "--policy", folder / "bandit.massart", "--estimator", "ips", "--json", "--quiet"
    )
    assert done.exit_code == 0, done.output
    (line,) = [line for line in json.loads(done.stdout)["lines"] if line["estimator"] == "ips"]
    assert abs(line["value"] - truth) < 4 * np.sqrt(3 / ROUNDS)
    assert truth > 0.55  # better than a random arm, which earns 1/2


@pytest.mark.parametrize(
    ("policy", "words"), [("halfspace.massart", "does not choose among arms"), ("nothing.massart", "no file")]
)
def test_what_is_no_bandit_is_refused(files, policy, words):
    folder, _ = files
    done = evaluate(folder / "log.jsonl", "--policy", folder / policy)
    assert done.exit_code == 2
    assert words in done.output
