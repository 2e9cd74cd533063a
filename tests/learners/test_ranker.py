"""MonotoneRanker: the step with all rewards seen, classification as its two-arm case, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import theory
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.learning import ranking as kernel
from massart.learners.halfspace import Halfspace
from massart.learners.ranker import MonotoneRanker

D = 5


def rounds(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k = int(rng.integers(1, 7))
        X = rng.normal(size=(k, D)) / 3 * (rng.random((k, D)) < 0.7)
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))  # the margin is for contexts of norm 1 at most
        yield X, (rng.random(k) < 0.5 + 0.4 * np.tanh(3 * X[:, 0])).astype(float)


KNOWN, DEFAULT = {"gap": 0.1, "margin": 0.05}, {"random_state": 0}
both = pytest.mark.parametrize("options", [KNOWN, DEFAULT], ids=["known", "default"])


def trained(count=50, **parameters):
    ranker = MonotoneRanker(**parameters)
    for X, r in rounds(count):
        ranker.learn(X, r)
    return ranker


def state(ranker):
    return {name: array.copy() for name, array in ranker.arrays().items()}


def assert_same(one, two):
    for name in one.keys() | two.keys():
        assert np.array_equal(one[name], two[name]), name


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_every_round_is_a_step_of_theorem_9(form):
    """g = (2/k) sum_j 1/2 (Delta - y_j) z_j / (w.z_j + gamma), dual averaging under its cap; the first of equals."""
    delta, gamma, theta, S, G = 0.15, 0.1, np.zeros(D), 0.0, 0.0
    ranker = MonotoneRanker(delta, gamma)
    w, lift = np.zeros(D), 0.0
    for X, r in rounds(200):
        k, a = len(X), int(np.argmax(X @ w))
        assert ranker.choose(form(X)) == a
        ranker.learn(form(X), r)
        y, z = r[a] - r, X[a] - X
        g = ((delta - y) / (z @ w + gamma)) @ z / k
        theta, S, G = theta - g, S + g @ g, max(G, 2 / k * (k - 1) * (delta + 1) / gamma)
        w = theta / max(np.sqrt(2 * (G**2 + S)), np.linalg.norm(theta)) if G > 0 else theta
        lift += r[a] - r.mean()
        np.testing.assert_allclose(ranker.weights, w, atol=1e-9)
    assert ranker.rounds == 200
    assert ranker.lift == pytest.approx(lift)
    assert w[0] > 0.2


def test_two_arms_are_the_halfspace_learner():
    """Remark 1.5: x and -x with rewards (1 +- y) / 2; the same decision in every round, the same weights in the end."""
    eta, gamma = 0.2, 0.05
    ranker = MonotoneRanker(gap=1 - 2 * eta, margin=2 * gamma)
    halfspace = Halfspace(D, eta, gamma, optimizer="ftrl", fit_intercept=False, normalize=False)
    rng = np.random.default_rng(0)
    mistakes = 0
    for _ in range(1000):
        x = rng.normal(size=D)
        x /= np.linalg.norm(x)
        y = np.where(x[0] >= 0, 1.0, -1.0) * np.where(rng.random() < eta, -1.0, 1.0)
        pair, rewards = np.array([x, -x]), np.array([(1 + y) / 2, (1 - y) / 2])
        arm = ranker.choose(pair)
        assert (1.0 if arm == 0 else -1.0) == halfspace.predict(x)
        mistakes += 1 - rewards[arm]
        ranker.learn(pair, rewards)
        halfspace.learn(x, y)
    # The two round differently, and steps of order 1 / margin amplify it: 1e-16 becomes some 1e-9 in so many rounds.
    np.testing.assert_allclose(ranker.weights, halfspace.weights, atol=1e-6)
    assert halfspace.mistakes == mistakes < 400
    assert ranker.lift == pytest.approx(1000 / 2 - mistakes)


@pytest.mark.parametrize("arms", [2, 4])
def test_the_lift_is_at_least_the_guaranteed_one(arms):
    """Theorem 9(b): E[lift] >= E[promise] >= the closed form. Over 6 seeds the mean is above -4 standard errors."""
    gap, margin, count, ahead = 0.9 / (arms - 1), 0.9 / (arms - 1), 1500, []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        ranker, lift = MonotoneRanker(gap, margin), 0.0
        for _ in range(count):
            steps = rng.permutation(arms) - (arms - 1) / 2
            X = rng.normal(size=(arms, D))
            X[:, 0] = 0
            X *= np.sqrt(1 - (margin * steps) ** 2)[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
            X[:, 0] = margin * steps
            means = 0.5 + gap * steps
            lift += means[ranker.choose(X)] - 0.5
            ranker.learn(X, (rng.random(arms) < means).astype(float))
        closed = theory.full_information_lift(arms, gap, margin, 1.0, count)
        assert ranker.guaranteed_lift >= closed - 1e-6
        assert ranker.guaranteed_lift > 0
        ahead.append(lift - ranker.guaranteed_lift)
    assert np.mean(ahead) >= -4 * np.std(ahead, ddof=1) / np.sqrt(len(ahead))


@both
def test_rankings_sort_scores_and_keep_the_order_of_equals(options):
    ranker = trained(**options)
    X = np.random.default_rng(5).normal(size=(8, D))
    X[6] = X[2]
    order = ranker.predict_ranking(X).tolist()
    scores = ranker.score(X)
    assert sorted(order) == list(range(8))
    assert (np.diff(scores[order]) <= 0).all()
    assert order.index(2) < order.index(6)
    if options is KNOWN:
        assert order[0] == ranker.choose(X)
    assert np.array_equal(scores, ranker.predict(X))
    np.testing.assert_allclose(scores, X @ ranker.weights, atol=1e-12)
    np.testing.assert_allclose(scores, ranker.score(sp.csr_matrix(X)), atol=1e-12)


@both
def test_fit_learns_one_round_per_query_in_their_first_order(options):
    groups = list(rounds(30, seed=2))
    X, y = np.vstack([X for X, _ in groups]), np.concatenate([r for _, r in groups])
    names = np.random.default_rng(0).permutation(30)  # the numbers of queries say nothing about their order
    qid = np.concatenate([np.full(len(r), names[n]) for n, (_, r) in enumerate(groups)])
    one = MonotoneRanker(**options)
    for contexts, rewards in groups:
        one.learn(contexts, rewards)
    assert_same(state(one), state(MonotoneRanker(**options).fit(X, y, qid)))
    assert MonotoneRanker(**options).fit(sp.csr_matrix(X), y, qid).rounds == 30
    with pytest.raises(InvalidDataError, match="same number of rows"):
        MonotoneRanker(**options).fit(X, y, qid[:-1])


@both
def test_save_and_restore_are_exact(options):
    for ranker in (MonotoneRanker(**options), trained(**options)):
        again, copy = MonotoneRanker.from_arrays(state(ranker)), ranker.copy()
        for X, r in rounds(20, seed=3):
            for one in (ranker, again, copy):
                one.learn(X, r)
        assert_same(state(ranker), state(again))
        assert_same(state(ranker), state(copy))
        before = state(ranker)
        copy.learn(np.eye(D), np.arange(D) / D)
        assert_same(before, state(ranker))


SHARED, OWN = ["how", "weights", "experts", "totals"], ["members", "mixed", "columns", "products", "seed"]


@pytest.mark.parametrize(
    ("options", "name"), [*((KNOWN, name) for name in SHARED), *((DEFAULT, name) for name in [*SHARED, *OWN])], ids=str
)
def test_arrays_of_another_shape_are_refused(options, name):
    arrays = state(trained(**options))
    arrays[name] = np.zeros((2, 3, 4))
    with pytest.raises(ModelFileError):
        MonotoneRanker.from_arrays(arrays)


NAN = np.array([[0.0, 1.0, 0.0, 0.0, 0.0], [np.nan, 0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("contexts", "rewards", "match"),
    [
        (np.empty((0, D)), [], "contexts have no rows"),
        ([[1.0, 2.0], [1.0]], [0, 1], "contexts must be real numbers"),
        (NAN, [0, 1], r"contexts\[1\]"),
        (sp.csr_matrix(NAN), [0, 1], "NaN"),
        (np.full((2, D), 1e60), [0, 1], r"contexts\[0\]"),
        (np.eye(D), [0, 1], "rewards have shape"),
        (np.eye(D), [0, 1, 0, 1, 1.5], "rewards leave reward_range"),
        (np.eye(D), [0, 1, 0, 1, np.nan], "rewards leave reward_range"),
        (np.eye(D), ["a"] * D, "rewards"),
        (np.eye(D), [[1.0], [1.0, 0.0]], "rewards"),
    ],
)
def test_bad_rounds_are_refused_and_nothing_changes(contexts, rewards, match):
    for ranker in (MonotoneRanker(**KNOWN), trained(**KNOWN), MonotoneRanker(**DEFAULT), trained(**DEFAULT)):
        before = state(ranker)
        with pytest.raises(InvalidDataError, match=match):
            ranker.learn(contexts, rewards)
        assert_same(before, state(ranker))


@both
def test_another_width_is_refused(options):
    ranker = trained(**options)
    for call in (ranker.choose, ranker.score, ranker.predict_ranking, lambda X: ranker.learn(X, [1.0])):
        with pytest.raises(InvalidDataError, match="7 features"):
            call(np.ones((1, 7)))


@both
def test_looking_teaches_nothing(options):
    ranker = MonotoneRanker(**options)
    before = state(ranker)
    ranker.choose(np.eye(3))
    ranker.predict_ranking(np.eye(4))  # the number of features is not known before the first round
    assert_same(before, state(ranker))


@pytest.mark.parametrize(
    "parameters",
    [{"gap": 0}, {"gap": 1.5}, {"gap": np.nan}, {"margin": 0}, {"margin": 3}, {"margin": np.nan},
     {"reward_range": (1, 1)}, {"reward_range": None}, {"random_state": -1}, {"random_state": 0.5}],
    ids=str,
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(parameters):
    with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
        MonotoneRanker(**parameters)


def test_the_cap_is_that_of_theorem_9():
    ranker = MonotoneRanker(0.1, 0.2)
    ranker.learn(np.eye(4), [0.0, 0.2, 0.4, 1.0])
    cap = theory.full_information_gradient_cap(arms=4, gap=0.1, margin=0.2, reward_width=1.0)
    assert ranker.arrays()["experts"][kernel.Expert.CAP, 0] == pytest.approx(2 / 4 * cap)


def test_with_one_of_gap_and_margin_given_the_other_is_what_it_always_was():
    assert_same(state(trained(gap=0.2)), state(trained(gap=0.2, margin=0.05)))
    assert_same(state(trained(margin=0.2)), state(trained(gap=0.1, margin=0.2)))
    assert "members" not in state(trained(gap=0.2))
