"""Laws that every bandit policy of the comparison keeps, compiled ones and other people's packages alike."""

import json

import numpy as np
import pytest
from scipy import sparse, stats

from massart.arena.registry import POLICIES
from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.choice import Choice
from massart.learners.reference.policies import Policy

ARMS, DIMENSION = 4, 3
NAMES = [name for name in POLICIES.names() if not POLICIES.is_ours(name)]  # ours has laws of its own
SUMS = [name for name in NAMES if not name.startswith("vw")]  # VW's steps depend on their order
EXACT = [name for name in NAMES if name != "vw-cover"]  # VW's file lacks some of what --cover goes on learning with
COMPILED = [name for name in NAMES if name in POLICIES.names(peers=False)]


def stream(rounds, seed=0):
    """Rewards linear in the first feature."""
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((rounds, ARMS, DIMENSION))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    means = 0.5 + 0.4 * contexts[:, :, 0]
    return contexts, (rng.random(means.shape) < means).astype(float)


def fresh(name, seed=5, **more):
    return POLICIES.make(name, dimension=DIMENSION, arms=ARMS, seed=seed, **more)


def trained(name, rounds=120):
    policy = fresh(name)
    policy.play(*stream(rounds))
    return policy


def memory(policy):
    """All it remembers but who it is."""
    return {name: array.tobytes() for name, array in policy.arrays().items() if name != "identity"}


@pytest.mark.parametrize("name", NAMES)
def test_the_protocol_is_kept(name):
    assert isinstance(fresh(name), Policy)
    assert POLICIES.describe(name)
    np.testing.assert_array_equal(fresh(name).weights, np.zeros(DIMENSION))


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_add_up_to_one_and_are_those_of_the_next_choice(name):
    policy, (contexts, rewards) = trained(name), stream(30, seed=1)
    for X, r in zip(contexts, rewards, strict=True):
        p = policy.probabilities(X)
        assert p.shape == (ARMS,)
        assert (p >= 0.0).all()
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        choice = policy.choose(X)
        np.testing.assert_array_equal(choice.probabilities, p)
        assert choice.probability == p[choice.arm] > 0.0
        policy.learn(choice, r[choice.arm])


@pytest.mark.parametrize("name", NAMES)
def test_asking_for_probabilities_changes_nothing(name):
    asked, silent, (contexts, rewards) = trained(name), trained(name), stream(40, seed=2)
    for t in range(20):
        asked.probabilities(contexts[t])
    for one, other in zip(asked.play(contexts, rewards), silent.play(contexts, rewards), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_choices_are_as_frequent_as_their_probabilities(name):
    """Chi-square: D' C^+ D with D = counts - sum of p and C = sum of (diag p - p p') has rank(C) degrees of freedom.

    The threshold is exceeded by an honest policy with probability 1e-4; 4000 choices of the same arms, none learned.
    """
    policy, X = trained(name), stream(1, seed=3)[0][0]
    counts, expected, covariance = np.zeros(ARMS), np.zeros(ARMS), np.zeros((ARMS, ARMS))
    for _ in range(4000 if name in COMPILED else 500):
        choice = policy.choose(X)
        p = choice.probabilities
        counts[choice.arm] += 1
        expected += p
        covariance += np.diag(p) - np.outer(p, p)
    off, freedom = counts - expected, np.linalg.matrix_rank(covariance)
    if freedom == 0:  # the arm is certain
        np.testing.assert_allclose(off, 0.0, atol=1e-6)
    else:
        assert off @ np.linalg.pinv(covariance) @ off < stats.chi2.ppf(1 - 1e-4, freedom)


@pytest.mark.parametrize("name", NAMES)
def test_only_allowed_arms_are_played(name):
    policy, (contexts, rewards) = trained(name), stream(60, seed=4)
    rng = np.random.default_rng(0)
    for X, r in zip(contexts, rewards, strict=True):
        allowed = rng.random(ARMS) < 0.5
        allowed[rng.integers(ARMS)] = True
        choice = policy.choose(X, allowed)
        assert allowed[choice.arm]
        assert allowed[choice.greedy]
        assert (choice.probabilities[~allowed] == 0.0).all()
        assert choice.probabilities.max() <= 1.0
        assert choice.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
        policy.learn(Choice.from_json(choice.to_json()), r[choice.arm])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "river-linucb"])  # river's arms have names
def test_the_number_of_arms_may_change(name):
    policy, rng = trained(name), np.random.default_rng(0)
    for arms in (1, 7, 2, 1, 12):
        X = rng.standard_normal((arms, DIMENSION))
        choice = policy.choose(sparse.csr_matrix(X))
        np.testing.assert_array_equal(choice.contexts, X)
        assert choice.probabilities.shape == (arms,)
        policy.learn(choice, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_playing_many_rounds_is_choosing_and_learning_one_by_one_to_the_bit(name):
    contexts, rewards = stream(150)
    many, single = fresh(name), fresh(name)
    played = many.play(contexts, rewards)
    for t in range(150):
        choice = single.choose(contexts[t])
        single.learn(choice, rewards[t, choice.arm])
        assert (choice.arm, choice.probability) == tuple(column[t] for column in played)
    assert memory(many) == memory(single)
    assert played.arms.dtype == np.int64


@pytest.mark.parametrize("name", SUMS)
def test_learning_late_and_shuffled_is_learning_in_order(name):
    """Ridge statistics are sums; only rounding, about 1e-15 per step over 100 steps, tells the orders apart."""
    ordered, (contexts, rewards) = trained(name), stream(100, seed=6)
    made = [ordered.choose(X) for X in contexts]
    shuffled = ordered.copy()
    order = np.random.default_rng(0).permutation(100)
    for t in range(100):
        ordered.learn(made[t], rewards[t, made[t].arm])
        shuffled.learn(made[order[t]], rewards[order[t], made[order[t]].arm])
    np.testing.assert_allclose(shuffled.weights, ordered.weights, atol=1e-10)
    np.testing.assert_allclose(shuffled.probabilities(contexts[0]), ordered.probabilities(contexts[0]), atol=1e-10)


@pytest.mark.parametrize("name", EXACT)
def test_a_copy_has_the_same_future_and_a_life_of_its_own(name):
    policy, (contexts, rewards) = trained(name), stream(50, seed=7)
    waiting = policy.choose(contexts[0])
    frozen = {key: array.copy() for key, array in policy.arrays().items()}
    for array in frozen.values():
        array.flags.writeable = False  # as from a file
    copies = [policy.copy(), type(policy).from_arrays(frozen)]
    copies[1].sign_with(policy.key)
    before = memory(copies[0])
    policy.learn(waiting, 1.0)
    expected = policy.play(contexts, rewards)
    assert memory(copies[0]) == before
    for copy in copies:
        copy.learn(waiting, 1.0)
        for one, other in zip(copy.play(contexts, rewards), expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(copy.weights, policy.weights)


@pytest.mark.parametrize("name", NAMES)
def test_a_choice_that_was_json_teaches_the_same(name):
    direct, through, X = trained(name), trained(name), stream(1, seed=8)[0][0]
    direct.learn(direct.choose(X), 1.0)
    through.learn(Choice.from_json(through.choose(X).to_json()), 1.0)
    assert memory(direct) == memory(through)


@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_the_reward_does_not_matter(name):
    contexts, rewards = stream(100)
    usual, doubled = fresh(name), fresh(name, reward_range=(-1.0, 1.0))
    np.testing.assert_array_equal(usual.play(contexts, rewards).arms, doubled.play(contexts, 2 * rewards - 1).arms)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_decide_the_draws(name):
    contexts, rewards = stream(100)
    first, again, other = (fresh(name, seed=seed).play(contexts, rewards) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.arms, again.arms)
    if "linucb" not in name:  # draws nothing, but for ties
        assert (first.arms != other.arms).any()


GOOD = np.eye(ARMS, DIMENSION)
NAN, HUGE = GOOD.copy(), GOOD.copy()
NAN[1, 2], HUGE[0, 0] = np.nan, 1e7
BAD_CALLS = {
    "no arms": (lambda policy, _: policy.choose(np.empty((0, DIMENSION))), "contexts"),
    "width": (lambda policy, _: policy.choose(np.eye(ARMS, DIMENSION + 1)), "contexts"),
    "ragged": (lambda policy, _: policy.choose([[1.0] * DIMENSION, [1.0]]), "contexts"),
    "text": (lambda policy, _: policy.choose([["a"] * DIMENSION] * ARMS), "contexts"),
    "complex": (lambda policy, _: policy.choose(GOOD * 1j), "contexts"),
    "one row": (lambda policy, _: policy.choose(GOOD[0]), "contexts"),
    "nan": (lambda policy, _: policy.choose(NAN), r"contexts\[1, 2\] is nan"),
    "nan asked": (lambda policy, _: policy.probabilities(NAN), r"contexts\[1, 2\] is nan"),
    "huge": (lambda policy, _: policy.choose(HUGE), r"contexts\[0, 0\]"),
    "nothing allowed": (lambda policy, _: policy.choose(GOOD, np.zeros(ARMS, bool)), "allowed"),
    "mask of numbers": (lambda policy, _: policy.choose(GOOD, np.ones(ARMS)), "allowed"),
    "short mask": (lambda policy, _: policy.choose(GOOD, [True]), "allowed"),
    "reward nan": (lambda policy, choice: policy.learn(choice, np.nan), "reward"),
    "reward high": (lambda policy, choice: policy.learn(choice, 1.5), "reward=1.5 is outside"),
    "reward text": (lambda policy, choice: policy.learn(choice, "much"), "reward"),
    "reward none": (lambda policy, choice: policy.learn(choice, None), "reward"),
    "no choice": (lambda policy, choice: policy.learn(choice.to_json(), 1.0), "choice is a str"),
    "play nan": (lambda policy, _: policy.play(NAN[None], np.ones((1, ARMS))), r"contexts\[0, 1, 2\]"),
    "play shapes": (lambda policy, _: policy.play(GOOD[None], np.ones((1, ARMS + 1))), "rewards"),
    "play rewards": (lambda policy, _: policy.play(GOOD[None], np.full((1, ARMS), np.nan)), "rewards"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
@pytest.mark.parametrize("name", [*COMPILED, *(name for name in NAMES if name in ("vw-epsilon", "river-linucb"))])
def test_bad_input_is_refused_by_name_and_nothing_changes(name, case):
    policy = trained(name, rounds=10)
    choice = policy.choose(GOOD)
    before = memory(policy)
    call, message = BAD_CALLS[case]
    with pytest.raises(InvalidDataError, match=message):
        call(policy, choice)
    assert memory(policy) == before
    policy.learn(choice, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_each_choice_is_learned_once_by_the_policy_that_made_it(name):
    policy, other = trained(name, rounds=10), trained(name, rounds=10)
    choice, foreign = policy.choose(GOOD), other.choose(GOOD)
    with pytest.raises(InvalidDataError, match="another policy"):
        policy.learn(foreign, 1.0)
    policy.learn(choice, 1.0)
    before = memory(policy)
    with pytest.raises(InvalidDataError, match="choice number 10 has been learned already"):
        policy.learn(choice, 1.0)
    assert memory(policy) == before


@pytest.mark.parametrize("change", [{"arm": ARMS}, {"arm": -1}, {"probabilities": [1.0]}, {"number": 99}])
@pytest.mark.parametrize("name", COMPILED)
def test_a_forged_choice_is_refused(name, change):
    policy = trained(name, rounds=10)
    parts = json.loads(policy.choose(GOOD).to_json()) | change
    forged = Choice(
        parts["arm"], np.array(parts["probabilities"]), 0, np.array(parts["contexts"]), parts["policy"], parts["number"]
    )
    before = memory(policy)
    with pytest.raises(InvalidDataError, match="choice"):
        policy.learn(forged, 1.0)
    assert memory(policy) == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"dimension": 0}, "dimension=0"),
        ({"reward_range": (1.0, 1.0)}, "reward_range"),
        ({"reward_range": (0.0, np.inf)}, "reward_range"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_bad_parameters_are_refused_by_name(name, told, message):
    with pytest.raises(InvalidParameterError, match=message):
        POLICIES.make(name, **({"dimension": DIMENSION, "arms": ARMS} | told))
