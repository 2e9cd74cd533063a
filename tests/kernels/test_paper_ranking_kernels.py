"""Algorithms 2 and 3 against the oracle: the loss, its constants, every coin, and round by round."""

import itertools

import numpy as np
import oracle_arms
import pytest
import scipy.sparse as sp
from oracle import coin

from massart import theory
from massart.kernels.learning import paper_ranking as paper
from massart.learners.bandit import MonotoneBandit

D = 5
DRIFT = 1e-8  # NumPy adds in another order than the kernels


def random_round(rng):
    k = int(rng.integers(2, 6))
    X = rng.normal(size=(k, D))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return k, X, rng.random(k), rng.uniform(0, 1 / (k - 1)), rng.uniform(0.02, 0.4), 10 ** rng.uniform(-1, 2)


def test_loss_and_gradient_are_those_of_algorithm_2():
    """With v = 0, with v on a tie, and anywhere; the gradient also by differences of the loss."""
    rng = np.random.default_rng(0)
    for n in range(300):
        k, X, r, delta, rho, Lam = random_round(rng)
        v, w, a = rng.normal(size=D) * rng.choice([0, 1, 1e-3]), rng.normal(size=D), int(rng.integers(k))
        if n % 5 == 0:
            X[0] = X[-1]  # x_a - x_j = 0: sign(0) counts
        told = (X, v, r, a, delta, rho, Lam)
        assert paper.loss(w, *told) == pytest.approx(oracle_arms.loss(w, *told), rel=1e-9, abs=1e-12)
        g = paper.gradient(w, *told)
        np.testing.assert_allclose(g, oracle_arms.gradient(w, *told), rtol=1e-9, atol=1e-12)
        h = 1e-6
        slopes = [(paper.loss(w + h * e, *told) - paper.loss(w - h * e, *told)) / (2 * h) for e in np.eye(D)]
        np.testing.assert_allclose(g, slopes, atol=1e-4 * max(1, abs(g).max()))


def test_the_loss_is_convex():
    rng = np.random.default_rng(1)
    for _ in range(500):
        k, X, r, delta, rho, Lam = random_round(rng)
        told = (X, rng.normal(size=D) * rng.integers(0, 2), r, int(rng.integers(k)), delta, rho, Lam)
        u, w, share = rng.normal(size=D), rng.normal(size=D), rng.random()
        ends = share * paper.loss(u, *told) + (1 - share) * paper.loss(w, *told)
        assert paper.loss(share * u + (1 - share) * w, *told) <= ends + 1e-9 * max(1, abs(ends))


def test_corrected_lipschitz_constants():
    """Errata 18 and 19: where ||v|| = 1, and at v = 0; both come within a factor 2 of being attained."""
    rng = np.random.default_rng(2)
    nearest = {"one": 0.0, "zero": 0.0}
    for n in range(2000):
        k, X, r, delta, rho, Lam = random_round(rng)
        v, w, a, beta = rng.normal(size=D), rng.normal(size=D), int(rng.integers(k)), int(rng.integers(k))
        v /= np.linalg.norm(v)
        if n % 2:  # the worst: all others opposite to the favoured arm, orthogonal to v, and a reward of M
            x = rng.normal(size=D)
            x -= v * (x @ v)
            X[:], X[a], beta, r[beta] = -x / np.linalg.norm(x), x / np.linalg.norm(x), a, 1.0
            r[a] = 1.0
        fake = oracle_arms.fake_rewards(k, beta, r[beta], 1.0)
        caps = {"one": (k - 1) * (delta + k - 1) * (2 + rho) / (2 * rho), "zero": 2 * (k - 1) ** 2 * Lam}
        for name, at in (("one", v), ("zero", np.zeros(D))):
            length = np.linalg.norm(paper.gradient(w, X, at, fake, a, delta, rho, Lam))
            assert length <= caps[name] * (1 + 1e-9)
            nearest[name] = max(nearest[name], length / caps[name])
    assert min(nearest.values()) > 0.5


def stream(rounds, seed=0, changing=True):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        k = int(rng.integers(1, 6)) if changing else 3
        X = rng.normal(size=(k, D)) / 3 * (rng.random((k, D)) < 0.7)
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
        allowed = rng.random(k) < 0.8 if changing else np.ones(k, bool)
        allowed[rng.integers(k)] = True
        yield X, allowed, 2.0 + 3.0 * (rng.random(k) < 0.5 + 0.4 * np.tanh(3 * X[:, 1]))


@pytest.mark.parametrize("changing", [False, True], ids=["k stays", "k and masks change"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("floor", [0.0, 0.6])
def test_algorithm_3_round_by_round(form, changing, floor):
    told = {"gap": 1.4, "margin": 0.4, "horizon": 1000}
    bandit = MonotoneBandit(**told, reward_range=(2, 5), exploration=floor, random_state=5, update="paper")
    oracle = oracle_arms.PaperAlgorithm3(D, 1.4, 0.4, 1000, M=3.0, floor=floor)
    seed, heads = int(bandit.arrays()["seed"][0]), 0
    for number, (X, allowed, rewards) in enumerate(stream(400, changing=changing)):
        if number == 200:  # also from w = 0, where alpha is random and Lambda weighs the loss
            oracle.w = np.zeros(D)
            state = {name: array.copy() for name, array in bandit.arrays().items()}
            state["weights"][:] = 0
            state["experts"][paper.Expert.NORM2] = 0
            bandit = MonotoneBandit.from_arrays(state)
        choice, may = bandit.choose(form(X), allowed=allowed), np.flatnonzero(allowed)
        np.testing.assert_allclose(choice.probabilities[may], oracle.probabilities(X[may]), atol=DRIFT)
        assert (choice.probabilities[~allowed] == 0).all()
        alpha, beta = oracle.coins(X[may], coin(seed, number))
        assert choice.arm == may[alpha if beta is None else beta]
        assert choice.memo["arms"] == [may[alpha]]
        bandit.learn(choice, rewards[choice.arm])
        oracle.learn(X[may], alpha, beta, rewards[choice.arm] - 2.0)
        heads += beta is not None
        np.testing.assert_allclose(bandit.arrays()["weights"][:, 0], oracle.w, atol=DRIFT, err_msg=f"round {number}")
    assert 40 < heads < 390
    assert bandit.arrays()["experts"][paper.Expert.NORM2, 0] == pytest.approx(oracle.w @ oracle.w)


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_parameters_are_those_of_the_proofs(arms):
    """q from the probabilities, rho and Lambda from the memo at ||v|| = 1 and at v = 0, step from its place."""
    told = {"arms": arms, "gap": 0.2, "margin": 0.3, "reward_width": 1.0, "rounds": 10**7}
    X = np.random.default_rng(arms).normal(size=(arms, D))
    X /= 2 * np.linalg.norm(X, axis=1, keepdims=True)
    bandit = MonotoneBandit(0.2, 0.3, horizon=10**7, random_state=0, update="paper")
    q = theory.paper_exploration_rate(**told)
    assert q < 0.9
    p = bandit.probabilities(X)
    assert p.min() == pytest.approx(q / arms)
    assert p.max() == pytest.approx(1 - q + q / arms)
    assert p.argmax() == X[:, 0].argmax()  # w = e_1
    choice = bandit.choose(X)
    margins, others = np.array(choice.memo["margins"])[:, 0], np.arange(arms) != p.argmax()
    expected = (X[:, 0].max() - X[:, 0] + theory.paper_shift(0.3))[others]
    np.testing.assert_allclose(margins[others], expected)
    state = {name: array.copy() for name, array in bandit.arrays().items()}
    state["weights"][:], state["experts"][paper.Expert.NORM2] = 0, 0
    at_zero = MonotoneBandit.from_arrays(state).choose(X)
    np.testing.assert_allclose(at_zero.probabilities, 1 / arms)
    rest = np.delete(np.array(at_zero.memo["margins"])[:, 0], at_zero.memo["arms"][0])
    np.testing.assert_allclose(1 / rest, theory.paper_zero_weight(**told))
    shift, weight = theory.paper_shift(0.3), theory.paper_zero_weight(**told)
    cap = max((arms - 1) * (0.2 + arms - 1) * (2 + shift) / (2 * shift), 2 * (arms - 1) ** 2 * weight) / q
    assert margins[p.argmax()] == pytest.approx(2 * (1 - q) / arms * cap * np.sqrt(10**7) / 2)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_arms_with_equal_contexts_are_no_pair(form):
    """They neither move w nor count in KEPT, on HEADS and on TAILS; the third arm does both."""
    x, y = np.eye(3)[0] * 0.5 + np.eye(3)[1] * 0.3, np.eye(3)[2] * 0.5
    for X, pairs in ((np.array([x, x]), 0), (np.array([x, y, x]), 1), (np.array([x, y]), 1)):
        bandit, q = MonotoneBandit(0.9, 1.0, horizon=10**6, random_state=0, update="paper"), []
        for n in range(100):
            choice = bandit.choose(form(X))
            q.append(choice.memo["rates"][0])
            bandit.learn(choice, float(n % 2))
        kept, w = bandit.arrays()["experts"][paper.Expert.KEPT, 0], bandit.arrays()["weights"][:, 0]
        assert kept == pytest.approx(np.sum(1 - np.array(q)) * pairs / len(X))
        assert np.array_equal(w, np.eye(3)[0]) is (pairs == 0)


def test_few_rounds_explore_always():
    """Erratum 24: below k^2 (M / Delta)^4 rounds the printed q is above 1; it is clipped, and arms are random."""
    limit = theory.paper_bandit_rounds(arms=3, gap=0.4, reward_width=1.0)
    X = np.eye(3)
    short = MonotoneBandit(0.4, 0.5, horizon=limit * 0.99, update="paper").probabilities(X)
    np.testing.assert_allclose(short, 1 / 3)
    assert MonotoneBandit(0.4, 0.5, horizon=limit * 1.1, update="paper").probabilities(X).max() > 0.34


def coins_of(bandit, X):
    """Every outcome of the coins with its probability: the arm played and the memo."""
    k, arrays = len(X), bandit.arrays()
    scores, squares = X @ arrays["weights"], np.sum(X * X, axis=1)
    rows = (X.reshape(-1), np.arange(D).astype(np.uint64), np.empty(0, np.uint64))
    allowed, zero = np.ones(k, bool), not arrays["weights"].any()

    def planned():
        memo = (np.empty(1, np.int64), np.empty(1), np.empty((k, 1)), np.empty((k, 1)), np.empty(k))
        paper.plan(rows, allowed, arrays["how"], arrays["experts"], arrays["totals"].copy(), scores,
                   squares, np.zeros(D), memo)  # fmt: skip
        return memo

    q = planned()[1][0]
    inner = k if zero else 1
    tosses = [(q * (b + (i + 0.5) / inner) / k, q / k / inner) for b, i in itertools.product(range(k), range(inner))]
    tosses += [(q + (1 - q) * (i + 0.5) / inner, (1 - q) / inner) for i in range(inner)]
    assert sum(chance for _, chance in tosses) == pytest.approx(1)
    for toss, chance in tosses:
        memo = planned()
        yield rows, allowed, paper.flip(allowed, memo, toss), memo, chance


@pytest.mark.parametrize("size", [0.5, 0.0], ids=["w is not 0", "w = 0"])
def test_the_step_is_unbiased_over_every_coin(size):
    """Claim 3.3: exact enumeration; at w = 0 also over the random alpha. And the coins play the probabilities."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        k, X, r, _, _, _ = random_round(rng)
        delta, gamma, T = 0.9 / (k - 1), 0.3, 10**6
        bandit = MonotoneBandit(delta, gamma, horizon=T, random_state=0, update="paper")
        bandit.choose(X)  # so that it knows the number of features
        arrays = bandit.arrays()
        w = rng.normal(size=D)
        w *= size / np.linalg.norm(w)
        arrays["weights"][:, 0], arrays["experts"][paper.Expert.NORM2] = w, size**2
        bandit = MonotoneBandit.from_arrays(arrays)
        mean, played, expected = 0.0, np.zeros(k), 0.0
        Lam, q = (f(k, delta, gamma, 1.0, T) for f in (theory.paper_zero_weight, theory.paper_exploration_rate))
        for rows, allowed, arm, memo, chance in coins_of(bandit, X):
            estimates, S, t, W = np.empty(k), arrays["experts"].copy(), arrays["totals"].copy(), w[:, None].copy()
            paper.estimate(arm, r[arm], 1.0 / k, memo[4], allowed, memo[0], S, t, estimates)
            paper.teach(rows, allowed, estimates, memo, W, S, np.zeros((D, 1)))
            assert W[:, 0] @ W[:, 0] < 1  # no projection, which would not be linear
            mean = mean + chance * (w - W[:, 0]) * max(S[paper.Expert.CAP, 0], 1e-300)
            played[arm] += chance
            told = (w, r, memo[0][0], delta, gamma / 2, Lam)
            expected = expected + chance * oracle_arms.gradient(w, X, *told)
        np.testing.assert_allclose(played, memo[4], atol=1e-12)
        scale = abs(expected).max() * Lam / q
        np.testing.assert_allclose(mean, 2 * (1 - q) / k * expected, atol=1e-11 * scale)
