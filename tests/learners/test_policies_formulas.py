"""Each policy against its formula in plain NumPy."""

import numpy as np
import pytest

from massart.arena import registry
from massart.arena.registry import POLICIES
from massart.errors import InvalidParameterError, ModelFileError
from massart.learners.reference.policies import (
    ActionCentredRidge,
    EpochGreedy,
    EpsilonGreedyRidge,
    LinearThompson,
    LinUCB,
    LinUCBDisjoint,
    SquareCB,
    Uniform,
)

ARMS, DIMENSION = 4, 3


def rounds(count, seed=0):
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((count, ARMS, DIMENSION)) / 2
    return contexts, rng.random((count, ARMS))


def with_one(X):
    return np.concatenate([X, np.ones((*X.shape[:-1], 1))], axis=-1)


def regression(rows, rewards, ridge=1.0):
    """P and w of ridge regression on rows that end in 1; rewards from 0 to 1."""
    inverse = np.linalg.inv(ridge * np.eye(rows.shape[1]) + rows.T @ rows)
    return inverse, inverse @ rows.T @ (rewards - 0.5)


def played(policy, count=300):
    """The policy after some rounds, the rows and rewards it saw, and the choices."""
    contexts, rewards = rounds(count)
    choices = []
    for t in range(count):
        choices.append(policy.choose(contexts[t]))
        policy.learn(choices[-1], rewards[t, choices[-1].arm])
    rows = np.array([with_one(choice.contexts)[choice.arm] for choice in choices])
    return policy, rows, np.array([rewards[t, choice.arm] for t, choice in enumerate(choices)]), choices


@pytest.mark.parametrize("policy", [EpsilonGreedyRidge, LinUCB, LinearThompson, SquareCB])
def test_weights_are_the_ridge_regression_of_all_rewards_seen(policy):
    learned, rows, rewards, _ = played(policy(DIMENSION, ridge=2.0))
    np.testing.assert_allclose(learned.weights, regression(rows, rewards, 2.0)[1][:-1], atol=1e-12)


def test_action_centred_ridge_regresses_on_the_arm_less_the_expected_arm():
    learned, _, rewards, choices = played(ActionCentredRidge(DIMENSION, epsilon=0.3))
    rows = np.array([c.contexts[c.arm] - c.probabilities @ c.contexts for c in choices])
    np.testing.assert_allclose(learned.weights, regression(rows, rewards)[1], atol=1e-12)


def test_epoch_greedy_learns_from_its_exploration_alone_and_keeps_its_schedule():
    learned, rows, rewards, choices = played(EpochGreedy(DIMENSION), count=600)
    explored = np.array([choice.memo["explored"] for choice in choices])
    np.testing.assert_allclose(learned.weights, regression(rows[explored], rewards[explored])[1][:-1], atol=1e-12)
    expected: list[bool] = []
    while len(expected) < 600:
        epoch = sum(expected) + 1
        expected += [True] + [False] * int(np.sqrt(epoch / (ARMS * (DIMENSION + 1))))
    assert explored.tolist() == expected[:600]
    for choice in choices:
        assert choice.probability == (1 / ARMS if choice.memo["explored"] else 1.0)
        assert choice.memo["explored"] or choice.arm == choice.greedy


@pytest.mark.parametrize("policy", [EpsilonGreedyRidge, ActionCentredRidge])
def test_epsilon_greedy_probabilities(policy):
    learned, *_ = played(policy(DIMENSION, epsilon=0.3))
    X = rounds(1, seed=1)[0][0]
    expected = np.full(ARMS, 0.3 / ARMS)
    expected[np.argmax(X @ learned.weights)] += 0.7
    np.testing.assert_allclose(learned.probabilities(X), expected, atol=1e-15)


def test_linucb_plays_the_highest_upper_confidence_bound():
    learned, rows, rewards, _ = played(LinUCB(DIMENSION, alpha=1.5), count=40)
    inverse, w = regression(rows, rewards)
    explored = 0
    for X in rounds(50, seed=1)[0]:
        Z = with_one(X)
        bounds = Z @ w + 1.5 * np.sqrt(np.einsum("ij,jk,ik->i", Z, inverse, Z))
        choice = learned.choose(X)
        assert choice.arm == np.argmax(bounds)
        assert choice.greedy == np.argmax(X @ w[:-1])
        explored += choice.arm != choice.greedy
    assert explored > 0  # else the bonus was not tested


def test_zeros_of_a_row_leave_the_bound_as_it_is():
    """Rows crossed with their arm, mostly zeros: the kernel passes over them."""
    rng = np.random.default_rng(2)
    learned = LinUCB(ARMS * DIMENSION, alpha=1.5)
    crossed = np.einsum("ij,nd->nijd", np.eye(ARMS), rng.standard_normal((80, DIMENSION)))
    crossed = crossed.reshape(80, ARMS, ARMS * DIMENSION)
    rows, rewards = [], []
    for X in crossed:
        choice = learned.choose(X)
        if rows:
            inverse, w = regression(np.array(rows), np.array(rewards))
            Z = with_one(X)
            bounds = Z @ w + 1.5 * np.sqrt(np.einsum("ij,jk,ik->i", Z, inverse, Z))
            assert choice.arm == np.argmax(bounds)
        rows.append(with_one(X)[choice.arm])
        rewards.append(float(rng.random() < 0.5))
        learned.learn(choice, rewards[-1])


def test_disjoint_linucb_has_a_regression_for_each_place():
    learned, rows, rewards, choices = played(LinUCBDisjoint(DIMENSION, alpha=1.5, ridge=2.0), count=60)
    places = np.array([choice.arm for choice in choices])
    assert set(places) == set(range(ARMS))
    fits = [regression(rows[places == i], rewards[places == i], 2.0) for i in range(ARMS)]
    np.testing.assert_allclose(learned.weights, np.mean([w[:-1] for _, w in fits], axis=0), atol=1e-12)
    explored = 0
    for X in rounds(50, seed=1)[0]:
        Z = with_one(X)
        scores = np.array([z @ w for z, (_, w) in zip(Z, fits, strict=True)])
        widths = np.array([np.sqrt(z @ inverse @ z) for z, (inverse, _) in zip(Z, fits, strict=True)])
        choice = learned.choose(X)
        assert choice.arm == np.argmax(scores + 1.5 * widths)
        assert choice.greedy == np.argmax(scores)
        explored += choice.arm != choice.greedy
    assert explored > 0  # else the bonus was not tested


def test_disjoint_linucb_gives_a_new_place_the_prior():
    learned, *_ = played(LinUCBDisjoint(DIMENSION, alpha=1.0, ridge=2.0))
    before = learned.arrays()["weights"]
    X = np.zeros((ARMS + 3, DIMENSION))
    X[ARMS + 1, 0] = 50.0  # by far the widest: w = 0, P = I / 2
    choice = learned.choose(X)
    assert choice.arm == ARMS + 1
    np.testing.assert_array_equal(learned.arrays()["weights"], before)  # a choice adds no places
    learned.learn(choice, 1.0)
    x = with_one(X)[ARMS + 1]
    expected = 0.5 * x / (2.0 + x @ x)
    assert learned.arrays()["weights"].shape == (ARMS + 3, DIMENSION + 1)
    np.testing.assert_allclose(learned.arrays()["weights"][ARMS + 1], expected, atol=1e-15)
    np.testing.assert_array_equal(learned.arrays()["weights"][ARMS + 2], 0.0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("weights", lambda a: a[0]),
        ("weights", lambda a: a[:0]),
        ("weights", lambda a: a * np.nan),
        ("inverse", lambda a: a[:-1]),
        ("inverse", lambda a: a.astype(np.float32)),
        ("inverse", lambda a: a[:, :, :-1]),
        ("state", lambda a: a[:-1]),
    ],
)
def test_arrays_that_are_not_those_of_disjoint_linucb_are_refused(name, change):
    arrays = played(LinUCBDisjoint(DIMENSION), count=20)[0].arrays()
    with pytest.raises(ModelFileError, match="LinUCBDisjoint"):
        LinUCBDisjoint.from_arrays(arrays | {name: change(arrays[name])})


def test_squarecb_weighs_by_inverse_gaps():
    learned, *_ = played(SquareCB(DIMENSION, trust=2.0))
    t, d = 301, DIMENSION + 1
    rate = 2.0 * np.sqrt(ARMS * t / (d * np.log(1 + t / d) + np.log(2 / 0.05)))
    X = rounds(1, seed=1)[0][0]
    scores = X @ learned.weights
    expected = 1 / (ARMS + rate * (scores.max() - scores))
    expected[np.argmax(scores)] = 0.0
    expected[np.argmax(scores)] = 1 - expected.sum()
    np.testing.assert_allclose(learned.probabilities(X), expected, atol=1e-12)


def test_thompson_plays_an_arm_as_often_as_it_is_best_under_the_posterior():
    """128 evenly spread draws: the largest error of four probabilities was .025 on average over random posteriors.

    The bound on the average over 30 rounds is .035; 20,000 plain draws have a standard error below .004.
    """
    learned, rows, rewards, _ = played(LinearThompson(DIMENSION, scale=0.7), count=40)
    inverse, w = regression(rows, rewards)
    weights = np.random.default_rng(0).multivariate_normal(w, 0.49 * inverse, 20_000)
    errors = []
    for X in rounds(30, seed=1)[0]:
        wins = np.bincount((weights @ with_one(X).T).argmax(axis=1), minlength=ARMS) / 20_000
        p = learned.probabilities(X)
        assert (p >= 1 / (129 * ARMS)).all()
        errors.append(np.abs(p - wins).max())
    assert np.mean(errors) < 0.035


def test_thompson_takes_arms_that_are_the_same():
    """The scores of equal arms are equal in every draw: a posterior without full rank."""
    learned, *_ = played(LinearThompson(DIMENSION), count=40)
    p = learned.probabilities(np.ones((6, DIMENSION)))
    np.testing.assert_allclose(p.sum(), 1.0)
    assert np.isfinite(p).all()


def test_a_certain_posterior_is_greedy():
    learned, *_ = played(LinearThompson(DIMENSION, scale=0.0), count=40)
    X = rounds(1, seed=1)[0][0]
    assert learned.probabilities(X)[learned.choose(X).greedy] == pytest.approx((128 + 1 / ARMS) / 129)


def test_uniform_ignores_what_it_learns():
    learned, *_ = played(Uniform(DIMENSION))
    np.testing.assert_array_equal(learned.weights, np.zeros(DIMENSION))
    np.testing.assert_array_equal(learned.probabilities(rounds(1)[0][0]), np.full(ARMS, 1 / ARMS))
    assert learned.choices == learned.rounds == 300


@pytest.mark.parametrize(
    ("policy", "name", "values"),
    [
        (EpsilonGreedyRidge, "epsilon", [-0.1, 1.1, np.nan]),
        (ActionCentredRidge, "epsilon", [-0.1, 1.1]),
        (LinUCB, "alpha", [-1.0, np.inf]),
        (LinUCBDisjoint, "alpha", [-1.0, np.inf]),
        (LinearThompson, "scale", [-1.0, np.nan]),
        (SquareCB, "trust", [-1.0]),
        (EpochGreedy, "ridge", [0.0, -1.0]),
    ],
)
def test_settings_out_of_range_are_refused(policy, name, values):
    for value in values:
        with pytest.raises(InvalidParameterError, match=name):
            policy(DIMENSION, **{name: value})


def test_a_name_that_is_almost_right_is_corrected():
    with pytest.raises(InvalidParameterError, match="did you mean 'thompson'"):
        POLICIES.make("thomson", dimension=2, arms=2)
    with pytest.raises(InvalidParameterError, match="choose one of monotone"):
        POLICIES.describe("0")


def test_ours_needs_what_its_guarantee_needs():
    with pytest.raises(InvalidParameterError, match="needs gap and margin and horizon"):
        POLICIES.make("paper", dimension=2, arms=2)
    told = {"dimension": DIMENSION, "arms": ARMS, "gap": 0.1, "margin": 0.1, "horizon": 100}
    for name in ("monotone", "monotone-unknown", "paper"):
        assert POLICIES.is_ours(name)
        policy = POLICIES.make(name, **told)
        contexts, rewards = rounds(50)
        policy.play(contexts / np.linalg.norm(contexts, axis=2).max(), rewards)
        assert policy.weights.shape == (DIMENSION,)


def test_a_peer_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(registry, "_importable", lambda package: False)
    assert POLICIES.names() == POLICIES.names(peers=False)
    with pytest.raises(InvalidParameterError, match=r"massart\[bench\]"):
        POLICIES.make("vw-cover", dimension=2, arms=2)


def test_river_is_for_a_fixed_number_of_arms():
    if "river-linucb" not in POLICIES.names():
        pytest.skip("river is not installed")
    policy = POLICIES.make("river-linucb", dimension=2, arms=3)
    with pytest.raises(ValueError, match="made for 3 arms"):
        policy.choose(np.eye(2))
    with pytest.raises(InvalidParameterError, match="arms=0"):
        POLICIES.make("river-linucb", dimension=2, arms=0)


def test_river_pulls_the_arm_we_play():
    """river's own `pull` on the same context, wherever no two bounds are equal."""
    if "river-linucb" not in POLICIES.names():
        pytest.skip("river is not installed")
    policy = POLICIES.make("river-linucb", dimension=DIMENSION, arms=ARMS)
    contexts, rewards = rounds(150)
    for t in range(150):
        arm = policy._policy.pull(range(ARMS), dict(enumerate(contexts[t].ravel().tolist())))
        choice = policy.choose(contexts[t])
        assert choice.probability < 1.0 or choice.arm == arm
        policy.learn(choice, rewards[t, choice.arm])


VW_KINDS = ("epsilon", "squarecb", "regcb", "regcbopt", "regcbopt-small", "cover", "softmax")


@pytest.mark.parametrize("name", [f"vw-{kind}" for kind in VW_KINDS])
def test_vw_believes_in_the_arm_of_the_highest_weights(name):
    """Rewards linear in the first feature; the weights read back are those VW ranks the arms by."""
    if name not in POLICIES.names():
        pytest.skip("vowpalwabbit is not installed")
    policy, (contexts, _) = POLICIES.make(name, dimension=DIMENSION, arms=ARMS), rounds(700)
    rewards = np.clip(0.5 + 0.4 * contexts[:, :, 0], 0.0, 1.0)
    policy.play(contexts[:500], rewards[:500])
    assert policy.weights[0] > 5 * np.abs(policy.weights[1:]).max()
    greedy = [policy.choose(X).greedy for X in contexts[500:]]
    # The policies of a cover are other ones, trained on the same rewards, and regcbopt plays by upper bounds: neither
    # need agree with the weights everywhere.
    least = {"vw-cover": 0.8, "vw-regcbopt": 0.9, "vw-regcbopt-small": 0.9}.get(name, 0.97)
    assert np.mean(greedy == (contexts[500:] @ policy.weights).argmax(axis=1)) > least


def mabwiser(name):
    """The policy after some rounds in which all arms have the same row, as MABWiser expects, and such rows."""
    if name not in POLICIES.names():
        pytest.skip("mabwiser is not installed")
    policy, (contexts, rewards) = POLICIES.make(name, dimension=DIMENSION, arms=ARMS, seed=3), rounds(100)
    shared = np.repeat(contexts[:, :1], ARMS, axis=1)
    policy.play(shared[:80], rewards[:80])
    return policy, shared[80:]


def test_mabwiser_predicts_the_arm_we_play():
    policy, rows = mabwiser("mabwiser-linucb")
    for X in rows:
        assert policy.choose(X).arm == policy._bandit.predict(X[:1])


def test_mabwiser_greedy_explores_one_time_in_ten():
    policy, rows = mabwiser("mabwiser-lingreedy")
    policy._bandit._imp.epsilon = 0.0  # its own draw would hide the greedy arm
    for X in rows:
        expected = np.full(ARMS, 0.1 / ARMS)
        expected[policy._bandit.predict(X[:1])] += 0.9
        np.testing.assert_allclose(policy.probabilities(X), expected, atol=1e-15)


def test_mabwiser_thompson_plays_an_arm_as_often_as_it_is_best_under_its_posterior():
    """4,000 of MABWiser's own scores of each arm, taken apart: their deviation is at most .008 in a share, z = 5; our
    128 even draws add about .025. MABWiser's arms share their random numbers, so their scores are shuffled here."""
    policy, rows = mabwiser("mabwiser-lints")
    rng = np.random.default_rng(0)
    for X in rows[:3]:
        many = np.repeat(X[:1], 4000, axis=0)
        scores = [rng.permutation(policy._model(arm).predict(many)) for arm in range(ARMS)]
        often = np.bincount(np.argmax(scores, axis=0), minlength=ARMS) / 4000
        np.testing.assert_allclose(policy.probabilities(X), often, atol=5 * 0.008 + 0.025)
