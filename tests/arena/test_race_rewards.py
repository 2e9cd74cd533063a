"""The bandit race: rows by hand, the same rows from the same seed, and what becomes of a policy that raises."""

import json
import math
import sys
from typing import ClassVar

import numpy as np
import pytest

from massart import arena, worlds
from massart.arena import lanes, report
from massart.arena.entries import RewardEntry, enter
from massart.arena.registry import POLICIES
from massart.arena.report.kinds import describe_world
from massart.arena.report.summary import command_of
from massart.errors import InvalidParameterError
from massart.learners.bandit import MonotoneBandit
from massart.worlds.rewards.base import RewardChunk, RewardWorld


class TwoRounds(RewardWorld):
    """Two rounds of two arms, written out."""

    name = "two-rounds"
    description = "written out"
    arms, dimension, gap, margin, target = 2, 1, 0.4, 1.0, np.ones(1)
    stream: ClassVar = RewardChunk(
        np.array([[[0.0], [1.0]], [[1.0], [0.0]]]),
        np.array([[0.2, 0.8], [0.5, 0.1]]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    )

    def __init__(self):
        super().__init__(0)

    def chunks(self, rounds, size=4096):
        for t in range(0, rounds, size):
            yield RewardChunk._make(part[t : t + size] for part in self.stream)

    def play(self, rounds):
        raise NotImplementedError


class Second:
    """Plays arm 1, with probability .75; can be told to break when it has learned so many rounds."""

    def __init__(self, breaks=math.inf):
        self.breaks, self.learned = breaks, 0

    weights = property(lambda self: np.zeros(10))

    def copy(self):
        return Second(self.breaks)

    def probabilities(self, contexts, allowed=None):
        return np.array([0.25, 0.75])

    def play(self, contexts, rewards):
        self.learned += len(contexts)
        if self.learned > self.breaks:
            raise RuntimeError("out of order")
        return type("Played", (), {"arms": np.ones(len(contexts), np.int64)})

    def choose(self, contexts, allowed=None):
        return type("Choice", (), {"arm": 1})

    def learn(self, choice, reward):
        self.play(np.zeros(1), None)


def test_rows_by_hand():
    rows = arena.race({"second": Second()}, TwoRounds(), rounds=2, seed=4).rows
    # Round 1: arm 1 has mean .8, the round .5; round 2: arm 1 has .1, the round .3.
    first = {"reward": 1.0, "lift": 0.3, "best_lift": 0.3, "share": 1.0, "chance": 0.3}
    both = {"reward": 0.5, "lift": 0.05, "best_lift": 0.25, "share": 0.2, "chance": math.sqrt(0.13) / 2}
    assert [row["rounds"] for row in rows] == [1, 2]
    for row, expected in zip(rows, (first, both), strict=True):
        assert {key: row[key] for key in expected} == pytest.approx(expected)
        assert row["guaranteed_lift"] == pytest.approx(0.2)  # (2 - 1) / 2 * gap
        assert row["favourite"] == 0.75
        assert (row["world"], row["learner"], row["seed"], row["error"]) == ("two-rounds", "second", 4, None)
        assert (row["arms"], row["gap"], row["margin"], row["dimension"]) == (2, 0.4, 1.0, 1)


@pytest.mark.parametrize("world", ["simpson", "hunted-pairs"])
def test_the_same_seed_gives_the_same_rows(world):
    field = ["monotone", "monotone-unknown", "paper", "linucb", "thompson"]
    one, two, other = (arena.race(field, world, rounds=300, seed=seed).rows for seed in (1, 1, 2))
    assert one == two
    assert one != [{**row, "seed": 1} for row in other]


def test_rows_do_not_depend_on_the_field_nor_on_jobs():
    alone = arena.sweep("hard-pairs", "linucb", rounds=200, seeds=2)
    field = ["monotone", "linucb"]
    among = arena.sweep("hard-pairs", field, rounds=200, seeds=2)
    assert [row for row in among if row["learner"] == "linucb"] == alone
    assert arena.sweep("hard-pairs", field, rounds=200, seeds=2, jobs=2) == among


def test_an_adaptive_world_is_played_round_by_round():
    world = worlds.make("hunted-pairs", seed=3)
    policy = MonotoneBandit(world.gap, world.margin, random_state=7)
    last = arena.race({"ours": policy}, world, rounds=300).final["ours"]
    game, again, lift = world.play(300), policy.copy(), 0.0
    for _ in range(300):
        weights = again.weights
        one = game.next(weights if weights.size else np.zeros(10))
        choice = again.choose(one.contexts)
        again.learn(choice, one.rewards[choice.arm])
        lift += one.means[choice.arm] - one.means.mean()
    assert last["lift"] == pytest.approx(lift / 300)
    assert policy.rounds == 0  # the policy brought along was copied


@pytest.mark.parametrize("world", ["hard-pairs", "hunted-pairs"])
def test_a_policy_that_raises_is_out_and_the_others_go_on(world):
    result = arena.race({"broken": Second(breaks=25), "whole": Second()}, world, rounds=100)
    broken, whole = result.final["broken"], result.final["whole"]
    assert broken["error"] == "RuntimeError: out of order"
    assert broken["rounds"] <= 25
    assert (whole["rounds"], whole["error"]) == (100, None)


def test_a_policy_that_cannot_begin_is_out_at_round_0():
    no_model = worlds.from_supervised(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2)
    result = arena.race(["paper", "uniform"], no_model, rounds=20)
    assert result.final["paper"]["rounds"] == 0
    assert "needs gap" in result.final["paper"]["error"]
    assert result.final["uniform"]["guaranteed_lift"] is None
    assert "paper" in report.html(result.rows)


def test_simpson_turns_regression_below_random_and_not_ours():
    rows = arena.race(["monotone", "monotone-unknown", "linucb", "epsilon-greedy-ridge"], "simpson", 20_000).final
    # The lift per round of random arms has a standard deviation of about .07 / sqrt(20,000) = .0005.
    assert rows["linucb"]["lift"] < -0.08
    assert rows["epsilon-greedy-ridge"]["lift"] < -0.07
    assert rows["monotone"]["lift"] > 0.025
    assert rows["monotone-unknown"]["lift"] > 0.025
    assert rows["linucb"]["chance"] == pytest.approx(0.0005, rel=0.1)


def test_each_kind_of_world_has_learners_of_its_own():
    for attempt in (
        lambda: arena.race("perceptron", "simpson", rounds=10),
        lambda: arena.race("perceptron", worlds.make("simpson"), rounds=10),
        lambda: arena.sweep("simpson", "perceptron", rounds=10),
    ):
        with pytest.raises(InvalidParameterError, match="there is no policy 'perceptron'"):
            attempt()
    for attempt in (lambda: arena.race("uniform", "kink", rounds=10), lambda: arena.sweep("kink", "uniform")):
        with pytest.raises(InvalidParameterError, match="there is no learner 'uniform'"):
            attempt()
    with pytest.raises(InvalidParameterError, match=r"'kink' and 'simpson' are not of one kind.* in two sweeps"):
        arena.sweep(["kink", "simpson"])
    assert describe_world("hunted-pairs")[1] is True


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([], "no policy was given"),
        ("linusb", "did you mean 'linucb'"),
        ("monotome", "did you mean 'monotone'"),
        (["uniform", "uniform"], "there twice"),
        (MonotoneBandit, "cannot race"),
        (3, "cannot race"),
    ],
)
def test_who_cannot_enter(policies, message):
    with pytest.raises(InvalidParameterError, match=message):
        enter(policies, RewardEntry)


@pytest.mark.parametrize(
    ("worlds_given", "message"),
    [
        ([], "no world"),
        (["simpson", "simpson"], "there twice"),
        ([{"arms": 3}], "give names"),
        (["simpsons"], "simpson"),
    ],
)
def test_worlds_that_cannot_be(worlds_given, message):
    with pytest.raises(InvalidParameterError, match=message):
        arena.sweep(worlds_given, "uniform", rounds=10)


def test_other_packages_get_fewer_seeds(monkeypatch):
    monkeypatch.setattr(POLICIES, "is_peer", lambda name: name == "linucb")  # linucb stands for a package
    rows = arena.sweep("simpson", ["uniform", "linucb"], rounds=10, seeds=2, peer_seeds=1)
    assert {(row["learner"], row["seed"]) for row in rows} == {("uniform", 0), ("uniform", 1), ("linucb", 0)}


def test_a_sweep_is_resumed(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    options = {"rounds": 50, "seeds": 2, "resume": path}
    rows = arena.sweep("simpson", ["uniform"], **options)
    monkeypatch.setattr(sys.modules["massart.arena.sweep"], "run", None)  # nothing is run again
    assert arena.sweep("simpson", ["uniform"], **options) == rows


def test_progress_reaches_its_total():
    events = []
    arena.sweep(["simpson", "hunted-pairs"], ["uniform", "linucb"], rounds=50, seeds=1, progress=events.append)
    assert events[-1].done == events[-1].total == 2 * 2 * 50


def test_chunk_size_changes_no_choice(monkeypatch):
    expected = arena.race(["monotone", "thompson"], "simpson", 500).rows
    monkeypatch.setattr(lanes, "CHUNK", 13)
    for one, other in zip(arena.race(["monotone", "thompson"], "simpson", 500).rows, expected, strict=True):
        assert (one.rounds, one.reward, one.lift) == pytest.approx((other.rounds, other.reward, other.lift), rel=1e-12)


def test_default_policies():
    rows = arena.sweep("simpson", rounds=5, seeds=1)
    assert tuple(dict.fromkeys(row.learner for row in rows)) == POLICIES.default


def test_the_journal_of_a_race_of_policies_keeps_its_form(tmp_path):
    path = tmp_path / "journal"
    rows = arena.sweep("simpson", ["uniform"], rounds=5, seeds=1, resume=path)
    header, unit = (json.loads(line) for line in path.read_text().splitlines())
    assert (header["massart-sweep"], header["policies"]) == (1, {"uniform": "uniform"})
    assert unit["unit"] == json.dumps([0, 0, ["uniform"]])
    assert unit["rows"] == [dict(row) for row in rows] == rows
    assert list(unit["rows"][0])[:6] == ["world", "learner", "seed", "rounds", "reward", "lift"]
    assert command_of(rows).startswith("massart race --bandit simpson --learner uniform")
