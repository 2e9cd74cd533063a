"""Laws of every learner that can race, and the registry that names them."""

import json
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from massart import MonotoneBandit, arena, worlds
from massart.arena import registry
from massart.arena.registry import LEARNERS, POLICIES
from massart.cli.app import app
from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.base import OnlineLearner

ROWS = 240
OURS = ("massart", "massart-fixed", "massart-adagrad", "massart-unknown", "paper")
# The net of directions exists for up to three features, everything else for any number; 7 is odd on purpose.
CASES = [(name, d) for name in LEARNERS.names() for d in (3, 7) if name != "exponential-net" or d <= 3]
DRAWN = "massart-unknown"  # `learn` predicts with an expert drawn by chance, `score` with the leader
laws = pytest.mark.parametrize(("name", "dimension"), CASES)


def make(name, dimension, seed=5):
    return LEARNERS.make(name, dimension=dimension, noise_rate=0.1, margin=0.1, horizon=ROWS, seed=seed)


def stream(dimension, rows=ROWS):
    rng = np.random.default_rng(dimension)
    X = rng.standard_normal((rows, dimension))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    y[rng.random(rows) < 0.1] *= -1
    return X, y.astype(np.int8)


def frozen(learner):
    return {name: array.copy() for name, array in learner.arrays().items()}


def same(first, second):
    return first.keys() == second.keys() and all(
        first[k].dtype == second[k].dtype and np.array_equal(first[k], second[k]) for k in first
    )


@laws
def test_it_speaks_the_protocol(name, dimension):
    learner = make(name, dimension)
    X, y = stream(dimension, 20)
    assert isinstance(learner, OnlineLearner)
    scores = learner.learn_many(X, y)
    assert scores.shape == (20,)
    assert scores.dtype == np.float64
    for vector in (learner.weights, learner.direction):
        assert vector.shape == (dimension,)
        assert vector.dtype == np.float64
    assert learner.learn_many(X[:0], y[:0]).shape == (0,)


@laws
def test_looking_changes_nothing(name, dimension):
    learner = make(name, dimension)
    X, y = stream(dimension)
    learner.learn_many(X[:60], y[:60])
    before = frozen(learner)
    for x in X[60:70]:
        assert learner.predict(x) == (1 if learner.score(x) >= 0 else -1)
    assert (learner.weights.size, learner.direction.size) == (dimension, dimension)
    assert same(before, learner.arrays())


@laws
def test_rows_in_chunks_or_alone_give_the_same_bits(name, dimension):
    X, y = stream(dimension)
    whole, chunked, single = (make(name, dimension) for _ in range(3))
    scores = whole.learn_many(X, y)
    cut = [0, 1, 50, 51, 200, ROWS]
    by_chunks = np.concatenate([chunked.learn_many(X[a:b], y[a:b]) for a, b in pairwise(cut)])
    one_by_one = np.array([single.learn(x, label) for x, label in zip(X, y.tolist(), strict=True)])
    assert np.array_equal(scores, by_chunks)
    assert np.array_equal(scores, one_by_one)
    assert same(whole.arrays(), chunked.arrays())
    assert same(whole.arrays(), single.arrays())


@laws
def test_copies_and_restored_learners_have_the_same_future(name, dimension):
    X, y = stream(dimension)
    learner = make(name, dimension)
    learner.learn_many(X[:100], y[:100])
    saved = frozen(learner)
    copied, restored = learner.copy(), type(learner).from_arrays(frozen(learner))
    assert same(saved, copied.arrays())
    assert same(saved, restored.arrays())
    future = learner.learn_many(X[100:], y[100:])
    assert same(saved, copied.arrays()), "learning on changed the copy"
    assert np.array_equal(future, copied.learn_many(X[100:], y[100:]))
    assert np.array_equal(future, restored.learn_many(X[100:], y[100:]))
    assert learner.mistakes == copied.mistakes == restored.mistakes
    assert same(learner.arrays(), restored.arrays())


@laws
def test_a_learner_that_has_seen_nothing_can_be_copied(name, dimension):
    X, y = stream(dimension, 30)
    learner = make(name, dimension)
    assert np.array_equal(learner.copy().learn_many(X, y), learner.learn_many(X, y))


@laws
def test_the_same_seed_gives_the_same_run(name, dimension):
    X, y = stream(dimension)
    first, second = make(name, dimension), make(name, dimension)
    assert np.array_equal(first.learn_many(X, y), second.learn_many(X, y))
    assert same(first.arrays(), second.arrays())


@laws
def test_mistakes_are_signs_that_differ(name, dimension):
    X, y = stream(dimension)
    learner = make(name, dimension)
    scores = learner.learn_many(X, y)
    assert learner.mistakes == int(((scores >= 0) != (y > 0)).sum())
    assert learner.rounds == ROWS


@pytest.mark.parametrize(("name", "dimension"), [case for case in CASES if case[0] != DRAWN])
def test_the_score_is_what_learning_returns(name, dimension):
    X, y = stream(dimension, 60)
    learner = make(name, dimension)
    for x, label in zip(X, y.tolist(), strict=True):
        assert learner.score(x) == learner.learn(x, label)


# The vote of a net is not linear. Vowpal Wabbit scores in single precision, which is why tiny scores are left out.
LINEAR = [case for case in CASES if case[0] not in ("exponential-net", DRAWN)]


@pytest.mark.parametrize(("name", "dimension"), LINEAR)
def test_the_sign_of_direction_and_weights_is_the_prediction(name, dimension):
    X, y = stream(dimension)
    learner = make(name, dimension)
    learner.learn_many(X[:120], y[:120])
    for x in X[120:]:
        score = learner.score(x)
        if abs(score) > 1e-5:
            assert np.sign(learner.direction @ x) == np.sign(learner.weights @ x) == np.sign(score)


@laws
def test_it_learns_a_clean_halfspace(name, dimension):
    """Rows with |x_1| >= .3 and true labels: after 240 rows every learner beats a coin by far."""
    X, _ = stream(dimension, 2000)
    X = X[np.abs(X[:, 0]) > 0.3][:ROWS]
    y = np.where(X[:, 0] > 0, 1, -1)
    learner = make(name, dimension)
    scores = learner.learn_many(X, y)
    assert ((scores >= 0) == (y > 0))[ROWS // 2 :].mean() > 0.85


@laws
def test_bad_rows_are_refused_and_nothing_is_learned(name, dimension):
    learner = make(name, dimension)
    X, y = stream(dimension, 10)
    learner.learn_many(X, y)
    before = frozen(learner)
    spoilt = X.copy()
    spoilt[7, 1] = np.nan
    with pytest.raises(InvalidDataError):
        learner.learn_many(spoilt, y)
    with pytest.raises(InvalidDataError):
        learner.learn(spoilt[7], 1)
    assert same(before, learner.arrays())


NOT_OURS = [case for case in CASES if case[0] not in OURS]


@pytest.mark.parametrize(("name", "dimension"), NOT_OURS)
def test_bad_shapes_and_labels_are_refused(name, dimension):
    learner = make(name, dimension)
    X, y = stream(dimension, 10)
    for rows, labels in [(X[:, 1:], y), (X[0], y), (X, y[1:]), (X, np.zeros(10))]:
        with pytest.raises(InvalidDataError):
            learner.learn_many(rows, labels)
    with pytest.raises(InvalidDataError, match=r"-1 and \+1"):
        learner.learn(X[0], 0)
    with pytest.raises(InvalidDataError, match=f"{dimension} features"):
        learner.learn(X[0, 1:], 1)
    assert learner.rounds == 0


# The registry


def test_names_are_unique_and_described():
    names = LEARNERS.names()
    assert len(set(names)) == len(names)
    for name in names:
        assert LEARNERS.describe(name)
        assert "\n" not in LEARNERS.describe(name)
    assert set(LEARNERS.names(peers=False)) == {name for name in names if not LEARNERS.is_peer(name)}
    assert set(LEARNERS.default) <= set(LEARNERS.names(peers=False))
    assert len(set(LEARNERS.default)) == len(LEARNERS.default)


def test_ours_are_ours():
    assert {name for name in LEARNERS.names() if LEARNERS.is_ours(name)} == set(OURS)


@pytest.mark.parametrize("ask", [LEARNERS.describe, LEARNERS.find, LEARNERS.is_peer, lambda name: make(name, 3)])
@pytest.mark.parametrize(
    ("wrong", "hint"), [("perceptrom", "'perceptron'"), ("sklearn-logg", "'sklearn-log'"), ("zzz", "massart-fixed")]
)
def test_an_unknown_name_gets_near_ones(ask, wrong, hint):
    with pytest.raises(InvalidParameterError, match=f"there is no learner '{wrong}'") as caught:
        ask(wrong)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("massart", {"noise_rate": 0.1}),
        ("massart", {"margin": 0.1}),
        ("massart-fixed", {"noise_rate": 0.1, "margin": 0.1}),
        ("paper", {}),
        ("leaky-relu", {"margin": 0.1}),
        ("coin-betting", {}),
        ("exponential-net", {"noise_rate": 0.1}),
    ],
)
def test_a_learner_says_what_it_needs(name, missing):
    with pytest.raises(InvalidParameterError, match=r"needs .*massart-unknown"):
        LEARNERS.make(name, dimension=3, **missing)


NEEDS_NOTHING = [
    name
    for name in LEARNERS.names()
    if name not in ("leaky-relu", "coin-betting", "exponential-net", *OURS) or name == DRAWN
]


@pytest.mark.parametrize("name", NEEDS_NOTHING)
def test_the_others_need_only_the_dimension(name):
    X, y = stream(4, 12)
    assert LEARNERS.make(name, dimension=4).learn_many(X, y).shape == (12,)


def test_an_absent_package_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr(registry, "_importable", lambda package: package != "vowpalwabbit")
    assert "vw" not in LEARNERS.names()
    assert "sklearn-log" in LEARNERS.names()
    with pytest.raises(InvalidParameterError, match=r"'vowpalwabbit'.*pip install 'massart\[bench\]'"):
        make("vw", 3)


def test_groups_of_policies():
    assert POLICIES.opened(["default", "uniform"]) == list(POLICIES.default)
    assert set(POLICIES.opened(["peers"])) | set(POLICIES.default) == set(POLICIES.opened(["all"]))
    assert [name for name in POLICIES.names() if POLICIES.is_ours(name)] == ["monotone", "monotone-unknown", "paper"]
    assert LEARNERS.opened(["massart-default,arow", "massart-known"]) == ["massart-unknown", "arow", "massart"]


def test_titles_are_unique():
    for table in (LEARNERS, POLICIES):
        titles = [table.title(name) for name in table.names()]
        assert len(set(titles)) == len(titles)
    assert [LEARNERS.title(name) for name in ("massart", "massart-unknown", "paper", "arow")] == [
        "massart (noise and margin known)",
        "massart (default)",
        "paper's Algorithm 1",
        "arow",
    ]


@pytest.mark.parametrize("name", POLICIES.names(peers=False))
def test_a_policy_is_the_same_wherever_its_name_is_used(name):
    """In a race, in a sweep, by `massart race` and by hand: the horizon is that of the race."""
    world = worlds.make("hard-pairs", seed=np.random.SeedSequence(4).spawn(2)[0])
    seed = int(np.random.SeedSequence(4).spawn(2)[1].generate_state(1)[0])
    known = {key: getattr(world, key) for key in ("dimension", "arms", "gap", "margin", "reward_range")}
    by_hand = POLICIES.make(name, horizon=300, seed=seed, **known)
    chunk = world.take(300)
    arms = by_hand.play(chunk.contexts, chunk.rewards).arms
    reward = chunk.rewards[np.arange(300), arms].mean()
    raced = arena.race(name, "hard-pairs", 300, seed=4)
    swept = arena.sweep("hard-pairs", name, rounds=300, seeds=[4])
    done = CliRunner().invoke(
        app, ["race", "--bandit", "hard-pairs", "-l", name, "--rounds", "300", "--seeds", "5", "--json"]
    )
    told = [row for row in json.loads(done.stdout) if row["seed"] == 4]
    assert raced.rows == swept == told
    assert raced.final[name].reward == pytest.approx(reward, rel=1e-12)
    np.testing.assert_array_equal(raced.learners[name].weights, by_hand.weights)


@pytest.mark.parametrize("name", [name for name in LEARNERS.names(peers=False) if name != "exponential-net"])
def test_a_learner_is_the_same_wherever_its_name_is_used(name):
    world = worlds.make("kink", seed=np.random.SeedSequence(4).spawn(2)[0])
    seed = int(np.random.SeedSequence(4).spawn(2)[1].generate_state(1)[0])
    known = {key: getattr(world, key) for key in ("dimension", "noise_rate", "margin")}
    by_hand = LEARNERS.make(name, horizon=300, seed=seed, **known)
    chunk = world.take(300)
    by_hand.learn_many(chunk.X, chunk.y)
    raced = arena.race(name, "kink", 300, seed=4)
    done = CliRunner().invoke(app, ["race", "kink", "-l", name, "--rounds", "300", "--seeds", "5", "--json"])
    assert raced.rows == arena.sweep("kink", name, rounds=300, seeds=[4])
    assert raced.rows == [row for row in json.loads(done.stdout) if row["seed"] == 4]
    assert raced.final[name].mistakes == by_hand.mistakes
    np.testing.assert_array_equal(raced.learners[name].weights, by_hand.weights)


def test_the_documented_monotone_knows_the_horizon():
    """docs/policies.md: gap, margin, the horizon if there is one."""
    world = worlds.make("hard-pairs", gap=0.8, margin=0.16, seed=0)
    known = {"dimension": world.dimension, "arms": 2, "gap": 0.8, "margin": 0.16, "seed": 0}
    with_horizon, without = (POLICIES.make("monotone", **known, horizon=horizon) for horizon in (3000, None))
    expected = MonotoneBandit(0.8, 0.16, (0.0, 1.0), 3000, random_state=0)
    chunk = world.take(3000)
    played = [policy.play(chunk.contexts, chunk.rewards).probabilities for policy in (with_horizon, expected, without)]
    np.testing.assert_array_equal(played[0], played[1])
    assert not np.array_equal(played[0], played[2])
    seed = int(np.random.SeedSequence(0).spawn(2)[1].generate_state(1)[0])
    for horizon in (3000, None):
        by_hand = POLICIES.make("monotone", **known | {"seed": seed}, horizon=horizon)
        by_hand.play(chunk.contexts, chunk.rewards)
        raced = arena.race("monotone", world, 3000).learners["monotone"]
        assert np.array_equal(raced.weights, by_hand.weights) == (horizon == 3000)
